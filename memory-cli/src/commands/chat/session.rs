//! A chat: its conversation, its agent, and what was shown and spent.

use std::{collections::BTreeSet, io, sync::Arc};

use memory::{ConversationId, Memory, Message, Node, NodeId, NodeRange, Prompt, Role, port::ChatModel};
use memory_agent::{Agent, AgentError, Ended, Turn, Usage};
use memory_core::text::one_line;
use memory_hooks::Conversation;

use super::{AgentArgs, Live, ahead::Typed, bang, begun, footer, input::Input, live, signals::Signals};
use crate::{
    failure,
    globals::Globals,
    markdown::{Streamed, wrap, wrap_after},
    output::{Output, counted, shorten},
    terminal::{self, To},
};

/// Most earlier messages among which the last exchange is looked for.
const LOOKED_AT: u64 = 50;
/// Most characters of the last question.
const QUESTION: usize = 400;
/// Most earlier messages that the arrow keys bring back.
const SAID_BEFORE: u64 = 200;
/// Lines before the answer to a message of an earlier process, and before what follows an answer that is not whole.
const ASKED_AGAIN: &str = "the last message has no answer: it is asked again; Ctrl-C stops it";
const GOES_ON: &str = "the model is asked to go on where the answer ended";
const ANSWERS: &str = "the model is asked to answer the message";
/// Lines of a chat without a model.
const NO_MODEL: [&str; 3] = [
    "No chat model is set; !help lists what works without.",
    "With a key in ANTHROPIC_API_KEY: --model anthropic:claude-haiku-4-5; in OPENAI_API_KEY: --model openai:gpt-4o",
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
    /// Number of messages at the last prompt, if it is known, and those of a turn since.
    seen: Option<u64>,
    own: Option<NodeRange>,
    /// Warnings that were shown.
    warned: BTreeSet<String>,
    model: Option<Arc<dyn ChatModel>>,
    /// Lines that say why no model answers.
    no_model: Vec<String>,
    how: &'a AgentArgs,
    agent: Option<Agent>,
    /// False once the model has refused tools.
    takes_tools: bool,
    /// True if the last message has no answer, or one that broke off.
    has_failed: bool,
}

impl<'a> Session<'a> {
    pub(super) fn begin(
        memory: Memory,
        model: Option<Arc<dyn ChatModel>>,
        how: &'a AgentArgs,
        globals: &'a Globals,
    ) -> anyhow::Result<Self> {
        let conversation = memory.new_conversation()?;
        let (model, no_model) = match AgentArgs::missing_key(&memory) {
            Some(why) => (None, vec![why, "!help lists what works without.".to_owned()]),
            None => (model, NO_MODEL.map(str::to_owned).to_vec()),
        };
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
            seen: None,
            own: None,
            warned: BTreeSet::new(),
            model,
            no_model,
            how,
            agent: None,
            takes_tools: true,
            has_failed: false,
        })
    }

    /// Prints who answers, or how to get a model.
    pub(super) fn greet(&self) -> anyhow::Result<()> {
        let Some(model) = &self.model else { return self.say_why_not() };
        let (name, id) = (one_line(model.name()).into_owned(), self.conversation.id());
        Ok(self.print(&format!("{name} answers in `{id}`. !help lists commands, exit leaves."))?)
    }

    /// Prints why no model answers.
    fn say_why_not(&self) -> anyhow::Result<()> {
        Ok(self.no_model.iter().try_for_each(|line| self.print(line))?)
    }

    /// Earlier messages of the user in this conversation, oldest first.
    pub(super) async fn said_before(&self) -> anyhow::Result<Vec<String>> {
        let Ok(state) = self.conversation.overview().await else { return Ok(Vec::new()) };
        let last = NodeRange::first_n(state.nodes).map(NodeRange::last);
        let Some(range) = last.map(|last| NodeRange::single(last).widen(SAID_BEFORE, 0)) else { return Ok(Vec::new()) };
        let nodes = self.memory.parts().store.readable_nodes(self.conversation.id(), range).await?.nodes;
        let is_said = |node: &&Node| node.message.said_as() == Role::User;
        Ok(nodes.iter().filter(is_said).map(|node| node.message.text()).collect())
    }

    /// Goes to another conversation.
    pub(super) fn go_to(&mut self, conversation: Conversation) {
        self.conversation = conversation;
        (self.agent, self.prompt) = (None, None);
        (self.seen, self.own) = (None, None);
    }

    /// Continues the conversation of this name, or begins one.
    pub(super) async fn load_or_begin(&mut self, name: &str) -> anyhow::Result<()> {
        let conversation = begun(&self.memory, Some(name)).await?;
        if conversation.overview().await.is_err_and(|error| error.is_not_found()) {
            live::ours(&format!(
                "there was no conversation `{}`: it begins with your first message",
                conversation.id()
            ))?;
            self.go_to(conversation);
            return Ok(());
        }
        self.go_on_in(conversation).await
    }

    /// Continues a conversation.
    pub(super) async fn load(&mut self, name: &str) -> anyhow::Result<()> {
        let conversation = self.memory.resume(name).await?;
        self.go_on_in(conversation).await
    }

    /// Goes to a conversation, and prints its last exchange.
    async fn go_on_in(&mut self, conversation: Conversation) -> anyhow::Result<()> {
        self.go_to(conversation);
        let state = self.conversation.overview().await?;
        let title = self.conversation.title().await?.filter(|title| !title.is_derived);
        let title = title.map_or_else(String::new, |title| format!(" \"{}\"", shorten(&title.text, 60)));
        live::ours(&format!("`{}`{title}: {}", state.id, counted(state.nodes, "message", "messages")))?;
        let said = self.said_last().await?;
        // From the last question that was answered.
        let is = |node: &Node, role: Role| node.message.said_as() == role && has_words(node);
        let answer = said.iter().rposition(|node| is(node, Role::Assistant)).unwrap_or(said.len());
        let begin = said.iter().take(answer).rposition(|node| is(node, Role::User)).unwrap_or(answer);
        for (at, node) in said.iter().enumerate().skip(begin).filter(|(_, node)| has_words(node)) {
            let text = live::theirs(&node.message.text());
            match node.message.said_as() {
                Role::User => {
                    let lines = wrap_after("> ", "  ", &one_line(&shorten(&text, QUESTION)), live::width());
                    lines.iter().try_for_each(|line| self.output.line(line))?;
                }
                Role::Assistant if at < answer && Ended::of(&node.message).is_none() => {}
                Role::Assistant if To::Output.is_terminal() => {
                    let mut streamed = Streamed::new(live::width());
                    let lines = streamed.push(&text) + &streamed.finish();
                    To::Output.marked(&lines)?;
                }
                Role::Assistant => self.output.text(&text)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// The last messages of the conversation that can be read.
    async fn said_last(&self) -> anyhow::Result<Vec<Node>> {
        let Ok(state) = self.conversation.overview().await else { return Ok(Vec::new()) };
        let last = NodeRange::first_n(state.nodes).map(NodeRange::last);
        let Some(range) = last.map(|last| NodeRange::single(last).widen(LOOKED_AT, 0)) else { return Ok(Vec::new()) };
        Ok(self.memory.parts().store.readable_nodes(self.conversation.id(), range).await?.nodes)
    }

    /// The last answer of the model.
    pub(super) async fn last_answer(&self) -> anyhow::Result<Option<NodeId>> {
        let said = self.said_last().await?;
        let mut answers = said.iter().filter(|node| node.message.said_as() == Role::Assistant && has_words(node));
        Ok(answers.next_back().map(|node| node.id))
    }

    /// Keys that were pressed during the last answer, for the editor.
    pub(super) fn typed(&mut self) -> String {
        std::mem::take(&mut self.typed).text
    }

    /// Prints what came up since the last prompt.
    pub(super) async fn before_input(&mut self) -> anyhow::Result<()> {
        if self.typed.is_cut {
            live::ours("the pasted text is cut: its end did not arrive")?;
        }
        self.announce_others().await?;
        self.warn()
    }

    /// Says how many messages other programs have added to the conversation since the last prompt.
    async fn announce_others(&mut self) -> anyhow::Result<()> {
        let nodes = self.conversation.overview().await.map_or(0, |state| state.nodes);
        let own = self.own.take();
        let Some(seen) = self.seen.replace(nodes) else { return Ok(()) };
        let others = nodes.saturating_sub(seen).saturating_sub(own.map_or(0, NodeRange::count));
        if others == 0 {
            return Ok(());
        }
        let after_own = own.filter(|own| own.first().get() == seen + 1).map(|own| own.last().get());
        let (came, first) = (counted(others, "message", "messages"), after_own.unwrap_or(seen) + 1);
        Ok(live::ours(&format!("{came} came from elsewhere, from message {first} on: !expand shows them"))?)
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
        let held = terminal::take_warnings(self.conversation.id().as_str());
        let mut new = held.into_iter().filter(|line| self.warned.insert(line.clone())).collect::<Vec<_>>().into_iter();
        let Some(first) = new.next() else { return Ok(()) };
        let more = match new.len() {
            0 => String::new(),
            more => format!(" (and {}: 2>FILE keeps all)", counted(more as u64, "more", "more")),
        };
        Ok(live::ours(&format!("warning: {first}{more}"))?)
    }

    /// Asks a message again that has no answer, or has the model go on with an answer that is not whole.
    pub(super) async fn again(&mut self, signals: &Signals) -> anyhow::Result<()> {
        if self.go_on(signals).await? {
            return Ok(());
        }
        let said = self.said_last().await?;
        let Some(ended) = said.last().and_then(|node| Ended::of(&node.message)) else {
            return Ok(self.print("no message waits for an answer, and the last answer is whole")?);
        };
        if !self.ready()? {
            return self.say_why_not();
        }
        let note = if ended == Ended::Empty { ANSWERS } else { GOES_ON };
        self.continued(note, true, signals).await.map(drop)
    }

    /// Continues a turn without an answer, as a killed program leaves one; `false` if there is none.
    pub(super) async fn go_on(&mut self, signals: &Signals) -> anyhow::Result<bool> {
        self.continued(ASKED_AGAIN, false, signals).await
    }

    /// Continues a turn after the line `note`: one without an answer, or one whose answer `is_not_whole`.
    async fn continued(&mut self, note: &'static str, is_not_whole: bool, signals: &Signals) -> anyhow::Result<bool> {
        if !self.ready()? {
            return Ok(false);
        }
        let Some(mut agent) = self.agent.take() else { return Ok(false) };
        let live = Live::after(agent.model().name(), note);
        let agent_now = agent.until(signals.begin_quietly());
        let turn = if is_not_whole { agent_now.go_on(&live).await } else { agent_now.resume(&live).await };
        drop(live);
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
        if matches!(text, "help" | "/help") {
            self.print("commands begin with !, and !help lists them; `help me` is a message")?;
            return Ok(Flow::Stay);
        }
        self.forget_erased(input).await?;
        let done = match (text.strip_prefix("!!"), text.strip_prefix('!')) {
            (Some(_), Some(message)) => self.say(message, signals).await,
            (None, Some(command)) => bang::run(self, command, input, signals).await,
            (_, None) => self.say(text, signals).await,
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
            return self.say_why_not();
        }
        let Some(mut agent) = self.agent.take() else { return Ok(()) };
        if let Err(why) = self.how.check_budget(&self.memory, &agent, text) {
            self.agent = Some(agent);
            return Err(why.into());
        }
        let live = Live::new(agent.model().name());
        let turn = agent.until(signals.begin_quietly()).run(Message::user(text), &live).await;
        drop(live);
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
            let (talk, model) = (self.conversation.clone(), Arc::clone(model));
            self.agent = Some(self.how.agent(&self.memory, talk, model, self.takes_tools)?);
        }
        Ok(self.agent.is_some())
    }

    /// Prints what a turn took.
    async fn done(&mut self, turn: Result<Turn, AgentError>) -> anyhow::Result<()> {
        self.has_failed = !matches!(&turn, Ok(turn) if turn.failure.is_none());
        let window = self.agent.as_ref().map_or(0, Agent::window);
        if self.agent.as_ref().is_some_and(|agent| !agent.takes_tools()) {
            // Its instructions name tools.
            (self.agent, self.takes_tools) = (None, false);
        }
        let turn = match turn {
            Ok(turn) => turn,
            Err(error @ AgentError::Answering { .. }) => return Err(error.into()),
            Err(error) => {
                // Messages of a turn that failed are not told from others.
                self.seen = None;
                live::ours(&format!("error: {}", failure::line_of(&error)))?;
                let next = match error.is_too_long() {
                    true => "the message is kept: a shorter one, or one with less before it (!clear), may fit",
                    false => "the message is kept: !again asks once more",
                };
                return Ok(live::ours(next)?);
            }
        };
        self.usage.merge(&turn.usage);
        self.own = turn.nodes;
        let learned = footer::learned(&self.conversation, &turn).await?;
        footer::after(window, &turn, &learned)?;
        self.prompt = turn.prompt.or(self.prompt.take());
        Ok(())
    }

    /// Prints the command that continues the conversation. A script fails if its last message has no answer.
    pub(super) async fn leave(self, is_script: bool) -> anyhow::Result<()> {
        if self.kept.is_some() {
            self.output.line("nothing of this conversation was kept")?;
        } else if let Ok(state) = self.conversation.overview().await {
            let command = self.globals.command_line("memory");
            let kept = counted(state.nodes, "message is kept", "messages are kept");
            self.output.line(&format!("{kept}; this command goes on:"))?;
            // A line that is wrapped could not be copied.
            self.output.text(&one_line(&format!("{command} chat --continue {}", state.id)))?;
        }
        if is_script && self.has_failed {
            return Err(anyhow::anyhow!("the last message has no whole answer"));
        }
        Ok(())
    }

    /// Prints a text, wrapped at the width of the screen.
    pub(super) fn print(&self, text: &str) -> io::Result<()> {
        wrap(&one_line(text), live::width()).iter().try_for_each(|line| self.output.line(line))
    }
}

fn has_words(node: &Node) -> bool {
    !node.message.text().trim().is_empty()
}
