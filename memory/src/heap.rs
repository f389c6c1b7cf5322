//! Limit on the heap that a long-running process keeps unused.

/// Has glibc's allocator serve all threads from two arenas instead of eight for each processor.
///
/// A memory works on several threads, and memory that one of them frees stays in its arena: a process that runs for
/// days holds more memory than it uses. The `memory` binary calls this first of all; a service may do the same, once,
/// before it starts threads. With another allocator, or another C library, the call does nothing.
pub fn limit_heap_arenas() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        const ARENAS: std::ffi::c_int = 2;
        #[expect(unsafe_code, reason = "a call of the system's library")]
        // SAFETY: the function takes two numbers and sets a parameter of the allocator under its own lock.
        let is_set = unsafe { libc::mallopt(libc::M_ARENA_MAX, ARENAS) };
        tracing::debug!(is_set, "arenas of the heap");
    }
}
