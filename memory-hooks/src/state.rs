//! The state of a conversation, derived from its messages by rules: goal, decisions, open questions.

mod open;
mod reader;

use std::collections::BTreeMap;

use memory_core::{
    ConversationId, Level, Mark, Node, NodeId, NodeRange, Timestamp,
    port::{Losses, Notice},
};
use memory_strategies::{Gist, StandingKind, StandingLine, StandingLines, without_date};

use self::reader::Reader;
pub(crate) use self::reader::is_model;
use crate::{
    Conversation, MemoryError,
    kept_out::Redactor,
    learned::Learned,
    links::{Link, Links},
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
    /// The message.
    pub node: NodeId,
    /// Time of the message; unknown times are the epoch.
    pub at: Timestamp,
    /// Name or role of the speaker.
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
    /// The state of the conversation: goal, decisions, open questions, subjects. Reads the newest 20,000 messages,
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
    let (reader, losses) = read(parts, id, &snapshot).await?;
    let last = NodeId::new(snapshot.tree.total()).unwrap_or(NodeId::FIRST);
    let least = if snapshot.tree.total() > SHORT { 2 } else { 1 };
    let subjects = reader.subjects.top(MOST_TOPICS, least, last);
    let frequent: Vec<_> = subjects.iter().map(|subject| subject.name.clone()).collect();
    let topics = snapshot.redactor.clean_topics(&frequent);
    let learned = learning::learned(parts, id, &snapshot).await?;
    let standing = standing_statements(parts, id, &learned, &frequent.join(" ")).await?;
    let of_kind = |kind| standing.get(&kind).cloned().unwrap_or_default();
    let mut decisions = of_kind(StandingKind::Decision);
    let more_decisions = decisions.len().saturating_sub(MOST_LINES) as u64;
    decisions.truncate(MOST_LINES);
    decisions.sort_by_key(|decision| decision.node);
    let asked = reader.open.statements();
    // A labelled question is as open as any other.
    let is_open = |point: &Statement| !point.text.ends_with('?') || asked.iter().any(|asked| asked.text == point.text);
    let points: Vec<_> = of_kind(StandingKind::Open).into_iter().filter(is_open).collect();
    let mut open = redacted([points, asked.clone()].concat(), &snapshot.redactor);
    open.sort_by_key(|point| point.node);
    open.dedup_by(|a, b| a.node == b.node && (a.text.contains(&b.text) || b.text.contains(&a.text)));
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
        title: title::title(&*parts.store, &state).await?.map(|title| title.redacted(&snapshot.redactor)),
        tags: state.own_tags(),
        important: state.is_marked(Mark::Important),
        archived: state.is_marked(Mark::Archived),
        nodes: snapshot.tree.total(),
        nodes_per_level: snapshot.tree.nodes_per_level(),
        first_at: state.first_at.filter(|at| at.is_known()),
        last_at: state.last_at.filter(|at| at.is_known()),
        goal,
        decisions: redacted(decisions, &snapshot.redactor),
        more_decisions,
        open,
        more_open: more_open as u64,
        topics: subjects.into_iter().filter(|subject| topics.contains(&subject.name)).map(topic).collect(),
        links: learned.links.last(MOST_LINKS),
        notices: losses.notice(id).into_iter().collect(),
        id: state.id,
    })
}

/// Reads the newest messages of a conversation.
async fn read(parts: &Parts, id: &ConversationId, snapshot: &Snapshot) -> Result<(Reader, Losses), MemoryError> {
    let total = snapshot.tree.total();
    let (mut reader, mut losses) = (Reader::default(), Losses::default());
    let mut first = total.saturating_sub(NEWEST) + 1;
    while first <= total {
        let last = total.min(first + CHUNK - 1);
        let run = NodeId::new(first).zip(NodeId::new(last)).and_then(|(first, last)| NodeRange::new(first, last));
        let Some(run) = run else { break };
        let read = parts.store.readable_nodes(id, run).await?;
        losses.extend(&read.losses);
        read.nodes.iter().filter(|node| !node.is_hidden()).for_each(|node| reader.add(node, total));
        first = last + 1;
    }
    Ok((reader, losses))
}

/// The decisions and open points that hold, the weightiest of each kind first, above all those about `frequent` subjects.
async fn standing_statements(
    parts: &Parts,
    id: &ConversationId,
    learned: &Learned,
    frequent: &str,
) -> Result<BTreeMap<StandingKind, Vec<Statement>>, MemoryError> {
    let mut found: BTreeMap<StandingKind, Vec<Statement>> = BTreeMap::new();
    let is_asked = |line: &&StandingLine| matches!(line.standing.kind, StandingKind::Decision | StandingKind::Open);
    for line in learned.lines.by_worth(frequent).into_iter().filter(is_asked) {
        let read = parts.store.readable_nodes(id, NodeRange::single(line.node)).await?;
        let Some(statement) = read.nodes.first().filter(|node| !node.is_hidden()).and_then(|node| stated(node, line))
        else {
            continue;
        };
        if !is_corrected(parts, id, &learned.links, &statement).await? {
            found.entry(line.standing.kind).or_default().push(statement);
        }
    }
    Ok(found)
}

/// True if a later message corrects a statement: one that corrects its message and shares a word with it.
async fn is_corrected(
    parts: &Parts,
    id: &ConversationId,
    links: &Links,
    statement: &Statement,
) -> Result<bool, MemoryError> {
    let said = Gist::things_of(&statement.text);
    for node in links.corrections_of(statement.node) {
        let read = parts.store.readable_nodes(id, NodeRange::single(node)).await?;
        if read.nodes.iter().any(|node| Gist::of(&node.message.text()).shared(&said) > 0) {
            return Ok(true);
        }
    }
    Ok(false)
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

/// The statement of a line, with `…` if the rest of its sentence is left out.
fn stated(node: &Node, line: &StandingLine) -> Option<Statement> {
    let at = usize::try_from(line.standing.at).ok()?;
    let end = at + usize::from(line.standing.bytes);
    let text = node.message.text();
    let mut statement = Statement::of(node, text.get(at..end)?);
    let goes_on = |rest: &str| rest.trim_start_matches(' ').starts_with(|c: char| c == ',' || c.is_alphanumeric());
    let is_whole = statement.text.ends_with(['.', '!', '?', '。']) || !text.get(end..).is_some_and(goes_on);
    if !is_whole {
        statement.text.push('…');
    }
    Some(statement)
}

/// The newest statements, in order.
fn redacted(statements: Vec<Statement>, redactor: &Redactor) -> Vec<Statement> {
    statements.into_iter().map(|statement| statement.redacted(redactor)).collect()
}

impl Statement {
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
