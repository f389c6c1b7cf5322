//! Fetching from a hub that stands on a port of this machine.

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
use tempfile::TempDir;

use super::*;
use crate::{FetchError, checksum::hex, checksum::sha256_hex};

const COMMIT: &str = "c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00";
const ID: &str = "tests/tiny";

/// What is wrong with a hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    None,
    /// The first download of the weights ends in the middle, and is closed.
    BreaksOff,
    /// Every download of the weights ends in the middle.
    AlwaysBreaksOff,
    /// The first download of the weights is of other bytes.
    WrongOnce,
    /// Each is.
    Wrong,
    /// A part of the weights is asked for, and all of them come.
    IgnoresRanges,
    /// A redirect leads nowhere.
    RedirectsNowhere,
    /// A digest that is a path.
    DigestIsPath,
    /// A status for everything.
    Status(u16),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    path: String,
    from: usize,
    is_metadata: bool,
    token: Option<String>,
}

struct Hub {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    over: Arc<AtomicBool>,
    acceptor: Option<JoinHandle<()>>,
}

type Files = BTreeMap<String, Vec<u8>>;

/// Weights stand apart from the repository and are redirected to, as large files are.
fn repository() -> Files {
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
    fn start(files: Files, trouble: Trouble) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (seen, over) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (of_thread, is_over) = (Arc::clone(&seen), Arc::clone(&over));
        let acceptor = thread::spawn(move || {
            for connection in listener.incoming() {
                if is_over.load(Ordering::SeqCst) {
                    return;
                }
                answer(&connection.unwrap(), &files, trouble, &of_thread);
            }
        });
        Self { address, seen, over, acceptor: Some(acceptor) }
    }

    fn options(&self) -> HubOptions {
        HubOptions::default().endpoint(format!("http://{}/", self.address))
    }

    fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Where the downloads of a file began.
    fn downloads(&self, path: &str) -> Vec<usize> {
        let downloads = self.seen().into_iter().filter(|seen| seen.path.ends_with(path) && !seen.is_metadata);
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

/// Answers one request and closes. A client that has gone away is no error.
fn answer(connection: &TcpStream, files: &Files, trouble: Trouble, log: &Mutex<Vec<Seen>>) {
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
        let same = |seen: &&Seen| seen.path == path && !seen.is_metadata;
        let earlier = log.iter().filter(same).count();
        log.push(Seen { path: path.clone(), from, is_metadata, token: header("authorization") });
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
    if let Trouble::Status(status) = trouble {
        return reply(status, &[], b"", 0);
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
        if is_metadata {
            let range = ("content-range", format!("bytes 0-0/{size}"));
            return reply(206, &[range], &bytes[..1], 1);
        }
        let start = if trouble == Trouble::IgnoresRanges { 0 } else { from };
        let mut body = bytes[start..].to_vec();
        let length = body.len();
        let breaks = matches!(trouble, Trouble::BreaksOff | Trouble::IgnoresRanges) && earlier == 0;
        if breaks || trouble == Trouble::AlwaysBreaksOff {
            body.truncate(length / 2);
        }
        if trouble == Trouble::Wrong || (trouble == Trouble::WrongOnce && earlier == 0) {
            body[7] ^= 1;
        }
        let range = ("content-range", format!("bytes {start}-{}/{size}", size - 1));
        return reply(206, &[range], &body, length);
    }
    let Some(name) = path.strip_prefix(&format!("/{ID}/resolve/{COMMIT}/")) else {
        return reply(404, &[], b"", 0);
    };
    let Some(bytes) = files.get(name) else { return reply(404, &[], b"", 0) };
    if name == "model.safetensors" {
        let digest = if trouble == Trouble::DigestIsPath { "../../../escape".to_owned() } else { sha256_hex(bytes) };
        let mut headers = vec![commit, ("x-linked-etag", format!("\"{digest}\""))];
        if trouble != Trouble::RedirectsNowhere {
            let host = header("host").unwrap_or_default();
            headers.push(("location", format!("http://{host}/large/{name}")));
        }
        return reply(302, &headers, b"", 0);
    }
    let mut git = Sha1::new();
    git.update(format!("blob {}\0", bytes.len()));
    git.update(bytes);
    let etag = ("etag", format!("\"{}\"", hex(git.finalize().as_slice())));
    let range = ("content-range", format!("bytes 0-0/{}", bytes.len()));
    let body = if is_metadata { &bytes[..1] } else { &bytes[from..] };
    reply(206, &[commit, etag, range], body, body.len());
}

fn store() -> (TempDir, ModelStore) {
    let directory = tempfile::tempdir().unwrap();
    let store = ModelStore::at(directory.path().join("models"));
    (directory, store)
}

fn fetch(store: &ModelStore, options: &HubOptions) -> Result<HubReport, FetchError> {
    fetch_from_hub(store, ID, options, &mut |_| {})
}

fn weights(store: &ModelStore) -> Vec<u8> {
    fs::read(store.root().join(ID).join("model.safetensors")).unwrap()
}

#[test]
fn a_model_is_fetched_with_what_it_is_made_of_and_nothing_else() {
    let ((directory, store), hub) = (store(), Hub::start(repository(), Trouble::None));
    let mut names = Vec::new();
    let report = fetch_from_hub(&store, ID, &hub.options(), &mut |event| {
        if let FetchEvent::DownloadingFile { name, bytes } = event {
            names.push(format!("{name} {bytes}"));
        }
    })
    .unwrap();
    assert!(report.downloaded && report.has_weights && report.commit == COMMIT, "{report:?}");
    assert_eq!(report.directory, store.root().join(ID));
    assert_eq!(weights(&store), repository()["model.safetensors"]);
    let mut there: Vec<_> = fs::read_dir(&report.directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    there.sort();
    // Two of them have the same bytes, and so the same digest.
    assert_eq!(fs::read(report.directory.join("1_Pooling/config.json")).unwrap(), b"{}");
    assert_eq!(fs::read(report.directory.join("tokenizer.json")).unwrap(), b"{}");
    let expected = ["1_Pooling", "config.json", "hub.json", "model.safetensors", "modules.json", "tokenizer.json"];
    assert_eq!(there, expected);
    assert!(names.contains(&"model.safetensors 300000".to_owned()) && names.len() == 4, "{names:?}");
    // Nothing is left of the client's own cache, and nothing was put beside the store.
    assert_eq!(fs::read_dir(store.root().join(".hub")).unwrap().count(), 0);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn what_is_there_is_not_asked_for_again() {
    let ((_directory, store), hub) = (store(), Hub::start(repository(), Trouble::None));
    fetch(&store, &hub.options()).unwrap();
    let asked = hub.seen().len();
    assert!(!fetch(&store, &hub.options()).unwrap().downloaded);
    assert!(!fetch(&store, &hub.options().revision(COMMIT)).unwrap().downloaded);
    assert_eq!(hub.seen().len(), asked);
    assert!(fetch(&store, &hub.options().revision("v1")).unwrap().downloaded);
    assert!(fetch(&store, &hub.options().revision("v1").force(true)).unwrap().downloaded);

    let path = store.root().join(ID).join("model.safetensors");
    let mut damaged = weights(&store);
    damaged[5] ^= 1;
    fs::write(&path, damaged).unwrap();
    assert!(fetch(&store, &hub.options().revision("v1")).unwrap().downloaded);
    assert_eq!(weights(&store), repository()["model.safetensors"]);
}

#[test]
fn a_download_that_breaks_off_goes_on_where_it_ended() {
    let ((_directory, store), hub) = (store(), Hub::start(repository(), Trouble::BreaksOff));
    fetch(&store, &hub.options()).unwrap();
    assert_eq!(weights(&store), repository()["model.safetensors"]);
    // Each start is asked for at the repository, which redirects.
    let starts = hub.downloads("/large/model.safetensors");
    assert_eq!(starts, [0, 150_000]);
}

#[test]
fn a_later_fetch_goes_on_where_the_last_one_ended() {
    let (_directory, store) = store();
    let broken = Hub::start(repository(), Trouble::AlwaysBreaksOff);
    let error = fetch(&store, &broken.options()).unwrap_err();
    assert!(matches!(&error, FetchError::Hub { what, .. } if what == "model.safetensors"), "{error}");
    assert!(!store.root().join(ID).exists(), "nothing is in place before all of it is whole");
    let hub = Hub::start(repository(), Trouble::None);
    fetch(&store, &hub.options()).unwrap();
    assert_eq!(weights(&store), repository()["model.safetensors"]);
    assert!(hub.downloads("/large/model.safetensors").iter().all(|start| *start > 150_000));
    assert!(hub.downloads("tokenizer.json").is_empty(), "what was whole is not fetched again");
}

#[test]
fn wrong_bytes_are_fetched_anew_once_and_then_refused() {
    let ((_directory, store), hub) = (store(), Hub::start(repository(), Trouble::WrongOnce));
    fetch(&store, &hub.options()).unwrap();
    assert_eq!(weights(&store), repository()["model.safetensors"]);
    assert_eq!(hub.downloads("/large/model.safetensors"), [0, 0]);

    let before = fs::read(store.root().join(ID).join("hub.json")).unwrap();
    let wrong = Hub::start(repository(), Trouble::Wrong);
    let error = fetch(&store, &wrong.options().force(true)).unwrap_err();
    assert!(
        matches!(&error, FetchError::Checksum { what, .. } if what == "model.safetensors of tests/tiny"),
        "{error}"
    );
    assert_eq!(weights(&store), repository()["model.safetensors"]);
    assert_eq!(fs::read(store.root().join(ID).join("hub.json")).unwrap(), before);
}

#[test]
fn a_hub_that_knows_no_ranges_is_asked_for_all_of_it() {
    let ((_directory, store), hub) = (store(), Hub::start(repository(), Trouble::IgnoresRanges));
    fetch(&store, &hub.options()).unwrap();
    assert_eq!(weights(&store), repository()["model.safetensors"]);
}

#[test]
fn what_the_hub_has_not_got_is_named() {
    let ((_directory, store), hub) = (store(), Hub::start(repository(), Trouble::None));
    let error = fetch(&store, &hub.options().revision("v9")).unwrap_err();
    assert!(matches!(&error, FetchError::NotOnHub { revision, .. } if revision == "v9"), "{error}");
    let error = fetch_from_hub(&store, "tests/other", &hub.options(), &mut |_| {}).unwrap_err();
    assert!(matches!(&error, FetchError::NotOnHub { id, .. } if id == "tests/other"), "{error}");
    let closed = Hub::start(repository(), Trouble::Status(401));
    let error = fetch(&store, &closed.options()).unwrap_err();
    assert!(matches!(&error, FetchError::NotAllowed { .. }) && error.to_string().contains("HF_TOKEN"), "{error}");
    let broken = Hub::start(repository(), Trouble::Status(500));
    assert!(matches!(fetch(&store, &broken.options()).unwrap_err(), FetchError::Hub { .. }));
    let nobody = HubOptions::default().endpoint("http://127.0.0.1:1");
    assert!(matches!(fetch(&store, &nobody).unwrap_err(), FetchError::Hub { .. }));
}

#[test]
fn answers_that_no_hub_gives_are_errors() {
    for trouble in [Trouble::RedirectsNowhere, Trouble::DigestIsPath] {
        let ((directory, store), hub) = (store(), Hub::start(repository(), trouble));
        let error = fetch(&store, &hub.options()).unwrap_err();
        assert!(matches!(&error, FetchError::Hub { what, .. } if what == "model.safetensors"), "{trouble:?}: {error}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "{trouble:?}");
    }
}

#[test]
fn a_cross_encoder_is_fetched_as_a_graph() {
    let mut files = repository();
    let config = br#"{"model_type": "bert", "architectures": ["BertForSequenceClassification"]}"#;
    files.insert("config.json".to_owned(), config.to_vec());
    let ((_directory, store), hub) = (store(), Hub::start(files.clone(), Trouble::None));
    let report = fetch(&store, &hub.options()).unwrap();
    assert!(!report.has_weights && report.directory.join("onnx/model.onnx").is_file());
    assert!(!report.directory.join("model.safetensors").exists());

    files.remove("onnx/model.onnx");
    let without = Hub::start(files, Trouble::None);
    let error = fetch(&store, &without.options().force(true)).unwrap_err();
    assert!(matches!(&error, FetchError::Incomplete { missing, .. } if missing == "onnx/model.onnx"), "{error}");
}

#[test]
fn a_model_of_another_family_is_fetched_as_its_authors_graph() {
    let mut files = repository();
    files.insert("config.json".to_owned(), br#"{"model_type": "modernbert"}"#.to_vec());
    let ((_directory, store), hub) = (store(), Hub::start(files, Trouble::None));
    let report = fetch(&store, &hub.options()).unwrap();
    assert!(!report.has_weights && report.directory.join("onnx/model.onnx").is_file());
}

#[test]
fn what_makes_no_model_is_refused_by_the_missing_file() {
    for missing in ["config.json", "tokenizer.json"] {
        let mut files = repository();
        files.remove(missing);
        let ((_directory, store), hub) = (store(), Hub::start(files, Trouble::None));
        let error = fetch(&store, &hub.options()).unwrap_err();
        assert!(matches!(&error, FetchError::Incomplete { missing: named, .. } if named == missing), "{error}");
    }
}

#[test]
fn an_id_is_not_a_path() {
    for id in ["", "tiny", "a/b/c", "../x", "a/..", "/etc/passwd", "a/b\n", "a b/c", "a/-b", "a/.b"] {
        let (_directory, store) = store();
        let error = fetch_from_hub(&store, id, &HubOptions::default(), &mut |_| {}).unwrap_err();
        assert!(matches!(error, FetchError::Id { .. }), "{id}: {error}");
        assert!(!store.root().exists());
    }
}
