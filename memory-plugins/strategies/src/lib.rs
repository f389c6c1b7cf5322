//! The built-in strategies of an agent's memory: summarizers and importance scorers that need no model.
//!
//! Summarizers: [`Spans`], the default, by clauses and phrases cut out whole, [`Extractive`] by the sentences that say most
//! and keywords of the rest, [`KeywordDigest`] by names, figures and rare words, [`ThemeMerger`] by what was decided, left
//! open and talked about, [`FirstWords`] by the beginning of each message. Scorers: [`Rules`] by words that announce what
//! matters, [`Novelty`] by what was not said before, [`RecencyAndUse`] by age and recall, [`Blend`] by several of them. All
//! are pure: an answer depends on the jobs alone, and nothing is read or kept.
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

mod blend;
mod configuration;
mod cues;
mod digest;
mod extractive;
mod fit;
mod keywords;
mod markup;
mod novelty;
mod phrases;
mod reading;
mod recency;
mod rules;
mod sections;
mod segments;
mod select;
mod sentences;
mod spans;
mod standing;
mod terms;
mod themes;
mod topic_line;
mod words;

#[doc(inline)]
pub use memory_core::FirstWords;

pub use blend::Blend;
pub use configuration::InvalidConfiguration;
pub use digest::KeywordDigest;
pub use extractive::Extractive;
pub use novelty::Novelty;
pub use recency::RecencyAndUse;
pub use rules::Rules;
pub use spans::Spans;
pub use standing::{Said, Standing, StandingKind, StandingLine, StandingLines, standing};
pub use themes::ThemeMerger;

#[cfg(test)]
mod contract;
#[cfg(test)]
mod testing;
