//! Remote embedders, by their names.

use std::sync::Arc;

use memory_core::port::Embedder;

use crate::Config;

/// The environment variable with the address of an OpenAI-style endpoint.
#[cfg(feature = "openai")]
const BASE_VARIABLE: &str = "OPENAI_BASE_URL";

/// Reasons why a remote embedder cannot be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteModelError {
    /// This program was built without that kind of model.
    #[error("this build has no models of the kind of {name}: build it with the feature `{feature}`")]
    NotBuilt {
        /// Requested name.
        name: String,
        /// The feature, of `memory-cli` or of `memory`.
        feature: &'static str,
    },
    /// Bedrock has no such model.
    #[cfg(feature = "bedrock")]
    #[error(transparent)]
    Bedrock(#[from] memory_embed::InvalidBedrockModel),
    /// An endpoint cannot have such a model.
    #[cfg(feature = "openai")]
    #[error(transparent)]
    OpenAi(#[from] memory_embed::InvalidOpenAiModel),
    /// The settings are invalid.
    #[cfg(any(feature = "bedrock", feature = "openai"))]
    #[error(transparent)]
    Setup(#[from] memory_embed::RemoteError),
}

impl RemoteModelError {
    /// True if the name is that of no embedding model, and the settings are not at fault.
    #[must_use]
    pub const fn is_no_such_model(&self) -> bool {
        match self {
            #[cfg(feature = "bedrock")]
            Self::Bedrock(_) => true,
            #[cfg(feature = "openai")]
            Self::OpenAi(_) => true,
            #[cfg(any(feature = "bedrock", feature = "openai"))]
            Self::Setup(_) => false,
            Self::NotBuilt { .. } => false,
        }
    }
}

/// True if the model called `name` is remote.
#[must_use]
pub fn is_remote(name: &str) -> bool {
    matches!(name.split_once(':'), Some(("bedrock" | "openai", _)))
}

/// The embedder that `name` names, if it begins with `bedrock:` or `openai:`. The network is first used at embedding.
///
/// # Errors
/// [`RemoteModelError`], if there is no such model, or the settings are invalid.
pub(crate) fn load(name: &str, config: &Config) -> Result<Option<Arc<dyn Embedder>>, RemoteModelError> {
    match name.split_once(':') {
        Some(("bedrock", _)) => bedrock(name, config).map(Some),
        Some(("openai", _)) => openai(name, config).map(Some),
        _ => Ok(None),
    }
}

#[cfg(feature = "bedrock")]
fn bedrock(name: &str, config: &Config) -> Result<Arc<dyn Embedder>, RemoteModelError> {
    use memory_embed::{BedrockEmbedder, BedrockOptions};

    let mut options = BedrockOptions::default().plain_http(config.plain_http);
    if let Some(region) = &config.region {
        options = options.region(region);
    }
    Ok(Arc::new(BedrockEmbedder::new(name.parse()?, options)?))
}

#[cfg(not(feature = "bedrock"))]
fn bedrock(name: &str, _config: &Config) -> Result<Arc<dyn Embedder>, RemoteModelError> {
    Err(RemoteModelError::NotBuilt { name: name.to_owned(), feature: "bedrock" })
}

#[cfg(feature = "openai")]
fn openai(name: &str, config: &Config) -> Result<Arc<dyn Embedder>, RemoteModelError> {
    use memory_embed::{OpenAiEmbedder, OpenAiOptions};

    let mut options = OpenAiOptions::default().plain_http(config.plain_http);
    if let Some(base) = std::env::var(BASE_VARIABLE).ok().filter(|base| !base.is_empty()) {
        options = options.base(base);
    }
    Ok(Arc::new(OpenAiEmbedder::new(name.parse()?, options)?))
}

#[cfg(not(feature = "openai"))]
fn openai(name: &str, _config: &Config) -> Result<Arc<dyn Embedder>, RemoteModelError> {
    Err(RemoteModelError::NotBuilt { name: name.to_owned(), feature: "openai" })
}

#[cfg(all(test, feature = "bedrock", feature = "openai"))]
mod tests {
    use super::*;
    use crate::Access;

    fn config() -> Config {
        Config::new("none", Access::Read)
    }

    #[test]
    fn a_name_gives_the_embedder_without_asking_anybody() {
        for (name, dimensions) in [
            ("bedrock:amazon.titan-embed-text-v2:0?dimensions=512", 512),
            ("bedrock:cohere.embed-english-v3", 1024),
            ("openai:text-embedding-3-small", 1536),
        ] {
            let embedder =
                load(name, &Config { region: Some("eu-central-1".to_owned()), ..config() }).unwrap().unwrap();
            assert_eq!(embedder.dimensions(), dimensions);
            assert!(embedder.model().as_str().starts_with(name) && is_remote(name));
        }
    }

    #[test]
    fn another_name_is_none_of_these() {
        for name in ["all-MiniLM-L6-v2/int8", "/models/bedrock", "C:\\models"] {
            assert!(load(name, &config()).unwrap().is_none() && !is_remote(name), "{name}");
        }
    }

    #[test]
    fn a_model_that_is_none_is_refused_with_what_to_write() {
        let refusal = |name: &str| load(name, &config()).unwrap_err().to_string();
        assert!(refusal("bedrock:amazon.titan-embed-text-v9").contains("amazon.titan-embed-text-v2:0"));
        assert!(refusal("openai:nomic-embed-text").contains("?dimensions="));
    }
}
