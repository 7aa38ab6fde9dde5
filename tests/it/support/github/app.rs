//! GitHub Apps: who they are is proved by a word that their key signed, and what they get is a token
//! for repositories that they were given.

use axum::http::Method;
use jiff::SignedDuration;
use octocrab::jsonwebtoken::{self, Algorithm, DecodingKey, Validation};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{FakeToken, Model, Reply, Seen, now};

/// Made for these tests: it opens nothing.
const PRIVATE: &str = "\
MIIEogIBAAKCAQEAkH3C+BqOJzUJ8lDGIZ2VDAI0dR2mifgCfobYwfPxuOCPOYEX\n\
xVr4jNp01LvHrthzTC6pj5uoko5rdXgzo7QvsaQFPf5WBhrHjcA+G+9RmHvLqdK2\n\
tKBZ6E5STt/wMGK3RrA8E0I5YPGV04PIJX8QbjKB2wykN75T2zsIblAVNUBnoRqd\n\
MG5x1yj5TdBIj2cFmrQ6R/0bEwJwIZW8DePPZOYXmTaZkpmHAiACA6HxK71yXClY\n\
CEibsvxLmfAQHQSIgd4rrfFCGdHcUwrwBQ46ZXK/iGu8K2rUQHjgnAeIiHgL4zmp\n\
8OsIFT3OJMQR8XSFVrj9ddRzIwnubACn17YCmQIDAQABAoIBABLVwfeThppHyK8k\n\
pl81antxQiNOJSpxAOo7a8AEq6rc4u6tDEs2q5W42Gfuvn3lS0pP/txwfw3zsMBU\n\
Ve7uCxWN+vz0zYPoM8EfoTkE/k7xPEA77oMnL/EfXI1ZlbbI93koefxMsqwXcd9r\n\
m0iAAsVKojDKuhFmJwo57MRsfgc91tG0Mb4Oiw3UJugvgrnHPciwyGYAkzoMNyLo\n\
xfQmKvm/IulYb0TjtLJXHBqJE+LrkqXIbLoUs9CYNBD4Os1qcTQ8C2yJFx6g2s7L\n\
SIkfiqR5APZoxia3Djqg1LqIiUcmzg2od679njd8EdRcJnnM82jcTMEco62nF23Y\n\
JmYDIx0CgYEAyaLFkRjxQXJbUym5akkMsjMbROc39/CdKMvOyI310sLZTwPKwO56\n\
1lsIWacWGuMIbMRqHnRXK9Ztv+n2VSn+sbOvajWtFVkPJwOyIiuXAUJzFSY52mpu\n\
kr91/E4aNmpSZJsPPbZa4EsMa0KviKYkHH5aPNC9WvOm3skQcOyKq9MCgYEAt3LH\n\
p22iA5VXlzUv+4NVsbW7Ywe94OuxvxsL4JBB6wP5w+ysC4swWjquV/kkthIQs3H1\n\
JgZe4EkIjDEPdmXJFE4wrw2htY5yxpS3L/I3IgCjYxT67/FvLWf84036oaCG4xw4\n\
SWyoRZpbx2BblzrZln0422RpYzYbMzVGcxXqMGMCgYAgcYlahGnlPvJE2lTULjbV\n\
wXVky9NsmJGhC9IU4Qqpw+JVXWXVT0oCjZk1W7Yp01f6sEvm5I9WJWV5WLrjDyPF\n\
EgVqkIJuCetvOqAB8YOVl0yPHZx3cWKjSB1C4IpFMSxatbxpEJtktY6k/5Dg6uKq\n\
lwYL/QZKySOTe0Si9tyFMwKBgDRB6SgDrgxRRZNYXmPKZOXrvAaY1Pk2ivrCjJ6a\n\
2XxGNKcgS146dzqszq9W1KNdAA7uHoSHeg1wIJQ3AY2bry0unOWw/2jFvGJfSNPK\n\
rvPrtJ9sAZPKdf48SijCNOxH20Tk7A/WeRTixNRF2bF53TPmVgUBVJgjeJocygXM\n\
r1q7AoGASXazhA0/4xpaCvUT1Qya+qfmFqqClLkG867YPHPE7un3A8C9G30tGz+R\n\
EkJ+selobe10E6op2aLkLXxz6ISC0p5jKP343GOHevbVJE8n38St58CTbycmopOr\n\
MsInGtAAoRfRYTAlkRiNiXqv2H7s2IE2eistHljLiX115zfSzoU=\n\
";
const PUBLIC: &str = "\
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAkH3C+BqOJzUJ8lDGIZ2V\n\
DAI0dR2mifgCfobYwfPxuOCPOYEXxVr4jNp01LvHrthzTC6pj5uoko5rdXgzo7Qv\n\
saQFPf5WBhrHjcA+G+9RmHvLqdK2tKBZ6E5STt/wMGK3RrA8E0I5YPGV04PIJX8Q\n\
bjKB2wykN75T2zsIblAVNUBnoRqdMG5x1yj5TdBIj2cFmrQ6R/0bEwJwIZW8DePP\n\
ZOYXmTaZkpmHAiACA6HxK71yXClYCEibsvxLmfAQHQSIgd4rrfFCGdHcUwrwBQ46\n\
ZXK/iGu8K2rUQHjgnAeIiHgL4zmp8OsIFT3OJMQR8XSFVrj9ddRzIwnubACn17YC\n\
mQIDAQAB\n\
";

/// The private key of [`FakeApp`], as GitHub gives it.
pub(crate) fn private_key() -> String {
    let kind = "RSA PRIVATE KEY";
    format!("-----BEGIN {kind}-----\n{PRIVATE}-----END {kind}-----\n")
}

/// An App that holds [`private_key`].
#[derive(Clone, Debug)]
pub(crate) struct FakeApp {
    pub(crate) id: &'static str,
    pub(crate) installations: Vec<FakeInstallation>,
}

/// Where it is installed.
#[derive(Clone, Debug)]
pub(crate) struct FakeInstallation {
    pub(crate) account: &'static str,
    /// What it was given there.
    pub(crate) repositories: Vec<&'static str>,
    /// Whether it may write there.
    pub(crate) may_write: bool,
    /// The tokens that it gets, one after the other.
    pub(crate) tokens: Vec<&'static str>,
}

impl FakeApp {
    /// An App with one installation, which may write to one repository.
    pub(crate) fn writes(
        id: &'static str,
        repository: &'static str,
        tokens: &[&'static str],
    ) -> Self {
        let (account, _) = repository.split_once('/').expect("an owner");
        let installation = FakeInstallation {
            account,
            repositories: vec![repository],
            may_write: true,
            tokens: tokens.to_vec(),
        };
        Self { id, installations: vec![installation] }
    }
}

#[derive(Deserialize)]
struct Claims {
    iat: i64,
    exp: i64,
    iss: String,
}

impl Model {
    /// The answer to a request that only an App may make; `None` for all others.
    pub(super) fn as_app(&mut self, parts: &[&str], method: &Method, seen: &Seen) -> Option<Reply> {
        let is_for_apps = matches!(parts, ["app", ..] | ["repos", _, _, "installation"]);
        if !is_for_apps {
            return None;
        }
        let bearer = seen.headers.get("authorization").and_then(|value| value.to_str().ok());
        let word = bearer.and_then(|text| text.strip_prefix("Bearer ")).unwrap_or_default();
        let app = self.app.clone().filter(|app| self.is_word_of(app, word));
        let Some(app) = app else {
            let said = "A JSON web token could not be decoded";
            return Some(Reply::refusal(401, said));
        };
        Some(match (method.as_str(), parts) {
            ("GET", ["repos", owner, name, "installation"]) => {
                let name = format!("{owner}/{name}");
                let has = |one: &FakeInstallation| one.repositories.contains(&name.as_str());
                app.installations.iter().position(has).map_or_else(
                    || Reply::refusal(404, "Not Found"),
                    |at| Reply::json(200, &described(at, &app.installations[at])),
                )
            }
            ("GET", ["app", "installations"]) => {
                let all: Vec<Value> = app
                    .installations
                    .iter()
                    .enumerate()
                    .map(|(at, one)| described(at, one))
                    .collect();
                Reply::json(200, &Value::from(all))
            }
            ("POST", ["app", "installations", id, "access_tokens"]) => self.app_token(id, seen),
            _ => self.no_route(seen),
        })
    }

    /// Whether the App's key signed it, and it holds for as long as GitHub lets it.
    fn is_word_of(&mut self, app: &FakeApp, word: &str) -> bool {
        let kind = "PUBLIC KEY";
        let key = format!("-----BEGIN {kind}-----\n{PUBLIC}-----END {kind}-----\n");
        let key = DecodingKey::from_rsa_pem(key.as_bytes()).expect("a key");
        let mut rules = Validation::new(Algorithm::RS256);
        // The clock of the program under test is the machine's own.
        rules.validate_exp = false;
        let Ok(read) = jsonwebtoken::decode::<Claims>(word, &key, &rules) else { return false };
        let Claims { iat, exp, iss } = read.claims;
        if exp <= iat || exp - iat > 600 + 60 {
            self.offence(format!("a word that holds for {} s", exp - iat));
        }
        iss == app.id
    }

    fn app_token(&mut self, id: &str, seen: &Seen) -> Reply {
        let at = id.parse::<usize>().ok().and_then(|id| id.checked_sub(1));
        let app = self.app.as_mut().expect("the App");
        let Some(installation) = at.and_then(|at| app.installations.get_mut(at)) else {
            return Reply::refusal(404, "Not Found");
        };
        let body = seen.body.clone().unwrap_or_default();
        let account = installation.account;
        let asked: Vec<String> = body["repositories"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|name| format!("{account}/{}", name.as_str().unwrap_or_default()))
            .collect();
        let given =
            |name: &String| installation.repositories.iter().copied().find(|one| one == name);
        let Some(repositories) = asked.iter().map(given).collect::<Option<Vec<_>>>() else {
            return Reply::refusal(422, "There is at least one repository that does not exist");
        };
        if body["permissions"] != json!({"contents": "write"}) || repositories.len() != 1 {
            self.offence(format!("more than one needs: {body}"));
            return Reply::refusal(422, "no");
        }
        if !installation.may_write {
            return Reply::refusal(
                422,
                "The permissions requested are not granted to this installation.",
            );
        }
        let token = if installation.tokens.len() > 1 {
            installation.tokens.remove(0)
        } else {
            installation.tokens[0]
        };
        self.tokens.insert(token, FakeToken::writes(repositories[0]));
        let expires = self.app_expires.unwrap_or(now() + SignedDuration::from_hours(1));
        Reply::json(
            201,
            &json!({"token": token, "expires_at": expires, "permissions": body["permissions"]}),
        )
    }
}

fn described(at: usize, one: &FakeInstallation) -> Value {
    json!({"id": at + 1, "account": {"login": one.account}, "repository_selection": "selected"})
}
