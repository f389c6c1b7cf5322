//! Selects the nodes that may be hits.

use std::collections::{HashMap, HashSet};

use memory_core::{
    Filter, Level, Node, NodeId, NodeRange, SourceClass, Timestamp,
    plan::Tree,
    port::{Changes, Notice, Source, StoreError},
    time::TimeRange,
};

use crate::{
    lexical::{NodeTable, Traits},
    ranking::{Pool, PooledConversation},
};

/// Nodes read at once, to bound memory.
const CHUNK: usize = 256;
/// A day in milliseconds, which no UTC offset reaches.
const DAY: u64 = 24 * 60 * 60 * 1_000;

/// The nodes of a pool that pass a filter. The filter applies before ranking, so that matching nodes are found however
/// few they are.
///
/// Nodes that are not selected still count in document frequencies, in normalization and as neighbours, so that a
/// filter changes no score: hits are those of an unfiltered ranking that pass the filter. (In a conversation too large
/// for exhaustive comparison, the typical cosine is estimated slightly differently.) Token vectors and the
/// cross-encoder are applied to the best selected nodes.
#[derive(Debug)]
pub(crate) struct Selection {
    /// A flag per node of the pool; `None` if all are selected.
    admitted: Option<Vec<bool>>,
}

impl Selection {
    /// Nodes that pass `filter`, whose tags were applied to the conversations before.
    pub(crate) async fn of(source: &dyn Source, pool: &Pool, filter: &Filter) -> Result<Self, StoreError> {
        if !filter.is_by_node() {
            let is_left_nothing = pool.parts().is_empty() && !filter.tags.is_empty();
            return Ok(Self { admitted: is_left_nothing.then(Vec::new) });
        }
        let mut admitted = Vec::new();
        for part in pool.parts() {
            let levels = if filter.levels.is_empty() { None } else { Some(levels(source, part).await?) };
            let local = LocalTimes::of(source, part, filter).await?;
            let untrusted = untrusted(source, part, filter).await?;
            let postings = part.indexed.read();
            let table = postings.node_table();
            let node_filter = NodeFilter::of(filter, &local, table);
            let nodes = table.traits().iter().take(part.nodes).enumerate();
            admitted.extend(nodes.map(|(index, traits)| {
                let level = levels.as_ref().and_then(|levels| levels.get(index));
                node_filter.admits(index, traits)
                    && level.is_none_or(|level| filter.levels.contains(level))
                    && !untrusted.contains(&index)
            }));
        }
        Ok(Self { admitted: Some(admitted) })
    }

    /// Excludes the first `seen` nodes of each conversation, which another conversation covers or which are evicted.
    pub(crate) fn without(mut self, pool: &Pool, seen: &[u64]) -> Self {
        if seen.iter().all(|seen| *seen == 0) {
            return self;
        }
        let admitted = self.admitted.get_or_insert_with(|| vec![true; pool.nodes()]);
        let mut rest = admitted.as_mut_slice();
        for (part, seen) in pool.parts().iter().zip(seen) {
            let seen = usize::try_from(*seen).unwrap_or(usize::MAX).min(part.nodes);
            let (of_this, after) = rest.split_at_mut(part.nodes.min(rest.len()));
            of_this.iter_mut().take(seen).for_each(|admitted| *admitted = false);
            rest = after;
        }
        self
    }

    /// Excludes calls of our own tools and their results, which repeat questions and other messages.
    pub(crate) fn without_own_tools(mut self, pool: &Pool) -> Self {
        for part in pool.parts() {
            let postings = part.indexed.read();
            let traits = postings.node_table().traits().iter().take(part.nodes);
            for place in part.places().zip(traits).filter(|(_, traits)| traits.is_own_tool).map(|(place, _)| place) {
                let admitted = self.admitted.get_or_insert_with(|| vec![true; pool.nodes()]);
                if let Some(admitted) = admitted.get_mut(place) {
                    *admitted = false;
                }
            }
        }
        self
    }

    /// Excludes the nodes that count as if they said nothing.
    pub(crate) fn without_hidden(mut self, pool: &Pool) -> Self {
        for part in pool.parts() {
            let postings = part.indexed.read();
            for index in postings.hidden() {
                let admitted = self.admitted.get_or_insert_with(|| vec![true; pool.nodes()]);
                if let Some(admitted) = admitted.get_mut(part.places().start + index) {
                    *admitted = false;
                }
            }
        }
        self
    }

    /// True if every node may be a hit.
    pub(crate) fn is_all(&self) -> bool {
        self.admitted.is_none()
    }

    /// True if the node at a pool index may be a hit.
    pub(crate) fn admits(&self, place: usize) -> bool {
        self.admitted.as_ref().is_none_or(|admitted| admitted.get(place) == Some(&true))
    }

    /// A notice if no node may be a hit.
    pub(crate) fn notice(&self) -> Option<Notice> {
        let admitted = self.admitted.as_ref().filter(|admitted| !admitted.contains(&true))?;
        Some(Notice::FilterAdmitsNone { messages: admitted.len() })
    }
}

/// A filter, resolved for the nodes of one conversation.
struct NodeFilter<'a> {
    filter: &'a Filter,
    local: &'a LocalTimes,
    /// `None` for any session.
    sessions: Option<HashSet<u32>>,
}

impl<'a> NodeFilter<'a> {
    fn of(filter: &'a Filter, local: &'a LocalTimes, table: &NodeTable) -> Self {
        let is_asked = |(number, name): &(u32, &Option<Box<str>>)| match name {
            Some(name) => filter.sessions.iter().any(|wanted| **wanted == **name),
            None => filter.sessions.contains(&(number + 1).to_string()),
        };
        let sessions = || (0..).zip(table.sessions()).filter(is_asked).map(|(number, _)| number).collect();
        Self { filter, local, sessions: (!filter.sessions.is_empty()).then(sessions) }
    }

    fn admits(&self, index: usize, traits: &Traits) -> bool {
        let roles = &self.filter.roles;
        self.filter.time.contains(traits.at)
            && self.local.admit(index, traits.at)
            && (roles.is_empty() || traits.role.is_some_and(|role| roles.contains(&role)))
            && self.sessions.as_ref().is_none_or(|sessions| sessions.contains(&traits.session))
    }
}

/// The ranges of local time that a filter admits in one conversation.
struct LocalTimes {
    ranges: Vec<TimeRange>,
    /// UTC offsets in milliseconds of the nodes that are within a day of an edge; elsewhere they decide nothing.
    offsets: HashMap<usize, i64>,
}

impl LocalTimes {
    async fn of(source: &dyn Source, part: &PooledConversation, filter: &Filter) -> Result<Self, StoreError> {
        if filter.local.is_all() && filter.during.is_none() {
            return Ok(Self { ranges: vec![TimeRange::ALL], offsets: HashMap::new() });
        }
        let times: Vec<_> =
            part.indexed.read().node_table().traits().iter().take(part.nodes).map(|traits| traits.at).collect();
        let last = times.len().checked_sub(1);
        let offset = offsets(source, part, last.into_iter().collect()).await?.into_values().sum();
        let ranges = filter.times(shifted(times.last().copied().unwrap_or_default(), offset));
        let edges: Vec<_> = ranges.iter().flat_map(|range| range.since().into_iter().chain(range.before())).collect();
        let is_near = |at: Timestamp| edges.iter().any(|edge| edge.as_millis().abs_diff(at.as_millis()) <= DAY);
        let near = times.iter().enumerate().filter(|(_, at)| at.is_known() && is_near(**at)).map(|(index, _)| index);
        let offsets = offsets(source, part, near.collect()).await?;
        Ok(Self { ranges, offsets })
    }

    fn admit(&self, index: usize, at: Timestamp) -> bool {
        let local = shifted(at, self.offsets.get(&index).copied().unwrap_or_default());
        self.ranges.iter().any(|range| range.contains(local))
    }
}

fn shifted(at: Timestamp, offset: i64) -> Timestamp {
    Timestamp::from_millis(at.as_millis().saturating_add(offset))
}

/// The UTC offsets in milliseconds that the messages of these nodes state.
async fn offsets(
    source: &dyn Source,
    part: &PooledConversation,
    nodes: Vec<usize>,
) -> Result<HashMap<usize, i64>, StoreError> {
    let mut offsets = HashMap::new();
    for chunk in nodes.chunks(CHUNK) {
        for run in NodeRange::merge(chunk.iter().map(|index| NodeRange::single(NodeId::from_index(*index))).collect()) {
            let read = source.readable_nodes(&part.conversation, run).await?.nodes;
            let of = |node: &Node| Some((node.id.index(), i64::from(node.message.utc_offset()?) * 1_000));
            offsets.extend(read.iter().filter_map(of));
        }
    }
    Ok(offsets)
}

async fn levels(source: &dyn Source, part: &PooledConversation) -> Result<Vec<Level>, StoreError> {
    let tree = Tree::of(Changes::everything(source, &part.conversation).await?);
    Ok((0..part.nodes).map(|index| tree.level(NodeId::from_index(index))).collect())
}

/// Indices of the nodes whose source is none of a filter's classes. Reads all messages if it names any.
async fn untrusted(
    source: &dyn Source,
    part: &PooledConversation,
    filter: &Filter,
) -> Result<HashSet<usize>, StoreError> {
    let mut untrusted = HashSet::new();
    if filter.sources.is_empty() {
        return Ok(untrusted);
    }
    for run in (0..part.nodes).step_by(CHUNK).filter_map(|begin| run(begin, (begin + CHUNK).min(part.nodes))) {
        let read = source.whole_nodes(&part.conversation, run).await?.nodes;
        let is_other = |node: &&Node| !filter.sources.contains(&SourceClass::of(&node.message));
        untrusted.extend(read.iter().filter(is_other).map(|node| node.id.index()));
    }
    Ok(untrusted)
}

fn run(begin: usize, end: usize) -> Option<NodeRange> {
    NodeRange::new(NodeId::from_index(begin), NodeId::from_index(end.checked_sub(1)?))
}
