//! The first-words summarizer as a plugin with the name `official-first-words`; the built-in one has the plain name.

use std::fmt;

use memory_core::{
    Level, NodeId, NodeRange, Role, SummaryMetadata,
    port::{SummaryJob, SummarySource, TokenCounter},
    text::FirstWords,
};
use memory_plugin_abi::v1::{self, Failure, Flags, SummarizerPlugin, SummaryHost, Written};

struct Plugin;

impl SummarizerPlugin for Plugin {
    fn new(configuration: &str) -> Result<Self, Failure> {
        match configuration.trim() {
            "" | "{}" => Ok(Self),
            _ => Err(Failure::configuration("this strategy takes no configuration; remove it")),
        }
    }

    fn summarize(&self, job: &v1::SummaryJob<'_>, host: &dyn SummaryHost) -> Result<Written, Failure> {
        let sources = job.sources.iter().map(source).collect::<Result<Vec<_>, _>>()?;
        let level = Level::from_number(job.level.0).ok_or_else(|| Failure::new("no such level"))?;
        let written = FirstWords::write(&SummaryJob::new(level, &sources, job.max_tokens, &HostCounter(host)));
        let flag = |set: bool, flag: Flags| if set { flag } else { Flags::default() };
        Ok(Written {
            text: written.text.into(),
            topics: written.metadata.topics.into_iter().map(Into::into).collect(),
            importance: written.metadata.importance,
            flags: flag(written.metadata.has_decision, Flags::HAS_DECISION)
                .with(flag(written.metadata.has_code, Flags::HAS_CODE)),
        })
    }
}

/// Converts a source of the ABI to core's.
fn source(source: &v1::Source<'_>) -> Result<SummarySource, Failure> {
    let first = NodeId::new(source.first_node);
    let nodes = first.zip(NodeId::new(source.last_node)).and_then(|(first, last)| NodeRange::new(first, last));
    let nodes = nodes.ok_or_else(|| Failure::new("a source stands for no nodes"))?;
    let role = match source.role {
        v1::Role::NONE => None,
        v1::Role::ASSISTANT => Some(Role::Assistant),
        v1::Role::SYSTEM => Some(Role::System),
        v1::Role::TOOL => Some(Role::Tool),
        // An unknown role counts as a user.
        _ => Some(Role::User),
    };
    let metadata = SummaryMetadata::default()
        .importance(source.importance)
        .topics(source.topics.iter().map(ToString::to_string).collect())
        .has_decision(source.flags.has(Flags::HAS_DECISION))
        .has_code(source.flags.has(Flags::HAS_CODE))
        .line_count(source.line_count);
    Ok(SummarySource::new(nodes, source.text.to_string())
        .role(role)
        .speaker(source.speaker.to_string())
        .metadata(metadata))
}

/// Counts tokens with the host's counter.
struct HostCounter<'a>(&'a dyn SummaryHost);

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

memory_plugin_abi::export_summarizer! {
    plugin: Plugin,
    name: "official-first-words",
    description: "The first eight words of each message.",
}
