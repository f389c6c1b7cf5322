//! The nodes that a question is asked of, in one sequence.

use std::{
    ops::Range,
    sync::{Arc, RwLockReadGuard},
};

use memory_core::{
    ConversationId, NodeId,
    port::{Losses, Notice},
};

use crate::{
    features::{Evidence, Placement},
    lexical::{Asked, Bm25, Collection, Coverage, Indexed, Languages, Postings, Talk, Vocabulary, Weighed, asked},
    question::Question,
};

/// The nodes of several distinct conversations in one sequence.
#[derive(Debug)]
pub(crate) struct Pool {
    parts: Vec<PooledConversation>,
    /// Number of erased and hidden nodes, which have neither words nor vectors.
    silent: usize,
}

#[derive(Debug)]
pub(crate) struct PooledConversation {
    pub(crate) conversation: ConversationId,
    pub(crate) indexed: Arc<Indexed>,
    /// Number of its first nodes in the pool: all that were indexed when the pool was made.
    pub(crate) nodes: usize,
    /// Unreadable nodes. They are never hits, although neighbours' words and old vectors may give them a score.
    pub(crate) losses: Losses,
    /// Kind of the conversation.
    pub(super) talk: Talk,
    /// Share of the question's words in its title, if several conversations are searched.
    pub(super) title: f32,
    /// Pool index of its first node.
    pub(super) begin: usize,
}

impl PooledConversation {
    pub(crate) fn places(&self) -> Range<usize> {
        self.begin..self.begin + self.nodes
    }
}

/// Postings of several conversations.
struct Guards<'a>(Vec<RwLockReadGuard<'a, Postings>>);

impl Vocabulary for Guards<'_> {
    fn nodes_with(&self, term: &str) -> u64 {
        self.0.iter().map(|postings| u64::from(postings.nodes_with(term))).sum()
    }

    fn each_term(&self, visit: &mut dyn FnMut(&str)) {
        self.0.iter().for_each(|postings| postings.each_term(visit));
    }
}

impl Pool {
    /// All currently indexed nodes of these conversations.
    pub(crate) fn new(conversations: Vec<(ConversationId, Arc<Indexed>)>) -> Self {
        let mut begin = 0;
        let parts = conversations.into_iter().map(|(conversation, indexed)| {
            let (nodes, losses, talk) = {
                let postings = indexed.read();
                (postings.lengths().len(), postings.losses().clone(), postings.node_table().talk())
            };
            let part = PooledConversation { conversation, indexed, nodes, losses, talk, title: 0.0, begin };
            begin += nodes;
            part
        });
        Self { parts: parts.collect(), silent: 0 }
    }

    pub(crate) fn parts(&self) -> &[PooledConversation] {
        &self.parts
    }

    /// Adds the share of the question's words in the title of each conversation. With a single conversation titles
    /// distinguish nothing, and are ignored.
    pub(crate) fn add_titles(&mut self, shares: impl Iterator<Item = f32>) {
        if self.parts.len() > 1 {
            self.parts.iter_mut().zip(shares).for_each(|(part, share)| part.title = share);
        }
    }

    /// Notes how many of the nodes were erased or are hidden.
    pub(crate) fn note_silent(&mut self, silent: u64) {
        self.silent = usize::try_from(silent).unwrap_or(usize::MAX);
    }

    /// Updates the known losses.
    pub(crate) fn refresh(&mut self) {
        self.parts.iter_mut().for_each(|part| part.losses.clone_from(part.indexed.read().losses()));
    }

    /// Number of nodes.
    pub(crate) fn nodes(&self) -> usize {
        self.parts.iter().map(|part| part.nodes).sum()
    }

    pub(crate) fn readable(&self) -> usize {
        let lost = |part: &PooledConversation| usize::try_from(part.losses.count()).unwrap_or(usize::MAX);
        let all: usize = self.parts.iter().map(|part| part.nodes.saturating_sub(lost(part))).sum();
        all.saturating_sub(self.silent)
    }

    /// A notice for each conversation with unreadable nodes.
    pub(crate) fn notices(&self) -> impl Iterator<Item = Notice> {
        self.parts.iter().filter_map(|part| part.losses.notice(&part.conversation))
    }

    /// Words of a question in the languages of the pool.
    pub(crate) fn asked(&self, question: &str) -> Asked {
        let words = Guards(self.parts.iter().map(|part| part.indexed.read()).collect());
        asked(question, Languages::with_nodes(|marker| words.nodes_with(marker)))
    }

    /// Words of a question, weighted by their rarity in the pool.
    pub(crate) fn weigh(&self, asked: &Asked) -> Weighed {
        let words = Guards(self.parts.iter().map(|part| part.indexed.read()).collect());
        let all = words.0.iter().fold(Collection::default(), |all, postings| all.with(postings));
        Weighed::of(asked, all, &words)
    }

    /// Lexical scores of every node; empty if the question has no terms.
    pub(crate) fn words(&self, question: &Weighed) -> Evidence {
        let mut evidence = Evidence::default();
        if question.total == 0.0 {
            return evidence;
        }
        evidence.heard = question.words.iter().map(|word| word.idf).sum::<f32>() / question.total;
        let all = question.all;
        for part in &self.parts {
            let postings = part.indexed.read();
            let terms = question.occurrences(&postings);
            let add = |to: &mut Vec<f32>, of_part: Vec<f32>| to.extend(of_part.into_iter().take(part.nodes));
            add(&mut evidence.chat, Bm25::CHAT.scores(&postings, &terms, all));
            add(&mut evidence.agent, Bm25::AGENT.scores(&postings, &terms, all));
            add(&mut evidence.window, Bm25::CHAT.window_scores(&postings, &terms, all));
            let coverage = Coverage::of(&postings, &terms, question.total);
            add(&mut evidence.coverage, coverage.node);
            add(&mut evidence.coverage_window, coverage.window);
        }
        evidence
    }

    pub(super) fn placements(&self) -> Vec<Placement> {
        let mut placements: Vec<Placement> = Vec::new();
        for (number, part) in self.parts.iter().enumerate() {
            let postings = part.indexed.read();
            let before = placements.last().map_or(0, |last| last.session + 1);
            let nodes = postings.node_table().traits().iter().zip(postings.lengths()).take(part.nodes);
            for (offset, (traits, &length)) in nodes.enumerate() {
                let (index, session) = (part.begin + offset, before + traits.session as usize);
                let mut here = Placement { index, before: None, after: None, session, part: number, length };
                if let Some(last) = placements.last_mut().filter(|last| last.session == session) {
                    here.before = Some(last.index);
                    last.after = Some(index);
                }
                placements.push(here);
            }
        }
        placements
    }

    /// Match of each node's time with the times in a question; empty if it names none.
    pub(super) fn dates(&self, question: &Question) -> Vec<f32> {
        let mut dates = Vec::new();
        if question.dates.is_empty() {
            return dates;
        }
        for part in &self.parts {
            let postings = part.indexed.read();
            let table = postings.node_table();
            let traits = table.traits().iter().take(part.nodes);
            dates.extend(traits.map(|traits| question.dates.fit(traits.at, table.clock())));
        }
        dates
    }

    pub(super) fn part(&self, candidate: usize) -> Option<&PooledConversation> {
        let next = self.parts.partition_point(|part| part.begin <= candidate);
        self.parts.get(next.checked_sub(1)?)
    }

    /// Conversation and node of a candidate; `None` if it is unreadable or hidden.
    pub(super) fn place(&self, candidate: usize) -> Option<(&ConversationId, NodeId)> {
        let part = self.part(candidate)?;
        let node = NodeId::from_index(candidate - part.begin);
        let is_hidden = part.indexed.read().hides(node.index());
        (!is_hidden && !part.losses.contains(node)).then_some((&part.conversation, node))
    }
}
