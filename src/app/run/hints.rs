//! Says in a sentence what people stumble over, where a run shows that they did.

use std::path::Path;

use super::execute::Execution;
use crate::config::Command;
use crate::measure::Measurement;
use crate::plan::hints;
use crate::record::Level;
use crate::source::files;

/// The end of a set-up's output that is looked at.
const SAID_MAX: usize = 64 * 1024;
/// A longer file is none that tells tox anything.
const FILE_MAX: u64 = 1 << 20;

impl Execution<'_> {
    /// Tells when the set-up failed because it is not root's.
    pub(super) fn explain_setup(&mut self, setup: &Measurement) {
        let said = setup.output.log.to_bytes();
        let end = &said[said.len().saturating_sub(SAID_MAX)..];
        let Some(line) = hints::wants_root(&String::from_utf8_lossy(end)) else { return };
        let message = format!(
            "`setup` wants the rights of root, which it does not have here (\"{line}\"): install such things in \
             a step of the workflow before, with setup/action.yml instead of the container, or use an image \
             of your own"
        );
        self.note(Level::Warning, "setup_wants_root", &message);
    }

    /// Tells when tox kept our variables from a job that then told nothing.
    pub(super) fn explain_tox(&mut self, command: &Command, step: &Measurement) {
        if step.has_told() || !hints::starts_tox(command) {
            return;
        }
        let folder = self.shop.root.join(&self.planned.job.cwd);
        if tox_drops_ours(&folder) {
            self.note(Level::Info, "tox_drops_variables", hints::TOX_ADVICE);
        }
    }
}

/// Whether tox, started in `folder`, keeps our variables from what it starts. Without a file of its
/// own there it is not said.
pub(in crate::app) fn tox_drops_ours(folder: &Path) -> bool {
    let read = |name: &&str| files::read_head(&folder.join(name), FILE_MAX).ok();
    let texts: Vec<String> = hints::TOX_FILES
        .iter()
        .filter_map(read)
        .map(|(bytes, _)| String::from_utf8_lossy(&bytes).into_owned())
        .collect();
    !texts.is_empty() && !texts.iter().any(|text| hints::tox_passes(text))
}
