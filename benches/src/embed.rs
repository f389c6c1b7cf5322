//! The group `embed`: speed of embedding, and similarity of the fast vectors to the exact ones.

mod python;

use std::{ffi::OsStr, path::Path, thread, time::Instant};

use anyhow::{Context, Result, ensure};
use fastrand::Rng;
use memory::{Access, Config};
use memory_core::{ConversationId, Message, NodeDraft, Timestamp, port::Embedder};
use memory_embed::{ALL_MINILM_L6_V2, ModelFiles, ModelStore, OnnxEmbedder, OnnxOptions, Precision};
use pollster::block_on;

use self::python::{Job, Peer};
use crate::{
    corpus::Corpus,
    figure::{Entrant, Figure, interleave},
    process,
};

const SENTENCE_TRANSFORMERS: &str = "sentence-transformers";
const ONNXRUNTIME: &str = "onnxruntime";
const ONNXRUNTIME_SORTED: &str = "onnxruntime, sorted by length";
const RATE: [&str; 1] = ["texts/s"];
/// Approximate bytes of a token of the texts.
const BYTES_PER_TOKEN: f64 = 5.0;
/// Bytes of a very long message.
const LARGEST: usize = 5_000_000;

/// Our embedder, and the peers if their environment can be made.
struct Contenders {
    full: OnnxEmbedder,
    int8: OnnxEmbedder,
    peers: Option<[Peer; 3]>,
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
    let mixed = mixed();
    let mut figures = nearness(&mut contenders, &mixed)?;
    figures.push(largest(scratch)?);
    // Only the mixed set has bars.
    for texts in [mixed, Texts::of("_short", 200, || 18.0), Texts::of("_long", 32, || 185.0)] {
        eprintln!("embed: {}", texts.what());
        figures.extend(speed(&mut contenders, &texts)?);
    }
    Ok(figures)
}

fn peers(store: &ModelStore, full: &ModelFiles) -> Result<[Peer; 3]> {
    let python = python::environment(store.root())?;
    let directory = store.directory_of(ALL_MINILM_L6_V2.name);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let start = |kind| {
        let job = Job { kind, directory: &directory, graph: &full.model, max_tokens: full.max_tokens, threads };
        Peer::start(&python, &job)
    };
    Ok([start(SENTENCE_TRANSFORMERS)?, start(ONNXRUNTIME)?, start(ONNXRUNTIME_SORTED)?])
}

/// Similarity of 8-bit vectors to 32-bit ones, and of our 32-bit vectors to those of the same graph in Python.
fn nearness(contenders: &mut Contenders, texts: &Texts) -> Result<Vec<Figure>> {
    let Contenders { full, int8, peers } = contenders;
    let (full, int8) = (vectors(full, texts)?, vectors(int8, texts)?);
    let figure = |key, cosines: &[f64]| {
        let least = cosines.iter().copied().fold(1.0, f64::min);
        Figure::single(key, mean(cosines), "", format!("{}, {least:.4} at worst", texts.what()))
    };
    let mut figures = vec![figure("quantized_mean_cosine", &cosines(&int8, &full))];
    if let Some([_, onnxruntime, ..]) = peers {
        let python = onnxruntime.vectors(&texts.texts)?;
        figures.push(figure("fp32_cosine_to_python", &cosines(&full, &python)));
    }
    Ok(figures)
}

/// Texts a second of all contenders, in turn.
fn speed(contenders: &mut Contenders, texts: &Texts) -> Result<Vec<Figure>> {
    let Contenders { full, int8, peers } = contenders;
    let key = |name: &str| format!("{name}{}", texts.suffix);
    let note = format!("{} at once", texts.what());
    let ours = |name: &'static str, embedder| Entrant::new(name, RATE, move || Ok([rate(embedder, texts)?]));
    // Missing peers were reported before.
    let Some([sentence, onnx, sorted]) = peers else { return Ok(Vec::new()) };
    let [[full], [int8], [sentence], [onnx], [sorted]] = interleave([
        ours("fp32", full),
        ours("int8", int8),
        theirs(texts, SENTENCE_TRANSFORMERS, sentence),
        theirs(texts, ONNXRUNTIME, onnx),
        theirs(texts, ONNXRUNTIME_SORTED, sorted),
    ])?;
    let faster = if sorted.median() >= onnx.median() { &sorted } else { &onnx };
    let batches = format!("{note}; the peer in batches of 32, by length or as they come, whichever is faster");
    let bits = format!("{note}; the peer computes in 32 bits, as its package does");
    Ok(vec![
        Figure::ratio(key("fp32_vs_sentence_transformers"), &full, &sentence, note),
        Figure::ratio(key("fp32_vs_python_onnxruntime"), &full, faster, batches),
        Figure::ratio(key("quantized_vs_sentence_transformers"), &int8, &sentence, bits),
    ])
}

fn theirs<'a>(texts: &'a Texts, name: &'static str, peer: &'a mut Peer) -> Entrant<'a, 1> {
    Entrant::new(name, RATE, move || Ok([peer.rate(&texts.texts)?]))
}

/// A set of texts of similar lengths: the same from the same seed.
#[derive(Debug)]
struct Texts {
    /// Suffix of the keys of its figures.
    suffix: &'static str,
    texts: Vec<String>,
}

impl Texts {
    fn of(suffix: &'static str, count: usize, mut tokens: impl FnMut() -> f64) -> Self {
        let mut corpus = Corpus::new(11);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most some 1,000")]
        let texts = (0..count).map(|_| corpus.text((tokens() * BYTES_PER_TOKEN) as usize)).collect();
        Self { suffix, texts }
    }

    fn what(&self) -> String {
        let kind = if self.suffix.is_empty() { "mixed" } else { self.suffix.trim_start_matches('_') };
        format!("{} {kind} texts", self.texts.len())
    }
}

/// Remarks and paragraphs as in conversations: 45 tokens on average, most of them shorter.
fn mixed() -> Texts {
    let mut rng = Rng::with_seed(7);
    // The sum of twelve uniform numbers is about normal; lengths of messages are about log-normal.
    Texts::of("", 200, || {
        let normal = (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
        (3.45 + 0.8 * normal).exp().clamp(4.0, 220.0)
    })
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

/// Indexes a short message and then one of 5 MB, and prints by how many megabytes the second raised the peak memory of
/// this process.
///
/// # Errors
/// When the model cannot be loaded, or the system does not report the peak.
pub(crate) fn print_largest(store: &Path) -> Result<()> {
    memory::limit_heap_arenas();
    let parts = memory::parts::open(&Config::new(store, Access::Write))?;
    ensure!(parts.vectors.is_some(), "there is no model: run `cargo xtask setup`");
    let id = ConversationId::new("talk")?;
    let index = |text: String| -> Result<f64> {
        block_on(parts.store.append(&id, vec![NodeDraft::new(Message::user(text), Timestamp::from_millis(0), 1)]))?;
        block_on(parts.retriever.catch_up(&id, &()))?;
        process::megabytes(None, "VmHWM")
    };
    let mut corpus = Corpus::new(5);
    let before = index(corpus.text(2_000))?;
    let mut text = String::with_capacity(LARGEST);
    while text.len() < LARGEST {
        text.push_str(&corpus.text(10_000));
        text.push('\n');
    }
    println!("{}", index(text)? - before);
    Ok(())
}

/// [`print_largest`] in a process of its own.
fn largest(scratch: &Path) -> Result<Figure> {
    eprintln!("embed: a message of {} MB", LARGEST / 1_000_000);
    let store = scratch.join("largest");
    let [megabytes] = process::numbers(process::task([OsStr::new("largest-message"), store.as_os_str()])?)?;
    let note = "by how much a message of 5 MB raised the peak of a process that had embedded a short one: words, vectors, \
                token vectors";
    Ok(Figure::single("largest_message_rss_mb", megabytes, "MB", note))
}
