//! Models that are called by short names and lie under the ids of a hub.

use memory_embed::MS_MARCO_MINILM_L6_V2;

/// The cross-encoder that is meant when one is wanted, by its short name.
pub const DEFAULT_RERANKER: &str = "ms-marco-MiniLM";

/// Models in no pinned package that are called by their names alone, and their ids on the hub.
pub(crate) const SHORT_NAMES: [(&str, &str); 2] =
    [("all-MiniLM-L12-v2", "sentence-transformers/all-MiniLM-L12-v2"), (DEFAULT_RERANKER, MS_MARCO_MINILM_L6_V2)];

/// The id of a model that is called by its short name; any other name is itself.
pub(crate) fn full_name(name: &str) -> &str {
    SHORT_NAMES.iter().find(|(short, _)| *short == name).map_or(name, |(_, id)| id)
}
