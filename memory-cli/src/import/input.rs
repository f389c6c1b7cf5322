//! A file that is read twice: checked first, and then used.

use std::{
    fs::{self, File},
    io::{self, Read, Seek},
    path::{Path, PathBuf},
};

use memory_store::{ReadLimits, Spool};

use super::{ImportError, lines::Lines};

/// The name of standard input among files.
const PIPE: &str = "-";

/// A file whose lines were checked.
#[derive(Debug)]
pub(crate) struct Input {
    path: PathBuf,
    /// The data of a pipe, in a temporary file. A named file is opened again, so that many files can be checked first
    /// without keeping them open.
    kept: Option<File>,
    longest: u64,
}

/// True if a name stands for standard input.
pub(crate) fn is_pipe(path: &Path) -> bool {
    path == Path::new(PIPE)
}

/// True if a name stands for a file that can be read only once.
pub(crate) fn is_stream(path: &Path) -> bool {
    is_pipe(path) || fs::metadata(path).is_ok_and(|file| !file.is_file() && !file.is_dir())
}

impl Input {
    /// Reads a file with `check`. A fault ends that at once, even in an endless file.
    pub(crate) fn checked<T>(
        path: &Path,
        limits: ReadLimits,
        check: impl FnOnce(&mut Lines<'_>) -> Result<T, ImportError>,
    ) -> Result<(Self, T), ImportError> {
        if is_pipe(path) {
            return Self::spooled(Path::new("standard input"), &mut io::stdin().lock(), limits, check);
        }
        let failed = |source| ImportError::Io { path: path.to_owned(), source };
        let mut file = File::open(path).map_err(failed)?;
        if is_stream(path) {
            return Self::spooled(path, &mut file, limits, check);
        }
        let checked = check(&mut Lines::new(path, file, limits.line))?;
        Ok((Self { path: path.to_owned(), kept: None, longest: limits.line }, checked))
    }

    fn spooled<T>(
        path: &Path,
        from: &mut dyn Read,
        limits: ReadLimits,
        check: impl FnOnce(&mut Lines<'_>) -> Result<T, ImportError>,
    ) -> Result<(Self, T), ImportError> {
        let failed = |source| ImportError::Io { path: path.to_owned(), source };
        let mut spool = Spool::new(from, limits.stream).map_err(failed)?;
        let checked = check(&mut Lines::new(path, &mut spool, limits.line))?;
        let kept = Some(spool.into_file().map_err(failed)?);
        Ok((Self { path: path.to_owned(), kept, longest: limits.line }, checked))
    }

    /// Path of the file, for errors.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The lines of the file once more.
    pub(crate) fn lines(&self) -> Result<Lines<'_>, ImportError> {
        let failed = |source| ImportError::Io { path: self.path.clone(), source };
        let Some(mut kept) = self.kept.as_ref() else {
            let file = File::open(&self.path).map_err(failed)?;
            return Ok(Lines::new(&self.path, file, self.longest));
        };
        kept.rewind().map_err(failed)?;
        Ok(Lines::new(&self.path, kept, self.longest))
    }
}
