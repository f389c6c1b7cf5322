//! The dictionary of a compressed segment, trained on the records in it.

use crate::log::format::{
    frame::{StoreId, records},
    scan::{Found, Scan},
};

/// Bytes of samples, as a multiple of the dictionary's length; zstd advises a hundred.
const SAMPLES: usize = 100;
/// Most bytes of samples, since the time that training takes grows with them.
const MAX_SAMPLES: usize = 8 << 20;
/// Most bytes of one record.
const MAX_SAMPLE: usize = 16 << 10;
/// The shortest dictionary that is worth its cost, and the shortest that zstd makes.
const MIN_DICTIONARY: usize = 1 << 10;
/// Maximum dictionary as a fraction of the image; the file holds two copies.
const IMAGE_PART: usize = 64;

/// A dictionary of at most `bytes` bytes for a segment; `None` when there are too few samples.
pub(super) fn train(image: &[u8], store: StoreId, number: u32, bytes: usize) -> Option<Vec<u8>> {
    let bytes = bytes.min(image.len() / IMAGE_PART);
    if bytes < MIN_DICTIONARY {
        return None;
    }
    let wanted = bytes.saturating_mul(SAMPLES).min(MAX_SAMPLES);
    let (mut seen, mut samples, mut lengths) = (0, Vec::new(), Vec::new());
    for found in Scan::new(image, store, number, true) {
        let Found::Frame { payload, .. } = found else { continue };
        for (_, body) in records(payload).flatten() {
            // Samples are taken evenly: the share taken so far is the share of the image passed so far.
            let due = samples.len() as u128 * image.len() as u128 <= wanted as u128 * seen as u128;
            seen += body.len();
            if due {
                let sample = body.get(..MAX_SAMPLE).unwrap_or(body);
                samples.extend_from_slice(sample);
                lengths.push(sample.len());
            }
        }
    }
    // Few or equal samples are an error to zstd; the segment then has no dictionary.
    zstd::dict::from_continuous(&samples, &lengths, bytes).ok()
}
