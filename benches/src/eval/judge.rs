//! Judging: makes blinded sheets of readers' answers, and a table of judges' grades.

mod collect;
mod sheets;
mod table;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use self::collect::{Found, collect};
use super::contexts::{KeyLine, read_key, read_lines};

/// A line of a reader's `answers.jsonl`.
#[derive(Deserialize)]
struct AnswerLine {
    file: String,
    answer: String,
}

/// A line of a judge's `grades-NN.jsonl`.
#[derive(Deserialize)]
struct GradeLine {
    id: String,
    grade: f64,
}

/// Runs the next step of a run of contexts. Without grades, it writes blinded sheets of all answers: `sheets` of them,
/// or one for each shard. With grades, it makes a table in Markdown. Returns the text to print.
///
/// # Errors
/// When a file cannot be read or written; when an answer or a grade is missing, doubled, or of an unknown file, with
/// its name.
pub fn judge(run: &Path, sheets: Option<usize>) -> Result<String> {
    let key = read_key(run)?;
    let answers = answers(run, &key)?;
    let judging = run.join("judging");
    let graded = files(&judging, "grades-")?;
    if graded.is_empty() {
        let shards = shards(&key).len();
        return sheets::write(run, &key, &answers, sheets.unwrap_or(shards));
    }
    let grades = grades(run, &graded)?;
    Ok(table::table(&key, &answers, &grades))
}

/// The answer to each file of the key.
fn answers(run: &Path, key: &[KeyLine]) -> Result<BTreeMap<String, String>> {
    let mut found = Vec::new();
    for shard in shards(key) {
        let path = run.join(&shard).join("answers.jsonl");
        if !path.exists() {
            continue;
        }
        for AnswerLine { file, answer } in read_lines(&path)? {
            let name = file.rsplit('/').next().unwrap_or_default().trim_end_matches(".txt");
            let is_given = !answer.trim().is_empty();
            found.push(Found {
                name: format!("{shard}/{name}.txt"),
                value: is_given.then_some(answer),
                of: path.clone(),
            });
        }
    }
    collect("answer", key.iter().map(|line| line.file.as_str()), found)
}

/// The grade of each file of the key.
fn grades(run: &Path, files: &[PathBuf]) -> Result<BTreeMap<String, f64>> {
    let ids = sheets::read_ids(run)?;
    let mut found = Vec::new();
    for path in files {
        for GradeLine { id, grade } in read_lines(path)? {
            ensure!(
                [0.0, 0.5, 1.0].contains(&grade),
                "{}: the grade of {id} is {grade}: expected 0, 0.5 or 1",
                path.display()
            );
            found.push(Found { name: id, value: Some(grade), of: path.clone() });
        }
    }
    let mut grades = collect("grade", ids.iter().map(|line| line.id.as_str()), found)?;
    Ok(ids.into_iter().filter_map(|line| Some((line.file, grades.remove(&line.id)?))).collect())
}

/// The shards that a key names, in order.
fn shards(key: &[KeyLine]) -> Vec<String> {
    let mut shards: Vec<_> =
        key.iter().filter_map(|line| line.file.split_once('/')).map(|(shard, _)| shard.to_owned()).collect();
    shards.sort();
    shards.dedup();
    shards
}

/// The files of a directory with names that begin with `prefix`, in order; none if the directory does not exist.
fn files(directory: &Path, prefix: &str) -> Result<Vec<PathBuf>> {
    if !directory.exists() {
        return Ok(Vec::new());
    }
    let failed = || format!("listing {}", directory.display());
    let entries = fs::read_dir(directory).with_context(failed)?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>().with_context(failed)?;
    files.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix)));
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests;
