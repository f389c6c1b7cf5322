//! Which embedding model a store has, and its embedder.

mod absent;
mod cache;
mod record;

use std::sync::Arc;

use memory_core::{Embedder, ModelId};
use memory_embed::{ALL_MINILM_L6_V2, ModelError, ModelStore, OnnxOptions};

use self::absent::AbsentModel;
pub use self::record::RecordError;
pub(crate) use self::{cache::cached, record::ModelRecord};
use crate::{Config, model_names::source_of, remote_model, runtime::OpenError};

/// What a new store takes, the best first, of what is there.
const PREFERRED: [&str; 4] =
    ["sentence-transformers/all-MiniLM-L12-v2", "all-MiniLM-L12-v2", ALL_MINILM_L6_V2.name, "potion-base-8M"];

/// The embedder of the store that `config` names: the one in the store's record, else the one asked for, else the best
/// that is there, which is recorded if `may_write`.
///
/// A model that is not there is stood in for: recall is by words then, and says so.
pub(crate) fn of_store(config: &Config, may_write: bool) -> Result<Arc<dyn Embedder>, OpenError> {
    let record = ModelRecord::read(&config.store)?;
    let asked = config.model.as_deref();
    let name = asked.or(record.as_ref().map(|record| record.name.as_str()));
    let (name, loaded) = match name {
        Some(name) => (name.to_owned(), load(config, name)),
        None => {
            let (name, loaded) = load_preferred(config);
            (name, loaded.map_err(OpenError::from))
        }
    };
    let embedder = match loaded {
        Ok(embedder) => embedder,
        Err(OpenError::Model(missing @ (ModelError::Missing { .. } | ModelError::NoCacheDirectory { .. }))) => {
            let (model, dimensions) = match &record {
                Some(record) if asked.is_none() => (ModelId::new(&record.id), record.dimensions),
                _ => (ModelId::new(&name), ALL_MINILM_L6_V2.dimensions),
            };
            return Ok(Arc::new(AbsentModel::new(model, dimensions, missing)));
        }
        Err(other) => return Err(other),
    };
    match record {
        Some(record) if record.id != embedder.model().as_str() => {
            Err(OpenError::OtherModel { recorded: ModelId::new(&record.id), asked: embedder.model().clone(), name })
        }
        None if may_write => {
            ModelRecord::of(&name, &*embedder).write(&config.store)?;
            Ok(embedder)
        }
        _ => Ok(embedder),
    }
}

/// The model called `name`, in this process or over a network.
pub(crate) fn load(config: &Config, name: &str) -> Result<Arc<dyn Embedder>, OpenError> {
    match remote_model::load(name, config.region.as_deref())? {
        Some(embedder) => Ok(embedder),
        None => Ok(load_here(config, name)?),
    }
}

fn load_here(config: &Config, name: &str) -> Result<Arc<dyn Embedder>, ModelError> {
    let models = ModelStore::discover(config.models.as_deref())?;
    source_of(name, &models).load(&models, &OnnxOptions::default())
}

/// The first of [`PREFERRED`] that is there; if none is, why the pinned one is not.
fn load_preferred(config: &Config) -> (String, Result<Arc<dyn Embedder>, ModelError>) {
    let mut why = None;
    for name in PREFERRED {
        match load_here(config, name) {
            Err(missing @ (ModelError::Missing { .. } | ModelError::NoCacheDirectory { .. })) => {
                if name == ALL_MINILM_L6_V2.name {
                    why = Some(missing);
                }
            }
            loaded => return (name.to_owned(), loaded),
        }
    }
    let name = ALL_MINILM_L6_V2.name;
    (name.to_owned(), why.map_or_else(|| load_here(config, name), Err))
}
