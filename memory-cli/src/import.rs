//! Files that are imported, and the reasons why one is not.

pub(crate) mod jsonl;
mod lines;

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

/// The name of standard input among files.
const PIPE: &str = "-";

/// True if a name stands for standard input.
pub(crate) fn is_pipe(path: &Path) -> bool {
    path == Path::new(PIPE)
}

/// True if a name stands for a file that can be read only once.
pub(crate) fn is_stream(path: &Path) -> bool {
    is_pipe(path) || fs::metadata(path).is_ok_and(|file| !file.is_file() && !file.is_dir())
}

/// Opens a file or standard input; returns also its name in errors.
pub(crate) fn open(path: &Path) -> Result<(&Path, Box<dyn Read>), ImportError> {
    if is_pipe(path) {
        return Ok((Path::new("standard input"), Box::new(io::stdin().lock())));
    }
    let file = File::open(path).map_err(|source| ImportError::Io { path: path.to_owned(), source })?;
    Ok((path, Box::new(file)))
}

/// Reasons why a file cannot be imported. Nothing of the file was imported, unless the variant says otherwise.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImportError {
    /// The file cannot be read.
    #[error("cannot read {path}")]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A line does not follow the format.
    #[error("{path}:{line}: {why}; nothing was imported")]
    Line { path: PathBuf, line: usize, why: String },
    /// A line is longer than the limit.
    #[error(
        "{path}:{line}: the line is longer than {most} bytes; nothing was imported: a message a line is expected, and \
         --max-line raises the limit"
    )]
    LongLine { path: PathBuf, line: usize, most: u64 },
    /// The file changed since its check. The part before the change was imported.
    #[error("{path} was changed while it was imported: what stood before the change was imported, import it again")]
    Changed { path: PathBuf },
    /// The file holds no message.
    #[error("{path} holds no message: nothing was imported")]
    Empty { path: PathBuf },
}
