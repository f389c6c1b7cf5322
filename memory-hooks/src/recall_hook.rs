//! The hook that adds recalled words to a user's message.

use std::sync::Arc;

use memory_core::{
    ContentBlock, ConversationId, Node, NodeId, NodeRange,
    port::{BoxError, BoxFuture, Query, Retriever, Scope, Store, TokenCounter},
};
use memory_strategies::is_small_talk;

use crate::{
    Hook, HookProvider, HookRegistry, MessageAdded,
    render::{self, Layout},
    shorten::Shortener,
};

/// Most hits that are requested in addition, in case the best ones are visible already.
const MOST_VISIBLE: usize = 100;

/// The limit of the recalled text for one message.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RecallBudget {
    /// Characters, of the lines between the fences.
    Characters(usize),
    /// Tokens by this counter, of the lines between the fences.
    Tokens(u32, Arc<dyn TokenCounter>),
}

impl RecallBudget {
    fn count(&self, text: &str) -> u32 {
        match self {
            Self::Characters(_) => u32::try_from(text.chars().count()).unwrap_or(u32::MAX),
            Self::Tokens(_, counter) => counter.count(text),
        }
    }

    fn most(&self) -> u32 {
        match self {
            Self::Characters(most) => u32::try_from(*most).unwrap_or(u32::MAX),
            Self::Tokens(most, _) => *most,
        }
    }

    const fn unit(&self) -> &'static str {
        match self {
            Self::Characters(_) => "characters",
            Self::Tokens(..) => "tokens",
        }
    }

    fn fits(&self, text: &str) -> bool {
        self.count(text) <= self.most()
    }
}

/// Options of the hook.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecallHookOptions {
    /// True if the hook is active.
    pub enabled: bool,
    /// The limit of the added text.
    pub budget: RecallBudget,
    /// True if each message is labelled with number, speaker and, if known, the day.
    pub include_metadata: bool,
    /// Hits to recall.
    pub top_k: usize,
    /// Messages before and after each hit.
    pub radius: u64,
    /// The least [relevance](memory_core::port::Hit::relevance) of a hit, 0..=1. A hit of unknown relevance passes.
    pub min_relevance: f32,
}

impl RecallHookOptions {
    memory_core::setters! {
        const enabled: bool,
        budget: RecallBudget,
        const include_metadata: bool,
        const top_k: usize,
        const radius: u64,
        const min_relevance: f32,
    }
}

impl Default for RecallHookOptions {
    /// The documented defaults: 2,000 characters, with metadata, three hits that bear on the message, two messages on
    /// each side.
    fn default() -> Self {
        let budget = RecallBudget::Characters(2_000);
        Self { enabled: true, budget, include_metadata: true, top_k: 3, radius: 2, min_relevance: 0.1 }
    }
}

/// Words that the hook puts before a question.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recalled {
    /// The text, up to and including the words `Current question: `.
    pub text: String,
    /// The messages that it shows, in order.
    pub nodes: Vec<NodeRange>,
}

/// Adds exact words from the same conversation to a user's outgoing message. The log keeps the original message.
///
/// The added text has a lead line, `---Previous Context---`, one entry for each message (`[Message N, speaker,
/// 2023-05-21]: text`; `[Message N, speaker]: text` if the time is unknown), `---End Previous Context---`, a blank line
/// and `Current question: …`. Messages that the model is shown anyway are left out, and nothing is added to a message
/// without a question or a statement ("Thanks, bye!"). The day is that of the message's `utc_offset`, or of UTC. Text
/// inside is escaped: it cannot close the fence. The budget is filled with the best hit first; the entries are in order
/// of time. A message for which nothing is found, or for which recall fails, is sent unchanged.
#[derive(Debug)]
pub struct RecallHook {
    store: Arc<dyn Store>,
    retriever: Arc<dyn Retriever>,
    options: RecallHookOptions,
}

impl RecallHook {
    /// Recalls with `retriever`, and reads exact words from `store`.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, retriever: Arc<dyn Retriever>, options: RecallHookOptions) -> Self {
        Self { store, retriever, options }
    }

    async fn enrich(&self, event: &mut MessageAdded) -> Result<(), BoxError> {
        if !event.outgoing.begins_prompt() {
            return Ok(());
        }
        let MessageAdded { conversation, node, visible, .. } = &*event;
        let Some(recalled) = self.recall(conversation, *node, &event.outgoing.text(), visible).await? else {
            return Ok(());
        };
        event.recalled = NodeRange::merge(recalled.nodes.into_iter().chain(event.recalled.iter().copied()).collect());
        // The question's own blocks, including pictures, stay unchanged.
        match event.outgoing.content.iter_mut().find(|block| matches!(block, ContentBlock::Text(_))) {
            Some(ContentBlock::Text(text)) => text.insert_str(0, &recalled.text),
            _ => event.outgoing.content.insert(0, ContentBlock::Text(recalled.text)),
        }
        Ok(())
    }

    /// Recalls words for the question of the message `asking` from earlier messages that are not `visible` anyway.
    /// `None` if there is nothing to add.
    ///
    /// # Errors
    /// If the retriever or the store fails.
    pub async fn recall(
        &self,
        conversation: &ConversationId,
        asking: NodeId,
        question: &str,
        visible: &[NodeRange],
    ) -> Result<Option<Recalled>, BoxError> {
        if !self.options.enabled || question.trim().is_empty() || is_small_talk(question) {
            return Ok(None);
        }
        let chosen = self.choose(conversation, asking, question, visible).await?;
        if chosen.is_empty() {
            return Ok(None);
        }
        let nodes = NodeRange::merge(chosen.iter().map(|node| NodeRange::single(node.id)).collect());
        let body = self.body(&chosen);
        let text = format!(
            "{}\n{}\n{body}\n{}\n\n{}",
            render::RECALL_LEAD,
            render::FENCE_OPEN,
            render::FENCE_CLOSE,
            render::QUESTION
        );
        Ok(Some(Recalled { text, nodes }))
    }

    /// The messages to show, in order of time.
    async fn choose(
        &self,
        conversation: &ConversationId,
        asking: NodeId,
        question: &str,
        visible: &[NodeRange],
    ) -> Result<Vec<Node>, BoxError> {
        let is_visible = |node: NodeId| visible.iter().any(|run| run.contains(node));
        // One more hit is requested, since the question is its own best one, and as many as messages are visible.
        let seen: u64 = visible.iter().map(|run| run.count()).sum();
        let limit = self.options.top_k + 1 + usize::try_from(seen).unwrap_or(MOST_VISIBLE).min(MOST_VISIBLE);
        let query =
            Query::new(question, Scope::one(conversation)).limit(limit).min_relevance(self.options.min_relevance);
        let hits = self.retriever.search(&query).await?.hits;
        let total = asking.get() - 1;
        let mut found: Vec<_> = hits.into_iter().map(|hit| Arc::unwrap_or_clone(hit.node)).collect();
        found.retain(|node| node.id < asking && !is_visible(node.id));
        found.truncate(self.options.top_k);
        let hits: Vec<_> = found.iter().map(|node| node.id).collect();
        let around = |hit: &NodeId| NodeRange::single(*hit).widen(self.options.radius, total);
        let beside =
            hits.iter().flat_map(|hit| around(hit).iter()).filter(|node| !hits.contains(node) && !is_visible(*node));
        for run in NodeRange::merge(beside.map(NodeRange::single).collect()) {
            found.extend(self.store.readable_nodes(conversation, run).await?.nodes);
        }
        // All hits come before any neighbour, the best first; neighbours in the order of their hits.
        let rank = |node: &Node| {
            let own = hits.iter().position(|hit| *hit == node.id);
            let beside = hits.iter().position(|hit| around(hit).contains(node.id));
            (own.is_none(), own.or(beside), node.id)
        };
        found.sort_by_key(rank);
        let mut chosen: Vec<Node> = Vec::new();
        for node in found {
            let id = node.id;
            chosen.push(node);
            chosen.sort_by_key(|node| node.id);
            if !self.options.budget.fits(&self.body(&chosen)) {
                match chosen.as_mut_slice() {
                    // The best hit is always kept: it is shortened in its middle.
                    [best] => self.shorten(best),
                    _ => chosen.retain(|node| node.id != id),
                }
            }
        }
        if !self.options.budget.fits(&self.body(&chosen)) {
            // The budget does not even fit the label.
            chosen.clear();
        }
        Ok(chosen)
    }

    fn line(&self, node: &Node) -> String {
        if self.options.include_metadata { render::dated_line(node) } else { render::bare_line(node) }
    }

    fn body(&self, nodes: &[Node]) -> String {
        let mut lines = Vec::new();
        let mut before: Option<NodeRange> = None;
        for node in nodes {
            let here = NodeRange::single(node.id);
            lines.extend(before.and_then(|before| render::gap_line(before, here)));
            lines.push(self.line(node));
            before = Some(here);
        }
        lines.join("\n")
    }

    /// Shortens a message in its middle until it fits on its own. No tool is named, since a hook knows of none.
    fn shorten(&self, node: &mut Node) {
        let (budget, text) = (&self.options.budget, node.message.text());
        let count = |text: &str| budget.count(text);
        let shortener = Shortener { layout: Layout::for_question(false), unit: budget.unit(), count: &count };
        let mut most = budget.most();
        loop {
            let shown = shortener.head_and_tail(&text, node.id, most).unwrap_or_else(|| text.clone());
            node.message.content = vec![ContentBlock::Text(shown)];
            let excess = budget.count(&self.line(node)).saturating_sub(budget.most());
            if excess == 0 || most == 0 {
                break;
            }
            most = most.saturating_sub(excess);
        }
    }
}

impl Hook<MessageAdded> for RecallHook {
    fn name(&self) -> &'static str {
        "recall"
    }

    fn call<'a>(&'a self, event: &'a mut MessageAdded) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async move {
            // The message is in the log already. An error for this optional text would make the caller append it again.
            if let Err(error) = self.enrich(event).await {
                tracing::warn!(conversation = %event.conversation, node = %event.node, %error, "nothing recalled");
            }
            Ok(())
        })
    }
}

impl HookProvider for RecallHook {
    fn register(self: Arc<Self>, registry: &mut HookRegistry) {
        registry.add::<MessageAdded>(self);
    }
}
