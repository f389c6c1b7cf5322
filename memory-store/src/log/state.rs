//! What of the log is kept in memory: where everything stands, and what it adds up to.

use std::{
    collections::{BTreeMap, HashMap, hash_map::RandomState},
    fmt,
    hash::BuildHasher,
    path::PathBuf,
    sync::Arc,
};

use memory_core::{
    ConversationId, ConversationState, Hash, Level, NodeId, NodeOutline, NodeRange, Role, StoreError, Summary,
    SummaryDraft, SummaryId, Timestamp,
};

use super::{recovery::LostNodes, segment::Segment};

/// Most nodes that may be lost in a log. A lost node takes room in memory and none on disk: without a bound a
/// few forged bytes would ask for more memory than there is.
pub(crate) const MOST_LOST: u64 = 1 << 24;

/// Where a record stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) segment: u32,
    pub(crate) offset: u32,
}

/// A node to be read, and what events made of it since it was appended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) node: NodeId,
    pub(crate) location: Location,
    /// The record ends at least this many bytes behind its beginning, where the node behind it tells.
    pub(crate) most_bytes: Option<u32>,
    pub(crate) importance: Option<f32>,
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

/// One thing that a frame did to its conversation.
#[derive(Debug)]
pub(crate) enum Change {
    Node { outline: NodeOutline, location: Location, key: Option<u64> },
    Lost { count: u64, location: Location },
    Summary(Arc<Summary>),
    Importance { node: NodeId, importance: f32 },
    Pin { node: NodeId, pinned: bool },
    Title(String),
    Tags(Vec<String>),
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

/// One conversation.
#[derive(Debug)]
pub(crate) struct Conversation {
    pub(crate) id: ConversationId,
    pub(crate) number: u64,
    pub(crate) outlines: Vec<NodeOutline>,
    /// Where each node stands; a lost node points at the damage that swallowed it.
    pub(crate) locations: Vec<Location>,
    /// Exact weights of the nodes that were weighed after they were appended.
    pub(crate) importance: HashMap<NodeId, f32>,
    pub(crate) summaries: BTreeMap<SummaryId, Arc<Summary>>,
    by_input: HashMap<SummaryInput, SummaryId>,
    pub(crate) title: Option<String>,
    pub(crate) tags: Vec<String>,
    keys: Keys,
    tokens: u64,
    /// Runs of nodes that cannot be read, in order.
    lost: Vec<NodeRange>,
    /// Damage behind which more of this conversation may be lost than is known. Nothing may be appended
    /// meanwhile: its number could be that of a lost node.
    pub(crate) doubt: Option<Damage>,
}

/// What makes two summaries the same.
type SummaryInput = (Level, NodeRange, Hash);

fn input_of(draft: &SummaryDraft) -> SummaryInput {
    (draft.level, draft.span, draft.input_hash)
}

/// Nodes by the hash of their key. The keys themselves stay on disk.
#[derive(Debug, Default)]
struct Keys {
    first: HashMap<u64, NodeId>,
    /// Further nodes under a hash that is in `first`.
    collided: Vec<(u64, NodeId)>,
}

impl Keys {
    fn insert(&mut self, hash: u64, node: NodeId) {
        if *self.first.entry(hash).or_insert(node) != node {
            self.collided.push((hash, node));
        }
    }

    fn candidates(&self, hash: u64) -> impl Iterator<Item = NodeId> {
        let collided = self.collided.iter().filter(move |(other, _)| *other == hash).map(|(_, node)| *node);
        self.first.get(&hash).copied().into_iter().chain(collided)
    }
}

impl Conversation {
    fn new(id: ConversationId, number: u64) -> Self {
        Self {
            id,
            number,
            outlines: Vec::new(),
            locations: Vec::new(),
            importance: HashMap::new(),
            summaries: BTreeMap::new(),
            by_input: HashMap::new(),
            title: None,
            tags: Vec::new(),
            keys: Keys::default(),
            tokens: 0,
            lost: Vec::new(),
            doubt: None,
        }
    }

    /// How many nodes; the last node's position.
    pub(crate) fn nodes(&self) -> u64 {
        self.locations.len() as u64
    }

    pub(crate) fn unknown_node(&self, node: NodeId) -> StoreError {
        StoreError::UnknownNode { conversation: self.id.clone(), node, nodes: self.nodes() }
    }

    /// The nodes of a run that exist, in order.
    pub(crate) fn wanted(&self, range: NodeRange) -> Vec<Wanted> {
        let first = range.first().index();
        let count = usize::try_from(range.count()).unwrap_or(usize::MAX);
        let nodes = self.locations.iter().zip(&self.outlines).enumerate().skip(first).take(count);
        let wanted = nodes.map(|(index, (location, outline))| {
            let node = NodeId::from_index(index);
            let importance = self.importance.get(&node).copied();
            let next = self.locations.get(index + 1).filter(|next| next.segment == location.segment);
            let most_bytes = next.and_then(|next| next.offset.checked_sub(location.offset));
            Wanted { node, location: *location, most_bytes, importance, pinned: outline.pinned }
        });
        wanted.collect()
    }

    /// Nodes whose key has this hash, and where they stand; whoever asks reads the keys back to be sure.
    pub(crate) fn key_candidates(&self, hash: u64) -> Vec<(NodeId, Location)> {
        let located = |node: NodeId| Some((node, *self.locations.get(node.index())?));
        self.keys.candidates(hash).filter_map(located).collect()
    }

    /// The summary that was recorded for the same level, span and input.
    pub(crate) fn same_summary(&self, draft: &SummaryDraft) -> Option<SummaryId> {
        self.by_input.get(&input_of(draft)).copied()
    }

    /// The highest number of a summary.
    pub(crate) fn last_summary(&self) -> Option<SummaryId> {
        self.summaries.last_key_value().map(|(last, _)| *last)
    }

    pub(crate) fn state(&self) -> ConversationState {
        ConversationState {
            id: self.id.clone(),
            nodes: self.nodes(),
            summaries: self.summaries.len() as u64,
            first_at: self.outlines.first().map(|outline| outline.at),
            last_at: self.outlines.last().map(|outline| outline.at),
            tokens: self.tokens,
            title: self.title.clone(),
            tags: self.tags.clone(),
        }
    }

    fn apply(&mut self, change: Change) {
        match change {
            Change::Node { outline, location, key } => {
                self.tokens += u64::from(outline.tokens);
                if let Some(hash) = key {
                    self.keys.insert(hash, NodeId::from_index(self.locations.len()));
                }
                self.outlines.push(outline);
                self.locations.push(location);
            }
            Change::Lost { count, location } => self.lose(self.nodes().saturating_add(count), location),
            Change::Summary(summary) => {
                self.by_input.insert(input_of(&summary.body), summary.id);
                self.summaries.insert(summary.id, summary);
            }
            Change::Importance { node, importance } => {
                self.importance.insert(node, importance);
                if let Some(outline) = self.outlines.get_mut(node.index()) {
                    outline.set_importance(importance);
                }
            }
            Change::Pin { node, pinned } => {
                if let Some(outline) = self.outlines.get_mut(node.index()) {
                    outline.pinned = pinned;
                }
            }
            Change::Title(title) => self.title = Some(title),
            Change::Tags(tags) => self.tags = tags,
        }
    }

    /// The nodes that are known to be missing.
    pub(crate) fn lost_nodes(&self) -> impl Iterator<Item = LostNodes> {
        self.lost.iter().map(|nodes| LostNodes { conversation: self.id.clone(), nodes: *nodes })
    }

    /// Gives lost nodes their places, so that the ones behind them keep their numbers.
    fn lose(&mut self, until: u64, location: Location) {
        let (first, last) = (NodeId::new(self.nodes() + 1), NodeId::new(until));
        self.lost.extend(first.zip(last).and_then(|(first, last)| NodeRange::new(first, last)));
        while self.nodes() < until {
            self.outlines.push(NodeOutline::new(Timestamp::default(), Role::User));
            self.locations.push(location);
        }
    }
}

/// Everything in memory. The writer thread alone changes it.
#[derive(Debug, Default)]
pub(crate) struct State {
    names: BTreeMap<ConversationId, u64>,
    conversations: HashMap<u64, Conversation>,
    /// In order of their numbers.
    pub(crate) segments: Arc<Vec<Segment>>,
    /// Where the last segment ends, as far as it was acknowledged.
    pub(crate) end: u32,
    pub(crate) damage: Vec<Damage>,
    /// The first damage that may hold the opening of a conversation. No conversation is begun meanwhile: its
    /// name could be that of the lost one.
    lost_opening: Option<Damage>,
    /// How many nodes were lost so far, of all conversations.
    lost: u64,
    hasher: RandomState,
}

impl State {
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

    /// The hash of a message key; differs from process to process, so that nobody can choose keys that collide.
    pub(crate) fn key_hash(&self, key: &str) -> u64 {
        self.hasher.hash_one(key)
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
        changes.into_iter().for_each(|change| conversation.apply(change));
        Ok(())
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
