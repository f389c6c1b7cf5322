//! Checks before the protocol sees a request: path, token, rate, size and duration.

use std::{convert::Infallible, num::NonZeroU32, time::Duration};

use bytes::Bytes;
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode,
    header::{
        ACCESS_CONTROL_REQUEST_METHOD, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, ORIGIN, RETRY_AFTER,
        WWW_AUTHENTICATE,
    },
    uri::Authority,
};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited, combinators::BoxBody};
use hyper::body::Incoming;
use rmcp::{
    ServerHandler,
    transport::{StreamableHttpService, streamable_http_server::session::local::LocalSessionManager},
};
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::{HttpOptions, Origin, PATH, connections::Connection, origin};
use crate::{Token, request};

const JSON: &str = "application/json";
/// Pause before a wrong token is refused, so that a token cannot be guessed by many tries.
const PAUSE: Duration = Duration::from_millis(200);

/// A complete HTTP response.
pub(super) type Answer = Response<BoxBody<Bytes, Infallible>>;

/// Admits requests to the protocol.
pub(super) struct Guard<S> {
    protocol: StreamableHttpService<S, LocalSessionManager>,
    token: Option<Token>,
    origins: Vec<Origin>,
    rate: DefaultDirectRateLimiter,
    max_body: usize,
    patience: Duration,
}

impl<S: ServerHandler> Guard<S> {
    pub(super) fn new(
        protocol: StreamableHttpService<S, LocalSessionManager>,
        options: &HttpOptions,
        origins: Vec<Origin>,
    ) -> Self {
        let burst = options.per_second.checked_add(options.per_second.get()).unwrap_or(NonZeroU32::MAX);
        let rate = RateLimiter::direct(Quota::per_second(options.per_second).allow_burst(burst));
        let (token, max_body, patience) = (options.token.clone(), options.max_body, options.patience);
        Self { protocol, token, origins, rate, max_body, patience }
    }

    /// Answers a request of an open connection. Reads no byte of the body before the request is admitted.
    pub(super) async fn answer(&self, request: Request<Incoming>, connection: &Connection) -> Answer {
        let page = origin::allowed(&self.origins, request.headers());
        let is_preflight = request.method() == Method::OPTIONS
            && request.headers().contains_key(ORIGIN)
            && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        let mut answer =
            if is_preflight { preflight(&request, page.is_some()) } else { self.guarded(request, connection).await };
        if let Some(page) = page {
            origin::admit(answer.headers_mut(), page);
        }
        answer
    }

    async fn guarded(&self, request: Request<Incoming>, connection: &Connection) -> Answer {
        if let Some(refused) = refused(&request) {
            return refused;
        }
        let given = request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes);
        if self.token.as_ref().is_some_and(|token| !token.admits(given)) {
            sleep(PAUSE).await;
            let mut refused = refusal(StatusCode::UNAUTHORIZED, "a bearer token is needed");
            refused.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"memory\""));
            return refused;
        }
        connection.admit();
        if self.rate.check().is_err() {
            let mut refused = refusal(StatusCode::TOO_MANY_REQUESTS, "too many requests: try again in a second");
            refused.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
            return refused;
        }
        if length(request.headers()).is_some_and(|length| length > self.max_body as u64) {
            return self.too_long();
        }
        let (head, body) = request.into_parts();
        let body = match timeout(self.patience, Limited::new(body, self.max_body).collect()).await {
            Ok(Ok(body)) => {
                let mut body = body.to_bytes().to_vec();
                memory::text::mend_surrogates(&mut body);
                Bytes::from(body)
            }
            Ok(Err(error)) if error.is::<LengthLimitError>() => return self.too_long(),
            Ok(Err(_)) => return refusal(StatusCode::BAD_REQUEST, "the request broke off"),
            Err(_) => return refusal(StatusCode::REQUEST_TIMEOUT, "the request took too long"),
        };
        let is_json = is_json(&head.headers);
        let answer = self.protocol.handle(Request::from_parts(head, Full::new(body.clone()))).await;
        // The protocol library reports every unreadable body as an unsupported media type.
        if is_json
            && answer.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE
            && let Some(why) = request::no_message(&body)
        {
            return json(StatusCode::BAD_REQUEST, &why);
        }
        answer
    }

    fn too_long(&self) -> Answer {
        refusal(StatusCode::PAYLOAD_TOO_LARGE, &format!("a request has at most {} bytes", self.max_body))
    }
}

/// Answers a browser's CORS preflight request, which carries no token.
fn preflight(request: &Request<Incoming>, is_allowed: bool) -> Answer {
    if let Some(refused) = refused(request) {
        return refused;
    }
    if !is_allowed {
        return refusal(StatusCode::FORBIDDEN, "pages of this origin may not send requests: see --allow-origin");
    }
    let mut answer = Response::new(Full::new(Bytes::new()).boxed());
    *answer.status_mut() = StatusCode::NO_CONTENT;
    origin::preflight(answer.headers_mut(), request.headers());
    answer
}

/// The refusal of a request that no sender may make; `None` if the request may continue.
fn refused(request: &Request<Incoming>) -> Option<Answer> {
    if request.uri().path() != PATH {
        return Some(refusal(StatusCode::NOT_FOUND, "the protocol is under /mcp"));
    }
    // A proxy in front of this server might have checked the other of the two.
    if let Some(twice) = [HOST, ORIGIN, AUTHORIZATION].into_iter().find(|name| is_twice(request.headers(), name)) {
        return Some(refusal(StatusCode::BAD_REQUEST, &format!("the header {twice} is given twice")));
    }
    // The protocol library checks only the header, and of that only the part after a user's name.
    let host = request.headers().get(HOST).map(HeaderValue::as_bytes);
    let is_other = |authority: &Authority| host != Some(authority.as_str().as_bytes());
    if host.is_some_and(|host| host.contains(&b'@')) || request.uri().authority().is_some_and(is_other) {
        return Some(refusal(StatusCode::BAD_REQUEST, "the header host is not that of the request"));
    }
    None
}

fn is_twice(headers: &HeaderMap, name: &HeaderName) -> bool {
    headers.get_all(name).iter().nth(1).is_some()
}

/// The stated length of the body in bytes.
fn length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// True if the stated type of the body is JSON.
fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(JSON)
}

fn json(status: StatusCode, value: &Value) -> Answer {
    let mut response = Response::new(Full::new(Bytes::from(value.to_string())).boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    response
}

/// A refusal that also closes the connection, because the client may still be sending.
fn refusal(status: StatusCode, why: &str) -> Answer {
    let mut response = Response::new(Full::new(Bytes::copy_from_slice(format!("{why}\n").as_bytes())).boxed());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(http::header::CONNECTION, HeaderValue::from_static("close"));
    response
}
