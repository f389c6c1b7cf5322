//! Reads everything again from disk, and hashes it again.

use std::collections::HashMap;

use memory_core::{
    ConversationId, NodeId, NodeRange,
    port::{StoreError, Verification, VerifiedConversation},
};

use super::merkle::{MerkleBuilder, Standing};
use crate::log::{
    format::{
        Location,
        codec::{self, Record},
        frame::FrameHeader,
        segment::{SEGMENT_HEADER, Segment},
    },
    keys::OpenRecord,
    state::{State, conversation::Conversation, damage::Damage, erased::Erased},
    write::shared::Shared,
};

/// A conversation that is being verified.
#[derive(Debug)]
struct Check {
    id: ConversationId,
    /// Number of expected nodes; in a conversation that was not requested, the number of those that forks share.
    nodes: u64,
    tree: MerkleBuilder,
    /// Erased nodes, whose messages may still stand in the log until it is cleaned.
    erased: Erased,
    /// True if the conversation was requested, and is not read only for the nodes that its forks share.
    is_asked: bool,
    /// For a fork: the conversation whose nodes it shares, and their number.
    shares: Option<(u64, u64)>,
}

impl Check {
    /// Adds placeholders for missing leaves, so that the ones after them keep their places. The root is then wrong, as
    /// it must be.
    fn skip_to(&mut self, leaves: u64) {
        while self.tree.len() < leaves.min(self.nodes) {
            self.tree.lose();
        }
    }

    fn finish(mut self) -> VerifiedConversation {
        self.skip_to(self.nodes);
        let stands = self.tree.finish();
        let Standing { tree, verified, erased } = stands;
        VerifiedConversation::new(self.id, tree.root()).nodes(self.nodes).verified(verified).erased(erased)
    }
}

/// Conversations to read, by their numbers: the requested ones, and those whose nodes they share.
fn checks(state: &State, asked: Vec<&Conversation>) -> HashMap<u64, Check> {
    let mut checks = HashMap::new();
    for conversation in asked {
        let check = Check { nodes: conversation.nodes(), is_asked: true, ..Check::of(state, conversation) };
        checks.insert(conversation.number, check);
    }
    let mut shared: Vec<_> = checks.values().filter_map(|check| check.shares).collect();
    while let Some((owner, nodes)) = shared.pop() {
        let Some(conversation) = state.by_number(owner) else { continue };
        let check = checks.entry(owner).or_insert_with(|| {
            let check = Check::of(state, conversation);
            shared.extend(check.shares);
            check
        });
        check.tree.remember(nodes);
        if !check.is_asked {
            check.nodes = check.nodes.max(nodes.min(conversation.nodes()));
        }
    }
    checks
}

impl Check {
    /// The check of a conversation that was not requested yet.
    fn of(state: &State, conversation: &Conversation) -> Self {
        Self {
            id: conversation.id.clone(),
            nodes: 0,
            tree: MerkleBuilder::default(),
            erased: conversation.erased.clone(),
            is_asked: false,
            shares: state.owner_of_past(conversation),
        }
    }
}

/// Verifies one conversation or all, up to the end that is acknowledged at the start.
///
/// The root over a conversation is that of the leaves found on disk, recomputed from the messages.
pub(crate) fn verify(shared: &Shared, only: Option<&ConversationId>) -> Result<Verification, StoreError> {
    let (segments, end, known, mut checks) = {
        let state = shared.current()?;
        let wanted: Vec<_> = match only {
            Some(id) => vec![state.conversation(id)?],
            None => state.conversations().collect(),
        };
        (state.segments.clone(), state.cursor.end.offset, state.damage.clone(), checks(&state, wanted))
    };

    let mut replay = State::new(shared.directory.id);
    let mut mismatched = Vec::new();
    for (index, segment) in segments.iter().enumerate() {
        let is_last = index + 1 == segments.len();
        // Damaged copies belong to no conversation in particular.
        for (place, why) in segment.damaged_copies().into_iter().filter(|_| only.is_none()) {
            let (path, bytes) = (segment.path().to_owned(), u64::from(place.end - place.start));
            mismatched.push(Damage { path, offset: place.start.into(), bytes, why, conversation: None });
        }
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
        // Everything up to the acknowledged end was on disk, in the last segment as well: nothing is torn.
        let read = replay.replay_segment(segment, &bytes, true, 0, &mut |header, location, payload| {
            if header.conversation == header.lsn {
                begin(&mut checks, header.conversation);
            }
            if let Some(check) = checks.get_mut(&header.conversation) {
                mismatched.extend(check_frame(check, segment, header, location, payload));
            }
        });
        if is_last && read.end < end.max(SEGMENT_HEADER) {
            replay.damaged(segment.path(), read.end, end - read.end, "the segment is cut short", None);
        }
    }
    // The unshared nodes of conversations that were not requested are ignored.
    let numbers: HashMap<u64, bool> = checks.iter().map(|(number, check)| (*number, check.is_asked)).collect();
    let checked: Vec<_> = checks.into_values().filter(|check| check.is_asked).map(Check::finish).collect();
    let all_there = checked.iter().all(|one| one.verified + one.erased == one.nodes);
    let concerns_us = |damage: &&Damage| match damage.conversation {
        _ if only.is_none() => true,
        Some(number) => numbers.get(&number).is_some_and(|is_asked| *is_asked || !all_there),
        None => !all_there,
    };
    // A lost end of the log leaves neither data nor a count that would reveal it, and may belong to any conversation.
    let is_found = |known: &&Damage| {
        let covers = |found: &Damage| (found.offset..=found.offset + found.bytes.max(1) - 1).contains(&known.offset);
        replay.damage.iter().any(|found| found.path == known.path && covers(found))
    };
    let gone = known.iter().filter(|known| !is_found(known));
    let damage = replay.damage.iter().filter(concerns_us).chain(gone).chain(&mismatched).map(Damage::to_string);
    Ok(Verification::of(checked, damage.collect()))
}

/// Adds the leaves of its shared prefix to a fork.
fn begin(checks: &mut HashMap<u64, Check>, fork: u64) {
    let Some((owner, nodes)) = checks.get(&fork).and_then(|check| check.shares) else { return };
    let shared = checks.get(&owner).and_then(|owner| owner.tree.with(nodes));
    if let Some((check, shared)) = checks.get_mut(&fork).zip(shared) {
        check.tree.begin(shared);
        check.skip_to(nodes);
    }
}

/// Hashes the messages of a frame again; returns those whose content has changed.
fn check_frame(
    check: &mut Check,
    segment: &Segment,
    header: &FrameHeader,
    location: Location,
    payload: &[u8],
) -> Vec<Damage> {
    check.skip_to(header.nodes_before);
    let mut mismatched = Vec::new();
    for OpenRecord { range, body, .. } in segment.keys().records(header, payload).flatten() {
        if !check.is_asked && check.tree.len() >= check.nodes {
            break;
        }
        let message = match codec::decode(&body) {
            Ok(Record::Message(message)) => message,
            Ok(Record::ErasedMessage(erased)) => {
                check.tree.push_erased(erased.left.leaf);
                continue;
            }
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
                let is_verified = leaf == stored.proof.leaf;
                if is_verified && check.erased.count_in(NodeRange::single(node)) > 0 {
                    check.tree.push_erased(leaf);
                    continue;
                }
                check.tree.push(leaf, is_verified);
                if is_verified {
                    continue;
                }
                format!("node {node} of `{}` is not what was hashed when it was appended", check.id)
            }
            Err(error) => {
                check.tree.lose();
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
