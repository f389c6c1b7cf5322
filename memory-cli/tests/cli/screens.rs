//! The binary on a terminal of 80 columns, in a pseudo terminal.
#![expect(clippy::unwrap_used, reason = "whatever fails here fails a test")]

use std::process::{Command, Stdio};

use crate::support::{self, Store};

const COLUMNS: usize = 80;

/// Lines of a terminal, errors included, after a run of the binary on a store.
fn screen(store: &Store, args: &[&str]) -> Vec<String> {
    screen_of(&store.command(args))
}

fn screen_of(command: &Command) -> Vec<String> {
    let quoted = |word: &std::ffi::OsStr| format!("'{}'", word.to_str().unwrap().replace('\'', r"'\''"));
    let words: Vec<_> = std::iter::once(command.get_program()).chain(command.get_args()).map(quoted).collect();
    let script = format!("stty cols {COLUMNS} rows 24; exec {}", words.join(" "));
    let mut run = Command::new("script");
    run.args(["-qec", &script, "/dev/null"]).env("NO_COLOR", "1").stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => run.env(name, value),
            None => run.env_remove(name),
        };
    }
    let output = run.env_remove("COLUMNS").output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(|line| line.trim_end_matches('\r').to_owned()).collect()
}

/// Conversations with names as agents make them, of some length and with summaries.
fn filled() -> Store {
    let store = Store::new();
    for (id, messages) in [("0198f2c4-5a1b-7c3d-9e8f-00112233aabb", 60), ("0198f2c4-77aa-7c3d-9e8f-00112233ccdd", 3)] {
        let file = store.file(&format!("{id}.jsonl"), &support::messages(messages));
        store.succeed(&["import", "--format", "jsonl", &file]);
    }
    let id = "0198f2c4-5a1b-7c3d-9e8f-00112233aabb";
    store.succeed(&["context", "-c", id, "--budget", "900", "When does the train leave?"]);
    store.succeed(&["disable", "-c", id, "3"]);
    store
}

/// The pager gets what is longer than the screen and nothing else; without the pager all is printed.
#[test]
fn an_output_longer_than_the_screen_is_paged() {
    let store = filled();
    let paged = |args: &[&str], pager: &str| screen_of(store.command(args).env("MEMORY_PAGER", pager));
    let long = ["context", "--help"];
    let whole = screen(&store, &long);
    assert!(whole.len() >= 24, "{whole:?}");
    assert_eq!(paged(&long, "head -n 2"), whole[..2]);
    assert_eq!(paged(&long, "no-such-pager -x"), whole);
    let messages = ["show", "0198f2c4-5a1b-7c3d-9e8f-00112233aabb"];
    let (all, first) = (screen(&store, &messages), paged(&messages, "head -n 2"));
    assert!(first.iter().all(|line| all.contains(line)) && first.len() < all.len() / 2, "{first:?}");
    let short = screen(&store, &["list"]);
    assert!(short.len() < 24, "{short:?}");
    assert_eq!(paged(&["list"], "head -n 1"), short);
}

/// Help of every command and the list of commands fit the width.
#[test]
fn help_fits_a_terminal() {
    let mut asked: Vec<Vec<String>> = vec![vec!["help".into()], vec!["help".into(), "options".into()]];
    asked.extend(
        support::commands().iter().map(|name| name.split(' ').map(str::to_owned).chain(["--help".into()]).collect()),
    );
    for args in asked {
        let args: Vec<_> = args.iter().map(String::as_str).collect();
        let lines = screen_of(support::memory().args(&args));
        assert!(lines.len() > 3 && !lines[0].starts_with("error"), "{args:?}: {lines:?}");
        for line in lines.iter().filter(|line| !line.starts_with("Usage: ")) {
            assert!(line.chars().count() <= COLUMNS, "{args:?}: {line}");
        }
    }
}

/// Words of what a pipe gets are whole on a terminal, ids by a beginning and times to the minute, and no line is wider.
#[test]
fn what_is_listed_fits_a_terminal() {
    let store = filled();
    let id = "0198f2c4-5a1b-7c3d-9e8f-00112233aabb";
    let commands: [&[&str]; 15] = [
        &["list"],
        &["stats"],
        &["stats", "--over-time", "--by", "day"],
        &["stats", "-c", id],
        &["replay", "-c", id],
        &["summaries", "list", "-c", id],
        &["sessions", "show", id],
        &["search", "platform of the train"],
        &["find", "platform"],
        &["find", "river"],
        &["browse", "--plain", "-c", id],
        &["verify"],
        &["retention", "show"],
        &["plugins", "list"],
        &["model", "list"],
    ];
    for args in commands {
        let lines = screen(&store, args);
        for line in &lines {
            assert!(line.chars().count() <= COLUMNS, "{args:?}: {} columns: {line}", line.chars().count());
            assert!(!line.contains("T0") && !line.contains("T2"), "{args:?}: {line}");
        }
        // A part of a number would be no word of the whole output.
        let output = store.command(args).output().unwrap();
        let piped = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        let is_number = |word: &&str| word.chars().all(|c| c.is_ascii_digit() || c == ',');
        for word in lines.iter().flat_map(|line| line.split_whitespace()).filter(is_number) {
            assert!(piped.split_whitespace().any(|whole| whole == word), "{args:?}: {word} is a part of a number");
        }
    }
    let list = screen(&store, &["list"]);
    assert!(list[1].starts_with("0198f2c4-5a1b "), "{list:?}");
    let by_beginning = store.succeed(&["show", "0198f2c4-5a1b", "7"]);
    assert!(by_beginning.contains("platform 9"), "{by_beginning}");
}

#[test]
fn a_terminal_shows_times_to_the_minute() {
    let store = filled();
    let id = "0198f2c4-5a1b";
    for args in
        [&["show", id, "7"][..], &["expand", "-c", id, "7"], &["disable", "-c", id, "--list"], &["show", id, "--state"]]
    {
        let shown = screen(&store, args).join("\n");
        let has_time = shown.contains("2023-11-14 22:20") || shown.contains(" 2026-") || shown.contains("2023-11-14 ");
        assert!(has_time && !shown.contains("Z"), "{args:?}: {shown}");
    }
    assert!(store.succeed(&["show", id, "7"]).contains("2023-11-14T22:20:20Z"), "a pipe has the exact time");
}
