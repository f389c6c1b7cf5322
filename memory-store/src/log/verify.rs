//! Reading everything again from disk, and hashing it again.

use std::collections::HashMap;

use memory_core::{ConversationId, Hash, MerkleFrontier, NodeId, StoreError, Verification, VerifiedConversation};

use super::{
    codec::{self, Record},
    frame::{FrameHeader, records},
    segment::{SEGMENT_HEADER, Segment},
    shared::Shared,
    state::{Damage, Location, State},
};

/// A conversation that is being verified.
#[derive(Debug)]
struct Check {
    id: ConversationId,
    /// Nodes that ought to be there.
    nodes: u64,
    verified: u64,
    tree: MerkleFrontier,
}

impl Check {
    /// Stands for a leaf that was not found, so that the ones behind it keep their places. The root is wrong
    /// then, as it must be.
    fn skip_to(&mut self, leaves: u64) {
        while self.tree.len() < leaves.min(self.nodes) {
            self.tree.push(Hash::from_bytes([0; 32]));
        }
    }

    fn finish(mut self) -> VerifiedConversation {
        self.skip_to(self.nodes);
        VerifiedConversation { id: self.id, nodes: self.nodes, verified: self.verified, root: self.tree.root() }
    }
}

/// Verifies one conversation or all, as far as they were acknowledged when it begins.
///
/// The root over a conversation is that of the leaves found on disk, hashed anew from what they say.
pub(crate) fn verify(shared: &Shared, only: Option<&ConversationId>) -> Result<Verification, StoreError> {
    let (segments, end, mut checks) = {
        let state = shared.current()?;
        let wanted: Vec<_> = match only {
            Some(id) => vec![state.conversation(id)?],
            None => state.conversations().collect(),
        };
        let checks: HashMap<u64, Check> = wanted
            .into_iter()
            .map(|conversation| {
                let (id, nodes) = (conversation.id.clone(), conversation.nodes());
                (conversation.number, Check { id, nodes, verified: 0, tree: MerkleFrontier::new() })
            })
            .collect();
        (state.segments.clone(), state.cursor.end.offset, checks)
    };

    let mut replay = State::new(shared.directory.id);
    let mut mismatched = Vec::new();
    for (index, segment) in segments.iter().enumerate() {
        let is_last = index + 1 == segments.len();
        let bytes = match segment.image() {
            Ok(mut bytes) => {
                if is_last {
                    bytes.truncate(end as usize);
                }
                bytes
            }
            Err(error) => {
                replay.damaged(segment.path(), 0, 0, &format!("it cannot be read: {error}"), None);
                continue;
            }
        };
        // Up to the acknowledged end everything was on disk, in the last segment as well: nothing is torn.
        let read = replay.replay_segment(segment, &bytes, true, 0, &mut |header, location, payload| {
            if let Some(check) = checks.get_mut(&header.conversation) {
                mismatched.extend(check_frame(check, segment, header, location, payload));
            }
        });
        if is_last && read.end < end.max(SEGMENT_HEADER) {
            replay.damaged(segment.path(), read.end, end - read.end, "the segment is cut short", None);
        }
    }
    let numbers: Vec<u64> = checks.keys().copied().collect();
    let checked: Vec<_> = checks.into_values().map(Check::finish).collect();
    let all_there = checked.iter().all(|one| one.verified == one.nodes);
    let concerns_us = |damage: &&Damage| match damage.conversation {
        _ if only.is_none() => true,
        Some(number) => numbers.contains(&number),
        None => !all_there,
    };
    let damage = replay.damage.iter().filter(concerns_us).chain(&mismatched).map(Damage::to_string);
    Ok(Verification::of(checked, damage.collect()))
}

/// Hashes the messages of a frame anew. Gives back those whose content is not what it was.
fn check_frame(
    check: &mut Check,
    segment: &Segment,
    header: &FrameHeader,
    location: Location,
    payload: &[u8],
) -> Vec<Damage> {
    check.skip_to(header.nodes_before);
    let mut mismatched = Vec::new();
    for (range, body) in records(payload).flatten() {
        let message = match codec::decode(body) {
            Ok(Record::Message(message)) => message,
            Ok(Record::Lost(count)) => {
                check.skip_to(check.tree.len().saturating_add(count));
                continue;
            }
            _ => continue,
        };
        let node = NodeId::from_index(usize::try_from(check.tree.len()).unwrap_or(usize::MAX));
        let why = match message.into_stored() {
            Ok(stored) => {
                let leaf = stored.rehash();
                check.tree.push(leaf);
                if leaf == stored.proof.leaf {
                    check.verified += 1;
                    continue;
                }
                format!("node {node} of `{}` is not what was hashed when it was appended", check.id)
            }
            Err(error) => {
                check.tree.push(Hash::from_bytes([0; 32]));
                format!("node {node} of `{}`: {}", check.id, error.0)
            }
        };
        mismatched.push(Damage {
            path: segment.path().to_owned(),
            offset: u64::from(location.offset) + range.start as u64,
            bytes: range.len() as u64,
            why,
            conversation: Some(header.conversation),
        });
    }
    mismatched
}
