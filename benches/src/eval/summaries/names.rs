//! The speakers' names in a summary, which are not counted: neither as terms nor as tokens.

use memory_core::TokenCounter;

/// Separates the speakers of a merged summary, and a name from its text.
const PARTS: &str = " | ";
const MARK: &str = ": ";

/// `text` without the names of `speakers` before its parts. A name may be shortened.
pub(super) fn unnamed(text: &str, speakers: &[&str]) -> String {
    let bare = |part| match named(part, speakers) {
        Some((_, said)) => said,
        None => part,
    };
    text.split(PARTS).map(bare).collect::<Vec<_>>().join(PARTS)
}

/// Tokens of the name that `text` begins with.
pub(super) fn tokens(text: &str, speaker: &str, counter: &dyn TokenCounter) -> u32 {
    named(text, &[speaker]).map_or(0, |(name, _)| counter.count(&format!("{name}:")))
}

fn named<'a>(part: &'a str, speakers: &[&str]) -> Option<(&'a str, &'a str)> {
    part.split_once(MARK).filter(|(name, _)| !name.is_empty() && speakers.iter().any(|known| known.starts_with(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_and_words_stay() {
        let text = "Maya: a plan: wait … Maya: so | Ben B: no | so";
        assert_eq!(unnamed(text, &["Maya", "Ben B (of Ghent)"]), "a plan: wait … Maya: so | no | so");
        assert_eq!(unnamed("Note: this", &["Maya"]), "Note: this");
    }
}
