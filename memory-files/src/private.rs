//! Directories and files that their owner alone may read.

#[cfg(unix)]
use std::fs::{self, File};
use std::{
    fs::{DirBuilder, OpenOptions},
    io,
    path::{Path, PathBuf},
};

#[cfg(unix)]
use crate::open;
use crate::{Links, open_dir};

/// How deep a directory is gone into.
#[cfg(unix)]
const DEEPEST: u32 = 8;

/// Options to make files by that are for their owner alone.
#[must_use]
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Makes a directory with those above it, for their owner alone. One that is there stays as it is.
///
/// # Errors
/// [`NotRegular`](crate::NotRegular) where a symbolic link or anything else than a directory stands there, or what the
/// file system says.
pub fn create_dir_all(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(path) {
        Ok(()) if path.as_os_str().is_empty() => Ok(()),
        Ok(()) => open_dir(path, Links::Refuse).map(drop),
        Err(error) => match open_dir(path, Links::Refuse) {
            Err(refused) if crate::is_not_regular(&refused) => Err(refused),
            _ => Err(error),
        },
    }
}

/// Takes from everybody but the owner every right to a directory, and to the files and directories in it. Links are not
/// followed, and what belongs to somebody else stays as it is. A directory two steps down that others cannot enter is not
/// looked into: it was tightened before, or made so.
///
/// Gives what could not be changed, and why; nothing is lost by that.
#[cfg(unix)]
#[must_use]
pub fn tighten(path: &Path) -> Vec<(PathBuf, io::Error)> {
    let mut failed = Vec::new();
    tighten_dir(path, 0, &mut failed);
    failed
}

/// There are no such rights here.
#[cfg(not(unix))]
#[must_use]
pub fn tighten(_: &Path) -> Vec<(PathBuf, io::Error)> {
    Vec::new()
}

#[cfg(unix)]
fn tighten_dir(path: &Path, depth: u32, failed: &mut Vec<(PathBuf, io::Error)>) {
    let before = failed.len();
    match fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>) {
        Ok(entries) => {
            for entry in entries {
                // Of the entry itself, not of what a link leads to.
                match entry.metadata() {
                    Ok(metadata) if metadata.is_dir() => {
                        if depth < DEEPEST && (depth == 0 || is_open(&metadata)) {
                            tighten_dir(&entry.path(), depth + 1, failed);
                        }
                    }
                    Ok(metadata) if metadata.is_file() && is_open(&metadata) => {
                        note(failed, &entry.path(), open(&entry.path(), Links::Refuse).and_then(|file| close(&file)));
                    }
                    Ok(_) => {}
                    Err(error) => note(failed, &entry.path(), Err(error)),
                }
            }
        }
        Err(error) => failed.push((path.to_owned(), error)),
    }
    // Last: a directory that is closed says that all below it was looked at. The user may name the first by a link.
    if failed.len() == before {
        let links = if depth == 0 { Links::Follow } else { Links::Refuse };
        note(failed, path, open_dir(path, links).and_then(|dir| close(&dir)));
    }
}

/// What another process has removed meanwhile needs no closing.
#[cfg(unix)]
fn note(failed: &mut Vec<(PathBuf, io::Error)>, path: &Path, closed: io::Result<()>) {
    match closed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => failed.push((path.to_owned(), error)),
        _ => {}
    }
}

#[cfg(unix)]
fn is_open(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o077 != 0
}

/// By its handle, so that nobody can put a link to something else in its place.
#[cfg(unix)]
fn close(file: &File) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let metadata = file.metadata()?;
    if !is_open(&metadata) || metadata.uid() != user() {
        return Ok(());
    }
    file.set_permissions(fs::Permissions::from_mode(metadata.permissions().mode() & 0o7700))
}

#[cfg(unix)]
#[expect(unsafe_code, reason = "the standard library does not tell who the user is")]
fn user() -> u32 {
    // SAFETY: it has no precondition and cannot fail.
    unsafe { libc::geteuid() }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn directories_are_made_for_their_owner_alone_and_not_behind_a_link() {
        let place = tempfile::tempdir().unwrap();
        let (dir, deep) = (place.path().join("a"), place.path().join("a/b"));
        create_dir_all(&deep).unwrap();
        assert_eq!((mode(&dir), mode(&deep)), (0o700, 0o700));
        set(&deep, 0o755);
        create_dir_all(&deep).unwrap();
        assert_eq!(mode(&deep), 0o755, "what is there stays as it is");
        let link = place.path().join("link");
        symlink(&dir, &link).unwrap();
        let error = create_dir_all(&link).unwrap_err();
        assert!(crate::is_not_regular(&error), "{error}");
        let file = crate::open_with(options().write(true).create(true), &dir.join("file"), Links::Refuse).unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let dangling = place.path().join("dangling");
        symlink(place.path().join("none"), &dangling).unwrap();
        assert!(crate::is_not_regular(&create_dir_all(&dangling).unwrap_err()));
    }

    #[test]
    fn what_is_open_is_closed_and_nothing_behind_a_link() {
        let place = tempfile::tempdir().unwrap();
        let (store, outside) = (place.path().join("store"), place.path().join("outside"));
        for dir in ["log", "cache/vectors/graphs"] {
            fs::create_dir_all(store.join(dir)).unwrap();
        }
        let files = ["FORMAT", "log/1", "cache/checkpoint", "cache/vectors/x", "cache/vectors/graphs/y"];
        for name in files {
            fs::write(store.join(name), "").unwrap();
            set(&store.join(name), 0o664);
        }
        let dirs = ["", "log", "cache", "cache/vectors", "cache/vectors/graphs"];
        dirs.iter().for_each(|name| set(&store.join(name), 0o755));
        fs::write(&outside, "").unwrap();
        set(&outside, 0o644);
        symlink(&outside, store.join("log/link")).unwrap();
        assert!(tighten(&store).is_empty());
        files.iter().for_each(|name| assert_eq!(mode(&store.join(name)), 0o600, "{name}"));
        dirs.iter().for_each(|name| assert_eq!(mode(&store.join(name)), 0o700, "{name}"));
        assert_eq!(mode(&outside), 0o644);
        let gone = tighten(&place.path().join("none"));
        assert_eq!(gone.len(), 1);
    }
}
