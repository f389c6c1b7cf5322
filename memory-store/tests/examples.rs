//! The examples that a user would copy, run.

#[expect(dead_code, reason = "its `main` is for `cargo run`")]
#[path = "../examples/vectors_only.rs"]
mod vectors_only;

#[test]
fn the_example_vectors_only_finds_the_nearest_also_when_it_is_run_again() {
    let directory = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        assert_eq!(vectors_only::run(directory.path()).unwrap(), [3, 2]);
    }
}
