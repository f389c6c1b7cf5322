//! Background work that fails.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use memory::{BackgroundWork, Builder, EmbedError, ModelSummaries, OpenError};
use memory_core::{FirstWords, testing::ScriptedModel};
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
                Err(EmbedError::Backend { model: memory::ModelId::new("hash/32"), source })
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
