//! Quantization of rotated unit vectors to a few bits per component.

use std::sync::LazyLock;

use super::rotation::Rotation;
use crate::derived::vectors::quantize;

/// Bits per component of a stored token. Fewer bits take less space and give less exact cosines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum TokenBits {
    /// 48 bytes for a token of 384 dimensions.
    #[default]
    One,
    /// 96 bytes.
    Two,
    /// 192 bytes.
    Four,
    /// 384 bytes.
    Eight,
}

impl TokenBits {
    /// All variants, smallest first.
    pub const ALL: [Self; 4] = [Self::One, Self::Two, Self::Four, Self::Eight];

    /// Number of bits.
    #[must_use]
    pub const fn count(self) -> usize {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Four => 4,
            Self::Eight => 8,
        }
    }

    /// Positive levels of the quantizer with the least squared error for a normal distribution of variance 1 (Max,
    /// "Quantizing for minimum distortion", 1960, tables I and II); borders are halfway between levels. With eight bits
    /// the levels are evenly spaced, and this is the largest one.
    const fn levels(self) -> &'static [f32] {
        match self {
            Self::One => &[0.7979],
            Self::Two => &[0.4528, 1.510],
            Self::Four => &[0.1284, 0.3881, 0.6568, 0.9424, 1.256, 1.618, 2.069, 2.733],
            Self::Eight => &[5.0],
        }
    }

    /// Mean squared error of that quantizer, by which products are too small.
    const fn distortion(self) -> f32 {
        match self {
            Self::One => 0.3634,
            Self::Two => 0.1175,
            Self::Four => 0.009_497,
            Self::Eight => 0.0,
        }
    }
}

/// Encodes unit vectors as rows of bits, and decodes rows to codes that kernels multiply.
///
/// After a [`Rotation`] all components have the same distribution, whatever the vectors, so one quantizer suits all:
/// nothing is learned from data, and the code of a vector never changes (Zandieh and others, "TurboQuant", 2025).
#[derive(Debug)]
pub(super) struct Codec {
    bits: TokenBits,
    dimensions: usize,
    rotation: Rotation,
    /// Component per unit of a code.
    unit: f32,
    /// Borders between levels, ascending; empty with eight bits.
    borders: Vec<f32>,
}

/// Codes of a token of a question.
#[derive(Debug)]
pub(super) struct QuestionCodes {
    pub(super) codes: Vec<i8>,
    /// Factor from a product of codes to a cosine.
    pub(super) scale: f32,
}

/// Codes of each possible byte.
type Table<const CODES: usize> = LazyLock<Vec<[i8; CODES]>>;
static ONE: Table<8> = LazyLock::new(|| table(TokenBits::One));
static TWO: Table<4> = LazyLock::new(|| table(TokenBits::Two));
static FOUR: Table<2> = LazyLock::new(|| table(TokenBits::Four));

fn table<const CODES: usize>(bits: TokenBits) -> Vec<[i8; CODES]> {
    let levels = all_levels(bits);
    let largest = levels.last().copied().unwrap_or(1.0);
    #[expect(clippy::cast_possible_truncation, reason = "-127..=127")]
    let code = |level: f32| (level / largest * 127.0).round() as i8;
    let mask = (1_usize << bits.count()) - 1;
    let at = |byte: u8, place: usize| levels.get(usize::from(byte) >> (place * bits.count()) & mask).copied();
    (0..=u8::MAX).map(|byte| std::array::from_fn(|place| code(at(byte, place).unwrap_or_default()))).collect()
}

/// Levels in ascending order; the index of a level is its bits.
fn all_levels(bits: TokenBits) -> Vec<f32> {
    let positive = bits.levels();
    positive.iter().rev().map(|level| -level).chain(positive.iter().copied()).collect()
}

impl Codec {
    pub(super) fn new(dimensions: usize, bits: TokenBits) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a number of dimensions")]
        let deviation = 1.0 / (dimensions.max(1) as f32).sqrt();
        let largest = bits.levels().last().copied().unwrap_or(1.0);
        let levels = if bits == TokenBits::Eight { Vec::new() } else { all_levels(bits) };
        let unit = deviation * largest / 127.0;
        let of_levels = unit * 127.0 / largest;
        let borders = levels.windows(2).map(|pair| pair.iter().sum::<f32>() / 2.0 * of_levels).collect();
        Self { bits, dimensions, rotation: Rotation::new(dimensions), unit, borders }
    }

    pub(super) fn bits(&self) -> TokenBits {
        self.bits
    }

    pub(super) fn dimensions(&self) -> usize {
        self.dimensions
    }

    pub(super) fn row_bytes(&self) -> usize {
        (self.dimensions * self.bits.count()).div_ceil(8)
    }

    /// Appends the row of a unit vector.
    pub(super) fn encode(&self, vector: &[f32], rows: &mut Vec<u8>) {
        let mut rotated = vector.to_vec();
        self.rotation.rotate(&mut rotated);
        if self.bits == TokenBits::Eight {
            #[expect(clippy::cast_possible_truncation, reason = "clamped to -127..=127")]
            rows.extend(rotated.iter().map(|value| (value / self.unit).round().clamp(-127.0, 127.0) as i8 as u8));
            return;
        }
        let bits = self.bits.count();
        for components in rotated.chunks(8 / bits) {
            let mut byte = 0;
            for (place, value) in components.iter().enumerate() {
                // Fits: there are at most 15 borders.
                let level = self.borders.iter().map(|border| u8::from(value > border)).sum::<u8>();
                byte |= level << (place * bits);
            }
            rows.push(byte);
        }
    }

    /// Appends the codes of rows, one code per dimension.
    pub(super) fn decode(&self, rows: &[u8], codes: &mut Vec<i8>) {
        for row in rows.chunks_exact(self.row_bytes().max(1)) {
            let begin = codes.len();
            match self.bits {
                TokenBits::One => codes.extend(row.iter().flat_map(|byte| codes_of(&ONE, *byte))),
                TokenBits::Two => codes.extend(row.iter().flat_map(|byte| codes_of(&TWO, *byte))),
                TokenBits::Four => codes.extend(row.iter().flat_map(|byte| codes_of(&FOUR, *byte))),
                TokenBits::Eight => codes.extend(row.iter().map(|byte| byte.cast_signed().max(-127))),
            }
            codes.truncate(begin + self.dimensions);
        }
    }

    /// Codes of a token of a question, which is a unit vector.
    pub(super) fn question(&self, vector: &[f32]) -> QuestionCodes {
        let mut rotated = vector.to_vec();
        self.rotation.rotate(&mut rotated);
        let mut codes = Vec::with_capacity(rotated.len());
        let scale = quantize(&rotated, &mut codes) * self.unit / (1.0 - self.bits.distortion());
        QuestionCodes { codes, scale }
    }
}

fn codes_of<const CODES: usize>(table: &Table<CODES>, byte: u8) -> [i8; CODES] {
    table.get(usize::from(byte)).copied().unwrap_or([0; CODES])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kernels;

    fn unit(seed: u64, dimensions: usize) -> Vec<f32> {
        let mut random = fastrand::Rng::with_seed(seed);
        let vector: Vec<f32> = (0..dimensions).map(|_| random.f32() - 0.5).collect();
        let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        vector.into_iter().map(|x| x / length).collect()
    }

    /// The largest error of a cosine among many, and their mean error.
    fn errors(bits: TokenBits, dimensions: usize) -> (f32, f32) {
        let codec = Codec::new(dimensions, bits);
        let (mut worst, mut sum) = (0.0_f32, 0.0);
        for seed in 0..200 {
            let a = unit(seed, dimensions);
            // Half of each vector is the other one, so that cosines are not all near 0.
            let b: Vec<f32> = unit(seed + 1_000, dimensions).iter().zip(&a).map(|(b, a)| a + b).collect();
            let length = b.iter().map(|x| x * x).sum::<f32>().sqrt();
            let b: Vec<f32> = b.into_iter().map(|x| x / length).collect();
            let cosine: f32 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
            let (mut row, mut codes) = (Vec::new(), Vec::new());
            codec.encode(&b, &mut row);
            assert_eq!(row.len(), codec.row_bytes());
            codec.decode(&row, &mut codes);
            assert_eq!(codes.len(), dimensions);
            let question = codec.question(&a);
            #[expect(clippy::cast_precision_loss, reason = "an estimate")]
            let found = Kernels::detected().dot_i8(&question.codes, &codes) as f32 * question.scale;
            worst = worst.max((found - cosine).abs());
            sum += found - cosine;
        }
        (worst, sum / 200.0)
    }

    #[test]
    fn the_more_bits_the_nearer_the_cosine() {
        for dimensions in [384, 100, 768] {
            for (bits, at_most) in TokenBits::ALL.into_iter().zip([0.35, 0.17, 0.05, 0.012]) {
                let (worst, mean) = errors(bits, dimensions);
                assert!(worst < at_most && mean.abs() < at_most / 5.0, "{bits:?} {dimensions}: {worst} {mean}");
            }
        }
    }

    #[test]
    fn codes_are_part_of_the_format() {
        let vector = unit(7, 16);
        let row = |bits| {
            let mut row = Vec::new();
            Codec::new(16, bits).encode(&vector, &mut row);
            row
        };
        assert_eq!(row(TokenBits::One).len(), 2);
        assert_eq!(row(TokenBits::Two).len(), 4);
        let mut codes = Vec::new();
        Codec::new(16, TokenBits::One).decode(&row(TokenBits::One), &mut codes);
        assert!(codes.iter().all(|code| code.abs() == 127));
    }
}
