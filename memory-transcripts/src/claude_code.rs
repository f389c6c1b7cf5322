//! Sessions of Claude Code: one record per line, in a tree by `parentUuid`.
//!
//! A conversation is one path through the tree, in the order of the file. A record that continues an earlier record
//! than the last one begins a fork, which shares the messages up to there. So later lines never change what earlier
//! lines gave.

mod branch;
mod command;
mod line;
mod queued;
mod stream;
mod titles;

use std::collections::{HashMap, HashSet};

use memory_core::{ContentBlock, ConversationId, Hash, Message, MessageKey, Role};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Conversation, TranscriptError, Why,
    blocks::Blocks,
    exact,
    gemini::Parts,
    item::ForkPoint,
    members::by_model,
    names::{conversation_id, key, short},
    out::{ItemQueue, says_nothing},
    reader::FormatReader,
};
use branch::{Branch, Pending};
use command::{Command, command};
use line::{Inner, Line, unknown_members};
use queued::{Prompts, Taken};
use titles::{Named, Titles, skip_title};

/// Model name of lines that the program wrote itself.
const SYNTHETIC: &str = "<synthetic>";

/// Record types that are notes of the program.
#[rustfmt::skip]
const NOTES: [&str; 13] = [
    "file-history-snapshot", "queue-operation", "progress", "last-prompt", "agent-name", "agent-color", "pr-link",
    "tag", "mode", "permission-mode", "content-replacement", "speculation-accept", "worktree-state",
];

/// Position of a record in the tree.
#[derive(Clone, Copy, Debug)]
struct Spot {
    branch: usize,
    /// Number of its message, or of the message before it.
    message: usize,
}

/// Reader of a session file.
#[derive(Debug, Default)]
pub(crate) struct ClaudeCode {
    /// File name without its extension, for lines that state no session.
    stem: String,
    spots: HashMap<u128, Spot>,
    branches: Vec<Branch>,
    /// Main branch of each session, and of each agent in it.
    by_name: HashMap<(String, Option<String>), usize>,
    /// Branch of the last message.
    current: Option<usize>,
    /// Reader of contents as Qwen Code writes them.
    parts: Parts,
    /// Titles that come before the record or session they name.
    waiting: Vec<Named>,
    /// Titles of sessions in other files, with the last record of each.
    of_others: Vec<(String, String)>,
    /// Prompt that the model took while it worked, until the record after it shows that no other has its words.
    taken: Option<Taken>,
    /// Text of the last answer.
    answer: String,
    /// True if reading began after the start of the file, so that earlier records are unknown.
    is_resumed: bool,
}

/// State of a branch, from which a later reader resumes it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Tip {
    conversation: ConversationId,
    session: String,
    agent: Option<String>,
    is_main: bool,
    /// Last record of the branch.
    record: Option<String>,
    key: Option<MessageKey>,
    #[serde(default)]
    is_linked: bool,
    #[serde(default)]
    titles: Titles,
    #[serde(default)]
    prompts: Prompts,
}

fn hashed(uuid: &str) -> u128 {
    let hash = Hash::of_parts([uuid.as_bytes()]);
    hash.as_bytes().iter().take(16).fold(0, |bits, byte| bits << 8 | u128::from(*byte))
}

impl ClaudeCode {
    pub(crate) fn new(stem: &str) -> Self {
        Self { stem: stem.to_owned(), ..Self::default() }
    }

    /// Resumes from the state of an earlier reader of the file.
    pub(crate) fn resumed(stem: &str, state: &str, out: &mut ItemQueue) -> Option<Self> {
        let tips: Vec<Tip> = serde_json::from_str(state).ok()?;
        let mut reader = Self { is_resumed: true, ..Self::new(stem) };
        for tip in tips {
            let branch = reader.branches.len();
            if let Some(key) = &tip.key {
                out.go_on(&tip.conversation, key.clone());
            }
            if let Some(record) = &tip.record {
                reader.spots.insert(hashed(record), Spot { branch, message: 0 });
            }
            if tip.is_main {
                reader.by_name.insert((tip.session.clone(), tip.agent.clone()), branch);
            }
            let mut resumed = Branch::resumed(tip.conversation, tip.session, tip.agent, tip.record, tip.key);
            (resumed.is_linked, resumed.titles, resumed.prompts) = (tip.is_linked, tip.titles, tip.prompts);
            reader.branches.push(resumed);
            reader.current = Some(branch);
        }
        Some(reader)
    }

    /// The branch of a line; begins a new one if the line continues none.
    fn branch(&mut self, line: &Line<'_>, continues: bool, out: &mut ItemQueue) -> Result<usize, TranscriptError> {
        // A line without a session belongs to that of the lines before it.
        let current = self.current.and_then(|current| self.branches.get(current)).map(|branch| branch.session.as_str());
        let session = line.session().or(current).unwrap_or(&self.stem).to_owned();
        let agent = line.agent().map(str::to_owned);
        let parent = line.parent();
        let spot = parent.and_then(|parent| self.spots.get(&hashed(parent)).copied());
        if let (Some(_), None, true) = (parent, spot, self.is_resumed) {
            // A sidechain in a file of its own begins with a parent elsewhere, and so may a session.
            if self.by_name.contains_key(&(session.clone(), agent.clone())) {
                return Err(TranscriptError::Rewound { place: out.here() });
            }
        }
        let of_parent = spot.and_then(|spot| Some((spot, self.branches.get(spot.branch)?)));
        if let Some((spot, branch)) = of_parent
            && branch.is_sidechain() == line.is_sidechain()
        {
            let is_same = branch.session == session && (agent.is_none() || branch.agent == agent);
            if is_same && (branch.ends_at(spot.message) || continues && branch.may_answer(spot.message)) {
                return Ok(spot.branch);
            }
            let named = self.by_name.get(&(session.clone(), agent.clone())).copied();
            if !is_same && let Some(named) = named {
                return Ok(named);
            }
            let id = if is_same {
                conversation_id(&[branch.base.as_str(), &short(line.uuid.as_deref().unwrap_or_default())])
            } else {
                Self::name(&session, agent.as_deref())
            };
            let fork = branch.key(spot.message).map(|after| ForkPoint::new(branch.conversation.clone(), after));
            // Shared messages are emitted before the fork.
            self.flush(spot.branch, out);
            let base = is_same.then(|| self.branches.get(spot.branch).map(|branch| branch.base.clone())).flatten();
            let number = self.begin(id, session, agent, !is_same, fork, out);
            if let (Some(branch), Some(base)) = (self.branches.get_mut(number), base) {
                branch.base = base;
            }
            return Ok(number);
        }
        let named = (session.clone(), agent.clone());
        if line.is_sidechain() && agent.is_none() {
            // An unnamed sidechain is identified by its first line.
            let id = conversation_id(&[&session, "side", &short(line.uuid.as_deref().unwrap_or_default())]);
            return Ok(self.begin(id, session, Some(String::new()), false, None, out));
        }
        if let Some(branch) = self.by_name.get(&named) {
            // A new tree of the same session, as after a compaction, continues the branch of the last message.
            let last = self.current.filter(|current| {
                self.branches.get(*current).is_some_and(|last| last.session == session && last.agent == agent)
            });
            let last = last.unwrap_or(*branch);
            let of_tree = self.branches.get(*branch).filter(|_| {
                // In a session whose records name no parents, a record without a parent is no rewind.
                let is_linked = self.branches.get(last).is_some_and(|last| last.is_linked);
                parent.is_none() && !continues && agent.is_none() && is_linked
            });
            let Some(base) = of_tree.map(|branch| branch.base.clone()) else { return Ok(last) };
            // A rewind to before the first message shares nothing, and the branch so far is complete.
            self.flush(last, out);
            let id = conversation_id(&[base.as_str(), &short(line.uuid.as_deref().unwrap_or_default())]);
            let number = self.begin(id, session, agent, false, None, out);
            if let Some(branch) = self.branches.get_mut(number) {
                branch.base = base;
            }
            return Ok(number);
        }
        let id = Self::name(&session, agent.as_deref());
        Ok(self.begin(id, session, agent, true, None, out))
    }

    fn name(session: &str, agent: Option<&str>) -> ConversationId {
        match agent {
            Some(agent) => conversation_id(&[session, "agent", agent]),
            None => conversation_id(&[session]),
        }
    }

    fn begin(
        &mut self,
        id: ConversationId,
        session: String,
        agent: Option<String>,
        is_main: bool,
        fork: Option<ForkPoint>,
        out: &mut ItemQueue,
    ) -> usize {
        let number = self.branches.len();
        if is_main {
            self.by_name.insert((session.clone(), agent.clone()), number);
        }
        out.begin(Conversation::new(id.clone()).fork(fork.clone()));
        let is_due = |named: &mut Named| is_main && agent.is_none() && named.leaf.is_none() && named.session == session;
        let due: Vec<_> = self.waiting.extract_if(.., is_due).collect();
        self.branches.push(Branch::new(id, session, agent, fork));
        due.into_iter().for_each(|named| self.entitle(number, &named, out));
        number
    }

    fn flush(&mut self, branch: usize, out: &mut ItemQueue) {
        if let Some(branch) = self.branches.get_mut(branch) {
            branch.flush(out);
        }
    }

    /// Gives a record without a message the position of its parent.
    fn pass(&mut self, line: &Line<'_>) {
        let Some(uuid) = line.uuid.as_deref() else { return };
        let of_parent = line.parent().and_then(|parent| self.spots.get(&hashed(parent)).copied());
        let spot = of_parent.or_else(|| {
            let branch = self.current?;
            Some(Spot { branch, message: self.branches.get(branch)?.last() })
        });
        if let Some(spot) = spot {
            self.spots.entry(hashed(uuid)).or_insert(spot);
            if let Some(branch) = self.branches.get_mut(spot.branch)
                && branch.ends_at(spot.message)
            {
                branch.record = Some(uuid.to_owned());
            }
        }
    }

    fn skip(&mut self, line: &Line<'_>, why: Why, what: &str, out: &mut ItemQueue) {
        self.pass(line);
        out.skip(why, what);
    }

    fn said(&mut self, line: &Line<'_>, raw: &str, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        let own = stream::content(line, raw).filter(|_| line.message.is_none());
        let inner = line.message.and_then(|message| serde_json::from_str::<Inner<'_>>(message.get()).ok());
        let inner = inner.or_else(|| own.as_deref().map(Inner::of));
        let Some(inner) = inner else {
            out.skip(Why::Broken, &format!("{} without a message", line.kind));
            return Ok(());
        };
        if own.is_none() {
            unknown_members(line, raw).iter().for_each(|name| out.skip(Why::Unknown, name));
        }
        let is_assistant = matches!(line.kind.as_ref(), "assistant" | "result");
        let model = line.model(&inner).map(str::to_owned);
        if line.is_api_error() || is_assistant && model.as_deref() == Some(SYNTHETIC) {
            self.skip(line, Why::Note, "assistant (of the program: an error or a stop)", out);
            return Ok(());
        }
        let mut blocks = inner.content.map(crate::blocks::anthropic).unwrap_or_default();
        if let Some(parts) = inner.parts.and_then(|parts| exact::parse(parts.get()).ok()) {
            blocks.append(self.parts.blocks(&parts));
        }
        if !is_assistant {
            match command(&blocks.blocks) {
                Command::None => {}
                Command::Note => {
                    self.skip(line, Why::Note, "user (a command of the program, or what it printed)", out);
                    return Ok(());
                }
                Command::Typed(text) => {
                    blocks = Blocks { blocks: vec![ContentBlock::Text(text)], ..Blocks::default() };
                }
            }
            if self.branches.iter().any(|branch| branch.prompts.repeats(line, &blocks.blocks)) {
                self.skip(line, Why::Repeated, &line.kind, out);
                return Ok(());
            }
        }
        if says_nothing(&blocks.blocks) {
            self.skip(line, Why::Empty, &line.kind, out);
            return Ok(());
        }
        if is_assistant {
            self.hear(line, &blocks.blocks);
        }
        let is_result = |block: &ContentBlock| matches!(block, ContentBlock::ToolResult { .. });
        let answers = !is_assistant && blocks.blocks.iter().any(is_result);
        let number = self.branch(line, answers || is_assistant, out)?;
        let uuid = uuid_of(line, raw);
        self.current = Some(number);
        let Some(branch) = self.branches.get_mut(number) else { return Ok(()) };
        branch.is_linked |= line.parent().is_some();
        let usage = inner.usage.or(line.usage_metadata);
        let message = if is_assistant && branch.goes_on(inner.id.as_deref()) {
            branch.record = Some(uuid.clone());
            branch.add(blocks, usage)
        } else {
            let role = if is_assistant { Role::Assistant } else { Role::User };
            let mut message = by_model(Message::new(role, Vec::new()), model.as_deref());
            branch.set_out(&mut message, line);
            let id = inner.id.map(|id| id.into_owned()).filter(|_| is_assistant);
            let pending = Pending { id, ..pending(&uuid, message, line, out.place.start, answers) };
            branch.push(&uuid, pending, blocks, usage, out)
        };
        self.spots.insert(hashed(&uuid), Spot { branch: number, message });
        Ok(())
    }
}

/// Reader of sessions on the web: objects with the lines of a session.
#[derive(Debug)]
pub(crate) struct Web(ClaudeCode);

impl Web {
    pub(crate) fn new(stem: &str) -> Self {
        Self(ClaudeCode::new(stem))
    }
}

impl FormatReader for Web {
    fn record(&mut self, record: &str, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        let Some(session) = &out.parsed::<Value>(record, "session")? else { return Ok(()) };
        out.unknown("", session, &["loglines", "id", "session_id", "title", "created_at", "updated_at"]);
        let id = ["session_id", "id"].iter().find_map(|name| session[*name].as_str());
        self.0.stem = id.map_or_else(|| self.0.stem.clone(), str::to_owned);
        self.0.current = None;
        let lines = session["loglines"].as_array().into_iter().flatten();
        lines.map(exact::written).try_for_each(|line| self.0.record(&line, out))
    }

    fn finish(&mut self, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        self.0.finish(out)
    }
}

fn uuid_of(line: &Line<'_>, raw: &str) -> String {
    line.uuid.as_deref().map_or_else(|| format!("line-{:032x}", hashed(raw)), str::to_owned)
}

/// A message that begins with this line.
fn pending(uuid: &str, message: Message, line: &Line<'_>, start: u64, answers: bool) -> Pending {
    Pending {
        key: key(uuid),
        id: None,
        message,
        blocks: Blocks::default(),
        usage: None,
        at: line.time(),
        start,
        answers,
    }
}

impl FormatReader for ClaudeCode {
    fn record(&mut self, record: &str, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        let Ok(line) = serde_json::from_str::<Line<'_>>(record) else {
            out.skip_line();
            return Ok(());
        };
        let known = line.uuid.as_deref().is_some_and(|uuid| self.spots.contains_key(&hashed(uuid)));
        if matches!(line.kind.as_ref(), "user" | "assistant" | "tool_result" | "result") {
            self.say_taken(Some(&line), out)?;
        }
        match line.kind.as_ref() {
            "user" | "assistant" | "tool_result" if known => out.skip(Why::Repeated, &line.kind),
            "user" | "assistant" if line.is_summary() => {
                self.skip(&line, Why::View, "summary of a compaction", out);
            }
            "user" | "assistant" if line.is_meta() => self.skip(&line, Why::Note, "user (isMeta)", out),
            "user" | "tool_result" if line.is_of_program() => {
                self.skip(&line, Why::Note, "message of the program", out);
            }
            "user" | "assistant" | "tool_result" => self.said(&line, record, out)?,
            "summary" => self.title(&line, line.summary.as_deref(), false, out),
            "ai-title" => self.title(&line, line.ai_title.as_deref(), false, out),
            "custom-title" => self.title(&line, line.custom_title.as_deref(), true, out),
            "system" if line.subtype.as_deref() == Some("custom_title") => {
                let (title, is_chosen) = line.given_title().unwrap_or_default();
                self.title(&line, Some(&title), is_chosen, out);
                self.pass(&line);
            }
            "result" => self.result(&line, record, out)?,
            "system" => {
                let subtype = line.subtype.as_deref().unwrap_or("without subtype");
                let is_view = subtype.ends_with("compact_boundary") || subtype == "chat_compression";
                let why = if is_view { Why::View } else { Why::Note };
                self.skip(&line, why, &format!("system/{subtype}"), out);
            }
            "attachment" => self.attached(&line, record, out)?,
            "queue-operation" if line.is_taken() => self.take_queued(&line, record, out)?,
            note if NOTES.contains(&note) => self.skip(&line, Why::Note, note, out),
            other => self.skip(&line, Why::Unknown, other, out),
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        self.branches.iter_mut().for_each(|branch| branch.flush(out));
        if let Some(taken) = &self.taken {
            taken.skip(Why::Unfinished, out);
        }
        for named in std::mem::take(&mut self.waiting) {
            match self.named(&named) {
                Some(number) => self.entitle(number, &named, out),
                None => {
                    skip_title(&named, out);
                    self.of_others.extend(named.leaf.map(|leaf| (leaf, named.title)));
                }
            }
        }
        Ok(())
    }

    fn titles_of_others(&mut self) -> Vec<(String, String)> {
        std::mem::take(&mut self.of_others)
    }

    fn conversation_of(&self, record: &str) -> Option<ConversationId> {
        let spot = self.spots.get(&hashed(record))?;
        self.branches.get(spot.branch).map(|branch| branch.conversation.clone())
    }

    fn held_from(&self) -> Option<u64> {
        // A title before the first message is read again together with that message.
        let waiting = self.waiting.iter().filter(|named| self.branches.is_empty() && named.leaf.is_none());
        let taken = self.taken.iter().map(Taken::start);
        self.branches
            .iter()
            .filter_map(Branch::held_from)
            .chain(waiting.map(|named| named.place.start))
            .chain(taken)
            .min()
    }

    fn state(&self, _: &ItemQueue) -> String {
        let mains: HashSet<usize> = self.by_name.values().copied().collect();
        let tip = |(number, branch): (usize, &Branch)| Tip {
            conversation: branch.conversation.clone(),
            session: branch.session.clone(),
            agent: branch.agent.clone(),
            is_main: mains.contains(&number),
            record: branch.settled_record().map(str::to_owned),
            key: branch.given_key(),
            is_linked: branch.is_linked,
            titles: branch.titles.clone(),
            prompts: branch.prompts.clone(),
        };
        let mut tips: Vec<_> = self.branches.iter().enumerate().map(tip).collect();
        // The branch of the last message is stored last.
        if let Some(current) = self.current.filter(|current| *current < tips.len()) {
            let last = tips.remove(current);
            tips.push(last);
        }
        serde_json::to_string(&tips).unwrap_or_default()
    }
}
