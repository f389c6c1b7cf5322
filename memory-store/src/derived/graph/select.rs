//! Selects neighbours among the nearest nodes.

use super::{Codes, levels::mix};

#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) node: u32,
    /// Likeness to the node whose neighbours are selected, up to the scale of that node.
    pub(super) likeness: f32,
}

/// Reusable working memory.
#[derive(Debug, Default)]
pub(super) struct Selection {
    pub(super) candidates: Vec<Candidate>,
    pub(super) chosen: Vec<u32>,
    twins: Vec<u32>,
}

impl Selection {
    /// Algorithm 4 without its two options: selects at most `at_most` candidates, nearest first, each nearer to `node`
    /// than to any candidate selected before, so that neighbours lie in all directions.
    ///
    /// Vectors equal to the node's own, of which there may be any number, have no direction and exclude no others. They
    /// get a quarter of the places, drawn at random, which connects them with each other. By the plain rule, one of
    /// them would exclude everything around them, and no walk would leave them.
    pub(super) fn choose(&mut self, codes: &Codes<'_>, node: u32, at_most: usize) {
        let Self { candidates, chosen, twins } = self;
        candidates.sort_unstable_by(|a, b| b.likeness.total_cmp(&a.likeness).then(a.node.cmp(&b.node)));
        chosen.clear();
        twins.clear();
        let scale = codes.scale(node);
        for candidate in candidates.iter() {
            let likeness = candidate.likeness * scale;
            if codes.are_twins(candidate.node, node) {
                twins.push(candidate.node);
                continue;
            }
            if chosen.len() >= at_most {
                break;
            }
            let own = codes.scale(candidate.node);
            if chosen.iter().all(|other| codes.likeness(candidate.node, *other) * own < likeness) {
                chosen.push(candidate.node);
            }
        }
        let lot = |twin: &u32| (mix(u64::from(*twin) << 32 | u64::from(node)), *twin);
        twins.sort_unstable_by_key(lot);
        twins.truncate((at_most / 4).max(1));
        chosen.truncate(at_most - twins.len().min(at_most));
        chosen.append(twins);
    }
}
