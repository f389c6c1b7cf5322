//! The vector index by itself: vectors of any model, in a directory of the program's own, without a log.

use std::{error::Error, path::Path};

use memory_core::{
    ConversationId, ModelId, NodeId,
    port::{VectorIndex, VectorPart, VectorQuery},
};
use memory_store::{AutoIndex, AutoOptions, ExactIndex};
use pollster::block_on;

fn main() -> Result<(), Box<dyn Error>> {
    println!("nearest: {:?}", run(Path::new("vectors"))?);
    Ok(())
}

/// Numbers of the two vectors that are nearest to the query.
pub(crate) fn run(directory: &Path) -> Result<Vec<u64>, Box<dyn Error>> {
    let open = || {
        // Vectors of different models are never compared, so the index is of one model.
        let exact = ExactIndex::open(directory, ModelId::new("my-model"), 3);
        AutoIndex::over(exact, AutoOptions::default()) // scans few vectors, walks a graph of many
    };
    let photos = ConversationId::new("photos")?;
    let unit = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.6, 0.8, 0.0]];
    // Numbered from 1 without a gap; each may have several vectors, all of unit length.
    let vectors: Vec<_> =
        unit.iter().enumerate().map(|(index, vector)| (NodeId::from_index(index), vec![vector.to_vec()])).collect();

    let index = open();
    let there = index.stats(&photos).through; // what an earlier run left
    let new: Vec<_> = vectors.into_iter().filter(|(node, _)| node.get() > there).collect();
    block_on(index.insert(&photos, &new))?;
    block_on(index.flush())?; // on disk
    drop(index);

    let index = open();
    let parts = [VectorPart::new(&photos)];
    let answer = block_on(index.search(&VectorQuery::new(&[0.5, 0.9, 0.0], 2, &parts)))?;
    Ok(answer.hits.iter().map(|hit| hit.slot.node.get()).collect())
}
