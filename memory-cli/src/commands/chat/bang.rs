//! Commands in a chat, which begin with an exclamation mark.

use memory::{
    Level, Mark, NodeId, NodeRange,
    erasing::{EraseOptions, EraseRequest},
    ledger::{EntryAuthor, EntryId, EntryKind, LedgerRequest, NewEntry},
};
use memory_core::port::{Query, Scope};
use memory_hooks::ListOptions;

use super::{input::Input, live::width, session::Session, signals::Signals};
use crate::{
    commands::{context, erase, facts, message, receipt, resolve, search},
    failure::Usage,
    output::{Line, counted, grouped, shorten},
};

/// The commands: their arguments and effects.
const COMMANDS: [(&str, &str, &str); 16] = [
    ("!help", "", "this list"),
    ("!why", "[full]", "what the model was shown last, and why, piece by piece; or its exact text"),
    ("!search", "QUESTION", "messages of this conversation that bear on a question; !search all QUESTION: of all"),
    ("!expand", "[N|N-M]", "messages word for word; without a number the last result of a tool"),
    ("!facts", "[WORDS]", "what is known; !facts add TEXT and !facts correct ID TEXT change it"),
    ("!forget", "ID|N|N-M|all", "hide a fact, or erase messages or all of this conversation for good"),
    ("!important", "[N]", "keep message N in every view, or mark this conversation"),
    ("!stats", "", "messages, levels and tokens, and what this chat has spent"),
    ("!save", "[TITLE]", "every message is kept already; this sets the title"),
    ("!clear", "", "begin a new conversation; this one stays"),
    ("!sessions", "", "list the conversations"),
    ("!load", "ID|last|TITLE", "go to a conversation"),
    ("!nopersist", "[off]", "a conversation that lives in memory alone, of which nothing is kept; off: back"),
    ("!again", "", "ask the last message again if it has no answer, or go on with one that was cut off"),
    ("exit", "", "leave; so do quit and Ctrl-D"),
    ("\\", "", "at the end of a line: the message goes on in the next"),
];

/// Message that continues an answer that was cut off.
const GO_ON: &str = "Your answer was cut off. Go on where it ended.";
/// Least probability that a hit of a search bears on the question.
const LEAST_RELEVANCE: f32 = 0.05;
/// Most hits of a search.
const HITS: usize = 8;
/// Most conversations that are listed.
const LISTED: usize = 20;

/// Names of the commands.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|(name, ..)| *name).filter(|name| name.starts_with('!'))
}

/// Runs the command of a line without its mark.
pub(super) async fn run(
    session: &mut Session<'_>,
    line: &str,
    input: &mut Input,
    signals: &Signals,
) -> anyhow::Result<()> {
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let needs_messages = matches!(name, "search" | "expand" | "facts" | "forget" | "important" | "stats" | "save");
    // A conversation exists only from its first message on.
    if needs_messages
        && !(name == "search" && rest.starts_with("all "))
        && session.conversation.overview().await.is_err_and(|error| error.is_not_found())
    {
        return Ok(session.print("nothing was said in this conversation yet")?);
    }
    match name {
        "help" => help(session),
        "why" => why(session, rest),
        "search" => found(session, rest).await,
        "expand" => expand(session, rest).await,
        "facts" => known(session, rest).await,
        "forget" => forget(session, rest, input).await,
        "important" => important(session, rest).await,
        "stats" => stats(session).await,
        "save" => save(session, rest).await,
        "clear" => clear(session),
        "sessions" => sessions(session).await,
        "load" => load(session, rest, signals).await,
        "nopersist" => nopersist(session, rest),
        "again" => again(session, signals).await,
        _ => {
            let near = names().find(|known| known.starts_with(&format!("!{name}"))).unwrap_or("!help");
            Err(Usage(format!("there is no command !{name}: {near}?")).into())
        }
    }
}

fn help(session: &Session<'_>) -> anyhow::Result<()> {
    for (name, arguments, about) in COMMANDS {
        let head = format!("{name} {arguments}");
        let options = textwrap::Options::new(width()).subsequent_indent("                         ");
        for line in textwrap::wrap(&format!("{head:<24} {about}"), options) {
            session.output.line(&line)?;
        }
    }
    Ok(())
}

fn why(session: &Session<'_>, rest: &str) -> anyhow::Result<()> {
    let Some(prompt) = &session.prompt else {
        let id = session.conversation.id();
        return Ok(session.print(&format!("no prompt since the last change; `memory replay {id}` lists earlier ones"))?);
    };
    if rest == "full" {
        return Ok(session.output.text(prompt.text())?);
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
        session.output.line(&shorten(&format!("{id}, {tokens}: {}", piece.reason), width()))?;
        session.print(&format!("  | {}", shorten(&piece.text, width().saturating_sub(5))))?;
    }
    Ok(session.print(&context::summary(prompt))?)
}

async fn found(session: &Session<'_>, rest: &str) -> anyhow::Result<()> {
    let (scope, question) = match rest.strip_prefix("all ") {
        Some(question) => (Scope::all().owner(session.memory.config().owner.clone()), question),
        None => (Scope::one(session.conversation.id()), rest),
    };
    if question.trim().is_empty() {
        return Err(Usage("say what to search: !search QUESTION".to_owned()).into());
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

async fn expand(session: &Session<'_>, rest: &str) -> anyhow::Result<()> {
    let range = match rest {
        "" => last_result(session).await?,
        text => nodes(text)?,
    };
    for node in session.conversation.messages(range).await? {
        session.print(&format!("-- {}", message::heading(&node)))?;
        session.output.text(&node.message.text())?;
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
    Err(Usage("no tool was called: !expand N shows message N".to_owned()).into())
}

async fn known(session: &Session<'_>, rest: &str) -> anyhow::Result<()> {
    let (verb, words) = rest.split_once(' ').unwrap_or((rest, ""));
    if verb == "add" {
        if words.trim().is_empty() {
            return Err(Usage("say what holds: !facts add TEXT".to_owned()).into());
        }
        let entry = NewEntry::new(EntryKind::Fact, words.trim(), EntryAuthor::Person(String::new()));
        let entry = session.conversation.add_entry(entry).await?;
        return Ok(session.output.line(&facts::line(&entry))?);
    }
    if verb == "forget" {
        let id = words.trim().parse::<EntryId>().map_err(|error| Usage(error.to_string()))?;
        return hide(session, id).await;
    }
    if let Some(rest) = rest.strip_prefix("correct ") {
        let (id, text) =
            rest.split_once(' ').ok_or_else(|| Usage("say what holds: !facts correct ID TEXT".to_owned()))?;
        let id = id.parse::<EntryId>().map_err(|error| Usage(error.to_string()))?;
        let by = EntryAuthor::Person(String::new());
        let entry = session.conversation.correct_entry(id, text.trim(), by, Vec::new()).await?;
        return Ok(session.output.line(&facts::line(&entry))?);
    }
    let request = match rest {
        "" => LedgerRequest::default(),
        words => LedgerRequest::default().question(words.to_owned()),
    };
    facts::print_ledger(session.output, &session.conversation.ledger(&request.limit(50)).await?)
}

/// Shows an entry as known no more.
async fn hide(session: &Session<'_>, id: EntryId) -> anyhow::Result<()> {
    session.conversation.disable_entry(id).await?;
    let message = match id {
        EntryId::Said { node, .. } => format!("; message {node} stays: !forget {node} erases it"),
        EntryId::Recorded(_) => String::new(),
    };
    Ok(session.print(&format!("{id} is not shown as known any more{message}"))?)
}

async fn forget(session: &mut Session<'_>, rest: &str, input: &mut Input) -> anyhow::Result<()> {
    let (what, is_agreed) = match rest.strip_suffix("--yes") {
        Some(what) => (what.trim(), true),
        None => (rest, false),
    };
    if let Ok(id) = what.parse::<EntryId>() {
        return hide(session, id).await;
    }
    let conversation = session.conversation.id().clone();
    let request = match what {
        "" => return Err(Usage("say what to forget: a fact, a message or a run of them, or all".to_owned()).into()),
        "all" => EraseRequest::Conversation(conversation),
        text => EraseRequest::Nodes { conversation, nodes: vec![nodes(text)?] },
    };
    let plan = session.memory.plan_erasure(request).await?;
    erase::preview(session.output, &plan)?;
    if plan.is_empty() {
        return Ok(session.print("nothing to erase")?);
    }
    if !is_agreed && !input.agrees()? {
        return Ok(session.print("nothing was erased; in a script, end the line with --yes")?);
    }
    let erased = session.memory.erase(plan, EraseOptions::default()).await?;
    receipt::print(session.output, &erased)?;
    if what == "all" {
        clear(session)?;
    }
    Ok(())
}

async fn important(session: &Session<'_>, rest: &str) -> anyhow::Result<()> {
    if rest.is_empty() {
        session.conversation.mark(Mark::Important, true).await?;
        return Ok(session.print("this conversation is marked as important")?);
    }
    let node = resolve::node(rest).map_err(Usage)?;
    session.conversation.pin(node, true).await?;
    Ok(session.print(&format!("message {node} stays word for word in every view that it fits"))?)
}

async fn stats(session: &Session<'_>) -> anyhow::Result<()> {
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
            "{} tokens in full, {} in the smallest view: {:.1} times smaller",
            grouped(stats.shown_tokens),
            grouped(stats.view_tokens),
            stats.compression_ratio()
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

async fn save(session: &Session<'_>, rest: &str) -> anyhow::Result<()> {
    if !rest.is_empty() {
        session.conversation.set_title(rest).await?;
    }
    let id = session.conversation.id();
    if session.kept.is_some() {
        return Ok(session.print("nothing of this conversation is kept: !nopersist off goes back")?);
    }
    let nodes = session.conversation.overview().await?.nodes;
    let kept = counted(nodes, "message", "messages");
    Ok(session.print(&format!("{kept} of `{id}` are kept; each is when it is said"))?)
}

fn clear(session: &mut Session<'_>) -> anyhow::Result<()> {
    let before = session.conversation.id().clone();
    let new = session.memory.new_conversation()?;
    session.go_to(new);
    Ok(session.print(&format!("a new conversation begins; !load {before} goes back"))?)
}

async fn sessions(session: &Session<'_>) -> anyhow::Result<()> {
    let listing = session.memory.list(ListOptions::default().limit(LISTED)).await?;
    if listing.conversations.is_empty() {
        session.print("no conversation yet")?;
    }
    for listed in &listing.conversations {
        let state = &listed.state;
        let day = state.last_at.and_then(|at| at.civil(0)).map_or_else(String::new, |at| at.date());
        let title = listed.title.as_ref().map_or("", |title| &title.text);
        let mark = if state.id == *session.conversation.id() { "*" } else { " " };
        let head = format!("{mark} {}  {day}  {}  ", state.id, counted(state.nodes, "message", "messages"));
        let room = width().saturating_sub(head.chars().count());
        match room < 20 && !title.is_empty() {
            true => {
                session.print(&head)?;
                session.print(&format!("    {}", shorten(title, width().saturating_sub(5))))?;
            }
            false => session.print(&format!("{head}{}", shorten(title, room.saturating_sub(1))))?,
        }
    }
    if listing.more > 0 {
        session.print(&format!("and {} more: `memory list`", grouped(listing.more)))?;
    }
    Ok(())
}

async fn load(session: &mut Session<'_>, rest: &str, signals: &Signals) -> anyhow::Result<()> {
    if rest.is_empty() {
        return Err(Usage("say which: !load last, or a name or title of !sessions".to_owned()).into());
    }
    session.load(rest).await?;
    session.greet()?;
    session.go_on(signals).await.map(drop)
}

async fn again(session: &mut Session<'_>, signals: &Signals) -> anyhow::Result<()> {
    if session.go_on(signals).await? {
        return Ok(());
    }
    if session.is_cut().await? {
        session.print(&format!("> {GO_ON}"))?;
        return session.say(GO_ON, signals).await;
    }
    Ok(session.print("no message waits for an answer")?)
}

fn nopersist(session: &mut Session<'_>, rest: &str) -> anyhow::Result<()> {
    match (rest, session.kept.take()) {
        ("off", Some((memory, id))) => {
            let conversation = memory.conversation(id.as_str())?;
            session.memory = memory;
            session.go_to(conversation);
            Ok(session.print(&format!("back in `{id}`; nothing of the other conversation is left"))?)
        }
        ("off", None) => Ok(session.print("everything is kept already")?),
        (_, Some(kept)) => {
            session.kept = Some(kept);
            Ok(session.print("nothing of this conversation is kept already; !nopersist off goes back")?)
        }
        (_, None) => {
            let ephemeral = session.memory.ephemeral()?;
            let conversation = ephemeral.new_conversation()?;
            let kept = std::mem::replace(&mut session.memory, ephemeral);
            session.kept = Some((kept, session.conversation.id().clone()));
            session.go_to(conversation);
            Ok(session.print("a new conversation, of which nothing is kept; !nopersist off goes back")?)
        }
    }
}

/// Parses a run of messages.
fn nodes(text: &str) -> Result<NodeRange, Usage> {
    resolve::nodes(text).map_err(Usage)
}
