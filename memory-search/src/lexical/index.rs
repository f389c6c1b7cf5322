//! The word index: saved segments of all conversations, and an LRU cache of postings by conversation.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicBool, Ordering},
    },
};

use lru::LruCache;
use memory_core::{
    ConversationId, Node, NodeId, NodeOutline, NodeRange,
    port::{
        BlockCache, BlockId, BlockKey, CachedInMemory, ConversationState, DerivedKind, Losses, Progress, Source,
        StoreError,
    },
};

use super::{
    NodeTerms, Postings, Weighed, indexed_text,
    saved::{SavedWords, ScopedSegment},
    segment::{self, SegmentRun},
    segment_builder::{Built, Piece, build},
    terms_of,
    titles::Titles,
};

/// Nodes per read from the store.
const CHUNK: u64 = 512;
/// Maximum nodes that a question leaves unsaved; reading them again takes some milliseconds.
pub(crate) const MAX_UNSAVED: u64 = 256;
/// Nodes after which a segment is saved during reading, so that an interrupted run loses little.
const NODES_BETWEEN_SEGMENTS: u64 = 1 << 15;
/// Maximum nodes of a merged segment, because forgetting a node removes its whole segment.
const MOST_MERGED: u64 = 1 << 16;

const KEY: BlockKey = BlockKey { kind: "words", version: segment::VERSION };

/// The word index of all conversations.
///
/// Saved postings are in segments of several conversations, which stay in the block cache. When a single conversation
/// is searched, its postings are assembled from these segments and the store, and extended from then on. The least
/// recently used postings are dropped above a total size. A node that could not be read counts as lost from then on.
#[derive(Debug)]
pub(crate) struct WordIndex {
    pub(crate) max_bytes: usize,
    /// Cache that saves postings between runs.
    pub(crate) cache: Option<Arc<dyn BlockCache>>,
    saved: Mutex<Saved>,
    /// Held while a segment is written.
    saving: tokio::sync::Mutex<()>,
    held: Mutex<CachedPostings>,
    titles: Titles,
}

/// Segments as last listed.
#[derive(Debug, Default)]
struct Saved {
    words: Arc<SavedWords>,
    /// Blocks that are damaged or inconsistent, or hold lost nodes that are readable again. The next written segment
    /// replaces them.
    invalid: HashSet<BlockId>,
}

#[derive(Debug)]
struct CachedPostings {
    by_conversation: LruCache<ConversationId, (Arc<Indexed>, usize)>,
    /// Number of erased messages of the conversations that have any, when they were last asked for.
    erased: HashMap<ConversationId, u64>,
    bytes: usize,
}

/// Index of one conversation.
#[derive(Debug, Default)]
pub(crate) struct Indexed {
    postings: RwLock<Postings>,
    /// True once the saved runs were loaded.
    is_restored: AtomicBool,
    outlines: Outlines,
    /// Held while saved runs are loaded.
    restoring: tokio::sync::Mutex<()>,
    /// Held while nodes of the conversation are embedded, so that no node is embedded twice.
    pub(crate) embedding: Arc<tokio::sync::Mutex<()>>,
}

/// The words of several conversations, identified by number.
#[derive(Debug)]
pub(crate) struct AllWords {
    /// Segments of the conversations that are completely saved.
    pub(crate) saved: Vec<ScopedSegment>,
    /// Postings of the other conversations.
    pub(crate) unsaved: BTreeMap<usize, Arc<Indexed>>,
}

impl WordIndex {
    /// An empty index that keeps about `max_bytes` of unused postings.
    pub(crate) fn new(max_bytes: usize) -> Self {
        let held = CachedPostings { by_conversation: LruCache::unbounded(), erased: HashMap::new(), bytes: 0 };
        Self {
            max_bytes,
            cache: None,
            saved: Mutex::default(),
            saving: tokio::sync::Mutex::default(),
            held: Mutex::new(held),
            titles: Titles::default(),
        }
    }

    /// Size of the postings of single conversations, without mapped segments.
    pub(crate) fn in_memory(&self) -> CachedInMemory {
        CachedInMemory::new(DerivedKind::Words, self.held().bytes as u64, self.max_bytes as u64)
    }

    /// Share of the question's weight in the words of a conversation's title, 0..=1.
    pub(crate) fn title_share(&self, state: &ConversationState, question: &Weighed) -> f32 {
        self.titles.share(state.title.as_deref(), question)
    }

    /// Last indexed node.
    pub(crate) fn through(&self, conversation: &ConversationId) -> u64 {
        let held = self.held();
        held.by_conversation.peek(conversation).map_or(0, |(indexed, _)| indexed.read().through())
    }

    /// Drops what is in memory of a conversation if more of its messages were erased since.
    pub(crate) fn heed_erasures(&self, state: &ConversationState) {
        if state.erased == 0 {
            return;
        }
        let mut held = self.held();
        if held.erased.insert(state.id.clone(), state.erased) != Some(state.erased)
            && let Some((_, bytes)) = held.by_conversation.pop(&state.id)
        {
            held.bytes -= bytes;
        }
    }

    /// Indexes at least the first `nodes` nodes of a conversation; returns the number of nodes read. Leaves at most
    /// `unsaved` nodes that a later run must read again.
    pub(crate) async fn catch_up(
        &self,
        source: &dyn Source,
        conversation: &ConversationId,
        nodes: u64,
        unsaved: u64,
        progress: &dyn Progress,
    ) -> Result<(Arc<Indexed>, u64), StoreError> {
        let erased = match chunk_after(self.through(conversation), nodes) {
            Some(_) => source.conversation(conversation).await?.erased,
            None => 0,
        };
        let words = self.load(source, conversation, nodes).await?;
        let begun = words.read().through();
        let mut through = begun;
        while let Some(chunk) = chunk_after(through, nodes) {
            // Disabled messages are indexed, so that they are found once they are enabled.
            let read = source.whole_nodes(conversation, chunk).await?;
            let mut spoken = words.read().spoken();
            let mut terms_of = |node| -> (NodeId, Option<&Node>, NodeTerms) {
                let node: &Node = node;
                if node.is_erased {
                    return (node.id, Some(node), NodeTerms::default());
                }
                let text = indexed_text(&node.message);
                let said = text.split_once(": ").map_or(&*text, |(_, said)| said);
                (node.id, Some(node), terms_of(&text, spoken.next(said)))
            };
            let mut terms: Vec<_> = read.nodes.iter().map(&mut terms_of).collect();
            // A lost node has no terms but keeps its position.
            let lost = read.losses.runs().iter().flat_map(|run| run.iter());
            terms.extend(lost.map(|node| (node, None, NodeTerms::default())));
            terms.sort_by_key(|(node, _, _)| *node);
            let state = source.conversation(conversation).await?;
            if state.erased != erased {
                // Words that were read before an erasure must not be saved after it.
                self.heed_erasures(&state);
                return Box::pin(self.catch_up(source, conversation, nodes, unsaved, progress)).await;
            }
            words.add(terms, &read.losses);
            words.outlines.add(&read.nodes);
            let reached = words.read().through();
            if reached <= through {
                break;
            }
            through = reached;
            self.save_if(conversation, &words, NODES_BETWEEN_SEGMENTS).await;
            progress.report(through.min(nodes).saturating_sub(begun), nodes.saturating_sub(begun));
        }
        self.save_if(conversation, &words, unsaved.saturating_add(1)).await;
        if through > begun {
            self.account(conversation, &words);
        }
        Ok((words, through.saturating_sub(begun)))
    }

    /// Outlines of at least the first `nodes` nodes of a conversation. Outlines of nodes that this process has not read
    /// come from the store, once.
    pub(crate) async fn outlines(
        &self,
        store: &dyn Source,
        conversation: &ConversationId,
        nodes: usize,
    ) -> Result<Arc<Vec<NodeOutline>>, StoreError> {
        let words = self.words(conversation);
        let known = words.outlines.known();
        if known.len() >= nodes {
            return Ok(known);
        }
        let all = Arc::new(store.outline(conversation).await?);
        words.outlines.set(&all);
        self.account(conversation, &words);
        Ok(all)
    }

    /// Indexes all missing nodes of several conversations, and saves them if they are many. Nodes that are `hidden` from
    /// a conversation, by its number, have no words.
    pub(crate) async fn catch_up_all(
        &self,
        source: &dyn Source,
        states: &[ConversationState],
        hidden: &BTreeMap<usize, Vec<usize>>,
    ) -> Result<AllWords, StoreError> {
        self.refresh().await;
        let saved = self.saved();
        let (mut unsaved, mut pending, mut nodes) = (BTreeMap::new(), Vec::new(), 0);
        for (number, state) in states.iter().enumerate() {
            self.heed_erasures(state);
            if saved.through(&state.id) >= state.nodes && !hidden.contains_key(&number) {
                continue;
            }
            let (indexed, _) = self.catch_up(source, &state.id, state.nodes, u64::MAX, &()).await?;
            nodes += indexed.unsaved();
            pending.push((state.id.clone(), Arc::clone(&indexed)));
            unsaved.insert(number, indexed);
            if nodes >= NODES_BETWEEN_SEGMENTS {
                self.save(&pending).await;
                (pending, nodes) = (Vec::new(), 0);
            }
        }
        if nodes > MAX_UNSAVED {
            self.save(&pending).await;
        }
        loop {
            let words = self.saved();
            let is_saved = |number: usize| {
                let is_through = states.get(number).is_some_and(|one| words.through(&one.id) >= one.nodes);
                is_through && !hidden.contains_key(&number)
            };
            let ids = states.iter().map(|state| &state.id);
            match words.scoped(ids, |number| is_saved(number) || !unsaved.contains_key(&number)) {
                Ok(saved) => {
                    unsaved.retain(|number, _| !is_saved(*number));
                    for (number, indexed) in &mut unsaved {
                        if let Some(hidden) = hidden.get(number) {
                            *indexed = Arc::new(indexed.without(hidden.clone()));
                        }
                    }
                    return Ok(AllWords { saved, unsaved });
                }
                Err(block) => {
                    self.set_aside(block).await;
                    // Its conversations are indexed again from the store.
                    for (number, state) in states.iter().enumerate() {
                        if self.saved().through(&state.id) < state.nodes {
                            let (indexed, _) = self.catch_up(source, &state.id, state.nodes, MAX_UNSAVED, &()).await?;
                            unsaved.insert(number, indexed);
                        }
                    }
                }
            }
        }
    }

    /// Lists the segments of the cache again, because other processes change them.
    async fn refresh(&self) {
        let Some(cache) = &self.cache else { return };
        let blocks = cache.blocks(KEY).await;
        let words = {
            let mut saved = self.lock_saved();
            if saved.words.are(&blocks, &saved.invalid) {
                return;
            }
            saved.words = Arc::new(SavedWords::of(blocks, &saved.words, &saved.invalid));
            Arc::clone(&saved.words)
        };
        // Postings in memory release segments that were merged into others.
        let held: Vec<_> =
            self.held().by_conversation.iter().map(|(id, (held, _))| (id.clone(), held.clone())).collect();
        for (conversation, indexed) in held {
            if let Ok(runs) = words.runs(&conversation) {
                indexed.write().take_saved(runs);
            }
        }
    }

    fn saved(&self) -> Arc<SavedWords> {
        Arc::clone(&self.lock_saved().words)
    }

    fn lock_saved(&self) -> MutexGuard<'_, Saved> {
        self.saved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Excludes an invalid block from now on.
    async fn set_aside(&self, block: BlockId) {
        tracing::warn!(block = block.as_str(), "saved words are invalid: reading the messages again");
        self.lock_saved().invalid.insert(block);
        self.refresh().await;
    }

    /// The index of a conversation with its saved runs, loaded once. Lists the segments again if the known ones do not
    /// cover the first `nodes` nodes.
    pub(crate) async fn load(
        &self,
        source: &dyn Source,
        conversation: &ConversationId,
        nodes: u64,
    ) -> Result<Arc<Indexed>, StoreError> {
        let words = self.words(conversation);
        if self.cache.is_none() || words.is_restored.load(Ordering::Acquire) {
            return Ok(words);
        }
        let reading = words.restoring.lock().await;
        if words.is_restored.load(Ordering::Acquire) {
            drop(reading);
            return Ok(words);
        }
        // Another process may have saved more.
        if self.saved().through(conversation) < nodes {
            self.refresh().await;
        }
        'listed: loop {
            let runs = match self.saved().runs(conversation) {
                Ok(runs) => runs,
                Err(block) => {
                    self.set_aside(block).await;
                    continue;
                }
            };
            *words.write() = Postings::default();
            for run in runs {
                let id = run.segment.id().clone();
                let (Some(rows), Some(nodes)) = (run.rows(), run.nodes()) else {
                    self.set_aside(id).await;
                    continue 'listed;
                };
                // Unreadable nodes have no terms in a segment. If one is readable now, the segment is stale.
                let mut losses = Losses::default();
                let mut is_found = false;
                for lost in rows.lost(nodes.first()) {
                    let read = source.readable_nodes(conversation, lost).await?;
                    is_found |= !read.nodes.is_empty();
                    losses.extend(&read.losses);
                }
                if is_found || !words.write().restore(run, rows, &losses) {
                    self.set_aside(id).await;
                    continue 'listed;
                }
            }
            break;
        }
        words.is_restored.store(true, Ordering::Release);
        drop(reading);
        self.account(conversation, &words);
        Ok(words)
    }

    /// Saves a conversation with at least `least` unsaved nodes.
    async fn save_if(&self, conversation: &ConversationId, words: &Arc<Indexed>, least: u64) {
        if words.unsaved() >= least {
            self.save(&[(conversation.clone(), Arc::clone(words))]).await;
        }
    }

    /// Saves the unsaved nodes of some conversations as one segment, merged with the smallest existing segments: each
    /// one while it has at most twice as many nodes as the result so far. So segments are few, and each node is
    /// rewritten only a few times. A failure is logged and does not fail the search.
    async fn save(&self, conversations: &[(ConversationId, Arc<Indexed>)]) {
        let Some(cache) = &self.cache else { return };
        let _saving = self.saving.lock().await;
        // Another call or process may have saved them meanwhile.
        self.refresh().await;
        let (built, replaced) = loop {
            match self.merged(conversations) {
                Ok(Some(merged)) => break merged,
                Ok(None) => return,
                Err(block) => self.set_aside(block).await,
            }
        };
        match cache.write(KEY, &built.runs, &built.bytes, &replaced).await {
            Ok(is_written) => {
                tracing::debug!(runs = built.runs.len(), bytes = built.bytes.len(), is_written, "words saved");
                self.lock_saved().invalid.retain(|block| !is_written || !replaced.contains(block));
                self.refresh().await;
            }
            Err(error) => tracing::warn!(%error, "words are not saved for the next run"),
        }
    }

    /// A new segment and the blocks that it replaces; `None` if everything is saved.
    ///
    /// # Errors
    /// The name of a damaged or inconsistent block.
    fn merged(
        &self,
        conversations: &[(ConversationId, Arc<Indexed>)],
    ) -> Result<Option<(Built, Vec<BlockId>)>, BlockId> {
        let (saved, mut replaced) = {
            let saved = self.lock_saved();
            (Arc::clone(&saved.words), saved.invalid.clone())
        };
        let guards: Vec<_> = conversations.iter().map(|(id, indexed)| (id, indexed.read())).collect();
        let unsaved: Vec<_> = guards
            .iter()
            .filter(|(id, postings)| postings.through() > saved.through(id))
            .filter_map(|(id, postings)| Some((*id, postings.saved(), postings.unsaved()?)))
            .collect();
        let mut nodes: u64 = unsaved.iter().map(|(_, _, piece)| piece.nodes()).sum();
        if nodes == 0 {
            return Ok(None);
        }
        let mut merged = HashSet::new();
        for live in saved.live() {
            if live.nodes > 2 * nodes || live.nodes + nodes > MOST_MERGED {
                break;
            }
            nodes += live.nodes;
            merged.insert(live.id);
        }
        let mut runs = saved.runs_in(&merged)?;
        // Another process may have saved the same nodes; the longer run is kept.
        for (id, through, _) in &unsaved {
            let is_before = |run: &SegmentRun| run.nodes().is_some_and(|nodes| nodes.last().get() <= *through);
            if let Some(runs) = runs.get_mut(*id) {
                runs.retain(is_before);
            }
        }
        let mut pieces: BTreeMap<&ConversationId, Vec<Piece<'_>>> =
            runs.iter().map(|(id, runs)| (id, runs.iter().map(Piece::Saved).collect())).collect();
        for (id, _, piece) in unsaved {
            pieces.entry(id).or_default().push(piece);
        }
        replaced.extend(merged);
        Ok(build(&pieces).map(|built| (built, replaced.into_iter().collect())))
    }

    /// The index of a conversation, created if needed.
    fn words(&self, conversation: &ConversationId) -> Arc<Indexed> {
        let mut held = self.held();
        if let Some((words, _)) = held.by_conversation.get(conversation) {
            return Arc::clone(words);
        }
        let words = Arc::new(Indexed::default());
        held.put(conversation.clone(), Arc::clone(&words), 0);
        words
    }

    fn account(&self, conversation: &ConversationId, words: &Arc<Indexed>) {
        let bytes = words.read().bytes() + words.outlines.bytes();
        let mut held = self.held();
        held.put(conversation.clone(), Arc::clone(words), bytes);
        while held.bytes > self.max_bytes && held.by_conversation.len() > 1 {
            let Some((_, (_, bytes))) = held.by_conversation.pop_lru() else { break };
            held.bytes -= bytes;
        }
    }

    fn held(&self) -> MutexGuard<'_, CachedPostings> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CachedPostings {
    fn put(&mut self, conversation: ConversationId, words: Arc<Indexed>, bytes: usize) {
        let before = self.by_conversation.put(conversation, (words, bytes)).map_or(0, |(_, bytes)| bytes);
        self.bytes = self.bytes + bytes - before;
    }
}

impl Indexed {
    /// A copy of the present index as if some nodes said nothing.
    pub(crate) fn without(&self, hidden: Vec<usize>) -> Self {
        let postings = RwLock::new(self.read().without(hidden));
        Self { postings, embedding: Arc::clone(&self.embedding), ..Self::default() }
    }

    /// Current postings, which may grow once the guard is dropped.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Postings> {
        self.postings.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads all nodes that this process has not read, and records unreadable ones.
    pub(crate) async fn check(&self, source: &dyn Source, conversation: &ConversationId) -> Result<(), StoreError> {
        let restored = self.read().restored();
        let (mut losses, mut through) = (Losses::default(), 0);
        while let Some(chunk) = chunk_after(through, restored) {
            losses.extend(&source.readable_nodes(conversation, chunk).await?.losses);
            through = chunk.last().get();
        }
        self.write().check(&losses);
        Ok(())
    }

    /// Records nodes that have become unreadable.
    pub(crate) fn lose(&self, losses: &Losses) {
        self.write().lose(losses);
    }

    /// Number of nodes in no segment.
    fn unsaved(&self) -> u64 {
        let postings = self.read();
        postings.through() - postings.saved()
    }

    fn write(&self) -> RwLockWriteGuard<'_, Postings> {
        self.postings.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, nodes: Vec<(NodeId, Option<&Node>, NodeTerms)>, losses: &Losses) {
        let mut postings = self.write();
        nodes.into_iter().for_each(|(node, said, terms)| postings.push(node, said, terms));
        postings.lose(losses);
    }
}

/// Outlines of the first nodes of a conversation, in order, without a gap. Nodes that are read for indexing extend
/// them, so that no recall reads them from the store again. Importance and pins may be outdated; nothing here uses
/// them.
#[derive(Debug, Default)]
struct Outlines(Mutex<Arc<Vec<NodeOutline>>>);

impl Outlines {
    fn lock(&self) -> MutexGuard<'_, Arc<Vec<NodeOutline>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self) -> Arc<Vec<NodeOutline>> {
        Arc::clone(&self.lock())
    }

    /// Adds the outlines of nodes that directly follow the known ones. After an unreadable node nothing is added until
    /// all outlines are [set](Self::set).
    fn add(&self, nodes: &[Node]) {
        let mut known = self.lock();
        let follow = nodes.iter().skip_while(|node| node.id.index() < known.len());
        let follow: Vec<_> =
            (known.len()..).zip(follow).take_while(|(index, node)| node.id.index() == *index).collect();
        if !follow.is_empty() {
            Arc::make_mut(&mut known).extend(follow.into_iter().map(|(_, node)| NodeOutline::of(node)));
        }
    }

    /// Replaces the outlines, unless more are known already.
    fn set(&self, all: &Arc<Vec<NodeOutline>>) {
        let mut known = self.lock();
        if all.len() > known.len() {
            *known = Arc::clone(all);
        }
    }

    fn bytes(&self) -> usize {
        self.lock().len() * size_of::<NodeOutline>()
    }
}

fn chunk_after(through: u64, last: u64) -> Option<NodeRange> {
    let end = through.saturating_add(CHUNK).min(last);
    NodeRange::new(NodeId::new(through + 1)?, NodeId::new(end)?)
}

#[cfg(test)]
mod tests;
