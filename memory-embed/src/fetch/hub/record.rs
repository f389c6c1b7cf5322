//! The record of a fetch from a hub, stored next to the model's files.

use std::{fs, path::Path};

use serde::{Deserialize, Serialize};

use crate::{
    fetch::FetchError,
    files::{self, if_there},
};

/// The name of the file in the model's directory.
const NAME: &str = "hub.json";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct HubRecord {
    pub(super) id: String,
    pub(super) revision: String,
    /// The commit that it resolved to.
    pub(super) commit: String,
    pub(super) files: Vec<RecordedFile>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RecordedFile {
    /// Path relative to the model's directory, with `/` between directories.
    pub(super) path: String,
    pub(super) size: u64,
    pub(super) sha256: String,
}

impl HubRecord {
    /// Reads the record; `None` if it is missing or invalid, so that all files are fetched.
    pub(super) fn read(directory: &Path) -> Result<Option<Self>, FetchError> {
        let path = directory.join(NAME);
        let json = if_there(files::read_text(&path)).map_err(FetchError::io(&path))?;
        Ok(json.and_then(|json| serde_json::from_slice(&json).ok()))
    }

    pub(super) fn write(&self, directory: &Path) -> Result<(), FetchError> {
        let path = directory.join(NAME);
        let json = serde_json::to_vec_pretty(self).map_err(std::io::Error::from);
        json.and_then(|json| files::replace(&path, &json)).map_err(FetchError::io(&path))
    }

    pub(super) fn remove(directory: &Path) -> Result<(), FetchError> {
        remove(&directory.join(NAME))
    }
}

/// Removes a file, if it is there.
pub(super) fn remove(path: &Path) -> Result<(), FetchError> {
    if_there(fs::remove_file(path)).map(drop).map_err(FetchError::io(path))
}
