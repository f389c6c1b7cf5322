//! Timing of the steps of a search.

use std::{collections::BTreeMap, time::Instant};

use memory_core::{
    ConversationId,
    port::{AnsweredBy, SearchStep},
};

/// Times consecutive steps.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    begun: Instant,
    steps: Vec<SearchStep>,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self { begun: Instant::now(), steps: Vec::new() }
    }

    /// Ends a step that processed this many candidates, and begins the next.
    pub(crate) fn end(&mut self, name: &'static str, candidates: usize) {
        self.end_compared(name, candidates, BTreeMap::new());
    }

    /// Ends a step that compared vectors with these methods.
    pub(crate) fn end_compared(
        &mut self,
        name: &'static str,
        candidates: usize,
        compared: BTreeMap<ConversationId, Vec<AnsweredBy>>,
    ) {
        let now = Instant::now();
        let took = now - self.begun;
        tracing::debug!(step = name, candidates, ?took, "search");
        self.steps.push(SearchStep::new(name, took, candidates).compared(compared));
        self.begun = now;
    }

    pub(crate) fn steps(self) -> Vec<SearchStep> {
        self.steps
    }
}
