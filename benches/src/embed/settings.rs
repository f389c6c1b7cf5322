//! Measurements behind the choice of thread counts and batch sizes.

use std::thread;

use anyhow::Result;
use memory_embed::{ModelFiles, OnnxEmbedder, OnnxOptions};

use super::{RATE, rate, texts::Texts};
use crate::{
    figure::Figure,
    rounds::{Entrant, interleave},
};

/// Compares the default settings with others on the mixed set, in 8 bits.
///
/// # Errors
/// When a model cannot be loaded or embeds nothing.
pub(super) fn measure(files: &ModelFiles, texts: &Texts) -> Result<Vec<Figure>> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let defaults = OnnxOptions::default();
    let load = |options: &OnnxOptions| OnnxEmbedder::load(files, options);
    let ours = load(&defaults)?;
    let one_session = load(&defaults.workers(1).threads_per_worker(processors))?;
    let batches = [64, 256, 512, 1024, 4096].map(|tokens| load(&defaults.batch_tokens(tokens)));
    let [b64, b256, b512, b1024, b4096] = batches;
    let (b64, b256, b512, b1024, b4096) = (b64?, b256?, b512?, b1024?, b4096?);

    let entrant = |name: &'static str, embedder| Entrant::new(name, RATE, move || Ok([rate(embedder, texts)?]));
    let [[ours], [one], [b64], [b256], [b512], [b1024], [b4096]] = interleave([
        entrant("defaults", &ours),
        entrant("one session", &one_session),
        entrant("64 tokens a batch", &b64),
        entrant("256 tokens a batch", &b256),
        entrant("512 tokens a batch", &b512),
        entrant("1,024 tokens a batch", &b1024),
        entrant("4,096 tokens a batch", &b4096),
    ])?;
    let note = format!("{} {} texts at once, int8", texts.texts.len(), texts.name);
    let threads = format!(
        "{note}; {processors} sessions of a thread each against one session of {processors} threads, both the default batches"
    );
    let batch = format!("{note}; the default batches against others");
    let mut figures = vec![Figure::ratio("sessions_vs_threads", &ours, &one, threads)];
    let peers = [
        ("batch_tokens_vs_64", &b64),
        ("batch_tokens_vs_256", &b256),
        ("batch_tokens_vs_512", &b512),
        ("batch_tokens_vs_1024", &b1024),
        ("batch_tokens_vs_4096", &b4096),
    ];
    figures.extend(peers.map(|(key, peer)| Figure::ratio(key, &ours, peer, batch.clone())));
    Ok(figures)
}
