//! How models behind an OpenAI-style endpoint are named.

use std::{fmt, str::FromStr};

use memory_core::ModelId;

/// What the name of a model behind such an endpoint begins with.
const PREFIX: &str = "openai:";

/// More than any model gives.
const MOST_DIMENSIONS: usize = 65_536;

/// What the models of OpenAI read of a text, with some room: 8,191 tokens.
const TOKENS: usize = 8000;

/// What a model that reads anything reads at least, and more than any reads.
const TOKENS_OF_ANY: std::ops::RangeInclusive<usize> = 32..=1_000_000;

/// Tokens that a server puts around a text.
const SPECIAL_TOKENS: usize = 4;

/// Models whose dimensions are known, the default, and whether fewer may be asked for.
const KNOWN: &[(&str, usize, bool)] = &[
    ("text-embedding-3-small", 1536, true),
    ("text-embedding-3-large", 3072, true),
    ("text-embedding-ada-002", 1536, false),
];

/// A model behind an OpenAI-style endpoint and the length of its vectors.
///
/// Its name is `openai:` and the endpoint's name for it, with `?dimensions=`. `text-embedding-3-small` (1536) and
/// `text-embedding-3-large` (3072) give fewer when they are asked to; `text-embedding-ada-002` gives 1536; for any
/// other model the dimensions that it gives must be named. With `tokens=` it says how many tokens the model reads of a
/// text, which matters where that is fewer than [`RemoteOptions::chunk_tokens`](crate::RemoteOptions::chunk_tokens), and
/// most where the server cuts off what is too long without a word.
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
    /// Whether the request names the dimensions: models that cannot choose refuse that.
    chooses: bool,
    /// What it reads of a text, if that was said.
    tokens: Option<usize>,
}

/// Why a text names no model behind an OpenAI-style endpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidOpenAiModel {
    /// There is no name.
    #[error("a model has no name: write it as in `openai:text-embedding-3-small`")]
    NoName,
    /// The dimensions of the model are not known here.
    #[error("the dimensions of {name} are not known: add them, as in `openai:{name}?dimensions=768`")]
    NoDimensions {
        /// The model.
        name: String,
    },
    /// The model cannot give vectors of that length.
    #[error("{name} gives vectors of {possible} dimensions, not of {asked}")]
    Dimensions {
        /// The model.
        name: String,
        /// What was asked for.
        asked: String,
        /// What it gives.
        possible: String,
    },
    /// No model reads so few or so many tokens.
    #[error("{name} cannot read {asked} tokens of a text: write {} to {}", TOKENS_OF_ANY.start(), TOKENS_OF_ANY.end())]
    Tokens {
        /// The model.
        name: String,
        /// What was said.
        asked: String,
    },
    /// Something else is set.
    #[error("{option} cannot be set: only dimensions and tokens can, as in `?dimensions=384&tokens=256`")]
    Option {
        /// What was to be set.
        option: String,
    },
}

impl OpenAiModel {
    /// The model that the endpoint calls `name`, with vectors of `dimensions`, or of its default.
    ///
    /// # Errors
    /// [`InvalidOpenAiModel`], if there is no name, or its dimensions are not known or not possible.
    pub fn new(name: &str, dimensions: Option<usize>) -> Result<Self, InvalidOpenAiModel> {
        if name.is_empty() {
            return Err(InvalidOpenAiModel::NoName);
        }
        let refuse = |asked: usize, possible: String| {
            Err(InvalidOpenAiModel::Dimensions { name: name.to_owned(), asked: asked.to_string(), possible })
        };
        let known = KNOWN.iter().find(|(known, ..)| *known == name);
        match (known, dimensions) {
            (Some((_, most, true)), Some(asked)) if asked == 0 || asked > *most => {
                refuse(asked, format!("1 to {most}"))
            }
            (Some((_, only, false)), Some(asked)) if asked != *only => refuse(asked, only.to_string()),
            (None, None) => Err(InvalidOpenAiModel::NoDimensions { name: name.to_owned() }),
            (None, Some(asked)) if asked == 0 || asked > MOST_DIMENSIONS => {
                refuse(asked, format!("1 to {MOST_DIMENSIONS}"))
            }
            (Some((_, default, chooses)), asked) => Ok(Self {
                name: name.to_owned(),
                dimensions: asked.unwrap_or(*default),
                chooses: *chooses,
                tokens: None,
            }),
            (None, Some(dimensions)) => Ok(Self { name: name.to_owned(), dimensions, chooses: false, tokens: None }),
        }
    }

    /// The same, known to read `tokens` of a text, what the server puts around it among them.
    ///
    /// # Errors
    /// [`InvalidOpenAiModel::Tokens`], if no model does.
    pub fn with_tokens(mut self, tokens: usize) -> Result<Self, InvalidOpenAiModel> {
        if !TOKENS_OF_ANY.contains(&tokens) {
            return Err(InvalidOpenAiModel::Tokens { name: self.name, asked: tokens.to_string() });
        }
        self.tokens = Some(tokens);
        Ok(self)
    }

    /// How many tokens it reads of a text, if that was said.
    #[must_use]
    pub const fn tokens(&self) -> Option<usize> {
        self.tokens
    }

    /// How many tokens a chunk may have.
    pub(super) fn chunk_tokens(&self) -> usize {
        self.tokens.map_or(TOKENS, |tokens| tokens - SPECIAL_TOKENS)
    }

    /// Whether `name` is meant for such an endpoint: it begins with `openai:`.
    #[must_use]
    pub fn is_meant_by(name: &str) -> bool {
        name.starts_with(PREFIX)
    }

    /// The endpoint's name for it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Components of its vectors.
    #[must_use]
    pub const fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// The name that vectors are kept under; it says the dimensions in any case, the tokens where they were said, since texts
    /// are cut by them, and not the endpoint.
    #[must_use]
    pub fn model_id(&self) -> ModelId {
        ModelId::new(&self.to_string())
    }

    /// The dimensions to ask for, if the model lets its caller choose.
    pub(super) fn asked_dimensions(&self) -> Option<usize> {
        self.chooses.then_some(self.dimensions)
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
                // What stands behind the name of an option may be a key.
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
    fn what_is_refused_says_what_to_write() {
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
