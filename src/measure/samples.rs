//! What the sampler has seen, in constant memory.

use crate::model::metric::Unit;
use crate::record::series::{Series, SeriesSource};

use super::points::Points;
use super::tree::Tick;

/// CPU ticks are 10 ms long: a shorter window would show little but their edges.
const CPU_WINDOW: f64 = 0.25;
/// Memory must have grown by this factor to be swept before its time.
const GROWN: f64 = 1.05;

/// Everything seen so far.
#[derive(Debug, Default)]
pub(super) struct Samples {
    memory: Points,
    memory_pss: Points,
    cpu: Points,
    processes: Points,
    threads: Points,
    /// Where the CPU window at hand began: time and CPU total.
    window: (f64, f64),
    /// The last look.
    pub(super) last: Tick,
    /// When it was, in seconds from the start.
    pub(super) last_at: f64,
    /// CPU time of the tree so far, in seconds.
    pub(super) cpu_total: f64,
    /// The greatest sum of resident sizes shown to have been reached.
    pub(super) reached: u64,
    /// The same over looks that saw one process only.
    pub(super) reached_alone: u64,
    /// The greatest sum of high-water marks.
    pub(super) marks: u64,
    /// The greatest high-water mark of one process.
    pub(super) largest: u64,
    /// The most processes at once.
    pub(super) processes_max: u32,
    /// The most threads at once.
    pub(super) threads_max: u32,
    /// Sweeps of proportional memory.
    pub(super) pss: Pss,
    /// Ticks of the sampler.
    pub(super) count: u64,
    /// Ticks that came late.
    pub(super) late: u64,
    /// CPU time of ticks.
    pub(super) costs: Costs,
    /// CPU time of the thread that makes them, in seconds.
    pub(super) sampler_cpu: f64,
    /// The time to the next tick, in seconds.
    pub(super) interval: f64,
}

/// What sweeps of proportional memory have seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pss {
    /// The greatest sum, in bytes.
    pub(super) peak: u64,
    /// How many sweeps.
    pub(super) sweeps: u64,
    /// CPU time of the thread that makes them, in seconds.
    pub(super) cpu: f64,
    /// Σ resident size when the last one began, in bytes.
    pub(super) swept_size: u64,
    /// When the last one was taken, in seconds.
    pub(super) taken_at: f64,
    /// The greatest of those that were not taken because sizes changed meanwhile, in bytes: better
    /// than none at all.
    pub(super) torn: Option<u64>,
    /// Processes that could not be read, of another user say: their resident size was taken.
    pub(super) refused: u64,
    /// Time that threads ran and waited for a CPU, in seconds, over all threads as last seen.
    pub(super) run_queue: Option<(f64, f64)>,
}

impl Samples {
    /// Whether memory is that of several processes, and has grown since the last sweep.
    pub(super) fn has_grown(&self) -> bool {
        self.last.processes > 1 && self.last.rss as f64 > GROWN * self.pss.swept_size as f64
    }

    /// Takes a look at the tree in. `cpu_total` is the tree's CPU time by then.
    pub(super) fn take(&mut self, t: f64, tick: &Tick, cpu_total: f64) {
        self.cpu_total = self.cpu_total.max(cpu_total);
        self.last = *tick;
        self.last_at = t;
        self.reached = self.reached.max(tick.reached);
        self.marks = self.marks.max(tick.marks);
        self.largest = self.largest.max(tick.largest);
        if tick.processes == 1 {
            self.reached_alone = self.reached_alone.max(tick.reached);
        }
        self.processes_max = self.processes_max.max(tick.processes);
        self.threads_max = self.threads_max.max(tick.threads);
    }

    /// Makes points of the last look.
    pub(super) fn plot(&mut self) {
        let (t, tick) = (self.last_at, self.last);
        self.memory.push_with_max(t, tick.rss as f64, tick.reached as f64);
        self.processes.push(t, f64::from(tick.processes));
        self.threads.push(t, f64::from(tick.threads));
        let (began, before) = self.window;
        if t - began >= CPU_WINDOW {
            self.cpu.push(t, (self.cpu_total - before).max(0.0) / (t - began));
            self.window = (t, self.cpu_total);
        }
    }

    /// Takes a sweep of proportional memory in.
    pub(super) fn take_pss(&mut self, t: f64, sum: u64, refused: u64) {
        self.memory_pss.push(t, sum as f64);
        self.pss.peak = self.pss.peak.max(sum);
        self.pss.refused = self.pss.refused.max(refused);
        self.pss.sweeps += 1;
        self.pss.taken_at = t;
    }

    /// The sampled series.
    pub(super) fn series(&self) -> Vec<Series> {
        [
            ("memory", Unit::Bytes, &self.memory),
            ("memory_pss", Unit::Bytes, &self.memory_pss),
            ("cpu", Unit::Ratio, &self.cpu),
            ("processes", Unit::Count, &self.processes),
            ("threads", Unit::Count, &self.threads),
        ]
        .into_iter()
        .filter(|(_, _, points)| !points.is_empty())
        .map(|(name, unit, points)| points.to_series(name, unit, SeriesSource::Sampled))
        .collect()
    }
}

/// Costs of ticks on a logarithmic scale: eight steps to a doubling, from 1 µs on.
#[derive(Clone, Debug)]
pub(super) struct Costs {
    counts: Vec<u64>,
    max: f64,
    mean: Option<f64>,
}

impl Default for Costs {
    fn default() -> Self {
        Self { counts: vec![0; 200], max: 0.0, mean: None }
    }
}

impl Costs {
    /// Takes one tick's CPU time in seconds.
    pub(super) fn take(&mut self, seconds: f64) {
        let step = ((seconds * 1e6).max(1.0).log2() * 8.0).round();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at least 0")]
        let index = (step as usize).min(self.counts.len() - 1);
        self.counts[index] += 1;
        self.max = self.max.max(seconds);
        // A tree that grows is heeded at once, one that shrinks only slowly.
        self.mean = Some(self.mean.map_or(seconds, |mean| {
            let weight = if seconds > mean { 0.7 } else { 0.1 };
            mean + weight * (seconds - mean)
        }));
    }

    /// A mean that follows: recent ticks weigh most.
    pub(super) fn moving_mean(&self) -> f64 {
        self.mean.unwrap_or(0.0)
    }

    /// The dearest tick.
    pub(super) fn max(&self) -> f64 {
        self.max
    }

    /// The median, to a twelfth.
    pub(super) fn median(&self) -> f64 {
        let total: u64 = self.counts.iter().sum();
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if total > 0 && seen * 2 >= total {
                return (index as f64 / 8.0).exp2() * 1e-6;
            }
        }
        0.0
    }
}

/// The governor: the next interval never lets ticks take more than half a percent of a core.
pub(super) fn next_interval(base: f64, cost: f64) -> f64 {
    const SHARE: f64 = 0.005;
    const LONGEST: f64 = 5.0;
    base.max((cost / SHARE).min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_governor_keeps_its_share() {
        assert!((next_interval(0.05, 39e-6) - 0.05).abs() < 1e-12);
        assert!((next_interval(0.05, 747e-6) - 0.1494).abs() < 1e-12);
        assert!((next_interval(0.05, 1.0) - 5.0).abs() < 1e-12);
    }

    #[test]
    fn the_usual_cost_is_the_median() {
        let mut costs = Costs::default();
        assert!(costs.median().abs() < f64::EPSILON);
        for micros in [10.0, 100.0, 100.0, 100.0, 9000.0] {
            costs.take(micros * 1e-6);
        }
        assert!((costs.median() / 100e-6 - 1.0).abs() < 0.1, "{}", costs.median());
        assert!((costs.max() - 0.009).abs() < 1e-9);
    }

    #[test]
    fn cpu_is_shown_over_windows() {
        let mut samples = Samples::default();
        for i in 1..=40_u32 {
            let t = f64::from(i) * 0.05;
            samples.take(t, &Tick { processes: 1, ..Tick::default() }, t * 2.0);
            samples.plot();
        }
        let series = samples.series();
        let cpu = series.iter().find(|series| series.name == "cpu").expect("a cpu series");
        assert!(cpu.value.len() >= 6 && cpu.value.len() <= 8, "{}", cpu.value.len());
        assert!(cpu.value.iter().all(|value| (value - 2.0).abs() < 1e-6));
    }

    #[test]
    fn a_total_never_falls() {
        let mut samples = Samples::default();
        samples.take(0.1, &Tick::default(), 1.0);
        samples.take(0.2, &Tick::default(), 0.9);
        assert!((samples.cpu_total - 1.0).abs() < f64::EPSILON);
    }
}
