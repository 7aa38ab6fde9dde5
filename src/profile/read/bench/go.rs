//! What `go test -bench` prints: `BenchmarkX/sub-8  N  V ns/op  [V unit]…`. Repeated lines are
//! samples of one benchmark. `-8` is GOMAXPROCS where all names end with it. Any unit may stand
//! there.

use super::super::super::error::{Fault, Reason};
use super::super::super::lines::Lines;
use super::super::super::names;
use super::super::super::reading::Reading;
use super::{Bench, Context, scaled};
use crate::model::metric::{Better, Unit};

/// Most different numbers of a file.
const RESULTS_MAX: usize = 20_000;

/// The samples of one number of one benchmark.
struct Row {
    package: String,
    name: String,
    unit: String,
    samples: Vec<f64>,
}

pub(super) fn read(
    context: &Context<'_>,
    lines: &mut Lines<'_, '_>,
    reading: &mut Reading,
) -> Result<(), Fault> {
    let mut package = String::new();
    let mut rows: Vec<Row> = Vec::new();
    let mut known = std::collections::HashMap::new();
    while let Some(line) = lines.next()? {
        let text = String::from_utf8_lossy(line);
        if let Some(name) = text.strip_prefix("pkg: ") {
            package = names::clean(name);
        }
        let Some((name, numbers)) = parse(&text) else { continue };
        for (value, unit) in numbers {
            let key = (package.clone(), name.to_owned(), unit.to_owned());
            let next = rows.len();
            let at = *known.entry(key).or_insert(next);
            if at == next && next < RESULTS_MAX {
                let (package, name) = (package.clone(), name.to_owned());
                rows.push(Row { package, name, unit: unit.to_owned(), samples: Vec::new() });
            }
            if let Some(row) = rows.get_mut(at)
                && row.samples.len() < context.limits.values
            {
                row.samples.push(value);
            }
        }
    }
    if rows.is_empty() {
        return Err(lines.wrong(Reason::Missing { what: "a result" }));
    }
    tell(context, rows, reading);
    Ok(())
}

/// The name, and each number with its unit; `None` for another line.
fn parse(line: &str) -> Option<(&str, Vec<(f64, &str)>)> {
    let mut words = line.split_whitespace();
    let name = words.next()?.strip_prefix("Benchmark")?;
    words.next()?.parse::<u64>().ok()?;
    let rest: Vec<&str> = words.collect();
    let pair = |two: &[&'_ str]| two[0].parse::<f64>().ok();
    let pairs = rest.chunks_exact(2).map_while(|two| Some((pair(two)?, two[1])));
    let numbers: Vec<(f64, &str)> = pairs.collect();
    (!numbers.is_empty() && !name.is_empty()).then_some((name, numbers))
}

fn tell(context: &Context<'_>, rows: Vec<Row>, reading: &mut Reading) {
    let procs = common_suffix(&rows);
    let several = rows.iter().any(|row| row.package != rows[0].package);
    for row in rows {
        let name = row.name.strip_suffix(procs.as_str()).unwrap_or(&row.name);
        let package = row.package.rsplit('/').next().unwrap_or_default();
        let mut label = if several { format!("{package}.{name}") } else { name.to_owned() };
        if row.unit != "ns/op" {
            label = format!("{label}.{}", row.unit);
        }
        let (unit, factor, better) = unit_of(&row.unit);
        let samples = row.samples.iter().map(|value| scaled(*value, factor)).collect();
        let mut bench = Bench::new(&label, unit, samples);
        bench.better = better;
        bench.tell(context, reading);
    }
}

/// `-8` when every name ends with it.
fn common_suffix(rows: &[Row]) -> String {
    let suffix = |row: &Row| {
        let at = row.name.rfind('-')?;
        let digits = &row.name[at + 1..];
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| row.name[at..].to_owned())
    };
    let first = rows.first().and_then(suffix).unwrap_or_default();
    let all = rows.iter().all(|row| suffix(row).as_ref() == Some(&first));
    if all { first } else { String::new() }
}

fn unit_of(unit: &str) -> (Unit, f64, Better) {
    match unit {
        "ns/op" => (Unit::Seconds, 1e-9, Better::Lower),
        "B/op" => (Unit::Bytes, 1.0, Better::Lower),
        "allocs/op" => (Unit::Count, 1.0, Better::Lower),
        "MB/s" => (Unit::Other("B/s".to_owned()), 1e6, Better::Higher),
        other => (Unit::from(names::clean(other)), 1.0, Better::Neither),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_results_or_nothing() {
        let (name, numbers) =
            parse("BenchmarkA/n=5-2 \t 18790\t 63858 ns/op\t 7829.90 Kelem/s").unwrap();
        assert_eq!((name, numbers), ("A/n=5-2", vec![(63858.0, "ns/op"), (7829.9, "Kelem/s")]));
        for line in ["BenchmarkA-2", "BenchmarkA-2 --- SKIP: BenchmarkA-2", "PASS", "ok x 9.4s"] {
            assert!(parse(line).is_none(), "{line}");
        }
    }
}
