//! The example, run, and compared with the README.

use pollster::block_on;

#[expect(dead_code, reason = "its `main` is for `cargo run`")]
#[path = "../../examples/agent.rs"]
mod agent;

#[test]
fn the_example_answers_after_a_call() {
    let directory = tempfile::tempdir().unwrap();
    let said = block_on(agent::run(directory.path().join("store"))).unwrap();
    assert!(said.starts_with("message Some(NodeId(4))"), "{said}");
}

#[test]
fn the_readme_shows_the_example() {
    let code = include_str!("../../examples/agent.rs").split_once("use std").unwrap().1.trim_end();
    assert!(include_str!("../../README.md").contains(code));
    assert!(include_str!("../../examples/agent.rs").lines().count() <= 40);
}
