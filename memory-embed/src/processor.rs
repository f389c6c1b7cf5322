//! The processor's multiplication of 8-bit integers.

use std::env::consts::ARCH;

/// The instructions that multiply 8-bit integers, such as `x86_64/avx2`.
pub(crate) fn int8_instructions() -> String {
    format!("{ARCH}/{}", instructions())
}

/// True if the sum of two products of 8-bit integers saturates at 16 bits (`vpmaddubsw`).
pub(crate) fn int8_sums_saturate() -> bool {
    saturate(instructions())
}

fn saturate(instructions: &str) -> bool {
    matches!(instructions, "avx512bw" | "avx2" | "sse")
}

#[cfg(target_arch = "x86_64")]
fn instructions() -> &'static str {
    if std::arch::is_x86_feature_detected!("avx512vnni") {
        "avx512vnni"
    } else if std::arch::is_x86_feature_detected!("avxvnni") {
        "avxvnni"
    } else if std::arch::is_x86_feature_detected!("avx512bw") {
        "avx512bw"
    } else if std::arch::is_x86_feature_detected!("avx2") {
        "avx2"
    } else {
        "sse"
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn instructions() -> &'static str {
    "baseline"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dot_product_instructions_do_not_saturate() {
        let saturating = ["avx512vnni", "avxvnni", "avx512bw", "avx2", "sse", "baseline"].map(saturate);
        assert_eq!(saturating, [false, false, true, true, true, false]);
    }
}
