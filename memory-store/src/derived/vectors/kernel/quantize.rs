//! Quantization of components to codes of one byte.

/// Adding this to a number below 2²² leaves the rounded number in the low bits of the sum: to nearest, ties to even.
const ROUNDING: f32 = 12_582_912.0;

/// Appends the codes of a vector, −127..=127, and returns the scale: component ≈ code × scale, with an error of at most
/// half the scale.
///
/// Each vector has its own scale, so that its largest component is code ±127. A common scale would save four bytes and
/// a multiplication per vector, but would have to allow for the largest component of any later vector, which costs two
/// of the eight bits with unit vectors of 384 dimensions.
///
/// Components must be finite. Zeros, and components too small to divide by, give zeros.
#[must_use = "codes mean nothing without their scale"]
pub fn quantize(vector: &[f32], codes: &mut Vec<i8>) -> f32 {
    let largest = vector.iter().fold(0.0f32, |largest, component| largest.max(component.abs()));
    let steps = 127.0 / largest;
    if !steps.is_finite() {
        codes.resize(codes.len() + vector.len(), 0);
        return 0.0;
    }
    #[expect(clippy::cast_possible_truncation, reason = "the low byte is the code")]
    codes.extend(vector.iter().map(|component| (component * steps + ROUNDING).to_bits() as i8));
    largest / 127.0
}
