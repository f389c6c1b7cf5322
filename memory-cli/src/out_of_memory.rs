//! Ends the binary with an error, and not with a signal, where the system refuses memory.
//!
//! Few allocations can be tried first: most are made by collections, also in other crates, and end the process. So the
//! allocator notes a refusal, and the abort that follows it becomes an error with an exit code.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    ptr,
    sync::atomic::{AtomicBool, Ordering},
};

/// Whether the system has refused memory.
static REFUSED: AtomicBool = AtomicBool::new(false);
/// Whether errors are printed as JSON.
static JSON: AtomicBool = AtomicBool::new(false);

/// The exit code of an error that has none of its own.
const CODE: i32 = 1;
/// Milliseconds that standard error may take to have room.
const PATIENCE: i32 = 1_000;

macro_rules! what_to_do {
    () => {
        "out of memory: what was reported as done is on disk; free memory or raise its limit (ulimit -v), and run the \
         command again"
    };
}

/// The system's allocator, which notes where it refuses.
struct Noting;

#[global_allocator]
static ALLOCATOR: Noting = Noting;

impl Noting {
    fn noted(pointer: *mut u8) -> *mut u8 {
        if pointer.is_null() {
            REFUSED.store(true, Ordering::Relaxed);
        }
        pointer
    }
}

#[expect(unsafe_code, reason = "an allocator is unsafe")]
// SAFETY: every call is passed on unchanged to the system's allocator, which keeps the contract.
unsafe impl GlobalAlloc for Noting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        Self::noted(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        Self::noted(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        Self::noted(unsafe { System.realloc(pointer, layout, size) })
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// From now on an abort for lack of memory ends the process with an error.
#[expect(unsafe_code, reason = "calls of the system's library")]
pub(crate) fn become_an_error(json: bool) {
    JSON.store(json, Ordering::Relaxed);
    let handler: extern "C" fn(i32) = aborted;
    // SAFETY: the structure is plain data, valid with zeros, and filled as the call asks for; the handler only calls
    // functions that may be called in one.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as libc::sighandler_t;
        libc::sigemptyset(&raw mut action.sa_mask);
        // An abort for another reason finds the system's own handler, which ends the process.
        action.sa_flags = libc::SA_RESETHAND;
        libc::sigaction(libc::SIGABRT, &raw const action, ptr::null_mut());
    }
}

#[expect(unsafe_code, reason = "calls of the system's library")]
extern "C" fn aborted(_: i32) {
    if !REFUSED.load(Ordering::Relaxed) {
        return;
    }
    let text: &[u8] = if JSON.load(Ordering::Relaxed) {
        concat!("{\"error\":\"", what_to_do!(), "\",\"exit_code\":1}\n").as_bytes()
    } else {
        concat!("error: ", what_to_do!(), "\n").as_bytes()
    };
    let mut out = libc::pollfd { fd: libc::STDERR_FILENO, events: libc::POLLOUT, revents: 0 };
    // SAFETY: the text is as long as it says; all calls are allowed in a handler, and the last does not return.
    unsafe {
        // Nobody may read what was written before.
        if libc::poll(&raw mut out, 1, PATIENCE) > 0 && out.revents & libc::POLLOUT != 0 {
            libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len());
        }
        libc::_exit(CODE);
    }
}
