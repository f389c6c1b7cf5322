//! Tests with a graph that has a cross-encoder's signature and counts common words.

use std::{env, fs, path::Path};

use pollster::block_on;
use tempfile::TempDir;

use super::*;
use crate::{
    ALL_MINILM_L6_V2, ModelStore,
    convert::graph::{GraphBuilder, Setting},
};

const TOKENIZER: &str = include_str!("tokenizer.json");

/// A graph that scores a pair by MaxSim over the identity: how many of the question's tokens are among the text's.
///
/// `[CLS]` is never among them and the `[SEP]` of the question always is: the score is 1 for a pair without common
/// tokens. Unmasked padding would count, and tokens of the wrong type would count for the wrong side.
fn counting_graph(classes: usize) -> Vec<u8> {
    let mut graph = GraphBuilder::default();
    let (ids, mask, types) =
        (graph.tokens("input_ids"), graph.tokens("attention_mask"), graph.tokens("token_type_ids"));
    let float = |graph: &mut GraphBuilder, value| graph.op("Cast", &[value], &[Setting::Int("to", 1)]);
    let (mask, types) = (float(&mut graph, &mask), float(&mut graph, &types));
    let of_text = graph.op("Mul", &[&mask, &types], &[]);
    let of_question = graph.op("Sub", &[&mask, &of_text], &[]);
    // Equality of tokens: [batch, question, text].
    let (second, third) = (graph.integers(&[1]), graph.integers(&[2]));
    let (down, across) = (graph.op("Unsqueeze", &[&ids, &third], &[]), graph.op("Unsqueeze", &[&ids, &second], &[]));
    let equal = graph.op("Equal", &[&down, &across], &[]);
    let equal = float(&mut graph, &equal);
    let of_text = graph.op("Unsqueeze", &[&of_text, &second], &[]);
    let similar = graph.op("Mul", &[&equal, &of_text], &[]);
    let best = graph.op("ReduceMax", &[&similar, &third], &[Setting::Int("keepdims", 0)]);
    let counted = graph.op("Mul", &[&best, &of_question], &[]);
    let score = graph.op("ReduceSum", &[&counted, &second], &[Setting::Int("keepdims", 1)]);
    let score = match classes {
        1 => score,
        2 => {
            let none = graph.op("Sub", &[&score, &score], &[]);
            let less = graph.op("Sub", &[&none, &score], &[]);
            graph.op("Concat", &[&less, &score], &[Setting::Int("axis", 1)])
        }
        _ => graph.op("Concat", &vec![&score; classes], &[Setting::Int("axis", 1)]),
    };
    graph.scores("logits", &score, classes);
    graph.finish("counts words in common", &[])
}

/// A directory with the fixture, and its files; skipped without ONNX Runtime, but fails where `CI=true`.
fn files_or_skip(classes: usize) -> Option<(TempDir, RerankerFiles)> {
    let runtime = match ModelStore::discover(None).and_then(|store| store.locate(&ALL_MINILM_L6_V2)) {
        Ok(files) => files.runtime,
        Err(error) if env::var_os("CI").is_some_and(|ci| ci == "true") => panic!("{error}"),
        Err(error) => {
            eprintln!("skipped: {error}");
            return None;
        }
    };
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), &counting_graph(classes));
    let files = RerankerFiles::in_directory("counting", directory.path(), &runtime).unwrap();
    Some((directory, files))
}

fn write(directory: &Path, graph: &[u8]) {
    fs::write(directory.join("model.onnx"), graph).unwrap();
    fs::write(directory.join("tokenizer.json"), TOKENIZER).unwrap();
    fs::write(directory.join("config.json"), r#"{"max_position_embeddings": 24}"#).unwrap();
}

fn scores(reranker: &OnnxReranker, question: &str, texts: &[&str]) -> Vec<f32> {
    block_on(reranker.rerank(question, texts)).unwrap()
}

#[test]
fn texts_are_scored_against_the_question_in_their_order() {
    let Some((_directory, files)) = files_or_skip(1) else { return };
    let reranker = OnnxReranker::load(&files, &RerankerOptions::default().workers(2)).unwrap();
    assert_eq!(reranker.scale(), ScoreScale::Logit);
    assert!(reranker.model().as_str().starts_with("counting@"));
    let texts = ["d e f", "a", "c b a", "", "a a a a a a a a a a a a"];
    assert_eq!(scores(&reranker, "a b c", &texts), [1.0, 2.0, 4.0, 1.0, 2.0]);
    assert_eq!(scores(&reranker, "a a", &["a"]), [3.0], "the question's tokens are counted, not the text's");
    assert!(scores(&reranker, "a", &[]).is_empty());
}

#[test]
fn a_score_does_not_depend_on_the_batch() {
    let Some((_directory, files)) = files_or_skip(1) else { return };
    let texts: Vec<String> = (0..60).map(|n| ["a b ", "c ", "d e f ", "b "][n % 4].repeat(1 + n % 5)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let alone = OnnxReranker::load(&files, &RerankerOptions::default().workers(1).batch_tokens(1)).unwrap();
    let together = OnnxReranker::load(&files, &RerankerOptions::default().workers(2).batch_tokens(4096)).unwrap();
    let expected = scores(&alone, "a c e", &texts);
    assert!(expected.iter().any(|score| *score != expected[0]), "all the same: {expected:?}");
    for _ in 0..3 {
        assert_eq!(scores(&together, "a c e", &texts), expected);
    }
}

#[test]
fn what_the_model_does_not_read_does_not_count() {
    let Some((_directory, files)) = files_or_skip(1) else { return };
    let reranker = OnnxReranker::load(&files, &RerankerOptions::default().workers(1).passages(1)).unwrap();
    // 24 tokens: 3 around the pair, 2 of the question, 19 of the text.
    let begin = "d ".repeat(18);
    assert_eq!(scores(&reranker, "a b", &[&format!("{begin}a b"), &format!("{begin}d a b")]), [2.0, 1.0]);
}

#[test]
fn a_long_text_is_worth_its_best_passage() {
    let Some((_directory, files)) = files_or_skip(1) else { return };
    let reranker = OnnxReranker::load(&files, &RerankerOptions::default().workers(2)).unwrap();
    let at = |place: usize| format!("{}a b{}", "d ".repeat(place), " e".repeat(100 - place));
    let texts = [at(0), at(50), at(99), "d ".repeat(100), "d".to_owned(), "b d".to_owned()];
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    assert_eq!(scores(&reranker, "a b", &texts), [3.0, 3.0, 3.0, 1.0, 1.0, 2.0]);
}

#[test]
fn two_classes_are_one_logit() {
    let Some((_directory, files)) = files_or_skip(2) else { return };
    let reranker = OnnxReranker::load(&files, &RerankerOptions::default().workers(1)).unwrap();
    assert_eq!(scores(&reranker, "a b c", &["c b", "d"]), [6.0, 2.0]);
}

#[test]
fn a_graph_of_another_kind_is_refused() {
    let Some((directory, files)) = files_or_skip(3) else { return };
    let error = OnnxReranker::load(&files, &RerankerOptions::default()).unwrap_err();
    let ModelError::Graph { source, .. } = &error else { panic!("{error}") };
    assert!(source.to_string().contains("not [batch, 1] or [batch, 2]"), "{source}");
    fs::write(directory.path().join("model.onnx"), b"\x08\x07 no graph").unwrap();
    assert!(matches!(OnnxReranker::load(&files, &RerankerOptions::default()), Err(ModelError::Graph { .. })));
    fs::write(directory.path().join("tokenizer.json"), b"no tokenizer").unwrap();
    assert!(matches!(OnnxReranker::load(&files, &RerankerOptions::default()), Err(ModelError::Tokenizer { .. })));
    let missing = RerankerFiles { model: directory.path().join("none.onnx"), ..files };
    assert!(OnnxReranker::load(&missing, &RerankerOptions::default()).is_err());
}

#[test]
fn options_without_sense_are_refused_by_name() {
    let defaults = RerankerOptions::default();
    for (options, name) in [
        (defaults.workers(0), "workers"),
        (defaults.threads_per_worker(0), "threads_per_worker"),
        (defaults.batch_tokens(0), "batch_tokens"),
        (defaults.queue(0), "queue"),
    ] {
        assert!(matches!(options.check(), Err(ModelError::Option { option, .. }) if option == name));
    }
}
