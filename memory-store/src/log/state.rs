//! What of the log is kept in memory: where everything stands, and what it adds up to.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
    ops::Range,
    path::PathBuf,
    sync::Arc,
};

use memory_core::{ConversationId, NodeId, StoreError};

use super::{
    conversation::{Change, Conversation},
    frame::StoreId,
    keys::{Kept, key_hash},
    segment::Segment,
};

/// Most nodes that may be lost in a log. A lost node takes room in memory and none on disk: without a bound a
/// few forged bytes would ask for more memory than there is.
pub(crate) const MOST_LOST: u64 = 1 << 24;

/// A place of the log: where a record stands, or where the log ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Location {
    pub(crate) segment: u32,
    pub(crate) offset: u32,
}

/// A node to be read, and what events made of it since it was appended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) node: NodeId,
    pub(crate) location: Location,
    /// Bytes that its record has at most, where that is known.
    pub(crate) most_bytes: Option<u32>,
    pub(crate) importance: f32,
    pub(crate) pinned: bool,
}

/// Nodes to be read, and the segments to read them from.
pub(crate) type Snapshot = (Arc<Vec<Segment>>, Vec<Wanted>);

/// A place of the log that cannot be read any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file.
    pub path: PathBuf,
    /// Where the damage begins.
    pub offset: u64,
    /// How far it reaches; 0 when that is not known.
    pub bytes: u64,
    /// What is wrong there.
    pub why: String,
    /// The number of the conversation that it is in, where that is known.
    pub(crate) conversation: Option<u64>,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is damaged at byte {}", self.path.display(), self.offset)?;
        if self.bytes > 0 {
            write!(f, " for {} bytes", self.bytes)?;
        }
        write!(f, ": {}", self.why)
    }
}

impl From<Damage> for StoreError {
    fn from(Damage { path, offset, why, .. }: Damage) -> Self {
        Self::Damaged { path, offset, why }
    }
}

/// What a frame did.
#[derive(Debug)]
pub(crate) struct Applied {
    /// The conversation's number.
    pub(crate) conversation: u64,
    /// Its name, when the frame opened it.
    pub(crate) opened: Option<ConversationId>,
    pub(crate) nodes_before: u64,
    pub(crate) changes: Vec<Change>,
}

/// Where reading the log has come to; what is needed to go on from there.
#[derive(Debug)]
pub(crate) struct Cursor {
    /// Behind the last frame that was taken in.
    pub(crate) end: Location,
    pub(crate) next_lsn: u64,
    /// The last frame that was taken in.
    pub(crate) last_frame: Option<Location>,
    /// Where the last segment ends, if it says so itself.
    pub(crate) declared_end: Option<u32>,
    /// Whether damage stands between the last good frame and what comes next.
    pub(super) gap: bool,
    /// Conversations whose opening is lost: damage is noted once for each, not for each of their frames.
    pub(super) orphans: HashSet<u64>,
}

impl Default for Cursor {
    fn default() -> Self {
        Self {
            end: Location::default(),
            next_lsn: 1,
            last_frame: None,
            declared_end: None,
            gap: false,
            orphans: HashSet::new(),
        }
    }
}

/// Everything in memory.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) store: StoreId,
    /// How many times everything was read anew since the store was opened.
    pub(crate) epoch: u64,
    names: BTreeMap<ConversationId, u64>,
    conversations: HashMap<u64, Conversation>,
    /// In order of their numbers.
    pub(crate) segments: Arc<Vec<Segment>>,
    pub(crate) cursor: Cursor,
    pub(crate) damage: Vec<Damage>,
    /// The first damage that may hold the opening of a conversation. No conversation is begun meanwhile: its
    /// name could be that of the lost one.
    lost_opening: Option<Damage>,
    /// How many nodes were lost so far, of all conversations.
    lost: u64,
    /// How many keys are in memory alone, more or less.
    pub(crate) recent_keys: u64,
}

impl State {
    /// Before the first frame of a store.
    pub(crate) fn new(store: StoreId) -> Self {
        Self {
            store,
            epoch: 0,
            names: BTreeMap::new(),
            conversations: HashMap::new(),
            segments: Arc::default(),
            cursor: Cursor::default(),
            damage: Vec::new(),
            lost_opening: None,
            lost: 0,
            recent_keys: 0,
        }
    }

    pub(crate) fn conversation(&self, id: &ConversationId) -> Result<&Conversation, StoreError> {
        self.find(id).ok_or_else(|| StoreError::unknown_conversation(id, self.names.keys()))
    }

    pub(crate) fn find(&self, id: &ConversationId) -> Option<&Conversation> {
        self.by_number(*self.names.get(id)?)
    }

    pub(crate) fn knows(&self, number: u64) -> bool {
        self.conversations.contains_key(&number)
    }

    fn by_number(&self, number: u64) -> Option<&Conversation> {
        self.conversations.get(&number)
    }

    /// All conversations by name.
    pub(crate) fn conversations(&self) -> impl Iterator<Item = &Conversation> {
        self.names.values().filter_map(|number| self.conversations.get(number))
    }

    /// Leaves to `kept` the keys that it holds in these places.
    pub(super) fn settle_keys(&mut self, kept: &Kept, ranges: impl IntoIterator<Item = (u64, Range<usize>, u64)>) {
        self.recent_keys = 0;
        for (number, range, nodes) in ranges {
            if let Some(conversation) = self.conversations.get_mut(&number) {
                conversation.keys.settle(Arc::clone(kept), range, nodes);
            }
        }
    }

    /// Puts a conversation back that a checkpoint kept; `false` when its name or number is there already.
    pub(super) fn restore(&mut self, conversation: Conversation) -> bool {
        let (id, number) = (conversation.id.clone(), conversation.number);
        self.lost += conversation.lost.iter().map(|run| run.count()).sum::<u64>();
        self.names.insert(id, number).is_none() && self.conversations.insert(number, conversation).is_none()
    }

    pub(crate) fn key_hash(&self, key: &str) -> u64 {
        key_hash(self.store, key)
    }

    /// Takes in what a frame did. `Err` says why the frame cannot follow what came before.
    pub(crate) fn apply(&mut self, applied: Applied) -> Result<(), &'static str> {
        let Applied { conversation: number, opened, nodes_before, changes } = applied;
        if let Some(id) = opened {
            if self.names.contains_key(&id) || self.conversations.contains_key(&number) {
                return Err("a conversation is opened twice");
            }
            self.names.insert(id.clone(), number);
            self.conversations.insert(number, Conversation::new(id, number));
        }
        let unknown = "the conversation that this frame belongs to is not known; its opening is lost";
        let conversation = self.conversations.get_mut(&number).ok_or(unknown)?;
        let gap = nodes_before.saturating_sub(conversation.nodes());
        let lost = changes.iter().fold(gap, |lost, change| match change {
            Change::Lost { count, .. } => lost.saturating_add(*count),
            _ => lost,
        });
        if self.lost.saturating_add(lost) > MOST_LOST {
            return Err("it tells of more lost nodes than a log can lose");
        }
        match (nodes_before.cmp(&conversation.nodes()), conversation.doubt.take()) {
            (std::cmp::Ordering::Less, doubt) => {
                conversation.doubt = doubt;
                return Err("the frame repeats nodes that are there already");
            }
            (std::cmp::Ordering::Greater, None) => return Err("nodes before the frame are missing"),
            (std::cmp::Ordering::Greater, Some(damage)) => {
                let found = self.segments.iter().find(|segment| segment.path() == damage.path);
                let segment = found.map_or(0, Segment::number);
                let offset = u32::try_from(damage.offset).unwrap_or(u32::MAX);
                conversation.lose(nodes_before, Location { segment, offset });
            }
            (std::cmp::Ordering::Equal, _) => {}
        }
        self.lost += lost;
        let keys = changes.iter().filter(|change| matches!(change, Change::Node { key: Some(_), .. })).count();
        self.recent_keys += keys as u64;
        changes.into_iter().try_for_each(|change| conversation.apply(change))
    }

    /// Notes that nothing is written to the last segment any more.
    pub(crate) fn seal_last(&mut self) {
        let segments = Arc::make_mut(&mut self.segments);
        if let Some(last) = segments.pop() {
            segments.push(last.sealed());
        }
    }

    /// Whether a conversation of this name may be begun.
    pub(crate) fn check_may_open(&self, id: &ConversationId) -> Result<(), StoreError> {
        let Some(damage) = self.lost_opening.clone() else { return Ok(()) };
        let why =
            format!("{}; `{id}` may be a conversation that was opened there, so it is not begun anew", damage.why);
        Err(Damage { why, ..damage }.into())
    }

    /// Notes damage. Whichever conversation it may belong to is in doubt until a later frame of it says how
    /// many nodes it had.
    pub(crate) fn note_damage(&mut self, damage: Damage) {
        // A frame of a known conversation has its opening before it.
        let may_open = damage.conversation.is_none_or(|number| !self.knows(number));
        if may_open && self.lost_opening.is_none() {
            self.lost_opening = Some(damage.clone());
        }
        for one in self.conversations.values_mut() {
            if damage.conversation.is_none_or(|number| number == one.number) && one.doubt.is_none() {
                one.doubt = Some(damage.clone());
            }
        }
        self.damage.push(damage);
    }
}
