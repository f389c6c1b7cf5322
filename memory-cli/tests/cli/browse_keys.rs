//! `memory browse` on a terminal, through the real binary in a pseudo terminal.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "whatever fails here fails a test")]

use std::{
    io::{Read, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};

use crate::support::{self, Store};

/// Time limit of one change of the screen on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(120);
const ROWS: usize = 24;
const COLUMNS: usize = 80;

/// Screen of a terminal after the output so far, by the sequences that `memory browse` uses.
struct Screen {
    cells: Vec<Vec<char>>,
    at: (usize, usize),
    /// The end of the output that is not a whole sequence yet.
    rest: Vec<u8>,
    /// All output.
    raw: String,
}

impl Screen {
    fn new() -> Self {
        Self { cells: vec![vec![' '; COLUMNS]; ROWS], at: (0, 0), rest: Vec::new(), raw: String::new() }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        let whole = str::from_utf8(&self.rest).map_or_else(|error| error.valid_up_to(), str::len);
        let text = String::from_utf8(self.rest[..whole].to_vec()).unwrap();
        self.raw.push_str(&text);
        let mut left = text.as_str();
        while let Some(c) = left.chars().next() {
            let Some(sequence) = left.strip_prefix("\u{1b}[") else {
                if c == '\u{1b}' && left.len() < 2 {
                    break;
                }
                self.put(c);
                left = &left[c.len_utf8()..];
                continue;
            };
            let Some(end) = sequence.find(|c: char| c.is_ascii_alphabetic()) else { break };
            let numbers: Vec<_> = sequence[..end].split(';').map(|n| n.parse::<usize>().unwrap_or(1)).collect();
            match &sequence[end..=end] {
                "H" => self.at = (numbers[0] - 1, numbers.get(1).map_or(0, |column| column - 1)),
                "J" => self.cells = vec![vec![' '; COLUMNS]; ROWS],
                _ => {}
            }
            left = &sequence[end + 1..];
        }
        let kept = left.len();
        self.rest.drain(..whole - kept);
        self.raw.truncate(self.raw.len() - kept);
    }

    fn put(&mut self, c: char) {
        match c {
            '\r' => self.at.1 = 0,
            '\n' => self.at.0 += 1,
            c => {
                if let Some(cell) = self.cells.get_mut(self.at.0).and_then(|row| row.get_mut(self.at.1)) {
                    *cell = c;
                }
                self.at.1 += 1;
            }
        }
    }

    fn text(&self) -> String {
        self.cells.iter().map(|row| row.iter().collect::<String>().trim_end().to_owned() + "\n").collect()
    }
}

/// A run of `memory browse` in a terminal of its own.
struct Run {
    child: Child,
    keys: ChildStdin,
    output: Receiver<Vec<u8>>,
    screen: Screen,
    pid_file: String,
}

impl Run {
    fn of(store: &Store, args: &str) -> Self {
        let pid_file = store.path("pid");
        let (memory, path) = (env!("CARGO_BIN_EXE_memory"), store.path("store"));
        let line = format!(
            "stty rows {ROWS} cols {COLUMNS}; echo $$ > '{pid_file}'; exec '{memory}' --store '{path}' --words-only browse {args}"
        );
        let mut command = Command::new("script");
        command.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm-256color").env("SHELL", "/bin/sh");
        command.env("EDITOR", "printf 'Edited by keys.' >").env_remove("VISUAL").env_remove("MEMORY_OWNER");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (keys, mut printed) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (send, output) = channel();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = printed.read(&mut buffer) {
                if send.send(buffer[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { child, keys, output, screen: Screen::new(), pid_file }
    }

    /// Waits until the screen is as it should be.
    fn wait(&mut self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        loop {
            let shown = self.screen.text();
            if is_so(&shown) {
                return shown;
            }
            match self.output.recv_timeout(PATIENCE) {
                Ok(bytes) => self.screen.take(&bytes),
                Err(error) => panic!("{what}: {error}\n{shown}"),
            }
        }
    }

    fn see(&mut self, text: &str) -> String {
        self.wait(text, |shown| shown.contains(text))
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    fn signal(&self, signal: &str) {
        let pid = std::fs::read_to_string(&self.pid_file).unwrap();
        support::success(Command::new("kill").args([signal, pid.trim()]));
    }

    /// Waits for the end; returns the exit code and all output.
    fn end(mut self) -> (Option<i32>, String) {
        while let Ok(bytes) = self.output.recv_timeout(PATIENCE) {
            self.screen.take(&bytes);
        }
        (self.child.wait().unwrap().code(), self.screen.raw)
    }
}

/// A store with a compacted conversation `trip`.
fn compacted() -> Store {
    let store = Store::new();
    let file = store.file("trip.jsonl", &support::messages(300));
    store.succeed(&["import", "--format", "jsonl", &file]);
    store
}

/// The terminal is given back: the screen that was there before, the cursor.
fn check_given_back(raw: &str) {
    let (entered, left) = (raw.rfind("\u{1b}[?1049h").unwrap(), raw.rfind("\u{1b}[?1049l").unwrap());
    assert!(entered < left && raw[left..].contains("\u{1b}[?25h"), "{raw:?}");
}

#[test]
fn keys_lead_through_the_levels_to_the_words_of_a_message_and_back() {
    let store = compacted();
    let mut run = Run::of(&store, "-c trip");
    // The last line is drawn last.
    let top = run.see("? help  q leave");
    assert!(top.contains("top of the tree · 300 messages") && top.contains("▸ ARCHIVE 1-"), "{top}");
    run.press("\r");
    run.see("› ARCHIVE 1-");
    run.press("\r");
    run.see("› META 1-");
    run.press("s");
    run.see("› messages 1");
    run.press("/platform \\d\r");
    let found = run.see("match 1 of 1");
    assert!(found.contains("message 7") && found.contains("from platform 9."), "{found}");
    run.press("?");
    run.see("source messages of a summary");
    run.press("?");
    run.see("› all messages");
    run.press("hhhh");
    run.wait("the top again", |shown| {
        shown.lines().next().is_some_and(|first| first.contains("trip › top of the tree ·"))
    });
    run.press("q");
    let (code, raw) = run.end();
    assert_eq!(code, Some(0), "{raw:?}");
    check_given_back(&raw);
}

#[test]
fn a_summary_is_rewritten_in_the_editor_and_dissolved_after_a_yes() {
    let store = compacted();
    let mut run = Run::of(&store, "");
    run.see("top of the tree");
    run.press("e");
    run.see("written by person");
    run.see("Edited by keys.");
    run.see("replaces");
    let archive = |field: &str| store.json(&["summaries", "--level", "archive"])["summaries"][0][field].clone();
    assert_eq!((archive("text"), archive("dissolved")), ("Edited by keys.".into(), false.into()));
    run.press("d");
    run.see("Its parts are shown in its place. y/n");
    run.press("n");
    run.see("stays as it is");
    run.press("dy");
    let parts = run.see("is dissolved");
    assert!(parts.contains("▸ META 1-") && !parts.contains("▸ ARCHIVE 1-"), "{parts}");
    assert_eq!(archive("dissolved"), true);
    run.press("\u{3}");
    let (code, raw) = run.end();
    assert_eq!(code, Some(0), "{raw:?}");
    check_given_back(&raw);
}

#[test]
fn a_signal_gives_the_terminal_back_and_a_stopped_program_goes_on() {
    let store = compacted();
    let mut run = Run::of(&store, "");
    run.see("top of the tree");
    run.press("\u{1a}");
    // `script` stops with the program, and each may be continued before it has stopped: until it goes on.
    run.screen.cells = vec![vec![' '; COLUMNS]; ROWS];
    while !(run.screen.raw.contains("\u{1b}[?1049l") && run.screen.text().contains("top of the tree")) {
        if let Ok(bytes) = run.output.recv_timeout(Duration::from_millis(100)) {
            run.screen.take(&bytes);
            continue;
        }
        support::success(Command::new("kill").args(["-CONT", &run.child.id().to_string()]));
        run.signal("-CONT");
    }
    run.signal("-TERM");
    let (code, raw) = run.end();
    assert_eq!(code, Some(128 + 15), "as the signal ends a program: {raw:?}");
    check_given_back(&raw);
}

#[test]
fn a_terminal_that_goes_away_ends_the_program() {
    let store = compacted();
    let mut run = Run::of(&store, "");
    run.see("top of the tree");
    let pid = std::fs::read_to_string(&run.pid_file).unwrap();
    let state = format!("/proc/{}/stat", pid.trim());
    // The other end of the terminal is closed with its process, as when a window is closed.
    run.child.kill().unwrap();
    run.child.wait().unwrap();
    let start = Instant::now();
    while std::fs::read_to_string(&state).is_ok_and(|state| !state.contains(") Z")) {
        assert!(start.elapsed() < PATIENCE, "it goes on without a terminal");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn no_text_of_a_message_steers_the_terminal() {
    const HOSTILE: &str = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}gnirts\u{200b}\u{feff} 日本語\tend";
    let store = Store::new();
    store.succeed(&["append", "-c", "one", "--speaker", "\u{1b}[5mAnn", HOSTILE]);
    store.succeed(&["title", "one", "\u{1b}[41mtitle\u{202e}"]);
    store.succeed(&["append", "-c", "two", "Hi."]);
    let mut run = Run::of(&store, "");
    run.see("Conversations");
    run.see("[41mtitle");
    run.press("G\r");
    run.see("top of the tree");
    run.press("c");
    run.see("Conversations");
    run.press("gjkG\r");
    run.see(r"\u{1b}]0;owned\u{7}");
    run.press("/\u{e9}[\r");
    run.see("é[");
    run.press("q");
    let (code, raw) = run.end();
    assert_eq!(code, Some(0), "{raw:?}");
    check_given_back(&raw);
    for sent in ["\u{1b}]0;", "\u{1b}[41mtitle", "\u{1b}[5m", "\u{9b}", "\u{202e}", "\u{200b}", "\u{feff}", "\u{7}"] {
        assert!(!raw.contains(sent), "{sent:?} was sent to the terminal");
    }
}

#[test]
fn a_pipe_and_an_option_give_the_table() {
    let store = compacted();
    assert!(store.succeed(&["browse"]).contains("nodes"));
    for args in ["--plain", "--limit 2", "--level meta", "--json"] {
        let run = Run::of(&store, args);
        let (code, raw) = run.end();
        assert_eq!(code, Some(0), "{raw:?}");
        assert!(raw.contains("ARCHIVE") || raw.contains("META"), "{args}: {raw}");
        assert!(!raw.contains("\u{1b}[?1049h"), "{args}: {raw:?}");
    }
}
