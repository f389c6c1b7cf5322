//! CRC-32C (Castagnoli, RFC 3720), used in every format of this crate.

use crc_fast::{CrcAlgorithm, Digest};

/// The checksum of some bytes.
#[inline]
pub(crate) fn crc32c(bytes: &[u8]) -> u32 {
    crc_fast::crc32_iscsi(bytes)
}

/// The checksum of the bytes that `crc` is the checksum of, followed by `bytes`.
#[inline]
pub(crate) fn crc32c_append(crc: u32, bytes: &[u8]) -> u32 {
    // The algorithm's running state is the checksum with all its bits flipped.
    let mut digest = Digest::new_with_init_state(CrcAlgorithm::Crc32Iscsi, u64::from(!crc));
    digest.update(bytes);
    #[expect(clippy::cast_possible_truncation, reason = "32 bits of a checksum in 64")]
    let crc = digest.finalize() as u32;
    crc
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_check_value_is_that_of_the_catalogue() {
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
        assert_eq!(crc32c(b""), 0);
    }

    #[test]
    fn all_lengths_give_what_another_implementation_gives() {
        let bytes: Vec<u8> = (0..2_500u32).map(|at| at.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
        for length in 0..bytes.len() {
            // Ends at every distance from a word's, whatever the beginning.
            let bytes = &bytes[bytes.len() - length..];
            assert_eq!(crc32c(bytes), ::crc32c::crc32c(bytes), "{length} bytes");
        }
    }

    proptest! {
        #[test]
        fn parts_add_up(bytes in prop::collection::vec(any::<u8>(), 0..5_000), cut in 0usize..5_000) {
            let (front, back) = bytes.split_at(cut.min(bytes.len()));
            prop_assert_eq!(crc32c_append(crc32c(front), back), ::crc32c::crc32c(&bytes));
        }
    }
}
