//! The loop: prompt, model, tools, and the next prompt.

mod asking;
mod calling;

use std::sync::Arc;

use memory::{
    Conversation, Invocation, Message, MessageKey, NodeId, PromptOptions,
    port::{ChatModel, Lease, StoreError, ToolSpec},
};
use memory_tools::Tools;
use tokio_util::sync::CancellationToken;

use self::{
    asking::{Asked, Fitted},
    calling::Calls,
};
use crate::{
    AgentError, AgentEvent, AgentEvents, Ended, Prices, Tool, Turn,
    tail::{Tail, calls},
    tool::MemoryTool,
};

/// Options of an agent.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AgentOptions {
    /// Options of the prompts. The budget, 16,000 tokens by default, shrinks to the room that the model's window has.
    pub prompt: PromptOptions,
    /// The most tokens of a reply; by default a quarter of the window, and at most 4,096.
    pub max_reply_tokens: Option<u32>,
    /// The most requests to the model in one turn; 25 by default.
    pub max_requests: u32,
    /// Prices of the model's tokens, for [`Usage::cost`](crate::Usage::cost).
    pub prices: Option<Prices>,
}

impl Default for AgentOptions {
    fn default() -> Self {
        Self { prompt: PromptOptions::new(16_000), max_reply_tokens: None, max_requests: 25, prices: None }
    }
}

impl AgentOptions {
    memory::setters! {
        prompt: PromptOptions,
        const some max_reply_tokens: u32,
        const max_requests: u32,
        const some prices: Prices,
    }
}

/// A tool that the model is offered.
#[derive(Debug)]
struct Offered {
    spec: ToolSpec,
    tool: Arc<dyn Tool>,
    /// Tokens of its description.
    tokens: u32,
    /// True for a tool of the memory, without which the program works.
    is_of_memory: bool,
}

/// Words that ask the model for an answer.
enum Asks {
    /// A message of the user, to append.
    Message(Message),
    /// A note of this library at the end of the next request.
    Note(&'static str),
    /// Those at the end of the conversation.
    Nothing,
}

/// An agent: a model with tools, in a conversation of a memory.
#[derive(Debug)]
pub struct Agent {
    conversation: Conversation,
    model: Arc<dyn ChatModel>,
    tools: Vec<Offered>,
    options: AgentOptions,
    /// Window and token scale, learned from the model's overflows.
    fitted: Fitted,
    /// False once the model has refused tools.
    takes_tools: bool,
    cancelled: CancellationToken,
}

impl Agent {
    /// An agent without tools.
    #[must_use]
    pub fn new(conversation: Conversation, model: Arc<dyn ChatModel>) -> Self {
        let fitted = Fitted::new(model.context_window());
        let (tools, options) = (Vec::new(), AgentOptions::default());
        Self { conversation, model, tools, options, fitted, takes_tools: true, cancelled: CancellationToken::new() }
    }

    memory::setters! {
        /// Sets the options.
        options: AgentOptions,
    }

    /// Adds a tool of the program.
    ///
    /// # Errors
    /// [`AgentError::TwoTools`] if another one has its name.
    pub fn tool(self, tool: impl Tool + 'static) -> Result<Self, AgentError> {
        let spec = tool.spec();
        let tokens = self.tokens_of(&spec);
        self.offering(Offered { spec, tool: Arc::new(tool), tokens, is_of_memory: false })
    }

    fn offering(mut self, offered: Offered) -> Result<Self, AgentError> {
        if self.tools.iter().any(|other| other.spec.name == offered.spec.name) {
            return Err(AgentError::TwoTools { name: offered.spec.name });
        }
        self.tools.push(offered);
        Ok(self)
    }

    /// Adds the tools of a memory. As many are offered, in their order, as take at most a quarter of the model's window,
    /// and fewer once it proves to be smaller.
    ///
    /// # Errors
    /// [`AgentError::TwoTools`]
    pub fn memory_tools(mut self, tools: &Tools) -> Result<Self, AgentError> {
        for tool in MemoryTool::all(tools) {
            let spec = tool.spec();
            let tokens = self.tokens_of(&spec);
            self = self.offering(Offered { spec, tool: Arc::new(tool), tokens, is_of_memory: true })?;
        }
        Ok(self)
    }

    /// Names of the tools that the model is offered.
    pub fn tool_names(&self) -> impl Iterator<Item = &str> {
        self.offered(self.fitted.room_of_tools()).map(|offered| offered.spec.name.as_str())
    }

    /// False once the model has refused tools.
    #[must_use]
    pub const fn takes_tools(&self) -> bool {
        self.takes_tools
    }

    /// The model's window in tokens, as its overflows have shown it.
    #[must_use]
    pub const fn window(&self) -> u32 {
        self.fitted.window
    }

    /// The conversation.
    #[must_use]
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> &dyn ChatModel {
        self.model.as_ref()
    }

    /// Sets the token that interrupts turns. The part of an answer that had arrived is appended, followed by
    /// `[interrupted]`, with the member `interrupted` in its metadata.
    pub fn until(&mut self, cancelled: CancellationToken) -> &mut Self {
        self.cancelled = cancelled;
        self
    }

    /// Appends a message of the user, and has the model answer it. Calls that an earlier process left open get their
    /// results first. A conversation without messages begins with this one.
    ///
    /// # Errors
    /// [`AgentError`]; the messages so far stay, and [`resume`](Self::resume) continues from there.
    pub async fn run(&mut self, message: impl Into<Message>, events: &dyn AgentEvents) -> Result<Turn, AgentError> {
        let _held = self.lease().await?;
        let tail = Tail::of(&self.conversation).await?;
        self.invoked(tail, Asks::Message(message.into()), events).await
    }

    /// Continues a turn that has no answer yet: one that a process left, or one that failed. `None` if there is none.
    ///
    /// # Errors
    /// Same as [`run`](Self::run).
    pub async fn resume(&mut self, events: &dyn AgentEvents) -> Result<Option<Turn>, AgentError> {
        let _held = self.lease().await?;
        match Tail::of(&self.conversation).await? {
            Tail::Answered => Ok(None),
            tail => self.invoked(tail, Asks::Nothing, events).await.map(Some),
        }
    }

    /// Has the model go on with a last answer that is not whole, or answer again after an empty one; `None` if the last
    /// message is a whole answer, or no answer. A note of this library, which no message of the log holds, tells the model
    /// to, so that recall is still that for the user's question.
    ///
    /// # Errors
    /// Same as [`run`](Self::run).
    pub async fn go_on(&mut self, events: &dyn AgentEvents) -> Result<Option<Turn>, AgentError> {
        let _held = self.lease().await?;
        match Tail::ended(&self.conversation).await?.map(Ended::note_to_go_on) {
            None => Ok(None),
            Some(note) => self.invoked(Tail::Answered, Asks::Note(note), events).await.map(Some),
        }
    }

    /// True if the conversation's last turn has no answer.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn is_open(&self) -> Result<bool, AgentError> {
        Ok(Tail::of(&self.conversation).await? != Tail::Answered)
    }

    /// The right to answer, until the turn ends.
    async fn lease(&self) -> Result<Lease, AgentError> {
        self.conversation.turn_lease().await.map_err(|error| match error {
            memory::Error::Store(StoreError::Locked { pid, host, .. }) => {
                AgentError::Answering { conversation: self.conversation.id().clone(), pid, host }
            }
            error => error.into(),
        })
    }

    /// Tokens of a tool's description.
    fn tokens_of(&self, spec: &ToolSpec) -> u32 {
        let text = format!("{} {} {}", spec.name, spec.description, spec.input_schema);
        self.conversation.memory().count_tokens(&text)
    }

    /// Closes open calls, appends the message, and takes the turn to its end.
    async fn invoked(&mut self, tail: Tail, asks: Asks, events: &dyn AgentEvents) -> Result<Turn, AgentError> {
        let mut invocation = self.conversation.invoke().await?;
        let (mut turn, fitted) = (Turn::default(), self.fitted);
        let steps = self.steps(&mut invocation, tail, asks, &mut turn, events).await;
        if steps.is_err() {
            // The fault may have been the message's own, and must not make later prompts small.
            self.fitted = fitted;
        }
        // A failed compaction is reported by hooks, and is no failure of the turn.
        if let Err(error) = invocation.end().await {
            tracing::warn!(%error, "the conversation was not compacted after a turn");
        }
        steps.map(|()| turn)
    }

    async fn steps(
        &mut self,
        invocation: &mut Invocation,
        tail: Tail,
        asks: Asks,
        turn: &mut Turn,
        events: &dyn AgentEvents,
    ) -> Result<(), AgentError> {
        if let Tail::Open(node, open) = tail {
            self.call_all(invocation, (node, open), Calls::Left, turn, events).await?;
        }
        let (mut asked, mut note) = (None, None);
        match asks {
            Asks::Message(message) => asked = Some(self.append(message, turn, events).await?),
            Asks::Note(words) => note = Some(words),
            Asks::Nothing => {}
        }
        for _ in 0..self.options.max_requests {
            let (message, last) = match self.ask(invocation, (asked.take(), note.take()), turn, events).await? {
                Asked::Reply { message, last } => (message, last),
                Asked::Part { message, last, ended } => {
                    turn.ended = ended;
                    return self.answer(message, last, turn, events).await.map(drop);
                }
            };
            let open = calls(&message);
            turn.ended = Ended::of(&message).unwrap_or_default();
            let node = self.answer(message, last, turn, events).await?;
            if open.is_empty() {
                return Ok(());
            }
            self.call_all(invocation, (node, open), Calls::New, turn, events).await?;
            if self.cancelled.is_cancelled() {
                turn.ended = Ended::Interrupted;
                return Ok(());
            }
        }
        turn.ended = Ended::Requests;
        Ok(())
    }

    /// Appends a message of the model, under the key of the message `last` before it, so that of two processes only one
    /// records an answer.
    async fn answer(
        &self,
        message: Message,
        last: u64,
        turn: &mut Turn,
        events: &dyn AgentEvents,
    ) -> Result<NodeId, AgentError> {
        let message = message.key(MessageKey::new(&format!("agent {last}")).ok());
        let node = self.append(message.clone(), turn, events).await?;
        (turn.answer, turn.node) = (Some(message), Some(node));
        Ok(node)
    }

    /// Appends a message durably.
    async fn append(&self, message: Message, turn: &mut Turn, events: &dyn AgentEvents) -> Result<NodeId, AgentError> {
        let added = self.conversation.add_message(message.clone()).await;
        let node = added.map_err(append_error)?.appended.node;
        turn.appended(node);
        events.event(AgentEvent::Appended { node, message: &message });
        Ok(node)
    }
}

/// Error of an append. A key conflict shows that another process continued the turn.
fn append_error(error: memory::Error) -> AgentError {
    match error {
        memory::Error::Store(StoreError::KeyConflict { node, .. }) => AgentError::Elsewhere { node },
        error => error.into(),
    }
}
