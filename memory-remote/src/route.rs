//! Network routes on which a request with a key may be sent.

use std::{
    collections::BTreeSet,
    net::IpAddr,
    sync::{Mutex, PoisonError},
};

use http::Uri;

use crate::redact::redacted;

/// Remedy for a refused key; part of errors.
const HOW_TO_ALLOW: &str =
    "use https, or pass --plain-http (MEMORY_PLAIN_HTTP=1; for a library, the option `plain_http`)";

/// Log lines about proxies that were written already.
static LOGGED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// A network route to a service.
#[derive(Debug)]
pub struct Route<'a> {
    /// The service.
    pub to: &'a Uri,
    /// The proxy that the client would use.
    pub proxy: Option<Uri>,
    /// True if requests contain a key.
    pub has_key: bool,
}

impl<'a> Route<'a> {
    /// The route of a client that reads the environment as curl does.
    #[cfg(feature = "runtime")]
    #[must_use]
    pub fn of_environment(to: &'a Uri, has_key: bool) -> Self {
        let matcher = hyper_util::client::proxy::matcher::Matcher::from_system();
        Self { to, proxy: matcher.intercept(to).map(|proxy| proxy.uri().clone()), has_key }
    }

    /// The route of a client that reads the environment as `ureq` does.
    #[cfg(feature = "ureq")]
    #[must_use]
    pub fn of_ureq(to: &'a Uri, has_key: bool) -> Self {
        let proxy = ureq::Proxy::try_from_env().filter(|proxy| !proxy.is_no_proxy(to));
        Self { to, proxy: proxy.map(|proxy| proxy.uri().clone()), has_key }
    }

    /// Refuses to send a key where others can read it, unless `plain_http` is allowed. Logs each proxy once.
    ///
    /// Over https a proxy sees only the name of the service. Over http the proxy and everybody on the route see
    /// everything; loopback has no route.
    ///
    /// # Errors
    /// The reason and the remedy.
    pub fn check(&self, plain_http: bool) -> Result<(), String> {
        let to = origin(self.to);
        if self.has_key && !plain_http && self.to.scheme_str() != Some("https") {
            if !is_loopback(self.to) {
                return Err(format!("{to} is plain http on another machine, and would be sent a key: {HOW_TO_ALLOW}"));
            }
            if let Some(proxy) = self.proxy.as_ref().filter(|proxy| !is_loopback(proxy)) {
                let host = self.to.host().unwrap_or_default();
                let proxy = origin(proxy);
                return Err(format!(
                    "{to} is plain http, and the proxy {proxy} would be sent a key: set NO_PROXY={host}, or {HOW_TO_ALLOW}"
                ));
            }
        }
        if let Some(proxy) = &self.proxy {
            let note = format!("{to} is reached through the proxy {}", origin(proxy));
            if LOGGED.lock().unwrap_or_else(PoisonError::into_inner).insert(note.clone()) {
                tracing::info!(target: "memory_remote::proxy", "{note}");
            }
        }
        Ok(())
    }
}

/// Scheme, host and port, because the rest of an address may contain secrets.
fn origin(uri: &Uri) -> String {
    let host = uri.authority().map_or("", |authority| authority.as_str());
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    redacted(&format!("{}://{host}", uri.scheme_str().unwrap_or("http"))).into_owned()
}

/// True if a host name or address is loopback.
#[must_use]
pub fn is_loopback(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default();
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    match host.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => host.eq_ignore_ascii_case("localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(to: &str, proxy: Option<&str>, is_allowed: bool) {
        let to = to.parse().unwrap();
        let route = |has_key| Route { to: &to, proxy: proxy.map(|proxy| proxy.parse().unwrap()), has_key };
        assert_eq!(route(true).check(false).is_ok(), is_allowed, "{to} by {proxy:?}");
        route(true).check(true).unwrap();
        route(false).check(false).unwrap();
    }

    #[test]
    fn a_key_goes_over_plain_http_to_this_machine_alone() {
        for here in ["http://127.0.0.1:80/v1", "http://127.9.9.9/", "http://[::1]:1/", "http://localhost:11434/v1"] {
            check(here, None, true);
            check(here, Some("http://127.0.0.1:3128"), true);
            check(here, Some("http://10.0.0.1:3128"), false);
        }
        for there in [
            "http://10.0.0.1/v1",
            "http://example.org",
            "http://localhost.example.org",
            "http://127.0.0.1.example.org",
            "http://127.0.0.1@10.0.0.1/",
            "http://[::2]/",
            "http://0.0.0.0/",
        ] {
            check(there, None, false);
            check(there, Some("http://127.0.0.1:3128"), false);
        }
        check("https://example.org", None, true);
        check("https://example.org", Some("http://10.0.0.1:3128"), true);
    }

    #[test]
    fn a_refusal_shows_no_password() {
        let to: Uri = "http://me:hunter2@10.0.0.1/v1?key=hunter3".parse().unwrap();
        let refused = Route { to: &to, proxy: None, has_key: true }.check(false).unwrap_err();
        assert!(refused.starts_with("http://10.0.0.1 is plain http") && !refused.contains("hunter"), "{refused}");
    }
}
