//! Owners of conversations.

use std::{fmt, str::FromStr, sync::Arc};

use crate::{
    UnfitName,
    id::{check_name, check_new_name, shortened},
    text::one_line,
};

/// The name of an owner of conversations: a user, a tenant, a team. 1 to 200 bytes, as they are seen: without white
/// space, control characters, invisible characters, `/` or `\`, and in normalization form C.
///
/// A name alone proves nothing: the program that opens the store decides who may act for an owner.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnerId(Arc<str>);

/// Reason why a text cannot name an owner.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` cannot name an owner: {why}", one_line(name))]
pub struct InvalidOwnerId {
    /// The refused text, shortened.
    pub name: String,
    /// The fault.
    pub why: UnfitName,
}

impl OwnerId {
    /// A valid name.
    ///
    /// # Errors
    /// When it breaks a rule above.
    pub fn new(name: &str) -> Result<Self, InvalidOwnerId> {
        match check_name(name).and_then(|()| check_new_name(name)) {
            Ok(()) => Ok(Self(name.into())),
            Err(why) => Err(InvalidOwnerId { name: shortened(name), why }),
        }
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for OwnerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for OwnerId {
    type Err = InvalidOwnerId;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::new(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_owners_never_look_the_same() {
        assert_eq!(OwnerId::new("ana").unwrap().to_string(), "ana");
        for unfit in ["", "ana maria", "a/b", "ana\u{200b}", "cafe\u{301}", &"x".repeat(201)] {
            assert!(OwnerId::new(unfit).is_err(), "{unfit}");
        }
    }
}
