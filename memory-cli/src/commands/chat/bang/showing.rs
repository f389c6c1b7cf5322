//! Commands that show messages, facts and figures.

use memory::{
    Error, Level, NodeId, NodeRange,
    ledger::{EntryAuthor, EntryId, EntryKind, LedgerEntry, LedgerError, LedgerRequest, NewEntry},
};
use memory_core::port::{Query, Scope};

use super::{
    super::live::{theirs, width},
    Session, misused, nodes,
};
use crate::{
    commands::{context, facts, message, search},
    failure::Usage,
    markdown::wrap_after,
    output::{Line, counted, grouped, shorten},
};

/// Least probability that a hit of a search bears on the question.
const LEAST_RELEVANCE: f32 = 0.05;
/// Most hits of a search.
const HITS: usize = 8;
/// Most facts.
const FACTS: usize = 50;
/// Most characters of a piece of a prompt.
const PIECE: usize = 300;

pub(super) async fn why(session: &Session<'_>, rest: &str) -> anyhow::Result<()> {
    let Some(prompt) = &session.prompt else {
        let (id, state) = (session.conversation.id(), session.conversation.overview().await.ok());
        if state.is_none_or(|state| state.views == 0) {
            return Ok(session.print("no prompt was sent in this conversation yet")?);
        }
        return Ok(session.print(&format!("no prompt since the last change; `memory replay {id}` lists earlier ones"))?);
    };
    if rest == "full" {
        return Ok(session.output.text(&theirs(prompt.text()))?);
    }
    for piece in &prompt.pieces {
        let (kind, id) = (piece.kind.as_str(), piece.id());
        // A summary's own number says less than the messages under it.
        let id = match (piece.summary, piece.nodes) {
            (Some(_), Some(nodes)) => format!("{kind} of {nodes}"),
            _ if id.starts_with(kind) => id,
            _ => format!("{kind}: {id}"),
        };
        let tokens = counted(u64::from(piece.tokens), "token", "tokens");
        session.print(&format!("{id}, {tokens}: {}", piece.reason))?;
        print_under(session, "  | ", "  | ", &shorten(&theirs(&piece.text), PIECE))?;
    }
    session.print(&context::summary(prompt))?;
    let used = prompt.used().sentence();
    // "Memory used" would be taken for that of the machine.
    used.map_or(Ok(()), |used| Ok(session.print(&used.replacen("memory used", "from memory", 1))?))
}

fn print_under(session: &Session<'_>, first: &str, others: &str, text: &str) -> anyhow::Result<()> {
    let text = memory_core::text::one_line(text);
    Ok(wrap_after(first, others, &text, width()).iter().try_for_each(|line| session.output.line(line))?)
}

pub(super) async fn found(session: &Session<'_>, rest: &str) -> anyhow::Result<()> {
    let (scope, question) = match rest.strip_prefix("all ") {
        Some(question) => (Scope::all().owner(session.memory.config().owner.clone()), question),
        None => (Scope::one(session.conversation.id()), rest),
    };
    if matches!(question.trim(), "" | "all") {
        return Err(misused("search").into());
    }
    let found = session.memory.search(Query::new(question, scope).limit(HITS).min_relevance(LEAST_RELEVANCE)).await?;
    if found.hits.is_empty() {
        session.print("nothing bears on it")?;
    }
    for hit in &found.hits {
        let of = if hit.conversation == *session.conversation.id() {
            String::new()
        } else {
            format!("{} ", hit.conversation)
        };
        session.output.marked(&search::excerpted(
            Line::default().plain(&format!("{of}{} ", hit.node.id)),
            &hit.node,
            question,
        ))?;
    }
    Ok(())
}

pub(super) async fn expand(session: &Session<'_>, rest: &str) -> anyhow::Result<()> {
    let range = match rest {
        "" => last_result(session).await?,
        text => nodes(session, text).await?,
    };
    let found = session.conversation.messages(range).await?;
    if found.is_empty() {
        let last = session.conversation.overview().await?.nodes;
        return Err(Usage(format!("there is no message {range}: the last one is {last}")).into());
    }
    for node in found {
        session.print(&format!("-- {}", message::heading(&node)))?;
        session.output.text(&theirs(&node.message.text()))?;
    }
    Ok(())
}

/// The last result of a tool.
async fn last_result(session: &Session<'_>) -> anyhow::Result<NodeRange> {
    let last = session.conversation.overview().await?.nodes;
    for number in (1..=last).rev() {
        let Some(node) = NodeId::new(number).map(NodeRange::single) else { break };
        let found = session.conversation.messages(node).await?;
        if found.iter().any(|node| node.message.tool_results().next().is_some()) {
            return Ok(node);
        }
    }
    Err(Usage("no tool was called: !expand N shows message N, and !expand last the last answer".to_owned()).into())
}

pub(super) async fn known(session: &Session<'_>, rest: &str) -> anyhow::Result<()> {
    let (verb, words) = rest.split_once(' ').unwrap_or((rest, ""));
    let words = words.trim();
    let entry = match verb {
        "add" if words.is_empty() => return Err(Usage("say what holds: !facts add TEXT".to_owned()).into()),
        "add" => {
            let entry = NewEntry::new(EntryKind::Fact, words, EntryAuthor::Person(String::new()));
            session.conversation.add_entry(entry).await?
        }
        "correct" => {
            let (id, text) = words.split_once(' ').unwrap_or((words, ""));
            let id = entry(id, "!facts correct ID TEXT")?;
            if text.trim().is_empty() {
                return Err(Usage("say what holds: !facts correct ID TEXT".to_owned()).into());
            }
            let by = EntryAuthor::Person(String::new());
            session.conversation.correct_entry(id, text.trim(), by, Vec::new()).await.map_err(unknown)?
        }
        "enable" => {
            let id = entry(words, "!facts enable ID")?;
            session.conversation.enable_entry(id).await.map_err(unknown)?
        }
        "forget" => return hide(session, entry(words, "!facts forget ID")?).await,
        _ if verb.starts_with('-') => return Err(misused("facts").into()),
        _ => return listed(session, rest).await,
    };
    print_fact(session, &entry)
}

/// Parses the id of an entry, of a command that is used so.
fn entry(text: &str, how: &str) -> Result<EntryId, Usage> {
    text.parse::<EntryId>().map_err(|error| Usage(format!("{error}: {how}")))
}

/// The error of a change, with the command that lists entries.
fn unknown(error: Error) -> anyhow::Error {
    match error {
        Error::Ledger(LedgerError::NoEntry { id, .. }) => {
            Usage(format!("no fact has the id {id}: !facts lists them")).into()
        }
        error => error.into(),
    }
}

async fn listed(session: &Session<'_>, words: &str) -> anyhow::Result<()> {
    let request = match words {
        "" => LedgerRequest::default(),
        words => LedgerRequest::default().question(words.to_owned()),
    };
    let ledger = session.conversation.ledger(&request.limit(FACTS)).await?;
    if ledger.entries.is_empty() {
        session.print("nothing is known of it")?;
    }
    ledger.entries.iter().try_for_each(|entry| print_fact(session, entry))?;
    if ledger.more > 0 {
        session.print(&format!("and {} more: !facts WORDS finds them", grouped(ledger.more)))?;
    }
    Ok(())
}

fn print_fact(session: &Session<'_>, entry: &LedgerEntry) -> anyhow::Result<()> {
    print_under(session, "", "    ", &facts::whole(entry))
}

/// Shows an entry as known no more.
pub(super) async fn hide(session: &Session<'_>, id: EntryId) -> anyhow::Result<()> {
    session.conversation.disable_entry(id).await.map_err(unknown)?;
    let message = match id {
        EntryId::Said { node, .. } => format!("; message {node} stays: !forget {node} erases it"),
        EntryId::Recorded(_) => String::new(),
    };
    Ok(session.print(&format!("{id} is not shown as known any more{message}; !facts enable {id} takes it back"))?)
}

pub(super) async fn stats(session: &Session<'_>) -> anyhow::Result<()> {
    let stats = session.conversation.stats().await?;
    let of = |level: Level| grouped(stats.at_level(level));
    let lines = [
        format!("{} in `{}`", counted(stats.nodes, "message", "messages"), session.conversation.id()),
        format!(
            "{} full, {} under a summary, {} under a META, {} under an ARCHIVE",
            of(Level::Full),
            of(Level::Summary),
            of(Level::Meta),
            of(Level::Archive)
        ),
        format!(
            "{} tokens in full, {} in the smallest view{}",
            grouped(stats.shown_tokens),
            grouped(stats.view_tokens),
            smaller(stats.compression_ratio())
        ),
    ];
    lines.iter().try_for_each(|line| session.print(line))?;
    let usage = &session.usage;
    let cost = usage.cost.map(|cost| format!(", cost {cost:.4}")).unwrap_or_default();
    Ok(session.print(&format!(
        "this chat: {}, {} tokens asked, {} of them cached, {} replied{cost}",
        counted(usage.requests, "request", "requests"),
        grouped(usage.prompt_tokens),
        grouped(usage.cached_tokens),
        grouped(usage.reply_tokens)
    ))?)
}

/// How much smaller a view is, unless it is as large.
fn smaller(ratio: f64) -> String {
    if ratio < 1.05 { String::new() } else { format!(": {ratio:.1} times smaller") }
}
