//! The command line: verbs and flags, nothing else.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use jiff::civil::Date;

use crate::model::metric::Better;

/// Measures a program, keeps the record in a results repository, shows what it found.
#[derive(Debug, Parser)]
#[command(name = "perftrail", version, about, max_term_width = 100, disable_help_subcommand = true)]
#[command(
    after_help = "Exit codes: 0 done or nothing to do · 1 internal error · 2 usage or configuration · \
    3 the job failed, or fsck or doctor found faults · 4 regressed, where failing was asked for · \
    5 may not run here, or another commit is checked out · 6 could not publish · \
    7 GitHub gave no answer that is needed. \
    Several at once: 6 before 3 before 4."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
    /// How much to say.
    #[command(flatten)]
    pub talk: Talk,
}

/// How much to say.
#[derive(Clone, Copy, Debug, Args)]
pub struct Talk {
    /// Say only what was found and what went wrong; the job's output is kept, not shown
    #[arg(long, short, global = true, env = "PERFTRAIL_QUIET", conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say what is done and why
    #[arg(long, short, global = true, env = "PERFTRAIL_VERBOSE")]
    pub verbose: bool,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Measure; writes a bundle; with --publish also publishes and reports
    Run(Box<RunArgs>),
    /// Put bundles into a results repository, as one commit
    Publish(PublishArgs),
    /// Bring in what was measured elsewhere
    Import(ImportArgs),
    /// Show one run
    Report(ReportArgs),
    /// Lay a run on another one: what changed, function by function
    Compare(CompareArgs),
    /// List what the results repository holds
    Runs(RunsArgs),
    /// Tell levels and change points of each history, or of a plain series
    History(HistoryArgs),
    /// Accept a change: the level of a metric is meant from a commit on
    Accept(AcceptArgs),
    /// Correct the commit of a run that says it measured another one
    Amend(AmendArgs),
    /// Check the results repository; with --rebuild, make index and landing page anew
    Fsck(FsckArgs),
    /// Set a project up: write perftrail.toml and a workflow
    Init(InitArgs),
    /// Say before a long run what would fail after it
    Doctor(DoctorArgs),
    /// Decide on the event of a workflow: whether to run, what, at which commit; needs no checkout
    Gate(GateArgs),
    /// The step of a GitHub workflow: reads the Action's inputs from the environment
    Action(ActionArgs),
    /// Print the JSON Schema of a file format
    Schema(SchemaArgs),
    /// Print completions for a shell
    Completions(CompletionsArgs),
}

/// Where results go or come from.
#[derive(Clone, Debug, Args)]
pub struct Target {
    /// The results repository: owner/name, an address or a path; `none` keeps runs where they are
    /// [default: the configuration's, else ./perftrail-results; in Actions there is none]
    #[arg(long, value_name = "REPO", env = "PERFTRAIL_TO")]
    pub to: Option<String>,
    /// The branch that holds the results [default: the configuration's, else `results`]
    #[arg(long, value_name = "NAME", env = "PERFTRAIL_BRANCH")]
    pub branch: Option<String>,
    /// How long publishing is tried [default: 15m]
    #[arg(long, value_name = "TIME", env = "PERFTRAIL_PUBLISH_TIMEOUT")]
    pub publish_timeout: Option<String>,
}

/// `perftrail run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// A job of perftrail.toml; without one, every job of this event
    #[arg(value_name = "JOB", conflicts_with = "command")]
    pub job: Option<String>,
    /// A command to measure instead of a configured job
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
    /// The name of the job, or which one to run
    #[arg(long = "job", value_name = "NAME", env = "PERFTRAIL_JOB", conflicts_with = "job")]
    pub job_name: Option<String>,
    /// Where bundles are written, one folder each
    #[arg(long, value_name = "DIR", default_value = "perftrail-out", env = "PERFTRAIL_OUTPUT_DIR")]
    pub output: PathBuf,
    /// The configuration [default: perftrail.toml here or at the top of the work tree]
    #[arg(long, value_name = "FILE", env = "PERFTRAIL_CONFIG")]
    pub config: Option<PathBuf>,
    /// Run this plan instead of making one
    #[arg(long, value_name = "FILE", env = "PERFTRAIL_PLAN", conflicts_with_all = ["job", "job_name", "command", "param", "step"])]
    pub plan: Option<PathBuf>,
    /// Measure what the plan says once more: which confirmation it is, from 1
    #[arg(long, value_name = "N", env = "PERFTRAIL_CONFIRM", requires = "plan")]
    pub confirm: Option<u32>,
    /// Print the plan as JSON and run nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Set a declared param
    #[arg(long, value_name = "K=V", env = "PERFTRAIL_PARAM", value_delimiter = '\n')]
    pub param: Vec<String>,
    /// Run only this step (repeats)
    #[arg(long, value_name = "NAME", env = "PERFTRAIL_STEP", value_delimiter = '\n')]
    pub step: Vec<String>,
    /// The profiler [default: the job's, else none]
    #[arg(long, value_name = "NAME", env = "PERFTRAIL_PROFILER")]
    pub profiler: Option<String>,
    /// Arguments for the profiler
    #[arg(
        long,
        value_name = "ARG",
        env = "PERFTRAIL_PROFILER_ARGS",
        value_delimiter = '\n',
        allow_hyphen_values = true
    )]
    pub profiler_args: Vec<String>,
    /// How often to measure [default: the job's, else 1]
    #[arg(long, value_name = "N", env = "PERFTRAIL_REPETITIONS")]
    pub repetitions: Option<u32>,
    /// How often to run before, unmeasured [default: the job's, else 0]
    #[arg(long, value_name = "N", env = "PERFTRAIL_WARMUPS")]
    pub warmups: Option<u32>,
    /// Time limit of a repetition, such as 90s or 10h [default: the job's, else none]
    #[arg(long, value_name = "TIME", env = "PERFTRAIL_TIMEOUT")]
    pub timeout: Option<String>,
    /// Strings to keep in the record, verbatim; several may follow
    #[arg(long, value_name = "K=V", num_args = 1.., env = "PERFTRAIL_ADDITIONAL_STATS", value_delimiter = '\n')]
    pub additional_stats: Vec<String>,
    /// Names the machine group: runs of one name may be compared
    #[arg(long, value_name = "NAME", env = "PERFTRAIL_MACHINE")]
    pub machine: Option<String>,
    /// Sets this run apart from otherwise equal ones, such as another operating system
    #[arg(long, value_name = "NAME", env = "PERFTRAIL_VARIANT")]
    pub variant: Option<String>,
    /// Publish what was measured
    #[arg(long, env = "PERFTRAIL_PUBLISH")]
    pub publish: bool,
    /// Where to.
    #[command(flatten)]
    pub target: Target,
    /// End with the job's own exit code instead of 3 when it fails
    #[arg(long, env = "PERFTRAIL_PROPAGATE_EXIT")]
    pub propagate_exit: bool,
    /// End with 4 when a judged metric is worse than its limit
    #[arg(long, value_enum, default_value_t = FailOn::Never, env = "PERFTRAIL_FAIL_ON")]
    pub fail_on: FailOn,
    /// What stdout gets
    #[arg(long, value_enum, default_value_t = Format::Text, env = "PERFTRAIL_FORMAT")]
    pub format: Format,
    /// How processes are measured: `portable` uses only what every Unix has
    #[arg(long, value_enum, default_value_t = Meter::Best, env = "PERFTRAIL_METER", hide = true)]
    pub meter: Meter,
}

/// `perftrail publish`.
#[derive(Debug, Args)]
pub struct PublishArgs {
    /// Bundles, or folders that hold bundles: those not yet published are taken
    #[arg(value_name = "BUNDLE", required_unless_present = "plan")]
    pub bundles: Vec<PathBuf>,
    /// The plan of these runs: those of which no bundle came are recorded as lost
    #[arg(long, value_name = "FILE", env = "PERFTRAIL_PLAN")]
    pub plan: Option<PathBuf>,
    /// Which confirmation of the plan's runs these are, from 1
    #[arg(long, value_name = "N", env = "PERFTRAIL_CONFIRM", requires = "plan")]
    pub confirm: Option<u32>,
    /// Where to.
    #[command(flatten)]
    pub target: Target,
    /// The configuration [default: perftrail.toml here or at the top of the work tree]
    #[arg(long, value_name = "FILE", env = "PERFTRAIL_CONFIG")]
    pub config: Option<PathBuf>,
    /// End with 4 when a judged metric is worse than its limit
    #[arg(long, value_enum, default_value_t = FailOn::Never, env = "PERFTRAIL_FAIL_ON")]
    pub fail_on: FailOn,
    /// What stdout gets
    #[arg(long, value_enum, default_value_t = ListFormat::Text, env = "PERFTRAIL_FORMAT")]
    pub format: ListFormat,
}

/// `perftrail import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// What kind of thing
    #[command(subcommand)]
    pub kind: ImportKind,
}

/// What can be brought in.
#[derive(Debug, Subcommand)]
pub enum ImportKind {
    /// A folder of files that a job left: makes a bundle, and publishes it with --to
    Files(Box<ImportFilesArgs>),
    /// The tree of TLOmodel-profiling: stats, arguments, tables, pages and logs of each run
    Tlomodel(Box<ForeignArgs>),
    /// data.js of github-action-benchmark
    GithubActionBenchmark(Box<ForeignArgs>),
    /// The results folder of airspeed velocity
    Asv(Box<ForeignArgs>),
    /// The storage of pytest-benchmark
    PytestBenchmark(Box<ForeignArgs>),
}

/// What brings in the results of another tool.
#[derive(Debug, Args)]
pub struct ForeignArgs {
    /// The folder, or the file
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
    /// The measured project: owner/name, host/owner/name or an address [default: as the files say]
    #[arg(long, value_name = "PROJECT")]
    pub project: Option<String>,
    /// The name of its default branch
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub default_branch: String,
    /// Names the machine group [default: as the files say]
    #[arg(long, value_name = "NAME", env = "PERFTRAIL_MACHINE")]
    pub machine: Option<String>,
    /// Where to.
    #[command(flatten)]
    pub target: Target,
    /// The configuration [default: perftrail.toml here or at the top of the work tree]
    #[arg(long, value_name = "FILE", env = "PERFTRAIL_CONFIG")]
    pub config: Option<PathBuf>,
}

/// `perftrail import files`.
#[derive(Debug, Args)]
pub struct ImportFilesArgs {
    /// The folder
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// The job: one of perftrail.toml, whose `read`, `keep` and `collect` count, or a new name
    #[arg(long, value_name = "NAME", env = "PERFTRAIL_JOB")]
    pub job: String,
    /// The commit that was measured, all of its digits
    #[arg(long, value_name = "SHA")]
    pub commit: String,
    /// Set a declared param
    #[arg(long, value_name = "K=V", env = "PERFTRAIL_PARAM", value_delimiter = '\n')]
    pub param: Vec<String>,
    /// Read files: metrics, params, series, phases or extra, and a pattern
    #[arg(long, value_name = "KIND=PATTERN")]
    pub read: Vec<String>,
    /// Keep files verbatim
    #[arg(long, value_name = "PATTERN")]
    pub keep: Vec<String>,
    /// Strings to keep in the record, verbatim; several may follow
    #[arg(long, value_name = "K=V", num_args = 1.., env = "PERFTRAIL_ADDITIONAL_STATS", value_delimiter = '\n')]
    pub additional_stats: Vec<String>,
    /// When the job began, such as 2026-11-30T01:00:00Z
    #[arg(long, value_name = "TIME")]
    pub started: Option<jiff::Timestamp>,
    /// When the job ended
    #[arg(long, value_name = "TIME")]
    pub ended: Option<jiff::Timestamp>,
    /// The job ran on this machine: describe it in the record
    #[arg(long)]
    pub here: bool,
    /// Names the machine group
    #[arg(long, value_name = "NAME", env = "PERFTRAIL_MACHINE")]
    pub machine: Option<String>,
    /// Sets this run apart from otherwise equal ones
    #[arg(long, value_name = "NAME", env = "PERFTRAIL_VARIANT")]
    pub variant: Option<String>,
    /// Where the bundle is written
    #[arg(long, value_name = "DIR", default_value = "perftrail-out", env = "PERFTRAIL_OUTPUT_DIR")]
    pub output: PathBuf,
    /// The configuration [default: perftrail.toml here or at the top of the work tree]
    #[arg(long, value_name = "FILE", env = "PERFTRAIL_CONFIG")]
    pub config: Option<PathBuf>,
    /// Where to; without it the bundle is only made.
    #[command(flatten)]
    pub target: Target,
    /// What stdout gets
    #[arg(long, value_enum, default_value_t = Format::Text, env = "PERFTRAIL_FORMAT")]
    pub format: Format,
}

/// `perftrail report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// A bundle's folder, a path in the results repository, `<sha prefix>[/<job>]`, or `latest[~N][/<job>]`
    #[arg(value_name = "RUN", default_value = "latest")]
    pub run: String,
    /// Lay the run on this one: what changed, function by function
    #[arg(long, value_name = "RUN")]
    pub against: Option<String>,
    /// Where to look.
    #[command(flatten)]
    pub target: Target,
    /// The configuration [default: perftrail.toml here or at the top of the work tree]
    #[arg(long, value_name = "FILE", env = "PERFTRAIL_CONFIG")]
    pub config: Option<PathBuf>,
    /// End with 4 when a judged metric is worse than its limit
    #[arg(long, value_enum, default_value_t = FailOn::Never, env = "PERFTRAIL_FAIL_ON")]
    pub fail_on: FailOn,
    /// What stdout gets
    #[arg(long, value_enum, default_value_t = Format::Text, env = "PERFTRAIL_FORMAT")]
    pub format: Format,
}

/// `perftrail compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The first run: a path in the results repository, `<sha prefix>[/<job>]`, `latest[~N][/<job>]`, or a
    /// bundle's folder
    #[arg(value_name = "A")]
    pub before: String,
    /// The second run, in the same words
    #[arg(value_name = "B")]
    pub after: String,
    /// Also compare runs of different machines, and say so
    #[arg(long)]
    pub other_machines: bool,
    /// Where to look.
    #[command(flatten)]
    pub target: Target,
    /// The configuration [default: perftrail.toml here or at the top of the work tree]
    #[arg(long, value_name = "FILE", env = "PERFTRAIL_CONFIG")]
    pub config: Option<PathBuf>,
    /// What stdout gets
    #[arg(long, value_enum, default_value_t = Format::Text, env = "PERFTRAIL_FORMAT")]
    pub format: Format,
}

/// `perftrail runs`.
#[derive(Debug, Args)]
pub struct RunsArgs {
    /// Only this job's
    #[arg(long, value_name = "NAME")]
    pub job: Option<String>,
    /// Only runs that ended so, such as failed
    #[arg(long, value_name = "STATUS")]
    pub status: Option<String>,
    /// Only runs that began on this day or later
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = day)]
    pub since: Option<Date>,
    /// At most so many, the newest
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub limit: usize,
    /// Where to look.
    #[command(flatten)]
    pub target: Target,
    /// The configuration [default: perftrail.toml here or at the top of the work tree]
    #[arg(long, value_name = "FILE", env = "PERFTRAIL_CONFIG")]
    pub config: Option<PathBuf>,
    /// What stdout gets
    #[arg(long, value_enum, default_value_t = ListFormat::Text, env = "PERFTRAIL_FORMAT")]
    pub format: ListFormat,
}

/// `perftrail history`.
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// Judge this plain series: CSV with a `value` column, or JSON; `-` for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["job", "metric"])]
    pub series: Option<PathBuf>,
    /// Only this job's
    #[arg(long, value_name = "NAME")]
    pub job: Option<String>,
    /// This metric (repeats) [default: the judged ones]
    #[arg(long, value_name = "NAME")]
    pub metric: Vec<String>,
    /// Smaller changes are not told [default: 2%; for exact numbers every change is]
    #[arg(long, value_name = "SHARE")]
    pub min_effect: Option<String>,
    /// Which way the numbers of a plain series get better [default: neither]
    #[arg(long, value_enum, requires = "series")]
    pub better: Option<BetterWord>,
    /// The unit of a plain series, such as s or B
    #[arg(long, value_name = "UNIT", requires = "series")]
    pub unit: Option<String>,
    /// Where to look.
    #[command(flatten)]
    pub target: Target,
    /// The configuration [default: perftrail.toml here or at the top of the work tree]
    #[arg(long, value_name = "FILE", env = "PERFTRAIL_CONFIG")]
    pub config: Option<PathBuf>,
    /// What stdout gets
    #[arg(long, value_enum, default_value_t = TextFormat::Text, env = "PERFTRAIL_FORMAT")]
    pub format: TextFormat,
}

/// `perftrail accept`.
#[derive(Debug, Args)]
pub struct AcceptArgs {
    /// The metric
    #[arg(value_name = "METRIC")]
    pub metric: String,
    /// The measured commit from which on the level is meant: its first digits
    #[arg(long, value_name = "SHA")]
    pub since: String,
    /// Why
    #[arg(long, value_name = "REASON")]
    pub because: String,
    /// Only this job's [default: every job's]
    #[arg(long, value_name = "NAME")]
    pub job: Option<String>,
    /// Who says so [default: as git knows you]
    #[arg(long, value_name = "NAME", env = "PERFTRAIL_AUTHOR")]
    pub author: Option<String>,
    /// Where to.
    #[command(flatten)]
    pub target: Target,
    /// The configuration [default: perftrail.toml here or at the top of the work tree]
    #[arg(long, value_name = "FILE", env = "PERFTRAIL_CONFIG")]
    pub config: Option<PathBuf>,
}

/// `perftrail amend`.
#[derive(Debug, Args)]
pub struct AmendArgs {
    /// The run: a path in the results repository, the start of its commit[/job], or `latest[~N][/job]`
    #[arg(value_name = "RUN")]
    pub run: String,
    /// The commit that it measured: all digits, or what a clone here knows
    #[arg(long, value_name = "SHA")]
    pub commit: String,
    /// Why
    #[arg(long, value_name = "REASON")]
    pub because: String,
    /// Who says so [default: as git knows you]
    #[arg(long, value_name = "NAME", env = "PERFTRAIL_AUTHOR")]
    pub author: Option<String>,
    /// Where to.
    #[command(flatten)]
    pub target: Target,
    /// The configuration [default: perftrail.toml here or at the top of the work tree]
    #[arg(long, value_name = "FILE", env = "PERFTRAIL_CONFIG")]
    pub config: Option<PathBuf>,
}

/// `perftrail fsck`.
#[derive(Debug, Args)]
pub struct FsckArgs {
    /// Make index, landing page, drawings and missing pages anew from the run folders, as one
    /// commit, then check
    #[arg(long)]
    pub rebuild: bool,
    /// What to check.
    #[command(flatten)]
    pub target: Target,
    /// The configuration [default: perftrail.toml here or at the top of the work tree]
    #[arg(long, value_name = "FILE", env = "PERFTRAIL_CONFIG")]
    pub config: Option<PathBuf>,
    /// What stdout gets
    #[arg(long, value_enum, default_value_t = ListFormat::Text, env = "PERFTRAIL_FORMAT")]
    pub format: ListFormat,
}

/// `perftrail init`.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// The command to measure [default: the project's only Python program]
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// The results repository, owner/name, an address or a path: it gets its first commit
    #[arg(long, value_name = "REPO")]
    pub results: Option<String>,
    /// The name of the job [default: that of the program]
    #[arg(long = "job", value_name = "NAME")]
    pub job: Option<String>,
}

/// `perftrail doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Also look whether results can be published, and how long the token lives
    #[arg(long, env = "PERFTRAIL_PUBLISH")]
    pub publish: bool,
    /// Where to.
    #[command(flatten)]
    pub target: Target,
    /// The configuration [default: perftrail.toml here or at the top of the work tree]
    #[arg(long, value_name = "FILE", env = "PERFTRAIL_CONFIG")]
    pub config: Option<PathBuf>,
    /// What stdout gets
    #[arg(long, value_enum, default_value_t = ListFormat::Text, env = "PERFTRAIL_FORMAT")]
    pub format: ListFormat,
}

/// `perftrail gate`.
#[derive(Debug, Args)]
pub struct GateArgs {
    /// The word that begins a command in a comment
    #[arg(
        long,
        value_name = "WORD",
        default_value = "/profile",
        env = "PERFTRAIL_COMMENT_COMMAND"
    )]
    pub comment_command: String,
    /// The only job to run [default: what the event asks for]
    #[arg(long = "job", value_name = "NAME", env = "PERFTRAIL_JOB")]
    pub job: Option<String>,
    /// Set a declared param
    #[arg(long, value_name = "K=V", env = "PERFTRAIL_PARAM", value_delimiter = '\n')]
    pub param: Vec<String>,
    /// How often to measure [default: the job's]
    #[arg(long, value_name = "N", env = "PERFTRAIL_REPETITIONS")]
    pub repetitions: Option<u32>,
    /// Names the machine group
    #[arg(long, value_name = "NAME", env = "PERFTRAIL_MACHINE")]
    pub machine: Option<String>,
    /// Sets the runs apart from otherwise equal ones
    #[arg(long, value_name = "NAME", env = "PERFTRAIL_VARIANT")]
    pub variant: Option<String>,
    /// The branch, tag or commit to measure, but on pull requests [default: the event's]
    #[arg(long = "ref", value_name = "REF")]
    pub reference: Option<String>,
    /// The configuration's path in the repository [default: perftrail.toml]
    #[arg(long, value_name = "FILE", env = "PERFTRAIL_CONFIG")]
    pub config: Option<PathBuf>,
    /// Where a schedule looks whether a commit was measured.
    #[command(flatten)]
    pub target: Target,
    /// What stdout gets
    #[arg(long, value_enum, default_value_t = ListFormat::Text, env = "PERFTRAIL_FORMAT")]
    pub format: ListFormat,
}

/// `perftrail action`.
#[derive(Clone, Copy, Debug, Args)]
pub struct ActionArgs {
    /// Which part of the step
    #[arg(value_enum, default_value_t = ActionStage::Main)]
    pub stage: ActionStage,
}

/// The parts of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ActionStage {
    /// The step itself
    Main,
    /// The end of the job: publishes what the step left behind
    Post,
}

/// `perftrail schema`.
#[derive(Clone, Copy, Debug, Args)]
pub struct SchemaArgs {
    /// Which format
    #[arg(value_enum)]
    pub of: SchemaOf,
}

/// `perftrail completions`.
#[derive(Clone, Copy, Debug, Args)]
pub struct CompletionsArgs {
    /// Which shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// The file formats with a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// perftrail.toml
    Config,
    /// stats.json
    Record,
}

/// The form of a run's report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table for people
    Text,
    /// Markdown
    Md,
    /// The record, and nothing else on stdout
    Json,
    /// The self-contained page
    Html,
}

/// The form of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ListFormat {
    /// A table for people
    Text,
    /// JSON, and nothing else on stdout
    Json,
}

/// The form of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TextFormat {
    /// A chart and a table for people
    Text,
    /// Markdown
    Md,
    /// JSON, and nothing else on stdout
    Json,
}

/// What makes the program fail beside a failed job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Nothing
    Never,
    /// A number that is worse than its limit, by more than one run's evidence
    Regressed,
}

/// Which way a metric gets better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BetterWord {
    /// Less is better
    Lower,
    /// More is better
    Higher,
    /// A change is only a change
    Neither,
}

impl From<BetterWord> for Better {
    fn from(word: BetterWord) -> Self {
        match word {
            BetterWord::Lower => Self::Lower,
            BetterWord::Higher => Self::Higher,
            BetterWord::Neither => Self::Neither,
        }
    }
}

/// How processes are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Meter {
    /// The best that this system has
    Best,
    /// Wall time and resource usage only
    Portable,
}

fn day(text: &str) -> Result<Date, String> {
    text.parse().map_err(|_| "a day is written as YYYY-MM-DD, such as 2026-11-30".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn several_additional_stats_may_follow_one_flag() {
        let cli = Cli::parse_from([
            "perftrail",
            "run",
            "job",
            "--additional-stats",
            "a=1",
            "b c=d=e",
            "--publish",
        ]);
        let Verb::Run(run) = cli.verb else { panic!("another verb") };
        assert_eq!(run.additional_stats, ["a=1", "b c=d=e"]);
        assert_eq!(run.job.as_deref(), Some("job"));
        assert!(run.publish);
    }

    #[test]
    fn a_command_follows_two_dashes() {
        let cli =
            Cli::parse_from(["perftrail", "run", "--job", "x", "--", "python3", "-c", "pass"]);
        let Verb::Run(run) = cli.verb else { panic!("another verb") };
        assert_eq!(run.command, ["python3", "-c", "pass"]);
        assert!(Cli::try_parse_from(["perftrail", "run", "job", "--", "true"]).is_err());
    }
}
