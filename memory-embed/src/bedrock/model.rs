//! The known Bedrock models and their names.

use std::{fmt, str::FromStr};

use memory_core::ModelId;

use crate::remote::Limits;

/// Prefix of the name of a Bedrock model.
const PREFIX: &str = "bedrock:";

/// A family of embedding models with one request format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BedrockFamily {
    /// Titan Text Embeddings G1.
    TitanV1,
    /// Titan Text Embeddings V2.
    TitanV2,
    /// Cohere Embed 3, English or multilingual.
    CohereV3,
    /// Amazon Nova Multimodal Embeddings, used for text only.
    Nova,
}

/// A Bedrock model and the dimensions of its vectors.
///
/// The name is `bedrock:` and the service's identifier, with `?dimensions=` if there is a choice:
///
/// | name | dimensions, the default first |
/// |---|---|
/// | `bedrock:amazon.titan-embed-text-v1` | 1536 |
/// | `bedrock:amazon.titan-embed-text-v2:0` | 1024, 512, 256 |
/// | `bedrock:cohere.embed-english-v3` | 1024 |
/// | `bedrock:cohere.embed-multilingual-v3` | 1024 |
/// | `bedrock:amazon.nova-2-multimodal-embeddings-v1:0` | 1024, 3072, 384, 256 |
///
/// ```
/// use memory_embed::BedrockModel;
///
/// let model: BedrockModel = "bedrock:amazon.titan-embed-text-v2:0?dimensions=512".parse()?;
/// assert_eq!((model.id(), model.dimensions()), ("amazon.titan-embed-text-v2:0", 512));
/// # Ok::<(), memory_embed::InvalidBedrockModel>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BedrockModel {
    id: &'static str,
    family: BedrockFamily,
    dimensions: usize,
}

/// Why a text does not name a Bedrock model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidBedrockModel {
    /// The model is not known.
    #[error("{name} is not a known Bedrock embedding model; known are {}", known())]
    Unknown {
        /// The requested model.
        name: String,
    },
    /// The model has no vectors of these dimensions.
    #[error("{name} gives vectors of {}, not of {asked} dimensions", list(.possible))]
    Dimensions {
        /// The model.
        name: &'static str,
        /// The requested dimensions.
        asked: String,
        /// The dimensions that the model offers.
        possible: &'static [usize],
    },
    /// An option other than dimensions is set.
    #[error("{option} cannot be set for a Bedrock model: only dimensions can, as in `?dimensions=512`")]
    Option {
        /// The name of the option.
        option: String,
    },
}

struct KnownModel {
    id: &'static str,
    family: BedrockFamily,
    /// The default first.
    dimensions: &'static [usize],
}

const KNOWN: &[KnownModel] = &[
    KnownModel { id: "amazon.titan-embed-text-v1", family: BedrockFamily::TitanV1, dimensions: &[1536] },
    KnownModel { id: "amazon.titan-embed-text-v2:0", family: BedrockFamily::TitanV2, dimensions: &[1024, 512, 256] },
    KnownModel { id: "cohere.embed-english-v3", family: BedrockFamily::CohereV3, dimensions: &[1024] },
    KnownModel { id: "cohere.embed-multilingual-v3", family: BedrockFamily::CohereV3, dimensions: &[1024] },
    KnownModel {
        id: "amazon.nova-2-multimodal-embeddings-v1:0",
        family: BedrockFamily::Nova,
        dimensions: &[1024, 3072, 384, 256],
    },
];

impl BedrockModel {
    /// The model with identifier `id` and vectors of `dimensions`, or of its default number.
    ///
    /// # Errors
    /// [`InvalidBedrockModel`] if the model is unknown or has no vectors of these dimensions.
    pub fn new(id: &str, dimensions: Option<usize>) -> Result<Self, InvalidBedrockModel> {
        Self::known(id, dimensions.map(|dimensions| dimensions.to_string()).as_deref())
    }

    fn known(id: &str, asked: Option<&str>) -> Result<Self, InvalidBedrockModel> {
        let known = KNOWN.iter().find(|known| known.id == id);
        let unknown = || InvalidBedrockModel::Unknown { name: id.to_owned() };
        let &KnownModel { id, family, dimensions: possible } = known.ok_or_else(unknown)?;
        let chosen = match asked {
            Some(asked) => asked.parse().ok().filter(|asked| possible.contains(asked)),
            None => possible.first().copied(),
        };
        let asked = || asked.unwrap_or_default().to_owned();
        let refused = || InvalidBedrockModel::Dimensions { name: id, asked: asked(), possible };
        Ok(Self { id, family, dimensions: chosen.ok_or_else(refused)? })
    }

    /// Identifier of the service.
    #[must_use]
    pub const fn id(&self) -> &'static str {
        self.id
    }

    /// Its family.
    #[must_use]
    pub const fn family(&self) -> BedrockFamily {
        self.family
    }

    /// Components of each vector.
    #[must_use]
    pub const fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Id under which vectors are stored; always states the dimensions.
    #[must_use]
    pub fn model_id(&self) -> ModelId {
        ModelId::new(&self.to_string())
    }

    /// Limits according to the model's documentation.
    pub(crate) const fn limits(&self) -> Limits {
        match self.family {
            BedrockFamily::TitanV1 | BedrockFamily::TitanV2 | BedrockFamily::Nova => {
                Limits { tokens: 8000, texts: 1, call_tokens: 8000 }
            }
            // The model reads 512 tokens, including special tokens, and 2,048 characters; an estimated token has at
            // most 4 characters.
            BedrockFamily::CohereV3 => Limits { tokens: 500, texts: 96, call_tokens: 96 * 500 },
        }
    }
}

impl fmt::Display for BedrockModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}?dimensions={}", self.id, self.dimensions)
    }
}

impl FromStr for BedrockModel {
    type Err = InvalidBedrockModel;

    /// With or without `bedrock:` before it.
    fn from_str(name: &str) -> Result<Self, InvalidBedrockModel> {
        let name = name.strip_prefix(PREFIX).unwrap_or(name);
        let (id, options) = name.split_once('?').unwrap_or((name, ""));
        let mut asked = None;
        for option in options.split('&').filter(|option| !option.is_empty()) {
            match option.split_once('=') {
                Some(("dimensions", value)) => asked = Some(value),
                // The value of an unknown option may be a key.
                _ => {
                    let option = option.split('=').next().unwrap_or_default();
                    return Err(InvalidBedrockModel::Option { option: option.to_owned() });
                }
            }
        }
        Self::known(id, asked)
    }
}

fn known() -> String {
    KNOWN.iter().map(|known| known.id).collect::<Vec<_>>().join(", ")
}

fn list(dimensions: &[usize]) -> String {
    dimensions.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str) -> Result<BedrockModel, InvalidBedrockModel> {
        name.parse()
    }

    #[test]
    fn each_model_has_its_dimensions() {
        for (name, dimensions) in [
            ("bedrock:amazon.titan-embed-text-v1", 1536),
            ("bedrock:amazon.titan-embed-text-v2:0", 1024),
            ("amazon.titan-embed-text-v2:0?dimensions=256", 256),
            ("bedrock:cohere.embed-english-v3", 1024),
            ("bedrock:amazon.nova-2-multimodal-embeddings-v1:0?dimensions=3072", 3072),
        ] {
            assert_eq!(parse(name).unwrap().dimensions(), dimensions, "{name}");
        }
    }

    #[test]
    fn the_name_of_its_vectors_is_a_name_of_the_model() {
        let model = parse("bedrock:amazon.titan-embed-text-v2:0").unwrap();
        assert_eq!(model.model_id().as_str(), "bedrock:amazon.titan-embed-text-v2:0?dimensions=1024");
        assert_eq!(parse(model.model_id().as_str()).unwrap(), model);
    }

    #[test]
    fn a_refusal_lists_the_alternatives() {
        let error = parse("bedrock:amazon.titan-embed-text-v3").unwrap_err().to_string();
        assert!(
            error.contains("titan-embed-text-v3 is not a known") && error.contains("cohere.embed-english-v3"),
            "{error}"
        );
        let error = parse("bedrock:amazon.titan-embed-text-v2:0?dimensions=384").unwrap_err().to_string();
        assert!(error.contains("1024, 512, 256, not of 384"), "{error}");
        let error = parse("bedrock:cohere.embed-english-v3?dimensions=many").unwrap_err().to_string();
        assert!(error.contains("1024, not of many"), "{error}");
        let error = parse("bedrock:cohere.embed-english-v3?region=x").unwrap_err().to_string();
        assert!(error.contains("region cannot be set"), "{error}");
    }
}
