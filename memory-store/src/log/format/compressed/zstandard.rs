//! zstd, one block at a time.

use std::{cell::RefCell, io};

use zstd::zstd_safe::{CCtx, CDict, CParameter, DCtx, DDict, compress_bound};

use super::source::damaged;

const NO_MEMORY: &str = "zstd got no memory";
const REFUSED: &str = "zstd refused its parameters";

/// A dictionary prepared for reading.
pub(super) struct Dictionary(DDict<'static>);

impl Dictionary {
    pub(super) fn new(bytes: &[u8]) -> Result<Self, &'static str> {
        DDict::try_create(bytes).map(Self).ok_or("zstd cannot load the dictionary of the compressed segment")
    }
}

/// Compresses blocks independently.
pub(super) struct Compressor<'d> {
    context: CCtx<'d>,
    out: Vec<u8>,
}

impl<'d> Compressor<'d> {
    pub(super) fn new(level: i32, block_bytes: u32, dictionary: Option<&'d CDict<'d>>) -> Result<Self, &'static str> {
        let mut context = CCtx::try_create().ok_or(NO_MEMORY)?;
        match dictionary {
            Some(dictionary) => context.ref_cdict(dictionary),
            None => context.set_parameter(CParameter::CompressionLevel(level)),
        }
        .map_err(|_| REFUSED)?;
        // A dictionary's id is needless: there is one dictionary, and each block has a checksum.
        context.set_parameter(CParameter::DictIdFlag(false)).map_err(|_| REFUSED)?;
        Ok(Self { context, out: Vec::with_capacity(compress_bound(block_bytes as usize)) })
    }

    /// The stored form of a block: compressed, or unchanged when that is not longer.
    pub(super) fn store<'b>(&'b mut self, block: &'b [u8]) -> Result<&'b [u8], &'static str> {
        self.out.clear();
        self.context.compress2(&mut self.out, block).map_err(|_| "zstd could not compress a block")?;
        Ok(if self.out.len() < block.len() { &self.out } else { block })
    }
}

/// Turns a stored block back into exactly `out.len()` bytes.
pub(super) fn restore(stored: &[u8], dictionary: Option<&Dictionary>, out: &mut [u8]) -> io::Result<()> {
    thread_local! {
        /// One context for each reading thread and any number of segments, because a context takes 160 KB.
        static CONTEXT: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
    }
    if stored.len() == out.len() {
        out.copy_from_slice(stored);
        return Ok(());
    }
    let mut context = CONTEXT.take().or_else(DCtx::try_create).ok_or(io::ErrorKind::OutOfMemory)?;
    let written = match dictionary {
        Some(dictionary) => context.decompress_using_ddict(out, stored, &dictionary.0),
        None => context.decompress(out, stored),
    };
    if written != Ok(out.len()) {
        // The context is dropped too, so that the failure does not affect the next block.
        return Err(damaged("a block cannot be decompressed"));
    }
    CONTEXT.set(Some(context));
    Ok(())
}
