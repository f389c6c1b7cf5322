//! BM25 scores and term coverage.

use super::{Asked, NodeTable, Postings, Vocabulary};

/// The two parameters of BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bm25 {
    /// Saturation of repeated occurrences; above 0.
    pub(crate) k1: f32,
    /// Strength of length normalization, in 0..=1.
    pub(crate) b: f32,
}

/// Statistics of all searched nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Collection {
    pub(crate) nodes: u64,
    /// Number of terms in all nodes.
    pub(crate) total_length: u64,
}

/// A word of the question with its weight.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct QuestionWord {
    /// Terms, any of which is the word.
    pub(crate) forms: Vec<Box<str>>,
    /// Inverse document frequency.
    pub(crate) idf: f32,
}

/// Maximum words of a question, rarest first, since a pasted page need not be looked up in full.
const MAX_WORDS: usize = 64;

/// Words of a question, weighted by their rarity among all searched nodes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Weighed {
    /// Words that some node contains, rarest first.
    pub(crate) words: Vec<QuestionWord>,
    /// Words that no node contains, but a title may.
    pub(crate) unheard: Vec<QuestionWord>,
    /// IDF of all words together, including those that no node contains.
    pub(crate) total: f32,
    pub(crate) all: Collection,
}

impl Weighed {
    /// Weights words by the number of nodes that contain them.
    pub(crate) fn of(asked: &Asked, all: Collection, vocabulary: &dyn Vocabulary) -> Self {
        let mut total = 0.0;
        let (mut heard, mut unheard) = (Vec::new(), Vec::new());
        for mut forms in asked.words_in(vocabulary) {
            let nodes_with: u64 = forms.iter().map(|form| vocabulary.nodes_with(form)).sum();
            let idf = all.idf(nodes_with.min(all.nodes));
            total += idf;
            if nodes_with > 0 {
                forms.retain(|form| vocabulary.nodes_with(form) > 0);
                heard.push(QuestionWord { forms, idf });
            } else {
                unheard.push(QuestionWord { forms, idf });
            }
        }
        heard.sort_by(|a, b| b.idf.total_cmp(&a.idf));
        heard.truncate(MAX_WORDS);
        Self { words: heard, unheard, total, all }
    }

    /// Occurrences of the words in a conversation.
    pub(crate) fn occurrences(&self, postings: &Postings) -> Vec<Occurrences> {
        let of = |word: &QuestionWord| {
            let of_forms = word.forms.iter().map(|form| postings.occurrences(form)).filter(|nodes| !nodes.is_empty());
            Occurrences { idf: word.idf, nodes: of_forms.reduce(together).unwrap_or_default() }
        };
        self.words.iter().map(of).collect()
    }
}

/// Occurrences of two forms of a word, sorted: a node with both has it as often as the more frequent form.
pub(crate) fn together<T: Ord + Copy>(mut one: Vec<(T, u32)>, other: Vec<(T, u32)>) -> Vec<(T, u32)> {
    one.extend(other);
    one.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
    one.dedup_by_key(|(node, _)| *node);
    one
}

/// Nodes of a conversation that contain a term, as indices from 0, with the number of occurrences.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Occurrences {
    pub(crate) idf: f32,
    pub(crate) nodes: Vec<(usize, u32)>,
}

impl Bm25 {
    /// Parameters for the short turns of a chat.
    pub(crate) const CHAT: Self = Self { k1: 0.9, b: 0.4 };
    /// Parameters for the long turns of an agent.
    pub(crate) const AGENT: Self = Self { k1: 1.2, b: 0.8 };

    /// Score of every node; 0 for a node without a term of the question.
    pub(crate) fn scores(self, postings: &Postings, terms: &[Occurrences], all: Collection) -> Vec<f32> {
        let lengths: Vec<_> = postings.lengths().iter().map(|&length| to_f32(length)).collect();
        let mut scores = vec![0.0; lengths.len()];
        for term in terms {
            for &(index, count) in &term.nodes {
                if let (Some(score), Some(length)) = (scores.get_mut(index), lengths.get(index)) {
                    *score += term.idf * self.weight(to_f32(count), length / all.average_length());
                }
            }
        }
        scores
    }

    /// Score of every node in its context: of a text that contains the node twice, and each neighbour in the session
    /// once. An answer often replies to a message with the words of the question.
    pub(crate) fn window_scores(self, postings: &Postings, terms: &[Occurrences], all: Collection) -> Vec<f32> {
        let lengths: Vec<_> = postings.lengths().iter().map(|&length| to_f32(length)).collect();
        let lengths = windows(&lengths, postings.node_table());
        let average_length = 4.0 * all.average_length();
        let mut scores = vec![0.0; lengths.len()];
        let mut counts = vec![0.0; lengths.len()];
        for term in terms {
            counts.fill(0.0);
            for &(index, count) in &term.nodes {
                if let Some(slot) = counts.get_mut(index) {
                    *slot = to_f32(count);
                }
            }
            for ((score, count), length) in scores.iter_mut().zip(windows(&counts, postings.node_table())).zip(&lengths)
            {
                *score += term.idf * self.weight(count, length / average_length);
            }
        }
        scores
    }

    /// Weight of `count` occurrences in a text of `length` times the average.
    pub(crate) fn weight(self, count: f32, length: f32) -> f32 {
        let Self { k1, b } = self;
        count * (k1 + 1.0) / (count + k1 * (1.0 - b + b * length))
    }
}

/// Twice each value plus the values of its neighbours in the session.
fn windows(values: &[f32], table: &NodeTable) -> Vec<f32> {
    let mut windows: Vec<_> = values.iter().map(|value| 2.0 * value).collect();
    for (after, (pair, traits)) in (1..).zip(values.windows(2).zip(table.traits().windows(2))) {
        let (&[before, here], &[one, other]) = (pair, traits) else { continue };
        if one.session != other.session {
            continue;
        }
        if let Some(window) = windows.get_mut(after - 1) {
            *window += here;
        }
        if let Some(window) = windows.get_mut(after) {
            *window += before;
        }
    }
    windows
}

/// Share of a question's terms in each node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Coverage {
    /// Share of the question's total IDF in the node, in 0..=1.
    pub(crate) node: Vec<f32>,
    /// Share in the node with its neighbours in the session.
    pub(crate) window: Vec<f32>,
}

impl Coverage {
    /// Coverage of every node; `total` is the IDF of all terms together, including those that no node contains.
    pub(crate) fn of(postings: &Postings, terms: &[Occurrences], total: f32) -> Self {
        let nodes = postings.lengths().len();
        let mut coverage = Self { node: vec![0.0; nodes], window: vec![0.0; nodes] };
        let mut holds = vec![0.0; nodes];
        for term in terms {
            let share = term.idf / total.max(f32::MIN_POSITIVE);
            holds.fill(0.0);
            for &(index, _) in &term.nodes {
                if let Some(holds) = holds.get_mut(index) {
                    *holds = 1.0;
                }
            }
            let nearby = windows(&holds, postings.node_table());
            for ((node, window), (holds, nearby)) in
                coverage.node.iter_mut().zip(&mut coverage.window).zip(holds.iter().zip(nearby))
            {
                *node += share * holds;
                *window += if nearby > 0.0 { share } else { 0.0 };
            }
        }
        coverage
    }
}

impl Collection {
    /// Adds the nodes of one conversation.
    pub(crate) fn with(self, postings: &Postings) -> Self {
        Self { nodes: self.nodes + postings.readable(), total_length: self.total_length + postings.total_length() }
    }

    /// Mean number of terms of a node, at least 1.
    #[expect(clippy::cast_precision_loss, reason = "a mean needs no more than 24 bits")]
    pub(crate) fn average_length(self) -> f32 {
        (self.total_length as f32 / self.nodes.max(1) as f32).max(1.0)
    }

    /// Inverse document frequency of a term in `nodes_with` nodes; above 0 (Lucene's variant).
    #[expect(clippy::cast_precision_loss, reason = "a logarithm needs no more than 24 bits")]
    pub(crate) fn idf(self, nodes_with: u64) -> f32 {
        let (all, with) = (self.nodes as f32, nodes_with as f32);
        ((all - with + 0.5).max(0.5) / (with + 0.5)).ln_1p()
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of terms in a message are small")]
fn to_f32(count: u32) -> f32 {
    count as f32
}

#[cfg(test)]
mod tests {
    use memory_core::NodeId;

    use super::*;
    use crate::lexical::{Language, Languages, asked, terms_of};

    fn index(texts: &[&str]) -> (Postings, Collection) {
        let mut postings = Postings::default();
        for (index, text) in texts.iter().enumerate() {
            postings.push(NodeId::from_index(index), None, terms_of(text, Language::English));
        }
        let all = Collection::default().with(&postings);
        (postings, all)
    }

    fn weigh(all: Collection, postings: &Postings, words: &str) -> Weighed {
        Weighed::of(&asked(words, Languages::ENGLISH), all, postings)
    }

    #[test]
    fn scores_are_those_of_the_formula() {
        let (postings, all) = index(&["red red blue", "blue green green green", "grey"]);
        let scores =
            Bm25 { k1: 1.2, b: 0.8 }.scores(&postings, &weigh(all, &postings, "red blue").occurrences(&postings), all);
        let average = 8.0f64 / 3.0;
        let term = |idf: f64, count: f64, length: f64| {
            idf * count * 2.2 / (count + 1.2 * (1.0 - 0.8 + 0.8 * length / average))
        };
        let idf = |with: f64| (1.0 + (3.0 - with + 0.5) / (with + 0.5)).ln();
        let expected = [term(idf(1.0), 2.0, 3.0) + term(idf(2.0), 1.0, 3.0), term(idf(2.0), 1.0, 4.0), 0.0];
        for (score, expected) in scores.iter().zip(expected) {
            assert!((f64::from(*score) - expected).abs() < 1e-5, "{score} is not {expected}");
        }
    }

    #[test]
    fn a_window_scores_as_the_text_that_it_stands_for() {
        let texts = ["red blue", "green", "blue blue grey", "red"];
        let (postings, all) = index(&texts);
        let weighed = weigh(all, &postings, "red blue");
        let found = Bm25::CHAT.window_scores(&postings, &weighed.occurrences(&postings), all);
        let around = |at: usize| {
            let neighbour = |at: Option<usize>| at.and_then(|at| texts.get(at)).copied().unwrap_or_default();
            let (before, after) = (neighbour(at.checked_sub(1)), neighbour(Some(at + 1)));
            format!("{before} {} {} {after}", texts[at], texts[at])
        };
        for (at, found) in found.into_iter().enumerate() {
            let (window, _) = index(&[&around(at)]);
            let terms = weighed.occurrences(&window);
            let four_times = Collection { nodes: all.nodes, total_length: 4 * all.total_length };
            let expected = Bm25::CHAT.scores(&window, &terms, four_times)[0];
            assert!((found - expected).abs() < 1e-5, "node {at}: {found} is not {expected}");
        }
    }

    #[test]
    fn a_term_of_every_node_still_counts() {
        let (postings, all) = index(&["red", "red blue"]);
        let scores = Bm25::AGENT.scores(&postings, &weigh(all, &postings, "red").occurrences(&postings), all);
        assert!(scores.iter().all(|&score| score > 0.0), "{scores:?}");
    }
}
