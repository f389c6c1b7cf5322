//! Chooses the conversations of a large scope that are ranked node by node.

use std::{collections::BTreeMap, sync::RwLockReadGuard};

use memory_core::port::{ConversationState, VectorAnswer};

use crate::lexical::{
    AllWords, Bm25, Collection, Languages, Postings, ScopedSegment, Vocabulary, Weighed, asked, before, occurrences,
    together,
};

/// Nodes of the chosen conversations together, from which on no further one is chosen.
const NODES: u64 = 12_000;
/// Minimum and maximum number of chosen conversations, whatever their nodes.
pub(crate) const FEWEST: usize = 16;
const MOST: usize = 128;
/// Number of best conversations by words, and by meaning, that are always chosen.
const BEST_OF_EACH: usize = 12;

/// Weights of a conversation's score by words: its best node by either BM25, its three best nodes, and its coverage of
/// the question.
const CHAT_PART: f32 = 0.3;
const AGENT_PART: f32 = 0.3;
const THREE_PART: f32 = 0.2;
const COVERAGE_PART: f32 = 0.2;
/// Weight of its title.
const TITLE_PART: f32 = 0.5;

/// The conversations of a scope, numbered, with their words.
#[derive(Debug)]
pub(crate) struct Shortlist<'a> {
    pub(crate) states: &'a [ConversationState],
    /// Number of first nodes of each conversation that others cover.
    pub(crate) seen: &'a [u64],
    pub(crate) words: &'a AllWords,
    /// Indices of the nodes that count for nothing, by the number of their conversation.
    pub(crate) hidden: &'a BTreeMap<usize, Vec<usize>>,
}

/// Data about the question.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShortlistEvidence<'a> {
    /// Words of the question, weighted over the whole scope.
    pub(crate) question: &'a Weighed,
    /// Share of these words in the title of each conversation.
    pub(crate) titles: &'a [f32],
    /// Vectors nearest to the question among all conversations.
    pub(crate) nearest: Option<&'a VectorAnswer>,
}

/// Best scores of the nodes of one conversation.
#[derive(Clone, Copy, Debug, Default)]
struct Best {
    /// Three best scores, best first.
    chat: [f32; 3],
    agent: f32,
    /// IDF of the terms that the conversation contains.
    covered: f32,
}

impl Best {
    /// Sum of the three best scores.
    fn three(&self) -> f32 {
        self.chat.iter().sum()
    }

    fn add(&mut self, chat: f32, agent: f32) {
        self.agent = self.agent.max(agent);
        let mut value = chat;
        for place in &mut self.chat {
            if value > *place {
                std::mem::swap(place, &mut value);
            }
        }
    }
}

impl Shortlist<'_> {
    /// Words of a question, weighted by their rarity in the whole scope.
    pub(crate) fn weigh(&self, question: &str) -> Weighed {
        let unsaved: Vec<_> = self.words.unsaved.values().map(|indexed| indexed.read()).collect();
        let mut all = unsaved.iter().fold(Collection::default(), |all, postings| all.with(postings));
        for ScopedSegment { segment, conversations } in &self.words.saved {
            for (run, _) in conversations.iter().enumerate().filter(|(_, of)| of.is_some()) {
                let (nodes, total_length) = segment.counts(run);
                all = Collection { nodes: all.nodes + nodes, total_length: all.total_length + total_length };
            }
        }
        let words = AllTerms { unsaved, saved: &self.words.saved };
        let languages = Languages::with_nodes(|marker| words.nodes_with(marker));
        Weighed::of(&asked(question, languages), all, &words)
    }

    /// Conversations with unreadable nodes, which are reported.
    pub(crate) fn with_losses(&self) -> Vec<usize> {
        let saved = self.words.saved.iter().flat_map(|ScopedSegment { segment, conversations }| {
            let runs = conversations.iter().zip(segment.runs()).enumerate();
            let lossy = runs.filter(|(run, (_, of))| segment.counts(*run).0 < of.nodes.count());
            lossy.filter_map(|(_, (number, _))| *number)
        });
        let unsaved = self.words.unsaved.iter().filter(|(_, indexed)| indexed.read().losses().count() > 0);
        saved.chain(unsaved.map(|(number, _)| *number)).collect()
    }

    /// Score of each conversation by the question's words, 0..=1.
    fn by_words(&self, question: &Weighed) -> Vec<f32> {
        let mut best = vec![Best::default(); self.states.len()];
        for scoped in &self.words.saved {
            self.add_saved(scoped, question, &mut best);
        }
        for (number, indexed) in &self.words.unsaved {
            let Some(best) = best.get_mut(*number) else { continue };
            let postings = indexed.read();
            let terms = question.occurrences(&postings);
            best.covered = terms.iter().filter(|term| !term.nodes.is_empty()).map(|term| term.idf).sum();
            let [chat, agent] = [Bm25::CHAT, Bm25::AGENT].map(|bm25| bm25.scores(&postings, &terms, question.all));
            let seen = self.seen_of(*number);
            chat.into_iter().zip(agent).skip(seen).for_each(|(chat, agent)| best.add(chat, agent));
        }
        let (chat, agent) = (highest(&best, |best| best.chat[0]), highest(&best, |best| best.agent));
        let three = highest(&best, Best::three);
        let score = |best: &Best| {
            CHAT_PART * best.chat[0] / chat
                + AGENT_PART * best.agent / agent
                + THREE_PART * best.three() / three
                + COVERAGE_PART * best.covered / question.total.max(f32::MIN_POSITIVE)
        };
        best.iter().map(score).collect()
    }

    /// Adds the nodes of a segment.
    fn add_saved(&self, scoped: &ScopedSegment, question: &Weighed, best: &mut [Best]) {
        let ScopedSegment { segment, conversations } = scoped;
        let average = question.all.average_length();
        let (mut chat, mut agent) = (vec![0.0f32; segment.nodes()], vec![0.0f32; segment.nodes()]);
        let mut is_touched = vec![false; conversations.len()];
        for word in &question.words {
            let mut runs: BTreeMap<usize, Vec<(u32, u32)>> = BTreeMap::new();
            for entry in word.forms.iter().flat_map(|form| segment.entries(form)) {
                let Some(run) = segment.runs().get(entry.run) else { continue };
                let nodes = runs.entry(entry.run).or_default();
                *nodes = together(std::mem::take(nodes), occurrences(entry.pairs, before(run.nodes)).collect());
            }
            for (number_of_run, nodes) in runs {
                let (Some(Some(number)), Some(run)) =
                    (conversations.get(number_of_run), segment.runs().get(number_of_run))
                else {
                    continue;
                };
                if let Some(best) = best.get_mut(*number) {
                    best.covered += word.idf;
                }
                if let Some(is_touched) = is_touched.get_mut(number_of_run) {
                    *is_touched = true;
                }
                let (first, begin) = (before(run.nodes), segment.begin(number_of_run));
                for (position, count) in nodes {
                    let at = begin + (position - first) as usize - 1;
                    #[expect(clippy::cast_precision_loss, reason = "counts of terms in a message are small")]
                    let (count, length) = (count as f32, segment.length(at) as f32 / average);
                    for (scores, bm25) in [(&mut chat, Bm25::CHAT), (&mut agent, Bm25::AGENT)] {
                        if let Some(score) = scores.get_mut(at) {
                            *score += word.idf * bm25.weight(count, length);
                        }
                    }
                }
            }
        }
        let touched = conversations.iter().enumerate().filter(|(run, _)| is_touched.get(*run) == Some(&true));
        for (run, number) in touched {
            let (Some(number), Some(of)) = (number, segment.runs().get(run)) else { continue };
            let Some(best) = best.get_mut(*number) else { continue };
            let begin = segment.begin(run);
            let end = begin + usize::try_from(of.nodes.count()).unwrap_or_default();
            let seen = self.seen_of(*number).saturating_sub(of.nodes.first().index());
            let nodes = (begin + seen).min(end)..end;
            let scores = chat.get(nodes.clone()).into_iter().flatten().zip(agent.get(nodes).into_iter().flatten());
            scores.for_each(|(chat, agent)| best.add(*chat, *agent));
        }
    }

    fn seen_of(&self, number: usize) -> usize {
        self.seen.get(number).and_then(|seen| usize::try_from(*seen).ok()).unwrap_or_default()
    }

    /// Numbers of the chosen conversations, in order; always includes `always`.
    pub(crate) fn choose(&self, evidence: ShortlistEvidence<'_>, always: &[usize]) -> Vec<usize> {
        let mut words = self.by_words(evidence.question);
        words.iter_mut().zip(evidence.titles).for_each(|(words, title)| *words += TITLE_PART * title);
        let meaning = evidence.nearest.map_or_else(Vec::new, |nearest| self.by_meaning(nearest));
        let both =
            words.iter().enumerate().map(|(number, words)| words + meaning.get(number).copied().unwrap_or_default());
        let [words, meaning, both] = [words.clone(), meaning.clone(), both.collect()].map(|scores| order(&scores));
        let mut chosen: std::collections::BTreeSet<usize> = always.iter().copied().collect();
        chosen.extend(words.iter().take(BEST_OF_EACH).chain(meaning.iter().take(BEST_OF_EACH)));
        let nodes_of = |number: usize| self.states.get(number).map_or(0, |state| state.nodes);
        let mut nodes: u64 = chosen.iter().map(|number| nodes_of(*number)).sum();
        for number in both {
            if chosen.len() >= FEWEST && (nodes >= NODES || chosen.len() >= MOST) {
                break;
            }
            if chosen.insert(number) {
                nodes += nodes_of(number);
            }
        }
        chosen.into_iter().collect()
    }

    /// Score of each conversation by meaning, 0..=1, from its best node and its three best.
    fn by_meaning(&self, nearest: &VectorAnswer) -> Vec<f32> {
        let mut best = vec![Best::default(); self.states.len()];
        let low = nearest.hits.iter().map(|hit| hit.cosine).fold(f32::INFINITY, f32::min);
        for hit in &nearest.hits {
            let is_hidden = |hidden: &Vec<usize>| hidden.binary_search(&hit.slot.node.index()).is_ok();
            if hit.slot.node.index() >= self.seen_of(hit.part)
                && !self.hidden.get(&hit.part).is_some_and(is_hidden)
                && let Some(best) = best.get_mut(hit.part)
            {
                best.add(hit.cosine - low, 0.0);
            }
        }
        let (one, three) = (highest(&best, |best| best.chat[0]), highest(&best, Best::three));
        best.iter().map(|best| 0.7 * best.chat[0] / one + 0.3 * best.three() / three).collect()
    }
}

/// Terms of a scope.
struct AllTerms<'a> {
    unsaved: Vec<RwLockReadGuard<'a, Postings>>,
    saved: &'a [ScopedSegment],
}

impl Vocabulary for AllTerms<'_> {
    fn nodes_with(&self, term: &str) -> u64 {
        let new: u64 = self.unsaved.iter().map(|postings| u64::from(postings.nodes_with(term))).sum();
        let saved = self.saved.iter().flat_map(|scoped| {
            let entries = scoped.segment.entries(term);
            entries.filter(|entry| matches!(scoped.conversations.get(entry.run), Some(Some(_))))
        });
        new + saved.map(|entry| u64::from(entry.nodes)).sum::<u64>()
    }

    fn each_term(&self, visit: &mut dyn FnMut(&str)) {
        self.unsaved.iter().for_each(|postings| postings.each_term(visit));
        self.saved.iter().for_each(|scoped| scoped.segment.terms().for_each(|(term, _)| visit(term)));
    }
}

/// Highest of some scores, at least slightly above 0.
fn highest(all: &[Best], of: impl Fn(&Best) -> f32) -> f32 {
    all.iter().map(of).fold(f32::MIN_POSITIVE, f32::max)
}

/// Indices of the scores above 0, best first.
fn order(scores: &[f32]) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..scores.len()).filter(|number| scores.get(*number) > Some(&0.0)).collect();
    numbers.sort_by(|a, b| scores.get(*b).partial_cmp(&scores.get(*a)).unwrap_or(a.cmp(b)).then(a.cmp(b)));
    numbers
}
