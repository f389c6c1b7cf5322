//! `memory model test`: tests the embedding set-up alone, or a chat model.

use std::time::Instant;

use anyhow::ensure;
use clap::Args as ClapArgs;
use memory::{OpenError, models};
use memory_core::port::Embedder;
use schemars::JsonSchema;
use serde::Serialize;

use super::chat;
use crate::{Access, Config, globals::Globals};

/// Tests the embedding set-up alone, or a chat model.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The embedding model [default: that of the store, else the best one that is present]; or a chat model, as in
    /// anthropic:NAME
    model: Option<String>,
}

/// A model that was tested.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer<'a> {
    /// Id of the model.
    model: &'a str,
    /// Number of components of a vector.
    dimensions: usize,
    /// Milliseconds to the first vector.
    start_ms: f64,
    /// Milliseconds per question.
    query_ms: f64,
    /// Messages per second.
    texts_per_s: f64,
    /// Least difference of cosines by which similar texts are nearer than dissimilar ones.
    least_margin: f32,
    /// True if every margin is positive.
    passed: bool,
}

/// A sentence, one with a similar meaning, and one with another meaning.
const TRIPLES: [[&str; 3]; 3] = [
    [
        "The deploy failed because the disk was full.",
        "The release was aborted: no space left on the device.",
        "She planted tulips in the garden last spring.",
    ],
    [
        "My sister moved to Porto and works as a nurse.",
        "Her job is in a hospital in Portugal.",
        "The compiler reports an error in line nine.",
    ],
    ["When is the dentist's appointment?", "See the dentist on Tuesday at ten.", "The budget is 42,500 euros."],
];

/// Number of texts whose embedding is timed.
const TIMED: usize = 64;

pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let mut config = globals.config_at(globals.store()?, Access::Read);
    if args.model.is_some() {
        config.model.clone_from(&args.model);
    }
    if let Some(name) = args.model.as_deref().filter(|name| is_chat_model(name, &config)) {
        return chat::run(name, &config, globals.output).await;
    }
    let started = Instant::now();
    let embedder = match &config.model {
        Some(name) => models::load(&config, name)?,
        None => models::of_store(&config, None, false)?,
    };
    let first = embedder.embed_query("Is this thing on?").await?;
    let start = started.elapsed();
    ensure!(
        first.len() == embedder.dimensions(),
        "a vector has {} components, not {}",
        first.len(),
        embedder.dimensions()
    );

    let [query, documents] = speed(&*embedder).await?;
    let margins = margins(&*embedder).await?;
    let least = margins.iter().copied().fold(f32::INFINITY, f32::min);
    let output = globals.output;
    if output.json {
        output.value(&Answer {
            model: embedder.model().as_str(),
            dimensions: embedder.dimensions(),
            start_ms: start.as_secs_f64() * 1e3,
            query_ms: query * 1e3,
            texts_per_s: documents,
            least_margin: least,
            passed: least > 0.0,
        })?;
    } else {
        output.line(&format!("model       {}", embedder.model()))?;
        output.line(&format!("dimensions  {}", embedder.dimensions()))?;
        output.line(&format!("start       {:.0} ms to the first vector", start.as_secs_f64() * 1e3))?;
        output.line(&format!("speed       {:.1} ms a question, {documents:.0} messages/s", query * 1e3))?;
        output
            .line(&format!("likeness    like texts are nearer than unlike ones by a cosine of {least:.2} or more"))?;
    }
    ensure!(
        least > 0.0,
        "{} finds unlike texts nearer than like ones: its files do not belong together",
        embedder.model()
    );
    Ok(())
}

/// True if a name is that of a chat model: it has the prefix of one, and names no embedding model.
fn is_chat_model(name: &str, config: &Config) -> bool {
    let is_no_embedder = || match models::load(config, name) {
        Err(OpenError::RemoteModel(error)) => error.is_no_such_model(),
        _ => false,
    };
    models::names_chat_model(name) && (!models::is_remote(name) || is_no_embedder())
}

/// Seconds per question, and messages per second.
async fn speed(embedder: &dyn Embedder) -> anyhow::Result<[f64; 2]> {
    let texts: Vec<String> = (0..TIMED)
        .map(|n| {
            format!("Remark {n}: {}", "the ferry leaves the harbour at nine and comes back at noon. ".repeat(1 + n % 5))
        })
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    embedder.embed_documents(&texts).await?;
    let started = Instant::now();
    embedder.embed_documents(&texts).await?;
    #[expect(clippy::cast_precision_loss, reason = "a few dozen")]
    let rate = TIMED as f64 / started.elapsed().as_secs_f64();
    let mut times = Vec::new();
    for text in texts.iter().take(9) {
        let started = Instant::now();
        embedder.embed_query(text).await?;
        times.push(started.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok([times.get(times.len() / 2).copied().unwrap_or_default(), rate])
}

/// The margin of each triple: the similarity of the similar sentence less that of the other one.
async fn margins(embedder: &dyn Embedder) -> anyhow::Result<Vec<f32>> {
    let cosine = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    let mut margins = Vec::new();
    for [question, like, unlike] in TRIPLES {
        let question = embedder.embed_query(question).await?;
        let vectors = embedder.embed_documents(&[like, unlike]).await?.concat();
        if let [like, unlike] = vectors.as_slice() {
            margins.push(cosine(&question, like) - cosine(&question, unlike));
        }
    }
    Ok(margins)
}
