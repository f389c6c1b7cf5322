//! Many callers at once.

use std::{
    collections::BTreeSet,
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Waker},
    thread,
};

use memory_core::{
    MessageKey, NodeRange,
    port::{Source, Store},
};

use super::sample::{all, draft, id, node, tiny_segments};
use crate::LogStore;

#[test]
fn many_writers_get_dense_numbers_and_readers_see_what_was_acknowledged() {
    const WRITERS: usize = 16;
    const EACH: usize = 40;
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(LogStore::open_with(dir.path(), tiny_segments()).unwrap());
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let store = Arc::clone(&store);
            thread::spawn(move || {
                let talk = id("talk");
                let append = |number| {
                    let draft = draft(writer * EACH + number, 100);
                    let text = draft.message.text();
                    let appended = pollster::block_on(store.append(&talk, vec![draft])).unwrap();
                    let read = pollster::block_on(store.node(&talk, appended[0].node)).unwrap();
                    assert_eq!(read.message.text(), text, "an acknowledged message can be read at once");
                    appended[0].node
                };
                (0..EACH).map(append).collect::<Vec<_>>()
            })
        })
        .collect();
    let numbers: Vec<Vec<_>> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
    assert!(numbers.iter().all(|of_one| of_one.is_sorted()), "one writer's messages stand in its order");
    let distinct: BTreeSet<_> = numbers.into_iter().flatten().collect();
    let dense = NodeRange::first_n((WRITERS * EACH) as u64).unwrap();
    assert!(distinct.into_iter().eq(dense.iter()));
    assert!(pollster::block_on(store.verify(None)).unwrap().is_whole());
}

#[test]
fn the_same_key_from_many_callers_is_written_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(LogStore::open(dir.path()).unwrap());
    let callers: Vec<_> = (0..12)
        .map(|_| {
            let store = Arc::clone(&store);
            thread::spawn(move || {
                let mut draft = draft(1, 10);
                draft.message.key = MessageKey::new("once").ok();
                pollster::block_on(store.append(&id("talk"), vec![draft])).unwrap()[0]
            })
        })
        .collect();
    let appended: Vec<_> = callers.into_iter().map(|caller| caller.join().unwrap()).collect();
    assert!(appended.iter().all(|appended| appended.node == node(1)));
    assert_eq!(appended.iter().filter(|appended| appended.is_new).count(), 1);
    assert_eq!(pollster::block_on(store.nodes(&id("talk"), all())).unwrap().len(), 1);
}

#[test]
fn a_dropped_future_neither_loses_nor_doubles_its_batch() {
    let dir = tempfile::tempdir().unwrap();
    let store = LogStore::open(dir.path()).unwrap();
    let talk = id("talk");
    // Never polled: nothing was asked for.
    drop(store.append(&talk, vec![draft(1, 10)]));
    // Polled once: the batch is on its way, even if no caller waits for it.
    let mut context = Context::from_waker(Waker::noop());
    drop(pin!(store.append(&talk, vec![draft(2, 10), draft(3, 10)])).poll(&mut context));
    let after = pollster::block_on(store.append(&talk, vec![draft(4, 10)])).unwrap();
    assert_eq!(after[0].node, node(3));
    let nodes = pollster::block_on(store.nodes(&talk, all())).unwrap();
    let texts: Vec<_> = nodes.iter().map(|node| node.message.text()).collect();
    assert!(texts.iter().zip([2, 3, 4]).all(|(text, n)| text.starts_with(&format!("message {n} "))), "{texts:?}");
    assert_eq!(texts.len(), 3);
}

#[test]
fn dropping_the_store_waits_for_what_was_let_in() {
    let dir = tempfile::tempdir().unwrap();
    let store = LogStore::open(dir.path()).unwrap();
    let talk = id("talk");
    let mut context = Context::from_waker(Waker::noop());
    for number in 1..=50 {
        drop(pin!(store.append(&talk, vec![draft(number, 500)])).poll(&mut context));
    }
    drop(store);
    let store = LogStore::open(dir.path()).unwrap();
    assert_eq!(pollster::block_on(store.conversation(&talk)).unwrap().nodes, 50);
}
