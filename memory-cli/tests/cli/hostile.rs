//! Hostile text, printed through every command: nothing of it reaches a terminal raw, and no field makes a line.
#![expect(clippy::unwrap_used, clippy::panic, reason = "whatever fails here fails a test")]

use std::{
    collections::BTreeSet,
    fs,
    io::{Read, Write},
    net::TcpListener,
    path::Path,
    process::{Command, Output, Stdio},
    thread,
};

use serde_json::Value;

use crate::{
    models::model,
    support::{Store, commands, memory, messages},
};

/// Control and invisible characters, which the golden store below has, with a zero byte, in every text of a store.
const H: &str =
    "\u{1b}[31m\u{7}\u{9b}2J\u{7f}\u{202e}\u{2066}\u{200b}\u{200d}\u{feff}\u{ad}\u{2028}\u{2029}\u{e0041}\r\nFORGED";
const HIDDEN_NAME: &str = "\u{202e}\u{200b}\u{2066}\u{feff}\u{e0041}hidden";

/// A table of its own, apart from the one that is tested.
fn is_raw(c: char) -> bool {
    let hidden = matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{e0000}'..='\u{e0fff}'
    );
    hidden || (c.is_control() && c != '\n' && c != '\t')
}

/// The golden store whose names, messages, summaries, topics, titles and tags are hostile.
fn hostile_store() -> Store {
    let store = Store::new();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../memory-store/tests/golden/format-1-names");
    fs::create_dir_all(store.path("store/log")).unwrap();
    for file in ["FORMAT", "log/0001.seg"] {
        fs::copy(golden.join(file), store.path(&format!("store/{file}"))).unwrap();
    }
    store
}

fn isolated(store: &Store, command: &mut Command) {
    command.env("HOME", store.path("")).env("XDG_CACHE_HOME", store.path("cache")).current_dir(store.path(""));
    command.env("MEMORY_MODELS", store.path("models")).env("AWS_EC2_METADATA_DISABLED", "true");
}

fn check(what: &dyn std::fmt::Debug, output: &Output, is_body: bool) {
    assert!(output.status.code().is_some_and(|code| code != 101), "{what:?}: {:?}", output.status);
    for (stream, bytes, may_have_lines) in [("stdout", &output.stdout, is_body), ("stderr", &output.stderr, false)] {
        let text = str::from_utf8(bytes).unwrap();
        let raw = text.char_indices().find(|(_, c)| is_raw(*c));
        assert_eq!(raw, None, "{what:?} {stream}: {text:?}");
        let forged = text.lines().any(|line| line.trim_start().starts_with("FORGED"));
        assert!(may_have_lines || !forged, "{what:?} {stream} has a line that a field made: {text}");
    }
}

/// Runs a command on the store, as it is and with `--json`.
fn run(store: &Store, args: &[&str], is_body: bool) -> Output {
    for json in [true, false] {
        let mut command =
            if args.contains(&"openai:stub?dimensions=4") { store.hybrid(args) } else { store.command(args) };
        isolated(store, &mut command);
        if json {
            command.arg("--json");
        }
        let output = command.output().unwrap();
        check(&command, &output, is_body && !json);
        if json && output.status.success() {
            serde_json::from_slice::<Value>(&output.stdout).unwrap_or_else(|error| panic!("{command:?}: {error}"));
        } else if !json {
            return output;
        }
    }
    panic!("the last run is without --json");
}

fn succeed(store: &Store, args: &[&str], is_body: bool) -> String {
    let output = run(store, args, is_body);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn refused(store: &Store, args: &[&str]) -> String {
    let output = run(store, args, false);
    assert!(!output.status.success(), "{args:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// Calls a hook of an agent with a transcript whose texts and names are hostile.
fn hook(store: &Store, agent: &str) {
    let transcript = store.path("s.jsonl");
    let line = serde_json::json!({"type": "user", "uuid": H, "sessionId": H, "cwd": H, "timestamp": H,
        "message": {"role": "user", "content": H}, "payload": {"type": "message", "role": "user",
        "content": [{"type": "input_text", "text": H}]}});
    fs::write(&transcript, format!("{line}\n{}\n", line.to_string().replace("\"user\"", "\"response_item\""))).unwrap();
    for (kind, path) in [("Stop", transcript.as_str()), ("SessionStart", H), (H, H), ("SessionStart", "/none.jsonl")] {
        let event = serde_json::json!({"hook_event_name": kind, "transcript_path": path, "cwd": H, "source": H});
        for flags in [&[] as &[&str], &["--strict"], &["--json"]] {
            let mut command = store.command(&[&["hook", agent], flags].concat());
            isolated(store, &mut command);
            let event = store.file("event.json", &event.to_string());
            let output = command.stdin(fs::File::open(event).unwrap()).output().unwrap();
            check(&command, &output, false);
        }
    }
}

/// Changes settings of an agent that hold hostile text, and takes that back.
fn installed(store: &Store, what: &str) {
    let settings = serde_json::json!({"a": H, "hooks": {"Stop": [{"matcher": H, "hooks": [{"command": H}]}]}});
    fs::create_dir_all(store.path(".claude")).unwrap();
    let settings = store.file(".claude/settings.json", &format!("{settings:#}"));
    succeed(store, &["hook", "install", "claude-code", "--yes"], false);
    succeed(store, &["hook", what, "claude-code", "--dry-run"], false);
    succeed(store, &["hook", what, "claude-code", "--yes"], false);
    fs::write(settings, H).unwrap();
    refused(store, &["hook", what, "claude-code", "--yes"]);
    refused(store, &["hook", what, H]);
}

/// A configuration file whose keys, tables, texts and name are hostile.
fn hostile_configuration(store: &Store) -> String {
    let text = Value::from(H).to_string().replace('\u{7f}', "\\u007f");
    let lines = format!(
        "{text} = {text}\nvectors = {text}\n[{text}]\n[mcp]\n{text} = 1\nprofile = {text}\n[configure.{text}]\nx = 1\n= {H}\n"
    );
    store.file(&format!("{H}.toml"), &lines)
}

/// A case for each command; a command without one fails the test below.
type Case = (&'static str, fn(&Store));

const CASES: &[Case] = &[
    ("hook claude-code", |store| hook(store, "claude-code")),
    ("hook codex", |store| hook(store, "codex")),
    ("hook install", |store| installed(store, "install")),
    ("hook uninstall", |store| installed(store, "uninstall")),
    ("watch", |store| {
        let line =
            serde_json::json!({"type": "user", "uuid": H, "sessionId": H, "message": {"role": "user", "content": H}});
        fs::create_dir(store.path(H)).unwrap();
        store.file(&format!("{H}/{H}.jsonl"), &format!("{line}\n"));
        succeed(store, &["watch", "--once", &store.path(H)], false);
        refused(store, &["watch", "--once", &store.path(&format!("{H}none"))]);
    }),
    ("import", |store| {
        let file = store.file(&format!("{H}.jsonl"), &messages(3));
        assert!(refused(store, &["import", "--format", "jsonl", &file]).contains("cannot name a conversation"));
        refused(store, &["import", "--format", "jsonl", "--conversation", &H.replace(char::is_control, ""), &file]);
        refused(store, &["import", &file]);
        refused(store, &["import", "--format", H, &file]);
        refused(store, &["import", "--format", "jsonl", &store.path(&format!("{H}missing"))]);
        let said = format!("{}\n", serde_json::json!({"role": "user", "speaker": H, "content": H}));
        let file = store.file(&format!("{H}said"), &said);
        succeed(store, &["import", "--format", "jsonl", "--conversation", "said", &file], false);
        let bad = store.file("bad.jsonl", &format!("{{\"role\": \"{}\"}}\n", "\u{202e}\u{9b}"));
        refused(store, &["import", "--format", "jsonl", &bad]);
        let export = store.path(&format!("{H}.export"));
        succeed(store, &["export", "--force", "--conversation", HIDDEN_NAME, "--output", &export], false);
        let other = store.path("other");
        assert!(refused(store, &["import", "--store", &other, &export]).contains("\\u{202e} at byte 0"));
        succeed(store, &["import", "--store", &other, "--conversation", "fit", &export], false);
    }),
    ("add", |store| {
        let file = store.file(HIDDEN_NAME, H);
        succeed(store, &["add", &file], false);
        refused(store, &["add", H]);
    }),
    ("note", |store| {
        succeed(store, &["note", "--conversation", HIDDEN_NAME, "1", "--name", H], false);
        refused(store, &["note", "--conversation", HIDDEN_NAME, H]);
    }),
    ("append", |store| {
        succeed(store, &["append", "--conversation", HIDDEN_NAME, "--speaker", H, H], false);
        refused(store, &["append", "--conversation", H, "x"]);
        for option in ["--role", "--at", "--metadata"] {
            refused(store, &["append", "--conversation", HIDDEN_NAME, option, H, "x"]);
        }
    }),
    ("list", |store| {
        succeed(store, &["tag", HIDDEN_NAME, "--add", H], false);
        succeed(store, &["title", HIDDEN_NAME, H], false);
        succeed(store, &["list"], false);
        succeed(store, &["list", "--tag", H], false);
        refused(store, &["list", "--limit", H]);
    }),
    ("show", |store| {
        succeed(store, &["show", HIDDEN_NAME], true);
        refused(store, &["show", H]);
        refused(store, &["show", HIDDEN_NAME, H]);
    }),
    ("pin", |store| {
        succeed(store, &["pin", HIDDEN_NAME, "1"], false);
        refused(store, &["pin", H, "1"]);
        refused(store, &["pin", HIDDEN_NAME, H]);
    }),
    ("tag", |store| {
        succeed(store, &["tag", HIDDEN_NAME, "--add", H], false);
        succeed(store, &["tag", HIDDEN_NAME, "--remove", &format!("{H}x")], false);
        refused(store, &["tag", H]);
    }),
    ("set", |store| {
        succeed(
            store,
            &["set", HIDDEN_NAME, "--title", H, "--tag", H, "--untag", &format!("{H}x"), "--pin", "1"],
            false,
        );
        succeed(store, &["set", H], false);
        refused(store, &["set", HIDDEN_NAME, "--pin", H]);
    }),
    ("mark", |store| {
        succeed(store, &["mark", HIDDEN_NAME, "important"], false);
        succeed(store, &["mark", HIDDEN_NAME], false);
        refused(store, &["mark", H]);
        refused(store, &["mark", HIDDEN_NAME, H]);
    }),
    ("resume", |store| {
        succeed(store, &["resume", HIDDEN_NAME], true);
        let asked = format!("We decided to {H} the harbour. Which {H} harbour is it?");
        succeed(store, &["append", "--conversation", HIDDEN_NAME, "--speaker", H, &asked], false);
        succeed(store, &["resume", HIDDEN_NAME], true);
        refused(store, &["resume", H]);
    }),
    ("title", |store| {
        succeed(store, &["title", HIDDEN_NAME, H], false);
        // The hostile title names the conversation from now on.
        succeed(store, &["title", H], false);
    }),
    ("export", |store| {
        succeed(store, &["export", "--force", "--all", "--output", &store.path(&format!("{H}all"))], false);
        refused(store, &["export", "--conversation", H]);
    }),
    ("context", |store| {
        succeed(store, &["context", "--conversation", HIDDEN_NAME, "--budget", "2000", "which platform?"], true);
        succeed(store, &["context", "--conversation", HIDDEN_NAME, "--explain", &format!("ferry {H}")], true);
        refused(store, &["context", "--conversation", HIDDEN_NAME, "--as-of", H]);
        refused(store, &["context", "--conversation", HIDDEN_NAME, "--least-share", H, "ferry"]);
    }),
    ("replay", |store| {
        succeed(store, &["context", "--conversation", HIDDEN_NAME, &format!("ferry {H}")], true);
        succeed(store, &["replay", "--conversation", HIDDEN_NAME], false);
        succeed(store, &["replay", "--conversation", HIDDEN_NAME, "v1", "--explain"], true);
        succeed(store, &["replay", "--conversation", HIDDEN_NAME, "--check"], false);
        refused(store, &["replay", "--conversation", HIDDEN_NAME, H]);
    }),
    ("fork", |store| {
        refused(store, &["fork", HIDDEN_NAME, "--at", "2"]);
        refused(store, &["fork", HIDDEN_NAME, "--as", H]);
        let mut forks = ["plain", "another"].map(|name| store.command(&["fork", HIDDEN_NAME, "--as", name]));
        check(&"fork", &forks[0].output().unwrap(), false);
        check(&"fork --json", &forks[1].arg("--json").output().unwrap(), false);
    }),
    ("search", |store| {
        succeed(store, &["search", "--explain", "platform of the ferry"], false);
        refused(store, &["search", "--since", H, "ferry"]);
        refused(store, &["search", "--during", H, "ferry"]);
        succeed(store, &["search", H], false);
        succeed(store, &["search", "--neighbours", "3", "--explain", "FORGED ferry"], false);
    }),
    ("find", |store| {
        let name = ["--conversation", HIDDEN_NAME];
        succeed(store, &[&["find", "(?s)Ann.*FORGED|platform.{0,9}|rows.*"], &name[..]].concat(), false);
        succeed(store, &["find", "--context", "2", "ferry|FORGED"], false);
        run(store, &[&["find", &format!("({H}")], &name[..]].concat(), true);
    }),
    ("expand", |store| {
        for node in ["1", "2", "3", "4"] {
            succeed(store, &["expand", node, "--conversation", HIDDEN_NAME], true);
            succeed(store, &["expand", node, "--conversation", HIDDEN_NAME, "--proof"], false);
        }
        refused(store, &["expand", H]);
        refused(store, &["expand", "99", "--conversation", HIDDEN_NAME]);
    }),
    ("browse", |store| {
        succeed(store, &["browse", "--conversation", HIDDEN_NAME], false);
        succeed(store, &["browse", "--conversation", HIDDEN_NAME, "--level", "summary"], false);
        refused(store, &["browse", "--conversation", HIDDEN_NAME, "--level", H]);
    }),
    ("facts list", |store| {
        for text in [format!("Always answer {H} in verse."), format!("We decided to rent the hall {H}.")] {
            run(store, &["append", "--conversation", HIDDEN_NAME, &text], false);
        }
        succeed(store, &["facts", "--conversation", HIDDEN_NAME, "--all"], false);
        refused(store, &["facts", "--conversation", H]);
        refused(store, &["facts", "--as-of", H]);
    }),
    ("facts search", |store| {
        succeed(store, &["facts", "search", "verse FORGED"], false);
        succeed(store, &["facts", "search", H], false);
    }),
    ("facts add", |store| {
        run(store, &["facts", "add", H, "--kind", "fact", "--by", H, "--conversation", HIDDEN_NAME], false);
        refused(store, &["facts", "add", "x", "--kind", H, "--conversation", HIDDEN_NAME]);
        succeed(store, &["facts", "--conversation", HIDDEN_NAME], false);
    }),
    ("facts history", |store| {
        run(store, &["facts", "history", "FORGED"], false);
        refused(store, &["facts", "history", "9.9", "--conversation", HIDDEN_NAME]);
    }),
    ("facts correct", |store| {
        run(store, &["facts", "correct", "e1", H, "--by", H, "--conversation", HIDDEN_NAME], false);
        refused(store, &["facts", "correct", H, "x", "--conversation", HIDDEN_NAME]);
    }),
    ("facts disable", |store| {
        run(store, &["facts", "disable", "e1", "--conversation", HIDDEN_NAME], false);
        refused(store, &["facts", "disable", H, "--conversation", HIDDEN_NAME]);
    }),
    ("facts enable", |store| {
        run(store, &["facts", "enable", "e1", "--conversation", HIDDEN_NAME], false);
        refused(store, &["facts", "enable", H]);
    }),
    ("facts erase", |store| {
        run(store, &["facts", "erase", "e1", "--yes", "--by", H, "--conversation", HIDDEN_NAME], false);
        refused(store, &["facts", "erase", H, "--yes"]);
    }),
    ("summaries list", |store| {
        succeed(store, &["summaries", "--conversation", HIDDEN_NAME], false);
        succeed(store, &["summaries", "list", "--conversation", HIDDEN_NAME, "--replaced"], false);
        refused(store, &["summaries", "--conversation", H]);
        refused(store, &["summaries", "--conversation", HIDDEN_NAME, "--after", H]);
    }),
    ("summaries rewrite", |store| {
        run(store, &["summaries", "rewrite", "1", H, "--by", H, "--conversation", HIDDEN_NAME], false);
        refused(store, &["summaries", "rewrite", H, "x", "--conversation", HIDDEN_NAME]);
        refused(store, &["summaries", "rewrite", "1", "--file", H, "--conversation", HIDDEN_NAME]);
        succeed(store, &["summaries", "--conversation", HIDDEN_NAME], false);
    }),
    ("summaries dissolve", |store| {
        refused(store, &["summaries", "dissolve", "99", "--conversation", HIDDEN_NAME]);
        refused(store, &["summaries", "dissolve", H, "--conversation", HIDDEN_NAME]);
    }),
    ("sessions list", |store| {
        succeed(store, &["sessions"], false);
        succeed(store, &["sessions", "list", "--tag", H], false);
    }),
    ("sessions show", |store| {
        succeed(store, &["sessions", "show", HIDDEN_NAME], true);
        refused(store, &["sessions", "show", H]);
    }),
    ("sessions create", |store| {
        for (name, json) in [("one", false), ("two", true)] {
            let mut command = store.command(&["sessions", "create", name, H, "--title", H, "--tag", H]);
            isolated(store, &mut command);
            if json {
                command.arg("--json");
            }
            let output = command.output().unwrap();
            check(&command, &output, false);
        }
        refused(store, &["sessions", "create", H, "x"]);
    }),
    ("sessions archive", |store| {
        succeed(store, &["sessions", "archive", HIDDEN_NAME], false);
        refused(store, &["sessions", "archive", H]);
    }),
    ("sessions unarchive", |store| {
        succeed(store, &["sessions", "unarchive", HIDDEN_NAME], false);
        refused(store, &["sessions", "unarchive", H]);
    }),
    ("resummarize", |store| {
        run(store, &["resummarize", HIDDEN_NAME], false);
        refused(store, &["resummarize", H]);
        refused(store, &["resummarize", HIDDEN_NAME, "--nodes", H]);
        refused(store, &["resummarize", HIDDEN_NAME, "--nodes", "1-99"]);
        refused(store, &["resummarize", HIDDEN_NAME, "--level", H]);
    }),
    ("index", |store| {
        succeed(store, &["index"], false);
        refused(store, &["index", "--conversation", H]);
    }),
    ("stats", |store| {
        succeed(store, &["stats"], false);
    }),
    ("verify", |store| {
        succeed(store, &["verify"], false);
        store.flip("platform 9");
        refused(store, &["verify"]);
        refused(store, &["verify", "--conversation", HIDDEN_NAME]);
    }),
    ("disable", |store| {
        refused(store, &["disable", "-c", H, "1"]);
        refused(store, &["disable", "-c", HIDDEN_NAME, H]);
        run(store, &["disable", "-c", HIDDEN_NAME, "1", "--by", H], false);
        run(store, &["disable", "-c", HIDDEN_NAME, "--list"], false);
        run(store, &["disable", "--matching", H], false);
    }),
    ("quarantine", |store| {
        refused(store, &["quarantine", H]);
        run(store, &["quarantine", &format!("tool:{H}"), "--by", H], false);
        run(store, &["quarantine", &format!("conversation:{HIDDEN_NAME}"), "--by", H], false);
        succeed(store, &["quarantine", "--list"], false);
    }),
    ("provenance", |store| {
        succeed(store, &["provenance", "-c", HIDDEN_NAME, "1"], false);
        refused(store, &["provenance", "-c", H, "1"]);
        refused(store, &["provenance", "-c", HIDDEN_NAME, H]);
    }),
    ("retention set", |store| {
        refused(store, &["retention", "set", "-c", H, "--messages", "3"]);
        refused(store, &["retention", "set", "--messages", H]);
        run(store, &["retention", "set", "--tag", H, "--messages", "3"], false);
    }),
    ("retention show", |store| {
        run(store, &["retention", "set", "--tag", H, "--messages", "3"], false);
        succeed(store, &["retention", "show"], false);
    }),
    ("retention run", |store| {
        run(store, &["retention", "set", "-c", HIDDEN_NAME, "--messages", "3", "--erase"], false);
        run(store, &["retention", "run", "--dry-run"], false);
    }),
    ("enable", |store| {
        refused(store, &["enable", "-c", H, "--all"]);
        run(store, &["enable", "-c", HIDDEN_NAME, "--all", "--by", H], false);
        run(store, &["enable", "--matching", H], false);
    }),
    ("erase", |store| {
        refused(store, &["erase", "-c", HIDDEN_NAME, "1"]);
        run(store, &["erase", "-c", HIDDEN_NAME, "1", "--yes", "--by", H], false);
        run(store, &["erase", "--matching", "platform", "--yes"], false);
        run(store, &["erase", "--matching", H, "--yes"], false);
        refused(store, &["erase", "-c", H, "1", "--yes"]);
        refused(store, &["erase", "-c", HIDDEN_NAME, H, "--yes"]);
        run(store, &["erase", "-c", HIDDEN_NAME, "--document", H, "--yes"], false);
        refused(store, &["erase", "-c", HIDDEN_NAME, "2", "--yes", "--backup", &store.path(H)]);
        run(store, &["erase", "-c", HIDDEN_NAME, "--all", "--yes"], false);
    }),
    ("forget", |store| {
        refused(store, &["forget", HIDDEN_NAME]);
        refused(store, &["forget", H, "--yes"]);
        run(store, &["forget", HIDDEN_NAME, "--yes"], false);
    }),
    ("receipt list", |store| {
        run(store, &["erase", "-c", HIDDEN_NAME, "--all", "--yes", "--by", H], false);
        succeed(store, &["receipt", "list"], false);
    }),
    ("receipt show", |store| {
        run(store, &["erase", "-c", HIDDEN_NAME, "1", "--yes", "--by", H], false);
        succeed(store, &["receipt", "show"], false);
        refused(store, &["receipt", "show", H]);
    }),
    ("receipt verify", |store| {
        run(store, &["erase", "-c", HIDDEN_NAME, "1", "--yes", "--by", H], false);
        succeed(store, &["receipt", "verify"], false);
        refused(store, &["receipt", "verify", H]);
    }),
    ("doctor", |store| {
        succeed(store, &["doctor"], false);
        store.flip("platform 9");
        refused(store, &["doctor"]);
        refused(store, &["doctor", "--store", &store.path(H)]);
        run(store, &["doctor", "--salvage", &store.path(&format!("{H}salvaged"))], false);
    }),
    ("backup", |store| {
        let directory = store.path(&format!("{H}backup"));
        succeed(store, &["backup", &directory], false);
        succeed(store, &["backup", "--verify", &directory], false);
        refused(store, &["backup", "--verify", &store.path(&format!("{H}none"))]);
    }),
    ("restore", |store| {
        let directory = store.path(&format!("{H}backup"));
        succeed(store, &["backup", &directory], false);
        run(store, &["restore", &directory, &store.path(&format!("{H}restored"))], false);
        refused(store, &["restore", &store.path(&format!("{H}none"))]);
    }),
    ("vacuum", |store| {
        refused(store, &["vacuum", "--block-size", H]);
        succeed(store, &["vacuum", "--seal", "--compress"], false);
        let damaged = hostile_store();
        damaged.flip("platform 9");
        refused(&damaged, &["vacuum", "--seal"]);
    }),
    ("encrypt", |store| {
        let key = store.file("key", &"k".repeat(32));
        let other = store.file("other", &"o".repeat(32));
        refused(store, &["encrypt"]);
        refused(store, &["--key-file", &store.path(&format!("{H}none")), "encrypt"]);
        // Each is run twice: the second one finds that it is done.
        refused(store, &["--key-file", &key, "encrypt"]);
        refused(store, &["list"]);
        refused(store, &["--key-file", &key, "encrypt", "--new-key-file", &other]);
        succeed(store, &["--key-file", &other, "encrypt", "--rotate"], false);
        refused(store, &["--key-file", &other, "decrypt"]);
        succeed(store, &["list"], false);
    }),
    ("decrypt", |store| {
        refused(store, &["decrypt"]);
    }),
    ("prove", |store| {
        let verified = store.json(&["verify", "--conversation", HIDDEN_NAME]);
        let name = ["--conversation", HIDDEN_NAME];
        succeed(
            store,
            &[&["prove", "--from", verified.get("root").and_then(Value::as_str).unwrap()], &name[..]].concat(),
            false,
        );
        refused(store, &[&["prove", "--from", H], &name[..]].concat());
        refused(store, &[&["prove", "--from", &"ab".repeat(32)], &name[..]].concat());
    }),
    ("verify-proof", |store| {
        let proof = store.succeed(&["expand", "1", "--proof", "--conversation", HIDDEN_NAME]);
        let file = store.file(&format!("{H}proof"), &proof);
        succeed(store, &["verify-proof", &file], true);
        refused(
            store,
            &["verify-proof", &store.file("none", &format!("{{\"format\": 1, \"proof\": {:?}}}", "\u{9b}"))],
        );
        refused(store, &["verify-proof", &store.path(&format!("{H}missing"))]);
        refused(store, &["verify-proof", "--root", H, &file]);
    }),
    ("bridge", |store| {
        refused(store, &["bridge"]);
        refused(store, &["bridge", "--stdio", "--max-line", H]);
        let mut command = store.command(&["bridge", "--stdio"]);
        isolated(store, &mut command);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let said = serde_json::json!({"role": "user", "content": [{"text": H}], "tracking_id": H});
        let requests = [
            serde_json::json!({"op": H}),
            serde_json::json!({"op": "open", "id": H, "manager": H}),
            serde_json::json!({"op": "open", "id": H, "manager": "hierarchical", "config": {"conversation": HIDDEN_NAME}}),
            serde_json::json!({"op": "apply", "id": H, "messages": [said]}),
            serde_json::json!({"op": "resume", "id": H}),
            serde_json::json!({"op": "read_session", "session_id": H}),
        ];
        let lines: String = requests.iter().map(|request| format!("{request}\n")).collect();
        child.stdin.take().unwrap().write_all(format!("{lines}{H}\n").as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        check(&command, &output, false);
        assert!(String::from_utf8(output.stdout).unwrap().lines().count() > requests.len());
    }),
    ("mcp", |store| {
        refused(store, &["mcp", "--profile", H]);
        refused(store, &["mcp", "--http", "--listen", H]);
        refused(store, &["mcp", "--http", "--token-file", &store.path(&format!("{H}missing"))]);
        let mut command = store.command(&["mcp", "--allow-writes", "--memory-tool"]);
        isolated(store, &mut command);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let client = serde_json::json!({"protocolVersion": "2025-11-25", "capabilities": {},
                                        "clientInfo": {"name": H, "version": H}});
        let call =
            |name: &str, arguments: Value| ("tools/call", serde_json::json!({"name": name, "arguments": arguments}));
        let hidden = serde_json::json!({"conversation_id": HIDDEN_NAME});
        let requests = [
            ("initialize", client),
            call("list_conversations", serde_json::json!({})),
            call("get_recent_nodes", hidden.clone()),
            call("browse_hierarchy", hidden.clone()),
            call("get_conversation_stats", hidden),
            call("expand_node", serde_json::json!({"conversation_id": HIDDEN_NAME, "node_id": 1})),
            call("expand_node", serde_json::json!({"conversation_id": H, "node_id": 1})),
            call("search_memory", serde_json::json!({"query": H})),
            call("find", serde_json::json!({"pattern": "FORGED|train"})),
            call("find", serde_json::json!({"pattern": format!("({H}")})),
            call(
                "append_messages",
                serde_json::json!({"conversation_id": "x", "messages": [{"role": "user", "text": H}]}),
            ),
            call("scratchpad_set", serde_json::json!({"text": H})),
            call("scratchpad_read", serde_json::json!({})),
            call("memory", serde_json::json!({"command": "create", "path": format!("/memories/{H}"), "file_text": H})),
            call(H, serde_json::json!({})),
            ("resources/list", serde_json::json!({})),
            ("resources/read", serde_json::json!({"uri": format!("memory://{H}")})),
            ("prompts/get", serde_json::json!({"name": "recall", "arguments": {"question": H, "conversation": H}})),
            (H, serde_json::json!({})),
        ];
        let mut lines = String::new();
        for (id, (method, params)) in requests.iter().enumerate() {
            lines +=
                &format!("{}\n", serde_json::json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
            if id == 0 {
                lines += "{\"jsonrpc\": \"2.0\", \"method\": \"notifications/initialized\"}\n";
            }
        }
        child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        check(&command, &output, false);
        assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), requests.len());
    }),
    #[cfg(feature = "chat")]
    ("ask", |store| {
        let stub = memory_remote::testing::Stub::start(|_, _| crate::chat::says(H));
        let model = crate::chat::model(&stub);
        let model: Vec<_> = model.iter().map(String::as_str).collect();
        succeed(store, &[&["ask", "-c", "new", H], &model[..]].concat(), true);
        refused(store, &["ask", "--model", H, "x"]);
        refused(store, &["ask", "--model", &format!("openai:{H}"), "--chat-key-variable", H, "x"]);
        refused(store, &["ask", "--prices", H, "x"]);
    }),
    #[cfg(feature = "chat")]
    ("chat", |store| {
        let stub = memory_remote::testing::Stub::start(|_, _| crate::chat::says(H));
        let model = crate::chat::model(&stub);
        let model: Vec<_> = model.iter().map(String::as_str).collect();
        let commands =
            ["", "search ", "load ", "facts ", "expand ", "forget ", "important ", "save ", "facts correct "];
        let lines: Vec<_> = commands.iter().map(|command| format!("!{command}{H}")).collect();
        let rest = "!why\n!why full\n!expand 1-9\n!facts\n!search FORGED\n!sessions\n!stats\n!help\n";
        let input = store.file("lines", &format!("{H}\n{}\n{rest}", lines.join("\n")));
        for args in [&[&["chat"], &model[..]].concat()[..], &["chat"], &["chat", "--continue", "last"]] {
            let mut command = store.command(args);
            isolated(store, &mut command);
            let output = command.stdin(fs::File::open(&input).unwrap()).output().unwrap();
            check(&command, &output, true);
            assert!(output.status.success(), "{output:?}");
        }
        refused(store, &["chat", "--continue", H]);
    }),
    ("demo", |store| {
        run(store, &["demo", "--keep", &store.path(&format!("{H}demo"))], false);
    }),
    ("config show", |store| {
        let file = hostile_configuration(store);
        refused(store, &["config", "show", "--config", &file]);
        run(
            store,
            &[
                "config",
                "show",
                "--owner",
                "ana",
                "--config",
                &store.file("good.toml", "summarizer = \"\\u001b[2J\\nFORGED\"\n"),
            ],
            false,
        );
    }),
    ("config check", |store| {
        refused(store, &["config", "check", &hostile_configuration(store)]);
        refused(store, &["config", "check", &store.path(&format!("{H}none"))]);
    }),
    ("config init", |store| {
        succeed(store, &["config", "init", "--force", "--config", &store.path(&format!("{H}made.toml"))], false);
    }),
    ("config path", |store| {
        succeed(store, &["config", "path", "--config", &store.path(&format!("{H}none"))], false);
    }),
    ("completions", |store| {
        succeed(store, &["completions", "bash"], true);
        refused(store, &["completions", H]);
    }),
    ("man", |store| {
        succeed(store, &["man", "search"], true);
        succeed(store, &["man", "--to", &store.path(&format!("{H}man"))], false);
        refused(store, &["man", H]);
    }),
    ("model list", |store| {
        fs::create_dir_all(store.path(&format!("models/{H}"))).unwrap();
        fs::write(store.path(&format!("models/{H}/config.json")), format!("{{\"{H}\"")).unwrap();
        run(store, &["model", "list"], false);
    }),
    ("model fetch", |store| {
        refused(store, &["model", "fetch", H]);
    }),
    ("model convert", |store| {
        refused(store, &["model", "convert", &format!("./{H}")]);
    }),
    ("model test", |store| {
        refused(store, &["model", "test", &format!("./{H}")]);
        refused(store, &["model", "test", &format!("openai:{H}")]);
        refused(store, &["model", "test", &format!("bedrock:{H}")]);
    }),
    ("model compare", |store| {
        refused(store, &["model", "compare", &format!("./{H}"), H]);
        let [first, second] = [H, "second"].map(|name| model(store, name, [1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 2.0]));
        run(store, &["model", "compare", &first, &second], false);
        refused(store, &["model", "compare", &first, &second, "--data", &store.path(H)]);
        refused(store, &["model", "compare", &first, &second, "--prices", H]);
    }),
    ("model migrate", |store| {
        refused(store, &["model", "migrate", &format!("./{H}")]);
    }),
    ("plugins list", |store| {
        let directory = store.path(&format!("{H}plugins"));
        fs::create_dir(&directory).unwrap();
        fs::write(format!("{directory}/lib{H}.so"), H).unwrap();
        succeed(store, &["plugins", "list", "--plugins", &directory], false);
        run(store, &["plugins", "list", "--plugins", &store.path(&format!("{H}none"))], false);
    }),
    ("plugins info", |store| {
        refused(store, &["plugins", "info", H]);
        refused(store, &["plugins", "info", &store.file(&format!("{H}.so"), H)]);
    }),
    ("plugins check", |store| {
        refused(store, &["plugins", "check", &store.file(&format!("{H}.so"), H)]);
        refused(store, &["plugins", "check", &store.path(&format!("{H}none.so"))]);
    }),
];

#[test]
fn hostile_text_through_every_command_reaches_no_terminal() {
    let with_a_case: BTreeSet<_> = CASES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(commands(), with_a_case, "a command without a case, or a case without a command");
    for (_, case) in CASES {
        case(&hostile_store());
    }
}

#[test]
fn mistakes_on_the_command_line_are_repeated_on_their_line() {
    let store = hostile_store();
    for args in [&[H][..], &[&format!("--{H}")], &["help", H], &["stats", "--configure", H], &["stats", "--store", H]] {
        refused(&store, args);
    }
    refused(&store, &["stats", "--store", &format!("{H}://x")]);
    refused(&store, &["stats", "--summarizer", H]);
    run(&store, &["stats", "--configure", &format!("{H}={{")], false);
    for variable in [
        "MEMORY_MIN_SCORE",
        "MEMORY_MAX_NUM_ARCHIVED_MESSAGES",
        "MEMORY_VECTORS",
        "MEMORY_LOCK_TIMEOUT",
        "MEMORY_STORE",
        "MEMORY_LOG",
    ] {
        for args in [&["stats"][..], &["--help"], &["stats", "--help"]] {
            let mut command = memory();
            isolated(&store, &mut command);
            let output = command.args(args).env(variable, H).output().unwrap();
            check(&(variable, args), &output, false);
        }
    }
}

/// Answers every request with an error that repeats hostile text.
fn stub() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            let mut buffer = [0; 4096];
            // Small requests come whole: the answer waits for the end of the JSON.
            while !request.ends_with(b"}") {
                match stream.read(&mut buffer) {
                    Ok(0) | Err(_) => break,
                    Ok(length) => request.extend(buffer.iter().take(length)),
                }
            }
            let body = serde_json::json!({"error": {"message": H, "type": H}}).to_string();
            let head = "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nConnection: close";
            drop(write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
        }
    });
    base
}

#[test]
fn what_a_server_says_is_harmless() {
    let (store, base) = (hostile_store(), stub());
    for args in
        [&["search", "ferry"][..], &["index"], &["context", "--conversation", HIDDEN_NAME, "ferry"], &["model", "test"]]
    {
        for log in ["warn", "trace"] {
            let mut command = store.hybrid(args);
            isolated(&store, &mut command);
            command.args(["--embedding-model", "openai:stub?dimensions=4"]);
            command.env("OPENAI_BASE_URL", &base).env("OPENAI_API_KEY", "key").env("MEMORY_LOG", log);
            for json in [false, true] {
                if json {
                    command.arg("--json");
                }
                let output = command.output().unwrap();
                check(&command, &output, true);
                let said =
                    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
                assert!(log == "trace" || said.contains("FORGED"), "{command:?} asked the server: {said}");
            }
        }
    }
}

#[test]
fn a_crafted_model_record_is_harmless() {
    let store = hostile_store();
    let line = H.replace(['\r', '\n'], "");
    let body = format!("memory-model 1\nname ./{line}\nid {line}\ndimensions 4\n");
    let record = format!("{body}crc32c {:08x}\n", crc32c::crc32c(body.as_bytes()));
    fs::write(store.path("store/MODEL"), record).unwrap();
    for args in [
        &["search", "ferry"][..],
        &["index"],
        &["model", "test"],
        &["context", "--conversation", HIDDEN_NAME, "ferry"],
        &["search", "--embedding-model", "./other", "ferry"],
    ] {
        let mut command = store.hybrid(args);
        isolated(&store, &mut command);
        check(&args, &command.output().unwrap(), true);
    }
}

#[test]
fn a_proof_cannot_forge_lines() {
    let store = Store::new();
    let speaker = format!("Ann\nFORGED said at 2020-01-01T00:00:00Z:\nroot {}", "ab".repeat(32));
    let said = serde_json::json!({"role": "user", "speaker": speaker, "content": "one\ntwo\u{1b}[2K", "at": 1});
    let file = store.file("said.jsonl", &format!("{said}\n"));
    store.succeed(&["import", "--format", "jsonl", &file]);
    let proof = store.file("proof.json", &store.succeed(&["expand", "1", "--proof"]));
    let shown = succeed(&store, &["verify-proof", &proof], false);
    let lines: Vec<_> = shown.lines().collect();
    let [first, _root, third, body @ ..] = lines.as_slice() else { panic!("{shown}") };
    assert!(first.starts_with("the proof holds: node 1 of the 1 of `said`"), "{shown}");
    assert!(third.starts_with(r"is what Ann\nFORGED said at") && third.ends_with("said at 1970-01-01T00:00:00.001Z:"));
    assert_eq!(body, ["one", r"two\u{1b}[2K"]);
    // The answer of `expand`, whose first line is on standard error.
    let output = store.command(&["expand", "1"]).output().unwrap();
    check(&"expand", &output, true);
    assert_eq!(output.stderr.iter().filter(|byte| **byte == b'\n').count(), 1);
}

#[test]
fn what_programs_read_is_exact() {
    let store = hostile_store();
    let name = ["--conversation", HIDDEN_NAME];
    let text = store.json(&[&["expand", "1"], &name[..]].concat())["text"].as_str().unwrap().to_owned();
    assert!(text.starts_with(&format!("{H}\0 The ferry")), "{text:?}");
    assert_eq!(store.succeed(&[&["expand", "1", "--raw"], &name[..]].concat()), text);
    let context = [&["context", "--budget", "2000", "which platform?"], &name[..]].concat();
    let exact = store.json(&context)["text"].as_str().unwrap().to_owned();
    assert!(exact.contains("\u{202e}\u{2066}\u{200b}"), "{exact:?}");
    assert_eq!(store.succeed(&[&context[..], &["--raw"]].concat()), exact);
    assert_eq!(store.succeed(&[&["replay", "v1", "--raw"], &name[..]].concat()), exact);
    store.fail(&[&["--json", "expand", "1", "--raw"], &name[..]].concat(), 2);
    // An export through a pipe has the bytes of the file.
    let file = store.path("hidden.export");
    store.succeed(&[&["export", "--output", &file], &name[..]].concat());
    assert_eq!(store.succeed(&[&["export"], &name[..]].concat()), fs::read_to_string(&file).unwrap());
}

/// Standard output as a terminal gets it.
fn on_a_terminal(command: &Command) -> (String, bool) {
    const SCRIPT: &str = r"
import os, pty, subprocess, sys, threading
terminal, end = pty.openpty()
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=end, stderr=subprocess.DEVNULL)
os.close(end)
while True:
    try:
        shown = os.read(terminal, 65536)
    except OSError:
        break
    if not shown:
        break
    sys.stdout.buffer.write(shown)
sys.stdout.flush()
sys.exit(child.wait())
";
    let mut python = Command::new("python3");
    python.args(["-c", SCRIPT]).arg(command.get_program()).args(command.get_args());
    let output = python.output().unwrap();
    (String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n"), output.status.success())
}

#[cfg(unix)]
#[test]
fn a_terminal_gets_an_export_by_escapes_that_say_the_same_and_nothing_raw() {
    let store = hostile_store();
    let name = ["--conversation", HIDDEN_NAME];
    let exported = store.succeed(&[&["export"], &name[..]].concat());
    let (shown, is_done) = on_a_terminal(&store.command(&[&["export"], &name[..]].concat()));
    assert!(is_done && !shown.chars().any(is_raw), "{shown:?}");
    let values = |text: &str| text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>();
    assert_eq!(values(&shown), values(&exported));
    for command in ["expand", "context"] {
        let args = [&[command, "1", "--raw"], &name[..]].concat();
        let (shown, is_done) = on_a_terminal(&store.command(&args));
        assert!(!is_done && shown.is_empty(), "{command}: {shown:?}");
    }
}

#[test]
fn a_new_conversation_is_named_as_it_is_seen() {
    let store = Store::new();
    let file = store.file("talk.jsonl", &messages(3));
    let import = |name: &str| {
        [&["import", "--format", "jsonl", "--conversation"], [name, &file].as_slice()]
            .concat()
            .iter()
            .map(|arg| (*arg).to_owned())
            .collect::<Vec<_>>()
    };
    let args = import("caf\u{e9}");
    store.succeed(&args.iter().map(String::as_str).collect::<Vec<_>>());
    let args = import("cafe\u{301}");
    let error = store.fail(&args.iter().map(String::as_str).collect::<Vec<_>>(), 2);
    assert!(error.contains("write `caf\u{e9}`"), "{error}");
    let args = import("caf\u{e9}\u{200b}");
    let error = store.fail(&args.iter().map(String::as_str).collect::<Vec<_>>(), 2);
    assert!(error.contains("\\u{200b} at byte 5"), "{error}");
    assert_eq!(store.json(&["stats"])["conversations"].as_array().unwrap().len(), 1);
    assert!(store.fail(&["fork", "--as", "cafe\u{301}"], 2).contains("NFC"));
    // Names in an old store are still accepted.
    let old = hostile_store();
    for name in ["caf\u{e9}", "cafe\u{301}"] {
        assert_eq!(old.json(&["expand", "1", "--conversation", name])["conversation"], name);
    }
}
