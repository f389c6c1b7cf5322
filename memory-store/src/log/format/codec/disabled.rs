//! The wire type of changes of what is disabled.

use bincode::{BorrowDecode, Encode};
use memory_core::{Disabling, NodeRange, SummaryId, Timestamp};

use super::{
    items::{Items, bounded, node_id},
    wire::{CodecError, encode, kind, whole},
};

#[derive(Encode, BorrowDecode)]
struct WireDisabling<'a> {
    at: i64,
    by: &'a str,
    is_disabled: bool,
    nodes: Items<(u64, u64)>,
    summaries: Items<u64>,
}

/// The whole record, including the header, of a change.
pub(super) fn encode_disabling(change: &Disabling) -> Result<Vec<u8>, CodecError> {
    let Disabling { at, by, is_disabled, nodes, summaries, .. } = change;
    bounded(nodes.len().max(summaries.len()))?;
    let nodes = Items(nodes.iter().map(|run| (run.first().get(), run.last().get())).collect());
    let summaries = Items(summaries.iter().map(|id| id.get()).collect());
    let (at, is_disabled) = (at.as_millis(), *is_disabled);
    encode(kind::DISABLED, &WireDisabling { at, by, is_disabled, nodes, summaries })
}

pub(super) fn decode_disabling(value: &[u8]) -> Result<Disabling, CodecError> {
    let wire: WireDisabling<'_> = whole(value)?;
    let run = |(first, last)| {
        NodeRange::new(node_id(first)?, node_id(last)?).ok_or_else(|| "a run of disabled nodes is reversed".into())
    };
    let nodes = wire.nodes.0.into_iter().map(run).collect::<Result<_, CodecError>>()?;
    let summaries: Option<_> = wire.summaries.0.into_iter().map(SummaryId::new).collect();
    let summaries = summaries.ok_or("a disabled summary has number 0")?;
    let change = Disabling::new(Timestamp::from_millis(wire.at), wire.is_disabled);
    Ok(change.by(wire.by).nodes(nodes).summaries(summaries))
}
