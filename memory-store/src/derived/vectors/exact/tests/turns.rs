//! Several processes with one directory of vectors: each has an index of its own on it.

use std::{
    fs::File,
    thread,
    time::{Duration, Instant},
};

use super::*;

/// Act of an index.
#[derive(Clone, Debug)]
enum Act {
    Insert(usize),
    Flush,
    /// Opens the index again, as a new process would.
    Reopen,
}

fn acts() -> impl Strategy<Value = Vec<(usize, Act)>> {
    let act = prop_oneof![3 => (1usize..4).prop_map(Act::Insert), 3 => Just(Act::Flush), 1 => Just(Act::Reopen)];
    prop::collection::vec((0usize..2, act), 1..24)
}

/// Inserts up to `count` nodes that it lacks, as a process that derives vectors from one log does.
fn advance(index: &ExactIndex, truth: &[Vec<Vec<f32>>], count: usize) {
    let through = usize::try_from(index.stats(&id("a")).through).unwrap();
    let end = (through + count).min(truth.len());
    insert(index, &id("a"), &truth[through..end]);
}

/// Asserts that an index holds exactly the vectors that a single index would hold.
fn assert_sound(index: &ExactIndex, truth: &[Vec<Vec<f32>>], query: &[f32]) {
    let alone = ExactIndex::in_memory(ModelId::new("toy/1"), DIMENSIONS);
    let through = usize::try_from(index.stats(&id("a")).through).unwrap();
    insert(&alone, &id("a"), &truth[..through]);
    assert_eq!(index.stats(&id("a")).vectors, alone.stats(&id("a")).vectors);
    assert_eq!(search(index, &id("a"), query, usize::MAX), search(&alone, &id("a"), query, usize::MAX));
}

proptest! {
    #[test]
    fn indexes_that_flush_by_turns_leave_what_one_would(truth in nodes(12), acts in acts(), query in unit()) {
        let dir = tempfile::tempdir().unwrap();
        let mut indexes = [index_in(dir.path()), index_in(dir.path())];
        let mut flushed = 0;
        for (which, act) in acts {
            match act {
                Act::Insert(count) => advance(&indexes[which], &truth, count),
                Act::Flush => {
                    flush(&indexes[which]);
                    flushed = flushed.max(indexes[which].stats(&id("a")).through);
                }
                Act::Reopen => indexes[which] = index_in(dir.path()),
            }
            let on_disk = index_in(dir.path());
            prop_assert_eq!(on_disk.stats(&id("a")).through, flushed, "no flush takes from what another put there");
            assert_sound(&on_disk, &truth, &query);
            indexes.iter().for_each(|index| assert_sound(index, &truth, &query));
        }
    }
}

#[test]
fn indexes_that_flush_at_once_leave_what_one_would() {
    let dir = tempfile::tempdir().unwrap();
    let truth: Vec<_> = (0..40).flat_map(|_| sample()).collect();
    thread::scope(|scope| {
        for step in 1..4 {
            let (dir, truth) = (dir.path(), &truth);
            scope.spawn(move || {
                let index = index_in(dir);
                while index.stats(&id("a")).through < truth.len() as u64 {
                    advance(&index, truth, step);
                    flush(&index);
                }
            });
        }
    });
    let index = index_in(dir.path());
    assert_eq!(index.stats(&id("a")).through, truth.len() as u64);
    assert_sound(&index, &truth, &sample()[0][0]);
}

#[test]
fn a_file_that_another_process_made_anew_is_not_taken_for_the_old_one() {
    let dir = tempfile::tempdir().unwrap();
    let [first, second] = [index_in(dir.path()), index_in(dir.path())];
    let (mut truth, mut other) = (sample(), sample());
    insert(&first, &id("a"), &truth);
    flush(&first);
    // A file of the same length with other vectors.
    other.swap(0, 2);
    second.forget(&id("a")).unwrap();
    insert(&second, &id("a"), &other);
    flush(&second);
    truth.extend(sample());
    advance(&first, &truth, 1);
    flush(&first);
    let there = index_in(dir.path());
    assert_eq!(there.stats(&id("a")).through, 4);
    other.push(truth[3].clone());
    assert_sound(&there, &other, &sample()[0][0]);
}

#[test]
fn who_does_not_get_its_turn_keeps_its_vectors_for_the_next_flush() {
    let dir = tempfile::tempdir().unwrap();
    let index = index_in(dir.path());
    insert(&index, &id("a"), &sample());
    let stuck = File::open(dir.path()).unwrap();
    stuck.lock().unwrap();
    flush(&index);
    assert_eq!(index_in(dir.path()).stats(&id("a")).through, 0);
    assert_eq!(search(&index, &id("a"), &sample()[0][0], 9).len(), 3);
    drop(stuck);
    flush(&index);
    assert_eq!(index_in(dir.path()).stats(&id("a")).through, 3);
}

/// Waits until an index that has the conversation loaded reaches so far, without loading it again.
fn wait_for(index: &ExactIndex, through: u64) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while index.stats(&id("a")).through < through {
        assert!(Instant::now() < deadline, "what another process flushed is never found");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_another_process_flushes_is_found_by_one_that_has_the_conversation_loaded() {
    let dir = tempfile::tempdir().unwrap();
    let [first, second] = [index_in(dir.path()), index_in(dir.path())];
    let truth: Vec<_> = (0..4).flat_map(|_| sample()).collect();
    for count in [1, 3, 2, 6] {
        advance(&first, &truth, count);
        let through = first.stats(&id("a")).through;
        assert!(second.stats(&id("a")).through < through);
        flush(&first);
        wait_for(&second, through);
        assert_sound(&second, &truth, &truth[2][1]);
    }
}

#[test]
fn what_is_not_saved_follows_what_another_process_flushed() {
    let dir = tempfile::tempdir().unwrap();
    let [first, second] = [index_in(dir.path()), index_in(dir.path())];
    let truth: Vec<_> = (0..4).flat_map(|_| sample()).collect();
    advance(&second, &truth, 5);
    advance(&first, &truth, 3);
    flush(&first);
    // Read again before the flush: it has the first rows from the disk, and its own after them.
    let on_disk = || second.cache.reading(&id("a"), |held| held.data.on_disk());
    let deadline = Instant::now() + Duration::from_secs(10);
    while on_disk() != 3 {
        assert!(Instant::now() < deadline, "what another process flushed is never found");
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(second.stats(&id("a")).through, 5);
    assert_sound(&second, &truth, &truth[2][1]);
    flush(&second);
    let there = index_in(dir.path());
    assert_eq!(there.stats(&id("a")).through, 5);
    assert_sound(&there, &truth, &truth[2][1]);
}

#[test]
fn what_another_process_forgot_is_not_kept_in_memory() {
    let dir = tempfile::tempdir().unwrap();
    let [first, second] = [index_in(dir.path()), index_in(dir.path())];
    insert(&first, &id("a"), &sample());
    flush(&first);
    assert_eq!(search(&second, &id("a"), &sample()[0][0], 9).len(), 3);
    first.forget(&id("a")).unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while !search(&second, &id("a"), &sample()[0][0], 9).is_empty() {
        assert!(Instant::now() < deadline, "what another process forgot is found for ever");
        thread::sleep(Duration::from_millis(20));
    }
    flush(&second);
    assert_eq!(index_in(dir.path()).stats(&id("a")).through, 0);
}
