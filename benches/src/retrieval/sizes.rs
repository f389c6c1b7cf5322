//! How much is searched, and for how many hits.

/// Messages of the conversation that is asked alone.
pub(in crate::retrieval) const MESSAGES: usize = 10_000;
pub(in crate::retrieval) const HITS: usize = 10;
/// Conversations in the store of many, and messages of each.
pub(in crate::retrieval) const CONVERSATIONS: u32 = 2_000;
pub(in crate::retrieval) const MESSAGES_OF_EACH: usize = 100;
