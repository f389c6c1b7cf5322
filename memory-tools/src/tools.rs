//! Tools of a memory: the table, their descriptions, and the call by name.

mod append;
mod browse;
mod context;
mod conversations;
mod disable;
mod erase;
mod expand;
mod facts;
mod files;
mod find;
mod quarantine;
mod recent;
mod resume;
mod scratchpad;
mod search;
mod stats;
mod summaries;

use std::{future::Future, pin::Pin, sync::Arc};

use memory::{Conversation, ConversationId, Documents, InvalidConversationId, ListOptions, Memory, NodeRange};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::{
    arguments,
    failure::{self, Failure},
    page::{self, FRAME, PARTS, TextPart},
    schema,
    tool::{Answer as _, Kind, Tool},
};

pub use context::{prompt_options, shown_prompt};

type Called<'a> = Pin<Box<dyn Future<Output = ToolAnswer> + Send + 'a>>;

/// Selection of the offered tools, and the length of their descriptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Length of the descriptions.
    pub profile: Profile,
    /// True if a model may append messages to conversations; off by default.
    pub append: bool,
    /// True if a model may disable messages and erase them for good; off by default.
    pub erase: bool,
    /// True if a model may correct facts; off by default.
    pub correct: bool,
    /// True if the file-style memory tool of Anthropic's models is offered; off by default.
    pub memory_tool: bool,
    /// True if the scratchpad is offered; off by default.
    pub scratchpad: bool,
}

/// Length of the tools' descriptions. Clients pay for them in every prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Whole descriptions, with schemas of the answers.
    Full,
    /// Short descriptions, without schemas of the answers: at most 2,500 tokens for all tools.
    Compact,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            profile: Profile::Compact,
            append: false,
            erase: false,
            correct: false,
            memory_tool: false,
            scratchpad: false,
        }
    }
}

impl Options {
    memory::setters! {
        const profile: Profile,
        const append: bool,
        const erase: bool,
        const correct: bool,
        const memory_tool: bool,
        const scratchpad: bool,
    }
}

/// Description of a tool for a model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolDescription {
    /// Name of the tool.
    pub name: &'static str,
    /// Title of the tool for a person; `None` in the compact profile.
    pub title: Option<&'static str>,
    /// Purpose, and in the full profile advice on its use.
    pub about: String,
    /// JSON schema (draft 2020-12) of the arguments.
    pub input: Arc<Map<String, Value>>,
    /// JSON schema of [`ToolAnswer::value`]; `None` in the compact profile.
    pub output: Option<Arc<Map<String, Value>>>,
    /// Effect of a call on the store.
    pub kind: Kind,
}

/// Answer of a tool. A failure is an answer too, which the model sees.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolAnswer {
    /// Answer in words, bounded in tokens.
    pub text: String,
    /// Answer as JSON, by the tool's output schema; `None` for a failure.
    pub value: Option<Value>,
}

impl ToolAnswer {
    /// True if the call failed; [`Self::text`] then states the reason.
    #[must_use]
    pub const fn is_failure(&self) -> bool {
        self.value.is_none()
    }
}

/// Tools of a memory for a model. Cheap to clone; clones share everything.
#[derive(Clone, Debug)]
pub struct Tools {
    memory: Memory,
    options: Options,
    notes: Documents,
    /// Conversation of a call that names none.
    default: Option<String>,
    /// Token that is cancelled when the client no longer waits for an answer.
    cancelled: CancellationToken,
    /// Messages of the turn in which the tools are called.
    turn: Option<(ConversationId, NodeRange)>,
}

impl Tools {
    /// The tools of `memory`.
    ///
    /// # Errors
    /// If the name of the memory's owner is too long for a conversation of notes.
    pub fn new(memory: Memory, options: Options) -> Result<Self, InvalidConversationId> {
        let notes = memory.documents(ConversationId::of_notes(memory.config().owner.as_ref())?.as_str())?;
        Ok(Self { memory, options, notes, default: None, cancelled: CancellationToken::new(), turn: None })
    }

    /// The same tools, for which a call without a conversation means the one of this name: an id, the beginning of one,
    /// a title, or `last`.
    #[must_use]
    pub fn with_default(self, conversation: Option<String>) -> Self {
        Self { default: conversation, ..self }
    }

    /// The same tools, for a call that its client may cancel.
    #[must_use]
    pub fn until(&self, cancelled: CancellationToken) -> Self {
        Self { cancelled, ..self.clone() }
    }

    /// The same tools, for calls in a turn that has these messages so far. A search leaves them out, since the question
    /// itself bears on it best, and so does `find`, whose own call holds the pattern.
    #[must_use]
    pub fn during(&self, conversation: &ConversationId, turn: NodeRange) -> Self {
        Self { turn: Some((conversation.clone(), turn)), ..self.clone() }
    }

    /// Messages of the turn in which the tools are called.
    pub(crate) fn turn(&self) -> Option<(&ConversationId, NodeRange)> {
        self.turn.as_ref().map(|(conversation, turn)| (conversation, *turn))
    }

    /// Waits until the client no longer waits for an answer.
    pub(crate) async fn cancelled(&self) {
        self.cancelled.cancelled().await;
    }

    /// The memory.
    #[must_use]
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The options of the offered tools.
    #[must_use]
    pub fn options(&self) -> Options {
        self.options
    }

    /// The conversation that a model names, or else the default, or else the only one.
    pub(crate) async fn conversation(&self, name: Option<&str>) -> Result<Conversation, Failure> {
        if let Some(name) = name.or(self.default.as_deref()) {
            return failure::conversation(&self.memory, name).await;
        }
        let listing = self.memory.list(ListOptions::default().limit(1)).await?;
        match (listing.conversations.first(), listing.more) {
            (Some(only), 0) => failure::whole(&self.memory, &only.state.id),
            (None, _) => Err(Failure("There is no conversation yet".to_owned())),
            (Some(_), more) => Err(Failure(format!(
                "conversation_id is missing, and there are {} conversations: list_conversations shows them",
                more + 1
            ))),
        }
    }

    /// Notes of models: the scratchpad, and the files of the memory tool.
    pub(crate) fn notes(&self) -> &Documents {
        &self.notes
    }

    /// Part of a text, from a cursor or the beginning on, that fits a bound with the lines around it. `what` names the
    /// text in the error for a cursor behind its end.
    pub(crate) fn part(
        &self,
        whole: &str,
        what: impl FnOnce() -> String,
        cursor: Option<&str>,
        max_tokens: Option<u32>,
    ) -> Result<TextPart, Failure> {
        let offset = PARTS.begin(cursor)?.unwrap_or_default();
        let rest = usize::try_from(offset).ok().and_then(|offset| whole.get(offset..));
        let rest = rest.ok_or_else(|| Failure(format!("{} does not go on there", what())))?;
        let text = self.beginning(rest, PARTS.most(max_tokens).saturating_sub(FRAME));
        let next_cursor = (text.len() < rest.len()).then(|| PARTS.cursor(offset + text.len() as u64));
        Ok(TextPart { offset, text, next_cursor })
    }

    /// The beginning of a text, of at most `most` tokens as text and as JSON; at least one character.
    pub(crate) fn beginning(&self, text: &str, most: u32) -> String {
        let mut text = text.to_owned();
        loop {
            // JSON escapes characters that text shows unchanged.
            let json = serde_json::to_string(&text).unwrap_or_default();
            let shown = self.memory.count_tokens(&memory::text::quoted(&text));
            let tokens = shown.max(self.memory.count_tokens(&json));
            let chars = text.chars().count() as u64;
            if tokens <= most || chars <= 1 {
                return text;
            }
            let part = (chars * u64::from(most) / u64::from(tokens)).clamp(1, chars - 1);
            page::keep(&mut text, usize::try_from(part).unwrap_or(usize::MAX));
        }
    }

    /// Offered tools: none if tools are turned off, and only those that read if nothing can be written.
    fn offered(&self) -> impl Iterator<Item = &'static Registered> {
        let options = self.options;
        let are_enabled = self.memory.config().enable_mcp_tools;
        let may_write = self.memory.may_write();
        TOOLS
            .iter()
            .filter(move |tool| are_enabled && (tool.is_offered)(&options) && (may_write || tool.kind == Kind::Reads))
    }

    /// Descriptions of the offered tools, in the order of the list.
    pub fn list(&self) -> impl Iterator<Item = ToolDescription> {
        let profile = self.options.profile;
        self.offered().map(move |tool| (tool.describe)(profile))
    }

    /// Description of a tool; `None` if no tool of this name is offered.
    #[must_use]
    pub fn description(&self, name: &str) -> Option<ToolDescription> {
        let tool = self.offered().find(|tool| tool.name == name)?;
        Some((tool.describe)(self.options.profile))
    }

    /// The answer of a tool; `None` if no tool of this name is offered.
    pub async fn call(&self, name: &str, arguments: Map<String, Value>) -> Option<ToolAnswer> {
        let tool = self.offered().find(|tool| tool.name == name)?;
        Some((tool.call)(self, arguments).await)
    }
}

/// A tool in the table.
struct Registered {
    name: &'static str,
    kind: Kind,
    describe: fn(Profile) -> ToolDescription,
    call: for<'a> fn(&'a Tools, Map<String, Value>) -> Called<'a>,
    is_offered: fn(&Options) -> bool,
}

/// All tools, in the order of the list.
const TOOLS: [Registered; 20] = [
    always::<search::Search>(),
    always::<context::ContextTool>(),
    always::<resume::Resume>(),
    always::<expand::Expand>(),
    always::<find::Find>(),
    always::<browse::Browse>(),
    always::<summaries::Summaries>(),
    always::<recent::Recent>(),
    always::<facts::List>(),
    always::<conversations::Conversations>(),
    always::<stats::Stats>(),
    only_if::<scratchpad::Read>(|options| options.scratchpad),
    only_if::<scratchpad::Set>(|options| options.scratchpad),
    only_if::<scratchpad::Append>(|options| options.scratchpad),
    only_if::<facts::Correct>(|options| options.correct),
    only_if::<append::Append>(|options| options.append),
    only_if::<disable::Disable>(|options| options.erase),
    only_if::<quarantine::QuarantineTool>(|options| options.erase),
    only_if::<erase::Erase>(|options| options.erase),
    only_if::<files::Files>(|options| options.memory_tool),
];

const fn always<T: Tool>() -> Registered {
    only_if::<T>(|_| true)
}

const fn only_if<T: Tool>(is_offered: fn(&Options) -> bool) -> Registered {
    Registered { name: T::NAME, kind: T::KIND, describe: describe::<T>, call: call::<T>, is_offered }
}

fn describe<T: Tool>(profile: Profile) -> ToolDescription {
    let is_full = profile == Profile::Full;
    let mut about = T::ABOUT.to_owned();
    if is_full && !T::MORE.is_empty() {
        about.push(' ');
        about.push_str(T::MORE);
    }
    ToolDescription {
        name: T::NAME,
        title: is_full.then_some(T::TITLE),
        about,
        input: if is_full { schema::input::<T::Input>() } else { schema::brief(&schema::input::<T::Input>()) },
        output: is_full.then(schema::output::<T::Output>),
        kind: T::KIND,
    }
}

fn call<T: Tool>(tools: &Tools, arguments: Map<String, Value>) -> Called<'_> {
    Box::pin(async move {
        match run::<T>(tools, arguments).await {
            Ok((text, value)) => ToolAnswer { text, value: Some(value) },
            Err(Failure(why)) => ToolAnswer { text: why, value: None },
        }
    })
}

async fn run<T: Tool>(tools: &Tools, arguments: Map<String, Value>) -> Result<(String, Value), Failure> {
    let arguments = arguments::fitted(arguments, &schema::input::<T::Input>());
    let arguments = arguments.map_err(|Failure(why)| Failure(format!("{}: {why}", T::NAME)))?;
    let input = serde_json::from_value(Value::Object(arguments));
    let input =
        input.map_err(|error| Failure(format!("{}: {}", T::NAME, memory::text::one_line(&error.to_string()))))?;
    let answer = T::run(tools, input).await?;
    let value = serde_json::to_value(&answer);
    Ok((answer.text(), value.map_err(|error| Failure(format!("the answer is no JSON: {error}")))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_knows_the_tools_that_read_a_memory() {
        let tools = TOOLS.iter().filter(|tool| tool.kind == Kind::Reads || tool.name.starts_with("scratchpad"));
        let mut names: Vec<_> = tools.map(|tool| tool.name).collect();
        names.sort_unstable();
        assert_eq!(names, memory::port::OWN_TOOLS);
    }
}
