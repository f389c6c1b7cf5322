//! A table of the signals that ranked a list of hits.

use std::fmt;

use memory_core::port::{Hit, Signal};

/// A table with hits as rows and signals as columns.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Explanation<'a> {
    /// Names of the signals, by their total share over all hits, largest first.
    pub signals: Vec<&'a str>,
    /// The hits, in the given order.
    pub hits: &'a [Hit],
}

impl<'a> Explanation<'a> {
    /// Collects the signals of `hits`.
    #[must_use]
    pub fn of(hits: &'a [Hit]) -> Self {
        let mut sums: Vec<(&'a str, f32)> = Vec::new();
        for signal in hits.iter().flat_map(|hit| &hit.signals) {
            match sums.iter_mut().find(|(name, _)| *name == signal.name) {
                Some((_, sum)) => *sum += signal.share,
                None => sums.push((&signal.name, signal.share)),
            }
        }
        sums.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
        Self { signals: sums.into_iter().map(|(name, _)| name).collect(), hits }
    }

    /// One signal of a hit; `None` if the hit has no such signal.
    #[must_use]
    pub fn signal(hit: &'a Hit, name: &str) -> Option<&'a Signal> {
        hit.signals.iter().find(|signal| signal.name == name)
    }
}

impl fmt::Display for Explanation<'_> {
    /// One line per hit: rank, conversation and node, score, and for each signal its share, with its value in
    /// parentheses.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = |hit: &Hit| format!("{}/{}", hit.conversation, hit.node.id);
        let width = self.hits.iter().map(|hit| place(hit).chars().count()).max().unwrap_or(0).max(4);
        write!(f, "{:>4}  {:<width$}  {:>6}", "rank", "node", "score")?;
        for name in &self.signals {
            write!(f, "  {name:>16}")?;
        }
        for (index, hit) in self.hits.iter().enumerate() {
            write!(f, "\n{:>4}  {:<width$}  {:>6.3}", index + 1, place(hit), hit.score.value)?;
            for name in &self.signals {
                match Self::signal(hit, name) {
                    Some(Signal { value, share, .. }) => write!(f, "  {:>16}", format!("{share:.3} ({value:.3})"))?,
                    None => write!(f, "  {:>16}", "-")?,
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use memory_core::{
        ConversationId, Message, Node, NodeId, Timestamp,
        port::{Score, ScoreScale},
    };

    use super::*;

    fn hit(node: u64, signals: &[(&'static str, f32, f32)]) -> Hit {
        Hit::new(
            ConversationId::new("trip").unwrap(),
            Arc::new(Node::new(NodeId::new(node).unwrap(), Message::user("x"), Timestamp::default())),
            Score { value: signals.iter().map(|signal| signal.2).sum(), scale: ScoreScale::Fused },
        )
        .signals(signals.iter().map(|&(name, value, share)| Signal::new(name, value, share)).collect())
    }

    #[test]
    fn a_table_shows_each_signal_of_each_hit() {
        let hits = [hit(12, &[("cosine", 0.61, 0.5), ("words", 7.25, 0.25)]), hit(3, &[("words", 1.5, 0.0625)])];
        let expected = "\
rank  node      score            cosine             words
   1  trip/12   0.750     0.500 (0.610)     0.250 (7.250)
   2  trip/3    0.062                 -     0.062 (1.500)";
        assert_eq!(Explanation::of(&hits).to_string(), expected);
    }

    #[test]
    fn no_hits_are_a_heading_alone() {
        assert_eq!(Explanation::of(&[]).to_string(), "rank  node   score");
    }
}
