//! Options of a server: its address, limits and clients.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    num::NonZeroU32,
    time::Duration,
};

use super::Origin;
use crate::Token;

/// Options of a server: its address, limits and clients.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpOptions {
    /// Address to listen at; by default loopback, port 8000. Port 0 takes any free one.
    pub listen: SocketAddr,
    /// The bearer token that a request must carry; `None`, which only loopback allows, for none.
    pub token: Option<Token>,
    /// Origins of web pages that may send requests, besides those of this server itself.
    pub origins: Vec<Origin>,
    /// Names of this server in requests, besides those of this machine itself.
    pub hosts: Vec<String>,
    /// Most bytes of a request.
    pub max_body: usize,
    /// Most requests a second of all clients together; twice as many at once.
    pub per_second: NonZeroU32,
    /// Most connections at once. When all are open, the oldest without an admitted request gives way to a new one.
    pub connections: usize,
    /// Time limit of a client for the head of a request, and for its body.
    pub patience: Duration,
    /// True if clients of revisions before 2026-07-28 have sessions, which a service needs if it sends requests to its
    /// clients. [`Server`](crate::Server) sends none, and without sessions nothing of a client is kept.
    pub sessions: bool,
}

/// Two hundred requests a second.
const PER_SECOND: NonZeroU32 = NonZeroU32::MIN.saturating_add(199);

impl HttpOptions {
    /// The usual port.
    pub const PORT: u16 = 8_000;

    /// Loopback at the usual port, with that token.
    #[must_use]
    pub fn new(token: Option<Token>) -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), Self::PORT),
            token,
            origins: Vec::new(),
            hosts: Vec::new(),
            max_body: 4 << 20,
            per_second: PER_SECOND,
            connections: 256,
            patience: Duration::from_secs(10),
            sessions: false,
        }
    }

    memory::setters! {
        const listen: SocketAddr,
        origins: Vec<Origin>,
        hosts: Vec<String>,
        const max_body: usize,
        const per_second: NonZeroU32,
        const connections: usize,
        const patience: Duration,
        const sessions: bool,
    }
}
