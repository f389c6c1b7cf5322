//! Requests of a program that keeps a conversation here: the answers are those of the commands with `--json`.

use memory::{Conversation, Memory, PromptOptions, Query, Scope};
use memory_core::{
    NodeRange,
    json::message_from_json,
    port::{ChatRequest, Notice},
};
use memory_hooks::{ListOptions, Prompt};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{BridgeError, view};
use crate::{
    commands::{
        append::{self, SaidAt},
        search::Found,
        show::Asked,
    },
    globals::Globals,
    output::{Noted, Of},
};

/// Request of a program without an agent's list.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum ClientRequest {
    /// Appends a message, said now or at a time.
    Append { conversation: String, message: Value, at: Option<String> },
    /// Finds the messages that answer a question best, in a conversation or in all.
    Search {
        question: String,
        conversation: Option<String>,
        limit: Option<usize>,
        neighbours: Option<u64>,
        min_relevance: Option<f32>,
    },
    /// Asks for the prompt for a question, or for the history without one.
    Context {
        conversation: String,
        question: Option<String>,
        budget: Option<u32>,
        radius: Option<u64>,
        instructions: Option<String>,
        model: Option<String>,
        #[serde(default)]
        follow_mentions: bool,
        /// True for an agent that runs turn by turn, whose last message is its question.
        #[serde(default)]
        turn: bool,
    },
    /// Asks where a conversation stood.
    Reminder { conversation: String, budget: Option<u32> },
    /// Lists the conversations.
    Conversations { limit: Option<usize>, skip: Option<usize>, tags: Option<Vec<String>>, archived: Option<bool> },
    /// Asks for messages verbatim, the last ones or a run.
    Messages { conversation: String, nodes: Option<NodeRange>, limit: Option<u64> },
}

/// A prompt as text and as a request to a chat model.
#[derive(Serialize)]
struct Context<'a> {
    prompt: Of<'a, &'a Prompt>,
    request: ChatRequest,
}

impl ClientRequest {
    pub(super) const OPS: [&'static str; 6] = ["append", "search", "context", "reminder", "conversations", "messages"];

    pub(super) async fn answer(self, memory: &Memory, globals: &Globals) -> Result<Value, BridgeError> {
        match self {
            Self::Append { conversation, message, at } => append(memory, &conversation, &message, at).await,
            Self::Search { question, conversation, limit, neighbours, min_relevance } => {
                let scope = match conversation {
                    Some(name) => Scope::one(existing(memory, &name).await?.id()),
                    None => Scope::all(),
                };
                let query = Query::new(&question, scope)
                    .limit(limit.unwrap_or(10).max(1))
                    .min_relevance(min_relevance.unwrap_or_default());
                let found = Found::by(memory.parts(), &question, query, neighbours.unwrap_or_default(), globals);
                Ok(json!(found.await?.answer()))
            }
            Self::Context { conversation, question, budget, radius, instructions, model, follow_mentions, turn } => {
                let conversation = existing(memory, &conversation).await?;
                let mut options = PromptOptions::new(budget.unwrap_or(PromptOptions::default().budget))
                    .radius(radius.unwrap_or_default());
                (options.instructions, options.follow_mentions) = (instructions, follow_mentions);
                let mut prompt = match (turn, question.as_deref()) {
                    (true, None) => conversation.turn(&options).await?,
                    (true, Some(question)) => conversation.aside(question, &options).await?,
                    (false, question) => conversation.prompt_with(question.unwrap_or_default(), &options).await?,
                };
                globals.keep_news(&mut prompt.notices);
                if question.is_none() {
                    prompt.notices.retain(|notice| !matches!(notice, Notice::EmptyQuestion));
                }
                let mut request = model.map_or_else(|| prompt.messages(), |model| prompt.messages_for(&model));
                if question.is_none() {
                    view::cut_question(&mut request.messages);
                }
                Ok(json!(Context { prompt: Of { conversation: conversation.id(), answer: &prompt }, request }))
            }
            Self::Reminder { conversation, budget } => {
                let conversation = existing(memory, &conversation).await?;
                let reminder = conversation.reminder(budget.unwrap_or(400)).await?;
                Ok(json!(Of { conversation: conversation.id(), answer: &reminder }))
            }
            Self::Conversations { limit, skip, tags, archived } => {
                let mut options = ListOptions::default().skip(skip.unwrap_or_default());
                options.limit = limit.unwrap_or(options.limit);
                let options = options.tags(tags.unwrap_or_default()).archived(archived.unwrap_or_default());
                Ok(json!(Noted { answer: &memory.list(options).await?, notices: &[] }))
            }
            Self::Messages { conversation, nodes, limit } => {
                let conversation = of(memory, &conversation)?;
                let asked = Asked { nodes, limit: limit.unwrap_or(20).max(1), whole: true };
                Ok(json!(asked.read(&conversation).await.map_err(BridgeError::Store)?.answer()))
            }
        }
    }
}

async fn append(memory: &Memory, name: &str, message: &Value, at: Option<String>) -> Result<Value, BridgeError> {
    let mut message = message_from_json(message).map_err(|source| BridgeError::Message { index: 0, source })?;
    let conversation = of(memory, name)?;
    let appended = match at {
        None => conversation.append(message).await?,
        Some(at) => {
            let said: SaidAt = at.parse().map_err(BridgeError::Config)?;
            if let Some(offset) = said.offset {
                message.state_utc_offset(offset);
            }
            let appended = conversation.append_batch(vec![(message, said.by(&**memory.clock()))]).await?;
            appended.into_iter().next().ok_or_else(|| BridgeError::Config("nothing was appended".to_owned()))?
        }
    };
    let nodes = conversation.overview().await?.nodes;
    Ok(json!(append::Answer { conversation: conversation.id(), appended, nodes }))
}

/// An existing conversation: a missing one is an error instead of an empty answer.
async fn existing(memory: &Memory, name: &str) -> Result<Conversation, BridgeError> {
    let conversation = of(memory, name)?;
    conversation.overview().await?;
    Ok(conversation)
}

fn of(memory: &Memory, name: &str) -> Result<Conversation, BridgeError> {
    memory.conversation(name).map_err(|error| BridgeError::Config(error.to_string()))
}
