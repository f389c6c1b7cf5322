//! One client on standard input and output.

mod lines;

use rmcp::{ServiceExt as _, service::ServerInitializeError};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, stdin, stdout},
    sync::mpsc,
};

use crate::{Server, http::until_signal};

/// Bytes of answers, and of requests, that may wait for the other side to read.
const WAITING: usize = 1 << 20;

/// Why a client on standard input and output could not be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StdioError {
    /// The client did not begin the protocol, or broke it.
    #[error("the client on standard input does not speak the protocol: {0}")]
    Protocol(String),
    /// The task that serves it panicked.
    #[error("serving standard input ended early")]
    Ended(#[source] tokio::task::JoinError),
}

/// Serves one client on standard input and output until its input ends, or the process is told to end by a signal.
/// Hidden characters in answers are escapes of JSON there, since standard output may be a terminal. A request of more than
/// `max_request` bytes is answered by an error (code -32600, without an id) and otherwise passed over, and so is one that is no JSON (code -32700).
///
/// # Errors
/// [`StdioError`]. It is no error that a client ends its input before it begins.
pub async fn serve_stdio(server: Server, max_request: usize) -> Result<(), StdioError> {
    let (answers, printed) = tokio::io::duplex(WAITING);
    let (passed, requests) = tokio::io::duplex(WAITING);
    let (refuse, mut refused) = mpsc::channel(1);
    // It ends with standard input, or when the server has gone.
    tokio::spawn(lines::pass(stdin(), passed, max_request, refuse));
    let printing = tokio::spawn(async move {
        let mut lines = BufReader::new(printed).lines();
        loop {
            let line = tokio::select! {
                // Before the end of the answers, which it precedes.
                biased;
                Some(refusal) = refused.recv() => memory::text::visible_json(&refusal).into_owned(),
                line = lines.next_line() => match line {
                    Ok(Some(line)) => memory::text::visible_json(&line).into_owned(),
                    _ => break,
                },
            };
            let mut out = stdout();
            // The client has gone.
            if out.write_all(format!("{line}\n").as_bytes()).await.is_err() || out.flush().await.is_err() {
                break;
            }
        }
    });
    let serving = async {
        let running = match server.serve((requests, answers)).await {
            Ok(running) => running,
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(StdioError::Protocol(error.to_string())),
        };
        running.waiting().await.map(drop).map_err(StdioError::Ended)
    };
    let served = tokio::select! {
        served = serving => served,
        () = until_signal() => return Ok(()),
    };
    // The last answers are still on their way.
    drop(printing.await);
    served
}
