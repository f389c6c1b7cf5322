//! Memory bandwidth.

use std::{hint::black_box, thread, time::Instant};

use super::backends::threads;

/// Reads a block of so many bytes on all cores, after one warm-up, and returns the gigabytes a second.
#[expect(clippy::cast_precision_loss, reason = "some hundred megabytes")]
pub(super) fn read_bandwidth(bytes: usize) -> f64 {
    let block = vec![1u64; bytes / size_of::<u64>()];
    sum(&block);
    let start = Instant::now();
    sum(&block);
    bytes as f64 / start.elapsed().as_secs_f64() / 1e9
}

fn sum(block: &[u64]) {
    let share = block.len().div_ceil(threads().get()).max(1);
    thread::scope(|scope| {
        for part in block.chunks(share) {
            // Independent sums, which the compiler keeps in wide registers.
            scope.spawn(move || {
                let mut sums = [0u64; 32];
                for words in part.as_chunks::<32>().0 {
                    sums.iter_mut().zip(words).for_each(|(sum, word)| *sum = sum.wrapping_add(*word));
                }
                black_box(sums)
            });
        }
    });
}
