//! The theme merger as a plugin, under the name `official-themes`: the built-in one keeps the plain name.

#[path = "../../bridge.rs"]
mod bridge;
#[path = "../../no_configuration.rs"]
mod no_configuration;

use memory_plugin_abi::v1::{Failure, SummarizerPlugin, SummaryHost, SummaryJob, Written};
use memory_strategies::ThemeMerger;

struct Plugin;

impl SummarizerPlugin for Plugin {
    fn new(configuration: &str) -> Result<Self, Failure> {
        no_configuration::check(configuration).map(|()| Self)
    }

    fn summarize(&self, job: &SummaryJob<'_>, host: &dyn SummaryHost) -> Result<Written, Failure> {
        bridge::summarize(job, host, |job| ThemeMerger.write(job))
    }
}

memory_plugin_abi::export_summarizer! {
    plugin: Plugin,
    name: "official-themes",
    description: "Topics, decisions, open questions and keywords of what is merged.",
}
