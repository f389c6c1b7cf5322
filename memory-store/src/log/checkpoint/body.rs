//! The state as bytes, column by column, and back.

use std::{ops::Range, sync::Arc};

use memory_core::{ConversationId, NodeId, NodeRange};

use super::super::{
    conversation::Conversation,
    keys::{self, Kept, Keys},
    nodes::{Nodes, Run, Slot, Wide},
    state::State,
    summaries::{self, Summaries},
    views::{self, Views},
};
use crate::wire::{In, Out};

/// For each conversation, where its keys stand among all keys, and how many nodes it had.
pub(super) type KeyRanges = Vec<(u64, Range<usize>, u64)>;

/// Writes all conversations; gives back their keys and where each one's stand.
pub(super) fn encode(state: &State, out: &mut Out) -> (Vec<u8>, KeyRanges) {
    let (mut keys, mut ranges) = (Vec::new(), KeyRanges::new());
    out.number(state.conversations().count() as u64);
    for conversation in state.conversations() {
        out.number(conversation.number);
        out.text(conversation.id.as_str());
        match &conversation.title {
            None => out.number(0),
            Some(title) => {
                out.number(1);
                out.text(title);
            }
        }
        out.number(conversation.tags.len() as u64);
        conversation.tags.iter().for_each(|tag| out.text(tag));
        encode_nodes(&conversation.nodes, out);
        out.number(conversation.lost.len() as u64);
        for run in &conversation.lost {
            out.number(run.first().get());
            out.number(run.last().get());
        }
        encode_summaries(conversation.summaries.slots(), out);
        encode_views(conversation.views.slots(), out);
        let start = keys.len();
        conversation.keys.encode(&mut keys);
        out.number(((keys.len() - start) / keys::ENTRY) as u64);
        ranges.push((conversation.number, start..keys.len(), conversation.nodes()));
    }
    (keys, ranges)
}

/// Reads all conversations into `state`. Their keys stand in `keys` in this place.
pub(super) fn decode(bytes: &mut In<'_>, state: &mut State, keys: &Kept, place: Range<usize>) -> Option<()> {
    let mut key_bytes = 0;
    let mut conversations = Vec::new();
    for _ in 0..bytes.count(4)? {
        let number = bytes.number()?;
        let mut conversation = Conversation::new(ConversationId::new(bytes.text()?).ok()?, number);
        conversation.title = match bytes.number()? {
            0 => None,
            1 => Some(bytes.text()?.to_owned()),
            _ => return None,
        };
        conversation.tags = (0..bytes.count(1)?).map(|_| bytes.text().map(str::to_owned)).collect::<Option<_>>()?;
        conversation.nodes = decode_nodes(bytes)?;
        for _ in 0..bytes.count(2)? {
            let (first, last) = (NodeId::new(bytes.number()?)?, NodeId::new(bytes.number()?)?);
            conversation.lost.push(NodeRange::new(first, last).filter(|run| run.last().get() <= conversation.nodes())?);
        }
        conversation.summaries = decode_summaries(bytes)?;
        conversation.views = decode_views(bytes)?;
        let of_this = usize::try_from(bytes.number()?).ok()?.checked_mul(keys::ENTRY)?;
        conversations.push((conversation, of_this));
        key_bytes = of_this.checked_add(key_bytes)?;
    }
    if !bytes.0.is_empty() || place.len() != key_bytes {
        return None;
    }
    let mut start = place.start;
    for (mut conversation, of_this) in conversations {
        conversation.keys = Keys::settled(Arc::clone(keys), start..start + of_this, conversation.nodes());
        start += of_this;
        if !state.restore(conversation) {
            return None;
        }
    }
    Some(())
}

/// What of a slot is mostly the same from node to node.
type Same = (u32, u8, u8);

fn same(slot: &Slot) -> Same {
    (slot.importance.to_bits(), slot.tools, slot.flags)
}

fn encode_nodes(nodes: &Nodes, out: &mut Out) {
    out.number(nodes.len());
    out.number(nodes.runs.len() as u64);
    for Run { first, segment } in &nodes.runs {
        out.number(u64::from(*first));
        out.number(u64::from(*segment));
    }
    out.number(nodes.wide.len() as u64);
    for (index, Wide { at, calls, answers }) in &nodes.wide {
        out.number(u64::from(*index));
        out.step(0, *at);
        out.bytes(&[*calls, *answers]);
    }
    let (mut at, mut offset) = (0, 0);
    for slot in nodes.slots() {
        let next = i64::from(slot.at_high) << 32 | i64::from(slot.at_low);
        out.step(at, next);
        at = next;
        let next = i64::from(slot.offset);
        out.step(offset, next);
        offset = next;
        out.number(u64::from(slot.tokens));
        out.number(u64::from(slot.lines));
    }
    let mut slots = nodes.slots().map(same).peekable();
    while let Some(one) = slots.next() {
        let mut run = 1u64;
        while slots.next_if(|next| *next == one).is_some() {
            run += 1;
        }
        out.number(run);
        out.bytes(&one.0.to_le_bytes());
        out.bytes(&[one.1, one.2]);
    }
}

fn decode_nodes(bytes: &mut In<'_>) -> Option<Nodes> {
    let mut nodes = Nodes::default();
    // Four numbers of at least a byte each.
    let count = {
        let count = usize::try_from(bytes.number()?).ok()?;
        (count.checked_mul(4)? <= bytes.0.len() && count as u64 <= Nodes::MOST).then_some(count)?
    };
    for _ in 0..bytes.count(2)? {
        let run = Run { first: bytes.u32()?, segment: bytes.u32()? };
        if nodes.runs.last().map_or(run.first != 0, |last| last.first >= run.first || last.segment >= run.segment) {
            return None;
        }
        nodes.runs.push(run);
    }
    for _ in 0..bytes.count(4)? {
        let (index, at, [calls, answers]) = (bytes.u32()?, bytes.step(0)?, bytes.array()?);
        nodes.wide.insert(index, Wide { at, calls, answers });
    }
    let (mut at, mut offset) = (0, 0);
    for _ in 0..count {
        at = bytes.step(at)?;
        offset = bytes.step(offset)?;
        let at_high = i16::try_from(at >> 32).ok()?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the lower half")]
        let at_low = at as u32;
        let (tokens, lines) = (bytes.u32()?, u16::try_from(bytes.number()?).ok()?);
        let offset = u32::try_from(offset).ok()?;
        // What is mostly the same comes behind.
        nodes.push_slot(Slot { at_low, at_high, lines, offset, tokens, importance: 0.0, tools: 0, flags: 0 });
    }
    let mut slots = nodes.slots_mut();
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
    drop(slots);
    Some(nodes)
}

fn encode_summaries(slots: &[summaries::Slot], out: &mut Out) {
    out.number(slots.len() as u64);
    let (mut id, mut first, mut offset) = (0, 0, 0);
    for slot in slots {
        out.step(id, i64::from(slot.id));
        out.step(first, i64::from(slot.first));
        out.number(u64::from(slot.last - slot.first));
        out.number(u64::from(slot.segment));
        out.step(offset, i64::from(slot.offset));
        out.bytes(&[slot.level]);
        (id, first, offset) = (i64::from(slot.id), i64::from(slot.first), i64::from(slot.offset));
    }
}

fn decode_summaries(bytes: &mut In<'_>) -> Option<Summaries> {
    let mut all = Summaries::default();
    let (mut id, mut first, mut offset) = (0, 0, 0);
    for _ in 0..bytes.count(6)? {
        id = bytes.step(id)?;
        first = bytes.step(first)?;
        let last = first.checked_add(i64::from(bytes.u32()?))?;
        let segment = bytes.u32()?;
        offset = bytes.step(offset)?;
        let [level] = bytes.array()?;
        let small = |number: i64| u32::try_from(number).ok();
        let slot = summaries::Slot {
            id: small(id)?,
            first: small(first)?,
            last: small(last)?,
            segment,
            offset: small(offset)?,
            level,
        };
        all.push_slot(slot).ok()?;
    }
    Some(all)
}

fn encode_views(slots: &[views::Slot], out: &mut Out) {
    out.number(slots.len() as u64);
    let (mut id, mut offset) = (0, 0);
    for slot in slots {
        out.step(id, i64::from(slot.id));
        out.number(u64::from(slot.segment));
        out.step(offset, i64::from(slot.offset));
        (id, offset) = (i64::from(slot.id), i64::from(slot.offset));
    }
}

fn decode_views(bytes: &mut In<'_>) -> Option<Views> {
    let mut all = Views::default();
    let (mut id, mut offset) = (0, 0);
    for _ in 0..bytes.count(3)? {
        id = bytes.step(id)?;
        let segment = bytes.u32()?;
        offset = bytes.step(offset)?;
        let (id, offset) = (u32::try_from(id).ok()?, u32::try_from(offset).ok()?);
        all.push_slot(views::Slot { id, segment, offset }).ok()?;
    }
    Some(all)
}
