//! Tests of the compiled vocabulary against the tokenizer that it stands for.

use std::{env, fs};

use proptest::{prelude::*, test_runner::TestRunner};
use tokenizers::{Model, models::unigram::Unigram};

use super::*;
use crate::{
    MULTILINGUAL_E5_SMALL, ModelFiles, ModelStore,
    onnx::{splitter::Splitter, workers::Priority},
};

/// Pieces that share prefixes, in several scripts, with ties and one twice.
const PIECES: &[(&str, f64)] = &[
    ("<s>", 0.0),
    ("<unk>", 0.0),
    ("▁", -2.0),
    ("a", -3.0),
    ("ab", -4.5),
    ("abc", -6.5),
    ("b", -3.5),
    ("bc", -3.0),
    ("c", -4.0),
    ("▁a", -3.0),
    ("▁ab", -4.0),
    ("会", -5.0),
    ("会議", -6.0),
    ("議", -5.5),
    ("न", -4.0),
    ("नम", -4.25),
    ("म", -4.0),
    ("é", -7.0),
    ("😀", -7.5),
    ("aa", -6.0),
    ("b", -3.25),
];

fn tokenizer(pieces: &[(String, f64)], more: &Value) -> Vec<u8> {
    let mut json = json!({
        "version": "1.0", "truncation": null, "padding": null, "normalizer": null, "pre_tokenizer": null,
        "added_tokens": [{"id": 0, "content": "<s>", "special": true}],
        "post_processor": null, "decoder": null,
        "model": {"type": "Unigram", "unk_id": 1, "byte_fallback": false, "vocab": pieces},
    });
    for (key, value) in more.as_object().unwrap() {
        json[key] = value.clone();
    }
    serde_json::to_vec(&json).unwrap()
}

fn owned(pieces: &[(&str, f64)]) -> Vec<(String, f64)> {
    pieces.iter().map(|(piece, score)| ((*piece).to_owned(), *score)).collect()
}

fn compiled(pieces: &[(String, f64)]) -> Vec<u8> {
    compile(&tokenizer(pieces, &json!({})), [7; 32]).unwrap().unwrap()
}

#[test]
fn the_file_names_its_source_and_gives_the_rest_back() {
    let file = compiled(&owned(PIECES));
    assert!(Vocabulary::is_compiled(&file) && !Vocabulary::is_compiled(b"{}"));
    let (vocabulary, rest) = Vocabulary::read(&file).unwrap();
    assert_eq!(vocabulary.source, "07".repeat(32));
    let rest = tokenizers::Tokenizer::from_bytes(rest).unwrap();
    assert_eq!(rest.get_vocab_size(true), 1);
}

#[test]
fn a_file_that_is_cut_short_is_an_error() {
    let file = compiled(&owned(PIECES));
    for length in 0..file.len() {
        assert!(Vocabulary::read(&file[..length]).is_err(), "{length} bytes");
    }
}

#[test]
fn names_of_special_tokens_are_text() {
    let file = compiled(&owned(PIECES));
    let (vocabulary, _) = Vocabulary::read(&file).unwrap();
    let ids: Vec<u32> = vocabulary.tokens("a<s>").iter().map(|token| token.id).collect();
    assert_eq!(ids, [3, 1], "unknown characters, not the token 0");
}

#[test]
fn what_needs_more_is_left_to_its_tokenizer() {
    let left = |more: Value| compile(&tokenizer(&owned(PIECES), &more), [0; 32]).unwrap().is_none();
    assert!(!left(json!({})));
    assert!(left(json!({"added_tokens": [{"id": 21, "content": "word", "special": false}]})));
    for model in [
        json!({"type": "Unigram", "unk_id": null, "vocab": [["a", 0.0]]}),
        json!({"type": "Unigram", "unk_id": 0, "vocab": [["a", 0.0]], "byte_fallback": true}),
        json!({"type": "BPE", "vocab": {}, "merges": []}),
    ] {
        assert!(left(json!({"model": model})), "{model}");
    }
    assert!(compile(b"{", [0; 32]).is_err());
}

fn same_tokens(pieces: &[(String, f64)], word: &str) -> Result<(), TestCaseError> {
    let file = compiled(pieces);
    let (vocabulary, _) = Vocabulary::read(&file).unwrap();
    // The special token cannot be told from text here, so the original must not find it either.
    let mut known = pieces.to_vec();
    known[0].0 = "\u{1}\u{2}".to_owned();
    known[1].0 = "\u{2}\u{1}".to_owned();
    let original = Unigram::from(known, Some(1), false).unwrap();
    prop_assert_eq!(vocabulary.tokens(word), original.tokenize(word).unwrap());
    Ok(())
}

proptest! {
    #[test]
    fn words_have_the_tokens_of_the_original(word in "[▁abc会議नमé😀x]{0,40}") {
        same_tokens(&owned(PIECES), &word)?;
    }

    #[test]
    fn any_pieces_give_the_tokens_of_the_original(
        pieces in prop::collection::vec(("[ab会न]{1,4}", -9.0f64..0.0), 1..40),
        word in "[ab会नz]{0,30}",
    ) {
        same_tokens(&[owned(&PIECES[..2]), pieces].concat(), &word)?;
    }
}

/// Statements in ten languages with their tokens by the package of the pinned model.
const STATEMENTS: &str = include_str!("../../../tests/multilingual.jsonl");

/// The compiled tokenizer of the pinned model; without it a test is skipped, but fails where `CI=true`.
fn pinned_or_skip() -> Option<ModelFiles> {
    match ModelStore::discover(None).and_then(|store| store.locate(&MULTILINGUAL_E5_SMALL)) {
        Ok(files) => Some(files),
        Err(error) if env::var_os("CI").is_some_and(|ci| ci == "true") => panic!("{error}"),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

#[test]
fn the_tokens_of_the_pinned_model_are_those_of_its_package() {
    let Some(files) = pinned_or_skip() else { return };
    let splitter = Splitter::new(&fs::read(&files.tokenizer).unwrap(), 256, 0).unwrap();
    assert!(splitter.compiled_from().is_some());
    for line in STATEMENTS.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let tokens: Vec<u32> = serde_json::from_value(line["tokens"].clone()).unwrap();
        let text = line["text"].as_str().unwrap();
        assert_eq!(splitter.tokens(&format!("passage: {text}")).unwrap().0, tokens, "{text}");
        let chunks = splitter.split(text, Priority::Indexing, false).unwrap();
        let framed = [&[0], tokens.get(2..).unwrap(), &[2]].concat();
        assert_eq!((chunks.len(), &chunks[0].ids), (1, &framed), "{text}");
    }
}

#[test]
fn any_text_has_the_tokens_and_places_that_tokenizers_finds() {
    let Some(files) = pinned_or_skip() else { return };
    let json = files.tokenizer.with_file_name("../tokenizer.json");
    let original = Splitter::new(&fs::read(json).unwrap(), 256, 0).unwrap();
    let compiled = Splitter::new(&fs::read(&files.tokenizer).unwrap(), 256, 0).unwrap();
    assert!(original.compiled_from().is_none());
    let texts: Vec<Value> = STATEMENTS.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let words: Vec<String> =
        texts.iter().flat_map(|line| line["text"].as_str().unwrap().split(' ')).map(str::to_owned).collect();
    let odd = [
        " ",
        "\t",
        "\r\n",
        "\u{200d}",
        "👩\u{200d}💻",
        "e\u{301}",
        "A\u{30a}",
        "ﬃ",
        "™\u{fe0f}",
        "①",
        "\u{1}",
        "▁",
        "½",
    ];
    let odd = odd.map(str::to_owned).to_vec();
    let word = prop_oneof![6 => prop::sample::select(words), 1 => prop::sample::select(odd), 2 => ".{1,6}"];
    let text = prop::collection::vec(word, 0..30);
    let mut runner = TestRunner::new(ProptestConfig::with_cases(500));
    let same = |words: Vec<String>| {
        for text in [words.concat(), words.join(" ")] {
            // A name of a special token is text in one, and the token in the other.
            prop_assume!(!["<s>", "<pad>", "</s>", "<unk>", "<mask>"].iter().any(|name| text.contains(name)));
            prop_assert_eq!(compiled.tokens(&text).unwrap(), original.tokens(&text).unwrap(), "{:?}", text);
        }
        Ok(())
    };
    runner.run(&text, same).unwrap();
}
