//! What a check finds: where, what, and what to do about it.

use std::fmt;

use serde::Serialize;

use crate::model::text::shown_up_to;
use crate::results::path::PathError;

/// Something in a results repository that is not as publishing leaves it.
#[derive(Debug)]
pub struct Finding {
    /// Where: a path from the repository's root.
    pub path: String,
    /// What.
    pub fault: Fault,
}

/// What is wrong.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The file that names the format is missing.
    #[error("the repository does not name its format")]
    FormatMissing,
    /// It does not name a format that is known.
    #[error("it does not name the format of a results repository")]
    FormatUnknown,
    /// A file that a site's builder needs is missing.
    #[error("it is missing: a site's builder would leave out names that begin with `_`")]
    NoJekyllMissing,
    /// The repository names content that it does not hold.
    #[error("its content is missing or damaged: {0}")]
    Lost(String),
    /// It is no file that anybody can check out safely.
    #[error("it is {0}")]
    Kind(&'static str),
    /// A name that some system or host takes for something else.
    #[error("{0}")]
    Name(PathError),
    /// More than any repository holds.
    #[error("it holds more entries than are looked at")]
    TooMany,

    /// Files without a record above them.
    #[error("files lie here that belong to no run: there is no stats.json beside or above them")]
    NoRecord,
    /// The record is none.
    #[error("the record cannot be used: {0}")]
    Record(String),
    /// The record was changed.
    #[error("the record was changed: it says digest {said}, and its content has {found}")]
    Digest {
        /// What it says, cut.
        said: String,
        /// What its content gives.
        found: String,
    },
    /// The record of a finished run has no digest.
    #[error("the record of a finished run has no digest")]
    NoDigest,
    /// The record is another run's.
    #[error("the record is that of {0}, which does not belong into this folder")]
    Elsewhere(String),
    /// One run in two folders.
    #[error("the same run lies in {0} too")]
    Twice(String),
    /// A listed file is not there.
    #[error("the record lists this file, and it is not there")]
    FileMissing,
    /// A listed file has another content.
    #[error("its content is not the one that the record lists: {0}")]
    FileDiffers(String),
    /// A file that was left out is there.
    #[error("the record says that this file was left out, and it is there")]
    FileLeftOut,
    /// A file that nobody knows.
    #[error("no record lists this file")]
    FileUnlisted,
    /// A page of the run is missing.
    #[error("the run's page is missing")]
    PageMissing,

    /// A line that is none.
    #[error("line {number} cannot be read: {why}")]
    LineCorrupt {
        /// Its number, from 1.
        number: usize,
        /// What is wrong with it.
        why: String,
    },
    /// A line of a run that is not there.
    #[error("line {number} is of {run}, and there is no such run")]
    LineExtra {
        /// Its number, from 1.
        number: usize,
        /// The folder it names, cut.
        run: String,
    },
    /// A run without a line.
    #[error("it has no line of {run}")]
    LineMissing {
        /// The run's folder.
        run: String,
    },
    /// A line that says other things than its record.
    #[error("line {number} differs from the record of {run} in {parts}")]
    LineDiffers {
        /// Its number, from 1.
        number: usize,
        /// The run's folder.
        run: String,
        /// The keys that differ, the first few.
        parts: String,
    },
    /// A line in the wrong month, or one of two of a run.
    #[error("line {number} of {run} belongs to the month {month}, and once")]
    LineMisplaced {
        /// Its number, from 1.
        number: usize,
        /// The run's folder.
        run: String,
        /// The month of the run, `YYYY-MM`.
        month: String,
    },
    /// All lines are right, and the file is not.
    #[error("its lines are not in order, or not ended as they should be")]
    Order,

    /// What people accepted cannot be read.
    #[error("{0}: nothing that was accepted counts in any verdict")]
    Epochs(String),
    /// The landing page cannot be made.
    #[error("the landing page cannot be made: {0}")]
    LandingUnmakeable(String),
    /// The landing page or a drawing is missing.
    #[error("it is missing: the landing page needs it")]
    LandingMissing,
    /// The landing page or a drawing says other things than the index.
    #[error("it is not what this version makes of the runs")]
    LandingDiffers,
    /// A drawing that no landing page shows.
    #[error("no landing page shows this drawing")]
    TrendStale,
}

/// Who can mend a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mending {
    /// `fsck --rebuild` makes it anew from the run folders.
    Rebuild,
    /// People: it is about what was measured, or about files of others.
    ByHand,
}

impl Fault {
    /// A stable word for programs.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::FormatMissing => "format_missing",
            Self::FormatUnknown => "format_unknown",
            Self::NoJekyllMissing => "nojekyll_missing",
            Self::Lost(_) => "content_lost",
            Self::Kind(_) => "not_a_plain_file",
            Self::Name(_) => "bad_name",
            Self::TooMany => "too_many",
            Self::NoRecord => "no_record",
            Self::Record(_) => "record_unreadable",
            Self::Digest { .. } => "record_changed",
            Self::NoDigest => "record_without_digest",
            Self::Elsewhere(_) => "record_elsewhere",
            Self::Twice(_) => "run_twice",
            Self::FileMissing => "file_missing",
            Self::FileDiffers(_) => "file_differs",
            Self::FileLeftOut => "file_left_out",
            Self::FileUnlisted => "file_unlisted",
            Self::PageMissing => "page_missing",
            Self::LineCorrupt { .. } => "line_corrupt",
            Self::LineExtra { .. } => "line_extra",
            Self::LineMissing { .. } => "line_missing",
            Self::LineDiffers { .. } => "line_differs",
            Self::LineMisplaced { .. } => "line_misplaced",
            Self::Order => "index_order",
            Self::Epochs(_) => "epochs_unreadable",
            Self::LandingUnmakeable(_) => "landing_unmakeable",
            Self::LandingMissing => "landing_missing",
            Self::LandingDiffers => "landing_differs",
            Self::TrendStale => "trend_stale",
        }
    }

    /// Who can mend it.
    pub const fn mending(&self) -> Mending {
        match self {
            Self::FormatMissing
            | Self::NoJekyllMissing
            | Self::PageMissing
            | Self::LineCorrupt { .. }
            | Self::LineExtra { .. }
            | Self::LineMissing { .. }
            | Self::LineDiffers { .. }
            | Self::LineMisplaced { .. }
            | Self::Order
            | Self::LandingMissing
            | Self::LandingDiffers
            | Self::TrendStale => Mending::Rebuild,
            _ => Mending::ByHand,
        }
    }

    /// What to do.
    pub const fn remedy(&self) -> &'static str {
        match self {
            Self::Lost(_) => {
                "see what `git fsck` says, and fetch the object from another clone of the repository"
            }
            Self::Kind(_) | Self::Name(_) => "rename it or take it out, in a commit of your own",
            Self::TooMany => "take out what does not belong there, in a commit of your own",
            Self::NoRecord => "restore the record from an earlier commit, or take the files out",
            Self::Record(_) | Self::Digest { .. } | Self::NoDigest => {
                "restore the record from an earlier commit"
            }
            Self::Elsewhere(_) => "move the folder back to its place, in a commit of your own",
            Self::Twice(_) => "take one of the two folders out, in a commit of your own",
            Self::FormatUnknown | Self::FileMissing | Self::FileDiffers(_) => {
                "restore the file from an earlier commit"
            }
            Self::FileLeftOut | Self::FileUnlisted => {
                "take it out, in a commit of your own, or leave it: it harms nothing"
            }
            Self::Epochs(_) => "mend it, or restore it from an earlier commit",
            Self::LandingUnmakeable(_) => {
                "mend README.md, in a commit of your own: the two markers stand in it once each"
            }
            _ => "`perftrail fsck --rebuild` mends it",
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", visible(&self.path), self.fault, self.fault.remedy())
    }
}

/// A path of somebody's making: long enough to be found again, and nothing hidden in it.
pub(super) fn visible(path: &str) -> String {
    shown_up_to(path, 1000)
}

/// What somebody else says of something that is wrong.
pub(super) fn told(error: &dyn fmt::Display) -> String {
    shown_up_to(&error.to_string(), 300)
}
