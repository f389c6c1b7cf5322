//! Parameters of views.

/// Parameters of the value of a view, and of the cost of its pieces in addition to their texts.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ViewPolicy {
    /// Tokens that a message costs in addition to its text.
    pub per_message: u32,
    /// Tokens that a summary costs in addition to its text.
    pub per_summary: u32,
    /// Number of later nodes after which a node's weight is halved.
    pub half_life: f32,
    /// Share of a node's content that each level preserves, by the level's number. Each further ARCHIVE above an
    /// ARCHIVE preserves half of the share below it.
    pub fidelity: [f32; 4],
    /// Messages of fewer tokens are shown instead of their SUMMARYs.
    pub short: u32,
    /// Number of last messages that are shown verbatim, as far as they fit, before older ones are refined.
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
