//! What a server offers.

/// Which tools a server offers, and how they are described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// How much is said of each tool.
    pub profile: Profile,
    /// Whether a model may append messages to conversations; off by default.
    pub append: bool,
    /// Whether the file-style memory tool of Anthropic's models is offered; off by default.
    pub memory_tool: bool,
    /// Whether the scratchpad is offered.
    pub scratchpad: bool,
}

/// How much is said of each tool. Clients pay for it in every prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Whole descriptions, with schemas of what comes back.
    Full,
    /// Short descriptions, without schemas of what comes back: at most 2,500 tokens for all tools.
    Compact,
}

impl Default for Options {
    fn default() -> Self {
        Self { profile: Profile::Full, append: false, memory_tool: false, scratchpad: true }
    }
}

impl Options {
    /// Sets [`Self::profile`].
    #[must_use]
    pub const fn profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self
    }

    /// Sets [`Self::append`].
    #[must_use]
    pub const fn append(mut self, append: bool) -> Self {
        self.append = append;
        self
    }

    /// Sets [`Self::memory_tool`].
    #[must_use]
    pub const fn memory_tool(mut self, memory_tool: bool) -> Self {
        self.memory_tool = memory_tool;
        self
    }

    /// Sets [`Self::scratchpad`].
    #[must_use]
    pub const fn scratchpad(mut self, scratchpad: bool) -> Self {
        self.scratchpad = scratchpad;
        self
    }
}
