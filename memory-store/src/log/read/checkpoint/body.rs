//! The state as bytes, column by column, and back.

use std::{ops::Range, sync::Arc};

use memory_core::{
    ConversationId, Disabling, Disablings, ErasureId, NodeId, NodeRange, NoteId, OwnerId, SummaryId, Timestamp,
};

use super::{WITH_DISABLINGS, WITH_ERASURES, WITH_NOTES, WITH_OWNERS};
use crate::{
    log::{
        format::{Location, codec::Past},
        state::{
            State,
            conversation::Conversation,
            erased::{Cut, Erased},
            keys::{self, Kept, Keys},
            nodes::{Nodes, Run, Slot, Wide},
            numbered::{self, Numbered},
            shared_vec::SharedVec,
            summaries::{self, Summaries},
        },
    },
    wire::{In, Out},
};

/// For each conversation its number, the range of its keys among all keys, and its number of nodes.
pub(super) type KeyRanges = Vec<(u64, Range<usize>, u64)>;

/// Writes all conversations with the parts that the format has; returns their keys, and the range of each one's keys.
pub(super) fn encode(state: &State, format: u32, out: &mut Out) -> (Vec<u8>, KeyRanges) {
    let (mut keys, mut ranges) = (Vec::new(), KeyRanges::new());
    // Parents come first, because the part that a fork shares with its parent is not written again.
    let conversations = state.in_order();
    out.number(state.sifted);
    out.number(conversations.len() as u64);
    for conversation in conversations {
        out.number(conversation.number);
        out.text(conversation.id.as_str());
        if format >= WITH_OWNERS {
            encode_text(conversation.owner.as_ref().map(OwnerId::as_str), out);
        }
        let parent = encode_past(state, conversation, out);
        encode_text(conversation.title.as_deref(), out);
        out.number(conversation.tags.len() as u64);
        conversation.tags.iter().for_each(|tag| out.text(tag));
        encode_nodes(&conversation.nodes, parent.map(|(parent, nodes)| (&parent.nodes, nodes)), out);
        encode_runs(&conversation.lost, out);
        if format >= WITH_ERASURES {
            encode_erased(&conversation.erased, out);
        }
        encode_summaries(&conversation.summaries, parent.map(|(parent, _)| &parent.summaries), out);
        encode_numbered(&conversation.views, parent.map(|(parent, _)| &parent.views), out);
        if format >= WITH_NOTES {
            encode_numbered(&conversation.notes, None, out);
        }
        if format >= WITH_DISABLINGS {
            encode_disablings(&conversation.disabled, out);
        }
        let start = keys.len();
        conversation.keys.encode(&mut keys);
        out.number(((keys.len() - start) / keys::ENTRY) as u64);
        ranges.push((conversation.number, start..keys.len(), conversation.nodes()));
    }
    (keys, ranges)
}

/// Reads all conversations into `state`. Their keys are at `place` in `keys`.
pub(super) fn decode(
    bytes: &mut In<'_>,
    format: u32,
    state: &mut State,
    keys: &Kept,
    place: Range<usize>,
) -> Option<()> {
    let mut start = place.start;
    state.sifted = bytes.number()?;
    for _ in 0..bytes.count(5)? {
        let number = bytes.number()?;
        let mut conversation = Conversation::new(ConversationId::new(bytes.text()?).ok()?, number);
        if format >= WITH_OWNERS
            && let Some(owner) = decode_text(bytes)?
        {
            conversation.owner = Some(OwnerId::new(owner).ok()?);
        }
        conversation.past = decode_past(bytes)?;
        // The parent was restored before, so that no chain of forks is a cycle.
        let parent = match conversation.past {
            None => None,
            Some(past) => Some(state.by_number(past.parent).filter(|parent| parent.nodes() >= past.nodes)?),
        };
        let past = parent.zip(conversation.past);
        conversation.depth = parent.map_or(0, |parent| parent.depth.saturating_add(1));
        conversation.title = decode_text(bytes)?.map(str::to_owned);
        conversation.tags = (0..bytes.count(1)?).map(|_| bytes.text().map(str::to_owned)).collect::<Option<_>>()?;
        conversation.nodes = decode_nodes(bytes, past.map(|(parent, past)| parent.nodes.first(past.nodes)))?;
        conversation.lost = decode_runs(bytes)?;
        if conversation.lost.iter().any(|run| run.last().get() > conversation.nodes()) {
            return None;
        }
        if format >= WITH_ERASURES {
            conversation.erased = decode_erased(bytes)?;
        }
        conversation.summaries = decode_summaries(bytes, past.map(|(parent, past)| (&parent.summaries, past)))?;
        conversation.views = decode_numbered(bytes, past.map(|(parent, past)| (&parent.views, past.views)))?;
        if format >= WITH_NOTES {
            conversation.notes = decode_numbered(bytes, None)?;
        }
        if format >= WITH_DISABLINGS {
            conversation.disabled = decode_disablings(bytes, &conversation.summaries)?;
        }
        let end = usize::try_from(bytes.number()?).ok()?.checked_mul(keys::ENTRY)?.checked_add(start)?;
        conversation.keys = Keys::settled(Arc::clone(keys), start..end, conversation.nodes());
        start = end;
        if !state.restore(conversation) {
            return None;
        }
    }
    (bytes.0.is_empty() && start == place.end).then_some(())
}

fn encode_runs(runs: &[NodeRange], out: &mut Out) {
    out.number(runs.len() as u64);
    for run in runs {
        out.number(run.first().get());
        out.number(run.last().get());
    }
}

fn decode_runs(bytes: &mut In<'_>) -> Option<Vec<NodeRange>> {
    (0..bytes.count(2)?).map(|_| NodeRange::new(NodeId::new(bytes.number()?)?, NodeId::new(bytes.number()?)?)).collect()
}

fn encode_erased(erased: &Erased, out: &mut Out) {
    encode_runs(erased.runs(), out);
    out.number(erased.cuts().len() as u64);
    for Cut { id, nodes, notes, is_whole, place } in erased.cuts() {
        out.bytes(id.as_bytes());
        out.number(u64::from(place.segment));
        out.number(u64::from(place.offset));
        out.number(u64::from(*is_whole));
        encode_runs(nodes, out);
        out.number(notes.len() as u64);
        notes.iter().flatten().for_each(|note| out.number(note.get()));
    }
    out.number(erased.salts().len() as u64);
    erased.salts().iter().for_each(|salt| out.bytes(salt.as_bytes()));
}

fn decode_erased(bytes: &mut In<'_>) -> Option<Erased> {
    let runs = decode_runs(bytes)?;
    let mut cuts = Vec::new();
    for _ in 0..bytes.count(20)? {
        let id = ErasureId::from_bytes(bytes.array()?);
        let place = Location { segment: bytes.u32()?, offset: bytes.u32()? };
        let is_whole = match bytes.number()? {
            0 => false,
            1 => true,
            _ => return None,
        };
        let nodes = decode_runs(bytes)?;
        let note = |bytes: &mut In<'_>| NoteId::new(bytes.number()?);
        let notes = (0..bytes.count(2)?).map(|_| Some([note(bytes)?, note(bytes)?])).collect::<Option<_>>()?;
        cuts.push(Cut { id, nodes, notes, is_whole, place });
    }
    let salts = (0..bytes.count(16)?).map(|_| bytes.array().map(ErasureId::from_bytes)).collect::<Option<_>>()?;
    Some(Erased::restored(runs, cuts, salts))
}

fn encode_disablings(all: &Disablings<Location>, out: &mut Out) {
    out.number(all.len() as u64);
    for (place, change) in all.iter() {
        out.number(u64::from(place.segment));
        out.number(u64::from(place.offset));
        out.step(0, change.at.as_millis());
        out.text(&change.by);
        out.number(u64::from(change.is_disabled));
        encode_runs(&change.nodes, out);
        out.number(change.summaries.len() as u64);
        change.summaries.iter().for_each(|id| out.number(id.get()));
    }
}

fn decode_disablings(bytes: &mut In<'_>, summaries: &Summaries) -> Option<Disablings<Location>> {
    let mut all = Disablings::default();
    for _ in 0..bytes.count(7)? {
        let place = Location { segment: bytes.u32()?, offset: bytes.u32()? };
        let (at, by) = (Timestamp::from_millis(bytes.step(0)?), bytes.text()?.to_owned());
        let is_disabled = match bytes.number()? {
            0 => false,
            1 => true,
            _ => return None,
        };
        let nodes = decode_runs(bytes)?;
        let of = (0..bytes.count(1)?).map(|_| SummaryId::new(bytes.number()?)).collect::<Option<_>>()?;
        let change = Disabling::new(at, is_disabled).by(by).nodes(nodes).summaries(of);
        all.push(place, change, |id| summaries.level_and_span(id));
    }
    Some(all)
}

/// Bits of a summary's level that say that it was erased, and that it is stale.
const ERASED: u8 = 0x80;
const STALE: u8 = 0x40;

/// Writes a text that may not be there.
fn encode_text(text: Option<&str>, out: &mut Out) {
    out.number(u64::from(text.is_some()));
    text.into_iter().for_each(|text| out.text(text));
}

#[expect(clippy::option_option, reason = "that it cannot be read, and that there is none")]
fn decode_text<'b>(bytes: &mut In<'b>) -> Option<Option<&'b str>> {
    match bytes.number()? {
        0 => Some(None),
        1 => bytes.text().map(Some),
        _ => None,
    }
}

/// Writes the shared past of a conversation; returns its parent, and the number of shared nodes.
fn encode_past<'s>(state: &'s State, conversation: &Conversation, out: &mut Out) -> Option<(&'s Conversation, u64)> {
    let Some((past, parent)) = conversation.past.and_then(|past| Some((past, state.by_number(past.parent)?))) else {
        out.number(0);
        return None;
    };
    let Past { parent: number, nodes, summaries, views } = past;
    // Forks come after their parents, so a parent is never number 0.
    for number in [number, nodes, u64::from(summaries), u64::from(views)] {
        out.number(number);
    }
    Some((parent, nodes))
}

#[expect(clippy::option_option, reason = "that it cannot be read, and that there is none")]
fn decode_past(bytes: &mut In<'_>) -> Option<Option<Past>> {
    match bytes.number()? {
        0 => Some(None),
        parent => Some(Some(Past { parent, nodes: bytes.number()?, summaries: bytes.u32()?, views: bytes.u32()? })),
    }
}

/// The values of a slot that are usually the same from node to node.
type Same = (u32, u8, u8);

fn same(slot: &Slot) -> Same {
    (slot.importance.to_bits(), slot.tools, slot.flags)
}

/// Writes the nodes after those that are shared with a parent, and the shared nodes that differ.
fn encode_nodes(nodes: &Nodes, parent: Option<(&Nodes, u64)>, out: &mut Out) {
    let shared = parent.map_or(0, |(_, shared)| usize::try_from(shared).unwrap_or(usize::MAX)).min(nodes.slots.len());
    let is_own = |place: u32| place as usize >= shared;
    out.number((nodes.slots.len() - shared) as u64);
    let runs = nodes.runs.iter().filter(|run| is_own(run.first));
    out.number(runs.clone().count() as u64);
    for Run { first, segment } in runs {
        out.number(u64::from(*first));
        out.number(u64::from(*segment));
    }
    let wide = nodes.wide.iter_from(nodes.wide.partition_point(|(place, _)| !is_own(*place)));
    let wide: Vec<_> = wide.collect();
    out.number(wide.len() as u64);
    for (place, Wide { at, calls, answers }) in wide {
        out.number(u64::from(*place));
        out.step(0, *at);
        out.bytes(&[*calls, *answers]);
    }
    let (mut at, mut offset) = (0, 0);
    for slot in nodes.slots.iter_from(shared) {
        let next = i64::from(slot.at_high) << 32 | i64::from(slot.at_low);
        out.step(at, next);
        at = next;
        let next = i64::from(slot.offset);
        out.step(offset, next);
        offset = next;
        out.number(u64::from(slot.tokens));
        out.number(u64::from(slot.lines));
    }
    let mut slots = nodes.slots.iter_from(shared).map(same).peekable();
    while let Some(one) = slots.next() {
        let mut run = 1u64;
        while slots.next_if(|next| *next == one).is_some() {
            run += 1;
        }
        out.number(run);
        out.bytes(&one.0.to_le_bytes());
        out.bytes(&[one.1, one.2]);
    }
    let Some((parent, _)) = parent else { return };
    let revised: Vec<_> = nodes.slots.differing(&parent.slots, shared).collect();
    out.number(revised.len() as u64);
    for (place, slot) in revised.into_iter().filter_map(|place| Some((place, nodes.slots.get(place)?))) {
        out.number(place as u64);
        let (importance, _, flags) = same(slot);
        out.bytes(&importance.to_le_bytes());
        out.bytes(&[flags]);
    }
}

/// Reads the nodes after the `shared` ones of a fork, and the shared nodes that differ.
fn decode_nodes(bytes: &mut In<'_>, shared: Option<Nodes>) -> Option<Nodes> {
    let is_fork = shared.is_some();
    let mut nodes = shared.unwrap_or_default();
    let before = nodes.len();
    // Four numbers of at least a byte each.
    let count = {
        let count = usize::try_from(bytes.number()?).ok()?;
        (count.checked_mul(4)? <= bytes.0.len() && (count as u64).checked_add(before)? <= Nodes::MOST)
            .then_some(count)?
    };
    for _ in 0..bytes.count(2)? {
        let run = Run { first: bytes.u32()?, segment: bytes.u32()? };
        if nodes.runs.last().map_or(run.first != 0, |last| last.first >= run.first || last.segment >= run.segment)
            || u64::from(run.first) < before
        {
            return None;
        }
        nodes.runs.push(run);
    }
    for _ in 0..bytes.count(4)? {
        let (place, at, [calls, answers]) = (bytes.u32()?, bytes.step(0)?, bytes.array()?);
        if nodes.wide.last().is_some_and(|(last, _)| *last >= place) {
            return None;
        }
        nodes.wide.push((place, Wide { at, calls, answers }));
    }
    let (mut at, mut offset) = (0, 0);
    let mut all = Vec::with_capacity(count);
    for _ in 0..count {
        at = bytes.step(at)?;
        offset = bytes.step(offset)?;
        let at_high = i16::try_from(at >> 32).ok()?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the lower half")]
        let at_low = at as u32;
        let (tokens, lines) = (bytes.u32()?, u16::try_from(bytes.number()?).ok()?);
        let offset = u32::try_from(offset).ok()?;
        // The values that usually repeat follow.
        all.push(Slot { at_low, at_high, lines, offset, tokens, importance: 0.0, tools: 0, flags: 0 });
    }
    let mut slots = all.iter_mut();
    let mut left = count;
    while left > 0 {
        let run = usize::try_from(bytes.number()?).ok().filter(|run| (1..=left).contains(run))?;
        let importance = f32::from_bits(u32::from_le_bytes(bytes.array()?));
        let [tools, flags] = bytes.array()?;
        for slot in slots.by_ref().take(run) {
            (slot.importance, slot.tools, slot.flags) = (importance, tools, flags);
        }
        left -= run;
    }
    all.into_iter().for_each(|slot| nodes.push_slot(slot));
    if is_fork {
        for _ in 0..bytes.count(6)? {
            let place = usize::try_from(bytes.number()?).ok()?;
            let slot = nodes.slots.get_mut(place)?;
            slot.importance = f32::from_bits(u32::from_le_bytes(bytes.array()?));
            [slot.flags] = bytes.array()?;
        }
    }
    Some(nodes)
}

/// Number of items at the front that are the parent's.
fn common<T: Copy + PartialEq>(all: &SharedVec<T>, parent: Option<&SharedVec<T>>) -> usize {
    let Some(parent) = parent else { return 0 };
    let most = all.len().min(parent.len());
    all.differing(parent, most).next().unwrap_or(most)
}

fn encode_summaries(all: &Summaries, parent: Option<&Summaries>, out: &mut Out) {
    let common = common(all.slots(), parent.map(Summaries::slots));
    if parent.is_some() {
        out.number(common as u64);
        out.number((all.inherited() - common) as u64);
    }
    out.number((all.slots().len() - common) as u64);
    let (mut id, mut first, mut offset) = (0, 0, 0);
    for slot in all.slots().iter_from(common) {
        out.step(id, i64::from(slot.id));
        out.step(first, i64::from(slot.first));
        out.number(u64::from(slot.last - slot.first));
        out.number(u64::from(slot.segment));
        out.step(offset, i64::from(slot.offset));
        let erased = if slot.is_erased { ERASED } else { 0 };
        out.bytes(&[slot.level | erased | if slot.is_stale { STALE } else { 0 }]);
        (id, first, offset) = (i64::from(slot.id), i64::from(slot.first), i64::from(slot.offset));
    }
}

fn decode_summaries(bytes: &mut In<'_>, parent: Option<(&Summaries, Past)>) -> Option<Summaries> {
    let mut all = Summaries::default();
    let mut inherited = 0;
    if let Some((parent, past)) = parent {
        let common = usize::try_from(bytes.number()?).ok().filter(|common| *common <= parent.slots().len())?;
        all = Summaries::forked(parent, common, past.summaries);
        inherited = bytes.number()?;
    }
    let (mut id, mut first, mut offset) = (0, 0, 0);
    for _ in 0..bytes.count(6)? {
        id = bytes.step(id)?;
        first = bytes.step(first)?;
        let last = first.checked_add(i64::from(bytes.u32()?))?;
        let segment = bytes.u32()?;
        offset = bytes.step(offset)?;
        let [level] = bytes.array()?;
        let small = |number: i64| u32::try_from(number).ok();
        let span = (small(first)?, small(last)?);
        let mut slot = summaries::Slot::new(small(id)?, level & !(ERASED | STALE), span, (segment, small(offset)?));
        (slot.is_erased, slot.is_stale) = (level & ERASED != 0, level & STALE != 0);
        match inherited.checked_sub(1) {
            Some(left) => {
                all.inherit(slot).ok()?;
                inherited = left;
            }
            None => all.push_slot(slot).ok()?,
        }
    }
    (inherited == 0).then_some(all)
}

fn encode_numbered(all: &Numbered, parent: Option<&Numbered>, out: &mut Out) {
    let common = common(all.slots(), parent.map(Numbered::slots));
    if parent.is_some() {
        out.number(common as u64);
    }
    out.number((all.slots().len() - common) as u64);
    let (mut id, mut offset) = (0, 0);
    for slot in all.slots().iter_from(common) {
        out.step(id, i64::from(slot.id));
        out.number(u64::from(slot.segment));
        out.step(offset, i64::from(slot.offset));
        (id, offset) = (i64::from(slot.id), i64::from(slot.offset));
    }
}

/// Reads the views or the notes after those that are shared with a parent, whose last number is given with it.
fn decode_numbered(bytes: &mut In<'_>, parent: Option<(&Numbered, u32)>) -> Option<Numbered> {
    let mut all = Numbered::default();
    if let Some((parent, last)) = parent {
        let common = usize::try_from(bytes.number()?).ok().filter(|common| *common <= parent.slots().len())?;
        all = Numbered::forked(parent, common, last);
    }
    let (mut id, mut offset) = (0, 0);
    for _ in 0..bytes.count(3)? {
        id = bytes.step(id)?;
        let segment = bytes.u32()?;
        offset = bytes.step(offset)?;
        let (id, offset) = (u32::try_from(id).ok()?, u32::try_from(offset).ok()?);
        all.push_slot(numbered::Slot { id, segment, offset }).ok()?;
    }
    Some(all)
}
