//! Commands in a chat, which begin with an exclamation mark.

mod changing;
mod showing;

use memory::{NodeId, NodeRange};
use memory_hooks::ListOptions;

use super::{input::Input, live::width, session::Session, signals::Signals};
use crate::{
    failure::Usage,
    markdown::wrap_after,
    output::{counted, grouped, shorten},
};

/// A command: its name and arguments, its effect, and the words that it takes.
type Command = (&'static str, &'static str, &'static str, Takes);

/// Words that a command takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    Nothing,
    /// Nothing, or this word.
    Word(&'static str),
    /// Words that the command itself checks.
    Any,
}

const COMMANDS: [Command; 14] = [
    ("help", "", "this list", Takes::Nothing),
    ("why", "[full]", "what the model was shown last, and why, piece by piece; or its exact text", Takes::Word("full")),
    (
        "search",
        "QUESTION",
        "messages of this conversation that bear on a question; !search all QUESTION: of all",
        Takes::Any,
    ),
    (
        "expand",
        "[N|N-M]",
        "messages word for word; N is a number in the line after an answer, or last; without one the last result of a tool",
        Takes::Any,
    ),
    (
        "facts",
        "[WORDS]",
        "what is known; !facts add TEXT, correct ID TEXT, forget ID and enable ID change it",
        Takes::Any,
    ),
    (
        "forget",
        "ID|N|N-M|last|all",
        "hide a fact, or erase messages or all of this conversation for good; --yes asks no question",
        Takes::Any,
    ),
    (
        "important",
        "[N] [off]",
        "keep message N in every view, or mark this conversation; off takes it back",
        Takes::Any,
    ),
    ("stats", "", "messages, levels and tokens, and what this chat has spent", Takes::Nothing),
    ("save", "[TITLE]", "every message is kept already; this sets the title", Takes::Any),
    ("clear", "", "begin a new conversation; this one stays", Takes::Nothing),
    ("sessions", "", "list the conversations", Takes::Nothing),
    ("load", "ID|last|TITLE", "go to a conversation", Takes::Any),
    (
        "nopersist",
        "[off]",
        "a conversation that lives in memory alone, of which nothing is kept; off: back",
        Takes::Word("off"),
    ),
    (
        "again",
        "",
        "ask the last message again if it has no answer, or go on with an answer that is not whole",
        Takes::Nothing,
    ),
];
/// Further lines of the list.
const KEYS: [(&str, &str); 3] = [
    ("exit", "leave; so do quit and Ctrl-D"),
    ("!!", "at the beginning of a line: the message begins with !"),
    ("\\", "at the end of a line: the message goes on in the next"),
];

/// How to say what begins like a command.
const ESCAPED: &str = "a message that begins with ! is sent by !!";
/// Most conversations that are listed.
const LISTED: usize = 20;

/// Names of the commands.
pub(super) fn names() -> impl Iterator<Item = String> {
    COMMANDS.iter().map(|(name, ..)| format!("!{name}"))
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
    check(name, rest)?;
    let needs_messages = matches!(name, "search" | "expand" | "facts" | "forget" | "important" | "stats" | "save");
    // A conversation exists only from its first message on.
    if needs_messages
        && !(name == "search" && rest.starts_with("all "))
        && session.conversation.overview().await.is_err_and(|error| error.is_not_found())
    {
        return Ok(session.print("nothing was said in this conversation yet")?);
    }
    match name {
        "why" => showing::why(session, rest).await,
        "search" => showing::found(session, rest).await,
        "expand" => showing::expand(session, rest).await,
        "facts" => showing::known(session, rest).await,
        "forget" => changing::forget(session, rest, input).await,
        "important" => changing::important(session, rest).await,
        "stats" => showing::stats(session).await,
        "save" => changing::save(session, rest).await,
        "clear" => clear(session).await,
        "sessions" => sessions(session).await,
        "load" => load(session, rest, signals).await,
        "nopersist" => nopersist(session, rest),
        "again" => session.again(signals).await,
        _ => help(session),
    }
}

/// Refuses an unknown command, and words that a command does not take.
fn check(name: &str, rest: &str) -> Result<(), Usage> {
    let Some((_, _, _, takes)) = COMMANDS.iter().find(|(known, ..)| *known == name) else {
        let near = names().find(|known| !name.is_empty() && known.starts_with(&format!("!{name}")));
        let hint = near.map_or_else(|| "!help lists all.".to_owned(), |near| format!("do you mean {near}?"));
        return Err(Usage(format!("there is no command !{name}: {hint} {}", sentence(ESCAPED))));
    };
    let is_taken = match takes {
        Takes::Nothing => rest.is_empty(),
        Takes::Word(word) => rest.is_empty() || rest == *word,
        Takes::Any => true,
    };
    if is_taken { Ok(()) } else { Err(misused(name)) }
}

/// The error for words that a command does not take.
fn misused(name: &str) -> Usage {
    let Some((name, arguments, about, _)) = COMMANDS.iter().find(|(known, ..)| *known == name) else {
        return Usage(ESCAPED.to_owned());
    };
    let space = if arguments.is_empty() { "" } else { " " };
    Usage(format!("nothing was done: !{name}{space}{arguments} is all that it takes ({about}); {ESCAPED}"))
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| format!("{}{}", first.to_uppercase(), chars.as_str()))
}

fn help(session: &Session<'_>) -> anyhow::Result<()> {
    let commands = COMMANDS.iter().map(|(name, arguments, about, _)| (format!("!{name} {arguments}"), *about));
    for (head, about) in commands.chain(KEYS.map(|(key, about)| (key.to_owned(), about))) {
        let lines = wrap_after(&format!("{head:<24} "), &" ".repeat(25), about, width());
        lines.iter().try_for_each(|line| session.output.line(line))?;
    }
    Ok(())
}

async fn clear(session: &mut Session<'_>) -> anyhow::Result<()> {
    let before = session.conversation.id().clone();
    let has_messages = session.conversation.overview().await.is_ok_and(|state| state.nodes > 0);
    clear_silently(session)?;
    let back = if has_messages { format!("; !load {before} goes back") } else { String::new() };
    Ok(session.print(&format!("a new conversation begins{back}"))?)
}

fn clear_silently(session: &mut Session<'_>) -> anyhow::Result<()> {
    let new = session.memory.new_conversation()?;
    session.go_to(new);
    Ok(())
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
    session.go_on(signals).await.map(drop)
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

/// Parses a run of messages, whose numbers may be `last`.
async fn nodes(session: &Session<'_>, text: &str) -> anyhow::Result<NodeRange> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (node(session, first).await?, number(session, last).await?);
    let range = NodeRange::new(first, last);
    range.ok_or_else(|| Usage(format!("message {last} comes before message {first}")).into())
}

/// Parses the number of a message that exists; `last` is the last answer.
async fn node(session: &Session<'_>, text: &str) -> anyhow::Result<NodeId> {
    let (node, last) = (number(session, text).await?, session.conversation.overview().await?.nodes);
    if node.get() > last {
        return Err(Usage(format!("there is no message {node}: the last one is {last}")).into());
    }
    Ok(node)
}

/// Parses a number; `last` is that of the last answer.
async fn number(session: &Session<'_>, text: &str) -> anyhow::Result<NodeId> {
    if text == "last" {
        let last = session.last_answer().await?;
        return last.ok_or_else(|| Usage("there is no answer yet".to_owned()).into());
    }
    let number = text.parse().ok().and_then(NodeId::new);
    number.ok_or_else(|| {
        Usage(format!("`{text}` is no number of a message: it stands in the line after an answer, or say last")).into()
    })
}
