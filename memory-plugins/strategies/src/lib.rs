//! The built-in strategies of an agent's memory: summarizers and importance scorers that need no model.
//!
#![doc = include_str!("../README.md")]
//!
//! # Guide
//!
//! A summarizer implements [`Summarizer`](memory_core::Summarizer) and writes the summaries of messages. Its method
//! `write` does the same synchronously:
//!
//! - [`Spans`], the default: whole clauses and phrases.
//! - [`Extractive`]: the most informative sentences, and keywords of the rest.
//! - [`ThemeMerger`]: topics, decisions, open questions, keywords.
//! - [`KeywordDigest`]: names, figures and rare words.
//! - [`FirstWords`](memory_core::FirstWords), of `memory-core`: the beginning of each message.
//!
//! A scorer implements [`ImportanceScorer`](memory_core::ImportanceScorer) and rates how important messages are:
//!
//! - [`Rules`]: by cue phrases, figures and code.
//! - [`Novelty`]: by what no earlier message contains.
//! - [`RecencyAndUse`]: by age and number of recalls.
//! - [`Blend`]: by several scorers with weights.
//!
//! [`standing`] detects statements that stay valid after their moment ([`Standing`], [`StandingKind`]): instructions,
//! preferences, decisions, open points and promises. [`StandingLines`] collects them over a conversation and resolves
//! contradictions.
//!
//! Of a conversation as a whole: [`title`] names it by its first message, [`goal`] finds what a user wants to reach,
//! [`Subjects`] what it is about, [`questions`] and [`leaves_open`] what is asked and not answered, [`backward`] whether a
//! message follows up or corrects an earlier one, [`speaks_of_earlier`] whether it speaks of another conversation, and
//! [`Gist`] what two texts have in common. [`sentences`] splits a text.
//!
//! All strategies are pure: the output depends on the jobs alone, and nothing is read or stored. The work of
//! summarizers is linear in the text. [`Blend`] and [`RecencyAndUse`] take a JSON configuration and reject invalid ones
//! with [`InvalidConfiguration`]. The crate has no Cargo features.
//!
//! Non-goals: understanding, paraphrase, translation. A summary consists of words of its sources.

mod asking;
mod backward;
mod blend;
mod configuration;
mod cues;
mod earlier;
mod extractive;
mod fit;
mod gist;
mod goal;
mod keyword_digest;
mod keywords;
mod language;
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
mod spoken;
mod standing;
mod subjects;
mod terms;
mod themes;
mod title;
mod topic_line;
mod words;

pub use asking::{leaves_open, questions};
pub use backward::{Backward, backward};
pub use blend::Blend;
pub use configuration::InvalidConfiguration;
pub use earlier::speaks_of_earlier;
pub use extractive::Extractive;
pub use gist::Gist;
pub use goal::{Goal, goal};
pub use keyword_digest::KeywordDigest;
pub use novelty::Novelty;
pub use recency::RecencyAndUse;
pub use rules::Rules;
pub use sentences::sentences;
pub use spans::Spans;
pub use standing::{Said, Speaker, Standing, StandingKind, StandingLine, StandingLines, standing};
pub use subjects::{Subject, Subjects};
pub use themes::ThemeMerger;
pub use title::{has_matter, is_small_talk, title};

#[cfg(test)]
mod contract;
#[cfg(test)]
mod testing;
