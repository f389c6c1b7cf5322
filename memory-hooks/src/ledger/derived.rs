//! Entries that follow from messages by rules, joined with those that were recorded.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use memory_core::{ConversationId, Node, NodeId, NodeRange, Timestamp, port::ConversationState};
use memory_strategies::{Gist, StandingKind, StandingLine, sentence_at};

use super::{
    EntryAuthor, EntryId, EntryKind, EntryStatus, LedgerEntry, LedgerRequest, Recorded, Replacement, Which,
    recorded::{RecordedEntry, is_of_disabled},
};
use crate::{MemoryError, Statement, learned::Learned, links::Links, parts::Parts, snapshot_cache::Snapshot};

/// Place of a statement: its message, and its byte offset in the text.
pub(crate) type Place = (NodeId, u32);

/// An entry with what the state of a conversation needs of it.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) entry: LedgerEntry,
    /// Place of the statement; `None` for an open question, and for a recorded entry.
    pub(crate) place: Option<Place>,
    /// Statement to compare with others; `None` for an open question.
    pub(super) line: Option<StandingLine>,
    /// Message of the statement; for a recorded entry its first source, or the last message before it.
    pub(crate) node: NodeId,
}

/// The entries of a conversation, as of the request's time and of its kinds, whatever their status. `asked` are the
/// questions that have no answer yet.
pub(crate) async fn entries(
    parts: &Parts,
    state: &ConversationState,
    snapshot: &Snapshot,
    learned: &Learned,
    asked: &[Statement],
    request: &LedgerRequest,
) -> Result<Vec<Known>, MemoryError> {
    let recorded = Recorded::read(&*parts.store, &parts.ledger_notes, state).await?;
    let mut reader = Reader { parts, conversation: &state.id, read: None, times: HashMap::new() };
    let mut known = said(&mut reader, learned, asked, request).await?;
    let ids: HashMap<Place, EntryId> = known.iter().filter_map(|one| Some((one.place?, one.entry.id))).collect();
    let replacement = async |reader: &mut Reader<'_>, (node, at): Place| {
        let entry = ids.get(&(node, at)).copied();
        Ok::<_, MemoryError>(Replacement { entry, node: Some(node), at: reader.time(node).await? })
    };
    for one in &mut known {
        let Some(line) = &one.line else { continue };
        if let Some(by) = line.first_replaced_by() {
            one.entry.end(replacement(&mut reader, by).await?);
        } else if one.entry.kind != EntryKind::Rule
            && let Some(node) = correction(&mut reader, &learned.links, line.node, &one.entry.text).await?
        {
            one.entry.end(Replacement { entry: None, node: Some(node), at: reader.time(node).await? });
        }
    }
    for entry in &recorded.entries {
        let mut one = of_recorded(entry, state.id.clone());
        let line = entry.line();
        if let Some(by) = entry.replaced_by(&learned.lines) {
            one.end(replacement(&mut reader, by).await?);
        }
        let node = entry.sources.first().map_or(entry.after, |run| run.first());
        known.push(Known { entry: one, place: None, line, node });
    }
    for entry in recorded.entries.iter().filter(|entry| !entry.is_disabled) {
        for one in known.iter_mut().filter(|one| entry.replaces.contains(&one.entry.id)) {
            one.entry.end(Replacement { entry: Some(entry.id), node: None, at: Some(entry.since) });
        }
    }
    let now = parts.clock.now();
    for Known { entry, .. } in &mut known {
        let is_of_disabled = matches!(entry.id, EntryId::Recorded(_)) && is_of_disabled(&entry.sources, snapshot);
        let is_disabled = recorded.is_disabled(entry.id) || is_of_disabled;
        entry.settle(is_disabled, request.as_of, now);
        entry.text = snapshot.redactor.redact(&entry.text);
    }
    link(&mut known);
    known.retain(|one| request.is_of(one.entry.kind));
    Ok(known)
}

/// Sets the entries that each one replaces.
fn link(known: &mut [Known]) {
    let mut replaces: BTreeMap<EntryId, BTreeSet<EntryId>> = BTreeMap::new();
    for Known { entry, .. } in known.iter() {
        if let Some(by) = entry.replaced_by.as_ref().and_then(|by| by.entry) {
            replaces.entry(by).or_default().insert(entry.id);
        }
    }
    for Known { entry, .. } in known {
        let mut all = replaces.remove(&entry.id).unwrap_or_default();
        all.extend(&entry.replaces);
        entry.replaces = all.into_iter().collect();
    }
}

/// The statements of messages, and the open questions.
async fn said(
    reader: &mut Reader<'_>,
    learned: &Learned,
    asked: &[Statement],
    request: &LedgerRequest,
) -> Result<Vec<Known>, MemoryError> {
    // Replaced statements are read only on request.
    let only_current = request.which == Which::Current && request.as_of.is_none();
    let mut known: Vec<Known> = Vec::new();
    for line in learned.lines.stated() {
        let Some(kind) = EntryKind::of(line.standing.kind) else { continue };
        // A repeated statement is one entry, that of the last time.
        if line.is_left_out() && request.as_of.is_none() {
            continue;
        }
        if only_current && (line.first_replaced_by().is_some() || !request.is_of(kind)) {
            continue;
        }
        let Some((node, text)) = reader.message(line.node).await? else { continue };
        let Some(statement) = stated(node, text, line) else { continue };
        let sentence = line.standing.sentence(text);
        let mut entry = of_statement(reader.conversation, kind, statement, sentence);
        // A labelled question is as open as any other.
        let is_open = || !entry.text.ends_with('?') || asked.iter().any(|asked| asked.text == entry.text);
        if line.standing.kind == StandingKind::Open && request.asks_for_questions() && !is_open() {
            entry.status = EntryStatus::Superseded;
        }
        known.push(Known { entry, place: Some(line.place()), line: Some(line.clone()), node: line.node });
    }
    for question in asked {
        let is_same = |one: &Known| {
            let text = &one.entry.text;
            one.node == question.node && (text.contains(&question.text) || question.text.contains(text))
        };
        if known.iter().any(is_same) {
            continue;
        }
        let Some((_, text)) = reader.message(question.node).await? else { continue };
        let mut sentence = sentence_at(text, text.find(&question.text).unwrap_or_default());
        // Two questions may be one sentence.
        let is_taken =
            |sentence| known.iter().any(|one| one.entry.id == EntryId::Said { node: question.node, sentence });
        while is_taken(sentence) {
            sentence += 1;
        }
        let entry = of_statement(reader.conversation, EntryKind::Question, question.clone(), sentence);
        known.push(Known { entry, place: None, line: None, node: question.node });
    }
    Ok(known)
}

fn of_statement(conversation: &ConversationId, kind: EntryKind, said: Statement, sentence: u32) -> LedgerEntry {
    LedgerEntry {
        conversation: conversation.clone(),
        id: EntryId::Said { node: said.node, sentence },
        kind,
        text: said.text,
        status: EntryStatus::Current,
        by: EntryAuthor::Rules,
        speaker: Some(said.speaker),
        sources: vec![NodeRange::single(said.node)],
        since: Some(said.at).filter(|at| at.is_known()),
        until: None,
        replaced_by: None,
        replaces: Vec::new(),
    }
}

pub(super) fn of_recorded(entry: &RecordedEntry, conversation: ConversationId) -> LedgerEntry {
    LedgerEntry {
        conversation,
        id: entry.id,
        kind: entry.kind,
        text: entry.text.split_whitespace().collect::<Vec<_>>().join(" "),
        status: EntryStatus::Current,
        by: entry.by.clone(),
        speaker: None,
        sources: entry.sources.clone(),
        since: Some(entry.since),
        until: entry.until,
        replaced_by: None,
        replaces: entry.replaces.clone(),
    }
}

/// The statement of a line, with `…` if the rest of its sentence is left out.
fn stated(node: &Node, text: &str, line: &StandingLine) -> Option<Statement> {
    let at = usize::try_from(line.standing.at).ok()?;
    let end = at + usize::from(line.standing.bytes);
    let mut statement = Statement::of(node, text.get(at..end)?);
    let goes_on = |rest: &str| rest.trim_start_matches(' ').starts_with(|c: char| c == ',' || c.is_alphanumeric());
    let is_whole = statement.text.ends_with(['.', '!', '?', '。']) || !text.get(end..).is_some_and(goes_on);
    if !is_whole {
        statement.text.push('…');
    }
    Some(statement)
}

/// The message that corrects a statement: one that corrects its message and shares a word with it.
async fn correction(
    reader: &mut Reader<'_>,
    links: &Links,
    of: NodeId,
    statement: &str,
) -> Result<Option<NodeId>, MemoryError> {
    let said = Gist::things_of(statement);
    for node in links.corrections_of(of) {
        if let Some((_, text)) = reader.message(node).await?
            && Gist::of(text).shared(&said) > 0
        {
            return Ok(Some(node));
        }
    }
    Ok(None)
}

/// Reads messages one by one, and keeps the last.
struct Reader<'a> {
    parts: &'a Parts,
    conversation: &'a ConversationId,
    read: Option<(Node, String)>,
    times: HashMap<NodeId, Timestamp>,
}

impl Reader<'_> {
    /// A message and its text, if it can be read and is not hidden.
    async fn message(&mut self, id: NodeId) -> Result<Option<(&Node, &str)>, MemoryError> {
        if self.read.as_ref().is_none_or(|(node, _)| node.id != id) {
            let read = self.parts.store.readable_nodes(self.conversation, NodeRange::single(id)).await?;
            let node = read.nodes.into_iter().next().filter(|node| !node.is_hidden());
            self.read = node.map(|node| {
                self.times.insert(id, node.at);
                let text = node.message.text();
                (node, text)
            });
        }
        Ok(self.read.as_ref().map(|(node, text)| (node, text.as_str())))
    }

    /// Time of a message, if it is known.
    async fn time(&mut self, id: NodeId) -> Result<Option<Timestamp>, MemoryError> {
        if !self.times.contains_key(&id) {
            self.message(id).await?;
        }
        Ok(self.times.get(&id).copied().filter(|at| at.is_known()))
    }
}
