//! Hints the processor to fetch memory that will be read soon; a no-op where that is not supported.

/// Bytes that are fetched together.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Fetches bytes into the first-level cache. It fetches few lines at a time, and other reads wait meanwhile.
#[inline]
pub(crate) fn near<T: Byte>(bytes: &[T]) {
    #[cfg(target_arch = "x86_64")]
    lines::<{ std::arch::x86_64::_MM_HINT_T0 }, T>(bytes);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}

/// Fetches bytes into the second-level cache.
#[inline]
pub(crate) fn far<T: Byte>(bytes: &[T]) {
    #[cfg(target_arch = "x86_64")]
    lines::<{ std::arch::x86_64::_MM_HINT_T1 }, T>(bytes);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}

/// A type of one byte.
pub(crate) trait Byte {}

impl Byte for u8 {}

impl Byte for i8 {}

#[cfg(target_arch = "x86_64")]
#[inline]
fn lines<const HINT: i32, T: Byte>(bytes: &[T]) {
    for line in bytes.chunks(LINE) {
        #[expect(unsafe_code, reason = "an intrinsic that takes an address")]
        // SAFETY: SSE is part of x86-64, and the address is that of an item of the slice. A prefetch changes nothing
        // and never faults.
        unsafe {
            std::arch::x86_64::_mm_prefetch::<HINT>(line.as_ptr().cast());
        }
    }
}
