//! Bounded reads of model files, which may be symbolic links into a hub's cache.

use std::{fs::File, io, path::Path};

use memory_files::Links;

/// Maximum bytes of weights or a graph.
const MAX_WEIGHTS_BYTES: u64 = 16 << 30;
/// Maximum bytes of a configuration or a tokenizer.
const MAX_TEXT_BYTES: u64 = 1 << 30;

/// Opens weights, a graph or a library.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let file = memory_files::open(path, Links::Follow)?;
    if file.metadata()?.len() > MAX_WEIGHTS_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {MAX_WEIGHTS_BYTES} bytes")));
    }
    Ok(file)
}

pub(crate) fn read_weights(path: &Path) -> io::Result<Vec<u8>> {
    memory_files::read(path, Links::Follow, MAX_WEIGHTS_BYTES)
}

/// Reads a configuration, a record or a tokenizer.
pub(crate) fn read_text(path: &Path) -> io::Result<Vec<u8>> {
    memory_files::read(path, Links::Follow, MAX_TEXT_BYTES)
}
