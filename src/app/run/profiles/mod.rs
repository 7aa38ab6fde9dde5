//! What profilers wrote: found among the job's files by content, read, and kept in the bundle.
//! Nothing here stops a run: a file that cannot be read is listed with one line.

mod benches;
mod choose;
mod keep;
mod reading;

use crate::profile::model::Profile;
use crate::profile::sniff::Kind;
use crate::record::Notice;
use crate::record::series::Series;
use crate::source::files::FoundFile;

pub(super) use keep::{Kept, keep};
pub(super) use reading::{Around, read};

/// A file that may be a profiler's.
#[derive(Clone, Debug)]
pub(super) struct Trace {
    /// The file.
    pub file: FoundFile,
    /// The step that wrote it; `None` where that is not known.
    pub step: Option<String>,
    /// Whose it is.
    pub role: Role,
}

/// Whose a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Only its content tells.
    Found,
    /// A profiler that perftrail started wrote it.
    Ordered,
    /// The same, in a form that only the profiler can read; it was turned into another file.
    RawOnly,
}

/// Everything that the files told.
#[derive(Debug, Default)]
pub(super) struct Profiled {
    /// The profiles.
    pub profiles: Vec<SourcedProfile>,
    /// Numbers that stood beside them.
    pub metrics: Vec<SourcedNumber>,
    /// Numbers over time that stood beside them.
    pub series: Vec<SourcedSeries>,
    /// What people should know.
    pub notices: Vec<Notice>,
    /// Files that are a profiler's, read or not.
    pub raw: Vec<FoundFile>,
}

/// A profile, and the file it was read from.
#[derive(Clone, Debug)]
pub(super) struct SourcedProfile {
    /// The profile.
    pub profile: Profile,
    /// The file, as the job named it.
    pub source: String,
    /// How many nodes it had before it was made smaller; `None` while it is whole.
    pub whole: Option<u64>,
}

/// A number from a tool's file.
#[derive(Debug)]
pub(super) struct SourcedNumber {
    /// The number.
    pub number: crate::profile::reading::Reported,
    /// The file, as the job named it.
    pub source: String,
    /// The file's format.
    pub kind: Kind,
}

/// Numbers over time from a tool's file.
#[derive(Debug)]
pub(super) struct SourcedSeries {
    /// The numbers.
    pub series: Series,
    /// The file, as the job named it.
    pub source: String,
}
