//! The one ONNX Runtime of this process.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use ort::environment::Environment;

use crate::{ModelError, files};

struct Loaded {
    path: PathBuf,
    environment: Environment,
}

/// Kept until the process ends: ONNX Runtime allows one environment, ever.
static LOADED: Mutex<Option<Loaded>> = Mutex::new(None);

/// The environment of the library at `path`, loaded at the first call. A library that fails to load does
/// not keep another from being loaded.
pub(super) fn environment(path: &Path) -> Result<Environment, ModelError> {
    // Absolute, as the loader would look for a relative path beside the program first.
    let path = path.canonicalize().map_err(|source| ModelError::reading("ONNX Runtime", path, source))?;
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(loaded) = loaded.as_ref() {
        return if loaded.path == path {
            Ok(loaded.environment.clone())
        } else {
            Err(ModelError::OtherRuntime { loaded: loaded.path.clone(), asked: path })
        };
    }
    let failed = |source| ModelError::Runtime { path: path.clone(), source };
    // The loader would wait for a FIFO.
    files::open(&path).map_err(|source| ModelError::reading("ONNX Runtime", &path, source))?;
    let environment = ort::init_from(&path)
        .map_err(|error| failed(error.into()))?
        .with_name("memory")
        .with_telemetry(false)
        .build()
        .map_err(|error| failed(error.into()))?;
    *loaded = Some(Loaded { path, environment: environment.clone() });
    Ok(environment)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_missing_library_is_an_error_that_says_how_to_get_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("libonnxruntime.so");
        let error = environment(&path).unwrap_err();
        assert!(matches!(&error, ModelError::Missing { path: missing, .. } if *missing == path), "{error}");
        assert!(error.to_string().contains("memory model fetch"));
    }

    #[test]
    fn a_file_that_is_no_library_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("libonnxruntime.so");
        fs::write(&path, "not a library").unwrap();
        let error = environment(&path).unwrap_err();
        assert!(matches!(error, ModelError::Runtime { .. }), "{error}");
    }
}
