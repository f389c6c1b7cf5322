//! Linear layers, in 32-bit floats or in 8-bit integers.

use super::{
    Precision,
    graph::{GraphBuilder, Setting, Value},
    proto,
};

/// Codes of weights and activations run from -127 to 127.
const CODES: f32 = 127.0;

/// The code of zero among unsigned activations: `MatMulInteger` multiplies unsigned by signed bytes fastest.
const ZERO: u8 = 128;

/// Rows that are multiplied by several layers: quantized once for all of them.
#[derive(Debug)]
pub(super) enum Rows {
    /// As they are.
    Floats(Value),
    /// Codes, `[rows, inputs]`, and the scale of each row, `[rows, 1]`.
    Codes { codes: Value, scales: Value },
}

/// Makes `value`, `[rows, inputs]`, ready for linear layers.
///
/// Each row has a scale of its own, its largest magnitude being 127: so a token's codes depend on no other token and a
/// text's vector not on the texts beside it. `DynamicQuantizeLinear` has one scale for everything that runs together,
/// which is 10 to 20 % faster and three times as far from the floats.
pub(super) fn rows(graph: &mut GraphBuilder, precision: Precision, value: Value) -> Rows {
    match precision {
        Precision::Full => Rows::Floats(value),
        Precision::Int8 => {
            let magnitudes = graph.op("Abs", &[&value], &[]);
            let largest =
                graph.op("ReduceMax", &[&magnitudes], &[Setting::Ints("axes", &[-1]), Setting::Int("keepdims", 0)]);
            // A row of zeros needs a scale, too.
            let least = graph.number(1e-9);
            let largest = graph.op("Max", &[&largest, &least], &[]);
            let step = graph.number(1.0 / CODES);
            let scales = graph.op("Mul", &[&largest, &step], &[]);
            // As many zero points as scales.
            let (nothing, middle) = (graph.number(0.0), graph.number(f32::from(ZERO)));
            let zeros = graph.op("Mul", &[&scales, &nothing], &[]);
            let zeros = graph.op("Add", &[&zeros, &middle], &[]);
            let zeros = graph.op("Cast", &[&zeros], &[Setting::Int("to", i64::from(proto::UINT8))]);
            let codes = graph.op("QuantizeLinear", &[&value, &scales, &zeros], &[Setting::Int("axis", 0)]);
            let column = graph.integers(&[1]);
            let scales = graph.op("Unsqueeze", &[&scales, &column], &[]);
            Rows::Codes { codes, scales }
        }
    }
}

/// The layer that multiplies `rows` by `weight`, row-major `[outputs, inputs]`, and adds `bias`.
pub(super) fn linear(graph: &mut GraphBuilder, name: &str, rows: &Rows, weight: &[f32], bias: &[f32]) -> Value {
    let outputs = bias.len();
    let inputs = weight.len().checked_div(outputs).unwrap_or_default();
    let product = match rows {
        Rows::Floats(values) => {
            let weight = graph.floats(&format!("{name}.weight"), &[inputs, outputs], &transposed(weight, inputs));
            graph.op("MatMul", &[values, &weight], &[])
        }
        Rows::Codes { codes, scales } => {
            let (codes_of_weight, weight_scales) = quantized(weight, inputs);
            let codes_of_weight = transposed(&codes_of_weight, inputs);
            let weight = graph.bytes(&format!("{name}.weight"), &[inputs, outputs], &codes_of_weight);
            let weight_scales = graph.floats(&format!("{name}.scale"), &[outputs], &weight_scales);
            let zero = graph.byte(ZERO);
            let product = graph.op("MatMulInteger", &[codes, &weight, &zero], &[]);
            let product = graph.op("Cast", &[&product], &[Setting::Int("to", i64::from(proto::FLOAT))]);
            let product = graph.op("Mul", &[&product, scales], &[]);
            graph.op("Mul", &[&product, &weight_scales], &[])
        }
    };
    let bias = graph.floats(&format!("{name}.bias"), &[outputs], bias);
    graph.op("Add", &[&product, &bias], &[])
}

/// Codes of a row-major matrix, and the scale of each of its rows of `width` values.
pub(super) fn quantized(matrix: &[f32], width: usize) -> (Vec<i8>, Vec<f32>) {
    let mut codes = Vec::with_capacity(matrix.len());
    let mut scales = Vec::with_capacity(matrix.len() / width.max(1));
    for row in matrix.chunks(width.max(1)) {
        let largest = row.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
        let scale = if largest > 0.0 { largest / CODES } else { 1.0 };
        #[expect(clippy::cast_possible_truncation, reason = "within ±127 by the choice of the scale")]
        codes.extend(row.iter().map(|value| (value / scale).round_ties_even().clamp(-CODES, CODES) as i8));
        scales.push(scale);
    }
    (codes, scales)
}

/// The transpose of a row-major matrix with rows of `width` values.
fn transposed<T: Copy>(matrix: &[T], width: usize) -> Vec<T> {
    (0..width).flat_map(|column| matrix.iter().skip(column).step_by(width).copied()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_matrix_is_transposed() {
        assert_eq!(transposed(&[1, 2, 3, 4, 5, 6], 3), [1, 4, 2, 5, 3, 6]);
    }

    proptest! {
        #[test]
        fn a_code_is_within_half_a_step_of_its_value(rows in prop::collection::vec(prop::array::uniform4(-9.0f32..9.0), 1..6)) {
            let matrix = rows.concat();
            let (codes, scales) = quantized(&matrix, 4);
            prop_assert_eq!(scales.len(), rows.len());
            for (at, (value, code)) in matrix.iter().zip(&codes).enumerate() {
                let scale = scales[at / 4];
                prop_assert!((f32::from(*code) * scale - value).abs() <= scale * 0.5001, "{value} as {code} x {scale}");
            }
        }
    }
}
