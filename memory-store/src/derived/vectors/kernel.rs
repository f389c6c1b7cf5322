//! Vector arithmetic: inner products of int8 codes and of f32 components, with the widest available instructions.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;
#[cfg(test)]
mod tests;

#[cfg(target_arch = "x86_64")]
use std::ops::Range;
use std::sync::OnceLock;

#[cfg(target_arch = "x86_64")]
use crate::prefetch;

/// Rows to prefetch when rows are gathered: as many as a core fetches at once.
const AHEAD: usize = 8;

/// Distance in bytes at which a block is prefetched into the second-level cache. Hardware prefetching stops at a page
/// and fetches too little of a block in memory. With this distance a scan of a million rows reads some 1.3 times as
/// many bytes per second (AMD Zen 4, two cores; a shorter distance or the first-level cache is slower).
#[cfg(target_arch = "x86_64")]
const FAR_AHEAD: usize = 8 << 10;

/// Inner products with the instructions of this processor.
///
/// All kernels give bit-identical results. Products of codes are exact: integers of at most 131,071 codes cannot
/// overflow 32 bits. Products of components are added in the same order everywhere: 32 parallel sums, folded by halves.
///
/// Codes are those that [`quantize`] makes, −127..=127. −128 must not occur: AVX2 multiplies absolute values, and 128 ·
/// 128 · 2 exceeds the 16 bits in which it adds pairs.
///
/// ```
/// use memory_store::{Kernels, quantize};
///
/// let (mut query, mut row) = (Vec::new(), Vec::new());
/// let scale = quantize(&[0.6, 0.8], &mut query) * quantize(&[1.0, 0.0], &mut row);
/// let cosine = Kernels::detected().dot_i8(&query, &row) as f32 * scale;
/// assert!((cosine - 0.6).abs() < 0.01);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernels(Instructions);

/// Instruction set of the kernels. Only [`Kernels::available`] makes values other than `Portable`, and only if the
/// processor has the instructions, which makes calling them sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Instructions {
    #[cfg(target_arch = "x86_64")]
    Avx512Vnni,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

/// Calls a kernel of the instruction set.
macro_rules! dispatch {
    ($kernels:expr, $function:ident($($argument:expr),*)) => {
        match $kernels.0 {
            #[cfg(target_arch = "x86_64")]
            #[expect(unsafe_code, reason = "calls a function that needs instructions")]
            // SAFETY: `Kernels::available` made this value having found all of avx512f, avx512bw, avx512vnni, avx512dq
            // and avx2.
            Instructions::Avx512Vnni => unsafe { avx512::$function($($argument),*) },
            #[cfg(target_arch = "x86_64")]
            #[expect(unsafe_code, reason = "calls a function that needs instructions")]
            // SAFETY: `Kernels::available` made this value having found avx2.
            Instructions::Avx2 => unsafe { avx2::$function($($argument),*) },
            Instructions::Portable => portable::$function($($argument),*),
        }
    };
}

impl Kernels {
    /// The fastest kernels of this processor, detected once.
    #[must_use]
    pub fn detected() -> Self {
        static DETECTED: OnceLock<Kernels> = OnceLock::new();
        *DETECTED.get_or_init(|| Self::available().first().copied().unwrap_or(Self(Instructions::Portable)))
    }

    /// All kernels that this processor can run, fastest first, the portable ones last.
    #[must_use]
    pub fn available() -> Vec<Self> {
        let mut available = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            if has!("avx512f") && has!("avx512bw") && has!("avx512vnni") && has!("avx512dq") && has!("avx2") {
                available.push(Self(Instructions::Avx512Vnni));
            }
            if has!("avx2") {
                available.push(Self(Instructions::Avx2));
            }
        }
        available.push(Self(Instructions::Portable));
        available
    }

    /// Name of the instruction set.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512Vnni => "avx512-vnni",
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => "avx2",
            Instructions::Portable => "portable",
        }
    }

    /// Inner product of two vectors of codes; surplus codes of the longer one are ignored.
    #[must_use]
    pub fn dot_i8(self, a: &[i8], b: &[i8]) -> i32 {
        let mut product = [0];
        let codes = a.len().min(b.len());
        if let (Some(a), Some(b)) = (a.get(..codes), b.get(..codes)) {
            self.dots_i8(a, b, &mut product);
        }
        let [product] = product;
        product
    }

    /// Products of a query with consecutive rows of the query's length; as many as there are rows and places in `out`.
    pub fn dots_i8(self, query: &[i8], rows: &[i8], out: &mut [i32]) {
        if query.is_empty() {
            return out.fill(0);
        }
        dispatch!(self, dots_i8(query, rows, out));
    }

    /// Products of a query with the rows of a block with the numbers `ids`, in this order. Prefetches rows in advance.
    /// The product of a missing row is `i32::MIN`.
    pub fn dots_i8_of(self, query: &[i8], rows: &[i8], ids: &[u32], out: &mut [i32]) {
        if query.is_empty() {
            return out.fill(0);
        }
        dispatch!(self, dots_i8_of(query, rows, ids, out));
    }

    /// Inner product of two vectors of components; surplus components of the longer one are ignored.
    #[must_use]
    pub fn dot_f32(self, a: &[f32], b: &[f32]) -> f32 {
        dispatch!(self, dot_f32(a, b))
    }
}

/// Tolerance of a vector's unit length.
pub(super) const UNIT_TOLERANCE: f32 = 1e-3;

/// True if a vector is finite and of unit length.
pub(in crate::derived) fn is_unit(vector: &[f32]) -> bool {
    let length = Kernels::detected().dot_f32(vector, vector).sqrt();
    length.is_finite() && (length - 1.0).abs() <= UNIT_TOLERANCE
}

/// Row `id` of a block of rows of `dimensions` codes.
#[inline]
fn row(rows: &[i8], dimensions: usize, id: u32) -> Option<&[i8]> {
    let begin = (id as usize).checked_mul(dimensions)?;
    rows.get(begin..begin.checked_add(dimensions)?)
}

/// Prefetches the bytes `FAR_AHEAD` after `rows` into the second-level cache; does nothing if the block ends before
/// that.
#[cfg(target_arch = "x86_64")]
#[inline]
fn prefetch_far(block: &[i8], rows: Range<usize>) {
    if let Some(ahead) = block.get(rows.start + FAR_AHEAD..rows.end + FAR_AHEAD) {
        prefetch::far(ahead);
    }
}

/// Added to a number of less than 2²², it leaves the number rounded in the low bits of the sum: to the nearest, ties to
/// even.
const ROUNDING: f32 = 12_582_912.0;

/// Appends the codes of a vector, −127..=127, and returns the scale: component ≈ code × scale, within half a scale.
///
/// The scale is the vector's own, so that its largest component is code ±127. One scale for all would save four bytes
/// and a multiplication for each vector, but would have to be as large as the largest component of any future vector:
/// with unit vectors of 384 dimensions that costs two of the eight bits.
///
/// The components must be finite. Zeros, and components too small to divide by, give zeros.
#[must_use = "codes mean nothing without their scale"]
pub fn quantize(vector: &[f32], codes: &mut Vec<i8>) -> f32 {
    let largest = vector.iter().fold(0.0f32, |largest, component| largest.max(component.abs()));
    let steps = 127.0 / largest;
    if !steps.is_finite() {
        codes.resize(codes.len() + vector.len(), 0);
        return 0.0;
    }
    #[expect(clippy::cast_possible_truncation, reason = "the low byte is the code")]
    codes.extend(vector.iter().map(|component| (component * steps + ROUNDING).to_bits() as i8));
    largest / 127.0
}
