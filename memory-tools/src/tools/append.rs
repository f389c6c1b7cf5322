//! `append_messages`: adds messages to a conversation.

use memory::{Conversation, Message, MessageKey, Role, Timestamp, port::Clock as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    failure::{Failure, named},
    tool::{Answer, Kind, Tool},
    tools::Tools,
};

/// Most messages of one call.
const MOST: usize = 1_000;
/// Name of the most recent conversation, which the other tools accept.
const LAST: &str = "last";

pub(crate) struct Append;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The whole id; a conversation of a new id begins
    conversation_id: String,
    /// In order, all or none
    messages: Vec<NewMessage>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewMessage {
    role: NewRole,
    text: String,
    /// Name of who said it
    speaker: Option<String>,
    /// When, in RFC 3339; now if left out
    at: Option<String>,
    /// Your own id of the message: under the same key nothing is appended twice
    key: Option<String>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NewRole {
    User,
    Assistant,
    Tool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    conversation: String,
    /// Numbers of the messages, in order
    nodes: Vec<u64>,
    /// How many of them are new
    new: usize,
}

impl Tool for Append {
    const NAME: &'static str = "append_messages";
    const TITLE: &'static str = "Append messages";
    const ABOUT: &'static str = "Append messages to a conversation, where they are kept exactly.";
    const MORE: &'static str = "It returns once they are on disk.";
    const KIND: Kind = Kind::Adds;
    type Input = Input;
    type Output = Output;

    async fn run(tools: &Tools, input: Input) -> Result<Output, Failure> {
        if input.messages.is_empty() || input.messages.len() > MOST {
            return Err(Failure(format!("messages has {} entries: give 1 to {MOST}", input.messages.len())));
        }
        let conversation = meant(tools, &input.conversation_id).await?;
        let now = memory::port::SystemClock.now();
        let dated: Vec<_> = input.messages.iter().map(|given| given.at.is_some()).collect();
        let batch = input.messages.into_iter().enumerate().map(|(place, given)| message(place, given, now));
        let batch = batch.collect::<Result<Vec<_>, _>>()?;
        for (place, (message, at)) in batch.iter().enumerate().filter(|(place, _)| dated.get(*place) == Some(&true)) {
            check_time(&conversation, message, *at)
                .await
                .map_err(|why| Failure(format!("messages[{place}]: {why}")))?;
        }
        let appended = conversation.append_batch(batch).await?;
        Ok(Output {
            conversation: conversation.id().to_string(),
            nodes: appended.iter().map(|one| one.node.get()).collect(),
            new: appended.iter().filter(|one| one.is_new).count(),
        })
    }
}

/// The conversation with a whole id. Other names that the tools accept are refused: appended messages stay there.
async fn meant(tools: &Tools, name: &str) -> Result<Conversation, Failure> {
    if name == LAST {
        return Err(Failure(format!("messages go to a conversation of a whole id, and `{LAST}` is none")));
    }
    let memory = tools.memory();
    let conversation = memory.conversation(name).map_err(|error| Failure(error.to_string()))?;
    let state = conversation.overview().await;
    if conversation.id() == tools.notes().conversation().id() || state.as_ref().is_ok_and(|it| it.is_of_notes()) {
        return Err(Failure(format!("{} is for notes: take the scratchpad", named(name))));
    }
    if state.is_err()
        && let Ok(other) = memory.resume(name).await
        // Another process may have begun the conversation meanwhile.
        && other.id() != conversation.id()
    {
        let other = named(other.id().as_str());
        return Err(Failure(format!(
            "there is no {}, but {other}: give that whole id, or another new one",
            named(name)
        )));
    }
    Ok(conversation)
}

/// Refuses a message whose key names the same words at another time, since it would not be appended.
async fn check_time(conversation: &Conversation, message: &Message, at: Timestamp) -> Result<(), String> {
    let Some(key) = message.key.clone() else { return Ok(()) };
    let there = match conversation.find_key(&key).await {
        Ok(Some(node)) => conversation.expand(node).await.map(Some),
        none => none.map(|_| None),
    };
    match there {
        Ok(Some(there)) if there.at != at => {
            Err(format!("the key `{key}` names message {} of another time: nothing was appended", there.id))
        }
        Err(error) if !error.is_not_found() => Err(error.to_string()),
        _ => Ok(()),
    }
}

fn message(place: usize, given: NewMessage, now: Timestamp) -> Result<(Message, Timestamp), Failure> {
    let refused = |why: String| Failure(format!("messages[{place}]: {why}"));
    if given.text.is_empty() {
        return Err(refused("the text is empty".to_owned()));
    }
    let role = match given.role {
        NewRole::User => Role::User,
        NewRole::Assistant => Role::Assistant,
        NewRole::Tool => Role::Tool,
    };
    let key = given.key.map(|key| MessageKey::new(&key)).transpose().map_err(|error| refused(error.to_string()))?;
    let at = given.at.map(|at| at.parse::<Timestamp>()).transpose().map_err(|error| refused(error.to_string()))?;
    let mut message = Message::text_of(role, given.text).key(key);
    message.speaker = given.speaker.filter(|speaker| !speaker.is_empty());
    Ok((message, at.unwrap_or(now)))
}

impl Answer for Output {
    fn text(&self) -> String {
        let nodes: Vec<_> = self.nodes.iter().map(u64::to_string).collect();
        let old = self.nodes.len() - self.new;
        let old = if old > 0 { format!(", {old} of them were there already") } else { String::new() };
        let id = memory::text::one_line(&self.conversation);
        format!("Messages of {id}: {}{old}.", nodes.join(", "))
    }
}
