//! Which models of Bedrock are known, and how they are named.

use std::{fmt, str::FromStr};

use memory_core::ModelId;

use crate::remote::Limits;

/// What the name of a model in Bedrock begins with.
const PREFIX: &str = "bedrock:";

/// A kind of embedding model, with its own way of asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BedrockFamily {
    /// Titan Text Embeddings G1.
    TitanV1,
    /// Titan Text Embeddings V2.
    TitanV2,
    /// Cohere Embed 3, English or multilingual.
    CohereV3,
    /// Amazon Nova Multimodal Embeddings, of which text is used.
    Nova,
}

/// A model of Bedrock and the length of its vectors.
///
/// Its name is `bedrock:` and the service's identifier, with `?dimensions=` where there is a choice:
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

/// Why a text names no model of Bedrock.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidBedrockModel {
    /// No such model is known here.
    #[error("{name} is no embedding model of Bedrock that is known here: these are {}", known())]
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// The model does not give vectors of that length.
    #[error("{name} gives vectors of {}, not of {asked} dimensions", list(.possible))]
    Dimensions {
        /// The model.
        name: &'static str,
        /// What was asked for.
        asked: String,
        /// What it gives.
        possible: &'static [usize],
    },
    /// Something else than dimensions is set.
    #[error("{option} cannot be set for a model of Bedrock: only dimensions can, as in `?dimensions=512`")]
    Option {
        /// What was to be set.
        option: String,
    },
}

struct Known {
    id: &'static str,
    family: BedrockFamily,
    /// The default first.
    dimensions: &'static [usize],
}

const KNOWN: &[Known] = &[
    Known { id: "amazon.titan-embed-text-v1", family: BedrockFamily::TitanV1, dimensions: &[1536] },
    Known { id: "amazon.titan-embed-text-v2:0", family: BedrockFamily::TitanV2, dimensions: &[1024, 512, 256] },
    Known { id: "cohere.embed-english-v3", family: BedrockFamily::CohereV3, dimensions: &[1024] },
    Known { id: "cohere.embed-multilingual-v3", family: BedrockFamily::CohereV3, dimensions: &[1024] },
    Known {
        id: "amazon.nova-2-multimodal-embeddings-v1:0",
        family: BedrockFamily::Nova,
        dimensions: &[1024, 3072, 384, 256],
    },
];

impl BedrockModel {
    /// The model with identifier `id` and vectors of `dimensions`, or of its default.
    ///
    /// # Errors
    /// [`InvalidBedrockModel`], if there is no such model, or it gives no such vectors.
    pub fn new(id: &str, dimensions: Option<usize>) -> Result<Self, InvalidBedrockModel> {
        let known = KNOWN.iter().find(|known| known.id == id);
        let known = known.ok_or_else(|| InvalidBedrockModel::Unknown { name: id.to_owned() })?;
        known.with(dimensions, || dimensions.unwrap_or_default().to_string())
    }

    /// Whether `name` is meant for Bedrock: it begins with `bedrock:`.
    #[must_use]
    pub fn is_meant_by(name: &str) -> bool {
        name.starts_with(PREFIX)
    }

    /// The service's identifier.
    #[must_use]
    pub const fn id(&self) -> &'static str {
        self.id
    }

    /// Its kind.
    #[must_use]
    pub const fn family(&self) -> BedrockFamily {
        self.family
    }

    /// Components of its vectors.
    #[must_use]
    pub const fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// The name that vectors are kept under; it says the dimensions in any case.
    #[must_use]
    pub fn model_id(&self) -> ModelId {
        ModelId::new(&self.to_string())
    }

    /// What it takes, as its documentation says.
    pub(crate) const fn limits(&self) -> Limits {
        match self.family {
            BedrockFamily::TitanV1 | BedrockFamily::TitanV2 | BedrockFamily::Nova => {
                Limits { tokens: 8000, texts: 1, call_tokens: 8000 }
            }
            // 512 tokens, some of them its own, and 2,048 characters: at most 4 of them are a token here.
            BedrockFamily::CohereV3 => Limits { tokens: 500, texts: 96, call_tokens: 96 * 500 },
        }
    }
}

impl Known {
    fn with(
        &self,
        dimensions: Option<usize>,
        asked: impl FnOnce() -> String,
    ) -> Result<BedrockModel, InvalidBedrockModel> {
        let &Self { id, family, dimensions: possible } = self;
        let chosen = match dimensions {
            Some(asked) => possible.contains(&asked).then_some(asked),
            None => possible.first().copied(),
        };
        match chosen {
            Some(dimensions) => Ok(BedrockModel { id, family, dimensions }),
            None => Err(InvalidBedrockModel::Dimensions { name: id, asked: asked(), possible }),
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
                // What stands behind the name of an option may be a key.
                _ => {
                    let option = option.split('=').next().unwrap_or_default();
                    return Err(InvalidBedrockModel::Option { option: option.to_owned() });
                }
            }
        }
        let known = KNOWN.iter().find(|known| known.id == id);
        let known = known.ok_or_else(|| InvalidBedrockModel::Unknown { name: id.to_owned() })?;
        let dimensions = asked.map(|asked| asked.parse().unwrap_or(0));
        known.with(dimensions, || asked.unwrap_or_default().to_owned())
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
    fn what_is_refused_says_what_there_is() {
        let error = parse("bedrock:amazon.titan-embed-text-v3").unwrap_err().to_string();
        assert!(error.contains("titan-embed-text-v3 is no") && error.contains("cohere.embed-english-v3"), "{error}");
        let error = parse("bedrock:amazon.titan-embed-text-v2:0?dimensions=384").unwrap_err().to_string();
        assert!(error.contains("1024, 512, 256, not of 384"), "{error}");
        let error = parse("bedrock:cohere.embed-english-v3?dimensions=many").unwrap_err().to_string();
        assert!(error.contains("1024, not of many"), "{error}");
        let error = parse("bedrock:cohere.embed-english-v3?region=x").unwrap_err().to_string();
        assert!(error.contains("region cannot be set"), "{error}");
    }
}
