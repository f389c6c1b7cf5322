//! Families of encoders that differ only in how their weights are laid out.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests, which the lints do not know as tests"
)]

use std::{collections::BTreeMap, env, fs, path::Path};

use fastrand::Rng;
use memory_core::port::Embedder;
use memory_embed::{ModelFiles, ModelStore, OnnxEmbedder, OnnxOptions, convert};
use pollster::block_on;
use serde_json::{Value, json};

const HIDDEN: usize = 16;
const INNER: usize = 32;
const POSITIONS: usize = 12;

type Tensors = BTreeMap<String, (Vec<usize>, Vec<f32>)>;

/// Random weights of a BERT with one layer.
fn bert() -> Tensors {
    let mut rng = Rng::with_seed(7);
    let mut tensors = Tensors::new();
    let mut add = |name: &str, shape: &[usize]| {
        let values = (0..shape.iter().product()).map(|_| rng.f32() - 0.5).collect();
        tensors.insert(name.to_owned(), (shape.to_vec(), values));
    };
    for (name, rows) in [("word", 8), ("position", POSITIONS), ("token_type", 2)] {
        add(&format!("embeddings.{name}_embeddings.weight"), &[rows, HIDDEN]);
    }
    let layers = [
        ("attention.self.query", HIDDEN, HIDDEN),
        ("attention.self.key", HIDDEN, HIDDEN),
        ("attention.self.value", HIDDEN, HIDDEN),
        ("attention.output.dense", HIDDEN, HIDDEN),
        ("intermediate.dense", INNER, HIDDEN),
        ("output.dense", HIDDEN, INNER),
    ];
    for (name, outputs, inputs) in layers {
        add(&format!("encoder.layer.0.{name}.weight"), &[outputs, inputs]);
        add(&format!("encoder.layer.0.{name}.bias"), &[outputs]);
    }
    for name in ["embeddings", "encoder.layer.0.attention.output", "encoder.layer.0.output"] {
        add(&format!("{name}.LayerNorm.weight"), &[HIDDEN]);
        add(&format!("{name}.LayerNorm.bias"), &[HIDDEN]);
    }
    tensors
}

/// The same encoder as XLM-R lays it out: two rows before the first position, and one type.
fn xlm_roberta() -> Tensors {
    let mut tensors = bert();
    let (shape, positions) = tensors.get_mut("embeddings.position_embeddings.weight").unwrap();
    shape[0] += 2;
    positions.splice(0..0, vec![9.0; 2 * HIDDEN]);
    let (shape, types) = tensors.get_mut("embeddings.token_type_embeddings.weight").unwrap();
    shape[0] = 1;
    types.truncate(HIDDEN);
    tensors.into_iter().map(|(name, tensor)| (format!("roberta.{name}"), tensor)).collect()
}

/// Writes `model.safetensors`.
fn write(directory: &Path, tensors: &Tensors) {
    let (mut header, mut data) = (json!({}), Vec::new());
    for (name, (shape, values)) in tensors {
        let start = data.len();
        data.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        header[name] = json!({"dtype": "F32", "shape": shape, "data_offsets": [start, data.len()]});
    }
    let header = header.to_string();
    let file = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat();
    fs::write(directory.join("model.safetensors"), file).unwrap();
}

fn tokenizer() -> Value {
    let special = |token: &str| json!({"SpecialToken": {"id": token, "type_id": 0}});
    let text = |name: &str| json!({"Sequence": {"id": name, "type_id": 0}});
    let named = |token: &str, id: usize| json!({"id": token, "ids": [id], "tokens": [token]});
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null, "decoder": null,
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [special("<s>"), text("A"), special("</s>")],
            "pair": [special("<s>"), text("A"), special("</s>"), text("B"), special("</s>")],
            "special_tokens": {"<s>": named("<s>", 0), "</s>": named("</s>", 2)},
        },
        "model": {"type": "Unigram", "unk_id": 3, "byte_fallback": false, "vocab": [
            ["<s>", 0.0], ["<pad>", 0.0], ["</s>", 0.0], ["<unk>", 0.0], ["▁", -3.0], ["a", -2.0], ["b", -2.0], ["▁a", -1.0],
        ]},
    })
}

/// Vectors of some texts by an encoder of this type and these weights.
fn vectors(runtime: &Path, kind: &str, positions: usize, types: usize, tensors: &Tensors) -> Vec<Vec<f32>> {
    let directory = tempfile::tempdir().unwrap();
    let config = json!({
        "model_type": kind, "vocab_size": 8, "hidden_size": HIDDEN, "intermediate_size": INNER, "num_hidden_layers": 1,
        "num_attention_heads": 2, "max_position_embeddings": positions, "type_vocab_size": types,
        "layer_norm_eps": 1e-5, "hidden_act": "gelu",
    });
    let at = |name: &str| directory.path().join(name);
    fs::write(at("config.json"), config.to_string()).unwrap();
    fs::write(at("tokenizer.json"), tokenizer().to_string()).unwrap();
    write(directory.path(), tensors);
    fs::write(at("model.onnx"), convert(directory.path()).unwrap()).unwrap();
    let files = ModelFiles::new(kind, runtime, at("model.onnx"), at("tokenizer.json")).max_tokens(POSITIONS);
    let embedder = OnnxEmbedder::load(&files, &OnnxOptions::default().workers(1).overlap_tokens(0)).unwrap();
    block_on(embedder.embed_documents(&["", "a", "ab b", "a b a b a"])).unwrap().concat()
}

#[test]
fn xlm_roberta_is_bert_with_two_rows_before_the_first_position() {
    let runtime = match ModelStore::discover(None).and_then(|store| store.runtime()) {
        Ok(runtime) => runtime,
        Err(error) if env::var_os("CI").is_some_and(|ci| ci == "true") => panic!("{error}"),
        Err(error) => return eprintln!("skipped: {error}"),
    };
    let bert = vectors(&runtime, "bert", POSITIONS, 2, &bert());
    let roberta = vectors(&runtime, "xlm-roberta", POSITIONS + 2, 1, &xlm_roberta());
    assert_eq!(bert.len(), 4);
    for (bert, roberta) in bert.iter().zip(&roberta) {
        assert!(bert.iter().zip(roberta).all(|(a, b)| (a - b).abs() < 1e-5), "{bert:?} and {roberta:?}");
    }
    assert!((bert[1][0] - bert[2][0]).abs() > 1e-3, "texts differ");
}
