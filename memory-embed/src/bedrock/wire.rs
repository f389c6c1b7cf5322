//! Bodies of requests and responses of each model family.

use memory_remote::decode_error;
use serde::Deserialize;
use serde_json::json;

use super::{BedrockFamily, BedrockModel};
use crate::remote::{Purpose, RemoteError};

#[derive(Deserialize)]
struct TitanResponse {
    embedding: Vec<f32>,
}

#[derive(Deserialize)]
struct CohereResponse {
    embeddings: Vec<Vec<f32>>,
}

#[derive(Deserialize)]
struct NovaResponse {
    embeddings: Vec<TitanResponse>,
}

/// Request body for the vectors of `texts`, as documented under "Inference request parameters" in the Amazon Bedrock
/// and Amazon Nova user guides. A family that takes one text gets the first. Every family is asked not to truncate, so
/// that a text that is too long is an error.
pub(super) fn request(model: &BedrockModel, texts: &[String], purpose: Purpose) -> Vec<u8> {
    let text = texts.first().map(String::as_str).unwrap_or_default();
    let by = |document, query| match purpose {
        Purpose::Document => document,
        Purpose::Query => query,
    };
    let request = match model.family() {
        BedrockFamily::TitanV1 => json!({"inputText": text}),
        BedrockFamily::TitanV2 => json!({"inputText": text, "dimensions": model.dimensions(), "normalize": true}),
        BedrockFamily::CohereV3 => {
            json!({"input_type": by("search_document", "search_query"), "texts": texts, "truncate": "NONE"})
        }
        BedrockFamily::Nova => json!({
            "schemaVersion": "nova-multimodal-embed-v1",
            "taskType": "SINGLE_EMBEDDING",
            "singleEmbeddingParams": {
                "embeddingPurpose": by("GENERIC_INDEX", "TEXT_RETRIEVAL"),
                "embeddingDimension": model.dimensions(),
                "text": {"truncationMode": "NONE", "value": text},
            },
        }),
    };
    request.to_string().into_bytes()
}

pub(super) fn vectors(family: BedrockFamily, body: &[u8]) -> Result<Vec<Vec<f32>>, RemoteError> {
    let vectors = match family {
        BedrockFamily::TitanV1 | BedrockFamily::TitanV2 => {
            serde_json::from_slice(body).map(|TitanResponse { embedding }| vec![embedding])
        }
        BedrockFamily::CohereV3 => serde_json::from_slice(body).map(|CohereResponse { embeddings }| embeddings),
        BedrockFamily::Nova => serde_json::from_slice(body)
            .map(|NovaResponse { embeddings }| embeddings.into_iter().map(|one| one.embedding).collect()),
    };
    vectors.map_err(|error| RemoteError::Malformed { what: decode_error(&error, body) })
}
