//! Asks the processor for memory that will be read soon; where it cannot be asked, nothing is done.

/// Bytes that are fetched together.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Asks for bytes to be brought into the first cache. It fetches few lines at a time, and what is read meanwhile waits.
#[inline]
pub(crate) fn near<T: Byte>(bytes: &[T]) {
    #[cfg(target_arch = "x86_64")]
    lines::<{ std::arch::x86_64::_MM_HINT_T0 }, T>(bytes);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}

/// Asks for bytes to be brought into the second cache.
#[inline]
pub(crate) fn far<T: Byte>(bytes: &[T]) {
    #[cfg(target_arch = "x86_64")]
    lines::<{ std::arch::x86_64::_MM_HINT_T1 }, T>(bytes);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}

/// What takes one byte.
pub(crate) trait Byte {}

impl Byte for u8 {}

impl Byte for i8 {}

#[cfg(target_arch = "x86_64")]
#[inline]
fn lines<const HINT: i32, T: Byte>(bytes: &[T]) {
    for line in bytes.chunks(LINE) {
        #[expect(unsafe_code, reason = "an intrinsic that takes an address")]
        // SAFETY: SSE is part of x86-64, and the address is that of an item of the slice; a prefetch changes nothing and
        // faults nowhere.
        unsafe {
            std::arch::x86_64::_mm_prefetch::<HINT>(line.as_ptr().cast());
        }
    }
}
