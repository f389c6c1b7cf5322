//! Tests of the summarizer's adapter, over plugins of this process.
#![expect(unsafe_code, reason = "a bad plugin makes a text of bytes that are none")]

use abi_stable::std_types::RString;
use memory_core::{Level, NodeId, NodeRange, Role, SummaryMetadata, SummarySource, testing::WordCounter};
use memory_plugin_abi::v1::{Failure, Identity, SummarizerPlugin, SummaryHost, Written, summarizer_module};
use memory_strategies::Extractive;
use pollster::block_on;

use super::*;
use crate::options::PluginOptions;

/// Does what its configuration says.
struct Fixture(String);

impl SummarizerPlugin for Fixture {
    fn new(configuration: &str) -> Result<Self, Failure> {
        Ok(Self(configuration.to_owned()))
    }

    fn summarize(&self, job: &v1::SummaryJob<'_>, host: &dyn SummaryHost) -> Result<Written, Failure> {
        let good = Written { text: "fine".into(), importance: 0.5, ..Written::default() };
        let source = job.sources.first().unwrap();
        match self.0.as_str() {
            "echo" => Ok(Written {
                text: format!(
                    "{} {} {}-{} {} {} {}",
                    source.speaker,
                    source.text,
                    source.first_node,
                    source.last_node,
                    source.role.0,
                    job.level.0,
                    host.count_tokens("one two three".into())
                )
                .into(),
                topics: source.topics.iter().map(|topic| topic.as_str().into()).collect(),
                ..good
            }),
            "long" => Ok(Written { text: "word ".repeat(1000).into(), ..good }),
            "blank" => Ok(Written { text: " ".into(), ..good }),
            "nan" => Ok(Written { importance: f32::NAN, ..good }),
            // SAFETY: there is none: this is what a bad plugin does, and the host must see it.
            "bytes" => Ok(Written { text: unsafe { RString::from_utf8_unchecked(vec![b'a', 0xff].into()) }, ..good }),
            "topics" => Ok(Written { topics: vec!["t".into(); 1000].into(), ..good }),
            "fail" => Err(Failure::new("not\ntoday")),
            other => panic!("asked to {other}"),
        }
    }
}

fn summarizer(configuration: &str) -> PluginSummarizer {
    let text = RStr::from_str("x");
    let identity = Identity {
        name: text,
        version: text,
        description: text,
        configuration_schema: text,
        capabilities: v1::Capabilities::UNWINDS,
    };
    let object = summarizer_module::<Fixture>(identity).new_summarizer()(configuration.into()).unwrap();
    let options = PluginOptions::default();
    let workers = Arc::new(Workers::new(&options));
    let health = Arc::new(Health::new("fixture", &options));
    let named = WrittenBy { strategy: "fixture".into(), version: "1".into() };
    PluginSummarizer::new(named, object, workers, health, Arc::new(Extractive))
}

fn summarize(summarizer: &PluginSummarizer, text: &str) -> Result<WrittenSummary, SummarizeError> {
    let source = SummarySource {
        nodes: NodeRange::single(NodeId::FIRST),
        role: Some(Role::Assistant),
        speaker: "Maya".into(),
        text: text.into(),
        metadata: SummaryMetadata { topics: vec!["sea".into(), "山".into()], ..SummaryMetadata::default() },
    };
    let sources = [source];
    let job =
        SummaryJob { level: Level::Meta, sources: &sources, previous: None, max_tokens: 20, counter: &WordCounter };
    block_on(summarizer.summarize(job))
}

#[test]
fn the_whole_job_reaches_the_plugin_and_its_answer_comes_back() {
    let written = summarize(&summarizer("echo"), "said").unwrap();
    assert_eq!(written.text, "Maya said 1-1 2 2 4");
    assert_eq!(written.metadata.topics, ["sea", "山"]);
}

#[test]
fn answers_that_break_the_contract_are_errors() {
    for (configuration, said) in [
        ("long", "wrote 1000 tokens where at most 20 were allowed"),
        ("blank", "blank summary"),
        ("nan", "importance of NaN"),
        ("bytes", "not UTF-8"),
        ("topics", "64 topics"),
        ("fail", "the plugin failed: not today"),
        ("panic", "the plugin panicked: asked to panic"),
    ] {
        let error = summarize(&summarizer(configuration), "said").unwrap_err();
        assert_eq!(error.to_string(), "summarizer fixture 1 failed");
        let cause = error.source.to_string();
        assert!(cause.contains(said) && !cause.contains('\n'), "{cause}");
    }
}

#[test]
fn blank_sources_may_give_a_blank_summary() {
    assert_eq!(summarize(&summarizer("blank"), " ").unwrap().text, " ");
}

#[test]
fn a_plugin_that_keeps_failing_is_replaced_in_name_and_deed() {
    let summarizer = summarizer("fail");
    for _ in 0..3 {
        assert_eq!(summarizer.identity().strategy, "fixture");
        assert!(summarize(&summarizer, "We decided to go.").is_err());
    }
    assert!(summarize(&summarizer, "We decided to go.").unwrap().text.ends_with("We decided to go."));
    assert_eq!(summarizer.identity().strategy, "extractive");
}
