//! The vectors of tokens, from the pinned model.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which the lints do not know as tests")]

use std::env;

use memory_core::port::{Embedder, TokenEmbedder, TokenEmbedding, TokenVectors};
use memory_embed::{ALL_MINILM_L6_V2, ModelStore, OnnxEmbedder, OnnxOptions};
use pollster::block_on;

/// The embedder of the pinned model; without its files a test is skipped, but fails where `CI=true`.
fn embedder_or_skip() -> Option<OnnxEmbedder> {
    match ModelStore::discover(None).and_then(|store| store.locate(&ALL_MINILM_L6_V2)) {
        Ok(files) => Some(OnnxEmbedder::load(&files, &OnnxOptions::default().workers(2)).unwrap()),
        Err(error) if env::var_os("CI").is_some_and(|ci| ci == "true") => panic!("{error}"),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

fn with_tokens(embedder: &OnnxEmbedder, texts: &[&str]) -> Vec<Vec<TokenEmbedding>> {
    block_on(embedder.embed_documents_with_tokens(texts)).unwrap()
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

/// The mean over the question's tokens of the largest cosine with one of the text's.
fn max_sim(question: &TokenVectors, text: &TokenVectors) -> f32 {
    let best = |(_, token): (u32, &[f32])| {
        text.iter().map(|(_, other)| cosine(token, other)).fold(f32::NEG_INFINITY, f32::max)
    };
    let sum: f32 = question.iter().map(best).sum();
    #[expect(clippy::cast_precision_loss, reason = "a few tokens")]
    let tokens = question.len() as f32;
    sum / tokens
}

const DISK: &str = "The deploy failed because the disk was full.";
const TULIPS: &str = "She planted tulips in the garden last spring.";

#[test]
fn the_vectors_of_chunks_are_those_without_tokens() {
    let Some(embedder) = embedder_or_skip() else { return };
    let long = "The meeting went on about the weather. ".repeat(60);
    let texts = [DISK, "", &long];
    let plain = block_on(embedder.embed_documents(&texts)).unwrap();
    for (plain, found) in plain.iter().zip(with_tokens(&embedder, &texts)) {
        let wholes: Vec<Vec<f32>> = found.into_iter().map(|chunk| chunk.whole).collect();
        assert_eq!(*plain, wholes);
    }
    let question = block_on(embedder.embed_query_with_tokens("Why did the rollout break?")).unwrap();
    assert_eq!(question.whole, block_on(embedder.embed_query("Why did the rollout break?")).unwrap());
}

#[test]
fn tokens_are_unit_vectors_and_their_mean_is_the_texts_vector() {
    let Some(embedder) = embedder_or_skip() else { return };
    for chunks in with_tokens(&embedder, &[DISK, TULIPS]) {
        let [TokenEmbedding { whole, tokens, .. }] = chunks.as_slice() else { panic!("{} chunks", chunks.len()) };
        assert_eq!(tokens.dimensions(), embedder.token_dimensions());
        assert!((8..=11).contains(&tokens.len()), "{} tokens of eight or nine words", tokens.len());
        let mut sum = vec![0.0; whole.len()];
        for (_, token) in tokens.iter() {
            assert!((token.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-5);
            sum.iter_mut().zip(token).for_each(|(sum, x)| *sum += x);
        }
        // Not quite: the model's mean is over tokens of their own lengths, and over the two around the text.
        assert!(cosine(&sum, whole) > 0.97, "{}", cosine(&sum, whole));
    }
}

#[test]
fn the_same_word_has_the_same_number_and_the_ends_are_left_out() {
    let Some(embedder) = embedder_or_skip() else { return };
    let chunks = with_tokens(&embedder, &["disk", "the disk", ""]);
    let ids: Vec<&[u32]> = chunks.iter().map(|chunks| chunks[0].tokens.ids()).collect();
    assert_eq!(ids[0].len(), 1);
    assert_eq!(ids[1].last(), ids[0].first());
    assert!(chunks[2][0].tokens.is_empty(), "{:?}", ids[2]);
}

#[test]
fn a_long_question_has_the_tokens_of_all_its_chunks() {
    let Some(embedder) = embedder_or_skip() else { return };
    let long = "What was said about the weather and the chairs? ".repeat(60);
    let found = block_on(embedder.embed_query_with_tokens(&long)).unwrap();
    assert!(found.tokens.len() > 500, "{} tokens", found.tokens.len());
    assert_eq!(found.tokens.components().len(), found.tokens.len() * embedder.token_dimensions());
}

#[test]
fn late_interaction_finds_the_text_that_answers() {
    let Some(embedder) = embedder_or_skip() else { return };
    let embedder: &dyn Embedder = &embedder;
    let embedder = embedder.with_tokens().unwrap();
    let question = block_on(embedder.embed_query_with_tokens("Why did the rollout break?")).unwrap();
    let texts = block_on(embedder.embed_documents_with_tokens(&[TULIPS, DISK])).unwrap();
    let [tulips, disk] = [0, 1].map(|text: usize| max_sim(&question.tokens, &texts[text][0].tokens));
    assert!(disk > tulips + 0.05, "{disk} and {tulips}");
}
