//! Number of threads that run at once.

use std::{num::NonZero, sync::OnceLock, thread};

/// The cores that this process may use, queried once: the system answers from several files, which takes longer to read
/// than a few thousand vectors.
pub(super) fn cores() -> NonZero<usize> {
    static CORES: OnceLock<NonZero<usize>> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN))
}
