//! The wire type of a recorded view.

use bincode::{BorrowDecode, Encode};
use memory_core::{Hash, NodeRange, Shown, ShownRun, SummaryId, Timestamp, View, ViewDraft, ViewId, WrittenBy};

use super::{
    items::{Items, bounded, node_id},
    wire::{CodecError, encode, kind},
};

const MESSAGES: u8 = 0;
const SUMMARIES: u8 = 1;
const LOST: u8 = 2;
/// Its count is the first byte times 65,536 plus the length in bytes.
const EXCERPT: u8 = 3;

#[derive(Encode, BorrowDecode)]
pub(super) struct WireView<'a> {
    id: u64,
    at: i64,
    nodes: u64,
    layout: u32,
    budget: u32,
    tokens: u32,
    counter: &'a str,
    strategy: &'a str,
    version: &'a str,
    longest_result: Option<u32>,
    history: Items<WireRun>,
    recalled: Items<WireRun>,
    question: &'a str,
    salt: [u8; 16],
    hash: [u8; 32],
}

#[derive(Encode, BorrowDecode)]
struct WireRun {
    what: u8,
    first: u64,
    count: u64,
    check: [u8; 8],
}

/// The whole record, header included, of a view under this number.
pub(crate) fn encode_view(draft: &ViewDraft, id: ViewId) -> Result<Vec<u8>, CodecError> {
    bounded(draft.history.len().max(draft.recalled.len()))?;
    let runs = |runs: &[ShownRun]| Items(runs.iter().map(WireRun::of).collect());
    let wire = WireView {
        id: id.get(),
        at: draft.at.as_millis(),
        nodes: draft.nodes,
        layout: draft.layout,
        budget: draft.budget,
        tokens: draft.tokens,
        counter: &draft.counter,
        strategy: &draft.chosen_by.strategy,
        version: &draft.chosen_by.version,
        longest_result: draft.longest_result,
        history: runs(&draft.history),
        recalled: runs(&draft.recalled),
        question: &draft.question,
        salt: draft.salt,
        hash: *draft.hash.as_bytes(),
    };
    encode(kind::VIEW, &wire)
}

impl WireView<'_> {
    pub(super) fn into_view(self) -> Result<View, CodecError> {
        let runs = |runs: Items<WireRun>| runs.0.into_iter().map(WireRun::into_run).collect::<Result<_, _>>();
        let body = ViewDraft::new(
            Timestamp::from_millis(self.at),
            self.nodes,
            self.layout,
            WrittenBy::new(self.strategy, self.version),
            self.salt,
            Hash::from_bytes(self.hash),
        )
        .budget(self.budget)
        .tokens(self.tokens)
        .counter(self.counter)
        .longest_result(self.longest_result)
        .history(runs(self.history)?)
        .recalled(runs(self.recalled)?)
        .question(self.question);
        Ok(View::new(ViewId::new(self.id).ok_or("a view has number 0")?, body))
    }
}

impl WireRun {
    fn of(run: &ShownRun) -> Self {
        let (what, first, count) = match run.shown {
            Shown::Messages(nodes) => (MESSAGES, nodes.first().get(), nodes.count()),
            Shown::Summaries { first, count } => (SUMMARIES, first.get(), count),
            Shown::Lost(nodes) => (LOST, nodes.first().get(), nodes.count()),
            Shown::Excerpt { node, at, bytes } => (EXCERPT, node.get(), u64::from(at) << 16 | u64::from(bytes)),
        };
        Self { what, first, count, check: run.check }
    }

    fn into_run(self) -> Result<ShownRun, CodecError> {
        let Self { what, first, count, check } = self;
        if what == EXCERPT {
            let at = u32::try_from(count >> 16).map_err(|_| "a part of a message is beyond all bounds")?;
            let bytes = u16::try_from(count & 0xffff).map_err(|_| "a part of a message is beyond all bounds")?;
            return Ok(ShownRun { shown: Shown::Excerpt { node: node_id(first)?, at, bytes }, check });
        }
        let last = count.checked_sub(1).and_then(|more| first.checked_add(more));
        let last = last.ok_or("a run of a view is empty or beyond all bounds")?;
        let nodes = || NodeRange::new(node_id(first)?, node_id(last)?).ok_or(CodecError::from("a run is reversed"));
        let shown = match what {
            MESSAGES => Shown::Messages(nodes()?),
            SUMMARIES => Shown::Summaries { first: SummaryId::new(first).ok_or("a view shows summary 0")?, count },
            LOST => Shown::Lost(nodes()?),
            _ => return Err("a run of a view is of an unknown sort: a newer version wrote it".into()),
        };
        Ok(ShownRun { shown, check })
    }
}
