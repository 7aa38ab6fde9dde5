//! Totals that the kernel keeps: CPU time, I/O, faults and switches of the whole tree.

use perftrail::measure::MeterOptions;
use perftrail::model::metric::{BUILT_IN, Exactness};
use perftrail::model::status::Status;

use super::*;

fn patient() -> Meter {
    let options = MeterOptions { daemon_grace: Duration::from_mins(1), ..MeterOptions::default() };
    Meter::new(MeterKind::Linux, options)
}

fn run(meter: &Meter, command: &StepCommand) -> Measurement {
    meter.run(command, &Stop::new(), Sinks::default(), &mut |_| {}).expect("a measurement")
}

fn is_whole(measurement: &Measurement) {
    for metric in BUILT_IN {
        let given = measurement.readings.contains_key(metric.name);
        let refused = measurement.unavailable.contains_key(metric.name);
        let others = ["output_bytes", "output_files", "warnings"].contains(&metric.name);
        assert_eq!((given ^ refused), !others, "{}", metric.name);
    }
}

alone! {
    fn cpu_time_of_the_whole_tree() {
        let m = measure(&of_oracle("spin 4 500"));
        near(value(&m, "cpu_time"), 2.0, 0.03);
        near(value(&m, "cpu_user") + value(&m, "cpu_system"), value(&m, "cpu_time"), 1e-9);
        assert_eq!(m.readings["cpu_time"].exactness, Exactness::Exact);
        near(value(&m, "processes_max"), 5.0, 1e-9);
        is_whole(&m);
    }

    fn a_daemon_is_measured_to_its_end() {
        let folder = scratch();
        let path = folder.path().join("out");
        let m = run(&patient(), &of_oracle(&format!("daemon 700 8 {}", path.display())));
        near(value(&m, "cpu_time"), 0.7, 0.05);
        near(value(&m, "io_write_bytes"), 8.0 * MIB, 1e-12);
        assert!(value(&m, "duration_tree") > value(&m, "duration"));
        assert!(value(&m, "duration_tree") >= 0.7);
        assert!(has_notice(&m, "outlived"));
        assert_eq!(m.ending.status, Status::Succeeded);
    }

    fn a_storm_of_short_processes() {
        let folder = scratch();
        let path = folder.path().join("out");
        let m = measure(&of_oracle(&format!("storm 200 {}", path.display())));
        assert!(value(&m, "cpu_time") >= 0.4);
        near(value(&m, "io_write_bytes"), 200.0 * 65536.0, 1e-12);
        assert!(value(&m, "io_read_bytes") < 64.0 * 1024.0);
    }

    fn io_of_a_tree() {
        let folder = scratch();
        let path = folder.path().join("out");
        let m = measure(&of_oracle(&format!("iotree 4 16 {}", path.display())));
        near(value(&m, "io_write_bytes"), 67_108_864.0, 1e-12);
        near(value(&m, "io_writes"), 64.0, 1e-12);
        assert!(value(&m, "io_read_bytes") < 64.0 * 1024.0);
    }

    fn writes_to_storage() {
        let folder = scratch();
        let path = folder.path().join("out");
        let m = measure(&of_oracle(&format!("write {} 32", path.display())));
        near(value(&m, "io_write_bytes"), 32.0 * MIB, 1e-12);
        if is_on_disk(folder.path()) {
            let written = value(&m, "disk_write_bytes");
            assert!((32.0 * MIB..=32.0 * MIB + 65536.0).contains(&written), "{written}");
        }
    }

    fn writes_that_never_reached_storage() {
        let folder = scratch();
        let path = folder.path().join("out");
        let m = measure(&of_oracle(&format!("cancel {} 32", path.display())));
        near(value(&m, "io_write_bytes"), 32.0 * MIB, 1e-12);
        if is_on_disk(folder.path()) {
            let io = m.io.expect("I/O counters");
            assert_eq!(io.cancelled_write_bytes, 32 << 20);
            assert!(value(&m, "disk_write_bytes") <= 65536.0);
        }
    }

    fn writes_to_memory_are_no_writes_to_storage() {
        let Ok(folder) = tempfile::tempdir_in("/dev/shm") else { return };
        let path = folder.path().join("out");
        let m = measure(&of_oracle(&format!("write {} 8", path.display())));
        near(value(&m, "io_write_bytes"), 8.0 * MIB, 1e-12);
        assert!(value(&m, "disk_write_bytes").abs() < 1.0);
    }

    fn reads_past_the_page_cache() {
        let folder = scratch();
        let path = folder.path().join("in");
        measure(&of_oracle(&format!("write {} 16", path.display())));
        if !is_on_disk(folder.path()) {
            return;
        }
        let m = measure(&of_oracle(&format!("dread {}", path.display())));
        let read = value(&m, "disk_read_bytes");
        // The program itself may have to be read as well.
        assert!((16.0 * MIB..24.0 * MIB).contains(&read), "{read}");
        near(value(&m, "io_read_bytes"), 16.0 * MIB, 0.01);
    }

    fn thrown_away_totals_are_told() {
        let m = measure(&of_oracle("noreap 4 800"));
        let cpu = &m.readings["cpu_time"];
        assert_eq!(cpu.exactness, Exactness::Bounded, "{cpu:?}");
        assert!(cpu.upper.is_some_and(|upper| upper >= 3.0), "{cpu:?}");
        assert!(has_notice(&m, "cpu_undercounted"), "{:?}", m.notices);
    }

    fn switches_of_every_thread() {
        let m = measure(&of_oracle("threads 4 1000"));
        assert!(value(&m, "context_switches_voluntary") >= 4000.0);
        near(value(&m, "threads_max"), 5.0, 1e-9);
    }

    fn a_name_with_parentheses() {
        let m = measure(&command(oracle(), ["rename", ") (x", "400"]));
        near(value(&m, "cpu_time"), 0.4, 0.05);
        near(value(&m, "processes_max"), 1.0, 1e-9);
        near(value(&m, "threads_max"), 1.0, 1e-9);
    }

    fn children_from_before_are_no_part_of_it() {
        let mut stranger = Command::new(oracle()).args(["sleep", "60000"]).spawn().expect("sleep");
        let m = measure(&of_oracle("spin 1 800"));
        near(value(&m, "processes_max"), 2.0, 1e-9);
        near(value(&m, "cpu_time"), 0.8, 0.1);
        stranger.kill().expect("it still runs");
        assert!(stranger.wait().is_ok());
    }

    fn what_is_known_so_far() {
        let mut partials = Vec::new();
        let m = meter()
            .run(&of_oracle("spin 1 1500"), &Stop::new(), Sinks::default(), &mut |progress| {
                partials.push(progress.so_far());
            })
            .expect("a measurement");
        assert!(partials.len() >= 3, "{}", partials.len());
        for partial in &partials {
            is_whole(partial);
            assert_eq!(partial.ending.status, Status::Running);
            assert_eq!(partial.readings["cpu_time"].exactness, Exactness::Sampled);
        }
        let so_far: Vec<_> = partials.iter().map(|partial| value(partial, "cpu_time")).collect();
        assert!(so_far.is_sorted(), "{so_far:?}");
        assert!(so_far.last().is_some_and(|&last| last > 0.0 && last < value(&m, "cpu_time") + 0.03));
        let names: Vec<_> = m.series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!(names, ["memory", "memory_pss", "cpu", "processes", "threads"]);
    }

    fn measuring_costs_little_and_says_so() {
        let m = measure(&of_oracle("spin 1 1000"));
        // How many there are is the governor's choice, by what one of them costs.
        assert!(m.overhead.samples >= 5, "{:?}", m.overhead);
        assert!(m.overhead.cpu_time > 0.0 && m.overhead.sample_cost_max > 0.0);
        assert!(m.overhead.sample_cost_median <= m.overhead.sample_cost_max * 1.1);
        assert!(m.share.run_time.is_none_or(|run| run > 0.0));
    }

    fn one_measurement_at_a_time() {
        let mut refused = 0;
        meter()
            .run(&of_oracle("sleep 800"), &Stop::new(), Sinks::default(), &mut |_| {
                let second = meter()
                    .run(&of_oracle("exit 0"), &Stop::new(), Sinks::default(), &mut |_| {});
                refused += u32::from(second.is_err());
            })
            .expect("a measurement");
        assert!(refused > 0);
    }

    fn the_portable_meter_gives_what_every_system_has() {
        let meter = Meter::new(MeterKind::Portable, MeterOptions::default());
        let m = run(&meter, &of_oracle("spin 2 200"));
        near(value(&m, "cpu_time"), 0.4, 0.05);
        assert_eq!(m.readings["cpu_time"].exactness, Exactness::Bounded);
        assert!(m.unavailable["memory_peak"].contains("portable"));
        assert!(m.unavailable["duration_tree"].contains("portable"));
        is_whole(&m);
        let m = run(&meter, &of_oracle("exit 3"));
        assert_eq!((m.ending.exit_code, m.ending.status), (Some(3), Status::Failed));
        let m = run(&meter, &StepCommand {
            timeout: Some(Duration::from_millis(200)),
            ..of_oracle("sleep 60000")
        });
        assert_eq!((m.ending.exit_code, m.ending.status), (Some(124), Status::TimedOut));
    }

    fn work_behind_a_client_is_told_not_judged() {
        let folder = scratch();
        let client = folder.path().join("docker");
        fs::copy(oracle(), &client).expect("a copy");
        let m = measure(&command(&client, ["sleep", "1200"]));
        assert!(has_notice(&m, "outside_tree"), "{:?}", m.notices);
        let m = measure(&of_oracle("sleep 1200"));
        assert!(!has_notice(&m, "outside_tree"), "{:?}", m.notices);
    }
}

/// Whether files there are on a disk, not in memory.
fn is_on_disk(folder: &Path) -> bool {
    const TMPFS: u64 = 0x0102_1994;
    const OVERLAY_OF_UNKNOWN: u64 = 0;
    let kind = rustix::fs::statfs(folder)
        .map_or(OVERLAY_OF_UNKNOWN, |found| u64::try_from(found.f_type).unwrap_or(0));
    kind != TMPFS && kind != OVERLAY_OF_UNKNOWN
}

/// Set in the copy of this binary that may not look into processes of others.
const WITHOUT_RIGHTS: &str = "PERFTRAIL_TEST_WITHOUT_RIGHTS";

#[test]
fn io_of_another_user_is_found_by_difference() {
    let setpriv = |args: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(args);
        command
    };
    let blind = ["--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace"];
    if env::var_os(WITHOUT_RIGHTS).is_none() {
        let can = rustix::process::getuid().is_root()
            && setpriv(&blind).arg("true").status().is_ok_and(|status| status.success());
        if !can {
            // Only root can give rights up this way.
            return;
        }
        oracle();
        let output = setpriv(&blind)
            .arg(env::current_exe().expect("this binary"))
            .args(["--exact", "measure::totals::io_of_another_user_is_found_by_difference"])
            .args(["--nocapture", "--test-threads=1"])
            .env(WITHOUT_RIGHTS, "1")
            .output()
            .expect("setpriv");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    // Nobody may be able to enter the folder of the build.
    let folder = tempfile::tempdir().expect("a folder");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    fs::set_permissions(folder.path(), open).expect("permissions");
    let program = folder.path().join("oracle");
    fs::copy(oracle(), &program).expect("a copy");
    let out = folder.path().join("out");
    let mut job = command("setpriv", ["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
    job.argv.extend([program.into(), "iotree".into(), "2".into(), "8".into(), out.into()]);
    let m = measure(&job);
    assert_eq!(m.ending.exit_code, Some(0), "{}", log(&m));
    assert_eq!(m.readings["io_write_bytes"].method, "io_difference");
    near(value(&m, "io_write_bytes"), 16.0 * MIB, 1e-12);
}
