//! Titles of conversations, and their order by last update.

use std::{cmp::Reverse, collections::BTreeSet};

use memory_core::{
    ContentBlock, ConversationId, Message, Node, NodeId, NodeRange, Role,
    port::{ConversationState, Store},
};

use memory_strategies::Subjects;

use crate::{MemoryError, state::is_model};

/// Messages at the beginning of a conversation that its title is derived from.
pub(crate) const BEGINNING: u64 = 8;

/// Messages at the beginning whose subjects are the title of a conversation without a request.
const SUBJECTS_OF: u64 = 64;

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
pub(crate) async fn title(store: &dyn Store, state: &ConversationState) -> Result<Option<Title>, MemoryError> {
    if let Some(title) = state.own_title() {
        return Ok(Some(Title { text: title.to_owned(), is_derived: false }));
    }
    derived_title(store, &state.id, state.nodes).await
}

async fn derived_title(store: &dyn Store, id: &ConversationId, nodes: u64) -> Result<Option<Title>, MemoryError> {
    let Some(run) = NodeId::new(nodes.min(BEGINNING)).and_then(|last| NodeRange::new(NodeId::FIRST, last)) else {
        return Ok(None);
    };
    let read = store.readable_nodes(id, run).await?;
    let is_of_people = nodes > BEGINNING && is_of_people(&read.nodes);
    let first = of_beginning(&read.nodes).filter(|_| !is_of_people);
    let text = match first {
        Some(first) => Some(first),
        None => of_subjects(store, id, nodes).await?.or_else(|| of_beginning(&read.nodes)),
    };
    Ok(text.map(|text| Title { text, is_derived: true }))
}

/// True if people speak among themselves, so that nobody makes a request: a person in the model's place, or several
/// users.
fn is_of_people(nodes: &[Node]) -> bool {
    let has_model = nodes.iter().any(|node| is_model(&node.message));
    let names: BTreeSet<_> = nodes.iter().filter_map(|node| node.message.speaker.as_deref()).collect();
    !has_model && names.len() > 1
}

/// A title of the three heaviest subjects of the first messages; `None` for fewer than two.
async fn of_subjects(store: &dyn Store, id: &ConversationId, nodes: u64) -> Result<Option<String>, MemoryError> {
    let Some(run) = NodeId::new(nodes.min(SUBJECTS_OF)).and_then(|last| NodeRange::new(NodeId::FIRST, last)) else {
        return Ok(None);
    };
    let mut subjects = Subjects::default();
    let read = store.readable_nodes(id, run).await?;
    let is_said = |node: &&Node| {
        let message = &node.message;
        !node.is_hidden() && !message.keep_out_of_summaries && !matches!(message.said_as(), Role::Tool | Role::System)
    };
    for node in read.nodes.iter().filter(is_said) {
        subjects.add(node.id, &words(&node.message), &node.topics);
    }
    // Speakers are no matter.
    let speakers: BTreeSet<_> = read.nodes.iter().filter_map(|node| node.message.speaker.as_deref()).collect();
    let is_speaker = |name: &str| speakers.iter().any(|speaker| speaker.split_whitespace().any(|part| part == name));
    let named = subjects.top(3 + speakers.len(), 2, run.last());
    let named: Vec<_> =
        named.into_iter().map(|subject| subject.name).filter(|name| !is_speaker(name)).take(3).collect();
    Ok((named.len() > 1).then(|| named.join(", ")))
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
