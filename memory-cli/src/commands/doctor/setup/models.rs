//! The runtime, the embedding model and the cross-encoder, with their missing files.

use std::path::PathBuf;

use memory::{
    Config,
    models::{ModelRecord, PREFERRED, from_anywhere, full_name, is_remote, source_of, without_precision},
};
use memory_embed::{
    ALL_MINILM_L6_V2, Backend, ModelDirectory, ModelError, ModelFiles, ModelLocation, ModelSource, ModelStore,
    Precision,
};

use super::{Item, State};
use crate::globals::Globals;

const RUNTIME: &str = "ONNX Runtime";
const MODEL: &str = "embedding model";
const RERANKER: &str = "cross-encoder";

pub(super) fn look(config: &Config, globals: &Globals) -> Vec<Item> {
    let store = match globals.models() {
        Ok(store) => store,
        Err(error) => return vec![Item::new(MODEL, State::Missing, error.to_string())],
    };
    let mut items = Vec::new();
    if globals.is_by_words() {
        items.push(Item::new(MODEL, State::Here, "none is used: recall is by words, as --words-only says"));
    } else {
        items.extend(embedding_model(config, &store));
    }
    if let Some(name) = config.reranker.as_deref().filter(|_| !globals.is_by_words()) {
        items.push(reranker(name, &store));
    }
    items
}

/// The model that commands would use, with the runtime if it needs one.
fn embedding_model(config: &Config, store: &ModelStore) -> Vec<Item> {
    let record = match ModelRecord::read(&config.store) {
        Ok(record) => record,
        Err(error) => return vec![Item::new(MODEL, State::Wrong, error.to_string())],
    };
    let asked = config.model.as_deref().map(|name| from_anywhere(name).into_owned());
    match asked.or_else(|| record.map(|record| record.name)) {
        Some(name) if is_remote(&name) => vec![remote(&name)],
        Some(name) => here(&name, store),
        None => {
            let preferred = PREFERRED.iter().find(|name| is_here(name, store));
            here(preferred.unwrap_or(&ALL_MINILM_L6_V2.name), store)
        }
    }
}

fn remote(name: &str) -> Item {
    let item = Item::new(MODEL, State::Here, format!("{name}, which is not asked anything now"));
    item.remedy(format!("memory model test {name}, which sends it a few sentences"))
}

fn is_here(name: &str, store: &ModelStore) -> bool {
    let source = source_of(name, store);
    files(&source, source.precision, store).is_ok() || files(&source, Precision::Full, store).is_ok()
}

/// The items of a model on this machine: all its missing parts, not only the first.
fn here(name: &str, store: &ModelStore) -> Vec<Item> {
    let source = source_of(name, store);
    let remedy = match &source.location {
        ModelLocation::Directory(path) => format!("memory model convert {}", path.display()),
        _ => format!("memory model fetch {}", without_precision(name)),
    };
    let directory = source.directory(store);
    let is_static = ModelDirectory::read(&directory).is_ok_and(|described| described.backend == Backend::Static);
    let mut items = Vec::new();
    if !is_static {
        items.push(match store.runtime() {
            Ok(path) => Item::new(RUNTIME, State::Here, path.display().to_string()),
            Err(error) => Item::new(RUNTIME, State::Missing, of_file(&error)).remedy("memory model fetch"),
        });
    }
    let found = files(&source, source.precision, store).or_else(|error| {
        // A name without a precision also means the model in 32 bits.
        if without_precision(name) == name {
            files(&source, Precision::Full, store).map_err(|_| error)
        } else {
            Err(error)
        }
    });
    items.push(match found {
        Ok(path) => Item::new(MODEL, State::Here, format!("{name}, in {}", path.display())),
        Err(error @ ModelError::Missing { .. }) => {
            Item::new(MODEL, State::Missing, format!("{}; recall is by words", of_file(&error))).remedy(&remedy)
        }
        Err(error @ ModelError::NotChecked { .. }) => Item::new(MODEL, State::Missing, error.to_string())
            .remedy(format!("memory model convert {}", without_precision(name))),
        Err(error) => Item::new(MODEL, State::Wrong, error.to_string()).remedy(format!("{remedy} --force")),
    });
    if !is_static && directory.is_dir() {
        let tokenizer = directory.join("tokenizer.json");
        if !tokenizer.is_file() {
            items.push(Item::new("tokenizer", State::Missing, tokenizer.display().to_string()).remedy(remedy));
        }
    }
    items
}

/// Looks for the files of a model without the runtime, and loads nothing.
fn files(source: &ModelSource, precision: Precision, store: &ModelStore) -> Result<PathBuf, ModelError> {
    let directory = source.directory(store);
    if ModelDirectory::read(&directory)?.backend != Backend::Static {
        // The runtime is an item of its own.
        let runtime = store.runtime().unwrap_or_default();
        ModelFiles::in_directory(&directory, &source.name(), &runtime, precision)?;
    }
    Ok(directory)
}

fn reranker(name: &str, store: &ModelStore) -> Item {
    let full = full_name(name);
    let Ok(source) = full.parse::<ModelSource>();
    let directory = source.directory(store);
    let missing = ["config.json", "tokenizer.json"].into_iter().find(|name| !directory.join(name).is_file());
    match missing {
        None => Item::new(RERANKER, State::Here, format!("{name}, in {}", directory.display())),
        Some(missing) => {
            let detail =
                format!("{name}: {} is missing, and every search fails without it", directory.join(missing).display());
            Item::new(RERANKER, State::Wrong, detail).remedy(format!("memory model fetch {}", without_precision(&full)))
        }
    }
}

/// The missing part, without the command that the remedy names.
fn of_file(error: &ModelError) -> String {
    match error {
        ModelError::Missing { what, path, .. } => format!("{what} is missing at {}", path.display()),
        other => other.to_string(),
    }
}
