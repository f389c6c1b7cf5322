//! The conformance suite of [`Store`]: one set of checks that every store passes.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a suite of tests: a breach panics"
)]

mod disabling;
mod erasure;
mod forks;
mod notes;
mod owners;
mod views;

use std::sync::Arc;

use super::source_conformance;
use crate::{
    ContentBlock, ConversationId, Hash, Json, Level, Message, MessageKey, Node, NodeDraft, NodeId, NodeKind,
    NodeOutline, NodeRange, Role, SummaryDraft, SummaryId, SummaryMetadata, SummaryOutline, Timestamp, WrittenBy,
    plan::Tree,
    port::{Event, Recorded, Revision, Store, StoreError},
    proof::{MerkleFrontier, canonical_bytes, leaf_hash},
};

fn id(name: &str) -> ConversationId {
    ConversationId::new(name).expect("a valid name")
}

fn draft(text: &str, at: i64) -> NodeDraft {
    NodeDraft::new(Message::user(text), Timestamp::from_millis(at), 3)
}

fn keyed(text: &str, key: &str) -> NodeDraft {
    let key = MessageKey::new(key).expect("a valid key");
    NodeDraft::new(Message::user(text).key(key), Timestamp::from_millis(0), 3)
}

fn node(position: u64) -> NodeId {
    NodeId::new(position).expect("not zero")
}

fn range(first: u64, last: u64) -> NodeRange {
    NodeRange::new(node(first), node(last)).expect("in order")
}

fn summary(level: Level, span: NodeRange, children: &[u64], text: &str) -> SummaryDraft {
    SummaryDraft {
        level,
        span,
        children: children.iter().filter_map(|&n| SummaryId::new(n)).collect(),
        text: text.to_owned(),
        tokens: 2,
        metadata: SummaryMetadata {
            importance: 0.75,
            topics: vec!["tests".into()],
            has_decision: true,
            has_code: false,
            line_count: 4,
        },
        written_by: WrittenBy { strategy: "suite".into(), version: "1".into() },
        input_hash: Hash::of_parts([text.as_bytes()]),
        for_view: false,
        erased: 0,
    }
}

/// A message with every kind of block.
fn everything() -> Message {
    let json = |text: &str| Json::new(text).expect("JSON");
    let result = ContentBlock::ToolResult {
        tool_use_id: "t1".into(),
        content: vec![
            ContentBlock::Text("41 rows\nand more".into()),
            ContentBlock::Unknown(json(r#"{"type":"odd", "n":1.50}"#)),
        ],
        is_error: true,
    };
    let bytes = crate::Media::Bytes { media_type: "image/png".into(), data: Arc::from([0u8, 255, 7]) };
    Message {
        role: Role::Assistant,
        speaker: Some("Ann \u{1F600}".into()),
        content: vec![
            ContentBlock::Text("line one\r\nline two\0".into()),
            ContentBlock::ToolUse { id: "t1".into(), name: "query".into(), input: json(r#"{"b" : 1, "a":[ ]}"#) },
            result,
            ContentBlock::Image(bytes.clone()),
            ContentBlock::Image(crate::Media::Url("https://example.com/a.png".into())),
            ContentBlock::Document { title: Some("plan".into()), media: bytes },
            ContentBlock::Document {
                title: None,
                media: crate::Media::Text { media_type: "text/plain".into(), text: "words".into() },
            },
            ContentBlock::Reasoning { text: "hm".into(), signature: Some("sig".into()) },
            ContentBlock::Unknown(json(r#"{"type":"new","z":1,"a":2}"#)),
        ],
        key: MessageKey::new("k").ok(),
        metadata: [("session".to_owned(), json("3")), ("tag".to_owned(), json(r#""x""#))].into(),
        keep_out_of_summaries: true,
    }
}

/// Checks that `store`, which must be empty, fulfils the contract of [`Store`].
///
/// # Panics
/// At the first breach, with its description.
pub async fn store_conformance(store: &dyn Store) {
    an_empty_store_knows_nothing(store).await;
    messages_come_back_exactly(store).await;
    numbers_are_dense_and_conversations_apart(store).await;
    keys_make_appending_idempotent(store).await;
    a_refused_batch_writes_nothing(store).await;
    a_conversation_begins_under_a_name_that_is_seen(store).await;
    events_are_projected(store).await;
    summaries_are_checked_and_idempotent(store).await;
    roots_are_those_of_the_leaves(store).await;
    given_salts_give_the_same_root_in_every_store(store).await;
    changes_are_what_happened_since(store).await;
    summaries_may_be_written_anew(store).await;
    views::views_are_kept_as_they_were_shown(store).await;
    forks::a_fork_shares_the_past_and_nothing_else(store).await;
    forks::forks_may_be_forked(store).await;
    forks::a_fork_that_cannot_be_is_refused(store).await;
    owners::a_conversation_stays_whose_it_began(store).await;
    owners::one_name_has_one_owner(store).await;
    notes::notes_are_kept_in_their_order(store).await;
    notes::a_note_may_begin_a_conversation(store).await;
    notes::the_first_note_may_follow_messages_that_are_notes(store).await;
    notes::names_of_notes_are_kept_for_their_owners(store).await;
    erasure::erased_messages_keep_their_places_alone(store).await;
    erasure::an_erasure_is_of_all_that_share_its_messages(store).await;
    disabling::disabled_messages_are_read_again_once_they_are_enabled(store).await;
    disabling::disabled_summaries_have_no_words_and_those_above_are_made_again(store).await;
    the_lease_is_shared_within_a_process_and_ends_with_its_values(store).await;
    it_can_be_searched(store).await;
}

/// A store is a source of all that was appended to it.
async fn it_can_be_searched(store: &dyn Store) {
    let mut holds = Vec::new();
    for state in store.conversations().await.unwrap() {
        let nodes = store.nodes(&state.id, range(1, u64::MAX)).await.unwrap();
        holds.push((state.id, nodes));
    }
    source_conformance(store, &holds).await;
}

async fn an_empty_store_knows_nothing(store: &dyn Store) {
    assert!(store.conversations().await.unwrap().is_empty(), "the store under test must be empty");
    let none = id("none");
    assert!(store.append(&none, Vec::new()).await.unwrap().is_empty());
    assert!(store.conversation(&none).await.unwrap_err().is_not_found(), "an empty batch begins no conversation");
    assert!(store.nodes(&none, range(1, 2)).await.unwrap_err().is_not_found());
    assert!(store.record(&none, vec![Event::Title("x".into())]).await.unwrap_err().is_not_found());
    assert!(store.verify(Some(&none)).await.unwrap_err().is_not_found());
    assert!(store.verify(None).await.unwrap().is_whole(), "nothing is whole");
}

async fn messages_come_back_exactly(store: &dyn Store) {
    let exact = id("exact");
    let mut first = NodeDraft::new(everything(), Timestamp::from_millis(-5), 77);
    first.topics = vec!["a".into(), "b".into()];
    let empty = Message { content: Vec::new(), ..Message::user("") };
    let mut second = NodeDraft::new(empty, Timestamp::from_millis(i64::MAX), 0);
    second.relates_to = Some(crate::Relation { to: node(1), kind: crate::RelationKind::Correction });
    second.importance = 1.0;
    store.append(&exact, vec![first.clone(), second.clone()]).await.unwrap();
    let expect = |id, draft: &NodeDraft| Node {
        id: node(id),
        message: draft.message.clone(),
        at: draft.at,
        line_count: draft.message.line_count(),
        tokens: draft.tokens,
        importance: draft.importance,
        topics: draft.topics.clone(),
        relates_to: draft.relates_to,
        pinned: false,
        is_erased: false,
        is_disabled: false,
    };
    let nodes = store.nodes(&exact, range(1, 9)).await.unwrap();
    assert_eq!(nodes, [expect(1, &first), expect(2, &second)]);
    assert_eq!(store.node(&exact, node(2)).await.unwrap(), nodes[1]);
    let outline: Vec<_> = nodes.iter().map(NodeOutline::of).collect();
    assert_eq!(store.outline(&exact).await.unwrap(), outline);
    let missing = store.node(&exact, node(3)).await.unwrap_err();
    assert!(matches!(missing, StoreError::UnknownNode { nodes: 2, .. }), "{missing}");
    assert!(store.nodes(&exact, range(3, 9)).await.unwrap().is_empty());
    let roles = [Role::User, Role::Assistant, Role::System, Role::Tool];
    let said = roles.map(|role| NodeDraft::new(Message::text_of(role, "said"), Timestamp::from_millis(0), 1));
    store.append(&id("roles"), said.to_vec()).await.unwrap();
    let kinds: Vec<_> = store.nodes(&id("roles"), range(1, 4)).await.unwrap().iter().map(Node::kind).collect();
    assert_eq!(kinds, [NodeKind::User, NodeKind::Ai, NodeKind::User, NodeKind::User], "tools are no model");
    let near = store.node(&id("exakt"), node(1)).await.unwrap_err().to_string();
    assert!(near.contains("`exact`"), "an unknown name is answered with the nearest: {near}");
}

async fn numbers_are_dense_and_conversations_apart(store: &dyn Store) {
    let (a, b) = (id("a"), id("b"));
    for round in 0..3 {
        let of_a = store.append(&a, vec![draft("one", round), draft("two", round)]).await.unwrap();
        let of_b = store.append(&b, vec![draft("other", round)]).await.unwrap();
        let round = u64::try_from(round).unwrap();
        assert_eq!(of_a.iter().map(|a| a.node.get()).collect::<Vec<_>>(), [2 * round + 1, 2 * round + 2]);
        assert_eq!(of_b[0].node.get(), round + 1);
        assert!(of_a.iter().chain(&of_b).all(|appended| appended.is_new));
    }
    let states = store.conversations().await.unwrap();
    let counts: Vec<_> = states.iter().map(|s| (s.id.as_str().to_owned(), s.nodes)).collect();
    assert_eq!(
        counts,
        [("a".to_owned(), 6), ("b".to_owned(), 3), ("exact".to_owned(), 2), ("roles".to_owned(), 4)],
        "sorted by name"
    );
    let state = store.conversation(&a).await.unwrap();
    assert_eq!(
        (state.tokens, state.first_at, state.last_at),
        (18, Some(Timestamp::from_millis(0)), Some(Timestamp::from_millis(2)))
    );
}

async fn keys_make_appending_idempotent(store: &dyn Store) {
    let keys = id("keys");
    let first = store.append(&keys, vec![keyed("ok", "k1"), draft("ok", 0), keyed("ok", "k1")]).await.unwrap();
    assert_eq!(first.iter().map(|a| (a.node.get(), a.is_new)).collect::<Vec<_>>(), [(1, true), (2, true), (1, false)]);
    let again = store.append(&keys, vec![keyed("ok", "k1"), keyed("new", "k2")]).await.unwrap();
    assert_eq!(again.iter().map(|a| (a.node.get(), a.is_new)).collect::<Vec<_>>(), [(1, false), (3, true)]);
    assert_eq!(store.conversation(&keys).await.unwrap().nodes, 3);
    let key = MessageKey::new("k2").expect("a valid key");
    assert_eq!(store.find_key(&keys, &key).await.unwrap(), Some(node(3)));
    assert_eq!(store.find_key(&id("a"), &key).await.unwrap(), None, "keys belong to their conversation");
}

async fn a_refused_batch_writes_nothing(store: &dyn Store) {
    let keys = id("keys");
    let conflict = store.append(&keys, vec![draft("fresh", 0), keyed("changed", "k1")]).await.unwrap_err();
    assert!(matches!(conflict, StoreError::KeyConflict { .. }), "{conflict}");
    let fresh = id("never-begun");
    let conflict = store.append(&fresh, vec![keyed("one", "k"), keyed("two", "k")]).await.unwrap_err();
    assert!(matches!(conflict, StoreError::KeyConflict { .. }), "{conflict}");
    assert!(store.conversation(&fresh).await.unwrap_err().is_not_found());
    let bad = vec![Event::Title("lost".into()), Event::Pin { node: node(99), pinned: true }];
    assert!(store.record(&keys, bad).await.is_err());
    let state = store.conversation(&keys).await.unwrap();
    assert_eq!((state.nodes, state.title), (3, None));
}

async fn a_conversation_begins_under_a_name_that_is_seen(store: &dyn Store) {
    for unfit in [id("\u{202e}\u{200b}"), id("seen\u{feff}"), id("cafe\u{301}")] {
        let refused = store.append(&unfit, vec![draft("one", 1)]).await.unwrap_err();
        assert!(matches!(refused, StoreError::UnfitName(_)), "{refused}");
        assert!(store.conversation(&unfit).await.unwrap_err().is_not_found(), "nothing was begun");
    }
}

async fn events_are_projected(store: &dyn Store) {
    let a = id("a");
    let scored_by = WrittenBy { strategy: "rules".into(), version: "2".into() };
    let importance = |importance| Event::Importance { node: node(2), importance, scored_by: scored_by.clone() };
    let pin = |node_id, pinned| Event::Pin { node: node(node_id), pinned };
    let events = vec![
        importance(0.25),
        importance(1.0),
        pin(2, true),
        pin(3, true),
        pin(3, false),
        Event::Title("first".into()),
        Event::Title("second".into()),
        Event::Tags(vec!["z".into(), "b".into(), "z".into()]),
    ];
    let recorded = store.record(&a, events).await.unwrap();
    assert_eq!(recorded, [Recorded::Done; 8]);
    let state = store.conversation(&a).await.unwrap();
    assert_eq!((state.title.as_deref(), state.tags), (Some("second"), vec!["b".to_owned(), "z".to_owned()]));
    let two = store.node(&a, node(2)).await.unwrap();
    assert!(two.pinned && (two.importance - 1.0).abs() < f32::EPSILON, "the latest event counts");
    assert!(!store.node(&a, node(3)).await.unwrap().pinned);
    assert_eq!(store.outline(&a).await.unwrap()[1], NodeOutline::of(&two));
}

async fn summaries_are_checked_and_idempotent(store: &dyn Store) {
    let a = id("a");
    let number = |n| Recorded::Summary(SummaryId::new(n).expect("not zero"));
    let leaves = vec![
        Event::Summary(summary(Level::Summary, range(1, 1), &[], "one")),
        Event::Summary(summary(Level::Summary, range(2, 2), &[], "two")),
    ];
    assert_eq!(store.record(&a, leaves.clone()).await.unwrap(), [number(1), number(2)]);
    assert_eq!(store.record(&a, leaves).await.unwrap(), [number(1), number(2)], "recorded again, written once");
    let meta = summary(Level::Meta, range(1, 2), &[1, 2], "both");
    assert_eq!(store.record(&a, vec![Event::Summary(meta.clone())]).await.unwrap(), [number(3)]);
    let read = store.summaries(&a).await.unwrap();
    assert_eq!(read.len(), 3);
    assert_eq!((read[2].id.get(), &read[2].body), (3, &meta));
    for bad in [
        summary(Level::Full, range(1, 1), &[], "level"),
        summary(Level::Summary, range(1, 7), &[], "beyond the end"),
        summary(Level::Meta, range(1, 3), &[1, 2], "children too short"),
        summary(Level::Meta, range(1, 2), &[2, 1], "out of order"),
        summary(Level::Meta, range(1, 2), &[1, 9], "unknown child"),
        summary(Level::Meta, range(1, 2), &[], "no children"),
    ] {
        let name = bad.text.clone();
        let refused = store.record(&a, vec![Event::Summary(bad)]).await.unwrap_err();
        assert!(matches!(refused, StoreError::Invalid { .. }), "{name}: {refused}");
    }
    let state = store.conversation(&a).await.unwrap();
    assert_eq!((state.nodes, state.summaries), (6, 3), "summaries take no node number");
}

/// A summary that is written again from another input is a separate summary, and both stay.
async fn summaries_may_be_written_anew(store: &dyn Store) {
    let anew = id("written-anew");
    store.append(&anew, vec![draft("one", 1), draft("two", 2)]).await.unwrap();
    let number = |n| Recorded::Summary(SummaryId::new(n).expect("not zero"));
    let leaf = |node, text| Event::Summary(summary(Level::Summary, range(node, node), &[], text));
    let meta = |text| Event::Summary(summary(Level::Meta, range(1, 2), &[1, 2], text));
    let leaves = vec![leaf(1, "one"), leaf(2, "two")];
    assert_eq!(store.record(&anew, leaves.clone()).await.unwrap(), [number(1), number(2)]);
    assert_eq!(store.record(&anew, vec![meta("both")]).await.unwrap(), [number(3)]);
    let known = store.changes(&anew, Revision::default()).await.unwrap().revision;
    let again = vec![leaf(1, "first"), meta("the two")];
    assert_eq!(store.record(&anew, again.clone()).await.unwrap(), [number(4), number(5)]);
    assert_eq!(store.record(&anew, again).await.unwrap(), [number(4), number(5)], "recorded again, written once");
    assert_eq!(store.record(&anew, leaves).await.unwrap(), [number(1), number(2)]);
    let texts: Vec<_> = store.summaries(&anew).await.unwrap().into_iter().map(|summary| summary.body.text).collect();
    assert_eq!(texts, ["one", "two", "both", "first", "the two"]);
    let since = store.changes(&anew, known).await.unwrap();
    assert!(since.is_whole || since.summaries.len() == 2, "{since:?}");
    let tree = Tree::of(store.changes(&anew, Revision::default()).await.unwrap());
    let words: Vec<_> = tree.placed().map(|there| tree.words_for(there.id).get()).collect();
    assert_eq!(words, [4, 2, 5]);
}

/// Following a conversation by its changes gives the same result as reading all of it.
async fn changes_are_what_happened_since(store: &dyn Store) {
    let followed = id("followed");
    assert!(store.changes(&followed, Revision::default()).await.unwrap_err().is_not_found());
    let (mut nodes, mut summaries, mut revision) = (Vec::new(), Vec::new(), Revision::default());
    let by = WrittenBy { strategy: "rules".into(), version: "2".into() };
    for step in 1..=6u64 {
        match step {
            1 | 4 => drop(store.append(&followed, (0..3).map(|n| draft("more", n)).collect()).await.unwrap()),
            2 => {
                let weigh = Event::Importance { node: node(2), importance: 1.0, scored_by: by.clone() };
                let leaf = Event::Summary(summary(Level::Summary, range(1, 1), &[], "first"));
                store.record(&followed, vec![weigh, leaf]).await.unwrap();
            }
            3 => drop(store.record(&followed, vec![Event::Pin { node: node(3), pinned: true }]).await.unwrap()),
            5 => {
                let leaf = Event::Summary(summary(Level::Summary, range(2, 2), &[], "second"));
                let meta = Event::Summary(summary(Level::Meta, range(1, 2), &[1, 2], "both"));
                store.record(&followed, vec![leaf]).await.unwrap();
                store.record(&followed, vec![meta, Event::Pin { node: node(3), pinned: false }]).await.unwrap();
            }
            _ => {}
        }
        let changes = store.changes(&followed, revision).await.unwrap();
        if changes.is_whole {
            nodes.clear();
            summaries.clear();
        }
        for (node, revised) in changes.revised {
            nodes[node.index()] = revised;
        }
        nodes.extend(changes.nodes);
        summaries.extend(changes.summaries);
        revision = changes.revision;
        assert_eq!(nodes, store.outline(&followed).await.unwrap(), "nodes after step {step}");
        let all = store.summaries(&followed).await.unwrap();
        let outlines: Vec<_> = all.iter().map(|summary| SummaryOutline::of(summary.id, &summary.body)).collect();
        assert_eq!(summaries, outlines, "summaries after step {step}");
        let ids: Vec<_> = all.iter().rev().map(|summary| summary.id).chain(SummaryId::new(99)).collect();
        assert_eq!(store.summaries_of(&followed, &ids).await.unwrap(), all, "summaries by number after step {step}");
    }
}

async fn roots_are_those_of_the_leaves(store: &dyn Store) {
    let a = id("a");
    let nodes = store.nodes(&a, range(1, 6)).await.unwrap();
    let proofs = store.proofs(&a, range(1, 6)).await.unwrap();
    assert_eq!(proofs.len(), 6);
    let together: Vec<_> = nodes.iter().cloned().zip(proofs.iter().copied()).collect();
    assert_eq!(store.nodes_with_proofs(&a, range(1, 6)).await.unwrap(), together);
    assert_eq!(store.nodes_with_proofs(&a, range(5, 99)).await.unwrap(), together[4..]);
    for (node, proof) in nodes.iter().zip(&proofs) {
        assert_eq!(proof.leaf, leaf_hash(&proof.salt, &canonical_bytes(&node.message, node.at)));
    }
    let root = proofs.iter().map(|proof| proof.leaf).collect::<MerkleFrontier>().root();
    let verified = store.verify(Some(&a)).await.unwrap();
    assert_eq!((verified.root, verified.nodes, verified.verified), (root, 6, 6));
    let all = store.verify(None).await.unwrap();
    assert!(all.is_whole());
    assert_eq!(
        all.conversations.iter().map(|c| c.id.as_str()).collect::<Vec<_>>(),
        ["a", "b", "exact", "keys", "roles"]
    );
}

async fn given_salts_give_the_same_root_in_every_store(store: &dyn Store) {
    let salted = id("salted");
    let salt = |number| [number; 16];
    let drafts: Vec<_> = [everything(), Message::user("two"), Message::assistant("three")]
        .into_iter()
        .zip(1..)
        .map(|(message, number)| NodeDraft {
            salt: Some(salt(number)),
            ..NodeDraft::new(message, Timestamp::from_millis(number.into()), 3)
        })
        .collect();
    store.append(&salted, drafts.clone()).await.unwrap();
    let proofs = store.proofs(&salted, range(1, 3)).await.unwrap();
    assert_eq!(proofs.iter().map(|proof| proof.salt).collect::<Vec<_>>(), [salt(1), salt(2), salt(3)]);
    let golden = "7c686768aed8037ccc36c40c8023c936141bb84b87e4d12d6b7c1eadbd0fa220";
    assert_eq!(store.verify(Some(&salted)).await.unwrap().root.to_string(), golden);
    let other_salt = NodeDraft { salt: Some(salt(9)), ..drafts[0].clone() };
    let there = store.append(&salted, vec![other_salt]).await.unwrap();
    assert!(!there[0].is_new, "the salt is no part of the message");
    assert_eq!(store.proofs(&salted, range(1, 1)).await.unwrap()[0].salt, salt(1), "what is stored keeps its salt");
}

async fn the_lease_is_shared_within_a_process_and_ends_with_its_values(store: &dyn Store) {
    let first = store.lease().await.unwrap();
    let second = store.lease().await.unwrap();
    drop(first);
    let leased = id("leased");
    store.append(&leased, vec![draft("under the lease", 0)]).await.unwrap();
    drop(second);
    drop(store.lease().await.unwrap());
    assert_eq!(store.conversation(&leased).await.unwrap().nodes, 1, "appends do not ask for the lease");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::MemoryStore;

    #[test]
    fn the_store_that_forgets_conforms() {
        pollster::block_on(store_conformance(&MemoryStore::default()));
    }
}
