//! Opens a plugin's library and takes its module.

use std::{fs, path::Path};

use abi_stable::library::{LibraryError, lib_header_from_path};
use memory_core::BoxError;
use memory_plugin_abi::v1::{Kind, PluginModule_Ref};

use crate::{
    error::{LoadError, Report},
    image,
    registry::{Origin, PluginInfo, StrategyKind},
};

/// An opened plugin. The library stays open as long as the process.
pub(crate) struct Library {
    pub module: PluginModule_Ref,
    pub info: PluginInfo,
}

/// Opens the plugin at `path`.
pub(crate) fn open(path: &Path, largest: u64) -> Result<Library, LoadError> {
    // A bare file name would send the system's loader searching its own directories.
    let path = &fs::canonicalize(path).map_err(|source| LoadError::Unreadable { path: path.to_owned(), source })?;
    image::check(path, largest)?;
    // Not `load_from_file`: abi_stable keeps one module for each type, the first one opened, whatever the path.
    let header = lib_header_from_path(path).map_err(|error| refused(path, &error))?;
    if header.layout().is_none() {
        let source = report(&"the plugin was built without layout information".to_owned());
        return Err(LoadError::OtherInterface { path: path.clone(), source });
    }
    let module: PluginModule_Ref = header.init_root_module().map_err(|error| refused(path, &error))?;
    let identity = module.identity();
    let kind =
        kind(module.kind()).ok_or_else(|| LoadError::UnknownKind { path: path.clone(), kind: module.kind().0 })?;
    let name = identity.name.as_str();
    if !is_name(name) {
        return Err(LoadError::BadName { path: path.clone(), name: name.chars().take(80).collect() });
    }
    let info = PluginInfo {
        name: name.to_owned(),
        version: identity.version.to_string(),
        kind,
        description: identity.description.to_string(),
        configuration_schema: Some(identity.configuration_schema.to_string()).filter(|schema| !schema.is_empty()),
        origin: Origin::File(path.clone()),
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

fn is_name(name: &str) -> bool {
    let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.');
    (1..=64).contains(&name.len()) && name.chars().all(good)
}

/// The loader's errors run to many lines: one line tells the kind, the report is the source and goes to the log.
fn refused(path: &Path, error: &LibraryError) -> LoadError {
    tracing::debug!(path = %path.display(), %error, "plugin not loaded");
    let (path, source) = (path.to_owned(), report(error));
    match error {
        LibraryError::OpenError { .. } => LoadError::NotOpened { path, source },
        LibraryError::GetSymbolError { .. } => LoadError::NotAPlugin { path, source },
        LibraryError::ParseVersionError(_)
        | LibraryError::IncompatibleVersionNumber { .. }
        | LibraryError::AbiInstability(_)
        | LibraryError::InvalidAbiHeader(_)
        | LibraryError::InvalidCAbi { .. } => LoadError::OtherInterface { path, source },
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

    #[test]
    fn names_can_be_written_anywhere() {
        assert!(is_name("key-words_2.0") && is_name(&"x".repeat(64)));
        for bad in ["", "Upper", "a b", "a/b", "é", &"x".repeat(65)] {
            assert!(!is_name(bad), "{bad}");
        }
    }
}
