//! GitHub Apps: an App proves by its key who it is, and gets a token for a repository that it was
//! given, for an hour.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use octocrab::jsonwebtoken::{self, Algorithm, EncodingKey, Header};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::call::Call;
use super::error::Error;
use super::pause::Pause;
use super::token::{Token, TokenProblem};
use super::{Client, Settings};

/// The clocks of this machine and of GitHub may differ by this much.
const SKEW: SignedDuration = SignedDuration::from_secs(60);
/// How long the App's own word holds; GitHub takes ten minutes at most.
const HOLDS: SignedDuration = SignedDuration::from_mins(9);
/// An id is a number, or a short word that GitHub made.
const ID_MAX: usize = 100;

/// An App: its id, and the key that proves it. Printing it for debugging shows no key.
#[derive(Clone)]
pub struct App {
    id: String,
    key: EncodingKey,
}

/// What is wrong with an App's id or key. The key is never repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppProblem {
    /// Not an id that GitHub makes.
    #[error("the id of the App is none: it is the number, or the client id, on the App's page")]
    Id,
    /// Not a key.
    #[error(
        "the private key of the App is none: store the whole file that GitHub gave, from \
         -----BEGIN RSA PRIVATE KEY----- to the last line, with its line breaks"
    )]
    Key,
}

/// Why an App gets no token.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AppError {
    /// The key does not sign.
    #[error(transparent)]
    Problem(#[from] AppProblem),
    /// 401.
    #[error(
        "GitHub does not accept the App {id}: is that the id of the App that the private key \
         belongs to, was the key deleted there, and is the clock of this machine right?"
    )]
    Unknown {
        /// The App's id.
        id: String,
    },
    /// The owner of the repository has not installed it.
    #[error(
        "the App {id} is not installed for {owner}: install it there, for the repository {owner}/{name}"
    )]
    NotInstalled {
        /// The App's id.
        id: String,
        /// The owner of the repository.
        owner: String,
        /// The repository's name.
        name: String,
    },
    /// It was installed for other repositories.
    #[error(
        "the App {id} is installed for {owner}, but was not given {owner}/{name}: add that repository to the installation"
    )]
    NotGiven {
        /// The App's id.
        id: String,
        /// The owner of the repository.
        owner: String,
        /// The repository's name.
        name: String,
    },
    /// 422.
    #[error(
        "the App {id} may not write to {owner}/{name}: give it the permission `Contents: read and write`, and have the installation accept it ({said})"
    )]
    MayNotWrite {
        /// The App's id.
        id: String,
        /// The owner of the repository.
        owner: String,
        /// The repository's name.
        name: String,
        /// GitHub's words.
        said: String,
    },
    /// Anything else.
    #[error(transparent)]
    Asked(#[from] Error),
    /// What came is no token.
    #[error("what GitHub gave the App is no token: {0}")]
    Token(#[from] TokenProblem),
}

impl AppError {
    /// Whether the same may work a little later.
    pub fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::Asked(Error::Network { .. } | Error::Server { .. } | Error::RateLimited { .. })
        )
    }
}

/// A token of an App for one repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppToken {
    /// The token.
    pub token: Token,
    /// When it ends.
    pub expires: Timestamp,
}

impl App {
    /// Takes an id and a key in PEM form. A key that was stored with `\n` for its line breaks is
    /// understood.
    ///
    /// # Errors
    /// When one of them cannot be right.
    pub fn new(id: &str, key: &str) -> Result<Self, AppProblem> {
        let id = id.trim();
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        if id.is_empty() || id.len() > ID_MAX || !id.bytes().all(fits) {
            return Err(AppProblem::Id);
        }
        let key = key.trim().replace("\\n", "\n");
        let key = EncodingKey::from_rsa_pem(key.as_bytes()).map_err(|_| AppProblem::Key)?;
        Ok(Self { id: id.to_owned(), key })
    }

    /// Asks for a token that may write the contents of `owner/name` and nothing else. `settings`
    /// tell which GitHub; a token in them is not used.
    ///
    /// # Errors
    /// When GitHub gives none.
    pub fn token_for(
        &self,
        owner: &str,
        name: &str,
        settings: &Settings,
        pause: impl Pause + 'static,
    ) -> Result<AppToken, AppError> {
        let token = Some(self.word(pause.now())?);
        let client = Client::new(Settings { token, ..settings.clone() }, pause)?;
        let installation = self.installation(&client, owner, name)?;
        let given = client.installation_token(installation, owner, name);
        let given = given.map_err(|error| self.told(error, owner, name))?;
        Ok(AppToken { token: Token::new(&given.token)?, expires: given.expires_at })
    }

    /// The App's word for who it is.
    fn word(&self, now: Timestamp) -> Result<Token, AppError> {
        let claims = Claims {
            iat: (now - SKEW).as_second(),
            exp: (now + HOLDS).as_second(),
            iss: self.id.clone(),
        };
        let word = jsonwebtoken::encode(&Header::new(Algorithm::RS256), &claims, &self.key);
        Ok(Token::new(&word.map_err(|_| AppProblem::Key)?)?)
    }

    fn installation(&self, client: &Client, owner: &str, name: &str) -> Result<u64, AppError> {
        match client.installation(owner, name) {
            Err(Error::NotFound { .. }) => {}
            other => return other.map_err(|error| self.told(error, owner, name)),
        }
        let (id, owner, name) = (self.id.clone(), owner.to_owned(), name.to_owned());
        if client.is_installed(&owner)? {
            return Err(AppError::NotGiven { id, owner, name });
        }
        Err(AppError::NotInstalled { id, owner, name })
    }

    fn told(&self, error: Error, owner: &str, name: &str) -> AppError {
        let (id, owner, name) = (self.id.clone(), owner.to_owned(), name.to_owned());
        match error {
            Error::Unauthorized { .. } => AppError::Unknown { id },
            Error::Refused { status: 422, message, .. } => {
                AppError::MayNotWrite { id, owner, name, said: message }
            }
            other => AppError::Asked(other),
        }
    }
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Client {
    /// The installation through which the App was given a repository.
    fn installation(&self, owner: &str, name: &str) -> Result<u64, Error> {
        let here = self.in_repository(owner, name)?;
        let doing = here.doing("look for the App's installation");
        let found: InstallationWire =
            here.wire().ask_for(&Call::get(&here.path(&["installation"]), &[], doing))?;
        Ok(found.id)
    }

    /// Whether the App is installed for an account at all, as far as the first hundred
    /// installations tell.
    fn is_installed(&self, owner: &str) -> Result<bool, Error> {
        let doing = "list the App's installations".to_owned();
        let call = Call::get(&["app", "installations"], &[("per_page", "100")], doing);
        let all: Vec<InstallationWire> = self.wire.ask_for(&call)?;
        let logins = all.iter().filter_map(|one| one.account.as_ref()?.login.as_deref());
        Ok(logins.into_iter().any(|login| login.eq_ignore_ascii_case(owner)))
    }

    fn installation_token(&self, id: u64, owner: &str, name: &str) -> Result<TokenWire, Error> {
        let body = json!({ "repositories": [name], "permissions": { "contents": "write" } });
        let doing = format!("make a token for {owner}/{name}");
        let id = id.to_string();
        // A token more does no harm: it ends by itself.
        let path = ["app", "installations", &id, "access_tokens"];
        self.wire.ask_for(&Call::post_again(&path, body, doing))
    }
}

#[derive(Serialize)]
struct Claims {
    iat: i64,
    exp: i64,
    iss: String,
}

#[derive(Deserialize)]
struct InstallationWire {
    id: u64,
    account: Option<AccountWire>,
}

#[derive(Deserialize)]
struct AccountWire {
    login: Option<String>,
}

#[derive(Deserialize)]
struct TokenWire {
    token: String,
    expires_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_app_is_refused_without_repeating_it() {
        for id in ["", " ", "a b", "12/34", "é"] {
            assert_eq!(App::new(id, "secret").unwrap_err(), AppProblem::Id, "{id:?}");
        }
        for key in
            ["", "secret", "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----"]
        {
            let problem = App::new("1234", key).unwrap_err();
            assert_eq!(problem, AppProblem::Key, "{key:?}");
            assert!(!format!("{problem} {problem:?}").contains("secret"));
        }
    }
}
