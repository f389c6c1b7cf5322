//! The database of an OpenClaw agent: the events of each session, which are the entries of its session files.

use rusqlite::{Row, types::Value as Key};

use super::{
    cells,
    database::{Database, Tables},
};
use crate::{TranscriptError, Why, out::ItemQueue, pi::Pi, reader::FormatReader, records::RecordPlace};

/// Table of events and the columns that are read.
const EVENTS: (&str, [&str; 3]) = ("transcript_events", ["session_id", "seq", "event_json"]);
/// Table of session names, and table of archived transcripts.
const NODES: &str = "session_nodes";
const ARCHIVES: &str = "session_transcript_archives";

/// True if the tables are those of OpenClaw.
pub(super) fn is_one(tables: &Tables) -> bool {
    tables.has(EVENTS.0, &EVENTS.1)
}

/// Reader of the sessions of a database, in the order of their ids.
#[derive(Debug)]
pub(super) struct OpenClaw {
    database: Database,
    tables: Tables,
    session: Option<Session>,
    /// Id of the last session that was begun.
    last: Option<Key>,
}

/// A session that is being read.
#[derive(Debug)]
struct Session {
    key: Key,
    entries: Pi,
    /// Sequence number of the last event that was read.
    seq: Option<Key>,
    number: u64,
    title: Option<String>,
}

impl OpenClaw {
    pub(super) fn new(mut database: Database) -> Result<Self, TranscriptError> {
        let tables = database.tables()?;
        if !is_one(&tables) {
            return Err(database.unknown(&tables));
        }
        Ok(Self { database, tables, session: None, last: None })
    }

    /// Begins the session after the last one.
    fn next_session(&mut self, out: &mut ItemQueue) -> Result<Option<Session>, TranscriptError> {
        let read = |row: &Row<'_>| Ok((row.get::<_, Key>(0)?, cells::text(row, 0)?));
        let from = "SELECT session_id FROM transcript_events";
        let found = self.database.next(from, "session_id", self.last.as_ref(), read)?;
        let Some((key, id)) = found else { return Ok(None) };
        self.last = Some(key.clone());
        let id = id.unwrap_or_else(|| "session".to_owned());
        out.file = format!("{}, session {}", self.database.path().display(), memory_core::text::one_line(&id));
        let (session_key, title) = self.named(&key)?;
        let opening = session_key.map(|session_key| ("session_key", session_key)).into_iter().collect();
        Ok(Some(Session { key, entries: Pi::of_session(&id, opening), seq: None, number: 0, title }))
    }

    /// Key of a session, which states where it was held, and its title: the name that a person gave it, otherwise the
    /// program's.
    fn named(&mut self, session: &Key) -> Result<(Option<String>, Option<String>), TranscriptError> {
        if !self.tables.has(NODES, &["current_session_id", "session_key"]) {
            return Ok((None, None));
        }
        let columns = self.tables.columns(NODES, &["session_key", "label", "display_name"]);
        let sql = format!("SELECT {columns} FROM {NODES} WHERE current_session_id = ?1 ORDER BY session_key LIMIT 1");
        let read = |row: &Row<'_>| Ok((cells::text(row, 0)?, cells::text(row, 1)?.or(cells::text(row, 2)?)));
        Ok(self.database.first(&sql, [session], read)?.unwrap_or_default())
    }

    /// Reads the next events of a session; `false` at its end.
    fn read(&mut self, session: &mut Session, out: &mut ItemQueue) -> Result<bool, TranscriptError> {
        let columns = self.tables.columns(EVENTS.0, &["seq", "event_json", "created_at"]);
        let read = |row: &Row<'_>| Ok((row.get::<_, Key>(0)?, cells::text(row, 1)?, cells::time(row, 2)?));
        let from = format!("SELECT {columns} FROM transcript_events WHERE session_id = ?1");
        let events = self.database.page_of(&from, &session.key, ("seq", session.seq.as_ref()), read)?;
        let Some((last, ..)) = events.last() else { return Ok(false) };
        session.seq = Some(last.clone());
        for (_, event, at) in events {
            session.number += 1;
            out.report.records += 1;
            out.place = RecordPlace::of_line(session.number);
            match event {
                Some(json) => session.entries.entry(&json, at, out)?,
                None => out.skip(Why::Broken, "event"),
            }
        }
        Ok(true)
    }

    /// Counts the transcripts that were archived when a session was deleted or reset.
    fn count_archives(&mut self, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        if !self.tables.has(ARCHIVES, &["session_id", "generation", "reason"]) {
            return Ok(());
        }
        let sql = format!("SELECT reason, count(*) FROM {ARCHIVES} GROUP BY reason ORDER BY reason LIMIT 8");
        let read = |row: &Row<'_>| Ok((cells::text(row, 0)?, cells::integer(row, 1)?));
        for (reason, count) in self.database.page(&sql, [], read)? {
            let what = format!("transcript of a session that was {}", reason.as_deref().unwrap_or("put away"));
            if let Some(count) = count.and_then(|count| u64::try_from(count).ok()).filter(|count| *count > 0) {
                let place = || format!("{}, {ARCHIVES}:1", self.database.path().display());
                out.report.count(Why::Note, &what, count, place);
            }
        }
        Ok(())
    }
}

impl FormatReader for OpenClaw {
    fn rows(&mut self, out: &mut ItemQueue) -> Result<bool, TranscriptError> {
        let current = self.session.take();
        let Some(mut session) = current.map_or_else(|| self.next_session(out), |current| Ok(Some(current)))? else {
            self.count_archives(out)?;
            return Ok(false);
        };
        if self.read(&mut session, out)? {
            self.session = Some(session);
        } else if let (Some(title), Some(conversation)) = (&session.title, session.entries.main()) {
            out.title(conversation, title, Vec::new());
        }
        Ok(true)
    }
}
