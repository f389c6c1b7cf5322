//! The state of a conversation, derived from its messages by rules: goal, rules, decisions, open questions.

mod open;
mod reader;

use std::collections::HashMap;

use memory_core::{
    ConversationId, Level, Mark, Node, NodeId, NodeRange, Timestamp,
    port::{Losses, Notice},
};
use memory_strategies::{StandingLines, without_date};

use self::reader::Reader;
pub(crate) use self::reader::is_model;
use crate::{
    Conversation, EntryKind, EntryStatus, LedgerRequest, MemoryError,
    kept_out::Redactor,
    ledger::{self, Known},
    links::Link,
    parts::Parts,
    prompt::learning,
    snapshot_cache::Snapshot,
    title::{self, Title},
};

/// Most messages that are read, the newest ones. Older standing lines are found by their importance.
const NEWEST: u64 = 20_000;
/// Messages read at once, to bound memory.
const CHUNK: u64 = 1_024;
/// Most decisions, open points, subjects and links of a state.
const MOST_LINES: usize = 8;
const MOST_TOPICS: usize = 10;
const MOST_LINKS: usize = 50;
/// Number of messages from which a subject must be mentioned twice.
const SHORT: u64 = 10;

/// The state of a conversation, derived from the log: from its figures, and from its messages by rules without a model.
///
/// Texts are parts of messages, without content that is excluded from summaries. The rules know English best.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct DerivedState {
    /// The conversation.
    #[cfg_attr(feature = "serde", serde(rename = "conversation"))]
    pub id: ConversationId,
    /// Title of the conversation.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub title: Option<Title>,
    /// Tags of the conversation, sorted.
    pub tags: Vec<String>,
    /// True if the conversation is marked as important.
    pub important: bool,
    /// True if the conversation is archived.
    pub archived: bool,
    /// Number of messages.
    pub nodes: u64,
    /// Number of messages at each level, by the level's number.
    #[cfg_attr(feature = "serde", serde(with = "crate::wire::per_level"), schemars(with = "crate::wire::PerLevel"))]
    pub nodes_per_level: [u64; 4],
    /// Time of the first message.
    pub first_at: Option<Timestamp>,
    /// Time of the last message.
    pub last_at: Option<Timestamp>,
    /// Goal of the user: the last one that is called so, or else the first wish at the beginning, if the later half of
    /// the conversation is still about it. Of people among themselves, only one that is stated for all.
    pub goal: Option<Statement>,
    /// Rules and preferences that hold, at most eight, in order: the latest.
    pub rules: Vec<Statement>,
    /// Decisions that still hold, at most eight, in order: the latest, and those about frequent subjects.
    pub decisions: Vec<Statement>,
    /// Number of decisions that hold beyond these.
    pub more_decisions: u64,
    /// Questions without an answer, and points that were said to be open and not settled since, at most eight, in
    /// order.
    pub open: Vec<Statement>,
    /// Number of earlier open questions and points.
    pub more_open: u64,
    /// Subjects of the conversation, the heaviest first, at most ten.
    pub topics: Vec<Topic>,
    /// The last messages that follow up or correct an earlier one, at most fifty, in order.
    pub links: Vec<Link>,
    /// Notices for the caller.
    pub notices: Vec<Notice>,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Statement {
    /// The message; for a recorded entry without sources, the last one before.
    pub node: NodeId,
    /// Time of the message or the entry; unknown times are the epoch.
    pub at: Timestamp,
    /// Name or role of the speaker, or the author of a recorded entry.
    pub speaker: String,
    /// Text of the part, on one line.
    pub text: String,
}

/// A subject of a conversation over time.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Topic {
    /// Name of the subject.
    pub name: String,
    /// Number of messages that mention the subject.
    pub messages: u64,
    /// First of these messages.
    pub first: NodeId,
    /// Last of these messages.
    pub last: NodeId,
    /// Weight of the subject: larger for more and for later mentions.
    pub weight: f64,
}

impl Statement {
    pub(crate) fn of(node: &Node, part: &str) -> Self {
        Self {
            node: node.id,
            at: node.at,
            speaker: node.message.voice().to_owned(),
            text: part.split_whitespace().collect::<Vec<_>>().join(" "),
        }
    }
}

impl Conversation {
    /// The state of the conversation: goal, rules, decisions, open questions, subjects. Reads the newest 20,000 messages,
    /// which takes tenths of a second for ten thousand.
    ///
    /// # Errors
    /// If the conversation does not exist, or the store fails. Messages that cannot be read are left out, with a
    /// notice.
    pub async fn state(&self) -> Result<DerivedState, MemoryError> {
        self.call(|this| async move { derive(&this.parts, &this.id).await }).await
    }
}

/// Derives the state of a conversation.
async fn derive(parts: &Parts, id: &ConversationId) -> Result<DerivedState, MemoryError> {
    let state = parts.store.conversation(id).await?;
    let snapshot = Snapshot::read(parts, id).await?;
    let (reader, losses) = read(parts, id, &snapshot, None).await?;
    let last = NodeId::new(snapshot.tree.total()).unwrap_or(NodeId::FIRST);
    let least = if snapshot.tree.total() > SHORT { 2 } else { 1 };
    let subjects = reader.subjects.top(MOST_TOPICS, least, last);
    let frequent: Vec<_> = subjects.iter().map(|subject| subject.name.clone()).collect();
    let topics = snapshot.redactor.clean_topics(&frequent);
    let learned = learning::learned(parts, id, &snapshot).await?;
    let kinds = vec![EntryKind::Rule, EntryKind::Preference, EntryKind::Decision, EntryKind::Question];
    let request = LedgerRequest::default().kinds(kinds);
    let known = ledger::entries(parts, &state, &snapshot, &learned, &reader.open.statements(), &request).await?;
    let mut known: Vec<_> = known.into_iter().filter(|one| one.entry.status == EntryStatus::Current).collect();
    let lines = learned.lines.by_worth(&frequent.join(" "));
    let ranks: HashMap<_, usize> = lines.iter().map(|line| line.place()).zip(1..).collect();
    // A recorded entry comes before what rules find.
    known.sort_by_key(|one| one.place.and_then(|place| ranks.get(&place)).copied().unwrap_or_default());
    let mut of = |kinds: &[EntryKind]| -> Vec<_> {
        known.extract_if(.., |one| kinds.contains(&one.entry.kind)).map(Statement::of_entry).collect()
    };
    let mut rules = of(&[EntryKind::Rule, EntryKind::Preference]);
    rules.sort_by_key(|rule| rule.node);
    let rules = rules.split_off(rules.len().saturating_sub(MOST_LINES));
    let mut decisions = of(&[EntryKind::Decision]);
    let more_decisions = decisions.len().saturating_sub(MOST_LINES) as u64;
    decisions.truncate(MOST_LINES);
    decisions.sort_by_key(|decision| decision.node);
    let mut open = of(&[EntryKind::Question]);
    open.sort_by_key(|point| point.node);
    let more_open = open.len().saturating_sub(MOST_LINES);
    let open = open.split_off(more_open);
    let goal = reader.goal().map(|goal| current(goal, &learned.lines).redacted(&snapshot.redactor));
    let topic = |subject: memory_strategies::Subject| Topic {
        name: subject.name,
        messages: subject.messages,
        first: subject.first,
        last: subject.last,
        weight: subject.weight,
    };
    Ok(DerivedState {
        title: title::title(parts, &state).await?.map(|title| title.redacted(&snapshot.redactor)),
        tags: state.own_tags(),
        important: state.is_marked(Mark::Important),
        archived: state.is_marked(Mark::Archived),
        nodes: snapshot.tree.total(),
        nodes_per_level: snapshot.tree.nodes_per_level(),
        first_at: state.first_at.filter(|at| at.is_known()),
        last_at: state.last_at.filter(|at| at.is_known()),
        goal,
        rules,
        decisions,
        more_decisions,
        open,
        more_open: more_open as u64,
        topics: subjects.into_iter().filter(|subject| topics.contains(&subject.name)).map(topic).collect(),
        links: learned.links.last(MOST_LINKS),
        notices: losses.notice(id).into_iter().collect(),
        id: state.id,
    })
}

/// Reads the newest messages of a conversation, those said until a time if there is one.
pub(crate) async fn read(
    parts: &Parts,
    id: &ConversationId,
    snapshot: &Snapshot,
    until: Option<Timestamp>,
) -> Result<(Reader, Losses), MemoryError> {
    let total = snapshot.tree.total();
    let (mut reader, mut losses) = (Reader::default(), Losses::default());
    let mut first = total.saturating_sub(NEWEST) + 1;
    while first <= total {
        let last = total.min(first + CHUNK - 1);
        let run = NodeId::new(first).zip(NodeId::new(last)).and_then(|(first, last)| NodeRange::new(first, last));
        let Some(run) = run else { break };
        let read = parts.store.readable_nodes(id, run).await?;
        losses.extend(&read.losses);
        let is_said = |node: &&Node| learning::speaks(node) && until.is_none_or(|until| node.at <= until);
        read.nodes.iter().filter(is_said).for_each(|node| reader.add(node, total));
        first = last + 1;
    }
    Ok((reader, losses))
}

/// A goal without a date that a later message moved: "The launch is moved to 26 May."
fn current(goal: Statement, lines: &StandingLines) -> Statement {
    // The word before the date says what is due then.
    let is_moved = |text: &String| text.rsplit(' ').next().is_some_and(|due| lines.is_changed_after(goal.node, due));
    match without_date(&goal.text).filter(is_moved) {
        Some(text) => Statement { text, ..goal },
        None => goal,
    }
}

impl Statement {
    /// The statement of an entry. A recorded one has its author as the speaker.
    fn of_entry(known: Known) -> Self {
        let Known { entry, node, .. } = known;
        let speaker = entry.speaker.unwrap_or_else(|| entry.by.to_string());
        Self { node, at: entry.since.unwrap_or_default(), speaker, text: entry.text }
    }

    fn redacted(mut self, redactor: &Redactor) -> Self {
        self.text = redactor.redact(&self.text);
        self
    }
}

impl Title {
    fn redacted(mut self, redactor: &Redactor) -> Self {
        if self.is_derived {
            self.text = redactor.redact(&self.text);
        }
        self
    }
}

impl DerivedState {
    /// Number of messages at a level.
    #[must_use]
    pub fn at_level(&self, level: Level) -> u64 {
        self.nodes_per_level.get(usize::from(level.number())).copied().unwrap_or(0)
    }
}
