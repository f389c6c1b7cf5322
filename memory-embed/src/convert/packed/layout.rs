//! Configuration and tokenizer of a packed model, as sentence-transformers and `tokenizers` write them.

use std::{fs, path::Path};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use memory_core::port::BoxError;
use serde_json::{Value, json};

use super::{Packed, Pieces, charsmap::charsmap};
use crate::{
    ModelError,
    files::{self, if_there},
};

/// Maximum tokens of an input. The encoder reads twice as many, but one vector says less of a longer text.
const MAX_TOKENS: usize = 256;

/// The mark of a blank in pieces.
const BLANK: &str = "▁";

/// The files by their paths.
pub(super) fn files(packed: &Packed<'_>) -> Result<[(&'static str, Vec<u8>); 6], BoxError> {
    let sizes = &packed.dimensions;
    let config = json!({
        "model_type": "bert",
        "architectures": ["BertModel"],
        "vocab_size": sizes.vocabulary,
        "hidden_size": sizes.hidden,
        "intermediate_size": sizes.intermediate,
        "num_hidden_layers": sizes.layers,
        "num_attention_heads": sizes.heads,
        "max_position_embeddings": sizes.positions,
        "type_vocab_size": sizes.token_types,
        "layer_norm_eps": sizes.epsilon,
        "hidden_act": "gelu",
    });
    let module = |index: usize, path: &str, kind: &str| {
        let kind = format!("sentence_transformers.models.{kind}");
        json!({ "idx": index, "name": index.to_string(), "path": path, "type": kind })
    };
    let modules =
        json!([module(0, "", "Transformer"), module(1, "1_Pooling", "Pooling"), module(2, "2_Normalize", "Normalize")]);
    let pooling = json!({ "word_embedding_dimension": sizes.hidden, "pooling_mode_mean_tokens": true });
    let prompts = json!({ "prompts": { "query": "query: ", "passage": "passage: " } });
    let files = [
        ("config.json", config),
        ("tokenizer.json", tokenizer(&packed.pieces)?),
        ("modules.json", modules),
        ("1_Pooling/config.json", pooling),
        ("sentence_bert_config.json", json!({ "max_seq_length": MAX_TOKENS })),
        ("config_sentence_transformers.json", prompts),
    ];
    let [a, b, c, d, e, f] = files.map(|(path, json)| Ok::<_, BoxError>((path, serde_json::to_vec(&json)?)));
    Ok([a?, b?, c?, d?, e?, f?])
}

/// Writes the files that are not there, or differ.
pub(super) fn write(directory: &Path, files: &[(&str, Vec<u8>)]) -> Result<(), ModelError> {
    for (name, content) in files {
        let path = directory.join(name);
        let failed = |source| ModelError::Disk { path: path.clone(), source };
        if if_there(files::read_text(&path)).map_err(failed)?.as_ref() == Some(content) {
            continue;
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        files::replace(&path, content).map_err(failed)?;
    }
    Ok(())
}

/// The `tokenizer.json`, with the steps of XLM-R: SentencePiece's map of characters, then blanks become marks of words.
fn tokenizer(pieces: &Pieces<'_>) -> Result<Value, BoxError> {
    let piece = |id: usize| pieces.pieces.get(id).map(|(piece, _)| *piece).ok_or("a special token is not a piece");
    let (begin, end) = (piece(pieces.begin)?, piece(pieces.end)?);
    let mut special = vec![pieces.begin, pieces.end, pieces.pad, pieces.unknown];
    special.extend(pieces.pieces.iter().position(|(piece, _)| *piece == "<mask>"));
    special.sort_unstable();
    let added = special.iter().map(|id| {
        let flags = ["single_word", "lstrip", "rstrip", "normalized"].map(|flag| (flag.to_owned(), json!(false)));
        let mut token = json!({ "id": id, "content": piece(*id)?, "special": true });
        token.as_object_mut().ok_or("not an object")?.extend(flags);
        Ok(token)
    });
    let added = added.collect::<Result<Vec<Value>, BoxError>>()?;
    let token = |token: &str| json!({ "SpecialToken": { "id": token, "type_id": 0 } });
    let named = |token: &str, id: usize| json!({ "id": token, "ids": [id], "tokens": [token] });
    let text = |name: &str| json!({ "Sequence": { "id": name, "type_id": 0 } });
    let blanks = json!({ "type": "Metaspace", "replacement": BLANK, "prepend_scheme": "always", "split": true });
    let map = STANDARD.encode(charsmap(&pieces.characters)?);
    Ok(json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added,
        "normalizer": { "type": "Sequence", "normalizers": [
            { "type": "Precompiled", "precompiled_charsmap": map },
            { "type": "Replace", "pattern": { "Regex": " {2,}" }, "content": " " },
        ] },
        "pre_tokenizer": blanks,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [token(begin), text("A"), token(end)],
            "pair": [token(begin), text("A"), token(end), token(end), text("B"), token(end)],
            "special_tokens": { begin: named(begin, pieces.begin), end: named(end, pieces.end) },
        },
        "decoder": blanks,
        "model": { "type": "Unigram", "unk_id": pieces.unknown, "vocab": pieces.pieces, "byte_fallback": false },
    }))
}
