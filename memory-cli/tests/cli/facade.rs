//! The facade and the binary on one store: the same answers, written by either, also at once.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "whatever fails here fails a test")]

use std::process::Stdio;

use memory::{Access, Builder, Config, ConversationId, Memory, PromptOptions, Query, Scope, Timestamp};
use memory_embed::{ALL_MINILM_L6_V2, ModelStore};
use pollster::block_on;
use serde_json::Value;

use crate::{
    models,
    support::{self, Store, success},
};

const QUESTION: &str = "When does the train leave, and from which platform?";
const BUDGET: u32 = 900;

/// The model of a test: none, a table of a few words, or the pinned one where it is on this machine.
#[derive(Clone, Debug, PartialEq)]
enum Model {
    None,
    Table(String),
    Pinned,
}

impl Model {
    fn all(store: &Store) -> Vec<Self> {
        let table = models::model(store, "table", [1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 2.0]);
        let pinned = ModelStore::discover(None).and_then(|models| models.locate(&ALL_MINILM_L6_V2));
        let pinned = pinned.is_ok().then_some(Self::Pinned);
        [Self::None, Self::Table(table)].into_iter().chain(pinned).collect()
    }

    fn flags(&self) -> Vec<&str> {
        match self {
            Self::None => vec!["--words-only"],
            Self::Table(path) => vec!["--embedding-model", path],
            Self::Pinned => vec!["--embedding-model", ALL_MINILM_L6_V2.name],
        }
    }

    fn facade(&self, store: &Store) -> Builder {
        let config = Config::new(store.path("store"), Access::Write);
        Builder::of(match self {
            Self::None => config.without_model(),
            Self::Table(path) => config.model(path),
            Self::Pinned => config.model(ALL_MINILM_L6_V2.name),
        })
    }

    fn binary(&self, store: &Store, args: &[&str]) -> Value {
        let text = success(&mut store.hybrid(&[&["--json"], &self.flags()[..], args].concat()));
        serde_json::from_str(&text).unwrap()
    }
}

/// An answer: the hits with their scores, and what a model is shown.
#[derive(Debug, PartialEq)]
struct Answer {
    hits: Vec<(String, u64, String)>,
    text: String,
}

fn of_facade(memory: &Memory) -> Answer {
    let query = Query::new(QUESTION, Scope::all());
    let found = block_on(memory.search(query)).unwrap();
    let score = |score: f32| format!("{score:.4}");
    let hits = found.hits.iter().map(|hit| (hit.conversation.to_string(), hit.node.id.get(), score(hit.score.value)));
    let trip = memory.conversation("trip").unwrap();
    let prompt = block_on(trip.prompt_with(QUESTION, &PromptOptions::new(BUDGET))).unwrap();
    Answer { hits: hits.collect(), text: prompt.text().to_owned() }
}

fn of_binary(model: &Model, store: &Store) -> Answer {
    let found = model.binary(store, &["search", QUESTION]);
    let hit = |hit: &Value| {
        let conversation = hit["conversation"].as_str().unwrap().to_owned();
        (conversation, hit["node"].as_u64().unwrap(), format!("{:.4}", hit["score"]["value"].as_f64().unwrap()))
    };
    let hits = found["hits"].as_array().unwrap().iter().map(hit).collect();
    let context = model.binary(store, &["context", "-c", "trip", "--budget", &BUDGET.to_string(), QUESTION]);
    Answer { hits, text: context["text"].as_str().unwrap().to_owned() }
}

fn check(facade: &Answer, binary: &Answer, model: &Model) {
    assert_eq!(facade, binary, "{model:?}");
    assert_eq!(facade.hits[0].1, 7, "{model:?}");
    assert!(facade.text.contains("platform 9"), "{model:?}: {}", facade.text);
}

#[test]
fn what_the_binary_imports_the_facade_answers_alike() {
    let models = Store::new();
    for model in Model::all(&models) {
        let store = Store::new();
        let file = store.file("trip.jsonl", &support::messages(60));
        model.binary(&store, &["import", "--format", "jsonl", &file]);
        let memory = model.facade(&store).open().unwrap();
        let facade = of_facade(&memory);
        drop(memory);
        check(&facade, &of_binary(&model, &store), &model);
    }
}

#[test]
fn what_the_facade_appends_the_binary_answers_alike() {
    let models = Store::new();
    for model in Model::all(&models) {
        let store = Store::new();
        let memory = model.facade(&store).open().unwrap();
        let trip = memory.conversation("trip").unwrap();
        for line in support::messages(60).lines() {
            let value: Value = serde_json::from_str(line).unwrap();
            let text = value["content"].as_str().unwrap();
            let role = if value["role"] == "user" { memory::Role::User } else { memory::Role::Assistant };
            let message = memory::Message::text_of(role, text);
            let at = Timestamp::from_millis(value["at"].as_i64().unwrap());
            block_on(trip.append_batch(vec![(message, at)])).unwrap();
        }
        // While the facade has the store open, and after it.
        block_on(memory.catch_up()).unwrap();
        let binary = of_binary(&model, &store);
        check(&of_facade(&memory), &binary, &model);
        drop((trip, memory));
        assert_eq!(of_binary(&model, &store), binary, "{model:?}");
    }
}

#[test]
fn the_facade_and_the_binary_write_one_store_at_once() {
    let store = Store::new();
    let model = Model::Table(models::model(&store, "table", [1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 2.0]));
    let memory = model.facade(&store).open().unwrap();
    let ours = memory.conversation("ours").unwrap();
    let file = store.file("theirs.jsonl", &support::messages(300));
    let import = [&model.flags()[..], &["import", "--format", "jsonl", &file]].concat();
    let mut child = store.hybrid(&import).stdout(Stdio::null()).spawn().unwrap();
    let mut said = 0;
    while said < 40 || child.try_wait().unwrap().is_none() {
        said += 1;
        block_on(ours.append(memory::Message::user(format!("We said {said}.")))).unwrap();
        assert!(block_on(ours.prompt("What did we say?")).unwrap().text().contains("We said 1."));
    }
    assert!(child.wait().unwrap().success());
    block_on(memory.catch_up()).unwrap();
    let nodes = |memory: &Memory| -> Vec<_> {
        block_on(memory.conversations()).unwrap().into_iter().map(|state| (state.id, state.nodes)).collect()
    };
    let id = |name| ConversationId::new(name).unwrap();
    assert_eq!(nodes(&memory), [(id("ours"), said), (id("theirs"), 300)]);
    let vectors = memory.parts().vectors.clone().unwrap();
    assert_eq!((vectors.stats(&id("ours")).through, vectors.stats(&id("theirs")).through), (said, 300));
    assert!(memory.failures().is_empty(), "{:?}", memory.failures());
    drop((ours, memory));
    let verified = model.binary(&store, &["verify"]);
    assert_eq!((&verified["nodes"], &verified["damage"]), (&(said + 300).into(), &serde_json::json!([])));
}
