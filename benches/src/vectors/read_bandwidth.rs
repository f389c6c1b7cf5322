//! Memory bandwidth.

use std::{hint::black_box, thread, time::Instant};

use super::backends::threads;

/// Words of a step: independent sums, which the compiler keeps in wide registers.
const LANES: usize = 32;
/// The kernels, by how many places of its part each core reads in turn. One is a plain sum; with several, more reads are
/// under way at a time.
const KERNELS: [fn(&[u64]); 4] = [sum::<1>, sum::<2>, sum::<4>, sum::<8>];

/// Times that each kernel runs.
const RUNS: usize = 4;

/// Reads a block of so many bytes on all cores by several kernels, after one warm-up, and returns the gigabytes a second of
/// the fastest run.
#[expect(clippy::cast_precision_loss, reason = "some hundred megabytes")]
pub(super) fn read_bandwidth(bytes: usize) -> f64 {
    let block = vec![1u64; bytes / size_of::<u64>()];
    sum::<1>(&block);
    let rate = |kernel: fn(&[u64])| {
        let start = Instant::now();
        kernel(&block);
        bytes as f64 / start.elapsed().as_secs_f64() / 1e9
    };
    std::iter::repeat_n(KERNELS, RUNS).flatten().map(rate).fold(0.0, f64::max)
}

/// Sums up a block, each core its part, of which it reads so many places in turn.
fn sum<const PLACES: usize>(block: &[u64]) {
    let share = block.len().div_ceil(threads().get()).max(1);
    thread::scope(|scope| {
        for part in block.chunks(share) {
            scope.spawn(move || {
                let steps = part.as_chunks::<LANES>().0;
                let stride = steps.len() / PLACES;
                let places: [_; PLACES] = std::array::from_fn(|place| steps.split_at(place * stride).1);
                let mut sums = [0u64; LANES];
                for at in 0..stride {
                    for words in places.iter().filter_map(|place| place.get(at)) {
                        sums.iter_mut().zip(words).for_each(|(sum, word)| *sum = sum.wrapping_add(*word));
                    }
                }
                black_box(sums)
            });
        }
    });
}
