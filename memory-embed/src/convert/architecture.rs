//! The architecture of an encoder, from its `config.json`.

use std::path::Path;

use serde::Deserialize;

use crate::ModelError;

/// The supported families of encoders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Family {
    /// Devlin et al. (2018); MiniLM belongs to it.
    #[default]
    Bert,
    /// Conneau et al. (2020): BERT with positions from 2 and one token type.
    XlmRoberta,
    /// Song et al. (2020): a bias on attention by distance, no token types, positions from 2.
    Mpnet,
}

/// An encoder's dimensions, and other members of its configuration.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Architecture {
    #[serde(skip)]
    pub(super) family: Family,
    #[serde(default)]
    architectures: Option<Vec<String>>,
    model_type: String,
    #[serde(rename = "vocab_size")]
    pub(super) vocabulary: usize,
    #[serde(rename = "hidden_size")]
    pub(super) hidden: usize,
    #[serde(rename = "intermediate_size")]
    pub(super) intermediate: usize,
    #[serde(rename = "num_hidden_layers")]
    pub(super) layers: usize,
    #[serde(rename = "num_attention_heads")]
    pub(super) heads: usize,
    /// Rows of the position table.
    #[serde(rename = "max_position_embeddings")]
    pub(super) positions: usize,
    /// Token types that are an input of the graph.
    #[serde(default, rename = "type_vocab_size")]
    pub(super) token_types: usize,
    #[serde(rename = "layer_norm_eps")]
    pub(super) epsilon: f32,
    hidden_act: String,
    #[serde(default = "absolute")]
    position_embedding_type: String,
    /// Buckets of the distance bias of [`Family::Mpnet`].
    #[serde(default = "buckets", rename = "relative_attention_num_buckets")]
    pub(super) buckets: usize,
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
    pub(super) fn read(path: &Path, json: &[u8]) -> Result<Self, ModelError> {
        let mut config: Self = serde_json::from_slice(json)
            .map_err(|error| ModelError::InvalidConfig { path: path.to_path_buf(), source: error.into() })?;
        let unsupported = |what: String| ModelError::Unsupported { path: path.to_path_buf(), what };
        config.family = match config.model_type.as_str() {
            "bert" => Family::Bert,
            "mpnet" => Family::Mpnet,
            "xlm-roberta" => Family::XlmRoberta,
            other => {
                let known = "only bert, mpnet and xlm-roberta";
                return Err(unsupported(format!("models of type {other} are not supported, {known}")));
            }
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
        let even = config.heads > 0 && config.hidden.is_multiple_of(config.heads);
        let positive = config.hidden > 0
            && config.vocabulary > 0
            && config.positions > 2
            && config.epsilon > 0.0
            && config.buckets >= 4
            && (config.family != Family::Bert || config.token_types > 0);
        if !even || !positive {
            return Err(unsupported("its dimensions are not valid for an encoder".to_owned()));
        }
        if config.family != Family::Bert {
            config.token_types = 0;
        }
        Ok(config)
    }

    /// The row of the position table for the first token.
    pub(super) fn first_position(&self) -> usize {
        match self.family {
            Family::Bert => 0,
            Family::Mpnet | Family::XlmRoberta => 2,
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

    fn read(json: &str) -> Result<Architecture, ModelError> {
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
            assert!(matches!(error, ModelError::Unsupported { .. }), "{to}: {error}");
        }
        assert!(matches!(read("[]"), Err(ModelError::InvalidConfig { .. })));
    }
}
