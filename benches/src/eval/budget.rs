//! How much of a conversation may be packed.

use std::str::FromStr;

use anyhow::{Error, bail};
use memory_core::NodeOutline;

/// Tokens of a message beside its text; the scorer charges the same.
pub(super) const PER_MESSAGE: u32 = 8;

/// The most tokens of the packed messages of one question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// A fixed number of tokens.
    Tokens(u32),
    /// A tenth of the tokens of all messages.
    Tenth,
}

impl Budget {
    /// The budget for a conversation, in tokens.
    #[must_use]
    pub(super) fn of(self, outline: &[NodeOutline]) -> u32 {
        match self {
            Self::Tokens(tokens) => tokens,
            Self::Tenth => {
                let all: u64 = outline.iter().map(|node| u64::from(cost(node))).sum();
                u32::try_from(all / 10).unwrap_or(u32::MAX)
            }
        }
    }
}

/// Tokens of a shown message.
#[must_use]
pub(super) fn cost(node: &NodeOutline) -> u32 {
    node.tokens.saturating_add(PER_MESSAGE)
}

impl FromStr for Budget {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text.parse() {
            Ok(0) => bail!("a budget of 0 tokens packs nothing"),
            Ok(tokens) => Ok(Self::Tokens(tokens)),
            Err(_) if text == "tenth" => Ok(Self::Tenth),
            Err(_) => bail!("expected a number of tokens, or `tenth`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use memory_core::{Role, Timestamp};

    use super::*;

    #[test]
    fn a_tenth_counts_the_headers() {
        let node = |tokens| {
            let mut node = NodeOutline::new(Timestamp::default(), Role::User);
            node.tokens = tokens;
            node
        };
        let outline = [node(92), node(42), node(42)];
        assert_eq!("tenth".parse::<Budget>().unwrap().of(&outline), 20);
        assert_eq!("300".parse::<Budget>().unwrap().of(&outline), 300);
        assert!("0".parse::<Budget>().is_err() && "third".parse::<Budget>().is_err());
    }
}
