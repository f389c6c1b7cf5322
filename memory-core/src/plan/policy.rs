//! Parameters of views.

/// Parameters of a view's value, and costs of its pieces beside their words.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ViewPolicy {
    /// Tokens that a message costs beside its text.
    pub per_message: u32,
    /// Tokens that a summary costs beside its text.
    pub per_summary: u32,
    /// A node's weight halves with every this many nodes after it.
    pub half_life: f32,
    /// The share of a node that each level preserves, by the level's number. An ARCHIVE over ARCHIVEs preserves half of
    /// their share.
    pub fidelity: [f32; 4],
    /// The gain that a changed view needs for each token from its first change on, since the model must read these
    /// anew. The unit is the value of a new message of importance 1, word for word.
    pub stickiness: f32,
    /// Messages of fewer tokens are shown themselves, in place of their SUMMARYs.
    pub short: u32,
    /// This many of the last messages are shown word for word before older ones are refined, as far as they fit.
    pub recent: u64,
}

impl ViewPolicy {
    /// Sets [`per_message`](Self::per_message).
    #[must_use]
    pub const fn per_message(mut self, per_message: u32) -> Self {
        self.per_message = per_message;
        self
    }

    /// Sets [`per_summary`](Self::per_summary).
    #[must_use]
    pub const fn per_summary(mut self, per_summary: u32) -> Self {
        self.per_summary = per_summary;
        self
    }

    /// Sets [`half_life`](Self::half_life).
    #[must_use]
    pub const fn half_life(mut self, half_life: f32) -> Self {
        self.half_life = half_life;
        self
    }

    /// Sets [`fidelity`](Self::fidelity).
    #[must_use]
    pub const fn fidelity(mut self, fidelity: [f32; 4]) -> Self {
        self.fidelity = fidelity;
        self
    }

    /// Sets [`stickiness`](Self::stickiness).
    #[must_use]
    pub const fn stickiness(mut self, stickiness: f32) -> Self {
        self.stickiness = stickiness;
        self
    }

    /// Sets [`short`](Self::short).
    #[must_use]
    pub const fn short(mut self, short: u32) -> Self {
        self.short = short;
        self
    }

    /// Sets [`recent`](Self::recent).
    #[must_use]
    pub const fn recent(mut self, recent: u64) -> Self {
        self.recent = recent;
        self
    }
}

impl Default for ViewPolicy {
    fn default() -> Self {
        Self {
            per_message: 5,
            per_summary: 8,
            half_life: 200.0,
            fidelity: [1.0, 0.5, 0.2, 0.1],
            stickiness: 0.02,
            short: 40,
            recent: 10,
        }
    }
}
