//! How a job ends, and that nothing of it is left behind.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use perftrail::measure::{MeterOptions, StopCause};
use perftrail::model::status::Status;

use super::*;

fn hasty() -> MeterOptions {
    MeterOptions {
        daemon_grace: Duration::from_millis(300),
        kill_grace: Duration::from_millis(300),
        stop_terminate: Duration::from_millis(200),
        stop_kill: Duration::from_millis(400),
        ..MeterOptions::default()
    }
}

fn run(options: MeterOptions, command: &StepCommand) -> Measurement {
    Meter::new(MeterKind::Linux, options)
        .run(command, &Stop::new(), Sinks::default(), &mut |_| {})
        .expect("a measurement")
}

/// Runs it, and asks `times` to stop as soon as it says it is ready.
fn stopped(
    options: MeterOptions,
    command: &StepCommand,
    cause: StopCause,
    times: u32,
) -> Measurement {
    let stop = Stop::new();
    let asker = stop.clone();
    let sinks = hearing(move |_| {
        for _ in 0..times {
            asker.request(cause);
        }
        Ok(())
    });
    Meter::new(MeterKind::Linux, options)
        .run(command, &stop, sinks, &mut |_| {})
        .expect("a measurement")
}

fn limited(milliseconds: u64, args: &str) -> StepCommand {
    StepCommand { timeout: Some(Duration::from_millis(milliseconds)), ..of_oracle(args) }
}

alone! {
    fn exit_codes() {
        for (command, code, signal, status) in [
            (of_shell("exit 0"), 0, None, Status::Succeeded),
            (of_oracle("exit 3"), 3, None, Status::Failed),
            (of_oracle("killself"), 137, Some(9), Status::Failed),
            (command("/no/such/program", [""; 0]), 127, None, Status::Failed),
            (command("no-such-program", [""; 0]), 127, None, Status::Failed),
            (command("/etc/passwd", [""; 0]), 126, None, Status::Failed),
            (command("/tmp", [""; 0]), 126, None, Status::Failed),
        ] {
            let m = measure(&command);
            let got = (m.ending.exit_code, m.ending.signal, m.ending.status);
            assert_eq!(got, (Some(code), signal, status), "{:?}", command.argv);
            assert_eq!(has_notice(&m, "not_found"), code == 127, "{:?}", m.notices);
            assert_eq!(has_notice(&m, "not_executable"), code == 126, "{:?}", m.notices);
            assert_eq!(has_notice(&m, "oom_suspected"), code == 137, "{:?}", m.notices);
            assert_eq!(m.readings.contains_key("duration"), !matches!(code, 126 | 127));
        }
    }

    fn what_cannot_be_measured_at_all() {
        let nowhere = StepCommand { cwd: "/no/such/folder".into(), ..of_shell("true") };
        let empty = StepCommand { argv: Vec::new(), ..of_shell("true") };
        for (command, message) in [(nowhere, "/no/such/folder"), (empty, "is empty")] {
            let error = meter()
                .run(&command, &Stop::new(), Sinks::default(), &mut |_| {})
                .expect_err(message);
            assert!(error.to_string().contains(message), "{error}");
        }
    }

    fn a_program_is_found_on_the_jobs_own_path() {
        let folder = oracle().parent().expect("a folder").to_owned();
        let job = StepCommand {
            env: vec![("PATH".into(), folder.into())],
            ..command("oracle", ["exit", "7"])
        };
        assert_eq!(measure(&job).ending.exit_code, Some(7));
        let job = StepCommand { env: vec![("PATH".into(), "/nowhere".into())], ..job };
        assert_eq!(measure(&job).ending.exit_code, Some(127));
    }

    fn a_time_out_asks_first() {
        let m = run(hasty(), &limited(300, "sleep 60000"));
        let got = (m.ending.exit_code, m.ending.signal, m.ending.status);
        assert_eq!(got, (Some(124), Some(15), Status::TimedOut));
        assert!(m.readings.contains_key("cpu_time"));
    }

    fn a_time_out_kills_who_does_not_listen() {
        let m = run(hasty(), &limited(300, "ignoreterm"));
        let got = (m.ending.exit_code, m.ending.signal, m.ending.status);
        assert_eq!(got, (Some(124), Some(9), Status::TimedOut));
        assert!(!has_notice(&m, "oom_suspected"));
    }

    fn a_request_to_stop_is_passed_on() {
        let m = stopped(
            MeterOptions::default(),
            &of_shell("echo ready; exec sleep 60"),
            StopCause::Interrupt,
            1,
        );
        let got = (m.ending.exit_code, m.ending.signal, m.ending.status);
        assert_eq!(got, (Some(130), Some(2), Status::Cancelled));
    }

    fn asking_three_times_kills_at_once() {
        let slow = MeterOptions {
            stop_terminate: Duration::from_mins(10),
            stop_kill: Duration::from_mins(20),
            ..MeterOptions::default()
        };
        let m = stopped(slow, &of_oracle("ignoreterm"), StopCause::Interrupt, 3);
        let got = (m.ending.exit_code, m.ending.signal, m.ending.status);
        assert_eq!(got, (Some(137), Some(9), Status::Cancelled));
    }

    fn who_was_stopped_before_starts_nothing() {
        let stop = Stop::new();
        stop.request(StopCause::Terminate);
        let m = meter()
            .run(&of_oracle("exit 0"), &stop, Sinks::default(), &mut |_| {})
            .expect("a measurement");
        assert_eq!((m.ending.exit_code, m.ending.status), (None, Status::Cancelled));
        assert!(m.readings.is_empty());
    }

    fn nobody_escapes() {
        let token = format!("escape-{}", std::process::id());
        let m = stopped(hasty(), &of_oracle(&format!("escape {token}")), StopCause::Interrupt, 1);
        assert_eq!((m.ending.exit_code, m.ending.status), (Some(137), Status::Cancelled));
        assert_eq!(alive(&token), 0);
        assert!(!has_notice(&m, "survivors"));
    }

    fn a_bomb_is_outrun() {
        let token = format!("bomb-{}", std::process::id());
        let m = run(hasty(), &limited(800, &format!("bomb 150 {token}")));
        assert_eq!((m.ending.exit_code, m.ending.status), (Some(124), Status::TimedOut));
        assert_eq!(alive(&token), 0);
    }

    fn what_outlives_the_command_is_ended() {
        let token = format!("linger-{}", std::process::id());
        let m = run(hasty(), &of_oracle(&format!("linger 60000 {token}")));
        assert_eq!((m.ending.exit_code, m.ending.status), (Some(0), Status::Succeeded));
        assert!(has_notice(&m, "left_behind"), "{:?}", m.notices);
        assert_eq!(alive(&token), 0);
        assert_eq!(log(&m), "before\n");
        assert!(!m.output.truncated);
    }

    fn as_the_first_process_of_a_namespace() {
        let inner = "PERFTRAIL_TEST_INNER";
        if env::var_os(inner).is_some() {
            assert_eq!(std::process::id(), 1);
            let folder = scratch();
            let path = folder.path().join("out");
            let m = measure(&of_oracle(&format!("daemon 300 2 {}", path.display())));
            near(value(&m, "cpu_time"), 0.3, 0.1);
            near(value(&m, "io_write_bytes"), 2.0 * MIB, 1e-12);
            assert!(value(&m, "processes_max") >= 1.0);
            return;
        }
        let mut unshare = Command::new("unshare");
        unshare.args(["--pid", "--fork", "--mount-proc", "--kill-child"]);
        if !unshare.arg("true").status().is_ok_and(|status| status.success()) {
            // Making a namespace needs rights that not everybody has.
            return;
        }
        let mut unshare = Command::new("unshare");
        let output = unshare
            .args(["--pid", "--fork", "--mount-proc", "--kill-child"])
            .arg(env::current_exe().expect("this binary"))
            .args(["--exact", "measure::ending::as_the_first_process_of_a_namespace"])
            .args(["--nocapture", "--test-threads=1"])
            .env(inner, "1")
            .output()
            .expect("unshare");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// The token stands in the environment, so that the copy knows it too.
const VICTIM: &str = "PERFTRAIL_TEST_VICTIM";

#[test]
fn a_killed_perftrail_leaves_no_job_behind() {
    if let Some(token) = env::var_os(VICTIM) {
        let token = token.to_string_lossy().into_owned();
        measure(&of_oracle(&format!("ignoreterm {token}")));
        return;
    }
    let token = format!("victim-{}", std::process::id());
    let mut perftrail = Command::new(env::current_exe().expect("this binary"))
        .args(["--exact", "measure::ending::a_killed_perftrail_leaves_no_job_behind"])
        .args(["--nocapture", "--test-threads=1"])
        .env(VICTIM, &token)
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("a copy of this binary");
    until("the job begins", || alive(&token) == 1);
    perftrail.kill().expect("it runs");
    perftrail.wait().expect("it ended");
    until("the job ends too", || alive(&token) == 0);
}

alone! {
    fn signals_ask_to_stop() {
        let stop = Stop::new();
        stop.listen_to_signals().expect("handlers");
        let heard = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&heard);
        let sinks = hearing(move |_| {
            count.fetch_add(1, Ordering::SeqCst);
            let me = rustix::process::getpid();
            rustix::process::kill_process(me, rustix::process::Signal::INT).expect("a signal");
            Ok(())
        });
        let m = meter()
            .run(&of_shell("echo ready; exec sleep 60"), &stop, sinks, &mut |_| {})
            .expect("a measurement");
        assert_eq!(stop.cause(), Some(StopCause::Interrupt));
        assert_eq!((m.ending.exit_code, m.ending.status), (Some(130), Status::Cancelled));
        assert_eq!(heard.load(Ordering::SeqCst), 1);
    }

    fn a_parent_that_is_gone_already_asks_to_stop() {
        let stop = Stop::new();
        stop.follow_parent(perftrail::measure::parent_now()).expect("a signal");
        assert_eq!(stop.cause(), None);
        stop.follow_parent(Some(u32::MAX)).expect("a signal");
        assert_eq!(stop.cause(), Some(StopCause::Terminate));
    }

    fn the_job_starts_with_default_signals() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        let sinks = hearing(move |bytes| {
            kept.lock().expect("a lock").extend_from_slice(bytes);
            Ok(())
        });
        let command = of_shell("grep -E '^Sig(Blk|Ign)' /proc/self/status");
        meter().run(&command, &Stop::new(), sinks, &mut |_| {}).expect("a measurement");
        let text = String::from_utf8(seen.lock().expect("a lock").clone()).expect("text");
        let masks: Vec<_> = text
            .lines()
            .filter_map(|line| u64::from_str_radix(line.split_once('\t')?.1, 16).ok())
            // Signals 32 and 33 are libc's own: no program can set them.
            .map(|mask| mask & !0x1_8000_0000)
            .collect();
        assert_eq!(masks, [0, 0], "{text}");
    }
}

/// Set in the copy of this binary that was started with SIGCHLD ignored.
const DEAF: &str = "PERFTRAIL_TEST_DEAF";

#[test]
fn who_was_told_to_ignore_its_children_hears_of_them_all_the_same() {
    if env::var_os(DEAF).is_some() {
        let m = measure(&of_oracle("exit 3"));
        assert_eq!((m.ending.exit_code, m.ending.status), (Some(3), Status::Failed));
        near(value(&measure(&of_oracle("spin 2 150")), "cpu_time"), 0.3, 0.1);
        return;
    }
    oracle();
    let name = "measure::ending::who_was_told_to_ignore_its_children_hears_of_them_all_the_same";
    let output = Command::new("sh")
        .args(["-c", "trap '' CHLD; exec \"$@\"", "sh"])
        .arg(env::current_exe().expect("this binary"))
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(DEAF, "1")
        .output()
        .expect("a shell");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
