//! Parallel work with results in order.

use std::{
    num::NonZero,
    sync::{Mutex, OnceLock, PoisonError},
    thread,
};

/// The cores that this process may use, queried once: the system answers from several files, which takes longer to read
/// than a few thousand vectors.
pub(super) fn cores() -> NonZero<usize> {
    static CORES: OnceLock<NonZero<usize>> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN))
}

/// Applies `work` to each item on several threads, each with its own state and taking `grain` items at once. Returns
/// the results in the order of the items.
pub(super) fn parallel<I: Send, S, T: Send>(
    threads: NonZero<usize>,
    items: impl IntoIterator<Item = I, IntoIter: ExactSizeIterator + Send>,
    grain: usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, I, &mut Vec<T>) + Sync,
) -> Vec<T> {
    let items = items.into_iter();
    let threads = threads.get().min(items.len().div_ceil(grain.max(1)));
    if threads <= 1 {
        let (mut state, mut results) = (state(), Vec::new());
        items.for_each(|item| work(&mut state, item, &mut results));
        return results;
    }
    let grains = Mutex::new((0usize, items));
    let done = Mutex::new(Vec::new());
    let run = || {
        let mut state = state();
        loop {
            let (number, items): (_, Vec<I>) = {
                let (next, items) = &mut *grains.lock().unwrap_or_else(PoisonError::into_inner);
                *next += 1;
                (*next, items.by_ref().take(grain).collect())
            };
            if items.is_empty() {
                return;
            }
            let mut results = Vec::new();
            items.into_iter().for_each(|item| work(&mut state, item, &mut results));
            done.lock().unwrap_or_else(PoisonError::into_inner).push((number, results));
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // If the system refuses a thread, the others do its share.
            drop(thread::Builder::new().spawn_scoped(scope, run));
        }
        run();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().flat_map(|(_, results)| results).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        for threads in 1..5 {
            let threads = NonZero::new(threads).unwrap();
            let doubled = parallel(threads, 0..1000u32, 7, || 2, |factor, item, out| out.push(item * *factor));
            assert_eq!(doubled, (0..2000).step_by(2).collect::<Vec<u32>>());
        }
    }
}
