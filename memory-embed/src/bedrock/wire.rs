//! Bodies of requests and responses of each model family.

use serde::{Deserialize, Serialize};

use super::{BedrockFamily, BedrockModel};
use crate::{
    excerpt::decode_error,
    remote::{Purpose, RemoteError},
};

/// A request, as documented under "Inference request parameters" in the Amazon Bedrock and Amazon Nova user guides.
/// Every family is asked not to truncate, so that a text that is too long is an error.
#[derive(Serialize)]
#[serde(untagged)]
enum Request<'a> {
    TitanV1 {
        #[serde(rename = "inputText")]
        text: &'a str,
    },
    TitanV2 {
        #[serde(rename = "inputText")]
        text: &'a str,
        dimensions: usize,
        normalize: bool,
    },
    Cohere {
        input_type: &'static str,
        texts: &'a [String],
        truncate: &'static str,
    },
    #[serde(rename_all = "camelCase")]
    Nova {
        schema_version: &'static str,
        task_type: &'static str,
        single_embedding_params: NovaParameters<'a>,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NovaParameters<'a> {
    embedding_purpose: &'static str,
    embedding_dimension: usize,
    text: NovaText<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NovaText<'a> {
    truncation_mode: &'static str,
    value: &'a str,
}

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

/// Request body for the vectors of `texts`. A family that takes one text gets the first.
pub(super) fn request(model: &BedrockModel, texts: &[String], purpose: Purpose) -> Result<Vec<u8>, RemoteError> {
    let text = texts.first().map(String::as_str).unwrap_or_default();
    let by = |document, query| match purpose {
        Purpose::Document => document,
        Purpose::Query => query,
    };
    let request = match model.family() {
        BedrockFamily::TitanV1 => Request::TitanV1 { text },
        BedrockFamily::TitanV2 => Request::TitanV2 { text, dimensions: model.dimensions(), normalize: true },
        BedrockFamily::CohereV3 => {
            Request::Cohere { input_type: by("search_document", "search_query"), texts, truncate: "NONE" }
        }
        BedrockFamily::Nova => Request::Nova {
            schema_version: "nova-multimodal-embed-v1",
            task_type: "SINGLE_EMBEDDING",
            single_embedding_params: NovaParameters {
                embedding_purpose: by("GENERIC_INDEX", "TEXT_RETRIEVAL"),
                embedding_dimension: model.dimensions(),
                text: NovaText { truncation_mode: "NONE", value: text },
            },
        },
    };
    serde_json::to_vec(&request).map_err(|error| RemoteError::Refused { detail: error.to_string() })
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
