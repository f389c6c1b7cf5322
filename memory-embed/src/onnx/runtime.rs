//! The one ONNX Runtime of this process.

use std::{
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use ort::environment::Environment;

use crate::{ModelError, files};

/// The environment variable that ONNX Runtime asks whether it may report on its user.
const TELEMETRY_VARIABLE: &str = "ORT_DISABLE_TELEMETRY";

struct Loaded {
    path: PathBuf,
    environment: Environment,
}

/// Kept until the process ends: ONNX Runtime allows one environment, ever.
static LOADED: Mutex<Option<Loaded>> = Mutex::new(None);

/// Keeps ONNX Runtime from reporting on its user, in this process and those that it starts: it would write an identifier and
/// events below the user's cache directory, and send them to its vendor.
///
/// Every model that is loaded here does this first. The only switch that ONNX Runtime asks in time is the environment
/// variable `ORT_DISABLE_TELEMETRY`, which is set to `1` here unless it is: a program whose threads read the environment
/// through the C library calls this at its start, or sets the variable before it.
pub fn disable_telemetry() {
    // Held, so that the variable is written once.
    let _loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    disable_telemetry_once();
}

fn disable_telemetry_once() {
    if env::var_os(TELEMETRY_VARIABLE).as_deref() == Some(OsStr::new("1")) {
        return;
    }
    #[expect(unsafe_code, reason = "nothing but the environment tells ONNX Runtime before it begins to report")]
    // SAFETY: this is called under the lock of `LOADED`, once, before ONNX Runtime is loaded. Rust code reads the
    // environment under the lock of the standard library, which is held while this writes. C code that reads it at this very
    // moment is the caller's, who is told above to have the variable set by then.
    unsafe {
        env::set_var(TELEMETRY_VARIABLE, "1");
    }
}

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
    // The library asks when its environment is made, which is too early for `with_telemetry`.
    disable_telemetry_once();
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
