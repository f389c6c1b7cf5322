//! The bearer token of a server.

use std::fmt::Write as _;

use blake3::Hash;

/// Least bytes of a token: enough random characters that nobody can guess them.
const LEAST: usize = 16;
const MOST: usize = 4_096;

/// A bearer token. Only its hash is kept, so that neither a log nor a comparison reveals it.
#[derive(Clone, Debug)]
pub struct Token(Hash);

/// A text that cannot be a token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a token has {LEAST} to {MOST} visible ASCII characters without spaces, and this one has {0} bytes")]
pub struct InvalidToken(usize);

impl Token {
    /// A token from a given text.
    ///
    /// # Errors
    /// If the text is too short, too long, or could not stand in a header.
    pub fn new(text: &str) -> Result<Self, InvalidToken> {
        let is_fit = (LEAST..=MOST).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if is_fit { Ok(Self(blake3::hash(text.as_bytes()))) } else { Err(InvalidToken(text.len())) }
    }

    /// A new token of 256 random bits, and its text, which nobody else knows.
    ///
    /// # Errors
    /// If the system provides no randomness.
    pub fn generate() -> Result<(Self, String), getrandom::Error> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)?;
        let mut text = String::with_capacity(64);
        for byte in bytes {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        Ok((Self(blake3::hash(text.as_bytes())), text))
    }

    /// True if a request's `Authorization` header carries the token. Hashes are compared, in constant time, so that the
    /// time does not show how much of a wrong token is right.
    pub(crate) fn admits(&self, authorization: Option<&[u8]>) -> bool {
        let given = authorization.and_then(|value| value.split_at_checked(7));
        given.is_some_and(|(scheme, given)| {
            scheme.eq_ignore_ascii_case(b"bearer ") && blake3::hash(given.trim_ascii()) == self.0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_is_admitted() {
        let (token, text) = Token::generate().unwrap();
        let admits = |header: &str| token.admits(Some(header.as_bytes()));
        assert!(admits(&format!("Bearer {text}")) && admits(&format!("bearer {text}")));
        assert!(!token.admits(None));
        for wrong in ["", "Bearer", "Bearer ", &text, &format!("Basic {text}"), &format!("Bearer {text}0")] {
            assert!(!admits(wrong), "{wrong}");
        }
        assert_ne!(text, Token::generate().unwrap().1);
        assert!(!format!("{token:?}").contains(&text));
    }

    #[test]
    fn a_token_that_can_be_guessed_is_refused() {
        for wrong in ["", "secret", "fifteen-letters", "a token with spaces in it", "tokens-of-häßliche-letters"] {
            assert!(Token::new(wrong).is_err(), "{wrong}");
        }
        assert!(Token::new("0123456789abcdef").unwrap().admits(Some(b"Bearer 0123456789abcdef")));
    }
}
