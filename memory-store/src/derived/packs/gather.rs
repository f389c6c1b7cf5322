//! Gathers loose files into packs, and packs into larger ones.

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

/// Conversations that have loose files before some are packed.
const LOOSE: usize = 64;
/// The conversations that changed last stay loose: they are likely to change again.
const STAYING: usize = 16;
/// A conversation with more bytes than this stays loose: making it loose again would take too long.
const LARGEST_CONVERSATION: u64 = 8 << 20;
/// Most bytes of a pack. Forgetting something rewrites a pack.
const LARGEST_PACK: u64 = 128 << 20;

/// The loose files of a conversation.
#[derive(Debug, Default)]
struct Loose {
    names: Vec<(String, u64)>,
    changed: Option<SystemTime>,
}

impl Loose {
    fn bytes(&self) -> u64 {
        self.names.iter().map(|(_, bytes)| bytes).sum()
    }
}

impl Packs {
    /// Puts the files of the conversations that have not changed for the longest time into a pack, where more than
    /// [`LOOSE`] have files of their own. Gives whether it did. The caller has the turn.
    ///
    /// Packs that are not larger than what comes together are gathered, too: so each byte is written again only as
    /// often as the packs double in size. So is a pack of which less than half counts.
    pub(in crate::derived) fn gather(&self) -> io::Result<bool> {
        self.gather_beyond(LOOSE, STAYING)
    }

    /// As [`Self::gather`], where more than so many conversations are loose, but for those that changed last.
    pub(in crate::derived) fn gather_beyond(&self, most_loose: usize, staying: usize) -> io::Result<bool> {
        let mut loose: Vec<(String, Loose)> = self.loose()?.into_iter().collect();
        loose.retain(|(_, files)| files.bytes() <= LARGEST_CONVERSATION);
        if loose.len() <= most_loose {
            return Ok(false);
        }
        loose.sort_by_key(|(_, files)| files.changed);
        loose.truncate(loose.len() - staying.min(loose.len()));
        // No byte comes into a pack that cannot be attributed to this store.
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

    /// The files of a pack that are neither loose nor in a later one.
    pub(super) fn counting<'p>(&self, pack: &'p Pack, all: &'p [Arc<Pack>]) -> impl Iterator<Item = Entry<'p>> {
        let later =
            move |name: &str| all.iter().any(|other| other.number() > pack.number() && other.find(name).is_some());
        let is_loose = |name: &str| self.dir.join(name).symlink_metadata().is_ok();
        pack.entries().filter(move |entry| !later(entry.name) && !is_loose(entry.name))
    }

    /// Writes a pack of some loose files, and of those of the old packs that count, but for those that are left out,
    /// and removes these.
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
        // From here on the new pack holds what the others hold.
        for (name, _) in loose {
            disk::remove(&self.dir.join(name))?;
        }
        let is_old = |pack: &&Arc<Pack>| new.as_deref() != Some(pack.path());
        old.iter().filter(is_old).try_for_each(|pack| disk::remove(pack.path()))?;
        if old.is_empty() { Ok(()) } else { open_dir(&directory, Links::Refuse)?.sync_all() }
    }

    /// Writes a pack; gives its path. Files without bytes are read from the directory.
    fn write(&self, directory: &Path, number: u64, mut entries: Vec<(NewEntry, Option<&[u8]>)>) -> io::Result<PathBuf> {
        entries.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
        let (entries, bytes): (Vec<_>, Vec<_>) = entries.into_iter().unzip();
        // Files of one kind are next to each other: a scan of all codes reads one after the other.
        let rank = |name: &str| self.extensions.iter().position(|extension| name.ends_with(extension));
        let mut laid: Vec<usize> = (0..entries.len()).collect();
        laid.sort_by_key(|at| entries.get(*at).and_then(|entry| rank(&entry.name)));
        memory_files::create_dir_all(directory)?;
        let temporary = directory.join("new.tmp");
        let file = disk::create(&temporary)?;
        let hash = Pack::write(&file, self.store, &entries, &laid, |at, out| {
            match bytes.get(at).copied().flatten() {
                Some(packed) => out.extend_from_slice(packed),
                None => {
                    let name = entries.get(at).map(|entry| entry.name.as_str()).unwrap_or_default();
                    disk::open(&self.dir.join(name))?.read_to_end(out)?;
                }
            }
            Ok(())
        })?;
        let path = directory.join(format!("{number}-{hash}.pack"));
        disk::rename(&temporary, &path)?;
        open_dir(directory, Links::Refuse)?.sync_all()?;
        Ok(path)
    }

    /// The loose files, by the stems of their names. Unfinished ones are not among them.
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
                files.names.push((name.to_owned(), metadata.len()));
                files.changed = files.changed.max(metadata.modified().ok());
            }
        }
        Ok(all)
    }

    /// True if the first file of a conversation was derived from the log of this store.
    fn is_ours(&self, stem: &str) -> bool {
        let extension = self.extensions.first().unwrap_or(&"");
        let mut header = [0; NAMED_BY];
        let opened = disk::open(&self.dir.join(stem).with_extension(extension));
        opened.is_ok_and(|mut file| file.read_exact(&mut header).is_ok() && is_of_store(&header, self.store))
    }
}
