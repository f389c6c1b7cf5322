//! Corrected checksums, so that a fuzzer's bytes reach the code behind the checks.

use crate::{
    checksum,
    log::format::{
        frame::{FRAME_HEADER, FrameHeader, RECORD_HEADER, StoreId},
        segment::{MAGIC, SEGMENT_HEADER},
    },
};

/// Bytes of the header of a compressed segment.
const COMPRESSED_HEADER: usize = 64;

fn put<const N: usize>(bytes: &mut [u8], at: usize, value: [u8; N]) -> Option<()> {
    *bytes.get_mut(at..)?.first_chunk_mut()? = value;
    Some(())
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?) as usize)
}

/// Writes the checksum of `range` to the four bytes at `at`.
fn seal(bytes: &mut [u8], range: std::ops::Range<usize>, at: usize) -> Option<()> {
    let crc = checksum::crc32c(bytes.get(range)?);
    put(bytes, at, crc.to_le_bytes())
}

/// Corrects a segment, plain or compressed, of this store and number.
pub(crate) fn segment(bytes: &mut [u8], store: StoreId, segment: u32) {
    let known = bytes.starts_with(b"MEMSEG");
    if !known {
        return;
    }
    // A field that does not fit into the bytes stays unchanged.
    let _: Option<()> = (|| {
        put(bytes, 12, segment.to_le_bytes())?;
        put(bytes, 16, store)
    })();
    if bytes.starts_with(&MAGIC) {
        let _: Option<()> = seal(bytes, 0..60, 60);
        frames(bytes, store, segment);
    } else {
        compressed(bytes);
    }
}

/// Corrects every frame that begins where the one before ends, or with the magic somewhere after.
fn frames(bytes: &mut [u8], store: StoreId, segment: u32) {
    let mut at = SEGMENT_HEADER as usize;
    while let Some(found) = FrameHeader::next_magic(bytes, at) {
        at = found + frame(bytes, found, store, segment).unwrap_or(1);
    }
}

/// Corrects the frame at `at`; returns its length.
fn frame(bytes: &mut [u8], at: usize, store: StoreId, segment: u32) -> Option<usize> {
    let payload = number(bytes, at + 36)?;
    let (start, end) = (at + FRAME_HEADER, at + FRAME_HEADER + payload);
    if bytes.get(start..end).is_some() {
        records(bytes.get_mut(start..end)?);
        seal(bytes, start..end, at + 40 + 4)?;
    }
    let place = [store.as_slice(), &segment.to_le_bytes(), &u32::try_from(at).ok()?.to_le_bytes()].concat();
    let crc = checksum::crc32c_append(checksum::crc32c(&place), bytes.get(at..at + FRAME_HEADER - 4)?);
    put(bytes, at + FRAME_HEADER - 4, crc.to_le_bytes())?;
    bytes.get(start..end).map(|_| end - at)
}

/// Corrects every record whose length fits.
fn records(payload: &mut [u8]) {
    let mut at = 0;
    while let Some(length) = number(payload, at) {
        let (body, end) = (at + RECORD_HEADER, at + RECORD_HEADER + length);
        let Some(content) = payload.get(body..end) else { return };
        let crc = checksum::crc32c(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
        let crc = checksum::crc32c_append(crc, content);
        let _: Option<()> = put(payload, at + 4, crc.to_le_bytes());
        at = end;
    }
}

/// Corrects a compressed segment, by its header in front: each block, dictionary, table and header.
pub(super) fn compressed(bytes: &mut [u8]) {
    let _: Option<()> = (|| {
        let (image, block) = (number(bytes, 32)?, number(bytes, 36)?);
        let dictionary = number(bytes, 40)?;
        let blocks = image.checked_div(block)? + usize::from(!image.is_multiple_of(block));
        let table = COMPRESSED_HEADER + dictionary;
        let last = number(bytes, 52)?.checked_sub(table + 8 * blocks)?;
        for entry in (0..blocks).map(|index| table + 8 * index) {
            let start = number(bytes, entry)?;
            let end = if entry + 8 < table + 8 * blocks { number(bytes, entry + 8)? } else { last };
            if start <= end && end <= bytes.len() {
                seal(bytes, start..end, entry + 4)?;
            }
        }
        if dictionary > 0 {
            seal(bytes, COMPRESSED_HEADER..table, 44)?;
        }
        seal(bytes, table..table + 8 * blocks, 48)
    })();
    let _: Option<()> = seal(bytes, 0..60, 60);
}

/// Corrects a checkpoint of this store.
pub(super) fn checkpoint(bytes: &mut [u8], store: StoreId) {
    let _: Option<()> = put(bytes, 12, store);
    if let Some(end) = bytes.len().checked_sub(4) {
        let _: Option<()> = seal(bytes, 0..end, end);
    }
}
