//! A chat: its conversation, its agent, and what was shown and spent.

use std::{collections::BTreeSet, io, sync::Arc};

use memory::{ConversationId, Memory, Message, NodeRange, Prompt, Role, port::ChatModel};
use memory_agent::{Agent, AgentError, Turn, Usage};
use memory_core::text::one_line;
use memory_hooks::Conversation;

use super::{AgentArgs, Live, ahead::Typed, bang, input::Input, live, signals::Signals};
use crate::{
    failure,
    globals::Globals,
    output::{Output, counted, shorten},
    terminal,
};

/// Most tokens of the reminder of where a conversation stood.
const REMINDER: u32 = 300;
/// Most earlier messages that the arrow keys bring back.
const SAID_BEFORE: u64 = 200;
/// Line before the answer to a message of an earlier process.
const ASKED_AGAIN: &str = "the last message has no answer: it is asked again; Ctrl-C stops it";
/// The two lines of a chat without a model.
const NO_MODEL: [&str; 2] = [
    "No chat model is set; !help lists what works without. With a key: --model anthropic:claude-haiku-4-5",
    "On this machine: --model openai:llama3.2 --chat-base-url http://127.0.0.1:11434/v1",
];

/// The course of the chat after a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Stay,
    Leave,
}

/// A chat.
pub(super) struct Session<'a> {
    pub(super) globals: &'a Globals,
    pub(super) output: Output,
    pub(super) memory: Memory,
    pub(super) conversation: Conversation,
    /// Stored memory and conversation to go back to, while the chat itself is not kept.
    pub(super) kept: Option<(Memory, ConversationId)>,
    /// The last prompt of the present conversation.
    pub(super) prompt: Option<Prompt>,
    /// Tokens and costs of the chat.
    pub(super) usage: Usage,
    /// Keys that were pressed during the last answer.
    typed: Typed,
    /// Number of erased messages that the last prompt and the arrow keys know of.
    erased: u64,
    /// Warnings that were shown.
    warned: BTreeSet<String>,
    model: Option<Arc<dyn ChatModel>>,
    how: &'a AgentArgs,
    agent: Option<Agent>,
}

impl<'a> Session<'a> {
    pub(super) fn begin(
        memory: Memory,
        model: Option<Arc<dyn ChatModel>>,
        how: &'a AgentArgs,
        globals: &'a Globals,
    ) -> anyhow::Result<Self> {
        let conversation = memory.new_conversation()?;
        Ok(Self {
            globals,
            output: globals.output,
            memory,
            conversation,
            kept: None,
            prompt: None,
            usage: Usage::default(),
            typed: Typed::default(),
            erased: 0,
            warned: BTreeSet::new(),
            model,
            how,
            agent: None,
        })
    }

    /// Prints who answers, or how to get a model.
    pub(super) fn greet(&self) -> anyhow::Result<()> {
        let Some(model) = &self.model else {
            return Ok(NO_MODEL.iter().try_for_each(|line| self.print(line))?);
        };
        let (name, id) = (one_line(model.name()).into_owned(), self.conversation.id());
        Ok(self.print(&format!("{name} answers in `{id}`. !help lists commands, exit leaves."))?)
    }

    /// Earlier messages of the user in this conversation, oldest first.
    pub(super) async fn said_before(&self) -> anyhow::Result<Vec<String>> {
        let Ok(state) = self.conversation.overview().await else { return Ok(Vec::new()) };
        let last = NodeRange::first_n(state.nodes).map(NodeRange::last);
        let Some(range) = last.map(|last| NodeRange::single(last).widen(SAID_BEFORE, 0)) else { return Ok(Vec::new()) };
        let nodes = self.memory.parts().store.readable_nodes(self.conversation.id(), range).await?.nodes;
        let is_said = |message: &Message| message.said_as() == Role::User;
        Ok(nodes.iter().filter(|node| is_said(&node.message)).map(|node| node.message.text()).collect())
    }

    /// Goes to another conversation.
    pub(super) fn go_to(&mut self, conversation: Conversation) {
        self.conversation = conversation;
        (self.agent, self.prompt) = (None, None);
    }

    /// Continues a conversation, and prints where it stood.
    pub(super) async fn load(&mut self, name: &str) -> anyhow::Result<()> {
        let conversation = self.memory.resume(name).await?;
        let reminder = conversation.reminder(REMINDER).await?;
        self.go_to(conversation);
        self.output.text(reminder.text.trim_end())?;
        Ok(())
    }

    /// Keys that were pressed during the last answer, for the editor.
    pub(super) fn typed(&mut self) -> String {
        std::mem::take(&mut self.typed).text
    }

    /// Prints what came up during the last answer.
    pub(super) fn before_input(&mut self) -> anyhow::Result<()> {
        if self.typed.is_cut {
            live::ours("the pasted text is cut: its end did not arrive")?;
        }
        self.warn()
    }

    /// Forgets the words of messages that were erased, also by another process.
    async fn forget_erased(&mut self, input: &mut Input) -> anyhow::Result<()> {
        let erased = self.conversation.overview().await.map_or(0, |state| state.erased);
        if std::mem::replace(&mut self.erased, erased) < erased {
            self.prompt = None;
            input.recall(self.said_before().await?)?;
        }
        Ok(())
    }

    /// Prints a new warning of the log, and counts further ones.
    fn warn(&mut self) -> anyhow::Result<()> {
        let held: Vec<_> = terminal::take_held_events().into_iter().map(|line| live::warning(&line)).collect();
        let mut new = held.into_iter().filter(|line| self.warned.insert(line.clone())).collect::<Vec<_>>().into_iter();
        let Some(first) = new.next() else { return Ok(()) };
        let more = match new.len() {
            0 => String::new(),
            more => format!(" (and {}: 2>FILE keeps all)", counted(more as u64, "more", "more")),
        };
        let room = live::width().saturating_sub(more.len() + "  warning: ".len());
        Ok(live::ours(&format!("warning: {}{more}", shorten(&first, room)))?)
    }

    /// True if the last answer was cut off.
    pub(super) async fn is_cut(&self) -> anyhow::Result<bool> {
        let Ok(state) = self.conversation.overview().await else { return Ok(false) };
        let Some(last) = NodeRange::first_n(state.nodes).map(NodeRange::last) else { return Ok(false) };
        let nodes = self.conversation.messages(NodeRange::single(last)).await?;
        Ok(nodes.iter().any(|node| node.message.metadata.contains_key("cut")))
    }

    /// Continues a turn without an answer, as a killed program leaves one; `false` if there is none.
    pub(super) async fn go_on(&mut self, signals: &Signals) -> anyhow::Result<bool> {
        if !self.ready()? {
            return Ok(false);
        }
        let Some(mut agent) = self.agent.take() else { return Ok(false) };
        let turn = agent.until(signals.begin_quietly()).resume(&Live::after(ASKED_AGAIN)).await;
        self.typed = signals.end();
        self.agent = Some(agent);
        let Some(turn) = turn.transpose() else { return Ok(false) };
        self.done(turn).await?;
        Ok(true)
    }

    /// Answers a line: a command, a message, or a word that leaves.
    pub(super) async fn entered(&mut self, text: &str, input: &mut Input, signals: &Signals) -> anyhow::Result<Flow> {
        if text.is_empty() {
            return Ok(Flow::Stay);
        }
        if matches!(text, "exit" | "quit" | "!exit" | "!quit") {
            return Ok(Flow::Leave);
        }
        self.forget_erased(input).await?;
        let done = match text.strip_prefix('!') {
            Some(command) => bang::run(self, command, input, signals).await,
            None => self.say(text, signals).await,
        };
        self.forget_erased(input).await?;
        self.reported(done)?;
        Ok(Flow::Stay)
    }

    /// Prints a failure, after which the chat goes on, unless the reader of the output is gone.
    pub(super) fn reported<T>(&self, done: anyhow::Result<T>) -> anyhow::Result<()> {
        match done {
            Err(error) if crate::terminal::output_is_closed() => Err(error),
            Err(error) => Ok(live::ours(&format!("error: {}", failure::in_a_line(&error)))?),
            Ok(_) => Ok(()),
        }
    }

    /// Says a message, and has the model answer it.
    pub(super) async fn say(&mut self, text: &str, signals: &Signals) -> anyhow::Result<()> {
        if !self.ready()? {
            return Ok(NO_MODEL.iter().try_for_each(|line| self.print(line))?);
        }
        let Some(mut agent) = self.agent.take() else { return Ok(()) };
        let turn = agent.until(signals.begin_quietly()).run(Message::user(text), &Live::new()).await;
        self.typed = signals.end();
        self.agent = Some(agent);
        if matches!(turn, Err(AgentError::Answering { .. })) {
            self.typed.text = format!("{text}\n{}", self.typed.text).trim_end().to_owned();
        }
        self.done(turn).await
    }

    /// Makes the agent of the conversation; `false` without a model.
    fn ready(&mut self) -> anyhow::Result<bool> {
        if let (Some(model), None) = (&self.model, &self.agent) {
            self.agent = Some(self.how.agent(&self.memory, self.conversation.clone(), Arc::clone(model))?);
        }
        Ok(self.agent.is_some())
    }

    /// Prints what a turn took.
    async fn done(&mut self, turn: Result<Turn, AgentError>) -> anyhow::Result<()> {
        let turn = match turn {
            Ok(turn) => turn,
            Err(error @ AgentError::Answering { .. }) => return Err(error.into()),
            Err(error) => {
                live::ours(&format!("error: {}", failure::line_of(&error)))?;
                return Ok(live::ours("the message is kept: !again asks once more")?);
            }
        };
        self.usage.merge(&turn.usage);
        let learned = live::learned(&self.conversation, &turn).await?;
        let levels = self.conversation.stats().await?.nodes_per_level;
        let window = self.model.as_ref().map_or(0, |model| model.context_window());
        live::after(window, levels, &turn, &learned)?;
        self.prompt = turn.prompt.or(self.prompt.take());
        Ok(())
    }

    /// Prints the command that continues the conversation.
    pub(super) async fn leave(self) -> anyhow::Result<()> {
        if self.kept.is_some() {
            return Ok(self.output.line("nothing of this conversation was kept")?);
        }
        let Ok(state) = self.conversation.overview().await else { return Ok(()) };
        let command = self.globals.command_line("memory");
        let kept = counted(state.nodes, "message is kept", "messages are kept");
        Ok(self.output.line(&format!("{kept}: {command} chat --continue {}", state.id))?)
    }

    /// Prints a text, wrapped at the width of the screen.
    pub(super) fn print(&self, text: &str) -> io::Result<()> {
        textwrap::wrap(&one_line(text), live::width()).iter().try_for_each(|line| self.output.line(line))
    }
}
