//! Getting a file of a hub, which goes on where it broke off and gives the token to nobody else.
//!
//! The client `hf-hub` does this too, but sends the token to whatever host a large file lies on, and waits for a server
//! that has stopped sending for ever.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom, Write},
    path::Path,
    thread,
    time::Duration,
};

use ureq::{Agent, config::RedirectAuthHeaders, http::StatusCode};

use crate::fetch::FetchError;

/// How often a download that breaks off is taken up again in one call.
const RETRIES: u32 = 3;

/// The pause before the first of them; each is twice as long as the one before.
const PAUSE: Duration = Duration::from_millis(300);

const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// A server that sends nothing for so long has broken off.
const STALLED_AFTER: Duration = Duration::from_secs(60);

const AT_ONCE: usize = 256 << 10;

/// Why a file is not there.
#[derive(Debug)]
pub(super) enum Broken {
    /// The network, or the hub.
    Network(Box<ureq::Error>),
    /// Something on disk.
    Disk(FetchError),
    /// What is there of the file is more than it has, or other bytes came than were asked for.
    Unfit,
}

impl From<ureq::Error> for Broken {
    fn from(error: ureq::Error) -> Self {
        Self::Network(Box::new(error))
    }
}

impl Broken {
    /// Whether it may get on in another try.
    fn is_passing(&self) -> bool {
        match self {
            Self::Network(error) => match **error {
                ureq::Error::StatusCode(status) => status == 429 || status >= 500,
                _ => true,
            },
            Self::Disk(_) | Self::Unfit => false,
        }
    }
}

/// Appends to the file at `path` until it has `size` bytes of what lies at `url`.
pub(super) fn download(
    url: &str,
    token: Option<&str>,
    path: &Path,
    size: u64,
    stalled_after: Option<Duration>,
) -> Result<(), Broken> {
    let agent: Agent = Agent::config_builder()
        .redirect_auth_headers(RedirectAuthHeaders::SameHost)
        .timeout_connect(Some(CONNECT_TIMEOUT))
        .timeout_per_read(Some(stalled_after.unwrap_or(STALLED_AFTER)))
        .build()
        .into();
    let disk = |error| Broken::Disk(FetchError::io(path)(error));
    let mut file = File::options().create(true).append(false).write(true).truncate(false).open(path).map_err(disk)?;
    let mut pause = PAUSE;
    for retry in 0..=RETRIES {
        let start = file.seek(SeekFrom::End(0)).map_err(disk)?;
        if start == size {
            return Ok(());
        }
        if start > size {
            return Err(Broken::Unfit);
        }
        match append(&agent, url, token, &mut file, path, start) {
            Ok(()) if file.metadata().map_err(disk)?.len() == size => return Ok(()),
            // It ended in the middle, and was closed.
            Ok(()) if retry < RETRIES => {}
            Ok(()) => return Err(Broken::Unfit),
            Err(error) if error.is_passing() && retry < RETRIES => {
                tracing::debug!(?error, ?pause, "a download broke off and goes on");
            }
            Err(error) => return Err(error),
        }
        thread::sleep(pause);
        pause *= 2;
    }
    Err(Broken::Unfit)
}

/// One answer, from `start` on.
fn append(
    agent: &Agent,
    url: &str,
    token: Option<&str>,
    file: &mut File,
    path: &Path,
    start: u64,
) -> Result<(), Broken> {
    let disk = |error| Broken::Disk(FetchError::io(path)(error));
    let mut request = agent.get(url).header("range", format!("bytes={start}-"));
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let answer = request.call()?;
    let range = answer.headers().get("content-range").and_then(|range| range.to_str().ok());
    let begins = match (answer.status(), range) {
        // A hub that knows no ranges sends all of it.
        (StatusCode::OK, _) => Some(0),
        (StatusCode::PARTIAL_CONTENT, Some(range)) => {
            range.strip_prefix("bytes ").and_then(|range| range.split('-').next()?.parse().ok())
        }
        _ => None,
    };
    let begins = begins.filter(|begins: &u64| *begins <= start).ok_or(Broken::Unfit)?;
    file.set_len(begins).map_err(disk)?;
    file.seek(SeekFrom::Start(begins)).map_err(disk)?;
    let mut body = answer.into_body().into_reader();
    let mut buffer = vec![0; AT_ONCE];
    loop {
        let read = body.read(&mut buffer).map_err(|error| Broken::Network(Box::new(error.into())))?;
        match buffer.get(..read) {
            None | Some([]) => return Ok(()),
            Some(bytes) => file.write_all(bytes).map_err(disk)?,
        }
    }
}
