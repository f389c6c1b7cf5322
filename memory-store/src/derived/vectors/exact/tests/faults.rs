//! Files that cannot be read or written for a while: nothing is lost, and nothing is taken for damaged.

use std::os::unix::fs::symlink;

use super::*;

/// The vectors of four samples, without those of the first six nodes.
fn without_six(index: &ExactIndex) {
    (0..4).for_each(|_| insert(index, &id("a"), &sample()));
    flush(index);
    let gone: NodeSet = (1..=6).filter_map(NodeId::new).collect();
    assert_eq!(pollster::block_on(index.remove(&id("a"), &gone)).unwrap(), 6);
}

fn assert_same(index: &ExactIndex, expected: &ExactIndex) {
    let all = |index: &ExactIndex| search(index, &id("a"), &[0.6, 0.5, 0.4, 0.3, 0.2], usize::MAX);
    assert_eq!(index.stats(&id("a")).through, expected.stats(&id("a")).through);
    assert_eq!(all(index), all(expected));
}

#[test]
fn removed_vectors_stay_removed_and_new_ones_are_kept_when_the_compacted_copy_cannot_be_written_at_first() {
    let dir = tempfile::tempdir().unwrap();
    let (index, expected) = (index_in(dir.path()), ExactIndex::in_memory(ModelId::new("toy/1"), DIMENSIONS));
    without_six(&index);
    without_six(&expected);
    let obstacles = files(dir.path()).map(|file| {
        let extension = file.extension().unwrap().to_str().unwrap();
        file.with_extension(format!("{extension}.tmp"))
    });
    for obstacle in &obstacles {
        // An earlier attempt may have left a file.
        if obstacle.exists() {
            fs::remove_file(obstacle).unwrap();
        }
        fs::create_dir(obstacle).unwrap();
        for _ in 0..2 {
            assert!(matches!(pollster::block_on(index.flush()), Err(VectorError::Io { .. })), "it is owed still");
            assert_same(&index, &expected);
        }
        [&index, &expected].into_iter().for_each(|index| insert(index, &id("a"), &sample()));
        fs::remove_dir(obstacle).unwrap();
    }
    flush(&index);
    assert_same(&index, &expected);
    let again = index_in(dir.path());
    assert_same(&again, &expected);
    assert_eq!(again.stats(&id("a")).removed, 0, "the copy has no room for them");
}

#[test]
fn files_that_cannot_be_opened_for_a_while_are_not_taken_for_damaged_and_not_written_over() {
    let dir = tempfile::tempdir().unwrap();
    let whole = sample_in_three_blocks(dir.path());
    for (file, _) in &whole {
        let aside = dir.path().with_extension("aside");
        fs::rename(dir.path(), &aside).unwrap();
        // Opening it fails, and not since it would be missing or something else: the way there goes in a circle.
        symlink(dir.path(), dir.path()).unwrap();
        let index = index_in(dir.path());
        assert_eq!(index.stats(&id("a")).through, 0);
        insert(&index, &id("a"), &[sample(), sample()].concat());
        let refused = pollster::block_on(index.flush());
        assert!(matches!(refused, Err(VectorError::Io { .. })), "{}: {refused:?}", file.display());
        assert_eq!(search(&index, &id("a"), &sample()[0][0], 9).len(), 6, "what is in memory answers");

        fs::remove_file(dir.path()).unwrap();
        fs::rename(&aside, dir.path()).unwrap();
        assert!(whole.iter().all(|(file, bytes)| fs::read(file).unwrap() == *bytes), "they are as they were");
        flush(&index);
        for ((file, before), after) in whole.iter().zip(read_all(dir.path())) {
            assert!(after.len() > before.len() && after.starts_with(before), "{} is appended to", file.display());
        }
        assert_same(&index_in(dir.path()), &index);
        restore(&whole);
    }
}

#[test]
fn a_conversation_that_cannot_be_saved_keeps_no_other_from_being_saved() {
    let dir = tempfile::tempdir().unwrap();
    let index = index_in(dir.path());
    insert(&index, &id("a"), &sample());
    flush(&index);
    let [_, codes, _] = files(dir.path());
    index.forget(&id("a")).unwrap();
    fs::create_dir(codes.with_extension("i8.tmp")).unwrap();
    let others: Vec<_> = (0..16).map(|number| id(&format!("other-{number}"))).collect();
    for conversation in others.iter().chain([&id("a")]) {
        insert(&index, conversation, &sample());
    }
    assert!(matches!(pollster::block_on(index.flush()), Err(VectorError::Io { .. })), "it is said");
    for other in &others {
        assert_eq!(index_in(dir.path()).stats(other).through, 3, "{other}");
    }
}
