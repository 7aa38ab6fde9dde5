//! One repository whose name has been checked, to ask about and to tell things.

use super::Client;
use super::call::Call;
use super::error::Error;
use super::repository::check_repository;
use super::wire::Wire;

/// The most entries of one answer that GitHub gives.
const PER_PAGE: usize = 100;

/// A repository of a [`Client`].
pub struct InRepository<'a> {
    wire: &'a Wire,
    owner: &'a str,
    name: &'a str,
}

impl Client {
    /// The repository `owner/name`, to ask about its pull requests and people.
    ///
    /// # Errors
    /// [`Error::Name`] when GitHub can have no such repository.
    pub fn in_repository<'a>(
        &'a self,
        owner: &'a str,
        name: &'a str,
    ) -> Result<InRepository<'a>, Error> {
        check_repository(owner, name)?;
        Ok(InRepository { wire: &self.wire, owner, name })
    }
}

impl<'a> InRepository<'a> {
    pub(super) fn wire(&self) -> &'a Wire {
        self.wire
    }

    /// What a call does here, for messages.
    pub(super) fn doing(&self, what: &str) -> String {
        format!("{what} in {}/{}", self.owner, self.name)
    }

    /// The segments of a path below the repository.
    pub(super) fn path<'b>(&'b self, rest: &[&'b str]) -> Vec<&'b str> {
        [&["repos", self.owner, self.name], rest].concat()
    }

    /// Asks for one page after the other until `each` says that it has seen enough, one is not
    /// full, or `most` entries were seen. Whether all there are were seen.
    pub(super) fn pages<T: serde::de::DeserializeOwned>(
        &self,
        rest: &[&str],
        doing: &str,
        most: usize,
        each: impl FnMut(T) -> Seen,
    ) -> Result<bool, Error> {
        self.pages_of(rest, &[], doing, most, each)
    }

    /// As [`InRepository::pages`], of what the query asks for.
    pub(super) fn pages_of<T: serde::de::DeserializeOwned>(
        &self,
        rest: &[&str],
        asked: &[(&str, &str)],
        doing: &str,
        most: usize,
        mut each: impl FnMut(T) -> Seen,
    ) -> Result<bool, Error> {
        for page in 1..=most.div_ceil(PER_PAGE) {
            let (size, page) = (PER_PAGE.to_string(), page.to_string());
            let page = [("per_page", size.as_str()), ("page", page.as_str())];
            let query = [asked, &page].concat();
            let call = Call::get(&self.path(rest), &query, self.doing(doing));
            let entries: Vec<T> = self.wire.ask_for(&call)?;
            let full = entries.len() >= PER_PAGE;
            for entry in entries {
                if each(entry) == Seen::Enough {
                    return Ok(false);
                }
            }
            if !full {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether to go on through a list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    More,
    Enough,
}
