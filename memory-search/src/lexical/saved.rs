//! Segments of all conversations in the cache, and their valid runs.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, OnceLock},
};

use memory_core::{
    ConversationId, NodeRange,
    port::{Block, BlockId},
};

use super::segment::{Segment, SegmentRun};

/// A block of the cache; its bytes are validated on first use.
#[derive(Debug)]
struct Slot {
    block: Arc<Block>,
    segment: OnceLock<Option<Arc<Segment>>>,
}

/// Location of a run.
#[derive(Clone, Copy, Debug)]
struct RunPlace {
    nodes: NodeRange,
    slot: usize,
    run: usize,
}

/// Saved segments as the cache had them at one time.
///
/// The valid runs of a conversation follow one another from node 1. Of overlapping runs only the longest that continues
/// the sequence is valid; others are left over from an interrupted merge, or were saved by another process.
#[derive(Debug, Default)]
pub(crate) struct SavedWords {
    slots: Vec<Arc<Slot>>,
    runs: HashMap<ConversationId, Vec<RunPlace>>,
}

/// A segment and its number of valid nodes.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) id: BlockId,
    /// Number of nodes in its valid runs.
    pub(super) nodes: u64,
}

/// A segment, and the runs of it that are in a scope.
#[derive(Debug)]
pub(crate) struct ScopedSegment {
    pub(crate) segment: Arc<Segment>,
    /// For each run, the number of its conversation; `None` outside of the scope.
    pub(crate) conversations: Vec<Option<usize>>,
}

impl SavedWords {
    /// Segments of these blocks except the `invalid` ones; reuses opened segments of `before`.
    pub(super) fn of(blocks: Vec<Arc<Block>>, before: &Self, invalid: &HashSet<BlockId>) -> Self {
        let known: HashMap<&BlockId, &Arc<Slot>> = before.slots.iter().map(|slot| (&slot.block.id, slot)).collect();
        let slot = |block: Arc<Block>| match known.get(&block.id) {
            Some(slot) if Arc::ptr_eq(&slot.block, &block) => Arc::clone(slot),
            _ => Arc::new(Slot { block, segment: OnceLock::new() }),
        };
        let slots: Vec<_> = blocks.into_iter().filter(|block| !invalid.contains(&block.id)).map(slot).collect();
        let mut all: HashMap<&ConversationId, Vec<RunPlace>> = HashMap::new();
        for (number, slot) in slots.iter().enumerate() {
            for (run, of) in slot.block.runs.iter().enumerate().filter(|(_, of)| of.is_current) {
                all.entry(&of.conversation).or_default().push(RunPlace { nodes: of.nodes, slot: number, run });
            }
        }
        let runs = all.into_iter().map(|(conversation, runs)| (conversation.clone(), follow(runs))).collect();
        Self { slots, runs }
    }

    /// True if the segments are those of these blocks.
    pub(super) fn are(&self, blocks: &[Arc<Block>], invalid: &HashSet<BlockId>) -> bool {
        let known: HashSet<_> = self.slots.iter().map(|slot| Arc::as_ptr(&slot.block)).collect();
        let valid = blocks.iter().filter(|block| !invalid.contains(&block.id));
        valid.clone().count() == known.len() && valid.clone().all(|block| known.contains(&Arc::as_ptr(block)))
    }

    /// Last saved node of a conversation.
    pub(crate) fn through(&self, conversation: &ConversationId) -> u64 {
        let runs = self.runs.get(conversation);
        runs.and_then(|runs| runs.last()).map_or(0, |last| last.nodes.last().get())
    }

    /// Valid runs of a conversation.
    ///
    /// # Errors
    /// The name of a damaged or inconsistent block.
    pub(crate) fn runs(&self, conversation: &ConversationId) -> Result<Vec<SegmentRun>, BlockId> {
        let places = self.runs.get(conversation).map_or(&[][..], Vec::as_slice);
        places.iter().map(|place| self.run(*place)).collect()
    }

    fn run(&self, place: RunPlace) -> Result<SegmentRun, BlockId> {
        let Some(slot) = self.slots.get(place.slot) else { return Err(BlockId::new("")) };
        let open = || Segment::open(&slot.block).map(Arc::new);
        let segment = slot.segment.get_or_init(open).as_ref().ok_or_else(|| slot.block.id.clone())?;
        Ok(SegmentRun { segment: Arc::clone(segment), run: place.run })
    }

    /// Segments with runs of the `wanted` conversations, which are given by number.
    ///
    /// # Errors
    /// The name of a damaged or inconsistent block.
    pub(super) fn scoped<'a>(
        &self,
        conversations: impl Iterator<Item = &'a ConversationId>,
        wanted: impl Fn(usize) -> bool,
    ) -> Result<Vec<ScopedSegment>, BlockId> {
        let mut scoped: BTreeMap<usize, ScopedSegment> = BTreeMap::new();
        for (number, conversation) in conversations.enumerate().filter(|(number, _)| wanted(*number)) {
            for place in self.runs.get(conversation).into_iter().flatten() {
                let run = self.run(*place)?;
                let here = scoped.entry(place.slot).or_insert_with(|| ScopedSegment {
                    conversations: vec![None; run.segment.runs().len()],
                    segment: run.segment,
                });
                if let Some(of_run) = here.conversations.get_mut(run.run) {
                    *of_run = Some(number);
                }
            }
        }
        Ok(scoped.into_values().collect())
    }

    /// Segments by their number of valid nodes, smallest first.
    pub(super) fn live(&self) -> Vec<Live> {
        let mut live: Vec<Live> = self.slots.iter().map(|slot| Live { id: slot.block.id.clone(), nodes: 0 }).collect();
        for place in self.runs.values().flatten() {
            if let Some(live) = live.get_mut(place.slot) {
                live.nodes += place.nodes.count();
            }
        }
        live.sort_by(|a, b| a.nodes.cmp(&b.nodes).then(a.id.cmp(&b.id)));
        live
    }

    /// Valid runs of some segments, by conversation.
    ///
    /// # Errors
    /// The name of a damaged or inconsistent block.
    pub(super) fn runs_in(&self, ids: &HashSet<BlockId>) -> Result<BTreeMap<ConversationId, Vec<SegmentRun>>, BlockId> {
        let is_in = |place: &&RunPlace| self.slots.get(place.slot).is_some_and(|slot| ids.contains(&slot.block.id));
        let mut found = BTreeMap::new();
        for (conversation, places) in &self.runs {
            let runs: Vec<_> = places.iter().filter(is_in).map(|place| self.run(*place)).collect::<Result<_, _>>()?;
            if !runs.is_empty() {
                found.insert(conversation.clone(), runs);
            }
        }
        Ok(found)
    }
}

/// Runs that follow one another from node 1, each time the one that reaches farthest.
fn follow(mut runs: Vec<RunPlace>) -> Vec<RunPlace> {
    runs.sort_by(|a, b| (a.nodes.first(), b.nodes.last()).cmp(&(b.nodes.first(), a.nodes.last())));
    let mut through = 0;
    runs.retain(|run| {
        let follows = run.nodes.first().get() == through + 1;
        through = if follows { run.nodes.last().get() } else { through };
        follows
    });
    runs
}
