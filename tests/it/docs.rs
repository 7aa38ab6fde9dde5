//! The pages under `docs` keep up with the program: snippets run, links lead somewhere, what there
//! is has a name.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use perftrail::model::metric::BUILT_IN;
use perftrail::model::status::Status;
use perftrail::record::marks::{Mark, parse_line};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The first code block of that language.
fn snippet(page: &str, language: &str) -> String {
    let begin = format!("\n```{language}\n");
    let (_, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("no {language} snippet"));
    rest.split_once("\n```\n").expect("the end of the snippet").0.to_owned()
}

/// Runs the program with and without somebody who listens; what it said, line by line.
fn told_by(program: &str, args: &[&str], dir: &Path) -> Vec<Mark> {
    let stats = dir.join("stats.jsonl");
    let _ = fs::remove_file(&stats);
    for listening in [false, true] {
        let mut command = Command::new(program);
        command.args(args).current_dir(dir).env_remove("PERFTRAIL_STATS");
        if listening {
            command.env("PERFTRAIL_STATS", &stats);
        }
        let output = command.output().unwrap_or_else(|error| panic!("{program}: {error}"));
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(stats.exists(), listening, "{program}");
    }
    let told = fs::read_to_string(&stats).expect("what it said");
    told.lines().flat_map(|line| parse_line(line.as_bytes()).expect("a good line")).collect()
}

#[test]
fn snippets_tell_what_they_say() {
    let page = fs::read_to_string(root().join("docs/perftrail-stats.md")).expect("the page");
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path();
    fs::write(dir.join("tell.c"), snippet(&page, "c")).expect("a file");
    let built = Command::new("cc").args(["tell.c", "-o", "tell"]).current_dir(dir).status();
    assert!(built.expect("a C compiler").success());
    let compiled = dir.join("tell").display().to_string();
    for (language, program, args) in [
        ("python", "python3", vec!["-c", &snippet(&page, "python")]),
        ("bash", "bash", vec!["-euc", &snippet(&page, "bash")]),
        ("c", compiled.as_str(), vec![]),
    ] {
        let marks = told_by(program, &args, dir);
        assert!(matches!(marks.first(), Some(Mark::PhaseBegin { .. })), "{language}: {marks:?}");
        assert!(matches!(marks.last(), Some(Mark::PhaseEnd { .. })), "{language}: {marks:?}");
        assert!(marks.len() >= 3, "{language}: {marks:?}");
    }
    // The lines at the page's head.
    for line in snippet(&page, "text").lines() {
        parse_line(line.as_bytes()).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
}

/// Which of `words` the page does not name as code.
fn missing<'a>(page: &str, words: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let text = fs::read_to_string(root().join(page)).expect("the page");
    words.into_iter().filter(|word| !text.contains(&format!("`{word}`"))).collect()
}

#[test]
fn pages_name_what_there_is() {
    let nothing: [&str; 0] = [];
    let metrics = BUILT_IN.iter().map(|metric| metric.name);
    assert_eq!(missing("docs/measuring.md", metrics), nothing);
    let statuses = Status::ALL.iter().map(|status| status.as_str());
    assert_eq!(missing("docs/glossary.md", statuses), nothing);
    let schema = perftrail::record::schema();
    for pointer in ["/properties", "/$defs/Run/properties", "/$defs/Metric/properties"] {
        let keys = schema.pointer(pointer).and_then(|part| part.as_object()).expect(pointer);
        assert!(keys.len() > 5, "{pointer}");
        assert_eq!(
            missing("docs/record.md", keys.keys().map(String::as_str)),
            nothing,
            "{pointer}"
        );
    }
}

#[test]
fn links_between_pages_lead_somewhere() {
    let mut pages = vec![root().join("README.md"), root().join("CONTRIBUTING.md")];
    for folder in ["docs", "docs/decisions"] {
        let entries = fs::read_dir(root().join(folder)).expect("a folder of pages");
        pages.extend(entries.map(|entry| entry.expect("an entry").path()));
    }
    let mut links = 0;
    for page in pages.iter().filter(|path| path.extension().is_some_and(|end| end == "md")) {
        let text = fs::read_to_string(page).expect("a page");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = link.split('#').next().unwrap_or_default();
            if link.contains("://") || path.is_empty() {
                continue;
            }
            links += 1;
            let target = page.parent().expect("a folder").join(path);
            assert!(target.exists(), "{}: {link} leads nowhere", page.display());
        }
    }
    assert!(links > 10, "only {links} links were found");
}

/// The keys right under `section` of a YAML file that is written one key a line.
fn yaml_keys(text: &str, section: &str) -> Vec<String> {
    let inside = text.lines().skip_while(|line| *line != format!("{section}:")).skip(1);
    let of_section = inside.take_while(|line| line.is_empty() || line.starts_with(' '));
    let keys = of_section.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    keys.map(|line| line.trim().trim_end_matches(':').to_owned()).collect()
}

/// The first cells of the table under a heading.
fn first_cells(page: &str, heading: &str) -> Vec<String> {
    let (_, rest) = page.split_once(&format!("\n## {heading}\n")).expect("the heading");
    let section = rest.split("\n## ").next().unwrap_or_default();
    let cells = section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    cells.map(str::to_owned).collect()
}

#[test]
fn the_action_and_its_page_name_what_the_program_reads_and_writes() {
    use perftrail::actions::inputs::{INPUTS, OUTPUTS};
    let action = fs::read_to_string(root().join("action.yml")).expect("the action");
    let page = fs::read_to_string(root().join("docs/action.md")).expect("the page");
    for (section, heading, known) in [("inputs", "Inputs", INPUTS), ("outputs", "Outputs", OUTPUTS)]
    {
        assert_eq!(yaml_keys(&action, section), known, "action.yml");
        assert_eq!(first_cells(&page, heading), known, "docs/action.md");
    }
    let setup = fs::read_to_string(root().join("setup/action.yml")).expect("the setup action");
    for input in yaml_keys(&setup, "inputs") {
        assert!(page.contains(&format!("`{input}`")), "{input}");
    }
}

/// Workflows, pages and scripts name the Action as the program does.
#[test]
fn the_action_has_one_name() {
    use perftrail::actions::REPOSITORY;
    let (_, name) = REPOSITORY.split_once('/').expect("owner and name");
    let mut seen = 0;
    for file in walkdir::WalkDir::new(root()).into_iter().filter_entry(|entry| {
        !matches!(
            entry.file_name().to_str(),
            Some("target" | ".git" | "perftrail-out" | "perftrail-results")
        )
    }) {
        let file = file.expect("an entry").into_path();
        let is_told = ["md", "yml", "sh", "toml"]
            .iter()
            .any(|ext| file.extension().is_some_and(|e| e == *ext));
        let Some(text) = fs::read_to_string(&file).ok().filter(|_| is_told) else { continue };
        for line in
            text.lines().filter(|line| line.contains("uses: ") || line.starts_with("repository="))
        {
            let word =
                line.split("uses: ").nth(1).unwrap_or(line).trim_start_matches("repository=");
            let slug: Vec<&str> = word.split(['/', '@', ',', ' ']).take(2).collect();
            if slug.get(1) == Some(&name) {
                seen += 1;
                assert_eq!(slug.join("/"), REPOSITORY, "{}: {line}", file.display());
            }
        }
    }
    assert!(seen >= 5, "{seen}");
}

#[test]
fn digests_are_made_as_the_page_says() {
    let page = fs::read_to_string(root().join("docs/record.md")).expect("the page");
    let program = snippet(&page, "python");
    let mut count = 0;
    for entry in fs::read_dir(root().join("tests/fixtures/records/v1")).expect("records").flatten()
    {
        let bytes = fs::read(entry.path()).expect("a record");
        let record: serde_json::Value = serde_json::from_slice(&bytes).expect("JSON");
        let Some(digest) = record["run"]["digest"].as_str() else { continue };
        let output = Command::new("python3")
            .args(["-c", &program])
            .arg(entry.path())
            .output()
            .expect("Python");
        let said = String::from_utf8_lossy(&output.stdout);
        let why = String::from_utf8_lossy(&output.stderr);
        assert_eq!(said.trim(), digest, "{}: {why}", entry.path().display());
        count += 1;
    }
    assert!(count >= 5, "{count}");
}
