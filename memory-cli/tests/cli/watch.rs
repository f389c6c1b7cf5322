//! `memory watch`: transcripts that are followed while they are written.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "whatever fails here fails a test")]

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

use crate::{
    hook::event,
    support::Store,
    transcripts::{SESSION, file, lines, said, session, texts},
};

/// A watch that prints JSON lines.
struct Watch {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Watch {
    fn of(store: &Store, directory: &str) -> Self {
        let mut command = store.command(&["--json", "watch", &store.path(directory)]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// The next capture: its conversation, and its number of new messages.
    fn next(&mut self) -> (String, u64) {
        let line: Value = serde_json::from_str(&self.lines.next().unwrap().unwrap()).unwrap();
        (line["conversation"].as_str().unwrap().to_owned(), line["new"].as_u64().unwrap())
    }

    fn end(mut self, signal: &str) {
        assert!(Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap().success());
        assert!(self.child.wait().unwrap().success(), "{signal}");
        assert!(self.lines.next().is_none());
    }
}

#[cfg(unix)]
#[test]
fn a_directory_is_followed_through_rotation_and_truncation_until_a_signal() {
    let store = Store::new();
    let all = session();
    let name = format!("p/a/{SESSION}.jsonl");
    let path = file(&store, &name, lines(&all[..1]));
    let mut watch = Watch::of(&store, "p");
    assert_eq!(watch.next(), (SESSION.to_owned(), 1));
    file(&store, &name, lines(&all[..4]));
    assert_eq!(watch.next(), (SESSION.to_owned(), 2));
    // An answer at the end comes once nothing follows for a while.
    file(&store, &name, lines(&all[..6]));
    assert_eq!(watch.next(), (SESSION.to_owned(), 1));
    // A file that begins empty in a directory that is new.
    let other = |text: &str| lines(&[said(text, None, text)]).replace(SESSION, text);
    file(&store, "p/b/other.jsonl", "");
    file(&store, "p/b/other.jsonl", other("one"));
    assert_eq!(watch.next(), ("one".to_owned(), 1));
    // Rotated: the old file under another name, a new one under its name; and cut to other lines.
    fs::rename(store.path("p/b/other.jsonl"), store.path("p/b/old.jsonl")).unwrap();
    file(&store, "p/b/other.jsonl", other("two"));
    assert_eq!(watch.next(), ("two".to_owned(), 1));
    file(&store, "p/b/other.jsonl", other("c"));
    assert_eq!(watch.next(), ("c".to_owned(), 1));
    watch.end("-TERM");
    for id in ["one", "two", "c"] {
        assert_eq!(texts(&store, id), [format!("user: {id}")]);
    }

    // Messages written while nothing watched are captured at the next start.
    file(&store, &name, lines(&all[..7]));
    let mut watch = Watch::of(&store, "p");
    assert_eq!(watch.next(), (SESSION.to_owned(), 1));
    watch.end("-INT");
    let again = store.json(&["import", &path]);
    assert_eq!(again["conversations"][0]["new"], 0, "{again:#}");
}

#[test]
fn hook_watch_and_import_of_one_file_double_nothing() {
    let all = session();
    let expected = {
        let store = Store::new();
        store.succeed(&["import", &file(&store, "s.jsonl", lines(&all))]);
        texts(&store, SESSION)
    };
    let name = format!("p/{SESSION}.jsonl");
    for turn in 0..3 {
        let store = Store::new();
        for (step, count) in [1, 4, 6, 7, 9, 10].into_iter().enumerate() {
            let path = file(&store, &name, lines(&all[..count]));
            match (step + turn) % 3 {
                0 => drop(store.succeed(&["watch", "--once", &store.path("p")])),
                1 => drop(store.succeed(&["import", &path])),
                _ => {
                    let event = file(&store, "event.json", event("Stop", &path).to_string());
                    let mut command = store.command(&["hook", "claude-code", "--strict"]);
                    assert!(command.stdin(fs::File::open(event).unwrap()).status().unwrap().success());
                }
            }
        }
        assert_eq!(texts(&store, SESSION), expected, "{turn}");
        assert_eq!(store.json(&["list"])["conversations"].as_array().unwrap().len(), 2);
    }
}

#[test]
fn a_file_that_cannot_be_read_stops_no_other() {
    let store = Store::new();
    file(
        &store,
        "p/a.jsonl",
        [&lines(&[said("a", None, "First.")]).replace(SESSION, "a"), &"x".repeat((64 << 20) + 9)]
            .map(String::as_str)
            .concat(),
    );
    file(&store, "p/b.jsonl", lines(&[said("b", None, "Second.")]).replace(SESSION, "b"));
    file(&store, "p/c.jsonl", lines(&[json!({"role": "user", "content": "no transcript that is followed"})]));
    file(&store, "p/notes.txt", "nothing");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/dev/zero", store.path("p/zero.jsonl")).unwrap();
        assert!(Command::new("mkfifo").arg(store.path("p/fifo.jsonl")).status().unwrap().success());
    }
    let output = store.command(&["watch", "--once", &store.path("p")]).output().unwrap();
    let (said, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{error}");
    assert!(said.contains("b: 1 new message\n"), "{said}");
    assert!(error.contains("a.jsonl") && error.contains("larger than"), "{error}");
    assert_eq!(texts(&store, "b"), ["user: Second."]);
    store.fail(&["watch", "--once", &store.path("missing")], 3);
}

#[test]
fn a_file_that_cannot_be_followed_is_refused() {
    let store = Store::new();
    let error = store.fail(&["watch", "--once", &file(&store, "notes.txt", "root:x:0:0\n")], 2);
    assert!(error.contains("no transcript that can be followed") && error.contains("memory import"), "{error}");
    let path = file(&store, &format!("p/{SESSION}.jsonl"), lines(&session()[..7]).trim_end());
    store.succeed(&["watch", "--once", &path]);
    assert_eq!(texts(&store, SESSION).len(), 5, "also the last line, which has no end");
}
