//! A process that searches one store as long as it is asked.

use std::{
    cell::RefCell,
    env,
    io::{self, BufRead, Write},
    path::Path,
    process::Command,
};

use anyhow::{Context as _, Result, ensure};
use memory::{Access, Builder, Config, Notice, Query, Scope, blocking::Memory};

use super::super::sizes::HITS;
use crate::{process_memory, subprocess::Subprocess};

/// The running process.
pub(super) struct Searcher(RefCell<Subprocess>);

/// A question may not be empty, so this is none.
const RESIDENT: &str = "";

impl Searcher {
    /// Starts it, and waits until it has done what its background does first.
    pub(super) fn start(store: &Path, by_words: bool) -> Result<Self> {
        let mut command = Command::new(env::current_exe()?);
        command.arg("serve-searches").arg(store);
        if by_words {
            command.arg("--by-words");
        }
        let searcher = Self(RefCell::new(Subprocess::start("the process that searches", &mut command)?));
        searcher.resident_mb()?;
        Ok(searcher)
    }

    /// The places of the hits.
    pub(super) fn ask(&self, question: &str) -> Result<Vec<String>> {
        Ok(serde_json::from_str(&self.0.borrow_mut().ask(question)?)?)
    }

    /// The anonymous memory of the process, in megabytes.
    pub(super) fn resident_mb(&self) -> Result<f64> {
        Ok(self.0.borrow_mut().ask(RESIDENT)?.trim().parse()?)
    }
}

/// How a message is called: its index in its conversation, from 0.
pub(super) fn place(conversation: &str, index: usize) -> String {
    format!("{conversation}#{index}")
}

/// Answers each line of standard input by a line: a question by the places of its hits, an empty one by the anonymous
/// memory of this process in megabytes.
///
/// # Errors
/// When the store cannot be opened, a search fails, or is not what it should be: by words, or by meaning too.
pub fn serve_searches(store: &Path, by_words: bool) -> Result<()> {
    let config = Config::new(store, Access::Existing);
    let config = if by_words { config.without_model() } else { config };
    let memory = Memory::from(Builder::of(config).open()?);
    // As any process that has run for a while.
    memory.catch_up()?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let answer = if line == RESIDENT {
            process_memory::megabytes("RssAnon")?.to_string()
        } else {
            serde_json::to_string(&search(&memory, &line, by_words).with_context(|| format!("asking {line:?}"))?)?
        };
        let mut out = io::stdout().lock();
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

fn search(memory: &Memory, question: &str, by_words: bool) -> Result<Vec<String>> {
    let found = memory.search(Query::new(question, Scope::all()).limit(HITS))?;
    let is_other = |notice: &&Notice| {
        matches!(notice, Notice::PartlyEmbedded { .. } | Notice::TokensNotCompared { .. })
            || (matches!(notice, Notice::WordsOnly { .. }) && !by_words)
    };
    let other = found.notices.iter().find(is_other);
    ensure!(
        other.is_none(),
        "it was not answered as it should be: {}",
        other.map(ToString::to_string).unwrap_or_default()
    );
    Ok(found.hits.iter().map(|hit| place(hit.conversation.as_str(), hit.node.id.index())).collect())
}
