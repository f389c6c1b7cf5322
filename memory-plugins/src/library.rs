//! Opens a plugin's library and takes its module.

use std::{collections::VecDeque, fs, path::Path};

use abi_stable::{
    library::{LibraryError, lib_header_from_path},
    type_layout::TypeLayout,
};
use memory_core::BoxError;
use memory_plugin_abi::{
    is_name,
    v1::{Capabilities, Identity, Kind, PluginModule_Ref},
};

use crate::{
    convert::{lossy, one_line},
    error::{LoadError, Report},
    image,
    options::PluginOptions,
    registry::{Origin, PluginCapabilities, PluginInfo, StrategyKind},
    sha256::Manifest,
};

/// An opened plugin. The library stays open until the process ends.
pub(crate) struct Library {
    pub module: PluginModule_Ref,
    pub info: PluginInfo,
}

/// Opens the plugin at `path`, if its file is whole and may be opened.
///
/// The file could be exchanged between the checks and the opening. The checks guard against accidents. The checksums
/// guard against a person who can place files, but not while a host starts.
pub(crate) fn open(path: &Path, options: &PluginOptions) -> Result<Library, LoadError> {
    let listed = path.parent().map(Manifest::of).transpose()?.flatten();
    // For a bare file name the system's loader would search its own directories.
    let real = &fs::canonicalize(path).map_err(|source| LoadError::Unreadable { path: path.to_owned(), source })?;
    let sha256 = image::check(real, options.largest_file)?;
    if let Some(listed) = listed {
        listed.check(path, sha256)?;
    }
    if options.allowed.as_ref().is_some_and(|allowed| !allowed.contains(&sha256)) {
        return Err(LoadError::NotAllowed { path: real.clone(), sha256 });
    }
    // Not `load_from_file`: abi_stable keeps one module for each type, the first one opened, whatever the path.
    let header = lib_header_from_path(real).map_err(|error| refused(real, &error, None))?;
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

/// The version of the interface's package that a plugin was built with, if this host does not accept it.
fn other_version(layout: &'static TypeLayout) -> Option<String> {
    /// The most layouts that are examined. The module's own layout is a pointer's, of another package.
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

/// The loader's errors run to many lines: the variant gives one line; the whole report is its source and is logged.
fn refused(path: &Path, error: &LibraryError, version: Option<String>) -> LoadError {
    tracing::debug!(path = %path.display(), %error, "plugin not loaded");
    let (path, source) = (path.to_owned(), report(error));
    match error {
        LibraryError::OpenError { .. } => LoadError::NotOpened { path, source },
        LibraryError::GetSymbolError { .. } => LoadError::NotAPlugin { path, source },
        LibraryError::ParseVersionError(_)
        | LibraryError::IncompatibleVersionNumber { .. }
        | LibraryError::AbiInstability(_)
        | LibraryError::InvalidAbiHeader(_)
        | LibraryError::InvalidCAbi { .. } => LoadError::OtherInterface { path, version, source },
        LibraryError::RootModule { .. } | LibraryError::Many(_) => LoadError::NotStarted { path, source },
    }
}

fn report(error: &impl ToString) -> BoxError {
    Box::new(Report(error.to_string().trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_to_come_are_unknown() {
        assert_eq!(kind(Kind::SCORER), Some(StrategyKind::Scorer));
        assert_eq!(kind(Kind(99)), None);
    }
}
