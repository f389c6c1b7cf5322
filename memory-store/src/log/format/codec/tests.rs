//! Golden bytes of every wire type, and bytes that no writer makes.

use std::sync::Arc;

use memory_core::{
    ContentBlock, Disabling, ErasedKey, ErasedLeaf, Erasure, ErasureId, Hash, Json, Level, Media, Message, MessageKey,
    NodeDraft, NodeId, NodeOutline, NodeRange, NoteId, Relation, RelationKind, Role, Summary, SummaryDraft, SummaryId,
    SummaryMetadata, Timestamp, ViewId, WrittenBy,
    port::{Event, Note, NoteChange},
    view::{Shown, ShownAttached, ShownElsewhere, ShownRun, ViewDraft},
};
use proptest::prelude::*;

use super::{
    wire::{VIEW_ATTACHED, VIEW_ELSEWHERE},
    *,
};
use crate::log::format::frame::{MAX_RECORD, parse_record};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn golden(name: &str, record: &[u8], expected: &str) {
    let body = parse_record(record).unwrap();
    assert_eq!(hex(body), expected.replace([' ', '\n'], ""), "{name}: changed bytes make stores unreadable");
}

fn node(position: u64) -> NodeId {
    NodeId::new(position).unwrap()
}

fn written_by() -> WrittenBy {
    WrittenBy::new("ext", "2")
}

fn nested(depth: usize) -> Message {
    let mut block = ContentBlock::Text("core".into());
    for level in 0..depth {
        block = ContentBlock::ToolResult { tool_use_id: level.to_string(), content: vec![block], is_error: false };
    }
    Message::new(Role::User, vec![block])
}

/// Every kind of block, with tool results next to and inside each other.
fn everything() -> NodeDraft {
    let json = |text: &str| Json::new(text).unwrap();
    let text = |text: &str| ContentBlock::Text(text.into());
    let result = |id: &str, content| ContentBlock::ToolResult { tool_use_id: id.into(), content, is_error: id == "e" };
    let bytes = Media::Bytes { media_type: "image/png".into(), data: Arc::from([0u8, 255]) };
    let message = Message::new(
        Role::Tool,
        vec![
            text("t"),
            ContentBlock::ToolUse { id: "c".into(), name: "run".into(), input: json("{}") },
            result("r", vec![text("in"), result("e", vec![]), result("f", vec![text("deep")]), text("out")]),
            result("s", vec![]),
            ContentBlock::Image(Media::Url("u".into())),
            ContentBlock::Image(bytes),
            ContentBlock::Document {
                title: Some("d".into()),
                media: Media::Text { media_type: "text/plain".into(), text: "words".into() },
            },
            ContentBlock::Reasoning { text: "hm".into(), signature: Some("sig".into()) },
            ContentBlock::Unknown(json(r#"{"type":"x"}"#)),
        ],
    )
    .speaker("Ann")
    .key(MessageKey::new("k").ok())
    .metadata([("m".to_owned(), json("1.50"))].into())
    .keep_out_of_summaries(true);
    let mut draft = NodeDraft::new(message, Timestamp::from_millis(-2), 300);
    draft.importance = 0.75;
    draft.topics = vec!["one".into(), "two".into()];
    draft.relates_to = Some(Relation { to: node(5), kind: RelationKind::Correction });
    draft
}

fn encoded(stored: &StoredMessage) -> Result<Vec<u8>, CodecError> {
    let mut record = Vec::new();
    stored.encode_onto(&mut record).map(|()| record)
}

fn decoded(record: &[u8]) -> Record<'_> {
    decode(parse_record(record).unwrap()).unwrap()
}

#[test]
fn a_message_of_version_1_never_changes() {
    let stored = StoredMessage { line_count: 9, ..StoredMessage::new(everything(), [9; 16]) };
    let record = encoded(&stored).unwrap();
    let leaf = hex(stored.proof.leaf.as_bytes());
    let expected = format!(
        "02 01 09090909090909090909090909090909 {leaf}
         03 fb2c01 09 0000403f 04 01
         01 05 02  01 03 416e6e  01 01 6b  02 03 6f6e65 03 74776f
         0e
         00 01 74
         01 01 63 03 72756e 02 7b7d
         02 01 72 00 04
           00 02 696e
           02 01 65 01 00
           02 01 66 00 01
             00 04 64656570
           00 03 6f7574
         02 01 73 00 00
         03 00 01 75
         03 02 09 696d6167652f706e67 02 00ff
         04 01 01 64 01 0a 746578742f706c61696e 05 776f726473
         05 02 686d 01 03 736967
         06 0c 7b2274797065223a2278227d
         01 01 6d 04 312e3530"
    );
    golden("message", &record, &expected);
    let Record::Message(read) = decoded(&record) else { panic!("a message is read as one") };
    assert_eq!(read.into_stored().unwrap(), stored);
}

#[test]
fn events_of_version_1_never_change() {
    let number = SummaryId::new(7).unwrap();
    let event = |event: Event| encode_event(&event, number).unwrap();
    let talk = ConversationId::new("talk").unwrap();
    golden("opened", &encode_opened(&talk, None, None).unwrap(), "01 01 04 74616c6b");
    let past = Past { parent: 300, nodes: 7, summaries: 2, views: 0 };
    let forked = encode_opened(&talk, None, Some(past)).unwrap();
    golden("forked", &forked, "0e 01 04 74616c6b fb 2c01 07 02 00");
    let ana = OwnerId::new("ana").unwrap();
    let owned = encode_opened(&talk, Some(&ana), None).unwrap();
    golden("opened for an owner", &owned, "0f 01 04 74616c6b 03 616e61 00");
    let owned = encode_opened(&talk, Some(&ana), Some(past)).unwrap();
    golden("forked for an owner", &owned, "0f 01 04 74616c6b 03 616e61 01 fb 2c01 07 02 00");
    let opening = Opening { name: talk, owner: Some(ana), past: Some(past) };
    assert!(matches!(decoded(&owned), Record::Opened(there) if there == opening));
    let importance = Event::Importance { node: node(3), importance: 0.5, scored_by: written_by() };
    golden("importance", &event(importance), "04 01 03 0000003f 03 657874 01 32");
    golden("pin", &event(Event::Pin { node: node(300), pinned: true }), "05 01 fb2c01 01");
    golden("title", &event(Event::Title("T".into())), "06 01 01 54");
    golden("tags", &event(Event::Tags(vec!["a".into(), "b".into()])), "07 01 02 01 61 01 62");
    golden("lost", &encode_lost(300).unwrap(), "0d 01 fb2c01");
    let draft = SummaryDraft::new(
        Level::Meta,
        NodeRange::new(node(1), node(40)).unwrap(),
        "words",
        12,
        written_by(),
        Hash::from_bytes([8; 32]),
    )
    .children(vec![SummaryId::new(1).unwrap(), SummaryId::new(2).unwrap()])
    .metadata(
        SummaryMetadata::default()
            .importance(1.0)
            .topics(vec!["t".into()])
            .has_decision(true)
            .has_code(true)
            .line_count(62),
    );
    let record = event(Event::Summary(draft.clone()));
    let expected = format!(
        "03 01 07 02 01 28 02 01 02 05 776f726473 0c 0000803f 01 01 74 03 3e 03 657874 01 32 {}",
        "08".repeat(32)
    );
    golden("summary", &record, &expected);
    let Record::Event(EventRecord::Summary(read)) = decoded(&record) else { panic!("a summary is read as one") };
    assert_eq!((read.id, read.body), (number, draft));
}

#[test]
fn a_change_of_what_is_disabled_of_version_1_never_changes() {
    let change = Disabling::new(Timestamp::from_millis(5), true)
        .by("A")
        .nodes(vec![NodeRange::new(node(2), node(300)).unwrap(), NodeRange::single(node(301 + 2))])
        .summaries(vec![SummaryId::new(4).unwrap()]);
    let record = encode_event(&Event::Disabled(Box::new(change.clone())), SummaryId::new(7).unwrap()).unwrap();
    golden("what is disabled", &record, "13 01 0a 01 41 01 02 02 fb2c01 fb2f01 fb2f01 01 04");
    let Record::Event(EventRecord::Disabling(read)) = decoded(&record) else { panic!("a change is read as one") };
    assert_eq!(*read, change);
}

#[test]
fn an_erasure_of_version_1_and_what_it_leaves_never_change() {
    let erasure = Erasure::new(
        ErasureId::from_bytes([7; 16]),
        Timestamp::from_millis(5),
        vec![NodeRange::new(node(2), node(3)).unwrap()],
    )
    .by("A")
    .notes(vec![[NoteId::new(1).unwrap(), NoteId::new(4).unwrap()]])
    .is_whole(true);
    let record = encode_event(&Event::Erased(Box::new(erasure.clone())), SummaryId::new(7).unwrap()).unwrap();
    golden("erasure", &record, &format!("0b 01 {} 0a 01 41 01 01 02 03 01 01 04", "07".repeat(16)));
    let Record::Event(EventRecord::Erasure(read)) = decoded(&record) else { panic!("an erasure is read as one") };
    assert_eq!(*read, erasure);

    let key = ErasedKey { salt: ErasureId::from_bytes([7; 16]), digest: [8; 16] };
    for (key, expected) in [(None, "00".to_owned()), (Some(key), format!("01 {} {}", "07".repeat(16), "08".repeat(16)))]
    {
        let left = ErasedLeaf { leaf: Hash::from_bytes([9; 32]), key };
        let erased = ErasedMessage { role: Role::Tool, at: Timestamp::from_millis(5), left };
        let mut record = Vec::new();
        erased.encode_onto(&mut record).unwrap();
        golden("erased message", &record, &format!("11 01 {} 0a 04 {expected}", "09".repeat(32)));
        let Record::ErasedMessage(read) = decoded(&record) else { panic!("an erased message is read as one") };
        assert_eq!(read, erased);
    }

    let span = NodeRange::new(node(2), node(3)).unwrap();
    let draft = SummaryDraft::new(Level::Meta, span, "words", 1, written_by(), Hash::from_bytes([8; 32]));
    let record = encode_erased_summary(&Summary::new(SummaryId::new(4).unwrap(), draft)).unwrap();
    golden("erased summary", &record, "12 01 00 04 02 02 03");
    assert!(matches!(
        decoded(&record),
        Record::Event(EventRecord::ErasedSummary { id, level: Level::Meta, span: read }) if id.get() == 4 && read == span
    ));
    let record = encode_erased_note(NoteId::new(300).unwrap()).unwrap();
    golden("erased note", &record, "12 01 01 fb2c01");
    assert!(matches!(decoded(&record), Record::Event(EventRecord::ErasedNote(id)) if id.get() == 300));
}

#[test]
fn a_note_of_version_1_never_changes() {
    let (name, text) = (|| "a".to_owned(), |text: &str| text.to_owned());
    let run = |first, last| NodeRange::new(node(first), node(last)).unwrap();
    for (change, sources, expected) in [
        (NoteChange::Write { name: name(), text: text("two words") }, vec![], "00 01 61 09 74776f20776f726473  00"),
        (
            NoteChange::Append { name: name(), text: text("") },
            vec![run(1, 1), run(4, 300)],
            "01 01 61 00  02 01 01 04 fb2c01",
        ),
        (NoteChange::Remove { name: name() }, vec![], "02 01 61  00"),
        (NoteChange::Rename { from: name(), to: text("b") }, vec![], "03 01 61 01 62  00"),
    ] {
        let note = Note::new(NoteId::new(300).unwrap(), Timestamp::from_millis(-2), change).sources(sources);
        let record = encode_event(&Event::Note(Box::new(note.clone())), SummaryId::new(7).unwrap()).unwrap();
        golden("note", &record, &format!("10 01 fb2c01 03 {expected}"));
        let Record::Event(EventRecord::Note(read)) = decoded(&record) else { panic!("a note is read as one") };
        assert_eq!(*read, note);
    }
    for bad in ["10 01 00 03 02 01 61 00", "10 01 01 03 04 01 61 00", "10 01 01 03 02 01 61 01 02 01"] {
        let hex = bad.replace(' ', "");
        let bytes: Vec<u8> =
            (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
        assert!(decode(&bytes).is_err(), "{bad}");
    }
}

#[test]
fn a_view_of_version_1_never_changes() {
    let run = |shown, check| ShownRun { shown, check: [check; 8] };
    let nodes = |first, last| NodeRange::new(node(first), node(last)).unwrap();
    let draft = ViewDraft::new(Timestamp::from_millis(-2), 300, 1, written_by(), [9; 16], Hash::from_bytes([8; 32]))
        .budget(4_000)
        .tokens(200)
        .counter("w")
        .longest_result(64)
        .history(vec![
            run(Shown::Summaries { first: SummaryId::new(5).unwrap(), count: 2 }, 1),
            run(Shown::Lost(nodes(3, 3)), 2),
            run(Shown::Messages(nodes(4, 300)), 3),
        ])
        .recalled(vec![run(Shown::Messages(nodes(1, 1)), 4)])
        .question("q?");
    let record = encode_view(&draft, ViewId::new(7).unwrap()).unwrap();
    let check = |byte: &str| byte.repeat(8);
    let expected = format!(
        "0a 01 07 03 fb2c01 01 fba00f c8 01 77 03 657874 01 32 01 40
         03  01 05 02 {}  02 03 01 {}  00 04 fb2901 {}
         01  00 01 01 {}
         02 713f {} {}",
        check("01"),
        check("02"),
        check("03"),
        check("04"),
        "09".repeat(16),
        "08".repeat(32)
    );
    golden("view", &record, &expected);
    let Record::Event(EventRecord::View(read)) = decoded(&record) else { panic!("a view is read as one") };
    assert_eq!((read.id.get(), &read.body), (7, &draft));
    // A run of no messages, and one beyond the last number that there is.
    for bad in ["00 04 00", "00 fdffffffffffffffff 02", "09 01 01", "07 00 01", "03 00 01", "01 00 01"] {
        let forged = expected.replacen("00 04 fb2901", bad, 1).replace([' ', '\n'], "");
        let forged: Vec<u8> =
            (0..forged.len()).step_by(2).map(|at| u8::from_str_radix(&forged[at..at + 2], 16).unwrap()).collect();
        assert!(decode(&forged).is_err(), "{bad}");
    }
    // A standing line: 20 bytes of message 4, from its byte 300 on.
    let shown = Shown::Excerpt { node: node(4), at: 300, bytes: 20 };
    let standing = draft.recalled(vec![run(shown, 4)]);
    let record = encode_view(&standing, ViewId::new(7).unwrap()).unwrap();
    golden("view with a standing line", &record, &expected.replacen("00 01 01", "03 04 fc14002c01", 1));
    let Record::Event(EventRecord::View(read)) = decoded(&record) else { panic!("a view is read as one") };
    assert_eq!(read.body, standing);
    // Messages that a manager left out, in place of lost ones.
    let mut windowed = standing;
    windowed.history[1].shown = Shown::Omitted(nodes(3, 3));
    let record = encode_view(&windowed, ViewId::new(7).unwrap()).unwrap();
    let Record::Event(EventRecord::View(read)) = decoded(&record) else { panic!("a view is read as one") };
    assert_eq!(read.body, windowed);
    let omitted = expected.replacen("00 01 01", "03 04 fc14002c01", 1).replacen("02 03 01", "04 03 01", 1);
    golden("view that leaves messages out", &record, &omitted);
    windowed.history[1].shown = Shown::Disabled(nodes(3, 3));
    let record = encode_view(&windowed, ViewId::new(7).unwrap()).unwrap();
    let Record::Event(EventRecord::View(read)) = decoded(&record) else { panic!("a view is read as one") };
    assert_eq!(read.body, windowed);
    golden("view of disabled messages", &record, &omitted.replacen("04 03 01", "06 03 01", 1));
    for (shown, bytes) in [
        (Shown::Entry(NoteId::after(3)), "07 04 01"),
        (Shown::Changed { node: node(4), by: node(300) }, "08 04 fb2c01"),
    ] {
        let recalled = windowed.clone().recalled(vec![run(shown, 4)]);
        let record = encode_view(&recalled, ViewId::new(7).unwrap()).unwrap();
        let Record::Event(EventRecord::View(read)) = decoded(&record) else { panic!("a view is read as one") };
        assert_eq!(read.body, recalled);
        let disabled = expected.replacen("02 03 01", "06 03 01", 1);
        golden("view with an entry or a remark", &record, &disabled.replacen("00 01 01", bytes, 1));
    }
}

#[test]
fn a_view_of_version_2_never_changes() {
    let run = |first, last, check| {
        let shown = Shown::Messages(NodeRange::new(node(first), node(last)).unwrap());
        ShownRun { shown, check: [check; 8] }
    };
    let trip = ConversationId::new("trip").unwrap();
    let elsewhere = ShownElsewhere::new(trip, vec![run(2, 3, 5), run(300, 300, 6)])
        .title("T".to_owned())
        .times([Timestamp::from_millis(-2), Timestamp::from_millis(3)]);
    let talk = ShownElsewhere::new(ConversationId::new("talk").unwrap(), vec![run(1, 1, 7)]);
    let draft = ViewDraft::new(Timestamp::from_millis(-2), 1, 2, written_by(), [9; 16], Hash::from_bytes([8; 32]))
        .counter("w")
        .history(vec![run(1, 1, 3)])
        .elsewhere(vec![elsewhere, talk])
        .question("q?");
    let record = encode_view(&draft, ViewId::new(7).unwrap()).unwrap();
    let check = |byte: &str| byte.repeat(8);
    let expected = format!(
        "0a 02 07 03 01 02 00 00 01 77 03 657874 01 32 00
         01  00 01 01 {}
         00
         02 713f {} {}
         02  04 74726970 01 01 54 03 06 02  00 02 02 {}  00 fb2c01 01 {}
             04 74616c6b 00 00 00 01  00 01 01 {}",
        check("03"),
        "09".repeat(16),
        "08".repeat(32),
        check("05"),
        check("06"),
        check("07")
    );
    golden("view that shows other conversations", &record, &expected);
    let body = parse_record(&record).unwrap();
    assert_eq!(newer(body), None);
    let Record::Event(EventRecord::View(read)) = decode(body).unwrap() else { panic!("a view is read as one") };
    assert_eq!((read.id.get(), &read.body), (7, &draft));
    // The next version, and no version, are not read; one that shows no other conversation is never written so.
    for (version, is_newer) in [(4, true), (3, false), (0, false)] {
        let other = [&[kind::VIEW, version], &body[2..]].concat();
        assert!(decode(&other).is_err() && newer(&other).is_some() == is_newer, "version {version}");
    }
    let alone = encode_view(&draft.elsewhere(Vec::new()), ViewId::FIRST).unwrap();
    let alone = parse_record(&alone).unwrap();
    assert_eq!(alone[..2], [kind::VIEW, VERSION]);
    assert!(decode(&[&[kind::VIEW, VIEW_ELSEWHERE], &alone[2..], &[0]].concat()).is_err());
}

#[test]
fn a_view_of_version_3_never_changes() {
    let run = |first, last, check| {
        let shown = Shown::Messages(NodeRange::new(node(first), node(last)).unwrap());
        ShownRun { shown, check: [check; 8] }
    };
    let attached = [(4, run(1, 2, 5)), (300, run(3, 3, 6))].map(|(at, run)| ShownAttached::new(node(at), vec![run]));
    let draft = ViewDraft::new(Timestamp::from_millis(-2), 300, 6, written_by(), [9; 16], Hash::from_bytes([8; 32]))
        .counter("w")
        .history(vec![run(1, 300, 3)])
        .attached(attached.to_vec());
    let record = encode_view(&draft, ViewId::new(7).unwrap()).unwrap();
    let check = |byte: &str| byte.repeat(8);
    let expected = format!(
        "0a 03 07 03 fb2c01 06 00 00 01 77 03 657874 01 32 00
         01  00 01 fb2c01 {}
         00
         00 {} {}
         00
         02  04 01 00 01 02 {}  fb2c01 01 00 03 01 {}",
        check("03"),
        "09".repeat(16),
        "08".repeat(32),
        check("05"),
        check("06")
    );
    golden("view of a running agent", &record, &expected);
    let body = parse_record(&record).unwrap();
    let Record::Event(EventRecord::View(read)) = decode(body).unwrap() else { panic!("a view is read as one") };
    assert_eq!((read.id.get(), &read.body), (7, &draft));
    // One that shows nothing between messages is never written so.
    let alone = encode_view(&draft.attached(Vec::new()), ViewId::FIRST).unwrap();
    let alone = parse_record(&alone).unwrap();
    assert_eq!(alone[..2], [kind::VIEW, VERSION]);
    assert!(decode(&[&[kind::VIEW, VIEW_ATTACHED], &alone[2..], &[0, 0]].concat()).is_err());
}

#[test]
fn the_outline_of_a_record_is_that_of_its_node() {
    let stored = StoredMessage::new(everything(), [0; 16]);
    let record = encoded(&stored).unwrap();
    let Record::Message(read) = decoded(&record) else { panic!("a message is read as one") };
    let outline = read.outline().unwrap();
    let mut filled = BLANK.importance(0.25).pinned(true);
    filled.id = node(7);
    read.fill_in(&mut filled).unwrap();
    assert_eq!((filled.id, filled.importance, filled.pinned), (node(7), 0.25, true), "as events made it");
    let node = filled;
    let node = node.importance(everything().importance).pinned(false);
    assert_eq!(outline, NodeOutline::of(&node));
    assert_eq!((NodeOutline::of(&node).calls, NodeOutline::of(&node).answers), (1, 2), "inner results do not count");
}

#[test]
fn nesting_is_bounded_on_the_way_in_and_on_the_way_out() {
    for depth in [0, 1, 32] {
        let message = nested(depth);
        check_depth(&message).unwrap();
        let stored = StoredMessage::new(NodeDraft::new(message, Timestamp::default(), 1), [0; 16]);
        let record = encoded(&stored).unwrap();
        let Record::Message(read) = decoded(&record) else { panic!("a message is read as one") };
        assert_eq!(read.into_stored().unwrap(), stored, "depth {depth}");
    }
    assert!(check_depth(&nested(33)).is_err());
    // Hostile bytes that nest ten thousand tool results.
    let hostile = NodeDraft::new(nested(0), Timestamp::default(), 1);
    let record = encoded(&StoredMessage::new(hostile, [0; 16])).unwrap();
    let body = parse_record(&record).unwrap();
    let blocks = body.windows(7).position(|window| window == b"\x01\x00\x04core").unwrap();
    let mut deep = body[..blocks].to_vec();
    deep.extend([0xfb, 0x11, 0x27]);
    deep.extend([2, 0, 0, 1].repeat(10_000));
    deep.extend(&body[blocks + 1..]);
    let Ok(Record::Message(read)) = decode(&deep) else { panic!("the bytes are well formed") };
    assert!(read.outline().is_ok());
    assert!(read.into_stored().unwrap_err().0.contains("nested"));
}

#[test]
fn lengths_that_lie_ask_for_no_memory() {
    // A title and a list of tags that claim 2^62 items.
    for kind in [kind::TITLE, kind::TAGS, kind::OPENED] {
        let body = [&[kind, VERSION, 0xfd][..], &(1u64 << 62).to_le_bytes()].concat();
        assert!(decode(&body).is_err());
    }
    for body in [&[][..], &[2], &[0, 1], &[2, 9], &[8, 1], &[255, 1, 0]] {
        assert!(decode(body).is_err(), "{body:?}");
    }
}

#[test]
fn a_record_that_is_too_long_is_refused() {
    let draft = NodeDraft::new(Message::user("x".repeat(MAX_RECORD)), Timestamp::default(), 1);
    assert!(encoded(&StoredMessage::new(draft, [0; 16])).unwrap_err().0.contains("at most"));
}

proptest! {
    #[test]
    fn garbage_never_panics(number in 0u8..14, bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let body = [&[number, VERSION][..], &bytes].concat();
        if let Ok(Record::Message(message)) = decode(&body) {
            drop(message.outline());
            drop(message.into_stored());
        }
    }

    #[test]
    fn a_changed_message_is_an_error_or_another_message(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let record = encoded(&StoredMessage::new(everything(), [9; 16])).unwrap();
        let mut body = parse_record(&record).unwrap().to_vec();
        let at = at.index(body.len());
        body[at] = byte;
        if let Ok(Record::Message(message)) = decode(&body) {
            drop(message.outline());
            drop(message.into_stored());
        }
    }
}
