//! Splits the texts of a request into inputs, block by block on several workers.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use memory_core::port::BoxError;

use super::lock;

/// Texts that a worker claims at once; enough to outweigh waking a thread.
const BLOCK: usize = 16;

/// Splits the text at an index into inputs.
type Split<I> = dyn Fn(usize) -> Result<Vec<I>, BoxError> + Send + Sync;

/// Texts of a request. The worker that claims a text splits it, once.
pub(super) struct SplitJob<I> {
    split: Box<Split<I>>,
    texts: usize,
    /// Index of the first unclaimed text.
    next: AtomicUsize,
    found: Mutex<Inputs<I>>,
}

struct Inputs<I> {
    inputs: Vec<Vec<I>>,
    missing: usize,
}

impl<I> SplitJob<I> {
    pub(super) fn new(texts: usize, split: Box<Split<I>>) -> Self {
        let inputs = (0..texts).map(|_| Vec::new()).collect();
        Self { split, texts, next: AtomicUsize::new(0), found: Mutex::new(Inputs { inputs, missing: texts }) }
    }

    pub(super) fn blocks(&self) -> usize {
        self.texts.div_ceil(BLOCK)
    }

    pub(super) fn next_block(&self) -> Step<I> {
        let first = self.next.fetch_add(BLOCK, Ordering::Relaxed);
        if first >= self.texts {
            // Without texts there is no last block that returns the result.
            return if self.texts == 0 { Step::Done(Ok(Vec::new())) } else { Step::NothingLeft };
        }
        let block = first..self.texts.min(first + BLOCK);
        let split = || block.map(&self.split).collect::<Result<Vec<_>, _>>();
        match catch_unwind(AssertUnwindSafe(split)).unwrap_or_else(|_| Err("the tokenizer panicked".into())) {
            Ok(inputs) => {
                let mut found = lock(&self.found);
                found.missing -= inputs.len();
                found.inputs.iter_mut().skip(first).zip(inputs).for_each(|(place, inputs)| *place = inputs);
                if found.missing == 0 { Step::Done(Ok(std::mem::take(&mut found.inputs))) } else { Step::More }
            }
            Err(error) => {
                self.next.store(self.texts, Ordering::Relaxed);
                Step::Done(Err(error))
            }
        }
    }
}

/// The state of a request after a block.
pub(super) enum Step<I> {
    /// More texts may be left.
    More,
    /// All blocks are claimed, some perhaps by other workers.
    NothingLeft,
    /// Inputs of all texts, returned only to the worker of the last block; or an error, after which no more texts are
    /// split.
    Done(Result<Vec<Vec<I>>, BoxError>),
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, thread};

    use super::*;

    /// Splits until nothing is left.
    fn all<I>(split_job: &SplitJob<I>) -> Option<Result<Vec<Vec<I>>, BoxError>> {
        loop {
            match split_job.next_block() {
                Step::More => {}
                Step::NothingLeft => return None,
                Step::Done(result) => return Some(result),
            }
        }
    }

    #[test]
    fn many_workers_split_each_text_once_and_one_of_them_gets_all() {
        for texts in [0, 1, BLOCK - 1, BLOCK, 10 * BLOCK + 3] {
            let calls = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&calls);
            let split = move |text| {
                counted.fetch_add(1, Ordering::Relaxed);
                Ok(vec![text, 2 * text])
            };
            let split_job = SplitJob::new(texts, Box::new(split));
            let results: Vec<_> = thread::scope(|scope| {
                let workers = split_job.blocks().clamp(1, 4);
                let threads: Vec<_> = (0..workers).map(|_| scope.spawn(|| all(&split_job))).collect();
                threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
            });
            let [Ok(inputs)] = results.as_slice() else { panic!("{texts} texts: {} results", results.len()) };
            assert!(inputs.iter().enumerate().all(|(text, inputs)| *inputs == [text, 2 * text]), "{inputs:?}");
            assert_eq!((inputs.len(), calls.load(Ordering::Relaxed)), (texts, texts));
        }
    }

    #[test]
    fn an_error_ends_it() {
        let split = |text| if text == BLOCK { Err("no tokens".into()) } else { Ok(vec![text]) };
        let split_job = SplitJob::new(5 * BLOCK, Box::new(split));
        let error = all(&split_job).unwrap().unwrap_err();
        assert_eq!(error.to_string(), "no tokens");
        assert!(all(&split_job).is_none());
    }

    #[test]
    fn a_panic_is_an_error() {
        let split_job = SplitJob::<usize>::new(3, Box::new(|_| panic!("unlucky")));
        assert!(all(&split_job).unwrap().is_err());
    }
}
