//! Messages with facts from the rest of their conversation: level, links, the results of their calls.

use memory_core::{AiComponents, Level, Node, NodeId, NodeRange, plan::Tree, port::Losses};

use crate::{
    Conversation, MemoryError,
    links::{LOOKED_BACK, Links},
    snapshot_cache::Snapshot,
};

/// Most messages after a run that are read for the results of its calls.
const ANSWERS: u64 = 64;

/// A message with facts from the rest of its conversation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NodeDetails {
    /// The message. Its `relates_to` is the link that the caller stored, or else the link by rules.
    pub node: Node,
    /// Level of the highest summary over the message.
    pub level: Level,
    /// True if a view may show something shorter instead.
    pub is_expandable: bool,
    /// Later messages with the results of the message's calls, in order.
    pub answers: Vec<Node>,
}

/// Messages of a run.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct DetailedNodes {
    /// Messages that can be read, in order.
    pub nodes: Vec<NodeDetails>,
    /// Messages that cannot be read.
    pub losses: Losses,
}

impl NodeDetails {
    /// The parts of the message, with the results of its calls.
    #[must_use]
    pub fn components(&self) -> AiComponents<'_> {
        self.answers.iter().fold(AiComponents::of(&self.node.message), AiComponents::answered_by)
    }
}

impl Conversation {
    /// The messages of a run with facts from the rest of the conversation.
    ///
    /// # Errors
    /// If the conversation does not exist, or the store fails other than by damage.
    pub async fn details(&self, run: NodeRange) -> Result<DetailedNodes, MemoryError> {
        self.call(move |this| async move {
            let snapshot = Snapshot::read(&this.parts, &this.id).await?;
            let tree = &snapshot.tree;
            let read = this.parts.store.readable_nodes(&this.id, run).await?;
            let around = this.around(run, tree).await?;
            let mut links = Links::default();
            let before = around.iter().filter(|node| node.id < run.first());
            before.chain(&read.nodes).for_each(|node| links.add(node, &node.message.text()));
            let later = || read.nodes.iter().chain(around.iter().filter(|node| node.id > run.last()));
            let detailed = |node: &Node| {
                let level = tree.level(node.id);
                let calls: Vec<_> = node.message.tool_calls().collect();
                let turn = tree.turn_of(node.id);
                let answers = |answer: &&Node| {
                    turn.is_some_and(|turn| turn.contains(answer.id))
                        && answer.id > node.id
                        && answer.message.tool_results().any(|id| calls.contains(&id))
                };
                NodeDetails {
                    level,
                    is_expandable: is_expandable(tree, node, level),
                    answers: later().filter(answers).cloned().collect(),
                    node: node.clone().relates_to(links.of(node.id)),
                }
            };
            Ok(DetailedNodes { nodes: read.nodes.iter().map(detailed).collect(), losses: read.losses })
        })
        .await
    }

    /// Messages before a run that it may refer to, and messages after it that may answer its calls.
    async fn around(&self, run: NodeRange, tree: &Tree) -> Result<Vec<Node>, MemoryError> {
        let before = NodeRange::single(run.first()).widen(LOOKED_BACK as u64, tree.total());
        let before = NodeId::new(run.first().get() - 1).and_then(|last| NodeRange::new(before.first(), last));
        let end = tree.turn_of(run.last()).map_or(run.last(), NodeRange::last);
        let end = end.min(NodeId::new(run.last().get().saturating_add(ANSWERS)).unwrap_or(end));
        let after = NodeRange::new(run.last().next(), end);
        let mut nodes = Vec::new();
        for run in before.into_iter().chain(after) {
            nodes.extend(self.parts.store.readable_nodes(&self.id, run).await?.nodes);
        }
        Ok(nodes)
    }
}

/// True if a view may show a summary instead of a message. A short message stands where its own SUMMARY would.
fn is_expandable(tree: &Tree, node: &Node, level: Level) -> bool {
    level > Level::Summary || (level == Level::Summary && node.tokens >= tree.policy().short)
}
