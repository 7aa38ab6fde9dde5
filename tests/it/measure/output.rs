//! What the job prints: shown at once, counted, kept within bounds.

use std::sync::{Arc, Mutex};

use regex::bytes::Regex;

use super::*;

alone! {
    fn both_streams_are_counted_and_kept() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        let sinks = hearing(move |bytes| {
            kept.lock().expect("a lock").extend_from_slice(bytes);
            Ok(())
        });
        let mut command = of_shell("echo one; echo 'Warning: two' >&2; printf 'three deprecated'");
        command.counters = vec![("deprecated".to_owned(), Regex::new("deprec").expect("a pattern"))];
        let m = meter().run(&command, &Stop::new(), sinks, &mut |_| {}).expect("a measurement");
        assert_eq!(seen.lock().expect("a lock").as_slice(), b"one\nthree deprecated");
        assert_eq!((m.output.stdout_bytes, m.output.stderr_bytes, m.output.lines), (20, 13, 3));
        assert_eq!((m.output.counts["warnings"], m.output.counts["deprecated"]), (1, 1));
        for line in ["one\n", "Warning: two\n", "three deprecated"] {
            assert!(log(&m).contains(line), "{}", log(&m));
        }
        assert!(!m.output.truncated);
    }

    fn no_newline_for_a_hundred_megabytes() {
        let m = measure(&of_oracle("flood 100"));
        assert_eq!((m.output.stdout_bytes, m.output.lines), (100 << 20, 1));
        assert!(m.output.log.to_bytes().len() < 600 * 1024);
        assert_eq!(m.output.log.left_out(), (100 << 20) - (512 << 10));
    }

    fn bytes_that_are_no_text() {
        let m = measure(&of_oracle("invalid"));
        assert_eq!((m.output.lines, m.output.counts["warnings"]), (3, 2));
        assert!(m.output.log.to_bytes().windows(2).any(|pair| pair == b"\xff\xfe"));
    }

    fn a_daemon_that_keeps_the_output_open_is_heard() {
        let options =
            MeterOptions { daemon_grace: Duration::from_mins(1), ..MeterOptions::default() };
        let m = Meter::new(MeterKind::Linux, options)
            .run(&of_oracle("linger 700"), &Stop::new(), Sinks::default(), &mut |_| {})
            .expect("a measurement");
        assert_eq!(log(&m), "before\nafter\n");
        assert!(!m.output.truncated);
    }

    fn a_stranger_that_keeps_the_output_open_does_not_hold_us() {
        let held = Arc::new(Mutex::new(None));
        let hold = Arc::clone(&held);
        let sinks = hearing(move |bytes| {
            let pid = String::from_utf8_lossy(bytes).trim().to_owned();
            if !pid.is_empty() {
                let end = fs::OpenOptions::new().write(true).open(format!("/proc/{pid}/fd/1"));
                *hold.lock().expect("a lock") = end.ok();
            }
            Ok(())
        });
        let command = of_shell("echo $$; sleep 1");
        let m = meter().run(&command, &Stop::new(), sinks, &mut |_| {}).expect("a measurement");
        assert!(held.lock().expect("a lock").is_some());
        assert!(m.output.truncated);
        assert!(has_notice(&m, "output_truncated"));
        assert_eq!(m.ending.exit_code, Some(0));
    }

    fn output_that_cannot_be_shown_is_kept() {
        let sinks = hearing(|_| Err(io::Error::other("the pipe is closed")));
        let command = of_shell("echo one; sleep 0.2; echo two");
        let m = meter().run(&command, &Stop::new(), sinks, &mut |_| {}).expect("a measurement");
        assert_eq!(log(&m), "one\ntwo\n");
        assert!(has_notice(&m, "output_not_shown"));
        assert_eq!(m.ending.exit_code, Some(0));
    }

    fn standard_input_is_empty() {
        let m = measure(&of_shell("cat; echo end"));
        assert_eq!(log(&m), "end\n");
    }
}
