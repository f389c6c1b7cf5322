//! The database of opencode: sessions, their messages, and the parts of each, as JSON.

use rusqlite::{Row, types::Value as Key};
use serde_json::{Value, json};

use super::{
    cells,
    database::{Database, Tables},
};
use crate::{
    TranscriptError, Why, exact, opencode::OpenCode as Sessions, out::ItemQueue, reader::FormatReader,
    records::RecordPlace,
};

/// Tables with the columns that are read.
const MESSAGES: (&str, [&str; 3]) = ("message", ["id", "session_id", "data"]);
const PARTS: (&str, [&str; 3]) = ("part", ["id", "message_id", "data"]);

/// True if the tables are those of opencode.
pub(super) fn is_one(tables: &Tables) -> bool {
    tables.has("session", &["id"]) && [MESSAGES, PARTS].iter().all(|(table, columns)| tables.has(table, columns))
}

/// Reader of the sessions of a database, in the order of their ids.
#[derive(Debug)]
pub(super) struct OpenCode {
    database: Database,
    tables: Tables,
    sessions: Sessions,
    /// Session that is being read, and the last message that was read of it.
    session: Option<(Key, Option<Key>)>,
    /// Last session that was begun.
    last: Option<Key>,
}

impl OpenCode {
    pub(super) fn new(mut database: Database) -> Result<Self, TranscriptError> {
        let tables = database.tables()?;
        if !is_one(&tables) {
            return Err(database.unknown(&tables));
        }
        Ok(Self { database, tables, sessions: Sessions::new("session"), session: None, last: None })
    }

    /// Begins the session after the last one; `false` without any.
    fn next_session(&mut self, out: &mut ItemQueue) -> Result<bool, TranscriptError> {
        let columns = self.tables.columns("session", &["id", "title", "directory", "parent_id"]);
        let read = |row: &Row<'_>| {
            let texts = [cells::text(row, 0)?, cells::text(row, 1)?, cells::text(row, 2)?, cells::text(row, 3)?];
            Ok((row.get::<_, Key>(0)?, texts))
        };
        let from = format!("SELECT {columns} FROM session");
        let Some((key, [id, title, directory, parent])) = self.database.next(&from, "id", self.last.as_ref(), read)?
        else {
            return Ok(false);
        };
        let id = id.unwrap_or_else(|| "session".to_owned());
        out.file = format!("{}, session {}", self.database.path().display(), memory_core::text::one_line(&id));
        out.place = RecordPlace::of_line(1);
        self.sessions.take(json!({"id": id, "title": title, "directory": directory, "parentID": parent}), out);
        self.last = Some(key.clone());
        self.session = Some((key, None));
        Ok(true)
    }

    /// Takes a row with an id and JSON, and adds the columns that the JSON lacks.
    fn row(&mut self, (key, data): (&Key, Option<String>), columns: Value, out: &mut ItemQueue) {
        let Some(Value::Object(mut members)) = data.and_then(|data| exact::parse(&data).ok()) else {
            return out.skip(Why::Broken, "row");
        };
        members.entry("id").or_insert_with(|| cells::shown(key).into());
        for (name, value) in columns.as_object().into_iter().flatten() {
            members.entry(name.as_str()).or_insert_with(|| value.clone());
        }
        self.sessions.take(members.into(), out);
    }

    /// Reads the next messages of a session with their parts; `false` at its end.
    fn read(&mut self, session: &Key, last: &mut Option<Key>, out: &mut ItemQueue) -> Result<bool, TranscriptError> {
        let read = |row: &Row<'_>| Ok((row.get::<_, Key>(0)?, cells::text(row, 1)?, cells::integer(row, 2)?));
        let columns = self.tables.columns(MESSAGES.0, &["id", "data", "time_created"]);
        let from = format!("SELECT {columns} FROM message WHERE session_id = ?1");
        let messages = self.database.page_of(&from, session, ("id", last.as_ref()), read)?;
        let Some((end, ..)) = messages.last() else { return Ok(false) };
        *last = Some(end.clone());
        for (key, data, created) in messages {
            out.report.records += 1;
            out.place.line += 1;
            let id = cells::shown(&key);
            self.row((&key, data), json!({"sessionID": cells::shown(session), "time": {"created": created}}), out);
            let mut part = None;
            loop {
                let read = |row: &Row<'_>| Ok((row.get::<_, Key>(0)?, cells::text(row, 1)?));
                let from = "SELECT id, data FROM part WHERE message_id = ?1";
                let parts = self.database.page_of(from, &key, ("id", part.as_ref()), read)?;
                let Some((end, _)) = parts.last() else { break };
                part = Some(end.clone());
                for (key, data) in parts {
                    self.row((&key, data), json!({"messageID": id}), out);
                }
            }
        }
        Ok(true)
    }
}

impl FormatReader for OpenCode {
    fn rows(&mut self, out: &mut ItemQueue) -> Result<bool, TranscriptError> {
        let Some((session, mut last)) = self.session.take() else {
            let is_begun = self.next_session(out)?;
            if !is_begun {
                self.sessions.finish(out)?;
            }
            return Ok(is_begun);
        };
        if self.read(&session, &mut last, out)? {
            self.session = Some((session, last));
        }
        Ok(true)
    }
}
