//! Contents that a compressed segment gives back, and the cost of damage to it.

mod store;

use std::{
    fs, io,
    ops::Range,
    path::Path,
    sync::{Mutex, OnceLock},
    thread,
};

use memory_core::{ConversationId, Message, NodeDraft, Timestamp, port::Store};
use proptest::{collection::vec, prelude::*, sample::Index};

use super::{
    header::{HEADER, Header, MAX_BLOCK, MAX_IMAGE, MIN_BLOCK},
    *,
};
use crate::{
    LogStore,
    log::format::{
        scan::{Found, Scan},
        segment::{SEGMENT_HEADER, SegmentHeader, segment_path},
    },
};

/// Small blocks, so that there are many.
fn options() -> CompressionOptions {
    CompressionOptions::default().level(3).block_bytes(MIN_BLOCK)
}

fn segment_header() -> Vec<u8> {
    static HEADER: OnceLock<Vec<u8>> = OnceLock::new();
    HEADER.get_or_init(|| logged(40)[..SEGMENT_HEADER as usize].to_vec()).clone()
}

/// A sealed segment of a real log, with `messages` in it.
fn logged(messages: u64) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let talk = ConversationId::new("talk").unwrap();
    let words = ["the ferry", "a ladder", "leaves", "at nine", "our budget", "without", "a warning", "twice"];
    let draft = |number: u64| {
        let mut random = fastrand(number);
        let text: String = (0..30).map(|_| format!("{} ", words[random() % words.len()])).collect();
        NodeDraft::new(Message::user(format!("{number}: {text}")), Timestamp::from_millis(1_000), 9)
    };
    let store = LogStore::open(directory.path()).unwrap();
    for first in (0..messages).step_by(100) {
        let drafts = (first..messages.min(first + 100)).map(draft).collect();
        pollster::block_on(store.append(&talk, drafts)).unwrap();
    }
    pollster::block_on(store.seal()).unwrap();
    let log = directory.path().join("log");
    assert!(segment_path(&log, 2).exists());
    fs::read(segment_path(&log, 1)).unwrap()
}

/// Numbers that look random and are the same every time.
fn fastrand(seed: u64) -> impl FnMut() -> usize {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap()
    }
}

/// A header and, after it, runs of text and of noise.
fn any_image() -> impl Strategy<Value = Vec<u8>> {
    let run = prop_oneof![
        vec(any::<u8>(), 0..3_000),
        ("[a-e ]{1,9}", 0..400_usize).prop_map(|(text, times)| text.repeat(times).into_bytes()),
        (0..5_000_usize).prop_map(|zeros| vec![0; zeros]),
    ];
    vec(run, 0..5).prop_map(|runs| [vec![segment_header()], runs].concat().concat())
}

/// Reading gives the image, except for the ranges reported as lost, which are zeros in `image` and errors in `read_at`.
fn check_honest(image: &[u8], file: &[u8], compressed: &CompressedSegment) -> Vec<Range<u32>> {
    let (read, lost) = compressed.image(file);
    let lost: Vec<_> = lost.into_iter().map(|lost| lost.range).collect();
    assert_eq!(read.len(), image.len());
    for (at, (read, was)) in (0..).zip(read.iter().zip(image)) {
        let is_lost = lost.iter().any(|range| range.contains(&at));
        assert_eq!(*read, if is_lost { 0 } else { *was }, "byte {at}");
    }
    for start in (0..compressed.len()).step_by(700) {
        let mut buffer = [0; 300];
        let read = compressed.read_at(file, start, &mut buffer);
        let end = compressed.len().min(start + 300);
        match read {
            Ok(read) => assert_eq!(&buffer[..read], &image[start as usize..end as usize]),
            Err(error) => {
                assert_eq!(error.kind(), io::ErrorKind::InvalidData);
                assert!(
                    lost.iter().any(|range| range.start < end && start < range.end),
                    "bytes from {start} were good"
                );
            }
        }
    }
    lost
}

#[test]
fn a_segment_of_a_log_comes_back_and_its_frames_are_where_they_were() {
    let image = logged(2_000);
    let file = compress_segment(&image, &CompressionOptions::default()).unwrap();
    assert!(file.len() * 2 < image.len(), "{} of {}", file.len(), image.len());
    let compressed = CompressedSegment::open(file.as_slice()).unwrap();
    assert!(compressed.dictionary_bytes() > 0);
    assert_eq!(compressed.image(file.as_slice()), (image.clone(), vec![]));
    let found: Vec<_> = Scan::new(&image, compressed.store(), compressed.number(), true).collect();
    assert!(found.len() >= 20 && found.iter().all(|found| matches!(found, Found::Frame { .. })));
}

#[test]
fn a_dictionary_that_does_not_pay_is_left_out() {
    // 40 messages are too few for any dictionary.
    let image = logged(40);
    let file = compress_segment(&image, &options().dictionary_bytes(64 << 10)).unwrap();
    assert_eq!(CompressedSegment::open(file.as_slice()).unwrap().dictionary_bytes(), 0);
    // In blocks of 1 MiB everything occurred before.
    let image = logged(2_000);
    let file = compress_segment(&image, &CompressionOptions::default().block_bytes(MAX_BLOCK)).unwrap();
    assert_eq!(CompressedSegment::open(file.as_slice()).unwrap().dictionary_bytes(), 0);
}

#[test]
fn what_does_not_shrink_is_stored_as_it_is() {
    let mut noise = fastrand(4);
    let noise: Vec<u8> = (0..50_000).map(|_| u8::try_from(noise() & 0xff).unwrap()).collect();
    let image = [segment_header(), noise].concat();
    let file = compress_segment(&image, &options()).unwrap();
    let compressed = CompressedSegment::open(file.as_slice()).unwrap();
    let blocks = image.len().div_ceil(MIN_BLOCK as usize);
    assert!(file.len() <= image.len() + 2 * (HEADER as usize + 8 * blocks));
    assert_eq!(compressed.image(file.as_slice()).0, image);
}

#[test]
fn only_the_image_of_a_segment_is_compressed() {
    assert!(matches!(compress_segment(b"", &options()), Err(CompressionError::NoSegment(_))));
    let mut image = logged(40);
    image[20] ^= 1;
    assert!(matches!(compress_segment(&image, &options()), Err(CompressionError::NoSegment(_))));
    let compressed = compress_segment(&logged(40), &options()).unwrap();
    assert!(matches!(compress_segment(&compressed, &options()), Err(CompressionError::NoSegment(_))));
}

#[test]
fn one_flipped_bit_costs_at_most_one_block() {
    let image = logged(300);
    let file = compress_segment(&image, &options()).unwrap();
    let header = Header::parse(&file).unwrap();
    assert!(header.dictionary > 0, "there is a dictionary to damage");
    let blocks = header.first_block() as usize..header.blocks_end() as usize;
    // Every byte before and after the blocks, and many bytes of the blocks.
    for byte in (0..file.len()).filter(|byte| !blocks.contains(byte) || byte % 7 == 0) {
        let mut hurt = file.clone();
        hurt[byte] ^= 1 << (byte % 8);
        let compressed = CompressedSegment::open(hurt.as_slice()).unwrap();
        let lost = compressed.image(hurt.as_slice()).1;
        if blocks.contains(&byte) {
            assert_eq!(lost.len(), 1, "byte {byte}");
            assert!(lost[0].range.len() <= MIN_BLOCK as usize);
        } else {
            assert_eq!(lost, [], "byte {byte} stands twice");
        }
        if byte % 97 == 0 {
            check_honest(&image, &hurt, &compressed);
        }
    }
}

#[test]
fn a_file_that_was_cut_gives_back_what_stands_before_the_cut() {
    let image = logged(300);
    let file = compress_segment(&image, &options()).unwrap();
    let header = Header::parse(&file).unwrap();
    for length in (0..file.len()).step_by(61) {
        let cut = &file[..length];
        match CompressedSegment::open(cut) {
            Ok(compressed) => {
                let lost = check_honest(&image, cut, &compressed);
                assert_eq!(lost.is_empty(), length >= header.blocks_end() as usize);
            }
            Err(error) => {
                assert!(length < header.first_block() as usize);
                assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            }
        }
    }
    // The header, dictionary and table at the front are lost; the copies at the end still work.
    let mut hurt = file;
    hurt[..header.first_block() as usize].fill(0);
    let compressed = CompressedSegment::open(hurt.as_slice()).unwrap();
    assert_eq!(check_honest(&image, &hurt, &compressed), []);
}

#[test]
fn blocks_of_another_segment_are_not_taken_for_its_own() {
    let (image, other) = (logged(100), logged(100));
    let options = options().dictionary_bytes(0);
    let (file, other) = (compress_segment(&image, &options).unwrap(), compress_segment(&other, &options).unwrap());
    let header = Header::parse(&file).unwrap();
    let (first, end) = (header.first_block() as usize, header.blocks_end() as usize);
    let mut mixed = file;
    let end = end.min(other.len());
    mixed[first..end].copy_from_slice(&other[first..end]);
    let compressed = CompressedSegment::open(mixed.as_slice()).unwrap();
    let lost = check_honest(&image, &mixed, &compressed);
    assert_eq!(lost.first().map(|lost| lost.start), Some(0));
}

#[test]
fn readers_of_one_segment_do_not_disturb_each_other() {
    let image = logged(500);
    let file = compress_segment(&image, &options()).unwrap();
    let compressed = CompressedSegment::open(file.as_slice()).unwrap();
    thread::scope(|scope| {
        for reader in 0..4 {
            let (image, file, compressed) = (&image, &file, &compressed);
            scope.spawn(move || {
                let mut random = fastrand(reader + 1);
                for _ in 0..2_000 {
                    let start = random() % image.len();
                    let mut buffer = vec![0; random() % 3_000];
                    let read = compressed.read_at(file.as_slice(), u32::try_from(start).unwrap(), &mut buffer).unwrap();
                    assert_eq!(read, buffer.len().min(image.len() - start));
                    assert_eq!(buffer[..read], image[start..start + read]);
                }
            });
        }
    });
}

/// A file that remembers the longest read that was asked of it, since each has a buffer after it.
struct Watched<'f> {
    bytes: &'f [u8],
    longest: Mutex<usize>,
}

impl ReadAt for Watched<'_> {
    fn size(&self) -> io::Result<u64> {
        self.bytes.size()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut longest = self.longest.lock().unwrap();
        *longest = buffer.len().max(*longest);
        self.bytes.read_at(buffer, offset)
    }
}

#[test]
fn lengths_in_a_header_claim_no_more_memory_than_a_table_of_the_longest_segment() {
    let good = Header::parse(&compress_segment(&logged(100), &options()).unwrap()).unwrap();
    let longest = [0, 1, 63, MIN_BLOCK, MAX_IMAGE, MAX_IMAGE + 1, u32::MAX - 1, u32::MAX];
    for image in longest {
        for block in [0, 1, 3, MIN_BLOCK, MAX_BLOCK, 1 << 31, u32::MAX] {
            for dictionary in longest {
                for file in longest {
                    let bytes = Header { image, block, dictionary, file, ..good }.encode();
                    let watched = Watched { bytes: &bytes, longest: Mutex::default() };
                    assert!(CompressedSegment::open(&watched).is_err());
                    assert!(watched.longest.into_inner().unwrap() <= (MAX_IMAGE / MIN_BLOCK + 1) as usize * 8);
                }
            }
        }
    }
}

/// A file written once, with zstd 1.5.7. Whatever later versions write, they read it.
#[test]
fn a_compressed_segment_of_format_1_is_read_for_ever() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/compressed-1");
    if let Some(golden) = std::env::var_os("MEMORY_GOLDEN") {
        let image = logged(400);
        fs::create_dir_all(&golden).unwrap();
        fs::write(Path::new(&golden).join("0001.seg"), compress_segment(&image, &options()).unwrap()).unwrap();
        fs::write(Path::new(&golden).join("image.blake3"), memory_core::Hash::of_parts([image.as_slice()]).to_string())
            .unwrap();
    }
    let file = fs::read(path.join("0001.seg")).unwrap();
    let compressed = CompressedSegment::find(file.as_slice()).unwrap().unwrap();
    assert!(compressed.dictionary_bytes() > 0);
    let (image, lost) = compressed.image(file.as_slice());
    assert_eq!(lost, []);
    let hash = memory_core::Hash::of_parts([image.as_slice()]).to_string();
    assert_eq!(hash, fs::read_to_string(path.join("image.blake3")).unwrap());
    assert_eq!(SegmentHeader::parse(&image).unwrap().number, compressed.number());
}

proptest! {
    #[test]
    fn any_image_comes_back(image in any_image(), block in 10..16_u32, level in 1..10, at in any::<Index>()) {
        let options = CompressionOptions::default().level(level).block_bytes(1 << block);
        let file = compress_segment(&image, &options).unwrap();
        let compressed = CompressedSegment::open(file.as_slice()).unwrap();
        prop_assert_eq!(compressed.len() as usize, image.len());
        let at = at.index(image.len());
        let mut rest = vec![1; image.len() + 9];
        let read = compressed.read_at(file.as_slice(), u32::try_from(at).unwrap(), &mut rest).unwrap();
        prop_assert_eq!(&rest[..read], &image[at..]);
        prop_assert_eq!(compressed.read_at(file.as_slice(), compressed.len(), &mut rest).unwrap(), 0);
        prop_assert_eq!(compressed.read_at(file.as_slice(), u32::MAX, &mut rest).unwrap(), 0);
        prop_assert_eq!(compressed.image(file.as_slice()), (image, vec![]));
    }

    #[test]
    fn garbage_is_an_error_or_lost_and_never_wrong(
        image in any_image(),
        damage in vec((any::<Index>(), vec(any::<u8>(), 1..200)), 1..4),
        cut in proptest::option::of(any::<Index>()),
    ) {
        let mut file = compress_segment(&image, &options()).unwrap();
        for (at, bytes) in damage {
            let at = at.index(file.len());
            for (to, from) in file[at..].iter_mut().zip(bytes) {
                *to = from;
            }
        }
        if let Some(cut) = cut {
            file.truncate(cut.index(file.len()));
        }
        if let Ok(compressed) = CompressedSegment::open(file.as_slice()) {
            check_honest(&image, &file, &compressed);
        }
    }

    /// Forging all checksums gives wrong bytes and errors, and nothing worse.
    #[test]
    fn forged_files_do_no_harm(
        dictionary in vec(any::<u8>(), 0..300),
        stored in vec(prop_oneof![vec(any::<u8>(), 0..1_100), Just(zstd::bulk::compress(&[7; 900], 3).unwrap())], 1..6),
        short in 0..1_024_u32,
    ) {
        let (mut table, mut blocks) = (Vec::new(), Vec::new());
        let count = u32::try_from(stored.len()).unwrap();
        let image = (count * MIN_BLOCK - short).max(64);
        let mut header = Header {
            image,
            dictionary: u32::try_from(dictionary.len()).unwrap(),
            dictionary_crc: crc32c::crc32c(&dictionary),
            ..Header::parse(&compress_segment(&segment_header(), &options()).unwrap()).unwrap()
        };
        for block in &stored {
            let offset = header.first_block() + u32::try_from(blocks.len()).unwrap();
            table.extend([offset, crc32c::crc32c(block)].into_iter().flat_map(u32::to_le_bytes));
            blocks.extend_from_slice(block);
        }
        header.table_crc = crc32c::crc32c(&table);
        header.file = 2 * header.first_block() + u32::try_from(blocks.len()).unwrap();
        let file = [header.encode(), dictionary.clone(), table.clone(), blocks, dictionary, table, header.encode()];
        let file = file.concat();
        if let Ok(compressed) = CompressedSegment::open(file.as_slice()) {
            let (read, lost) = compressed.image(file.as_slice());
            prop_assert_eq!(read.len(), image as usize);
            prop_assert!(lost.iter().all(|lost| lost.range.end <= image));
        }
    }
}
