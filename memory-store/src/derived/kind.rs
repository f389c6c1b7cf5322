//! Common parts of derived files: a directory of files for each kind, each with its conversation's name in the header.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use memory_core::{ConversationId, NodeSet, port::DerivedKind};
use memory_files::seal::KeySet;

use super::{
    anchor::Anchor,
    disk::is_damage,
    file::temporary,
    header::{Format, Header, file_name},
    packs::{self, Packs, name_of, stem_of},
};

/// Maximum bytes of a header.
const LONGEST_HEADER: u64 = 16 << 10;

/// Attempts to rewrite files without some nodes, because another process may write them meanwhile.
pub(super) const ATTEMPTS: u32 = 3;

#[derive(Debug)]
pub(super) struct Kind {
    pub(super) kind: DerivedKind,
    /// Its directory within the cache of a store.
    pub(super) directory: &'static str,
    /// Extensions of its files; only those with the first one have the header.
    pub(super) extensions: &'static [&'static str],
    /// Readable formats.
    pub(super) formats: &'static [Format],
    /// Bytes of the fields in the header. Its names are those of the model and the conversation.
    pub(super) fields: usize,
    /// Reads the valid part of the files of a conversation.
    ///
    /// # Errors
    /// If they cannot be read for another reason than damage.
    pub(super) read: fn(&Listed, Anchor, Depth) -> io::Result<Contents>,
    /// Rewrites the files of a conversation without these nodes; returns true if no byte of the nodes is left. Waits
    /// for the turn.
    pub(super) forget: fn(&Listed, &Anchor, &NodeSet) -> io::Result<bool>,
}

/// Extent of reading a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// Only the bytes that state how far the file reaches.
    Headers,
    /// Everything.
    All,
}

/// Valid part of the files of a conversation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Contents {
    /// Last node.
    pub(super) through: u64,
    pub(super) count: u64,
    /// Valid bytes of the files, if they were read completely.
    pub(super) bytes: u64,
}

/// Files of a conversation, and of a model if the kind has models.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    pub(super) dir: PathBuf,
    stem: String,
    extensions: &'static [&'static str],
    pub(super) conversation: ConversationId,
    /// First name in the header.
    pub(super) name: String,
    pub(super) fields: Vec<u8>,
    /// Packs that may contain the files.
    pub(super) packs: Arc<Packs>,
}

impl Listed {
    /// Path of the file with the header.
    pub(super) fn path(&self) -> PathBuf {
        self.dir.join(&self.stem).with_extension(self.extensions.first().unwrap_or(&""))
    }

    /// Field `field` of eight bytes, as a number.
    pub(super) fn number(&self, field: usize) -> Option<usize> {
        let (fields, _) = self.fields.as_chunks();
        usize::try_from(u64::from_le_bytes(*fields.get(field)?)).ok()
    }

    /// Current bytes of all its files, including unfinished ones.
    pub(super) fn bytes(&self) -> u64 {
        self.paths().map(|path| bytes_alone(&path).unwrap_or_else(|| self.bytes_in_packs(&path))).sum()
    }

    /// Bytes of its files that are only in packs.
    pub(super) fn packed_bytes(&self) -> u64 {
        self.paths().filter(|path| bytes_alone(path).is_none()).map(|path| self.bytes_in_packs(&path)).sum()
    }

    fn bytes_in_packs(&self, path: &Path) -> u64 {
        let found = self.packs.find(name_of(path)).ok().flatten();
        found.map_or(0, |packed| packed.bytes().len() as u64)
    }

    pub(super) fn stem(&self) -> &str {
        &self.stem
    }

    /// Paths of all its files, existing or not.
    pub(super) fn paths(&self) -> impl Iterator<Item = PathBuf> + use<> {
        let path = self.dir.join(&self.stem);
        let paths = self.extensions.iter().map(move |extension| path.with_extension(extension));
        paths.flat_map(|path| [temporary(&path), path])
    }
}

/// Bytes of a loose file.
fn bytes_alone(path: &Path) -> Option<u64> {
    Some(fs::symlink_metadata(path).ok()?.len())
}

#[derive(Debug)]
pub(super) struct Listing {
    /// Files of known conversations.
    pub(super) known: Vec<Listed>,
    pub(super) packs: Arc<Packs>,
    /// Stems of packed files of no known conversation.
    pub(super) strange_in_packs: BTreeSet<String>,
    /// Files of no known conversation: the header is damaged or missing, or of another store or version.
    pub(super) strange: Vec<PathBuf>,
}

impl Kind {
    /// Lists the files of this kind in the cache of a store.
    ///
    /// # Errors
    /// If the directory cannot be listed, or a header cannot be read for another reason than damage.
    pub(super) fn list(&self, cache: &Path, (store, keys): ([u8; 16], KeySet)) -> io::Result<Listing> {
        let dir = cache.join(self.directory);
        let packs = Packs::new(&dir, (store, keys), self.extensions);
        let mut stems: BTreeMap<String, BTreeSet<PathBuf>> = BTreeMap::new();
        match fs::read_dir(&dir) {
            Ok(entries) => self.add_loose(entries, &mut stems)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let packed: BTreeSet<String> = packs.names()?.iter().map(|name| stem_of(name).to_owned()).collect();
        for stem in &packed {
            stems.entry(stem.clone()).or_default();
        }
        let (mut known, mut strange, mut strange_in_packs) = (Vec::new(), packs.strange()?, BTreeSet::new());
        for (stem, paths) in stems {
            match self.listed(&packs, stem.clone(), store)? {
                Some(listed) => known.push(listed),
                None => {
                    strange.extend(paths);
                    strange_in_packs.extend(Some(stem).filter(|stem| packed.contains(stem)));
                }
            }
        }
        Ok(Listing { known, packs, strange_in_packs, strange })
    }

    fn add_loose(&self, entries: fs::ReadDir, stems: &mut BTreeMap<String, BTreeSet<PathBuf>>) -> io::Result<()> {
        for entry in entries {
            let entry = entry?;
            let (name, is_dir) = (entry.file_name(), entry.file_type()?.is_dir());
            // A file that is being written has a further extension.
            let parts = name.to_str().and_then(|name| name.split_once('.'));
            let Some((stem, extension)) = parts.filter(|_| !is_dir) else { continue };
            if self.extensions.contains(&extension.strip_suffix(".tmp").unwrap_or(extension)) {
                stems.entry(stem.to_owned()).or_default().insert(entry.path());
            }
        }
        Ok(())
    }

    fn listed(&self, packs: &Arc<Packs>, stem: String, store: [u8; 16]) -> io::Result<Option<Listed>> {
        let path = packs.dir().join(&stem).with_extension(self.extensions.first().unwrap_or(&""));
        let mut bytes = Vec::new();
        match packs::open(&path, packs) {
            Ok(file) => drop(file.reader().take(LONGEST_HEADER).read_to_end(&mut bytes)?),
            Err(error) if is_damage(&error) => return Ok(None),
            Err(error) => return Err(error),
        }
        let header = self.formats.iter().find_map(|format| format.read(&bytes, self.fields).ok());
        let Some(Header { fields, names: [name, conversation], .. }) =
            header.filter(|header| header.store == store && file_name(header.names[1], header.names[0]) == stem)
        else {
            return Ok(None);
        };
        let (name, fields) = (name.to_owned(), fields.to_vec());
        let (dir, extensions, packs) = (packs.dir().to_owned(), self.extensions, Arc::clone(packs));
        let listed = |conversation| Listed { dir, stem, extensions, conversation, name, fields, packs };
        Ok(ConversationId::new(conversation).ok().map(listed))
    }
}
