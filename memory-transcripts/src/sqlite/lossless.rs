//! The database of lossless-claw: conversations of messages, messages of parts, and summaries.

mod parts;
mod summaries;

use std::collections::VecDeque;

use memory_core::{ConversationId, Json, Message, Role, Timestamp};
use rusqlite::{Row, types::Value as Key};
use serde_json::Value;

use super::{
    cells,
    database::{Database, Tables},
};
use crate::{
    Conversation, TranscriptError, Why,
    members::said_by,
    names::{conversation_id, key},
    out::{ItemQueue, says_nothing, usable_title},
    reader::FormatReader,
    records::RecordPlace,
};
use parts::Parts;
use summaries::Summaries;

const CONVERSATIONS: (&str, [&str; 2]) = ("conversations", ["conversation_id", "session_id"]);
const MESSAGES: (&str, [&str; 5]) = ("messages", ["message_id", "conversation_id", "seq", "role", "content"]);
/// Columns of messages that some versions lack.
const MORE: [&str; 3] = ["created_at", "openclaw_sender_metadata", "large_content"];

/// True if the tables are those of lossless-claw.
pub(super) fn is_one(tables: &Tables) -> bool {
    is_readable(tables)
        && tables.has("message_parts", &["message_id", "part_type", "ordinal"])
        && tables.has("summaries", &["summary_id", "conversation_id", "kind", "content"])
}

fn is_readable(tables: &Tables) -> bool {
    tables.has(CONVERSATIONS.0, &CONVERSATIONS.1) && tables.has(MESSAGES.0, &MESSAGES.1)
}

/// Reader of the conversations of a database, in the order of their numbers.
#[derive(Debug)]
pub(super) struct Lossless {
    database: Database,
    tables: Tables,
    parts: Parts,
    current: Option<Current>,
    /// Number of the last conversation that was begun.
    last: Option<Key>,
}

/// The conversation that is being read.
#[derive(Debug)]
struct Current {
    number: Key,
    id: ConversationId,
    title: Option<String>,
    session_key: Option<String>,
    is_begun: bool,
    /// Sequence number of the last message that was read.
    seq: Option<Key>,
    /// Message rows that were read but not emitted yet.
    rows: VecDeque<MessageRow>,
    summaries: Summaries,
    read: u64,
}

/// A row of the table of messages.
#[derive(Debug)]
struct MessageRow {
    number: Key,
    seq: Key,
    role: Option<String>,
    content: Option<String>,
    at: Option<Timestamp>,
    sender: Option<String>,
    large: Option<String>,
}

impl Lossless {
    pub(super) fn new(mut database: Database) -> Result<Self, TranscriptError> {
        let tables = database.tables()?;
        if !is_readable(&tables) {
            return Err(database.unknown(&tables));
        }
        let parts = Parts::new(&tables);
        Ok(Self { database, tables, parts, current: None, last: None })
    }

    /// Begins the conversation after the last one.
    fn next_conversation(&mut self, out: &mut ItemQueue) -> Result<Option<Current>, TranscriptError> {
        let columns = self.tables.columns(CONVERSATIONS.0, &["conversation_id", "session_id", "title", "session_key"]);
        let read = |row: &Row<'_>| {
            let text = |index| cells::text(row, index);
            Ok((row.get::<_, Key>(0)?, text(0)?, text(1)?, text(2)?, text(3)?))
        };
        let from = format!("SELECT {columns} FROM conversations");
        let found = self.database.next(&from, "conversation_id", self.last.as_ref(), read)?;
        let Some((key, number, session, title, session_key)) = found else { return Ok(None) };
        self.last = Some(key.clone());
        let number = number.unwrap_or_default();
        out.file = format!("{}, conversation {}", self.database.path().display(), memory_core::text::one_line(&number));
        let session = session.unwrap_or_else(|| "session".to_owned());
        Ok(Some(Current {
            number: key,
            id: conversation_id(&[&session, "lcm", &number]),
            title: title.as_deref().and_then(usable_title),
            session_key,
            is_begun: false,
            seq: None,
            rows: VecDeque::new(),
            summaries: Summaries::default(),
            read: 0,
        }))
    }

    /// Reads the next rows of messages.
    fn fill(&mut self, current: &mut Current) -> Result<(), TranscriptError> {
        let columns =
            self.tables.columns(MESSAGES.0, &[["message_id", "seq", "role", "content"].as_slice(), &MORE].concat());
        let read = |row: &Row<'_>| {
            Ok(MessageRow {
                number: row.get(0)?,
                seq: row.get(1)?,
                role: cells::text(row, 2)?,
                content: cells::text(row, 3)?,
                at: cells::time(row, 4)?,
                sender: cells::text(row, 5)?,
                large: cells::text(row, 6)?,
            })
        };
        let from = format!("SELECT {columns} FROM messages WHERE conversation_id = ?1");
        let rows = self.database.page_of(&from, &current.number, ("seq", current.seq.as_ref()), read)?;
        if let Some(last) = rows.last() {
            current.seq = Some(last.seq.clone());
        }
        current.rows.extend(rows);
        Ok(())
    }

    /// Emits the message of a row, and a second one if the row also holds the results of its own calls.
    fn say(&mut self, current: &mut Current, row: MessageRow, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        current.read += 1;
        out.report.records += 1;
        out.place = RecordPlace::of_line(current.read);
        let Some(role) = role(row.role.as_deref()) else {
            out.skip(Why::Unknown, &format!("message of the role {}", row.role.as_deref().unwrap_or("NULL")));
            return Ok(());
        };
        let said = self.parts.read(&mut self.database, &row.number, (role, row.content.as_deref()), out)?;
        let number = format!("lcm-{}", cells::shown(&row.number));
        let mut given = 0;
        for (role, content) in said {
            if says_nothing(&content) {
                continue;
            }
            if !current.is_begun {
                current.is_begun = true;
                out.begin(Conversation::new(current.id.clone()).title(current.title.take()));
            }
            let mut message = Message::new(role, content);
            for (name, value) in [("session_key", current.session_key.take()), ("large_content", row.large.clone())] {
                message.metadata.extend(value.map(|value| (name.to_owned(), Json::string(&value))));
            }
            let identity = row.sender.as_deref().filter(|_| role == Role::User);
            if let Some(identity) = identity.and_then(|text| serde_json::from_str::<Value>(text).ok()) {
                message = said_by(message, &identity);
            }
            let key = if given == 0 { key(&number) } else { key(&format!("{number}.{given}")) };
            current.summaries.note(&row.number, key.clone());
            out.say(&current.id, key, message, row.at);
            given += 1;
        }
        if given == 0 {
            current.summaries.note_empty(&row.number);
            out.skip(Why::Empty, role.as_str());
        }
        Ok(())
    }
}

impl FormatReader for Lossless {
    fn rows(&mut self, out: &mut ItemQueue) -> Result<bool, TranscriptError> {
        let current = self.current.take();
        let current = current.map_or_else(|| self.next_conversation(out), |current| Ok(Some(current)))?;
        let Some(mut current) = current else { return Ok(false) };
        if current.rows.is_empty() {
            self.fill(&mut current)?;
        }
        if let Some(row) = current.rows.pop_front() {
            self.say(&mut current, row, out)?;
            self.current = Some(current);
        } else if current.summaries.give(&mut self.database, &self.tables, (&current.number, &current.id), out)? {
            self.current = Some(current);
        }
        Ok(true)
    }
}

fn role(role: Option<&str>) -> Option<Role> {
    Some(match role? {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" => Role::System,
        "tool" | "toolResult" => Role::Tool,
        _ => return None,
    })
}
