//! What `docs/json.md` says of `--json`, compared with what every command prints.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which the lints do not know as tests"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use memory_core::{ConversationId, Json, Message, NodeDraft, Store as _, Timestamp, message_from_json};
use memory_store::LogStore;
use serde_json::Value;

use crate::{
    models::model,
    support::{self, Store, success},
};

const DESCRIPTION: &str = include_str!("../../../docs/json.md");
/// Commands that need what a test has not: a network, or the runtime of a model with layers.
const NOT_RUN: [&str; 2] = ["model fetch", "model convert"];
/// Members that only a time, a service or a fault brings about that no test can count on.
const NOT_SEEN: [&str; 16] = [
    // A message has to be too long for the rest of the time.
    "find: left_out",
    "find: left_out.conversation",
    "find: left_out.node",
    "find: left_out.from",
    "find: left_out.length",
    // A model has to fail in the middle of its work.
    "Errors: hint",
    // The binary sets no limit to a reply, and shortens no result where a window did not overflow.
    "context --messages: max_reply_tokens",
    "replay: views[].longest_result",
    // A write has to be cut short by a loss of power, a disk to refuse a directory, a cache to come from elsewhere.
    "doctor: torn",
    "doctor: torn.path",
    "doctor: torn.offset",
    "doctor: torn.bytes",
    "doctor: stale_caches[]",
    "doctor: unlisted_caches[].path",
    "doctor: unlisted_caches[].why",
    // A summary has to lose a part and nothing else.
    "doctor: conversations[].orphaned_summaries[]",
];

/// The kinds of the members of each command.
type Shapes = BTreeMap<String, BTreeMap<String, String>>;

/// Reads the tables, with the members that are described elsewhere in place, and names where these stand.
fn described() -> (Shapes, BTreeSet<String>) {
    let mut shapes = Shapes::new();
    let mut elsewhere = BTreeSet::new();
    let mut section = None;
    for line in DESCRIPTION.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            let name = heading.trim_matches('`').to_owned();
            assert!(shapes.insert(name.clone(), BTreeMap::new()).is_none(), "{name} is described twice");
            section = Some(name);
        } else if let Some(row) = line.strip_prefix("| `") {
            let (path, rest) = row.split_once("` | ").unwrap();
            let kind = rest.split(" | ").next().unwrap().to_owned();
            let of = shapes.get_mut(section.as_ref().unwrap()).unwrap();
            assert!(of.insert(path.to_owned(), kind).is_none(), "{line}");
        }
    }
    // The deepest first: what is described by another command may be described there by a third.
    while let Some((section, path, like)) = shapes.iter().find_map(|(section, members)| {
        let mut like = members.iter().filter_map(|(path, kind)| Some((path, kind.strip_prefix("as ")?)));
        like.next().map(|(path, like)| (section.clone(), path.clone(), like.trim_matches('`').to_owned()))
    }) {
        let (source, prefix) = if shapes.contains_key(&like) {
            (like.clone(), String::new())
        } else {
            (section.clone(), format!("{like}."))
        };
        let is_itself = |at: &str| source == section && (at == path || at.starts_with(&format!("{path}.")));
        let copied: Vec<_> = shapes[&source]
            .iter()
            .filter(|(at, _)| !is_itself(at))
            .filter_map(|(at, kind)| Some((format!("{path}.{}", at.strip_prefix(&prefix)?), kind.clone())))
            .collect();
        assert!(!copied.is_empty(), "{section}: nothing is described as {like}");
        let members = shapes.get_mut(&section).unwrap();
        members.remove(&path);
        members.extend(copied);
        elsewhere.insert(format!("{section}: {path}."));
    }
    (shapes, elsewhere)
}

struct Check {
    shapes: Shapes,
    seen: BTreeSet<String>,
    faults: BTreeSet<String>,
}

impl Check {
    /// Compares a value with the description of `command`.
    fn value(&mut self, command: &str, value: &Value) {
        assert!(self.shapes.contains_key(command), "`{command}` is not described");
        self.walk(command, "", value);
    }

    fn walk(&mut self, command: &str, path: &str, value: &Value) {
        let kind = self.shapes[command].get(path).cloned();
        if let Some(kind) = &kind {
            if !value.is_null() {
                self.seen.insert(format!("{command}: {path}"));
            }
            let (kind, may_be_null) = kind.strip_suffix(" or null").map_or((kind.as_str(), false), |kind| (kind, true));
            if value.is_null() && (may_be_null || kind == "any") {
                return;
            }
            if kind != "object" {
                if !is_of_kind(kind, value) {
                    self.faults.insert(format!("{command}: {path} is no {kind}: {value}"));
                }
                return;
            }
        }
        match value {
            Value::Object(members) => {
                let data = format!("{path}{{}}");
                let is_data = self.shapes[command].keys().any(|known| known.starts_with(&data));
                for (name, member) in members {
                    let at = match (is_data, path) {
                        (true, _) => data.clone(),
                        (false, "") => name.clone(),
                        (false, _) => format!("{path}.{name}"),
                    };
                    self.walk(command, &at, member);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.walk(command, &format!("{path}[]"), item)),
            _ => {
                self.faults.insert(format!("{command}: {path} is not described: {value}"));
            }
        }
    }

    fn json(&mut self, store: &Store, command: &str, args: &[&str]) -> Value {
        let value = store.json(args);
        self.value(command, &value);
        value
    }
}

fn is_of_kind(kind: &str, value: &Value) -> bool {
    let is_run = |run: &Value| run.as_array().is_some_and(|run| run.len() == 2 && run.iter().all(Value::is_u64));
    match kind {
        "any" => true,
        "text" => value.is_string(),
        "boolean" => value.is_boolean(),
        "count" => value.is_u64(),
        // No digits that a conversation between kinds of floats added.
        "number" => value.as_f64().is_some_and(|number| format!("{number:.6e}").parse() == Ok(number)),
        "time" => value.as_str().is_some_and(|text| text.parse::<Timestamp>().is_ok()),
        "list of runs" => value.as_array().is_some_and(|runs| runs.iter().all(is_run)),
        "message" => message_from_json(value).is_ok(),
        other => panic!("the description has no kind {other}"),
    }
}

/// Fails on a member that is not described, on one that is described and does not exist, and on a kind that is not so.
#[test]
fn every_member_of_what_json_prints_is_described_and_nothing_else() {
    let (shapes, elsewhere) = described();
    let mut check = Check { shapes, seen: BTreeSet::new(), faults: BTreeSet::new() };
    let store = Store::new();
    let file = store.file("trip.jsonl", &support::messages(400));
    check.json(&store, "import", &["import", "--format", "jsonl", &file]);
    let root = check.json(&store, "verify", &["verify"])["root"].as_str().unwrap().to_owned();
    let words = "The train. Always name the platform when you answer.";
    check.json(&store, "append", &["append", "-c", "trip", "--speaker", "Ana", "--metadata", "{\"a\": 0.25}", words]);
    check.json(
        &store,
        "append",
        &["append", "-c", "hotel", "--role", "assistant", "The platform has a hotel, number 9."],
    );
    check.json(&store, "pin", &["pin", "trip", "9"]);
    check.json(&store, "tag", &["tag", "trip", "--add", "travel"]);
    check.json(&store, "title", &["title", "hotel", "Where to stay"]);
    check.json(&store, "mark", &["mark", "trip", "important"]);
    stated(&mut check, &store);
    check.json(&store, "show", &["show", "trip", "7-60", "--limit", "2"]);
    check.json(&store, "expand", &["expand", "-c", "trip", "7"]);
    let ask = ["context", "-c", "trip", "--budget", "1500", "--scope", "all", "Which platform?"];
    check.json(&store, "context", &ask);
    check.json(&store, "context", &["context", "-c", "trip", "--as-of", "40", "Which platform?"]);
    check.json(&store, "context", &["replay", "-c", "trip", "v1"]);
    let request = ["context", "-c", "trip", "--messages", "--system", "You are a guide.", "Which platform?"];
    check.json(&store, "context --messages", &request);
    check.json(&store, "replay", &["replay", "-c", "trip"]);
    check.json(&store, "replay --check", &["replay", "-c", "trip", "--check"]);
    check.json(&store, "search", &["search", "--neighbours", "1", "platform of the train"]);
    check.json(&store, "find", &["find", "--context", "1", r"platform \d"]);
    check.json(&store, "find", &["find", "--max-seconds", "0", r"platform \d"]);
    check.json(&store, "browse", &["browse", "-c", "trip", "--limit", "2"]);
    check.json(&store, "summaries list", &["summaries", "-c", "trip", "--limit", "2"]);
    let metas = check.json(&store, "summaries list", &["summaries", "list", "-c", "trip", "--level", "meta"]);
    let meta = metas["summaries"][0]["summary"].to_string();
    let rewrite = ["summaries", "rewrite", &meta, "Talk of trains.", "-c", "trip"];
    check.json(&store, "summaries rewrite", &rewrite);
    check.json(&store, "summaries dissolve", &["summaries", "dissolve", &meta, "-c", "trip"]);
    check.json(&store, "resummarize", &["--summarizer", "first-words", "resummarize", "trip"]);
    let fork = check.json(&store, "fork", &["fork", "trip", "--at", "40", "--as", "fork"]);
    assert!(fork.is_object(), "{fork}");
    store.succeed(&["--owner", "ana", "append", "-c", "hers", "Hi."]);
    check.json(&store, "list", &["list"]);
    arranged(&mut check, &store);
    check.json(&store, "stats", &["stats"]);
    check.json(&store, "stats --over-time", &["stats", "--over-time"]);
    check.json(&store, "index", &["index"]);
    let proof = check.json(&store, "expand --proof", &["expand", "-c", "trip", "7", "--proof"]).to_string();
    check.json(&store, "verify-proof", &["verify-proof", &store.file("message.json", &proof)]);
    let proof = check.json(&store, "prove", &["prove", "-c", "trip", "--from", &root]).to_string();
    check.json(&store, "verify-proof", &["verify-proof", &store.file("history.json", &proof)]);
    exported(&mut check, &store);
    captured(&mut check);
    kept(&mut check, &store);
    damaged(&mut check);
    models(&mut check);
    plugins(&mut check);
    set_up(&mut check, &store);
    check.json(&store, "demo", &["demo", "--keep", &store.path("demo")]);
    let error = store.fail(&["--json", "expand", "-c", "trip", "999"], 3);
    check.value("Errors", &serde_json::from_str(&error).unwrap());

    let expected = check.shapes.iter().filter(|(command, _)| !NOT_RUN.contains(&command.as_str()));
    for (command, members) in expected {
        for (path, kind) in members {
            let name = format!("{command}: {path}");
            // One function prints what is described once, so that some of it is enough where it stands again.
            let place = elsewhere.iter().find(|place| name.starts_with(*place));
            let is_seen = match place {
                Some(place) => check.seen.iter().any(|seen| seen.starts_with(place)),
                None => check.seen.contains(&name),
            };
            // A notice may or may not be there.
            if !is_seen && !NOT_SEEN.contains(&name.as_str()) && !is_text_of_a_notice(path) {
                check.faults.insert(format!("{name} ({kind}) was not printed"));
            }
        }
    }
    assert!(check.faults.is_empty(), "{:#?}", check.faults);
}

fn is_text_of_a_notice(path: &str) -> bool {
    ["notices[]", "notice_codes[]"].iter().any(|list| path.ends_with(list))
}

/// A conversation with all that a state, and the parts of a message, may have.
fn stated(check: &mut Check, store: &Store) {
    let call = |id: &str| serde_json::json!({"type": "tool_use", "id": id, "name": "read", "input": {"path": "a"}});
    let picture =
        serde_json::json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}});
    let report = serde_json::json!({"type": "document", "title": "Report", "source": {"type": "url", "url": "https://example.com/a"}});
    let result = |id: &str, is_error: bool| serde_json::json!({"type": "tool_result", "tool_use_id": id, "is_error": is_error, "content": "41 rows"});
    let asked = "We decided to go in March. And which hotel in Rome is quiet?";
    let goal = serde_json::json!({"type": "text", "text": "The goal is a quiet week in Rome."});
    let said = [
        ("user", serde_json::json!([goal, picture, report])),
        (
            "assistant",
            serde_json::json!([{"type": "thinking", "thinking": "Rome."}, {"type": "text", "text": "I read both."}, call("a"), call("b")]),
        ),
        ("user", serde_json::json!([result("a", false), result("b", true)])),
        ("assistant", "Rome is quiet in March.".into()),
        ("user", asked.into()),
        ("user", "And what does the hotel cost?".into()),
    ];
    let lines = said.map(|(role, content)| {
        let metadata =
            if role == "assistant" { serde_json::json!({"model": "model-1"}) } else { serde_json::json!({}) };
        serde_json::json!({"role": role, "content": content, "metadata": metadata, "at": 1_700_000_000_000_u64})
    });
    let file = store.file("state.jsonl", &lines.map(|line| format!("{line}\n")).concat());
    store.succeed(&["import", "--format", "jsonl", &file]);
    store.succeed(&["tag", "state", "--add", "travel"]);
    check.json(store, "show", &["show", "state"]);
    for node in ["1", "2", "6"] {
        check.json(store, "expand", &["expand", "-c", "state", node]);
    }
    check.json(store, "show --state", &["show", "state", "--state"]);
    check.json(store, "resume", &["resume", "state"]);
    let log = LogStore::open(store.path("store")).unwrap();
    let draft = NodeDraft::new(Message::user("It is about this."), Timestamp::from_millis(1), 1);
    let draft = draft.topics(vec!["rome".to_owned()]);
    pollster::block_on(log.append(&ConversationId::new("state").unwrap(), vec![draft])).unwrap();
    drop(log);
    check.json(store, "expand", &["expand", "-c", "state", "7"]);
}

/// Sessions of every kind.
fn arranged(check: &mut Check, store: &Store) {
    check.json(store, "sessions list", &["sessions"]);
    let create = ["sessions", "create", "flat", "Where is it?", "--title", "A flat", "--tag", "home"];
    check.json(store, "sessions create", &create);
    store.succeed(&["append", "-c", "strands:pilot:navigator", "Which way?"]);
    for session in ["trip", "fork", "hers", "pilot"] {
        check.json(store, "sessions show", &["sessions", "show", session]);
    }
    check.json(store, "sessions archive", &["sessions", "archive", "pilot"]);
    check.json(store, "sessions unarchive", &["sessions", "unarchive", "pilot"]);
    for session in ["flat", "pilot"] {
        store.succeed(&["sessions", "archive", session]);
    }
}

fn captured(check: &mut Check) {
    let store = Store::new();
    let line = serde_json::json!({"type": "user", "uuid": "u", "sessionId": "s", "cwd": "/trip",
        "message": {"role": "user", "content": "Which platform?"}});
    store.file("s.jsonl", &format!("{line}\n"));
    check.json(&store, "watch", &["watch", "--once", &store.path("s.jsonl")]);
    let event = serde_json::json!({"hook_event_name": "SessionStart", "source": "startup", "cwd": "/trip"});
    for agent in ["claude-code", "codex"] {
        let event = fs::File::open(store.file("event.json", &event.to_string())).unwrap();
        let printed = success(store.command(&["hook", agent]).stdin(event));
        check.value(&format!("hook {agent}"), &serde_json::from_str(&printed).unwrap());
    }
    for change in ["install", "uninstall"] {
        for flag in ["--dry-run", "--yes"] {
            let mut command = store.command(&["--json", "hook", change, "codex", flag]);
            let printed = success(command.env("CODEX_HOME", store.path("codex")));
            check.value(&format!("hook {change}"), &serde_json::from_str(&printed).unwrap());
        }
    }
}

fn exported(check: &mut Check, store: &Store) {
    let export = store.path("trip.export.jsonl");
    check.json(store, "export", &["export", "-c", "trip", "-o", &export]);
    let page = store.path("trip.html");
    check.json(store, "export --format", &["export", "-c", "trip", "--format", "html", "-o", &page]);
    let other = Store::new();
    check.json(&other, "import", &["import", &export]);
    let talk = other.file("talk.json", r#"[{"role":"user","content":"Hello."},{"role":"wizard","content":"?"}]"#);
    check.json(&other, "import", &["import", &talk]);
    // A message that JSON values cannot hold exactly.
    let mut message = Message::user("x");
    message.metadata.insert("a".to_owned(), Json::new("1.50").unwrap());
    let log = LogStore::open(other.path("store")).unwrap();
    let draft = NodeDraft::new(message, Timestamp::from_millis(1), 1);
    pollster::block_on(log.append(&ConversationId::new("exact").unwrap(), vec![draft])).unwrap();
    drop(log);
    check.json(&other, "expand --proof", &["expand", "-c", "exact", "1", "--proof"]);
}

fn kept(check: &mut Check, store: &Store) {
    check.json(store, "vacuum", &["vacuum", "--seal"]);
    let backup = store.path("backup");
    check.json(store, "backup", &["backup", &backup]);
    check.json(store, "backup --verify", &["backup", &backup, "--verify"]);
    check.json(store, "restore", &["restore", &backup, &store.path("restored")]);
    let segments = fs::read_dir(format!("{backup}/files")).or_else(|_| fs::read_dir(&backup)).unwrap();
    let largest = segments.map(|file| file.unwrap().path()).filter(|path| path.is_file());
    let largest = largest.max_by_key(|path| path.metadata().unwrap().len()).unwrap();
    let mut bytes = fs::read(&largest).unwrap();
    bytes[0] ^= 1;
    fs::write(&largest, bytes).unwrap();
    check.value("backup --verify", &printed(store, &["backup", &backup, "--verify"]));
}

/// What a command that ends with 4 printed on standard output.
fn printed(store: &Store, args: &[&str]) -> Value {
    let output = store.command(&[&["--json"], args].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{args:?}: {error}"))
}

fn damaged(check: &mut Check) {
    let store = Store::new();
    let file = store.file("trip.jsonl", &support::messages(60));
    store.succeed(&["import", "--format", "jsonl", &file]);
    store.succeed(&["context", "--budget", "700", "Which platform?"]);
    check.json(&store, "doctor", &["doctor"]);
    fs::write(store.path("store/log/0001.seg.tmp"), "x").unwrap();
    store.flip("platform 9");
    check.value("verify", &printed(&store, &["verify"]));
    let backup = store.path("backup");
    check.value("backup", &printed(&store, &["backup", &backup]));
    check.value("restore", &printed(&store, &["restore", &backup, &store.path("restored")]));
    check.value("doctor", &printed(&store, &["doctor", "--salvage", &store.path("saved")]));
    // There all but one message can be read.
    fs::rename(store.path("saved"), store.path("again")).unwrap();
    fs::rename(store.path("store"), store.path("damaged")).unwrap();
    fs::rename(store.path("again"), store.path("store")).unwrap();
    check.json(&store, "show", &["show", "trip", "5-9"]);
    check.value("replay --check", &printed(&store, &["replay", "--check"]));
}

fn models(check: &mut Check) {
    let store = Store::new();
    let [first, second] =
        [("first", 1.0), ("second", 2.0)].map(|(name, x)| model(&store, name, [x, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, x]));
    let file = store.file("talk.jsonl", &support::messages(40));
    let json = |check: &mut Check, command: &str, args: &[&str]| {
        let said = success(&mut store.hybrid(&[&["--json"], args].concat()));
        check.value(command, &serde_json::from_str(&said).unwrap());
    };
    json(check, "import", &["--embedding-model", &first, "import", "--format", "jsonl", &file]);
    json(check, "index", &["index"]);
    json(check, "search", &["search", "the weather"]);
    json(check, "context", &["context", "--budget", "700", "the weather"]);
    json(check, "stats", &["stats"]);
    json(check, "model list", &["model", "list"]);
    let compare = ["model", "compare", &first, &second, "--questions", "5", "--prices", "1,2"];
    json(check, "model compare", &compare);
    json(check, "model migrate", &["model", "migrate", &second]);
    // Whether it passes is the model's matter.
    let tested = store.hybrid(&["--json", "model", "test", &second]).output().unwrap();
    check.value("model test", &serde_json::from_slice(&tested.stdout).unwrap());
}

fn set_up(check: &mut Check, store: &Store) {
    check.json(store, "completions", &["completions", "bash"]);
    check.json(store, "man", &["man", "search"]);
    check.json(store, "man --to", &["man", "--to", &store.path("man1")]);
    let template = store.path("template.toml");
    check.json(store, "config init", &["config", "init", "--config", &template]);
    check.json(store, "config path", &["config", "path", "--config", &template]);
    let good = store.file("good.toml", "scorer = \"rules\"\n[search]\nlimit = 3\n[configure.rules]\na = 1\n");
    check.json(store, "config check", &["config", "check", &good]);
    let mut shown = store.command(&["config", "show", "--json", "--config", &good]);
    let shown = success(shown.env("MEMORY_LOCK_TIMEOUT", "3").env("AWS_REGION", "eu-central-1"));
    check.value("config show", &serde_json::from_str(&shown).unwrap());
    let bad =
        store.command(&["config", "check", "--json", &store.file("bad.toml", "[mcp]\nprt = 1\n")]).output().unwrap();
    check.value("config check", &serde_json::from_slice(&bad.stdout).unwrap());
}

fn plugins(check: &mut Check) {
    let store = Store::new();
    fs::create_dir(store.path("plugins")).unwrap();
    let broken = format!("plugins/broken{}", std::env::consts::DLL_SUFFIX);
    store.file(&broken, "no library");
    check.json(&store, "plugins list", &["--plugins", &store.path("plugins"), "plugins", "list"]);
    let library = support::plugin("memory-plugin-fixture-misbehaves");
    let library = library.to_str().unwrap();
    check.json(&store, "plugins info", &["plugins", "info", library]);
    let good = support::plugin("memory-plugin-first-words");
    let (good, directory) = (good.to_str().unwrap(), good.parent().unwrap().to_str().unwrap());
    check.json(&store, "plugins list", &["--plugins", directory, "plugins", "list"]);
    check.json(&store, "plugins check", &["plugins", "check", good, "--deadline", "60"]);
}

#[test]
fn every_command_that_help_lists_is_described() {
    let (described, _) = described();
    let all = support::commands();
    assert!(all.len() > 30, "{all:?}");
    for command in all {
        assert!(described.contains_key(&command), "docs/json.md lacks `{command}`");
    }
}
