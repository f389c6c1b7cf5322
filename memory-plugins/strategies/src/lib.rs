//! The built-in strategies of an agent's memory: summarizers and importance scorers that need no model.
//!
#![doc = include_str!("../README.md")]
//!
//! # Guide
//!
//! A summarizer implements [`Summarizer`](memory_core::port::Summarizer) and writes the summaries of messages. Its method
//! `write` does the same synchronously:
//!
//! - [`Spans`], the default: whole sentences.
//! - [`FirstWords`](memory_core::text::FirstWords), of `memory-core`: the beginning of each message.
//!
//! A scorer implements [`ImportanceScorer`](memory_core::port::ImportanceScorer) and rates how important messages are.
//! [`Rules`] does so by cue phrases, figures and code.
//!
//! [`standing`] detects statements that stay valid after their moment ([`Standing`], [`StandingKind`]): instructions,
//! preferences, decisions, open points and promises. [`StandingLines`] collects them over a conversation and resolves
//! contradictions.
//!
//! Functions for a whole conversation: [`title`] names it by its first message, [`goal`] finds what a user wants to
//! achieve, [`Subjects`] its subjects, and [`questions`] its questions; [`leaves_open`] detects an answer that leaves a
//! question open, [`backward`] a message that follows up or corrects an earlier one, and [`speaks_of_earlier`] one that
//! refers to another conversation. [`Gist`] compares two texts. [`sentences`] splits a text, and [`said`] leaves out what
//! a program put around the words of a person; all functions read only what is said.
//!
//! All strategies are pure: the output depends only on the jobs, and nothing is read or stored. The work of
//! summarizers is linear in the text. The crate has no Cargo features.
//!
//! Non-goals: understanding, paraphrase, translation. A summary consists of words of its sources.

mod cues;
mod fit;
mod gist;
mod goal;
mod language;
mod markup;
mod opening;
mod phrases;
mod reading;
mod references;
mod rules;
mod said;
mod sections;
mod segments;
mod sentences;
mod spans;
mod spoken;
mod standing;
mod subjects;
mod terms;
mod title;
mod words;

pub use gist::Gist;
pub use goal::{Goal, goal, without_date};
pub use opening::opening;
pub use references::{
    Backward, Reference, backward, goes_on, is_offer, is_undecided, leaves_open, questions, speaks_of_earlier,
};
pub use rules::Rules;
pub use said::said;
pub use sentences::sentences;
pub use spans::Spans;
pub use spoken::sentence_at;
pub use standing::{
    Ended, Speaker, Standing, StandingKind, StandingLine, StandingLines, changing, kinds_asked, standing,
};
pub use subjects::{Subject, Subjects, matter};
pub use title::{has_matter, is_small_talk, title};

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
