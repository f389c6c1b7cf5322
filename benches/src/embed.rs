//! The group `embed`: how fast texts become vectors, and how close the fast vectors are to the exact ones.

mod largest;
mod python;
mod resident;
mod settings;
mod texts;

use std::{path::Path, thread, time::Instant};

use anyhow::{Context, Result};
use memory_core::Embedder;
use memory_embed::{ALL_MINILM_L6_V2, ModelFiles, ModelStore, OnnxEmbedder, OnnxOptions, Precision};
use pollster::block_on;

use crate::{
    figure::Figure,
    rounds::{Entrant, Samples, interleave},
    stats::Spread,
};
pub use largest::print_largest;
use python::{Job, Peer};
pub use resident::print_resident;
use texts::Texts;

const SENTENCE_TRANSFORMERS: &str = "sentence-transformers";
const ONNXRUNTIME: &str = "onnxruntime";
const ONNXRUNTIME_SORTED: &str = "onnxruntime, sorted by length";
/// The least work of a 32-bit encoder; gives no vectors.
const PRODUCTS: &str = "matrix products alone";

const RATE: [&str; 1] = ["texts/s"];

/// Our embedder, and the peers if their environment can be made.
struct Contenders {
    full: OnnxEmbedder,
    int8: OnnxEmbedder,
    peers: Option<[Peer; 4]>,
}

/// Measures the group.
///
/// # Errors
/// When the model is missing, or a measurement fails. Peers that cannot be installed are skipped together with their
/// figures, and a message states it.
pub(crate) fn measure(scratch: &Path) -> Result<Vec<Figure>> {
    let store = ModelStore::discover(None)?;
    let files = |precision| store.locate_with(ALL_MINILM_L6_V2.name, precision).context("run `cargo xtask setup`");
    let (full, int8) = (files(Precision::Full)?, files(Precision::Int8)?);
    let load = |files: &ModelFiles| OnnxEmbedder::load(files, &OnnxOptions::default());
    let mut contenders = Contenders {
        full: load(&full)?,
        int8: load(&int8)?,
        peers: match peers(&store, &full) {
            Ok(peers) => Some(peers),
            Err(error) => {
                eprintln!("embed: skipped the figures beside Python, as its packages cannot be had: {error:#}");
                None
            }
        },
    };
    let mixed = texts::mixed();
    let mut figures = nearness(&mut contenders, &mixed)?;
    figures.push(resident::measure()?);
    figures.push(largest::measure(scratch)?);
    eprintln!("embed: threads and batches");
    let chosen = settings::measure(&files(Precision::Int8)?, &mixed)?;
    for texts in [mixed, texts::short(), texts::long()] {
        eprintln!("embed: {} texts, {}", texts.texts.len(), texts.name);
        figures.extend(speed(&mut contenders, &texts)?);
    }
    figures.extend(chosen);
    Ok(figures)
}

fn peers(store: &ModelStore, full: &ModelFiles) -> Result<[Peer; 4]> {
    let python = python::environment(store.root())?;
    let directory = store.directory_of(ALL_MINILM_L6_V2.name);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let start = |kind| {
        let job = Job { kind, directory: &directory, graph: &full.model, max_tokens: full.max_tokens, threads };
        Peer::start(&python, &job)
    };
    Ok([start(SENTENCE_TRANSFORMERS)?, start(ONNXRUNTIME)?, start(ONNXRUNTIME_SORTED)?, start(PRODUCTS)?])
}

/// How close 8 bits are to 32, and our 32 bits to the same graph in Python.
fn nearness(contenders: &mut Contenders, texts: &Texts) -> Result<Vec<Figure>> {
    let Contenders { full, int8, peers } = contenders;
    let (full, int8) = (vectors(full, texts)?, vectors(int8, texts)?);
    let note = |least: f64| format!("{} {} texts, {least:.4} at worst", texts.texts.len(), texts.name);
    let figure = |key, name: &str, cosines: &[f64]| {
        let samples = Samples { name: name.to_owned(), unit: "", values: vec![mean(cosines)] };
        Figure::absolute(key, &samples, note(cosines.iter().copied().fold(1.0, f64::min)))
    };
    let mut figures = vec![figure("quantized_mean_cosine", "int8", &cosines(&int8, &full))];
    if let Some([_, onnxruntime, ..]) = peers {
        let python = onnxruntime.vectors(&texts.texts)?;
        figures.push(figure("fp32_cosine_to_python", "fp32", &cosines(&full, &python)));
    }
    Ok(figures)
}

/// Texts a second of all contenders, by turns.
fn speed(contenders: &mut Contenders, texts: &Texts) -> Result<Vec<Figure>> {
    let Contenders { full, int8, peers } = contenders;
    let note = format!("{} {} texts at once", texts.texts.len(), texts.name);
    let ours = |name: &'static str, embedder| Entrant::new(name, RATE, move || Ok([rate(embedder, texts)?]));
    let Some([sentence, onnx, sorted, products]) = peers else {
        let [[full], [int8]] = interleave([ours("fp32", full), ours("int8", int8)])?;
        return Ok(vec![
            Figure::absolute(key(texts, Key::Fp32), &full, note.clone()),
            Figure::absolute(key(texts, Key::Int8), &int8, note),
        ]);
    };
    let [[full], [int8], [sentence], [onnx], [sorted], [products]] = interleave([
        ours("fp32", full),
        ours("int8", int8),
        theirs(texts, SENTENCE_TRANSFORMERS, sentence),
        theirs(texts, ONNXRUNTIME, onnx),
        theirs(texts, ONNXRUNTIME_SORTED, sorted),
        theirs(texts, PRODUCTS, products),
    ])?;
    let median = |samples: &Samples| Spread::of(&samples.values).median;
    let (faster, slower) = if median(&sorted) >= median(&onnx) { (&sorted, &onnx) } else { (&onnx, &sorted) };
    let batches = "the peer in batches of 32, by length or as they come";
    Ok(vec![
        Figure::ratio(key(texts, Key::Fp32VsSentence), &full, &sentence, note.clone()),
        Figure::ratio(key(texts, Key::Fp32VsOnnx), &full, faster, format!("{note}; {batches}, whichever is faster")),
        Figure::ratio(key(texts, Key::Fp32VsSlowerOnnx), &full, slower, format!("{note}; {batches}, the slower")),
        Figure::ratio(
            key(texts, Key::Int8VsSentence),
            &int8,
            &sentence,
            format!("{note}; the peer computes in 32 bits, as its package does"),
        ),
        Figure::ratio(
            key(texts, Key::FloorVsSentence),
            &products,
            &sentence,
            format!(
                "{note}; PyTorch's products of the linear layers, a processor each, without padding, and nothing else"
            ),
        ),
    ])
}

fn theirs<'a>(texts: &'a Texts, name: &'static str, peer: &'a mut Peer) -> Entrant<'a, 1> {
    Entrant::new(name, RATE, move || Ok([peer.rate(&texts.texts)?]))
}

#[derive(Clone, Copy)]
enum Key {
    Fp32,
    Int8,
    Fp32VsSentence,
    Fp32VsOnnx,
    Fp32VsSlowerOnnx,
    Int8VsSentence,
    FloorVsSentence,
}

/// Only the figures of the mixed set have bars.
fn key(texts: &Texts, key: Key) -> &'static str {
    let [mixed, short, long] = match key {
        Key::Fp32 => ["fp32_texts_per_s", "fp32_texts_per_s_short", "fp32_texts_per_s_long"],
        Key::Int8 => ["quantized_texts_per_s", "quantized_texts_per_s_short", "quantized_texts_per_s_long"],
        Key::Fp32VsSentence => [
            "fp32_vs_sentence_transformers",
            "fp32_vs_sentence_transformers_short",
            "fp32_vs_sentence_transformers_long",
        ],
        Key::Fp32VsOnnx => {
            ["fp32_vs_python_onnxruntime", "fp32_vs_python_onnxruntime_short", "fp32_vs_python_onnxruntime_long"]
        }
        Key::Fp32VsSlowerOnnx => [
            "fp32_vs_slower_python_onnxruntime",
            "fp32_vs_slower_python_onnxruntime_short",
            "fp32_vs_slower_python_onnxruntime_long",
        ],
        Key::FloorVsSentence => [
            "fp32_floor_vs_sentence_transformers",
            "fp32_floor_vs_sentence_transformers_short",
            "fp32_floor_vs_sentence_transformers_long",
        ],
        Key::Int8VsSentence => [
            "quantized_vs_sentence_transformers",
            "quantized_vs_sentence_transformers_short",
            "quantized_vs_sentence_transformers_long",
        ],
    };
    match texts.name {
        "short" => short,
        "long" => long,
        _ => mixed,
    }
}

fn rate(embedder: &OnnxEmbedder, texts: &Texts) -> Result<f64> {
    let start = Instant::now();
    vectors(embedder, texts)?;
    #[expect(clippy::cast_precision_loss, reason = "some hundreds")]
    Ok(texts.texts.len() as f64 / start.elapsed().as_secs_f64())
}

/// The first vector of each text; no text is longer than the model's input.
fn vectors(embedder: &OnnxEmbedder, texts: &Texts) -> Result<Vec<Vec<f32>>> {
    let texts: Vec<&str> = texts.texts.iter().map(String::as_str).collect();
    Ok(block_on(embedder.embed_documents(&texts))?.into_iter().filter_map(|chunks| chunks.into_iter().next()).collect())
}

fn cosines(a: &[Vec<f32>], b: &[Vec<f32>]) -> Vec<f64> {
    let cosine = |(a, b): (&Vec<f32>, &Vec<f32>)| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
    a.iter().zip(b).map(cosine).collect()
}

fn mean(values: &[f64]) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "some hundreds")]
    let count = values.len() as f64;
    values.iter().sum::<f64>() / count
}
