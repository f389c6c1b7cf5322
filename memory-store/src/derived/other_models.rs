//! Removes the vectors and tokens of models that a store no longer uses.

use std::{collections::HashSet, fs, io};

use memory_core::{ModelId, Source, StoreError};

use super::header::file_name;
use crate::LogStore;

/// Directories in the cache of a store whose files are named after a conversation and a model.
const DIRECTORIES: [&str; 3] = ["vectors", "vectors/graphs", "tokens"];

/// Removes the vectors, graphs and tokens of all models but `model` from the cache of `store`, and gives the number of
/// files removed. Call it after everything was embedded by another model. Embedding makes them again.
///
/// # Errors
/// When the store cannot be read, or a file cannot be removed; files before that one are gone.
pub async fn forget_other_models(store: &LogStore, model: &ModelId) -> Result<u64, StoreError> {
    // Listed first: this excludes files of a conversation that begins meanwhile.
    let mut there = Vec::new();
    for directory in DIRECTORIES {
        let directory = store.cache_dir().join(directory);
        match fs::read_dir(&directory).and_then(Iterator::collect::<io::Result<Vec<_>>>) {
            Ok(files) => there.extend(files),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(StoreError::Io { action: "list", place: directory.into(), source }),
        }
    }
    let conversations = store.conversations().await?;
    let kept: HashSet<String> = conversations.iter().map(|conversation| file_name(&conversation.id, model)).collect();
    let mut removed = 0;
    for file in there {
        let name = file.file_name();
        // A file that is being written has another extension after the first.
        let is_kept = name.to_str().and_then(|name| name.split('.').next()).is_some_and(|stem| kept.contains(stem));
        if is_kept || file.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        match fs::remove_file(file.path()) {
            Ok(()) => removed += 1,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(StoreError::Io { action: "remove", place: file.path().into(), source }),
        }
    }
    Ok(removed)
}
