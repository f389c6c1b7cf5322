//! `memory facts`: what is known in conversations, and changes of it.

mod change;
mod print;

#[cfg(feature = "chat")]
pub(super) use self::print::whole;

use std::num::NonZeroUsize;

use clap::{Args as ClapArgs, Subcommand};
use memory::parts::Parts;
use memory_core::{ConversationId, Timestamp, port::Scope};
use memory_hooks::{EntryId, EntryKind, LedgerEntry, LedgerRequest, Which};
use schemars::JsonSchema;
use serde::Serialize;

use super::{filter, resolve};
use crate::{Access, failure::NotFound, globals::Globals, open};

/// Lists what is known: rules, decisions, preferences, facts and open questions, each with its source.
///
/// Entries like 120.1 are sentences of a message, found by rules without a model; entries like e7 were recorded. A later
/// statement on the same subject supersedes an earlier one, which stays: --all and `history` show it. docs/facts.md says
/// more.
#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
#[group(skip)]
pub(crate) struct Args {
    #[command(flatten)]
    list: List,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List what is known
    List(List),
    /// Find entries by the words of a question, best first
    Search(Search),
    /// Show the entries on one subject, oldest first, with what replaced each
    History(History),
    /// Record an entry
    Add(change::Add),
    /// Record other words in the place of an entry, which stays as superseded
    Correct(change::Correct),
    /// Show an entry no more as a rule, a decision or a fact
    Disable(change::Entry),
    /// Bring a disabled entry back
    Enable(change::Entry),
    /// Erase a recorded entry for good, with a receipt
    Erase(change::Erase),
}

/// Lists what is known.
#[derive(Debug, ClapArgs)]
struct List {
    #[command(flatten)]
    of: Of,
    #[command(flatten)]
    status: Status,
    /// The most entries
    #[arg(long, value_name = "N", default_value = "200")]
    limit: NonZeroUsize,
}

/// Finds entries by the words of a question, best first.
#[derive(Debug, ClapArgs)]
struct Search {
    /// The question
    #[arg(value_parser = resolve::question)]
    question: String,
    #[command(flatten)]
    word: resolve::FirstWord,
    #[command(flatten)]
    of: Of,
    #[command(flatten)]
    status: Status,
    /// The most entries
    #[arg(long, value_name = "N", default_value = "10")]
    limit: NonZeroUsize,
}

/// Shows the entries on one subject, oldest first, with what replaced each.
#[derive(Debug, ClapArgs)]
struct History {
    /// An entry by its id, or words that find one
    #[arg(value_name = "ENTRY|WORDS", value_parser = resolve::question)]
    subject: String,
    #[command(flatten)]
    word: resolve::FirstWord,
    #[command(flatten)]
    conversation: resolve::OneOrAll,
}

#[derive(Debug, ClapArgs)]
struct Of {
    #[command(flatten)]
    conversation: resolve::OneOrAll,
    /// Only this kind; several may be given
    #[arg(long, value_name = "KIND", value_parser = filter::kind())]
    kind: Vec<EntryKind>,
}

#[derive(Debug, ClapArgs)]
struct Status {
    /// Also what was replaced or disabled
    #[arg(long, conflicts_with = "previous")]
    all: bool,
    /// Only what was replaced or has ended
    #[arg(long)]
    previous: bool,
    /// As it was at this time: a date or RFC 3339
    #[arg(long, value_name = "TIME", value_parser = filter::until)]
    as_of: Option<Timestamp>,
}

/// Entries on one subject.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Chain {
    /// The entries, oldest first.
    entries: Vec<LedgerEntry>,
}

impl Of {
    async fn scope(&self, parts: &Parts, named: Option<ConversationId>) -> anyhow::Result<Scope> {
        Ok(match named {
            Some(id) => Scope::one(&id),
            None => Scope::only(self.conversation.ids(parts).await?),
        })
    }
}

impl Status {
    fn request(&self, of: &Of, limit: NonZeroUsize) -> LedgerRequest {
        let which = match (self.all, self.previous) {
            (true, _) => Which::All,
            (_, true) => Which::Previous,
            _ => Which::Current,
        };
        // The parser gives the first instant after the time.
        let as_of = self.as_of.map(|after| Timestamp::from_millis(after.as_millis() - 1));
        LedgerRequest::default().kinds(of.kind.clone()).which(which).as_of(as_of).limit(limit.get())
    }
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    match &args.command {
        None => list(&args.list, globals).await,
        Some(Command::List(args)) => list(args, globals).await,
        Some(Command::Search(args)) => {
            let parts = open(&globals.config(Access::Read)?.without_model())?;
            let (named, question) = args.word.of(&parts.memory, &args.question, globals.output).await?;
            let request = args.status.request(&args.of, args.limit).question(question);
            shown(&parts, args.of.scope(&parts, named).await?, &request, globals).await
        }
        Some(Command::History(args)) => history(args, globals).await,
        Some(Command::Add(args)) => change::add(args, globals).await,
        Some(Command::Correct(args)) => change::correct(args, globals).await,
        Some(Command::Disable(args)) => change::disable(args, true, globals).await,
        Some(Command::Enable(args)) => change::disable(args, false, globals).await,
        Some(Command::Erase(args)) => change::erase(args, globals).await,
    }
}

async fn list(args: &List, globals: &Globals) -> anyhow::Result<()> {
    let parts = open(&globals.config(Access::Read)?.without_model())?;
    let scope = args.of.scope(&parts, None).await?;
    shown(&parts, scope, &args.status.request(&args.of, args.limit), globals).await
}

async fn shown(parts: &Parts, scope: Scope, request: &LedgerRequest, globals: &Globals) -> anyhow::Result<()> {
    let ledger = parts.memory.ledger(&scope, request).await?;
    if globals.output.json {
        return Ok(globals.output.value(&ledger)?);
    }
    print::ledger(globals.output, &ledger)
}

async fn history(args: &History, globals: &Globals) -> anyhow::Result<()> {
    let parts = open(&globals.config(Access::Read)?.without_model())?;
    let all = LedgerRequest::default().which(Which::All);
    let (first, subject) = args.word.of(&parts.memory, &args.subject, globals.output).await?;
    let named = match first {
        Some(id) => Some(id),
        None => args.conversation.named(&parts).await?,
    };
    let (ledger, conversation, id) = match subject.parse::<EntryId>().ok() {
        Some(id) => {
            let conversation = match named {
                Some(named) => named,
                None => resolve::conversation(&parts, None).await?,
            };
            (parts.memory.ledger(&Scope::one(&conversation), &all).await?, conversation, id)
        }
        None => {
            let scope = match &named {
                Some(id) => Scope::one(id),
                None => Scope::only(resolve::all(&parts).await?),
            };
            let best = parts.memory.ledger(&scope, &all.clone().question(subject).limit(1)).await?;
            let best = best.entries.into_iter().next();
            let LedgerEntry { conversation, id, .. } =
                best.ok_or_else(|| NotFound("no entry has these words".into()))?;
            (parts.memory.ledger(&Scope::one(&conversation), &all).await?, conversation, id)
        }
    };
    let entries: Vec<_> = ledger.history(&conversation, id).into_iter().cloned().collect();
    if entries.is_empty() {
        return Err(NotFound(format!("`{conversation}` has no entry {id}: memory facts --all lists them")).into());
    }
    let output = globals.output;
    if output.json {
        return Ok(output.value(&Chain { entries })?);
    }
    print::history(output, &entries, &ledger)
}
