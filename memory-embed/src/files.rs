//! Bounded reads of model files, which may be symbolic links into a hub's cache, and durable writes.

use std::io;
#[cfg(feature = "onnx")]
use std::{
    fs::{self, File},
    path::Path,
};

#[cfg(feature = "onnx")]
use memory_files::Links;

/// Maximum bytes of weights or a graph.
#[cfg(feature = "onnx")]
const MAX_WEIGHTS_BYTES: u64 = 16 << 30;
/// Maximum bytes of a configuration or a tokenizer.
#[cfg(feature = "onnx")]
const MAX_TEXT_BYTES: u64 = 1 << 30;

/// The result of opening or reading a file; `None` if it is missing.
pub(crate) fn if_there<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// Opens weights, a graph or a library.
#[cfg(feature = "onnx")]
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let file = memory_files::open(path, Links::Follow)?;
    if file.metadata()?.len() > MAX_WEIGHTS_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {MAX_WEIGHTS_BYTES} bytes")));
    }
    Ok(file)
}

#[cfg(feature = "onnx")]
pub(crate) fn read_weights(path: &Path) -> io::Result<Vec<u8>> {
    memory_files::read(path, Links::Follow, MAX_WEIGHTS_BYTES)
}

/// Reads a configuration, a record or a tokenizer.
#[cfg(feature = "onnx")]
pub(crate) fn read_text(path: &Path) -> io::Result<Vec<u8>> {
    memory_files::read(path, Links::Follow, MAX_TEXT_BYTES)
}

/// Replaces the file at `path` atomically and durably. All users may read it, because they may share the model store.
#[cfg(feature = "onnx")]
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let partial = tempfile::NamedTempFile::new_in(directory)?;
    fs::write(partial.path(), bytes)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        partial.as_file().set_permissions(fs::Permissions::from_mode(0o644))?;
    }
    partial.as_file().sync_all()?;
    partial.persist(path)?;
    sync_directory(directory)
}

/// Makes renames in `directory` durable.
#[cfg(feature = "onnx")]
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}
