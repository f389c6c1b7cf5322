//! The exact index before the suite that every index passes.

use std::sync::Arc;

use memory_core::testing::{IndexUnderTest, SUITE_DIMENSIONS, vector_index_conformance};

use super::*;

struct InMemory;

impl IndexUnderTest for InMemory {
    fn open(&self, _: u32) -> Arc<dyn VectorIndex> {
        Arc::new(ExactIndex::in_memory(ModelId::new("suite"), SUITE_DIMENSIONS))
    }

    fn keeps(&self) -> bool {
        false
    }

    fn recall(&self) -> f64 {
        0.999
    }

    fn block_on<'a, T>(&self, future: BoxFuture<'a, T>) -> T {
        pollster::block_on(future)
    }
}

struct OnDisk(tempfile::TempDir);

impl IndexUnderTest for OnDisk {
    fn open(&self, case: u32) -> Arc<dyn VectorIndex> {
        let dir = self.0.path().join(case.to_string());
        Arc::new(ExactIndex::open(dir, ModelId::new("suite"), SUITE_DIMENSIONS))
    }

    fn keeps(&self) -> bool {
        true
    }

    fn recall(&self) -> f64 {
        0.999
    }

    fn block_on<'a, T>(&self, future: BoxFuture<'a, T>) -> T {
        pollster::block_on(future)
    }
}

#[test]
fn an_index_in_memory_keeps_the_contract() {
    vector_index_conformance(&InMemory);
}

#[test]
fn an_index_on_disk_keeps_the_contract() {
    vector_index_conformance(&OnDisk(tempfile::tempdir().unwrap()));
}
