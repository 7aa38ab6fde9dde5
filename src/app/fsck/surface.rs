//! What people see first: the landing page and its drawings, and the small files beside them.

use super::finding::told;
use super::{Checked, Fault, Shards};
use crate::analysis::epochs::{EPOCHS_FILE, Epochs};
use crate::app::index::Index;
use crate::app::publish::Pages;
use crate::app::publish::compose::NO_JEKYLL;
use crate::app::publish::landing::{self, Anew};
use crate::results::format::FORMAT_FILE;
use crate::results::tip::Tip;

pub(super) fn check(tip: &Tip<'_>, shards: Shards, pages: &Pages, checked: &mut Checked) {
    for (path, missing) in
        [(FORMAT_FILE, Fault::FormatMissing), (NO_JEKYLL, Fault::NoJekyllMissing)]
    {
        // What stands there and cannot be read is told elsewhere.
        if matches!(tip.read(path), Ok(None)) {
            checked.add(path, missing);
        }
    }
    match tip.read(EPOCHS_FILE) {
        Ok(bytes) => {
            let bytes = bytes.unwrap_or_default();
            if let Err(why) = Epochs::parse(&String::from_utf8_lossy(&bytes)) {
                checked.add(EPOCHS_FILE, Fault::Epochs(told(&why)));
            }
        }
        Err(error) => checked.add(EPOCHS_FILE, Fault::Lost(told(&error))),
    }
    let mut index = Index::anew(tip, shards);
    let landing = match landing::files(tip, &mut index, pages, Anew::default()) {
        Ok(landing) => landing,
        Err(why) => return checked.add("README.md", Fault::LandingUnmakeable(told(&why))),
    };
    for (path, expected) in landing.made {
        match tip.read(&path) {
            Ok(Some(found)) if found == expected => {}
            Ok(Some(_)) => checked.add(&path, Fault::LandingDiffers),
            Ok(None) => checked.add(&path, Fault::LandingMissing),
            Err(error) => checked.add(&path, Fault::Lost(told(&error))),
        }
    }
    for path in landing.stale {
        checked.add(&path, Fault::TrendStale);
    }
}
