//! Every kind of derived files passes the suite, and forgetting reaches bytes that no index would read.

mod harness;

use std::{fs, sync::Arc};

use memory_core::testing::derived_conformance;

use self::harness::{Case, Graphs, Packed, Questions, Tokens, Vectors, Words, block_on, files, id};
use super::*;

#[test]
fn files_of_words_are_derived_data() {
    derived_conformance(&Case::<Words>::new());
}

#[test]
fn files_of_vectors_by_several_models_are_derived_data() {
    derived_conformance(&Case::<Vectors>::new());
}

#[test]
fn packed_files_of_vectors_are_derived_data() {
    derived_conformance(&Case::<Packed<Vectors>>::new());
}

#[test]
fn packed_files_of_tokens_are_derived_data() {
    derived_conformance(&Case::<Packed<Tokens>>::new());
}

#[test]
fn files_of_graphs_are_derived_data() {
    derived_conformance(&Case::<Graphs>::new());
}

#[test]
fn files_of_tokens_are_derived_data() {
    derived_conformance(&Case::<Tokens>::new());
}

#[test]
fn recorded_questions_are_derived_data_that_only_erasure_removes() {
    derived_conformance(&Questions::new());
}

fn node(number: u64) -> NodeSet {
    memory_core::NodeId::new(number).into_iter().collect()
}

fn forget(files: &DerivedFiles, nodes: Option<&NodeSet>) -> Result<Forgotten, DerivedError> {
    let talk = id("talk");
    let what = Forget::conversation(&talk);
    let what = nodes.map_or(what, |nodes| Forget::nodes(&talk, nodes));
    block_on(files.forget(&what))
}

#[test]
fn forgetting_also_removes_unfinished_files_and_rows_that_no_block_names() {
    let case = Case::<Vectors>::new();
    case.derive(&id("talk"), 8);
    let derived = DerivedFiles::vectors(&case.store, None);
    for (path, _) in files(&derived.dir()) {
        let mut longer = fs::read(&path).unwrap();
        longer.extend_from_slice(b"left by a crash");
        fs::write(&path, &longer).unwrap();
        fs::write(super::super::file::temporary(&path), b"left by a crash").unwrap();
    }
    // Node 30 does not exist, but the remains of a crash could be of any node.
    assert_eq!(forget(&derived, Some(&node(30))).unwrap(), Forgotten::All);
    let is_left = |bytes: &[u8]| bytes.windows(15).any(|part| part == b"left by a crash");
    assert!(files(&derived.dir()).iter().all(|(_, bytes)| !is_left(bytes)));
    assert_eq!(case.found(&id("talk")), (1..=8).collect());
    assert_eq!(block_on(derived.verify()).unwrap(), []);
}

#[test]
fn forgetting_also_removes_files_that_cannot_be_attributed() {
    let case = Case::<Tokens>::new();
    case.derive(&id("talk"), 4);
    case.derive(&id("other"), 4);
    let derived = DerivedFiles::tokens(&case.store, None);
    let (path, mut bytes) = files(&derived.dir()).remove(0);
    bytes[30] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let holdings = block_on(derived.holdings()).unwrap();
    assert_eq!((holdings.conversations.len(), holdings.shared.disk), (1, bytes.len() as u64));
    assert_eq!(block_on(derived.verify()).unwrap()[0].place, path.display().to_string());
    assert_eq!(forget(&derived, None).unwrap(), Forgotten::All);
    assert!(!path.exists(), "it may have been of this conversation");
}

#[test]
fn an_index_that_is_open_forgets_in_memory_too_and_does_not_write_it_again() {
    let case = Case::<Vectors>::new();
    case.derive(&id("talk"), 8);
    let index = Arc::new(harness::index(&case.store, "toy/1"));
    assert_eq!(index.stats(&id("talk")).vectors, 8);
    // Two nodes are only in memory.
    harness::insert(&index, &id("talk"), 10);
    let derived = DerivedFiles::vectors(&case.store, Some(Arc::clone(&index)));
    let held = block_on(derived.holdings()).unwrap();
    let held = held.of(&id("talk")).unwrap();
    assert_eq!((held.through, held.size.memory), (10, Some(2 * 5 * 5)));
    for number in [3, 9] {
        assert_eq!(forget(&derived, Some(&node(number))).unwrap(), Forgotten::All);
    }
    assert_eq!(index.stats(&id("talk")).vectors, 8);
    block_on(index.flush()).unwrap();
    assert!([3, 9].iter().all(|number| !case.found(&id("talk")).contains(number)));
    assert_eq!(forget(&derived, None).unwrap(), Forgotten::All);
    block_on(index.flush()).unwrap();
    assert_eq!((index.stats(&id("talk")).vectors, files(&derived.dir()).len()), (0, 0));
}

#[test]
fn what_another_process_wrote_meanwhile_is_forgotten_too_and_the_rest_is_kept() {
    let case = Case::<Vectors>::new();
    case.derive(&id("talk"), 4);
    let mine = harness::index(&case.store, "toy/1");
    assert_eq!(mine.stats(&id("talk")).vectors, 4);
    case.derive(&id("talk"), 8);
    let derived = DerivedFiles::vectors(&case.store, None);
    assert_eq!(forget(&derived, Some(&node(7))).unwrap(), Forgotten::All);
    harness::insert(&mine, &id("talk"), 6);
    block_on(mine.flush()).unwrap();
    let found = case.found(&id("talk"));
    assert_eq!(found, [1, 2, 3, 4, 5, 6, 8].into_iter().collect(), "the shorter memory took what it lacked");
}

#[test]
fn without_its_turn_nothing_is_forgotten_and_the_error_says_so() {
    let case = Case::<Tokens>::new();
    case.derive(&id("talk"), 4);
    let derived = DerivedFiles::tokens(&case.store, None);
    let turn = Turn::wait(&derived.dir()).unwrap();
    assert!(matches!(forget(&derived, None), Err(DerivedError::Busy { .. })));
    assert_eq!(case.found(&id("talk")), (1..=4).collect());
    drop(turn);
    assert_eq!(forget(&derived, None).unwrap(), Forgotten::All);
    let reader = LogStore::open_read_only(case.store.path()).unwrap();
    let refused = forget(&DerivedFiles::tokens(&reader, None), None);
    assert!(matches!(refused, Err(DerivedError::ReadOnly { .. })));
}
