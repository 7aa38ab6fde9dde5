//! `perftrail action`: a step of a workflow, in a container or on the runner itself.
//!
//! The process that a container starts first holds the secrets. It decides, has the job measured
//! by a process of its own that runs as the owner of the workspace and knows no secret, and
//! publishes when nothing of the job is left.

mod conversation;
mod gate;
mod measured;
mod promise;
mod published;
mod told;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::ValueEnum as _;

use self::conversation::Telling;
use self::gate::Gated;
use self::promise::Promise;
use self::published::Outcome;
use super::Edge;
use super::args::{ActionArgs, ActionStage, FailOn, Target as TargetArgs};
use super::destination::{self, Destination, Found};
use super::failure::{ExitCode, Failure};
use super::screen::{JobOutput, Screen};
use crate::actions::files::{Files, FilesError};
use crate::actions::inputs::Inputs;
use crate::analysis::verdict::Judging;
use crate::app::publish::{Awaited, SKIPPED};
use crate::app::watch::Watch;
use crate::config::Config;
use crate::measure::{self, Stop};
use crate::model::status::Identity;
use crate::plan::{Plan, environment};
use crate::source::configuration;

/// Where a step leaves its bundles, from the workspace.
const OUTPUT: &str = "perftrail-out";

/// What a step is told.
struct Step {
    /// The edge, standing in the workspace.
    edge: Edge,
    /// The same for publishing: with the credentials, and a home that no job could write to.
    publisher: Edge,
    inputs: Inputs,
    texts: BTreeMap<String, String>,
    files: Files,
    screen: Screen,
    /// When a step fails whose jobs succeeded.
    fail_on: FailOn,
    /// Home and temporary files of the publisher; removed at the end.
    private: tempfile::TempDir,
}

/// What a step is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Command {
    Gate,
    Run,
    Publish,
    All,
}

/// Does what the inputs ask for.
pub(super) fn action(edge: &Edge, args: ActionArgs) -> Result<u8, Failure> {
    let step = Step::new(edge)?;
    let outcome = match args.stage {
        ActionStage::Main => step.main(),
        ActionStage::Post => step.post(),
    };
    if let Err(failure) = &outcome {
        told::failure(&step, failure);
    }
    outcome
}

impl Step {
    fn new(edge: &Edge) -> Result<Self, Failure> {
        // What is asked of git before the job, and the job itself, must not gain rights. A job of
        // root has them all, and may need them for its setup.
        let texts = destination::texts(edge);
        let folder = texts
            .get("GITHUB_WORKSPACE")
            .map(PathBuf::from)
            .filter(|path| path.is_dir())
            .unwrap_or_else(|| edge.folder.clone());
        let drops = measured::user(&folder).is_some();
        measure::keep_to_itself(environment::is_secret, drops)
            .map_err(|error| Failure::new(ExitCode::Internal, &error))?;
        let private = tempfile::Builder::new().prefix("perftrail-private-").tempdir();
        let private = private.map_err(|error| {
            Failure::new(ExitCode::Internal, &error)
                .with_help("there is no place for temporary files")
        })?;
        let inputs = Inputs::from_variables(&texts);
        let fail_on = fail_on(&inputs)?;
        let edge = Edge { folder, ..edge.clone() };
        Ok(Self {
            publisher: publisher(&edge, &inputs, private.path()),
            screen: edge.screen(JobOutput::Same),
            files: Files::from_variables(&texts),
            fail_on,
            private,
            edge,
            inputs,
            texts,
        })
    }

    fn main(&self) -> Result<u8, Failure> {
        match self.command()? {
            Command::Gate => gate::only(self),
            Command::Run => self.run(),
            Command::Publish => self.publish(),
            Command::All => self.all(),
        }
    }

    fn command(&self) -> Result<Command, Failure> {
        match self.inputs.get("command").unwrap_or("all") {
            "gate" => Ok(Command::Gate),
            "run" => Ok(Command::Run),
            "publish" => Ok(Command::Publish),
            "all" => Ok(Command::All),
            other => Err(Failure::usage(format!(
                "the input `command` is `{}`",
                crate::model::text::shown(other)
            ))
            .with_help("known are gate, run, publish and all")),
        }
    }

    fn tell_gated(&self, gated: &Gated) {
        if let Gated::Nothing { reason, .. } = gated {
            self.screen.say(&format!("nothing to do: {reason}"));
        }
    }

    /// Measures, and leaves bundles for another job to publish.
    fn run(&self) -> Result<u8, Failure> {
        let gated = match self.inputs.get("plan") {
            Some(plan) => gate::planned(self, plan)?,
            None => gate::gate(self)?,
        };
        self.tell_gated(&gated);
        let Gated::Run(prepared) = gated else { return Ok(ExitCode::Done as u8) };
        let stop = self.stop()?;
        let measured = measured::measure(self, &prepared, &stop, None)?;
        let runs = published::read(&measured.bundles, None, &Judging::default());
        let nowhere = "not published: this step only measures";
        self.conclude(&Outcome { runs, links: Vec::new(), published: None, why_not: nowhere })?;
        Ok(measured.code(&self.screen))
    }

    /// Publishes what another step or job measured.
    fn publish(&self) -> Result<u8, Failure> {
        let plan = self.inputs.get("plan").map(|plan| self.planned(plan)).transpose()?;
        let config = match &plan {
            Some((plan, _)) => {
                let named = self.inputs.get("config").map(PathBuf::from);
                let token = self.inputs.get("github-token");
                super::gate::configuration_of(&self.edge, plan, named.as_deref(), token)?
            }
            None => self.config()?,
        };
        let Some(mut to) = self.destination(&config)? else {
            return Ok(ExitCode::Done as u8);
        };
        if let Some((plan, _)) = plan.as_ref().filter(|(plan, _)| plan.accept.is_some()) {
            return self.accept(plan, &mut to, &config);
        }
        let mut options = to.options(Identity::Claimed, &self.publisher);
        options.awaited = plan.as_ref().map(|(_, file)| self.awaited(file)).transpose()?;
        let place = self.edge.folder.join(self.inputs.get("bundle").unwrap_or(OUTPUT));
        let bundles = match crate::bundle::read::find(&place) {
            Ok(bundles) => bundles,
            // Of the runs of a plan none need have come.
            Err(error) if options.awaited.is_some() => {
                self.screen.warn(&error.to_string());
                Vec::new()
            }
            Err(error) => {
                return Err(Failure::new(ExitCode::Usage, &error).with_help(
                    "the input `bundle` names a bundle or a folder of bundles; with the input `plan`, \
                     runs of which none came are recorded as lost",
                ));
            }
        };
        if options.awaited.as_ref().is_some_and(|awaited| awaited.was_skipped(bundles.len())) {
            self.screen.say(SKIPPED);
            return Ok(ExitCode::Done as u8);
        }
        let plan = plan.as_ref().map(|(plan, _)| plan);
        let telling = Telling { config: &config, plan };
        let outcome = published::publish(self, &bundles, &mut to, options, &telling);
        self.end(outcome)
    }

    /// Writes a new level down that a comment accepted, and says so under it.
    fn accept(&self, plan: &Plan, to: &mut Destination, config: &Config) -> Result<u8, Failure> {
        let done = super::accept::planned(&self.publisher, plan, to);
        conversation::accepted(self, plan, config, done.as_ref());
        self.screen.say(&done?);
        Ok(ExitCode::Done as u8)
    }

    /// The runs that a gate planned.
    fn awaited(&self, file: &Path) -> Result<Awaited, Failure> {
        let confirm = self.texts.get("PERFTRAIL_CONFIRM").and_then(|text| text.parse().ok());
        Awaited::load(file, &self.edge.folder, &self.edge.variables, confirm)
            .map_err(|error| Failure::new(ExitCode::Usage, &error))
    }

    /// The plan of a gate, and the file that it lies in.
    fn planned(&self, plan: &str) -> Result<(Plan, PathBuf), Failure> {
        let file = gate::plan_file(self, plan)?;
        let plan = configuration::load_plan(&file)
            .map_err(|error| Failure::new(ExitCode::Usage, &error))?;
        Ok((plan, file))
    }

    /// Everything in one step, on events that only people with write access cause.
    fn all(&self) -> Result<u8, Failure> {
        let gated = gate::gate(self)?;
        self.tell_gated(&gated);
        let Gated::Run(prepared) = gated else { return Ok(ExitCode::Done as u8) };
        let to = self.destination_for_later(&prepared.config)?;
        let promise = to.as_ref().map(|_| Promise::new(self, &prepared)).transpose()?;
        let stop = self.stop()?;
        let measured = measured::measure(self, &prepared, &stop, promise.as_ref())?;
        let (Some(mut to), Some(promise)) = (to, promise) else {
            let runs = published::read(&measured.bundles, None, &Judging::default());
            let nowhere = "not published: no results repository is named";
            self.conclude(&Outcome { runs, links: Vec::new(), published: None, why_not: nowhere })?;
            return Ok(measured.code(&self.screen));
        };
        if stop.cause().is_some() {
            // Seconds are left, and a push may take longer.
            self.screen.say("cancelled: what was measured is published at the end of the job");
            let runs = published::read(&measured.bundles, None, &Judging::default());
            let later = "published at the end of the job";
            self.conclude(&Outcome { runs, links: Vec::new(), published: None, why_not: later })?;
            return Ok(measured.code(&self.screen));
        }
        if measured.bundles.is_empty() {
            return Ok(measured.code(&self.screen));
        }
        let identity = promise.identity(&measured.bundles);
        let options = to.options(identity, &self.publisher);
        let telling = Telling { config: &prepared.config, plan: None };
        let outcome = published::publish(self, &measured.bundles, &mut to, options, &telling);
        let code = self.end(outcome)?;
        if code != ExitCode::NotPublished as u8 {
            self.files.state(&[promise::KEPT]).map_err(|error| broken(&error))?;
        }
        Ok(code)
    }

    /// At the end of the job, in another container: publishes what the step left behind.
    fn post(&self) -> Result<u8, Failure> {
        let Some(promise) = Promise::given(self)? else {
            self.screen.detail("nothing was left to be published");
            return Ok(ExitCode::Done as u8);
        };
        let bundles = promise.left(&self.edge.folder);
        if bundles.is_empty() {
            self.screen.warn("the step ended before anything was measured: nothing to publish");
            return Ok(ExitCode::Done as u8);
        }
        self.screen.say("publishing what the step left behind");
        let config = promise.config()?;
        let Some(mut to) = self.destination(&config)? else { return Ok(ExitCode::Done as u8) };
        let options = to.options(promise.identity(&bundles), &self.publisher);
        let telling = Telling { config: &config, plan: None };
        let outcome = published::publish(self, &bundles, &mut to, options, &telling)?;
        self.conclude(&outcome)?;
        Ok(outcome.published_code())
    }

    /// Says what came of it, and gives the exit code: a push that failed counts more than the job,
    /// the job more than what its numbers say.
    fn end(&self, outcome: Result<Outcome, Failure>) -> Result<u8, Failure> {
        let outcome = outcome?;
        self.conclude(&outcome)?;
        let fails = || outcome.runs.iter().any(|run| !run.is_success());
        Ok(match outcome.published_code() {
            0 if fails() => ExitCode::JobFailed as u8,
            0 if self.fail_on == FailOn::Regressed && outcome.has_regressed() => {
                self.screen.warn(
                    "the step fails, because a judged metric is worse than its limit; everything is published",
                );
                ExitCode::Regressed as u8
            }
            code => code,
        })
    }

    fn conclude(&self, outcome: &Outcome) -> Result<(), Failure> {
        told::annotations(outcome, self.fail_on);
        told::summary(self, outcome);
        self.files.outputs(&told::outputs(outcome)).map_err(|error| broken(&error))
    }

    fn stop(&self) -> Result<Stop, Failure> {
        let stop = Stop::new();
        super::run::listen(&self.edge, &stop)?;
        Ok(stop)
    }

    fn config(&self) -> Result<Config, Failure> {
        let named = self.inputs.get("config").map(PathBuf::from);
        super::publish::load(&self.edge, named.as_deref())
    }

    fn target(&self) -> TargetArgs {
        let own = |name: &str| self.inputs.get(name).map(str::to_owned);
        TargetArgs { to: own("to"), branch: own("branch"), publish_timeout: None }
    }

    /// Where results go; `None` where nobody named a place, which is said.
    fn destination(&self, config: &Config) -> Result<Option<Destination>, Failure> {
        Ok(self.told(destination::find(&self.publisher, &self.target(), config)?))
    }

    /// The same for results that are there only after a long run.
    fn destination_for_later(&self, config: &Config) -> Result<Option<Destination>, Failure> {
        let target = self.target();
        let found = destination::find_for_later(&self.publisher, &target, config, &self.screen)?;
        Ok(self.told(found))
    }

    fn told(&self, found: Found) -> Option<Destination> {
        match found {
            Found::There(to) => Some(*to),
            Found::Nowhere => {
                self.screen.say("nothing is published: the results repository is `none`");
                None
            }
            Found::NotNamed => {
                self.screen.warn(
                    "nothing is published: no results repository is named; give the input `to`, or \
                     `to: none` to say so",
                );
                None
            }
        }
    }
}

fn fail_on(inputs: &Inputs) -> Result<FailOn, Failure> {
    let text = inputs.get("fail-on").unwrap_or("never");
    FailOn::from_str(text, false).map_err(|_| {
        Failure::usage(format!("the input `fail-on` is `{}`", crate::model::text::shown(text)))
            .with_help("known are never and regressed")
    })
}

fn broken(error: &FilesError) -> Failure {
    Failure::new(ExitCode::Internal, error)
}

/// The edge of whoever publishes. What a job may have written into its home does not count here.
fn publisher(edge: &Edge, inputs: &Inputs, private: &std::path::Path) -> Edge {
    const OURS: [(&str, &str); 5] = [
        ("PERFTRAIL_APP_ID", "app-id"),
        ("PERFTRAIL_APP_PRIVATE_KEY", "app-private-key"),
        ("PERFTRAIL_GITHUB_TOKEN", "github-token"),
        ("PERFTRAIL_RESULTS_TOKEN", "results-token"),
        ("PERFTRAIL_RESULTS_SSH_KEY", "results-ssh-key"),
    ];
    let mut variables = edge.variables.clone();
    let mut set = |name: &str, value: std::ffi::OsString| {
        variables.retain(|(other, _)| other != name);
        variables.push((name.into(), value));
    };
    for (name, input) in OURS {
        if let Some(value) = inputs.get(input) {
            set(name, value.into());
        }
    }
    if edge.is_in_actions() {
        for name in ["HOME", "RUNNER_TEMP", "XDG_CONFIG_HOME"] {
            set(name, private.into());
        }
    }
    Edge { variables, masks: edge.is_in_actions(), ..edge.clone() }
}
