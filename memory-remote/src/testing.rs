//! A stub server for tests of remote services.

#![expect(clippy::unwrap_used, reason = "tests fail by panics")]

use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use serde_json::Value;

/// A received request.
#[derive(Clone, Debug)]
pub struct Request {
    /// Method and path, as in `POST /model/x/invoke`.
    pub line: String,
    /// Headers with names in lower case.
    headers: Vec<(String, String)>,
    /// The body.
    pub body: Value,
}

impl Request {
    /// A header by its name in lower case; empty if it is missing.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(header, _)| header == name).map_or("", |(_, value)| value)
    }
}

/// A response.
#[derive(Clone, Debug)]
pub struct Response {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Body,
}

#[derive(Clone, Debug)]
enum Body {
    Whole(Vec<u8>),
    /// Chunks that are sent one after the other, each on its own; then the end, or a connection that is cut.
    Chunks {
        chunks: Vec<Vec<u8>>,
        is_cut: bool,
    },
}

impl Response {
    /// A response with this JSON.
    #[must_use]
    pub fn json(body: &Value) -> Self {
        Self::text(&body.to_string())
    }

    /// A response with this body.
    #[must_use]
    pub fn text(body: &str) -> Self {
        Self { status: 200, headers: Vec::new(), body: Body::Whole(body.as_bytes().to_vec()) }
    }

    /// A response in chunks.
    #[must_use]
    pub fn chunks<T: AsRef<[u8]>>(chunks: impl IntoIterator<Item = T>) -> Self {
        let chunks = chunks.into_iter().map(|chunk| chunk.as_ref().to_vec()).filter(|chunk| !chunk.is_empty());
        Self { status: 200, headers: Vec::new(), body: Body::Chunks { chunks: chunks.collect(), is_cut: false } }
    }

    /// Cuts the connection after the last chunk, without the end of the body.
    #[must_use]
    pub fn cut(mut self) -> Self {
        if let Body::Chunks { is_cut, .. } = &mut self.body {
            *is_cut = true;
        }
        self
    }

    /// Sets the status.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }
}

type Handler = dyn Fn(usize, &Request) -> Response + Send + Sync;

/// Listens on a port of this machine until it is dropped.
#[derive(Debug)]
pub struct Stub {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    over: Arc<AtomicBool>,
    acceptor: Option<JoinHandle<()>>,
}

impl Stub {
    /// Starts a server. `answer` gets the number of earlier requests and the request.
    #[must_use]
    pub fn start(answer: impl Fn(usize, &Request) -> Response + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (requests, over) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let answer: Arc<Handler> = Arc::new(answer);
        let acceptor = {
            let (requests, over) = (Arc::clone(&requests), Arc::clone(&over));
            thread::spawn(move || {
                for connection in listener.incoming() {
                    if over.load(Ordering::SeqCst) {
                        return;
                    }
                    let (requests, answer) = (Arc::clone(&requests), Arc::clone(&answer));
                    thread::spawn(move || serve(connection.unwrap(), &requests, &*answer));
                }
            })
        };
        Self { address, requests, over, acceptor: Some(acceptor) }
    }

    /// The address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// The bodies of all requests so far.
    #[must_use]
    pub fn bodies(&self) -> Vec<Value> {
        self.requests().into_iter().map(|request| request.body).collect()
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // Wakes the acceptor.
        drop(TcpStream::connect(self.address));
        if let Some(acceptor) = self.acceptor.take() {
            drop(acceptor.join());
        }
    }
}

/// Serves one request and closes the connection. A closed connection is not an error.
fn serve(connection: TcpStream, requests: &Mutex<Vec<Request>>, answer: &Handler) {
    let Some(request) = read(&mut BufReader::new(&connection)) else { return };
    let before = {
        let mut requests = requests.lock().unwrap();
        requests.push(request.clone());
        requests.len() - 1
    };
    let Response { status, headers, body } = answer(before, &request);
    let length = match &body {
        Body::Whole(body) => format!("content-length: {}", body.len()),
        Body::Chunks { .. } => "transfer-encoding: chunked".to_owned(),
    };
    let mut head = format!("HTTP/1.1 {status} Stub\r\nconnection: close\r\n{length}\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    let mut connection = &connection;
    drop(connection.write_all(head.as_bytes()));
    match body {
        Body::Whole(body) => drop(connection.write_all(&body)),
        Body::Chunks { chunks, is_cut } => {
            for chunk in chunks {
                let mut framed = format!("{:x}\r\n", chunk.len()).into_bytes();
                framed.extend(chunk);
                framed.extend(b"\r\n");
                drop(connection.write_all(&framed));
                drop(connection.flush());
                // Chunks that arrive together would be read as one.
                thread::sleep(Duration::from_millis(2));
            }
            if !is_cut {
                drop(connection.write_all(b"0\r\n\r\n"));
            }
        }
    }
}

fn read(reader: &mut impl BufRead) -> Option<Request> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        lines.push(line);
    }
    let line = lines.first()?.trim_end_matches(" HTTP/1.1").to_owned();
    let header = |line: &String| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
    let headers: Vec<_> = lines.iter().skip(1).filter_map(header).collect();
    let length =
        headers.iter().find(|(name, _)| name == "content-length").map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { line, headers, body: serde_json::from_slice(&body).unwrap_or(Value::Null) })
}
