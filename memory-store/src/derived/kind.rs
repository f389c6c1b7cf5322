//! Parts that the kinds of derived files share: a directory of files, each with the name of its conversation.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use memory_core::{ConversationId, DerivedKind, NodeSet};

use super::{
    anchor::Anchor,
    file::temporary,
    header::Format,
    packs::{self, Packs, name_of, stem_of},
};

/// Bytes in which a header lies whole.
const LONGEST_HEADER: u64 = 16 << 10;

/// How often files are written without some nodes and read again, since another process may write them meanwhile.
pub(super) const ATTEMPTS: u32 = 3;

/// A kind of derived files.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) kind: DerivedKind,
    /// Its directory in the cache of a store.
    pub(super) directory: &'static str,
    /// The extensions of its files; the first one's files have the header.
    pub(super) extensions: &'static [&'static str],
    /// The formats that can be read.
    pub(super) formats: &'static [Format],
    /// Reads a header of one of these formats.
    pub(super) header: fn(Format, &[u8]) -> Option<Named>,
    /// The stem of the files with these names in their header.
    pub(super) stem: fn(&[String; 2]) -> String,
    /// Reads what is good in the files of a conversation.
    ///
    /// # Errors
    /// When they cannot be read for another reason than damage.
    pub(super) read: fn(&Listed, Anchor, Depth) -> io::Result<Contents>,
    /// Rewrites the files of a conversation without these nodes; gives whether no byte of them is left. Waits for its
    /// turn.
    pub(super) forget: fn(&Listed, &Anchor, &NodeSet) -> io::Result<bool>,
}

/// How much is read of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// The bytes that state how far the file reaches.
    Headers,
    /// Every byte.
    All,
}

/// The good part of the files of a conversation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Contents {
    /// The last node.
    pub(super) through: u64,
    pub(super) count: u64,
    /// Good bytes of the files, if all of them were read.
    pub(super) bytes: u64,
}

/// The contents of a header.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) store: [u8; 16],
    pub(super) fields: Vec<u8>,
    /// The second one is that of the conversation.
    pub(super) names: [String; 2],
}

/// Reads a header with so many bytes of fields.
pub(super) fn named<const FIELDS: usize>(format: Format, bytes: &[u8]) -> Option<Named> {
    let header = format.read::<FIELDS>(bytes).ok()?;
    Some(Named { store: header.store, fields: header.fields.to_vec(), names: header.names.map(ToOwned::to_owned) })
}

/// The files of a conversation, by one model where there are models.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    pub(super) dir: PathBuf,
    stem: String,
    extensions: &'static [&'static str],
    pub(super) conversation: ConversationId,
    /// The first name in the header.
    pub(super) name: String,
    pub(super) fields: Vec<u8>,
    /// Where the files may be instead.
    pub(super) packs: Arc<Packs>,
}

impl Listed {
    /// The file with the header.
    pub(super) fn path(&self) -> PathBuf {
        self.dir.join(&self.stem).with_extension(self.extensions.first().unwrap_or(&""))
    }

    /// The number in a field of eight bytes.
    pub(super) fn number(&self, field: usize) -> Option<usize> {
        let (fields, _) = self.fields.as_chunks();
        usize::try_from(u64::from_le_bytes(*fields.get(field)?)).ok()
    }

    /// Bytes of all its files as they are now, unfinished ones too.
    pub(super) fn bytes(&self) -> u64 {
        self.paths().map(|path| bytes_alone(&path).unwrap_or_else(|| self.bytes_in_packs(&path))).sum()
    }

    /// Bytes of those of its files that are in packs, and not loose as well.
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

    /// All its files, whether they are there or not.
    pub(super) fn paths(&self) -> impl Iterator<Item = PathBuf> + use<> {
        let path = self.dir.join(&self.stem);
        let paths = self.extensions.iter().map(move |extension| path.with_extension(extension));
        paths.flat_map(|path| [temporary(&path), path])
    }
}

/// Bytes of a file that is in no pack.
fn bytes_alone(path: &Path) -> Option<u64> {
    Some(fs::symlink_metadata(path).ok()?.len())
}

/// The files of a directory.
#[derive(Debug)]
pub(super) struct Listing {
    /// By conversation.
    pub(super) known: Vec<Listed>,
    pub(super) packs: Arc<Packs>,
    /// The stems of files in packs that are of no known conversation.
    pub(super) strange_in_packs: BTreeSet<String>,
    /// Files of no known conversation: their header is damaged or missing, or of another store or version.
    pub(super) strange: Vec<PathBuf>,
}

impl Kind {
    /// The files of this kind in the cache of a store.
    ///
    /// # Errors
    /// When the directory cannot be listed, or a header cannot be read for another reason than damage.
    pub(super) fn list(&self, cache: &Path, store: [u8; 16]) -> io::Result<Listing> {
        let dir = cache.join(self.directory);
        let packs = Packs::new(&dir, store, self.extensions);
        let mut stems: BTreeMap<String, BTreeSet<PathBuf>> = BTreeMap::new();
        match fs::read_dir(&dir) {
            Ok(entries) => self.add_loose(entries, &mut stems)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let packed: BTreeSet<String> = packs.names()?.iter().map(|name| stem_of(name).to_owned()).collect();
        stems.extend(
            packed
                .iter()
                .filter(|stem| !stems.contains_key(*stem))
                .map(|stem| (stem.clone(), BTreeSet::new()))
                .collect::<Vec<_>>(),
        );
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
            // A file that is being written has another extension after the first.
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
        match packs::open(&path, Some(packs)) {
            Ok(file) => drop(file.reader().take(LONGEST_HEADER).read_to_end(&mut bytes)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        }
        let named = self.formats.iter().find_map(|format| (self.header)(*format, &bytes));
        let Some(Named { fields, names, .. }) =
            named.filter(|named| named.store == store && (self.stem)(&named.names) == stem)
        else {
            return Ok(None);
        };
        let [name, conversation] = names;
        let (dir, extensions, packs) = (packs.dir().to_owned(), self.extensions, Arc::clone(packs));
        let listed = |conversation| Listed { dir, stem, extensions, conversation, name, fields, packs };
        Ok(ConversationId::new(&conversation).ok().map(listed))
    }
}
