//! The architecture of an encoder, from its `config.json`.

use std::path::Path;

use serde::Deserialize;

use super::ConvertError;

/// The supported families of encoders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// Devlin et al. (2018); MiniLM belongs to it.
    Bert,
    /// Song et al. (2020): a bias on attention by distance, no token types, positions from 2.
    Mpnet,
}

/// An encoder's dimensions.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Architecture {
    pub(super) family: Family,
    pub(super) vocabulary: usize,
    pub(super) hidden: usize,
    pub(super) intermediate: usize,
    pub(super) layers: usize,
    pub(super) heads: usize,
    /// Rows of the position table.
    pub(super) positions: usize,
    pub(super) token_types: usize,
    pub(super) epsilon: f32,
    /// Buckets of the distance bias of [`Family::Mpnet`].
    pub(super) buckets: usize,
}

#[derive(Deserialize)]
struct EncoderConfig {
    #[serde(default)]
    architectures: Option<Vec<String>>,
    model_type: String,
    vocab_size: usize,
    hidden_size: usize,
    intermediate_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    max_position_embeddings: usize,
    #[serde(default)]
    type_vocab_size: usize,
    layer_norm_eps: f32,
    hidden_act: String,
    #[serde(default = "absolute")]
    position_embedding_type: String,
    #[serde(default = "buckets")]
    relative_attention_num_buckets: usize,
}

fn absolute() -> String {
    "absolute".to_owned()
}

const fn buckets() -> usize {
    32
}

/// Name suffixes of architectures in `transformers` whose weights were trained for a task head.
const HEADS: [&str; 5] = [
    "ForSequenceClassification",
    "ForTokenClassification",
    "ForQuestionAnswering",
    "ForMultipleChoice",
    "ForNextSentencePrediction",
];

/// The first architecture, if all of them have a task head.
pub(crate) fn task_head(architectures: &[String]) -> Option<&String> {
    let has_head = |name: &&String| HEADS.iter().any(|head| name.ends_with(head));
    architectures.first().filter(|_| architectures.iter().all(|name| has_head(&name)))
}

impl Architecture {
    /// Parses `json`, the content of the file at `path`.
    pub(super) fn read(path: &Path, json: &[u8]) -> Result<Self, ConvertError> {
        let config: EncoderConfig = serde_json::from_slice(json)
            .map_err(|error| ConvertError::Config { path: path.to_path_buf(), source: error.into() })?;
        let unsupported = |what: String| ConvertError::Unsupported { path: path.to_path_buf(), what };
        let family = match config.model_type.as_str() {
            "bert" => Family::Bert,
            "mpnet" => Family::Mpnet,
            other => return Err(unsupported(format!("models of type {other} are not supported, only bert and mpnet"))),
        };
        // The converter drops a head, and the rest is not a sentence encoder.
        if let Some(classifier) = task_head(config.architectures.as_deref().unwrap_or_default()) {
            let what = format!("a {classifier} scores texts or words and is not an encoder");
            return Err(unsupported(what));
        }
        if config.hidden_act != "gelu" {
            return Err(unsupported(format!("the activation {} is not supported, only gelu", config.hidden_act)));
        }
        if config.position_embedding_type != "absolute" {
            let what = format!("positions of type {} are not supported", config.position_embedding_type);
            return Err(unsupported(what));
        }
        let even = config.num_attention_heads > 0 && config.hidden_size.is_multiple_of(config.num_attention_heads);
        let positive = config.hidden_size > 0
            && config.vocab_size > 0
            && config.max_position_embeddings > 2
            && config.layer_norm_eps > 0.0
            && config.relative_attention_num_buckets >= 4
            && (family == Family::Mpnet || config.type_vocab_size > 0);
        if !even || !positive {
            return Err(unsupported("its dimensions are not valid for an encoder".to_owned()));
        }
        Ok(Self {
            family,
            vocabulary: config.vocab_size,
            hidden: config.hidden_size,
            intermediate: config.intermediate_size,
            layers: config.num_hidden_layers,
            heads: config.num_attention_heads,
            positions: config.max_position_embeddings,
            token_types: if family == Family::Bert { config.type_vocab_size } else { 0 },
            epsilon: config.layer_norm_eps,
            buckets: config.relative_attention_num_buckets,
        })
    }

    /// The row of the position table for the first token.
    pub(super) fn first_position(&self) -> usize {
        match self.family {
            Family::Bert => 0,
            Family::Mpnet => 2,
        }
    }

    /// Tokens of an input, at most.
    pub(super) fn max_tokens(&self) -> usize {
        self.positions - self.first_position()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINILM: &str = r#"{"model_type": "bert", "vocab_size": 30522, "hidden_size": 384, "intermediate_size": 1536,
        "num_hidden_layers": 6, "num_attention_heads": 12, "max_position_embeddings": 512, "type_vocab_size": 2,
        "layer_norm_eps": 1e-12, "hidden_act": "gelu"}"#;

    fn read(json: &str) -> Result<Architecture, ConvertError> {
        Architecture::read(Path::new("config.json"), json.as_bytes())
    }

    #[test]
    fn minilm_is_read() {
        for none in ["null", "[]", "[\"BertModel\"]", "[\"BertForMaskedLM\"]", "[\"A\", \"AForTokenClassification\"]"] {
            read(&MINILM.replace("\"gelu\"", &format!("\"gelu\", \"architectures\": {none}"))).unwrap();
        }
        let minilm = read(MINILM).unwrap();
        assert_eq!((minilm.family, minilm.heads, minilm.max_tokens()), (Family::Bert, 12, 512));
    }

    #[test]
    fn other_kinds_are_refused_with_what_they_are() {
        for (from, to) in [
            ("\"bert\"", "\"t5\""),
            ("\"bert\"", "\"bert\", \"architectures\": [\"BertForSequenceClassification\"]"),
            ("\"bert\"", "\"bert\", \"architectures\": [\"BertForTokenClassification\"]"),
            ("\"gelu\"", "\"swish\""),
            ("\"layer_norm_eps\"", "\"position_embedding_type\": \"relative_key\", \"layer_norm_eps\""),
            ("\"num_attention_heads\": 12", "\"num_attention_heads\": 7"),
            ("\"num_attention_heads\": 12", "\"num_attention_heads\": 0"),
        ] {
            let error = read(&MINILM.replace(from, to)).unwrap_err();
            assert!(matches!(error, ConvertError::Unsupported { .. }), "{to}: {error}");
        }
        assert!(matches!(read("[]"), Err(ConvertError::Config { .. })));
    }
}
