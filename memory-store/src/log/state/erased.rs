//! Erasures of one conversation in memory: what they hide of records that may still stand in the log.

use memory_core::{Erasure, ErasureId, NodeId, NodeRange, NoteId, port::Note, view::ViewDraft};

use crate::log::format::Location;

/// An erasure, as far as it concerns a conversation. It hides records that stand before it in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Number of the erasure.
    pub(crate) id: ErasureId,
    /// Erased nodes, in order.
    pub(crate) nodes: Vec<NodeRange>,
    /// First and last of each run of erased notes.
    pub(crate) notes: Vec<[NoteId; 2]>,
    /// True if all notes and views, the title and the tags are erased.
    pub(crate) is_whole: bool,
    /// Place of its record.
    pub(crate) place: Location,
}

impl Cut {
    /// The erasure in the conversation that it was recorded in.
    pub(crate) fn of(erasure: &Erasure, place: Location) -> Self {
        Self {
            id: erasure.id,
            nodes: erasure.nodes.clone(),
            notes: erasure.notes.clone(),
            is_whole: erasure.is_whole,
            place,
        }
    }

    /// The part among the first `count` nodes, for a conversation that shares these; `None` without any.
    pub(crate) fn among_first(&self, count: u64) -> Option<Self> {
        let shared = NodeRange::first_n(count)?;
        let nodes: Vec<_> = self.nodes.iter().filter_map(|run| run.common(shared)).collect();
        (!nodes.is_empty()).then_some(Self { nodes, notes: Vec::new(), is_whole: false, ..self.clone() })
    }

    fn covers(&self, run: NodeRange) -> bool {
        let from = self.nodes.partition_point(|erased| erased.last() < run.first());
        self.nodes.get(from).is_some_and(|erased| erased.first() <= run.last())
    }
}

/// The erasures of one conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Erased {
    /// Nodes whose message was erased: runs in order, no two of which overlap or touch.
    runs: Vec<NodeRange>,
    /// In the order of the log.
    cuts: Vec<Cut>,
    /// Salts of the keys of erased messages.
    salts: Vec<ErasureId>,
}

impl Erased {
    /// Erasures restored from a checkpoint.
    pub(crate) fn restored(runs: Vec<NodeRange>, cuts: Vec<Cut>, salts: Vec<ErasureId>) -> Self {
        Self { runs: NodeRange::merge(runs), cuts, salts }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.cuts.is_empty()
    }

    /// Number of erased nodes.
    pub(crate) fn count(&self) -> u64 {
        self.runs.iter().map(|run| run.count()).sum()
    }

    /// Number of erased nodes in a run.
    pub(crate) fn count_in(&self, run: NodeRange) -> u64 {
        let from = self.runs.partition_point(|erased| erased.last() < run.first());
        let within = self.runs.iter().skip(from).map_while(|erased| erased.common(run));
        within.map(NodeRange::count).sum()
    }

    pub(crate) fn runs(&self) -> &[NodeRange] {
        &self.runs
    }

    pub(crate) fn cuts(&self) -> &[Cut] {
        &self.cuts
    }

    /// Salts of the keys of erased messages.
    pub(crate) fn salts(&self) -> &[ErasureId] {
        &self.salts
    }

    /// The number that salts the keys of messages that are being erased: one for all of the conversation, since each
    /// costs a look-up for every key.
    pub(crate) fn salt(&self) -> Option<ErasureId> {
        self.salts.first().copied().or_else(|| self.cuts.first().map(|cut| cut.id))
    }

    /// Adds a node that was erased before its record was written, with the salt of its key.
    pub(crate) fn push(&mut self, node: NodeId, salt: Option<ErasureId>) {
        self.cover(&[NodeRange::single(node)]);
        self.salts.extend(salt.filter(|salt| !self.salts.contains(salt)));
    }

    /// Adds an erasure.
    pub(crate) fn cut(&mut self, cut: Cut) {
        self.cover(&cut.nodes);
        self.cuts.push(cut);
    }

    fn cover(&mut self, runs: &[NodeRange]) {
        match (self.runs.last_mut(), runs) {
            (Some(last), [run]) if last.is_followed_by(*run) => *last = last.hull(*run),
            (Some(last), [run]) if last.last() < run.first() => self.runs.push(*run),
            _ => {
                let all = self.runs.iter().chain(runs).copied().collect();
                self.runs = NodeRange::merge(all);
            }
        }
    }

    /// Erased messages of a fork that shares the first `nodes`. Records from before the fork belong to this
    /// conversation, and so do the erasures that hide them.
    pub(crate) fn fork(&self, nodes: u64) -> Self {
        let shared = NodeRange::first_n(nodes);
        let runs = self.runs.iter().filter_map(|run| run.common(shared?)).collect();
        Self { runs, ..Self::default() }
    }

    fn after(&self, place: Location) -> impl Iterator<Item = &Cut> {
        self.cuts.iter().filter(move |cut| place < cut.place)
    }

    /// True if the title or the tags recorded at `place` are erased.
    pub(crate) fn hides_labels(&self, place: Location) -> bool {
        self.after(place).any(|cut| cut.is_whole)
    }

    /// True if a summary of these nodes, recorded at `place`, is erased.
    pub(crate) fn hides_summary(&self, span: NodeRange, place: Location) -> bool {
        self.after(place).any(|cut| cut.covers(span))
    }

    /// True if a note recorded at `place` is erased.
    pub(crate) fn hides_note(&self, note: &Note, place: Location) -> bool {
        self.after(place).any(|cut| {
            let is_named = cut.notes.iter().any(|[first, last]| (*first..=*last).contains(&note.id));
            cut.is_whole || is_named || note.sources.iter().any(|run| cut.covers(*run))
        })
    }

    /// True if what a view of this conversation recorded at `place` is erased.
    pub(crate) fn hides_view(&self, view: &ViewDraft, place: Location) -> bool {
        self.after(place).any(|cut| cut.is_whole || view.may_hold(&cut.nodes, &cut.notes))
    }

    /// True if a view of another conversation, recorded at `place`, shows what is erased here.
    pub(crate) fn hides_shown(&self, shown: &[NodeRange], place: Location) -> bool {
        self.after(place).any(|cut| shown.iter().any(|run| cut.covers(*run)))
    }
}
