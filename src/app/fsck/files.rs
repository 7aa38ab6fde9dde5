//! The files of a run folder against those that its record lists.

use std::collections::BTreeSet;
use std::io::{self, Read};

use flate2::read::MultiGzDecoder;

use super::finding::told;
use super::runs::RunFolder;
use super::{Checked, Fault};
use crate::model::text::shown;
use crate::record::layout::{CALL_TREE_FILE, LOG_FILE, PAGE_FILE, README_FILE, RECORD_FILE};
use crate::record::profiles::PROFILE_FILE;
use crate::record::series::SERIES_FILE;
use crate::record::{File, FileRole, Record, canonical};
use crate::results::tip::Tip;
use crate::results::walk::ContentId;

/// Files that need no mention in the record.
const KNOWN: &[&str] =
    &[RECORD_FILE, README_FILE, PAGE_FILE, CALL_TREE_FILE, SERIES_FILE, LOG_FILE, PROFILE_FILE];

/// Holds the files that are there against the record. Each is read once.
pub(super) fn check_files(
    tip: &Tip<'_>,
    folder: &RunFolder<'_>,
    record: &Record,
    checked: &mut Checked,
) {
    let at = |name: &str| format!("{}/{name}", folder.path);
    let mut listed = BTreeSet::new();
    for file in &record.files {
        listed.insert(file.path.as_str());
        match (folder.files.get(file.path.as_str()), &file.left_out) {
            (None, Some(_)) => {}
            (None, None) => checked.add(&at(&file.path), Fault::FileMissing),
            (Some(_), Some(_)) => checked.add(&at(&file.path), Fault::FileLeftOut),
            (Some(id), None) => {
                if let Some(fault) = content_fault(tip, *id, file, &at(&file.path)) {
                    checked.add(&at(&file.path), fault);
                }
            }
        }
    }
    let unknown = folder.files.keys().filter(|name| !listed.contains(**name));
    for name in unknown.filter(|name| !KNOWN.contains(*name)) {
        checked.add(&at(name), Fault::FileUnlisted);
    }
}

fn content_fault(tip: &Tip<'_>, id: ContentId, file: &File, path: &str) -> Option<Fault> {
    let said = file.sha256.as_deref()?;
    let bytes = match tip.content(id, path) {
        Ok(bytes) => bytes,
        Err(error) => return Some(Fault::Lost(told(&error))),
    };
    let found = canonical::sha256_hex(&bytes);
    if found == said {
        return None;
    }
    // Files of perftrail's own are packed, and listed as what they unpack to.
    if file.role == FileRole::Bundle && [LOG_FILE, PROFILE_FILE].contains(&file.path.as_str()) {
        return packed_fault(&bytes, file, said);
    }
    Some(differs(said, &found))
}

fn packed_fault(packed: &[u8], file: &File, said: &str) -> Option<Fault> {
    let bytes = match unpacked(packed, file.bytes) {
        Ok(bytes) => bytes,
        Err(error) => return Some(Fault::FileDiffers(format!("it cannot be unpacked: {error}"))),
    };
    // Of a log the configuration may publish the end alone.
    let is_tail = file.path == LOG_FILE && (bytes.len() as u64) < file.bytes;
    let found = canonical::sha256_hex(&bytes);
    (!is_tail && found != said).then(|| differs(said, &found))
}

fn unpacked(packed: &[u8], max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    MultiGzDecoder::new(packed).take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn differs(said: &str, found: &str) -> Fault {
    Fault::FileDiffers(format!("sha256 {found} instead of {}", shown(said)))
}
