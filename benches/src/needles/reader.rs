//! Which message a reader of a view would open to answer a question.

use std::collections::{BTreeSet, HashMap};

use memory_core::{NodeId, NodeRange};
use memory_hooks::{Piece, PieceKind};

/// The node whose summary in `view` shares most with the question. Each word counts more if fewer summaries have it; of
/// equals the newest wins. `None` if no node with a summary of its own shares a word with it.
pub(super) fn worth_opening(view: &[Piece], question: &str) -> Option<NodeId> {
    opened(view.iter().map(|piece| (piece.kind, piece.nodes, piece.text.as_str())), question)
}

fn opened<'a>(pieces: impl Iterator<Item = (PieceKind, Option<NodeRange>, &'a str)>, question: &str) -> Option<NodeId> {
    let asked = words(question);
    let summaries: Vec<_> = pieces
        .filter(|(kind, ..)| matches!(kind, PieceKind::Summary(_)))
        .filter_map(|(_, nodes, text)| nodes.filter(|nodes| nodes.count() == 1).map(|nodes| (nodes.first(), text)))
        .map(|(node, text)| (node, words(text).intersection(&asked).cloned().collect::<Vec<_>>()))
        .collect();
    let mut having: HashMap<&str, f64> = HashMap::new();
    for word in summaries.iter().flat_map(|(_, shared)| shared) {
        *having.entry(word).or_default() += 1.0;
    }
    let worth = |shared: &[String]| -> f64 {
        shared.iter().filter_map(|word| having.get(word.as_str())).map(|summaries| 1.0 / summaries).sum()
    };
    let best = summaries.iter().max_by(|(a, here), (b, there)| worth(here).total_cmp(&worth(there)).then(a.cmp(b)))?;
    (!best.1.is_empty()).then_some(best.0)
}

fn words(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use memory_core::Level;

    use super::*;

    #[test]
    fn the_summary_with_the_rarest_words_of_the_question_is_opened() {
        let piece = |kind, nodes: [u64; 2], text| {
            let [first, last] = nodes.map(|node| NodeId::new(node).unwrap());
            (kind, NodeRange::new(first, last), text)
        };
        let summary = PieceKind::Summary(Level::Summary);
        let view = [
            piece(PieceKind::Summary(Level::Meta), [1, 30], "the license of the falcon"),
            piece(summary, [31, 31], "the license of the gazebo"),
            piece(summary, [32, 32], "the ferry"),
            piece(PieceKind::Message, [33, 33], "the falcon"),
        ];
        let opened = |question| opened(view.into_iter(), question).map(NodeId::get);
        assert_eq!(opened("What is the license?"), Some(31));
        assert_eq!(opened("Is the ferry late?"), Some(32));
        assert_eq!(opened("What is the falcon?"), Some(32), "of equals the newest");
        assert_eq!(opened("Quasars"), None);
    }
}
