//! Adapts a summarizer of `memory-strategies` to the plugin ABI; a module of each official summarizer plugin.

#[path = "no_configuration.rs"]
pub(crate) mod no_configuration;

use std::fmt;

use memory_core::{
    Level, NodeId, NodeRange, Role, SummaryJob, SummaryMetadata, SummarySource, TokenCounter, WrittenSummary,
};
use memory_plugin_abi::v1;

/// Exports a plugin whose summaries are written by `write`, and which takes no configuration.
macro_rules! export {
    (write: $write:expr, $($presented:tt)*) => {
        struct Plugin;

        impl ::memory_plugin_abi::v1::SummarizerPlugin for Plugin {
            fn new(configuration: &str) -> Result<Self, ::memory_plugin_abi::v1::Failure> {
                $crate::bridge::no_configuration::check(configuration).map(|()| Self)
            }

            fn summarize(
                &self,
                job: &::memory_plugin_abi::v1::SummaryJob<'_>,
                host: &dyn ::memory_plugin_abi::v1::SummaryHost,
            ) -> Result<::memory_plugin_abi::v1::Written, ::memory_plugin_abi::v1::Failure> {
                $crate::bridge::summarize(job, host, $write)
            }
        }

        ::memory_plugin_abi::export_summarizer! { plugin: Plugin, $($presented)* }
    };
}
pub(crate) use export;

/// Writes the summary of `job` by `write`.
pub(crate) fn summarize(
    job: &v1::SummaryJob<'_>,
    host: &dyn v1::SummaryHost,
    write: impl FnOnce(&SummaryJob<'_>) -> WrittenSummary,
) -> Result<v1::Written, v1::Failure> {
    let sources = job.sources.iter().map(source).collect::<Result<Vec<_>, _>>()?;
    let level = Level::from_number(job.level.0).ok_or_else(|| v1::Failure::new("no such level"))?;
    let counter = HostCounter(host);
    let written = write(&SummaryJob::new(level, &sources, job.max_tokens, &counter));
    let flag = |set: bool, flag: v1::Flags| if set { flag } else { v1::Flags::default() };
    Ok(v1::Written {
        text: written.text.into(),
        topics: written.metadata.topics.into_iter().map(Into::into).collect(),
        importance: written.metadata.importance,
        flags: flag(written.metadata.has_decision, v1::Flags::HAS_DECISION)
            .with(flag(written.metadata.has_code, v1::Flags::HAS_CODE)),
    })
}

fn source(source: &v1::Source<'_>) -> Result<SummarySource, v1::Failure> {
    let first = NodeId::new(source.first_node);
    let nodes = first.zip(NodeId::new(source.last_node)).and_then(|(first, last)| NodeRange::new(first, last));
    let role = match source.role {
        v1::Role::NONE => None,
        v1::Role::ASSISTANT => Some(Role::Assistant),
        v1::Role::SYSTEM => Some(Role::System),
        v1::Role::TOOL => Some(Role::Tool),
        // An unknown role counts as a user.
        _ => Some(Role::User),
    };
    Ok(SummarySource::new(
        nodes.ok_or_else(|| v1::Failure::new("a source stands for no nodes"))?,
        source.text.to_string(),
    )
    .role(role)
    .speaker(source.speaker.to_string())
    .metadata(
        SummaryMetadata::default()
            .importance(source.importance)
            .topics(source.topics.iter().map(ToString::to_string).collect())
            .has_decision(source.flags.has(v1::Flags::HAS_DECISION))
            .has_code(source.flags.has(v1::Flags::HAS_CODE))
            .line_count(source.line_count),
    ))
}

/// Counts tokens by the host's counter.
struct HostCounter<'a>(&'a dyn v1::SummaryHost);

impl fmt::Debug for HostCounter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HostCounter")
    }
}

impl TokenCounter for HostCounter<'_> {
    fn name(&self) -> &'static str {
        "host"
    }

    fn count(&self, text: &str) -> u32 {
        self.0.count_tokens(text.into())
    }
}
