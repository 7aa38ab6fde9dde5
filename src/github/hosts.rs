//! Where GitHub is, and the proxies on the way to it. Both come from the environment, which the
//! caller has read.

use std::collections::BTreeMap;
use std::fmt;

use reqwest::Url;

use super::error::{AddressProblem, Error};

/// The three addresses of one GitHub, github.com or another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    api: Url,
    server: Url,
    graphql: Url,
}

impl Hosts {
    /// Reads `GITHUB_API_URL`, `GITHUB_SERVER_URL` and `GITHUB_GRAPHQL_URL`. What is not set is
    /// derived from the server, and the server is github.com unless set.
    ///
    /// # Errors
    /// When one of them is no `http` or `https` address, or holds a password or a query.
    pub fn from_variables(variables: &BTreeMap<String, String>) -> Result<Self, Error> {
        let get = |name: &'static str| match set(variables, name) {
            Some(text) => address(name, text).map(Some),
            None => Ok(None),
        };
        let server = get("GITHUB_SERVER_URL")?;
        let derived = match &server {
            Some(server) => Self::of(server),
            None => Self::github()?,
        };
        Ok(Self {
            api: get("GITHUB_API_URL")?.unwrap_or(derived.api),
            server: derived.server,
            graphql: get("GITHUB_GRAPHQL_URL")?.unwrap_or(derived.graphql),
        })
    }

    /// The addresses that belong to a server, such as `https://github.com` or
    /// `https://github.example.org`.
    ///
    /// # Errors
    /// As [`Hosts::from_variables`].
    pub fn of_server(server: &str) -> Result<Self, Error> {
        address("the server", server).map(|server| Self::of(&server))
    }

    fn github() -> Result<Self, Error> {
        Self::of_server("https://github.com")
    }

    fn of(server: &Url) -> Self {
        let at = |host: Option<&str>, segments: &[&str]| {
            let mut url = server.clone();
            if let Some(host) = host {
                // A host made of a valid one is valid.
                let _ = url.set_host(Some(host));
            }
            if let Ok(mut path) = url.path_segments_mut() {
                path.pop_if_empty().extend(segments);
            }
            url
        };
        let host = server.host_str().unwrap_or_default();
        // github.com and the tenants of ghe.com keep their API on a host of its own.
        let (api, graphql) = if host == "github.com" || host.ends_with(".ghe.com") {
            let host = format!("api.{host}");
            (at(Some(&host), &[]), at(Some(&host), &["graphql"]))
        } else {
            (at(None, &["api", "v3"]), at(None, &["api", "graphql"]))
        };
        Self { api, server: server.clone(), graphql }
    }

    /// The API's base, without a slash at the end; Enterprise Server's path is kept.
    pub fn api(&self) -> &str {
        self.api.as_str().trim_end_matches('/')
    }

    /// The web server's address, without a slash at the end: what links to people start with.
    pub fn server(&self) -> &str {
        self.server.as_str().trim_end_matches('/')
    }

    /// The address of the GraphQL API.
    pub fn graphql(&self) -> &str {
        self.graphql.as_str()
    }

    /// The API's host, with its port unless it is the usual one: what messages name.
    pub fn api_host(&self) -> String {
        let host = self.api.host_str().unwrap_or_default();
        self.api.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }
}

/// The proxies of the environment. A proxy's address may hold a password, so that debugging shows
/// only which are set.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    http: Option<String>,
    https: Option<String>,
    except: Option<String>,
}

impl Proxies {
    /// Reads `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, in capitals or not.
    pub fn from_variables(variables: &BTreeMap<String, String>) -> Self {
        let get = |name: &str| {
            set(variables, name).or_else(|| set(variables, &name.to_lowercase())).map(str::to_owned)
        };
        let all = get("ALL_PROXY");
        Self {
            http: get("HTTP_PROXY").or_else(|| all.clone()),
            https: get("HTTPS_PROXY").or(all),
            except: get("NO_PROXY"),
        }
    }

    /// Tells the HTTP client about them, and that there are no others.
    pub(super) fn apply(
        &self,
        mut builder: reqwest::ClientBuilder,
    ) -> Result<reqwest::ClientBuilder, Error> {
        builder = builder.no_proxy();
        let except = || self.except.as_deref().and_then(reqwest::NoProxy::from_string);
        let bad = |variable| Error::Address { variable, problem: AddressProblem::NoAddress };
        if let Some(proxy) = &self.https {
            let proxy = reqwest::Proxy::https(proxy).map_err(|_| bad("HTTPS_PROXY"))?;
            builder = builder.proxy(proxy.no_proxy(except()));
        }
        if let Some(proxy) = &self.http {
            let proxy = reqwest::Proxy::http(proxy).map_err(|_| bad("HTTP_PROXY"))?;
            builder = builder.proxy(proxy.no_proxy(except()));
        }
        Ok(builder)
    }
}

impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxies")
            .field("http", &self.http.is_some())
            .field("https", &self.https.is_some())
            .field("except", &self.except)
            .finish()
    }
}

/// A variable that is there and not empty.
fn set<'a>(variables: &'a BTreeMap<String, String>, name: &str) -> Option<&'a str> {
    variables.get(name).map(|text| text.trim()).filter(|text| !text.is_empty())
}

/// Reads an address that a token may be sent to.
fn address(variable: &'static str, text: &str) -> Result<Url, Error> {
    let bad = |problem| Error::Address { variable, problem };
    let url = Url::parse(text).map_err(|_| bad(AddressProblem::NoAddress))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(bad(AddressProblem::Scheme));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad(AddressProblem::Credentials));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(bad(AddressProblem::Query));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn hosts(pairs: &[(&str, &str)]) -> [String; 4] {
        let hosts = Hosts::from_variables(&variables(pairs)).unwrap();
        [hosts.api(), hosts.server(), hosts.graphql(), &hosts.api_host()].map(str::to_owned)
    }

    #[test]
    fn github_com_is_the_default() {
        let want = [
            "https://api.github.com",
            "https://github.com",
            "https://api.github.com/graphql",
            "api.github.com",
        ];
        assert_eq!(hosts(&[]), want);
        assert_eq!(hosts(&[("GITHUB_API_URL", " "), ("GITHUB_SERVER_URL", "")]), want);
        assert_eq!(hosts(&[("GITHUB_SERVER_URL", "https://github.com/")]), want);
    }

    #[test]
    fn an_enterprise_server_keeps_its_path_and_port() {
        let want = [
            "https://git.example.org:8443/api/v3",
            "https://git.example.org:8443",
            "https://git.example.org:8443/api/graphql",
            "git.example.org:8443",
        ];
        assert_eq!(hosts(&[("GITHUB_SERVER_URL", "https://git.example.org:8443")]), want);
        let given = [
            ("GITHUB_SERVER_URL", "https://git.example.org:8443/"),
            ("GITHUB_API_URL", "https://git.example.org:8443/api/v3/"),
            ("GITHUB_GRAPHQL_URL", "https://git.example.org:8443/api/graphql"),
        ];
        assert_eq!(hosts(&given), want);
    }

    #[test]
    fn a_tenant_of_ghe_com_has_an_api_host() {
        let tenant = Hosts::of_server("https://acme.ghe.com").unwrap();
        assert_eq!(
            (tenant.api(), tenant.graphql()),
            ("https://api.acme.ghe.com", "https://api.acme.ghe.com/graphql")
        );
    }

    #[test]
    fn what_is_no_address_is_refused_without_repeating_it() {
        for (text, problem) in [
            ("api.github.com", AddressProblem::NoAddress),
            ("ssh://git@github.com", AddressProblem::Scheme),
            ("https://me:hunter2@github.com", AddressProblem::Credentials),
            ("https://github.com/?token=hunter2", AddressProblem::Query),
        ] {
            let error = Hosts::from_variables(&variables(&[("GITHUB_API_URL", text)])).unwrap_err();
            assert!(matches!(error, Error::Address { problem: p, .. } if p == problem), "{text}");
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
        }
    }

    #[test]
    fn proxies_are_read_in_either_case_and_not_printed() {
        let proxies = Proxies::from_variables(&variables(&[
            ("https_proxy", "http://me:hunter2@proxy:3128"),
            ("ALL_PROXY", "http://other:1"),
            ("NO_PROXY", "localhost"),
        ]));
        assert_eq!(proxies.https.as_deref(), Some("http://me:hunter2@proxy:3128"));
        assert_eq!(proxies.http.as_deref(), Some("http://other:1"));
        insta::assert_snapshot!(format!("{proxies:?}"), @r#"Proxies { http: true, https: true, except: Some("localhost") }"#);
        assert_eq!(
            Proxies::from_variables(&variables(&[("HTTPS_PROXY", " ")])),
            Proxies::default()
        );
    }
}
