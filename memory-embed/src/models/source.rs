//! Sources of models by name or path, and loading.

use std::{
    convert::Infallible,
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
};

use memory_core::port::{Embedder, Reranker};

use super::{Backend, ModelDirectory, ModelError, ModelFiles, ModelStore};
use crate::{OnnxEmbedder, OnnxOptions, OnnxReranker, Precision, RerankerFiles, RerankerOptions, StaticEmbedder};

/// The location of a model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ModelLocation {
    /// A directory of the model store, by name: of a pinned model, or an id on a hub, such as
    /// `sentence-transformers/all-MiniLM-L12-v2`.
    Stored(String),
    /// Any other directory.
    Directory(PathBuf),
}

/// Location and precision of a model.
///
/// Written as `NAME`, `ORGANIZATION/NAME`, or a path that begins with `.` or `/`, each optionally followed by `/fp32`
/// or `/int8`. The default is `int8`. A static model ignores the precision.
///
/// ```
/// use memory_embed::{ModelLocation, ModelSource, Precision};
///
/// let source: ModelSource = "all-MiniLM-L6-v2/fp32".parse()?;
/// assert_eq!(source.location, ModelLocation::Stored("all-MiniLM-L6-v2".to_owned()));
/// assert_eq!(source.precision, Precision::Full);
/// # Ok::<(), std::convert::Infallible>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ModelSource {
    /// Its location.
    pub location: ModelLocation,
    /// Its precision.
    pub precision: Precision,
}

impl FromStr for ModelSource {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let (name, precision) = Self::split(text);
        let precision = precision.unwrap_or(Precision::Int8);
        let is_path = name.starts_with('.') || Path::new(name).is_absolute();
        let location = if is_path {
            ModelLocation::Directory(PathBuf::from(name))
        } else {
            ModelLocation::Stored(name.to_owned())
        };
        Ok(Self { location, precision })
    }
}

impl fmt::Display for ModelSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.location {
            ModelLocation::Stored(name) => write!(f, "{name}/{}", self.precision.name()),
            ModelLocation::Directory(path) => write!(f, "{}/{}", path.display(), self.precision.name()),
        }
    }
}

impl ModelSource {
    /// A model at `location` with `precision`.
    #[must_use]
    pub const fn new(location: ModelLocation, precision: Precision) -> Self {
        Self { location, precision }
    }

    /// Splits off the precision, if any.
    #[must_use]
    pub fn split(text: &str) -> (&str, Option<Precision>) {
        let suffixed = [Precision::Full, Precision::Int8].into_iter().find_map(|precision| {
            let name = text.strip_suffix(precision.name())?.strip_suffix('/')?;
            Some((name, Some(precision)))
        });
        suffixed.unwrap_or((text, None))
    }

    /// Name of the model; for a path, its last component.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.location {
            ModelLocation::Stored(name) => name.clone(),
            ModelLocation::Directory(path) => {
                path.file_name().map_or_else(|| "model".to_owned(), |name| name.to_string_lossy().into_owned())
            }
        }
    }

    /// Its directory.
    #[must_use]
    pub fn directory(&self, store: &ModelStore) -> PathBuf {
        match &self.location {
            ModelLocation::Stored(name) => store.directory_of(name),
            ModelLocation::Directory(path) => path.clone(),
        }
    }

    /// Loads the model as an embedder, with the ONNX Runtime of `store` if it needs one.
    ///
    /// # Errors
    /// [`ModelError`], when a file is missing, damaged or not supported.
    pub fn load(&self, store: &ModelStore, options: &OnnxOptions) -> Result<Arc<dyn Embedder>, ModelError> {
        let directory = self.directory(store);
        let name = self.name();
        match ModelDirectory::read(&directory)?.backend {
            Backend::Static => Ok(Arc::new(StaticEmbedder::load(&directory, &name)?)),
            Backend::Onnx => {
                let files = ModelFiles::in_directory(&directory, &name, &store.runtime()?, self.precision)?;
                Ok(Arc::new(OnnxEmbedder::load(&files, options)?))
            }
        }
    }

    /// Loads the model as a cross-encoder, with the ONNX Runtime of `store`. The precision is that of its graph;
    /// [`precision`](Self::precision) is ignored.
    ///
    /// # Errors
    /// [`ModelError`], when a file is missing, damaged or not supported.
    pub fn load_reranker(
        &self,
        store: &ModelStore,
        options: &RerankerOptions,
    ) -> Result<Arc<dyn Reranker>, ModelError> {
        let files = RerankerFiles::in_directory(&self.name(), &self.directory(store), &store.runtime()?)?;
        Ok(Arc::new(OnnxReranker::load(&files, options)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_ids_and_paths_are_told_apart() {
        for (text, name, precision) in [
            ("all-MiniLM-L6-v2", "all-MiniLM-L6-v2", Precision::Int8),
            ("sentence-transformers/all-MiniLM-L12-v2", "sentence-transformers/all-MiniLM-L12-v2", Precision::Int8),
            ("org/name/fp32", "org/name", Precision::Full),
            ("name/int8", "name", Precision::Int8),
        ] {
            let source: ModelSource = text.parse().unwrap();
            assert_eq!(source, ModelSource { location: ModelLocation::Stored(name.to_owned()), precision });
            assert_eq!(source.to_string().parse::<ModelSource>().unwrap(), source);
        }
        let source: ModelSource = "./models/mine/fp32".parse().unwrap();
        assert_eq!(source.location, ModelLocation::Directory(PathBuf::from("./models/mine")));
        assert_eq!((source.name().as_str(), source.precision), ("mine", Precision::Full));
    }

    #[test]
    fn a_name_cannot_lead_out_of_the_store() {
        let source: ModelSource = "a/../../etc".parse().unwrap();
        assert_eq!(source.directory(&ModelStore::at("store")), Path::new("store/a/etc"));
    }

    #[test]
    fn a_model_that_is_not_there_is_missing() {
        let directory = tempfile::tempdir().unwrap();
        let source: ModelSource = "none".parse().unwrap();
        let store = ModelStore::at(directory.path());
        let error = source.load(&store, &OnnxOptions::default()).unwrap_err();
        assert!(matches!(error, ModelError::Missing { .. }), "{error}");
        let error = source.load_reranker(&store, &RerankerOptions::default()).unwrap_err();
        assert!(matches!(error, ModelError::Missing { .. }), "{error}");
    }
}
