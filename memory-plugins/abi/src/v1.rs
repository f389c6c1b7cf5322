//! Version 1 of the interface.

mod author;
mod jobs;
mod module;
mod objects;

pub use author::{ScorerPlugin, SummarizerPlugin, scorer_module, summarizer_module};
pub use jobs::{Failure, FailureCode, Flags, Level, LogLevel, Role, ScoreJob, Source, SummaryJob, Written};
pub use module::{Capabilities, Identity, Kind, PluginModule, PluginModule_Ref};
pub use objects::{
    ImportanceScorer, ImportanceScorer_TO, ScoreHost, ScoreHost_TO, ScoreHostRef, ScorerBox, Summarizer, Summarizer_TO,
    SummarizerBox, SummaryHost, SummaryHost_TO, SummaryHostRef,
};
