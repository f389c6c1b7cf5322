//! Converts core's jobs to the ABI's, and the ABI's answers to core's.
//!
//! Text from a plugin is validated first, because its bytes may not be UTF-8.

use std::borrow::Cow;

use abi_stable::std_types::{RSlice, RStr, RString};
use memory_core::{
    Level, Role, SummaryMetadata,
    port::{SummarySource, WrittenSummary},
};
use memory_plugin_abi::v1;

use crate::error::CallError;

/// A summary job with owned texts, because it may outlive the caller's wait.
#[derive(Debug)]
pub(crate) struct OwnedSummaryJob {
    pub level: Level,
    pub sources: Vec<SummarySource>,
    pub max_tokens: u32,
}

impl OwnedSummaryJob {
    /// Calls `call` with the job in the ABI's shape.
    pub(crate) fn lend<T>(&self, call: impl FnOnce(v1::SummaryJob<'_>) -> T) -> T {
        let topics: Vec<Vec<RStr<'_>>> = self
            .sources
            .iter()
            .map(|source| source.metadata.topics.iter().map(|topic| RStr::from_str(topic)).collect())
            .collect();
        let sources: Vec<_> = self.sources.iter().zip(&topics).map(|(source, topics)| lend(source, topics)).collect();
        call(v1::SummaryJob {
            sources: RSlice::from_slice(&sources),
            max_tokens: self.max_tokens,
            level: v1::Level(self.level.number()),
        })
    }
}

fn lend<'a>(source: &'a SummarySource, topics: &'a [RStr<'a>]) -> v1::Source<'a> {
    let metadata = &source.metadata;
    let flag = |set: bool, flag: v1::Flags| if set { flag } else { v1::Flags::default() };
    v1::Source {
        first_node: source.nodes.first().get(),
        last_node: source.nodes.last().get(),
        line_count: metadata.line_count,
        text: RStr::from_str(&source.text),
        speaker: RStr::from_str(&source.speaker),
        topics: RSlice::from_slice(topics),
        importance: metadata.importance,
        flags: flag(metadata.has_decision, v1::Flags::HAS_DECISION).with(flag(metadata.has_code, v1::Flags::HAS_CODE)),
        role: source.role.map_or(v1::Role::NONE, role),
    }
}

pub(crate) const fn role(role: Role) -> v1::Role {
    match role {
        Role::User => v1::Role::USER,
        Role::Assistant => v1::Role::ASSISTANT,
        Role::System => v1::Role::SYSTEM,
        Role::Tool => v1::Role::TOOL,
    }
}

/// Maximum bytes of a summary's text.
const LONGEST_TEXT: usize = 4 << 20;

/// Maximum topics of a summary.
const MOST_TOPICS: usize = 64;

/// Maximum bytes of a topic.
const LONGEST_TOPIC: usize = 256;

/// Validates a summary from a plugin, except for its tokens.
pub(crate) fn written(written: v1::Written) -> Result<WrittenSummary, CallError> {
    let breach = |what: &str| Err(CallError::Breach(what.to_owned()));
    if written.text.len() > LONGEST_TEXT {
        return breach("a text of more than 4 MiB");
    }
    if !(0.0..=1.0).contains(&written.importance) {
        return breach(&format!("an importance of {}, outside 0..=1", written.importance));
    }
    if written.topics.len() > MOST_TOPICS || written.topics.iter().any(|topic| topic.len() > LONGEST_TOPIC) {
        return breach("more than 64 topics, or one of more than 256 bytes");
    }
    let string = |text: RString| {
        String::from_utf8(text.into_bytes().into_vec())
            .map_err(|_| CallError::Breach("a text that is not UTF-8".to_owned()))
    };
    let text = string(written.text)?;
    let metadata = SummaryMetadata::default()
        .importance(written.importance)
        .topics(written.topics.into_iter().map(string).collect::<Result<_, _>>()?)
        .has_decision(written.flags.has(v1::Flags::HAS_DECISION))
        .has_code(written.flags.has(v1::Flags::HAS_CODE));
    Ok(WrittenSummary::new(text).metadata(metadata))
}

pub(crate) fn failure(failure: &v1::Failure) -> CallError {
    let message = one_line(&lossy(failure.message.as_rstr()));
    if failure.code == v1::FailureCode::PANICKED { CallError::Panicked(message) } else { CallError::Failed(message) }
}

/// Text from a plugin, with invalid UTF-8 replaced.
pub(crate) fn lossy(text: RStr<'_>) -> Cow<'_, str> {
    String::from_utf8_lossy(text.as_rslice().as_slice())
}

/// Beginning of a plugin's message, on one line without control characters.
pub(crate) fn one_line(message: &str) -> String {
    const LONGEST: usize = 300;
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    message.chars().take(LONGEST).map(plain).collect::<String>().trim().to_owned()
}

pub(crate) fn log(plugin: &str, level: v1::LogLevel, message: RStr<'_>) {
    let message = one_line(&lossy(message));
    if level >= v1::LogLevel::ERROR {
        tracing::error!(plugin, "{message}");
    } else if level >= v1::LogLevel::WARN {
        tracing::warn!(plugin, "{message}");
    } else if level >= v1::LogLevel::INFO {
        tracing::info!(plugin, "{message}");
    } else {
        tracing::debug!(plugin, "{message}");
    }
}
