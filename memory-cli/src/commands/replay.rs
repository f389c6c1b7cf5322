//! `memory replay`: shows the recorded views of a conversation, step by step.

use clap::Args as ClapArgs;
use memory_core::{
    ConversationId, Hash, Timestamp, ViewId,
    port::Progress,
    view::{Shown, ShownElsewhere, View},
};
use memory_hooks::{AsOf, Conversation};
use schemars::JsonSchema;
use serde::Serialize;

use super::{context, resolve};
use crate::{
    Access,
    failure::Damage,
    globals::Globals,
    open,
    output::{Of, grouped, moment, shorten},
};

/// Views that are read at once.
const PAGE: u64 = 256;

/// Shows the recorded views of a conversation, step by step.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The view to show again, byte for byte [default: a list of them]
    #[arg(value_parser = context::view, value_name = "VIEW")]
    view: Option<ViewId>,
    #[command(flatten)]
    conversation: resolve::One,
    /// How many views to list, the latest ones
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..),
          conflicts_with_all = ["view", "check"])]
    limit: u64,
    /// List the views before this one
    #[arg(long, value_name = "VIEW", value_parser = context::view, conflicts_with_all = ["view", "check"])]
    before: Option<ViewId>,
    /// Show every view again, print none of them, and report which are exactly what was shown
    #[arg(long, conflicts_with = "view")]
    check: bool,
    /// Also list the pieces of the view
    #[arg(long, requires = "view")]
    explain: bool,
    /// Print the view exactly, for a program: without this flag, terminal control characters are escaped
    #[arg(long, requires = "view", conflicts_with = "explain")]
    raw: bool,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let runtime = open(&globals.config(Access::Read)?.without_model())?;
    let id = args.conversation.id(&runtime).await?;
    let conversation = runtime.memory.conversation(id.clone());
    if let Some(view) = args.view {
        let shown = conversation.as_of(AsOf::View(view)).await?;
        let form = context::Form { raw: args.raw, explain: args.explain };
        return context::print_past(globals.output, &id, &shown, form);
    }
    let last = conversation.last_view().await?.map_or(0, ViewId::get);
    if args.check {
        return check(&id, &conversation, last, globals).await;
    }
    let last = args.before.map_or(last, |before| last.min(before.get() - 1));
    let views = match run_of(last.saturating_sub(args.limit) + 1, last) {
        Some((first, last)) => conversation.views(first, last).await?,
        None => Vec::new(),
    };
    list(&id, &views, globals)
}

fn run_of(first: u64, last: u64) -> Option<(ViewId, ViewId)> {
    ViewId::new(first).zip(ViewId::new(last)).filter(|(first, last)| first <= last)
}

fn list(id: &ConversationId, views: &[View], globals: &Globals) -> anyhow::Result<()> {
    let output = globals.output;
    if output.json {
        let views = views.iter().map(Recorded::of).collect();
        return Ok(output.value(&Of { conversation: id, answer: Answer { views } })?);
    }
    let rows = views.iter().map(|view| {
        let Pieces { messages, summaries, recalled, .. } = Pieces::of(view);
        [
            view.id.to_string(),
            moment(view.body.at),
            grouped(view.body.nodes),
            grouped(u64::from(view.body.tokens)),
            grouped(summaries),
            grouped(messages),
            grouped(recalled),
            shorten(&view.body.question, 60),
        ]
    });
    let header = ["view", "shown", "messages", "tokens", "summaries", "verbatim", "recalled", "question"];
    output.table_without(header, rows, &["verbatim", "recalled", "summaries"])?;
    Ok(())
}

/// The recorded views.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer<'a> {
    views: Vec<Recorded<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Recorded<'a> {
    /// Number of the view.
    view: ViewId,
    /// Time of the view.
    at: Timestamp,
    /// Number of messages at that time.
    nodes: u64,
    /// Token budget of the view.
    budget: u32,
    /// Tokens of the view.
    tokens: u32,
    /// Token counter of the view.
    counter: &'a str,
    /// Strategy that chose the view, and the model that judged which summaries matter, if one did.
    chosen_by: String,
    /// Number of the layout.
    layout: u32,
    /// Most tokens of a tool's result.
    longest_result: Option<u32>,
    #[serde(flatten)]
    pieces: Pieces,
    /// Other conversations that were recalled from.
    elsewhere: Vec<Elsewhere<'a>>,
    /// The question.
    question: &'a str,
    /// Hash of the shown text.
    hash: Hash,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Elsewhere<'a> {
    /// Name of the conversation.
    conversation: &'a ConversationId,
    /// Title of the conversation.
    title: Option<&'a str>,
    /// Number of its recalled messages.
    recalled: u64,
}

impl<'a> Recorded<'a> {
    fn of(view: &'a View) -> Self {
        let body = &view.body;
        let elsewhere = |other: &'a ShownElsewhere| Elsewhere {
            conversation: &other.conversation,
            title: other.title.as_deref(),
            recalled: other.messages(),
        };
        Self {
            view: view.id,
            at: body.at,
            nodes: body.nodes,
            budget: body.budget,
            tokens: body.tokens,
            counter: &body.counter,
            chosen_by: body.chosen_by.to_string(),
            layout: body.layout,
            longest_result: body.longest_result,
            pieces: Pieces::of(view),
            elsewhere: body.elsewhere.iter().map(elsewhere).collect(),
            question: &body.question,
            hash: body.hash,
        }
    }
}

/// Outcome of showing all views again.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Replayed<'a> {
    /// Number of recorded views.
    views: u64,
    /// Number of views that are exactly as recorded.
    same: u64,
    /// Error of each other view.
    wrong: &'a [String],
}

/// The number of pieces of each kind in a view.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct Pieces {
    /// Messages shown verbatim.
    #[serde(rename = "verbatim")]
    messages: u64,
    /// Summaries shown.
    summaries: u64,
    /// Messages that could not be read.
    lost: u64,
    /// Messages that the manager left out.
    omitted: u64,
    /// Messages that were disabled.
    disabled: u64,
    /// Standing lines and recorded entries.
    standing: u64,
    /// Recalled messages.
    recalled: u64,
}

impl Pieces {
    fn of(view: &View) -> Self {
        let mut pieces = Self::default();
        for run in &view.body.history {
            match run.shown {
                Shown::Messages(nodes) => pieces.messages += nodes.count(),
                Shown::Summaries { count, .. } => pieces.summaries += count,
                Shown::Lost(nodes) => pieces.lost += nodes.count(),
                Shown::Omitted(nodes) => pieces.omitted += nodes.count(),
                Shown::Disabled(nodes) => pieces.disabled += nodes.count(),
                Shown::Excerpt { .. } | Shown::Part { .. } | Shown::Entry(_) | Shown::Changed { .. } => {}
            }
        }
        for run in &view.body.recalled {
            match run.shown {
                Shown::Excerpt { .. } | Shown::Entry(_) => pieces.standing += 1,
                shown => pieces.recalled += shown.pieces(),
            }
        }
        pieces.recalled += view.body.elsewhere.iter().map(ShownElsewhere::messages).fold(0, u64::saturating_add);
        pieces
    }
}

/// Shows every view again and compares it with its record.
async fn check(id: &ConversationId, conversation: &Conversation, views: u64, globals: &Globals) -> anyhow::Result<()> {
    let bar = globals.output.bar("replaying");
    let (mut same, mut wrong) = (0, Vec::new());
    let mut next = 1;
    while let Some((first, last)) = run_of(next, views.min(next.saturating_add(PAGE - 1))) {
        let mut page = conversation.views(first, last).await?.into_iter().peekable();
        for number in first.get()..=last.get() {
            match page.next_if(|view| view.id.get() == number) {
                None => wrong.push(format!("the record of view v{number} cannot be read any more")),
                Some(view) => match conversation.replay(view).await {
                    Ok(_) => same += 1,
                    Err(error) => wrong.push(error.to_string()),
                },
            }
            bar.report(number, views);
        }
        next = last.get() + 1;
    }
    bar.finish();
    let output = globals.output;
    if output.json {
        output.value(&Of { conversation: id, answer: Replayed { views, same, wrong: &wrong } })?;
    } else {
        output.line(&format!("{id}: {same} of {views} views are what was shown"))?;
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(Damage(wrong.join("; ")).into()),
    }
}
