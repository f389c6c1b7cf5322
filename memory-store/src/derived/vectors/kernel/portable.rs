//! Kernels for every processor, and the order of additions that the others follow.

use super::row;

/// Parallel sums of components: two registers of AVX-512, four of AVX2, eight of SSE.
pub(super) const LANES: usize = 32;

pub(super) fn dots_i8(query: &[i8], rows: &[i8], out: &mut [i32]) {
    for (row, out) in rows.chunks_exact(query.len()).zip(out) {
        *out = dot_i8(query, row);
    }
}

pub(super) fn dots_i8_of(query: &[i8], rows: &[i8], ids: &[u32], out: &mut [i32]) {
    for (id, out) in ids.iter().zip(out) {
        *out = row(rows, query.len(), *id).map_or(i32::MIN, |row| dot_i8(query, row));
    }
}

/// Products of 16 bits, which compilers turn into multiply-add instructions for pairs.
pub(super) fn dot_i8(a: &[i8], b: &[i8]) -> i32 {
    a.iter().zip(b).map(|(a, b)| i32::from(i16::from(*a) * i16::from(*b))).sum()
}

pub(super) fn dot_f32(a: &[f32], b: &[f32]) -> f32 {
    let ((a, a_rest), (b, b_rest)) = chunks(a, b);
    let mut sums = [0.0f32; LANES];
    for (a, b) in a.iter().zip(b) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    fold(&mut sums) + rest(a_rest, b_rest)
}

/// The common length of two vectors in whole lanes, and the rest.
#[expect(clippy::type_complexity, reason = "two times what `as_chunks` gives")]
#[inline]
pub(super) fn chunks<'a>(
    a: &'a [f32],
    b: &'a [f32],
) -> ((&'a [[f32; LANES]], &'a [f32]), (&'a [[f32; LANES]], &'a [f32])) {
    let common = a.len().min(b.len());
    (a.get(..common).unwrap_or_default().as_chunks(), b.get(..common).unwrap_or_default().as_chunks())
}

/// Sum of the lanes by halves: lane i and lane i + 16, of these i and i + 8, and so on.
#[inline]
fn fold(sums: &mut [f32; LANES]) -> f32 {
    let mut width = LANES / 2;
    while width > 0 {
        let (low, high) = sums.split_at_mut(width);
        for (low, high) in low.iter_mut().zip(high) {
            *low += *high;
        }
        width /= 2;
    }
    let [sum, ..] = *sums;
    sum
}

/// Sum of the products after the last whole lane, in order.
#[inline]
pub(super) fn rest(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
