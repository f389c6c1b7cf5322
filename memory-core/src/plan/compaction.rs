//! Plans the summaries to write next.

mod ratio;

use serde::{Deserialize, Serialize};

use super::Tree;
use crate::{Level, NodeId, NodeRange, SummaryId, SummaryOutline};

pub use ratio::plan_ratio;
pub(super) use ratio::share_of;

/// Limits at which compaction starts and stops, in nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Thresholds {
    /// FULL nodes that remain when compaction stops.
    pub recent_node_limit: u64,
    /// Compaction starts when there are more FULL nodes than this.
    pub summary_threshold: u64,
    /// Merging into METAs starts when there are more unmerged SUMMARY nodes than this.
    pub meta_summary_threshold: u64,
    /// Merging into ARCHIVEs starts when unmerged METAs cover more nodes than this.
    pub archive_threshold: u64,
    /// Fewest nodes in a META.
    pub meta_min: u64,
    /// Most nodes in a META, except for a single turn that is longer.
    pub meta_max: u64,
    /// Most summaries in an ARCHIVE.
    pub archive_fan_out: usize,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            recent_node_limit: 10,
            summary_threshold: 20,
            meta_summary_threshold: 50,
            archive_threshold: 200,
            meta_min: 20,
            meta_max: 40,
            archive_fan_out: 8,
        }
    }
}

/// Thresholds that contradict each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("thresholds: {0}")]
pub struct InvalidThresholds(&'static str);

impl Thresholds {
    crate::setters! {
        const recent_node_limit: u64,
        const summary_threshold: u64,
        const meta_summary_threshold: u64,
        const archive_threshold: u64,
        const meta_min: u64,
        const meta_max: u64,
        const archive_fan_out: usize,
    }

    /// Checks that compaction under these thresholds stops and makes progress.
    ///
    /// # Errors
    /// If two thresholds contradict each other; names both.
    pub fn check(&self) -> Result<(), InvalidThresholds> {
        if self.recent_node_limit > self.summary_threshold {
            return Err(InvalidThresholds("recent_node_limit must not exceed summary_threshold"));
        }
        if self.meta_min < 2 || self.meta_min > self.meta_max {
            return Err(InvalidThresholds("a META has at least 2 nodes, and meta_min must not exceed meta_max"));
        }
        if self.meta_max > self.meta_summary_threshold {
            return Err(InvalidThresholds("meta_max must not exceed meta_summary_threshold"));
        }
        if self.archive_fan_out < 2 {
            return Err(InvalidThresholds("archive_fan_out must be at least 2"));
        }
        Ok(())
    }
}

/// Summaries to write. Each depends only on recorded ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compaction {
    /// Nodes that get a SUMMARY each.
    pub summarize: Vec<NodeId>,
    /// Summaries to merge into one of a higher level.
    pub merge: Vec<Merge>,
}

/// Adjacent summaries to merge into one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Merge {
    /// META or ARCHIVE.
    pub level: Level,
    /// The children, in order.
    pub children: Vec<SummaryId>,
    /// The nodes that the children cover together.
    pub span: NodeRange,
}

impl Merge {
    /// A merge of `children` into one summary of `span`.
    #[must_use]
    pub fn new(level: Level, children: Vec<SummaryId>, span: NodeRange) -> Self {
        Self { level, children, span }
    }
}

impl Compaction {
    /// True if there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.summarize.is_empty() && self.merge.is_empty()
    }
}

/// Plans the summaries that the thresholds require. A performed plan may make others due, so plan again until the
/// result is empty. The nodes of a turn are summarized and merged together.
#[must_use]
pub fn plan_compaction(tree: &Tree, thresholds: &Thresholds) -> Compaction {
    let mut plan = Compaction::default();
    let full = tree.full_count();
    if full > thresholds.summary_threshold {
        plan.summarize = oldest_full(tree, full - thresholds.recent_node_limit);
    }
    let roots: Vec<_> = tree.roots().collect();
    let summaries = trailing(&roots, |summary| summary.level == Level::Summary);
    if covered(summaries) > thresholds.meta_summary_threshold {
        plan.merge.extend(meta_groups(tree, summaries, thresholds));
    }
    // METAs and ARCHIVEs precede the trailing SUMMARYs; the lower levels come last.
    let merged = roots.get(..roots.len() - summaries.len()).unwrap_or_default();
    let metas = trailing(merged, |summary| summary.level == Level::Meta);
    if covered(metas) > thresholds.archive_threshold {
        plan.merge.extend(merge_oldest(metas, thresholds.archive_fan_out));
    }
    let archives = merged.get(..merged.len() - metas.len()).unwrap_or_default();
    plan.merge.extend(crowded_archives(tree, archives, thresholds.archive_fan_out));
    plan
}

/// Plans the next step that makes the coarsest cut smaller when it does not fit its budget, whatever the thresholds
/// say. Empty if no step is left.
///
/// A step is taken only if the one before it is exhausted: merge the oldest SUMMARYs into a META of at least
/// [`Thresholds::meta_min`] nodes; merge the oldest neighbours of equal height into an ARCHIVE; summarize the older
/// half of the FULL nodes; merge SUMMARYs into a smaller META. The steps apply first to nodes older than the last
/// [`ViewPolicy::recent`](super::ViewPolicy::recent) ones, then to nodes older than the last user's message, then to
/// all nodes. The final step merges the two newest neighbours into an ARCHIVE. Merging equal heights first keeps the
/// height logarithmic; merging everything with the newest part would rewrite a summary of the whole history each turn.
#[must_use]
pub fn plan_shrink(tree: &Tree, thresholds: &Thresholds) -> Compaction {
    let plan = plan_shrink_before_end(tree, thresholds);
    if plan.is_empty() {
        shrink_before(tree, thresholds, None).unwrap_or_else(|| newest_pair(tree, None))
    } else {
        plan
    }
}

/// [`plan_shrink`], restricted to nodes older than the last user's message. Empty if no such step is left.
#[must_use]
pub fn plan_shrink_before_end(tree: &Tree, thresholds: &Thresholds) -> Compaction {
    let recent = tree.recent_turns().last();
    let plans =
        [recent, tree.end()].into_iter().flatten().find_map(|spared| shrink_before(tree, thresholds, Some(spared)));
    plans.unwrap_or_default()
}

/// [`plan_shrink_before_end`]; if no such step is left, merges the two newest neighbours before the end into an
/// ARCHIVE, for a budget that cannot hold both.
#[must_use]
pub fn plan_merge_before_end(tree: &Tree, thresholds: &Thresholds) -> Compaction {
    let plan = plan_shrink_before_end(tree, thresholds);
    if plan.is_empty() { newest_pair(tree, tree.end()) } else { plan }
}

/// The next step among nodes older than `spared`.
fn shrink_before(tree: &Tree, thresholds: &Thresholds, spared: Option<NodeRange>) -> Option<Compaction> {
    let meta_min = usize::try_from(thresholds.meta_min).unwrap_or(usize::MAX).max(2);
    let is_older = |run: NodeRange| spared.is_none_or(|spared| run.last() < spared.first());
    let roots: Vec<_> = tree.roots().take_while(|root| is_older(root.span)).collect();
    let of_one = |merge| Compaction { merge: vec![merge], ..Compaction::default() };
    let merged = oldest_meta(&roots, meta_min, thresholds).or_else(|| oldest_equals(tree, &roots, thresholds));
    if let Some(merge) = merged {
        return Some(of_one(merge));
    }
    let summarize = older_half(tree, is_older);
    if !summarize.is_empty() {
        return Some(Compaction { summarize, ..Compaction::default() });
    }
    oldest_meta(&roots, 2, thresholds).map(of_one)
}

/// Merges the two newest neighbours older than `spared` into an ARCHIVE.
fn newest_pair(tree: &Tree, spared: Option<NodeRange>) -> Compaction {
    let is_older = |root: &&SummaryOutline| spared.is_none_or(|spared| root.span.last() < spared.first());
    let roots: Vec<_> = tree.roots().take_while(is_older).collect();
    let newest = runs_of(&roots, |_| true).into_iter().rfind(|run| run.len() > 1);
    let merged = newest.and_then(|newest| merge(Level::Archive, newest.get(newest.len() - 2..)?));
    Compaction { merge: merged.into_iter().collect(), ..Compaction::default() }
}

/// The oldest run of at least `fewest` SUMMARYs, at most as many as one META may hold.
fn oldest_meta(roots: &[&SummaryOutline], fewest: usize, thresholds: &Thresholds) -> Option<Merge> {
    let most = usize::try_from(thresholds.meta_max).unwrap_or(usize::MAX).max(2);
    let run = runs_of(roots, |summary| summary.level == Level::Summary);
    let oldest = run.into_iter().find(|run| run.len() >= fewest)?;
    merge(Level::Meta, oldest.get(..oldest.len().min(most))?)
}

/// The oldest neighbours of equal height above SUMMARY, at most as many as one ARCHIVE may hold.
fn oldest_equals(tree: &Tree, roots: &[&SummaryOutline], thresholds: &Thresholds) -> Option<Merge> {
    let merged = runs_of(roots, |summary| summary.level != Level::Summary);
    let equal = |a: &&SummaryOutline, b: &&SummaryOutline| tree.height(a.id) == tree.height(b.id);
    let oldest = merged.into_iter().flat_map(|run| run.chunk_by(equal)).find(|run| run.len() > 1)?;
    merge_oldest(oldest, thresholds.archive_fan_out.max(2))
}

/// The older half of the FULL nodes, by whole turns, among turns that satisfy `is_meant`. A turn that is larger than
/// the half is taken whole.
fn older_half(tree: &Tree, is_meant: impl Fn(NodeRange) -> bool) -> Vec<NodeId> {
    let meant = |full: &Vec<NodeId>| full.last().is_some_and(|last| tree.turn_of(*last).is_none_or(&is_meant));
    let turns: Vec<_> = full_turns(tree).take_while(meant).collect();
    let count = turns.iter().map(Vec::len).sum::<usize>() as u64;
    let half = oldest(turns.iter().cloned(), count.div_ceil(2));
    if half.is_empty() { turns.into_iter().next().unwrap_or_default() } else { half }
}

/// The oldest FULL nodes, at most `count`, in whole turns.
fn oldest_full(tree: &Tree, count: u64) -> Vec<NodeId> {
    oldest(full_turns(tree), count)
}

/// The first turns with at most `count` nodes together.
fn oldest(turns: impl Iterator<Item = Vec<NodeId>>, count: u64) -> Vec<NodeId> {
    let mut chosen: Vec<NodeId> = Vec::new();
    for full in turns {
        if (chosen.len() + full.len()) as u64 > count {
            break;
        }
        chosen.extend(full);
    }
    chosen
}

/// The FULL nodes of each turn that has any, in order.
fn full_turns(tree: &Tree) -> impl Iterator<Item = Vec<NodeId>> {
    let mut done = None;
    let turns =
        tree.full().flat_map(|run| tree.turns_from(run.first()).take_while(move |turn| turn.first() <= run.last()));
    let turns = turns.filter(move |turn| done.replace(*turn) != Some(*turn));
    turns.map(|turn| turn.iter().filter(|node| tree.leaf(*node).is_none()).collect())
}

fn trailing<'s, 'a>(roots: &'s [&'a SummaryOutline], is: impl Fn(&SummaryOutline) -> bool) -> &'s [&'a SummaryOutline] {
    let start = roots.iter().rposition(|summary| !is(summary)).map_or(0, |last_other| last_other + 1);
    roots.get(start..).unwrap_or_default()
}

/// Maximal runs of neighbouring roots that satisfy `is` and cover nodes without a gap.
fn runs_of<'s, 'a>(
    roots: &'s [&'a SummaryOutline],
    is: impl Fn(&SummaryOutline) -> bool,
) -> Vec<&'s [&'a SummaryOutline]> {
    let joined = |a: &&SummaryOutline, b: &&SummaryOutline| is(a) && is(b) && a.span.is_followed_by(b.span);
    roots.chunk_by(joined).filter(|run| run.first().is_some_and(|summary| is(summary))).collect()
}

fn covered(summaries: &[&SummaryOutline]) -> u64 {
    summaries.iter().map(|summary| summary.span.count()).sum()
}

fn merge(level: Level, children: &[&SummaryOutline]) -> Option<Merge> {
    let span = children.iter().map(|summary| summary.span).reduce(NodeRange::hull)?;
    // A gap is a FULL node, which the new summary would claim although no child covers it.
    (covered(children) == span.count()).then(|| Merge {
        level,
        children: children.iter().map(|summary| summary.id).collect(),
        span,
    })
}

fn merge_oldest(summaries: &[&SummaryOutline], fan_out: usize) -> Option<Merge> {
    let oldest = summaries.get(..fan_out.min(summaries.len()))?;
    if oldest.len() < 2 { None } else { merge(Level::Archive, oldest) }
}

/// For each height with more than `fan_out` ARCHIVEs, the oldest `fan_out` of them.
fn crowded_archives(tree: &Tree, archives: &[&SummaryOutline], fan_out: usize) -> Vec<Merge> {
    archives
        .chunk_by(|a, b| tree.height(a.id) == tree.height(b.id))
        .filter(|same| same.len() > fan_out)
        .filter_map(|same| merge_oldest(same, fan_out))
        .collect()
}

/// Groups the oldest SUMMARYs until at most the threshold remain.
fn meta_groups(tree: &Tree, summaries: &[&SummaryOutline], thresholds: &Thresholds) -> Vec<Merge> {
    let mut groups = Vec::new();
    let mut rest = summaries;
    while covered(rest) > thresholds.meta_summary_threshold {
        let Some(size) = group_size(tree, rest, thresholds) else { break };
        let (group, behind) = rest.split_at(size);
        groups.extend(merge(Level::Meta, group));
        rest = behind;
    }
    groups
}

/// Number of `summaries` in the next group: `meta_min` to `meta_max` nodes, ending with a turn, at the longest pause
/// within that range.
fn group_size(tree: &Tree, summaries: &[&SummaryOutline], thresholds: &Thresholds) -> Option<usize> {
    let mut nodes = 0;
    let mut best: Option<(i64, usize)> = None;
    for (index, pair) in summaries.windows(2).enumerate() {
        let [here, next] = pair else { continue };
        nodes += here.span.count();
        let ends_turn = tree.turn_of(here.span.last()).is_some_and(|turn| turn.last() == here.span.last());
        if nodes < thresholds.meta_min || !ends_turn {
            continue;
        }
        if nodes > thresholds.meta_max && best.is_some() {
            break;
        }
        let at = |node: NodeId| tree.node(node).map_or(0, |outline| outline.at.as_millis());
        let pause = at(next.span.first()).saturating_sub(at(here.span.last()));
        // Equal pauses: the largest group wins, for fewer and fuller METAs.
        if best.is_none_or(|(longest, _)| pause >= longest) {
            best = Some((pause, index + 1));
        }
        if nodes > thresholds.meta_max {
            break;
        }
    }
    best.map(|(_, size)| size)
}

#[cfg(test)]
mod tests;
