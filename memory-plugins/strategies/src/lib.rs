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
//! All strategies are pure: the output depends on the jobs alone, and nothing is read or stored. The work of
//! summarizers is linear in the text. [`Blend`] and [`RecencyAndUse`] take a JSON configuration and reject invalid ones
//! with [`InvalidConfiguration`]. The crate has no Cargo features.
//!
//! Non-goals: understanding, paraphrase, translation. A summary consists of words of its sources.

mod blend;
mod configuration;
mod cues;
mod extractive;
mod fit;
mod keyword_digest;
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

pub use blend::Blend;
pub use configuration::InvalidConfiguration;
pub use extractive::Extractive;
pub use keyword_digest::KeywordDigest;
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
