//! Requests to a store, a model to compare it with, and the state that both show.

use memory_core::{
    ConversationId, Hash, Level, Message, MessageKey, Node, NodeDraft, NodeId, NodeRange, NoteId, OwnerId, Summary,
    SummaryDraft, SummaryId, SummaryMetadata, Timestamp, ViewId, WrittenBy,
    port::{ConversationState, Event, Note, NoteChange, Store, StoreError},
    testing::MemoryStore,
    view::{Shown as ShownPieces, ShownElsewhere, ShownRun, View, ViewDraft, run_check, text_hash},
};

use crate::LogOptions;

#[derive(Clone, Debug)]
pub(super) enum Request {
    Append(&'static str, Vec<NodeDraft>),
    Record(&'static str, Vec<Event>),
    Fork(&'static str, u64, &'static str),
}

pub(super) fn id(name: &str) -> ConversationId {
    ConversationId::new(name).unwrap()
}

pub(super) fn node(position: u64) -> NodeId {
    NodeId::new(position).unwrap()
}

pub(super) fn all() -> NodeRange {
    NodeRange::first_n(1 << 40).unwrap()
}

/// Segments so small that a few messages fill one.
pub(super) fn tiny_segments() -> LogOptions {
    LogOptions::default().segment_bytes(0)
}

/// A message whose text has its number and is `bytes` long or a little more.
pub(super) fn draft(number: usize, bytes: usize) -> NodeDraft {
    let text = format!("message {number} {}", "x".repeat(bytes));
    NodeDraft::new(Message::user(text), Timestamp::from_millis(1_000 + i64::try_from(number).unwrap()), 7)
}

pub(super) fn summary(first: u64, last: u64, children: &[u64]) -> SummaryDraft {
    SummaryDraft::new(
        if children.is_empty() { Level::Summary } else { Level::Meta },
        NodeRange::new(node(first), node(last)).unwrap(),
        format!("nodes {first} to {last}"),
        4,
        WrittenBy::new("sample", "1"),
        Hash::of_parts([first.to_le_bytes().as_slice(), &last.to_le_bytes()]),
    )
    .children(children.iter().filter_map(|n| SummaryId::new(*n)).collect())
    .metadata(SummaryMetadata::default().topics(vec!["tests".into()]))
}

/// A view of the first `nodes` messages: summary 1, and the messages after it verbatim.
pub(super) fn view(nodes: u64, question: &str) -> Event {
    let salt = [5; 16];
    let run = |shown| ShownRun { shown, check: run_check(&salt, [question]) };
    let messages = |first| ShownPieces::Messages(NodeRange::new(node(first), node(nodes)).unwrap());
    Event::View(Box::new(
        ViewDraft::new(
            Timestamp::from_millis(5_000),
            nodes,
            1,
            WrittenBy::new("sample", "1"),
            salt,
            text_hash(&salt, question),
        )
        .budget(4_000)
        .tokens(90)
        .counter("words")
        .history(vec![run(ShownPieces::Summaries { first: SummaryId::new(1).unwrap(), count: 1 }), run(messages(2))])
        .recalled(vec![run(messages(nodes))])
        .question(question),
    ))
}

/// A note with this number.
pub(super) fn note(number: u64, text: &str) -> Event {
    let change = NoteChange::Append { name: "a/b".into(), text: text.to_owned() };
    Event::Note(Box::new(Note::new(NoteId::new(number).unwrap(), Timestamp::from_millis(-6), change)))
}

/// The view with messages of conversation `b` next to it.
fn beside_another(view: Event) -> Event {
    let Event::View(mut draft) = view else { return view };
    let run = ShownRun { shown: ShownPieces::Messages(NodeRange::single(node(1))), check: [6; 8] };
    draft.elsewhere.push(ShownElsewhere::new(id("b"), vec![run]).title("the other".to_owned()));
    Event::View(draft)
}

/// Requests of every kind that fill several tiny segments; one batch is longer than a segment.
pub(super) fn requests() -> Vec<Request> {
    let pin = |number, pinned| Event::Pin { node: node(number), pinned };
    let mut all = requests_without_forks();
    all.extend([
        Request::Fork("a", 9, "fork-of-a"),
        Request::Append("fork-of-a", vec![draft(70, 20), draft(71, 800)]),
        Request::Record("a", vec![pin(9, false), Event::Summary(summary(3, 3, &[]))]),
        Request::Record("fork-of-a", vec![pin(2, true), Event::Summary(summary(10, 11, &[])), view(11, "and here?")]),
        Request::Append("a", vec![draft(21, 400)]),
        Request::Fork("fork-of-a", 10, "its-fork"),
        Request::Fork("fork-of-a", 4, "empty"),
        Request::Record("its-fork", vec![Event::Title("the youngest".into()), Event::Summary(summary(3, 4, &[]))]),
        Request::Append("its-fork", vec![draft(80, 1_200)]),
        Request::Record("fork-of-a", vec![note(1, &"its own ".repeat(40))]),
    ]);
    all
}

pub(super) fn requests_without_forks() -> Vec<Request> {
    let keyed = |mut draft: NodeDraft, key: &str| {
        draft.message.key = MessageKey::new(key).ok();
        draft
    };
    let weigh = Event::Importance { node: node(2), importance: 0.25, scored_by: WrittenBy::new("sample", "1") };
    vec![
        Request::Append("a", vec![draft(1, 10), keyed(draft(2, 300), "second")]),
        Request::Append("b", vec![draft(1, 900)]),
        Request::Record("a", vec![Event::Title("the title".into()), Event::Tags(vec!["z".into(), "b".into()])]),
        Request::Append("a", (3..8).map(|n| draft(n, 200)).collect()),
        Request::Append("b", vec![draft(2, 1_900)]),
        Request::Record("a", vec![Event::Summary(summary(1, 1, &[])), Event::Summary(summary(2, 2, &[]))]),
        Request::Record("a", vec![view(7, "what is in the first seven?")]),
        Request::Append("a", (8..20).map(|n| draft(n, 700)).collect()),
        Request::Record("a", vec![weigh, Event::Pin { node: node(9), pinned: true }]),
        Request::Append("a", vec![keyed(draft(2, 300), "second"), draft(20, 0)]),
        Request::Record("a", vec![Event::Summary(summary(1, 2, &[1, 2]))]),
        Request::Record("a", vec![view(20, &"y".repeat(900)), beside_another(view(20, "again?"))]),
        Request::Record("c", vec![note(1, "before any message"), note(2, &"y".repeat(700))]),
        Request::Record("a", vec![note(1, &"z".repeat(300)), Event::Title("the title".into())]),
        Request::Append("c", vec![draft(1, 2_500)]),
        Request::Record("a", vec![note(2, "of the second")]),
        Request::Record("notes", vec![note(1, &"begins".repeat(90))]),
        Request::Record("notes", vec![note(2, ""), note(3, "more")]),
        Request::Append("b", vec![draft(3, 1_000)]),
    ]
}

/// Owner of a conversation; `b`, `c` and `notes` have one.
fn owner_of(name: &str) -> Option<OwnerId> {
    matches!(name, "b" | "c" | "notes").then(|| OwnerId::new("ana").unwrap())
}

pub(super) fn perform(store: &dyn Store, request: &Request) -> Result<(), StoreError> {
    match request.clone() {
        Request::Append(name, batch) => {
            let owner = owner_of(name);
            pollster::block_on(store.append_for(owner.as_ref(), &id(name), batch)).map(drop)
        }
        Request::Record(name, events) => {
            pollster::block_on(store.record_for(owner_of(name).as_ref(), &id(name), events)).map(drop)
        }
        Request::Fork(name, at, child) => pollster::block_on(store.fork(&id(name), node(at), &id(child))).map(drop),
    }
}

/// A model that has applied these requests.
pub(super) fn model(requests: &[Request]) -> MemoryStore {
    let model = MemoryStore::default();
    requests.iter().for_each(|request| perform(&model, request).unwrap());
    model
}

/// No view has a higher number.
pub(super) fn last_view() -> ViewId {
    ViewId::new(u64::MAX).unwrap()
}

/// All that can be read of a conversation.
pub(super) type ShownConversation = (ConversationState, Vec<Node>, Vec<Summary>, (Vec<View>, Vec<Note>));

/// All that can be read of a store.
pub(super) type Shown = Vec<ShownConversation>;

pub(super) fn shown(store: &dyn Store) -> Result<Shown, StoreError> {
    pollster::block_on(async {
        let mut shown = Vec::new();
        for state in store.conversations().await? {
            let (nodes, summaries) = (store.nodes(&state.id, all()).await?, store.summaries(&state.id).await?);
            let views = store.views(&state.id, ViewId::FIRST, last_view()).await?;
            let notes = store.notes(&state.id, NoteId::FIRST, NoteId::after(u64::MAX)).await?;
            shown.push((state, nodes, summaries, (views, notes)));
        }
        Ok(shown)
    })
}
