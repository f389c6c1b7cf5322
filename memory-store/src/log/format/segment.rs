//! Segments: the numbered files of frames.

mod header;

use std::{
    io,
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use memory_core::port::StoreError;

pub(crate) use self::header::{MAGIC, SEGMENT_HEADER, SegmentHeader};
use super::{
    compressed::{CompressedSegment, LostBlocks},
    frame::{Place, StoreId},
};
use crate::log::{
    failure::io_error,
    keys::Keys,
    media::{Access, Map, Media, MediaFile, read_from, read_part},
};

/// An open segment, the only way to read the log. A sealed segment is mapped, the active one is read by position. A
/// compressed one is read as its image, at the same offsets.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    number: u32,
    path: Arc<Path>,
    file: Arc<dyn MediaFile>,
    /// The mapped file, once the segment is sealed, if files can be mapped.
    map: Option<Arc<Map>>,
    encoding: Encoding,
    /// Keys of its records.
    keys: Keys,
}

/// Encoding of a segment in its file.
#[derive(Clone, Debug)]
enum Encoding {
    Plain,
    Compressed(Arc<CompressedSegment>),
    /// Compressed, and so damaged that no block can be read, with the cause.
    Unreadable(Arc<str>),
}

impl Encoding {
    fn of(file: &dyn MediaFile, path: &Path) -> Self {
        match CompressedSegment::find(file) {
            Ok(None) => Self::Plain,
            Ok(Some(compressed)) => Self::Compressed(Arc::new(compressed)),
            Err(error) => {
                tracing::error!(%error, path = %path.display(), "a compressed segment cannot be read");
                Self::Unreadable(error.to_string().into())
            }
        }
    }
}

impl Segment {
    /// Opens a segment of the directory `log` for reading; a sealed one is mapped.
    pub(crate) fn open(
        media: &dyn Media,
        (log, keys): (&Path, &Keys),
        number: u32,
        sealed: bool,
    ) -> Result<Self, StoreError> {
        let path = segment_path(log, number);
        let file = media.open(&path, Access::Read).map_err(io_error("open", &path))?;
        let segment = Self::new(number, &path, file, keys);
        Ok(if sealed || segment.is_compressed() { segment.sealed() } else { segment })
    }

    pub(crate) fn new(number: u32, path: &Path, file: Box<dyn MediaFile>, keys: &Keys) -> Self {
        let encoding = Encoding::of(&*file, path);
        Self { number, path: path.into(), file: file.into(), map: None, encoding, keys: keys.clone() }
    }

    /// Keys of its records.
    pub(crate) fn keys(&self) -> &Keys {
        &self.keys
    }

    /// The same segment read-only, once nothing writes to its file or cuts it. The file is mapped if possible,
    /// otherwise read by position.
    pub(crate) fn sealed(self) -> Self {
        let map = self.file.map().unwrap_or_else(|error| {
            tracing::debug!(%error, path = %self.path.display(), "a sealed segment is not mapped");
            None
        });
        Self { map: map.map(Arc::new), ..self }
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn file(&self) -> &dyn MediaFile {
        &*self.file
    }

    /// Checks that the file still has its name. Without a name it would vanish with this opening.
    pub(crate) fn check_place(&self) -> io::Result<()> {
        if self.file.is_at(&self.path) {
            return Ok(());
        }
        let why = "it was deleted or replaced while it was open, and what was written to it is lost";
        Err(io::Error::new(io::ErrorKind::NotFound, why))
    }

    /// True if the file is a compressed segment, which is never written to and never torn.
    pub(crate) fn is_compressed(&self) -> bool {
        !matches!(self.encoding, Encoding::Plain)
    }

    /// The place of a frame in this segment.
    pub(crate) fn place(&self, store: StoreId, offset: u32) -> Place {
        Place { store, segment: self.number, offset }
    }

    /// The whole contents without a copy, if the segment is mapped and not compressed.
    pub(crate) fn mapped(&self) -> Option<&[u8]> {
        self.map.as_deref().filter(|_| !self.is_compressed()).map(|map| &**map)
    }

    /// `length` bytes from `offset`, fewer only at the end of the segment: borrowed from the map, or else read into
    /// `scratch`, whose contents are lost.
    pub(crate) fn bytes<'a>(&'a self, offset: u32, length: usize, scratch: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        if let Some(map) = self.mapped() {
            let rest = map.get(offset as usize..).unwrap_or_default();
            return Ok(rest.get(..length).unwrap_or(rest));
        }
        scratch.resize(self.at_most(offset, length)?, 0);
        let read = match (&self.encoding, self.map.as_deref()) {
            (Encoding::Plain, _) => self.file.read_at(scratch, u64::from(offset))?,
            (Encoding::Compressed(compressed), Some(map)) => compressed.read_at(&**map, offset, scratch)?,
            (Encoding::Compressed(compressed), None) => compressed.read_at(&*self.file, offset, scratch)?,
            (Encoding::Unreadable(why), _) => return Err(io::Error::new(io::ErrorKind::InvalidData, &**why)),
        };
        scratch.truncate(read);
        Ok(scratch)
    }

    /// At most `most` bytes from `offset` on, by plain reads as in [`Self::image_from`].
    pub(crate) fn image_part(&self, offset: u32, most: u32) -> io::Result<Vec<u8>> {
        if matches!(self.encoding, Encoding::Plain) {
            return read_part(&*self.file, u64::from(offset), u64::from(most));
        }
        let mut image = self.image_from(offset)?;
        image.truncate(most as usize);
        Ok(image)
    }

    /// `length`, limited to the bytes after `offset`, because a damaged length may have any value.
    fn at_most(&self, offset: u32, length: usize) -> io::Result<usize> {
        const WORTH_ASKING: usize = 1 << 20;
        if length <= WORTH_ASKING {
            return Ok(length);
        }
        let end = match &self.encoding {
            Encoding::Plain => self.file.size()?,
            Encoding::Compressed(compressed) => u64::from(compressed.len()),
            Encoding::Unreadable(_) => 0,
        };
        let left = end.saturating_sub(u64::from(offset));
        Ok(usize::try_from(left).map_or(length, |left| left.min(length)))
    }

    /// All bytes from `offset` on, by plain reads: an unreadable sector is an error, not a signal as in a map. Lost
    /// parts of a compressed segment read as zeros.
    pub(crate) fn image_from(&self, offset: u32) -> io::Result<Vec<u8>> {
        match &self.encoding {
            Encoding::Plain => read_from(&*self.file, u64::from(offset)),
            Encoding::Compressed(compressed) => {
                let (mut image, lost) = compressed.image(&*self.file);
                for LostBlocks { range, why } in lost {
                    tracing::error!(path = %self.path.display(), ?range, why, "a part of a compressed segment is lost");
                }
                Ok(image.split_off(image.len().min(offset as usize)))
            }
            Encoding::Unreadable(_) => Ok(Vec::new()),
        }
    }

    /// Damaged places of the file that have an intact copy there, with their faults. Nothing of the image is lost.
    pub(crate) fn damaged_copies(&self) -> Vec<(Range<u32>, String)> {
        let Encoding::Compressed(compressed) = &self.encoding else { return Vec::new() };
        let told = |(place, what): (Range<u32>, &str)| {
            let why = format!(
                "one of the two copies of the {what} of this compressed file is damaged (bytes {} to {} of the file): \
                 nothing is lost while the other is whole; `memory vacuum --expand` and `--compress` write the file anew",
                place.start, place.end
            );
            (place, why)
        };
        compressed.damaged_copies(&*self.file).into_iter().map(told).collect()
    }

    /// The whole image, by plain reads.
    pub(crate) fn image(&self) -> io::Result<Vec<u8>> {
        self.image_from(0)
    }
}

/// `0001.seg` for segment 1; longer numbers take more digits.
pub(crate) fn segment_name(number: u32) -> String {
    format!("{number:04}.seg")
}

/// The path of segment `number` in the directory `log`.
pub(crate) fn segment_path(log: &Path, number: u32) -> PathBuf {
    log.join(segment_name(number))
}

/// The number in a segment's file name; `None` for any other file.
pub(crate) fn segment_number(name: &str) -> Option<u32> {
    let number = name.strip_suffix(".seg")?.parse().ok()?;
    (number > 0 && segment_name(number) == name).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{
        format::compressed::{CompressionOptions, compress_segment},
        media::Disk,
    };

    #[test]
    fn a_sealed_segment_gives_the_bytes_that_the_open_one_gave() {
        let dir = tempfile::tempdir().unwrap();
        let path = segment_path(dir.path(), 1);
        let bytes: Vec<u8> = (0..10_000_u32).flat_map(u32::to_le_bytes).collect();
        std::fs::write(&path, &bytes).unwrap();
        let open = Segment::new(1, &path, Disk.open(&path, Access::Read).unwrap(), &Keys::default());
        let sealed = open.clone().sealed();
        assert_eq!((open.mapped(), sealed.mapped()), (None, Some(&*bytes)));
        for (offset, length) in [(0, 40_000), (0, 8), (39_990, 10), (39_990, 11), (40_000, 1), (50_000, 1)] {
            let (mut scratch, mut unused) = (Vec::new(), Vec::new());
            let should = bytes.get(offset..).unwrap_or_default();
            let should = &should[..length.min(should.len())];
            let offset = u32::try_from(offset).unwrap();
            assert_eq!(open.bytes(offset, length, &mut scratch).unwrap(), should);
            assert_eq!(sealed.bytes(offset, length, &mut unused).unwrap(), should);
            assert_eq!(unused.capacity(), 0, "what is mapped is borrowed");
        }
        assert_eq!((open.image().unwrap(), sealed.image().unwrap()), (bytes.clone(), bytes));
    }

    #[test]
    fn a_compressed_segment_gives_the_bytes_that_it_was_made_of() {
        let dir = tempfile::tempdir().unwrap();
        let path = segment_path(dir.path(), 2);
        let header = SegmentHeader {
            store: [5; 16],
            number: 2,
            previous_end: 4_000,
            first_lsn: 31,
            end: Some(7_000),
            rewritten: 3,
        };
        let image = [header.encode(), (0..9_000_u32).flat_map(u32::to_le_bytes).collect()].concat();
        let mut file = compress_segment(&image, &CompressionOptions::default()).unwrap();
        let open = |file: &[u8]| {
            std::fs::write(&path, file).unwrap();
            Segment::new(2, &path, Disk.open(&path, Access::Read).unwrap(), &Keys::default())
        };
        for segment in [open(&file), open(&file).sealed()] {
            assert!(segment.is_compressed());
            assert_eq!((segment.mapped(), segment.image().unwrap()), (None, image.clone()));
            for (offset, length) in [(0, 40_000), (0, 8), (4_000, 500), (36_060, 10), (36_064, 1), (50_000, 1)] {
                let should = image.get(offset..).unwrap_or_default();
                let should = &should[..length.min(should.len())];
                let mut scratch = vec![7; 3];
                assert_eq!(segment.bytes(u32::try_from(offset).unwrap(), length, &mut scratch).unwrap(), should);
            }
        }
        // The magic in front is gone; the one at the end still identifies the file.
        file[..8].fill(0);
        assert_eq!(open(&file).image().unwrap(), image);
        // Both copies of the header are damaged; the magic still shows that this is not a plain segment.
        let end = file.len() - 64;
        file[..8].copy_from_slice(b"MEMSEGZ\n");
        file[20] ^= 1;
        file[end + 20] ^= 1;
        let segment = open(&file);
        assert!(segment.is_compressed());
        assert_eq!(segment.bytes(64, 8, &mut Vec::new()).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert!(segment.image().unwrap().is_empty());
    }

    #[test]
    fn a_name_gives_the_number_and_nothing_else_does() {
        for number in [1, 42, 9_999, 10_000] {
            assert_eq!(segment_number(&segment_name(number)), Some(number));
        }
        for other in ["0000.seg", "1.seg", "0001.tmp", "00001.seg", "+001.seg", ".seg"] {
            assert_eq!(segment_number(other), None, "{other}");
        }
    }
}
