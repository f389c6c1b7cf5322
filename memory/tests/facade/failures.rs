//! Background work that fails.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use memory::{
    Access, BackgroundWork, Builder, Config, Message, ModelSummaries, OpenError, PromptOptions, Recall, Timestamp,
    plan::SpendLimits, port::EmbedError,
};
use memory_core::{testing::ScriptedModel, text::FirstWords};
use pollster::block_on;

use crate::support::{Dir, Embedding, embedded, remark, wait_until};

#[test]
fn a_model_that_fails_is_reported_until_it_works_again() {
    let (dir, fails) = (Dir::new(), Arc::new(AtomicBool::new(true)));
    let model = {
        let fails = Arc::clone(&fails);
        Embedding::after(move || match fails.load(Ordering::Relaxed) {
            true => {
                let source = "it is being repaired".into();
                Err(EmbedError::Backend { model: memory::port::ModelId::new("hash/32"), source })
            }
            false => Ok(()),
        })
    };
    let memory = memory::Builder::new(dir.store()).embedder(Arc::new(model)).open().unwrap();
    let talk = memory.conversation("talk").unwrap();
    block_on(talk.append(remark(1))).unwrap();
    wait_until("the failure is reported", || !memory.failures().is_empty());
    let failure = memory.failures().remove(0);
    assert_eq!((failure.work, failure.conversation.as_ref()), (BackgroundWork::Indexing, Some(talk.id())));
    assert!(failure.to_string().starts_with("indexing of `talk`: "), "{failure}");

    fails.store(false, Ordering::Relaxed);
    block_on(talk.append(remark(2))).unwrap();
    wait_until("it is tried again", || embedded(&memory, "talk") == 2);
    wait_until("the failure is over", || memory.failures().is_empty());
}

#[test]
fn background_work_that_panics_is_reported_and_begun_again() {
    let (dir, panics) = (Dir::new(), AtomicBool::new(true));
    let model = Embedding::after(move || {
        assert!(!panics.swap(false, Ordering::Relaxed), "the first call of the model panics");
        Ok(())
    });
    let memory = memory::Builder::new(dir.store()).embedder(Arc::new(model)).open().unwrap();
    let talk = memory.conversation("talk").unwrap();
    block_on(talk.append(remark(1))).unwrap();
    wait_until("the panic is reported", || memory.failures().iter().any(|failure| failure.error.contains("panicked")));
    wait_until("it is begun again", || embedded(&memory, "talk") == 1);
    wait_until("the failure is over", || memory.failures().is_empty());
}

#[test]
fn a_summarizer_of_the_programs_own_and_a_model_are_an_error() {
    let dir = Dir::new();
    let model = || Arc::new(ScriptedModel::says("They walked."));
    let builder = || Builder::new(dir.store()).model_summaries(ModelSummaries::default().system_prompt("Be brief."));
    let both = builder().chat_model(model()).summarizer(Arc::new(FirstWords)).open();
    assert!(matches!(both, Err(OpenError::TwoSummarizers)), "{both:?}");
    assert!(matches!(builder().open(), Err(OpenError::NoChatModel)));
    assert!(!dir.store().exists(), "no store is made by an error");
    builder().chat_model(model()).open().unwrap();
}

#[test]
fn a_prompt_may_ask_a_model_which_summaries_matter() {
    let dir = Dir::new();
    let model = Arc::new(ScriptedModel::says("1"));
    let judge: Arc<ScriptedModel> = Arc::clone(&model);
    let limits = SpendLimits::default().requests(10);
    assert!(matches!(Builder::new(dir.store()).judge(limits).open(), Err(OpenError::NoChatModel)));
    let config = Config::new(dir.store(), Access::Write).recall(Recall::Words);
    let memory = Builder::of(config).background(false).chat_model(judge).judge(limits).open().unwrap();
    let talk = memory.conversation("talk").unwrap();
    let walk = "It took us from the station past the market and the old town hall, and we had a late dinner.".repeat(3);
    let said = |day: i64| {
        let text = format!("Day {day} was a walk along the river. {walk}");
        (Message::user(text), Timestamp::from_millis(day * 86_400_000))
    };
    block_on(talk.append_batch((1..=60).map(said).collect())).unwrap();
    let options = PromptOptions::new(1_500);
    let ask = |options: &PromptOptions| block_on(talk.prompt_with("And then?", options)).unwrap();
    assert!(ask(&options).notices.iter().all(|notice| notice.code() != "not-judged") && model.requests().is_empty());
    let prompt = ask(&options.clone().smart_context(true));
    assert!(!model.requests().is_empty());
    assert!(prompt.pieces.iter().any(|piece| piece.reason.contains("judged to matter")), "{}", prompt.text());
}
