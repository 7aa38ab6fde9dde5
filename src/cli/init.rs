//! `perftrail init`.

use std::path::Path;
use std::time::Duration;

use super::args::{InitArgs, Target as TargetArgs};
use super::destination::{self, Found};
use super::failure::{ExitCode, Failure};
use super::{Edge, print};
use crate::actions::REPOSITORY;
use crate::app::init::{self, Project, Surroundings};
use crate::app::publish::retry::Retry;
use crate::config::quote::quote;
use crate::config::{self, Config};
use crate::github::RealPause;
use crate::plan::stem;
use crate::source::git;

/// The workflow's place in a project.
const WORKFLOW: &str = ".github/workflows/perftrail.yml";
/// Programs are looked for in these folders.
const PLACES: [&str; 4] = ["", "src", "scripts", "bin"];
/// How long a server that is busy is asked again.
const WAIT: Duration = Duration::from_secs(20);
/// The first bytes of a program that are looked at.
const LOOKED_AT: u64 = 1 << 20;

/// Writes what is missing, and says what is left to do by hand.
pub(super) fn init(edge: &Edge, args: &InitArgs) -> Result<u8, Failure> {
    let source = git::describe(&edge.folder);
    let top = source.top.clone().unwrap_or_else(|| edge.folder.clone());
    let project = look(&top);
    let results = args.results.clone();
    let mut said = Vec::new();
    let config_file = top.join(config::FILE);
    if config_file.exists() {
        said.push(format!("{} is there already and stays as it is", config::FILE));
    } else {
        let command = command(args, &project)?;
        let text = configuration(&command, args.job.as_deref(), results.as_deref());
        config::parse(config::FILE, &text).map_err(|error| {
            Failure::new(ExitCode::Usage, &error).with_help("give another --job")
        })?;
        write(&config_file, &text)?;
        said.push(format!("wrote {}: it measures `{command}`", config::FILE));
    }
    let flow = top.join(WORKFLOW);
    if flow.exists() {
        said.push(format!("{WORKFLOW} is there already and stays as it is"));
    } else {
        write(&flow, &workflow(project.surroundings(), results.as_deref()))?;
        said.push(format!("wrote {WORKFLOW}: every night, and by hand"));
    }
    print((said.join("\n") + "\n").as_bytes())?;
    let mut said = Vec::new();
    if let Some(place) = &results {
        said.push(found_results(edge, place)?);
    }
    said.extend(next(results.as_deref()));
    print((said.join("\n") + "\n").as_bytes())
}

fn is_python(name: &String) -> bool {
    Path::new(name).extension().is_some_and(|end| end == "py")
}

fn look(top: &Path) -> Project {
    let names = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    };
    let mut programs = Vec::new();
    for place in PLACES {
        for name in names(&top.join(place)).into_iter().filter(is_python) {
            let path = if place.is_empty() { name } else { format!("{place}/{name}") };
            let is_program = crate::source::files::read_head(&top.join(&path), LOOKED_AT)
                .is_ok_and(|(text, _)| String::from_utf8_lossy(&text).contains("__main__"));
            if is_program && path != "setup.py" {
                programs.push(path);
            }
        }
    }
    Project { files: names(top), programs }
}

/// The command line to measure.
fn command(args: &InitArgs, project: &Project) -> Result<String, Failure> {
    if !args.command.is_empty() {
        return Ok(args.command.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" "));
    }
    match project.programs.as_slice() {
        [only] => Ok(format!("python {}", quote(only))),
        [] => Err(Failure::usage("what is to be measured cannot be seen from here").with_help(
            "give the command after `--`, as in `perftrail init -- python src/simulation.py`",
        )),
        several => {
            Err(Failure::usage(format!("several programs can be measured: {}", several.join(", ")))
                .with_help(format!("name one, as in `perftrail init -- python {}`", several[0])))
        }
    }
}

fn configuration(command: &str, job: Option<&str>, results: Option<&str>) -> String {
    let name = job.map_or_else(|| stem::job_name_of_line(command), str::to_owned);
    let name = toml::Value::String(name);
    // Braces would be placeholders.
    let run = toml::Value::String(command.replace('{', "{{").replace('}', "}}"));
    let repository = results.map_or_else(
        || {
            "# repository = \"owner/name\"    # without it runs are kept as artifacts only"
                .to_owned()
        },
        |place| format!("repository = {}", toml::Value::String(place.to_owned())),
    );
    format!(
        "# What perftrail measures. All keys are told in docs/configuration.md of perftrail.\n\n\
         [results]\n{repository}\n\n[[job]]\nname = {name}\nrun = {run}\n\
         # collect = [\"out/**\"]            # files that the job leaves, other than in $PERFTRAIL_OUTPUT\n\
         timeout = \"5h\"                  # for each repetition; GitHub's own runners end a job after 6 h\n"
    )
}

fn workflow(surroundings: Surroundings, results: Option<&str>) -> String {
    const CHECKOUT: &str = "actions/checkout@08c6903cd8c0fde910a37f88322edcfb5dd907a8 # v5.0.0";
    const PYTHON: &str = "actions/setup-python@e797f83bcb11b83ae66e0230d6156d7c80228e7c # v6.0.0";
    const CONDA: &str =
        "conda-incubator/setup-miniconda@835234971496cad1653abb28a638a281cf32541f # v3.2.0";
    const UPLOAD: &str =
        "actions/upload-artifact@330a01c490aca151604b8cf639adc76d48f6c5d4 # v5.0.0";
    let major = env!("CARGO_PKG_VERSION_MAJOR");
    let python =
        format!("      - uses: {PYTHON}\n        with:\n          python-version: \"3.x\"\n");
    let environment = match surroundings {
        Surroundings::Conda => format!(
            "      - uses: {CONDA}\n        with:\n          environment-file: environment.yml\n          activate-environment: measured\n"
        ),
        Surroundings::Uv => format!(
            "{python}      - run: pip install uv && uv sync && echo \"$PWD/.venv/bin\" >> \"$GITHUB_PATH\"\n"
        ),
        Surroundings::Pip { is_package: true } => {
            format!("{python}      - run: pip install -e .\n")
        }
        Surroundings::Pip { is_package: false } => {
            format!("{python}      - run: pip install -r requirements.txt\n")
        }
        Surroundings::Bare => String::new(),
    };
    let shell = if surroundings == Surroundings::Conda {
        "    defaults:\n      run:\n        shell: bash -el {0}\n"
    } else {
        ""
    };
    let publish = results.map_or_else(String::new, |place| {
        let to = serde_json::Value::from(place);
        format!(
            "      - if: always()\n        uses: {REPOSITORY}@v{major}\n        with:\n          command: publish\n          to: {to}\n          results-token: ${{{{ secrets.RESULTS_TOKEN }}}}\n"
        )
    });
    format!(
        "name: perftrail\non:\n  schedule:\n    - cron: \"17 3 * * *\"\n  workflow_dispatch:\npermissions:\n  contents: read\n\
         jobs:\n  profile:\n    runs-on: ubuntu-latest\n    timeout-minutes: 350\n{shell}    steps:\n      - uses: {CHECKOUT}\n        with:\n          \
         persist-credentials: false\n{environment}      - uses: {REPOSITORY}/setup@v{major}\n      - run: exec perftrail run\n{publish}      \
         - if: always()\n        uses: {UPLOAD}\n        with:\n          name: perftrail\n          path: perftrail-out\n"
    )
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let make = || {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(path, text)
    };
    make().map_err(|error| {
        Failure::new(ExitCode::Internal, &error)
            .with_help(format!("{} could not be written", path.display()))
    })
}

fn found_results(edge: &Edge, place: &str) -> Result<String, Failure> {
    let target = TargetArgs { to: Some(place.to_owned()), branch: None, publish_timeout: None };
    let Found::There(to) = destination::find(edge, &target, &Config::default())? else {
        return Ok("no results repository: runs are kept as artifacts".to_owned());
    };
    let pause = RealPause::new();
    // Somebody waits for an answer: what is wrong now is told now.
    let mut retry = Retry::new(&pause, WAIT, &to.to);
    let made =
        init::first_commit(&to.to, &to.branch, edge.clock.now(), &mut |next| retry.wait(next));
    let made = made.map_err(|error| {
        Failure::new(ExitCode::NotPublished, &error).with_help(
            "the files of the project are written; make the repository, give a token in \
             PERFTRAIL_RESULTS_TOKEN, and say `perftrail init` again",
        )
    })?;
    Ok(match made {
        Some(_) => format!(
            "made the first commit of {place}, branch {}: its README tells how to protect it",
            to.branch
        ),
        None => format!("{place} has its first commit already"),
    })
}

fn next(results: Option<&str>) -> Vec<String> {
    let mut next =
        vec!["next: `perftrail doctor`, `perftrail run`, then commit these files".to_owned()];
    if REPOSITORY.starts_with("OWNER/") {
        next.push(format!(
            "the workflow names {REPOSITORY}: put the account in place of OWNER in which perftrail lives"
        ));
    }
    let Some(place) = results else {
        next.push(
            "without a results repository runs are kept as artifacts only, and there is no history: \
             `perftrail init --results owner/name` begins one"
                .to_owned(),
        );
        return next;
    };
    if place.starts_with(['.', '/']) {
        next.push(format!(
            "the runner of a workflow has no {place}: name a repository on a server in the input `to`"
        ));
    } else if place.contains('/') {
        next.push(
            "and store a token that may write there (contents: write, that repository alone) as the \
             secret RESULTS_TOKEN of this repository"
                .to_owned(),
        );
    }
    next
}
