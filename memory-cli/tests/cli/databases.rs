//! Databases of other programs through the binary.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which the lints do not know as tests"
)]

use rusqlite::{Connection, params};
use serde_json::{Value, json};

use crate::{
    support::{self, Store},
    transcripts::{file, session},
};

const LOSSLESS: &str = "
    CREATE TABLE conversations (conversation_id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, session_key TEXT, title TEXT);
    CREATE TABLE messages (message_id INTEGER PRIMARY KEY, conversation_id INTEGER NOT NULL, seq INTEGER NOT NULL,
        role TEXT NOT NULL, content TEXT NOT NULL, created_at TEXT NOT NULL, UNIQUE (conversation_id, seq));
    CREATE TABLE message_parts (part_id TEXT PRIMARY KEY, message_id INTEGER NOT NULL, part_type TEXT NOT NULL,
        ordinal INTEGER NOT NULL, text_content TEXT, UNIQUE (message_id, ordinal));
    CREATE TABLE summaries (summary_id TEXT PRIMARY KEY, conversation_id INTEGER NOT NULL, kind TEXT NOT NULL,
        depth INTEGER NOT NULL, content TEXT NOT NULL, model TEXT NOT NULL);
    CREATE TABLE summary_messages (summary_id TEXT NOT NULL, message_id INTEGER NOT NULL, ordinal INTEGER NOT NULL);
    CREATE TABLE summary_parents (summary_id TEXT NOT NULL, parent_summary_id TEXT NOT NULL, ordinal INTEGER NOT NULL);
    INSERT INTO conversations VALUES (1, 'trip', 'agent:main:main', 'Trip');";

const ID: &str = "trip-lcm-1";

fn say(database: &Connection, from: u32, to: u32) {
    for number in from..=to {
        let role = if number % 2 == 1 { "user" } else { "assistant" };
        let text = format!(
            "Remark number {number} about the weather, the hotel and the museum we could see on day {number}. It is a long \
             walk there along the river from the station, past the market and the old town hall."
        );
        let sql = "INSERT INTO messages VALUES (?1, 1, ?1, ?2, ?3, '2026-08-02 09:14:00')";
        database.execute(sql, params![number, role, text]).unwrap();
    }
}

fn leaf(database: &Connection, id: &str, from: u32, to: u32) {
    let sql = "INSERT INTO summaries VALUES (?1, 1, 'leaf', 0, ?2, 'haiku')";
    database
        .execute(sql, params![id, format!("- Remarks {from} to {to} of {id}.\n- They took the river path.")])
        .unwrap();
    for number in from..=to {
        database.execute("INSERT INTO summary_messages VALUES (?1, ?2, ?2)", params![id, number]).unwrap();
    }
}

/// Entries of the top level: the writer, and the first and the last message.
fn roots(store: &Store) -> Vec<(String, u64, u64)> {
    let levels = store.json(&["browse", "-c", ID, "--limit", "100"]);
    let entry = |entry: &Value| {
        let part = |name: &str| entry["written_by"][name].as_str().unwrap_or_default();
        let by = format!("{} {}", part("strategy"), part("version")).trim_end().to_owned();
        (by, entry["nodes"][0].as_u64().unwrap(), entry["nodes"][1].as_u64().unwrap())
    };
    levels["entries"].as_array().unwrap_or_else(|| panic!("{levels:#}")).iter().map(entry).collect()
}

#[test]
fn summaries_of_lossless_claw_are_taken_over_and_shown_under_its_name() {
    let store = Store::new();
    let path = store.path("lcm.db");
    let database = Connection::open(&path).unwrap();
    database.execute_batch(LOSSLESS).unwrap();
    say(&database, 1, 40);
    leaf(&database, "sum_a", 1, 10);
    leaf(&database, "sum_b", 11, 20);
    let condensed = "INSERT INTO summaries VALUES ('sum_c', 1, 'condensed', 1, 'Twenty days in short.', 'haiku');
                     INSERT INTO summary_parents VALUES ('sum_c', 'sum_a', 0), ('sum_c', 'sum_b', 1);";
    database.execute_batch(condensed).unwrap();
    let imported = store.json(&["import", &path]);
    assert_eq!(imported["transcripts"][0]["format"], "lossless-claw", "{imported:#}");
    assert_eq!(imported["transcripts"][0]["summaries"], 3);
    let row = &imported["conversations"][0];
    assert_eq!((row["new"].as_u64(), row["new_summaries"].as_u64()), (Some(40), Some(3)), "{imported:#}");
    let listed = store.succeed(&["summaries", "-c", ID]);
    assert!(listed.contains("1-20") && listed.contains("Twenty days in short."), "{listed}");
    assert_eq!(roots(&store)[0], ("lossless-claw haiku".to_owned(), 1, 20));
    store.succeed(&["verify"]);
    // Again: nothing is new.
    let again = store.json(&["import", &path]);
    let row = &again["conversations"][0];
    let counts = [&row["new"], &row["summaries"], &row["new_summaries"]].map(Value::as_u64);
    assert_eq!(counts, [Some(0), Some(3), Some(0)], "{again:#}");
    // The conversation continues: our own summaries stay, and a notice names the imported ones that do not fit.
    say(&database, 41, 80);
    store.succeed(&["import", &path]);
    leaf(&database, "sum_d", 21, 30);
    let grown = store.json(&["import", &path]);
    assert!(support::codes(&grown).contains(&"summaries-unfit"), "{grown:#}");
    assert_eq!(roots(&store)[0], ("lossless-claw haiku".to_owned(), 1, 20));
}

#[test]
fn a_named_format_takes_only_its_own_kind_of_file_of_a_directory() {
    let store = Store::new();
    let lines: String = session().iter().map(|line| format!("{line}\n")).collect();
    let directory = file(&store, "both/session.jsonl", lines).replace("/session.jsonl", "");
    let database = Connection::open(format!("{directory}/lcm.db")).unwrap();
    database.execute_batch(LOSSLESS).unwrap();
    say(&database, 1, 4);
    for format in ["claude-code", "lossless-claw"] {
        let imported = store.json(&["import", "--format", format, &directory]);
        // Files of the other format are named in an entry without a format.
        let of_format = |entry: &&Value| !entry["format"].is_null();
        let taken: Vec<_> = imported["transcripts"].as_array().unwrap().iter().filter(of_format).collect();
        assert_eq!(taken.len(), 1, "{imported:#}");
        assert_eq!(taken[0]["format"], format);
        assert!(taken[0]["messages"].as_u64() > Some(0), "{imported:#}");
    }
}

#[test]
fn sessions_of_openclaw_are_imported_once_from_a_live_database() {
    let store = Store::new();
    let path = store.path("agent.sqlite");
    let owner = Connection::open(&path).unwrap();
    owner
        .execute_batch(
            "PRAGMA journal_mode = WAL;
             CREATE TABLE transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT NOT NULL,
                 created_at INTEGER NOT NULL, PRIMARY KEY (session_id, seq)) STRICT;",
        )
        .unwrap();
    let say = |seq: u32, id: &str, parent: Option<&str>, text: &str| {
        let event =
            json!({"type": "message", "id": id, "parentId": parent, "message": {"role": "user", "content": text}});
        let sql = "INSERT INTO transcript_events VALUES ('s-1', ?1, ?2, 1757325600000)";
        owner.execute(sql, params![seq, event.to_string()]).unwrap();
    };
    say(1, "a", None, "Which lake?");
    say(2, "b", Some("a"), "Garda.");
    say(3, "c", Some("a"), "Como.");
    let imported = store.json(&["import", &path]);
    assert_eq!(imported["transcripts"][0]["format"], "openclaw", "{imported:#}");
    assert_eq!(imported["transcripts"][0]["forks"], 1);
    assert!(store.succeed(&["show", "s-1-c"]).contains("Which lake?"));
    say(4, "d", Some("c"), "By boat.");
    let again = store.json(&["import", &path]);
    let new: Vec<_> = again["conversations"].as_array().unwrap().iter().map(|row| row["new"].as_u64()).collect();
    assert_eq!(new, [Some(0), Some(1)], "{again:#}");
    let error = store.fail(&["import", &file(&store, "other.db", b"SQLite format 3\0")], 4);
    assert!(error.contains("nothing was imported"), "{error}");
}

#[test]
fn a_session_of_pi_is_imported_with_its_branches_and_every_digit() {
    let store = Store::new();
    let entry = |id: &str, parent: Option<&str>, message: Value| {
        json!({"type": "message", "id": id, "parentId": parent, "timestamp": "2026-03-02T09:14:00.000Z", "message": message})
            .to_string()
    };
    let call = r#"{"role":"assistant","model":"m","content":[{"type":"toolCall","id":"t","name":"add","arguments":{"n":12345678901234567890.5}}]}"#;
    let call = format!(
        r#"{{"type":"message","id":"b","parentId":"a","timestamp":"2026-03-02T09:14:01.000Z","message":{call}}}"#
    );
    let lines = [
        json!({"type": "session", "version": 3, "id": "pi-1", "timestamp": "2026-03-02T09:13:00.000Z", "cwd": "/w"})
            .to_string(),
        entry("a", None, json!({"role": "user", "content": "Add."})),
        call,
        json!({"type": "compaction", "id": "k", "parentId": "b", "summary": "x", "firstKeptEntryId": "a"}).to_string(),
        entry("c", Some("a"), json!({"role": "user", "content": "Or rather not."})),
    ];
    let path = file(&store, "pi.jsonl", lines.map(|line| format!("{line}\n")).concat());
    let imported = store.json(&["import", &path]);
    assert_eq!(imported["transcripts"][0]["format"], "pi", "{imported:#}");
    assert_eq!(imported["transcripts"][0]["skipped"][0]["what"], "compaction");
    assert!(store.succeed(&["show", "pi-1"]).contains("add({\"n\":12345678901234567890.5})"));
    assert!(store.succeed(&["show", "pi-1-c"]).contains("Or rather not."));
    let again = store.json(&["import", &path]);
    assert!(again["conversations"].as_array().unwrap().iter().all(|row| row["new"] == 0), "{again:#}");
    for format in ["anthropic", "openai", "markdown", "html"] {
        let text = store.succeed(&["export", "-c", "pi-1", "--format", format]);
        assert!(text.contains("12345678901234567890.5"), "{format}: {text}");
    }
}
