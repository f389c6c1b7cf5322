//! Tests of whole stores, on a failing disk and with changed files.

mod backup;
mod backup_keys;
mod checkpoint;
mod checkpoint_of_before;
mod concurrent;
mod damage;
mod disabling;
mod encryption;
mod erasure;
mod faults;
mod forks;
mod handover;
mod owners;
mod random_wrecks;
mod rekeying;
mod salvage;
mod sample;
mod vacuum;
mod views;
mod wreck;
mod wrecked_at_random;

use super::format::{
    frame::{FRAME_HEADER, FrameHeader, Payload, Place, StoreId, finish_record, records},
    segment::SEGMENT_HEADER,
};

/// Replaces bytes in the records of the first segment, and makes every checksum right again.
fn forge(segment: &mut Vec<u8>, store: StoreId, from: &[u8], to: &[u8]) {
    let mut out = segment[..SEGMENT_HEADER as usize].to_vec();
    while out.len() < segment.len() {
        let place = Place { store, segment: 1, offset: u32::try_from(out.len()).unwrap() };
        let (header, content) = FrameHeader::parse(&segment[out.len()..], &place).unwrap();
        let mut payload = Payload::default();
        for record in records(content) {
            let mut record = segment[out.len()..][record.unwrap().0].to_vec();
            if let Some(at) = record.windows(from.len()).position(|window| window == from) {
                record[at..at + to.len()].copy_from_slice(to);
            }
            finish_record(&mut record).unwrap();
            payload.push(&record);
        }
        assert_eq!(payload.frame_bytes(), FRAME_HEADER + content.len());
        payload.finish(&header, &place, &mut out);
    }
    *segment = out;
}
