//! The index of tokens from outside: its contents, the cost of damage, and no wrong answer.

use std::{fs, path::PathBuf};

use memory_core::{Message, NodeDraft, NodeRange, Timestamp, port::Store};
use pollster::block_on;
use proptest::prelude::*;

use super::*;

const DIMENSIONS: usize = 32;

fn model() -> ModelId {
    ModelId::new("toy")
}

fn talk() -> ConversationId {
    ConversationId::new("talk").unwrap()
}

fn unit(random: &mut fastrand::Rng) -> Vec<f32> {
    let vector: Vec<f32> = (0..DIMENSIONS).map(|_| random.f32() - 0.5).collect();
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    vector.into_iter().map(|x| x / length).collect()
}

/// Tokens of a node, always the same for its number; every fifth node has none.
fn tokens(node: u64) -> TokenVectors {
    let mut random = fastrand::Rng::with_seed(node);
    let count = if node.is_multiple_of(5) { 0 } else { random.usize(1..12) };
    let ids = (0..count).map(|_| random.u32(0..40)).collect();
    TokenVectors::new(ids, DIMENSIONS, (0..count).flat_map(|_| unit(&mut random)).collect()).unwrap()
}

fn nodes(range: std::ops::RangeInclusive<u64>) -> Vec<(NodeId, TokenVectors)> {
    range.map(|node| (NodeId::new(node).unwrap(), tokens(node))).collect()
}

fn insert(index: &QuantizedTokens, range: std::ops::RangeInclusive<u64>) {
    block_on(index.insert(&talk(), &nodes(range))).unwrap();
}

fn ask(index: &QuantizedTokens, last: u64) -> TokenAnswer {
    let nodes: Vec<_> = (1..=last).filter_map(NodeId::new).collect();
    let (question, talk) = (tokens(3), talk());
    block_on(index.max_cosines(&question, &[TokenPart::new(&talk, &nodes)])).unwrap()
}

fn in_memory() -> QuantizedTokens {
    QuantizedTokens::in_memory(model(), DIMENSIONS, TokenBits::Two)
}

fn open(dir: &Path) -> QuantizedTokens {
    QuantizedTokens::open(dir, model(), DIMENSIONS, TokenBits::Two)
}

fn only_file(dir: &Path) -> PathBuf {
    let mut files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let file = files.next().unwrap();
    assert_eq!(files.next(), None);
    file
}

#[test]
fn cosines_are_near_the_true_ones_and_nodes_without_tokens_have_none() {
    let index = QuantizedTokens::in_memory(model(), DIMENSIONS, TokenBits::Eight);
    insert(&index, 1..=40);
    let answer = ask(&index, 41);
    let question = tokens(3);
    for (node, found) in (1..=41).zip(&answer.max_cosines) {
        let kept = if node > 40 { TokenVectors::default() } else { tokens(node) };
        assert_eq!(found.is_some(), !kept.is_empty(), "{node}");
        let Some(found) = found else { continue };
        for ((_, token), found) in question.iter().zip(found) {
            let cosine = |(_, other): (u32, &[f32])| token.iter().zip(other).map(|(a, b)| a * b).sum::<f32>();
            let best = kept.iter().map(cosine).fold(-1.0, f32::max);
            assert!((found - best).abs() < 0.02, "{node}: {found} {best}");
        }
    }
    for (id, count) in question.ids().iter().zip(&answer.nodes_with) {
        assert_eq!(*count, (1..=40).filter(|node| tokens(*node).ids().contains(id)).count() as u64);
    }
    assert_eq!(answer.nodes, 32);
}

#[test]
fn what_is_no_next_node_or_no_unit_vector_is_refused_and_changes_nothing() {
    let index = in_memory();
    insert(&index, 1..=3);
    let before = ask(&index, 4);
    let gap = block_on(index.insert(&talk(), &nodes(5..=5))).unwrap_err();
    assert!(matches!(gap, VectorError::OutOfOrder { .. }), "{gap}");
    let fourth = NodeId::new(4).unwrap();
    for components in [vec![f32::NAN; DIMENSIONS], vec![0.0; DIMENSIONS], vec![f32::INFINITY; DIMENSIONS]] {
        let bad = TokenVectors::new(vec![1], DIMENSIONS, components).unwrap();
        let error = block_on(index.insert(&talk(), &[(fourth, bad)])).unwrap_err();
        assert!(matches!(error, VectorError::BadVector { .. }), "{error}");
    }
    let other = TokenVectors::new(vec![1], 2, vec![1.0, 0.0]).unwrap();
    let error = block_on(index.insert(&talk(), &[(fourth, other)])).unwrap_err();
    assert!(matches!(error, VectorError::Dimensions { expected: DIMENSIONS, found: 2 }), "{error}");
    assert_eq!(ask(&index, 4), before);
}

#[test]
fn an_index_reopens_as_it_was_flushed_at_every_point() {
    let dir = tempfile::tempdir().unwrap();
    let whole = in_memory();
    for first in (1..=40).step_by(4) {
        insert(&whole, first..=first + 3);
        let index = open(dir.path());
        assert_eq!(index.stats(&talk()).through, first - 1);
        insert(&index, first..=first + 3);
        assert_eq!(ask(&index, 44), ask(&whole, 44));
        block_on(index.flush()).unwrap();
        assert_eq!(ask(&index, 44), ask(&whole, 44));
    }
    let index = open(dir.path());
    assert_eq!(ask(&index, 44), ask(&whole, 44));
    assert_eq!(index.stats(&talk()).tokens, whole.stats(&talk()).tokens);
}

#[test]
fn a_file_of_another_model_width_or_conversation_does_not_count() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    insert(&index, 1..=9);
    block_on(index.flush()).unwrap();
    let wider = QuantizedTokens::open(dir.path(), model(), DIMENSIONS, TokenBits::Four);
    assert_eq!(wider.stats(&talk()).through, 0);
    let other = QuantizedTokens::open(dir.path(), ModelId::new("other"), DIMENSIONS, TokenBits::Two);
    assert_eq!(other.stats(&talk()).through, 0);
    insert(&wider, 1..=2);
    block_on(wider.flush()).unwrap();
    assert_eq!(open(dir.path()).stats(&talk()).through, 0);
    assert_eq!(QuantizedTokens::open(dir.path(), model(), DIMENSIONS, TokenBits::Four).stats(&talk()).through, 2);
}

#[test]
fn two_indexes_that_write_by_turns_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (open(dir.path()), open(dir.path()));
    insert(&a, 1..=10);
    insert(&b, 1..=6);
    block_on(a.flush()).unwrap();
    block_on(b.flush()).unwrap();
    assert_eq!(b.stats(&talk()).through, 10);
    insert(&b, 11..=12);
    block_on(b.flush()).unwrap();
    insert(&a, 11..=15);
    block_on(a.flush()).unwrap();
    let whole = in_memory();
    insert(&whole, 1..=15);
    assert_eq!(ask(&open(dir.path()), 15), ask(&whole, 15));
    assert_eq!(ask(&a, 15), ask(&whole, 15));
}

#[test]
fn tokens_that_another_process_appended_are_kept_when_the_file_is_written_anew() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (open(dir.path()), open(dir.path()));
    insert(&a, 1..=10);
    block_on(a.flush()).unwrap();
    assert_eq!(b.stats(&talk()).through, 10);
    insert(&a, 11..=20);
    block_on(a.flush()).unwrap();
    let removed: NodeSet = NodeRange::new(NodeId::new(3).unwrap(), NodeId::new(6).unwrap()).unwrap().iter().collect();
    assert_eq!(block_on(b.remove(&talk(), &removed)).unwrap(), 3);
    block_on(b.flush()).unwrap();
    let whole = in_memory();
    insert(&whole, 1..=20);
    block_on(whole.remove(&talk(), &removed)).unwrap();
    assert_eq!(ask(&open(dir.path()), 20), ask(&whole, 20));
    assert_eq!(ask(&b, 20), ask(&whole, 20));
}

#[test]
fn a_block_that_another_process_was_writing_at_the_first_look_is_not_written_over() {
    let dir = tempfile::tempdir().unwrap();
    let (bytes, expected) = several_blocks(dir.path());
    let file = only_file(dir.path());
    fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
    let index = open(dir.path());
    assert_eq!(index.stats(&talk()).through, 30);
    insert(&index, 31..=31);
    fs::write(&file, &bytes).unwrap();
    block_on(index.flush()).unwrap();
    assert_eq!(ask(&index, 40), expected);
    assert_eq!(fs::read(&file).unwrap(), bytes);
}

#[test]
fn damage_that_was_found_is_not_read_back_when_another_process_has_appended() {
    let dir = tempfile::tempdir().unwrap();
    let (mut bytes, expected) = several_blocks(dir.path());
    let other = open(dir.path());
    assert_eq!(other.stats(&talk()).through, 40);
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(only_file(dir.path()), bytes).unwrap();
    let index = open(dir.path());
    assert_eq!(ask(&index, 30).max_cosines, expected.max_cosines[..30]);
    assert_eq!(ask(&index, 40).max_cosines[30..], vec![None; 10]);
    insert(&other, 41..=45);
    block_on(other.flush()).unwrap();
    insert(&index, 31..=40);
    block_on(index.flush()).unwrap();
    let whole = in_memory();
    insert(&whole, 1..=45);
    assert_eq!(ask(&open(dir.path()), 45), ask(&whole, 45));
    assert_eq!(ask(&index, 45), ask(&whole, 45));
}

#[test]
fn a_file_that_cannot_be_opened_for_a_while_is_not_taken_for_damaged_and_not_written_over() {
    let dir = tempfile::tempdir().unwrap();
    let (bytes, _) = several_blocks(dir.path());
    let (file, aside) = (only_file(dir.path()), dir.path().with_extension("aside"));
    fs::rename(dir.path(), &aside).unwrap();
    // Opening it fails, and not since it would be missing or something else: the way there goes in a circle.
    std::os::unix::fs::symlink(dir.path(), dir.path()).unwrap();
    let index = open(dir.path());
    assert_eq!(index.stats(&talk()).through, 0);
    insert(&index, 1..=45);
    assert!(matches!(block_on(index.flush()), Err(VectorError::Io { .. })));
    fs::remove_file(dir.path()).unwrap();
    fs::rename(&aside, dir.path()).unwrap();
    assert!(fs::read(&file).unwrap() == bytes, "it is as it was");
    block_on(index.flush()).unwrap();
    assert!(fs::read(&file).unwrap().starts_with(&bytes), "it is appended to");
    let whole = in_memory();
    insert(&whole, 1..=45);
    assert_eq!(ask(&open(dir.path()), 45), ask(&whole, 45));
}

#[test]
fn removed_tokens_are_gone_from_disk_and_the_others_stay() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    insert(&index, 1..=20);
    block_on(index.flush()).unwrap();
    let before = fs::metadata(only_file(dir.path())).unwrap().len();
    let removed: NodeSet = NodeRange::new(NodeId::new(3).unwrap(), NodeId::new(6).unwrap()).unwrap().iter().collect();
    assert_eq!(block_on(index.remove(&talk(), &removed)).unwrap(), 3);
    block_on(index.flush()).unwrap();
    assert!(fs::metadata(only_file(dir.path())).unwrap().len() < before);
    let whole = in_memory();
    insert(&whole, 1..=20);
    let reopened = open(dir.path());
    assert_eq!(reopened.stats(&talk()).through, 20);
    for (node, (found, kept)) in (1..).zip(ask(&reopened, 20).max_cosines.iter().zip(&ask(&whole, 20).max_cosines)) {
        let expected = if (3..=6).contains(&node) { &None } else { kept };
        assert_eq!(found, expected, "{node}");
    }
}

#[test]
fn an_index_beside_a_log_counts_no_node_that_the_log_does_not_have() {
    let dir = tempfile::tempdir().unwrap();
    let append = |store: &LogStore, count: u64| {
        let draft = |n| NodeDraft::new(Message::user(format!("message {n}")), Timestamp::from_millis(0), 3);
        block_on(store.append(&talk(), (0..count).map(draft).collect())).unwrap();
    };
    let beside = |store: &LogStore| QuantizedTokens::beside(store, model(), DIMENSIONS, TokenBits::Two);
    let store = LogStore::open(dir.path().join("a")).unwrap();
    append(&store, 6);
    let index = beside(&store);
    insert(&index, 1..=8);
    block_on(index.flush()).unwrap();
    // Two nodes too many: nothing is written that the log does not confirm.
    assert_eq!(beside(&store).stats(&talk()).through, 0);
    let index = beside(&store);
    insert(&index, 1..=6);
    block_on(index.flush()).unwrap();
    assert_eq!(beside(&store).stats(&talk()).through, 6);

    let other = LogStore::open(dir.path().join("b")).unwrap();
    append(&other, 6);
    let (from, to) = (store.cache_dir().join("tokens"), other.cache_dir().join("tokens"));
    fs::create_dir_all(&to).unwrap();
    fs::copy(only_file(&from), to.join(only_file(&from).file_name().unwrap())).unwrap();
    assert_eq!(beside(&other).stats(&talk()).through, 0);
}

/// A file of several blocks, and the answer of an index that was never on disk.
fn several_blocks(dir: &Path) -> (Vec<u8>, TokenAnswer) {
    let index = open(dir);
    for first in (1..=40).step_by(10) {
        insert(&index, first..=first + 9);
        block_on(index.flush()).unwrap();
    }
    (fs::read(only_file(dir)).unwrap(), ask(&index, 40))
}

/// Asserts that the remains of a wrecked file are right, and that missing tokens can be inserted and stay.
fn heals(dir: &Path, expected: &TokenAnswer) {
    let index = open(dir);
    // The first question finds damage that is seen in use only.
    let first = ask(&index, 40);
    for (found, expected) in first.max_cosines.iter().zip(&expected.max_cosines) {
        assert!(found.is_none() || found == expected);
    }
    let through = index.stats(&talk()).through;
    insert(&index, through + 1..=40);
    assert_eq!(ask(&index, 40), *expected);
    block_on(index.flush()).unwrap();
    assert_eq!(ask(&index, 40), *expected);
    let again = open(dir);
    assert_eq!(again.stats(&talk()).through, 40);
    assert_eq!(ask(&again, 40), *expected);
}

#[test]
fn every_flipped_byte_costs_what_follows_and_never_an_answer() {
    let dir = tempfile::tempdir().unwrap();
    let (bytes, expected) = several_blocks(dir.path());
    let file = only_file(dir.path());
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x10;
        fs::write(&file, flipped).unwrap();
        heals(dir.path(), &expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn cut_and_overwritten_files_heal(cut in 0.0_f64..1.2, garbage in prop::collection::vec(any::<u8>(), 0..200)) {
        let dir = tempfile::tempdir().unwrap();
        let (mut bytes, expected) = several_blocks(dir.path());
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a place")]
        let at = ((bytes.len() as f64 * cut) as usize).min(bytes.len());
        bytes.truncate(at);
        bytes.extend(garbage);
        fs::write(only_file(dir.path()), bytes).unwrap();
        heals(dir.path(), &expected);
    }
}

#[test]
fn what_another_process_flushes_is_found_by_one_that_has_the_conversation_loaded() {
    let dir = tempfile::tempdir().unwrap();
    let [first, second] = [open(dir.path()), open(dir.path())];
    insert(&second, 1..=4);
    for (from, to) in [(1, 3), (4, 9), (10, 11)] {
        insert(&first, from..=to);
        block_on(first.flush()).unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        // Its own fourth node stays while the file has three.
        while second.stats(&talk()).through < to.max(4) {
            assert!(std::time::Instant::now() < deadline, "what another process flushed is never found");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        assert_eq!(ask(&second, to).max_cosines, ask(&first, to).max_cosines);
    }
    block_on(second.flush()).unwrap();
    assert_eq!(open(dir.path()).stats(&talk()).through, 11);
}

#[test]
fn nodes_that_are_left_out_of_the_counts_count_as_if_they_had_no_tokens() {
    let index = in_memory();
    insert(&index, 1..=40);
    let hidden: Vec<_> = [2, 3, 5, 40, 41].into_iter().filter_map(NodeId::new).collect();
    let (question, talk) = (tokens(3), talk());
    let part = [TokenPart::new(&talk, &hidden[..1]).without(&hidden)];
    let counted = block_on(index.max_cosines(&question, &part)).unwrap();
    block_on(index.remove(&talk, &hidden.iter().copied().collect())).unwrap();
    let removed = ask(&index, 41);
    assert_eq!((counted.nodes, &counted.nodes_with), (removed.nodes, &removed.nodes_with));
    assert!(counted.max_cosines[0].is_some(), "it is compared nevertheless");
}
