//! Names of models behind an OpenAI-compatible endpoint.

use std::{fmt, str::FromStr};

use memory_core::ModelId;

/// Prefix of the name of such a model.
const PREFIX: &str = "openai:";

/// Maximum dimensions of a model.
const MAX_DIMENSIONS: usize = 65_536;

/// Tokens of a chunk for OpenAI's models, whose limit is 8,191.
const TOKENS: usize = 8000;

/// Plausible limits of tokens of a model.
const PLAUSIBLE_TOKENS: std::ops::RangeInclusive<usize> = 32..=1_000_000;

/// Maximum special tokens that a server adds to a text.
const SPECIAL_TOKENS: usize = 4;

/// Known models, with default dimensions, and true if fewer can be requested.
const KNOWN: &[(&str, usize, bool)] = &[
    ("text-embedding-3-small", 1536, true),
    ("text-embedding-3-large", 3072, true),
    ("text-embedding-ada-002", 1536, false),
];

/// A model behind an OpenAI-compatible endpoint and the dimensions of its vectors.
///
/// The name is `openai:` and the endpoint's name for the model, with `?dimensions=`. `text-embedding-3-small` (1536)
/// and `text-embedding-3-large` (3072) return fewer on request; `text-embedding-ada-002` returns 1536. The dimensions
/// of any other model must be stated. `tokens=` states the model's limit of tokens, which is needed if it is lower than
/// [`RemoteOptions::chunk_tokens`](crate::RemoteOptions::chunk_tokens), especially if the server truncates silently.
///
/// ```
/// use memory_embed::OpenAiModel;
///
/// let model: OpenAiModel = "openai:text-embedding-3-small".parse()?;
/// assert_eq!((model.name(), model.dimensions()), ("text-embedding-3-small", 1536));
/// let local: OpenAiModel = "openai:nomic-embed-text?dimensions=768".parse()?;
/// assert_eq!(local.dimensions(), 768);
/// let short: OpenAiModel = "openai:all-minilm?dimensions=384&tokens=256".parse()?;
/// assert_eq!(short.tokens(), Some(256));
/// # Ok::<(), memory_embed::InvalidOpenAiModel>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenAiModel {
    name: String,
    dimensions: usize,
    /// True if requests state the dimensions, which models without a choice reject.
    has_choice: bool,
    /// The limit of tokens of a text, if stated.
    tokens: Option<usize>,
}

/// Why a text does not name a model behind an OpenAI-compatible endpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidOpenAiModel {
    /// The name is empty.
    #[error("the model has no name: write it as in `openai:text-embedding-3-small`")]
    NoName,
    /// The dimensions of the model are not known.
    #[error("the dimensions of {name} are not known: add them, as in `openai:{name}?dimensions=768`")]
    NoDimensions {
        /// The model.
        name: String,
    },
    /// The model has no vectors of these dimensions.
    #[error("{name} gives vectors of {possible} dimensions, not of {asked}")]
    Dimensions {
        /// The model.
        name: String,
        /// The requested dimensions.
        asked: String,
        /// Dimensions that the model offers.
        possible: String,
    },
    /// The limit of tokens is not plausible.
    #[error("{name} cannot read {asked} tokens of a text: write {} to {}", PLAUSIBLE_TOKENS.start(), PLAUSIBLE_TOKENS.end())]
    Tokens {
        /// The model.
        name: String,
        /// The stated limit.
        asked: String,
    },
    /// An option other than dimensions and tokens is set.
    #[error("{option} cannot be set: only dimensions and tokens can, as in `?dimensions=384&tokens=256`")]
    Option {
        /// The name of the option.
        option: String,
    },
}

impl OpenAiModel {
    /// The model that the endpoint calls `name`, with vectors of `dimensions`, or of its default number.
    ///
    /// # Errors
    /// [`InvalidOpenAiModel`] if the name is empty, or its dimensions are unknown or not possible.
    pub fn new(name: &str, dimensions: Option<usize>) -> Result<Self, InvalidOpenAiModel> {
        if name.is_empty() {
            return Err(InvalidOpenAiModel::NoName);
        }
        let known = KNOWN.iter().find(|(known, ..)| *known == name);
        let (default, least, most) = match known {
            Some((_, most, true)) => (Some(*most), 1, *most),
            Some((_, only, false)) => (Some(*only), *only, *only),
            None => (None, 1, MAX_DIMENSIONS),
        };
        let no_dimensions = || InvalidOpenAiModel::NoDimensions { name: name.to_owned() };
        let asked = dimensions.or(default).ok_or_else(no_dimensions)?;
        if !(least..=most).contains(&asked) {
            let possible = if least == most { most.to_string() } else { format!("{least} to {most}") };
            return Err(InvalidOpenAiModel::Dimensions { name: name.to_owned(), asked: asked.to_string(), possible });
        }
        let has_choice = known.is_some_and(|(.., has_choice)| *has_choice);
        Ok(Self { name: name.to_owned(), dimensions: asked, has_choice, tokens: None })
    }

    /// Sets the limit of tokens of a text, including special tokens.
    ///
    /// # Errors
    /// [`InvalidOpenAiModel::Tokens`], if the limit is not plausible.
    pub fn with_tokens(mut self, tokens: usize) -> Result<Self, InvalidOpenAiModel> {
        if !PLAUSIBLE_TOKENS.contains(&tokens) {
            return Err(InvalidOpenAiModel::Tokens { name: self.name, asked: tokens.to_string() });
        }
        self.tokens = Some(tokens);
        Ok(self)
    }

    /// The limit of tokens of a text, if stated.
    #[must_use]
    pub const fn tokens(&self) -> Option<usize> {
        self.tokens
    }

    pub(super) fn chunk_tokens(&self) -> usize {
        self.tokens.map_or(TOKENS, |tokens| tokens - SPECIAL_TOKENS)
    }

    /// Name of the model at the endpoint.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Components of its vectors.
    #[must_use]
    pub const fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Id under which vectors are stored. Always states the dimensions, and the tokens if set, because they determine
    /// the chunks. Does not name the endpoint.
    #[must_use]
    pub fn model_id(&self) -> ModelId {
        ModelId::new(&self.to_string())
    }

    /// The dimensions to request, if the model has a choice.
    pub(super) fn asked_dimensions(&self) -> Option<usize> {
        self.has_choice.then_some(self.dimensions)
    }
}

impl fmt::Display for OpenAiModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}?dimensions={}", self.name, self.dimensions)?;
        self.tokens.map_or(Ok(()), |tokens| write!(f, "&tokens={tokens}"))
    }
}

impl FromStr for OpenAiModel {
    type Err = InvalidOpenAiModel;

    /// With or without `openai:` before it.
    fn from_str(text: &str) -> Result<Self, InvalidOpenAiModel> {
        let text = text.strip_prefix(PREFIX).unwrap_or(text);
        let (name, options) = text.split_once('?').unwrap_or((text, ""));
        let (mut dimensions, mut tokens) = (None, None);
        for option in options.split('&').filter(|option| !option.is_empty()) {
            match option.split_once('=') {
                Some(("dimensions", value)) => {
                    let number = value.parse().map_err(|_| InvalidOpenAiModel::Dimensions {
                        name: name.to_owned(),
                        asked: value.to_owned(),
                        possible: "a number of".to_owned(),
                    })?;
                    dimensions = Some(number);
                }
                Some(("tokens", value)) => {
                    let refused = |_| InvalidOpenAiModel::Tokens { name: name.to_owned(), asked: value.to_owned() };
                    tokens = Some(value.parse().map_err(refused)?);
                }
                // The value of an unknown option may be a key.
                _ => {
                    let option = option.split('=').next().unwrap_or_default();
                    return Err(InvalidOpenAiModel::Option { option: option.to_owned() });
                }
            }
        }
        let model = Self::new(name, dimensions)?;
        match tokens {
            Some(tokens) => model.with_tokens(tokens),
            None => Ok(model),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str) -> Result<OpenAiModel, InvalidOpenAiModel> {
        name.parse()
    }

    #[test]
    fn each_model_has_its_dimensions() {
        for (name, dimensions, asked) in [
            ("openai:text-embedding-3-small", 1536, Some(1536)),
            ("text-embedding-3-small?dimensions=512", 512, Some(512)),
            ("openai:text-embedding-3-large", 3072, Some(3072)),
            ("openai:text-embedding-ada-002", 1536, None),
            ("openai:nomic-embed-text?dimensions=768", 768, None),
            ("openai:all-minilm?tokens=256&dimensions=384", 384, None),
            ("text-embedding-3-small?tokens=8191", 1536, Some(1536)),
        ] {
            let model = parse(name).unwrap();
            assert_eq!((model.dimensions(), model.asked_dimensions()), (dimensions, asked), "{name}");
            assert_eq!(parse(model.model_id().as_str()).unwrap(), model);
        }
    }

    #[test]
    fn a_refusal_says_what_to_write() {
        for (name, says) in [
            ("openai:", "openai:text-embedding-3-small"),
            ("openai:nomic-embed-text", "openai:nomic-embed-text?dimensions=768"),
            ("openai:text-embedding-3-small?dimensions=2000", "1 to 1536 dimensions, not of 2000"),
            ("openai:text-embedding-ada-002?dimensions=512", "of 1536 dimensions, not of 512"),
            ("openai:x?dimensions=0", "not of 0"),
            ("openai:x?dimensions=many", "not of many"),
            ("openai:x?key=1", "key cannot be set"),
            ("openai:x?dimensions=4&tokens=31", "cannot read 31 tokens of a text: write 32 to 1000000"),
            ("openai:x?dimensions=4&tokens=-1", "cannot read -1 tokens"),
        ] {
            let error = parse(name).unwrap_err().to_string();
            assert!(error.contains(says), "{name}: {error}");
        }
    }
}
