//! Files that are refused before their contents are read.

use std::{collections::HashMap, io::Read, path::Path};

use memory_core::ConversationId;
use memory_files::{Links, open};

use super::CheckedFile;
use crate::{failure::Usage, import::is_pipe};

/// Refuses UTF-16, which Windows calls Unicode and no format has.
pub(super) fn refuse_utf16(file: &Path) -> Result<(), Usage> {
    let mut begins = [0; 2];
    let is_file = file.is_file() && !is_pipe(file);
    let read = is_file.then(|| open(file, Links::Follow).and_then(|mut file| file.read_exact(&mut begins)));
    if !matches!(read, Some(Ok(()))) || !matches!(begins, [0xFF, 0xFE] | [0xFE, 0xFF]) {
        return Ok(());
    }
    let why = "is UTF-16: write it as UTF-8, as `iconv -f UTF-16 -t UTF-8` does; nothing was imported";
    Err(Usage(format!("{} {why}", file.display())))
}

/// Refuses files that would become one conversation only because they have the same name.
pub(super) fn refuse_namesakes(files: &[(&Path, &CheckedFile)]) -> Result<(), Usage> {
    let mut named: HashMap<&ConversationId, &Path> = HashMap::new();
    for (path, checked) in files {
        let of_names: Vec<_> = match checked {
            CheckedFile::Jsonl(id, _) => vec![(id, *path)],
            CheckedFile::Transcripts(files) => files.named_by_files().collect(),
            CheckedFile::Memory(_) => Vec::new(),
        };
        for (id, path) in of_names {
            let Some(other) = named.insert(id, path).filter(|other| *other != path) else { continue };
            let (one, two) = (other.display(), path.display());
            let why = "import them one by one, and name each by --conversation; nothing was imported";
            return Err(Usage(format!("{one} and {two} would both be the conversation `{id}`: {why}")));
        }
    }
    Ok(())
}
