//! A stub server for tests of remote services.

use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use serde_json::Value;

/// A received request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// Method and path, as in `POST /model/x/invoke`.
    pub(crate) line: String,
    /// Headers with names in lower case.
    headers: Vec<(String, String)>,
    /// The body.
    pub(crate) body: Value,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(header, _)| header == name).map_or("", |(_, value)| value)
    }
}

/// A response.
pub(crate) struct Response {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Response {
    pub(crate) fn json(body: &Value) -> Self {
        Self { status: 200, headers: Vec::new(), body: body.to_string() }
    }

    pub(crate) fn text(body: &str) -> Self {
        Self { status: 200, headers: Vec::new(), body: body.to_owned() }
    }

    pub(crate) fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }
}

type Handler = dyn Fn(usize, &Request) -> Response + Send + Sync;

/// Listens on a port of this machine until it is dropped.
pub(crate) struct Stub {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    over: Arc<AtomicBool>,
    acceptor: Option<JoinHandle<()>>,
}

impl Stub {
    /// Starts a server. `answer` gets the number of earlier requests and the request.
    pub(crate) fn start(answer: impl Fn(usize, &Request) -> Response + Send + Sync + 'static) -> Self {
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

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All requests so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// The bodies of all requests so far.
    pub(crate) fn bodies(&self) -> Vec<Value> {
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
    let mut head = format!("HTTP/1.1 {status} Stub\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    drop((&connection).write_all(format!("{head}\r\n{body}").as_bytes()));
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
