//! One client on standard input and output.

mod lines;

use rmcp::{ServiceExt as _, service::ServerInitializeError};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, stdin, stdout},
    sync::mpsc,
};

use crate::{Server, http::until_signal};

/// Most bytes of answers, and of requests, that wait for the other side to read.
const WAITING: usize = 1 << 20;

/// Reasons why a client on standard input and output could not be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StdioError {
    /// The client did not begin the protocol, or broke it.
    #[error("the client on standard input does not speak the protocol: {0}")]
    Protocol(String),
    /// The task that serves the client panicked.
    #[error("serving standard input ended early")]
    Ended(#[source] tokio::task::JoinError),
}

/// Serves one client on standard input and output until its input ends, or a signal tells the process to end. Hidden
/// characters in answers become JSON escapes, since standard output may be a terminal. A request of more than
/// `max_request` bytes (code -32600, without an id), and one that is not JSON (code -32700), is answered by an error
/// and otherwise skipped.
///
/// # Errors
/// [`StdioError`]. A client that ends its input before it begins is no error.
pub async fn serve_stdio(server: Server, max_request: usize) -> Result<(), StdioError> {
    let (answers, printed) = tokio::io::duplex(WAITING);
    let (passed, requests) = tokio::io::duplex(WAITING);
    let (refuse, mut refused) = mpsc::channel(1);
    // The task ends with standard input, or with the server.
    tokio::spawn(lines::pass(stdin(), passed, max_request, refuse));
    let printing = tokio::spawn(async move {
        let mut lines = BufReader::new(printed).lines();
        loop {
            let line = tokio::select! {
                // Refusals precede the end of the answers.
                biased;
                Some(refusal) = refused.recv() => memory::text::visible_json(&refusal).into_owned(),
                line = lines.next_line() => match line {
                    Ok(Some(line)) => memory::text::visible_json(&line).into_owned(),
                    _ => break,
                },
            };
            let mut out = stdout();
            // The client is gone.
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
    // The last answers are still being printed.
    drop(printing.await);
    served
}
