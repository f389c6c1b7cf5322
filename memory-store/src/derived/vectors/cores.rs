//! Number of available cores.

use std::{num::NonZero, sync::OnceLock, thread};

/// Cores that this process may use, queried once, because the system reads several files for each query.
pub(super) fn cores() -> NonZero<usize> {
    static CORES: OnceLock<NonZero<usize>> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN))
}
