//! The sheets of judges: question, gold answer and answer, without a trace of the answer's source.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::files;
use crate::eval::contexts::{KeyLine, read_lines, write_lines};

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
pub(super) struct IdLine {
    pub(super) id: String,
    pub(super) file: String,
}

fn ids_path(run: &Path) -> PathBuf {
    run.join("judging-key.jsonl")
}

/// Reads the ids that sheets were written with.
///
/// # Errors
/// When they cannot be read.
pub(super) fn read_ids(run: &Path) -> Result<Vec<IdLine>> {
    read_lines(&ids_path(run)).context("there are grades, and no key of the sheets")
}

/// Writes `count` sheets, and their key apart from them; returns the text to print.
///
/// # Errors
/// When they cannot be written.
pub(super) fn write(run: &Path, key: &[KeyLine], answers: &BTreeMap<String, String>, count: usize) -> Result<String> {
    ensure!(count > 0, "answers cannot be spread over no sheet");
    let judging = run.join("judging");
    fs::create_dir_all(&judging).with_context(|| format!("making {}", judging.display()))?;
    for old in files(&judging, "sheet-")? {
        fs::remove_file(&old).with_context(|| format!("removing {}", old.display()))?;
    }
    let mut ids = Vec::new();
    for (number, sheet) in (1..).zip(deal(key, count)) {
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
fn deal(key: &[KeyLine], count: usize) -> Vec<Vec<(String, &KeyLine)>> {
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
