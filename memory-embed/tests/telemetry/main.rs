//! ONNX Runtime sends no telemetry: the library alone, in a process of its own.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which the lints do not know as tests")]

mod network;

use std::{
    env,
    process::{Command, ExitStatus},
};

use memory_core::port::Embedder;
use memory_embed::{ALL_MINILM_L6_V2, ModelStore, OnnxEmbedder, OnnxOptions};
use network::Watch;
use pollster::block_on;

/// The directory of the models; without them a test is skipped, but fails where `CI=true`.
fn models_or_skip() -> Option<ModelStore> {
    let store = ModelStore::discover(None).unwrap();
    match store.locate(&ALL_MINILM_L6_V2) {
        Ok(_) => Some(store),
        Err(error) if env::var_os("CI").is_some_and(|ci| ci == "true") => panic!("{error}"),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

/// Runs the ignored test `name` in a process of its own.
fn run_alone(name: &str, watch: &Watch, models: &ModelStore, variables: &[(&str, &str)]) -> ExitStatus {
    let mut command = Command::new(env::current_exe().unwrap());
    let command = watch.over(command.args(["--exact", name, "--ignored", "--test-threads=2"]));
    command.env("MEMORY_MODELS", models.root()).envs(variables.iter().copied()).status().unwrap()
}

#[test]
#[ignore = "run by the others in processes of their own"]
fn texts_are_embedded() {
    let files = ModelStore::discover(None).unwrap().locate(&ALL_MINILM_L6_V2).unwrap();
    let embedder = OnnxEmbedder::load(&files, &OnnxOptions::default()).unwrap();
    assert_eq!(env::var("ORT_DISABLE_TELEMETRY").as_deref(), Ok("1"));
    block_on(embedder.embed_documents(&["The ferry leaves at nine.", "The deploy failed."])).unwrap();
    block_on(embedder.embed_query("When does the ferry leave?")).unwrap();
}

#[test]
fn a_loaded_model_writes_nothing_and_asks_nothing_of_the_network() {
    let Some(models) = models_or_skip() else { return };
    // Telemetry stays off even if the variable asks for it.
    for variables in [&[][..], &[("ORT_DISABLE_TELEMETRY", "0")], &[("ORT_DISABLE_TELEMETRY", "1")]] {
        let watch = Watch::new();
        assert!(run_alone("texts_are_embedded", &watch, &models, variables).success());
        assert_eq!((watch.files(), watch.asked()), (Vec::new(), Vec::new()), "{variables:?}");
    }
}
