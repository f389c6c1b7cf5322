//! The record of a fetch from a hub, stored next to the model's files.

use std::{
    fs,
    io::{self, Write},
    path::Path,
};

use serde::{Deserialize, Serialize};

use crate::{
    fetch::{FetchError, wheel::move_into_place},
    files,
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
        match files::read_text(&path) {
            Ok(json) => Ok(serde_json::from_slice(&json).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FetchError::io(&path)(error)),
        }
    }

    pub(super) fn write(&self, directory: &Path) -> Result<(), FetchError> {
        let partial = directory.join(".hub.json.partial");
        let written = || -> io::Result<()> {
            memory_files::make_way(&partial)?;
            let mut file = fs::File::create(&partial)?;
            file.write_all(&serde_json::to_vec_pretty(self)?)?;
            file.sync_all()
        };
        written().map_err(FetchError::io(&partial))?;
        move_into_place(&partial, &directory.join(NAME))
    }

    pub(super) fn remove(directory: &Path) -> Result<(), FetchError> {
        let path = directory.join(NAME);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(FetchError::io(&path)(error)),
            _ => Ok(()),
        }
    }
}
