//! The time of the first search in a new process, with cached postings, vectors and tokens.

use std::{env, path::Path, process::Command, time::Instant};

use anyhow::{Context as _, Result, ensure};
use memory::{Access, Config};
use memory_core::{ConversationId, Notice, Query, Scope};
use pollster::block_on;

use super::sizes::HITS;
use crate::{
    figure::Figure,
    rounds::{Entrant, interleave},
    stats::Spread,
};

/// Of one conversation: the search alone.
pub(super) fn measure(store: &Path, id: &ConversationId, questions: &[String]) -> Result<Figure> {
    let mut asked = questions.iter().cycle();
    let [[opening, search, _]] = interleave([Entrant::new("a new process", ["ms", "ms", "ms"], || {
        in_child(store, Some(id), false, asked.next().context("there is no question")?)
    })])?;
    let note = format!(
        "the first search of a process with a model, everything kept from before, files in the page cache; opening store and \
         model first takes {:.0} ms",
        Spread::of(&opening.values).median
    );
    Ok(Figure::absolute("cold_search_ms", &search, note))
}

/// Of all conversations: the whole process.
pub(super) fn measure_all(
    key: &'static str,
    store: &Path,
    by_words: bool,
    mut next: impl FnMut() -> String,
) -> Result<Figure> {
    let [[opening, search, whole]] =
        interleave([Entrant::new("a new process", ["ms", "ms", "ms"], || in_child(store, None, by_words, &next()))])?;
    let [opening, search] = [opening, search].map(|samples| Spread::of(&samples.values).median);
    let note = format!(
        "from the start of a process to its end, everything kept from before, files in the page cache; opening store and \
         model takes {opening:.0} ms of it, the search {search:.0} ms"
    );
    Ok(Figure::absolute(key, &whole, note))
}

/// Milliseconds in which a new process opens the store, answers, and does both from start to end.
fn in_child(store: &Path, id: Option<&ConversationId>, by_words: bool, question: &str) -> Result<[f64; 3]> {
    let mut child = Command::new(env::current_exe()?);
    child.arg("cold-search").args(by_words.then_some("--by-words"));
    child.arg(store).arg(question).args(id.map(ConversationId::as_str));
    let start = Instant::now();
    let child = child.output()?;
    let whole = start.elapsed().as_secs_f64() * 1e3;
    ensure!(child.status.success(), "{}: {}", child.status, String::from_utf8_lossy(&child.stderr));
    let said = String::from_utf8(child.stdout)?;
    let (opening, search) = said.trim().split_once(' ').with_context(|| format!("{said:?} is not two times"))?;
    Ok([opening.parse()?, search.parse()?, whole])
}

/// Opens the store, asks a conversation or all of them one question and prints the milliseconds of each.
///
/// # Errors
/// When that fails, or a part is missing for an answer by words and, unless it is `by_words` alone, by meaning.
pub fn print_cold_search(store: &Path, question: &str, conversation: Option<&str>, by_words: bool) -> Result<()> {
    let start = Instant::now();
    let config = Config::new(store, Access::Existing);
    let runtime = memory::parts::open(&if by_words { config.without_model() } else { config })?;
    let opened = start.elapsed();
    let scope = match conversation {
        Some(name) => Scope::one(&ConversationId::new(name)?),
        None => Scope::all(),
    };
    let found = block_on(runtime.retriever.search(&Query::new(question, scope).limit(HITS)))?;
    let took = start.elapsed() - opened;
    let is_due = |notice: &Notice| match notice {
        Notice::NothingLikely { .. } => true,
        Notice::WordsOnly { .. } => by_words,
        _ => false,
    };
    ensure!(!found.hits.is_empty() && found.notices.iter().all(is_due), "not all was kept: {:?}", found.notices);
    println!("{} {}", opened.as_secs_f64() * 1e3, took.as_secs_f64() * 1e3);
    Ok(())
}
