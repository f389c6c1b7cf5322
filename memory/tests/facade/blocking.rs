//! The memory without async.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests, which the lints do not know as tests"
)]

use memory::{FindRequest, Message, NodeId, Scope, blocking, port::TokenCounter as _};
use memory_embed::TiktokenCounter;

use crate::support::{Dir, remark};

fn use_it(dir: &Dir) {
    let memory = blocking::Memory::from(dir.words().open().unwrap());
    let trip = memory.conversation("trip").unwrap();
    trip.append(Message::user("The train leaves at 7:42 from platform 9.")).unwrap();
    assert!(trip.prompt("When does the train leave?").unwrap().text().contains("7:42"));
    assert_eq!(trip.search("train", 3).unwrap().hits[0].node.id, NodeId::FIRST);
    assert_eq!(trip.find(r"platform \d+", 3).unwrap().matches[0].matched, "platform 9");
    memory.conversation("boat").unwrap().append(Message::user("Ferry 7 has no platform.")).unwrap();
    let found = memory.find(FindRequest::new("[79]", Scope::all())).unwrap();
    let places: Vec<_> = found.matches.iter().map(|one| (one.conversation.as_str(), one.span.start)).collect();
    assert_eq!(places, [("boat", 6), ("trip", 20), ("trip", 39)]);
    assert!(trip.expand(NodeId::new(2).unwrap()).unwrap_err().is_not_found());
    // More often than tokio lets a task wait without giving way.
    for _ in 0..300 {
        assert_eq!(trip.stats().unwrap().nodes, 1);
    }
    memory.catch_up().unwrap();
    assert!(memory.failures().is_empty(), "{:?}", memory.failures());
}

#[test]
fn a_program_without_async_needs_none() {
    use_it(&Dir::new());
}

#[test]
fn blocking_calls_work_inside_of_async_code() {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async { use_it(&Dir::new()) });
    let several = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    several.block_on(async { tokio::spawn(async { use_it(&Dir::new()) }).await.unwrap() });
}

#[test]
fn a_memory_opens_by_its_path_alone() {
    let dir = Dir::new();
    // The test runs with any model of this machine, or none.
    let trip = blocking::open(dir.store()).unwrap().conversation("trip").unwrap();
    trip.append(Message::user("The train leaves at 7:42 from platform 9.")).unwrap();
    assert!(trip.prompt("When does the train leave?").unwrap().text().contains("7:42"));
}

#[test]
fn a_prompt_has_4000_tokens_at_most_by_the_real_tokenizer() {
    let dir = Dir::new();
    let talk = blocking::Memory::from(dir.words().open().unwrap()).conversation("talk").unwrap();
    for number in 1..=300 {
        talk.append(remark(number)).unwrap();
    }
    let prompt = talk.prompt("Where did we walk on day 7?").unwrap();
    let tokens = TiktokenCounter::cl100k().count(prompt.text());
    assert_eq!((tokens, prompt.budget), (prompt.tokens, 4_000));
    assert!(tokens <= 4_000, "{tokens} of {}", prompt.full_tokens);
    assert!(prompt.full_tokens > 8_000, "{}", prompt.full_tokens);
}
