//! Tests of the static embedder with a table of a few words.

use std::fs;

use pollster::block_on;
use safetensors::{Dtype, tensor::TensorView};
use tempfile::TempDir;

use super::*;

/// Its name, shape and values.
type Tensor<'a> = (&'a str, &'a [usize], &'a [f32]);

const TOKENIZER: &str = r#"{
    "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
    "normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null,
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "--", "max_input_chars_per_word": 100,
        "vocab": {"[UNK]": 0, "cat": 1, "dog": 2, "ferry": 3}}
}"#;

const TABLE: [[f32; 2]; 4] = [[9.0, 9.0], [1.0, 0.0], [0.0, 1.0], [0.0, -1.0]];

fn model(tensors: &[Tensor<'_>]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let data: Vec<Vec<u8>> =
        tensors.iter().map(|(_, _, values)| values.iter().flat_map(|value| value.to_le_bytes()).collect()).collect();
    let views = tensors.iter().zip(&data).map(|((name, shape, _), data)| {
        ((*name).to_owned(), TensorView::new(Dtype::F32, shape.to_vec(), data).unwrap())
    });
    fs::write(directory.path().join("model.safetensors"), safetensors::serialize(views, None).unwrap()).unwrap();
    fs::write(directory.path().join("tokenizer.json"), TOKENIZER).unwrap();
    fs::write(directory.path().join("config.json"), r#"{"model_type": "model2vec"}"#).unwrap();
    directory
}

fn load(tensors: &[Tensor<'_>]) -> Result<StaticEmbedder, ModelError> {
    StaticEmbedder::load(model(tensors).path(), "toy")
}

fn assert_near(found: &[f32], expected: [f32; 2]) {
    assert!(found.len() == 2 && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}");
}

#[test]
fn a_text_is_the_mean_of_its_known_tokens() {
    let embedder = load(&[("embeddings", &[4, 2], TABLE.as_flattened())]).unwrap();
    assert_eq!((embedder.dimensions(), embedder.model().as_str().split('@').next()), (2, Some("toy")));
    let vectors = block_on(embedder.embed_documents(&["Cat", "cat unheard dog", "dog"])).unwrap();
    let half = 0.5_f32.sqrt();
    for (chunks, expected) in vectors.iter().zip([[1.0, 0.0], [half, half], [0.0, 1.0]]) {
        assert_near(&chunks[0], expected);
    }
    assert_near(&block_on(embedder.embed_query("cat dog")).unwrap(), [half, half]);
}

#[test]
fn a_tokens_weight_counts() {
    let weights = [1.0, 3.0, 4.0, 1.0];
    let embedder = load(&[("embeddings", &[4, 2], TABLE.as_flattened()), ("weights", &[4], &weights)]).unwrap();
    assert_near(&block_on(embedder.embed_query("cat dog")).unwrap(), [0.6, 0.8]);
}

#[test]
fn a_text_without_direction_still_has_a_unit_vector() {
    let embedder = load(&[("embeddings", &[4, 2], TABLE.as_flattened())]).unwrap();
    for text in ["", "unheard", "dog ferry"] {
        let vector = block_on(embedder.embed_query(text)).unwrap();
        assert!((vector[0].hypot(vector[1]) - 1.0).abs() < 1e-6, "{text:?}: {vector:?}");
    }
}

#[test]
fn a_long_text_has_several_vectors_and_its_end_counts() {
    let embedder = load(&[("embeddings", &[4, 2], TABLE.as_flattened())]).unwrap();
    let text = "cat ".repeat(CHUNK_TOKENS) + &"dog ".repeat(CHUNK_TOKENS);
    let chunks = block_on(embedder.embed_documents(&[&text])).unwrap().remove(0);
    assert!(chunks.len() >= 2, "{}", chunks.len());
    assert_near(chunks.last().unwrap(), [0.0, 1.0]);
}

#[test]
fn tables_that_cannot_be_used_are_refused() {
    let refused: [&[Tensor<'_>]; 5] = [
        &[("other", &[1], &[1.0])],
        &[("embeddings", &[2], &[1.0, 2.0])],
        &[("embeddings", &[1, 2], &[f32::NAN, 1.0])],
        &[("embeddings", &[1, 2], &[1.0, 1.0]), ("weights", &[2], &[1.0, 1.0])],
        &[("embeddings", &[2, 1], &[1.0, -1.0])],
    ];
    for tensors in refused {
        assert!(matches!(load(tensors), Err(ModelError::Graph { .. })), "{tensors:?}");
    }
}
