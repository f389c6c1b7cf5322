//! Vectors to search: embeddings of real text if available, otherwise generated ones; and their exact neighbours.

use std::{
    collections::HashSet,
    fs,
    num::NonZero,
    path::{Path, PathBuf},
    thread,
};

use anyhow::{Context, Result, ensure};
use directories::ProjectDirs;
use fastrand::Rng;
use indicatif::ProgressBar;
use memory_core::port::Embedder;
use memory_embed::{ALL_MINILM_L6_V2, ModelStore, OnnxEmbedder, OnnxOptions};
use memory_store::{Kernels, quantize};

use crate::eval;

/// Vectors of the large set, and of the set `1m` of the figures.
pub(super) const ROWS: usize = 100_000;
pub(super) const MILLION: usize = 1_000_000;
/// Number of results over which recall is counted.
pub(super) const TOP: usize = 10;
pub(super) const DIMENSIONS: usize = 384;
/// The most queries.
const QUERIES: usize = 500;
/// Texts that are embedded together.
const BATCH: usize = 500;
/// Vectors of a generated cluster.
const CLUSTER: usize = 100;

/// Threads that every index may build with.
pub(super) fn threads() -> NonZero<usize> {
    thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN)
}

/// Unit vectors, and queries.
#[derive(Debug)]
pub(super) struct Data {
    /// Description of the vectors.
    pub(super) what: String,
    components: Vec<f32>,
    queries: Vec<f32>,
}

impl Data {
    /// Up to `rows` embeddings of the texts below `eval`, with their questions as queries. Without texts or a model,
    /// generates vectors and states so in the description.
    pub(super) fn embedded(eval: Option<&Path>, rows: usize) -> Result<Self> {
        let Some(eval) = eval.filter(|eval| eval.is_dir()) else {
            eprintln!("vectors: no evaluation data, so vectors are made up; name its directory with --eval");
            return Ok(Self::made_up(rows, 7));
        };
        let files = match ModelStore::discover(None).and_then(|models| models.locate(&ALL_MINILM_L6_V2)) {
            Ok(files) => files,
            Err(missing) => {
                eprintln!("vectors: {missing}, so vectors are made up");
                return Ok(Self::made_up(rows, 7));
            }
        };
        let texts = texts_below(eval, rows)?;
        let name = format!("{} {DIMENSIONS}", files.name);
        let embed = |texts: &[String]| {
            cached(&name, texts, || {
                eprintln!("vectors: embedding {} texts, once", texts.len());
                let embedder = OnnxEmbedder::load(&files, &OnnxOptions::default())?;
                let bar = ProgressBar::new(texts.len() as u64);
                let mut components = Vec::with_capacity(texts.len() * DIMENSIONS);
                for batch in texts.chunks(BATCH) {
                    let batch: Vec<&str> = batch.iter().map(String::as_str).collect();
                    let vectors = pollster::block_on(embedder.embed_documents(&batch))?;
                    // The first chunk represents a text of several.
                    components.extend(vectors.iter().filter_map(|chunks| chunks.first()).flatten());
                    bar.inc(batch.len() as u64);
                }
                bar.finish_and_clear();
                Ok(components)
            })
        };
        let questions = texts.questions.get(..QUERIES.min(texts.questions.len())).unwrap_or_default();
        let (components, queries) = (embed(&texts.passages)?, embed(questions)?);
        let what = format!("{} embeddings of real sentences", components.len() / DIMENSIONS);
        Ok(Self { what, components, queries })
    }

    /// Vectors around random centres, a hundred to a centre, with queries as far from the centres as the vectors.
    pub(super) fn made_up(rows: usize, seed: u64) -> Self {
        let (mut components, mut queries) = (Vec::with_capacity(rows * DIMENSIONS), Vec::new());
        let mut rng = Rng::with_seed(seed);
        let clusters = rows.div_ceil(CLUSTER);
        let asked = (clusters / QUERIES).max(1);
        for cluster in 0..clusters {
            let centre = unit((0..DIMENSIONS).map(|_| normal(&mut rng)));
            let mut around = |out: &mut Vec<f32>| {
                let spread = 1.0 / 20.0;
                out.extend(unit(centre.iter().map(|component| component + spread * normal(&mut rng))));
            };
            (cluster * CLUSTER..rows.min((cluster + 1) * CLUSTER)).for_each(|_| around(&mut components));
            if cluster % asked == 0 && queries.len() < QUERIES * DIMENSIONS {
                around(&mut queries);
            }
        }
        Self { what: format!("{rows} made-up vectors in {clusters} clusters"), components, queries }
    }

    /// The first `rows`, without queries.
    pub(super) fn first(&self, rows: usize) -> Self {
        let components = self.rows().take(rows).flatten().copied().collect();
        Self { what: self.what.clone(), components, queries: Vec::new() }
    }

    pub(super) fn rows(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        self.components.chunks_exact(DIMENSIONS)
    }

    pub(super) fn row(&self, row: usize) -> &[f32] {
        self.components.get(row * DIMENSIONS..(row + 1) * DIMENSIONS).unwrap_or_default()
    }

    pub(super) fn queries(&self) -> impl ExactSizeIterator<Item = &[f32]> + Clone {
        self.queries.chunks_exact(DIMENSIONS)
    }

    /// The codes of all rows, and their scales.
    pub(super) fn codes(&self) -> (Vec<i8>, Vec<f32>) {
        let mut codes = Vec::with_capacity(self.components.len());
        let scales = self.rows().map(|row| quantize(row, &mut codes)).collect();
        (codes, scales)
    }

    /// The [`TOP`] nearest rows of each of the first `queries`, by an exact search with `f32`.
    pub(super) fn truth(&self, queries: usize) -> Vec<Vec<u32>> {
        let queries: Vec<_> = self.queries().take(queries).collect();
        let share = queries.len().div_ceil(threads().get()).max(1);
        thread::scope(|scope| {
            let search = |queries: &[&[f32]]| queries.iter().map(|query| self.nearest(query)).collect::<Vec<_>>();
            let parts: Vec<_> = queries.chunks(share).map(|part| scope.spawn(move || search(part))).collect();
            parts.into_iter().flat_map(|part| part.join().unwrap_or_default()).collect()
        })
    }

    /// The nearest rows by an exact search with `f32`.
    pub(super) fn nearest(&self, query: &[f32]) -> Vec<u32> {
        best(self.scored(query, 0, usize::MAX), TOP)
    }

    /// The nearest among some rows.
    pub(super) fn nearest_of(&self, query: &[f32], passes: &[bool]) -> Vec<u32> {
        let passing = |(row, _): &(u32, f32)| passes.get(*row as usize) == Some(&true);
        best(self.scored(query, 0, passes.len()).filter(passing), TOP)
    }

    /// The nearest among the first `rows`, scanned by the calling thread.
    pub(super) fn nearest_of_first(&self, query: &[f32], rows: usize) -> Vec<u32> {
        best(self.scored(query, 0, rows), TOP)
    }

    /// The nearest among the first `rows`, each core scanning a part of them.
    pub(super) fn nearest_on_all_cores(&self, query: &[f32], rows: usize) -> Vec<u32> {
        let share = rows.div_ceil(threads().get()).max(1);
        let firsts: Vec<usize> = (0..rows).step_by(share).collect();
        let scored: Vec<_> = thread::scope(|scope| {
            let scan = |first: usize| move || best_scored(self.scored(query, first, share.min(rows - first)), TOP);
            let parts: Vec<_> = firsts.into_iter().map(|first| scope.spawn(scan(first))).collect();
            parts.into_iter().flat_map(|part| part.join().unwrap_or_default()).collect()
        });
        best(scored, TOP)
    }

    fn scored(&self, query: &[f32], first: usize, rows: usize) -> impl Iterator<Item = (u32, f32)> {
        let kernels = Kernels::detected();
        let last = first.saturating_add(rows).min(self.rows().len());
        let vectors = self.components.get(first * DIMENSIONS..last * DIMENSIONS).unwrap_or_default();
        let numbered = (0u32..).skip(first).zip(vectors.chunks_exact(DIMENSIONS));
        numbered.map(move |(row, vector)| (row, kernels.dot_f32(query, vector)))
    }
}

/// The `limit` rows of the highest scores, best first.
pub(super) fn best(scored: impl IntoIterator<Item = (u32, f32)>, limit: usize) -> Vec<u32> {
    best_scored(scored, limit).into_iter().map(|(row, _)| row).collect()
}

/// [`best`] with the scores. Keeps few rows at a time, so that one comparison skips most rows.
fn best_scored(scored: impl IntoIterator<Item = (u32, f32)>, limit: usize) -> Vec<(u32, f32)> {
    let order = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
    let (mut kept, mut floor) = (Vec::with_capacity(2 * limit), f32::NEG_INFINITY);
    for row in scored.into_iter().filter(|(_, score)| score.is_finite()) {
        if row.1 < floor {
            continue;
        }
        kept.push(row);
        if kept.len() >= 2 * limit {
            kept.sort_unstable_by(order);
            kept.truncate(limit);
            floor = kept.last().map_or(floor, |(_, score)| *score);
        }
    }
    kept.sort_unstable_by(order);
    kept.truncate(limit);
    kept
}

fn unit(components: impl Iterator<Item = f32>) -> Vec<f32> {
    let components: Vec<f32> = components.collect();
    let length = components.iter().map(|component| component * component).sum::<f32>().sqrt();
    components.into_iter().map(|component| component / length).collect()
}

/// A value of variance 1, about normal, because it is a sum of uniform numbers.
fn normal(rng: &mut Rng) -> f32 {
    (0..6).map(|_| rng.f32() - 0.5).sum::<f32>() * 2.0f32.sqrt()
}

/// The vectors of these texts by that model, from the user's cache directory if they are cached.
fn cached(model: &str, texts: &[String], embed: impl FnOnce() -> Result<Vec<f32>>) -> Result<Vec<f32>> {
    let mut hasher = blake3::Hasher::new();
    for text in std::iter::once(model).chain(texts.iter().map(String::as_str)) {
        hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
    }
    let name = format!("{}.f32", hasher.finalize().to_hex());
    let path = ProjectDirs::from("", "", "memory").map(|dirs| dirs.cache_dir().join("bench-vectors").join(name));
    let expected = texts.len() * DIMENSIONS * size_of::<f32>();
    if let Some(bytes) = path.as_ref().and_then(|path| fs::read(path).ok()).filter(|bytes| bytes.len() == expected) {
        return Ok(bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect());
    }
    let components = embed()?;
    if let Some(path) = path {
        write(&path, &components)?;
    }
    Ok(components)
}

fn write(path: &PathBuf, components: &[f32]) -> Result<()> {
    let failed = || format!("writing {}", path.display());
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).with_context(failed)?;
    }
    let temporary = path.with_extension("tmp");
    let bytes: Vec<u8> = components.iter().flat_map(|component| component.to_le_bytes()).collect();
    fs::write(&temporary, bytes).with_context(failed)?;
    fs::rename(&temporary, path).with_context(failed)
}

/// Minimum bytes of a piece; shorter ones are not meaningful.
const SHORTEST: usize = 20;

/// Distinct texts.
#[derive(Debug)]
pub(super) struct Texts {
    /// Sentences in the order in which they were said, then pairs of neighbouring ones if more are needed.
    pub(super) passages: Vec<String>,
    pub(super) questions: Vec<String>,
}

/// Up to `wanted` pieces of the conversations in the directories below `data`, and their questions.
///
/// # Errors
/// When a file cannot be read, does not follow the format, or is empty.
pub(super) fn texts_below(data: &Path, wanted: usize) -> Result<Texts> {
    let (mut sentences, mut pairs, mut questions) = (Distinct::default(), Distinct::default(), Distinct::default());
    for directory in eval::directories(data)? {
        for conversation in eval::conversations(&directory)? {
            for (message, _) in conversation.messages {
                let text = message.text();
                let parts = split(&text);
                parts.windows(2).for_each(|pair| pairs.push(pair.join(" ")));
                parts.into_iter().for_each(|part| sentences.push(part.to_owned()));
            }
        }
        eval::question_texts(&directory)?.into_iter().for_each(|question| questions.push(question));
    }
    pairs.texts.into_iter().for_each(|pair| sentences.push(pair));
    let mut passages = sentences.texts;
    passages.truncate(wanted);
    ensure!(!passages.is_empty() && !questions.texts.is_empty(), "{} holds no text or no question", data.display());
    Ok(Texts { passages, questions: questions.texts })
}

/// Sentences and lines of a text.
fn split(text: &str) -> Vec<&str> {
    let ends = |line: &str| {
        let marks = line
            .char_indices()
            .zip(line.chars().skip(1))
            .filter(|((_, mark), next)| matches!(mark, '.' | '!' | '?') && next.is_whitespace());
        marks.map(|((at, _), _)| at + 1).chain([line.len()]).collect::<Vec<_>>()
    };
    let mut parts = Vec::new();
    for line in text.lines() {
        let mut start = 0;
        for end in ends(line) {
            parts.push(line.get(start..end).unwrap_or_default().trim());
            start = end;
        }
    }
    parts.retain(|part| part.len() >= SHORTEST);
    parts
}

/// Texts in order, each once.
#[derive(Default)]
struct Distinct {
    texts: Vec<String>,
    seen: HashSet<blake3::Hash>,
}

impl Distinct {
    fn push(&mut self, text: String) {
        if self.seen.insert(blake3::hash(text.as_bytes())) {
            self.texts.push(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_up_vectors_are_the_same_for_a_seed_and_nearest_to_their_cluster() {
        let data = Data::made_up(1000, 3);
        assert_eq!(data.components, Data::made_up(1000, 3).components);
        assert!(data.rows().all(|row| (row.iter().map(|c| c * c).sum::<f32>() - 1.0).abs() < 1e-4));
        for (cluster, nearest) in data.truth(usize::MAX).into_iter().enumerate() {
            assert!(nearest.iter().all(|row| *row as usize / CLUSTER == cluster), "{cluster}: {nearest:?}");
        }
    }

    #[test]
    fn the_best_come_first_and_equal_ones_by_number() {
        assert_eq!(best(vec![(0, 0.5), (1, 0.9), (2, 0.5), (3, 0.1)], 3), [1, 0, 2]);
        assert_eq!(best(vec![(4, 0.5)], 3), [4]);
    }

    #[test]
    fn a_text_is_cut_behind_sentences_and_lines() {
        let text = "The ferry leaves at 9.45 in the morning. Does it wait for us?\nNo.\nIt never waits for anybody!";
        let parts = ["The ferry leaves at 9.45 in the morning.", "Does it wait for us?", "It never waits for anybody!"];
        assert_eq!(split(text), parts);
    }
}
