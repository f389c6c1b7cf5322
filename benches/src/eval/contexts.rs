//! Contexts for readers: blinded files with our context and the best hits for each question.

mod sample;
use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use memory_core::Node;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{Budget, EvalParts, Question, fresh_context, prepare, progress_bar, shown::Shown, subject::Subject};

pub(super) use sample::{Asked, data_name, pack, sample};

/// Instructions for readers and judges.
const FOR_READERS: &str = include_str!("contexts/READERS.md");
const FOR_JUDGES: &str = include_str!("judge/JUDGES.md");

/// Options of [`write_contexts`].
#[derive(Clone, Debug)]
pub struct ContextsOptions {
    /// Directories with `conversations.jsonl` and `queries.jsonl`.
    pub data: Vec<PathBuf>,
    /// The directory to write.
    pub out: PathBuf,
    /// Token budget of a text, including the question.
    pub budget: Budget,
    /// Size of the sample; by default all questions with an answer.
    pub questions: Option<usize>,
    /// Number of readers, at least 2.
    pub shards: usize,
    /// The seed of the sample and its order.
    pub seed: u64,
    /// True if recall by words alone is an error rather than a notice.
    pub demand_model: bool,
}

/// Text that a model is shown for a question under one condition.
struct Text {
    text: String,
    tokens: u32,
    evidence: Option<f64>,
}

/// A question with both texts.
struct Prepared {
    data: String,
    question: Question,
    budget: u32,
    ours: Text,
    hits: Text,
}

impl Prepared {
    fn text(&self, condition: Condition) -> &Text {
        match condition {
            Condition::Ours => &self.ours,
            Condition::Hits => &self.hits,
        }
    }

    /// The contents of a reader's file.
    fn page(&self, condition: Condition) -> String {
        let rule = "-".repeat(72);
        format!("Question: {}\n\n{rule}\n{}\n", self.question.text, self.text(condition).text)
    }

    fn key(&self, file: String, condition: Condition) -> KeyLine {
        let Text { tokens, evidence, .. } = *self.text(condition);
        KeyLine {
            file,
            condition,
            question_id: self.question.id.clone(),
            data: self.data.clone(),
            category: self.question.category.clone(),
            question: self.question.text.clone(),
            gold: self.question.answer.clone(),
            budget: self.budget,
            tokens,
            evidence,
        }
    }
}

/// Writes a sample of questions under both conditions: a directory of blinded files for each reader, the key apart from
/// them, and the instructions for readers and judges. Returns a description of the files.
///
/// # Errors
/// When the data does not follow the format, a part of the memory fails, a text is over its budget, or the directory
/// already holds a run.
pub async fn write_contexts(parts: &EvalParts, options: &ContextsOptions) -> Result<String> {
    let ContextsOptions { data, out, questions, shards, seed, demand_model, .. } = options;
    ensure!(!key_path(out).exists(), "{} holds contexts already: name another directory, or remove it", out.display());
    let sample = sample(data, *questions, *seed)?;
    let hands = deal(sample.len(), *shards, *seed)?;
    let mut prepared: Vec<Option<Prepared>> = sample.iter().map(|_| None).collect();
    for directory in data {
        let asked = |asked: &&Asked| asked.directory == *directory;
        let of_directory = sample.iter().filter(asked).map(|asked| &asked.question);
        let subjects = prepare(parts, directory, of_directory, *demand_model).await?;
        let bar = progress_bar(sample.iter().filter(asked).count() as u64, "contexts");
        // A conversation's nodes are read once; its questions follow one after the other.
        for subject in subjects.values() {
            let mut nodes = None;
            for (slot, asked) in prepared.iter_mut().zip(&sample) {
                if asked.directory != *directory || asked.question.conversation != subject.id {
                    continue;
                }
                let nodes = match &mut nodes {
                    Some(nodes) => &*nodes,
                    none => none.insert(subject.nodes(parts).await?),
                };
                *slot = Some(both(parts, asked, subject, nodes, options.budget).await?);
                bar.inc(1);
            }
        }
        bar.finish_and_clear();
    }
    let prepared =
        prepared.into_iter().map(|one| one.context("a question was not asked")).collect::<Result<Vec<_>>>()?;
    write(out, &prepared, &hands)?;
    let files = 2 * prepared.len();
    Ok(format!(
        "{} questions, {files} files in {shards} shards of {out}: hand each reader READERS.md and one shard, \
         and run `--judge {out}` when every shard has its answers.jsonl",
        prepared.len(),
        out = out.display()
    ))
}

async fn both(parts: &EvalParts, asked: &Asked, subject: &Subject, nodes: &[Node], budget: Budget) -> Result<Prepared> {
    let question = &asked.question;
    let budget = budget.of(&subject.outline);
    let ours = ours(parts, question, subject, nodes, budget).await?;
    let sample::Hits { nodes, text, tokens } = sample::best_hits(parts, question, subject, nodes, budget).await?;
    let evidence = subject.evidence_among(question, nodes.into_iter());
    let hits = Text { text, tokens, evidence };
    for (text, of) in [(&ours, "ours"), (&hits, "of the best hits")] {
        let tokens = parts.counter.count(&text.text);
        ensure!(tokens <= budget, "{}: the text {of} takes {tokens} tokens where {budget} are allowed", question.id);
    }
    Ok(Prepared { data: data_name(&asked.directory), question: question.clone(), budget, ours, hits })
}

/// The text of a context with the default options. If no context fits the budget, a model would be shown the question
/// alone.
async fn ours(parts: &EvalParts, question: &Question, subject: &Subject, nodes: &[Node], budget: u32) -> Result<Text> {
    let Some(context) = fresh_context(parts, question, subject, budget).await? else {
        eprintln!("eval: {}: no context fits {budget} tokens", question.id);
        let (text, tokens) = (question.text.clone(), parts.counter.count(&question.text));
        return Ok(Text { text, tokens, evidence: subject.evidence_among(question, [].into_iter()) });
    };
    let whole = Shown::of(&context, nodes, &*parts.counter)?.whole;
    let evidence = subject.evidence_among(question, whole.into_iter());
    Ok(Text { text: context.text().to_owned(), tokens: context.tokens, evidence })
}

/// Writes everything, the key last: a directory with a key is complete.
fn write(out: &Path, prepared: &[Prepared], hands: &[Vec<Dealt>]) -> Result<()> {
    let put = |name: &str, text: &str| {
        let path = out.join(name);
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))
    };
    let mut key = Vec::new();
    // Files are written in the order of the shards, so that a file's time does not reveal its condition.
    for (shard, hand) in (1..).zip(hands) {
        let directory = format!("shard-{shard}");
        let path = out.join(&directory);
        fs::create_dir_all(&path).with_context(|| format!("making {}", path.display()))?;
        for (number, dealt) in (1..).zip(hand) {
            let Some(one) = prepared.get(dealt.question) else { continue };
            let file = format!("{directory}/{number:04}.txt");
            put(&file, &one.page(dealt.condition))?;
            key.push(one.key(file, dealt.condition));
        }
    }
    put("READERS.md", FOR_READERS)?;
    put("JUDGES.md", FOR_JUDGES)?;
    write_lines(&key_path(out), &key)
}

/// A question under one condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Dealt {
    /// The question, by its index in the sample.
    question: usize,
    condition: Condition,
}

/// The files of each reader, in reading order. Every question is read under both conditions, but no reader gets the
/// same question twice. Each reader gets about equally many files of both conditions.
///
/// # Errors
/// With fewer than two readers, because one of them would see both.
fn deal(questions: usize, readers: usize, seed: u64) -> Result<Vec<Vec<Dealt>>> {
    ensure!(readers >= 2, "--shards {readers}: with fewer than 2, a reader sees both conditions of one question");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut order: Vec<usize> = (0..questions).collect();
    random.shuffle(&mut order);
    let mut hands = vec![Vec::new(); readers];
    for (place, question) in order.into_iter().enumerate() {
        // Within one round of the readers the distance is constant, so that each gets one file of each condition.
        let (round, ours) = (place / readers, place % readers);
        let hits = (ours + 1 + round % (readers - 1)) % readers;
        for (reader, condition) in [(ours, Condition::Ours), (hits, Condition::Hits)] {
            hands.get_mut(reader).into_iter().for_each(|hand: &mut Vec<_>| hand.push(Dealt { question, condition }));
        }
    }
    hands.iter_mut().for_each(|hand| random.shuffle(hand));
    Ok(hands)
}

/// The source of a file's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Condition {
    /// The text of a context with the default options.
    Ours,
    /// The best hits of the same search in order of time, and nothing else.
    Hits,
}

/// A line of the key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct KeyLine {
    /// The file, from the directory of the run, as in `shard-3/0017.txt`.
    pub(super) file: String,
    pub(super) condition: Condition,
    pub(super) question_id: String,
    /// The data set, by the name of its directory.
    pub(super) data: String,
    pub(super) category: String,
    pub(super) question: String,
    pub(super) gold: String,
    pub(super) budget: u32,
    /// Tokens of the shown text.
    pub(super) tokens: u32,
    /// The share of the evidence that is shown verbatim, 0..=1; `None` if the data names no evidence.
    pub(super) evidence: Option<f64>,
}

/// The path of a run's key.
pub(super) fn key_path(run: &Path) -> PathBuf {
    run.join("key.jsonl")
}

/// Reads the key of a run.
///
/// # Errors
/// When it cannot be read, or is empty.
pub(super) fn read_key(run: &Path) -> Result<Vec<KeyLine>> {
    let path = key_path(run);
    let key = read_lines(&path)?;
    ensure!(!key.is_empty(), "{} holds nothing: `eval --contexts` writes it", path.display());
    Ok(key)
}

/// Reads a value from each line of JSON that is not empty.
///
/// # Errors
/// When the file cannot be read, or a line is invalid; the error names the line.
pub(super) fn read_lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let parse = |(number, line)| {
        serde_json::from_str(line).with_context(|| format!("{}:{number} does not follow the format", path.display()))
    };
    lines.map(parse).collect()
}

/// Writes a line of JSON for each value.
///
/// # Errors
/// When it cannot be written.
pub(super) fn write_lines<T: Serialize>(path: &Path, values: &[T]) -> Result<()> {
    let failed = || format!("writing {}", path.display());
    let mut out = BufWriter::new(File::create(path).with_context(failed)?);
    for value in values {
        writeln!(out, "{}", serde_json::to_string(value)?).with_context(failed)?;
    }
    out.flush().with_context(failed)
}

#[cfg(test)]
mod tests;
