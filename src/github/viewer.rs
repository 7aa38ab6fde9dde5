//! Who a token speaks as.

use serde::Deserialize;
use serde_json::json;

use super::Client;
use super::call::Call;
use super::error::Error;

/// Who a workflow's own token speaks as.
const WORKFLOW: &str = "github-actions[bot]";

impl Client {
    /// The login that comments of this token bear. A token of an App or a workflow may not ask
    /// for its user; GraphQL tells it. Where that is not to be had (Enterprise Server keeps it at
    /// another address) it is taken for a workflow's own.
    ///
    /// # Errors
    /// [`Error::Unauthorized`] for a token that is not accepted, and whatever keeps GitHub from
    /// answering.
    pub fn login(&self) -> Result<String, Error> {
        let doing = || "ask who the token belongs to".to_owned();
        match self.wire.ask_for::<UserWire>(&Call::get(&["user"], &[], doing())) {
            Ok(user) => return Ok(user.login),
            Err(Error::Forbidden { .. } | Error::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
        let below = self.hosts.graphql().strip_prefix(self.hosts.api().trim_end_matches('/'));
        let Some(path) = below.map(|path| path.trim_matches('/')).filter(|path| !path.is_empty())
        else {
            return Ok(WORKFLOW.to_owned());
        };
        let path: Vec<&str> = path.split('/').collect();
        let query = json!({ "query": "query { viewer { login } }" });
        // A question, which may be asked again.
        let answer = self.wire.ask_for::<GraphWire>(&Call::post_again(&path, query, doing()));
        let viewer = answer.ok().and_then(|answer| answer.data).and_then(|data| data.viewer);
        Ok(viewer.map_or_else(|| WORKFLOW.to_owned(), |viewer| viewer.login))
    }
}

#[derive(Deserialize)]
struct UserWire {
    login: String,
}

#[derive(Deserialize)]
struct GraphWire {
    data: Option<DataWire>,
}

#[derive(Deserialize)]
struct DataWire {
    viewer: Option<UserWire>,
}
