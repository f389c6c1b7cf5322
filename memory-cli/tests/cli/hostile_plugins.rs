//! Plugins that block or end the process that checks or uses them.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "whatever fails here fails a test")]

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::support::{self, Store};

/// Ends a test that would hang.
const LONG: Duration = Duration::from_secs(120);

/// The library that does harm while it is opened.
fn hostile(store: &Store) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../memory-plugins/fixtures/hostile/hostile.c");
    let library = store.path("hostile.so");
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o", &library]).arg(source).output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    library
}

fn check(store: &Store, library: &str, how: &str) -> Command {
    let mut command = support::memory();
    command.args(["--json", "plugins", "check", library, "--deadline", "1"]);
    command.env("HOSTILE", how).env("HOSTILE_PID", store.path("pid"));
    command
}

/// Output of a command that must end.
fn ended(mut command: Command) -> Output {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until(|| child.try_wait().unwrap().is_some(), || panic!("{command:?} does not end"));
    child.wait_with_output().unwrap()
}

fn wait_until(mut is_so: impl FnMut() -> bool, or: impl FnOnce()) {
    let begin = Instant::now();
    while !is_so() {
        if begin.elapsed() > LONG {
            return or();
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// The verdicts on a library that is bad.
fn verdicts(command: Command) -> Vec<(String, String, String)> {
    let output = ended(command);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |finding: &Value, key: &str| finding.get(key).and_then(Value::as_str).unwrap().to_owned();
    let of = |finding: &Value| (text(finding, "check"), text(finding, "verdict"), text(finding, "why"));
    value.get("checks").and_then(Value::as_array).unwrap().iter().map(of).collect()
}

fn is_alive(pid: &str) -> bool {
    // A process that has ended and was not waited for is none.
    let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    state.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

/// The number that the library wrote down.
fn noted(store: &Store) -> String {
    let read = || fs::read_to_string(store.path("pid")).unwrap_or_default();
    wait_until(|| read().ends_with('\n'), || panic!("no process was noted"));
    read().trim().to_owned()
}

#[test]
fn an_exit_with_0_does_not_count() {
    let store = Store::new();
    let verdicts = verdicts(check(&store, &hostile(&store), "exit"));
    assert_eq!(verdicts.len(), 9, "{verdicts:?}");
    assert!(verdicts.iter().all(|(_, verdict, _)| verdict != "kept"), "{verdicts:?}");
    let (check, verdict, why) = &verdicts[0];
    assert_eq!((check.as_str(), verdict.as_str()), ("configuration", "broken"));
    assert!(why.contains("it ended the process: exit status: 0"), "{why}");
}

#[test]
fn a_plugin_that_never_ends_while_it_is_opened_is_ended() {
    let store = Store::new();
    let library = hostile(&store);
    for how in ["loop", "close"] {
        let verdicts = verdicts(check(&store, &library, how));
        assert!(verdicts[0].2.contains("gave no answer in time"), "{verdicts:?}");
    }
    assert!(!is_alive(&noted(&store)));
}

#[test]
fn endless_output_is_neither_kept_nor_waited_for() {
    let store = Store::new();
    let library = hostile(&store);
    let verdicts = verdicts(check(&store, &library, "flood"));
    assert!(verdicts[0].2.contains("gave no answer in time"), "{verdicts:?}");
}

/// A directory with the summarizer that misbehaves as its configuration names.
fn plugins(store: &Store) -> String {
    let plugins = store.path("plugins");
    fs::create_dir(&plugins).unwrap();
    let library = support::plugin("memory-plugin-fixture-misbehaves");
    fs::copy(&library, store.path(&format!("plugins/{}", library.file_name().unwrap().display()))).unwrap();
    plugins
}

/// An import of 60 messages with the plugin behaving so.
fn import(store: &Store, conduct: &str, messages: &str) -> Command {
    let plugins = plugins(store);
    let file = store.file("trip.jsonl", messages);
    let configuration = format!(r#"misbehaves-00={{"conduct":"{conduct}"}}"#);
    let args = ["--plugins", &plugins, "--summarizer", "misbehaves-00", "--configure", &configuration];
    store.command(&[&args[..], &["import", "--format", "jsonl", &file]].concat())
}

fn writers(store: &Store) -> Vec<String> {
    let browsed = store.json(&["browse", "--level", "summary", "--limit", "100"]);
    let entries = browsed.get("entries").and_then(Value::as_array).unwrap();
    let part = |entry: &Value, name: &str| Some(entry.get("written_by")?.get(name)?.as_str()?.to_owned());
    let writer = |entry| Some(format!("{} {}", part(entry, "strategy")?, part(entry, "version")?));
    entries.iter().filter_map(writer).collect()
}

#[test]
fn a_job_at_which_a_plugin_fails_is_answered_by_the_fallback_and_the_cause_is_said_once() {
    let store = Store::new();
    let output = ended(import(&store, "fail at times", &support::messages(60)));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    assert_eq!(said.matches("a strategy failed and its fallback answered").count(), 1, "{said}");
    assert!(said.contains("misbehaves-00 0.1.0") && said.contains("not call 3"), "{said}");
    let writers = writers(&store);
    let theirs = writers.iter().filter(|writer| writer.starts_with("misbehaves-00 0.1.0+")).count();
    let ours = writers.len() - theirs;
    assert!(ours > 0 && theirs > 2 * ours, "the fallback answers what failed and nothing else: {writers:?}");
}

#[test]
fn a_plugin_that_always_fails_stops_no_import() {
    let store = Store::new();
    let output = ended(import(&store, "panic", &support::messages(60)));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    let writers = writers(&store);
    assert!(!writers.is_empty() && writers.iter().all(|writer| !writer.starts_with("misbehaves")), "{writers:?}");
}

#[test]
fn a_secret_that_a_plugin_tells_stands_in_no_summary() {
    let store = Store::new();
    let secret = r#"{"role":"user","content":"My number is QX-4471-93B. Keep that out of any summary."}"#;
    let output = ended(import(&store, "tell a secret", &format!("{secret}\n{}", support::messages(60))));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let writers = writers(&store);
    assert!(writers.iter().any(|writer| writer.starts_with("misbehaves")), "{writers:?}");
    for level in ["summary", "meta"] {
        let browsed = store.succeed(&["--json", "browse", "--level", level, "--limit", "100"]);
        assert!(!browsed.contains("4471"), "{browsed}");
    }
}

#[test]
fn text_without_end_that_a_plugin_wants_counted_holds_nobody() {
    let store = Store::new();
    let output = ended(import(&store, "have 180 MB counted", &support::messages(60)));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn destructors_that_never_return_keep_no_command_from_ending() {
    let store = Store::new();
    let output = ended(import(&store, "hang when dropped", &support::messages(60)));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
