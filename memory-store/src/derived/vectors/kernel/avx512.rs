//! Kernels for processors with AVX-512 and VNNI.

use std::arch::x86_64::{
    __m128i, __m512, __m512i, _mm_add_epi32, _mm_cvtsi128_si32, _mm_hadd_epi32, _mm_set1_epi32, _mm_storeu_si128,
    _mm_sub_epi32, _mm256_add_epi32, _mm256_add_ps, _mm256_castsi256_si128, _mm256_extracti128_si256, _mm512_add_ps,
    _mm512_castps512_ps256, _mm512_castsi512_si256, _mm512_dpbusd_epi32, _mm512_extractf32x8_ps,
    _mm512_extracti64x4_epi64, _mm512_loadu_ps, _mm512_loadu_si512, _mm512_maskz_loadu_epi8, _mm512_mul_ps,
    _mm512_set1_epi8, _mm512_setzero_ps, _mm512_setzero_si512, _mm512_xor_si512,
};

use super::{AHEAD, avx2, portable, prefetch_far, row};
use crate::prefetch;

const WIDTH: usize = 64;
/// Rows that are computed together: enough independent sums to keep the multipliers busy, with one fold for all.
const ROWS: usize = 4;

#[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx512dq,avx2")]
pub(super) fn dots_i8(query: &[i8], rows: &[i8], out: &mut [i32]) {
    let (dimensions, offset) = (query.len(), offset(query));
    let rows_in = rows.len() / dimensions;
    let (fours, rest) = out.split_at_mut(out.len().min(rows_in) / ROWS * ROWS);
    let mut blocks = rows.chunks_exact(dimensions);
    for (at, out) in fours.as_chunks_mut::<ROWS>().0.iter_mut().enumerate() {
        prefetch_far(rows, at * ROWS * dimensions..(at + 1) * ROWS * dimensions);
        let (Some(a), Some(b), Some(c), Some(d)) = (blocks.next(), blocks.next(), blocks.next(), blocks.next()) else {
            return;
        };
        store(out, _mm_sub_epi32(products(query, [a, b, c, d]), _mm_set1_epi32(offset)));
    }
    for (row, out) in blocks.zip(rest) {
        *out = dot(query, row).wrapping_sub(offset);
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx512dq,avx2")]
pub(super) fn dots_i8_of(query: &[i8], rows: &[i8], ids: &[u32], out: &mut [i32]) {
    let offset = offset(query);
    let of = |id: &u32| row(rows, query.len(), *id);
    ids.iter().take(AHEAD).filter_map(of).for_each(prefetch::near);
    let (ids_by_four, _) = ids.as_chunks::<ROWS>();
    let (out_by_four, _) = out.as_chunks_mut::<ROWS>();
    for (at, ([a, b, c, d], out)) in ids_by_four.iter().zip(out_by_four.iter_mut()).enumerate() {
        for ahead in ids.iter().skip(at * ROWS + AHEAD).take(ROWS).filter_map(of) {
            prefetch::near(ahead);
        }
        if let (Some(a), Some(b), Some(c), Some(d)) = (of(a), of(b), of(c), of(d)) {
            store(out, _mm_sub_epi32(products(query, [a, b, c, d]), _mm_set1_epi32(offset)));
        } else {
            for (id, out) in [a, b, c, d].into_iter().zip(out) {
                *out = match of(id) {
                    Some(row) => dot(query, row).wrapping_sub(offset),
                    None => i32::MIN,
                };
            }
        }
    }
    let done = ids_by_four.len().min(out_by_four.len()) * ROWS;
    for (id, out) in ids.iter().zip(out).skip(done) {
        *out = match of(id) {
            Some(row) => dot(query, row).wrapping_sub(offset),
            None => i32::MIN,
        };
    }
}

/// Offset of products with shifted rows: 128 times the sum of the query's codes.
///
/// The instruction multiplies unsigned by signed. Flipping the highest bit of a row's codes adds 128 and makes them
/// unsigned, so each product is too large by 128 times the query's code, whatever the row. Four products at a time are
/// added in 32 bits without saturation, so the sums are exact modulo 2³², and so are the sums minus the offset, which
/// fit.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx512dq,avx2")]
fn offset(query: &[i8]) -> i32 {
    let ((query, rest), shift) = (query.as_chunks::<WIDTH>(), _mm512_set1_epi8(i8::MIN));
    let mut sum = _mm512_setzero_si512();
    for query in query {
        sum = _mm512_dpbusd_epi32(sum, shift, load(query));
    }
    sum = _mm512_dpbusd_epi32(sum, shift, load_part(rest));
    total(sum)
}

/// Products of a query with four shifted rows.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx512dq,avx2")]
#[inline]
fn products(query: &[i8], rows: [&[i8]; ROWS]) -> __m128i {
    let ((query, query_rest), shift) = (query.as_chunks::<WIDTH>(), _mm512_set1_epi8(i8::MIN));
    let [(a, a_rest), (b, b_rest), (c, c_rest), (d, d_rest)] = rows.map(<[i8]>::as_chunks::<WIDTH>);
    let mut sums = [_mm512_setzero_si512(); ROWS];
    for ((((query, a), b), c), d) in query.iter().zip(a).zip(b).zip(c).zip(d) {
        let query = load(query);
        for (sum, row) in sums.iter_mut().zip([a, b, c, d]) {
            *sum = _mm512_dpbusd_epi32(*sum, _mm512_xor_si512(load(row), shift), query);
        }
    }
    if !query_rest.is_empty() {
        let query = load_part(query_rest);
        for (sum, row) in sums.iter_mut().zip([a_rest, b_rest, c_rest, d_rest]) {
            *sum = _mm512_dpbusd_epi32(*sum, _mm512_xor_si512(load_part(row), shift), query);
        }
    }
    let [a, b, c, d] = sums;
    _mm_hadd_epi32(_mm_hadd_epi32(quarter(a), quarter(b)), _mm_hadd_epi32(quarter(c), quarter(d)))
}

/// Product of a query with one shifted row.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx512dq,avx2")]
#[inline]
fn dot(query: &[i8], row: &[i8]) -> i32 {
    let ((query, query_rest), (row, row_rest)) = (query.as_chunks::<WIDTH>(), row.as_chunks::<WIDTH>());
    let (mut sum, shift) = (_mm512_setzero_si512(), _mm512_set1_epi8(i8::MIN));
    for (query, row) in query.iter().zip(row) {
        sum = _mm512_dpbusd_epi32(sum, _mm512_xor_si512(load(row), shift), load(query));
    }
    sum = _mm512_dpbusd_epi32(sum, _mm512_xor_si512(load_part(row_rest), shift), load_part(query_rest));
    total(sum)
}

/// Folds sixteen sums into four.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx512dq,avx2")]
#[inline]
fn quarter(sums: __m512i) -> __m128i {
    let half = _mm256_add_epi32(_mm512_castsi512_si256(sums), _mm512_extracti64x4_epi64::<1>(sums));
    _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256::<1>(half))
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx512dq,avx2")]
#[inline]
fn total(sums: __m512i) -> i32 {
    let sums = quarter(sums);
    let sums = _mm_hadd_epi32(sums, sums);
    _mm_cvtsi128_si32(_mm_hadd_epi32(sums, sums))
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx512dq,avx2")]
pub(super) fn dot_f32(a: &[f32], b: &[f32]) -> f32 {
    let ((a, a_rest), (b, b_rest)) = portable::chunks(a, b);
    let mut sums = [_mm512_setzero_ps(); 2];
    for (a, b) in a.iter().zip(b) {
        let (a, b) = (a.as_chunks().0, b.as_chunks().0);
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            // Not fused, because the portable kernel rounds the product too.
            *sum = _mm512_add_ps(*sum, _mm512_mul_ps(load_f32(a), load_f32(b)));
        }
    }
    let [first, second] = sums;
    let sums = _mm512_add_ps(first, second);
    let half = _mm256_add_ps(_mm512_castps512_ps256(sums), _mm512_extractf32x8_ps::<1>(sums));
    avx2::fold(half) + portable::rest(a_rest, b_rest)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx512dq,avx2")]
#[inline]
fn load(codes: &[i8; WIDTH]) -> __m512i {
    #[expect(unsafe_code, reason = "an intrinsic that takes an address")]
    // SAFETY: 64 bytes are read, which the array has; the instruction asks for no alignment.
    unsafe {
        _mm512_loadu_si512(codes.as_ptr().cast())
    }
}

/// Loads fewer codes than a register holds, filled with zeros.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx512dq,avx2")]
#[inline]
fn load_part(codes: &[i8]) -> __m512i {
    let mask = (1u64 << (codes.len() % WIDTH)) - 1;
    #[expect(unsafe_code, reason = "an intrinsic that takes an address")]
    // SAFETY: the mask has at most as many bits as the slice has bytes, and what it leaves out is not read.
    unsafe {
        _mm512_maskz_loadu_epi8(mask, codes.as_ptr())
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx512dq,avx2")]
#[inline]
fn load_f32(components: &[f32; 16]) -> __m512 {
    #[expect(unsafe_code, reason = "an intrinsic that takes an address")]
    // SAFETY: 16 components are read, which the array has; the instruction asks for no alignment.
    unsafe {
        _mm512_loadu_ps(components.as_ptr())
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx512dq,avx2")]
#[inline]
fn store(out: &mut [i32; ROWS], sums: __m128i) {
    #[expect(unsafe_code, reason = "an intrinsic that takes an address")]
    // SAFETY: 16 bytes are written, which the array has; the instruction asks for no alignment.
    unsafe {
        _mm_storeu_si128(out.as_mut_ptr().cast(), sums);
    }
}
