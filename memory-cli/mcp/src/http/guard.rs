//! What stands before the protocol: path, token, rate, size and speed of a request.

use std::{convert::Infallible, num::NonZeroU32, time::Duration};

use bytes::Bytes;
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use http::{
    HeaderValue, Request, Response, StatusCode,
    header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE},
};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited, combinators::BoxBody};
use hyper::body::Incoming;
use rmcp::{
    ServerHandler,
    transport::{StreamableHttpService, streamable_http_server::session::local::LocalSessionManager},
};
use tokio::time::timeout;

use super::{HttpOptions, PATH};
use crate::Token;

/// What a request is answered with.
pub(super) type Answer = Response<BoxBody<Bytes, Infallible>>;

/// Admits requests to the protocol.
pub(super) struct Guard<S> {
    protocol: StreamableHttpService<S, LocalSessionManager>,
    token: Option<Token>,
    rate: DefaultDirectRateLimiter,
    max_body: usize,
    patience: Duration,
}

impl<S: ServerHandler> Guard<S> {
    pub(super) fn new(protocol: StreamableHttpService<S, LocalSessionManager>, options: &HttpOptions) -> Self {
        let burst = options.per_second.checked_add(options.per_second.get()).unwrap_or(NonZeroU32::MAX);
        let rate = RateLimiter::direct(Quota::per_second(options.per_second).allow_burst(burst));
        let (token, max_body, patience) = (options.token.clone(), options.max_body, options.patience);
        Self { protocol, token, rate, max_body, patience }
    }

    /// The answer to a request. Nothing of its body is read before it may ask.
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Answer {
        if request.uri().path() != PATH {
            return refusal(StatusCode::NOT_FOUND, "the protocol is under /mcp");
        }
        let given = request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes);
        if self.token.as_ref().is_some_and(|token| !token.admits(given)) {
            let mut refused = refusal(StatusCode::UNAUTHORIZED, "a bearer token is needed");
            refused.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"memory\""));
            return refused;
        }
        if self.rate.check().is_err() {
            let mut refused = refusal(StatusCode::TOO_MANY_REQUESTS, "too many requests: try again in a second");
            refused.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
            return refused;
        }
        let (head, body) = request.into_parts();
        let body = match timeout(self.patience, Limited::new(body, self.max_body).collect()).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                let why = format!("a request has at most {} bytes", self.max_body);
                return refusal(StatusCode::PAYLOAD_TOO_LARGE, &why);
            }
            Ok(Err(_)) => return refusal(StatusCode::BAD_REQUEST, "the request broke off"),
            Err(_) => return refusal(StatusCode::REQUEST_TIMEOUT, "the request took too long"),
        };
        self.protocol.handle(Request::from_parts(head, Full::new(body))).await
    }
}

/// A refusal, after which the client is hung up on: it may still be sending.
fn refusal(status: StatusCode, why: &str) -> Answer {
    let mut response = Response::new(Full::new(Bytes::copy_from_slice(format!("{why}\n").as_bytes())).boxed());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(http::header::CONNECTION, HeaderValue::from_static("close"));
    response
}
