//! Judging: makes blinded sheets of readers' answers, and a table of the grades that judges gave.

mod table;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use super::contexts::{KeyLine, read_key, read_lines, write_lines};

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
        return write_sheets(run, &key, &answers, sheets.unwrap_or(shards));
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
    let ids = read_ids(run)?;
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

/// The most names that an error lists, for each kind of fault.
const NAMED: usize = 20;

/// A value found under a name; `None` for an empty one.
struct Found<T> {
    name: String,
    value: Option<T>,
    /// The file that holds it.
    of: PathBuf,
}

/// Returns exactly one value for each of the wanted names.
///
/// # Errors
/// When a name has no value or several, or a value has an unknown name; the error lists the names.
fn collect<'a, T>(
    what: &str,
    wanted: impl Iterator<Item = &'a str>,
    found: Vec<Found<T>>,
) -> Result<BTreeMap<String, T>> {
    let wanted: BTreeSet<&str> = wanted.collect();
    let mut values = BTreeMap::new();
    let (mut doubled, mut unknown) = (BTreeSet::new(), BTreeSet::new());
    for Found { name, value, of } in found {
        if !wanted.contains(name.as_str()) {
            unknown.insert(format!("{name} in {}", of.display()));
        } else if values.contains_key(&name) {
            doubled.insert(name);
        } else {
            values.extend(value.map(|value| (name, value)));
        }
    }
    let missing = wanted.iter().filter(|name| !values.contains_key(**name)).map(|name| (*name).to_owned()).collect();
    let faults = [("no", "for", missing), ("more than one", "for", doubled), ("one", "for unknown names:", unknown)];
    let faults: Vec<String> = faults
        .into_iter()
        .filter(|(_, _, names)| !names.is_empty())
        .map(|(how, link, names)| format!("{how} {what} {link} {}", listed(&names)))
        .collect();
    if !faults.is_empty() {
        bail!("{}", faults.join("; "));
    }
    Ok(values)
}

fn listed(names: &BTreeSet<String>) -> String {
    let named: Vec<_> = names.iter().take(NAMED).map(String::as_str).collect();
    match names.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

const SEED: u64 = 22;
/// Letters and digits that are not mistaken for each other.
const ALPHABET: &[u8] = b"abcdefghijkmnpqrstuvwxyz23456789";
const ID_LENGTH: usize = 6;

/// A line of a sheet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct SheetLine<'a> {
    id: String,
    question: &'a str,
    gold: &'a str,
    answer: &'a str,
}

/// The file of an id: a line of the sheets' key, which is stored apart from them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct IdLine {
    id: String,
    file: String,
}

fn ids_path(run: &Path) -> PathBuf {
    run.join("judging-key.jsonl")
}

/// Reads the ids that sheets were written with.
///
/// # Errors
/// When they cannot be read.
fn read_ids(run: &Path) -> Result<Vec<IdLine>> {
    read_lines(&ids_path(run)).context("there are grades, and no key of the sheets")
}

/// Writes `count` sheets, and their key apart from them; returns the text to print.
///
/// # Errors
/// When they cannot be written.
fn write_sheets(run: &Path, key: &[KeyLine], answers: &BTreeMap<String, String>, count: usize) -> Result<String> {
    ensure!(count > 0, "answers cannot be spread over no sheet");
    let judging = run.join("judging");
    fs::create_dir_all(&judging).with_context(|| format!("making {}", judging.display()))?;
    for old in files(&judging, "sheet-")? {
        fs::remove_file(&old).with_context(|| format!("removing {}", old.display()))?;
    }
    let mut ids = Vec::new();
    for (number, sheet) in (1..).zip(deal_sheets(key, count)) {
        let lines = sheet.iter().filter_map(|(id, line)| {
            let answer = answers.get(&line.file)?;
            Some(SheetLine { id: id.clone(), question: &line.question, gold: &line.gold, answer })
        });
        write_lines(&judging.join(format!("sheet-{number:02}.jsonl")), &lines.collect::<Vec<_>>())?;
        ids.extend(sheet.into_iter().map(|(id, line)| IdLine { id, file: line.file.clone() }));
    }
    write_lines(&ids_path(run), &ids)?;
    Ok(format!(
        "{} answers on {count} sheets in {}: hand each judge JUDGES.md and sheets, and run this again when every sheet has its \
         grades-NN.jsonl",
        ids.len(),
        judging.display()
    ))
}

/// The answers of each sheet under fresh ids, in random order. Both answers to a question are on the same sheet, so
/// that one judge grades both by the same standard.
fn deal_sheets(key: &[KeyLine], count: usize) -> Vec<Vec<(String, &KeyLine)>> {
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut by_question: BTreeMap<(&str, &str), Vec<&KeyLine>> = BTreeMap::new();
    for line in key {
        by_question.entry((&line.data, &line.question_id)).or_default().push(line);
    }
    let mut questions: Vec<_> = by_question.into_values().collect();
    random.shuffle(&mut questions);
    let mut taken = BTreeSet::new();
    let mut sheets: Vec<Vec<(String, &KeyLine)>> = vec![Vec::new(); count];
    for (sheet, lines) in (0..count).cycle().zip(questions) {
        for line in lines {
            let mut id = fresh_id(&mut random);
            while !taken.insert(id.clone()) {
                id = fresh_id(&mut random);
            }
            sheets.get_mut(sheet).into_iter().for_each(|sheet| sheet.push((id.clone(), line)));
        }
    }
    sheets.iter_mut().for_each(|sheet| random.shuffle(sheet));
    sheets
}

fn fresh_id(random: &mut fastrand::Rng) -> String {
    let letter = |_| random.choice(ALPHABET).map(|letter| char::from(*letter));
    (0..ID_LENGTH).filter_map(letter).collect()
}

#[cfg(test)]
mod tests;
