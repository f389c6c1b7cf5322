//! A model in this process reports on nobody.

use memory_embed::{ALL_MINILM_L6_V2, ModelStore};

use crate::{
    network::Watch,
    support::{self, Store, memory, success},
};

#[test]
fn a_loaded_model_writes_nothing_beside_the_store_and_asks_nothing_of_the_network() {
    let models = ModelStore::discover(None).unwrap();
    if let Err(error) = models.locate(&ALL_MINILM_L6_V2) {
        assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "{error}");
        eprintln!("skipped: {error}");
        return;
    }
    let store = Store::new();
    let file = store.file("talk.jsonl", &support::messages(12));
    let watch = Watch::new();
    for args in [&["import", "--format", "jsonl", &file][..], &["--json", "search", "Which platform?"]] {
        let said = success(watch.over(memory().args(args)).env("MEMORY_MODELS", models.root()));
        assert!(!said.contains("by words only"), "the model was not loaded: {said}");
    }
    let is_ours = |path: &str| path.starts_with("home/.local/share/memory/") || path.starts_with("home/.cache/memory/");
    let (ours, others): (Vec<_>, Vec<_>) = watch.files().into_iter().partition(|path| is_ours(path));
    assert!(ours.iter().any(|path| path.ends_with("FORMAT")), "{ours:?}");
    assert_eq!((others, watch.asked()), (Vec::new(), Vec::new()));
}

#[test]
fn what_does_ask_the_network_is_seen_by_the_test_above() {
    let watch = Watch::new();
    for base in ["http://127.0.0.1:9/v1", "http://localhost:9/v1"] {
        let mut command = memory();
        let command = watch.over(command.args(["model", "test", "openai:x?dimensions=4"])).env("OPENAI_BASE_URL", base);
        assert!(!command.output().unwrap().status.success());
    }
    let asked = watch.asked().join("\n");
    assert!(asked.contains("connect 127.0.0.1") && asked.contains("getaddrinfo localhost"), "{asked}");
}
