//! The group `views`: the cost of showing and compacting a long conversation.

mod assemble;
mod compaction;
mod grown;
mod overhead;
mod prices;
mod questions;
mod reduction;
mod running;
mod talk;
mod waiting;

use std::path::Path;

use anyhow::Result;

use crate::{figure::Figure, group::Inputs};
use talk::Talk;

/// Messages of a conversation that figures call 10k, and 1M.
const TEN_THOUSAND: usize = 10_000;
const MILLION: usize = 1_000_000;

/// Measures the group, with its files under `directory`; includes the figures of question and running mode if there is
/// evaluation data.
///
/// # Errors
/// When a part of the memory fails.
pub(crate) fn measure(directory: &Path, inputs: &Inputs) -> Result<Vec<Figure>> {
    let mut figures = vec![compaction::rate(directory)?];
    eprintln!("views: compacting {TEN_THOUSAND} messages");
    let compacted = Talk::begin(directory)?;
    compacted.say(TEN_THOUSAND)?;
    compacted.compact()?;
    figures.push(reduction::measure(&compacted)?);
    eprintln!("views: growing to a million messages");
    let million = Talk::begin(directory)?;
    grown::grow(&million, MILLION)?;
    let thousand = Talk::begin(directory)?;
    grown::grow(&thousand, 1_000)?;
    figures.extend(assemble::measure(&compacted, &million)?);
    figures.push(compaction::growth(&million, &thousand)?);
    figures.push(overhead::measure(directory, inputs.short)?);
    figures.extend(prices::measure(directory)?);
    figures.extend(questions::measure(directory, inputs.eval.as_deref())?);
    figures.extend(running::measure(directory, inputs.eval.as_deref())?);
    Ok(figures)
}
