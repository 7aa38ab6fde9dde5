//! Reads a file of any known format.

mod allocations;
mod assemble;
mod bench;
mod callgrind;
mod chrome_trace;
pub mod collapsed;
mod firefox;
mod html;
mod marshal;
mod memray_stats;
mod meter;
mod perf_script;
mod pprof;
mod pstats;
mod pstats_text;
mod pyinstrument;
mod pyinstrument_tree;
mod scalene;
mod speedscope;
mod table;
mod v8;

use std::io::Read;

use super::Limits;
use super::error::{Fault, Place, ReadError, Reason, quote};
use super::input::Input;
use super::json::Json;
use super::lines::Lines;
use super::paths::Paths;
use super::reading::Reading;
use super::sniff::{Guess, Kind, sniff};

pub use collapsed::StackUnit;

/// What is known about a file beside its content.
#[derive(Clone, Debug, Default)]
pub struct Options<'a> {
    /// The file's name, for messages alone.
    pub file: &'a str,
    /// Absolute paths of the project's root, as the job saw it: what lies below is its own code.
    pub workspaces: &'a [&'a str],
    /// What the numbers of collapsed stacks count, where it is known: the file does not say.
    pub stack_unit: Option<StackUnit>,
    /// How much is read and kept.
    pub limits: Limits,
}

/// What a reader works with.
struct Context<'o> {
    options: &'o Options<'o>,
    paths: Paths,
    limits: Limits,
}

/// Reads a stream. The format is told by its content.
///
/// # Errors
/// When the format is not known, or the content is not what the format wants, or larger than the
/// limits allow. The error's text is one line.
pub fn read(source: &mut dyn Read, options: &Options<'_>) -> Result<Reading, ReadError> {
    let mut input = open(source, options)?;
    let kind = told(&input)
        .map_err(|reason| failed(options, None, Fault { place: Place::Byte(0), reason }))?;
    reading(kind, &mut input, options)
}

/// Reads a stream whose format is known, whatever it looks like.
///
/// # Errors
/// As [`read`].
pub fn read_as(
    kind: Kind,
    source: &mut dyn Read,
    options: &Options<'_>,
) -> Result<Reading, ReadError> {
    reading(kind, &mut open(source, options)?, options)
}

fn open<'s>(source: &'s mut dyn Read, options: &Options<'_>) -> Result<Input<'s>, ReadError> {
    Input::open(source, options.limits.bytes).map_err(|fault| failed(options, None, fault))
}

fn reading(kind: Kind, input: &mut Input<'_>, options: &Options<'_>) -> Result<Reading, ReadError> {
    let context = Context {
        options,
        paths: Paths::new(options.workspaces.iter().copied()),
        limits: options.limits,
    };
    let mut reading = Reading::new(kind);
    dispatch(kind, &context, input, &mut reading)
        .map_err(|fault| failed(options, Some(kind), fault))?;
    Ok(reading.with_unique_names())
}

fn failed(options: &Options<'_>, format: Option<Kind>, fault: Fault) -> ReadError {
    ReadError { file: options.file.to_owned(), format, place: fault.place, reason: fault.reason }
}

/// Reads bytes.
///
/// # Errors
/// As [`read`].
pub fn read_bytes(mut bytes: &[u8], options: &Options<'_>) -> Result<Reading, ReadError> {
    read(&mut bytes, options)
}

fn told(input: &Input<'_>) -> Result<Kind, Reason> {
    match sniff(input.prefix()) {
        Guess::Kind(kind) => Ok(kind),
        Guess::Private(private) => Err(Reason::Private {
            what: private.what,
            instead: private.instead,
            of_profiler: private.of_profiler,
        }),
        Guess::Empty if input.is_all() => Err(Reason::Empty),
        Guess::Empty | Guess::Unknown => Err(Reason::Unknown { begin: quote(input.prefix()) }),
    }
}

fn dispatch(
    kind: Kind,
    context: &Context<'_>,
    input: &mut Input<'_>,
    reading: &mut Reading,
) -> Result<(), Fault> {
    match kind {
        Kind::PyinstrumentSession => json(input, |json| pyinstrument::read(context, json, reading)),
        Kind::PyinstrumentJson | Kind::PyinstrumentTree => {
            json(input, |json| pyinstrument_tree::read(context, json, reading))
        }
        Kind::Html => html::read(context, &mut Json::new(input), reading),
        Kind::Pstats => pstats::read(context, input, reading),
        Kind::Collapsed | Kind::CollapsedDiff => {
            collapsed::read(context, &mut Lines::new(input), reading)
        }
        Kind::PerfScript => perf_script::read(context, &mut Lines::new(input), reading),
        Kind::Speedscope => json(input, |json| speedscope::read(context, json, reading)),
        Kind::Scalene => json(input, |json| scalene::read(context, json, reading)),
        Kind::MemrayStats => json(input, |json| memray_stats::read(context, json, reading)),
        Kind::Gprof2dot => json(input, |json| allocations::read_gprof2dot(context, json, reading)),
        Kind::MemrayCsv => allocations::read_memray_csv(context, input, reading),
        Kind::Dhat => json(input, |json| allocations::read_dhat(context, json, reading)),
        Kind::Pprof => pprof::read(context, input, reading),
        Kind::CpuProfile => json(input, |json| v8::cpu::read(context, json, reading)),
        Kind::HeapProfile => json(input, |json| v8::heap::read(context, json, reading)),
        Kind::Callgrind => callgrind::read(context, &mut Lines::new(input), reading),
        Kind::Firefox => json(input, |json| firefox::read(context, json, reading)),
        Kind::ChromeTrace => json(input, |json| chrome_trace::read(context, json, reading)),
        Kind::PstatsText => pstats_text::read(context, &mut Lines::new(input), reading),
        Kind::PyrealmCsv => pstats_text::read_database(context, input, reading),
        Kind::Hyperfine
        | Kind::PytestBenchmark
        | Kind::Criterion
        | Kind::CriterionName
        | Kind::CriterionSample
        | Kind::Libtest
        | Kind::Go
        | Kind::GoogleBenchmark
        | Kind::Pyperf
        | Kind::Asv
        | Kind::AsvBenchmarks => bench::read(kind, context, input, reading),
        Kind::Psrecord
        | Kind::Mprof
        | Kind::Massif
        | Kind::GnuTime
        | Kind::PerfStat
        | Kind::Numbers => meter::read(kind, context, input, reading),
    }
}

/// Reads one JSON value that is the whole file.
fn json(
    input: &mut Input<'_>,
    read: impl FnOnce(&mut Json<'_, '_>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut json = Json::new(input);
    json.leave_mark()?;
    read(&mut json)?;
    json.end()
}
