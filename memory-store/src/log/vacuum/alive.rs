//! Which records a later one has replaced.

use std::collections::{HashMap, HashSet};

use memory_core::NodeId;

use super::super::{
    codec::{self, EventRecord, Record},
    frame::{StoreId, records},
    scan::{Found, Scan},
};

/// What of a conversation only the last record of counts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Replaced {
    Title,
    Tags,
    Importance(NodeId),
    Pin(NodeId),
}

/// What the segments told, from the last back to the first.
#[derive(Debug, Default)]
pub(super) struct Alive {
    /// What was met already: everything before it is dead.
    met: HashSet<(u64, Replaced)>,
    dead: HashMap<u32, Vec<u32>>,
}

impl Alive {
    /// Takes in the segment before those that it knows.
    pub(super) fn note(&mut self, store: StoreId, segment: u32, image: &[u8]) {
        let mut found = Vec::new();
        for frame in Scan::new(image, store, segment, true) {
            let Found::Frame { offset, header, payload } = frame else { continue };
            for (range, body) in records(payload).flatten() {
                let what = match codec::decode(body) {
                    Ok(Record::Event(EventRecord::Importance { node, .. })) => Replaced::Importance(node),
                    Ok(Record::Event(EventRecord::Pin { node, .. })) => Replaced::Pin(node),
                    Ok(Record::Event(EventRecord::Title(_))) => Replaced::Title,
                    Ok(Record::Event(EventRecord::Tags(_))) => Replaced::Tags,
                    _ => continue,
                };
                let within = u32::try_from(range.start).unwrap_or(u32::MAX);
                found.push(((header.conversation, what), offset.saturating_add(within)));
            }
        }
        let mut dead: Vec<u32> =
            found.into_iter().rev().filter(|(what, _)| !self.met.insert(*what)).map(|(_, offset)| offset).collect();
        dead.reverse();
        if !dead.is_empty() {
            self.dead.insert(segment, dead);
        }
    }

    /// Where in a segment the dead records stand, in order.
    pub(super) fn dead_in(&self, segment: u32) -> &[u32] {
        self.dead.get(&segment).map_or(&[], Vec::as_slice)
    }
}
