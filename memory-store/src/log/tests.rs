//! The log from the outside, on a real disk.

use memory_core::testing::store_conformance;

use super::*;

#[test]
fn the_log_conforms() {
    let dir = tempfile::tempdir().unwrap();
    let store = LogStore::open(dir.path()).unwrap();
    pollster::block_on(store_conformance(&store));
}
