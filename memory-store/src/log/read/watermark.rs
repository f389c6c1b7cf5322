//! The durable watermark: the end of the log on disk, published to every process in a few shared words.

use std::{io, path::Path};

use memory_core::{Hash, port::StoreError};

use crate::log::{
    failure::io_error,
    format::{
        Location,
        frame::{Fields, StoreId},
    },
    media::{Access, Media, Words},
};

pub(crate) const WATERMARK_FILE: &str = "HORIZON";
/// Beginning of the file: `MEMHORZ` and the format.
const MAGIC: u64 = u64::from_le_bytes(*b"MEMHORZ\x01");

/// Indices of the words. Words that are stored together are adjacent.
mod word {
    pub(crate) const MAGIC: usize = 0;
    /// The generation: even, or odd while segments are being replaced. The next word is the durable place.
    pub(crate) const GENERATION: usize = 1;
    /// The last writer. The next word is [`WRITING`].
    pub(crate) const WRITER: usize = 3;
    /// The present writer: not 0 while a commit group is being written, and after its writer died.
    pub(crate) const WRITING: usize = 4;
    /// Number of times that a process waited for the write lock.
    pub(crate) const WANTED: usize = 5;
    /// Two slots of generation, place and check, written in turn: while one is being written, the other is valid.
    pub(crate) const SLOTS: [usize; 2] = [8, 11];
}

/// Part of the log that is known to be on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Durable {
    /// Number that changes when segments are replaced.
    pub(crate) generation: u64,
    /// Location before which everything was synced.
    pub(crate) end: Location,
}

impl Durable {
    /// The place as one number that grows with the log.
    pub(crate) fn position(end: Location) -> u64 {
        u64::from(end.segment) << 32 | u64::from(end.offset)
    }

    /// The place that a position stands for.
    #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
    pub(crate) fn place(position: u64) -> Location {
        Location { segment: (position >> 32) as u32, offset: position as u32 }
    }
}

/// The store's file `HORIZON`.
///
/// The file is changed only under the write lock, except by [`Self::want`]. It is valid only on the file system and in
/// the run of the machine that it was written in: after a loss of power the frames themselves show which data was on
/// disk. So it is never synced, and may hold anything after a crash.
#[derive(Debug)]
pub(crate) struct Watermark {
    words: Box<dyn Words>,
    /// The seed of the check.
    seed: Hash,
}

impl Watermark {
    /// Opens the store's durable watermark. With [`Access::Read`], `None` when there is none.
    pub(crate) fn open(
        media: &dyn Media,
        store: &Path,
        id: StoreId,
        access: Access,
    ) -> Result<Option<Self>, StoreError> {
        let path = store.join(WATERMARK_FILE);
        let words = match media.words(&path, access) {
            Ok(words) => words,
            Err(error) if access == Access::Read && error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if access == Access::Read && error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(io_error("open", &path)(error)),
        };
        let seed = Hash::of_parts([id.as_slice(), words.identity().as_slice()]);
        Ok(Some(Self { words, seed }))
    }

    fn check(&self, generation: u64, position: u64) -> u64 {
        let sealed =
            Hash::of_parts([self.seed.as_bytes().as_slice(), &generation.to_le_bytes(), &position.to_le_bytes()]);
        Fields(sealed.as_bytes()).u64().unwrap_or_default()
    }

    fn load<const N: usize>(&self, first: usize) -> [u64; N] {
        let mut words = [0; N];
        self.words.load(first, &mut words);
        words
    }

    fn slot(&self, at: usize) -> Option<Durable> {
        let [generation, position, check] = self.load(at);
        if check != self.check(generation, position) {
            return None;
        }
        Some(Durable { generation, end: Durable::place(position) })
    }

    /// The published value, unless it is of another machine or another run of this one, or damaged.
    pub(crate) fn durable(&self) -> Option<Durable> {
        let [magic, generation, position] = self.load(word::MAGIC);
        if magic != MAGIC {
            return None;
        }
        let slots = word::SLOTS.into_iter().filter_map(|at| self.slot(at));
        let newest = slots.max_by_key(|durable| (durable.generation, durable.end))?;
        // A slot is written before the words that are peeked at. If the newest valid slot is older than these, the last
        // one published is damaged.
        ((newest.generation, Durable::position(newest.end)) >= (generation, position)).then_some(newest)
    }

    /// Generation and position, unchecked: enough to see that nothing has changed.
    pub(crate) fn peek(&self) -> (u64, u64) {
        let [generation, position] = self.load(word::GENERATION);
        (generation, position)
    }

    /// A generation that was never published.
    pub(crate) fn next_generation(&self) -> u64 {
        let known = self.durable().map_or_else(|| self.peek().0, |durable| durable.generation);
        known.wrapping_add(2) & !1
    }

    /// Publishes `durable` to all processes. The caller holds the write lock, and `durable` is on disk.
    pub(crate) fn publish(&self, durable: Durable) {
        let position = Durable::position(durable.end);
        let check = self.check(durable.generation, position);
        let [first, second] = word::SLOTS.map(|at| self.slot(at).map(|durable| (durable.generation, durable.end)));
        let [one, other] = word::SLOTS;
        let at = if first <= second { one } else { other };
        // A half-written slot fails its check, whatever it held before.
        self.words.store(at, &[durable.generation, position, check]);
        self.words.store(word::MAGIC, &[MAGIC, durable.generation, position]);
    }

    /// True if the file still has its name and length. If not, other processes share another file, or none.
    pub(crate) fn is_in_place(&self, media: &dyn Media, store: &Path) -> bool {
        self.words.is_at(media, &store.join(WATERMARK_FILE))
    }

    /// Records that `writer` begins to write.
    pub(crate) fn begin(&self, writer: u64) {
        self.words.store(word::WRITING, &[writer]);
    }

    /// Records that the data of `writer` is published, or gone.
    pub(crate) fn finish(&self, writer: u64) {
        self.words.store(word::WRITER, &[writer, 0]);
    }

    /// True if `writer` wrote last and finished, and no other process died while writing.
    pub(crate) fn is_as_left_by(&self, writer: u64) -> bool {
        self.load(word::WRITER) == [writer, 0]
    }

    /// True if a process is writing, or died while doing so.
    pub(crate) fn is_unfinished(&self) -> bool {
        self.load(word::WRITING) != [0]
    }

    /// Records that a process waits for the write lock.
    pub(crate) fn want(&self) {
        Self::want_at(&*self.words);
    }

    /// [`Self::want`] for only the words, without a known store. Two processes that begin at once may count as one,
    /// which affects only courtesy.
    pub(crate) fn want_at(words: &dyn Words) {
        let mut wanted = [0];
        words.load(word::WANTED, &mut wanted);
        let [wanted] = wanted;
        words.store(word::WANTED, &[wanted.wrapping_add(1)]);
    }

    /// Number that changes whenever a process begins to wait for the write lock.
    pub(crate) fn wanted(&self) -> u64 {
        let [wanted] = self.load(word::WANTED);
        wanted
    }
}
