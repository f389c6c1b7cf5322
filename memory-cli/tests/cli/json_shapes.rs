//! Schemas of what `--json` prints, `docs/json.md` made from them, and what every command prints.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which the lints do not know as tests"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
};

use boon::{Compiler, SchemaIndex, Schemas};
use memory_core::{ConversationId, Json, Message, NodeDraft, Timestamp, port::Store as _};
use memory_store::LogStore;
use serde_json::Value;

use crate::{
    models::model,
    support::{self, Store, success},
};

/// The page with the schemas.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/json.md");
/// Line after which the page is made from the schemas.
const MADE: &str = "<!-- made from the schemas: UPDATE_DOCS=1 cargo test -p memory-cli json_page -->\n";
/// Commands that no test runs, because they need a network or the runtime of a model with layers.
const NOT_RUN: [&str; 3] = ["model test (a chat model)", "model fetch", "model convert"];
/// Documents and protocols that other pages describe.
const ELSEWHERE: [(&str, &str); 5] = [
    ("bridge", "[strands.md](strands.md)"),
    ("chat", "[chat.md](chat.md)"),
    ("expand --proof", "[format.md](format.md)"),
    ("mcp", "[mcp.md](mcp.md)"),
    ("prove", "[format.md](format.md)"),
];

/// Rows up to which a shape is repeated where it stands again.
const SHORT: usize = 5;

/// A row of a table: a member, its kind, and its description.
type Row = (String, String, String);

fn types(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Alternatives of a schema, but for `null`.
fn alternatives(schema: &Value) -> Vec<&Value> {
    let all = ["anyOf", "oneOf"].iter().filter_map(|key| schema[*key].as_array()).flatten();
    all.filter(|one| one["type"] != "null").collect()
}

fn may_be_null(schema: &Value) -> bool {
    let all = ["anyOf", "oneOf"].iter().filter_map(|key| schema[*key].as_array()).flatten();
    types(schema).contains(&"null") || all.into_iter().any(|one| one["type"] == "null")
}

/// The kind of a value that has no members.
fn kind(schema: &Value) -> Option<String> {
    let is_run = |of: &Value| of["maxItems"] == 2 && of["items"]["type"] == "integer";
    let several = alternatives(schema);
    if let [only] = several[..] {
        return kind(only);
    }
    if !several.is_empty() {
        let kinds: BTreeSet<_> = several.into_iter().map(kind).collect::<Option<_>>()?;
        return Some(kinds.into_iter().collect::<Vec<_>>().join(" or "));
    }
    let kinds: Vec<_> = types(schema).into_iter().filter(|kind| *kind != "null").collect();
    Some(match kinds[..] {
        _ if schema["format"] == "date-time" => "time".to_owned(),
        ["string"] => "text".to_owned(),
        ["boolean"] => "boolean".to_owned(),
        ["integer"] => "count".to_owned(),
        ["number"] => "number".to_owned(),
        ["array"] if is_run(schema) => "run".to_owned(),
        ["array"] if is_run(&schema["items"]) => "list of runs".to_owned(),
        ["object"] if schema["required"] == serde_json::json!(["role", "content"]) => "message".to_owned(),
        [] if schema["const"].is_string() || schema["enum"].is_array() => "text".to_owned(),
        [] if schema["properties"].is_null() => "any".to_owned(),
        _ => return None,
    })
}

fn rows(schema: &Value, path: &str, is_optional: bool, described: &str, rows_so_far: &mut Vec<Row>) {
    let own = schema["description"].as_str().unwrap_or_default();
    let words = if described.is_empty() { own } else { described };
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = words.trim_end_matches('.').replace('|', "\\|").replace("`None`", "null");
    let null = if may_be_null(schema) || is_optional { " or null" } else { "" };
    if let Some(kind) = kind(schema).filter(|_| !path.is_empty()) {
        let null = if kind == "any" || kind == "message" { "" } else { null };
        rows_so_far.push((path.to_owned(), format!("{kind}{null}"), words));
        return;
    }
    for one in alternatives(schema) {
        rows(one, path, is_optional || may_be_null(schema), &words, rows_so_far);
    }
    if types(schema).contains(&"array") {
        let mut below = format!("{path}[]");
        if path.is_empty() {
            below = "[]".to_owned();
        }
        rows(&schema["items"], &below, false, &words, rows_so_far);
        return;
    }
    if let Value::Object(of_each) = &schema["additionalProperties"] {
        rows(&Value::Object(of_each.clone()), &format!("{path}{{}}"), false, &words, rows_so_far);
    }
    let Value::Object(properties) = &schema["properties"] else { return };
    if !null.is_empty() && !path.is_empty() {
        rows_so_far.push((path.to_owned(), format!("object{null}"), words));
    }
    let required: BTreeSet<_> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, member) in properties {
        let at = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        rows(member, &at, !required.contains(name.as_str()), "", rows_so_far);
    }
}

/// Rows of each command. A type that another command prints too is shown there, and named here.
fn tables() -> BTreeMap<(bool, &'static str), Vec<Row>> {
    let mut tables = BTreeMap::new();
    for (command, schema) in memory_cli::json::schemas() {
        let mut table = Vec::new();
        rows(&schema.to_value(), "", false, "", &mut table);
        let mut seen = BTreeSet::new();
        table.retain(|(path, ..)| seen.insert(path.clone()));
        tables.insert((command != "Errors", command), table);
    }
    let all = tables.clone();
    for ((_, here), table) in &mut tables {
        for ((_, other), like) in all.iter().filter(|((_, there), like)| there != here && like.len() >= SHORT) {
            let like: Vec<_> = like.iter().map(|(path, kind, _)| (path.as_str(), kind)).collect();
            let within: BTreeSet<_> = table.iter().flat_map(|(path, ..)| prefixes(path)).collect();
            for prefix in within {
                // The first of two equal types has the rows.
                if prefix.is_empty() && *here < *other {
                    continue;
                }
                let below = table.iter().filter_map(|(path, kind, _)| Some((path.strip_prefix(&prefix)?, kind)));
                if !below.eq(like.iter().copied()) {
                    continue;
                }
                let at = table.iter().position(|row| row.0.starts_with(&prefix)).unwrap();
                table.retain(|row| !row.0.starts_with(&prefix));
                let name = prefix.trim_end_matches('.').to_owned();
                table.insert(at, (name, format!("as `{other}`"), String::new()));
            }
        }
    }
    tables
}

/// The beginnings of a path that stand before members, and the empty one.
fn prefixes(path: &str) -> Vec<String> {
    let ends = path.match_indices('.').map(|(at, _)| path[..=at].to_owned());
    std::iter::once(String::new()).chain(ends).collect()
}

fn page() -> String {
    let mut sections: BTreeMap<(bool, &str), String> = BTreeMap::new();
    for ((order, command), table) in tables() {
        let body = match table.as_slice() {
            [(path, like, _)] if path.is_empty() => format!("{}{}.\n", like[..1].to_uppercase(), &like[1..]),
            rows => {
                let row = |(path, kind, words): &Row| format!("| `{path}` | {kind} | {words} |\n");
                let rows: String = rows.iter().map(row).collect();
                format!("| member | kind | what it is |\n| --- | --- | --- |\n{rows}")
            }
        };
        sections.insert((order, command), format!("## `{command}`\n\n{body}"));
    }
    for (command, page) in ELSEWHERE {
        sections.insert((true, command), format!("## `{command}`\n\n{page} describes it.\n"));
    }
    sections.into_values().collect::<Vec<_>>().join("\n")
}

/// Writes the page with `UPDATE_DOCS`, and otherwise fails where it is stale.
#[test]
fn json_page_is_what_the_schemas_say() {
    let there = fs::read_to_string(PAGE).unwrap();
    let head = there.split_once(MADE).map_or(there.as_str(), |(head, _)| head);
    let made = format!("{head}{MADE}\n{}", page());
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(PAGE, made).unwrap();
    } else {
        assert!(there == made, "docs/json.md is stale: run the tests once with UPDATE_DOCS=1");
    }
}

struct Check {
    schemas: Schemas,
    of: BTreeMap<&'static str, SchemaIndex>,
    checked: BTreeSet<String>,
    faults: BTreeSet<String>,
}

impl Check {
    fn new() -> Self {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        let mut of = BTreeMap::new();
        for (command, schema) in memory_cli::json::schemas() {
            let address = format!("https://example.com/{}", command.replace([' ', '(', ')'], "-"));
            compiler.add_resource(&address, schema.to_value()).unwrap();
            of.insert(command, compiler.compile(&address, &mut schemas).unwrap());
        }
        Self { schemas, of, checked: BTreeSet::new(), faults: BTreeSet::new() }
    }

    /// Checks a value against the schema of `command`.
    fn value(&mut self, command: &str, value: &Value) {
        if ELSEWHERE.iter().any(|(elsewhere, _)| *elsewhere == command) {
            return;
        }
        let index = self.of.get(command).unwrap_or_else(|| panic!("`{command}` has no schema"));
        self.checked.insert(command.to_owned());
        if let Err(why) = self.schemas.validate(value, *index) {
            self.faults.insert(format!("{command}: {why:#}"));
        }
    }

    fn json(&mut self, store: &Store, command: &str, args: &[&str]) -> Value {
        let value = store.json(args);
        self.value(command, &value);
        value
    }
}

#[test]
fn every_command_prints_what_its_schema_says() {
    let mut check = Check::new();
    let store = Store::new();
    let file = store.file("trip.jsonl", &support::messages(400));
    check.json(&store, "import", &["import", "--format", "jsonl", &file]);
    let root = check.json(&store, "verify", &["verify"])["root"].as_str().unwrap().to_owned();
    let words = "The train. Always name the platform when you answer.";
    check.json(&store, "add", &["add", &store.file("gate.md", "The gate closes at nine.")]);
    check.json(&store, "append", &["append", "-c", "trip", "--speaker", "Ana", "--metadata", "{\"a\": 0.25}", words]);
    check.json(&store, "note", &["note", "-c", "trip", "2-3"]);
    check.json(
        &store,
        "append",
        &["append", "-c", "hotel", "--role", "assistant", "The platform has a hotel, number 9."],
    );
    check.json(&store, "pin", &["pin", "trip", "9"]);
    check.json(&store, "tag", &["tag", "trip", "--add", "travel"]);
    check.json(&store, "title", &["title", "hotel", "Where to stay"]);
    check.json(&store, "mark", &["mark", "trip", "important"]);
    check.json(&store, "set", &["set", "trip", "--important", "--tag", "travel", "--pin", "9"]);
    stated(&mut check, &store);
    check.json(&store, "show", &["show", "trip", "7-60", "--limit", "2"]);
    check.json(&store, "expand", &["expand", "-c", "trip", "7"]);
    check.json(&store, "expand (a run)", &["expand", "trip", "7-9"]);
    check.json(&store, "expand (a summary)", &["expand", "trip", "s1"]);
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
    check.json(&store, "verify-proof (of a history)", &["verify-proof", &store.file("history.json", &proof)]);
    exported(&mut check, &store);
    captured(&mut check);
    kept(&mut check, &store);
    erased(&mut check);
    damaged(&mut check);
    models(&mut check);
    plugins(&mut check);
    set_up(&mut check, &store);
    check.json(&store, "demo", &["demo", "--keep", &store.path("demo")]);
    #[cfg(feature = "chat")]
    chats(&mut check, &store);
    let error = store.fail(&["--json", "expand", "-c", "trip", "999"], 3);
    check.value("Errors", &serde_json::from_str(&error).unwrap());

    let missing: Vec<_> = check.of.keys().filter(|command| !check.checked.contains(**command)).collect();
    assert_eq!(missing, NOT_RUN.iter().rev().collect::<Vec<_>>(), "no answer of these was seen");
    assert!(check.faults.is_empty(), "{:#?}", check.faults);
}

/// A turn of a chat model, with a call of a tool and a fact that is learned.
#[cfg(feature = "chat")]
fn chats(check: &mut Check, store: &Store) {
    check.json(store, "demo --chat", &["demo", "--chat"]);
    let stub = crate::chat::service();
    let model = crate::chat::model(&stub);
    let ask = ["ask", "-c", "asked", "--prices", "1,2", "I prefer a window seat. Look it up."];
    check.json(store, "ask", &[&ask[..], &model.iter().map(String::as_str).collect::<Vec<_>>()].concat());
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
    let decided = "We decided to rent the barn in Bruges instead of the hall in Ghent.";
    store.succeed(&["append", "-c", "facts", "We decided to rent the hall in Ghent."]);
    store.succeed(&["append", "-c", "facts", decided]);
    check.json(store, "facts list", &["facts", "-c", "facts", "--all"]);
    check.json(store, "facts search", &["facts", "search", "Which barn do we rent?"]);
    check.json(store, "facts history", &["facts", "history", "-c", "facts", "1.1"]);
    let add = ["facts", "add", "-c", "facts", "--kind", "fact", "Rome is in Italy.", "--source", "1-2"];
    check.json(store, "facts add", &add);
    check.json(store, "facts correct", &["facts", "correct", "-c", "facts", "e1", "Rome is the capital of Italy."]);
    check.json(store, "facts disable", &["facts", "disable", "-c", "facts", "2.1"]);
    check.json(store, "facts enable", &["facts", "enable", "-c", "facts", "2.1"]);
    check.json(store, "facts erase", &["facts", "erase", "-c", "facts", "e2", "--yes"]);
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
    let key = store.file("key", &"k".repeat(32));
    check.json(store, "encrypt", &["--key-file", &key, "encrypt"]);
    check.json(store, "decrypt", &["--key-file", &key, "decrypt"]);
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

fn erased(check: &mut Check) {
    let store = Store::new();
    let file = store.file("trip.jsonl", &support::messages(60));
    store.succeed(&["import", "--format", "jsonl", &file]);
    store.succeed(&["append", "-c", "codes", "The code of the door is zebra44712."]);
    store.succeed(&["fork", "trip", "--at", "9", "--as", "other"]);
    let asked = store.command(&["--json", "erase", "-c", "trip", "3"]).output().unwrap();
    assert_eq!(asked.status.code(), Some(2), "without --yes");
    let asked: Value = serde_json::from_slice(&asked.stdout).unwrap();
    assert!(asked.get("receipt").is_none(), "{asked}");
    check.value("erase", &asked);
    let erased = check.json(&store, "erase", &["erase", "-c", "trip", "3", "7-9", "--by", "Ann", "--yes"]);
    assert_eq!(erased["receipt"]["scan"]["found"], 0, "{erased}");
    check.json(&store, "forget", &["forget", "--matching", "zebra[0-9]+", "--yes"]);
    let said = store.command(&["find", "-c", "codes", "zebra"]).output().unwrap();
    assert!(!String::from_utf8_lossy(&said.stdout).contains("zebra44712"));
    check.json(&store, "expand", &["expand", "-c", "other", "3"]);
    let all = check.json(&store, "receipt list", &["receipt", "list"]);
    assert_eq!(all["receipts"].as_array().map(Vec::len), Some(2), "{all}");
    check.json(&store, "receipt show", &["receipt", "show"]);
    check.json(&store, "receipt verify", &["receipt", "verify"]);
    check.json(&store, "verify", &["verify"]);
    check.json(&store, "disable", &["disable", "-c", "trip", "20-21"]);
    check.json(&store, "enable", &["enable", "-c", "trip", "--all"]);
    check.json(&store, "provenance", &["provenance", "-c", "trip", "20-21"]);
    check.json(&store, "quarantine", &["quarantine", "conversation:codes"]);
    check.json(&store, "quarantine --list", &["quarantine", "--list"]);
    check.json(&store, "retention set", &["retention", "set", "-c", "trip", "--messages", "40", "--erase"]);
    check.json(&store, "retention show", &["retention", "show"]);
    check.json(&store, "retention run", &["retention", "run"]);
    // An erasure that waits for a backup that is gone.
    let backup = support::lost_backup(&store);
    store.command(&["erase", "-c", "trip", "50", "--yes", "--backup", &backup]).output().unwrap();
    check.json(&store, "backup --lost", &["backup", "--lost", &backup]);
}

/// Standard output of a command that must exit with 4.
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
    let none = Store::new().command(&["--json", "doctor"]).output().unwrap();
    check.value("doctor (no store)", &serde_json::from_slice(&none.stdout).unwrap());
    fs::write(store.path("store/log/0001.seg.tmp"), "x").unwrap();
    store.flip("platform 9");
    check.value("verify", &printed(&store, &["verify"]));
    let backup = store.path("backup");
    check.value("backup", &printed(&store, &["backup", &backup]));
    check.value("restore", &printed(&store, &["restore", &backup, &store.path("restored")]));
    check.value("doctor", &printed(&store, &["doctor", "--salvage", &store.path("saved")]));
    // All but one message of the salvaged store can be read.
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
    // The exit code depends on the model, so only the shape is checked.
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
fn every_command_that_help_lists_has_a_section() {
    let page = fs::read_to_string(PAGE).unwrap();
    let all = support::commands();
    assert!(all.len() > 30, "{all:?}");
    for command in all {
        assert!(page.contains(&format!("\n## `{command}`\n")), "docs/json.md lacks `{command}`");
    }
}
