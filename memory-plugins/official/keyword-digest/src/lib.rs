//! The keyword digest as a plugin, under the name `official-keyword-digest`: the built-in one keeps the plain name.

#[path = "../../bridge.rs"]
mod bridge;

use memory_strategies::KeywordDigest;

bridge::export! {
    write: |job| KeywordDigest.write(job),
    name: "official-keyword-digest",
    description: "Names, figures and rare words, as many as fit.",
}
