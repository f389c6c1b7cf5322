//! Kernels for processors with AVX2.

use std::arch::x86_64::{
    __m128i, __m256, __m256i, _mm_add_epi32, _mm_add_ps, _mm_add_ss, _mm_cvtsi128_si32, _mm_cvtss_f32, _mm_hadd_epi32,
    _mm_movehl_ps, _mm_shuffle_ps, _mm256_abs_epi8, _mm256_add_epi32, _mm256_add_ps, _mm256_castps256_ps128,
    _mm256_castsi256_si128, _mm256_extractf128_ps, _mm256_extracti128_si256, _mm256_loadu_ps, _mm256_loadu_si256,
    _mm256_madd_epi16, _mm256_maddubs_epi16, _mm256_mul_ps, _mm256_set1_epi16, _mm256_setzero_ps, _mm256_setzero_si256,
    _mm256_sign_epi8,
};

use super::{AHEAD, portable, prefetch_far, row};
use crate::prefetch;

const WIDTH: usize = 32;

#[target_feature(enable = "avx2")]
pub(super) fn dots_i8(query: &[i8], rows: &[i8], out: &mut [i32]) {
    let dimensions = query.len();
    for (at, (row, out)) in rows.chunks_exact(dimensions).zip(out).enumerate() {
        prefetch_far(rows, at * dimensions..(at + 1) * dimensions);
        *out = dot_i8(query, row);
    }
}

#[target_feature(enable = "avx2")]
pub(super) fn dots_i8_of(query: &[i8], rows: &[i8], ids: &[u32], out: &mut [i32]) {
    let of = |id: &u32| row(rows, query.len(), *id);
    ids.iter().take(AHEAD).filter_map(of).for_each(prefetch::near);
    for (at, (id, out)) in ids.iter().zip(out).enumerate() {
        if let Some(ahead) = ids.get(at + AHEAD).and_then(of) {
            prefetch::near(ahead);
        }
        *out = match of(id) {
            Some(row) => dot_i8(query, row),
            None => i32::MIN,
        };
    }
}

/// `a` and `b` must have equal lengths.
#[target_feature(enable = "avx2")]
fn dot_i8(a: &[i8], b: &[i8]) -> i32 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<WIDTH>(), b.as_chunks::<WIDTH>());
    let ((a, a_odd), (b, b_odd)) = (a.as_chunks::<2>(), b.as_chunks::<2>());
    // Two sums, so that additions do not wait for each other.
    let mut sums = (_mm256_setzero_si256(), _mm256_setzero_si256());
    for ([a, a_next], [b, b_next]) in a.iter().zip(b) {
        sums.0 = _mm256_add_epi32(sums.0, products(load(a), load(b)));
        sums.1 = _mm256_add_epi32(sums.1, products(load(a_next), load(b_next)));
    }
    for (a, b) in a_odd.iter().zip(b_odd) {
        sums.0 = _mm256_add_epi32(sums.0, products(load(a), load(b)));
    }
    sum(_mm256_add_epi32(sums.0, sums.1)) + portable::dot_i8(a_rest, b_rest)
}

/// Products of 32 codes, summed by fours.
///
/// The instruction multiplies unsigned by signed, so the sign moves from `b` to `a`. It adds pairs in 16 bits with
/// saturation, which cannot happen: 2 · 127 · 127 = 32,258 is less than 32,767.
#[target_feature(enable = "avx2")]
#[inline]
fn products(a: __m256i, b: __m256i) -> __m256i {
    let pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(b), _mm256_sign_epi8(a, b));
    _mm256_madd_epi16(pairs, _mm256_set1_epi16(1))
}

#[target_feature(enable = "avx2")]
#[inline]
fn sum(sums: __m256i) -> i32 {
    let sums: __m128i = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
    let sums = _mm_hadd_epi32(sums, sums);
    _mm_cvtsi128_si32(_mm_hadd_epi32(sums, sums))
}

#[target_feature(enable = "avx2")]
pub(super) fn dot_f32(a: &[f32], b: &[f32]) -> f32 {
    let ((a, a_rest), (b, b_rest)) = portable::chunks(a, b);
    let mut sums = [_mm256_setzero_ps(); 4];
    for (a, b) in a.iter().zip(b) {
        let (a, b) = (a.as_chunks().0, b.as_chunks().0);
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            // Not fused, because the portable kernel rounds the product too.
            *sum = _mm256_add_ps(*sum, _mm256_mul_ps(load_f32(a), load_f32(b)));
        }
    }
    let [first, second, third, fourth] = sums;
    let sums = _mm256_add_ps(_mm256_add_ps(first, third), _mm256_add_ps(second, fourth));
    fold(sums) + portable::rest(a_rest, b_rest)
}

/// Sum of eight lanes by halves.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn fold(sums: __m256) -> f32 {
    let sums = _mm_add_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps::<1>(sums));
    let sums = _mm_add_ps(sums, _mm_movehl_ps(sums, sums));
    _mm_cvtss_f32(_mm_add_ss(sums, _mm_shuffle_ps::<1>(sums, sums)))
}

#[target_feature(enable = "avx2")]
#[inline]
fn load(codes: &[i8; WIDTH]) -> __m256i {
    #[expect(unsafe_code, reason = "an intrinsic that takes an address")]
    // SAFETY: 32 bytes are read, which the array has; the instruction asks for no alignment.
    unsafe {
        _mm256_loadu_si256(codes.as_ptr().cast())
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn load_f32(components: &[f32; 8]) -> __m256 {
    #[expect(unsafe_code, reason = "an intrinsic that takes an address")]
    // SAFETY: 8 components are read, which the array has; the instruction asks for no alignment.
    unsafe {
        _mm256_loadu_ps(components.as_ptr())
    }
}
