//! A store of each format that was ever written, opened for ever.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests")]

use std::{env, fs, path::Path, sync::Arc};

use memory_core::{
    ContentBlock, ConversationId, Hash, Json, Level, Media, Message, MessageKey, Node, NodeDraft, NodeId, NodeRange,
    NoteId, OwnerId, Relation, RelationKind, Role, Summary, SummaryDraft, SummaryId, SummaryMetadata, Timestamp,
    ViewId, WrittenBy,
    port::{Event, Note, NoteChange, Source, Store, StoreError},
    view::{Shown, ShownElsewhere, ShownRun, View, ViewDraft, run_check, text_hash},
};
use memory_store::{
    ExchangeError, ExportFile, LogOptions, LogStore, MasterKey, ReadLimits, VacuumOptions, examine, export, import,
};

/// The root of conversation `talk` in `golden/format-1`.
const FORMAT_1_ROOT: &str = include_str!("golden/format-1/talk.root");

fn node(position: u64) -> NodeId {
    NodeId::new(position).unwrap()
}

fn talk() -> ConversationId {
    ConversationId::new("talk").unwrap()
}

fn drafts() -> Vec<NodeDraft> {
    let json = |text: &str| Json::new(text).unwrap();
    let at = |seconds: i64| Timestamp::from_millis(1_772_442_840_000 + seconds * 1_000);
    let mut question = NodeDraft::new(Message::user("How many rows?\nExactly.").speaker("Ann"), at(0), 9);
    question.message.key = MessageKey::new("q-1").ok();
    question.message.metadata.insert("session".into(), json("1.0"));
    question.topics = vec!["rows".into(), "counts".into()];
    let call = ContentBlock::ToolUse { id: "t1".into(), name: "count".into(), input: json(r#"{"b": 1, "a":[]}"#) };
    let reasoning = ContentBlock::Reasoning { text: "ask the table".into(), signature: Some("sig".into()) };
    let ask = Message::new(Role::Assistant, vec![reasoning, call]);
    let picture = Media::Bytes { media_type: "image/png".into(), data: Arc::from([0x89u8, b'P', 0, 255]) };
    let result = ContentBlock::ToolResult {
        tool_use_id: "t1".into(),
        content: vec![ContentBlock::Text("41 rows".into()), ContentBlock::Image(picture)],
        is_error: true,
    };
    let tool = Message::new(Role::Tool, vec![result]);
    let document = ContentBlock::Document {
        title: Some("plan".into()),
        media: Media::Text { media_type: "text/plain".into(), text: "step one".into() },
    };
    let odd = ContentBlock::Unknown(json(r#"{"type":"new","z":1}"#));
    let image = ContentBlock::Image(Media::Url("https://example.com/a.png".into()));
    let answer = Message::new(Role::Assistant, vec![document, odd, image]);
    let mut last = NodeDraft::new(answer.keep_out_of_summaries(true), at(3), 30);
    last.importance = 0.875;
    last.relates_to = Some(Relation { to: node(1), kind: RelationKind::FollowUp });
    vec![question, NodeDraft::new(ask, at(1), 12), NodeDraft::new(tool, at(2), 4), last]
}

fn summary(level: Level, last: u64, children: &[u64]) -> SummaryDraft {
    SummaryDraft::new(
        level,
        NodeRange::new(node(1), node(last)).unwrap(),
        "Ann wants an exact count.",
        7,
        WrittenBy::new("extractive", "1"),
        Hash::from_bytes([3; 32]),
    )
    .children(children.iter().filter_map(|n| SummaryId::new(*n)).collect())
    .metadata(SummaryMetadata::default().importance(0.5).topics(vec!["rows".into()]).has_decision(true).line_count(2))
}

fn events() -> Vec<Event> {
    let scored_by = WrittenBy::new("rules", "1");
    vec![
        Event::Summary(summary(Level::Summary, 1, &[])),
        Event::Summary(summary(Level::Meta, 1, &[1])),
        Event::Importance { node: node(2), importance: 0.25, scored_by },
        Event::Pin { node: node(1), pinned: true },
        Event::Title("Counting".into()),
        Event::Tags(vec!["work".into(), "data".into()]),
    ]
}

async fn check(store: &LogStore) {
    let expected: Vec<Node> = (1u64..)
        .zip(drafts())
        .map(|(position, draft)| {
            let lines = draft.message.line_count();
            Node::new(node(position), draft.message, draft.at)
                .line_count(lines)
                .tokens(draft.tokens)
                .importance(if position == 2 { 0.25 } else { draft.importance })
                .topics(draft.topics)
                .relates_to(draft.relates_to)
                .pinned(position == 1)
        })
        .collect();
    let all = NodeRange::first_n(9).unwrap();
    assert_eq!(store.nodes(&talk(), all).await.unwrap(), expected);
    let summaries = [summary(Level::Summary, 1, &[]), summary(Level::Meta, 1, &[1])];
    let summaries = (0..).zip(summaries).map(|(index, body)| Summary::new(SummaryId::from_index(index), body));
    assert!(store.summaries(&talk()).await.unwrap().into_iter().eq(summaries));
    let state = store.conversation(&talk()).await.unwrap();
    assert_eq!((state.title.as_deref(), state.tags), (Some("Counting"), vec!["data".to_owned(), "work".to_owned()]));
    let key = MessageKey::new("q-1").unwrap();
    assert_eq!(store.find_key(&talk(), &key).await.unwrap(), Some(node(1)));
    let names: Vec<_> = store.conversations().await.unwrap().iter().map(|state| state.id.to_string()).collect();
    assert_eq!(names, ["other", "talk"]);
    assert!(store.verify(None).await.unwrap().is_whole());
}

/// A view of the sample.
fn view() -> ViewDraft {
    let salt = [3; 16];
    let run = |shown, text| ShownRun { shown, check: run_check(&salt, [text]) };
    let nodes = |first, last| NodeRange::new(node(first), node(last)).unwrap();
    ViewDraft::new(
        Timestamp::from_millis(1_772_442_900_000),
        4,
        1,
        WrittenBy::new("hierarchical", "1"),
        salt,
        text_hash(&salt, "all of it"),
    )
    .budget(4_000)
    .tokens(321)
    .counter("cl100k_base")
    .longest_result(64)
    .history(vec![
        run(Shown::Summaries { first: SummaryId::from_index(0), count: 1 }, "summary"),
        run(Shown::Lost(nodes(2, 2)), "lost"),
        run(Shown::Messages(nodes(3, 4)), "messages"),
    ])
    .recalled(vec![run(Shown::Messages(nodes(1, 1)), "recalled")])
    .question("How many?")
}

/// Writes the sample that the golden stores hold.
async fn write(path: &Path) -> LogStore {
    written(LogStore::open(path).unwrap()).await
}

async fn written(store: LogStore) -> LogStore {
    let (first, rest) = (drafts()[..1].to_vec(), drafts()[1..].to_vec());
    store.append(&talk(), first).await.unwrap();
    store.append(&ConversationId::new("other").unwrap(), drafts()[1..2].to_vec()).await.unwrap();
    store.append(&talk(), rest).await.unwrap();
    store.record(&talk(), events()).await.unwrap();
    store.record(&talk(), vec![Event::View(Box::new(view()))]).await.unwrap();
    store
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.join("log")).unwrap();
    for file in ["FORMAT", "log/0001.seg"] {
        fs::copy(from.join(file), to.join(file)).unwrap();
    }
    for keys in ["KEYRING", "SALTS"].into_iter().filter(|keys| from.join(keys).exists()) {
        fs::copy(from.join(keys), to.join(keys)).unwrap();
    }
}

/// The key of the golden encrypted store.
const KEY: MasterKey = MasterKey::from_bytes([0x2B; 32]);

/// With `MEMORY_GOLDEN_ENCRYPTED=DIR` it leaves the store there.
#[test]
fn an_encrypted_store_of_format_2_opens_for_ever() {
    if let Some(golden) = env::var_os("MEMORY_GOLDEN_ENCRYPTED") {
        let dir = tempfile::tempdir().unwrap();
        let store = LogStore::open_encrypted(dir.path(), LogOptions::default().encrypt(), Some(&KEY)).unwrap();
        drop(pollster::block_on(written(store)));
        copy(dir.path(), Path::new(&golden));
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/format-2");
    let dir = tempfile::tempdir().unwrap();
    copy(&golden, dir.path());
    for store in [
        LogStore::open_read_only_encrypted(dir.path(), Some(&KEY)).unwrap(),
        LogStore::open_encrypted(dir.path(), LogOptions::default(), Some(&KEY)).unwrap(),
    ] {
        assert!(store.report().damage.is_empty() && store.report().torn.is_none(), "{:?}", store.report());
        pollster::block_on(check(&store));
        pollster::block_on(check_views(&store));
    }
    assert!(matches!(LogStore::open(dir.path()), Err(StoreError::Key { .. })));
}

#[test]
fn a_store_of_format_1_opens_for_ever() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/format-1");
    let dir = tempfile::tempdir().unwrap();
    copy(&golden, dir.path());
    let root = |store: &LogStore| pollster::block_on(store.verify(Some(&talk()))).unwrap().root.to_string();
    for store in [LogStore::open_read_only(dir.path()).unwrap(), LogStore::open(dir.path()).unwrap()] {
        assert!(store.report().damage.is_empty() && store.report().torn.is_none(), "{:?}", store.report());
        pollster::block_on(check(&store));
        assert_eq!(root(&store), FORMAT_1_ROOT.trim());
    }
    // A store of format 1 can be written to.
    let store = LogStore::open(dir.path()).unwrap();
    pollster::block_on(store.append(&talk(), drafts()[1..2].to_vec())).unwrap();
    assert_eq!(pollster::block_on(store.conversation(&talk())).unwrap().nodes, 5);
}

async fn check_views(store: &LogStore) {
    let views = store.views(&talk(), ViewId::FIRST, ViewId::FIRST).await.unwrap();
    assert_eq!(views, [View::new(ViewId::FIRST, view())]);
}

#[test]
fn a_store_of_format_1_with_views_opens_for_ever() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/format-1-views");
    let dir = tempfile::tempdir().unwrap();
    copy(&golden, dir.path());
    for store in [LogStore::open_read_only(dir.path()).unwrap(), LogStore::open(dir.path()).unwrap()] {
        assert!(store.report().damage.is_empty() && store.report().torn.is_none(), "{:?}", store.report());
        pollster::block_on(check(&store));
        pollster::block_on(check_views(&store));
    }
}

fn fork_of(child: &str) -> ConversationId {
    ConversationId::new(child).unwrap()
}

/// A fork of the sample with a message of its own, and a fork of that.
async fn write_forks(store: &LogStore) {
    store.fork(&talk(), node(2), &fork_of("talk-again")).await.unwrap();
    store.append(&fork_of("talk-again"), drafts()[3..].to_vec()).await.unwrap();
    store.record(&fork_of("talk-again"), vec![Event::Pin { node: node(2), pinned: true }]).await.unwrap();
    store.fork(&fork_of("talk-again"), node(3), &fork_of("talk-anew")).await.unwrap();
}

async fn check_forks(store: &LogStore) {
    let all = NodeRange::first_n(9).unwrap();
    let (parent, child) =
        (store.nodes(&talk(), all).await.unwrap(), store.nodes(&fork_of("talk-again"), all).await.unwrap());
    assert_eq!(child[0], parent[0]);
    assert_eq!((&child[1].message, child[1].pinned, parent[1].pinned), (&parent[1].message, true, false));
    assert_eq!((child.len(), &child[2].message), (3, &parent[3].message));
    assert_eq!(store.nodes(&fork_of("talk-anew"), all).await.unwrap(), child);
    assert_eq!(store.summaries(&fork_of("talk-anew")).await.unwrap(), store.summaries(&talk()).await.unwrap());
    let from = store.conversation(&fork_of("talk-anew")).await.unwrap().forked_from.unwrap();
    assert_eq!((from.conversation, from.node), (fork_of("talk-again"), node(3)));
    assert!(store.verify(None).await.unwrap().is_whole());
}

#[test]
fn a_store_of_format_1_with_forks_opens_for_ever() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/format-1-forks");
    let dir = tempfile::tempdir().unwrap();
    copy(&golden, dir.path());
    for store in [LogStore::open_read_only(dir.path()).unwrap(), LogStore::open(dir.path()).unwrap()] {
        assert!(store.report().damage.is_empty() && store.report().torn.is_none(), "{:?}", store.report());
        pollster::block_on(check_forks(&store));
    }
}

/// A conversation of an owner and a fork of it, beside the sample, which has no owner.
async fn write_owners(store: &LogStore) {
    let owner = OwnerId::new("ana").unwrap();
    store.append_for(Some(&owner), &fork_of("hers"), drafts()[..2].to_vec()).await.unwrap();
    store.fork(&fork_of("hers"), node(1), &fork_of("hers-anew")).await.unwrap();
}

async fn check_owners(store: &LogStore) {
    for (name, owner, nodes) in [("hers", Some("ana"), 2), ("hers-anew", Some("ana"), 1), ("talk", None, 4)] {
        let state = store.conversation(&fork_of(name)).await.unwrap();
        assert_eq!((state.owner.as_ref().map(OwnerId::as_str), state.nodes), (owner, nodes), "{name}");
    }
    assert!(store.verify(None).await.unwrap().is_whole());
}

#[test]
fn a_store_of_format_1_with_owners_opens_for_ever() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/format-1-owners");
    let dir = tempfile::tempdir().unwrap();
    copy(&golden, dir.path());
    for store in [LogStore::open_read_only(dir.path()).unwrap(), LogStore::open(dir.path()).unwrap()] {
        assert!(store.report().damage.is_empty() && store.report().torn.is_none(), "{:?}", store.report());
        pollster::block_on(check_owners(&store));
    }
}

/// A view of the sample and of another conversation.
fn view_elsewhere() -> ViewDraft {
    let run = ShownRun { shown: Shown::Messages(NodeRange::single(node(1))), check: run_check(&[3; 16], ["other"]) };
    let elsewhere = ShownElsewhere::new(fork_of("other"), vec![run])
        .title("Counting".to_owned())
        .times([Timestamp::from_millis(1_772_442_840_000), Timestamp::default()]);
    view().elsewhere(vec![elsewhere])
}

async fn check_elsewhere(store: &LogStore) {
    let views = store.views(&talk(), ViewId::FIRST.next(), ViewId::FIRST.next()).await.unwrap();
    assert_eq!(views, [View::new(ViewId::FIRST.next(), view_elsewhere())]);
    assert!(store.verify(None).await.unwrap().is_whole());
}

#[test]
fn a_store_of_format_1_with_views_of_several_conversations_opens_for_ever() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/format-1-elsewhere");
    let dir = tempfile::tempdir().unwrap();
    copy(&golden, dir.path());
    for store in [LogStore::open_read_only(dir.path()).unwrap(), LogStore::open(dir.path()).unwrap()] {
        assert!(store.report().damage.is_empty() && store.report().torn.is_none(), "{:?}", store.report());
        pollster::block_on(check_views(&store));
        pollster::block_on(check_elsewhere(&store));
    }
}

/// Notes of the sample, and a conversation of nothing but notes.
fn notes() -> Vec<Note> {
    let at = Timestamp::from_millis(1_772_442_900_000);
    let (name, text) = (|| "plan/first".to_owned(), |text: &str| text.to_owned());
    let changes = [
        NoteChange::Write { name: name(), text: text("Count the rows.\nExactly.") },
        NoteChange::Append { name: name(), text: text("\nThere are 41.") },
        NoteChange::Rename { from: text("plan"), to: text("done") },
        NoteChange::Remove { name: text("done/first") },
    ];
    let mut notes: Vec<_> =
        (0..).zip(changes).map(|(last, change)| Note::new(NoteId::after(last), at, change)).collect();
    notes[1].sources = vec![NodeRange::single(node(1)), NodeRange::new(node(3), node(4)).unwrap()];
    notes
}

fn noted() -> ConversationId {
    ConversationId::of_notes(OwnerId::new("ana").ok().as_ref()).unwrap()
}

async fn write_notes(store: &LogStore) {
    let events = |notes: &[Note]| notes.iter().map(|note| Event::Note(Box::new(note.clone()))).collect::<Vec<_>>();
    store.record(&talk(), events(&notes()[..1])).await.unwrap();
    store.record(&talk(), events(&notes()[1..])).await.unwrap();
    let owner = OwnerId::new("ana").unwrap();
    store.record_for(Some(&owner), &noted(), events(&notes()[..1])).await.unwrap();
}

async fn check_notes(store: &LogStore) {
    let all = |id| async move { store.notes(&id, NoteId::FIRST, NoteId::after(9)).await.unwrap() };
    assert_eq!(all(talk()).await, notes());
    assert_eq!(all(noted()).await, notes()[..1]);
    let state = store.conversation(&noted()).await.unwrap();
    assert_eq!((state.nodes, state.notes, state.owner.as_ref().map(OwnerId::as_str)), (0, 1, Some("ana")));
    assert!(state.is_of_notes() && store.verify(None).await.unwrap().is_whole());
}

#[test]
fn a_store_of_format_1_with_notes_opens_for_ever() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/format-1-notes");
    let dir = tempfile::tempdir().unwrap();
    copy(&golden, dir.path());
    for store in [LogStore::open_read_only(dir.path()).unwrap(), LogStore::open(dir.path()).unwrap()] {
        assert!(store.report().damage.is_empty() && store.report().torn.is_none(), "{:?}", store.report());
        pollster::block_on(check_elsewhere(&store));
        pollster::block_on(check_notes(&store));
    }
}

/// The notes of a conversation, including those that are messages.
async fn all_notes(store: &LogStore, name: &str) -> Vec<Note> {
    let id = fork_of(name);
    let nodes = store.nodes(&id, NodeRange::first_n(99).unwrap()).await.unwrap();
    let as_messages =
        nodes.iter().map(|node| Note::of_message(NoteId::after(node.id.get() - 1), &node.message, node.at).unwrap());
    let mut notes: Vec<_> = as_messages.collect();
    notes.extend(store.notes(&id, NoteId::FIRST, NoteId::after(99)).await.unwrap());
    notes
}

/// A version without notes kept them as messages: of a bridge, and of models with and without an owner. No version
/// writes it again.
#[test]
fn a_store_with_notes_as_messages_opens_for_ever_and_a_vacuum_makes_notes_of_them() {
    const NAMES: [&str; 4] = ["memory-notes", "memory-notes.ana", "retracted:list", "strands-documents:trip"];
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/format-1-documents");
    let dir = tempfile::tempdir().unwrap();
    copy(&golden, dir.path());
    pollster::block_on(async {
        let store = LogStore::open(dir.path()).unwrap();
        let root = async |store: &LogStore, name| store.verify(Some(&fork_of(name))).await.unwrap().root;
        let state = async |store: &LogStore, name: &str| store.conversation(&fork_of(name)).await.unwrap();
        let roots = [root(&store, "list").await, root(&store, "strands:trip:a").await];
        let mut before = Vec::new();
        for name in NAMES {
            let state = state(&store, name).await;
            assert!(state.has_notes_as_messages() && state.notes == 0, "{state:?}");
            before.push(all_notes(&store, name).await);
        }
        assert_eq!(before.iter().map(Vec::len).collect::<Vec<_>>(), [8, 1, 1, 4]);
        let NoteChange::Write { name, text } = &before[0][7].change else { panic!("{:?}", before[0]) };
        assert_eq!((name.as_str(), text.as_str()), ("scratchpad", "Hotel: booked at the Seagull"));
        // One goes on before the vacuum.
        let more = Note::new(NoteId::after(8), Timestamp::default(), NoteChange::Remove { name: "scratchpad".into() });
        store.record(&fork_of("memory-notes"), vec![Event::Note(Box::new(more.clone()))]).await.unwrap();
        before[0].push(more);
        let other = LogStore::open(dir.path()).unwrap();
        let report = store.vacuum(VacuumOptions::default(), &()).unwrap();
        assert_eq!((report.noted, report.replaced), (14, 1), "{report:?}");
        for store in [store, other, LogStore::open_read_only(dir.path()).unwrap()] {
            for (name, before) in NAMES.iter().zip(&before) {
                let state = state(&store, name).await;
                assert!(state.is_of_notes() && !state.has_notes_as_messages(), "{state:?}");
                assert_eq!((state.nodes, state.notes, state.tags), (0, before.len() as u64, Vec::new()));
                assert_eq!(all_notes(&store, name).await, *before);
            }
            assert_eq!([root(&store, "list").await, root(&store, "strands:trip:a").await], roots);
            assert!(store.verify(None).await.unwrap().is_whole());
        }
        fs::remove_dir_all(dir.path().join("cache")).unwrap();
        let store = LogStore::open(dir.path()).unwrap();
        assert!(store.report().damage.is_empty(), "{:?}", store.report());
        assert_eq!(all_notes(&store, "memory-notes").await, before[0]);
        assert_eq!(state(&store, "memory-notes.ana").await.owner.unwrap().as_str(), "ana");
        assert_eq!(store.vacuum(VacuumOptions::default(), &()).unwrap().noted, 0);
        drop(store);
        assert!(examine(dir.path(), &()).unwrap().is_whole());
    });
}

#[test]
fn an_export_with_notes_as_messages_is_imported_for_ever() {
    let bytes = include_bytes!("golden/export-1-documents.jsonl");
    let mut file = ExportFile::spool("a pipe", &mut bytes.as_slice(), ReadLimits::default()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    pollster::block_on(async {
        let store = LogStore::open(dir.path()).unwrap();
        let imported = import(&store, &mut file, None, None, &()).await.unwrap();
        assert_eq!((imported.nodes, imported.new_notes), (0, 8));
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/format-1-documents");
        let dir = tempfile::tempdir().unwrap();
        copy(&golden, dir.path());
        let old = LogStore::open(dir.path()).unwrap();
        assert_eq!(all_notes(&store, "memory-notes").await, all_notes(&old, "memory-notes").await);
    });
}

/// Its names were given before names were checked: hidden characters, and twins in two normalization forms. No version
/// writes it again.
#[test]
fn a_store_with_names_that_no_new_conversation_gets_opens_for_ever() {
    const NAMES: [&str; 3] = ["cafe\u{301}", "caf\u{e9}", "\u{202e}\u{200b}\u{2066}\u{feff}\u{e0041}hidden"];
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/format-1-names");
    let dir = tempfile::tempdir().unwrap();
    copy(&golden, dir.path());
    pollster::block_on(async {
        let store = LogStore::open(dir.path()).unwrap();
        let there: Vec<_> = store.conversations().await.unwrap().into_iter().map(|state| state.id).collect();
        assert_eq!(there.iter().map(ConversationId::as_str).collect::<Vec<_>>(), NAMES);
        assert!(store.verify(None).await.unwrap().is_whole());
        for id in &there {
            let nodes = store.conversation(id).await.unwrap().nodes;
            store.append(id, drafts()[1..2].to_vec()).await.unwrap();
            assert_eq!(store.conversation(id).await.unwrap().nodes, nodes + 1, "what is there goes on");
            let fork = ConversationId::new(&format!("{id}-2")).unwrap();
            assert_eq!(store.fork(id, node(2), &fork).await.is_ok(), fork.as_str() == "caf\u{e9}-2", "{fork:?}");
            // An import takes it under another name, and under its own only if a conversation may begin with that name.
            let mut bytes = Vec::new();
            export(&store, id, &mut bytes, &()).await.unwrap();
            let mut file = ExportFile::spool("a pipe", &mut bytes.as_slice(), ReadLimits::default()).unwrap();
            let other = tempfile::tempdir().unwrap();
            let other = LogStore::open(other.path()).unwrap();
            let refused = import(&other, &mut file, None, None, &()).await;
            let is_unfit = matches!(&refused, Err(ExchangeError::Store(StoreError::UnfitName(_))));
            assert_eq!(is_unfit, id.as_str() != "caf\u{e9}", "{refused:?}");
            import(&other, &mut file, Some(&talk()), None, &()).await.unwrap();
        }
    });
}

/// With `MEMORY_GOLDEN=DIR` it leaves the store there, as the golden store of a new format.
#[test]
fn this_version_writes_what_the_golden_store_holds() {
    let dir = tempfile::tempdir().unwrap();
    let store = pollster::block_on(write(dir.path()));
    pollster::block_on(check(&store));
    pollster::block_on(check_views(&store));
    let root = pollster::block_on(store.verify(Some(&talk()))).unwrap().root;
    pollster::block_on(write_forks(&store));
    pollster::block_on(check_forks(&store));
    pollster::block_on(write_owners(&store));
    pollster::block_on(check_owners(&store));
    let event = Event::View(Box::new(view_elsewhere()));
    pollster::block_on(store.record(&talk(), vec![event])).unwrap();
    pollster::block_on(check_elsewhere(&store));
    pollster::block_on(write_notes(&store));
    pollster::block_on(check_notes(&store));
    drop(store);
    if let Some(golden) = env::var_os("MEMORY_GOLDEN") {
        copy(dir.path(), Path::new(&golden));
        fs::write(Path::new(&golden).join("talk.root"), format!("{root}\n")).unwrap();
    }
}
