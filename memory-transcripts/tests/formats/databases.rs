//! Databases of OpenClaw and lossless-claw, made from their schemas.

use std::{collections::BTreeMap, fs, path::Path};

use memory_core::{ContentBlock, Level};
use memory_transcripts::{Format, Item, Limits, Summarized, TranscriptError, Why, find};
use proptest::prelude::*;
use rusqlite::{Connection, params};
use serde_json::{Value, json};

use crate::support::{Files, Read, read, read_as};

/// The tables of OpenClaw that hold sessions.
const OPENCLAW: &str = "
    PRAGMA foreign_keys = OFF;
    CREATE TABLE session_nodes (session_key TEXT NOT NULL PRIMARY KEY, current_session_id TEXT NOT NULL,
        entry_json TEXT NOT NULL, updated_at INTEGER NOT NULL, label TEXT, display_name TEXT) STRICT;
    CREATE TABLE session_windows (session_id TEXT NOT NULL PRIMARY KEY, session_key TEXT NOT NULL,
        created_at INTEGER NOT NULL) STRICT;
    CREATE TABLE transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT NOT NULL,
        created_at INTEGER NOT NULL, PRIMARY KEY (session_id, seq),
        FOREIGN KEY (session_id) REFERENCES session_windows(session_id) ON DELETE CASCADE) STRICT;
    CREATE TABLE session_transcript_archives (session_id TEXT NOT NULL, generation TEXT NOT NULL, reason TEXT NOT NULL,
        archive_blob BLOB NOT NULL, PRIMARY KEY (session_id, generation)) STRICT;
    CREATE VIRTUAL TABLE session_transcript_fts USING fts5(text, session_id UNINDEXED);";

/// The tables of lossless-claw.
const LOSSLESS: &str = "
    CREATE TABLE conversations (conversation_id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL,
        session_key TEXT, active INTEGER NOT NULL DEFAULT 1, archived_at TEXT, title TEXT,
        created_at TEXT NOT NULL DEFAULT (datetime('now')));
    CREATE TABLE messages (message_id INTEGER PRIMARY KEY AUTOINCREMENT, conversation_id INTEGER NOT NULL, seq INTEGER NOT NULL,
        role TEXT NOT NULL CHECK (role IN ('system', 'user', 'assistant', 'tool')), content TEXT NOT NULL,
        token_count INTEGER NOT NULL, transcript_entry_id TEXT, openclaw_sender_metadata TEXT,
        created_at TEXT NOT NULL DEFAULT (datetime('now')), UNIQUE (conversation_id, seq));
    CREATE TABLE message_parts (part_id TEXT PRIMARY KEY, message_id INTEGER NOT NULL, session_id TEXT NOT NULL,
        part_type TEXT NOT NULL, ordinal INTEGER NOT NULL, text_content TEXT, is_ignored INTEGER, is_synthetic INTEGER,
        tool_call_id TEXT, tool_name TEXT, tool_status TEXT, tool_input TEXT, tool_output TEXT, tool_error TEXT,
        file_mime TEXT, file_name TEXT, file_url TEXT, subtask_prompt TEXT, metadata TEXT, UNIQUE (message_id, ordinal));
    CREATE TABLE summaries (summary_id TEXT PRIMARY KEY, conversation_id INTEGER NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ('leaf', 'condensed')), depth INTEGER NOT NULL DEFAULT 0, content TEXT NOT NULL,
        token_count INTEGER NOT NULL, model TEXT NOT NULL DEFAULT 'unknown', created_at TEXT NOT NULL DEFAULT (datetime('now')));
    CREATE TABLE summary_messages (summary_id TEXT NOT NULL, message_id INTEGER NOT NULL, ordinal INTEGER NOT NULL,
        PRIMARY KEY (summary_id, message_id));
    CREATE TABLE summary_parents (summary_id TEXT NOT NULL, parent_summary_id TEXT NOT NULL, ordinal INTEGER NOT NULL,
        PRIMARY KEY (summary_id, parent_summary_id));";

fn event(connection: &Connection, session: &str, seq: u32, event: &Value) {
    let sql = "INSERT INTO transcript_events VALUES (?1, ?2, ?3, 1757325600000)";
    connection.execute(sql, params![session, seq, event.to_string()]).unwrap();
}

fn said(id: &str, parent: Option<&str>, message: &Value) -> Value {
    json!({"type": "message", "id": id, "parentId": parent, "timestamp": "2026-08-02T09:14:00.000Z", "message": message})
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// A database of an agent with two sessions, a rewind and a compaction.
fn openclaw(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(OPENCLAW).unwrap();
    let named = "INSERT INTO session_nodes VALUES ('agent:main:telegram:group:7', 's-1', '{}', 0, 'The lake', 'made');
                 INSERT INTO session_transcript_archives VALUES ('s-0', 'g', 'deleted', x'00');";
    connection.execute_batch(named).unwrap();
    let group = json!({"role": "user", "content": "Which lake?",
                       "__openclaw": {"senderId": "u-42", "senderName": "Ada", "senderIsOwner": true}});
    let call = json!({"role": "assistant", "model": "m", "provider": "p", "content": [
        {"type": "thinking", "thinking": "Hm.", "thinkingSignature": "s"},
        {"type": "toolCall", "id": "t", "name": "find", "arguments": {"n": 7}}]});
    let result = json!({"role": "toolResult", "toolCallId": "t", "toolName": "find", "isError": true,
                        "content": [{"type": "text", "text": "no"}]});
    let events = [
        json!({"type": "session", "version": 3, "id": "s-1", "cwd": "/w", "timestamp": "2026-08-02T09:13:00.000Z"}),
        said("a", None, &group),
        said("b", Some("a"), &call),
        said("c", Some("b"), &result),
        json!({"type": "compaction", "id": "k", "parentId": "c", "summary": "…", "firstKeptEntryId": "b", "tokensBefore": 9}),
        said("d", Some("k"), &user("Garda.")),
        json!({"type": "custom", "id": "x", "parentId": "d", "customType": "state", "data": {}}),
        said("e", Some("a"), &user("Como.")),
        json!({"type": "hologram", "id": "h", "parentId": "e"}),
    ];
    // Rows are read by their numbers, in whatever order they were written.
    for (seq, one) in events.iter().enumerate().rev() {
        event(&connection, "s-1", u32::try_from(seq).unwrap(), one);
    }
    event(&connection, "s-2", 1, &json!({"type": "message", "id": "z", "parentId": null, "message": user("Alone.")}));
    connection
}

/// A conversation of twelve messages, with a call, three leaves and a summary of two of them.
fn lossless(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(LOSSLESS).unwrap();
    let conversation =
        "INSERT INTO conversations (session_id, session_key, title) VALUES ('5f0c', 'agent:main:main', 'A  trip')";
    connection.execute(conversation, []).unwrap();
    for seq in 1..=12 {
        let role = match seq {
            5 => "tool",
            _ if seq % 2 == 0 => "assistant",
            _ => "user",
        };
        let sender = (seq == 1).then_some(r#"{"senderId":"u-42","senderName":"Ada"}"#);
        let sql = "INSERT INTO messages (conversation_id, seq, role, content, token_count, openclaw_sender_metadata, created_at)
                   VALUES (1, ?1, ?2, ?3, 9, ?4, '2026-08-02 09:14:00')";
        connection.execute(sql, params![seq, role, format!("remark {seq}"), sender]).unwrap();
    }
    let part = |message: u32, ordinal: u32, kind: &str, more: &[(&str, &str)]| {
        let names: String = more.iter().map(|(name, _)| format!(", {name}")).collect();
        let values: String = more.iter().map(|(_, value)| format!(", '{value}'")).collect();
        let sql = format!(
            "INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal{names})
             VALUES ('{message}-{ordinal}', {message}, '5f0c', '{kind}', {ordinal}{values})"
        );
        connection.execute(&sql, []).unwrap();
    };
    let raw = r#"{"raw":{"type":"toolCall","id":"t","name":"find","arguments":{"n":12345678901234567890.5}}}"#;
    part(
        4,
        0,
        "reasoning",
        &[
            ("text_content", "Hm."),
            ("metadata", r#"{"raw":{"type":"thinking","thinking":"Hm.","thinkingSignature":"sig"}}"#),
        ],
    );
    part(4, 1, "tool", &[("tool_call_id", "t"), ("tool_name", "find"), ("metadata", raw)]);
    part(4, 2, "step_finish", &[]);
    part(
        5,
        0,
        "text",
        &[
            ("text_content", "no file"),
            ("metadata", r#"{"originalRole":"toolResult","toolCallId":"t","isError":true}"#),
        ],
    );
    part(
        6,
        0,
        "tool",
        &[
            ("tool_call_id", "u"),
            ("tool_name", "look"),
            ("tool_input", r#"{"at":1}"#),
            ("tool_output", "\"seen\""),
            ("tool_status", "completed"),
        ],
    );
    part(7, 0, "text", &[("text_content", "remark 7")]);
    part(7, 1, "text", &[("text_content", "of the program"), ("is_synthetic", "1")]);
    part(
        7,
        2,
        "file",
        &[("file_mime", "application/pdf"), ("file_name", "plan.pdf"), ("file_url", "file:///plan.pdf")],
    );
    part(7, 3, "hologram", &[("text_content", "?")]);
    for (id, messages) in [("sum_a", 1..=3), ("sum_b", 4..=5), ("sum_c", 9..=9)] {
        let sql = "INSERT INTO summaries (summary_id, conversation_id, kind, depth, content, token_count, model)
                   VALUES (?1, 1, 'leaf', 0, ?2, 3, 'haiku')";
        connection.execute(sql, params![id, format!("What {id} says.")]).unwrap();
        for message in messages {
            let sql = "INSERT INTO summary_messages VALUES (?1, ?2, ?2)";
            connection.execute(sql, params![id, message]).unwrap();
        }
    }
    for (id, depth, children) in
        [("sum_d", 1, ["sum_a", "sum_b"]), ("sum_e", 1, ["sum_b", "sum_c"]), ("sum_f", 2, ["sum_d", "sum_e"])]
    {
        let sql = "INSERT INTO summaries (summary_id, conversation_id, kind, depth, content, token_count)
                   VALUES (?1, 1, 'condensed', ?2, 'Condensed.', 1)";
        connection.execute(sql, params![id, depth]).unwrap();
        for (ordinal, child) in children.iter().enumerate() {
            let sql = "INSERT INTO summary_parents VALUES (?1, ?2, ?3)";
            connection.execute(sql, params![id, child, u32::try_from(ordinal).unwrap()]).unwrap();
        }
    }
    connection
}

/// Names and contents of all files of a directory.
fn listing(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let file = |entry: fs::DirEntry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap());
    fs::read_dir(directory).unwrap().map(|entry| file(entry.unwrap())).collect()
}

fn error(path: &Path, format: Option<Format>) -> TranscriptError {
    let found = match find(path, format, Limits::default()) {
        Ok(found) => found,
        Err(error) => return error,
    };
    let mut reader = match found.transcripts[0].open() {
        Ok(reader) => reader,
        Err(error) => return error,
    };
    loop {
        match reader.read() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("{} was read", path.display()),
            Err(error) => return error,
        }
    }
}

fn skipped(read: &Read, why: Why) -> Vec<(String, u64)> {
    read.skipped().into_iter().filter(|(of, ..)| *of == why).map(|(_, what, count)| (what, count)).collect()
}

#[test]
fn a_database_of_openclaw_gives_its_sessions_with_forks_and_senders() {
    let files = Files::new();
    let path = files.path("agent.sqlite");
    drop(openclaw(&path));
    let read = read(&path);
    assert_eq!(read.ids(), ["s-1", "s-1-e", "s-2"]);
    let main = ["user: Which lake?", "assistant: Hm.\nfind({\"n\":7})", "tool: error:\nno", "user: Garda."];
    assert_eq!(read.texts("s-1"), main);
    assert_eq!(read.texts("s-1-e"), ["user: Como."]);
    assert_eq!(read.forks(), [("s-1-e".to_owned(), "s-1".to_owned(), "a".to_owned())]);
    assert_eq!(read.titles["s-1"], "The lake");
    let first = &read.messages["s-1"][0];
    assert_eq!(first.message.speaker.as_deref(), Some("Ada"));
    assert_eq!(read.metadata("s-1", 0, "sender"), r#"{"name":"Ada","id":"u-42"}"#);
    assert_eq!(read.metadata("s-1", 0, "session_key"), "\"agent:main:telegram:group:7\"");
    assert_eq!(first.at.unwrap().to_string(), "2026-08-02T09:14:00Z");
    assert_eq!(read.messages["s-2"][0].at.unwrap().as_millis(), 1_757_325_600_000, "the row's time");
    assert_eq!(skipped(&read, Why::Unknown), [("hologram".to_owned(), 1)]);
    assert_eq!(skipped(&read, Why::View), [("compaction".to_owned(), 1)]);
    let notes = [("custom".to_owned(), 1), ("transcript of a session that was deleted".to_owned(), 1)];
    assert_eq!(skipped(&read, Why::Note), notes);
}

#[test]
fn a_database_of_lossless_claw_gives_messages_of_parts_and_the_summaries_that_fit() {
    let files = Files::new();
    let path = files.path("lcm.db");
    drop(lossless(&path));
    let mut reader = find(&path, None, Limits::default()).unwrap().transcripts[0].open().unwrap();
    let (mut read, mut summaries) = (Read::default(), Vec::<Summarized>::new());
    while let Some(item) = reader.read().unwrap() {
        match item {
            Item::Summarized(summarized) => summaries.push(summarized),
            item => read.take(item),
        }
    }
    read.report = reader.report().clone();
    let id = "5f0c-lcm-1";
    assert_eq!(read.ids(), [id]);
    assert_eq!(read.titles[id], "A trip");
    let texts = read.texts(id);
    assert_eq!(texts.len(), 13, "the result of a call in one message is a message of its own: {texts:#?}");
    assert_eq!(texts[3], "assistant: Hm.\nfind({\"n\":12345678901234567890.5})", "every digit is there");
    assert_eq!(texts[4..7], ["tool: error:\nno file", "assistant: look({\"at\":1})", "tool: seen"]);
    assert!(texts[7].starts_with("user: remark 7\n[document: plan.pdf, file:///plan.pdf]"), "{}", texts[7]);
    let messages = &read.messages[id];
    assert!(
        matches!(&messages[3].message.content[0], ContentBlock::Reasoning { signature: Some(sig), .. } if sig == "sig")
    );
    assert!(messages[3].message.tool_calls().eq(messages[4].message.tool_results()));
    assert_eq!(messages[0].message.speaker.as_deref(), Some("Ada"));
    assert_eq!(messages[0].at.unwrap().to_string(), "2026-08-02T09:14:00Z");
    let shown: Vec<_> = summaries
        .iter()
        .map(|one| (one.id.as_str(), one.level, one.first.to_string(), one.last.to_string(), one.messages))
        .collect();
    let expected = [
        ("sum_a", Level::Summary, "lcm-1", "lcm-3", 3),
        ("sum_b", Level::Summary, "lcm-4", "lcm-5", 2),
        ("sum_c", Level::Summary, "lcm-9", "lcm-9", 1),
        ("sum_d", Level::Meta, "lcm-1", "lcm-5", 5),
    ];
    assert_eq!(shown, expected.map(|(id, level, first, last, of)| (id, level, first.to_owned(), last.to_owned(), of)));
    assert_eq!(summaries[3].children, ["sum_a", "sum_b"]);
    assert_eq!(summaries[0].written_by.to_string(), "lossless-claw haiku");
    let unfit = [
        ("summary of a summary that is not taken over".to_owned(), 1),
        ("summary of messages with others between them".to_owned(), 1),
    ];
    assert_eq!(skipped(&read, Why::Unfit), unfit);
    assert_eq!(skipped(&read, Why::Unknown), [("part hologram (kept as it came)".to_owned(), 1)]);
    assert_eq!(skipped(&read, Why::Note).len(), 2, "a step and what the program wrote");
}

#[test]
fn a_live_database_is_read_with_its_log_and_its_owner_goes_on() {
    let files = Files::new();
    let path = files.path("agent.sqlite");
    let owner = openclaw(&path);
    owner.execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;").unwrap();
    event(&owner, "s-3", 1, &said("y", None, &user("In the log alone.")));
    let before = listing(path.parent().unwrap());
    assert_eq!(before.len(), 3);
    let all = read(&path);
    assert_eq!(all.texts("s-3"), ["user: In the log alone."]);
    assert_eq!(listing(path.parent().unwrap()).keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    // Between two pages nothing is locked: the owner writes, and empties its log.
    let mut reader = find(&path, None, Limits::default()).unwrap().transcripts[0].open().unwrap();
    reader.read().unwrap().unwrap();
    event(&owner, "s-4", 1, &said("x", None, &user("Meanwhile.")));
    let busy: u32 = owner.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).unwrap();
    assert_eq!(busy, 0);
    let mut texts = Vec::new();
    while let Some(item) = reader.read().unwrap() {
        if let Item::Said(said) = item {
            texts.push(said.message.text());
        }
    }
    assert!(texts.contains(&"Meanwhile.".to_owned()), "{texts:?}");
}

#[test]
fn a_database_that_was_closed_or_copied_is_read_and_nothing_is_made_beside_it() {
    let files = Files::new();
    let path = files.path("live/lcm.db");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let owner = lossless(&path);
    owner.execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;").unwrap();
    owner.execute("UPDATE messages SET content = 'in the log' WHERE seq = 12", []).unwrap();
    let copy = files.path("copy/lcm.db");
    fs::create_dir_all(copy.parent().unwrap()).unwrap();
    for ending in ["", "-wal"] {
        fs::copy(format!("{}{ending}", path.display()), format!("{}{ending}", copy.display())).unwrap();
    }
    drop(owner);
    for path in [&path, &copy] {
        let before = listing(path.parent().unwrap());
        let read = read(path);
        assert_eq!(read.texts("5f0c-lcm-1").last().unwrap(), "assistant: in the log");
        assert_eq!(listing(path.parent().unwrap()), before, "{}", path.display());
    }
}

#[test]
fn a_database_that_is_locked_damaged_or_of_another_program_says_so() {
    let files = Files::new();
    let path = files.path("agent.sqlite");
    let owner = openclaw(&path);
    owner.execute_batch("BEGIN EXCLUSIVE").unwrap();
    assert!(matches!(error(&path, None), TranscriptError::Locked { .. }));
    owner.execute_batch("ROLLBACK").unwrap();
    drop(owner);
    let other = files.path("state.sqlite");
    Connection::open(&other)
        .unwrap()
        .execute_batch("CREATE TABLE cats (name); CREATE VIEW messages AS SELECT 1;")
        .unwrap();
    for format in [None, Some(Format::OpenClaw), Some(Format::LosslessClaw)] {
        let error = error(&other, format);
        assert!(matches!(error, TranscriptError::UnknownDatabase { .. }), "{error}");
        assert!(error.to_string().ends_with("it has the tables cats"), "{error}");
    }
    let whole = fs::read(&path).unwrap();
    let cut = files.write("cut.sqlite", &whole[..whole.len() / 2]);
    let error_of_cut = error(&cut, Some(Format::OpenClaw));
    assert!(matches!(error_of_cut, TranscriptError::Damaged { .. }), "{error_of_cut}");
    let none = files.write("none.sqlite", "hello");
    assert!(matches!(error(&none, Some(Format::OpenClaw)), TranscriptError::Damaged { .. }));
    // A database of another program in a directory is counted.
    let found = read_as(path.parent().unwrap(), None);
    assert!(found.skipped().contains(&(Why::Note, "SQLite database without conversations".to_owned(), 1)));
}

#[test]
fn a_hostile_database_does_no_harm() {
    let files = Files::new();
    let path = files.path("x.sqlite");
    let connection = Connection::open(&path).unwrap();
    // Types at will, a cycle of summaries, a trigger, an index over an expression, an endless view, and a large value.
    connection
        .execute_batch(
            "CREATE TABLE conversations (conversation_id, session_id, title);
             CREATE TABLE messages (message_id, conversation_id, seq, role, content, created_at);
             CREATE TABLE message_parts (message_id, part_type, ordinal, text_content, metadata);
             CREATE TABLE summaries (summary_id, conversation_id, kind, content, depth);
             CREATE TABLE summary_parents (summary_id, parent_summary_id);
             CREATE TABLE summary_messages (summary_id, message_id);
             CREATE VIEW endless AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n;
             CREATE TRIGGER evil AFTER INSERT ON messages BEGIN SELECT load_extension('evil'); END;
             INSERT INTO conversations VALUES (1.5, x'ff', 7), ('../../x', NULL, NULL), (NULL, 'never', NULL);
             DROP TRIGGER evil;
             INSERT INTO messages VALUES ('m', 1.5, 'one', 'user', 'text', 'yesterday'), (x'00ff', 1.5, 2, 'user', x'ff', 1e300),
                 (NULL, 1.5, NULL, 'user', 'no number', NULL), (3, 1.5, 3, 'wizard', 'x', NULL);
             INSERT INTO message_parts VALUES ('m', 7, x'00', 'in a part', '{broken'), ('m', 'text', 'a', NULL, '[]');
             INSERT INTO summaries VALUES ('a', 1.5, 'condensed', 'x', 1), ('b', 1.5, 'condensed', 'x', 1), ('c', 1.5, 'leaf', 'x', 0);
             INSERT INTO summary_parents VALUES ('a', 'b'), ('b', 'a'), ('a', 'a');
             INSERT INTO summary_messages VALUES ('c', 'gone');
             CREATE TRIGGER evil AFTER INSERT ON messages BEGIN SELECT load_extension('evil'); END;",
        )
        .unwrap();
    let before = fs::read(&path).unwrap();
    let read = read(&path);
    assert!(read.ids().iter().all(|id| !id.contains('/')), "{:?}", read.ids());
    assert!(skipped(&read, Why::Unfit).iter().map(|(_, count)| count).sum::<u64>() == 3);
    assert_eq!(fs::read(&path).unwrap(), before);
    let large = "DROP TRIGGER evil; INSERT INTO messages VALUES (9, 1.5, 9, 'user', zeroblob(70000000), NULL);";
    connection.execute_batch(large).unwrap();
    assert!(matches!(error(&path, None), TranscriptError::TooLarge { .. }));
    // A view in place of a table is no table, and computed columns are no columns.
    let view = files.path("v.sqlite");
    let sql = "CREATE TABLE t (session_id, seq);
               CREATE VIEW transcript_events AS SELECT 1 AS session_id, 1 AS seq, '{}' AS event_json;";
    Connection::open(&view).unwrap().execute_batch(sql).unwrap();
    assert!(matches!(error(&view, Some(Format::OpenClaw)), TranscriptError::UnknownDatabase { .. }));
    let computed = files.path("g.sqlite");
    let sql = "CREATE TABLE transcript_events (session_id, seq, event_json AS (hex(zeroblob(1000000000))));";
    Connection::open(&computed).unwrap().execute_batch(sql).unwrap();
    assert!(matches!(error(&computed, Some(Format::OpenClaw)), TranscriptError::UnknownDatabase { .. }));
}

#[test]
fn a_long_session_is_read_a_page_at_a_time_and_again_the_same() {
    let files = Files::new();
    let path = files.path("agent.sqlite");
    let connection = openclaw(&path);
    let transaction = connection.unchecked_transaction().unwrap();
    for seq in 0..1_000 {
        let parent = (seq > 0).then(|| format!("n{}", seq - 1));
        event(
            &connection,
            "long",
            seq,
            &said(&format!("n{seq}"), parent.as_deref(), &user(&format!("{seq} {}", "x".repeat(9_000)))),
        );
    }
    transaction.commit().unwrap();
    drop(connection);
    let first = read(&path);
    assert_eq!(first.texts("long").len(), 1_000);
    assert_eq!(first.all(), read(&path).all());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Reading a database with any damage ends, with items or with an error, and changes nothing.
    #[test]
    fn no_damage_makes_a_reader_fall(at in any::<prop::sample::Index>(), bytes in prop::collection::vec(any::<u8>(), 1..40), is_lossless in any::<bool>()) {
        let files = Files::new();
        let path = files.path("x.sqlite");
        let format = if is_lossless {
            drop(lossless(&path));
            Format::LosslessClaw
        } else {
            drop(openclaw(&path));
            Format::OpenClaw
        };
        let mut damaged = fs::read(&path).unwrap();
        let at = at.index(damaged.len() - bytes.len());
        damaged[at..at + bytes.len()].copy_from_slice(&bytes);
        fs::write(&path, &damaged).unwrap();
        if let Ok(found) = find(&path, Some(format), Limits::default())
            && let Ok(mut reader) = found.transcripts[0].open()
        {
            while let Ok(Some(_)) = reader.read() {}
        }
        prop_assert_eq!(fs::read(&path).unwrap(), damaged);
    }
}

#[test]
fn sessions_of_opencode_are_read_from_its_database() {
    let files = Files::new();
    let path = files.path("opencode.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("
        CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, directory TEXT, title TEXT);
        CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
        CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
        INSERT INTO session VALUES ('ses_1', 'p', NULL, '/w', 'Lakes'), ('ses_2', 'p', 'ses_1', '/w', NULL);
        INSERT INTO message VALUES ('msg_1', 'ses_1', 1760000000000, '{\"role\":\"user\"}'),
            ('msg_2', 'ses_1', 1760000001000, '{\"role\":\"assistant\",\"modelID\":\"m\"}'),
            ('msg_3', 'ses_2', 1760000002000, '{\"role\":\"user\"}'), ('msg_4', 'ses_2', 1760000003000, 'torn');
        INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_1', 0, '{\"type\":\"text\",\"text\":\"Which lake?\"}'),
            ('prt_2', 'msg_2', 'ses_1', 0,
             '{\"type\":\"tool\",\"tool\":\"find\",\"callID\":\"c\",\"state\":{\"status\":\"completed\",\"input\":{},\"output\":\"Garda\"}}'),
            ('prt_3', 'msg_2', 'ses_1', 0, '{\"type\":\"text\",\"text\":\"Garda.\"}'),
            ('prt_4', 'msg_3', 'ses_2', 0, '{\"type\":\"text\",\"text\":\"Look.\"}');").unwrap();
    let read = read(&path);
    assert_eq!(read.texts("ses_1"), ["user: Which lake?", "assistant: find({})", "tool: Garda", "assistant: Garda."]);
    assert_eq!(read.texts("ses_2"), ["user: Look."]);
    let first = &read.messages["ses_1"][0];
    assert_eq!((first.at.unwrap().as_millis(), read.titles["ses_1"].as_str()), (1_760_000_000_000, "Lakes"));
    assert_eq!(read.metadata("ses_2", 0, "subagent_of"), "\"ses_1\"");
    assert_eq!(read.skipped(), [(Why::Broken, "row".to_owned(), 1)]);
}
