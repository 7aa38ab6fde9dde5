//! The run to show beside another: the newest earlier one that can be compared.

use crate::record::index::{Entry, Line};

/// The newest run before `run` of the same history that succeeded and has values.
///
/// Histories go by the time at which runs were planned. A run of a dirty work tree is found too:
/// it may be shown, marked, while no history ever holds it.
pub fn earlier<'a>(lines: impl IntoIterator<Item = &'a Line>, run: &Line) -> Option<&'a Line> {
    lines
        .into_iter()
        .filter(|line| line.key == run.key && line.has_values() && order(line) < order(run))
        .max_by_key(|line| order(line))
}

/// The place of a run in its history.
fn order(line: &Line) -> (jiff::Timestamp, &str) {
    (line.planned, &line.path)
}

/// The value of the metric `name` in `earlier`, where it was measured by the same source and
/// method as `now`; `None` otherwise, for such values say nothing about each other.
pub fn comparable<'a>(earlier: &'a Line, name: &str, now: &Entry) -> Option<&'a Entry> {
    earlier.metrics.get(name).filter(|entry| entry.method() == now.method())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::status::Status;
    use crate::record::read::read;

    fn line(path: &str, planned: &str) -> Line {
        let bytes = include_bytes!("../../tests/fixtures/records/v1/succeeded.json");
        let mut record = read(bytes).unwrap().record;
        record.run.planned = planned.parse().unwrap();
        Line::of(&record, path)
    }

    #[test]
    fn the_newest_earlier_one_of_the_same_history() {
        let run = line("runs/now", "2026-11-30T12:00:00Z");
        let mut lines = vec![
            run.clone(),
            line("runs/old", "2026-11-01T00:00:00Z"),
            line("runs/new", "2026-11-30T11:59:59Z"),
            line("runs/later", "2026-11-30T12:00:01Z"),
        ];
        let path = |lines: &[Line]| earlier(lines, &run).map(|line| line.path.clone());
        assert_eq!(path(&lines).as_deref(), Some("runs/new"));
        lines[2].dirty = Some(true);
        assert_eq!(path(&lines).as_deref(), Some("runs/new"));
        lines[2].status = Status::Failed;
        assert_eq!(path(&lines).as_deref(), Some("runs/old"));
        lines[1].key = "other".to_owned();
        assert_eq!(path(&lines), None);
    }

    #[test]
    fn values_of_another_method_are_not_compared() {
        let mut then = line("runs/old", "2026-11-01T00:00:00Z");
        let now = line("runs/now", "2026-11-30T12:00:00Z");
        let entry = &now.metrics["cpu_time"];
        assert_eq!(comparable(&then, "cpu_time", entry), Some(entry));
        assert_eq!(comparable(&then, "unknown", entry), None);
        if let Some(entry) = then.metrics.get_mut("cpu_time") {
            entry.3 = "procfs:sampled".to_owned();
        }
        assert_eq!(comparable(&then, "cpu_time", entry), None);
    }
}
