//! A plugin whose panics cannot be caught; the test compiles it with `panic = "abort"`.

use memory_plugin_abi::v1::{Failure, SummarizerPlugin, SummaryHost, SummaryJob, Written};

struct Aborts;

impl SummarizerPlugin for Aborts {
    fn new(_configuration: &str) -> Result<Self, Failure> {
        Ok(Self)
    }

    fn summarize(&self, _job: &SummaryJob<'_>, _host: &dyn SummaryHost) -> Result<Written, Failure> {
        panic!("nobody survives this")
    }
}

memory_plugin_abi::export_summarizer! {
    plugin: Aborts,
    name: "aborts",
    description: "Ends the process on every call.",
}
