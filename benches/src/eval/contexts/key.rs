//! The key: which blinded file shows what; for the judge alone.

use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// The source of a file's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::eval) enum Condition {
    /// The text of a context with the default options.
    Ours,
    /// The best hits of the same search in order of time, and nothing else.
    Hits,
}

/// A line of the key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::eval) struct KeyLine {
    /// The file, from the directory of the run, as in `shard-3/0017.txt`.
    pub(in crate::eval) file: String,
    pub(in crate::eval) condition: Condition,
    pub(in crate::eval) question_id: String,
    /// The data set, by the name of its directory.
    pub(in crate::eval) data: String,
    pub(in crate::eval) category: String,
    pub(in crate::eval) question: String,
    pub(in crate::eval) gold: String,
    pub(in crate::eval) budget: u32,
    /// Tokens of the shown text.
    pub(in crate::eval) tokens: u32,
    /// The share of the evidence that is shown word for word, 0..=1; `None` where the data names no evidence.
    pub(in crate::eval) evidence: Option<f64>,
}

/// The path of a run's key.
pub(in crate::eval) fn path(run: &Path) -> PathBuf {
    run.join("key.jsonl")
}

/// Reads the key of a run.
///
/// # Errors
/// When it cannot be read, or is empty.
pub(in crate::eval) fn read(run: &Path) -> Result<Vec<KeyLine>> {
    let path = path(run);
    let key = read_lines(&path)?;
    ensure!(!key.is_empty(), "{} holds nothing: `eval --contexts` writes it", path.display());
    Ok(key)
}

/// Reads a value from each line of JSON that is not empty.
///
/// # Errors
/// When the file cannot be read, or a line is invalid; the error names the line.
pub(in crate::eval) fn read_lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
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
pub(in crate::eval) fn write_lines<T: Serialize>(path: &Path, values: &[T]) -> Result<()> {
    let failed = || format!("writing {}", path.display());
    let mut out = BufWriter::new(File::create(path).with_context(failed)?);
    for value in values {
        writeln!(out, "{}", serde_json::to_string(value)?).with_context(failed)?;
    }
    out.flush().with_context(failed)
}
