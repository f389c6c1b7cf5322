//! `memory model compare`, with models that are a table of a few words and a service that a thread stands in for.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests, which the lints do not know as tests"
)]

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::{Value, json};

use crate::{
    models::model,
    support::{Store, failure, success},
};

/// Runs a comparison whose temporary files are in a directory of its own, which it leaves empty.
fn compare(store: &Store, args: &[&str]) -> Value {
    let temporary = store.path("temporary");
    fs::create_dir_all(&temporary).unwrap();
    let mut command = store.hybrid(&[&["--json", "model", "compare"], args].concat());
    let said = success(command.env("TMPDIR", &temporary));
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0, "nothing stays");
    serde_json::from_str(&said).unwrap()
}

/// A talk with the model in which each question shares a word with its answer alone.
fn talk(from: usize, count: usize) -> String {
    let pair = |number: usize| {
        let asked = json!({"role": "user", "content": format!("Where is the harbour of town{number}?")});
        let answer = json!({"role": "assistant", "content": format!("The ferry of town{number} is there at nine.")});
        format!("{asked}\n{answer}\n")
    };
    (from..from + count).map(pair).collect()
}

/// A store of 80 messages in two conversations, and two models.
fn store() -> (Store, [String; 2]) {
    let store = Store::new();
    for (name, from) in [("harbours", 1), ("towns", 21)] {
        let file = store.file(&format!("{name}.jsonl"), &talk(from, 20));
        store.succeed(&["import", "--format", "jsonl", &file]);
    }
    let models = [
        model(&store, "first", [1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 2.0]),
        model(&store, "second", [2.0, 1.0, 0.0, 1.0, 1.0, 0.0, 2.0, 1.0]),
    ];
    (store, models)
}

/// All files below a directory, with their bytes.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path));
        } else {
            all.insert(path.display().to_string(), fs::read(&path).unwrap());
        }
    }
    all
}

fn numbers(compared: &Value) -> Vec<f64> {
    compared["models"].as_array().unwrap().iter().map(|model| model["found"].as_f64().unwrap()).collect()
}

#[test]
fn two_models_are_compared_on_the_stores_own_messages_which_stay_as_they_are() {
    let (store, [first, second]) = store();
    let before = files(Path::new(&store.path("store")));
    let compared = compare(&store, &[&first, &second, "--questions", "15"]);
    assert_eq!(files(Path::new(&store.path("store"))), before);

    assert_eq!((&compared["measure"], &compared["questions"]), (&json!("reply found"), &json!(15)));
    // The questions are not among the messages.
    assert_eq!((&compared["messages"], &compared["conversations"]), (&json!(65), &json!(2)));
    let [one, other] = compared["models"].as_array().unwrap().as_slice() else { panic!("{compared}") };
    assert!(
        one["model"].as_str().unwrap().starts_with("first@") && other["model"].as_str().unwrap().starts_with("second@")
    );
    for model in [one, other] {
        // The name of the town is in the question and in its reply.
        assert_eq!((&model["found"], &model["dimensions"]), (&json!(1.0), &json!(2)), "{compared}");
        for figure in ["question_ms", "message_ms", "messages_per_s", "bytes_per_message", "model_bytes"] {
            assert!(model[figure].as_f64().unwrap() > 0.0, "{figure}: {compared}");
        }
        assert_eq!((&model["tokens_sent"], &model["price"]), (&json!(0), &json!(0.0)));
    }
    assert_eq!(compared["difference"], json!({"mean": 0.0, "low": 0.0, "high": 0.0}));

    let again = compare(&store, &[&first, &second, "--questions", "15"]);
    assert_eq!((numbers(&again), &again["agreement"]), (numbers(&compared), &compared["agreement"]), "seeded");
    assert_eq!(compare(&store, &[&first, &first])["agreement"], json!(1.0));

    let shown = success(&mut store.hybrid(&["model", "compare", &first, &second]));
    for said in [
        "reply found",
        "100.0 %",
        "weights of the model",
        "that does not tell them apart",
        "nobody judged whether it answers",
    ] {
        assert!(shown.contains(said), "{said}: {shown}");
    }
}

#[test]
fn a_comparison_takes_a_sample_of_an_owners_own_messages() {
    let (store, [first, second]) = store();
    let file = store.file("hers.jsonl", &talk(100, 10));
    store.succeed(&["--owner", "ana", "import", "--format", "jsonl", &file]);
    let hers = compare(&store, &[&first, &second, "--owner", "ana", "--questions", "4"]);
    assert_eq!((&hers["messages"], &hers["conversations"]), (&json!(16), &json!(1)));
    let few = compare(&store, &[&first, &second, "--messages", "30", "--questions", "5"]);
    assert_eq!((&few["messages"], &few["questions"]), (&json!(25), &json!(5)));
}

#[test]
fn a_comparison_that_cannot_be_made_says_why_before_it_begins() {
    let (store, [first, second]) = store();
    let refused = |args: &[&str], code| failure(&mut store.hybrid(&[&["model", "compare"], args].concat()), code);
    assert!(refused(&[&first, "./none"], 1).contains("memory model fetch"));
    refused(&[&first], 2);
    refused(&[&first, &second, "--questions", "0"], 2);
    for prices in ["1", "1,2,3", "a,b", "-1,0", "NaN,0"] {
        assert!(refused(&[&first, &second, &format!("--prices={prices}")], 2).contains("two prices"), "{prices}");
    }
    let empty = Store::new();
    failure(&mut empty.hybrid(&["model", "compare", &first, &second]), 3);
    assert!(refused(&[&first, &second, "--owner", "nobody"], 3).contains("holds no message"));
    let file = empty.file("alone.jsonl", "{\"role\": \"user\", \"content\": \"Nobody answered this.\"}\n");
    empty.succeed(&["import", "--format", "jsonl", &file]);
    let said = failure(&mut empty.hybrid(&["model", "compare", &first, &second]), 1);
    assert!(said.contains("no message of this store is followed by a reply"), "{said}");
}

#[cfg(feature = "openai")]
mod over_a_network {
    use std::{
        io::{BufRead, BufReader, Read, Write},
        net::{TcpListener, TcpStream},
        path::PathBuf,
        sync::{Arc, Mutex},
        thread,
    };

    use super::*;

    const REMOTE: &str = "openai:stub?dimensions=2";

    /// A service that gives every text the same vector, and notes whom the temporary files are for when it is asked.
    struct Service {
        base: String,
        texts: Arc<Mutex<Vec<String>>>,
        modes: Arc<Mutex<Vec<u32>>>,
    }

    impl Service {
        /// Answers until the process ends.
        fn start(temporary: PathBuf) -> Self {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let base = format!("http://{}/v1", listener.local_addr().unwrap());
            let (texts, modes) = (Arc::default(), Arc::default());
            let service = Self { base, texts: Arc::clone(&texts), modes: Arc::clone(&modes) };
            thread::spawn(move || {
                for connection in listener.incoming() {
                    let (texts, modes, temporary) = (Arc::clone(&texts), Arc::clone(&modes), temporary.clone());
                    thread::spawn(move || {
                        modes.lock().unwrap().extend(modes_in(&temporary));
                        texts.lock().unwrap().extend(answer(&connection.unwrap()));
                    });
                }
            });
            service
        }
    }

    fn modes_in(directory: &Path) -> Vec<u32> {
        let mode = |entry: fs::DirEntry| {
            #[cfg(unix)]
            return std::os::unix::fs::PermissionsExt::mode(&entry.metadata().unwrap().permissions()) & 0o777;
            #[cfg(not(unix))]
            0o700
        };
        fs::read_dir(directory).unwrap().map(|entry| mode(entry.unwrap())).collect()
    }

    /// Answers one request; returns its texts.
    fn answer(connection: &TcpStream) -> Vec<String> {
        let mut reader = BufReader::new(connection);
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
                break;
            }
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let Ok(body) = serde_json::from_slice::<Value>(&body) else { return Vec::new() };
        let texts: Vec<_> =
            body["input"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect();
        let vectors: Vec<_> = (0..texts.len()).map(|index| json!({"index": index, "embedding": [0.6, 0.8]})).collect();
        let body = json!({"data": vectors}).to_string();
        let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
        drop((&*connection).write_all(format!("{head}{body}").as_bytes()));
        texts
    }

    #[test]
    fn a_model_over_a_network_is_sent_the_sample_if_it_is_named_and_the_price_is_not_invented() {
        let (store, [first, second]) = store();
        let temporary = store.path("temporary");
        fs::create_dir_all(&temporary).unwrap();
        let service = Service::start(temporary.clone().into());
        let run = |args: &[&str]| {
            let mut command = store.hybrid(&[&["model", "compare"], args].concat());
            command.env("OPENAI_BASE_URL", &service.base).env_remove("OPENAI_API_KEY").env("TMPDIR", &temporary);
            // The model of other commands is not compared.
            command.env("MEMORY_EMBEDDING_MODEL", REMOTE);
            command
        };
        success(&mut run(&[&first, &second]));
        assert_eq!(service.texts.lock().unwrap().len(), 0, "nothing leaves the machine unless it is named");

        let said: Value =
            serde_json::from_str(&success(&mut run(&["--json", &first, REMOTE, "--questions", "5"]))).unwrap();
        let sent = service.texts.lock().unwrap().len();
        assert_eq!(sent, 75 + 5, "each message and each question once");
        let [here, there] = said["models"].as_array().unwrap().as_slice() else { panic!("{said}") };
        assert_eq!((&here["tokens_sent"], &here["price"]), (&json!(0), &json!(0.0)));
        let tokens = there["tokens_sent"].as_u64().unwrap();
        assert!(tokens > 400 && there["price"].is_null() && there["model_bytes"].is_null(), "{said}");

        let shown = run(&[&first, REMOTE, "--questions", "5"]).output().unwrap();
        let (shown, notes) = (String::from_utf8(shown.stdout).unwrap(), String::from_utf8(shown.stderr).unwrap());
        assert!(shown.contains("unknown: give --prices") && shown.contains("cl100k_base"), "{shown}");
        assert!(notes.contains("openai:stub?dimensions=2 is sent 75 messages and 5 questions"), "{notes}");
        let priced = success(&mut run(&["--json", &first, REMOTE, "--questions", "5", "--prices", "9,0.5"]));
        let priced: Value = serde_json::from_str(&priced).unwrap();
        let price = priced["models"][1]["price"].as_f64().unwrap();
        #[expect(clippy::cast_precision_loss, reason = "some hundred tokens")]
        let expected = tokens as f64 * 0.5 / 1e6;
        assert!((price - expected).abs() < 1e-12 && priced["models"][0]["price"] == json!(0.0), "{priced}");

        let modes = service.modes.lock().unwrap();
        assert!(!modes.is_empty() && modes.iter().all(|mode| *mode == 0o700), "{modes:?}");
    }
}
