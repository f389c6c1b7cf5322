//! The examples, run.

use crate::support::Dir;

#[expect(dead_code, reason = "its `main` is for `cargo run`")]
#[path = "../../examples/agent_loop.rs"]
mod agent_loop;
#[expect(dead_code, reason = "its `main` is for `cargo run`")]
#[path = "../../examples/custom_hook.rs"]
mod custom_hook;
#[expect(dead_code, reason = "its `main` is for `cargo run`")]
#[path = "../../examples/custom_summarizer.rs"]
mod custom_summarizer;
#[expect(dead_code, reason = "its `main` is for `cargo run`")]
#[path = "../../examples/embed.rs"]
mod embed;
#[expect(dead_code, reason = "its `main` is for `cargo run`")]
#[path = "../../examples/extended_manager.rs"]
mod extended_manager;

#[expect(dead_code, reason = "its `main` is for `cargo run`")]
#[path = "../../examples/model_summaries.rs"]
mod model_summaries;

#[test]
fn the_example_agent_loop_answers_and_goes_on_in_another_process() {
    let dir = Dir::new();
    for _ in 0..2 {
        assert_eq!(pollster::block_on(agent_loop::run(dir.store())).unwrap(), "It leaves from platform 9.");
    }
}

#[test]
fn the_example_model_summaries_shows_what_a_model_wrote() {
    let shown = model_summaries::run(Dir::new().store()).unwrap();
    assert!(shown.contains("Anna asked to book the train on Friday."), "{shown}");
}

#[test]
fn the_example_embed_shows_what_answers_the_question() {
    let text = pollster::block_on(embed::run(Dir::new().store())).unwrap();
    assert!(text.contains("7:42 from platform 9"), "{text}");
}

#[test]
fn the_example_extended_manager_goes_on_counting_after_a_restart() {
    let state = extended_manager::run(Dir::new().store()).unwrap();
    assert!(state.contains(r#""manager":"metered""#) && state.contains(r#""own":3"#), "{state}");
}

#[test]
fn the_example_custom_hook_changes_what_a_model_is_sent() {
    let sent = custom_hook::run(Dir::new().store()).unwrap();
    assert!(sent.contains("Wake me at seven.") && sent.contains("Europe/Lisbon"), "{sent}");
}

#[test]
fn the_example_custom_summarizer_writes_what_is_shown() {
    let shown = custom_summarizer::run(Dir::new().store()).unwrap();
    assert!(shown.contains("Day 51 was a walk along the river. Day 52 was a walk along the river."), "{shown}");
}
