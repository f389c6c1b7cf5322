//! `memory context`: prints the prompt for a question.

use std::io;

use clap::Args as ClapArgs;
use memory::parts::Parts;
use memory_core::{
    ConversationId, NodeId, Timestamp, ViewId,
    port::{ChatRequest, Notice},
};
use memory_hooks::{AsOf, MemoryError, Prompt, PromptOptions};

use super::{
    filter::{FilterArgs, until},
    resolve, search,
};
use crate::{
    Access, Config,
    failure::{NotFound, Usage},
    globals::Globals,
    news, open,
    output::{Of, Output, counted, grouped},
};

/// Prints what a model would be shown for a question.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The question, also after the name of the conversation; with --as-of, what would have been shown for it then
    #[arg(value_parser = resolve::question, required_unless_present_any = ["as_of", "turn"])]
    question: Option<String>,
    #[command(flatten)]
    conversation: resolve::One,
    #[command(flatten)]
    word: resolve::FirstWord,
    #[command(flatten)]
    others: resolve::Others,
    /// Also recall from earlier conversations that the question mentions by their title or time ("as we discussed in
    /// the Rome trip"), at most three; a notice names them. Those of other owners are never followed
    #[arg(long, conflicts_with = "as_of")]
    follow_mentions: bool,
    /// Recall nothing from the documents that were added (`memory add`)
    #[arg(long, conflicts_with = "as_of")]
    no_documents: bool,
    /// The most tokens of the whole context, the question included
    #[arg(long, value_name = "TOKENS", default_value_t = PromptOptions::default().budget,
          value_parser = clap::value_parser!(u32).range(1..))]
    budget: u32,
    /// For an agent that runs turn by turn: what was shown at the turn before, byte for byte, and what was said since;
    /// where that does not fit, the window moves. A question is asked aside and changes no later turn
    #[arg(long, conflicts_with_all = ["as_of", "scope"])]
    turn: bool,
    /// Messages shown before and after each recalled one
    #[arg(long, value_name = "N", default_value_t = 0)]
    radius: u64,
    /// The share of the budget left for recall that the simplest question gets, 0 to 1; more complex ones get more
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, value_parser = share)]
    least_share: f32,
    /// When the question is asked, as stated to the model; by default now
    #[arg(long, value_name = "TIME", conflicts_with = "as_of")]
    now: Option<Timestamp>,
    /// Also say why each piece is there
    #[arg(long)]
    explain: bool,
    /// Print the context exactly, for a program: without this flag, terminal control characters are escaped
    #[arg(long, conflicts_with = "explain")]
    raw: bool,
    /// Print the context as messages for a chat model, in JSON: a tool call with its results, and where a provider may
    /// cache what precedes
    #[arg(long, conflicts_with_all = ["explain", "raw"])]
    messages: bool,
    /// The application's own instructions, which --messages prints as the system's words; the budget includes them
    #[arg(long, value_name = "TEXT", requires = "messages", conflicts_with = "as_of")]
    system: Option<String>,
    /// The model that --messages are for, by its name at its provider: its own signed reasoning is kept. Without it,
    /// and for other models, reasoning that only the model that wrote it can read is left out
    #[arg(long, value_name = "NAME", requires = "messages")]
    for_model: Option<String>,
    /// Do not record what is shown; without this flag, --as-of can show it again later
    #[arg(long)]
    no_record: bool,
    /// Print what was shown last before the conversation went on after a node, or until a time (of a date, the end of
    /// the day), byte for byte; vN is view N of `memory replay`. Where nothing was shown by then, and for a question,
    /// it prints what would have been shown, and says so
    #[arg(long, value_name = "NODE|TIME|vN", value_parser = as_of, conflicts_with_all = ["no_record", "scope"])]
    as_of: Option<AsOf>,
    // The filter is last, since its heading would stand over any options after it.
    #[command(flatten)]
    filter: FilterArgs,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    match &args.as_of {
        Some(as_of) => show_again(args, *as_of, globals).await,
        None => show(args, globals).await,
    }
}

async fn show_again(args: &Args, as_of: AsOf, globals: &Globals) -> anyhow::Result<()> {
    let config = globals.config(Access::Read)?;
    let runtime = open(&config.clone().without_model())?;
    let (id, question) = args.asked(&runtime, globals.output).await?;
    let conversation = runtime.memory.conversation(id.clone());
    let last = last_node(&runtime, &id, as_of).await?;
    let context = match (&question, last) {
        (Some(_), None) => {
            return Err(Usage("a view was shown for its own question: leave the question out".to_owned()).into());
        }
        (Some(question), Some(last)) => args.rebuilt(&config, &id, last, question).await?,
        (None, last) => match (conversation.as_of(as_of).await, last) {
            (Err(MemoryError::View(error)), Some(last)) if error.is_not_found() => {
                args.rebuilt(&config, &id, last, "").await?
            }
            (shown, _) => shown?,
        },
    };
    let output = globals.output;
    if args.messages {
        if output.json {
            // A chat request has no place for notices.
            context.notices.iter().for_each(|one| tracing::warn!("{one}"));
        }
        news::print(output, &news::of(context.notices.iter().cloned()));
        return Ok(output.value(&args.request(&context))?);
    }
    print_past(output, &id, &context, Form { raw: args.raw, explain: args.explain })
}

/// The last message at that time; `None` for a view, which states it itself.
async fn last_node(runtime: &Parts, id: &ConversationId, as_of: AsOf) -> anyhow::Result<Option<NodeId>> {
    let AsOf::Time(at) = as_of else {
        return Ok(if let AsOf::Node(node) = as_of { Some(node) } else { None });
    };
    let outline = runtime.store.outline(id).await?;
    let said = outline.iter().take_while(|node| node.at <= at).count();
    let none = || NotFound(format!("nothing was said in `{id}` until {at}"));
    Ok(Some(NodeId::new(said as u64).ok_or_else(none)?))
}

/// Form of a printed view.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    /// True to print the exact text.
    pub(super) raw: bool,
    /// True to list the pieces.
    pub(super) explain: bool,
}

/// Prints a past view in the form of a present one.
pub(super) fn print_past(output: Output, id: &ConversationId, context: &Prompt, form: Form) -> anyhow::Result<()> {
    if output.json && !form.raw {
        return Ok(output.value(&Of { conversation: id, answer: context })?);
    }
    print(output, context, form.raw)?;
    if let Some(view) = context.view {
        output.note(&format!("view {view}, shown after {}", counted(context.nodes, "message", "messages")));
    }
    if form.explain {
        explain(output, context)?;
    }
    Ok(())
}

impl Args {
    /// The conversation, and the question.
    async fn asked(&self, runtime: &Parts, output: Output) -> anyhow::Result<(ConversationId, Option<String>)> {
        let Some(question) = &self.question else { return Ok((self.conversation.id(runtime).await?, None)) };
        let (named, question) = self.word.of(&runtime.memory, question, output).await?;
        let id = match named {
            Some(id) => id,
            None => self.conversation.id(runtime).await?,
        };
        Ok((id, Some(question)))
    }

    /// The messages for a chat model.
    fn request(&self, context: &Prompt) -> ChatRequest {
        self.for_model.as_deref().map_or_else(|| context.messages(), |model| context.messages_for(model))
    }

    fn options(&self) -> anyhow::Result<PromptOptions> {
        Ok(PromptOptions::new(self.budget)
            .radius(self.radius)
            .least_share(self.least_share)
            .filter(self.filter.filter()?))
    }

    /// The prompt as it would have been after `last`, with news about it.
    async fn rebuilt(
        &self,
        config: &Config,
        id: &ConversationId,
        last: NodeId,
        question: &str,
    ) -> anyhow::Result<Prompt> {
        // Nothing is recalled without a question.
        let config = if question.is_empty() { config.clone().without_model() } else { config.clone() };
        let past = memory::parts::open_past(&config, id, last).await?;
        let at = past.store.outline(id).await?.last().map(|node| node.at);
        let options = self.options()?.record(false).now(at.filter(|at| at.is_known()));
        let mut context = past.memory.conversation(id.clone()).prompt_with(question, &options).await?;
        if question.is_empty() {
            context.notices.retain(|notice| !matches!(notice, Notice::EmptyQuestion));
        }
        context.notices.insert(0, Notice::NotShown { conversation: id.clone(), node: last });
        Ok(context)
    }
}

async fn show(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let config = globals.config(Access::Update)?;
    let runtime = open(&config)?;
    let (id, question) = args.asked(&runtime, globals.output).await?;
    let question = question.as_deref().unwrap_or_default();
    let conversation = runtime.memory.conversation(id.clone());
    let scope = args.others.scope(&runtime).await?;
    let mut options = args.options()?.scope(scope).now(args.now).record(!args.no_record);
    options.follow_mentions = args.follow_mentions;
    options.documents = !args.no_documents;
    options.smart_context = config.chat.smart_context;
    options.instructions.clone_from(&args.system);
    let mut context = match (args.turn, question) {
        (true, "") => conversation.turn(&options).await?,
        (true, question) => conversation.aside(question, &options).await?,
        (false, question) => conversation.prompt_with(question, &options).await?,
    };
    globals.keep_news(&mut context.notices);
    let output = globals.output;
    if args.messages {
        return Ok(output.value(&args.request(&context))?);
    }
    if output.json && !args.raw {
        return Ok(output.value(&Of { conversation: &id, answer: &context })?);
    }
    print(output, &context, args.raw)?;
    if args.explain {
        explain(output, &context)?;
    }
    Ok(())
}

fn share(text: &str) -> Result<f32, String> {
    let share = text.parse::<f32>().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| format!("`{text}` is not a share: expected a number from 0 to 1"))
}

/// Parses a past view.
fn as_of(text: &str) -> Result<AsOf, String> {
    if text.starts_with('v') {
        return view(text).map(AsOf::View);
    }
    match text.parse::<u64>() {
        Ok(number) => NodeId::new(number).map(AsOf::Node).ok_or_else(|| "nodes are numbered from 1".to_owned()),
        Err(_) => match until(text) {
            // `until` returns the first instant after the time.
            Ok(end) => Ok(AsOf::Time(Timestamp::from_millis(end.as_millis() - 1))),
            Err(error) => Err(format!("{error}, a node, or vN")),
        },
    }
}

/// Parses a view's number.
pub(super) fn view(text: &str) -> Result<ViewId, String> {
    let number = text.strip_prefix('v').unwrap_or(text).parse::<u64>();
    let number = number.map_err(|_| format!("`{text}` is not a view: expected a number, as in v3"))?;
    ViewId::new(number).ok_or_else(|| "views are numbered from 1".to_owned())
}

fn print(output: Output, context: &Prompt, raw: bool) -> anyhow::Result<()> {
    if raw {
        output.exactly(context.text())?;
    } else {
        output.text(context.text())?;
    }
    news::print(output, &news::of(context.notices.iter().cloned()));
    output.note(&summary(context));
    if let Some(used) = context.used().sentence() {
        output.note(&used);
    }
    Ok(())
}

fn explain(output: Output, context: &Prompt) -> io::Result<()> {
    let rows = context.pieces.iter().map(|piece| {
        let nodes = piece.nodes.map(|nodes| nodes.to_string()).unwrap_or_default();
        let of = piece.conversation.as_ref().map(|conversation| format!(" of {conversation}")).unwrap_or_default();
        let nodes = nodes + &of;
        [piece.kind.as_str().to_owned(), nodes, piece.tokens.to_string(), piece.reason.clone()]
    });
    output.table(["piece", "nodes", "tokens", "reason"], rows)?;
    search::explain(&context.compared).map_or(Ok(()), |how| output.line(&how))
}

/// `4,012 of 4,096 tokens (history 1,400, standing 90, recalled 2,560); the whole conversation has 45,800`.
pub(super) fn summary(context: &Prompt) -> String {
    let grouped32 = |tokens: u32| grouped(u64::from(tokens));
    format!(
        "{} of {} tokens (history {}, standing {}, recalled {}); the whole conversation has {}",
        grouped32(context.tokens),
        grouped32(context.budget),
        grouped32(context.history_tokens()),
        grouped32(context.standing_tokens()),
        grouped32(context.recalled_tokens()),
        grouped(context.full_tokens),
    )
}
