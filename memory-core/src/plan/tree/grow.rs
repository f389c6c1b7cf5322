//! Appending to a tree, and undoing it.

use std::sync::Arc;

use super::{Place, Superseded, Tree, ViewPolicy};
use crate::{Level, NodeId, NodeOutline, NodeRange, SummaryId, SummaryOutline, port::Changes};

/// Tokens of the line that marks an omitted middle.
const CUT: u32 = 24;

impl Tree {
    /// The tree of a whole conversation under the default policy.
    #[must_use]
    pub fn of(all: Changes) -> Self {
        let mut tree = Self::new(ViewPolicy::default());
        all.nodes.into_iter().for_each(|node| tree.append(node));
        all.summaries.into_iter().for_each(|summary| tree.add(summary));
        tree.reserve_numbers(all.last_summary);
        tree
    }

    /// Adds the next node.
    pub fn append(&mut self, node: NodeOutline) {
        let here = NodeId::from_index(self.nodes.len());
        self.nodes.push(node);
        self.leaves.push(None);
        if !self.turns.push(&node) {
            // The turn was extended, so profiles over its former extent are invalid.
            let grown = self.turn_of(here);
            grown.into_iter().flat_map(NodeRange::iter).for_each(|node| self.forget_profiles(node));
        }
        self.full.add(NodeRange::single(here));
        self.tokens.nodes += u64::from(node.tokens);
        self.tokens.full += u64::from(node.tokens);
        self.mark(here, &node);
    }

    /// Applies an event that changed a node's importance or pin.
    pub fn revise(&mut self, node: NodeId, revised: NodeOutline) {
        let Some(outline) = self.nodes.get_mut(node.index()) else { return };
        let is_weighed_anew = outline.importance().to_bits() != revised.importance().to_bits();
        outline.set_importance(revised.importance());
        outline.pinned = revised.pinned;
        let outline = *outline;
        self.mark(node, &outline);
        let mut above = self.leaf(node).filter(|_| is_weighed_anew);
        while let Some(id) = above {
            self.weigh(id);
            above = self.parent(id);
        }
    }

    /// Counts a node as at most `longest` tokens plus the line that marks the omission, for planning a view on a copy in
    /// which it is shown by head and tail.
    pub fn shorten(&mut self, node: NodeId, longest: u32) {
        let leaf = self.leaf(node);
        let root = leaf.map(|leaf| self.root_over(leaf));
        let before = root.map_or(0, |root| self.summary_cost(root));
        let Some(outline) = self.nodes.get_mut(node.index()) else { return };
        let gone = outline.tokens.saturating_sub(longest.saturating_add(CUT));
        if gone == 0 {
            return;
        }
        outline.tokens -= gone;
        self.tokens.nodes -= u64::from(gone);
        if leaf.is_none() {
            self.tokens.full -= u64::from(gone);
        }
        let after = root.map_or(0, |root| self.summary_cost(root));
        self.tokens.roots = self.tokens.roots + after - before;
        self.forget_profiles(node);
    }

    /// Drops the profiles of all summaries over a node.
    fn forget_profiles(&mut self, node: NodeId) {
        self.forget_profiles_from(self.leaf(node));
    }

    /// Drops the profiles of a summary and of all summaries over it.
    fn forget_profiles_from(&mut self, lowest: Option<SummaryId>) {
        let mut above = lowest;
        while let Some(id) = above {
            if let Some(place) = self.position(id).and_then(|position| self.places.get_mut(position)) {
                place.profile = Arc::default();
            }
            above = self.parent(id);
        }
    }

    fn mark(&mut self, node: NodeId, outline: &NodeOutline) {
        if outline.pinned {
            self.pinned.insert(node);
        } else {
            self.pinned.remove(&node);
        }
        if outline.keep_out_of_summaries {
            self.kept_out.insert(node);
        }
        if outline.is_hidden() {
            self.erased.insert(node);
        }
    }

    /// Adds a summary; ignores one whose number is not above all earlier ones.
    pub fn add(&mut self, summary: SummaryOutline) {
        let id = summary.id;
        if self.places.last().is_some_and(|last| last.summary.id >= id) {
            return;
        }
        let (tokens, is_disabled) = (summary.tokens, summary.is_disabled);
        let height = if summary.for_view { None } else { self.height_over(&summary) };
        let superseded = if height.is_none() { self.superseded_by(&summary) } else { None };
        if summary.for_view && superseded.is_none() {
            Arc::make_mut(&mut self.for_views).entry(summary.span.first()).or_default().push(id);
        }
        let (parent, weight, profile) = (None, 0.0, Arc::default());
        self.places.push(Place { summary, parent, height, words: id, superseded, weight, profile });
        if height.is_some() {
            self.enter(id);
        }
        // A disabled one leaves the text before it in the place.
        if let Some(Superseded { place, .. }) = superseded.filter(|_| !is_disabled) {
            self.put_words(place, id, tokens);
        }
    }

    /// The summary that was written for a view with this level, span and children.
    #[must_use]
    pub fn written_for_view(&self, level: Level, span: NodeRange, children: &[SummaryId]) -> Option<SummaryId> {
        let is_it = |id: &&SummaryId| {
            let there = self.summary(**id);
            there.is_some_and(|there| (there.level, there.span) == (level, span) && *there.children == *children)
        };
        self.for_views.get(&span.first())?.iter().find(is_it).copied()
    }

    /// Adds a summary that was written for a view to the forest; `false` if it does not fit.
    pub fn adopt(&mut self, id: SummaryId) -> bool {
        let Some(height) = self.summary(id).filter(|there| there.for_view).and_then(|there| self.height_over(there))
        else {
            return false;
        };
        if let Some(place) = self.position(id).and_then(|position| self.places.get_mut(position)) {
            place.height = Some(height);
        }
        self.enter(id);
        true
    }

    /// The summary that this one supersedes: one of equal level, span and children, in the forest or outside.
    fn superseded_by(&self, summary: &SummaryOutline) -> Option<Superseded> {
        let id = match summary.children.first() {
            _ if summary.for_view => self.written_for_view(summary.level, summary.span, &summary.children),
            Some(child) => self.parent(*child),
            None => self.leaf(summary.span.first()),
        };
        let Place { summary: there, words, .. } = self.place(id?)?;
        let same = |summary: &SummaryOutline| (summary.level, summary.span);
        let is_same = same(there) == same(summary) && there.children == summary.children;
        is_same.then_some(Superseded { place: there.id, words: *words, tokens: there.tokens })
    }

    /// Replaces the text shown in the place of a summary. Forest and weights stay.
    fn put_words(&mut self, id: SummaryId, words: SummaryId, tokens: u32) {
        // If the summary is a part of a dissolved one, the cost of the root changes too.
        let root = Some(self.root_over(id)).filter(|root| self.height(*root).is_some());
        let before = root.map_or(0, |root| self.summary_cost(root));
        let Some(place) = self.position(id).and_then(|position| self.places.get_mut(position)) else { return };
        place.words = words;
        place.summary.tokens = tokens;
        self.tokens.roots = self.tokens.roots + root.map_or(0, |root| self.summary_cost(root)) - before;
        self.forget_profiles_from(Some(id));
    }

    /// Height of a new summary in the forest; `None` if it does not fit.
    fn height_over(&self, summary: &SummaryOutline) -> Option<u32> {
        if summary.level == Level::Summary {
            return self.full.covers(summary.span).then_some(0);
        }
        let height = |child: &SummaryId| {
            let place = self.place(*child)?;
            place.height.filter(|_| place.parent.is_none())
        };
        let heights: Option<Vec<u32>> = summary.children.iter().map(height).collect();
        Some(heights?.into_iter().max()? + 1)
    }

    /// Makes a summary the parent of the parts that it covers.
    fn enter(&mut self, id: SummaryId) {
        let Some(summary) = self.summary(id).cloned() else { return };
        if summary.level == Level::Summary {
            self.full.take(summary.span);
            self.cover(summary.span, Some(id));
        }
        for child in &summary.children {
            self.set_parent(*child, Some(id));
        }
        // An adopted summary may be dissolved already.
        self.tokens.roots += self.summary_cost(id);
        self.roots.insert(summary.span.first(), id);
        self.weigh(id);
    }

    /// Removes the last summary and all its effects.
    pub fn undo(&mut self) {
        let Some(Place { summary, height, superseded, .. }) = self.places.pop() else { return };
        if summary.for_view {
            Arc::make_mut(&mut self.for_views).entry(summary.span.first()).or_default().retain(|id| *id != summary.id);
        }
        if let Some(Superseded { place, words, tokens }) = superseded {
            self.put_words(place, words, tokens);
        }
        if height.is_none() {
            return;
        }
        self.roots.remove(&summary.span.first());
        self.tokens.roots -= self.cost_of(&summary);
        if summary.level == Level::Summary {
            self.full.add(summary.span);
            self.cover(summary.span, None);
        }
        for child in &summary.children {
            self.set_parent(*child, None);
        }
    }

    fn cover(&mut self, span: NodeRange, leaf: Option<SummaryId>) {
        let mut tokens = 0;
        for node in span.iter() {
            tokens += self.node(node).map_or(0, |outline| u64::from(outline.tokens));
            if let Some(there) = self.leaves.get_mut(node.index()) {
                *there = leaf;
            }
        }
        self.tokens.full = if leaf.is_some() { self.tokens.full - tokens } else { self.tokens.full + tokens };
    }

    fn set_parent(&mut self, child: SummaryId, parent: Option<SummaryId>) {
        let tokens = self.summary_cost(child);
        let Some(place) = self.position(child).and_then(|position| self.places.get_mut(position)) else { return };
        place.parent = parent;
        let first = place.summary.span.first();
        if parent.is_some() {
            self.roots.remove(&first);
            self.tokens.roots -= tokens;
        } else {
            self.roots.insert(first, child);
            self.tokens.roots += tokens;
        }
    }

    /// Computes the weight of a summary from the weights below it.
    fn weigh(&mut self, id: SummaryId) {
        let Some(summary) = self.summary(id) else { return };
        let last = summary.span.last();
        let weight = if summary.level == Level::Summary {
            self.weight_of(summary.span)
        } else {
            let below = summary.children.iter().filter_map(|child| self.place(*child));
            below.map(|place| place.weight * self.ageing(place.summary.span.last(), last)).sum()
        };
        if let Some(place) = self.position(id).and_then(|position| self.places.get_mut(position)) {
            place.weight = weight;
            place.profile = Arc::default();
        }
    }
}
