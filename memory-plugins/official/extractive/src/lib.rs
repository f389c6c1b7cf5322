//! The extractive summarizer as a plugin, under the name `official-extractive`: the built-in one keeps the plain name.

#[path = "../../bridge.rs"]
mod bridge;
#[path = "../../no_configuration.rs"]
mod no_configuration;

use memory_plugin_abi::v1::{Failure, SummarizerPlugin, SummaryHost, SummaryJob, Written};
use memory_strategies::Extractive;

struct Plugin;

impl SummarizerPlugin for Plugin {
    fn new(configuration: &str) -> Result<Self, Failure> {
        no_configuration::check(configuration).map(|()| Self)
    }

    fn summarize(&self, job: &SummaryJob<'_>, host: &dyn SummaryHost) -> Result<Written, Failure> {
        bridge::summarize(job, host, |job| Extractive.write(job))
    }
}

memory_plugin_abi::export_summarizer! {
    plugin: Plugin,
    name: "official-extractive",
    description: "The sentences that say most: decisions, figures, names.",
}
