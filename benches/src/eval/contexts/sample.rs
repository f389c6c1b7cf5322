//! The questions of a sample, and the best hits of each, packed into a budget: the baseline of every context.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use memory_core::{Node, NodeId, NodeRange, port::RecallRequest};
use memory_hooks::PromptOptions;

use crate::eval::{EvalParts, Question, questions, subject::Subject};

/// A question of a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::eval) struct Asked {
    /// The directory of its data set.
    pub(in crate::eval) directory: PathBuf,
    pub(in crate::eval) question: Question,
}

/// At most `count` of the questions in some directories that have an answer, spread evenly.
///
/// # Errors
/// When questions cannot be read, or none has an answer.
pub(in crate::eval) fn sample(directories: &[PathBuf], count: Option<usize>, seed: u64) -> Result<Vec<Asked>> {
    let mut all = Vec::new();
    for directory in directories {
        let questions = questions(directory)?.into_iter();
        let answered = questions.filter(|question| question.answerable && !question.answer.trim().is_empty());
        all.extend(answered.map(|question| Asked { directory: directory.clone(), question }));
    }
    ensure!(!all.is_empty(), "no question in the data has an answer");
    let names: Vec<String> = all.iter().map(|asked| data_name(&asked.directory)).collect();
    let traits = all.iter().zip(&names).map(|(Asked { question, .. }, data)| Traits {
        data,
        category: &question.category,
        conversation: question.conversation.as_str(),
    });
    let traits: Vec<_> = traits.collect();
    let picked = pick(&traits, count.unwrap_or(all.len()), seed);
    Ok(picked.into_iter().filter_map(|index| all.get(index).cloned()).collect())
}

/// Name of a data set, which is that of its directory.
pub(in crate::eval) fn data_name(directory: &Path) -> String {
    directory.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Properties of a question over which the sample is spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Traits<'a> {
    data: &'a str,
    category: &'a str,
    conversation: &'a str,
}

impl<'a> Traits<'a> {
    /// Cells that the sample balances: data set, category, conversation, and category within the conversation.
    fn cells(self) -> [[&'a str; 3]; 4] {
        let Self { data, category, conversation } = self;
        [[data, "", ""], [data, category, ""], [data, "", conversation], [data, category, conversation]]
    }
}

/// Indexes of `count` questions, or of all if there are fewer, in the order in which they were chosen. A smaller sample
/// with the same seed is the beginning of a larger one.
fn pick(questions: &[Traits<'_>], count: usize, seed: u64) -> Vec<usize> {
    let mut left: Vec<usize> = (0..questions.len()).collect();
    fastrand::Rng::with_seed(seed).shuffle(&mut left);
    let mut chosen = BTreeMap::<[&str; 3], usize>::new();
    let mut picked = Vec::with_capacity(count.min(left.len()));
    while picked.len() < count {
        // The first of equal ranks is taken, so the shuffle decides.
        let count = |cell| chosen.get(&cell).copied().unwrap_or_default();
        let rank = |index: &usize| Some(questions.get(*index)?.cells().map(count));
        let ranks = left.iter().enumerate().filter_map(|(at, index)| Some((rank(index)?, at)));
        let Some((_, at)) = ranks.min() else { break };
        let index = left.remove(at);
        let cells = questions.get(index).into_iter().flat_map(|traits| traits.cells());
        cells.for_each(|cell| *chosen.entry(cell).or_default() += 1);
        picked.push(index);
    }
    picked
}

/// Hits in the form that a model is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hits {
    /// Messages in chronological order.
    pub(super) nodes: Vec<NodeId>,
    /// `[Message N, speaker, date]: text` for each, then the question.
    pub(super) text: String,
    pub(super) tokens: u32,
}

/// The best hits that fit a budget together with the question.
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
/// labels. Blank messages are left out.
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
    let text: String = in_order.iter().filter_map(|id| nodes.get(id.index())).map(|node| line(node) + "\n").collect();
    text + "\n" + question
}

/// A message with its number, its speaker and, if known, its day.
fn line(node: &Node) -> String {
    let at = node.at.to_string();
    let day = at.split('T').next().filter(|_| node.at.is_known());
    let day = day.map(|day| format!(", {day}")).unwrap_or_default();
    format!("[Message {}, {}{day}]: {}", node.id, node.message.speaker_or_role(), node.message.text())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Data set `a`: 60 questions of category `x` and 6 of `y` in 3 conversations; `b`: 4 of one category.
    fn questions() -> Vec<Traits<'static>> {
        let mut questions = Vec::new();
        for (conversation, _) in [("a1", 0), ("a2", 0), ("a3", 0)] {
            questions.extend([Traits { data: "a", category: "x", conversation }; 20]);
            questions.extend([Traits { data: "a", category: "y", conversation }; 2]);
        }
        questions.extend([Traits { data: "b", category: "x", conversation: "b1" }; 4]);
        questions
    }

    fn counts(picked: &[usize], of: impl Fn(Traits<'static>) -> bool) -> usize {
        let questions = questions();
        picked.iter().filter(|index| of(questions[**index])).count()
    }

    #[test]
    fn a_sample_is_spread_over_data_categories_and_conversations() {
        let picked = pick(&questions(), 16, 7);
        assert_eq!(picked.len(), 16);
        assert_eq!(counts(&picked, |it| it.data == "b"), 4, "all that there are");
        for category in ["x", "y"] {
            assert_eq!(counts(&picked, |it| it.data == "a" && it.category == category), 6, "{category}");
        }
        for conversation in ["a1", "a2", "a3"] {
            assert_eq!(counts(&picked, |it| it.conversation == conversation), 4, "{conversation}");
        }
    }

    #[test]
    fn a_seed_gives_one_sample_and_a_smaller_one_is_its_beginning() {
        let all = questions();
        assert_eq!(pick(&all, 20, 7), pick(&all, 20, 7));
        assert_eq!(pick(&all, 20, 7)[..5], pick(&all, 5, 7));
        assert_ne!(pick(&all, 20, 7), pick(&all, 20, 8));
        let mut whole = pick(&all, 999, 7);
        whole.sort_unstable();
        assert_eq!(whole, (0..all.len()).collect::<Vec<_>>(), "no question twice, and all of them at most");
    }
}
