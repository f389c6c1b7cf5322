//! A map of a small file that outlives a cut of the file.
//!
//! After a program cuts a file, access to a map of it raises a signal (SIGBUS) that ends the process. The handler here
//! instead replaces such a page with zeros, as journald does for its files, and marks the map as cut. Other signals
//! pass to the previous handler.

use std::{
    fs::File,
    io, mem, ptr,
    sync::{
        OnceLock,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
};

use memmap2::{MmapOptions, MmapRaw};

/// Maximum maps of a process; without a free place, the file is read and written by position.
const PLACES: usize = 256;

/// Addresses of the maps, for the handler; 0 for a free place.
static BEGINS: [AtomicUsize; PLACES] = [const { AtomicUsize::new(0) }; PLACES];
/// The bytes of the map in each place.
static LENGTHS: [AtomicUsize; PLACES] = [const { AtomicUsize::new(0) }; PLACES];
/// True for each place whose map was cut.
static CUT: [AtomicBool; PLACES] = [const { AtomicBool::new(false) }; PLACES];

/// The previous handler; `None` if none could be replaced.
static BEFORE: OnceLock<Option<libc::sigaction>> = OnceLock::new();

/// The first words of a file.
#[derive(Debug)]
pub(super) struct CutSafeMap {
    map: MmapRaw,
    words: usize,
    place: usize,
}

impl CutSafeMap {
    /// Maps the first `words` words of a file; `None` if no place is left for another map.
    pub(super) fn of(file: &File, words: usize, writable: bool) -> io::Result<Option<Self>> {
        if !is_guarded() {
            return Ok(None);
        }
        let bytes = words * size_of::<u64>();
        let mut options = MmapOptions::new();
        let options = options.len(bytes);
        let map = if writable { options.map_raw(file)? } else { options.map_raw_read_only(file)? };
        let begin = map.as_ptr().expose_provenance();
        let claim = |place: &usize| {
            let free = BEGINS.get(*place);
            free.is_some_and(|free| free.compare_exchange(0, begin, Ordering::AcqRel, Ordering::Relaxed).is_ok())
        };
        let Some(place) = (0..PLACES).find(claim) else { return Ok(None) };
        let this = Self { map, words, place };
        this.mark(&CUT).store(false, Ordering::Release);
        this.mark(&LENGTHS).store(bytes, Ordering::Release);
        Ok(Some(this))
    }

    #[expect(clippy::indexing_slicing, reason = "a place was found in the array")]
    fn mark<T>(&self, of: &'static [T; PLACES]) -> &'static T {
        &of[self.place]
    }

    /// True if the file was cut while it was mapped: the bytes read are not its contents.
    pub(super) fn is_cut(&self) -> bool {
        self.mark(&CUT).load(Ordering::Acquire)
    }

    pub(super) fn word(&self, index: usize) -> Option<&AtomicU64> {
        if index >= self.words {
            return None;
        }
        let start = self.map.as_ptr().cast::<AtomicU64>();
        // SAFETY: the map has that many words, begins at a page and lives as long as `self`; every access to it, in
        // this process and in others, is atomic. Where the file is cut, the handler puts zeros in its place.
        #[expect(unsafe_code, reason = "memory shared with other processes has no safe reference")]
        unsafe {
            Some(&*start.add(index))
        }
    }
}

impl Drop for CutSafeMap {
    fn drop(&mut self) {
        // The place is freed before the address is unmapped and reused.
        self.mark(&LENGTHS).store(0, Ordering::Release);
        self.mark(&BEGINS).store(0, Ordering::Release);
    }
}

/// Installs the handler, once for the process.
#[expect(unsafe_code, reason = "signal handlers have no safe interface")]
fn is_guarded() -> bool {
    let install = || {
        let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) = handle;
        // SAFETY: the structures are plain data, valid with zeros, and filled as the calls ask for. The handler only
        // reads atomics and makes one system call that may be made in a handler.
        unsafe {
            let (mut before, mut action): (libc::sigaction, libc::sigaction) = (mem::zeroed(), mem::zeroed());
            action.sa_sigaction = handler as libc::sighandler_t;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&raw mut action.sa_mask);
            (libc::sigaction(libc::SIGBUS, &raw const action, &raw mut before) == 0).then_some(before)
        }
    };
    BEFORE.get_or_init(install).is_some()
}

#[expect(unsafe_code, reason = "signal handlers have no safe interface")]
extern "C" fn handle(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the system passes valid information on the signal.
    let at = unsafe { (*info).si_addr() }.addr();
    for ((begin, length), cut) in BEGINS.iter().zip(&LENGTHS).zip(&CUT) {
        let (begin, length) = (begin.load(Ordering::Acquire), length.load(Ordering::Acquire));
        if begin == 0 || !(begin..begin + length).contains(&at) {
            continue;
        }
        let (rights, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: the pages belong to the map in that place, which stays mapped until the place is free.
        let zeros = unsafe { libc::mmap(ptr::with_exposed_provenance_mut(begin), length, rights, flags, -1, 0) };
        if zeros != libc::MAP_FAILED {
            cut.store(true, Ordering::Release);
            return;
        }
    }
    pass_on(signal, info, context);
}

/// Passes a signal to the previous handler.
#[expect(unsafe_code, reason = "signal handlers have no safe interface")]
fn pass_on(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let before = BEFORE.get().and_then(Option::as_ref);
    let handler = before.map_or(libc::SIG_DFL, |before| before.sa_sigaction);
    // SAFETY: a handler that the system knew has the type that its flags state. Without one the system's own is put in
    // place, which ends the process when the access is tried again.
    unsafe {
        if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
            libc::signal(signal, libc::SIG_DFL);
        } else if before.is_some_and(|before| before.sa_flags & libc::SA_SIGINFO != 0) {
            let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) = mem::transmute(handler);
            handler(signal, info, context);
        } else {
            let handler: extern "C" fn(i32) = mem::transmute(handler);
            handler(signal);
        }
    }
}
