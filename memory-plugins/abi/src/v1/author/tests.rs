//! Tests of the guard.

use abi_stable::sabi_trait::TD_Opaque;

use super::*;
use crate::v1::{Capabilities, Level, LogLevel, Role, Source, SummaryHost_TO};

struct NoHost;

impl SummaryHost for NoHost {
    fn count_tokens(&self, text: RStr<'_>) -> u32 {
        u32::try_from(text.split_whitespace().count()).unwrap()
    }

    fn is_cancelled(&self) -> bool {
        false
    }

    fn log(&self, _level: LogLevel, _message: RStr<'_>) {}
}

/// Behaves as its configuration states.
struct Fixture(String);

impl Drop for Fixture {
    fn drop(&mut self) {
        assert!(self.0 != "panic in drop", "dropped badly");
    }
}

impl SummarizerPlugin for Fixture {
    fn new(configuration: &str) -> Result<Self, Failure> {
        assert!(configuration != "panic in new", "made badly");
        if configuration == "refuse" { Err(Failure::configuration("no")) } else { Ok(Self(configuration.into())) }
    }

    fn summarize(&self, job: &SummaryJob<'_>, host: &dyn SummaryHost) -> Result<Written, Failure> {
        assert!(self.0 != "panic in summarize", "written badly");
        let tokens: u32 = job.sources.iter().map(|source| host.count_tokens(source.text)).sum();
        Ok(Written { text: format!("{tokens} tokens").into(), ..Written::default() })
    }
}

fn identity() -> Identity {
    let text = RStr::from_str("x");
    let capabilities = Capabilities::UNWINDS;
    Identity { name: text, version: text, description: text, configuration_schema: text, capabilities }
}

fn summarize(summarizer: &SummarizerBox) -> RResult<Written, Failure> {
    let empty: &[RStr<'_>] = &[];
    let source = Source {
        first_node: 1,
        last_node: 1,
        line_count: 1,
        text: "three small words".into(),
        speaker: "user".into(),
        topics: empty.into(),
        importance: 0.5,
        flags: crate::v1::Flags::default(),
        role: Role::USER,
    };
    let sources = [source];
    let job = SummaryJob { sources: (&sources[..]).into(), max_tokens: 9, level: Level::SUMMARY };
    summarizer.summarize(job, SummaryHost_TO::from_ptr(&NoHost, TD_Opaque))
}

#[test]
fn a_call_crosses_the_border_and_comes_back() {
    let module = summarizer_module::<Fixture>(identity());
    let summarizer = module.new_summarizer()("".into()).unwrap();
    assert_eq!(summarize(&summarizer).unwrap().text, "3 tokens");
}

#[test]
fn every_panic_becomes_a_failure() {
    let make = summarizer_module::<Fixture>(identity()).new_summarizer();
    let failure = make("panic in new".into()).err().unwrap();
    assert_eq!((failure.code, failure.message.as_str()), (FailureCode::PANICKED, "made badly"));
    let failure = summarize(&make("panic in summarize".into()).unwrap()).unwrap_err();
    assert_eq!((failure.code, failure.message.as_str()), (FailureCode::PANICKED, "written badly"));
    drop(make("panic in drop".into()).unwrap());
}

#[test]
fn a_module_makes_its_own_kind_only() {
    let module = summarizer_module::<Fixture>(identity());
    assert_eq!(module.kind(), Kind::SUMMARIZER);
    assert_eq!(module.new_scorer()("".into()).err().unwrap().code, FailureCode::WRONG_KIND);
    assert_eq!(module.new_summarizer()("refuse".into()).err().unwrap().code, FailureCode::CONFIGURATION);
}
