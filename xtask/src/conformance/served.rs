//! A server that listens while it is tested.

use anyhow::Result;

use crate::invocation::{Invocation, Running, Stream};

/// A server that says where it listens, and ends with the value.
pub(super) struct Served {
    url: String,
    _running: Running,
}

impl Served {
    /// Starts a server that says on `stream` where it listens.
    pub(super) fn start(server: Invocation, stream: Stream) -> Result<Self> {
        let url = |line: &str| line.strip_prefix("serving ").map(str::to_owned);
        let (running, url) = server.start(stream, url)?;
        Ok(Self { url, _running: running })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }
}
