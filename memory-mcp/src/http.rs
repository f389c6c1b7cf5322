//! Many clients by streamable HTTP.

mod connections;
mod guard;
mod options;
mod origin;

use std::{
    convert::Infallible,
    future::Future,
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::{GracefulShutdown, Watcher},
};
use rmcp::{
    ServerHandler,
    transport::{
        StreamableHttpServerConfig, StreamableHttpService, streamable_http_server::session::local::LocalSessionManager,
    },
};
use tokio::{
    net::{TcpListener, TcpStream},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use self::{
    connections::{Connection, Connections},
    guard::Guard,
};
pub use self::{
    options::HttpOptions,
    origin::{InvalidOrigin, Origin},
};

/// The path of the protocol.
const PATH: &str = "/mcp";
/// Time limit of running answers at a shutdown.
const GRACE: Duration = Duration::from_secs(5);
/// Time limit of a silent new connection, shorter than the patience with a request, since it costs a client nothing to
/// be silent.
const SILENCE: Duration = Duration::from_secs(3);
/// Pause of accepting after an error, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// Reasons why a server cannot listen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// The server would be open to other machines.
    #[error("{0} can be reached from other machines, which needs a token")]
    Open(SocketAddr),
    /// The address cannot be listened at.
    #[error("cannot listen at {at}")]
    Listen {
        /// The address.
        at: SocketAddr,
        /// Cause of the failure.
        #[source]
        source: io::Error,
    },
}

/// A listening server. Only `/mcp` is answered.
///
/// A request needs the token, a known `Host` and, if it has one, a known `Origin`. Bodies are bounded, slow clients are
/// given up on, and more requests than allowed are answered by 429. Without sessions nothing of a client is kept
/// between two requests.
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

    /// The address that the server listens at.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address for clients.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }

    /// Serves clients until `stop` is ready. Running answers are completed, within five seconds.
    pub async fn serve(self, stop: impl Future<Output = ()> + Send) {
        let (is_stopping, is_over) = (CancellationToken::new(), CancellationToken::new());
        let guard = Arc::new(Guard::new(self.protocol(&is_over), &self.options, self.origins()));
        let connections = Connections::new(self.options.connections);
        let graceful = GracefulShutdown::new();
        let mut stop = std::pin::pin!(stop);
        loop {
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
            let connection = tokio::select! {
                connection = connections.open() => connection,
                () = &mut stop => break,
            };
            let Some(connection) = connection else { break };
            let (guard, watcher) = (Arc::clone(&guard), graceful.watcher());
            let (patience, is_stopping) = (self.options.patience, is_stopping.clone());
            tokio::spawn(async move {
                let begins = async {
                    // The first byte is awaited here, since a head that has begun gets more time.
                    let begun = timeout(patience.min(SILENCE), stream.peek(&mut [0])).await;
                    matches!(begun, Ok(Ok(1..)))
                };
                let has_begun = tokio::select! {
                    has_begun = begins => has_begun,
                    () = connection.closing() => false,
                    () = is_stopping.cancelled() => false,
                };
                if has_begun {
                    tokio::select! {
                        () = serve(stream, guard, &connection, watcher, patience) => {}
                        () = connection.closing() => {}
                    }
                }
            });
        }
        drop(self.listener);
        is_stopping.cancel();
        // `is_over` stops running answers, so its cancellation waits for them.
        if timeout(GRACE, graceful.shutdown()).await.is_err() {
            tracing::warn!("clients were being answered after {} s: they are cut off", GRACE.as_secs());
        }
        is_over.cancel();
    }

    /// The origins of the pages that may send requests.
    fn origins(&self) -> Vec<Origin> {
        let port = self.address.port();
        let here = [Origin::of("localhost", port), Origin::of(&self.host(), port)];
        here.into_iter().chain(self.options.origins.iter().cloned()).collect()
    }

    /// The server's address as in a URL.
    fn host(&self) -> String {
        match self.address.ip() {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        }
    }

    /// The protocol behind the guard.
    fn protocol(&self, is_over: &CancellationToken) -> StreamableHttpService<S, LocalSessionManager> {
        let ip = self.address.ip();
        // The unspecified address names no machine.
        let own = (!ip.is_unspecified()).then(|| ip.to_string());
        let hosts = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into_iter().chain(own);
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(self.options.sessions)
            .with_json_response(true)
            .with_allowed_hosts(hosts.chain(self.options.hosts.iter().cloned()))
            .with_allowed_origins(self.origins().iter().map(Origin::to_string))
            .enforce_origin_validation()
            .with_max_request_body_bytes(self.options.max_body)
            .with_cancellation_token(is_over.child_token());
        let service = self.service.clone();
        StreamableHttpService::new(move || Ok(service.clone()), Arc::default(), config)
    }
}

/// Serves a connection until it ends.
async fn serve<S: ServerHandler>(
    stream: TcpStream,
    guard: Arc<Guard<S>>,
    connection: &Arc<Connection>,
    watcher: Watcher,
    patience: Duration,
) {
    let answer = service_fn(move |request| {
        let (guard, connection) = (Arc::clone(&guard), Arc::clone(connection));
        async move { Ok::<_, Infallible>(guard.answer(request, &connection).await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(patience)
        .serve_connection(TokioIo::new(stream), answer);
    // A client that disconnects or breaks the protocol is no news.
    if let Err(error) = watcher.watch(served).await {
        tracing::debug!(%error, "a connection ended");
    }
}

/// A future that ends when the process is told to end: by an interrupt or, on Unix, a request to terminate. Signals are
/// caught from the call on, even before the first poll: a service manager may end a server that has just reported that
/// it is up. Must be called in a tokio runtime.
pub fn until_signal() -> impl Future<Output = ()> + Send {
    #[cfg(unix)]
    let heard = {
        use tokio::signal::unix::{SignalKind, signal};
        [SignalKind::terminate(), SignalKind::interrupt()].map(signal)
    };
    async move {
        #[cfg(unix)]
        if let [Ok(mut terminate), Ok(mut interrupt)] = heard {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            return;
        }
        // Without signals the future ends with the process.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
