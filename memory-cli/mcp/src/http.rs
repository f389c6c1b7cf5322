//! Many clients by streamable HTTP.

mod guard;

use std::{
    convert::Infallible,
    future::Future,
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    num::NonZeroU32,
    sync::Arc,
    time::Duration,
};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
};
use rmcp::{
    ServerHandler,
    transport::{
        StreamableHttpServerConfig, StreamableHttpService, streamable_http_server::session::local::LocalSessionManager,
    },
};
use tokio::{net::TcpListener, sync::Semaphore, time::timeout};
use tokio_util::sync::CancellationToken;

use self::guard::Guard;
use crate::Token;

/// The path of the protocol.
const PATH: &str = "/mcp";
/// How long a shutdown waits for answers that are under way.
const GRACE: Duration = Duration::from_secs(5);
/// How long accepting pauses after an error, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// How a server listens, and to whom.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpOptions {
    /// Where it listens; by default on loopback, port 8000. Port 0 takes any that is free.
    pub listen: SocketAddr,
    /// The bearer token that a request must carry; `None`, which only loopback allows, for none.
    pub token: Option<Token>,
    /// Origins of web pages that may send requests, as in `https://app.example:443`, beside those of this server itself.
    pub origins: Vec<String>,
    /// Names under which it is asked for, beside those of this machine itself.
    pub hosts: Vec<String>,
    /// Most bytes of a request.
    pub max_body: usize,
    /// Most requests a second of all clients together; twice as many at once.
    pub per_second: NonZeroU32,
    /// Most connections at once.
    pub connections: usize,
    /// How long a client may take for the head of a request, and for its body.
    pub patience: Duration,
    /// Whether clients of revisions before 2026-07-28 have sessions, which a service needs that asks its clients
    /// something. [`Server`](crate::Server) asks nothing, and without sessions nothing of a client is kept.
    pub sessions: bool,
}

/// Two hundred requests a second.
const PER_SECOND: NonZeroU32 = NonZeroU32::MIN.saturating_add(199);

impl HttpOptions {
    /// The usual port.
    pub const PORT: u16 = 8_000;

    /// On loopback at the usual port, with that token.
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

    /// Sets [`Self::listen`].
    #[must_use]
    pub const fn listen(mut self, listen: SocketAddr) -> Self {
        self.listen = listen;
        self
    }

    /// Sets [`Self::origins`].
    #[must_use]
    pub fn origins(mut self, origins: Vec<String>) -> Self {
        self.origins = origins;
        self
    }

    /// Sets [`Self::hosts`].
    #[must_use]
    pub fn hosts(mut self, hosts: Vec<String>) -> Self {
        self.hosts = hosts;
        self
    }

    /// Sets [`Self::max_body`].
    #[must_use]
    pub const fn max_body(mut self, max_body: usize) -> Self {
        self.max_body = max_body;
        self
    }

    /// Sets [`Self::per_second`].
    #[must_use]
    pub const fn per_second(mut self, per_second: NonZeroU32) -> Self {
        self.per_second = per_second;
        self
    }

    /// Sets [`Self::sessions`].
    #[must_use]
    pub const fn sessions(mut self, sessions: bool) -> Self {
        self.sessions = sessions;
        self
    }

    /// Sets [`Self::patience`].
    #[must_use]
    pub const fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }
}

/// Why a server cannot listen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// It would be open to other machines.
    #[error("{0} can be reached from other machines, which needs a token")]
    Open(SocketAddr),
    /// The address cannot be listened at.
    #[error("cannot listen at {at}")]
    Listen {
        /// The address.
        at: SocketAddr,
        /// Why not.
        #[source]
        source: io::Error,
    },
}

/// A server that listens. It answers under `/mcp` and nowhere else.
///
/// A request needs the token, a known `Host` and, where it has one, a known `Origin`. Bodies are bounded, slow clients are
/// given up on, and more requests than allowed are answered by 429. Without sessions it keeps nothing of a client between
/// two requests.
#[derive(Debug)]
pub struct HttpServer<S> {
    listener: TcpListener,
    address: SocketAddr,
    service: S,
    options: HttpOptions,
}

impl<S: ServerHandler + Clone> HttpServer<S> {
    /// Listens for clients of `service`, which is cloned for each request.
    ///
    /// # Errors
    /// [`HttpError`]; [`HttpError::Open`] before anything listens.
    pub async fn bind(service: S, options: HttpOptions) -> Result<Self, HttpError> {
        let at = options.listen;
        if options.token.is_none() && !at.ip().is_loopback() {
            return Err(HttpError::Open(at));
        }
        let failed = |source| HttpError::Listen { at, source };
        let listener = TcpListener::bind(at).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address, service, options })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address for clients.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }

    /// Serves clients until `stop` is ready. What is being answered then is answered, for up to five seconds.
    pub async fn serve(self, stop: impl Future<Output = ()> + Send) {
        let is_over = CancellationToken::new();
        let guard = Arc::new(Guard::new(self.protocol(&is_over), &self.options));
        let places = Arc::new(Semaphore::new(self.options.connections));
        let graceful = GracefulShutdown::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            let place = tokio::select! {
                place = Arc::clone(&places).acquire_owned() => place,
                () = &mut stop => break,
            };
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = &mut stop => break,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a client could not be accepted");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            let guard = Arc::clone(&guard);
            let answer = service_fn(move |request| {
                let guard = Arc::clone(&guard);
                async move { Ok::<_, Infallible>(guard.answer(request).await) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(self.options.patience)
                .serve_connection(TokioIo::new(stream), answer);
            let connection = graceful.watch(connection);
            tokio::spawn(async move {
                // A client that goes away or breaks the protocol is no news.
                if let Err(error) = connection.await {
                    tracing::debug!(%error, "a connection ended");
                }
                drop(place);
            });
        }
        drop(self.listener);
        is_over.cancel();
        if timeout(GRACE, graceful.shutdown()).await.is_err() {
            tracing::warn!("clients were being answered after {} s: they are cut off", GRACE.as_secs());
        }
    }

    /// The protocol behind the guard.
    fn protocol(&self, is_over: &CancellationToken) -> StreamableHttpService<S, LocalSessionManager> {
        let port = self.address.port();
        let here = [format!("http://localhost:{port}"), format!("http://{}", self.address)];
        let ip = self.address.ip();
        // The name of any address names no machine.
        let own = (!ip.is_unspecified()).then(|| ip.to_string());
        let hosts = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into_iter().chain(own);
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(self.options.sessions)
            .with_json_response(true)
            .with_allowed_hosts(hosts.chain(self.options.hosts.iter().cloned()))
            .with_allowed_origins(here.into_iter().chain(self.options.origins.iter().cloned()))
            .enforce_origin_validation()
            .with_max_request_body_bytes(self.options.max_body)
            .with_cancellation_token(is_over.child_token());
        let service = self.service.clone();
        StreamableHttpService::new(move || Ok(service.clone()), Arc::default(), config)
    }
}

/// Ends when the process is told to end: by an interrupt or, on Unix, a request to terminate.
pub async fn until_signal() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            return;
        }
    }
    // Without signals it ends when the process does.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
