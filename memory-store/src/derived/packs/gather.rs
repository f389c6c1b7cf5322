//! Moves loose files into packs, and small packs into larger ones.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use memory_files::{Links, open_dir};

use super::{
    super::{
        disk,
        header::{NAMED_BY, is_of_store},
    },
    Pack, Packs,
    pack::{Entry, NewEntry},
};

/// Maximum conversations with loose files before some are packed.
const LOOSE: usize = 64;
/// Number of recently changed conversations that stay loose, since they are likely to change again.
const STAYING: usize = 16;
/// Maximum bytes of a conversation that is packed; unpacking a larger one would take too long.
const LARGEST_CONVERSATION: u64 = 8 << 20;
/// Maximum bytes of a pack, which forgetting rewrites as a whole.
const LARGEST_PACK: u64 = 128 << 20;

#[derive(Debug, Default)]
struct Loose {
    names: Vec<(String, u64)>,
    changed: Option<SystemTime>,
}

impl Loose {
    fn bytes(&self) -> u64 {
        self.names.iter().fold(0, |all, (_, bytes)| all.saturating_add(*bytes))
    }
}

impl Packs {
    /// Packs the files of the least recently changed conversations if more than [`LOOSE`] are loose. Returns true if it
    /// did. The caller holds the turn.
    ///
    /// Includes packs that are no larger than the new files together, so that a byte is rewritten only once per
    /// doubling of its pack, and packs of which less than half is in use.
    pub(in crate::derived) fn gather(&self) -> io::Result<bool> {
        self.gather_beyond(LOOSE, STAYING)
    }

    /// Like [`Self::gather`], with other numbers of loose conversations.
    pub(in crate::derived) fn gather_beyond(&self, most_loose: usize, staying: usize) -> io::Result<bool> {
        let mut loose: Vec<(String, Loose)> = self.loose()?.into_iter().collect();
        loose.retain(|(_, files)| files.bytes() <= LARGEST_CONVERSATION);
        if loose.len() <= most_loose {
            return Ok(false);
        }
        loose.sort_by_key(|(_, files)| files.changed);
        loose.truncate(loose.len() - staying.min(loose.len()));
        // A pack contains only files that belong to this store.
        loose.retain(|(stem, _)| self.is_ours(stem));
        let mut bytes = 0;
        loose.retain(|(_, files)| {
            let is_room = bytes + files.bytes() <= LARGEST_PACK;
            bytes += if is_room { files.bytes() } else { 0 };
            is_room
        });
        if loose.is_empty() {
            return Ok(false);
        }
        let names: Vec<_> = loose.into_iter().flat_map(|(_, files)| files.names).collect();
        let all = self.list()?;
        let counting = |pack: &Arc<Pack>| self.counting(pack, &all).map(|entry| entry.place.len() as u64).sum();
        let mut packs: Vec<(u64, Arc<Pack>)> = all.iter().map(|pack| (counting(pack), Arc::clone(pack))).collect();
        packs.sort_by_key(|(counting, _)| *counting);
        let mut old = Vec::new();
        for (counting, pack) in packs {
            let is_due = counting <= bytes || counting < pack.length() / 2;
            if is_due && bytes + counting <= LARGEST_PACK {
                bytes += counting;
                old.push(pack);
            }
        }
        self.replace(&old, &names, |_| false)?;
        Ok(true)
    }

    /// Files of a pack that are neither loose nor in a later pack.
    pub(super) fn counting<'p>(&self, pack: &'p Pack, all: &'p [Arc<Pack>]) -> impl Iterator<Item = Entry<'p>> {
        let later =
            move |name: &str| all.iter().any(|other| other.number() > pack.number() && other.find(name).is_some());
        let is_loose = |name: &str| self.dir.join(name).symlink_metadata().is_ok();
        pack.entries().filter(move |entry| !later(entry.name) && !is_loose(entry.name))
    }

    /// Writes a pack of loose files and of the current files of old packs, without the excluded ones; then removes the
    /// sources.
    pub(super) fn replace(
        &self,
        old: &[Arc<Pack>],
        loose: &[(String, u64)],
        is_left_out: impl Fn(&str) -> bool,
    ) -> io::Result<()> {
        let all = self.list()?;
        let mut entries: Vec<(NewEntry, Option<&[u8]>)> =
            loose.iter().map(|(name, length)| (NewEntry { name: name.clone(), length: *length }, None)).collect();
        for pack in old {
            let counting = self.counting(pack, &all).filter(|entry| !is_left_out(entry.name));
            entries.extend(counting.map(|entry| {
                let bytes = pack.bytes(entry.place);
                (NewEntry { name: entry.name.to_owned(), length: bytes.len() as u64 }, Some(bytes))
            }));
        }
        let directory = self.directory();
        let mut new = None;
        if !entries.is_empty() {
            let number = all.iter().map(|pack| pack.number()).max().unwrap_or(0) + 1;
            new = Some(self.write(&directory, number, entries)?);
        }
        // The new pack holds everything, so the sources can be removed.
        for (name, _) in loose {
            disk::remove(&self.dir.join(name))?;
        }
        let is_old = |pack: &&Arc<Pack>| new.as_deref() != Some(pack.path());
        old.iter().filter(is_old).try_for_each(|pack| disk::remove(pack.path()))?;
        if old.is_empty() { Ok(()) } else { open_dir(&directory, Links::Refuse)?.sync_all() }
    }

    /// Writes a pack; returns its path. Files without bytes are read from the directory.
    fn write(&self, directory: &Path, number: u64, mut entries: Vec<(NewEntry, Option<&[u8]>)>) -> io::Result<PathBuf> {
        entries.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
        let (entries, bytes): (Vec<_>, Vec<_>) = entries.into_iter().unzip();
        // Files of one kind are adjacent, because a scan of all codes reads them one after the other.
        let rank = |name: &str| self.extensions.iter().position(|extension| name.ends_with(extension));
        let mut laid: Vec<usize> = (0..entries.len()).collect();
        laid.sort_by_key(|at| entries.get(*at).and_then(|entry| rank(&entry.name)));
        memory_files::create_dir_all(directory)?;
        let temporary = directory.join("new.tmp");
        let file = disk::create(&temporary, self.keys())?;
        let hash = Pack::write(&file, self.store, &entries, &laid, |at, out| {
            match bytes.get(at).copied().flatten() {
                Some(packed) => out.extend_from_slice(packed),
                None => {
                    let name = entries.get(at).map(|entry| entry.name.as_str()).unwrap_or_default();
                    disk::open(&self.dir.join(name), self.keys())?.reader().read_to_end(out)?;
                }
            }
            Ok(())
        })?;
        let path = directory.join(format!("{number}-{hash}.pack"));
        disk::rename(&temporary, &path)?;
        open_dir(directory, Links::Refuse)?.sync_all()?;
        Ok(path)
    }

    /// Loose files by stem, without unfinished ones.
    fn loose(&self) -> io::Result<BTreeMap<String, Loose>> {
        let mut all: BTreeMap<String, Loose> = BTreeMap::new();
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            let name = entry.file_name();
            let Some((name, (stem, extension))) = name.to_str().and_then(|name| Some((name, name.split_once('.')?)))
            else {
                continue;
            };
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_file() && self.extensions.contains(&extension) {
                let files = all.entry(stem.to_owned()).or_default();
                // An encrypted file is longer than its contents.
                let length = match self.keys().is_empty() {
                    true => metadata.len(),
                    false => disk::open(&entry.path(), self.keys()).and_then(|file| file.size()).unwrap_or(u64::MAX),
                };
                files.names.push((name.to_owned(), length));
                files.changed = files.changed.max(metadata.modified().ok());
            }
        }
        Ok(all)
    }

    /// True if the first file of a conversation was derived from the log of this store.
    fn is_ours(&self, stem: &str) -> bool {
        let extension = self.extensions.first().unwrap_or(&"");
        let mut header = [0; NAMED_BY];
        let opened = disk::open(&self.dir.join(stem).with_extension(extension), self.keys());
        opened.is_ok_and(|file| file.read_exact_at(&mut header, 0).is_ok() && is_of_store(&header, self.store))
    }
}
