//! The best hits of a search, packed into a budget in order of time: the baseline of every context.

use anyhow::{Context, Result, ensure};
use memory_cli::import::eval::Question;
use memory_core::{Node, NodeId, NodeRange, RecallRequest};
use memory_hooks::PromptOptions;

use crate::eval::{EvalParts, subject::Subject};

/// What a model is shown of the hits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hits {
    /// In order of time.
    pub(super) nodes: Vec<NodeId>,
    /// `[Message N, speaker, date]: text` for each, then the question.
    pub(super) text: String,
    pub(super) tokens: u32,
}

/// As many of the best hits as fit a budget, including the question.
///
/// # Errors
/// When the search fails, or the question alone is over the budget.
pub(super) async fn best_hits(
    parts: &EvalParts,
    question: &Question,
    subject: &Subject,
    nodes: &[Node],
    budget: u32,
) -> Result<Hits> {
    let room = budget.saturating_sub(parts.counter.count(&format!("\n{}", question.text)));
    let mut packed = pack(parts, question, subject, nodes, room, labels(parts, nodes)).await?;
    // Labels differ by a few tokens from their mean. If the text is too long, the worst hit is dropped.
    loop {
        let text = written(nodes, &packed, &question.text);
        let tokens = parts.counter.count(&text);
        if tokens <= budget {
            packed.sort_unstable();
            return Ok(Hits { nodes: packed, text, tokens });
        }
        ensure!(packed.pop().is_some(), "{}: the question alone takes {tokens} tokens of {budget}", question.id);
    }
}

/// The messages that recall packs into `room` if nothing else is shown, best first, each with `per_message` tokens of
/// labels. Messages without a word carry no information and are left out.
///
/// # Errors
/// When the search fails.
pub(in crate::eval) async fn pack(
    parts: &EvalParts,
    question: &Question,
    subject: &Subject,
    nodes: &[Node],
    room: u32,
    per_message: u32,
) -> Result<Vec<NodeId>> {
    let blank = nodes.iter().filter(|node| node.message.text().trim().is_empty());
    let request = RecallRequest::new(&question.text, &subject.id, room)
        .per_message(per_message)
        .limit(PromptOptions::default().recall_limit)
        .shown(NodeRange::merge(blank.map(|node| NodeRange::single(node.id)).collect()));
    let recalled = parts.retriever.recall(&request).await.with_context(|| format!("packing for {}", question.id))?;
    let mut packed = Vec::new();
    for excerpt in &recalled.excerpts {
        for node in excerpt.nodes.iter() {
            let score =
                excerpt.hits.iter().find(|hit| hit.node.id == node).map_or(f32::NEG_INFINITY, |hit| hit.score.value);
            packed.push((score, node));
        }
    }
    packed.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    Ok(packed.into_iter().map(|(_, node)| node).collect())
}

/// Mean tokens of a label with its line end, in a conversation.
fn labels(parts: &EvalParts, nodes: &[Node]) -> u32 {
    let label = |node: &Node| parts.counter.count(&format!("{}\n", line(node))).saturating_sub(node.tokens);
    let all: u64 = nodes.iter().map(|node| u64::from(label(node))).sum();
    u32::try_from(all / (nodes.len() as u64).max(1)).unwrap_or(u32::MAX)
}

fn written(nodes: &[Node], packed: &[NodeId], question: &str) -> String {
    let mut in_order = packed.to_vec();
    in_order.sort_unstable();
    let mut text: String =
        in_order.iter().filter_map(|id| nodes.get(id.index())).map(|node| line(node) + "\n").collect();
    text += "\n";
    text += question;
    text
}

/// A message with its number, its speaker and, if known, its day.
fn line(node: &Node) -> String {
    let at = node.at.to_string();
    let day = at.split('T').next().filter(|_| node.at.is_known());
    let day = day.map(|day| format!(", {day}")).unwrap_or_default();
    format!("[Message {}, {}{day}]: {}", node.id, node.message.speaker_or_role(), node.message.text())
}
