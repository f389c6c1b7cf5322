//! Session folders of Strands Agents: `session_ID/agents/agent_ID/messages/message_N.json`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use memory_core::{Json, json::message_from_strands};
use memory_files::{Links, open_dir};
use serde_json::{Map, Value};

use crate::{
    Conversation, Limits, Report, TranscriptError, Why, exact,
    names::{conversation_id, key},
    out::{Out, says_nothing},
    records::Place,
    shape::Shape,
};

/// Metadata member of a message with the other members of its record; `memory bridge` reads and writes it.
const RECORD: &str = "strands_record";

/// Reader of an agent's messages; each record is a file.
#[derive(Debug)]
pub(crate) struct Strands {
    /// Name of the conversation in which `memory bridge` keeps the messages of the agent.
    name: String,
    begun: bool,
}

impl Strands {
    pub(crate) fn new(session: &str, agent: &str) -> Self {
        Self { name: agent_name(session, agent), begun: false }
    }
}

impl Shape for Strands {
    fn record(&mut self, record: &str, place: Place, out: &mut Out) -> Result<(), TranscriptError> {
        let value: Value = exact::parse(record).map_err(|error| out.damaged(place, crate::reader::not_json(&error)))?;
        let Value::Object(mut members) = value else {
            out.skip(Why::Broken, "message that is no object", place);
            return Ok(());
        };
        let said = members.remove("message").unwrap_or_default();
        // A redacted message is read in its redacted form.
        let redacted = members.get("redact_message").filter(|redacted| !redacted.is_null());
        let mut message = match message_from_strands(redacted.unwrap_or(&said)) {
            Ok(message) => message,
            Err(error) => {
                out.skip(Why::Broken, &format!("message ({})", error.at), place);
                return Ok(());
            }
        };
        if says_nothing(&message.content) {
            out.skip(Why::Empty, message.role.as_str(), place);
            return Ok(());
        }
        let id = conversation_id(&[&self.name]);
        if !std::mem::replace(&mut self.begun, true) {
            out.begin(Conversation::new(id.clone()));
        }
        let number = members.get("message_id").and_then(Value::as_u64).unwrap_or(place.line - 1);
        let tracking = said.get("tracking_id").and_then(Value::as_str).map(str::to_owned);
        let at = members.get("created_at").and_then(Value::as_str).and_then(|at| at.parse().ok());
        members.remove("redact_message");
        let rest: Map<String, Value> = members;
        message.metadata.insert(RECORD.to_owned(), Json::from_value(&rest.into()));
        let key = key(&tracking.unwrap_or_else(|| format!("message:{number}")));
        out.say(&id, key, message, at);
        Ok(())
    }
}

/// Name of the conversation with the messages of a Strands agent.
#[must_use]
pub fn agent_name(session: &str, agent: &str) -> String {
    format!("strands:{}:{}", escaped_part(session), escaped_part(agent))
}

/// Session and agent of a conversation with such a name; `None` for any other name.
#[must_use]
pub fn agent_of(conversation: &str) -> Option<(String, String)> {
    let (session, agent) = conversation.strip_prefix("strands:")?.split_once(':')?;
    Some((unescaped_part(session)?, unescaped_part(agent)?))
}

/// Decodes [`escaped_part`]; `None` if the text is not such an encoding.
fn unescaped_part(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut pieces = part.split('%');
    bytes.extend_from_slice(pieces.next()?.as_bytes());
    for piece in pieces {
        let (code, rest) = piece.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(code, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok().filter(|text| escaped_part(text) == part)
}

/// Escapes a part of a name, so that no two different parts collide.
#[must_use]
pub fn escaped_part(part: &str) -> String {
    let mut out = String::with_capacity(part.len());
    for byte in part.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// An agent of a session.
#[derive(Clone, Debug)]
pub(crate) struct Agent {
    pub(crate) directory: PathBuf,
    pub(crate) session: String,
    pub(crate) agent: String,
    pub(crate) messages: Vec<PathBuf>,
}

/// True if a directory is a session.
pub(crate) fn is_session(directory: &Path) -> bool {
    directory.join("session.json").is_file() && directory.join("agents").is_dir()
}

/// The agents of a session, sorted by name.
pub(crate) fn agents(session: &Path, limits: Limits, others: &mut Report) -> Result<Vec<Agent>, TranscriptError> {
    let name = |path: &Path, prefix: &str| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.strip_prefix(prefix).map(str::to_owned)
    };
    let of_session = name(session, "session_").unwrap_or_else(|| "session".to_owned());
    let mut agents = Vec::new();
    for path in entries(session, limits)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !matches!(name.as_ref(), "agents" | "session.json") {
            others.skip(Why::OtherFile, "file beside the agents", || path.display().to_string());
        }
    }
    for directory in entries(&session.join("agents"), limits)? {
        let Some(agent) = name(&directory, "agent_") else {
            others.skip(Why::Unknown, "file among the agents", || directory.display().to_string());
            continue;
        };
        let mut messages = Vec::new();
        let folder = directory.join("messages");
        if !folder.is_dir() {
            others.skip(Why::Empty, "agent without messages", || directory.display().to_string());
            continue;
        }
        for file in entries(&folder, limits)? {
            let number = name(&file, "message_").and_then(|name| name.strip_suffix(".json")?.parse::<u64>().ok());
            match number {
                Some(number) => messages.push((number, file)),
                None => others.skip(Why::Unknown, "file among the messages", || file.display().to_string()),
            }
        }
        messages.sort();
        let messages = messages.into_iter().map(|(_, file)| file).collect();
        agents.push(Agent { directory, session: of_session.clone(), agent, messages });
    }
    Ok(agents)
}

/// Sorted entries of a directory. A link does not count as a directory.
pub(crate) fn entries(directory: &Path, limits: Limits) -> Result<Vec<PathBuf>, TranscriptError> {
    let io = |source| TranscriptError::Io { path: directory.to_owned(), source };
    open_dir(directory, Links::Refuse).map_err(io)?;
    let mut entries = Vec::new();
    for entry in fs::read_dir(directory).map_err(io)? {
        entries.push(entry.map_err(io)?.path());
        if entries.len() > limits.files {
            return Err(TranscriptError::TooLarge {
                place: directory.display().to_string(),
                what: "the directory",
                most: limits.files as u64,
                unit: "entries",
                hint: "import parts of it",
            });
        }
    }
    entries.sort();
    Ok(entries)
}
