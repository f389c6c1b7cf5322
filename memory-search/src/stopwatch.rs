//! How long each step of a search takes.

use std::time::Instant;

use memory_core::SearchStep;

/// Times steps that follow one another.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    begun: Instant,
    steps: Vec<SearchStep>,
}

impl Stopwatch {
    /// Begins the first step.
    pub(crate) fn start() -> Self {
        Self { begun: Instant::now(), steps: Vec::new() }
    }

    /// Ends a step, which looked at so many candidates, and begins the next one.
    pub(crate) fn end(&mut self, name: &'static str, candidates: usize) {
        let now = Instant::now();
        let took = now - self.begun;
        tracing::debug!(step = name, candidates, ?took, "search");
        self.steps.push(SearchStep { name, took, candidates });
        self.begun = now;
    }

    /// The steps that were ended.
    pub(crate) fn steps(self) -> Vec<SearchStep> {
        self.steps
    }
}
