//! Merges runs of segments and unsaved postings into the bytes of one segment.

use std::collections::{BTreeMap, HashMap};

use memory_core::{ConversationId, NodeRange, port::BlockRun};

use super::{
    numbers::write_number,
    segment::{List, Segment, SegmentRun, before, occurrences},
    stored_rows::StoredRows,
};

/// Some of the nodes of a conversation.
#[derive(Debug)]
pub(super) enum Piece<'a> {
    /// A run of a segment.
    Saved(&'a SegmentRun),
    /// Nodes in no segment, with their node table.
    New {
        nodes: NodeRange,
        /// Rows of the nodes.
        rows: StoredRows,
        /// Terms of the nodes; the lists begin after the node before `nodes`.
        lists: &'a HashMap<Box<str>, List>,
    },
}

impl Piece<'_> {
    pub(super) fn nodes(&self) -> u64 {
        match self {
            Self::Saved(run) => run.nodes().map_or(0, NodeRange::count),
            Self::New { nodes, .. } => nodes.count(),
        }
    }
}

/// Runs and bytes of a new segment.
#[derive(Debug, Default)]
pub(super) struct Built {
    pub(super) runs: Vec<BlockRun>,
    pub(super) bytes: Vec<u8>,
}

/// Occurrences of a term in a piece.
#[derive(Clone, Copy, Debug)]
struct Found<'a> {
    /// Run of the new segment, and number of the piece within it.
    run: usize,
    piece: usize,
    /// Number of nodes, pairs, and the node before these.
    nodes: u32,
    pairs: &'a [u8],
    before: u32,
}

/// Runs that are taken from a source segment, by number: run of the new segment, and number of the piece within it.
type Taken = HashMap<usize, (usize, usize)>;

/// Builds a segment of these conversations. Consecutive pieces of one conversation become one run. `None` if the
/// segment would be too large, or a source is invalid.
pub(super) fn build(conversations: &BTreeMap<&ConversationId, Vec<Piece<'_>>>) -> Option<Built> {
    let mut runs: Vec<(BlockRun, StoredRows)> = Vec::new();
    let mut sources: Vec<(&Segment, Taken)> = Vec::new();
    let mut terms: BTreeMap<&str, Vec<Found<'_>>> = BTreeMap::new();
    for (conversation, pieces) in conversations {
        let mut piece_number = 0;
        for piece in pieces {
            let (nodes, rows) = match piece {
                Piece::Saved(run) => (run.nodes()?, run.rows()?),
                Piece::New { nodes, rows, .. } => (*nodes, rows.clone()),
            };
            match runs.last_mut() {
                Some((last, joined)) if last.conversation == **conversation && last.nodes.is_followed_by(nodes) => {
                    joined.join(rows);
                    last.nodes = last.nodes.hull(nodes);
                    piece_number += 1;
                }
                _ => {
                    runs.push((BlockRun::new((*conversation).clone(), nodes), rows));
                    piece_number = 0;
                }
            }
            let target = (runs.len() - 1, piece_number);
            match piece {
                Piece::Saved(SegmentRun { segment, run }) => {
                    let segment: &Segment = segment;
                    let known = sources.iter_mut().find(|(known, _)| std::ptr::eq(*known, segment));
                    match known {
                        Some((_, taken)) => drop(taken.insert(*run, target)),
                        None => sources.push((segment, Taken::from([(*run, target)]))),
                    }
                }
                Piece::New { nodes, lists, .. } => {
                    for (term, list) in *lists {
                        let found = Found {
                            run: target.0,
                            piece: target.1,
                            nodes: list.nodes,
                            pairs: &list.pairs,
                            before: before(*nodes),
                        };
                        terms.entry(term).or_default().push(found);
                    }
                }
            }
        }
    }
    for (segment, taken) in &sources {
        for (term, row) in segment.terms() {
            let mut found = segment.entries_of(row).filter_map(|entry| {
                let (run, piece) = *taken.get(&entry.run)?;
                let before = before(segment.runs().get(entry.run)?.nodes);
                Some(Found { run, piece, nodes: entry.nodes, pairs: entry.pairs, before })
            });
            if let Some(first) = found.next() {
                let all = terms.entry(term).or_default();
                all.push(first);
                all.extend(found);
            }
        }
    }
    write(runs, terms)
}

fn write(runs: Vec<(BlockRun, StoredRows)>, terms: BTreeMap<&str, Vec<Found<'_>>>) -> Option<Built> {
    let count = |number: usize| u32::try_from(number).ok().map(u32::to_le_bytes);
    let nodes: usize = runs.iter().map(|(_, rows)| rows.lengths.len()).sum();
    let mut bytes = [count(runs.len())?, count(nodes)?, count(terms.len())?].concat();
    let rows: Vec<Vec<u8>> = runs.iter().map(|(_, rows)| rows.write()).collect();
    write_ends(&mut bytes, rows.iter().map(Vec::len))?;
    for (_, rows) in &runs {
        bytes.extend_from_slice(&count(rows.lengths.len() - rows.lost.len())?);
    }
    for (_, rows) in &runs {
        let total: u64 = rows.lengths.iter().copied().map(u64::from).sum();
        bytes.extend_from_slice(&total.to_le_bytes());
    }
    for length in runs.iter().flat_map(|(_, rows)| &rows.lengths) {
        bytes.extend_from_slice(&u16::try_from(*length).unwrap_or(u16::MAX).to_le_bytes());
    }
    write_ends(&mut bytes, terms.keys().map(|term| term.len()))?;
    let texts: String = terms.keys().copied().collect();
    let (mut lists, mut ends) = (Vec::new(), Vec::with_capacity(terms.len()));
    let first_nodes: Vec<u32> = runs.iter().map(|(run, _)| before(run.nodes)).collect();
    for mut found in terms.into_values() {
        found.sort_unstable_by_key(|found| (found.run, found.piece));
        write_list(&mut lists, &found, &first_nodes)?;
        ends.push(lists.len());
    }
    for end in ends {
        bytes.extend_from_slice(&count(end)?);
    }
    rows.iter().for_each(|rows| bytes.extend_from_slice(rows));
    bytes.extend_from_slice(texts.as_bytes());
    bytes.extend_from_slice(&lists);
    Some(Built { runs: runs.into_iter().map(|(run, _)| run).collect(), bytes })
}

/// Appends the occurrences of one term, sorted by run and piece.
fn write_list(out: &mut Vec<u8>, found: &[Found<'_>], first_nodes: &[u32]) -> Option<()> {
    let mut next = 0;
    for of_run in found.chunk_by(|a, b| a.run == b.run) {
        let [first, ..] = of_run else { continue };
        let number = u32::try_from(first.run).ok()?;
        write_number(out, number - next);
        next = number + 1;
        if let [Found { piece: 0, nodes, pairs, .. }] = of_run {
            write_entry(out, *nodes, pairs)?;
            continue;
        }
        let mut list = List::after(*first_nodes.get(first.run)?);
        for (position, count) in of_run.iter().flat_map(|found| occurrences(found.pairs, found.before)) {
            list.push(position, count);
        }
        write_entry(out, list.nodes, &list.pairs)?;
    }
    Some(())
}

fn write_entry(out: &mut Vec<u8>, nodes: u32, pairs: &[u8]) -> Option<()> {
    write_number(out, nodes);
    write_number(out, u32::try_from(pairs.len()).ok()?);
    out.extend_from_slice(pairs);
    Some(())
}

/// Appends the end offsets of consecutive pieces; `None` if one exceeds 32 bits.
fn write_ends(out: &mut Vec<u8>, lengths: impl Iterator<Item = usize>) -> Option<()> {
    let mut end = 0usize;
    for length in lengths {
        end = end.checked_add(length)?;
        out.extend_from_slice(&u32::try_from(end).ok()?.to_le_bytes());
    }
    Some(())
}
