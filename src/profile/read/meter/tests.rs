use super::super::super::{Options, read_bytes};
use super::*;
use crate::model::metric::{Exactness, Unit};
use crate::profile::model::Body;

fn read_text(text: &str) -> Reading {
    read_bytes(text.as_bytes(), &Options::default()).unwrap()
}

fn metric(reading: &Reading, name: &str) -> (f64, Unit) {
    let found = reading.metrics.iter().find(|metric| metric.name == name);
    let found = found.unwrap_or_else(|| panic!("{name} among {:?}", reading.metrics));
    (found.value, found.unit.clone())
}

#[test]
fn a_shell_that_psrecord_watched_is_told() {
    let flat = read_text(
        "elapsed_time,nproc,cpu,mem_real,mem_virtual\n0.0,1,0.0,1.5,2\n0.5,1,0.0,1.5,2\n",
    );
    assert_eq!(metric(&flat, "psrecord.memory_peak"), (1.5 * MIB, Unit::Bytes));
    assert!(flat.notices[0].contains("--include-children"), "{:?}", flat.notices);
    let plain = read_text(
        "# Elapsed time   CPU (%)     Real (MB)   Virtual (MB)\n 0.0 50.0 10.0 20.0\n 0.2 x\n 0.4 100.0 30.0 40.0\n",
    );
    assert_eq!(plain.series[1].value, [0.5, 1.0]);
    assert_eq!(plain.series[0].value, [10.0 * MIB, 30.0 * MIB]);
}

#[test]
fn mprof_appends_and_only_the_last_run_counts() {
    let reading = read_text(
        "CMDLINE a\nMEM 500 1000.0\nFUNC old.f 1 1000.1 2 1000.2 0\nFUNC m.f 10.0 2000.1 30.0 2000.6 0\nCMDLINE b\nMEM 10 2000.0\nCHLD 0 5 2000.0\nMEM 30 2001.0\n",
    );
    assert!((metric(&reading, "mprof.memory_peak").0 - 30.0 * MIB).abs() < 1e-6);
    assert!((metric(&reading, "m.f.memory_growth").0 - 20.0 * MIB).abs() < 1e-6);
    assert!((metric(&reading, "m.f.time").0 - 0.5).abs() < 1e-6);
    assert!(reading.metrics.iter().all(|metric| !metric.name.starts_with("old")));
    assert_eq!((&reading.series[0].t[..], reading.series.len()), (&[0.0, 1.0][..], 2));
}

#[test]
fn the_heap_at_its_peak_stands_the_usual_way_round() {
    let reading = read_text(
        "desc: x\ncmd: ./sim\ntime_unit: i\n#---\nsnapshot=0\n#---\ntime=5\nmem_heap_B=100\nmem_heap_extra_B=8\nmem_stacks_B=0\nheap_tree=peak\n\
         n2: 100 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n n1: 90 0x12AB: alloc (alloc.rs:9)\n  n0: 90 0x12AC: main (main.rs:3)\n n0: 10 in 4 places, all below massif's threshold (1.00%)\n#---\n",
    );
    assert!((metric(&reading, "massif.peak").0 - 108.0).abs() < 1e-6);
    assert_eq!(
        (reading.series[0].t.len(), reading.series[0].x_name.as_deref()),
        (0, Some("instructions"))
    );
    let profile = &reading.profiles[0];
    let Body::Tree(tree) = &profile.body else { panic!("no tree") };
    let names: Vec<_> =
        tree.frame.iter().map(|at| profile.frames[*at as usize].function.as_str()).collect();
    assert_eq!(names[..2], ["main", "alloc"]);
    assert!((profile.sum(0) - 100.0).abs() < 1e-9);
}

#[test]
fn perf_says_what_it_could_not_count_and_what_it_scaled() {
    let json = "# started on Mon\n\n{\"counter-value\" : \"76.5\", \"unit\" : \"msec\", \"event\" : \"task-clock\", \"pcnt-running\" : 100.00}\n\
                {\"counter-value\" : \"200\", \"unit\" : \"\", \"event\" : \"cycles\", \"pcnt-running\" : 49.5}\n{\"counter-value\" : \"<not supported>\", \"unit\" : \"\", \"event\" : \"branches\", \"pcnt-running\" : 100.00}\n";
    let csv = "# started on Mon\n\n76.5,msec,task-clock,765,100.00,0.2,CPUs utilized\n200,,cycles,765,49.50,,\n<not supported>,,branches,0,100.00,,\n";
    for text in [json, csv] {
        let reading = read_text(text);
        assert_eq!(metric(&reading, "task-clock"), (0.0765, Unit::Seconds));
        assert_eq!(reading.metrics[0].exactness, Exactness::Exact);
        assert_eq!(reading.metrics[1].exactness, Exactness::Sampled, "{text}");
        assert_eq!(reading.metrics.len(), 2);
        assert!(reading.notices.iter().any(|notice| notice.contains("branches")));
    }
    let table = read_text(
        "# started on Mon\n\n Performance counter stats for 'x':\n\n   1,074.27 msec task-clock  #    0.2 CPUs utilized\n  35      context-switches  #  4 /sec\n  <not supported>      cycles\n\n  0.5 seconds time elapsed\n",
    );
    assert!((metric(&table, "task-clock").0 - 1.07427).abs() < 1e-9);
    assert_eq!(metric(&table, "elapsed"), (0.5, Unit::Seconds));
}

#[test]
fn gnu_time_splits_at_the_last_colon_and_counts_in_kib() {
    let reading = read_text(
        "\tCommand being timed: \"python sim.py: a\"\n\tUser time (seconds): 1.94\n\tElapsed (wall clock) time (h:mm:ss or m:ss): 0:07.77\n\tMaximum resident set size (kbytes): 1000\n\tExit status: 3\n",
    );
    assert_eq!(metric(&reading, "elapsed_time"), (7.77, Unit::Seconds));
    assert_eq!(metric(&reading, "max_rss"), (1_024_000.0, Unit::Bytes));
    assert_eq!(reading.notices, ["the command that was timed ended with 3"]);
}

#[test]
fn plain_numbers_have_the_units_of_their_names() {
    let reading =
        read_text(r#"{"max_footprint_mb": 2.0, "total_elapsed_sec": 31.5, "get_dem": 19.9}"#);
    assert_eq!(metric(&reading, "max_footprint_mb"), (2.0 * MIB, Unit::Bytes));
    assert_eq!(metric(&reading, "total_elapsed_sec"), (31.5, Unit::Seconds));
    assert_eq!(metric(&reading, "get_dem"), (19.9, Unit::None));
    assert_eq!(reading.notices.len(), 1);
    let many: Vec<String> = (0..65).map(|i| format!("\"a{i}\": {i}")).collect();
    let many = format!("{{{}}}", many.join(","));
    assert!(read_bytes(many.as_bytes(), &Options::default()).is_err());
}
