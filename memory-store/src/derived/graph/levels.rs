//! Layers of a node, as a function of its number and the seed.

/// Highest layer of `node`. Each layer has a `degree`-th of the nodes of the layer below.
///
/// Line 4 of algorithm 1, with a hash instead of a random number, so that the same nodes always get the same layers
/// without any state. Integer arithmetic avoids rounding differences between platforms.
pub(super) fn level(seed: u64, node: u32, degree: usize) -> usize {
    let (hash, degree) = (mix(seed ^ mix(u64::from(node))), (degree as u64).max(2));
    let mut share = u64::MAX / degree;
    let mut level = 0;
    while hash < share {
        level += 1;
        share /= degree;
    }
    level
}

/// Difference between two states of SplitMix64.
pub(in crate::derived) const MIX_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finalizer of SplitMix64 (Steele, Lea and Flood, 2014) after its increment: every output bit depends on every
/// input bit.
pub(in crate::derived) const fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(MIX_STEP);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_layer_has_a_share_of_the_one_below() {
        const NODES: u32 = 200_000;
        for degree in [8, 16, 32] {
            let mut counts = [0u32; 3];
            for node in 0..NODES {
                let level = level(7, node, degree);
                counts.iter_mut().take(level + 1).for_each(|count| *count += 1);
            }
            for pair in counts.windows(2) {
                let share = f64::from(pair[1]) / f64::from(pair[0]);
                assert!((share * degree as f64 - 1.0).abs() < 0.25, "{counts:?} of degree {degree}");
            }
        }
    }

    #[test]
    fn a_seed_says_all() {
        let levels = |seed| (0..1000).map(|node| level(seed, node, 16)).collect::<Vec<_>>();
        assert_eq!(levels(1), levels(1));
        assert_ne!(levels(1), levels(2));
    }
}
