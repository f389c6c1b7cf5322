//! Models with short names, which are stored under the ids of a hub.

use std::{borrow::Cow, fs};

use memory_embed::{MS_MARCO_MINILM_L6_V2, ModelLocation, ModelSource, ModelStore, Precision};

/// The recommended cross-encoder, by its short name.
pub const DEFAULT_RERANKER: &str = "ms-marco-MiniLM";

/// Models outside the pinned packages that have short names, and their ids on the hub.
pub const SHORT_NAMES: [(&str, &str); 2] =
    [("all-MiniLM-L12-v2", "sentence-transformers/all-MiniLM-L12-v2"), (DEFAULT_RERANKER, MS_MARCO_MINILM_L6_V2)];

/// The id of a model with a short name, followed by the precision; any other name is returned unchanged.
#[must_use]
pub fn full_name(name: &str) -> Cow<'_, str> {
    let (model, precision) = ModelSource::split(name);
    let Some((_, id)) = SHORT_NAMES.iter().find(|(short, _)| *short == model) else { return name.into() };
    with_precision(id, precision).into()
}

/// The place of the model called `name`: stored under that name, or else under its id.
#[must_use]
pub fn source_of(name: &str, models: &ModelStore) -> ModelSource {
    let Ok(source) = name.parse::<ModelSource>();
    let Ok(by_id) = full_name(name).parse::<ModelSource>();
    if source.directory(models).is_dir() { source } else { by_id }
}

/// Name of a model that holds in every working directory: the absolute path of a directory, any other name unchanged.
/// To be called before loading, because a loaded model's id keeps only the last component. Links are resolved, except
/// in that component.
#[must_use]
pub fn from_anywhere(name: &str) -> Cow<'_, str> {
    let (model, precision) = ModelSource::split(name);
    let Ok(source) = model.parse::<ModelSource>();
    let ModelLocation::Directory(path) = source.location else { return name.into() };
    let whole = std::path::absolute(&path).unwrap_or(path);
    let whole = match (whole.parent(), whole.file_name()) {
        (Some(parent), Some(name)) => fs::canonicalize(parent).unwrap_or_else(|_| parent.to_owned()).join(name),
        // `..` at the end is not the name of a directory.
        _ => fs::canonicalize(&whole).unwrap_or(whole),
    };
    let Some(path) = whole.to_str() else { return name.into() };
    with_precision(path, precision).into()
}

/// The reverse of [`ModelSource::split`].
fn with_precision(model: &str, precision: Option<Precision>) -> String {
    precision.map_or_else(|| model.to_owned(), |precision| format!("{model}/{}", precision.name()))
}

/// A model's name without the precision that `memory model list` shows after it.
#[must_use]
pub fn without_precision(name: &str) -> &str {
    ModelSource::split(name).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_recorded_whole() {
        let here = fs::canonicalize(".").unwrap();
        let (here, src) = (here.to_str().unwrap(), format!("{}/src", here.display()));
        assert_eq!(from_anywhere("./src"), src);
        for same in ["./src/fp32", "./src//fp32", "./src/../src/fp32"] {
            assert_eq!(from_anywhere(same), format!("{src}/fp32"), "{same}");
        }
        assert_eq!(from_anywhere("."), here);
        assert_eq!(from_anywhere("./src/.."), fs::canonicalize(here).unwrap().to_str().unwrap());
        for other in ["all-MiniLM-L6-v2/int8", "org/name", "openai:x?dimensions=4", "/not/there/fp32"] {
            assert_eq!(from_anywhere(other), other);
        }
    }

    #[test]
    fn a_short_name_keeps_its_precision() {
        assert_eq!(full_name("all-MiniLM-L12-v2"), "sentence-transformers/all-MiniLM-L12-v2");
        assert_eq!(full_name("all-MiniLM-L12-v2/fp32"), "sentence-transformers/all-MiniLM-L12-v2/fp32");
        for other in ["all-MiniLM-L6-v2/int8", "./all-MiniLM-L12-v2", "org/all-MiniLM-L12-v2"] {
            assert_eq!(full_name(other), other);
        }
        assert_eq!(without_precision("all-MiniLM-L6-v2/int8"), "all-MiniLM-L6-v2");
        assert_eq!(without_precision("org/name"), "org/name");
    }
}
