//! Requests to a hub, whose redirects are followed without giving the token to anybody else.
//!
//! The client `hf-hub` sends the token to whatever host a large file lies on, and waits for ever for a server that has
//! stopped sending: it lists the files here, and no more.

use std::{thread, time::Duration};

use hf_hub::api::sync::ApiError;
use ureq::{
    Agent, Body,
    http::{Response, Uri},
};

use crate::{fetch::FetchError, redact::redacted};

/// How often a request is made again, where that may help.
const RETRIES: u32 = 3;

/// The pause before the first of them; each is twice as long as the one before.
const PAUSE: Duration = Duration::from_millis(300);

const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// A longer chain of redirects leads nowhere.
const MOST_REDIRECTS: usize = 8;

/// A server that sends nothing for so long has broken off.
pub(super) const STALLED_AFTER: Duration = Duration::from_secs(60);

/// Why a file is not there.
#[derive(Debug)]
pub(super) enum Broken {
    /// The network, or the hub.
    Network(Box<ureq::Error>),
    /// Something on disk.
    Disk(FetchError),
    /// It was closed before all of it came.
    Short,
    /// What is there of the file is more than it has, or other bytes came than were asked for.
    Unfit,
    /// The hub answers as no hub does.
    Refused(&'static str),
    /// The client `hf-hub` makes nothing of it.
    Client(Box<ApiError>),
}

impl From<ureq::Error> for Broken {
    fn from(error: ureq::Error) -> Self {
        Self::Network(Box::new(error))
    }
}

impl From<ApiError> for Broken {
    fn from(error: ApiError) -> Self {
        match error {
            ApiError::RequestError(error) => Self::Network(error),
            other => Self::Client(Box::new(other)),
        }
    }
}

impl Broken {
    /// Whether it may get on in another try.
    fn is_passing(&self) -> bool {
        match self {
            Self::Network(error) => match **error {
                ureq::Error::StatusCode(status) => status == 408 || status == 429 || status >= 500,
                _ => true,
            },
            Self::Short => true,
            Self::Disk(_) | Self::Unfit | Self::Refused(_) | Self::Client(_) => false,
        }
    }
}

/// Tries until it works, it cannot, or there were tries enough.
pub(super) fn retried<T>(mut work: impl FnMut() -> Result<T, Broken>) -> Result<T, Broken> {
    let mut pause = PAUSE;
    for _ in 0..RETRIES {
        match work() {
            Err(error) if error.is_passing() => {
                tracing::debug!(error = %redacted(&format!("{error:?}")), ?pause, "asked again");
                thread::sleep(pause);
                pause *= 2;
            }
            done => return done,
        }
    }
    work()
}

/// Asks one address of a hub.
pub(super) struct Asker<'t> {
    agent: Agent,
    /// Where the token belongs.
    hub: Uri,
    token: Option<&'t str>,
}

impl<'t> Asker<'t> {
    pub(super) fn new(url: &str, token: Option<&'t str>, stalled_after: Duration) -> Result<Self, Broken> {
        let agent = Agent::config_builder()
            .max_redirects(0)
            .http_status_as_error(false)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_per_read(Some(stalled_after))
            .build()
            .into();
        let hub = url.parse().map_err(|_| Broken::Refused("its address is none"))?;
        Ok(Self { agent, hub, token })
    }

    /// Asks for a range of the file, wherever it lies. `passing` is shown each answer that the hub itself gives; once that
    /// gives something, nobody else is asked.
    pub(super) fn ask<T>(
        &self,
        range: &str,
        mut passing: impl FnMut(&Response<Body>) -> Option<T>,
    ) -> Result<Answer<T>, Broken> {
        let mut uri = self.hub.clone();
        for _ in 0..MOST_REDIRECTS {
            let is_hub = uri.scheme() == self.hub.scheme() && uri.authority() == self.hub.authority();
            // Sizes and ranges are those of the file, so that it may not come in another encoding.
            let request = self.agent.get(&uri).header("range", range).header("accept-encoding", "identity");
            let request = match self.token.filter(|_| is_hub) {
                Some(token) => request.header("authorization", format!("Bearer {token}")),
                None => request,
            };
            let answer = request.call()?;
            let status = answer.status();
            if status.is_client_error() && status.as_u16() != 416 || status.is_server_error() {
                return Err(ureq::Error::StatusCode(status.as_u16()).into());
            }
            if is_hub && let Some(told) = passing(&answer) {
                return Ok(Answer::Told(told));
            }
            if !status.is_redirection() {
                return Ok(Answer::Body(answer));
            }
            uri = redirected(uri, &answer)?;
        }
        Err(Broken::Refused("it redirects in a circle"))
    }
}

/// What came of a request.
pub(super) enum Answer<T> {
    /// What the hub's own words said.
    Told(T),
    Body(Response<Body>),
}

fn redirected(from: Uri, answer: &Response<Body>) -> Result<Uri, Broken> {
    const NOWHERE: Broken = Broken::Refused("it redirects nowhere");
    let location = header(answer, "location").ok_or(NOWHERE)?;
    let to: Uri = location.parse().map_err(|_| NOWHERE)?;
    if to.authority().is_some() {
        return Ok(to);
    }
    let mut parts = from.into_parts();
    parts.path_and_query = to.into_parts().path_and_query;
    Uri::from_parts(parts).map_err(|_| NOWHERE)
}

pub(super) fn header(answer: &Response<Body>, name: &str) -> Option<String> {
    answer.headers().get(name)?.to_str().ok().map(str::to_owned)
}
