//! The embedding model of a store, with models that are a table of a few words.
#![expect(clippy::unwrap_used, reason = "helpers of tests, which the lints do not know as tests")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::support::{self, Store, failure, success};

/// Path of a new static model in the store's directory, whose table holds `values`.
pub(crate) fn model(store: &Store, name: &str, values: [f32; 8]) -> String {
    let rows: Vec<_> = ["[UNK]", "the", "is", "a"].into_iter().zip(values.as_chunks::<2>().0.iter().copied()).collect();
    table(store, name, &rows)
}

/// The same of these words, the first of which stands for all others, with the vector of each.
fn table(store: &Store, name: &str, rows: &[(&str, [f32; 2])]) -> String {
    let directory = store.path(name);
    fs::create_dir(&directory).unwrap();
    let vocabulary: serde_json::Map<_, _> =
        rows.iter().enumerate().map(|(number, (word, _))| ((*word).to_owned(), number.into())).collect();
    let tokenizer = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "--",
                  "max_input_chars_per_word": 100, "vocab": vocabulary},
    });
    let values: Vec<u8> = rows.iter().flat_map(|(_, vector)| vector).flat_map(|value| value.to_le_bytes()).collect();
    let embeddings = json!({"dtype": "F32", "shape": [rows.len(), 2], "data_offsets": [0, values.len()]});
    let header = json!({"embeddings": embeddings}).to_string();
    let weights = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &values].concat();
    fs::write(Path::new(&directory).join("model.safetensors"), weights).unwrap();
    fs::write(Path::new(&directory).join("tokenizer.json"), tokenizer.to_string()).unwrap();
    fs::write(Path::new(&directory).join("config.json"), r#"{"model_type": "model2vec"}"#).unwrap();
    directory
}

fn first(store: &Store) -> String {
    model(store, "first", [1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 2.0])
}

fn second(store: &Store) -> String {
    model(store, "second", [2.0, 1.0, 0.0, 1.0, 1.0, 0.0, 2.0, 1.0])
}

fn run(store: &Store, args: &[&str]) -> String {
    success(&mut store.hybrid(args))
}

#[test]
fn the_model_is_fixed_and_another_is_refused_with_the_way_out() {
    let store = Store::new();
    let (first, second) = (first(&store), second(&store));
    let file = store.file("talk.jsonl", &support::messages(12));
    run(&store, &["--embedding-model", &first, "import", "--format", "jsonl", &file]);
    run(&store, &["--embedding-model", &first, "index"]);

    let refused = failure(&mut store.hybrid(&["--embedding-model", &second, "search", "the ferry"]), 1);
    assert!(refused.contains("memory model migrate") && refused.contains("first@"), "{refused}");
    // The store knows its model by itself.
    let found = run(&store, &["--json", "search", "the ferry"]);
    assert!(!found.contains("by words only"), "{found}");
}

#[test]
fn a_model_named_by_a_relative_path_is_found_from_anywhere() {
    for (directory, name) in [("first", "."), ("", "./first"), ("first/inner", "..")] {
        let store = Store::new();
        fs::create_dir(Path::new(&first(&store)).join("inner")).unwrap();
        let file = store.file("talk.jsonl", &support::messages(12));
        let from = store.path(directory);
        let import = ["--embedding-model", name, "import", "--format", "jsonl", &file];
        success(store.hybrid(&import).current_dir(&from));
        // By itself, from elsewhere, and by the same name again.
        let search = ["--json", "search", "the ferry"];
        let named = [&["--embedding-model", name], &search[..]].concat();
        for (args, from) in [(&search[..], "/"), (&named[..], from.as_str())] {
            let found = success(store.hybrid(args).current_dir(from));
            assert!(!found.contains("by words only"), "{name}: {found}");
        }
    }
}

#[test]
fn a_migration_embeds_everything_again_and_drops_the_old_vectors_last() {
    let store = Store::new();
    let (first, second) = (first(&store), second(&store));
    let file = store.file("talk.jsonl", &support::messages(12));
    run(&store, &["--embedding-model", &first, "import", "--format", "jsonl", &file]);
    run(&store, &["--embedding-model", &first, "index"]);

    // A model that cannot be loaded changes nothing.
    failure(&mut store.hybrid(&["model", "migrate", &store.path("none")]), 1);
    run(&store, &["--json", "search", "the ferry"]);

    let cache = PathBuf::from(store.path("store/cache"));
    // Files that a model with token vectors would leave; this model has none.
    fs::create_dir(cache.join("tokens")).unwrap();
    fs::write(cache.join("tokens/of-another-model.tok"), "tokens").unwrap();
    let caches = || -> BTreeSet<_> {
        let files = |dir: &str| fs::read_dir(cache.join(dir)).unwrap();
        ["vectors", "tokens"].into_iter().flat_map(files).map(|file| file.unwrap().file_name()).collect()
    };
    let old = caches();
    assert!(old.len() > 1, "{old:?}");
    let migrated = run(&store, &["--json", "model", "migrate", &second]);
    assert!(caches().is_disjoint(&old), "nothing of the old model stays");
    assert!(migrated.contains("\"embedded\": 12") && migrated.contains("second@"), "{migrated}");
    let found = run(&store, &["--json", "search", "the ferry"]);
    assert!(!found.contains("by words only"), "{found}");
    let refused = failure(&mut store.hybrid(&["--embedding-model", &first, "search", "the ferry"]), 1);
    assert!(refused.contains("second@"), "{refused}");
    let again = run(&store, &["--json", "model", "migrate", &second]);
    assert!(again.contains("\"embedded\": 0"), "{again}");
}

#[test]
fn the_language_of_the_first_import_chooses_the_model() {
    const GERMAN: [&str; 3] = [
        "Die Waschmaschine ist kaputt und der Techniker kommt erst am nächsten Dienstag.",
        "Wir haben uns für die Wohnung in der Schillerstraße entschieden, weil sie günstiger ist.",
        "Bitte denk daran, dass die Kinder am Freitag früher aus der Schule kommen.",
    ];
    const ENGLISH: [&str; 3] = [
        "The washing machine is broken and the technician will not be here before Tuesday.",
        "We have decided on the flat in Schiller Street because it is cheaper than the other one.",
        "Please remember that the children will be home early on Friday.",
    ];
    let recorded = |texts: [&str; 3], installed: &[&str]| {
        let store = Store::new();
        let models = store.path("models");
        fs::create_dir(&models).unwrap();
        for name in installed {
            let table = table(&store, name, &[("[UNK]", [0.1, 0.1]), ("die", [1.0, 0.0]), ("the", [0.0, 1.0])]);
            fs::rename(table, Path::new(&models).join(name)).unwrap();
        }
        let line = |text: &&str| serde_json::json!({"role": "user", "content": text}).to_string() + "\n";
        let file = store.file("talk.jsonl", &texts.iter().map(line).collect::<String>());
        let hybrid = |args: &[&str]| store.hybrid(args).env("MEMORY_MODELS", &models).output().unwrap();
        let imported = hybrid(&["import", "--format", "jsonl", &file]);
        let notes = String::from_utf8(imported.stderr).unwrap();
        let setup = String::from_utf8(hybrid(&["doctor"]).stdout).unwrap();
        let record = fs::read_to_string(store.path("store/MODEL")).unwrap();
        assert!(setup.contains("all of them, so that recall finds them by meaning"), "{setup}");
        let is_said = notes.contains("memory model migrate multilingual-e5-small");
        assert_eq!(is_said, setup.contains("memory model migrate multilingual-e5-small"), "{notes}{setup}");
        (record.lines().nth(1).unwrap().trim_start_matches("name ").to_owned(), is_said)
    };
    let both = ["potion-base-8M", "multilingual-e5-small"];
    assert_eq!(recorded(GERMAN, &both), ("multilingual-e5-small".to_owned(), false));
    assert_eq!(recorded(ENGLISH, &both), ("potion-base-8M".to_owned(), false));
    assert_eq!(recorded(GERMAN, &["potion-base-8M"]), ("potion-base-8M".to_owned(), true));
}

#[test]
fn the_list_says_what_a_model_costs() {
    let store = Store::new();
    let list = run(&store, &["--json", "model", "list"]);
    for said in [
        "all-MiniLM-L6-v2/int8",
        "multilingual-e5-small/int8",
        "potion-base-8M",
        "all-mpnet-base-v2/fp32",
        "sentence-transformers/all-MiniLM-L12-v2",
        "cross-encoder/ms-marco-MiniLM-L-6-v2",
        "\"dimensions\": 384",
        "Apache-2.0",
        "download_bytes",
        "messages_per_s",
    ] {
        assert!(list.contains(said), "{said}: {list}");
    }
}

#[test]
fn an_unknown_model_is_refused_with_those_there_are() {
    let store = Store::new();
    let refused = failure(&mut store.hybrid(&["model", "fetch", "no-such-model"]), 1);
    assert!(refused.contains("all-MiniLM-L6-v2"), "{refused}");
}

#[test]
fn a_model_that_was_put_there_by_hand_is_listed_and_used_by_its_name() {
    let store = Store::new();
    let models = store.path("models");
    fs::create_dir(&models).unwrap();
    // The words of the test, alike where it says so; and a table in which others have their vectors.
    let [alike, unlike, neither] = [[1.0, 0.0], [0.0, 1.0], [0.1, 0.1]];
    let words = |release, tulips| {
        let likes = ["deploy", "sister", "hospital", "dentist"].map(|word| (word, alike));
        let others = ["compiler", "budget"].map(|word| (word, unlike));
        let rest = ["[UNK]", "the", "is"].map(|word| (word, neither));
        [&rest[..], &[("release", release), ("tulips", tulips)], &likes, &others].concat()
    };
    for (name, release, tulips) in [("mine", alike, unlike), ("mixed-up", unlike, alike)] {
        fs::rename(table(&store, name, &words(release, tulips)), Path::new(&models).join(name)).unwrap();
    }
    let list = success(store.hybrid(&["--json", "model", "list"]).env("MEMORY_MODELS", &models));
    assert!(list.contains("\"name\": \"mine\""), "{list}");
    let said = success(store.hybrid(&["--json", "model", "test", "mine"]).env("MEMORY_MODELS", &models));
    assert!(said.contains("mine@") && said.contains("texts_per_s") && said.contains("\"passed\": true"), "{said}");
    let mixed_up =
        store.hybrid(&["--json", "model", "test", "mixed-up"]).env("MEMORY_MODELS", &models).output().unwrap();
    let [printed, refused] = [&mixed_up.stdout, &mixed_up.stderr].map(|said| String::from_utf8_lossy(said));
    assert_eq!(mixed_up.status.code(), Some(1), "{refused}");
    assert!(printed.contains("\"passed\": false") && refused.contains("its files do not belong together"), "{refused}");
    assert!(!Path::new(&store.path("store")).exists(), "only the model was looked at");
    let broken = Path::new(&models).join("broken");
    fs::create_dir(&broken).unwrap();
    fs::write(broken.join("model.onnx"), "no graph").unwrap();
    let refused = failure(store.hybrid(&["model", "test", "broken"]).env("MEMORY_MODELS", &models), 1);
    assert!(refused.contains("broken"), "{refused}");
    let absent = failure(store.hybrid(&["model", "test", "no-such-model"]).env("MEMORY_MODELS", &models), 1);
    assert!(absent.contains("no-such-model"), "{absent}");
}

#[test]
fn a_reranker_that_is_not_there_is_an_error_that_says_how_to_get_it() {
    let store = Store::new();
    let file = store.file("talk.jsonl", &support::messages(12));
    store.succeed(&["import", "--format", "jsonl", &file]);
    let models = store.path("models");
    for name in ["ms-marco-MiniLM", "./no-such-directory"] {
        let refused = failure(store.hybrid(&["--reranker", name, "search", "ferry"]).env("MEMORY_MODELS", &models), 1);
        assert!(refused.contains("memory model fetch"), "{refused}");
    }
    success(store.hybrid(&["--reranker", "none", "search", "ferry"]).env("MEMORY_MODELS", &models));
    let refused = failure(store.hybrid(&["--min-score", "0", "search", "ferry"]).env("MEMORY_MODELS", &models), 2);
    assert!(refused.contains("--reranker"), "{refused}");
}

#[test]
fn how_vectors_are_compared_can_be_chosen_and_is_told() {
    let store = Store::new();
    let first = first(&store);
    let file = store.file("talk.jsonl", &support::messages(12));
    run(&store, &["--embedding-model", &first, "import", "--format", "jsonl", &file]);
    run(&store, &["index"]);
    let backends = ["fastest", "scan", "graph"].into_iter().chain(cfg!(feature = "hnsw-rs").then_some("hnsw-rs"));
    for how in backends.clone() {
        let found = run(&store, &["--vectors", how, "--json", "search", "the ferry"]);
        let found: Value = serde_json::from_str(&found).unwrap();
        // The graph of so few would have to meet all of them.
        assert!(found["steps"].to_string().contains(r#""compared":{"talk":["scan"]}"#), "{how}: {found}");
    }
    let explained = run(&store, &["search", "--explain", "the ferry"]);
    assert!(explained.contains("vectors compared by scan in 1 conversation"), "{explained}");
    let words = run(&store, &["--words-only", "--json", "search", "the ferry"]);
    let words = serde_json::from_str::<Value>(&words).unwrap();
    let steps = words["steps"].as_array().unwrap();
    assert!(!steps.is_empty() && steps.iter().all(|step| step["compared"] == json!({})), "{words}");
    failure(&mut store.hybrid(&["--vectors", "guess", "search", "the ferry"]), 2);
    // Each way finds the same, whichever was used before.
    let long = store.file("long.jsonl", &support::messages(400));
    run(&store, &["import", "--format", "jsonl", "-c", "long", &long]);
    run(&store, &["index"]);
    let hits = |how: &str| {
        let found =
            run(&store, &["--vectors", how, "--json", "search", "-c", "long", "--limit", "5", "is the platform"]);
        serde_json::from_str::<Value>(&found).unwrap()["hits"].clone()
    };
    let expected = hits("scan");
    assert_eq!(expected.as_array().unwrap().len(), 5, "{expected}");
    for how in backends.chain(["fastest"]) {
        assert_eq!(hits(how), expected, "{how}");
    }
}
