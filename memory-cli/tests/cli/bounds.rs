//! Resources of an import, and their end: files and streams of any length, refused memory, a log that goes away.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "whatever fails here fails a test")]

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin, Output, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use crate::support::{self, Store};

/// An import that reads standard input.
fn piped(store: &Store, args: &[&str]) -> Child {
    let mut command = store.command(&[&["import", "-"], args].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Writes until the other end is closed.
fn pour(mut into: ChildStdin, mut from: impl Read + Send + 'static) {
    thread::spawn(move || io::copy(&mut from, &mut into));
}

/// Waits for a process; returns its output and its peak memory in MB.
fn ended(mut child: Child) -> (Output, u64) {
    let mut most = 0;
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let out = thread::spawn(move || read_all(&mut out));
    let err = thread::spawn(move || read_all(&mut err));
    let status = loop {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse::<u64>().ok());
        most = most.max(peak.unwrap_or(0) / 1_000);
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        thread::sleep(Duration::from_millis(5));
    };
    (Output { status, stdout: out.join().unwrap(), stderr: err.join().unwrap() }, most)
}

fn read_all(from: &mut impl Read) -> Vec<u8> {
    let mut all = Vec::new();
    from.read_to_end(&mut all).unwrap();
    all
}

#[track_caller]
fn refused(child: Child, expected: &str) -> u64 {
    let (output, most) = ended(child);
    let error = String::from_utf8(output.stderr).unwrap();
    // Exit code 4 is for a file that is no export, or a damaged one.
    assert!(matches!(output.status.code(), Some(1 | 4)), "{:?} {error}", output.status);
    assert!(error.contains(expected) && error.contains("nothing was imported"), "{error}");
    most
}

#[test]
#[cfg(target_os = "linux")]
fn a_line_without_end_is_refused_within_bounds() {
    let store = Store::new();
    // A file of 500 MB in one line, which takes no room on the disk.
    let file = store.path("long.jsonl");
    File::create(&file).unwrap().set_len(500_000_000).unwrap();
    for args in [["--format", "jsonl"], ["--format", "memory"]] {
        let mut command = store.command(&[["import", &file], args].concat());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let most = refused(child, "long.jsonl:1: the line is longer than 67108864 bytes");
        assert!(most < 250, "{args:?} took {most} MB");
        let child = piped(&store, &[args, ["-c", "talk"]].concat());
        let mut child = child;
        pour(child.stdin.take().unwrap(), io::repeat(b'y'));
        let most = refused(child, "standard input:1: the line is longer than 67108864 bytes");
        assert!(most < 250, "{args:?} took {most} MB of a pipe");
    }
    let error = store.fail(&["import", "--format", "jsonl", "--max-line", "1", &file], 1);
    assert!(error.contains("longer than 1048576 bytes") && error.contains("--max-line raises the limit"), "{error}");
    assert!(!fs::exists(store.path("store")).unwrap(), "nothing was made");
}

/// Lines without end.
struct Endless {
    line: Vec<u8>,
    at: usize,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        for byte in buffer.iter_mut() {
            *byte = self.line[self.at];
            self.at = (self.at + 1) % self.line.len();
        }
        Ok(buffer.len())
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_stream_without_end_is_refused_within_bounds() {
    let store = Store::new();
    let yes = || Endless { line: b"y\n".to_vec(), at: 0 };
    for args in [&["--format", "jsonl", "-c", "talk"][..], &[]] {
        let mut child = piped(&store, args);
        pour(child.stdin.take().unwrap(), yes());
        let most = refused(child, "standard input:1: ");
        assert!(most < 100, "{args:?} took {most} MB");
    }
    let mut child = piped(&store, &[]);
    pour(child.stdin.take().unwrap(), yes());
    refused(child, "a stream is read as an export unless --format says otherwise");
    // Each line is a message, and no end comes.
    let mut child = piped(&store, &["--format", "jsonl", "-c", "talk", "--max-piped", "64"]);
    let line = b"{\"role\":\"user\",\"content\":\"To Bergen?\"}\n".to_vec();
    pour(child.stdin.take().unwrap(), Endless { line, at: 0 });
    let (output, most) = ended(child);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("it goes on after 67108864 bytes") && error.contains("--max-piped"), "{error}");
    assert!(most < 100, "{most} MB");
    assert!(!fs::exists(store.path("store")).unwrap(), "nothing was made");
}

#[test]
fn plain_messages_come_through_standard_input() {
    let store = Store::new();
    let import = |lines: &str| {
        let mut child = piped(&store, &["--format", "jsonl", "-c", "talk", "--no-embed"]);
        child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stderr).unwrap()
    };
    import("{\"role\":\"user\",\"content\":\"To Bergen?\"}\n{\"role\":\"assistant\",\"content\":\"Gladly.\"}\n");
    assert_eq!(store.json(&["expand", "2"])["message"]["content"], "Gladly.");
    let mut unnamed = store.command(&["import", "-", "--format", "jsonl"]);
    let error = support::failure(unnamed.stdin(Stdio::null()), 2);
    assert!(error.contains("standard input has no name: name the conversation by --conversation"), "{error}");
}

#[test]
fn progress_of_a_piped_import_is_told_in_lines() {
    let store = Store::new();
    let mut child = piped(&store, &["--format", "jsonl", "-c", "talk", "--no-embed"]);
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut stdin = child.stdin.take().unwrap();
    let (told, is_told) = mpsc::channel();
    let writer = thread::spawn(move || {
        // More than the reader holds back before it looks at the lines.
        let lines = "{\"role\":\"user\",\"content\":\"To Bergen?\"}\n".repeat(2_000);
        loop {
            stdin.write_all(lines.as_bytes()).unwrap();
            match is_told.recv_timeout(Duration::from_millis(400)) {
                Err(RecvTimeoutError::Timeout) => {}
                _ => return,
            }
        }
    });
    let first = lines.next().unwrap().unwrap();
    told.send(()).unwrap();
    writer.join().unwrap();
    assert!(first.starts_with("reading: ") && first.len() < 20, "{first:?}");
    let rest: Vec<_> = lines.map(Result::unwrap).collect();
    assert!(rest.iter().filter(|line| line.starts_with("reading: ")).count() < 3, "{rest:?}");
    assert!(child.wait().unwrap().success());
}

/// A running import of many batches whose first is on disk.
fn running_import(store: &Store) -> Child {
    let file = store.file("long.jsonl", &support::messages(12_000));
    let mut command = store.command(&["import", "--no-embed", "--format", "jsonl", &file]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let log = store.path("store/log/0001.seg");
    let start = Instant::now();
    while fs::metadata(&log).map_or(0, |log| log.len()) < 70_000 {
        assert!(start.elapsed() < Duration::from_secs(60), "the import does not begin");
        thread::sleep(Duration::from_millis(1));
    }
    child
}

#[track_caller]
fn noticed(child: Child, expected: &str) {
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{:?} {error}", output.status);
    assert!(error.contains(expected), "{error}");
    assert!(error.contains("of 12000 messages and no more"), "{error}");
}

#[test]
fn a_log_that_is_removed_while_it_is_written_is_noticed() {
    let store = Store::new();
    let child = running_import(&store);
    fs::remove_dir_all(store.path("store/log")).unwrap();
    noticed(child, "it was deleted or replaced while it was open, and what was written to it is lost");
}

#[test]
fn a_horizon_that_is_cut_while_it_is_open_is_noticed() {
    let store = Store::new();
    let child = running_import(&store);
    File::options().write(true).open(store.path("store/HORIZON")).unwrap().set_len(0).unwrap();
    noticed(child, "its file HORIZON was deleted, replaced or cut while it was open");
    let verified = store.json(&["verify"]);
    assert_eq!(verified["nodes"], verified["verified"]);
    assert!(verified["damage"].as_array().unwrap().is_empty(), "{verified}");
    let file = store.path("long.jsonl");
    let completed = store.json(&["import", "--no-embed", "--format", "jsonl", &file]);
    assert_eq!(completed["conversations"][0]["nodes"], 12_000, "importing again completes it");
}

/// The binary under a limit of its address space, in KB.
#[cfg(target_os = "linux")]
fn within(store: &Store, limit: u64, args: &[&str]) -> Output {
    let command = store.command(args);
    let mut shell = std::process::Command::new("sh");
    shell.arg("-c").arg(format!("ulimit -v {limit}; exec \"$0\" \"$@\"")).arg(command.get_program());
    shell.args(command.get_args()).env("RUST_BACKTRACE", "0").output().unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn memory_that_is_refused_loses_nothing_that_was_reported() {
    let store = Store::new();
    let file = store.file("talk.jsonl", &support::messages(3_000));
    let import = ["import", "--no-embed", "--format", "jsonl", &file];
    // Below that the system cannot start the binary.
    let bare = (1..).map(|step| step * 2_000).find(|limit| within(&store, *limit, &["--version"]).status.success());
    let mut refused = 0;
    let mut limit = bare.unwrap();
    loop {
        let output = within(&store, limit, &import);
        if output.status.success() {
            break;
        }
        refused += 1;
        limit += 1_000;
        assert!(limit < 2_000_000, "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(refused > 3, "{refused} limits were too low");
    let verified = store.json(&["verify"]);
    assert_eq!((&verified["nodes"], &verified["verified"]), (&3_000.into(), &3_000.into()), "what was cut off went on");
}

#[test]
fn an_export_that_no_store_can_hold_imports_nothing() {
    let store = Store::new();
    let file = store.file("trip.jsonl", &support::messages(5));
    store.succeed(&["import", "--format", "jsonl", &file]);
    let export = store.succeed(&["export"]);
    let mut lines: Vec<_> = export.lines().map(str::to_owned).collect();
    let tags: Vec<_> = (0..100_000).map(|number| format!("tag-{number}")).collect();
    let mut header: serde_json::Value = serde_json::from_str(&lines[0]).unwrap();
    header["tags"] = tags.into();
    lines[0] = header.to_string();
    let mut closing: serde_json::Value = serde_json::from_str(&lines.pop().unwrap()).unwrap();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    closing["end"]["blake3"] = blake3::hash(text.as_bytes()).to_string().into();
    let forged = store.file("forged.jsonl", &format!("{text}{closing}\n"));
    let error = store.fail(&["import", "--as", "copy", &forged], 4);
    assert!(error.contains("its tags cannot be recorded") && error.contains("nothing was imported"), "{error}");
    assert_eq!(store.json(&["verify"])["conversations"].as_array().unwrap().len(), 1);
}

#[test]
fn the_same_file_is_imported_once_and_one_that_has_grown_goes_on() {
    let store = Store::new();
    let line = |text: &str| format!("{{\"role\":\"user\",\"content\":\"{text}\"}}\n");
    let day = [line("ok"), line("ok"), line("To Bergen?")].concat();
    let import = |name: &str, text: &str, more: &[&str]| {
        let file = store.file(name, text);
        store.json(&[&["import", "--format", "jsonl", "-c", "talk", &file], more].concat())
    };
    let new = |imported: &serde_json::Value| imported["conversations"][0]["new"].clone();
    let first = import("day.jsonl", &day, &[]);
    assert_eq!((new(&first), support::codes(&first)), (3.into(), Vec::new()), "words alone were asked for");
    let again = import("copy.jsonl", &day, &[]);
    assert_eq!(new(&again), 0);
    assert_eq!(again["notices"][0]["text"], "`talk` had all 3 messages before: nothing was appended");
    let grown = import("day.jsonl", &format!("{day}{}", line("ok")), &[]);
    assert_eq!(new(&grown), 1);
    assert_eq!(grown["notices"][0]["text"], "`talk` had 3 of 4 messages before; appended: 1");
    // Equal lines of another file are other messages.
    assert_eq!(new(&import("other.jsonl", &[line("Hi."), line("ok")].concat(), &[])), 2);
    assert_eq!(new(&import("day.jsonl", &day, &["--again"])), 3);
    assert_eq!(store.json(&["verify"])["nodes"], 9);
}
