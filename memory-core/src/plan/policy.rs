//! Parameters of views.

/// Parameters of a view's value, and costs of its pieces in addition to their words.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ViewPolicy {
    /// Tokens that a message costs in addition to its text.
    pub per_message: u32,
    /// Tokens that a summary costs in addition to its text.
    pub per_summary: u32,
    /// A node's weight halves with every this many nodes after it.
    pub half_life: f32,
    /// The share of a node that each level preserves, by the level's number. An ARCHIVE over ARCHIVEs preserves half of
    /// their share.
    pub fidelity: [f32; 4],
    /// Messages of fewer tokens are shown themselves, in place of their SUMMARYs.
    pub short: u32,
    /// This many of the last messages are shown verbatim before older ones are refined, as far as they fit.
    pub recent: u64,
}

impl ViewPolicy {
    crate::setters! {
        const per_message: u32,
        const per_summary: u32,
        const half_life: f32,
        const fidelity: [f32; 4],
        const short: u32,
        const recent: u64,
    }
}

impl Default for ViewPolicy {
    fn default() -> Self {
        Self { per_message: 5, per_summary: 8, half_life: 200.0, fidelity: [1.0, 0.5, 0.2, 0.1], short: 40, recent: 10 }
    }
}
