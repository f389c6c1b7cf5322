//! Which message a reader of a view would open to answer a question.

use std::collections::{BTreeSet, HashMap};

use memory_core::NodeId;
use memory_hooks::{Piece, PieceKind};

/// The node of a view's SUMMARY that [`rarest`] finds.
pub(super) fn worth_opening(view: &[Piece], question: &str) -> Option<NodeId> {
    let of_one = |piece: &'_ Piece| {
        let is_summary = matches!(piece.kind, PieceKind::Summary(_));
        piece.nodes.filter(|nodes| is_summary && nodes.count() == 1).map(|nodes| nodes.first())
    };
    rarest(view.iter().filter_map(|piece| Some((of_one(piece)?, piece.text.as_str()))), question)
}

/// The node whose summary shares most with the question. Each word counts more if fewer summaries have it; of equals
/// the newest wins. `None` if no summary shares a word with it.
fn rarest<'a>(summaries: impl Iterator<Item = (NodeId, &'a str)>, question: &str) -> Option<NodeId> {
    let asked = words(question);
    let summaries: Vec<_> =
        summaries.map(|(node, text)| (node, words(text).intersection(&asked).cloned().collect::<Vec<_>>())).collect();
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
    use super::*;

    #[test]
    fn the_summary_with_the_rarest_words_of_the_question_is_opened() {
        let opened = |question| {
            let summaries = [(31, "the license of the gazebo"), (32, "the ferry")];
            let summaries = summaries.map(|(node, text)| (NodeId::new(node).unwrap(), text));
            rarest(summaries.into_iter(), question).map(NodeId::get)
        };
        assert_eq!(opened("What is the license?"), Some(31));
        assert_eq!(opened("Is the ferry late?"), Some(32));
        assert_eq!(opened("What is the falcon?"), Some(32), "of equals the newest");
        assert_eq!(opened("Quasars"), None);
    }
}
