//! The serialized node table of a run of nodes.

use memory_core::{NodeId, NodeRange, Role, Timestamp};

use super::{
    Traits,
    numbers::{read_long, read_number, read_text, write_long, write_number, write_text},
};

const ROLE: u8 = 0b111;
/// Roles by their number, each with true for calls of our own tools and their results; `None` for an unreadable node.
const ROLES: [(Option<Role>, bool); 8] = [
    (None, false),
    (Some(Role::User), false),
    (Some(Role::Assistant), false),
    (Some(Role::System), false),
    (Some(Role::Tool), false),
    (Some(Role::Assistant), true),
    (Some(Role::Tool), true),
    (Some(Role::User), true),
];
const IS_QUESTION: u8 = 1 << 3;
const TELLS_TIME: u8 = 1 << 4;
const LOST: u8 = 1 << 5;
const IS_STANDING: u8 = 1 << 6;
const IS_PREFERENCE: u8 = 1 << 7;

/// The part of a [`NodeTable`](super::NodeTable) that a block stores for a run. `docs/format.md` describes the bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct StoredRows {
    /// Speakers that first occur in the run, in order.
    pub(super) speakers: Vec<Box<str>>,
    /// Names of sessions that begin in the run.
    pub(super) sessions: Vec<Option<Box<str>>>,
    /// The number of terms of each node.
    pub(super) lengths: Vec<u32>,
    pub(super) traits: Vec<Traits>,
    /// Offsets of unreadable nodes within the run.
    pub(super) lost: Vec<usize>,
}

impl StoredRows {
    pub(super) fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        write_long(&mut out, self.speakers.len() as u64);
        self.speakers.iter().for_each(|name| write_text(&mut out, name));
        write_long(&mut out, self.sessions.len() as u64);
        for session in &self.sessions {
            out.push(u8::from(session.is_some()));
            session.iter().for_each(|name| write_text(&mut out, name));
        }
        let mut before = 0;
        let mut lost = self.lost.iter().peekable();
        for (place, (traits, length)) in self.traits.iter().zip(&self.lengths).enumerate() {
            write_number(&mut out, *length);
            let at = traits.at.as_millis();
            write_long(&mut out, zigzag(at.wrapping_sub(before)));
            before = at;
            write_number(&mut out, traits.session);
            write_number(&mut out, traits.speaker);
            let flag = |is: bool, flag: u8| if is { flag } else { 0 };
            let is_lost = lost.next_if(|lost| **lost == place).is_some();
            let flags = [
                flag(traits.is_question, IS_QUESTION),
                flag(traits.tells_time, TELLS_TIME),
                flag(is_lost, LOST),
                flag(traits.is_standing, IS_STANDING),
                flag(traits.is_preference, IS_PREFERENCE),
            ];
            let voice = (traits.role, traits.is_own_tool);
            let role = (0..).zip(ROLES).find(|(_, known)| *known == voice).map_or(0, |(number, _)| number);
            out.push(flags.iter().fold(role, |all, flag| all | flag));
        }
        out
    }

    /// Decodes the rows of `nodes` nodes; `None` if the bytes are invalid.
    pub(super) fn read(mut bytes: &[u8], nodes: usize) -> Option<Self> {
        let rest = &mut bytes;
        let mut rows = Self::default();
        // Nothing is preallocated, because the counts are untrusted.
        for _ in 0..read_long(rest)? {
            rows.speakers.push(read_text(rest)?.into());
        }
        for _ in 0..read_long(rest)? {
            let is_named = read_byte(rest)? != 0;
            rows.sessions.push(if is_named { Some(read_text(rest)?.into()) } else { None });
        }
        let mut at = 0i64;
        for place in 0..nodes {
            rows.lengths.push(read_number(rest)?);
            at = at.wrapping_add(unzigzag(read_long(rest)?));
            let (session, speaker, flags) = (read_number(rest)?, read_number(rest)?, read_byte(rest)?);
            let (role, is_own_tool) = *ROLES.get(usize::from(flags & ROLE))?;
            rows.traits.push(Traits {
                at: Timestamp::from_millis(at),
                session,
                speaker,
                role,
                by_user: role == Some(Role::User),
                is_question: flags & IS_QUESTION != 0,
                tells_time: flags & TELLS_TIME != 0,
                is_standing: flags & IS_STANDING != 0,
                is_preference: flags & IS_PREFERENCE != 0,
                is_own_tool,
            });
            if flags & LOST != 0 {
                rows.lost.push(place);
            }
        }
        rest.is_empty().then_some(rows)
    }

    /// True if the rows continue a table of this many speakers and sessions.
    pub(super) fn follows(&self, speakers: usize, sessions: usize) -> bool {
        let (speakers, sessions) = (speakers + self.speakers.len(), sessions + self.sessions.len());
        self.traits.iter().all(|traits| traits.speaker as usize <= speakers && (traits.session as usize) < sessions)
            && self.traits.is_sorted_by_key(|traits| traits.session)
    }

    /// Appends the rows of the next nodes.
    pub(super) fn join(&mut self, mut next: Self) {
        let before = self.traits.len();
        self.speakers.append(&mut next.speakers);
        self.sessions.append(&mut next.sessions);
        self.lengths.append(&mut next.lengths);
        self.traits.append(&mut next.traits);
        self.lost.extend(next.lost.iter().map(|lost| before + lost));
    }

    /// Unreadable nodes of a run that begins at `first`.
    pub(super) fn lost(&self, first: NodeId) -> Vec<NodeRange> {
        let node = |place: &usize| NodeId::new(first.get().saturating_add(*place as u64)).map(NodeRange::single);
        NodeRange::merge(self.lost.iter().filter_map(node).collect())
    }
}

fn read_byte(bytes: &mut &[u8]) -> Option<u8> {
    let (&byte, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(byte)
}

/// Maps small integers of either sign to small natural numbers.
fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)).cast_unsigned()
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -((number & 1).cast_signed())
}
