//! What a repository holds at a commit, asked for without a checkout.

use serde::Deserialize;

use super::call::Call;
use super::error::Error;
use super::in_repository::InRepository;
use super::pull_request::ChangedFiles;
use crate::model::names::CommitSha;

/// The most files that a comparison lists.
const COMPARED_MAX: usize = 300;
/// The longest name of a branch, tag or commit that is asked for, in bytes.
const REFERENCE_MAX: usize = 255;

impl InRepository<'_> {
    /// The bytes of the file `path` at `commit`; `None` where there is none, or the token may not
    /// read contents.
    ///
    /// # Errors
    /// Whatever else keeps GitHub from answering.
    pub fn file_at(&self, path: &str, commit: &CommitSha) -> Result<Option<Vec<u8>>, Error> {
        let segments: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        if segments.is_empty() || segments.iter().any(|part| matches!(*part, "." | "..")) {
            return Err(Error::Name { what: "path", text: path.chars().take(100).collect() });
        }
        let doing = self.doing(&format!("read {path} at {}", commit.short()));
        let below = self.path(&[&["contents"], segments.as_slice()].concat());
        let call = Call::get_raw(&below, &[("ref", commit.as_str())], doing);
        match self.wire().ask(&call) {
            Ok(answer) => Ok(Some(answer.body)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The commit that a branch, a tag or the start of a commit names; `None` where nothing is
    /// named so.
    ///
    /// # Errors
    /// [`Error::Name`] before anything is sent.
    pub fn commit_of(&self, reference: &str) -> Result<Option<CommitSha>, Error> {
        let fits = (1..=REFERENCE_MAX).contains(&reference.len())
            && !reference.contains("..")
            && !reference.starts_with(['/', '-'])
            && !reference.contains(|c: char| c.is_control() || c.is_whitespace());
        if !fits {
            let text = reference.chars().take(100).collect();
            return Err(Error::Name { what: "branch, tag or commit", text });
        }
        let doing = self.doing("look up a branch, tag or commit");
        let call = Call::get(&self.path(&["commits", reference]), &[], doing);
        match self.wire().ask_for::<CommitWire>(&call) {
            Ok(commit) => Ok(Some(commit.sha)),
            // 422 is GitHub's answer to what could be a commit and is none.
            Err(Error::NotFound { .. } | Error::Refused { status: 422, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The paths that differ between two commits, of which GitHub lists 300 at most.
    ///
    /// # Errors
    /// [`Error::NotFound`] when GitHub does not know one of the commits.
    pub fn changed_between(
        &self,
        before: &CommitSha,
        after: &CommitSha,
    ) -> Result<ChangedFiles, Error> {
        let range = format!("{before}...{after}");
        let doing = self.doing("list what a push changed");
        // The files stand on the first page, however many commits one holds.
        let path = self.path(&["compare", &range]);
        let wire: ComparedWire =
            self.wire().ask_for(&Call::get(&path, &[("per_page", "1")], doing))?;
        let complete = wire.files.len() < COMPARED_MAX;
        let both = |file: FileWire| [Some(file.filename), file.previous_filename];
        let paths = wire.files.into_iter().flat_map(both).flatten().collect();
        Ok(ChangedFiles { paths, complete })
    }
}

#[derive(Deserialize)]
struct CommitWire {
    sha: CommitSha,
}

#[derive(Deserialize)]
struct ComparedWire {
    #[serde(default)]
    files: Vec<FileWire>,
}

#[derive(Deserialize)]
struct FileWire {
    filename: String,
    previous_filename: Option<String>,
}
