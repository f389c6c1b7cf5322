//! The file that a command writes its output to.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use memory_store::enclosing_store;
use tempfile::NamedTempFile;

/// Treatment of an existing file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    Kept,
    Overwritten,
}

impl Existing {
    pub(crate) fn of(force: bool) -> Self {
        if force { Self::Overwritten } else { Self::Kept }
    }
}

/// Reasons why a target cannot be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TargetError {
    #[error("{0} exists already: name another file, or add --force to overwrite it")]
    Exists(PathBuf),
    #[error("{path} lies inside of the store {store}: name a place outside of it")]
    InsideStore { path: PathBuf, store: PathBuf },
    #[error("{0} is a directory: name a file in it")]
    Directory(PathBuf),
    #[error("{0} is a link to nothing: name the file that it should lead to")]
    LinkToNothing(PathBuf),
    #[error("cannot write {path}")]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// A checked target. Checking changes nothing.
#[derive(Debug)]
pub(crate) struct Target {
    path: PathBuf,
    kind: TargetKind,
}

#[derive(Debug)]
enum TargetKind {
    /// A regular file, at its path without links.
    File(PathBuf, Existing),
    /// A FIFO or a device, which cannot be replaced by a complete file.
    Special,
    /// This process's standard output, by any name.
    StandardOutput,
}

impl Target {
    /// Checks the target that `path` names.
    pub(crate) fn of(path: &Path, existing: Existing) -> Result<Self, TargetError> {
        let owned = || path.to_owned();
        let kind = match fs::metadata(path) {
            Ok(there) if there.is_dir() => return Err(TargetError::Directory(owned())),
            Ok(there) if is_standard_output(&there) => TargetKind::StandardOutput,
            Ok(there) if !there.is_file() => TargetKind::Special,
            Ok(_) => {
                let real = fs::canonicalize(path).map_err(failed(path))?;
                // This check precedes the one for existence: --force must not allow writing into a store.
                outside_of_stores(path, directory_of(&real))?;
                if existing == Existing::Kept {
                    return Err(TargetError::Exists(owned()));
                }
                TargetKind::File(real, existing)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if fs::symlink_metadata(path).is_ok() {
                    return Err(TargetError::LinkToNothing(owned()));
                }
                outside_of_stores(path, directory_of(path))?;
                TargetKind::File(owned(), existing)
            }
            Err(error) => return Err(failed(path)(error)),
        };
        Ok(Self { path: owned(), kind })
    }

    /// Checks that a directory that is to become a store is not a store and not inside one.
    pub(crate) fn outside_of_stores(directory: &Path) -> Result<(), TargetError> {
        outside_of_stores(directory, directory)
    }

    /// True if the target is this process's standard output.
    pub(crate) fn is_standard_output(&self) -> bool {
        matches!(self.kind, TargetKind::StandardOutput)
    }

    /// Begins writing. A regular file keeps its contents until [`Writing::finish`].
    pub(crate) fn begin(self) -> Result<Writing, TargetError> {
        let failed = failed(&self.path);
        let sink = match self.kind {
            TargetKind::File(real, existing) => {
                let file = NamedTempFile::new_in(directory_of(&real)).map_err(failed)?;
                Sink::Beside { file, real, existing }
            }
            TargetKind::Special => {
                Sink::Straight(Box::new(OpenOptions::new().write(true).open(&self.path).map_err(failed)?))
            }
            TargetKind::StandardOutput => Sink::Straight(crate::terminal::json_lines()),
        };
        Ok(Writing { path: self.path, sink })
    }
}

/// A target that is being written.
pub(crate) struct Writing {
    path: PathBuf,
    sink: Sink,
}

enum Sink {
    Beside { file: NamedTempFile, real: PathBuf, existing: Existing },
    Straight(Box<dyn Write>),
}

impl Writing {
    /// Publishes the whole output under its name; a regular file is durable then.
    pub(crate) fn finish(self) -> Result<(), TargetError> {
        let failed = failed(&self.path);
        match self.sink {
            Sink::Straight(mut straight) => straight.flush().map_err(failed),
            Sink::Beside { file, real, existing } => {
                let put = || {
                    file.as_file().sync_all()?;
                    match existing {
                        Existing::Overwritten => file.persist(&real),
                        Existing::Kept => file.persist_noclobber(&real),
                    }
                    .map_err(|error| error.error)?;
                    #[cfg(unix)]
                    File::open(directory_of(&real))?.sync_all()?;
                    Ok(())
                };
                put().map_err(|error: io::Error| match error.kind() {
                    // Another process created the file in the meantime.
                    io::ErrorKind::AlreadyExists => TargetError::Exists(self.path.clone()),
                    _ => failed(error),
                })
            }
        }
    }
}

impl Write for Writing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::Beside { file, .. } => file.write(bytes),
            Sink::Straight(straight) => straight.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Beside { file, .. } => file.flush(),
            Sink::Straight(straight) => straight.flush(),
        }
    }
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn outside_of_stores(path: &Path, directory: &Path) -> Result<(), TargetError> {
    match enclosing_store(directory).map_err(failed(path))? {
        Some(store) => Err(TargetError::InsideStore { path: path.to_owned(), store }),
        None => Ok(()),
    }
}

fn failed(path: &Path) -> impl Fn(io::Error) -> TargetError + use<> {
    let path = path.to_owned();
    move |source| TargetError::Io { path: path.clone(), source }
}

/// True if the file is that of standard output: `/dev/stdout`, or the file that the shell has redirected to.
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "asks where it leads, and prints nothing")]
fn is_standard_output(there: &fs::Metadata) -> bool {
    use std::os::{fd::AsFd as _, unix::fs::MetadataExt as _};
    let ours = io::stdout().as_fd().try_clone_to_owned().and_then(|fd| File::from(fd).metadata());
    ours.is_ok_and(|ours| (ours.dev(), ours.ino()) == (there.dev(), there.ino()))
}

#[cfg(not(unix))]
fn is_standard_output(_: &fs::Metadata) -> bool {
    false
}
