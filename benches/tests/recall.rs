//! Recall of every backend on embeddings of real sentences: those of this project's documents.

#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test")]

use std::{collections::BTreeSet, env};

use memory_core::{
    ConversationId, ModelId, NodeId,
    port::{AnsweredBy, Embedder, VectorIndex, VectorPart, VectorQuery},
};
use memory_embed::{ALL_MINILM_L6_V2, ModelStore, OnnxEmbedder, OnnxOptions};
use memory_store::{AutoIndex, AutoOptions, Method};

const DOCUMENTS: [&str; 5] = [
    include_str!("../../ARCHITECTURE.md"),
    include_str!("../../docs/mcp.md"),
    include_str!("../../docs/format.md"),
    include_str!("../../docs/operations.md"),
    include_str!("../../docs/configuration.md"),
];
/// One sentence in this many is a query, and not in the index.
const QUERY: usize = 15;
const TOP: usize = 10;
const SHORTEST: usize = 25;
/// Sentences at most, of all documents, so that the test takes no longer as they grow.
const MOST: usize = 1_200;

fn sentences() -> Vec<&'static str> {
    let ends = |c: char| matches!(c, '.' | ';' | '|' | '\n');
    let parts: BTreeSet<&str> = DOCUMENTS.iter().flat_map(|text| text.split(ends)).map(str::trim).collect();
    let long: Vec<_> = parts.into_iter().filter(|part| part.len() >= SHORTEST).collect();
    let step = long.len().div_ceil(MOST).max(1);
    long.into_iter().step_by(step).collect()
}

/// `None` where the model is not there.
fn embedded() -> Option<(String, Vec<Vec<f32>>)> {
    let files = match ModelStore::discover(None).and_then(|models| models.locate(&ALL_MINILM_L6_V2)) {
        Ok(files) => files,
        Err(missing) => {
            assert!(env::var_os("CI").is_none_or(|ci| ci != "true"), "{missing}");
            eprintln!("skipped: {missing}");
            return None;
        }
    };
    let embedder = OnnxEmbedder::load(&files, &OnnxOptions::default()).unwrap();
    let mut vectors = Vec::new();
    for batch in sentences().chunks(64) {
        let embedded = pollster::block_on(embedder.embed_documents(batch)).unwrap();
        vectors.extend(embedded.into_iter().filter_map(|chunks| chunks.into_iter().next()));
    }
    Some((files.name.to_owned(), vectors))
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The cosine of the last of the truly nearest.
fn last_of_nearest(query: &[f32], rows: &[Vec<f32>]) -> f32 {
    let mut cosines: Vec<f32> = rows.iter().map(|row| dot(query, row)).collect();
    cosines.sort_unstable_by(|a, b| b.total_cmp(a));
    *cosines.get(TOP - 1).unwrap()
}

#[test]
fn every_backend_finds_the_nearest_of_real_sentences() {
    let Some((model, vectors)) = embedded() else { return };
    let number = |part: &(usize, Vec<f32>)| part.0.is_multiple_of(QUERY);
    let (queries, rows): (Vec<_>, Vec<_>) = vectors.into_iter().enumerate().partition(number);
    let rows: Vec<Vec<f32>> = rows.into_iter().map(|(_, vector)| vector).collect();
    assert!(rows.len() > 500 && queries.len() > 30, "{} sentences, {} queries", rows.len(), queries.len());
    let nodes: Vec<_> =
        (1..).filter_map(NodeId::new).zip(&rows).map(|(node, vector)| (node, vec![vector.clone()])).collect();
    let talk = ConversationId::new("talk").unwrap();
    let graph = |backend| AnsweredBy::Graph { backend };
    let backends = [
        (Method::Scan, AnsweredBy::Scan, 0.999),
        (Method::Graph, graph("memory"), 0.99),
        (Method::HnswRs, graph("hnsw_rs"), 0.99),
    ];
    for (method, answered_by, least) in backends {
        let index = AutoIndex::in_memory(ModelId::new(&model), rows[0].len(), AutoOptions::default().method(method));
        pollster::block_on(index.insert(&talk, &nodes)).unwrap();
        index.build_graph(&talk, &());
        let mut found = 0;
        for (_, query) in &queries {
            let parts = [VectorPart::new(&talk)];
            let asked = VectorQuery::new(query, TOP, &parts);
            let answer = pollster::block_on(index.search(&asked)).unwrap();
            assert_eq!(answer.answered_by, [answered_by]);
            let least = last_of_nearest(query, &rows) - 1e-5;
            found += answer.hits.iter().filter(|hit| hit.cosine >= least).count();
        }
        let recall = found as f64 / (queries.len() * TOP) as f64;
        assert!(recall >= least, "{method:?}: recall {recall} of {} sentences", rows.len());
    }
}
