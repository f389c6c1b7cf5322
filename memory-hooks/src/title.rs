//! Titles of conversations, and their order by last update.

use std::{cmp::Reverse, collections::BTreeSet};

use memory_core::{ContentBlock, ConversationId, Message, Node, NodeId, NodeRange, Role, port::ConversationState};

use memory_strategies::{Subject, Subjects};

use crate::{MemoryError, ports::Ports, state::is_model};

/// Messages at the beginning of a conversation that its title is derived from.
pub(crate) const BEGINNING: u64 = 8;

/// Runs of messages that the title of a talk between people is derived from, and the messages of each.
const WINDOWS: u64 = 4;
const WINDOW: u64 = 48;
/// Messages of the beginning in which a meeting is opened.
const OPENING: usize = 40;
/// Subjects that are looked at, least messages that mention each, and most of them in a title.
const MOST_NAMED: usize = 12;
const SPREAD: u64 = 4;
const NAMED: usize = 3;

/// The title of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Title {
    /// Words of the title.
    #[cfg_attr(feature = "serde", serde(rename = "title"))]
    pub text: String,
    /// True if nobody set the title, so that it follows from the first messages, by [`memory_strategies::title`].
    #[cfg_attr(feature = "serde", serde(rename = "title_derived"))]
    pub is_derived: bool,
}

/// States, the most recent first.
pub(crate) fn by_last_update(mut states: Vec<ConversationState>) -> Vec<ConversationState> {
    // Conversations with equal times stay in the order of their names.
    states.sort_by_key(|state| Reverse(state.last_at));
    states
}

/// The title of a conversation: the one that somebody set, or else one derived from its first messages.
pub(crate) async fn title(ports: &Ports, state: &ConversationState) -> Result<Option<Title>, MemoryError> {
    if let Some(title) = state.own_title() {
        return Ok(Some(Title { text: title.to_owned(), is_derived: false }));
    }
    derived_title(ports, &state.id, state.nodes).await
}

/// Messages without private keys and keys of services, which no detector finds in a title that cuts them.
async fn read(ports: &Ports, id: &ConversationId, run: NodeRange) -> Result<Vec<Node>, MemoryError> {
    let mut nodes = ports.store.readable_nodes(id, run).await?.nodes;
    if let Some(detector) = &ports.detector {
        nodes.iter_mut().for_each(|node| detector.mask_keys(&mut node.message));
    }
    Ok(nodes)
}

async fn derived_title(ports: &Ports, id: &ConversationId, nodes: u64) -> Result<Option<Title>, MemoryError> {
    let Some(run) = NodeId::new(nodes.min(BEGINNING)).and_then(|last| NodeRange::new(NodeId::FIRST, last)) else {
        return Ok(None);
    };
    let first = read(ports, id, run).await?;
    let text = if nodes > BEGINNING && is_of_people(&first) {
        of_people(ports, id, nodes).await?
    } else {
        of_beginning(&first)
    };
    Ok(text.map(|text| Title { text, is_derived: true }))
}

/// True if people speak among themselves, without a request: a person in the model's place, or several
/// users.
pub(crate) fn is_of_people<'n>(nodes: impl IntoIterator<Item = &'n Node>) -> bool {
    let (mut has_model, mut names) = (false, BTreeSet::new());
    for node in nodes {
        has_model |= is_model(&node.message);
        names.extend(node.message.speaker.as_deref());
    }
    !has_model && names.len() > 1
}

/// A title for a talk between people, who make no request: what its opening names, or else the subjects that are spread
/// over it, or else who speaks and when.
async fn of_people(ports: &Ports, id: &ConversationId, nodes: u64) -> Result<Option<String>, MemoryError> {
    let (mut subjects, mut opening, mut speakers, mut first_at) = (Subjects::default(), None, Vec::new(), None);
    for run in windows(nodes) {
        let of_run = read(ports, id, run).await?;
        let said: Vec<_> = of_run.iter().filter(|node| is_said(node)).collect();
        let texts: Vec<_> = said.iter().map(|node| words(&node.message)).collect();
        for (node, text) in said.iter().zip(&texts) {
            let speaker = node.message.speaker_or_role();
            if !speakers.iter().any(|known| known == speaker) {
                speakers.push(speaker.to_owned());
                subjects.leave_out(speaker);
            }
            subjects.add(node.id, text, &node.topics);
            first_at = first_at.or(Some(node.at).filter(|at| at.is_known()));
        }
        if run.first() == NodeId::FIRST {
            opening = memory_strategies::opening(texts.iter().take(OPENING).map(String::as_str));
        }
    }
    if opening.is_some() {
        return Ok(opening);
    }
    let last = NodeId::new(nodes).unwrap_or(NodeId::FIRST);
    let is_spread =
        |subject: &Subject| subject.is_named && 3 * subject.first.get() <= nodes && 3 * subject.last.get() > 2 * nodes;
    let spread = subjects.top(MOST_NAMED, SPREAD, last).into_iter().filter(is_spread).map(|subject| subject.name);
    let named: Vec<_> = spread.take(NAMED).collect();
    let is_pair = speakers.len() == 2;
    let others = speakers.split_off(speakers.len().min(NAMED));
    let more = Some(format!("+{}", others.len())).filter(|_| !others.is_empty());
    let who = speakers.into_iter().chain(more).collect::<Vec<_>>().join(", ");
    let what = named.join(", ");
    Ok(Some(match (named.len(), first_at.and_then(|at| at.civil(0))) {
        (0, Some(day)) => format!("{who}, {}", day.date()),
        (0, None) => who,
        (1, _) => format!("{who}: {what}"),
        _ if is_pair => format!("{who}: {what}"),
        _ => what,
    }))
}

/// Runs of messages spread over a conversation, from its first message to its last.
fn windows(nodes: u64) -> Vec<NodeRange> {
    let at = |part: u64| nodes.saturating_sub(WINDOW) * part / (WINDOWS - 1) + 1;
    let run = |part| NodeRange::new(NodeId::new(at(part))?, NodeId::new((at(part) + WINDOW - 1).min(nodes))?);
    NodeRange::merge((0..WINDOWS).filter_map(run).collect())
}

/// True if a person or a model says a message that may be shown.
fn is_said(node: &Node) -> bool {
    let message = &node.message;
    !node.is_hidden() && !message.keep_out_of_summaries && !matches!(message.said_as(), Role::Tool | Role::System)
}

/// A title by the first user's message with content, or else by the model's, or else by any words. Messages that are
/// excluded from summaries are skipped, and so are erased ones, instructions and tools.
fn of_beginning(nodes: &[Node]) -> Option<String> {
    let is_said =
        |node: &&Node| !node.is_hidden() && !node.message.keep_out_of_summaries && node.message.said_as() != Role::Tool;
    let by = |role: Role| nodes.iter().filter(is_said).filter(move |node| node.message.role == role);
    let texts: Vec<_> = by(Role::User).chain(by(Role::Assistant)).map(|node| words(&node.message)).collect();
    let of_matter: Vec<_> = texts.iter().filter(|text| memory_strategies::has_matter(text)).collect();
    let mut titles =
        of_matter.iter().copied().chain(&texts).filter_map(|text| memory_strategies::title(text)).peekable();
    let first = titles.peek().cloned();
    // "Flores?" may begin a meeting.
    titles.find(|title| title.split_whitespace().nth(1).is_some()).or(first)
}

/// Words of a message: no calls, no results, no pictures.
pub(crate) fn words(message: &Message) -> String {
    let texts = message.content.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use memory_core::{Message, Timestamp};

    use super::*;

    fn nodes(messages: Vec<Message>) -> Vec<Node> {
        let node = |(index, message)| Node::new(NodeId::from_index(index), message, Timestamp::default());
        messages.into_iter().enumerate().map(node).collect()
    }

    #[test]
    fn a_title_is_of_the_first_users_message_with_words() {
        let messages = vec![
            Message::text_of(Role::System, "You are a guide."),
            Message::assistant("How can I help you today?"),
            Message::user("!"),
            Message::user("Hello there."),
            Message::user("Hi! Which train goes to Oslo?"),
        ];
        assert_eq!(of_beginning(&nodes(messages)).as_deref(), Some("Which train goes to Oslo?"));
    }

    #[test]
    fn what_a_program_wrote_pictures_and_calls_are_no_titles() {
        let picture = ContentBlock::Image(memory_core::Media::Url("https://x/y.png".to_owned()));
        let input = memory_core::Json::from_value(&serde_json::json!({"a": 1}));
        let call = ContentBlock::ToolUse { id: "t".to_owned(), name: "f".to_owned(), input };
        let wrapped = Message::user("<command-name>/clear</command-name>\n<command-args></command-args>");
        let of = |messages: Vec<Message>| of_beginning(&nodes(messages));
        assert_eq!(of(vec![wrapped.clone(), Message::new(Role::User, vec![picture.clone()])]), None);
        assert_eq!(of(vec![Message::new(Role::Assistant, vec![call])]), None);
        let asked = Message::new(Role::User, vec![picture, ContentBlock::Text("What is this lake?".to_owned())]);
        assert_eq!(of(vec![wrapped, asked]).as_deref(), Some("What is this lake?"));
    }

    #[test]
    fn what_is_kept_out_of_summaries_is_in_no_title() {
        let messages =
            vec![Message::user("My PIN is 4471.").keep_out_of_summaries(true), Message::assistant("Noted: a secret.")];
        assert_eq!(of_beginning(&nodes(messages)).as_deref(), Some("Noted: a secret"));
    }
}
