//! State of each node in memory: 22 bytes. Its text, leaf and key stay on disk.

use std::{mem, sync::Arc};

use memory_core::{ERASED_TOKENS, NodeId, NodeOutline, NodeRange, Role, Timestamp};

use super::shared_vec::{LEAF, SharedVec};
use crate::log::format::{Location, segment::Segment};

/// Marks a slot whose values do not fit and are in [`Nodes::wide`].
const WIDE_AT: i16 = i16::MIN;
const WIDE_TOOLS: u8 = 0xFF;

const ROLE: u8 = 0b0011;
const PINNED: u8 = 0b0100;
const KEPT_OUT: u8 = 0b1000;
pub(crate) const ERASED: u8 = 0b1_0000;
const DISABLED: u8 = 0b10_0000;

/// A node to be read, with its changes by events since it was appended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadRequest {
    pub(crate) node: NodeId,
    pub(crate) location: Location,
    /// Maximum bytes of the record, if known.
    pub(crate) most_bytes: Option<u32>,
    pub(crate) importance: f32,
    pub(crate) pinned: bool,
    /// True if the message was erased, whatever the record still holds.
    pub(crate) is_erased: bool,
    /// True if the message is disabled.
    pub(crate) is_disabled: bool,
    /// True to read a disabled message as it was said.
    pub(crate) whole: bool,
}

/// Nodes to be read, and the segments to read them from.
pub(crate) type Snapshot = (Arc<Vec<Segment>>, Vec<ReadRequest>);

/// A node. The odd order and the loose alignment keep it at 22 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, packed(2))]
pub(crate) struct Slot {
    /// The time in milliseconds, 48 bits with a sign: up to the year 6429.
    pub(crate) at_low: u32,
    pub(crate) at_high: i16,
    pub(crate) lines: u16,
    /// Offset of the record in its segment.
    pub(crate) offset: u32,
    pub(crate) tokens: u32,
    pub(crate) importance: f32,
    /// Tool calls made in the low half, tool calls answered in the high one; at most 14 each.
    pub(crate) tools: u8,
    pub(crate) flags: u8,
}

/// A node whose numbers do not fit into a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wide {
    pub(crate) at: i64,
    pub(crate) calls: u8,
    pub(crate) answers: u8,
}

/// First node of a run of records, and their segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) first: u32,
    pub(crate) segment: u32,
}

/// A stretch of nodes whose records stand in one segment.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    segment: u32,
    /// Index after its last node.
    end: usize,
}

/// The nodes of one conversation, in order.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Nodes {
    pub(crate) slots: SharedVec<Slot>,
    /// Runs in order of both fields, since the log has the records of a conversation in the order of its nodes.
    pub(crate) runs: Vec<Run>,
    /// Values that do not fit into slots, in order of the indices.
    pub(crate) wide: SharedVec<(u32, Wide)>,
    tokens: u64,
    /// Tokens before every [`LEAF`]th node.
    tokens_before: SharedVec<u64>,
}

impl Nodes {
    /// Most nodes of one conversation.
    pub(crate) const MOST: u64 = u32::MAX as u64;

    pub(crate) fn len(&self) -> u64 {
        self.slots.len() as u64
    }

    /// Sum of the nodes' tokens.
    pub(crate) fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Bytes of memory that the nodes take, spare capacity included.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        let shared = self.slots.bytes() + self.tokens_before.bytes() + self.wide.bytes();
        shared + self.runs.capacity() * size_of::<Run>()
    }

    /// Bytes that are not shared with other conversations, or could not be, spare capacity included.
    #[cfg(test)]
    pub(crate) fn own_bytes(&self) -> usize {
        let shared = self.slots.own_bytes() + self.tokens_before.own_bytes() + self.wide.own_bytes();
        shared + self.runs.capacity() * size_of::<Run>()
    }

    /// Adds the next node, of exactly this importance.
    pub(crate) fn push(&mut self, outline: &NodeOutline, importance: f32, location: Location) {
        let index = self.next_index();
        let at = outline.at.as_millis();
        let (at_low, at_high) = split(at);
        let mut tools = outline.answers << 4 | outline.calls & 0xF;
        if outline.calls >= 15 || outline.answers >= 15 {
            tools = WIDE_TOOLS;
        }
        if at_high == WIDE_AT || tools == WIDE_TOOLS {
            self.wide.push((index, Wide { at, calls: outline.calls, answers: outline.answers }));
        }
        let mut flags = role_bits(outline.role);
        flags |= if outline.pinned { PINNED } else { 0 };
        flags |= if outline.keep_out_of_summaries { KEPT_OUT } else { 0 };
        flags |= if outline.is_erased { ERASED } else { 0 };
        self.place(index, location.segment);
        let Location { offset, .. } = location;
        let (lines, tokens) = (outline.line_count, outline.tokens);
        self.push_slot(Slot { at_low, at_high, lines, offset, tokens, importance, tools, flags });
    }

    fn next_index(&self) -> u32 {
        u32::try_from(self.len()).unwrap_or(u32::MAX)
    }

    fn place(&mut self, index: u32, segment: u32) {
        if self.runs.last().is_none_or(|run| run.segment != segment) {
            self.runs.push(Run { first: index, segment });
        }
    }

    /// Adds a slot whose segment and wide values were added before.
    pub(crate) fn push_slot(&mut self, slot: Slot) {
        if self.slots.len().is_multiple_of(LEAF) {
            self.tokens_before.push(self.tokens);
        }
        self.tokens += u64::from(slot.tokens);
        self.slots.push(slot);
    }

    /// The first `count` nodes as they are now, or all if there are fewer, shared with these.
    pub(crate) fn first(&self, count: u64) -> Self {
        let count = usize::try_from(count).unwrap_or(usize::MAX).min(self.slots.len());
        let slots = self.slots.first(count);
        let whole = count / LEAF;
        let before = self.tokens_before.get(whole).copied().unwrap_or(self.tokens);
        let rest: u64 = slots.iter_from(whole * LEAF).map(|slot| u64::from(slot.tokens)).sum();
        Self {
            slots,
            runs: self.runs.iter().copied().take_while(|run| (run.first as usize) < count).collect(),
            wide: self.wide.first(self.wide.partition_point(|(index, _)| (*index as usize) < count)),
            tokens: before + rest,
            tokens_before: self.tokens_before.first(count.div_ceil(LEAF)),
        }
    }

    fn slot(&self, index: usize) -> Option<&Slot> {
        self.slots.get(index)
    }

    fn slot_mut(&mut self, node: NodeId) -> Option<&mut Slot> {
        self.slots.get_mut(node.index())
    }

    /// The stretch of records in one segment that contains `index`.
    fn stretch(&self, index: usize) -> Stretch {
        let behind = self.runs.partition_point(|run| run.first as usize <= index);
        let segment = behind.checked_sub(1).and_then(|run| self.runs.get(run)).map_or(0, |run| run.segment);
        Stretch { segment, end: self.runs.get(behind).map_or(usize::MAX, |next| next.first as usize) }
    }

    /// Location of a node's record.
    pub(crate) fn location(&self, node: NodeId) -> Option<Location> {
        let slot = self.slot(node.index())?;
        Some(Location { segment: self.stretch(node.index()).segment, offset: slot.offset })
    }

    /// The request to read a node.
    pub(crate) fn wanted(&self, node: NodeId) -> Option<ReadRequest> {
        let index = node.index();
        Some(wanted(node, self.slot(index)?, self.slot(index + 1), self.stretch(index)))
    }
    /// The nodes of a run that exist, in order.
    pub(crate) fn all_wanted(&self, range: NodeRange) -> Vec<ReadRequest> {
        let last = range.last().get().min(self.len());
        let Some(range) = NodeId::new(last).and_then(|last| NodeRange::new(range.first(), last)) else {
            return Vec::new();
        };
        let mut all = Vec::with_capacity(usize::try_from(range.count()).unwrap_or(0));
        let mut stretch = self.stretch(range.first().index());
        let mut slot = self.slot(range.first().index());
        for node in range.iter() {
            let index = node.index();
            if index >= stretch.end {
                stretch = self.stretch(index);
            }
            let next = self.slot(index + 1);
            let Some(this) = mem::replace(&mut slot, next) else { break };
            all.push(wanted(node, this, next, stretch));
        }
        all
    }

    /// The metadata of a node that planning needs.
    pub(crate) fn outline(&self, node: NodeId) -> Option<NodeOutline> {
        let index = node.index();
        self.slot(index).map(|slot| self.outline_of(index, *slot))
    }

    /// Outlines of all nodes, in order.
    pub(crate) fn outlines(&self) -> Vec<NodeOutline> {
        self.slots.iter().enumerate().map(|(index, slot)| self.outline_of(index, *slot)).collect()
    }

    /// Outlines of the nodes after the first `count`.
    pub(crate) fn outlines_behind(&self, count: u64) -> Vec<NodeOutline> {
        let skip = usize::try_from(count).unwrap_or(usize::MAX);
        let slots = self.slots.iter_from(skip.min(self.slots.len())).enumerate();
        slots.map(|(index, slot)| self.outline_of(skip + index, *slot)).collect()
    }

    fn outline_of(&self, index: usize, slot: Slot) -> NodeOutline {
        let is_wide = slot.at_high == WIDE_AT || slot.tools == WIDE_TOOLS;
        let wide = || {
            let at = self.wide.partition_point(|(place, _)| (*place as usize) < index);
            self.wide
                .get(at)
                .filter(|(place, _)| *place as usize == index)
                .map_or_else(Wide::default, |(_, wide)| *wide)
        };
        let Wide { at, calls, answers } = if is_wide {
            wide()
        } else {
            Wide { at: joined(slot.at_low, slot.at_high), calls: slot.tools & 0xF, answers: slot.tools >> 4 }
        };
        let mut outline = NodeOutline::new(Timestamp::from_millis(at), role(slot.flags));
        outline.tokens = slot.tokens;
        outline.line_count = slot.lines;
        outline.calls = calls;
        outline.answers = answers;
        outline.pinned = slot.flags & PINNED != 0;
        outline.keep_out_of_summaries = slot.flags & KEPT_OUT != 0;
        outline.is_erased = slot.flags & ERASED != 0;
        outline.set_importance(slot.importance);
        if slot.flags & DISABLED == 0 { outline } else { outline.disabled() }
    }

    /// Reduces the nodes of a run to what is known of erased messages: role and time.
    pub(crate) fn erase(&mut self, run: NodeRange) {
        let end = usize::try_from(run.last().get()).unwrap_or(usize::MAX).min(self.slots.len());
        let mut more = 0i64;
        let mut leaf = run.first().index() / LEAF + 1;
        for index in run.first().index()..end {
            if leaf * LEAF == index {
                self.shift_tokens(leaf, more);
                leaf += 1;
            }
            let Some(slot) = self.slots.get_mut(index) else { break };
            more += i64::from(ERASED_TOKENS) - i64::from(slot.tokens);
            let flags = slot.flags & ROLE | ERASED;
            *slot = Slot { lines: 1, tokens: ERASED_TOKENS, importance: 0.0, tools: 0, flags, ..*slot };
            if slot.at_high == WIDE_AT {
                let at = self.wide.partition_point(|(place, _)| (*place as usize) < index);
                if let Some((_, wide)) = self.wide.get_mut(at) {
                    (wide.calls, wide.answers) = (0, 0);
                }
            }
        }
        (leaf..self.tokens_before.len()).for_each(|leaf| self.shift_tokens(leaf, more));
        self.tokens = self.tokens.saturating_add_signed(more);
    }

    /// Disables the nodes of a run that are not erased, or enables them.
    pub(crate) fn set_disabled(&mut self, run: NodeRange, is_disabled: bool) {
        let end = usize::try_from(run.last().get()).unwrap_or(usize::MAX).min(self.slots.len());
        for index in run.first().index()..end {
            if let Some(slot) = self.slots.get_mut(index).filter(|slot| slot.flags & ERASED == 0) {
                slot.flags = if is_disabled { slot.flags | DISABLED } else { slot.flags & !DISABLED };
            }
        }
    }

    /// Number of disabled nodes.
    pub(crate) fn disabled(&self) -> u64 {
        self.slots.iter().filter(|slot| slot.flags & DISABLED != 0).count() as u64
    }

    /// Number of disabled nodes in a run.
    pub(crate) fn disabled_in(&self, run: NodeRange) -> u64 {
        let within = self.slots.iter_from(run.first().index().min(self.slots.len()));
        let within = within.take(usize::try_from(run.count()).unwrap_or(usize::MAX));
        within.filter(|slot| slot.flags & DISABLED != 0).count() as u64
    }

    /// Adds to the tokens before a leaf.
    fn shift_tokens(&mut self, leaf: usize, more: i64) {
        if let Some(before) = self.tokens_before.get_mut(leaf).filter(|_| more != 0) {
            *before = before.saturating_add_signed(more);
        }
    }

    pub(crate) fn set_importance(&mut self, node: NodeId, importance: f32) {
        if let Some(slot) = self.slot_mut(node).filter(|slot| slot.flags & ERASED == 0) {
            slot.importance = importance;
        }
    }

    pub(crate) fn set_pinned(&mut self, node: NodeId, pinned: bool) {
        if let Some(slot) = self.slot_mut(node).filter(|slot| slot.flags & ERASED == 0) {
            slot.flags = if pinned { slot.flags | PINNED } else { slot.flags & !PINNED };
        }
    }
}

/// The request to read a node whose slot is followed by that of `next`.
#[inline]
fn wanted(node: NodeId, slot: &Slot, next: Option<&Slot>, stretch: Stretch) -> ReadRequest {
    // The record ends at the latest where that of the next node begins.
    let next = next.filter(|_| node.index() + 1 < stretch.end);
    let most_bytes = next.and_then(|next| {
        let offset = next.offset;
        offset.checked_sub(slot.offset).filter(|bytes| *bytes > 0)
    });
    let location = Location { segment: stretch.segment, offset: slot.offset };
    let (pinned, is_erased) = (slot.flags & PINNED != 0, slot.flags & ERASED != 0);
    let (importance, is_disabled) = (slot.importance, slot.flags & DISABLED != 0);
    ReadRequest { node, location, most_bytes, importance, pinned, is_erased, is_disabled, whole: false }
}

const _: () = assert!(mem::size_of::<Slot>() == 22, "documented, and counted on: at most 24 bytes a node");

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "takes the bits apart")]
fn split(at: i64) -> (u32, i16) {
    let high = i16::try_from(at >> 32).unwrap_or(WIDE_AT);
    (at as u32, high)
}

fn joined(low: u32, high: i16) -> i64 {
    i64::from(high) << 32 | i64::from(low)
}

fn role_bits(role: Role) -> u8 {
    match role {
        Role::User => 0,
        Role::Assistant => 1,
        Role::System => 2,
        Role::Tool => 3,
    }
}

fn role(flags: u8) -> Role {
    match flags & ROLE {
        0 => Role::User,
        1 => Role::Assistant,
        2 => Role::System,
        _ => Role::Tool,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    prop_compose! {
        fn outlines()(
            at in prop_oneof![any::<i64>(), -(1i64 << 47)..(1 << 47), Just(1_772_442_840_000)],
            role in prop_oneof![Just(Role::User), Just(Role::Assistant), Just(Role::System), Just(Role::Tool)],
            numbers in any::<(u32, u16, u8, u8)>(),
            few in 0u8..18,
            flags in any::<(bool, bool, bool)>(),
            importance in 0f32..=1.0,
        ) -> (NodeOutline, f32) {
            let mut outline = NodeOutline::new(Timestamp::from_millis(at), role);
            (outline.tokens, outline.line_count, outline.calls, outline.answers) = numbers;
            if flags.2 {
                outline.calls = few;
                outline.answers = few / 2;
            }
            (outline.pinned, outline.keep_out_of_summaries) = (flags.0, flags.1);
            outline.set_importance(importance);
            (outline, importance)
        }
    }

    proptest! {
        #[test]
        fn a_slot_gives_back_all_of_an_outline(all in prop::collection::vec((outlines(), 0u32..3), 1..50)) {
            let mut nodes = Nodes::default();
            let mut segment = 1;
            let mut places = Vec::new();
            for (index, ((outline, importance), step)) in (0u32..).zip(&all) {
                segment += step;
                places.push(Location { segment, offset: 64 + index * 10 });
                nodes.push(outline, *importance, places[index as usize]);
            }
            prop_assert_eq!(nodes.len(), all.len() as u64);
            prop_assert_eq!(nodes.tokens(), all.iter().map(|((outline, _), _)| u64::from(outline.tokens)).sum::<u64>());
            prop_assert_eq!(nodes.outlines(), all.iter().map(|((outline, _), _)| *outline).collect::<Vec<_>>());
            for (index, place) in places.iter().enumerate() {
                let wanted = nodes.wanted(NodeId::from_index(index)).unwrap();
                prop_assert_eq!(wanted.location, *place);
                prop_assert_eq!(wanted.importance, all[index].0.1);
                prop_assert_eq!(nodes.outline(wanted.node), Some(all[index].0.0));
                prop_assert_eq!(&nodes.outlines_behind(index as u64), &nodes.outlines()[index..]);
                let next = places.get(index + 1).filter(|next| next.segment == place.segment);
                prop_assert_eq!(wanted.most_bytes, next.map(|next| next.offset - place.offset));
            }
        }
    }

    #[test]
    fn a_node_takes_at_most_24_bytes_of_memory() {
        let mut nodes = Nodes::default();
        for index in 0..1_000_000u32 {
            let outline = NodeOutline::new(Timestamp::from_millis(i64::from(index)), Role::User);
            nodes.push(&outline, 0.5, Location { segment: 1 + index / 5_000, offset: index });
            if index > 100_000 && index.is_multiple_of(50_021) {
                let each = nodes.bytes() / (index as usize + 1);
                assert!(each <= 24, "{each} bytes a node at {index}");
            }
        }
        assert!(nodes.bytes() <= 23 * 1_000_000);
    }
}
