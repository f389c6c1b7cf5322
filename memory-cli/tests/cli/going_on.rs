//! Commands that answer although a file or a model that they use fails.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests, which the lints do not know as tests")]

use std::{fs, process::Command};

use crate::support::{self, Store, failure};

/// The same command where no file may get larger than a kilobyte, as on a full disk.
fn on_a_full_disk(command: &Command) -> Command {
    let mut shell = Command::new("bash");
    shell.arg("-c").arg("ulimit -f 1; exec \"$0\" \"$@\"").arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell
}

#[test]
fn a_damaged_block_of_summaries_stops_no_context() {
    let store = Store::new();
    let file = store.file("trip.jsonl", &support::messages(150));
    store.succeed(&["import", "--format", "jsonl", &file]);
    store.succeed(&["vacuum", "--seal", "--compress"]);
    let log = store.path("store/log/0001.seg");
    let whole = fs::read(&log).unwrap();
    for part in 4..16 {
        let mut damaged = whole.clone();
        *damaged.get_mut(whole.len() * part / 16).unwrap() ^= 4;
        fs::write(&log, damaged).unwrap();
        for budget in ["600", "100000"] {
            let shown =
                store.command(&["context", "-c", "trip", "--budget", budget, "Which museum?"]).output().unwrap();
            let said = String::from_utf8_lossy(&shown.stderr);
            assert!(shown.status.success(), "{part}: {said}");
            assert!(!said.contains("broke its contract"), "{part}: {said}");
        }
    }
}

#[test]
fn a_full_disk_stops_no_context() {
    let store = Store::new();
    let file = store.file("trip.jsonl", &support::messages(60));
    store.succeed(&["import", "--format", "jsonl", &file]);
    let before = fs::read(store.path("store/log/0001.seg")).unwrap();
    for more in [&[][..], &["--no-record"]] {
        let args = [&["context", "-c", "trip", "--budget", "400", "Which platform?"], more].concat();
        let shown = on_a_full_disk(&store.command(&args)).output().unwrap();
        let said = String::from_utf8_lossy(&shown.stderr);
        assert!(shown.status.success(), "{said}");
        assert!(said.contains("no space left for"), "{said}");
        assert!(String::from_utf8_lossy(&shown.stdout).contains("platform 9"), "{said}");
    }
    assert!(fs::read(store.path("store/log/0001.seg")).unwrap() == before, "the log is intact");
}

#[test]
fn a_limit_of_file_size_is_an_error_and_no_signal() {
    let store = Store::new();
    let file = store.file("trip.jsonl", &support::messages(60));
    let said = failure(&mut on_a_full_disk(&store.command(&["import", "--format", "jsonl", &file])), 1);
    assert!(said.contains("no space left for"), "{said}");
    let again = store.json(&["import", "--format", "jsonl", &file]);
    assert_eq!(again["conversations"][0]["nodes"], 60, "{again}");
}

#[test]
fn a_store_without_its_format_file_is_damaged_and_sent_to_the_doctor() {
    let store = Store::new();
    let file = store.file("trip.jsonl", &support::messages(6));
    store.succeed(&["import", "--format", "jsonl", &file]);
    let format = store.path("store/FORMAT");
    for text in [None, Some("something else")] {
        fs::remove_file(&format).unwrap();
        text.iter().for_each(|text| fs::write(&format, text).unwrap());
        for command in ["list", "verify"] {
            let said = store.fail(&[command], 4);
            assert!(said.contains("memory doctor"), "{said}");
        }
        store.fail(&["doctor"], 4);
        fs::write(&format, "").unwrap();
    }
}

#[cfg(feature = "openai")]
mod over_a_network {
    use std::{
        io::{BufRead, BufReader, Read, Write},
        net::{TcpListener, TcpStream},
        thread,
    };

    use super::*;

    /// Address of an endpoint that answers every request with this.
    fn service(status: &'static str, body: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}/v1", listener.local_addr().unwrap());
        thread::spawn(move || {
            for connection in listener.incoming() {
                answer(&connection.unwrap(), status, body);
            }
        });
        base
    }

    fn answer(connection: &TcpStream, status: &str, body: &str) {
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
        reader.read_exact(&mut vec![0; length]).unwrap();
        let head = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
        drop((&*connection).write_all(format!("{head}{body}").as_bytes()));
    }

    #[test]
    fn an_endpoint_that_refuses_stops_no_context_and_fails_an_index() {
        let malformed = r#"{"object": "list"}"#;
        let page = "<html>Sign in</html>";
        for (status, body) in [
            ("400 Bad Request", "{}"),
            ("401 Unauthorized", "{}"),
            ("404 Not Found", "{}"),
            ("200 OK", malformed),
            ("200 OK", page),
        ] {
            let (store, base) = (Store::new(), service(status, body));
            let run = |args: &[&str]| {
                let mut command = store.hybrid(&[&["--embedding-model", "openai:x?dimensions=8"], args].concat());
                command.env("OPENAI_BASE_URL", &base).env("OPENAI_API_KEY", "sk-0123456789").output().unwrap()
            };
            store.succeed(&["append", "-c", "trip", "The train leaves from platform 9."]);
            for args in [&["search", "platform"][..], &["context", "-c", "trip", "platform"]] {
                let shown = run(args);
                let said = String::from_utf8_lossy(&shown.stderr);
                assert!(shown.status.success(), "{status} {args:?}: {said}");
                // A context that shows everything recalls nothing.
                assert!(args.contains(&"context") || said.contains("note: "), "{status} {args:?}: {said}");
                assert!(String::from_utf8_lossy(&shown.stdout).contains("platform 9"), "{status} {args:?}: {said}");
            }
            let indexed = run(&["index"]);
            let said = String::from_utf8_lossy(&indexed.stderr);
            assert_eq!(indexed.status.code(), Some(1), "{status}: {said}");
        }
    }
}
