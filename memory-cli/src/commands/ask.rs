//! `memory ask`: one turn of a chat, for scripts.

use std::{
    io::{self, IsTerminal as _},
    time::Duration,
};

use clap::Args as ClapArgs;
use memory::{Access, Builder, Message};
use memory_agent::{CallDone, Ended, Turn, Usage};
use memory_core::{ConversationId, MemoryUsed, NodeId, NodeRange};
use memory_hooks::LedgerEntry;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    append,
    chat::{AgentArgs, Live, Signals, begun, is_ready, learned},
    resolve,
};
use crate::{
    failure::{self, NotFound, Usage as UsageError},
    globals::Globals,
    output::Output,
    terminal::{HeldLog, take_warnings},
};

/// Silent wait for a question on standard input.
const PATIENCE: Duration = Duration::from_secs(1);

/// Asks a chat model in a conversation, and prints its answer.
///
/// The message, each call of a tool and the answer are kept before the next step. Without a question, a turn that a killed
/// program has left is finished, or the question is read from a standard input that is no terminal. Exit codes: 0 answered; 1 the model failed or Ctrl-C interrupted it, and the message is
/// kept, or the answer is cut off or empty; 2 no model, no key, or a wrong option; 3 nothing is open; 4 damaged; 5 in use.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The message, also after the name of its conversation; - reads it from standard input
    #[arg(value_name = "QUESTION", value_parser = resolve::question)]
    question: Option<String>,
    /// The conversation: its name or the beginning of it, its title, or `last`; a new name begins one [default: a new one]
    #[arg(long, short, value_name = "ID")]
    conversation: Option<String>,
    #[command(flatten)]
    word: resolve::FirstWord,
    #[command(flatten)]
    agent: AgentArgs,
}

/// Answer of a model, with what it took.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer<'a> {
    /// Name of the conversation.
    conversation: &'a ConversationId,
    /// Name of the model.
    model: &'a str,
    /// Text of the answer.
    text: String,
    /// Message with the answer.
    node: Option<NodeId>,
    /// Messages that the turn added.
    nodes: Option<NodeRange>,
    /// Reason why the turn ended.
    ended: Ended,
    /// Calls of tools, in the order of their results.
    calls: &'a [CallDone],
    /// Tokens of the last prompt.
    tokens: u32,
    /// Most tokens that it could have.
    budget: u32,
    /// How often a request exceeded the model's window and was made smaller.
    overflows: u32,
    /// Memory that the last prompt quotes.
    memory_used: MemoryUsed,
    /// Entries of the ledger that the turn's messages state.
    learned: Vec<LedgerEntry>,
    usage: Usage,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let store = globals.store()?;
    let access = if store.join("FORMAT").exists() { Access::Update } else { Access::Write };
    let config = args.agent.config(globals, store, access);
    let name = config.chat.model.clone().filter(|name| name != "none");
    if name.is_none() {
        let why = "no chat model is set: name one by --model, as in anthropic:claude-haiku-4-5";
        return Err(UsageError(why.to_owned()).into());
    }
    // The log is held until the memory, which writes to it, is closed.
    let _held = HeldLog::of_command(globals.output);
    let memory = Builder::of(config).open()?;
    let Some(model) = args.agent.model(&memory)? else { return Ok(()) };
    if let Some(why) = AgentArgs::missing_key(&memory) {
        return Err(UsageError(why).into());
    }
    let (named, question) = args.word.of(&memory, args.question.as_deref().unwrap_or_default(), globals.output).await?;
    let named = named.map(|id| id.to_string()).or_else(|| args.conversation.clone());
    let conversation = begun(&memory, named.as_deref()).await?;
    let mut agent = args.agent.agent(&memory, conversation.clone(), model, true)?;
    let signals = Signals::listen()?;
    let output = globals.output;
    let live = (!output.json).then(|| Live::bare(agent.model().name()));
    let events: &dyn memory_agent::AgentEvents = live.as_ref().map_or(&(), |live| live);
    let question = match args.question.as_deref() {
        Some("-") => Some(resolve::question(&read(output)?).map_err(UsageError)?),
        Some(_) => Some(question),
        // A pipe that nobody writes to must not keep an open turn from its end.
        None if agent.is_open().await? && !is_ready(Duration::ZERO) => None,
        None => piped(output)?,
    };
    if let Some(question) = &question {
        args.agent.check_budget(&memory, &agent, question)?;
    }
    let agent = agent.until(signals.begin());
    let turn = match question {
        Some(question) => agent.run(Message::user(&question), events).await?,
        None => agent
            .resume(events)
            .await?
            .ok_or_else(|| NotFound(format!("nothing is open in `{}`: give a question", conversation.id())))?,
    };
    signals.end();
    drop(live);
    for warning in take_warnings(conversation.id().as_str()) {
        output.note(&format!("warning: {warning}"));
    }
    if output.json {
        output.value(&Answer::of(
            conversation.id(),
            agent.model().name(),
            &turn,
            learned(&conversation, &turn).await?,
        ))?;
    } else if named.is_none() {
        output.note(&format!("in `{}`", conversation.id()));
    }
    match turn.ended {
        Ended::Cut => {
            let why = turn.failure.as_deref().map(|failure| failure::line_of(failure)).unwrap_or_default();
            Err(anyhow::anyhow!("the answer broke off, and what came of it is kept: {why}"))
        }
        Ended::Interrupted => Err(anyhow::anyhow!("the answer was interrupted: what came of it is kept")),
        Ended::Length => Err(anyhow::anyhow!(
            "the answer has its maximum of tokens, and what came of it is kept: --reply-tokens allows more"
        )),
        Ended::Empty => Err(anyhow::anyhow!("the answer is empty")),
        Ended::Requests => {
            Err(anyhow::anyhow!("the turn has its maximum of requests: `memory ask` without a question goes on"))
        }
        _ => Ok(()),
    }
}

/// The question that is piped to the program, if any.
fn piped(output: Output) -> anyhow::Result<Option<String>> {
    if io::stdin().is_terminal() {
        return Ok(None);
    }
    Ok(Some(read(output)?).filter(|text| !text.trim().is_empty()))
}

/// Reads the question from standard input, and says so if it has to wait.
fn read(output: Output) -> anyhow::Result<String> {
    if io::stdin().is_terminal() {
        output.note("reading the question from this terminal, up to Ctrl-D");
    } else if !is_ready(PATIENCE) {
        output.note("waiting for the question on standard input, up to its end");
    }
    append::read(&mut io::stdin().lock())
}

impl<'a> Answer<'a> {
    fn of(conversation: &'a ConversationId, model: &'a str, turn: &'a Turn, learned: Vec<LedgerEntry>) -> Self {
        let prompt = turn.prompt.as_ref();
        Self {
            conversation,
            model,
            text: turn.text(),
            node: turn.node,
            nodes: turn.nodes,
            ended: turn.ended,
            calls: &turn.calls,
            tokens: prompt.map_or(0, |prompt| prompt.tokens),
            budget: prompt.map_or(0, |prompt| prompt.budget),
            overflows: turn.overflows,
            memory_used: prompt.map(memory_hooks::Prompt::used).unwrap_or_default(),
            learned,
            usage: turn.usage,
        }
    }
}
