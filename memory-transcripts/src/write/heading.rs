//! The heading above the messages.

/// The heading above the messages.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Heading<'a> {
    /// The conversation's name.
    pub conversation: &'a str,
    /// Its title.
    pub title: Option<&'a str>,
}

impl<'a> Heading<'a> {
    /// The heading of a conversation without a title.
    #[must_use]
    pub const fn new(conversation: &'a str) -> Self {
        Self { conversation, title: None }
    }

    memory_core::setters! { into title: Option<&'a str> }

    /// Title, or the name if there is no title.
    pub(super) fn shown(&self) -> &str {
        self.title.unwrap_or(self.conversation)
    }
}
