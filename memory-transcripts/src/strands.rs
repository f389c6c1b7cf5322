//! Session folders of Strands Agents: `session_ID/agents/agent_ID/messages/message_N.json`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use memory_core::{Json, json::message_from_strands};
use memory_files::{Links, open_dir};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Map, Value};

use crate::{
    Conversation, Limits, Report, TranscriptError, Why,
    names::{conversation_id, key},
    out::{ItemQueue, says_nothing},
    reader::FormatReader,
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

impl FormatReader for Strands {
    fn record(&mut self, record: &str, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        let Some(mut members) = out.parsed::<Map<String, Value>>(record, "message that is no object")? else {
            return Ok(());
        };
        let said = members.remove("message").unwrap_or_default();
        // A redacted message is read in its redacted form.
        let redacted = members.get("redact_message").filter(|redacted| !redacted.is_null());
        let mut message = match message_from_strands(redacted.unwrap_or(&said)) {
            Ok(message) => message,
            Err(error) => {
                out.skip(Why::Broken, &format!("message ({})", error.at));
                return Ok(());
            }
        };
        if says_nothing(&message.content) {
            out.skip(Why::Empty, message.role.as_str());
            return Ok(());
        }
        let id = conversation_id(&[&self.name]);
        if !std::mem::replace(&mut self.begun, true) {
            out.begin(Conversation::new(id.clone()));
        }
        let number = members.get("message_id").and_then(Value::as_u64).unwrap_or(out.place.line - 1);
        let tracking = said.get("tracking_id").and_then(Value::as_str).map(str::to_owned);
        let at = members.get("created_at").and_then(Value::as_str).and_then(|at| at.parse().ok());
        members.remove("redact_message");
        message.metadata.insert(RECORD.to_owned(), Json::from_value(&members.into()));
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
    let text = percent_decode_str(part).decode_utf8().ok()?;
    (escaped_part(&text) == part).then(|| text.into_owned())
}

/// Escapes a part of a name, so that no two different parts collide.
#[must_use]
pub fn escaped_part(part: &str) -> String {
    const ESCAPED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');
    utf8_percent_encode(part, &ESCAPED).to_string()
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
        // Strands creates an empty folder for agents that work together in each session.
        let is_empty = || path.is_dir() && entries(&path, limits).is_ok_and(|entries| entries.is_empty());
        if !matches!(name.as_ref(), "agents" | "session.json") && !is_empty() {
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
    let io = TranscriptError::io(directory);
    open_dir(directory, Links::Refuse).map_err(&io)?;
    let mut entries = Vec::new();
    for entry in fs::read_dir(directory).map_err(&io)? {
        entries.push(entry.map_err(&io)?.path());
        if entries.len() > limits.files {
            let (place, most) = (directory.display().to_string(), (limits.files as u64, "entries"));
            return Err(TranscriptError::too_large(place, "the directory", most, "import parts of it"));
        }
    }
    entries.sort();
    Ok(entries)
}
