//! The files of models, which may be links into a hub's cache: what they lead to is a regular file, and not endless.

use std::{fs::File, io, path::Path};

use memory_files::Links;

/// No weights or graphs that can be run take more.
const LARGEST_WEIGHTS: u64 = 16 << 30;
/// No configuration or tokenizer takes more.
const LARGEST_TEXT: u64 = 1 << 30;

/// Opens weights, a graph or a library.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let file = memory_files::open(path, Links::Follow)?;
    if file.metadata()?.len() > LARGEST_WEIGHTS {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {LARGEST_WEIGHTS} bytes")));
    }
    Ok(file)
}

/// All of a file of weights or of a graph.
pub(crate) fn read_weights(path: &Path) -> io::Result<Vec<u8>> {
    memory_files::read(path, Links::Follow, LARGEST_WEIGHTS)
}

/// All of a configuration, a record or a tokenizer.
pub(crate) fn read_text(path: &Path) -> io::Result<Vec<u8>> {
    memory_files::read(path, Links::Follow, LARGEST_TEXT)
}
