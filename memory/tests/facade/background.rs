//! Work that is done without being asked for.
#![expect(clippy::unwrap_used, reason = "helpers of tests, which the lints do not know as tests")]

use std::{path::Path, sync::Arc};

use memory::{Access, Builder, Config, Conversation, Message, Notice, Query, Scope};
use memory_core::{
    port::{Lease, Store as _},
    testing::HashEmbedder,
};
use memory_store::LogStore;
use pollster::block_on;

use crate::support::{Dir, embedded, remark, wait_until};

fn append(talk: &Conversation, count: usize) {
    let remarks = (1..=count).map(|number| (remark(number), memory::Timestamp::from_millis(number as i64))).collect();
    block_on(talk.append_batch(remarks)).unwrap();
}

fn summaries(talk: &Conversation) -> u64 {
    block_on(talk.stats()).unwrap().summaries
}

/// The lease for background work, as soon as it is free.
fn lease_of(store: &LogStore) -> Lease {
    let mut lease = None;
    wait_until("the lease is free", || {
        lease = block_on(store.lease()).ok();
        lease.is_some()
    });
    lease.unwrap()
}

#[test]
fn messages_are_indexed_and_compacted_without_being_asked_for() {
    let dir = Dir::new();
    let memory = dir.meaning().open().unwrap();
    let talk = memory.conversation("talk").unwrap();
    append(&talk, 80);
    wait_until("80 messages have vectors", || embedded(&memory, "talk") == 80);
    wait_until("80 messages have summaries", || summaries(&talk) > 0);
    // A single message that follows is indexed, too.
    block_on(talk.append(remark(81))).unwrap();
    wait_until("81 messages have vectors", || embedded(&memory, "talk") == 81);
    wait_until("the vectors are on disk", || dir.embedded_on_disk("talk") == 81);
    assert!(memory.failures().is_empty(), "{:?}", memory.failures());
}

#[test]
fn what_an_earlier_process_left_undone_is_taken_up() {
    let dir = Dir::new();
    let memory = dir.meaning().background(false).open().unwrap();
    append(&memory.conversation("talk").unwrap(), 80);
    drop(memory);
    assert_eq!(dir.embedded_on_disk("talk"), 0, "without a background nobody does it");
    let memory = dir.meaning().open().unwrap();
    let talk = memory.conversation("talk").unwrap();
    wait_until("its messages have vectors", || embedded(&memory, "talk") == 80);
    wait_until("its messages have summaries", || summaries(&talk) > 0);
}

#[test]
fn what_another_process_appends_meanwhile_is_taken_up() {
    let dir = Dir::new();
    let memory = dir.meaning().open().unwrap();
    append(&memory.conversation("ours").unwrap(), 3);
    let other = dir.meaning().background(false).open().unwrap();
    append(&other.conversation("theirs").unwrap(), 80);
    drop(other);
    wait_until("their messages have vectors", || embedded(&memory, "theirs") == 80);
    let theirs = memory.conversation("theirs").unwrap();
    wait_until("their messages have summaries", || summaries(&theirs) > 0);
}

#[test]
fn one_process_at_a_time_does_background_work() {
    let dir = Dir::new();
    let memory = dir.meaning().open().unwrap();
    let other = LogStore::open(dir.store()).unwrap();
    let lease = lease_of(&other);
    append(&memory.conversation("talk").unwrap(), 5);
    drop(lease);
    wait_until("the other's end is noticed", || embedded(&memory, "talk") == 5);

    let lease = lease_of(&other);
    append(&memory.conversation("later").unwrap(), 80);
    assert!(block_on(memory.catch_up()).is_err_and(|error| error.to_string().contains("in use")), "it has no lease");
    assert_eq!((embedded(&memory, "later"), summaries(&memory.conversation("later").unwrap())), (0, 0));
    drop(lease);
    wait_until("it is done then", || embedded(&memory, "later") == 80);
    let later = memory.conversation("later").unwrap();
    wait_until("it is compacted, too", || summaries(&later) > 0);
    assert!(memory.failures().is_empty(), "waiting is no failure: {:?}", memory.failures());
}

#[test]
fn without_a_background_everything_is_done_when_asked_for() {
    let dir = Dir::new();
    let memory = dir.meaning().background(false).open().unwrap();
    let talk = memory.conversation("talk").unwrap();
    append(&talk, 80);
    assert_eq!((embedded(&memory, "talk"), summaries(&talk)), (0, 0));
    block_on(memory.catch_up()).unwrap();
    assert!(embedded(&memory, "talk") == 80 && summaries(&talk) > 0);
    assert_eq!(dir.embedded_on_disk("talk"), 80);
}

#[test]
fn a_memory_that_is_caught_up_has_nothing_left_to_do() {
    let dir = Dir::new();
    // Beside a background that does the same.
    let memory = dir.meaning().open().unwrap();
    let talk = memory.conversation("talk").unwrap();
    append(&talk, 80);
    block_on(memory.catch_up()).unwrap();
    assert!(embedded(&memory, "talk") == 80 && summaries(&talk) > 0);
}

#[test]
fn a_store_that_is_only_read_is_left_as_it_is() {
    let dir = Dir::new();
    let memory = dir.meaning().background(false).open().unwrap();
    append(&memory.conversation("talk").unwrap(), 80);
    drop(memory);
    let reader = Builder::of(Config::new(dir.store(), Access::Read)).embedder(Arc::new(HashEmbedder::new(32)));
    let reader = reader.open().unwrap();
    let talk = reader.conversation("talk").unwrap();
    assert!(block_on(talk.prompt("What about day 30?")).unwrap().text().contains("day 30"));
    assert!(block_on(talk.append(remark(81))).is_err());
    drop((talk, reader));
    assert_eq!(dir.embedded_on_disk("talk"), 0);
}

#[test]
fn a_store_without_a_model_answers_by_words_and_says_so_once() {
    let dir = Dir::new();
    let config = Config::new(dir.store(), Access::Write).models(dir.store().join("no-models"));
    let memory = Builder::of(config).open().unwrap();
    let trip = memory.conversation("trip").unwrap();
    block_on(trip.append(Message::user("The train leaves at 7:42 from platform 9."))).unwrap();
    let says_so =
        |notices: &[Notice]| notices.iter().filter(|notice| matches!(notice, Notice::WordsOnly { .. })).count();
    let query = || Query::new("When does the train leave?", Scope::all());
    let found = block_on(memory.search(query())).unwrap();
    assert_eq!((found.hits.len(), says_so(&found.notices)), (1, 1), "{:?}", found.notices);
    assert_eq!(says_so(&block_on(memory.search(query())).unwrap().notices), 0);
    assert_eq!(says_so(&block_on(trip.prompt("When does the train leave?")).unwrap().notices), 0);
}

#[test]
fn a_store_has_vectors_of_one_model() {
    let dir = Dir::new();
    drop(dir.meaning().open().unwrap());
    let other = |store: &Path| Builder::new(store).embedder(Arc::new(HashEmbedder::new(16)));
    let error = other(&dir.store()).open().unwrap_err();
    assert!(matches!(error, memory::OpenError::OtherModel { .. }), "{error}");
}
