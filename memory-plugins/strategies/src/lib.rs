//! The built-in strategies of an agent's memory: summarizers and importance scorers that need no model.
//!
//! [`Extractive`] summarizes by the sentences that say most, [`FirstWords`] by the beginning of each message, and
//! [`Rules`] tells what matters from what is trivial by words that announce it. All are pure: an answer depends on the
//! job alone, and nothing is read or kept.
//!
//! Non-goals: understanding, paraphrase, translation. A summary here is made of words that were said.
//!
//! ```
//! use memory_core::{Level, NodeId, NodeRange, Role, SummaryJob, SummaryMetadata, SummarySource, TokenCounter};
//! use memory_strategies::Extractive;
//!
//! #[derive(Debug)]
//! struct Words;
//! impl TokenCounter for Words {
//!     fn name(&self) -> &str { "words" }
//!     fn count(&self, text: &str) -> u32 { text.split_whitespace().count() as u32 }
//! }
//!
//! let source = SummarySource {
//!     nodes: NodeRange::single(NodeId::FIRST),
//!     role: Some(Role::User),
//!     speaker: "Maya".into(),
//!     text: "Hello all! It rained a lot. We decided to ship version 2.4 on 12 March. Bye.".into(),
//!     metadata: SummaryMetadata::default(),
//! };
//! let job = SummaryJob { level: Level::Summary, sources: &[source], previous: None, max_tokens: 10, counter: &Words };
//! let summary = Extractive.write(&job);
//! assert_eq!(summary.text, "We decided to ship version 2.4 on 12 March.");
//! assert!(summary.metadata.has_decision);
//! ```

mod cues;
mod extractive;
mod fit;
mod markup;
mod rules;
mod segments;
mod select;
mod sentences;
mod terms;
mod words;

#[doc(inline)]
pub use memory_core::FirstWords;

pub use extractive::Extractive;
pub use rules::Rules;
