//! Peaks and series of memory, against sizes that are known.

use perftrail::measure::MeterOptions;
use perftrail::model::metric::Exactness;

use super::*;

fn series_max(measurement: &Measurement, name: &str) -> f64 {
    let series = measurement
        .series
        .iter()
        .find(|series| series.name == name)
        .unwrap_or_else(|| panic!("no series {name}"));
    let values = if series.max.is_empty() { &series.value } else { &series.max };
    values.iter().copied().fold(0.0, f64::max)
}

// Programs hold what they have for so long that a loaded machine looks at it too: a sweep for
// proportional memory rests for 125 times what the one before has cost.
alone! {
    fn one_process_and_its_peak() {
        let m = measure(&of_oracle("alloc 200 1500"));
        near(value(&m, "memory_peak"), 201.0 * MIB, 0.01);
        near(value(&m, "memory_peak_process"), 201.0 * MIB, 0.01);
        near(series_max(&m, "memory"), 201.0 * MIB, 0.01);
        assert_eq!(m.readings["memory_peak"].exactness, Exactness::Exact);
        assert_eq!(m.readings["memory_peak_process"].method, "ru_maxrss");
    }

    fn a_spike_between_two_ticks() {
        let options = MeterOptions {
            first_interval: Duration::from_millis(100),
            interval: Duration::from_millis(100),
            ..MeterOptions::default()
        };
        let meter = Meter::new(MeterKind::Linux, options);
        let command = of_oracle("spike 50 300 5");
        let m = meter
            .run(&command, &Stop::new(), Sinks::default(), &mut |_| {})
            .expect("a measurement");
        near(value(&m, "memory_peak"), 351.0 * MIB, 0.01);
        // The ticks alone see it too, by the high-water mark.
        near(series_max(&m, "memory"), 351.0 * MIB, 0.01);
    }

    fn private_memory_adds_up() {
        let m = measure(&of_oracle("treealloc 4 100 6000"));
        near(value(&m, "memory_peak"), 401.0 * MIB, 0.02);
        near(series_max(&m, "memory"), 403.0 * MIB, 0.02);
        near(series_max(&m, "memory_pss"), 401.0 * MIB, 0.02);
        near(value(&m, "memory_peak_process"), 101.0 * MIB, 0.02);
        assert_eq!(m.readings["memory_peak"].method, "pss");
        assert_eq!(m.readings["memory_peak"].exactness, Exactness::Bounded);
    }

    fn memory_shared_after_a_fork_counts_once() {
        let m = measure(&of_oracle("cow 8 100 6000"));
        let peak = &m.readings["memory_peak"];
        assert!((95.0 * MIB..115.0 * MIB).contains(&peak.value), "{peak:?}");
        assert!(peak.upper.is_some_and(|upper| upper > 850.0 * MIB), "{peak:?}");
        assert!(series_max(&m, "memory") > 850.0 * MIB);
    }

    fn shared_mappings_count_once() {
        let m = measure(&of_oracle("shm 4 100 6000"));
        let peak = &m.readings["memory_peak"];
        assert!((95.0 * MIB..115.0 * MIB).contains(&peak.value), "{peak:?}");
        assert!(peak.upper.is_some_and(|upper| upper > 380.0 * MIB), "{peak:?}");
    }

    fn a_fat_parents_size_does_not_pass_for_the_childs() {
        let fat = vec![1_u8; 300 << 20];
        let m = measure(&of_oracle("alloc 10 1500"));
        assert_eq!(fat.iter().step_by(4096).map(|&one| usize::from(one)).sum::<usize>(), 76800);
        let process = &m.readings["memory_peak_process"];
        assert_eq!(process.method, "vm_hwm", "{process:?}");
        near(process.value, 11.5 * MIB, 0.15);
        assert!(process.upper.is_some_and(|upper| upper > 300.0 * MIB), "{process:?}");
        near(value(&m, "memory_peak"), 11.5 * MIB, 0.15);
    }
}
