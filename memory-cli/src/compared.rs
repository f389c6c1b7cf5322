//! Comparisons of each conversation's vectors, for `--explain` and `--json`.

use std::collections::BTreeMap;

use memory_core::{ConversationId, port::AnsweredBy};

/// Comparisons of vectors, by conversation.
pub(crate) type Compared = BTreeMap<ConversationId, Vec<AnsweredBy>>;

/// `vectors compared by scan in 2 conversations, by graph (memory) in 1 conversation`; `None` if none were compared.
pub(crate) fn explain(compared: &Compared) -> Option<String> {
    let mut conversations: BTreeMap<String, usize> = BTreeMap::new();
    compared.values().for_each(|ways| *conversations.entry(in_words(ways)).or_default() += 1);
    let unit = |count: &usize| if *count == 1 { "conversation" } else { "conversations" };
    let ways = conversations.iter().map(|(how, count)| format!("by {how} in {count} {}", unit(count)));
    let ways = ways.collect::<Vec<_>>().join(", ");
    (!ways.is_empty()).then(|| format!("vectors compared {ways}"))
}

fn in_words(ways: &[AnsweredBy]) -> String {
    ways.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_counted_over_conversations() {
        let id = |name| ConversationId::new(name).unwrap();
        let graph = AnsweredBy::Graph { backend: "memory" };
        let mut compared = Compared::new();
        assert_eq!(explain(&compared), None);
        compared.insert(id("a"), vec![AnsweredBy::Scan]);
        compared.insert(id("b"), vec![graph, AnsweredBy::SubsetScan]);
        compared.insert(id("c"), vec![AnsweredBy::Scan]);
        let words =
            "vectors compared by graph (memory) and scan of a subset in 1 conversation, by scan in 2 conversations";
        assert_eq!(explain(&compared).as_deref(), Some(words));
    }
}
