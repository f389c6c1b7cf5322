//! Tests of the summarizer's adapter, over plugins of this process.
#![expect(unsafe_code, reason = "a bad plugin makes a text of bytes that are not UTF-8")]

use std::sync::Arc;

use abi_stable::std_types::RString;
use memory_core::{Level, NodeId, NodeRange, Role, SummaryMetadata, port::SummarySource, testing::WordCounter};
use memory_plugin_abi::v1::{Failure, Identity, SummarizerPlugin, SummaryHost, Written, summarizer_module};
use pollster::block_on;

use super::*;
use crate::{health::Health, options::PluginOptions, workers::Workers};

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
            counting if counting.starts_with("count ") => {
                let text = "x".repeat(counting.split(' ').nth(1).unwrap().parse().unwrap());
                let times = if counting.ends_with("often") { 100 } else { 1 };
                let last = (0..times).map(|_| host.count_tokens(text.as_str().into())).last().unwrap();
                Ok(Written { text: last.to_string().into(), ..good })
            }
            "long" => Ok(Written { text: "word ".repeat(1000).into(), ..good }),
            "blank" => Ok(Written { text: " ".into(), ..good }),
            "nan" => Ok(Written { importance: f32::NAN, ..good }),
            // SAFETY: this is not sound: a bad plugin does it, and the host must detect it.
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
    let named = WrittenBy::new("fixture", "1");
    PluginSummarizer::new(named, object, workers, health)
}

fn summarize(summarizer: &PluginSummarizer, text: &str) -> Result<WrittenSummary, SummarizeError> {
    let source = SummarySource::new(NodeRange::single(NodeId::FIRST), text)
        .role(Role::Assistant)
        .speaker("Maya")
        .metadata(SummaryMetadata::default().topics(vec!["sea".into(), "山".into()]));
    let sources = [source];
    let job = SummaryJob::new(Level::Meta, &sources, 20, &WordCounter);
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
fn a_plugin_that_keeps_failing_is_asked_no_more() {
    let summarizer = summarizer("fail");
    let cause = || summarize(&summarizer, "We decided to go.").unwrap_err().source.to_string();
    for _ in 0..3 {
        assert_eq!(cause(), "the plugin failed: not today");
    }
    assert_eq!(cause(), "the plugin is quarantined after 3 failures in a row and was not asked");
    assert_eq!(summarizer.identity().strategy, "fixture");
}

/// Counts the bytes of the texts that it counts.
#[derive(Debug, Default)]
struct Meter(AtomicUsize);

impl memory_core::port::TokenCounter for Meter {
    fn name(&self) -> &'static str {
        "meter"
    }

    fn count(&self, text: &str) -> u32 {
        self.0.fetch_add(text.len(), Ordering::Relaxed);
        1
    }
}

#[test]
fn what_a_plugin_has_counted_is_bounded_for_a_call_and_for_a_job() {
    for (configuration, said, most) in
        [("count 200000000 once", "4294967295", 0), ("count 1000000 often", "4294967295", MOST_COUNTED)]
    {
        let meter = Meter::default();
        let sources = [SummarySource::new(NodeRange::single(NodeId::FIRST), "text")];
        let job = SummaryJob::new(Level::Meta, &sources, 20, &meter);
        let written = block_on(summarizer(configuration).summarize(job)).unwrap();
        assert_eq!(written.text, said, "{configuration}");
        let counted = meter.0.load(Ordering::Relaxed);
        assert!(counted <= most + said.len(), "{configuration}: {counted} bytes were counted");
    }
}
