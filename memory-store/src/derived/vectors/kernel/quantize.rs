//! Components as codes of one byte.

/// Added to a number of less than 2²², it leaves the number rounded in the low bits of the sum: to the nearest, ties to
/// even.
const ROUNDING: f32 = 12_582_912.0;

/// Appends the codes of a vector, −127..=127, and gives the scale: component ≈ code × scale, off by at most half of it.
///
/// The scale is the vector's own, so that its largest component is code ±127. One scale for all would save four bytes
/// and a multiplication for each vector, but would have to be as large as the largest component of any future vector:
/// with unit vectors of 384 dimensions that costs two of the eight bits.
///
/// The components must be finite. Zeros, and components too small to divide by, give zeros.
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
