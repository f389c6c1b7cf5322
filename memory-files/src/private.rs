//! Directories and files with permissions only for their owner.

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

/// Levels of directories that are tightened, at most.
#[cfg(unix)]
const MAX_DEPTH: u32 = 8;

/// Options that create files only for their owner.
#[must_use]
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates a directory and its missing parents only for their owner. Existing directories stay unchanged.
///
/// # Errors
/// [`NotRegular`](crate::NotRegular), if `path` is a symbolic link or anything else than a directory, and errors of the
/// file system.
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

/// Removes the permissions of group and others from a directory and the files and directories in it.
///
/// Links are not followed, and what belongs to another user stays unchanged. A directory at the second level or below
/// that others cannot enter is skipped: it was tightened before, or created so.
///
/// Returns the paths that could not be changed, and why. Such a failure is harmless.
#[cfg(unix)]
#[must_use]
pub fn tighten(path: &Path) -> Vec<(PathBuf, io::Error)> {
    let mut failed = Vec::new();
    tighten_dir(path, 0, &mut failed);
    failed
}

/// Does nothing: this platform has no such permissions.
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
                // The metadata of the entry itself, not of a link's target.
                match entry.metadata() {
                    Ok(metadata) if metadata.is_dir() => {
                        if depth < MAX_DEPTH && (depth == 0 || is_accessible(&metadata)) {
                            tighten_dir(&entry.path(), depth + 1, failed);
                        }
                    }
                    Ok(metadata) if metadata.is_file() && is_accessible(&metadata) => {
                        record_failure(
                            failed,
                            &entry.path(),
                            open(&entry.path(), Links::Refuse).and_then(|file| tighten_one(&file)),
                        );
                    }
                    Ok(_) => {}
                    Err(error) => record_failure(failed, &entry.path(), Err(error)),
                }
            }
        }
        Err(error) => failed.push((path.to_owned(), error)),
    }
    // The directory comes last: a tight one means that everything below it was handled. The user may name the top
    // directory by a link.
    if failed.len() == before {
        let links = if depth == 0 { Links::Follow } else { Links::Refuse };
        record_failure(failed, path, open_dir(path, links).and_then(|dir| tighten_one(&dir)));
    }
}

/// Records a failure, unless another process has removed the entry meanwhile.
#[cfg(unix)]
fn record_failure(failed: &mut Vec<(PathBuf, io::Error)>, path: &Path, result: io::Result<()>) {
    match result {
        Err(error) if error.kind() != io::ErrorKind::NotFound => failed.push((path.to_owned(), error)),
        _ => {}
    }
}

#[cfg(unix)]
fn is_accessible(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o077 != 0
}

/// True if the mode of a file or directory lets others than its owner read it. Access lists are not looked at.
/// `false` where that is not known.
#[cfg(unix)]
#[must_use]
pub fn is_readable_by_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).is_ok_and(|there| there.permissions().mode() & 0o044 != 0)
}

/// Not known: this platform has no such modes.
#[cfg(not(unix))]
#[must_use]
pub fn is_readable_by_others(_: &Path) -> bool {
    false
}

/// Works on the open handle, so that the path cannot be replaced by a link meanwhile.
#[cfg(unix)]
fn tighten_one(file: &File) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let metadata = file.metadata()?;
    if !is_accessible(&metadata) || metadata.uid() != user() {
        return Ok(());
    }
    file.set_permissions(fs::Permissions::from_mode(metadata.permissions().mode() & 0o7700))
}

#[cfg(unix)]
#[expect(unsafe_code, reason = "the standard library does not expose the effective user")]
fn user() -> u32 {
    // SAFETY: `geteuid` has no precondition and cannot fail.
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
    fn directories_are_created_for_their_owner_alone_and_not_through_a_link() {
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
    fn open_permissions_are_removed_but_not_through_a_link() {
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
