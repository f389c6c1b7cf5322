//! Finds the conversation that the command line names.

use clap::Args;
use memory::parts::Parts;
use memory_core::{
    ConversationId, NodeId, NodeRange, SummaryId,
    port::{ConversationState, Conversations},
};

use memory_hooks::{Memory, MemoryError};

use crate::{
    failure::{Damage, NotFound, Usage},
    output::{Output, is_screen},
};

/// The conversation of a command.
#[derive(Debug, Args)]
pub(super) struct One {
    /// The conversation: its name or the beginning of it, its title, or `last`; also without -c as the first argument
    /// [default: the only one]
    #[arg(long, short, value_name = "ID")]
    conversation: Option<String>,
}

impl One {
    pub(super) async fn id(&self, runtime: &Parts) -> anyhow::Result<ConversationId> {
        conversation(runtime, self.conversation.as_deref()).await
    }
}

/// The conversation of a command, as its first argument.
#[derive(Debug, Args)]
pub(super) struct First {
    /// The conversation: its name or the beginning of it, its title, or `last`; also by -c [default: the only one]
    #[arg(value_name = "CONVERSATION")]
    conversation: Option<String>,
}

impl First {
    /// True if a conversation was named.
    #[cfg(feature = "tui")]
    pub(super) const fn is_named(&self) -> bool {
        self.conversation.is_some()
    }

    pub(super) async fn id(&self, runtime: &Parts) -> anyhow::Result<ConversationId> {
        let Some(name) = &self.conversation else { return only(runtime, "as the first argument").await };
        conversation(runtime, Some(name)).await
    }
}

/// The conversation of a command, as its first argument; all without it.
#[derive(Debug, Args)]
pub(super) struct FirstOrAll {
    /// Only this conversation: its name or the beginning of it, its title, or `last`; also by -c [default: all]
    #[arg(value_name = "CONVERSATION")]
    conversation: Option<String>,
}

impl FirstOrAll {
    /// The named conversation, if any.
    pub(super) async fn named(&self, runtime: &Parts) -> anyhow::Result<Option<ConversationId>> {
        match &self.conversation {
            Some(name) => Ok(Some(conversation(runtime, Some(name)).await?)),
            None => Ok(None),
        }
    }

    /// The named conversation, or all.
    pub(super) async fn ids(&self, runtime: &Parts) -> anyhow::Result<Vec<ConversationId>> {
        match self.named(runtime).await? {
            Some(id) => Ok(vec![id]),
            None => all(runtime).await,
        }
    }
}

/// The conversation of a command, or all, where a text may come first.
#[derive(Debug, Args)]
pub(super) struct OneOrAll {
    /// Only this conversation: its name or the beginning of it, its title, or `last` [default: all]
    #[arg(long, short, value_name = "ID")]
    conversation: Option<String>,
}

impl OneOrAll {
    /// The named conversation, if any.
    pub(super) async fn named(&self, runtime: &Parts) -> anyhow::Result<Option<ConversationId>> {
        FirstOrAll { conversation: self.conversation.clone() }.named(runtime).await
    }

    /// The named conversation, or all.
    pub(super) async fn ids(&self, runtime: &Parts) -> anyhow::Result<Vec<ConversationId>> {
        FirstOrAll { conversation: self.conversation.clone() }.ids(runtime).await
    }
}

/// The first of several words that no quotes hold together. It names the conversation if one has this name, or an id
/// that begins so; otherwise it belongs to the text.
#[derive(Debug, Args)]
pub(super) struct FirstWord {
    #[arg(long, value_name = "WORD", hide = true)]
    first_word: Option<String>,
}

impl FirstWord {
    pub(super) fn word(&self) -> Option<&str> {
        self.first_word.as_deref()
    }

    /// The conversation that the word names, if it does, and the text.
    pub(super) async fn of(
        &self,
        memory: &Memory,
        text: &str,
        output: Output,
    ) -> anyhow::Result<(Option<ConversationId>, String)> {
        let Some(word) = &self.first_word else { return Ok((None, text.to_owned())) };
        // Questions begin with short words and with words of titles.
        let is_meant =
            |id: &ConversationId| id.as_str() == word || id.as_str().starts_with(word) && word.len() >= LEAST;
        match memory.resolve_id(word).await {
            Ok(Some(id)) if is_meant(&id) => {
                output.note(&format!("in `{id}`; in quotes, all the words are one text"));
                Ok((Some(id), text.to_owned()))
            }
            Ok(_) | Err(MemoryError::Ambiguous { .. }) => Ok((None, format!("{word} {text}"))),
            Err(error) => Err(error.into()),
        }
    }
}

/// The conversations to search.
#[derive(Debug, Args)]
pub(super) struct SeveralOrAll {
    /// A conversation: its name or the beginning of it, its title, or `last`; several may be given [default: all]
    #[arg(long, short, value_name = "ID")]
    conversation: Vec<String>,
    /// All conversations, as without --conversation
    #[arg(long, conflicts_with = "conversation")]
    all: bool,
    #[command(flatten)]
    word: FirstWord,
}

impl SeveralOrAll {
    /// The named conversations, or the one that the first word names, or all; and the text.
    pub(super) async fn ids(
        &self,
        runtime: &Parts,
        text: &str,
        output: Output,
    ) -> anyhow::Result<(Vec<ConversationId>, String)> {
        let (named, text) = self.word.of(&runtime.memory, text, output).await?;
        let ids = match named {
            Some(id) => vec![id],
            None => self.named(runtime).await?,
        };
        Ok((ids, text))
    }

    async fn named(&self, runtime: &Parts) -> anyhow::Result<Vec<ConversationId>> {
        if self.conversation.is_empty() {
            return all(runtime).await;
        }
        let mut ids = Vec::with_capacity(self.conversation.len());
        for name in &self.conversation {
            ids.push(conversation(runtime, Some(name)).await?);
        }
        Ok(ids)
    }
}

/// The other conversations that a context recalls from.
#[derive(Debug, Args)]
pub(super) struct Others {
    /// Also recall from these conversations: `all`, or a conversation by its name, the beginning of it or its title,
    /// several times if wanted. Conversations of other owners are not found [default: this]
    #[arg(long, value_name = "this|all|ID")]
    scope: Vec<String>,
}

impl Others {
    /// All, or the named ones.
    pub(super) async fn scope(&self, runtime: &Parts) -> anyhow::Result<Conversations> {
        let is_all = |name: &String| name == "all";
        if self.scope.iter().any(is_all) {
            if !self.scope.iter().all(is_all) {
                return Err(Usage("--scope all covers every conversation: leave out the others".to_owned()).into());
            }
            return Ok(Conversations::All);
        }
        let mut ids = Vec::new();
        for name in self.scope.iter().filter(|name| *name != "this") {
            ids.push(conversation(runtime, Some(name)).await?);
        }
        Ok(Conversations::Only(ids))
    }
}

/// Finds a conversation: `last`, its id or a unique beginning of it, or its title; without a name, the only one in the
/// store.
pub(super) async fn conversation(runtime: &Parts, name: Option<&str>) -> anyhow::Result<ConversationId> {
    let Some(name) = name else { return only(runtime, "by --conversation").await };
    match runtime.memory.resolve(name).await {
        // The intended conversation may be one that cannot be read.
        Err(error) if error.is_not_found() && !runtime.log.report().damage.is_empty() => {
            Err(Damage(format!("no conversation `{name}` in what can be read: {}", damage(runtime))).into())
        }
        found => Ok(found?),
    }
}

/// The only conversation in the store; with several, an error states `how` to say which.
async fn only(runtime: &Parts, how: &str) -> anyhow::Result<ConversationId> {
    match talks(runtime).await?.as_slice() {
        [only] => Ok(only.clone()),
        [] => {
            let why = "the store holds no conversation: `memory import` and `memory append` begin one";
            Err(NotFound(why.to_owned()).into())
        }
        several => {
            let count = several.len();
            Err(Usage(format!("the store holds {count} conversations: say which {how} (`memory list` shows them)"))
                .into())
        }
    }
}

/// Names of conversations for people: a screen has long ids by a beginning, which names the conversation as well.
#[derive(Debug, Default)]
pub(super) struct ShownNames {
    /// All ids, by name; none where they are shown whole.
    all: Vec<String>,
}

impl ShownNames {
    /// The names for standard output.
    pub(super) async fn of(runtime: &Parts) -> anyhow::Result<Self> {
        let all = if is_screen() { every(runtime).await? } else { Vec::new() };
        Ok(Self { all: all.iter().map(ToString::to_string).collect() })
    }

    pub(super) fn name(&self, id: &ConversationId) -> String {
        beginning(id.as_str(), &self.all).to_owned()
    }
}

/// Characters of an id that is shown whole.
const SHORT: usize = 24;
/// The least characters of the beginning of an id.
const LEAST: usize = 8;

/// The shortest beginning of a long id that names it among `all`, to the end of a part between hyphens if that is near.
fn beginning<'a>(id: &'a str, all: &[String]) -> &'a str {
    if id.len() <= SHORT || all.is_empty() {
        return id;
    }
    // Forks and subagents of a session are named after it, and its beginning names the session.
    let is_of = |other: &str| other.strip_prefix(id).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    let names_it = |end: usize| {
        let given = id.get(..end).unwrap_or(id);
        all.iter().all(|other| is_of(other) || !other.starts_with(given))
    };
    let ends = || id.char_indices().map(|(at, _)| at).filter(|at| *at >= LEAST);
    let Some(least) = ends().find(|end| names_it(*end)).filter(|end| *end <= SHORT) else { return id };
    let part = id.get(least..).and_then(|rest| rest.find('-')).map(|rest| least + rest);
    let end = part.filter(|end| *end <= SHORT).unwrap_or(least);
    id.get(..end).unwrap_or(id)
}

/// All conversations in which somebody spoke, and documents, by name.
pub(super) async fn all(runtime: &Parts) -> anyhow::Result<Vec<ConversationId>> {
    let read = states(runtime).await?.into_iter().filter(|state| !state.is_of_notes());
    Ok(read.map(|state| state.id).collect())
}

/// All conversations in which somebody spoke, by name.
pub(super) async fn talks(runtime: &Parts) -> anyhow::Result<Vec<ConversationId>> {
    let spoken = states(runtime).await?.into_iter().filter(ConversationState::is_talk);
    Ok(spoken.map(|state| state.id).collect())
}

/// All conversations of the store and those of notes, by name.
pub(super) async fn every(runtime: &Parts) -> anyhow::Result<Vec<ConversationId>> {
    Ok(states(runtime).await?.into_iter().map(|state| state.id).collect())
}

/// Refuses a damaged log that may have lost all its conversations.
pub(super) async fn check_readable(runtime: &Parts) -> anyhow::Result<()> {
    states(runtime).await.map(drop)
}

/// The states of all conversations, by name.
async fn states(runtime: &Parts) -> anyhow::Result<Vec<ConversationState>> {
    let known = runtime.store.conversations().await?;
    // A damaged log without conversations may have lost them, so an empty answer would be wrong.
    if known.is_empty() && !runtime.log.report().damage.is_empty() {
        return Err(Damage(format!("no conversation can be read: {}", damage(runtime))).into());
    }
    Ok(known)
}

fn damage(runtime: &Parts) -> String {
    let damage: Vec<_> = runtime.log.report().damage.iter().map(ToString::to_string).collect();
    damage.join("; ")
}

/// Parses the question on the command line, which must not be empty.
pub(super) fn question(text: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err("the question is empty".to_owned()) } else { Ok(text.to_owned()) }
}

/// Parses a node's number on the command line.
pub(super) fn node(text: &str) -> Result<NodeId, String> {
    let number = text.parse::<u64>().map_err(|_| format!("`{text}` is not a node number"))?;
    NodeId::new(number).ok_or_else(|| "nodes are numbered from 1".to_owned())
}

/// Parses a run of nodes on the command line: `40-80`, or `40` alone.
pub(super) fn nodes(text: &str) -> Result<NodeRange, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (node(first)?, node(last)?);
    NodeRange::new(first, last).ok_or_else(|| format!("node {last} comes before node {first}"))
}

/// Parses the number of a summary on the command line, with or without the letter that it is printed with.
pub(super) fn summary(text: &str) -> Result<SummaryId, String> {
    let digits = text.strip_prefix('s').unwrap_or(text);
    let number = digits.parse::<u64>().map_err(|_| format!("`{text}` is not the number of a summary"))?;
    SummaryId::new(number).ok_or_else(|| "summaries are numbered from 1".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_a_summary_is_read_as_it_is_printed_and_without_its_letter() {
        let read = summary("157").unwrap();
        assert_eq!(summary(&read.to_string()), Ok(read));
        for wrong in ["", "s", "0", "s0", "ss1", "-1", "x"] {
            assert!(summary(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_long_id_is_shown_by_a_beginning_that_names_it() {
        let session = "0198f2c4-5a1b-7c3d-9e8f-000000000001";
        let all: Vec<_> = [
            session,
            "0198f2c4-5a1b-7c3d-9e8f-000000000001-agent-x",
            "7d3f0000-5a1b-7c3d-9e8f-000000000001",
            "0198f2c4-5a1c-7c3d-9e8f-000000000001",
            "claude-session-7d3f1234-77",
            "a-trip-to-norway",
        ]
        .map(str::to_owned)
        .into();
        let shown: Vec<_> = all.iter().map(|id| beginning(id, &all)).collect();
        let parts = ["0198f2c4-5a1b", &all[1], "7d3f0000", "0198f2c4-5a1c", "claude-session", "a-trip-to-norway"];
        assert_eq!(shown, parts);
        assert_eq!(beginning(session, &[]), session, "a pipe has the whole id");
    }

    #[test]
    fn a_run_is_written_as_it_is_printed() {
        for text in ["7", "7-12", "40-40"] {
            assert_eq!(nodes(text).unwrap().to_string(), text.trim_start_matches("40-"));
        }
        for wrong in ["", "-", "7-", "-7", "0-3", "12-7", "7-12-13", "a-b", "7..12"] {
            assert!(nodes(wrong).is_err(), "{wrong}");
        }
    }
}
