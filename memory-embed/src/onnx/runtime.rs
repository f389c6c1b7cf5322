//! Loads the single ONNX Runtime of this process.

use std::{
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use ort::environment::Environment;

use crate::{ModelError, files};

/// Environment variable that disables ONNX Runtime's telemetry.
const TELEMETRY_VARIABLE: &str = "ORT_DISABLE_TELEMETRY";

struct LoadedRuntime {
    path: PathBuf,
    environment: Environment,
}

/// Never dropped, because ONNX Runtime allows one environment in the life of a process.
static LOADED: Mutex<Option<LoadedRuntime>> = Mutex::new(None);

/// Disables the telemetry of ONNX Runtime in this process and its children. Otherwise ONNX Runtime writes an identifier
/// and events below the user's cache directory and sends them to its vendor.
///
/// Loading a model calls this first. ONNX Runtime reads no other switch early enough than the environment variable
/// `ORT_DISABLE_TELEMETRY`, which this sets to `1`. A program whose threads read the environment through the C library
/// must call this at its start, or be started with the variable set.
pub fn disable_telemetry() {
    // The lock ensures that the variable is written once.
    let _loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    disable_telemetry_once();
}

fn disable_telemetry_once() {
    if env::var_os(TELEMETRY_VARIABLE).as_deref() == Some(OsStr::new("1")) {
        return;
    }
    #[expect(unsafe_code, reason = "ONNX Runtime reads no other switch before its telemetry starts")]
    // SAFETY: this is called under the lock of `LOADED`, once, before ONNX Runtime is loaded. Rust code reads the
    // environment under the lock of the standard library, which is held while this writes. C code that reads it at the
    // same time belongs to the caller, whom the documentation above requires to have the variable set by then.
    unsafe {
        env::set_var(TELEMETRY_VARIABLE, "1");
    }
}

/// Environment of the library at `path`, which the first call loads. After a failure another library can be loaded.
pub(super) fn environment(path: &Path) -> Result<Environment, ModelError> {
    // Absolute, because the loader searches a relative path next to the program first.
    let path = path.canonicalize().map_err(|source| ModelError::reading("ONNX Runtime", path, source))?;
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(loaded) = loaded.as_ref() {
        return if loaded.path == path {
            Ok(loaded.environment.clone())
        } else {
            Err(ModelError::OtherRuntime { loaded: loaded.path.clone(), asked: path })
        };
    }
    // The library reads the switch when its environment is created, before `with_telemetry` takes effect.
    disable_telemetry_once();
    let failed = |source| ModelError::Runtime { path: path.clone(), source };
    // Rejects a FIFO, on which the loader would block.
    files::open(&path).map_err(|source| ModelError::reading("ONNX Runtime", &path, source))?;
    let environment = ort::init_from(&path)
        .map_err(|error| failed(error.into()))?
        .with_name("memory")
        .with_telemetry(false)
        .build()
        .map_err(|error| failed(error.into()))?;
    *loaded = Some(LoadedRuntime { path, environment: environment.clone() });
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
    fn a_file_that_is_not_a_library_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("libonnxruntime.so");
        fs::write(&path, "not a library").unwrap();
        let error = environment(&path).unwrap_err();
        // Another test of this process may have loaded one.
        assert!(matches!(error, ModelError::Runtime { .. } | ModelError::OtherRuntime { .. }), "{error}");
    }
}
