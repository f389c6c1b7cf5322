//! Texts are embedded only once, which a counting endpoint proves.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests, which the lints do not know as tests"
)]

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{self, Receiver, Sender},
    },
    thread::{self, JoinHandle},
};

use serde_json::{Value, json};

use crate::{
    models,
    support::{self, Store, failure, success},
};

/// A model and a word that [`Endpoint`] does not answer.
const HELD: &str = "held";
const MODEL: &str = "openai:counted?dimensions=4";

/// An endpoint that speaks the OpenAI embeddings protocol and counts texts. It also is a hub without any model.
struct Endpoint {
    address: SocketAddr,
    texts: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
    /// Told of each request that is never answered: one of the model `held` with a text that says so.
    held: Receiver<()>,
    acceptor: Option<JoinHandle<()>>,
}

impl Endpoint {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (texts, over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (counter, is_over) = (Arc::clone(&texts), Arc::clone(&over));
        let (hold, held) = mpsc::channel();
        let acceptor = thread::spawn(move || {
            for connection in listener.incoming() {
                if is_over.load(Ordering::SeqCst) {
                    return;
                }
                let (counter, hold) = (Arc::clone(&counter), hold.clone());
                thread::spawn(move || answer(&connection.unwrap(), &counter, &hold));
            }
        });
        Self { address, texts, over, held, acceptor: Some(acceptor) }
    }

    /// Number of texts that came since the last call.
    fn texts(&self) -> usize {
        self.texts.swap(0, Ordering::SeqCst)
    }

    fn run(&self, store: &Store, args: &[&str]) -> String {
        success(&mut self.command(store, args))
    }

    fn command(&self, store: &Store, args: &[&str]) -> Command {
        let mut command = store.hybrid(args);
        command.env("OPENAI_BASE_URL", format!("http://{}/v1", self.address)).env("OPENAI_API_KEY", "sk-test");
        command
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // Wakes the acceptor.
        drop(TcpStream::connect(self.address));
        if let Some(acceptor) = self.acceptor.take() {
            drop(acceptor.join());
        }
    }
}

/// Answers one request and closes. The vector of a text follows from its bytes.
fn answer(connection: &TcpStream, texts: &AtomicUsize, hold: &Sender<()>) {
    let mut reader = BufReader::new(connection);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
            break;
        }
        head.push(line.to_lowercase());
    }
    let length = head.iter().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_err() {
        return;
    }
    let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
    let (status, answer) = match asked["input"].as_array() {
        Some(input)
            if asked["model"] == HELD && input.iter().any(|text| text.as_str().unwrap_or_default().contains(HELD)) =>
        {
            hold.send(()).unwrap();
            // Returns when the client is gone.
            drop(reader.read(&mut [0]));
            return;
        }
        Some(input) => {
            texts.fetch_add(input.len(), Ordering::SeqCst);
            let vector = |text: &Value| {
                let bytes = text.as_str().unwrap_or_default().bytes();
                let mut vector = [1.0f32; 4];
                bytes.enumerate().for_each(|(at, byte)| vector[at % 4] += f32::from(byte) / 100.0);
                vector
            };
            let data = input.iter().enumerate().map(|(at, text)| json!({"index": at, "embedding": vector(text)}));
            (200, json!({"data": data.collect::<Vec<_>>()}).to_string())
        }
        None => (404, String::new()),
    };
    let head = format!("HTTP/1.1 {status} Stub\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", answer.len());
    drop({ connection }.write_all(format!("{head}{answer}").as_bytes()));
}

fn drop_vectors(store: &Store) {
    fs::remove_dir_all(Path::new(&store.path("store")).join("cache").join("vectors")).unwrap();
}

#[test]
fn what_was_embedded_before_is_not_embedded_again() {
    let (store, endpoint) = (Store::new(), Endpoint::start());
    let talk = store.file("talk.jsonl", &support::messages(12));
    let again = store.file("again.jsonl", &support::messages(12));
    endpoint.run(&store, &["--embedding-model", MODEL, "import", "--format", "jsonl", &talk]);
    endpoint.run(&store, &["--embedding-model", MODEL, "index"]);
    assert_eq!(endpoint.texts(), 12);

    // The same words in another conversation.
    endpoint.run(&store, &["import", "--format", "jsonl", &again]);
    endpoint.run(&store, &["index"]);
    assert_eq!(endpoint.texts(), 0, "said again");
    // A new message costs one text.
    let more = store.file("talk.jsonl", &support::messages(13));
    endpoint.run(&store, &["import", "--format", "jsonl", &more]);
    endpoint.run(&store, &["index"]);
    assert_eq!(endpoint.texts(), 1);

    drop_vectors(&store);
    endpoint.run(&store, &["index"]);
    assert_eq!(endpoint.texts(), 0, "indexed anew");

    let other = models::model(&store, "other", [1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 2.0]);
    endpoint.run(&store, &["model", "migrate", &other]);
    let back = endpoint.run(&store, &["--json", "model", "migrate", MODEL]);
    assert!(back.contains("\"embedded\": 25"), "{back}");
    assert_eq!(endpoint.texts(), 0, "migrated back");

    drop_vectors(&store);
    endpoint.run(&store, &["--embedding-cache-mb", "0", "index"]);
    assert_eq!(endpoint.texts(), 25, "without the cache");
}

#[test]
fn a_migration_that_is_killed_leaves_the_old_model_answering_and_can_be_run_again() {
    let (store, endpoint) = (Store::new(), Endpoint::start());
    let line = |number: usize| {
        let word = if number == 150 { HELD } else { "said" };
        format!("{}\n", json!({"role": "user", "content": format!("Remark {number} was {word} about the museum.")}))
    };
    let talk = store.file("talk.jsonl", &(1..=200).map(line).collect::<String>());
    endpoint.run(&store, &["--embedding-model", MODEL, "import", "--format", "jsonl", &talk]);
    endpoint.run(&store, &["index"]);
    let hits = || {
        let found: Value = serde_json::from_str(&endpoint.run(&store, &["--json", "search", "the museum"])).unwrap();
        // Each of the two hundred remarks says as much.
        assert_eq!(support::codes(&found), ["nothing-likely"]);
        found["hits"].clone()
    };
    let before = hits();

    let new = format!("openai:{HELD}?dimensions=4");
    let mut migrating = endpoint.command(&store, &["model", "migrate", &new]).spawn().unwrap();
    endpoint.held.recv().unwrap();
    assert_eq!(hits(), before, "while it migrates");
    migrating.kill().unwrap();
    migrating.wait().unwrap();
    assert_eq!(hits(), before, "after it was killed");
    failure(&mut endpoint.command(&store, &["--embedding-model", &new, "search", "the museum"]), 1);

    let other = models::model(&store, "other", [1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 2.0]);
    let migrated = endpoint.run(&store, &["--json", "model", "migrate", &other]);
    assert!(migrated.contains("\"embedded\": 200"), "{migrated}");
    hits();
    endpoint.run(&store, &["verify"]);
}

#[test]
fn a_damaged_cache_or_key_costs_only_time() {
    let (store, endpoint) = (Store::new(), Endpoint::start());
    let talk = store.file("talk.jsonl", &support::messages(12));
    endpoint.run(&store, &["--embedding-model", MODEL, "import", "--format", "jsonl", &talk]);
    endpoint.run(&store, &["--embedding-model", MODEL, "index"]);
    // Not how long each step took.
    let hits = || {
        let found: Value = serde_json::from_str(&endpoint.run(&store, &["--json", "search", "the museum"])).unwrap();
        found["hits"].clone()
    };
    let before = hits();
    endpoint.texts();

    let recent = Path::new(&store.path("store")).join("cache/embeddings/recent");
    let mut bytes = fs::read(&recent).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&recent, bytes).unwrap();
    drop_vectors(&store);
    endpoint.run(&store, &["index"]);
    let embedded = endpoint.texts();
    assert!((1..=12).contains(&embedded), "{embedded}");
    assert_eq!(hits(), before);

    fs::write(Path::new(&store.path("store")).join("KEY"), "no key").unwrap();
    drop_vectors(&store);
    endpoint.texts();
    endpoint.run(&store, &["index"]);
    assert_eq!(endpoint.texts(), 12);
    assert_eq!(hits(), before);
}

#[test]
fn a_hub_that_has_not_got_the_model_says_so() {
    let (store, endpoint) = (Store::new(), Endpoint::start());
    let models = store.path("models");
    let address = format!("http://{}", endpoint.address);
    let mut command = endpoint.command(&store, &["model", "fetch", "no/such", "--endpoint", &address]);
    let refused = failure(command.env("MEMORY_MODELS", &models), 1);
    assert!(refused.contains("no/such") && refused.contains("check the id"), "{refused}");
    let mut command = endpoint.command(&store, &["model", "fetch", "all-MiniLM-L12-v2"]);
    let refused = failure(command.env("MEMORY_MODELS", &models).env("HF_ENDPOINT", &address), 1);
    assert!(refused.contains("sentence-transformers/all-MiniLM-L12-v2"), "{refused}");
}
