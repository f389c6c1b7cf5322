//! Opens a plugin's library and its root module.

use std::{collections::VecDeque, error::Error, fs, mem, path::Path};

use abi_stable::{
    library::{AbiHeaderRef, LibHeader, LibraryError, ROOT_MODULE_LOADER_NAME},
    type_layout::TypeLayout,
};
use memory_core::port::BoxError;
use memory_files::Links;
use memory_plugin_abi::{
    is_name,
    v1::{Capabilities, Identity, Kind, PluginModule_Ref},
};
use object::{Architecture, Object, ObjectSegment};

use crate::{
    convert::{lossy, one_line},
    error::{LoadError, Report},
    options::PluginOptions,
    registry::{Origin, PluginCapabilities, PluginInfo, StrategyKind},
    sha256::{Manifest, Sha256},
};

/// An opened plugin. Its library stays open until the process ends.
pub(crate) struct Library {
    pub module: PluginModule_Ref,
    pub info: PluginInfo,
}

/// Opens the plugin at `path`, if its file is complete and allowed.
///
/// The file could be replaced between the checks and the opening. The checks guard against accidents; the checksums
/// also guard against a person who can place files before, but not while, a host starts.
pub(crate) fn open(path: &Path, options: &PluginOptions) -> Result<Library, LoadError> {
    let listed = path.parent().map(Manifest::of).transpose()?.flatten();
    // The system's loader searches its own directories for a bare file name.
    let real = &fs::canonicalize(path).map_err(|source| LoadError::Unreadable { path: path.to_owned(), source })?;
    let sha256 = whole(real, options.largest_file)?;
    if let Some(listed) = listed {
        listed.check(path, sha256)?;
    }
    if options.allowed.as_ref().is_some_and(|allowed| !allowed.contains(&sha256)) {
        return Err(LoadError::NotAllowed { path: real.clone(), sha256 });
    }
    // `load_from_file` would return the first opened plugin for every path, because abi_stable keeps one module per
    // type.
    let header = header(real)?;
    let Some(layout) = header.layout() else {
        let source = report(&"the plugin was built without layout information");
        return Err(LoadError::OtherInterface { path: real.clone(), version: None, source });
    };
    let module: PluginModule_Ref =
        header.init_root_module().map_err(|error| refused(real, &error, other_version(layout)))?;
    let identity = module.identity();
    if !identity.capabilities.has(Capabilities::UNWINDS) {
        return Err(LoadError::Aborts { path: real.clone() });
    }
    let kind =
        kind(module.kind()).ok_or_else(|| LoadError::UnknownKind { path: real.clone(), kind: module.kind().0 })?;
    let name = lossy(identity.name);
    if !is_name(&name) {
        return Err(LoadError::BadName { path: real.clone(), name: name.chars().take(80).collect() });
    }
    let info = PluginInfo {
        name: name.into_owned(),
        version: one_line(&lossy(identity.version)),
        kind,
        description: one_line(&lossy(identity.description)),
        configuration_schema: Some(lossy(identity.configuration_schema).into_owned())
            .filter(|schema| !schema.is_empty()),
        capabilities: capabilities(&identity),
        origin: Origin::File(real.clone()),
        sha256: Some(sha256),
    };
    Ok(Library { module, info })
}

/// SHA-256 of the file at `path`, if it is a complete library for this processor.
///
/// The system's loader maps segments without checking the file's size, so a truncated copy would end the process with
/// SIGBUS.
fn whole(path: &Path, largest: u64) -> Result<Sha256, LoadError> {
    let unreadable = |source| LoadError::Unreadable { path: path.to_owned(), source };
    let not_a_library = |why: String| LoadError::NotALibrary { path: path.to_owned(), why };
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(not_a_library("it is not a regular file".to_owned()));
    }
    if metadata.len() > largest {
        return Err(LoadError::TooLarge { path: path.to_owned(), size: metadata.len(), most: largest });
    }
    let image = memory_files::read(path, Links::Follow, largest).map_err(unreadable)?;
    let file = object::File::parse(image.as_slice()).map_err(|error| not_a_library(one_line(&error.to_string())))?;
    if PROCESSOR.is_some_and(|processor| processor != file.architecture()) {
        return Err(not_a_library("it is for another processor".to_owned()));
    }
    let end = |(start, size): (u64, u64)| start.saturating_add(size);
    let needed = file.segments().map(|segment| end(segment.file_range())).max().unwrap_or(0);
    if needed > image.len() as u64 {
        return Err(not_a_library(format!("it has {} bytes and names byte {needed}", image.len())));
    }
    Ok(Sha256::of(&image))
}

/// Processor of this build, compared here because the loader's error about a library for another one is unclear.
const PROCESSOR: Option<Architecture> = if cfg!(target_arch = "x86_64") {
    Some(Architecture::X86_64)
} else if cfg!(target_arch = "aarch64") {
    Some(Architecture::Aarch64)
} else {
    None
};

/// Opens a library for good, and returns the header that the export macros put into it.
#[expect(unsafe_code, reason = "a library's initializers run when it is opened, and its symbols have no types")]
fn header(path: &Path) -> Result<&'static LibHeader, LoadError> {
    let said = |error: &libloading::Error| one_line(&error.source().unwrap_or(error).to_string());
    // SAFETY: none can be given for the code of a library; whoever loads a plugin trusts it with this process.
    let library = unsafe { libloading::Library::new(path) };
    let library = library.map_err(|error| LoadError::NotOpened { path: path.to_owned(), why: said(&error) })?;
    // SAFETY: only abi_stable exports this name, for a header that it checks before it is used.
    let header = unsafe { library.get::<AbiHeaderRef>(ROOT_MODULE_LOADER_NAME) }.map(|header| *header);
    let header =
        header.map_err(|error| LoadError::NotAPlugin { path: path.to_owned(), source: report(&said(&error)) })?;
    mem::forget(library);
    header.upgrade().map_err(|error| refused(path, &error, None))
}

fn kind(kind: Kind) -> Option<StrategyKind> {
    match kind {
        Kind::SUMMARIZER => Some(StrategyKind::Summarizer),
        Kind::SCORER => Some(StrategyKind::Scorer),
        _ => None,
    }
}

fn capabilities(identity: &Identity) -> PluginCapabilities {
    let has = |capability| identity.capabilities.has(capability);
    PluginCapabilities {
        embeddings: has(Capabilities::EMBEDDINGS),
        cancellable: has(Capabilities::CANCELLABLE),
        varies: has(Capabilities::VARIES),
    }
}

/// Version of the interface's package that a plugin was built with, if this host does not accept it.
fn other_version(layout: &'static TypeLayout) -> Option<String> {
    /// Maximum layouts to search. The module's own layout is that of a pointer type of another package.
    const LOOKS: usize = 32;
    let mut open = VecDeque::from([layout]);
    for _ in 0..LOOKS {
        let layout = open.pop_front()?;
        if lossy(layout.package()) == "memory-plugin-abi" {
            let version = one_line(&lossy(layout.package_version().version));
            return (!version.starts_with("1.")).then_some(version);
        }
        open.extend(layout.get_fields().into_iter().flat_map(|fields| fields.to_vec()).map(|field| field.layout()));
        open.extend(layout.phantom_fields().iter().map(|field| field.layout()));
    }
    None
}

/// Converts the loader's error. Its report runs to many lines, so the variant shows one line, and the report is logged
/// and kept as the source.
fn refused(path: &Path, error: &LibraryError, version: Option<String>) -> LoadError {
    tracing::debug!(path = %path.display(), %error, "plugin not loaded");
    let (path, source) = (path.to_owned(), report(error));
    match error {
        LibraryError::RootModule { .. } | LibraryError::Many(_) => LoadError::NotStarted { path, source },
        _ => LoadError::OtherInterface { path, version, source },
    }
}

fn report(error: &impl ToString) -> BoxError {
    Box::new(Report(error.to_string().trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_no_library_say_why() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.so");
        assert!(matches!(whole(&path, 9), Err(LoadError::Unreadable { .. })));
        assert!(matches!(
            whole(directory.path(), 9),
            Err(LoadError::NotALibrary { why, .. }) if why == "it is not a regular file"
        ));
        fs::write(&path, [b'x'; 100]).unwrap();
        assert!(matches!(whole(&path, 99), Err(LoadError::TooLarge { size: 100, most: 99, .. })));
        assert!(matches!(whole(&path, 100), Err(LoadError::NotALibrary { .. })));
    }

    #[test]
    fn kinds_to_come_are_unknown() {
        assert_eq!(kind(Kind::SCORER), Some(StrategyKind::Scorer));
        assert_eq!(kind(Kind(99)), None);
    }
}
