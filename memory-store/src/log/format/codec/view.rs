//! The wire type of a recorded view.

use bincode::{BorrowDecode, Encode};
use memory_core::{
    Hash, NodeRange, NoteId, SummaryId, Timestamp, ViewId, WrittenBy,
    view::{Shown, ShownAttached, ShownElsewhere, ShownRun, View, ViewDraft},
};

use super::{
    items::{Items, bounded, node_id},
    named,
    wire::{CodecError, VERSION, VIEW_ATTACHED, VIEW_ELSEWHERE, encode_onto, kind, whole},
};

const MESSAGES: u8 = 0;
const SUMMARIES: u8 = 1;
const LOST: u8 = 2;
/// Kind of an excerpt, whose count is the first byte times 65,536 plus the length in bytes.
const EXCERPT: u8 = 3;
const OMITTED: u8 = 4;
const PART: u8 = 5;
const DISABLED: u8 = 6;
/// Kind of an entry, whose first is the number of its note and whose count is 1.
const ENTRY: u8 = 7;
/// Kind of a remark, whose count is the number of the later message.
const CHANGED: u8 = 8;

/// Version 1: a view of only one conversation.
#[derive(Encode, BorrowDecode)]
struct WireView<'a> {
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

/// Version 2: the fields of version 1, and the shown parts of other conversations.
#[derive(Encode, BorrowDecode)]
struct WireViewElsewhere<'a> {
    view: WireView<'a>,
    elsewhere: Items<WireElsewhere<'a>>,
}

/// Version 3: the fields of version 2, whose list may be empty, and the pieces shown between messages of the history.
#[derive(Encode, BorrowDecode)]
struct WireViewAttached<'a> {
    view: WireViewElsewhere<'a>,
    attached: Items<WireAttached>,
}

#[derive(Encode, BorrowDecode)]
struct WireAttached {
    before: u64,
    runs: Items<WireRun>,
}

#[derive(Encode, BorrowDecode)]
struct WireElsewhere<'a> {
    conversation: &'a str,
    title: Option<&'a str>,
    first_at: i64,
    last_at: i64,
    runs: Items<WireRun>,
}

#[derive(Encode, BorrowDecode)]
struct WireRun {
    what: u8,
    first: u64,
    count: u64,
    check: [u8; 8],
}

/// The whole record, including the header, of a view under this number. The record has the lowest version that can hold
/// the view, so that older programs read it.
pub(crate) fn encode_view(draft: &ViewDraft, id: ViewId) -> Result<Vec<u8>, CodecError> {
    bounded(draft.history.len().max(draft.recalled.len()).max(draft.elsewhere.len()))?;
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
    let mut record = Vec::new();
    if draft.elsewhere.is_empty() && draft.attached.is_empty() {
        encode_onto(&mut record, [kind::VIEW, VERSION], &wire)?;
        return Ok(record);
    }
    let mut elsewhere = Vec::with_capacity(draft.elsewhere.len());
    for ShownElsewhere { conversation, title, times: [first, last], runs: of_it, .. } in &draft.elsewhere {
        bounded(of_it.len())?;
        let (conversation, title) = (conversation.as_str(), title.as_deref());
        let (first_at, last_at) = (first.as_millis(), last.as_millis());
        elsewhere.push(WireElsewhere { conversation, title, first_at, last_at, runs: runs(of_it) });
    }
    let wire = WireViewElsewhere { view: wire, elsewhere: Items(elsewhere) };
    if draft.attached.is_empty() {
        encode_onto(&mut record, [kind::VIEW, VIEW_ELSEWHERE], &wire)?;
        return Ok(record);
    }
    bounded(draft.attached.len())?;
    let mut attached = Vec::with_capacity(draft.attached.len());
    for ShownAttached { before, runs: of_it, .. } in &draft.attached {
        bounded(of_it.len())?;
        attached.push(WireAttached { before: before.get(), runs: runs(of_it) });
    }
    let wire = WireViewAttached { view: wire, attached: Items(attached) };
    encode_onto(&mut record, [kind::VIEW, VIEW_ATTACHED], &wire)?;
    Ok(record)
}

/// Reads a view of a known version.
pub(super) fn decode_view(version: u8, value: &[u8]) -> Result<View, CodecError> {
    if version == VERSION {
        return whole::<WireView<'_>>(value)?.into_view();
    }
    if version == VIEW_ELSEWHERE {
        let view = whole::<WireViewElsewhere<'_>>(value)?.into_view()?;
        if view.body.elsewhere.is_empty() {
            return Err("a view of version 2 shows no other conversation".into());
        }
        return Ok(view);
    }
    let WireViewAttached { view, attached } = whole(value)?;
    let mut view = view.into_view()?;
    view.body.attached = attached.0.into_iter().map(WireAttached::into_attached).collect::<Result<_, _>>()?;
    if view.body.attached.is_empty() {
        return Err("a view of version 3 shows nothing between messages".into());
    }
    Ok(view)
}

impl WireViewElsewhere<'_> {
    fn into_view(self) -> Result<View, CodecError> {
        let mut view = self.view.into_view()?;
        view.body.elsewhere =
            self.elsewhere.0.into_iter().map(WireElsewhere::into_elsewhere).collect::<Result<_, _>>()?;
        Ok(view)
    }
}

impl WireAttached {
    fn into_attached(self) -> Result<ShownAttached, CodecError> {
        let runs = self.runs.0.into_iter().map(WireRun::into_run).collect::<Result<_, _>>()?;
        Ok(ShownAttached::new(node_id(self.before)?, runs))
    }
}

impl WireElsewhere<'_> {
    fn into_elsewhere(self) -> Result<ShownElsewhere, CodecError> {
        let conversation = named(self.conversation)?;
        let times = [self.first_at, self.last_at].map(Timestamp::from_millis);
        let runs = self.runs.0.into_iter().map(WireRun::into_run).collect::<Result<_, _>>()?;
        Ok(ShownElsewhere::new(conversation, runs).title(self.title.map(str::to_owned)).times(times))
    }
}

impl WireView<'_> {
    fn into_view(self) -> Result<View, CodecError> {
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
            Shown::Omitted(nodes) => (OMITTED, nodes.first().get(), nodes.count()),
            Shown::Disabled(nodes) => (DISABLED, nodes.first().get(), nodes.count()),
            Shown::Lost(nodes) => (LOST, nodes.first().get(), nodes.count()),
            Shown::Excerpt { node, at, bytes } => (EXCERPT, node.get(), u64::from(at) << 16 | u64::from(bytes)),
            Shown::Part { node, at, bytes } => (PART, node.get(), u64::from(at) << 32 | u64::from(bytes)),
            Shown::Entry(note) => (ENTRY, note.get(), 1),
            Shown::Changed { node, by } => (CHANGED, node.get(), by.get()),
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
        if what == PART {
            let half = |bits: u64| u32::try_from(bits).map_err(|_| "a part of a message is beyond all bounds");
            let (at, bytes) = (half(count >> 32)?, half(count & 0xffff_ffff)?);
            return Ok(ShownRun { shown: Shown::Part { node: node_id(first)?, at, bytes }, check });
        }
        if what == CHANGED {
            return Ok(ShownRun { shown: Shown::Changed { node: node_id(first)?, by: node_id(count)? }, check });
        }
        let last = count.checked_sub(1).and_then(|more| first.checked_add(more));
        let last = last.ok_or("a run of a view is empty or beyond all bounds")?;
        let nodes = || NodeRange::new(node_id(first)?, node_id(last)?).ok_or(CodecError::from("a run is reversed"));
        let shown = match what {
            MESSAGES => Shown::Messages(nodes()?),
            SUMMARIES => Shown::Summaries { first: SummaryId::new(first).ok_or("a view shows summary 0")?, count },
            LOST => Shown::Lost(nodes()?),
            OMITTED => Shown::Omitted(nodes()?),
            DISABLED => Shown::Disabled(nodes()?),
            ENTRY => Shown::Entry(NoteId::new(first).ok_or("a view shows note 0")?),
            _ => return Err("a run of a view is of an unknown sort: a newer version wrote it".into()),
        };
        Ok(ShownRun { shown, check })
    }
}
