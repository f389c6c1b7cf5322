//! Loads the embedding model of a store.

mod absent;
mod cache;
mod language;
mod record;

use std::sync::Arc;

use memory_core::{
    ModelId,
    port::{Embedder, Store},
};
use memory_embed::{
    ALL_MINILM_L6_V2, ALL_MPNET_BASE_V2, MULTILINGUAL_E5_SMALL, ModelError, ModelStore, OnnxOptions, Precision,
};

use self::absent::AbsentModel;
pub(crate) use self::cache::{cached, derived, new_key, secret};
use self::language::is_mostly_foreign;
pub use self::record::{ModelRecord, RecordError};
use crate::{
    Config, OpenError,
    model_names::{from_anywhere, source_of, without_precision},
    remote_model,
};

/// Models for a new store, the best first; the first present one is used.
pub const PREFERRED: [&str; 4] =
    ["sentence-transformers/all-MiniLM-L12-v2", "all-MiniLM-L12-v2", ALL_MINILM_L6_V2.name, "potion-base-8M"];

/// The embedder of the store that `config` names: the model of the store's record, else the requested one, else the
/// best present one: [`MULTILINGUAL_E5_SMALL`] if most messages are in other languages than English, else the first of
/// [`PREFERRED`]. It is recorded if `may_write`.
///
/// A stand-in replaces a missing model: recall is by words then, and a notice states it.
///
/// # Errors
/// [`OpenError`], if the record is damaged, the model is present and cannot be used, or the store has vectors of
/// another model.
pub fn of_store(config: &Config, store: Option<&dyn Store>, may_write: bool) -> Result<Arc<dyn Embedder>, OpenError> {
    // A store in memory has no record: the model is the same for as long as it is there.
    let record = if config.is_in_memory() { None } else { ModelRecord::read(&config.store)? };
    let may_write = may_write && !config.is_in_memory();
    let asked = config.model.as_deref().map(from_anywhere);
    let asked = asked.as_deref();
    let is_foreign = match (&record, asked, store) {
        (None, None, Some(store)) => pollster::block_on(is_mostly_foreign(store))?,
        _ => false,
    };
    let recorded = record.as_ref().map(|record| record.name.as_str());
    let name = asked.map(|asked| named_in_full(asked, recorded)).or(recorded);
    let (name, loaded) = match name {
        // The store's vectors come from one particular graph of the model.
        Some(name) if record.is_some() => (name.to_owned(), load(config, name)),
        Some(name) => in_any_precision(name, |name| load(config, name)),
        None => load_preferred(is_foreign, |name| load(config, name)),
    };
    let embedder = match loaded {
        Ok(embedder) => embedder,
        Err(OpenError::Model(missing)) if is_absent(&missing) || asked.is_none() && is_unchecked(&missing) => {
            let (model, dimensions) = match &record {
                Some(record) if asked.is_none() => (ModelId::new(&record.id), record.dimensions),
                _ => (ModelId::new(&name), ALL_MINILM_L6_V2.dimensions),
            };
            return Ok(Arc::new(AbsentModel::new(model, dimensions, missing)));
        }
        Err(other) => return Err(other),
    };
    match record {
        Some(record) if record.id != embedder.model().as_str() => Err(other_model(&record, &*embedder, name)),
        None if may_write => {
            ModelRecord::of(&name, &*embedder).write(&config.store)?;
            Ok(embedder)
        }
        _ => Ok(embedder),
    }
}

/// A model that reads the languages of most messages, where the store's own was trained on English; `None` where it fits.
///
/// # Errors
/// If the store or its record of the model cannot be read.
pub async fn better_for_languages(config: &Config, store: &dyn Store) -> Result<Option<&'static str>, OpenError> {
    let Some(record) = ModelRecord::read(&config.store)? else { return Ok(None) };
    let name = without_precision(&record.name);
    let is_english = PREFERRED.contains(&name) || name == ALL_MPNET_BASE_V2.name;
    Ok((is_english && is_mostly_foreign(store).await?).then_some(MULTILINGUAL_E5_SMALL.name))
}

/// Records an embedder of the program's own as that of the store.
///
/// # Errors
/// [`OpenError`], if the store has vectors of another model, or the record cannot be read or written.
pub(crate) fn own(config: &Config, embedder: &dyn Embedder, may_write: bool) -> Result<(), OpenError> {
    if config.is_in_memory() {
        return Ok(());
    }
    let name = embedder.model().as_str();
    match ModelRecord::read(&config.store)? {
        Some(record) if record.id != name => Err(other_model(&record, embedder, name.to_owned())),
        None if may_write => Ok(ModelRecord::of(name, embedder).write(&config.store)?),
        _ => Ok(()),
    }
}

fn other_model(record: &ModelRecord, embedder: &dyn Embedder, name: String) -> OpenError {
    OpenError::OtherModel { recorded: ModelId::new(&record.id), asked: embedder.model().clone(), name }
}

/// The model called `name`, local or remote.
///
/// # Errors
/// [`OpenError`], if it is missing or cannot be used.
pub fn load(config: &Config, name: &str) -> Result<Arc<dyn Embedder>, OpenError> {
    match remote_model::load(name, config)? {
        Some(embedder) => Ok(embedder),
        None => Ok(load_here(config, name)?),
    }
}

fn load_here(config: &Config, name: &str) -> Result<Arc<dyn Embedder>, ModelError> {
    let models = ModelStore::discover(config.models.as_deref())?;
    source_of(name, &models).load(&models, &OnnxOptions::default())
}

fn is_absent(error: &ModelError) -> bool {
    matches!(error, ModelError::Missing { .. } | ModelError::NoCacheDirectory { .. })
}

/// True if a graph exists but may not be used: an 8-bit graph that was never compared on a processor like this one, or
/// failed the comparison.
fn is_unchecked(error: &ModelError) -> bool {
    matches!(error, ModelError::NotChecked { .. })
}

fn is_no_graph(error: &OpenError) -> bool {
    matches!(error, OpenError::Model(error) if is_absent(error) || is_unchecked(error))
}

/// The model called `name`, for a new store: in 8 bits or, if they are not available and the name states no precision,
/// in 32.
fn in_any_precision<T>(name: &str, load: impl Fn(&str) -> Result<T, OpenError>) -> (String, Result<T, OpenError>) {
    let loaded = load(name);
    if loaded.as_ref().is_err_and(is_no_graph) && without_precision(name) == name {
        let full = format!("{name}/{}", Precision::Full.name());
        if let Ok(loaded) = load(&full) {
            return (full, Ok(loaded));
        }
    }
    (name.to_owned(), loaded)
}

/// The name in `asked`, or the recorded one, if the store took that model in 32 bits because 8 bits were not available.
fn named_in_full<'a>(asked: &'a str, recorded: Option<&'a str>) -> &'a str {
    recorded.filter(|recorded| without_precision(&from_anywhere(recorded)) == asked).unwrap_or(asked)
}

/// The first usable one of [`PREFERRED`], or before them the one for other languages if `is_foreign`; if there is none,
/// the reason why the pinned one cannot be used.
fn load_preferred<T>(is_foreign: bool, load: impl Fn(&str) -> Result<T, OpenError>) -> (String, Result<T, OpenError>) {
    let mut pinned = None;
    let foreign = is_foreign.then_some(MULTILINGUAL_E5_SMALL.name);
    for name in foreign.into_iter().chain(PREFERRED) {
        let (name, loaded) = in_any_precision(name, &load);
        if !loaded.as_ref().is_err_and(is_no_graph) {
            return (name, loaded);
        }
        if name == ALL_MINILM_L6_V2.name {
            pinned = Some(loaded);
        }
    }
    let name = ALL_MINILM_L6_V2.name;
    (name.to_owned(), pinned.unwrap_or_else(|| load(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = PREFERRED[0];

    fn missing() -> OpenError {
        ModelError::Missing { what: "a graph".to_owned(), path: "model.onnx".into(), how: "fetch it" }.into()
    }

    fn unchecked() -> OpenError {
        ModelError::NotChecked { model: "model".to_owned(), why: "another processor".to_owned() }.into()
    }

    #[test]
    fn a_new_store_takes_what_can_be_used() {
        assert!(FIRST.ends_with("all-MiniLM-L12-v2"), "the documented default");
        let full = format!("{FIRST}/fp32");
        let cases: [(&[&str], &[&str], &str); 4] = [
            (&[FIRST], &[], FIRST),
            (&[&full], &[FIRST], &full),
            (&[ALL_MINILM_L6_V2.name], &[FIRST], ALL_MINILM_L6_V2.name),
            (&["potion-base-8M"], &[FIRST, ALL_MINILM_L6_V2.name], "potion-base-8M"),
        ];
        for (there, refused, expected) in cases {
            let (name, loaded) = load_preferred(false, |name| {
                if there.contains(&name) {
                    return Ok(());
                }
                Err(if refused.contains(&name) { unchecked() } else { missing() })
            });
            assert_eq!((name.as_str(), loaded.is_ok()), (expected, true));
        }
        let (name, loaded) = load_preferred(true, |_| Ok(()));
        assert_eq!((name.as_str(), loaded.is_ok()), (MULTILINGUAL_E5_SMALL.name, true));
        let (name, loaded) = load_preferred(true, |_| Err::<(), _>(missing()));
        assert!(name == ALL_MINILM_L6_V2.name && loaded.is_err_and(|error| is_no_graph(&error)));
    }

    #[test]
    fn a_graph_that_an_author_ships_is_used_unless_eight_bits_were_asked_for() {
        let shipped = |name: &str| if name == "./clone/fp32" { Ok(()) } else { Err(missing()) };
        assert_eq!(in_any_precision("./clone", shipped).0, "./clone/fp32");
        assert!(in_any_precision("./clone/int8", shipped).1.is_err());
        // The next command asks for the model by the same name.
        assert_eq!(named_in_full("/clone", Some("/clone/fp32")), "/clone/fp32");
        assert_eq!(named_in_full("/clone/int8", Some("/clone/fp32")), "/clone/int8");
        assert_eq!(named_in_full("/other", Some("/clone/fp32")), "/other");
        assert_eq!(named_in_full("/clone", None), "/clone");
        // An earlier version recorded the name as it was typed.
        assert_eq!(named_in_full(&from_anywhere("./clone"), Some("./clone/fp32")), "./clone/fp32");
    }
}
