//! What judging costs, in CPU time.

use perftrail::analysis::history::series::Series;
use rustix::time::{ClockId, clock_gettime};

use super::made::Maker;
use super::{Card, changes};

/// CPU time of this process, in seconds.
pub(crate) fn cpu_time() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

/// The least of five.
fn seconds(series: &[Series]) -> f64 {
    let once = || {
        let begin = cpu_time();
        let found: usize = series.iter().map(|one| changes(one).len()).sum();
        assert!(found < usize::MAX);
        cpu_time() - begin
    };
    (0..5).map(|_| once()).fold(f64::INFINITY, f64::min)
}

/// Prints the CPU time that judging takes.
pub(crate) fn score(card: &mut Card) {
    println!("\nCPU time, the worst kind of noise");
    let of = |count: u64, n: usize| {
        let worst = |kind: &&str| {
            let made = |seed| Maker::new(seed).series(kind, n, 0.02, 3).series;
            seconds(&(0..count).map(made).collect::<Vec<_>>())
        };
        super::made::KINDS.iter().map(worst).fold(0.0, f64::max)
    };
    for (name, count, n, most) in [
        ("1,000 points", 1, 1000, 0.01),
        ("10,000 points", 1, 10_000, 1.0),
        ("200 histories of 500 points", 200, 500, 1.0),
    ] {
        let taken = of(count, n);
        let value = format!("{:.1} ms", taken * 1e3);
        card.figure(name, value, &format!("<= {:.0} ms", most * 1e3), taken <= most);
    }
}
