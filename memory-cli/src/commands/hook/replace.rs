//! Replaces a settings file that other programs also write: none of their changes is lost, and owner and mode stay.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    path::Path,
};

use tempfile::{NamedTempFile, TempPath};

/// Reasons why a file was not replaced.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReplaceError {
    #[error("changed meanwhile: nothing was written; call this again")]
    Changed,
    #[error("is read-only, and stays as it is: make it writable first")]
    ReadOnly,
    #[error("is another user's, and could not be given back to them: call this as that user")]
    Owner(#[source] io::Error),
    #[error("cannot be written")]
    Io(#[from] io::Error),
}

/// Writes `after` in place of `before`; `None` stands for no file. No reader sees half of it.
pub(super) fn replace(file: &Path, before: Option<&str>, after: Option<&str>) -> Result<(), ReplaceError> {
    let directory = file.parent().unwrap_or(Path::new("."));
    if before.is_some() {
        check_writable(file)?;
    }
    let prefix = prefix(file);
    sweep(directory, &prefix);
    let new = || tempfile::Builder::new().prefix(&prefix).suffix(SUFFIX).tempfile_in(directory);
    let Some(after) = after else {
        remove(file, before, new()?.into_temp_path())?;
        // The directory is removed with its only file; one that holds something else stays.
        drop(fs::remove_dir(directory));
        return Ok(());
    };
    memory_files::create_dir_all(directory).or_else(|error| if directory.is_dir() { Ok(()) } else { Err(error) })?;
    let mut new = new()?;
    // The lock shows the sweep of another call that the file is in use.
    new.as_file().lock()?;
    new.write_all(after.as_bytes())?;
    let Some(before) = before else {
        new.as_file().sync_all()?;
        return match new.persist_noclobber(file) {
            Ok(_) => Ok(()),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Err(ReplaceError::Changed),
            Err(error) => Err(error.error.into()),
        };
    };
    keep_owner_and_mode(file, new.as_file())?;
    new.as_file().sync_all()?;
    swap(file, new, before, after)
}

const SUFFIX: &str = ".tmp";

/// Prefix of the names of temporary files next to a file.
fn prefix(file: &Path) -> String {
    format!(".{}.memory-", file.file_name().unwrap_or_default().to_string_lossy())
}

fn check_writable(file: &Path) -> Result<(), ReplaceError> {
    match OpenOptions::new().write(true).open(file) {
        Ok(opened) if !opened.metadata()?.permissions().readonly() => Ok(()),
        Ok(_) => Err(ReplaceError::ReadOnly),
        Err(error) => match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Err(ReplaceError::ReadOnly),
            io::ErrorKind::NotFound => Err(ReplaceError::Changed),
            _ => Err(error.into()),
        },
    }
}

/// Removes temporary files of calls that were killed.
fn sweep(directory: &Path, prefix: &str) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_ours = name.to_str().is_some_and(|name| name.starts_with(prefix) && name.ends_with(SUFFIX));
        let is_unused = || File::open(entry.path()).is_ok_and(|left| left.try_lock().is_ok());
        if is_ours && is_unused() {
            drop(fs::remove_file(entry.path()));
        }
    }
}

#[cfg(unix)]
fn keep_owner_and_mode(file: &Path, new: &File) -> Result<(), ReplaceError> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let (old, made) = (fs::metadata(file)?, new.metadata()?);
    if (old.uid(), old.gid()) != (made.uid(), made.gid()) {
        fchown(new, Some(old.uid()), Some(old.gid())).map_err(ReplaceError::Owner)?;
    }
    // The mode is set after the owner, since a change of owner takes bits away.
    Ok(new.set_permissions(old.permissions())?)
}

#[cfg(not(unix))]
fn keep_owner_and_mode(file: &Path, new: &File) -> Result<(), ReplaceError> {
    Ok(new.set_permissions(fs::metadata(file)?.permissions())?)
}

fn remove(file: &Path, before: Option<&str>, hole: TempPath) -> Result<(), ReplaceError> {
    fs::rename(file, &hole)?;
    if Some(text(&hole)?.as_str()) == before {
        return Ok(());
    }
    hole.persist_noclobber(file).map_err(|error| error.error)?;
    Err(ReplaceError::Changed)
}

fn text(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Swaps both files at once and checks the displaced one: if it is not `before`, swaps them back.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn swap(file: &Path, new: NamedTempFile, before: &str, after: &str) -> Result<(), ReplaceError> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let exchange = || renameat_with(CWD, new.path(), CWD, file, RenameFlags::EXCHANGE);
    match exchange() {
        Ok(()) => {}
        Err(rustix::io::Errno::NOENT) => return Err(ReplaceError::Changed),
        // This file system cannot swap files.
        Err(_) => return rename(file, new, before),
    }
    let mut displaced = text(new.path())?;
    if displaced == before {
        return Ok(());
    }
    let mut expected = after.to_owned();
    loop {
        exchange().map_err(io::Error::from)?;
        let now = text(new.path())?;
        if now == expected {
            return Err(ReplaceError::Changed);
        }
        // Somebody overwrote the swapped file in between: theirs is the newest.
        (expected, displaced) = (displaced, now);
    }
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn swap(file: &Path, new: NamedTempFile, before: &str, _after: &str) -> Result<(), ReplaceError> {
    rename(file, new, before)
}

/// Replaces the file after a last look at it.
fn rename(file: &Path, new: NamedTempFile, before: &str) -> Result<(), ReplaceError> {
    if text(file)? != before {
        return Err(ReplaceError::Changed);
    }
    new.persist(file).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(directory: &Path) -> Vec<String> {
        let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    }

    #[test]
    fn what_changed_since_it_was_read_is_put_back() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("settings.json");
        for (there, before, after) in [
            (Some("theirs"), Some("old"), Some("new")),
            (Some("theirs"), Some("old"), None),
            (Some("theirs"), None, Some("new")),
            (None, Some("old"), Some("new")),
        ] {
            drop(fs::remove_file(&file));
            there.into_iter().for_each(|text| fs::write(&file, text).unwrap());
            assert!(matches!(replace(&file, before, after), Err(ReplaceError::Changed)), "{before:?} {after:?}");
            assert_eq!(fs::read_to_string(&file).ok().as_deref(), there);
            assert!(left(directory.path()).len() <= 1, "{:?}", left(directory.path()));
        }
        fs::write(&file, "old").unwrap();
        replace(&file, Some("old"), Some("new")).unwrap();
        assert_eq!((fs::read_to_string(&file).unwrap().as_str(), left(directory.path()).len()), ("new", 1));
    }

    #[test]
    fn what_a_killed_call_left_is_removed_by_the_next_and_what_is_in_use_stays() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("settings.json");
        let [dead, alive, other] =
            [".settings.json.memory-a.tmp", ".settings.json.memory-b.tmp", ".other.memory-c.tmp"]
                .map(|name| directory.path().join(name));
        [&file, &dead, &alive, &other].into_iter().for_each(|path| fs::write(path, "old").unwrap());
        let used = File::open(&alive).unwrap();
        used.lock().unwrap();
        replace(&file, Some("old"), Some("new")).unwrap();
        assert!(!dead.exists() && alive.exists() && other.exists());
    }

    #[cfg(unix)]
    #[test]
    fn a_read_only_file_is_refused_and_the_mode_stays() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("settings.json");
        fs::write(&file, "old").unwrap();
        // An emptied directory goes with its file.
        fs::write(directory.path().join("other.json"), "").unwrap();
        for (mode, is_refused) in [(0o444, true), (0o400, true), (0o640, false), (0o606, false)] {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(matches!(replace(&file, Some("old"), Some("old")), Err(ReplaceError::ReadOnly)), is_refused);
            assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, mode);
            assert!(is_refused == matches!(replace(&file, Some("old"), None), Err(ReplaceError::ReadOnly)));
            if !is_refused {
                fs::write(&file, "old").unwrap();
            }
        }
    }
}
