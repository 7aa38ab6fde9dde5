//! Makes the pages of a run anew from what the results repository holds of it.

use super::pages::{Made, Pages, Stored, said, told_earlier};
use crate::analysis::verdict::Judging;
use crate::app::index::Index;
use crate::app::verdict;
use crate::record::Record;
use crate::record::index::Line;
use crate::record::layout::LOG_FILE;
use crate::record::profiles::PROFILE_FILE;
use crate::record::series::SERIES_FILE;
use crate::results::tip::Tip;

/// The pages of `record`, whose line names its folder.
pub(in crate::app) fn remade(
    tip: &Tip<'_>,
    record: &Record,
    line: &Line,
    index: &mut Index<'_, '_>,
    pages: &Pages,
    judging: &Judging,
) -> Result<Made, String> {
    let content = |name: &str| -> Result<Option<Vec<u8>>, String> {
        tip.read(&format!("{}/{name}", line.path)).map_err(|error| error.to_string())
    };
    let stored = Stored::of_folder(
        record,
        content(SERIES_FILE)?.as_deref(),
        content(LOG_FILE)?,
        content(PROFILE_FILE)?.as_deref(),
    );
    let earlier = index.earlier(line);
    let judged = verdict::judge(tip, index, record, line, judging, None);
    pages.of_run(record, &stored, told_earlier(&earlier), said(&judged), &line.path)
}
