//! Finds the records that a later one has replaced.

use std::collections::{HashMap, HashSet};

use memory_core::NodeId;

use crate::log::{
    format::{
        codec::{self, EventRecord, Opening, Record},
        frame::StoreId,
        scan::{Found, Scan},
    },
    keys::{Keys, OpenRecord},
};

/// Properties of a conversation for which only the last record counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Replaced {
    Title,
    Tags,
    Importance(NodeId),
    Pin(NodeId),
}

/// Findings in the segments, from the last back to the first.
#[derive(Debug, Default)]
pub(super) struct Alive {
    /// Properties whose last record was met, by conversation and number of forks met until then: earlier records are
    /// dead.
    met: HashSet<(u64, u64, Replaced)>,
    /// Number of forks met of each conversation. A fork has the importances and pins of the time of the fork.
    forks: HashMap<u64, u64>,
    dead: HashMap<u32, Vec<u32>>,
}

impl Alive {
    /// Finds the dead records of the segment before those that were searched.
    pub(super) fn note(&mut self, (store, keys): (StoreId, &Keys), segment: u32, image: &[u8]) {
        enum Met {
            Fork(u64),
            Record(u64, Replaced, u32),
        }

        let mut found = Vec::new();
        for frame in Scan::new(image, store, segment, true) {
            let Found::Frame { offset, header, payload } = frame else { continue };
            for OpenRecord { range, body, .. } in keys.records(&header, payload).flatten() {
                let what = match codec::decode(&body) {
                    Ok(Record::Opened(Opening { past: Some(past), .. })) => {
                        found.push(Met::Fork(past.parent));
                        continue;
                    }
                    Ok(Record::Event(EventRecord::Importance { node, .. })) => Replaced::Importance(node),
                    Ok(Record::Event(EventRecord::Pin { node, .. })) => Replaced::Pin(node),
                    Ok(Record::Event(EventRecord::Title(_))) => Replaced::Title,
                    Ok(Record::Event(EventRecord::Tags(_))) => Replaced::Tags,
                    _ => continue,
                };
                let within = u32::try_from(range.start).unwrap_or(u32::MAX);
                found.push(Met::Record(header.conversation, what, offset.saturating_add(within)));
            }
        }
        let mut dead = Vec::new();
        for found in found.into_iter().rev() {
            match found {
                Met::Fork(parent) => *self.forks.entry(parent).or_default() += 1,
                Met::Record(conversation, what, offset) => {
                    let is_shared = matches!(what, Replaced::Importance(_) | Replaced::Pin(_));
                    let forks = self.forks.get(&conversation).copied().filter(|_| is_shared).unwrap_or(0);
                    if !self.met.insert((conversation, forks, what)) {
                        dead.push(offset);
                    }
                }
            }
        }
        dead.reverse();
        if !dead.is_empty() {
            self.dead.insert(segment, dead);
        }
    }

    /// Offsets of the dead records in a segment, in order.
    pub(super) fn dead_in(&self, segment: u32) -> &[u32] {
        self.dead.get(&segment).map_or(&[], Vec::as_slice)
    }
}
