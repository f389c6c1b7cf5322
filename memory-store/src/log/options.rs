//! Options with which a log is opened.

use std::time::Duration;

/// Options with which a log is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogOptions {
    pub(crate) segment_bytes: u32,
    pub(crate) queue_bytes: usize,
    pub(crate) checkpoint_bytes: u64,
    pub(crate) lock_timeout: Duration,
    pub(crate) must_exist: bool,
    pub(crate) encrypt: bool,
}

impl LogOptions {
    /// Sets the size at which a segment is full, clamped to 4 KiB to 1 GiB. A longer batch gets a segment of its
    /// own.
    #[must_use]
    pub fn segment_bytes(mut self, bytes: u32) -> Self {
        self.segment_bytes = bytes.clamp(4 << 10, 1 << 30);
        self
    }

    /// Sets the maximum bytes of messages that wait for the disk. Beyond that callers wait, so that a slow disk does
    /// not fill the memory.
    #[must_use]
    pub const fn queue_bytes(mut self, bytes: usize) -> Self {
        self.queue_bytes = bytes;
        self
    }

    /// Sets the maximum bytes of the log after its checkpoint when the store is closed. During writing the maximum is
    /// 64 times as high, or higher if a checkpoint is long: a checkpoint holds every node, and must cost little
    /// compared with appending. Fewer bytes make opening faster, also after a crash; more make writing cheaper.
    #[must_use]
    pub const fn checkpoint_bytes(mut self, bytes: u64) -> Self {
        self.checkpoint_bytes = bytes;
        self
    }

    /// Sets the maximum time that each commit group waits for another process that is writing.
    #[must_use]
    pub const fn lock_timeout(mut self, timeout: Duration) -> Self {
        self.lock_timeout = timeout;
        self
    }

    /// Refuses a directory that holds no store, instead of making one there.
    #[must_use]
    pub const fn must_exist(mut self) -> Self {
        self.must_exist = true;
        self
    }

    /// Encrypts a new store, with the key that it is opened with. An existing store that is not encrypted is refused.
    #[must_use]
    pub const fn encrypt(mut self) -> Self {
        self.encrypt = true;
        self
    }
}

impl Default for LogOptions {
    /// Segments of 64 MiB, 16 MiB waiting, a checkpoint each MiB of the log, 10 seconds for the write lock.
    fn default() -> Self {
        Self {
            segment_bytes: 64 << 20,
            queue_bytes: 16 << 20,
            checkpoint_bytes: 1 << 20,
            lock_timeout: Duration::from_secs(10),
            must_exist: false,
            encrypt: false,
        }
    }
}
