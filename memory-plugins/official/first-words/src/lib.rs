//! The first-words summarizer as a plugin, under the name `official-first-words`: the built-in one keeps the plain
//! name.

#[path = "../../bridge.rs"]
mod bridge;

use memory_core::FirstWords;

bridge::export! {
    write: FirstWords::write,
    name: "official-first-words",
    description: "The first eight words of each message.",
}
