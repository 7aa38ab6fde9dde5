//! What the job tells through `PERFTRAIL_STATS`.

use perftrail::model::metric::Unit;

use super::*;

/// A shell script with the oracle as `$ORACLE` and a stats file.
fn telling(folder: &Path, script: &str) -> StepCommand {
    let file = folder.join("stats.jsonl");
    fs::write(&file, "").expect("a file");
    let mut command = of_shell(script);
    command.env.push(("PERFTRAIL_STATS".into(), file.clone().into()));
    command.env.push(("ORACLE".into(), oracle().into()));
    command.stats_file = Some(file);
    command
}

alone! {
    fn phases_have_their_own_numbers() {
        let folder = scratch();
        let script = r#"
            say() { echo "$1" >> "$PERFTRAIL_STATS"; }
            say '{"phase": "run", "event": "begin"}'
            say '{"phase": "month", "event": "begin"}'
            "$ORACLE" spin 1 400
            say '{"phase": "month", "event": "end"}'
            say '{"phase": "month", "event": "begin"}'
            "$ORACLE" alloc 50 300
            say '{"phase": "month", "event": "end"}'
            say '{"phase": "run", "event": "end"}'
            say '{"phase": "open", "event": "begin"}'
        "#;
        let m = measure(&telling(folder.path(), script));
        let names: Vec<_> = m.phases.iter().map(|phase| phase.name.as_str()).collect();
        assert_eq!(names, ["run", "month", "month", "open"]);
        let [run, first, second, open] = &m.phases[..] else { panic!("four phases") };
        near(first.cpu_time.expect("CPU time"), 0.4, 0.25);
        assert!(second.cpu_time.expect("CPU time") < 0.3);
        assert!(second.memory_peak.expect("memory") > 50.0 * MIB);
        assert!(first.memory_peak.expect("memory") < 30.0 * MIB);
        assert!(run.cpu_time >= first.cpu_time && run.memory_peak >= second.memory_peak);
        assert!(run.begin <= first.begin && first.end <= second.end && second.end <= run.end);
        assert_eq!((open.end, open.cpu_time), (None, None));
        assert!(m.notices.is_empty(), "{:?}", m.notices);
    }

    fn metrics_series_and_notes() {
        let folder = scratch();
        let script = r#"
            printf '%s\n' '{"rows": 3, "load_ms": 1500, "duration": 1}' '{"note": "seed 0"}' \
                '{"series": "queue", "value": 8, "x": "2010"}' '{"series": "queue", "value": 9, "x": "2011"}' \
                >> "$PERFTRAIL_STATS"
            printf '{"last": 1}' >> "$PERFTRAIL_STATS"
        "#;
        let m = measure(&telling(folder.path(), script));
        let mut metrics: Vec<_> = m
            .reported
            .metrics
            .iter()
            .map(|metric| (metric.name.as_str(), metric.value, metric.unit.clone()))
            .collect();
        metrics.sort_by_key(|(name, ..)| *name);
        assert_eq!(
            metrics,
            [
                ("job.duration", 1.0, Unit::None),
                ("last", 1.0, Unit::None),
                ("load_ms", 1.5, Unit::Seconds),
                ("rows", 3.0, Unit::None),
            ]
        );
        assert_eq!(m.reported.notes, ["seed 0"]);
        let queue = m.series.iter().find(|series| series.name == "queue").expect("a series");
        assert_eq!((&queue.value[..], &queue.x[..]), (&[8.0, 9.0][..], &["2010".into(), "2011".into()][..]));
        assert!(queue.t.iter().all(|t| *t >= 0.0 && *t <= m.elapsed));
    }

    fn a_flood_of_garbage_is_counted() {
        let folder = scratch();
        let script = r#"
            yes 'garbage' | head -c 4000000 >> "$PERFTRAIL_STATS"
            head -c 300000 /dev/zero >> "$PERFTRAIL_STATS"
            echo >> "$PERFTRAIL_STATS"
            echo '{"rows": 1}' >> "$PERFTRAIL_STATS"
        "#;
        let m = measure(&telling(folder.path(), script));
        assert_eq!(m.ending.exit_code, Some(0));
        let notice = m.notices.iter().find(|notice| notice.code == "stats_malformed");
        let message = &notice.expect("a notice").message;
        assert!(message.contains("line 1") && message.starts_with("500001 lines"), "{message}");
        assert_eq!(m.reported.metrics.len(), 1);
    }

    fn a_file_that_is_none_any_more_does_not_hold_us() {
        let folder = scratch();
        let script = r#"
            echo '{"rows": 1}' >> "$PERFTRAIL_STATS"
            sleep 0.3
            rm "$PERFTRAIL_STATS"; mkfifo "$PERFTRAIL_STATS"
            sleep 0.5
        "#;
        let m = measure(&telling(folder.path(), script));
        assert_eq!(m.ending.exit_code, Some(0));
        assert_eq!(m.reported.metrics.len(), 1);
        assert!(has_notice(&m, "stats_not_a_file"), "{:?}", m.notices);
    }

    fn a_file_that_is_replaced_is_read_anew() {
        let folder = scratch();
        let script = r#"
            echo '{"first": 1}' > "$PERFTRAIL_STATS"
            sleep 0.3
            echo '{"second": 1}' > "$PERFTRAIL_STATS.new"; mv "$PERFTRAIL_STATS.new" "$PERFTRAIL_STATS"
            sleep 0.3
        "#;
        let m = measure(&telling(folder.path(), script));
        let names: Vec<_> = m.reported.metrics.iter().map(|metric| metric.name.as_str()).collect();
        assert_eq!(names, ["first", "second"]);
    }
}
