//! Reproduction of a recorded prompt.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use memory_core::{
    ConversationId, ERASED, Node, NodeId, NodeRange, NoteId, Role, Summary, SummaryId, Timestamp,
    port::{Losses, Notice, StoreError},
    view::{Shown, ShownElsewhere, ShownRun, View, ViewDraft, run_check, text_hash},
};

use super::{Piece, PieceKind, Prompt};
use crate::{
    Difference, MemoryError, ViewError,
    kept_out::Redactor,
    ledger::RecordedEntry,
    parts::Parts,
    render::{self, Elsewhere, Layout, Part, Tail, summary_part},
    shorten::TextLimits,
    snapshot_cache::Snapshot,
};

/// The prompt that a view recorded, byte for byte; or, if it showed what was erased since, with [`ERASED`] in those
/// places and a notice.
///
/// # Errors
/// [`ViewError`] if it cannot be reproduced, with every difference.
pub(crate) async fn rebuild(parts: &Parts, conversation: &ConversationId, view: View) -> Result<Prompt, MemoryError> {
    let View { id, body, .. } = view;
    let Some(layout) = Layout::of_version(body.layout) else {
        let (layout, known) = (body.layout, Layout::NEWEST);
        return Err(ViewError::OtherLayout { conversation: conversation.clone(), view: id, layout, known }.into());
    };
    if body.longest_result.is_some() && body.counter != parts.counter.name() {
        let (counter, ours) = (body.counter, parts.counter.name().to_owned());
        return Err(ViewError::OtherCounter { conversation: conversation.clone(), view: id, counter, ours }.into());
    }
    let snapshot = Snapshot::read(parts, conversation).await?;
    let redactor = snapshot.redactor_of(parts, conversation, body.nodes).await?;
    let last_turn = NodeId::new(body.nodes).and_then(|last| snapshot.tree.last_turn_within(last));
    let shown = body.history.iter().map(|run| run.shown.pieces()).fold(0, u64::saturating_add);
    let mut past = Past {
        parts,
        conversation,
        body: &body,
        snapshot: &snapshot,
        redactor: &redactor,
        limits: TextLimits { layout, longest: body.longest_result, budget: body.budget, last_turn },
        differences: Vec::new(),
        disabled: Vec::new(),
    };
    if shown > body.nodes || body.nodes > snapshot.tree.total() {
        // Reading is limited to the messages of the conversation, whatever the record states.
        past.differences.push(Difference::Conversation { nodes: snapshot.tree.total(), then: body.nodes });
    } else {
        let mut runs = past.runs(&body.history, PieceKind::Message).await?;
        let mut shown = parts_of(&runs);
        for group in &body.attached {
            let attached = past.runs(&group.runs, PieceKind::Recalled).await?;
            let is_it = |part: &Part| part.kind.is_history() && part.nodes.first() == group.before;
            let at = shown.iter().position(is_it).unwrap_or(shown.len());
            shown.splice(at..at, parts_of(&attached));
            runs.extend(attached);
        }
        let mut beside = past.runs(&body.recalled, PieceKind::Recalled).await?;
        for other in &body.elsewhere {
            beside.extend(past.elsewhere(other).await?);
        }
        shown.extend(parts_of(&beside));
        runs.extend(beside);
        let last = || render::present(snapshot.tree.last_time_within(body.nodes), &shown);
        let now = if layout.asks_when() { body.at } else { last() };
        let is_erased = body.is_erased();
        let question = if is_erased { ERASED } else { &body.question };
        let tail = Tail { question, now };
        let written = layout.write(&shown, &tail, &|text| parts.count(text));
        let text = written.lines.concat();
        if past.differences.is_empty() && !is_erased {
            past.compare(&runs, &written.pieces).await?;
        }
        if past.differences.is_empty() && !is_erased && text_hash(&body.salt, &text) != body.hash {
            past.differences.push(Difference::Question);
        }
        if past.differences.is_empty() {
            let disabled = NodeRange::merge(past.disabled);
            let disabled = (!disabled.is_empty()).then_some(Notice::ViewDisabled { nodes: disabled });
            return Ok(Prompt {
                judged_by: None,
                pieces: written.pieces,
                tokens: body.tokens,
                budget: body.budget,
                nodes: body.nodes,
                erased: Vec::new(),
                full_tokens: snapshot.tree.shown_tokens_within(body.nodes),
                notices: is_erased.then_some(Notice::ViewErased).into_iter().chain(disabled).collect(),
                compared: BTreeMap::new(),
                reductions: Vec::new(),
                view: Some(id),
                longest_result: body.longest_result,
                parts: shown,
                instructions: None,
                question: question.to_owned(),
                now,
                layout,
                text,
            });
        }
    }
    let differences = past.differences;
    Err(ViewError::Differs { conversation: conversation.clone(), view: id, differences }.into())
}

/// The parts of runs, in order.
fn parts_of(runs: &[(&ShownRun, Vec<Part>)]) -> Vec<Part> {
    runs.iter().flat_map(|(_, parts)| parts.iter().cloned()).collect()
}

struct Past<'a> {
    parts: &'a Parts,
    conversation: &'a ConversationId,
    body: &'a ViewDraft,
    snapshot: &'a Snapshot,
    /// Redactor of the content that was excluded at that time.
    redactor: &'a Redactor,
    limits: TextLimits,
    /// Differences from the recorded prompt.
    differences: Vec<Difference>,
    /// Shown messages that are disabled now, also those under disabled summaries.
    disabled: Vec<NodeRange>,
}

const WHY: &str = "shown then";

impl Past<'_> {
    /// Parts of these runs, with messages as pieces of this kind.
    async fn runs<'r>(
        &mut self,
        runs: &'r [ShownRun],
        kind: PieceKind,
    ) -> Result<Vec<(&'r ShownRun, Vec<Part>)>, MemoryError> {
        let mut all = Vec::with_capacity(runs.len());
        for run in runs {
            let of_run = match run.shown {
                Shown::Messages(nodes) => self.messages(nodes, kind).await?,
                Shown::Summaries { first, count } => {
                    let next = all.last().and_then(|(_, parts): &(_, Vec<Part>)| parts.last());
                    let next = next.map_or(NodeId::FIRST, |part| part.nodes.last().next());
                    self.summaries(first, count, next).await?
                }
                Shown::Lost(nodes) => vec![Part::lost(nodes, WHY)],
                Shown::Omitted(nodes) => vec![Part::omitted(nodes, WHY)],
                Shown::Disabled(nodes) => vec![Part::disabled(nodes, WHY)],
                Shown::Excerpt { node, at, bytes } => self.excerpt(run.shown, node, at, bytes.into()).await?,
                Shown::Part { node, at, bytes } => self.excerpt(run.shown, node, at, bytes).await?,
                Shown::Entry(note) => self.entry(note).await?,
                Shown::Changed { by, .. } => {
                    let before = all.last_mut().and_then(|(_, parts): &mut (_, Vec<Part>)| parts.last_mut());
                    before.into_iter().for_each(|part| part.changed_by = Some(by));
                    Vec::new()
                }
            };
            all.push((run, of_run));
        }
        Ok(all)
    }

    /// Records the runs whose text differs. A summary shows the days of its messages, so it differs if those are lost.
    async fn compare(&mut self, runs: &[(&ShownRun, Vec<Part>)], pieces: &[Piece]) -> Result<(), MemoryError> {
        // The runs of the history come first, even if other pieces stand between its messages.
        let (mut rest, beside): (Vec<_>, Vec<_>) = pieces.iter().partition(|piece| piece.kind.is_history());
        rest.extend(beside);
        let mut rest = rest.as_slice();
        for (run, parts) in runs {
            let Some((of_run, behind)) = rest.split_at_checked(parts.len()) else { break };
            rest = behind;
            let check = run_check(&self.body.salt, of_run.iter().map(|piece| piece.text.as_str()));
            if check == run.check {
                continue;
            }
            let known = self.differences.len();
            for summarized in parts.iter().filter(|part| matches!(part.kind, PieceKind::Summary(_))) {
                let read = self.parts.store.readable_nodes(self.conversation, summarized.nodes).await?;
                self.note_lost(&read.losses);
            }
            if self.differences.len() == known {
                let conversation = parts.first().and_then(Part::conversation);
                self.differences.push(Difference::Text(run.shown).of(conversation));
            }
        }
        Ok(())
    }

    /// A message of the history, or one next to it, as it was shown.
    fn shortened(&self, node: Node, kind: PieceKind) -> Node {
        let last_turn = self.limits.last_turn.filter(|_| kind.is_history() || self.limits.layout.is_first());
        TextLimits { last_turn, ..self.limits }.shortened(node, self.parts.counter.as_ref())
    }

    async fn messages(&mut self, run: NodeRange, kind: PieceKind) -> Result<Vec<Part>, MemoryError> {
        let read = self.parts.store.whole_nodes(self.conversation, run).await?;
        self.note_lost(&read.losses);
        self.note_disabled(&read.nodes);
        let part = |node| Part::message(kind, self.shortened(node, kind), WHY.to_owned());
        Ok(read.nodes.into_iter().map(part).collect())
    }

    /// The shown messages of another conversation. Reading is limited to its messages, whatever the record states.
    async fn elsewhere<'r>(
        &mut self,
        shown: &'r ShownElsewhere,
    ) -> Result<Vec<(&'r ShownRun, Vec<Part>)>, MemoryError> {
        let id = &shown.conversation;
        let nodes = match self.parts.store.conversation(id).await {
            Ok(state) => state.nodes,
            Err(StoreError::UnknownConversation { .. }) => {
                self.differences.push(Difference::NotFound.of(Some(id)));
                return Ok(Vec::new());
            }
            Err(error) => return Err(error.into()),
        };
        let ShownElsewhere { title, times, .. } = shown;
        let heading = Arc::new(Elsewhere { conversation: id.clone(), title: title.clone(), times: *times });
        let mut all = Vec::with_capacity(shown.runs.len());
        for run in &shown.runs {
            let Shown::Messages(range) = run.shown else { continue };
            if range.last().get() > nodes {
                self.differences.push(Difference::Conversation { nodes, then: range.last().get() }.of(Some(id)));
                continue;
            }
            let read = self.parts.store.whole_nodes(id, range).await?;
            self.note_lost_of(id, &read.losses);
            let limits = TextLimits { last_turn: None, ..self.limits };
            let cut = |node| limits.shortened(node, self.parts.counter.as_ref());
            let part = |node| Part::elsewhere(&heading, cut(node), WHY.to_owned());
            all.push((run, read.nodes.into_iter().map(part).collect()));
        }
        Ok(all)
    }

    async fn excerpt(&mut self, shown: Shown, node: NodeId, at: u32, bytes: u32) -> Result<Vec<Part>, MemoryError> {
        let read = self.parts.store.whole_nodes(self.conversation, NodeRange::single(node)).await?;
        self.note_lost(&read.losses);
        self.note_disabled(&read.nodes);
        let from = usize::try_from(at).unwrap_or(usize::MAX);
        let part = from..from.saturating_add(usize::try_from(bytes).unwrap_or(usize::MAX));
        let mut parts = Vec::new();
        for node in read.nodes {
            if node.is_erased {
                parts.push(Part::message(PieceKind::Recalled, node, WHY.to_owned()));
                continue;
            }
            let read = match shown {
                Shown::Part { .. } => Part::recalled(node, part.clone(), WHY.to_owned()),
                _ => Part::standing(node, part.clone(), self.redactor, WHY.to_owned()),
            };
            match read {
                Some(part) => parts.push(part),
                None => self.differences.push(Difference::Text(shown)),
            }
        }
        Ok(parts)
    }

    /// A recorded entry as it was, even if it was replaced or disabled since.
    async fn entry(&mut self, note: NoteId) -> Result<Vec<Part>, MemoryError> {
        let read = self.parts.store.notes(self.conversation, note, note).await?;
        let entry = read.into_iter().next().and_then(|note| RecordedEntry::of_note(&note));
        let Some(entry) = entry else {
            if !self.body.is_erased() {
                self.differences.push(Difference::Text(Shown::Entry(note)));
            }
            return Ok(Vec::new());
        };
        let (entry, note) = entry.shown(self.conversation, self.redactor);
        Ok(vec![Part::entry(entry, note, WHY.to_owned())])
    }

    fn note_disabled(&mut self, nodes: &[Node]) {
        self.disabled.extend(nodes.iter().filter(|node| node.is_disabled).map(|node| NodeRange::single(node.id)));
    }

    fn note_lost(&mut self, losses: &Losses) {
        self.note_lost_of(self.conversation, losses);
    }

    fn note_lost_of(&mut self, conversation: &ConversationId, losses: &Losses) {
        let why = losses.notice(conversation).map(|notice| notice.to_string()).unwrap_or_default();
        let elsewhere = Some(conversation).filter(|of| *of != self.conversation);
        let lost = |run: &NodeRange| Difference::Lost { nodes: *run, why: why.clone() }.of(elsewhere);
        self.differences.extend(losses.runs().iter().map(lost));
    }

    /// Summaries with consecutive numbers, the first of which begins at the message `next`.
    async fn summaries(&mut self, first: SummaryId, count: u64, mut next: NodeId) -> Result<Vec<Part>, MemoryError> {
        let ids = (first.get()..).take(usize::try_from(count).unwrap_or(usize::MAX)).filter_map(SummaryId::new);
        let ids: Vec<_> = ids.collect();
        let read = self.parts.store.whole_summaries_of(self.conversation, &ids).await?;
        let mut read: HashMap<SummaryId, Summary> = read.into_iter().map(|summary| (summary.id, summary)).collect();
        let mut parts = Vec::with_capacity(ids.len());
        for id in ids {
            match read.remove(&id) {
                Some(summary) => {
                    next = summary.body.span.last().next();
                    self.disabled.extend(summary.is_disabled.then_some(summary.body.span));
                    parts.push(summary_part(self.snapshot, self.redactor, summary, |_| WHY.to_owned()));
                }
                // The summary was erased with a message that it covered.
                None if self.body.is_erased() => {
                    let outline = self.snapshot.tree.node(next);
                    let (role, at) = outline.map_or((Role::User, Timestamp::default()), |node| (node.role, node.at));
                    parts.push(Part::message(PieceKind::Message, Node::erased(next, role, at), WHY.to_owned()));
                    next = next.next();
                }
                None => self.differences.push(Difference::LostSummary(id)),
            }
        }
        Ok(parts)
    }
}
