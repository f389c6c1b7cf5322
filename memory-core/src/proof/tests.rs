//! Tests of proofs as documents, intact and altered.

use proptest::{prelude::*, sample::Index};
use serde_json::{Value, json};

use super::*;
use crate::{ContentBlock, Json, testing::messages};

fn trip() -> ConversationId {
    ConversationId::new("trip").unwrap()
}

fn salt(index: usize) -> Salt {
    (0xab_u128 << 120 | index as u128).to_be_bytes()
}

fn node(index: usize, message: Message, at: Timestamp) -> Node {
    Node {
        id: NodeId::from_index(index),
        message,
        at,
        line_count: 1,
        tokens: 1,
        importance: Node::NEUTRAL_IMPORTANCE,
        topics: Vec::new(),
        relates_to: None,
        pinned: false,
        is_erased: false,
        is_disabled: false,
    }
}

/// The proof of `message` as a node among others.
fn proof_of(message: Message, at: Timestamp, index: usize, nodes: usize) -> MessageProof {
    let here = node(index, message, at);
    let proof = |i: usize| {
        let message = if i == index { here.message.clone() } else { Message::user(format!("message {i}")) };
        NodeProof { salt: salt(i), leaf: leaf_hash(&salt(i), &canonical_bytes(&message, at)) }
    };
    let proofs: Vec<_> = (0..nodes).map(proof).collect();
    MessageProof::new(trip(), &here, &proofs).unwrap()
}

fn history(earlier: usize, nodes: usize) -> HistoryProof {
    let leaves: Vec<_> = (0..nodes).map(|i| leaf_hash(&salt(i), b"said")).collect();
    HistoryProof::new(trip(), &leaves, &TreeHead::of(&leaves[..earlier]).root).unwrap()
}

fn parse(value: &Value) -> Result<Proof, InvalidProof> {
    Proof::parse(value.to_string().as_bytes())
}

fn holds(value: &Value) -> bool {
    parse(value).is_ok_and(|proof| proof.verify().is_ok())
}

/// Golden documents: format 1 stays readable forever.
#[test]
fn documents_of_format_1_never_change() {
    let proof = proof_of(Message::user("hi").speaker("Ann"), Timestamp::from_millis(258), 1, 3);
    let golden = json!({
        "format": 1,
        "proof": "inclusion",
        "conversation": "trip",
        "node": 2,
        "nodes": 3,
        "root": "970c2078b42b06b2f1c7e7178ad5402f3c89137ffb54dff1b108fd78dfc76363",
        "at": "1970-01-01T00:00:00.258Z",
        "message": {"role": "user", "speaker": "Ann", "content": "hi"},
        "salt": "ab000000000000000000000000000001",
        "path": [
            "61c6310ed180b085601aed96a87b0f04377989f5f8402c46e9ccab3b4ea26e4f",
            "41775d1271837b8eca4d6de780d543bdb94c5b8199178429bc478afbe41faed1",
        ],
    });
    assert_eq!(Proof::from(proof).to_json(), golden);
    assert!(holds(&golden));

    let golden = json!({
        "format": 1,
        "proof": "consistency",
        "conversation": "trip",
        "from": {"nodes": 2, "root": "986308dbef023d3b8e18c7d9d868d0d6335aecccb58d45475997a09bab958b04"},
        "to": {"nodes": 3, "root": "c5d65cdab81aedd38dce879d4f1aab061c4d0e45020749267940e5a3c773b172"},
        "path": ["c378cf502a58f200f06778569639bdf973686a7efe32839f801eccb2a14f76f3"],
    });
    assert_eq!(Proof::from(history(2, 3)).to_json(), golden);
    assert!(holds(&golden));
}

#[test]
fn what_json_would_not_keep_travels_as_canonical_bytes() {
    let with = |content: Vec<ContentBlock>| Message { content, ..Message::assistant("") };
    let input = |json: &str| {
        with(vec![ContentBlock::ToolUse { id: "t".into(), name: "n".into(), input: Json::new(json).unwrap() }])
    };
    let deep = format!("{}{}", "[".repeat(125), "]".repeat(125));
    let deeper = format!("{}{}", "[".repeat(500), "]".repeat(500));
    for (message, faithful) in [
        (input(r#"{"b":1.0,"a":[null]}"#), true),
        (input(r#"{"b": 1.0}"#), false),
        (input(r#"{"a":1,"a":2}"#), false),
        (input("1e400"), false),
        (input(&deep), false),
        (input(&deeper), false),
        (with(vec![ContentBlock::Unknown(Json::new(r#"{"type":"text","text":"hi"}"#).unwrap())]), false),
        (with(vec![ContentBlock::Unknown(Json::new("7").unwrap())]), false),
    ] {
        let proof = Proof::from(proof_of(message, Timestamp::default(), 2, 5));
        let json = proof.to_json();
        let name = json.to_string();
        assert_eq!((json.get("message").is_some(), json.get("canonical").is_some()), (faithful, !faithful), "{name}");
        assert_eq!(parse(&json).unwrap(), proof, "{name}");
        assert!(holds(&json), "{name}");
    }
}

#[test]
fn times_outside_the_calendar_survive() {
    for millis in [i64::MIN, -62_135_596_800_001, -1, 0, 1, 253_402_300_800_000, i64::MAX] {
        let proof = Proof::from(proof_of(Message::user("x"), Timestamp::from_millis(millis), 0, 2));
        assert_eq!(parse(&proof.to_json()).unwrap(), proof, "{millis}");
    }
}

#[test]
fn no_proof_is_made_of_what_is_not_there_or_was_changed() {
    let proofs: Vec<_> = (0..3)
        .map(|i| NodeProof {
            salt: salt(i),
            leaf: leaf_hash(&salt(i), &canonical_bytes(&Message::user("x"), Timestamp::default())),
        })
        .collect();
    let make =
        |index, text: &str| MessageProof::new(trip(), &node(index, Message::user(text), Timestamp::default()), &proofs);
    assert!(make(2, "x").is_ok());
    assert_eq!(make(3, "x"), Err(ProofError::NoLeaf { index: 3, size: 3 }));
    assert!(matches!(make(1, "y"), Err(ProofError::OtherRoot { .. })));

    let leaves: Vec<_> = proofs.iter().map(|proof| proof.leaf).collect();
    let nothing = TreeHead::of(&[]).root;
    assert_eq!(HistoryProof::new(trip(), &leaves, &nothing), Err(ProofError::NeverHad { root: nothing, size: 3 }));
}

#[test]
fn a_member_given_twice_is_refused_at_any_depth() {
    let whole = Proof::from(proof_of(Message::user("hi"), Timestamp::default(), 3, 6)).to_json().to_string();
    assert!(Proof::parse(whole.as_bytes()).is_ok());
    let check = |from: &str, to: &str, name: &str| {
        assert!(whole.contains(from), "{whole}");
        let error = Proof::parse(whole.replacen(from, to, 1).as_bytes()).unwrap_err().to_string();
        assert!(error.contains(&format!("`{name}` is given twice")), "{error}");
    };
    check("\"format\":1", "\"format\":1,\"format\":1", "format");
    check("\"content\":", "\"content\":\"last\",\"content\":", "content");
    check("\"content\":", "\"content\":\"last\",\"\\u0063ontent\":", "content");
    check("\"message\":", "\"message\":{},\"message\":", "message");
}

#[test]
fn errors_name_the_member() {
    let whole = Proof::from(proof_of(Message::user("hi"), Timestamp::default(), 1, 3)).to_json();
    let grown = Proof::from(history(3, 7)).to_json();
    let refused = |value: &Value| match parse(value) {
        Err(InvalidProof::Member { at, .. }) => at,
        other => panic!("{value}: {other:?}"),
    };
    let check = |base: &Value, pointer: &str, value: Value, at: &str| {
        let mut changed = base.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        assert_eq!(refused(&changed), at, "{changed}");
    };
    let long = "0".repeat(65);
    check(&whole, "", json!([]), "proof");
    check(&whole, "/format", json!("1"), "format");
    check(&whole, "/format", json!(0), "format");
    check(&whole, "/proof", json!("faith"), "proof");
    check(&whole, "/conversation", json!("a b"), "conversation");
    for absurd in [json!(0), json!(-1), json!(1.5), json!("1"), json!(1e30), json!(null)] {
        check(&whole, "/node", absurd, "node");
    }
    check(&whole, "/nodes", json!(-1), "nodes");
    check(&whole, "/root", json!("00"), "root");
    check(&whole, "/root", json!(long), "root");
    check(&whole, "/salt", json!("+b000000000000000000000000000000a"), "salt");
    check(&whole, "/salt", json!("ab"), "salt");
    check(&whole, "/at", json!("yesterday"), "at");
    check(&whole, "/message", json!("hi"), "message");
    check(&whole, "/message/role", json!("robot"), "message.role");
    check(&whole, "/path", json!("none"), "path");
    check(&whole, "/path/1", json!("x"), "path[1]");
    check(&whole, "/path", json!(vec!["0"; 66]), "path");
    check(&grown, "/from", json!(3), "from");
    check(&grown, "/from/root", json!(null), "from.root");
    check(&grown, "/to/nodes", json!("7"), "to.nodes");
    check(&grown, "/to", json!({"nodes": 7, "root": "0".repeat(64), "more": 1}), "to.more");

    for base in [&whole, &grown] {
        for (name, _) in base.as_object().unwrap() {
            let mut less = base.clone();
            less.as_object_mut().unwrap().shift_remove(name);
            assert_eq!(&refused(&less), name);
        }
        let mut more = base.clone();
        more["unknown\u{1b}"] = json!(1);
        assert_eq!(refused(&more), "unknown\\u{1b}");
    }
    let mut both = whole.clone();
    both["canonical"] = json!("");
    assert_eq!(refused(&both), "at");
    let mut canonical = whole.clone();
    for gone in ["at", "message"] {
        canonical.as_object_mut().unwrap().shift_remove(gone);
    }
    for no_message in ["", "AA", "AA==", "%"] {
        canonical["canonical"] = json!(no_message);
        assert_eq!(refused(&canonical), "canonical");
    }
}

#[test]
fn what_is_no_document_is_said_to_be_none() {
    for bytes in [&b""[..], b"{", b"\xff", b"{} {}", "[".repeat(100_000).as_bytes()] {
        assert!(matches!(Proof::parse(bytes), Err(InvalidProof::NotJson(_))));
    }
    let newer = parse(&json!({"format": 2, "what": "ever"})).unwrap_err();
    assert_eq!(newer.to_string(), "the proof has format 2, this version reads format 1: use a newer version");
    let bytes = Proof::MAX_BYTES + 1;
    assert!(matches!(Proof::parse(&vec![b' '; bytes]), Err(InvalidProof::TooLong { bytes: n }) if n == bytes));
}

#[test]
fn absurd_sizes_do_not_hold() {
    let whole = Proof::from(proof_of(Message::user("hi"), Timestamp::default(), 1, 3)).to_json();
    for (node, nodes) in [(u64::MAX, u64::MAX), (1, u64::MAX), (4, 3), (1, 0), (3, 3), (1, 3)] {
        let mut changed = whole.clone();
        (changed["node"], changed["nodes"]) = (json!(node), json!(nodes));
        assert!(parse(&changed).unwrap().verify().is_err(), "{node} of {nodes}");
    }
    let grown = Proof::from(history(3, 7)).to_json();
    for (from, to) in [(0, 7), (3, 0), (7, 3), (8, 7), (7, 7), (1, u64::MAX), (u64::MAX, u64::MAX), (4, 7), (3, 9)] {
        let mut changed = grown.clone();
        (changed["from"]["nodes"], changed["to"]["nodes"]) = (json!(from), json!(to));
        assert!(parse(&changed).unwrap().verify().is_err(), "{from} to {to}");
    }
}

/// Replaces the value at a position of the document, counted from the front.
fn replace_at(value: &mut Value, place: &mut usize, with: &Value) {
    match place.checked_sub(1) {
        None => {
            *value = with.clone();
            *place = usize::MAX;
        }
        Some(left) => {
            *place = left;
            let children: Vec<&mut Value> = match value {
                Value::Object(map) => map.values_mut().collect(),
                Value::Array(items) => items.iter_mut().collect(),
                _ => Vec::new(),
            };
            for child in children {
                if *place == usize::MAX {
                    return;
                }
                replace_at(child, place, with);
            }
        }
    }
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (0u64..10).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
        "[0-9a-f]{64}".prop_map(Value::from),
        "[0-9a-f]{32}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        let names =
            prop_oneof!["[a-z]{1,9}", "format|proof|node|nodes|root|salt|path|from|to|message|content|role|type"];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((names, inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn a_proof_survives_the_journey(message in messages(), at: i64, index in 0usize..9, more in 1usize..9) {
        let proof = Proof::from(proof_of(message, Timestamp::from_millis(at), index, index + more));
        let json = proof.to_json();
        prop_assert_eq!(parse(&json).unwrap(), proof);
        prop_assert!(holds(&json));
    }

    #[test]
    fn a_history_survives_the_journey(earlier in 1usize..40, more in 0usize..40) {
        let proof = Proof::from(history(earlier, earlier + more));
        let json = proof.to_json();
        prop_assert_eq!(parse(&json).unwrap(), proof);
        prop_assert!(holds(&json));
    }

    /// A message cannot be attributed to another speaker.
    #[test]
    fn another_message_does_not_hold(message in messages(), other in messages(), at: i64, later: i64) {
        let mut proof = proof_of(message.clone(), Timestamp::from_millis(at), 4, 11);
        proof.message = other.clone();
        prop_assert_eq!(proof.verify().is_ok(), message == other);
        proof.message = message;
        proof.at = Timestamp::from_millis(later);
        prop_assert_eq!(proof.verify().is_ok(), at == later);
    }

    /// Any altered document is refused, does not hold, or proves the same. The name is a claim that no root covers. For
    /// the number of nodes see `another_size_holds_only_where_the_way_up_is_the_same`.
    #[test]
    fn a_tampered_document_is_refused_or_proves_the_same(
        message in messages(), index in 0usize..9, more in 1usize..9, place: Index, with in values(),
    ) {
        let Proof::Message(whole) = Proof::from(proof_of(message, Timestamp::default(), index, index + more)) else {
            panic!()
        };
        let mut json = Proof::Message(whole.clone()).to_json();
        replace_at(&mut json, &mut place.index(40), &with);
        if let Ok(Proof::Message(read)) = parse(&json) && read.verify().is_ok() {
            let (conversation, nodes) = (read.conversation.clone(), read.tree.nodes);
            let claims = MessageProof { conversation, tree: TreeHead { nodes, ..whole.tree }, ..(*whole).clone() };
            prop_assert_eq!(*read, claims);
        }
    }

    #[test]
    fn a_tampered_history_is_refused_or_proves_the_same(
        earlier in 1usize..40, more in 0usize..40, place: Index, with in values(),
    ) {
        let whole = history(earlier, earlier + more);
        let mut json = Proof::from(whole.clone()).to_json();
        replace_at(&mut json, &mut place.index(20), &with);
        if let Ok(Proof::History(read)) = parse(&json) && read.verify().is_ok() {
            let claims = HistoryProof {
                conversation: read.conversation.clone(),
                earlier: TreeHead { nodes: read.earlier.nodes, ..whole.earlier },
                tree: TreeHead { nodes: read.tree.nodes, ..whole.tree },
                ..whole
            };
            prop_assert_eq!(read, claims);
        }
    }

    #[test]
    fn any_bytes_are_parsed_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(Proof::parse(&bytes).is_err());
    }

    #[test]
    fn any_json_is_parsed_without_a_panic(value in values()) {
        if let Ok(proof) = parse(&value) {
            prop_assert!(proof.verify().is_err());
        }
    }

    #[test]
    fn mutated_bytes_are_parsed_without_a_panic(
        message in messages(), edits in prop::collection::vec((any::<Index>(), any::<u8>(), 0u8..4), 1..6), grown: bool,
    ) {
        let whole = if grown { history(5, 9).into() } else { Proof::from(proof_of(message, Timestamp::default(), 3, 6)) };
        let mut bytes = whole.to_json().to_string().into_bytes();
        for (at, byte, edit) in edits {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match edit {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 => { bytes.remove(at); }
                _ => bytes.truncate(at + 1),
            }
        }
        if let Ok(proof) = Proof::parse(&bytes) {
            // The proof need not hold; `verify` must only return.
            let _ = proof.verify();
        }
    }
}
