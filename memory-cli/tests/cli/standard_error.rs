//! A standard error that is full, closed or broken: nothing waits for it, and exit codes are those of the command.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Write},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::support::{self, Store};

/// Longer than anything here waits for a reader.
const PATIENCE: Duration = Duration::from_secs(20);

/// A pipe without room, and the end that keeps it so.
fn full() -> (Stdio, io::PipeReader) {
    let (reader, writer) = io::pipe().unwrap();
    let mut filler = writer.try_clone().unwrap();
    // The rest waits in a thread of its own.
    thread::spawn(move || drop(filler.write_all(&[b'x'; 1 << 18])));
    thread::sleep(Duration::from_millis(100));
    (writer.into(), reader)
}

/// Every kind of standard error that takes nothing, by its name; the second is kept while the process runs.
fn kinds() -> Vec<(&'static str, Stdio, Option<io::PipeReader>)> {
    let (broken_reader, broken) = io::pipe().unwrap();
    drop(broken_reader);
    let (full, kept) = full();
    let device = File::options().write(true).open("/dev/full").unwrap();
    vec![("full pipe", full, Some(kept)), ("broken pipe", broken.into(), None), ("full device", device.into(), None)]
}

fn code(mut command: Command, errors: Stdio) -> i32 {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors).spawn().unwrap();
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code().unwrap();
        }
        if begun.elapsed() > PATIENCE {
            child.kill().unwrap();
            return -1;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn exit_codes_are_right_whatever_becomes_of_standard_error() {
    let store = Store::new();
    store.succeed(&["append", "-c", "trip", "The train leaves at 7:42."]);
    for (args, expected) in [
        (&["append", "-c", "trip", "More."][..], 0),
        (&["--json", "search", "train"], 0),
        (&["context", "-c", "trip", "Which train?"], 0),
        (&["search", ""], 2),
        (&["nonsense"], 2),
        (&["expand", "-c", "trip", "99"], 3),
        (&["--json", "expand", "-c", "trip", "99"], 3),
    ] {
        for (name, errors, _kept) in kinds() {
            let mut command = store.command(args);
            // A warning by each reader of the store.
            command.env("MEMORY_LOG", "trace");
            assert_eq!(code(command, errors), expected, "{args:?} with a {name}");
        }
        let mut closed = Command::new("sh");
        let words = store.command(args);
        closed.args(["-c", "exec \"$@\" 2>&-", "sh"]).arg(words.get_program()).args(words.get_args());
        for (name, value) in words.get_envs() {
            match value {
                Some(value) => closed.env(name, value),
                None => closed.env_remove(name),
            };
        }
        assert_eq!(code(closed, Stdio::inherit()), expected, "{args:?} with a closed one");
    }
}

#[test]
fn a_server_goes_on_after_any_number_of_errors_that_nobody_reads() {
    for (name, errors, _kept) in kinds() {
        let store = Store::new();
        let mut command = store.command(&["mcp"]);
        command.env("MEMORY_LOG", "debug").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        let mut child = command.spawn().unwrap();
        let mut requests = child.stdin.take().unwrap();
        let writer = thread::spawn(move || {
            let ask = |id: u32, method: &str, params: Value| {
                json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
            };
            let begin = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
            writeln!(requests, "{}", ask(1, "initialize", begin)).unwrap();
            writeln!(requests, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).unwrap();
            for number in 0..2_000 {
                let said = "x".repeat(200);
                writeln!(requests, "{}", json!({"jsonrpc": "2.0", "id": number, "method": said, "params": 7})).unwrap();
                writeln!(requests, "{{\"no\": \"request\", \"n\": {number}}}").unwrap();
            }
            writeln!(requests, "{}", ask(9_999, "tools/list", json!({}))).unwrap();
            requests
        });
        let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
        let (tell, told) = std::sync::mpsc::channel();
        thread::spawn(move || {
            let last = answers.any(|line| line.is_ok_and(|line| line.contains("\"id\":9999")));
            let _ = tell.send(last);
        });
        let answered = told.recv_timeout(PATIENCE * 2);
        if answered.is_err() {
            child.kill().unwrap();
        }
        assert_eq!(answered, Ok(true), "with a {name}");
        drop(writer.join().unwrap());
        assert!(child.wait().unwrap().success(), "with a {name}");
    }
}

#[test]
fn an_output_that_is_closed_ends_a_command_quietly() {
    let store = Store::new();
    let file = store.file("trip.jsonl", &support::messages(400));
    store.succeed(&["import", "--format", "jsonl", &file]);
    for args in [&["show", "trip", "1-400"][..], &["--json", "show", "trip", "1-400"], &["export", "-c", "trip"]] {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let output = store.command(args).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        let output = output.wait_with_output().unwrap();
        assert_eq!(
            (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned()),
            (Some(0), String::new())
        );
    }
}

#[test]
fn what_is_said_is_read_whole_by_a_slow_reader() {
    let store = Store::new();
    let (mut reader, errors) = io::pipe().unwrap();
    let mut command = store.command(&["append", "-c", "trip", "Hello."]);
    let mut child = command.stdout(Stdio::null()).stderr(errors).spawn().unwrap();
    drop(command);
    thread::sleep(Duration::from_millis(300));
    let mut said = String::new();
    reader.read_to_string(&mut said).unwrap();
    assert!(said.contains("`trip` begins with it"), "{said}");
    assert!(child.wait().unwrap().success());
}
