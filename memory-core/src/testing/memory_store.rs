//! A store in memory: the model that real stores are tested against.

mod ports;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::{
    ConversationId, Disabling, Disablings, ErasedKey, ErasedLeaf, Erasure, MessageKey, Node, NodeDraft, NodeId,
    NodeOutline, NodeRange, OwnerId, Role, Summary, SummaryId, SummaryOutline, Timestamp, ViewId,
    plan::check_summary,
    port::{
        Appended, Changes, ConversationState, Event, ForkedFrom, NodeProof, Note, Place, Recorded, Revision, StoreError,
    },
    proof::{Salt, canonical_bytes, leaf_hash},
    view::{View, check_view},
};

/// Keeps everything in maps. Its salts are zero, so that its roots are repeatable.
#[derive(Debug, Default)]
pub struct MemoryStore {
    conversations: Mutex<BTreeMap<ConversationId, Conversation>>,
    is_leased_away: AtomicBool,
}

#[derive(Debug, Default)]
struct Conversation {
    nodes: Vec<Node>,
    /// One salt for each node.
    salts: Vec<Salt>,
    summaries: Vec<Summary>,
    /// The number of the parent's last summary at the fork. Own summaries have higher numbers.
    summaries_before: usize,
    views: Vec<View>,
    /// For each view, how many nodes there were when it was recorded.
    nodes_at_views: Vec<usize>,
    notes: Vec<Note>,
    /// The number of the last note that was erased.
    notes_before: u64,
    lost: BTreeSet<NodeId>,
    /// Remains of erased messages.
    erased: BTreeMap<NodeId, ErasedLeaf>,
    /// Disabled messages and summaries; the place of a change is the number of the last summary before it.
    disablings: Disablings<u64>,
    /// Nodes whose importance or pin was changed, one entry for each change.
    revised: Vec<NodeId>,
    /// Number of losses.
    epoch: u64,
    title: Option<String>,
    tags: Vec<String>,
    forked_from: Option<ForkedFrom>,
    /// Number of reads of each message.
    reads: BTreeMap<NodeId, u64>,
    /// Number of reads of the outlines of all nodes.
    outlines_read: u64,
    owner: Option<OwnerId>,
}

impl Conversation {
    fn by_key(&self, key: &MessageKey) -> Option<&Node> {
        let had =
            |node: &Node| self.erased.get(&node.id).and_then(|erased| erased.key).is_some_and(|had| had.is_of(key));
        self.nodes.iter().find(|node| node.message.key.as_ref() == Some(key) || had(node))
    }

    /// Number of erased and disabled messages in a run.
    fn hidden_in(&self, run: NodeRange) -> u64 {
        self.range(run).filter(|node| node.is_hidden()).count() as u64
    }

    /// Disables messages and summaries, or enables them.
    fn disable(&mut self, change: Disabling) {
        let covers = |id: NodeId| change.nodes.iter().any(|run| run.contains(id));
        for node in self.nodes.iter_mut().filter(|node| covers(node.id) && !node.is_erased) {
            node.is_disabled = change.is_disabled;
        }
        let place = self.last_summary() as u64;
        let summaries = &self.summaries;
        self.disablings.push(place, change, |id| {
            let there = summaries.iter().find(|summary| summary.id == id)?;
            Some((there.body.level, there.body.span))
        });
        self.epoch += 1;
    }

    fn is_stale(&self, summary: &Summary) -> bool {
        self.disablings.is_stale(summary.body.level, summary.body.span, summary.id.get())
    }

    /// The summaries that are read, as they are read.
    fn readable_summaries(&self) -> impl Iterator<Item = Summary> {
        let is_disabled = |summary: &Summary| self.disablings.has_summary(summary.id);
        let read =
            move |summary: &Summary| if is_disabled(summary) { summary.clone().disabled() } else { summary.clone() };
        self.summaries.iter().filter(|summary| !self.is_stale(summary)).map(read)
    }

    /// The summaries with these numbers as they were recorded.
    fn whole_summaries(&self, ids: &[SummaryId]) -> Vec<Summary> {
        let mut found: Vec<_> = self.summaries.iter().filter(|summary| ids.contains(&summary.id)).cloned().collect();
        found.iter_mut().for_each(|summary| summary.is_disabled = self.disablings.has_summary(summary.id));
        found
    }

    /// Erases messages, and what came from them.
    fn erase(&mut self, erasure: &Erasure) {
        let runs = &erasure.nodes;
        let covers = |span: NodeRange| runs.iter().any(|run| run.common(span).is_some());
        let leaves: BTreeMap<_, _> = self.proofs().map(|(node, proof)| (node, proof.leaf)).collect();
        for node in self.nodes.iter_mut().filter(|node| covers(NodeRange::single(node.id)) && !node.is_erased) {
            let key = node.message.key.as_ref().map(|key| ErasedKey::new(erasure.id, key));
            if let Some(leaf) = leaves.get(&node.id) {
                self.erased.insert(node.id, ErasedLeaf { leaf: *leaf, key });
            }
            *node = Node::erased(node.id, node.message.role, node.at);
        }
        self.summaries_before = self.last_summary();
        self.summaries.retain(|summary| !covers(summary.body.span));
        self.notes_before = self.last_note();
        self.notes.retain(|note| {
            !erasure.is_whole && !erasure.covers_note(note.id) && !note.sources.iter().copied().any(covers)
        });
        self.views.iter_mut().filter(|view| erasure.is_whole || view.body.may_hold(runs, &erasure.notes)).for_each(
            |view| {
                view.body.erase();
            },
        );
        if erasure.is_whole {
            (self.title, self.tags) = (None, Vec::new());
        }
        self.epoch += 1;
    }

    fn state(&self, id: &ConversationId) -> ConversationState {
        ConversationState {
            id: id.clone(),
            nodes: self.nodes.len() as u64,
            summaries: self.readable_summaries().count() as u64,
            views: self.views.last().map_or(0, |last| last.id.get()),
            notes: self.last_note(),
            first_at: self.nodes.first().map(|node| node.at),
            last_at: self.last_time(),
            tokens: self
                .nodes
                .iter()
                .filter(|node| !self.lost.contains(&node.id))
                .map(|node| u64::from(node.tokens))
                .sum(),
            title: self.title.clone(),
            tags: self.tags.clone(),
            erased: self.erased.len() as u64,
            disabled: self.nodes.iter().filter(|node| node.is_disabled).count() as u64,
            forked_from: self.forked_from.clone(),
            owner: self.owner.clone(),
        }
    }

    /// A conversation that continues this one after `node`, which exists.
    fn fork(&self, id: &ConversationId, node: NodeId) -> Self {
        let count = node.index() + 1;
        let views = self.nodes_at_views.partition_point(|nodes| *nodes <= count);
        let covers_no_other = |summary: &&Summary| summary.body.span.last() <= node;
        Self {
            nodes: self.nodes.iter().take(count).cloned().collect(),
            salts: self.salts.iter().take(count).copied().collect(),
            summaries: self.summaries.iter().filter(covers_no_other).cloned().collect(),
            summaries_before: self.last_summary(),
            views: self.views.iter().take(views).cloned().collect(),
            nodes_at_views: self.nodes_at_views.iter().take(views).copied().collect(),
            lost: self.lost.range(..=node).copied().collect(),
            erased: self.erased.range(..=node).map(|(node, erased)| (*node, *erased)).collect(),
            disablings: self.disablings.first(node.get()),
            forked_from: Some(ForkedFrom { conversation: id.clone(), node }),
            owner: self.owner.clone(),
            ..Self::default()
        }
    }

    fn last_note(&self) -> u64 {
        self.notes.last().map_or(0, |last| last.id.get()).max(self.notes_before)
    }

    /// The number of the last summary, here or in the shared prefix.
    fn last_summary(&self) -> usize {
        self.summaries.last().map_or(0, |last| last.id.index() + 1).max(self.summaries_before)
    }

    fn range(&self, range: NodeRange) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(move |node| range.contains(node.id))
    }

    /// Outline of the nodes. Only the position and the pin of a lost one are known, as in a damaged log.
    fn outline(&self) -> Vec<NodeOutline> {
        let outline = |node: &Node| {
            if !self.lost.contains(&node.id) {
                let outline = NodeOutline::of(node);
                return if node.is_disabled { outline.disabled() } else { outline };
            }
            let mut blank = NodeOutline::new(Timestamp::default(), Role::User);
            blank.pinned = node.pinned;
            blank
        };
        self.nodes.iter().map(outline).collect()
    }

    fn last_time(&self) -> Option<Timestamp> {
        let mut times = self.nodes.iter().rev().map(|node| node.at);
        times.clone().find(|at| at.is_known()).or_else(|| times.next())
    }

    fn changes(&self, since: Revision) -> Changes {
        let is_whole = since.epoch != self.epoch;
        let since = if is_whole { Revision::default() } else { since };
        let outlines = self.outline();
        let behind = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let (known, new) = outlines.split_at(behind(since.nodes).min(outlines.len()));
        let revised: BTreeSet<_> = self.revised.iter().skip(behind(since.revised)).copied().collect();
        let summaries = self.readable_summaries().skip(behind(since.summaries));
        let outline = |summary: Summary| {
            let outline = SummaryOutline::of(summary.id, &summary.body);
            if summary.is_disabled { outline.disabled() } else { outline }
        };
        Changes {
            is_whole,
            nodes: new.to_vec(),
            revised: revised.iter().filter_map(|node| Some((*node, *known.get(node.index())?))).collect(),
            summaries: summaries.map(outline).collect(),
            last_summary: self.last_summary() as u64,
            revision: Revision {
                epoch: self.epoch,
                nodes: outlines.len() as u64,
                summaries: self.readable_summaries().count() as u64,
                revised: self.revised.len() as u64,
            },
        }
    }

    /// The nodes of a run, which count as read; with `whole`, disabled ones as they were said.
    fn read(&mut self, range: NodeRange, whole: bool) -> Result<Vec<Node>, StoreError> {
        self.all_readable(range)?;
        let seen = |node: &Node| match node.is_disabled && !whole {
            true => Node::disabled(node.id, node.message.role, node.at).pinned(node.pinned),
            false => node.clone(),
        };
        let nodes: Vec<_> = self.range(range).map(seen).collect();
        self.count(range);
        Ok(nodes)
    }

    fn count(&mut self, range: NodeRange) {
        let there = self.nodes.iter().map(|node| node.id).filter(|node| range.contains(*node));
        there.for_each(|node| *self.reads.entry(node).or_default() += 1);
    }

    fn proofs_of(&self, range: NodeRange) -> impl Iterator<Item = NodeProof> {
        self.proofs().filter(move |(node, _)| range.contains(*node)).map(|(_, proof)| proof)
    }

    fn all_readable(&self, range: NodeRange) -> Result<(), StoreError> {
        match self.lost.range(range.first()..=range.last()).next() {
            Some(node) => Err(StoreError::Lost { place: Place::new("memory").offset(node.get()) }),
            None => Ok(()),
        }
    }

    fn proofs(&self) -> impl Iterator<Item = (NodeId, NodeProof)> {
        self.nodes.iter().zip(&self.salts).map(|(node, salt)| match self.erased.get(&node.id) {
            Some(erased) => (node.id, NodeProof { salt: Salt::default(), leaf: erased.leaf }),
            None => {
                let leaf = leaf_hash(salt, &canonical_bytes(&node.message, node.at));
                (node.id, NodeProof { salt: *salt, leaf })
            }
        })
    }

    fn append(&mut self, id: &ConversationId, batch: Vec<NodeDraft>) -> Result<Vec<Appended>, StoreError> {
        let before = self.nodes.len();
        let mut appended = Vec::new();
        for draft in batch {
            let key = draft.message.key.clone();
            if let Some((key, there)) = key.and_then(|key| self.by_key(&key).map(|node| (key, node))) {
                if there.is_erased {
                    appended.push(Appended::erased(there.id));
                    continue;
                }
                if there.message != draft.message {
                    let node = there.id;
                    self.nodes.truncate(before);
                    self.salts.truncate(before);
                    return Err(StoreError::KeyConflict { conversation: id.clone(), key, node });
                }
                appended.push(Appended::existing(there.id));
                continue;
            }
            let node = NodeId::from_index(self.nodes.len());
            self.salts.push(draft.salt.unwrap_or_default());
            if let Some(erased) = draft.erased {
                self.erased.insert(node, erased);
                self.nodes.push(Node::erased(node, draft.message.role, draft.at));
                appended.push(Appended::new(node));
                continue;
            }
            self.nodes.push(Node {
                id: node,
                line_count: draft.message.line_count(),
                message: draft.message,
                at: draft.at,
                tokens: draft.tokens,
                importance: draft.importance,
                topics: draft.topics,
                relates_to: draft.relates_to,
                pinned: false,
                is_erased: false,
                is_disabled: false,
            });
            appended.push(Appended::new(node));
        }
        Ok(appended)
    }

    fn record(&mut self, id: &ConversationId, events: Vec<Event>) -> Result<Vec<Recorded>, StoreError> {
        let mut last_note = self.last_note();
        for event in &events {
            self.check(id, event)?;
            let Event::Note(note) = event else { continue };
            note.check_follows(id, last_note, self.nodes.len() as u64)?;
            last_note = note.id.get();
        }
        Ok(events.into_iter().map(|event| self.apply(event)).collect())
    }

    fn check(&self, id: &ConversationId, event: &Event) -> Result<(), StoreError> {
        let span_of = |child: SummaryId| {
            self.readable_summaries().find(|summary| summary.id == child).map(|found| found.body.span)
        };
        let nodes = self.nodes.len() as u64;
        let invalid = |why| StoreError::Invalid { conversation: id.clone(), why };
        let node = match event {
            Event::Summary(draft) if draft.erased != self.hidden_in(draft.span) => {
                return Err(StoreError::ErasedMeanwhile { conversation: id.clone() });
            }
            Event::View(draft)
                if Some(draft.erased) != NodeRange::first_n(draft.nodes).map(|run| self.hidden_in(run)) =>
            {
                return Err(StoreError::ErasedMeanwhile { conversation: id.clone() });
            }
            Event::Summary(draft) => return check_summary(draft, nodes, span_of).map_err(invalid),
            Event::View(draft) => return check_view(draft, nodes, span_of).map_err(invalid),
            Event::Importance { node, .. } | Event::Pin { node, .. } => *node,
            Event::Note(note) => match note.sources.iter().map(|run| run.last()).max() {
                Some(last) => last,
                None => return Ok(()),
            },
            Event::Erased(erasure) => match erasure.nodes.last() {
                Some(run) => run.last(),
                None => return Ok(()),
            },
            Event::Disabled(change) => {
                let is_there = |id: &SummaryId| self.summaries.iter().any(|summary| summary.id == *id);
                if let Some(unknown) = change.summaries.iter().find(|id| !is_there(id)) {
                    return Err(invalid(format!("summary {unknown} is not there")));
                }
                match change.nodes.last() {
                    Some(run) => run.last(),
                    None => return Ok(()),
                }
            }
            Event::Title(_) | Event::Tags(_) => return Ok(()),
        };
        match self.nodes.get(node.index()) {
            Some(_) => Ok(()),
            None => Err(self.unknown_node(id, node)),
        }
    }

    fn apply(&mut self, event: Event) -> Recorded {
        match event {
            Event::Summary(body) => {
                let body = body.erased(0);
                let same = |s: &&Summary| {
                    (s.body.level, s.body.span, s.body.input_hash) == (body.level, body.span, body.input_hash)
                };
                if let Some(there) = self.summaries.iter().find(|summary| same(summary) && !self.is_stale(summary)) {
                    return Recorded::Summary(there.id);
                }
                let id = SummaryId::from_index(self.last_summary());
                self.summaries.push(Summary::new(id, body));
                return Recorded::Summary(id);
            }
            Event::Importance { node, importance, .. } => {
                self.revised.push(node);
                if let Some(node) = self.nodes.get_mut(node.index()).filter(|node| !node.is_erased) {
                    node.importance = importance;
                }
            }
            Event::Pin { node, pinned } => {
                self.revised.push(node);
                if let Some(node) = self.nodes.get_mut(node.index()).filter(|node| !node.is_erased) {
                    node.pinned = pinned;
                }
            }
            Event::View(body) => {
                let id = self.views.last().map_or(ViewId::FIRST, |last| last.id.next());
                self.views.push(View { id, body: body.erased(0) });
                self.nodes_at_views.push(self.nodes.len());
                return Recorded::View(id);
            }
            Event::Note(note) => {
                let id = note.id;
                self.notes.push(*note);
                return Recorded::Note(id);
            }
            Event::Title(title) => self.title = Some(title),
            Event::Tags(mut tags) => {
                tags.sort();
                tags.dedup();
                self.tags = tags;
            }
            // Applied to all conversations that share the messages.
            Event::Erased(_) => {}
            Event::Disabled(change) => self.disable(*change),
        }
        Recorded::Done
    }

    fn unknown_node(&self, id: &ConversationId, node: NodeId) -> StoreError {
        StoreError::UnknownNode { conversation: id.clone(), node, nodes: self.nodes.len() as u64 }
    }
}

impl MemoryStore {
    /// Loses a node, like a damaged file.
    pub fn lose_node(&self, conversation: &ConversationId, node: NodeId) {
        if let Some(conversation) = self.lock().get_mut(conversation).filter(|c| node.index() < c.nodes.len()) {
            conversation.lost.insert(node);
            conversation.epoch += 1;
        }
    }

    /// Loses a summary, like a damaged file.
    pub fn lose_summary(&self, conversation: &ConversationId, summary: SummaryId) {
        if let Some(conversation) = self.lock().get_mut(conversation) {
            conversation.summaries.retain(|there| there.id != summary);
            conversation.epoch += 1;
        }
    }

    /// Number of reads of each message so far, including those of its leaf. A message that was never read is missing.
    #[must_use]
    pub fn reads(&self, conversation: &ConversationId) -> BTreeMap<NodeId, u64> {
        self.lock().get(conversation).map(|there| there.reads.clone()).unwrap_or_default()
    }

    /// Number of reads so far of the outlines of all nodes of a conversation.
    #[must_use]
    pub fn outlines_read(&self, conversation: &ConversationId) -> u64 {
        self.lock().get(conversation).map_or(0, |there| there.outlines_read)
    }

    /// With `true`, refuses the lease from now on, as while another process holds it; with `false`, grants it again.
    pub fn lease_away(&self, away: bool) {
        self.is_leased_away.store(away, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ConversationId, Conversation>> {
        self.conversations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(
        &self,
        id: &ConversationId,
        act: impl FnOnce(&mut Conversation) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut all = self.lock();
        match all.get_mut(id) {
            Some(conversation) => act(conversation),
            None => Err(StoreError::unknown_conversation(id, all.keys())),
        }
    }

    /// Erases messages wherever they are shared, and what came from them.
    fn erase(&self, id: &ConversationId, erasure: &Erasure) {
        let mut all = self.lock();
        // Up to the conversations that the messages were appended to, and down to every fork of these.
        let mut found = BTreeMap::from([(id.clone(), erasure.clone())]);
        let cut = |of: &Erasure, last: NodeId| {
            let runs = of.nodes.iter().filter_map(|run| run.common(NodeRange::first_n(last.get())?)).collect();
            Erasure::new(of.id, of.at, runs).by(of.by.clone())
        };
        let add = |found: &mut BTreeMap<ConversationId, Erasure>, id: &ConversationId, more: Erasure| {
            if more.nodes.is_empty() {
                return false;
            }
            let Some(there) = found.get_mut(id) else { return found.insert(id.clone(), more).is_none() };
            let nodes = NodeRange::merge(there.nodes.iter().chain(&more.nodes).copied().collect());
            std::mem::replace(&mut there.nodes, nodes.clone()) != nodes
        };
        loop {
            let mut is_more = false;
            for (child, conversation) in all.iter() {
                let Some(ForkedFrom { conversation: parent, node }) = &conversation.forked_from else { continue };
                for (from, to) in [(child, parent), (parent, child)] {
                    if let Some(more) = found.get(from).map(|erasure| cut(erasure, *node)) {
                        is_more |= add(&mut found, to, more);
                    }
                }
            }
            if !is_more {
                break;
            }
        }
        for (id, erasure) in &found {
            if let Some(conversation) = all.get_mut(id) {
                conversation.erase(erasure);
            }
        }
        for view in all.values_mut().flat_map(|conversation| &mut conversation.views) {
            if found.iter().any(|(id, erasure)| view.body.shows_of(id, &erasure.nodes)) {
                view.body.erase();
            }
        }
    }

    /// [`Self::with`], on a new conversation where there is none.
    fn with_or_new<T>(
        &self,
        owner: Option<&OwnerId>,
        id: &ConversationId,
        with_note: bool,
        act: impl FnOnce(&mut Conversation) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut all = self.lock();
        if let Some(there) = all.get_mut(id) {
            if owner.is_some() && there.owner.as_ref() != owner {
                return Err(StoreError::NameTaken { id: id.clone() });
            }
            return act(there);
        }
        id.check_beginning(owner, with_note)?;
        let mut begun = Conversation { owner: owner.cloned(), ..Conversation::default() };
        let done = act(&mut begun)?;
        all.insert(id.clone(), begun);
        Ok(done)
    }
}
