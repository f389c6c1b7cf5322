//! Tests of the word index.

use memory_core::{Message, NodeDraft, Timestamp, port::Store, testing::MemoryStore};

use super::*;

fn store(conversations: u64, nodes: u64) -> MemoryStore {
    let store = MemoryStore::default();
    for conversation in 0..conversations {
        append(&store, &name(conversation), nodes);
    }
    store
}

fn append(store: &MemoryStore, conversation: &ConversationId, nodes: u64) {
    let draft = |n| NodeDraft::new(Message::user(format!("word{n} shared")), Timestamp::from_millis(0), 3);
    pollster::block_on(store.append(conversation, (0..nodes).map(draft).collect())).unwrap();
}

fn name(number: u64) -> ConversationId {
    ConversationId::new(&format!("c{number}")).unwrap()
}

fn catch_up(index: &WordIndex, store: &MemoryStore, number: u64, nodes: u64) -> (Arc<Indexed>, u64) {
    pollster::block_on(index.catch_up(store, &name(number), nodes, 0, &())).unwrap()
}

#[test]
fn only_what_is_new_is_read() {
    let store = store(1, CHUNK + 3);
    let index = WordIndex::new(usize::MAX);
    assert_eq!(catch_up(&index, &store, 0, CHUNK + 3).1, CHUNK + 3);
    assert_eq!(catch_up(&index, &store, 0, CHUNK + 3).1, 0);
    append(&store, &name(0), 2);
    let (indexed, read) = catch_up(&index, &store, 0, CHUNK + 5);
    assert_eq!(read, 2);
    assert_eq!(u64::from(indexed.read().nodes_with("share")), CHUNK + 5);
    assert_eq!(indexed.read().nodes_with("word1"), 2);
}

#[test]
fn the_longest_unused_is_dropped_first() {
    let store = store(3, 20);
    let size = catch_up(&WordIndex::new(usize::MAX), &store, 0, 20).0.read().bytes();
    let index = WordIndex::new(2 * size + size / 2);
    catch_up(&index, &store, 0, 20);
    catch_up(&index, &store, 1, 20);
    catch_up(&index, &store, 0, 20);
    catch_up(&index, &store, 2, 20);
    let held: Vec<_> = (0..3).map(|number| index.through(&name(number))).collect();
    assert_eq!(held, [20, 0, 20]);
    assert_eq!(catch_up(&index, &store, 1, 20).1, 20);
}

#[test]
fn one_conversation_larger_than_the_limit_is_kept_while_it_is_the_last_used() {
    let store = store(2, 20);
    let index = WordIndex::new(1);
    catch_up(&index, &store, 0, 20);
    assert_eq!(catch_up(&index, &store, 0, 20).1, 0);
    catch_up(&index, &store, 1, 20);
    assert_eq!((index.through(&name(0)), index.through(&name(1))), (0, 20));
}

#[test]
fn a_store_that_gives_less_than_it_promised_ends_the_catching_up() {
    let store = store(1, 5);
    assert_eq!(catch_up(&WordIndex::new(usize::MAX), &store, 0, 9).1, 5);
}

fn nodes_at(positions: &[u64]) -> Vec<Node> {
    let node = |&position: &u64| {
        let id = NodeId::new(position).unwrap();
        Node::new(id, Message::user("x"), Timestamp::default()).tokens(u32::try_from(position).unwrap())
    };
    positions.iter().map(node).collect()
}

#[test]
fn outlines_grow_without_a_gap() {
    let outlines = Outlines::default();
    let tokens = || outlines.known().iter().map(|outline| outline.tokens).collect::<Vec<_>>();
    outlines.add(&nodes_at(&[2]));
    assert!(tokens().is_empty(), "node 1 is missing");
    outlines.add(&nodes_at(&[1, 2, 4]));
    outlines.add(&nodes_at(&[1, 2]));
    outlines.add(&nodes_at(&[4, 5]));
    assert_eq!(tokens(), [1, 2], "node 3 is missing");
    let all: Vec<_> = nodes_at(&[1, 2, 3, 4]).iter().map(NodeOutline::of).collect();
    outlines.set(&Arc::new(all));
    outlines.add(&nodes_at(&[4, 5]));
    assert_eq!(tokens(), [1, 2, 3, 4, 5]);
    outlines.set(&Arc::default());
    assert_eq!(outlines.bytes(), 5 * size_of::<NodeOutline>());
}
