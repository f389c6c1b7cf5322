//! State of one conversation in memory.

use std::collections::BTreeSet;

use memory_core::{
    ConversationId, Disabling, Disablings, Erasure, ErasureId, Level, NodeId, NodeOutline, NodeRange, NoteId, OwnerId,
    Role, SummaryId, Timestamp, ViewId,
    port::{Changes, ConversationState, ForkedFrom, Revision, StoreError},
};

use super::{
    damage::{Damage, LostNodes},
    erased::{Cut, Erased},
    keys::Keys,
    nodes::{Nodes, ReadRequest},
    numbered::Numbered,
    revised::Revised,
    summaries::Summaries,
};
use crate::log::format::{Location, codec::Past};

/// Most messages of unknown time that are skipped in the search for the last one with a time.
const UNTIMED: usize = 1_000;

/// One change that a frame made to its conversation.
#[derive(Debug)]
pub(crate) enum Change {
    Node {
        outline: NodeOutline,
        importance: f32,
        location: Location,
        key: Option<u64>,
    },
    /// A node whose message was erased, with the hash that its key is found by and the salt of that.
    ErasedNode {
        outline: NodeOutline,
        location: Location,
        key: Option<(u64, ErasureId)>,
    },
    /// An erasure, which concerns all conversations that share its nodes.
    Erasure {
        erasure: Box<Erasure>,
        location: Location,
    },
    /// A change of what is disabled.
    Disabled {
        change: Box<Disabling>,
        location: Location,
    },
    /// Nodes that were lost before the store was salvaged.
    Lost {
        count: u64,
        location: Location,
    },
    Summary {
        id: SummaryId,
        level: Level,
        span: NodeRange,
        location: Location,
        is_erased: bool,
    },
    View {
        id: ViewId,
        location: Location,
    },
    Note {
        id: NoteId,
        location: Location,
    },
    Importance {
        node: NodeId,
        importance: f32,
    },
    Pin {
        node: NodeId,
        pinned: bool,
    },
    Title(String),
    Tags(Vec<String>),
}

impl Change {
    /// Turns an offset in the frame, which stands at `frame`, into a location in the log.
    pub(crate) fn locate(&mut self, frame: Location) {
        if let Some(location) = self.location() {
            *location = Location { segment: frame.segment, offset: location.offset.saturating_add(frame.offset) };
        }
    }

    /// Changes its offset in a frame that has no place yet.
    pub(crate) fn move_within(&mut self, moved: impl Fn(usize) -> usize) {
        if let Some(location) = self.location() {
            location.offset = u32::try_from(moved(location.offset as usize)).unwrap_or(u32::MAX);
        }
    }

    fn location(&mut self) -> Option<&mut Location> {
        if let Self::Node { location, .. }
        | Self::ErasedNode { location, .. }
        | Self::Erasure { location, .. }
        | Self::Disabled { location, .. }
        | Self::Lost { location, .. }
        | Self::Summary { location, .. }
        | Self::View { location, .. }
        | Self::Note { location, .. } = self
        {
            return Some(location);
        }
        None
    }
}

/// One conversation.
#[derive(Debug)]
pub(crate) struct Conversation {
    pub(crate) id: ConversationId,
    /// The log sequence number of the frame that opened it.
    pub(crate) number: u64,
    /// The owner, if there is one.
    pub(crate) owner: Option<OwnerId>,
    /// The past that a fork shares with its parent; may reach into the past that the parent itself shares.
    pub(crate) past: Option<Past>,
    /// Its depth in a chain of forks.
    pub(crate) depth: u32,
    pub(crate) nodes: Nodes,
    pub(crate) summaries: Summaries,
    pub(crate) views: Numbered,
    pub(crate) notes: Numbered,
    /// Nodes whose importance or pin was changed lately.
    pub(crate) revised: Revised,
    pub(crate) title: Option<String>,
    pub(crate) tags: Vec<String>,
    pub(crate) keys: Keys,
    /// Runs of nodes that cannot be read, in order.
    pub(crate) lost: Vec<NodeRange>,
    pub(crate) erased: Erased,
    pub(crate) disabled: Disablings<Location>,
    /// Damage after which more of this conversation may be lost than is known. Meanwhile nothing may be appended: its
    /// number could be that of a lost node.
    pub(crate) doubt: Option<Damage>,
}

impl Conversation {
    pub(crate) fn new(id: ConversationId, number: u64) -> Self {
        Self {
            id,
            number,
            owner: None,
            past: None,
            depth: 0,
            nodes: Nodes::default(),
            summaries: Summaries::default(),
            views: Numbered::default(),
            notes: Numbered::default(),
            revised: Revised::default(),
            title: None,
            tags: Vec::new(),
            keys: Keys::default(),
            lost: Vec::new(),
            erased: Erased::default(),
            disabled: Disablings::default(),
            doubt: None,
        }
    }

    /// A conversation that shares this one's nodes, as they are now.
    pub(crate) fn fork(&self, id: ConversationId, number: u64, past: Past) -> Self {
        let until = NodeId::new(past.nodes);
        let cut = |run: &NodeRange| NodeRange::new(run.first(), until?.min(run.last()));
        Self {
            past: Some(past),
            depth: self.depth.saturating_add(1),
            nodes: self.nodes.first(past.nodes),
            summaries: self.summaries.fork(past.nodes, past.summaries),
            views: self.views.fork(past.views),
            lost: self.lost.iter().map_while(cut).collect(),
            erased: self.erased.fork(past.nodes),
            disabled: self.disabled.first(past.nodes),
            ..Self::new(id, number)
        }
    }

    /// Number of unreadable nodes among the first `nodes`.
    pub(crate) fn lost_among(&self, nodes: u64) -> u64 {
        let begun = self.lost.partition_point(|run| run.first().get() <= nodes);
        let runs = self.lost.iter().take(begun);
        runs.map(|run| run.last().get().min(nodes) - run.first().get() + 1).sum()
    }

    /// Past that a fork at a node shares with this conversation.
    pub(crate) fn past_until(&self, node: NodeId) -> Past {
        let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let views = match self.nodes.location(node.next()) {
            Some(next) => self.views.last_before(next),
            None => self.views.last(),
        };
        Past {
            parent: self.number,
            nodes: node.get(),
            summaries: small(self.summaries.last().map_or(0, SummaryId::get)),
            views: small(views),
        }
    }

    /// Number of nodes, which is the last node's position.
    pub(crate) fn nodes(&self) -> u64 {
        self.nodes.len()
    }

    pub(crate) fn unknown_node(&self, node: NodeId) -> StoreError {
        StoreError::UnknownNode { conversation: self.id.clone(), node, nodes: self.nodes() }
    }

    /// The nodes of a run that exist, in order.
    pub(crate) fn wanted(&self, range: NodeRange) -> Vec<ReadRequest> {
        self.nodes.all_wanted(range)
    }

    /// The time of the last message, or of the last before it whose time is known.
    fn last_time(&self) -> Option<Timestamp> {
        let at = |node: u64| Some(self.nodes.outline(NodeId::new(node)?)?.at);
        let last = at(self.nodes());
        (1..=self.nodes()).rev().take(UNTIMED).filter_map(at).find(|at| at.is_known()).or(last)
    }

    /// Overview of the conversation; `forked_from` is its fork point.
    pub(crate) fn state(&self, forked_from: Option<ForkedFrom>) -> ConversationState {
        let at = |node: NodeId| self.nodes.outline(node).map(|outline| outline.at);
        ConversationState::new(self.id.clone())
            .nodes(self.nodes())
            .summaries(self.summaries.present())
            .views(self.views.last())
            .notes(self.notes.last())
            .first_at(at(NodeId::FIRST))
            .last_at(self.last_time())
            .tokens(self.nodes.tokens())
            .title(self.title.clone())
            .tags(self.tags.clone())
            .erased(self.erased.count())
            .disabled(if self.disabled.is_empty() { 0 } else { self.nodes.disabled() })
            .forked_from(forked_from)
            .owner(self.owner.clone())
    }

    /// Changes since a revision, except the summaries: those are still to be read, from these places.
    pub(crate) fn changes(&self, epoch: u64, since: Revision) -> (Changes, Vec<Location>) {
        let (nodes, summaries) = (self.nodes(), self.summaries.len());
        let revision = Revision::default().epoch(epoch).nodes(nodes).summaries(summaries).revised(self.revised.total());
        let is_ours = since.epoch == epoch && since.nodes <= nodes && since.summaries <= summaries;
        let revised = self.revised.since(since.revised).filter(|_| is_ours);
        let is_whole = revised.is_none();
        let since = if is_whole { Revision::default() } else { since };
        let revised = revised
            .into_iter()
            .flatten()
            .filter(|node| node.get() <= since.nodes)
            .filter_map(|node| Some((node, self.nodes.outline(node)?)))
            .collect();
        let nodes = self.nodes.outlines_behind(since.nodes);
        let changes = Changes::new(revision).is_whole(is_whole).nodes(nodes).revised(revised);
        let changes = changes.last_summary(self.summaries.last().map_or(0, SummaryId::get));
        (changes, self.summaries.locations(usize::try_from(since.summaries).unwrap_or(usize::MAX)))
    }

    /// Applies a change; `Err` says why it cannot follow what came before.
    pub(crate) fn apply(&mut self, change: Change) -> Result<(), &'static str> {
        match change {
            Change::Node { outline, importance, location, key } => {
                self.nodes.push(&outline, importance, location);
                if let Some((hash, node)) = key.zip(NodeId::new(self.nodes())) {
                    self.keys.insert(hash, node);
                }
            }
            Change::ErasedNode { outline, location, key } => {
                self.nodes.push(&outline, 0.0, location);
                if let Some(node) = NodeId::new(self.nodes()) {
                    self.erased.push(node, key.map(|(_, salt)| salt));
                    key.into_iter().for_each(|(hash, _)| self.keys.insert(hash, node));
                }
            }
            // Applied to all conversations that it concerns.
            Change::Erasure { .. } => {}
            Change::Disabled { change, location } => self.disable(*change, location),
            Change::Lost { count, location } => self.lose(self.nodes().saturating_add(count), location),
            Change::Summary { id, level, span, location, is_erased } => {
                self.summaries.push(id, level, span, location)?;
                if is_erased {
                    self.summaries.erase_last();
                }
            }
            Change::View { id, location } => self.views.push(id.get(), location)?,
            Change::Note { id, location } => self.notes.push(id.get(), location)?,
            Change::Importance { node, importance } => {
                self.nodes.set_importance(node, importance);
                self.revised.push(node);
            }
            Change::Pin { node, pinned } => {
                self.nodes.set_pinned(node, pinned);
                self.revised.push(node);
            }
            Change::Title(title) => self.title = Some(title),
            Change::Tags(tags) => self.tags = tags,
        }
        Ok(())
    }

    /// Erases nodes, and what came from them.
    pub(crate) fn erase(&mut self, cut: Cut) {
        cut.nodes.iter().for_each(|run| self.nodes.erase(*run));
        self.summaries.erase(|span| cut.nodes.iter().any(|run| run.common(span).is_some()));
        if cut.is_whole {
            (self.title, self.tags) = (None, Vec::new());
        }
        self.erased.cut(cut);
    }

    /// Disables messages and summaries, or enables them.
    pub(crate) fn disable(&mut self, change: Disabling, place: Location) {
        change.nodes.iter().for_each(|run| self.nodes.set_disabled(*run, change.is_disabled));
        let summaries = &self.summaries;
        self.disabled.push(place, change, |id| summaries.level_and_span(id));
        let disabled = &self.disabled;
        let is_stale = |level, span, place| disabled.is_stale(level, span, place);
        self.summaries.mark_stale(|span| disabled.last_touches(span), is_stale);
    }

    /// The summaries that are disabled.
    pub(crate) fn disabled_summaries(&self) -> BTreeSet<SummaryId> {
        let named: BTreeSet<_> =
            self.disabled.iter().flat_map(|(_, change)| change.summaries.iter().copied()).collect();
        named.into_iter().filter(|id| self.disabled.has_summary(*id)).collect()
    }

    /// Number of erased and disabled nodes in a run.
    pub(crate) fn hidden_in(&self, run: NodeRange) -> u64 {
        let disabled = if self.disabled.is_empty() { 0 } else { self.nodes.disabled_in(run) };
        self.erased.count_in(run) + disabled
    }

    /// The nodes that are known to be missing.
    pub(crate) fn lost_nodes(&self) -> impl Iterator<Item = LostNodes> {
        self.lost.iter().map(|nodes| LostNodes { conversation: self.id.clone(), nodes: *nodes })
    }

    /// Gives lost nodes their places, so that the ones after them keep their numbers. A place points at the damage that
    /// holds the node.
    pub(crate) fn lose(&mut self, until: u64, location: Location) {
        let (first, last) = (NodeId::new(self.nodes() + 1), NodeId::new(until));
        self.lost.extend(first.zip(last).and_then(|(first, last)| NodeRange::new(first, last)));
        while self.nodes() < until {
            self.nodes.push(&NodeOutline::new(Timestamp::default(), Role::User), 0.0, location);
        }
    }
}
