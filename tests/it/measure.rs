//! Measuring, against a program with known costs.
//!
//! A measurement takes every child of its process, so each test runs alone in a copy of this
//! binary: see [`alone`].

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use perftrail::measure::{
    LogBudget, Measurement, Meter, MeterKind, MeterOptions, Sinks, StepCommand, Stop,
};
use perftrail::model::metric::Exactness;
use perftrail::model::status::Status;

const MIB: f64 = 1024.0 * 1024.0;
const ALONE: &str = "PERFTRAIL_TEST_ALONE";

/// Runs `test` alone in a process of its own.
macro_rules! alone {
    ($(fn $name:ident() $body:block)*) => {
        $(
            #[test]
            fn $name() {
                alone(concat!(module_path!(), "::", stringify!($name)), || $body);
            }
        )*
    };
}

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

fn oracle() -> PathBuf {
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

alone! {
    fn one_process_and_its_peak() {
        let m = measure(&of_oracle("alloc 200 100"));
        assert_eq!((m.ending.exit_code, m.ending.status), (Some(0), Status::Succeeded));
        near(value(&m, "memory_peak"), 201.0 * MIB, 0.01);
        near(value(&m, "memory_peak_process"), 201.0 * MIB, 0.01);
        assert_eq!(m.readings["memory_peak"].exactness, Exactness::Exact);
    }

    fn cpu_of_the_whole_tree_is_exact() {
        let m = measure(&of_oracle("spin 4 500"));
        near(value(&m, "cpu_time"), 2.0, 0.03);
        assert_eq!(m.readings["cpu_time"].exactness, Exactness::Exact);
        assert!(value(&m, "processes_max") >= 5.0);
    }

    fn exit_codes() {
        for (command, code, signal, status) in [
            (of_oracle("exit 3"), 3, None, Status::Failed),
            (of_oracle("killself"), 137, Some(9), Status::Failed),
            (command("/no/such/program", [""; 0]), 127, None, Status::Failed),
            (command("no-such-program", [""; 0]), 127, None, Status::Failed),
            (command("/etc/passwd", [""; 0]), 126, None, Status::Failed),
            (of_shell("exit 0"), 0, None, Status::Succeeded),
        ] {
            let m = measure(&command);
            let got = (m.ending.exit_code, m.ending.signal, m.ending.status);
            assert_eq!(got, (Some(code), signal, status), "{:?}", command.argv);
        }
    }
}
