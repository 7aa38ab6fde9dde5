//! Comments under pull requests, and reactions to them.

use serde::Deserialize;
use serde_json::json;

use super::call::Call;
use super::error::Error;
use super::in_repository::{InRepository, Seen};

/// The longest comment that GitHub takes, in characters.
pub const COMMENT_MAX: usize = 65_536;
/// A conversation longer than this is not searched to its end.
const COMMENTS_MAX: usize = 10_000;

/// A comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// Its id.
    pub id: u64,
    /// The writer's login; `None` when the account is gone.
    pub author: Option<String>,
    /// Its Markdown.
    pub body: String,
    /// Its page.
    pub url: String,
}

/// A sign under a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// Seen, under way.
    Eyes,
    /// Done.
    Rocket,
    /// Not done.
    Confused,
}

impl Reaction {
    /// The word of the API.
    pub fn word(self) -> &'static str {
        match self {
            Self::Eyes => "eyes",
            Self::Rocket => "rocket",
            Self::Confused => "confused",
        }
    }
}

impl InRepository<'_> {
    /// The comments under `number` that `wanted` takes, the oldest first.
    ///
    /// # Errors
    /// Whatever keeps GitHub from answering.
    pub fn find_comments(
        &self,
        number: u64,
        wanted: impl Fn(&Comment) -> bool,
    ) -> Result<Vec<Comment>, Error> {
        let mut found = Vec::new();
        let path = ["issues", &number.to_string(), "comments"];
        let doing = format!("list the comments of {number}");
        self.pages(&path, &doing, COMMENTS_MAX, |wire: CommentWire| {
            let comment = Comment::from(wire);
            if wanted(&comment) {
                found.push(comment);
            }
            Seen::More
        })?;
        Ok(found)
    }

    /// Writes a comment. It is sent once: when it is not known whether GitHub took it,
    /// [`Error::unsure`] is true, and [`InRepository::find_comments`] tells.
    ///
    /// # Errors
    /// [`Error::Forbidden`] or [`Error::NotFound`] when the token may not write comments.
    pub fn write_comment(&self, number: u64, body: &str) -> Result<Comment, Error> {
        let text = number.to_string();
        let path = self.path(&["issues", &text, "comments"]);
        let doing = self.doing(&format!("comment on {number}"));
        let call = Call::post(&path, json!({"body": body}), doing);
        self.wire().ask_for::<CommentWire>(&call).map(Comment::from)
    }

    /// Replaces the text of a comment.
    ///
    /// # Errors
    /// [`Error::NotFound`] when somebody has deleted it.
    pub fn edit_comment(&self, id: u64, body: &str) -> Result<Comment, Error> {
        let text = id.to_string();
        let path = self.path(&["issues", "comments", &text]);
        let call = Call::patch(&path, json!({"body": body}), self.doing("edit a comment"));
        self.wire().ask_for::<CommentWire>(&call).map(Comment::from)
    }

    /// Puts a sign under a comment; a second one of the same kind changes nothing.
    ///
    /// # Errors
    /// [`Error::Forbidden`] when the token may not, [`Error::NotFound`] on servers without
    /// reactions.
    pub fn react(&self, comment: u64, reaction: Reaction) -> Result<(), Error> {
        let text = comment.to_string();
        let path = self.path(&["issues", "comments", &text, "reactions"]);
        let doing = self.doing("react to a comment");
        // A second one is no second one, so it may be sent again.
        let call = Call::post_again(&path, json!({"content": reaction.word()}), doing);
        self.wire().ask(&call).map(drop)
    }
}

#[derive(Deserialize)]
struct CommentWire {
    id: u64,
    user: Option<UserWire>,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    html_url: String,
}

#[derive(Deserialize)]
struct UserWire {
    login: String,
}

impl From<CommentWire> for Comment {
    fn from(wire: CommentWire) -> Self {
        Self {
            id: wire.id,
            author: wire.user.map(|user| user.login),
            body: wire.body.unwrap_or_default(),
            url: wire.html_url,
        }
    }
}
