//! Measuring, against a program with known costs.
//!
//! A measurement takes every child of its process, so each test runs alone in a copy of this
//! binary: see [`alone`].

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use perftrail::measure::{
    LogBudget, Measurement, Meter, MeterKind, MeterOptions, Sinks, StepCommand, Stop,
};

const MIB: f64 = 1024.0 * 1024.0;
const ALONE: &str = "PERFTRAIL_TEST_ALONE";

/// Runs `test` alone in a process of its own.
macro_rules! alone {
    ($(fn $name:ident() $body:block)*) => {
        $(
            #[test]
            fn $name() {
                crate::measure::alone(concat!(module_path!(), "::", stringify!($name)), || $body);
            }
        )*
    };
}

mod ending;
mod memory;
mod output;
mod reported;
mod totals;

fn alone(path: &str, test: impl FnOnce()) {
    let name = path.split_once("::").map_or(path, |(_, name)| name);
    if env::var_os(ALONE).is_some_and(|alone| alone == name) {
        return test();
    }
    oracle();
    let output = Command::new(env::current_exe().expect("this binary"))
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(ALONE, name)
        .output()
        .expect("a copy of this binary");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

pub(crate) fn oracle() -> PathBuf {
    let exe = env::current_exe().expect("this binary");
    let profile = exe.parent().and_then(Path::parent).expect("the profile's folder");
    let oracle = profile.join("examples/oracle");
    if !oracle.is_file() {
        // `cargo test` builds it; with `--test it` nobody has.
        let release = profile.ends_with("release").then_some("--release");
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--example", "oracle"])
            .args(release)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status();
        assert!(built.is_ok_and(|status| status.success()) && oracle.is_file(), "no oracle");
    }
    oracle
}

fn command<S: Into<OsString>>(
    program: impl Into<OsString>,
    args: impl IntoIterator<Item = S>,
) -> StepCommand {
    let mut argv = vec![program.into()];
    argv.extend(args.into_iter().map(Into::into));
    StepCommand {
        argv,
        cwd: env::temp_dir(),
        env: env::vars_os().filter(|(name, _)| name != ALONE).collect(),
        stats_file: None,
        timeout: None,
        log: LogBudget::default(),
        counters: Vec::new(),
    }
}

fn of_oracle(args: &str) -> StepCommand {
    command(oracle(), args.split(' '))
}

fn of_shell(script: &str) -> StepCommand {
    command("sh", ["-c", script])
}

fn meter() -> Meter {
    Meter::new(MeterKind::Linux, MeterOptions::default())
}

fn measure(command: &StepCommand) -> Measurement {
    meter().run(command, &Stop::new(), Sinks::default(), &mut |_| {}).expect("a measurement")
}

fn value(measurement: &Measurement, name: &str) -> f64 {
    measurement
        .readings
        .get(name)
        .unwrap_or_else(|| panic!("{name} is unavailable: {:?}", measurement.unavailable.get(name)))
        .value
}

#[track_caller]
fn near(value: f64, truth: f64, share: f64) {
    assert!((value / truth - 1.0).abs() <= share, "{value} is not within {share} of {truth}");
}

fn has_notice(measurement: &Measurement, code: &str) -> bool {
    measurement.notices.iter().any(|notice| notice.code == code)
}

fn log(measurement: &Measurement) -> String {
    String::from_utf8_lossy(&measurement.output.log.to_bytes()).into_owned()
}

/// Calls a function for everything that is written.
struct Heard<F>(F);

impl<F: FnMut(&[u8]) -> io::Result<()>> Write for Heard<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (self.0)(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Sinks that call `heard` for all that comes on standard output.
fn hearing(heard: impl FnMut(&[u8]) -> io::Result<()> + Send + 'static) -> Sinks {
    Sinks { stdout: Some(Box::new(Heard(heard))), stderr: None }
}

/// Processes whose command line holds `token`.
pub(crate) fn alive(token: &str) -> usize {
    let me = std::process::id().to_string();
    let Ok(entries) = fs::read_dir("/proc") else { return 0 };
    entries
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| name != me))
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
        .filter(|line| String::from_utf8_lossy(line).contains(token))
        .count()
}

/// Looks until `done`, at most a while.
#[track_caller]
pub(crate) fn until(what: &str, mut done: impl FnMut() -> bool) {
    let limit = Instant::now() + Duration::from_secs(20);
    while !done() {
        assert!(Instant::now() < limit, "in vain: {what}");
        std::thread::yield_now();
    }
}

/// A file in a folder of its own, on the file system of the build.
fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder")
}
