//! The first-words summarizer as a plugin, under the name `official-first-words`: the built-in one keeps the plain name.

#[path = "../../bridge.rs"]
mod bridge;
#[path = "../../no_configuration.rs"]
mod no_configuration;

use memory_plugin_abi::v1::{Failure, SummarizerPlugin, SummaryHost, SummaryJob, Written};
use memory_strategies::FirstWords;

struct Plugin;

impl SummarizerPlugin for Plugin {
    fn new(configuration: &str) -> Result<Self, Failure> {
        no_configuration::check(configuration).map(|()| Self)
    }

    fn summarize(&self, job: &SummaryJob<'_>, host: &dyn SummaryHost) -> Result<Written, Failure> {
        bridge::summarize(job, host, FirstWords::write)
    }
}

memory_plugin_abi::export_summarizer! {
    plugin: Plugin,
    name: "official-first-words",
    description: "The first eight words of each message.",
}
