//! The time of the first search in a new process, with cached postings, vectors and tokens.

use std::{env, path::Path, process::Command, time::Instant};

use anyhow::{Context as _, Result, ensure};
use memory::{Access, Config};
use memory_core::{ConversationId, Query, Scope};
use pollster::block_on;

use super::HITS;
use crate::{
    figure::Figure,
    rounds::{Entrant, interleave},
};

pub(super) fn measure(store: &Path, id: &ConversationId, questions: &[String]) -> Result<Figure> {
    let mut asked = questions.iter().cycle();
    let [[opening, search]] = interleave([Entrant::new("a new process", ["ms", "ms"], || {
        in_child(store, id, asked.next().context("there is no question")?)
    })])?;
    let note = format!(
        "the first search with a model, everything kept from before; opening store and model first takes {:.0} ms",
        crate::stats::Spread::of(&opening.values).median
    );
    Ok(Figure::absolute("cold_search_ms", &search, note))
}

/// Milliseconds in which a new process opens the store, and answers.
fn in_child(store: &Path, id: &ConversationId, question: &str) -> Result<[f64; 2]> {
    let child =
        Command::new(env::current_exe()?).arg("cold-search").arg(store).args([id.as_str(), question]).output()?;
    ensure!(child.status.success(), "{}: {}", child.status, String::from_utf8_lossy(&child.stderr));
    let said = String::from_utf8(child.stdout)?;
    let (opening, search) = said.trim().split_once(' ').with_context(|| format!("{said:?} is not two times"))?;
    Ok([opening.parse()?, search.parse()?])
}

/// Opens the store, asks a conversation one question and prints the milliseconds of each.
///
/// # Errors
/// When that fails, or a part is missing for an answer by words and by meaning.
pub fn print_cold_search(store: &Path, conversation: &str, question: &str) -> Result<()> {
    let start = Instant::now();
    let runtime = memory::parts::open(&Config::new(store, Access::Existing))?;
    let opened = start.elapsed();
    let query = Query::new(question, Scope::one(&ConversationId::new(conversation)?)).limit(HITS);
    let found = block_on(runtime.retriever.search(&query))?;
    let took = start.elapsed() - opened;
    ensure!(!found.hits.is_empty() && found.notices.is_empty(), "not all was kept: {:?}", found.notices);
    println!("{} {}", opened.as_secs_f64() * 1e3, took.as_secs_f64() * 1e3);
    Ok(())
}
