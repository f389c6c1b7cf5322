//! Options of the offered tools.

/// Selection of the offered tools, and the length of their descriptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Length of the descriptions.
    pub profile: Profile,
    /// True if a model may append messages to conversations; off by default.
    pub append: bool,
    /// True if the file-style memory tool of Anthropic's models is offered; off by default.
    pub memory_tool: bool,
    /// True if the scratchpad is offered.
    pub scratchpad: bool,
}

/// Length of the tools' descriptions. Clients pay for them in every prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Whole descriptions, with schemas of the answers.
    Full,
    /// Short descriptions, without schemas of the answers: at most 2,500 tokens for all tools.
    Compact,
}

impl Default for Options {
    fn default() -> Self {
        Self { profile: Profile::Full, append: false, memory_tool: false, scratchpad: true }
    }
}

impl Options {
    memory::setters! {
        const profile: Profile,
        const append: bool,
        const memory_tool: bool,
        const scratchpad: bool,
    }
}
