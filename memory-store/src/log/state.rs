//! State of the log in memory: the places of its records, and the state they add up to.

pub(super) mod conversation;
pub(super) mod damage;
pub(super) mod erased;
pub(super) mod keys;
pub(super) mod nodes;
pub(super) mod numbered;
mod revised;
pub(super) mod shared_vec;
pub(super) mod summaries;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ops::Range,
    path::PathBuf,
    sync::Arc,
};

use memory_core::{
    ConversationId, ErasedKey, Erasure, Level, MessageKey, NodeId, NodeRange, OwnerId, SummaryId, ViewId,
    port::{ConversationState, ForkedFrom, StoreError},
    view::{Shown, ShownElsewhere, ShownRun, View},
};

use self::{
    conversation::{Change, Conversation},
    damage::Damage,
    erased::{Cut, Erased},
    keys::{Kept, erased_key_hash, key_hash},
    nodes::ReadRequest,
};
use super::format::{
    Location,
    codec::{Opening, Past},
    frame::StoreId,
    segment::Segment,
};

/// Most nodes that may be lost in a log. A lost node takes room in memory and none on disk: without a bound a
/// few forged bytes would ask for more memory than there is.
pub(crate) const MOST_LOST: u64 = 1 << 24;

/// Longest chain of forks of forks: a key is looked for in each of them.
pub(crate) const MOST_DEPTH: u32 = 4096;

/// Most summaries that may be checked one by one for the forks of a log. Forks share all summaries before the first
/// that reaches too far; the others that are kept take room in memory and none on disk.
pub(crate) const MOST_SIFTED: u64 = 1 << 24;

/// Effects of a frame.
#[derive(Debug)]
pub(crate) struct Applied {
    /// The conversation's number.
    pub(crate) conversation: u64,
    /// The opening of the conversation and the place of its record, if the frame has one.
    pub(crate) opened: Option<(Opening, Location)>,
    pub(crate) nodes_before: u64,
    pub(crate) changes: Vec<Change>,
}

/// The end of the part of the log that was read, with the state that reading on needs.
#[derive(Debug)]
pub(crate) struct Cursor {
    /// After the last frame that was applied.
    pub(crate) end: Location,
    pub(crate) next_lsn: u64,
    /// The last frame that was applied.
    pub(crate) last_frame: Option<Location>,
    /// The end of the last segment, if its header declares it.
    pub(crate) declared_end: Option<u32>,
    /// True if damage stands between the last good frame and the next one.
    pub(crate) gap: bool,
    /// Conversations whose opening is lost: damage is noted once for each, not for each frame.
    pub(crate) orphans: HashSet<u64>,
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
    /// Number of complete rereads, of erasures and of changes of what is disabled since the store was opened.
    pub(crate) epoch: u64,
    names: BTreeMap<ConversationId, u64>,
    conversations: HashMap<u64, Conversation>,
    /// Numbers of the forks, each after its parent.
    forks: Vec<u64>,
    /// In order of their numbers.
    pub(crate) segments: Arc<Vec<Segment>>,
    pub(crate) cursor: Cursor,
    pub(crate) damage: Vec<Damage>,
    /// The first record that only a newer version reads, for which opening the store and every later call fail.
    pub(crate) newer: Option<StoreError>,
    /// The first damage that may hold the opening of a conversation. Until it is gone no conversation is begun: its
    /// name could be that of the lost one.
    lost_opening: Option<Damage>,
    /// Number of lost nodes of all conversations.
    lost: u64,
    /// Number of summaries that were checked one by one for forks.
    pub(crate) sifted: u64,
    /// Approximate number of keys that are only in memory.
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
            forks: Vec::new(),
            segments: Arc::default(),
            cursor: Cursor::default(),
            damage: Vec::new(),
            newer: None,
            lost_opening: None,
            lost: 0,
            sifted: 0,
            recent_keys: 0,
        }
    }

    pub(crate) fn conversation(&self, id: &ConversationId) -> Result<&Conversation, StoreError> {
        /// Names that are compared for the error's suggestions. A look whether a conversation is there stays quick.
        const COMPARED: usize = 1000;
        self.find(id).ok_or_else(|| StoreError::unknown_conversation(id, self.names.keys().take(COMPARED)))
    }

    pub(crate) fn find(&self, id: &ConversationId) -> Option<&Conversation> {
        self.by_number(*self.names.get(id)?)
    }

    pub(crate) fn knows(&self, number: u64) -> bool {
        self.conversations.contains_key(&number)
    }

    pub(crate) fn by_number(&self, number: u64) -> Option<&Conversation> {
        self.conversations.get(&number)
    }

    /// All conversations by name.
    pub(crate) fn conversations(&self) -> impl Iterator<Item = &Conversation> {
        self.names.values().filter_map(|number| self.conversations.get(number))
    }

    /// Conversations whose names begin with that of another, by name.
    pub(crate) fn named_after<'s>(&'s self, id: &'s ConversationId) -> impl Iterator<Item = &'s Conversation> {
        let from = self.names.range(id..).take_while(|(name, _)| name.as_str().starts_with(id.as_str()));
        from.filter_map(|(_, number)| self.conversations.get(number))
    }

    /// All conversations in the order in which they began: a fork after its parent.
    pub(crate) fn in_order(&self) -> Vec<&Conversation> {
        let mut all: Vec<_> = self.conversations().collect();
        all.sort_unstable_by_key(|conversation| conversation.number);
        all
    }

    /// A conversation, its parent if it is a fork, and so on.
    fn line<'s>(&'s self, of: &'s Conversation) -> impl Iterator<Item = &'s Conversation> {
        std::iter::successors(Some(of), |conversation| self.by_number(conversation.past?.parent))
    }

    /// The conversation to which the nodes were appended that a fork shares with its parent, and how many it shares;
    /// `None` when it is not a fork.
    pub(crate) fn owner_of_past(&self, fork: &Conversation) -> Option<(u64, u64)> {
        let Past { parent, nodes, .. } = fork.past?;
        let is_owner = |one: &&Conversation| one.past.is_none_or(|past| past.nodes < nodes);
        self.line(self.by_number(parent)?).find(is_owner).map(|owner| (owner.number, nodes))
    }

    /// The overview of a conversation.
    pub(crate) fn overview(&self, of: &Conversation) -> ConversationState {
        let forked_from = of.past.and_then(|past| {
            let parent = self.by_number(past.parent)?;
            Some(ForkedFrom { conversation: parent.id.clone(), node: NodeId::new(past.nodes)? })
        });
        of.state(forked_from)
    }

    /// Nodes whose key may be this one; the caller compares the keys themselves.
    pub(crate) fn key_candidates(&self, of: &Conversation, key: &MessageKey) -> Vec<ReadRequest> {
        let mut last = u64::MAX;
        let mut found = Vec::new();
        for one in self.line(of) {
            let erased = one.erased.salts().iter().map(|salt| self.erased_key_hash(&ErasedKey::new(*salt, key)));
            let hashes = std::iter::once(self.key_hash(key.as_str())).chain(erased);
            let nodes = hashes.flat_map(|hash| one.keys.candidates(hash)).filter(|node| node.get() <= last);
            found.extend(nodes.filter_map(|node| of.nodes.wanted(node)));
            last = one.past.map_or(last, |past| past.nodes.min(last));
        }
        found
    }

    /// Summaries of a level that cover exactly this, oldest first, and where they stand.
    pub(crate) fn summaries_with_span(
        &self,
        of: &Conversation,
        level: Level,
        span: NodeRange,
    ) -> Vec<(SummaryId, Location)> {
        // Summaries that a parent got after the fork do not belong to the fork.
        let is_of_it = |(id, location): &(SummaryId, Location)| of.summaries.location(*id) == Some(*location);
        let all = self.line(of).flat_map(|one| one.summaries.with_span(level, span));
        let mut found: Vec<_> = all.filter(is_of_it).collect();
        found.sort_unstable_by_key(|(id, _)| *id);
        found
    }

    /// Checks that a conversation may be forked; `Err` says why not.
    pub(crate) fn check_may_fork(&self, parent: &Conversation, nodes: u64) -> Result<(), &'static str> {
        if parent.depth >= MOST_DEPTH {
            return Err("it is a fork of more forks than can follow each other");
        }
        if self.sifted.saturating_add(parent.summaries.to_sift(nodes)) > MOST_SIFTED {
            return Err("its forks share more summaries than a log can share");
        }
        if self.lost.saturating_add(parent.lost_among(nodes)) > MOST_LOST {
            return Err("it records more lost nodes than a log can lose");
        }
        Ok(())
    }

    /// Begins a conversation. Missing nodes of the shared prefix count as lost.
    fn open(&mut self, number: u64, opening: Opening, said_at: Location) -> Result<(), &'static str> {
        let Opening { name, owner, past } = opening;
        if self.names.contains_key(&name) || self.conversations.contains_key(&number) {
            return Err("a conversation is opened twice");
        }
        let mut conversation = Conversation::new(name.clone(), number);
        if let Some(past) = past {
            if let Some(parent) = self.by_number(past.parent) {
                self.check_may_fork(parent, past.nodes)?;
                let (lost, sifted) = (parent.lost_among(past.nodes), parent.summaries.to_sift(past.nodes));
                conversation = parent.fork(name.clone(), number, past);
                self.lost += lost;
                self.sifted += sifted;
            }
            let missing = past.nodes - conversation.nodes();
            if self.lost.saturating_add(missing) > MOST_LOST {
                return Err("it records more lost nodes than a log can lose");
            }
            if missing > 0 {
                self.lost += missing;
                conversation.lose(past.nodes, said_at);
                self.note_lost_past(number, said_at);
            }
        }
        conversation.owner = owner;
        if past.is_some() {
            self.forks.push(number);
        }
        self.names.insert(name, number);
        self.conversations.insert(number, conversation);
        Ok(())
    }

    /// The number of lost nodes is known, so the conversation is not in doubt.
    fn note_lost_past(&mut self, number: u64, Location { segment, offset }: Location) {
        let segment = self.segments.iter().find(|there| there.number() == segment);
        let path = segment.map_or_else(PathBuf::new, |segment| segment.path().to_owned());
        let why = "the conversation is a fork, and a part of the past that it shares is lost".to_owned();
        self.damage.push(Damage { path, offset: u64::from(offset), bytes: 0, why, conversation: Some(number) });
    }

    /// Hands the keys in these ranges over to `kept`, which holds them.
    pub(crate) fn settle_keys(&mut self, kept: &Kept, ranges: impl IntoIterator<Item = (u64, Range<usize>, u64)>) {
        self.recent_keys = 0;
        for (number, range, nodes) in ranges {
            if let Some(conversation) = self.conversations.get_mut(&number) {
                conversation.keys.settle(Arc::clone(kept), range, nodes);
            }
        }
    }

    /// Restores a conversation from a checkpoint; `false` when its name or number is there already.
    pub(crate) fn restore(&mut self, conversation: Conversation) -> bool {
        let (id, number) = (conversation.id.clone(), conversation.number);
        self.lost += conversation.lost.iter().map(|run| run.count()).sum::<u64>();
        if conversation.past.is_some() {
            self.forks.push(number);
        }
        self.names.insert(id, number).is_none() && self.conversations.insert(number, conversation).is_none()
    }

    pub(crate) fn key_hash(&self, key: &str) -> u64 {
        key_hash(self.store, key)
    }

    pub(crate) fn erased_key_hash(&self, key: &ErasedKey) -> u64 {
        erased_key_hash(self.store, key)
    }

    /// Erases nodes of a conversation wherever they are shared: up to the conversations that they were appended to, and
    /// down to every fork of these.
    fn erase(&mut self, number: u64, erasure: &Erasure, place: Location) {
        let mut cuts = BTreeMap::from([(number, Cut::of(erasure, place))]);
        let mut child = number;
        while let Some(past) = self.by_number(child).and_then(|child| child.past)
            && let Some(shared) = cuts.get(&child).and_then(|cut| cut.among_first(past.nodes))
        {
            cuts.insert(past.parent, shared);
            child = past.parent;
        }
        for (fork, past) in self.forks.iter().filter_map(|fork| Some((*fork, self.by_number(*fork)?.past?))) {
            if let Some(shared) = cuts.get(&past.parent).and_then(|cut| cut.among_first(past.nodes)) {
                cuts.entry(fork).or_insert(shared);
            }
        }
        for (number, cut) in cuts {
            if let Some(conversation) = self.conversations.get_mut(&number) {
                conversation.erase(cut);
            }
        }
        self.epoch += 1;
    }

    /// True if what is appended is encrypted.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.segments.first().is_some_and(|segment| segment.keys().current() > 0)
    }

    /// True if any conversation has erasures.
    pub(crate) fn has_erasures(&self) -> bool {
        self.conversations.values().any(|conversation| !conversation.erased.is_empty())
    }

    /// True if anything was ever disabled in any conversation.
    pub(crate) fn has_disablings(&self) -> bool {
        self.conversations.values().any(|conversation| !conversation.disabled.is_empty())
    }

    /// The erasures of the conversation in which a view of `of` was recorded.
    fn erased_of_view<'s>(&'s self, of: &'s Conversation, view: ViewId) -> &'s Erased {
        let is_own = |one: &&Conversation| one.past.is_none_or(|past| u64::from(past.views) < view.get());
        self.line(of).find(is_own).map_or(&of.erased, |owner| &owner.erased)
    }

    /// Erases what a view of `of`, whose record is at `place`, shows of erased messages.
    pub(crate) fn erase_hidden(&self, of: &Conversation, view: &mut View, place: Location) {
        let shows_erased = |other: &ShownElsewhere| {
            let messages = |run: &ShownRun| if let Shown::Messages(nodes) = run.shown { Some(nodes) } else { None };
            let shown: Vec<NodeRange> = other.runs.iter().filter_map(messages).collect();
            self.find(&other.conversation).is_some_and(|other| other.erased.hides_shown(&shown, place))
        };
        let is_hidden = self.erased_of_view(of, view.id).hides_view(&view.body, place);
        if is_hidden || view.body.elsewhere.iter().any(shows_erased) {
            view.body.erase();
        }
    }

    /// Applies what a frame did. `Err` says why the frame cannot follow what came before.
    pub(crate) fn apply(&mut self, applied: Applied) -> Result<(), &'static str> {
        let Applied { conversation: number, opened, nodes_before, changes } = applied;
        let mut nodes_before = nodes_before;
        if let Some((opening, said_at)) = opened {
            if opening.past.is_some() && nodes_before > 0 {
                return Err("the first frame of a conversation counts nodes before it");
            }
            nodes_before += opening.past.map_or(0, |past| past.nodes);
            self.open(number, opening, said_at)?;
        }
        let unknown = "the conversation that this frame belongs to is not known; its opening is lost";
        let conversation = self.conversations.get_mut(&number).ok_or(unknown)?;
        // Such a frame stands in a conversation of messages, or in one whose messages became notes.
        if !changes.is_empty() && changes.iter().all(|change| matches!(change, Change::Note { .. })) {
            if nodes_before == conversation.nodes() {
                conversation.doubt = None;
            }
            return changes.into_iter().try_for_each(|change| conversation.apply(change));
        }
        let gap = nodes_before.saturating_sub(conversation.nodes());
        let lost = changes.iter().fold(gap, |lost, change| match change {
            Change::Lost { count, .. } => lost.saturating_add(*count),
            _ => lost,
        });
        if self.lost.saturating_add(lost) > MOST_LOST {
            return Err("it records more lost nodes than a log can lose");
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
        let mut erasures = Vec::new();
        let mut is_disabled = false;
        for change in changes {
            is_disabled |= matches!(change, Change::Disabled { .. });
            match change {
                Change::Erasure { erasure, location } => erasures.push((erasure, location)),
                change => conversation.apply(change)?,
            }
        }
        erasures.iter().for_each(|(erasure, location)| self.erase(number, erasure, *location));
        self.epoch += u64::from(is_disabled);
        Ok(())
    }

    /// Notes that nothing more is written to the last segment.
    pub(crate) fn seal_last(&mut self) {
        let segments = Arc::make_mut(&mut self.segments);
        if let Some(last) = segments.pop() {
            segments.push(last.sealed());
        }
    }

    /// Checks that a conversation of this name may be begun, for an owner if there is one.
    pub(crate) fn check_may_open(
        &self,
        id: &ConversationId,
        owner: Option<&OwnerId>,
        with_note: bool,
    ) -> Result<(), StoreError> {
        id.check_beginning(owner, with_note)?;
        let Some(damage) = self.lost_opening.clone() else { return Ok(()) };
        let why =
            format!("{}; `{id}` may be a conversation that was opened there, so it is not begun anew", damage.why);
        Err(Damage { why, ..damage }.into())
    }

    /// Notes damage. Every conversation that it may belong to is in doubt until a later frame of it records how many
    /// nodes it had.
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
