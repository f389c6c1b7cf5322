//! A stub hub on a port of this machine, with faults.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use sha1::{Digest, Sha1};

use crate::{
    HubOptions,
    checksum::{hex, sha256_hex},
};

pub(super) const COMMIT: &str = "c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00";
pub(super) const ID: &str = "tests/tiny";

/// A fault of the stub hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    /// The first download of the weights is closed in the middle.
    BreaksOff,
    /// Every download of the weights is closed in the middle.
    AlwaysBreaksOff,
    /// The first download of the weights stops in the middle and stays open.
    Stalls,
    /// The first download of the weights has wrong bytes.
    WrongOnce,
    /// Every download of the weights has wrong bytes.
    Wrong,
    /// Requests for ranges of the weights get all of them.
    IgnoresRanges,
    /// No fault: the weights are on another host, which is the same machine by another name.
    Elsewhere,
    /// The same, and the hub's redirect states their size.
    ElsewhereOfKnownSize,
    /// No fault: the weights are on another port of this host.
    OnPort(u16),
    /// Ranges are not supported: every request gets the whole file.
    KnowsNoRanges,
    /// The weights are longer than announced.
    Endless,
    /// The request for the list of files gets no response.
    Silent,
    /// A redirect has no location.
    RedirectsNowhere,
    /// A checksum is a path.
    ChecksumIsPath,
    /// Every response has this status.
    Status(u16),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) path: String,
    from: usize,
    pub(super) is_metadata: bool,
    pub(super) token: Option<String>,
}

pub(super) struct Hub {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    over: Arc<AtomicBool>,
    acceptor: Option<JoinHandle<()>>,
}

pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// The files of a repository. Requests for the weights are redirected, as for large files.
pub(super) fn repository() -> Files {
    let weights: Vec<u8> = (0..300_000u32).map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[2]).collect();
    [
        ("config.json", br#"{"model_type": "bert", "architectures": ["BertModel"]}"#.to_vec()),
        ("tokenizer.json", b"{}".to_vec()),
        ("modules.json", b"[]".to_vec()),
        ("1_Pooling/config.json", b"{}".to_vec()),
        ("model.safetensors", weights),
        ("onnx/model.onnx", b"a graph".to_vec()),
        ("pytorch_model.bin", b"a pickle, never fetched".to_vec()),
        ("../../escape/config.json", b"{}".to_vec()),
    ]
    .map(|(name, bytes)| (name.to_owned(), bytes))
    .into()
}

impl Hub {
    pub(super) fn start(files: Files, fault: Fault) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (requests, over) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (of_thread, is_over) = (Arc::clone(&requests), Arc::clone(&over));
        let acceptor = thread::spawn(move || {
            for connection in listener.incoming() {
                if is_over.load(Ordering::SeqCst) {
                    return;
                }
                answer(&connection.unwrap(), &files, fault, &of_thread);
            }
        });
        Self { address, requests, over, acceptor: Some(acceptor) }
    }

    pub(super) fn port(&self) -> u16 {
        self.address.port()
    }

    /// The address of a large file.
    pub(super) fn large(&self, name: &str) -> String {
        format!("http://{}/large/{name}", self.address)
    }

    pub(super) fn options(&self) -> HubOptions {
        HubOptions::default().endpoint(format!("http://{}/", self.address))
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// The offsets at which the downloads of a file began.
    pub(super) fn downloads(&self, path: &str) -> Vec<usize> {
        let downloads = self.requests().into_iter().filter(|seen| seen.path.ends_with(path) && !seen.is_metadata);
        downloads.map(|seen| seen.from).collect()
    }
}

impl Drop for Hub {
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
fn answer(connection: &TcpStream, files: &Files, fault: Fault, log: &Mutex<Vec<Request>>) {
    let mut lines = BufReader::new(connection).lines();
    let Some(Ok(first)) = lines.next() else { return };
    let headers: Vec<String> = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
    let header = |name: &str| {
        let of = headers.iter().filter_map(|line| line.split_once(':'));
        of.into_iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim().to_owned())
    };
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let range = header("range").unwrap_or_default();
    let from = range.trim_start_matches("bytes=").split('-').next().unwrap_or_default().parse().unwrap_or(0);
    let is_metadata = range == "bytes=0-0";
    let earlier = {
        let mut log = log.lock().unwrap();
        let same = |seen: &&Request| seen.path == path && !seen.is_metadata;
        let earlier = log.iter().filter(same).count();
        log.push(Request { path: path.clone(), from, is_metadata, token: header("authorization") });
        earlier
    };
    let reply = |status: u16, headers: &[(&str, String)], body: &[u8], length: usize| {
        let mut head = format!("HTTP/1.1 {status} Stub\r\nconnection: close\r\ncontent-length: {length}\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        drop({ connection }.write_all(format!("{head}\r\n").as_bytes()));
        drop({ connection }.write_all(body));
    };
    if let Fault::Status(status) = fault {
        return reply(status, &[], b"", 0);
    }
    if path.starts_with("/api/models/") && fault == Fault::Silent {
        // Stays open until the process ends.
        return std::mem::forget(connection.try_clone().unwrap());
    }
    if path.starts_with("/api/models/") {
        let known =
            path == format!("/api/models/{ID}/revision/main") || path == format!("/api/models/{ID}/revision/v1");
        let siblings: Vec<_> = files.keys().map(|name| serde_json::json!({"rfilename": name})).collect();
        let body = serde_json::json!({"sha": COMMIT, "siblings": siblings}).to_string();
        return if known { reply(200, &[], body.as_bytes(), body.len()) } else { reply(404, &[], b"", 0) };
    }
    let commit = ("x-repo-commit", COMMIT.to_owned());
    if let Some(name) = path.strip_prefix("/large/") {
        let bytes = &files[name];
        let size = bytes.len();
        if fault == Fault::KnowsNoRanges {
            return reply(200, &[], bytes, size);
        }
        if is_metadata {
            let range = ("content-range", format!("bytes 0-0/{size}"));
            return reply(206, &[range], &bytes[..1], 1);
        }
        let start = if fault == Fault::IgnoresRanges { 0 } else { from };
        let mut body = bytes[start..].to_vec();
        let length = body.len();
        let breaks = matches!(fault, Fault::BreaksOff | Fault::IgnoresRanges | Fault::Stalls) && earlier == 0;
        if fault == Fault::Stalls && earlier == 0 {
            // Stays open until the process ends.
            std::mem::forget(connection.try_clone().unwrap());
        }
        if breaks || fault == Fault::AlwaysBreaksOff {
            body.truncate(length / 2);
        }
        if fault == Fault::Wrong || (fault == Fault::WrongOnce && earlier == 0) {
            body[7] ^= 1;
        }
        if fault == Fault::Endless {
            body.resize(body.len() + (64 << 20), 0);
        }
        let range = ("content-range", format!("bytes {start}-{}/{size}", size - 1));
        return reply(206, &[range], &body, length.max(body.len()));
    }
    let Some(name) = path.strip_prefix(&format!("/{ID}/resolve/{COMMIT}/")) else {
        return reply(404, &[], b"", 0);
    };
    let Some(bytes) = files.get(name) else { return reply(404, &[], b"", 0) };
    if name == "model.safetensors" {
        let digest = if fault == Fault::ChecksumIsPath { "../../../escape".to_owned() } else { sha256_hex(bytes) };
        let mut headers = vec![commit, ("x-linked-etag", format!("\"{digest}\""))];
        if fault != Fault::RedirectsNowhere {
            let is_elsewhere = matches!(fault, Fault::Elsewhere | Fault::ElsewhereOfKnownSize);
            let host = header("host").unwrap_or_default();
            let host = match fault {
                _ if is_elsewhere => host.replace("127.0.0.1", "localhost"),
                Fault::OnPort(port) => format!("127.0.0.1:{port}"),
                _ => host,
            };
            if fault == Fault::ElsewhereOfKnownSize {
                headers.push(("x-linked-size", bytes.len().to_string()));
            }
            headers.push(("location", format!("http://{host}/large/{name}")));
        }
        return reply(302, &headers, b"", 0);
    }
    let mut git = Sha1::new();
    git.update(format!("blob {}\0", bytes.len()));
    git.update(bytes);
    let etag = ("etag", format!("\"{}\"", hex(git.finalize().as_slice())));
    if fault == Fault::KnowsNoRanges {
        return reply(200, &[commit, etag], bytes, bytes.len());
    }
    if bytes.is_empty() {
        return reply(416, &[commit, etag, ("content-range", "bytes */0".to_owned())], b"", 0);
    }
    let range = ("content-range", format!("bytes 0-0/{}", bytes.len()));
    let body = if is_metadata { &bytes[..1] } else { &bytes[from..] };
    reply(206, &[commit, etag, range], body, body.len());
}
