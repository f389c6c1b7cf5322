//! Origins of web pages, and the headers for browsers about them.

use std::{fmt, str::FromStr};

use http::{
    HeaderMap, HeaderValue, Uri,
    header::{
        ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
        ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, ORIGIN, VARY,
    },
};

/// The origin of a web page: scheme, host and port, as in `https://app.example:8443`. The usual port may be left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    scheme: String,
    host: String,
    port: Option<u16>,
}

/// A text that is no origin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is no origin: give scheme, host and port, as in https://app.example:443", memory::text::one_line(.0))]
pub struct InvalidOrigin(String);

impl Origin {
    /// The origin of this server under a host.
    pub(super) fn of(host: &str, port: u16) -> Self {
        Self { scheme: "http".to_owned(), host: host.to_ascii_lowercase(), port: Some(port) }
    }
}

impl FromStr for Origin {
    type Err = InvalidOrigin;

    fn from_str(text: &str) -> Result<Self, InvalidOrigin> {
        let invalid = || InvalidOrigin(text.chars().take(200).collect());
        let (scheme, authority) = text.split_once("://").ok_or_else(invalid)?;
        let uri: Uri = text.parse().map_err(|_| invalid())?;
        let (Some(given), Some(host)) = (uri.authority(), uri.host()) else { return Err(invalid()) };
        // An origin has neither a path nor a user's name.
        if given.as_str() != authority || authority.contains('@') || host.contains('*') || host.is_empty() {
            return Err(invalid());
        }
        let scheme = scheme.to_ascii_lowercase();
        let usual = match scheme.as_str() {
            "http" => Some(80),
            "https" => Some(443),
            _ => None,
        };
        let has_port = authority.len() > host.len();
        if has_port && uri.port_u16().is_none() {
            return Err(invalid());
        }
        Ok(Self { scheme, host: host.to_ascii_lowercase(), port: uri.port_u16().or(usual) })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.host)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// The `Origin` of a request, verbatim, if it is one of `allowed`.
pub(super) fn allowed(allowed: &[Origin], headers: &HeaderMap) -> Option<HeaderValue> {
    let given = headers.get(ORIGIN)?;
    let origin: Origin = given.to_str().ok()?.parse().ok()?;
    allowed.contains(&origin).then(|| given.clone())
}

/// Tells a browser that a page of `origin` may read an answer.
pub(super) fn admit(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("mcp-session-id, www-authenticate"));
    headers.append(VARY, HeaderValue::from_static("Origin"));
}

/// Tells a browser, before a page's request, that the page may send it. The request itself needs the token.
pub(super) fn preflight(headers: &mut HeaderMap, asked: &HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST, GET, DELETE"));
    if let Some(names) = asked.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, names.clone());
    }
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_has_a_scheme_a_host_and_a_port_and_nothing_else() {
        for (text, shown) in [
            ("https://app.example", "https://app.example:443"),
            ("HTTPS://App.Example:443", "https://app.example:443"),
            ("http://localhost:5173", "http://localhost:5173"),
            ("http://[::1]:80", "http://[::1]:80"),
            ("chrome-extension://abcdef", "chrome-extension://abcdef"),
        ] {
            assert_eq!(text.parse::<Origin>().map(|origin| origin.to_string()).as_deref(), Ok(shown), "{text}");
        }
        for wrong in [
            "",
            "*",
            "null",
            "app.example",
            "https://",
            "https://app.example/",
            "https://app.example/page",
            "https://app.example?x",
            "https://app.example:",
            "https://app.example:x",
            "https://app.example:*",
            "https://*.example",
            "https://me@app.example",
            "https://a b",
            " https://app.example",
        ] {
            assert!(wrong.parse::<Origin>().is_err(), "{wrong}");
        }
    }
}
