//! Linear layers: in 32-bit floats, the same and watched, or in 8-bit integers.

use super::{
    ConvertError,
    graph::{GraphBuilder, Setting, Value},
    ranges::{Columns, Ranges},
};

/// Codes of weights run from -127 to 127.
const CODES: f32 = 127.0;

/// The code of zero among the outputs of GELU, which are at least -0.17: the codes below it reach as far.
pub(super) const GELU_ZERO: u8 = 20;

/// The step between two codes of a row, for each unit of its greatest value.
const GELU_STEP: f32 = 1.0 / (255.0 - 20.0);

/// A row is taken to be at least this wide, so that the codes below zero reach down to -0.17.
const GELU_LEAST: f32 = 2.0;

/// How much of the width of a column of inputs goes over to its weights; the rest stays.
const MIGRATION: f32 = 0.5;

/// A column is taken to be at least this share of the mean as wide, and so are its weights: one that was hardly used in
/// the sample may be elsewhere.
const LEAST: f32 = 0.01;

/// In what numbers linear layers compute.
#[derive(Clone, Copy, Debug)]
pub(super) enum Numbers<'a> {
    /// 32-bit floats.
    Floats,
    /// 32-bit floats; the graph also gives the ranges of the columns of all inputs.
    Watched,
    /// 8-bit integers, for inputs within these ranges.
    Codes(&'a Ranges),
}

/// A layer that multiplies rows by a matrix and adds a bias.
#[derive(Debug)]
pub(super) struct Linear {
    pub(super) name: String,
    /// Row-major, `[outputs, inputs]`.
    pub(super) weight: Vec<f32>,
    pub(super) bias: Vec<f32>,
}

impl Linear {
    fn inputs(&self) -> usize {
        self.weight.len().checked_div(self.bias.len()).unwrap_or_default().max(1)
    }

    /// Multiplies its outputs by a factor each.
    pub(super) fn scale_outputs(&mut self, by: impl Iterator<Item = f32>) {
        let inputs = self.inputs();
        for ((row, bias), by) in self.weight.chunks_mut(inputs).zip(&mut self.bias).zip(by) {
            row.iter_mut().for_each(|weight| *weight *= by);
            *bias *= by;
        }
    }

    /// Takes inputs that were divided by a number each.
    fn scale_inputs(&mut self, by: &[f32]) {
        for row in self.weight.chunks_mut(by.len().max(1)) {
            row.iter_mut().zip(by).for_each(|(weight, by)| *weight *= by);
        }
    }
}

/// What is done so that a few wide columns of the inputs do not take the codes from all others.
#[derive(Debug)]
pub(super) enum Smoothing {
    /// Nothing.
    None,
    /// Each column of the inputs is divided by one of these numbers, and its weights are multiplied by it.
    Divide(Vec<f32>),
    /// The same, and the inputs come divided.
    Divided(Vec<f32>),
}

/// By what to divide columns that were as wide as `columns` says before `layers` multiply them: such that inputs and
/// weights are equally hard to tell apart in 8 bits (`SmoothQuant`, Xiao et al., 2022), and 1 in the geometric mean.
pub(super) fn divisors(columns: &Columns, layers: &[&Linear]) -> Vec<f32> {
    let mut widest = vec![0.0_f32; columns.len()];
    for layer in layers {
        for row in layer.weight.chunks(columns.len().max(1)) {
            widest.iter_mut().zip(row).for_each(|(widest, weight)| *widest = widest.max(weight.abs()));
        }
    }
    let (inputs, weights) = (logarithms(columns.magnitudes().collect()), logarithms(widest));
    let logs: Vec<f32> =
        inputs.iter().zip(&weights).map(|(input, weight)| MIGRATION * input - (1.0 - MIGRATION) * weight).collect();
    let mean = mean(&logs);
    logs.into_iter().map(|log| (log - mean).exp()).collect()
}

fn logarithms(widths: Vec<f32>) -> Vec<f32> {
    let least = (LEAST * mean(&widths)).max(f32::MIN_POSITIVE);
    widths.into_iter().map(|width| width.max(least).ln()).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a few thousand columns")]
fn mean(values: &[f32]) -> f32 {
    values.iter().sum::<f32>() / values.len().max(1) as f32
}

/// Multiplies the rows `inputs`, `[rows, inputs]`, by each of `layers`.
///
/// In 8 bits the inputs have one scale, which is part of the graph: so a text's vector depends on no other text, and
/// nothing has to be measured while it runs. The ranges are those under `site`.
pub(super) fn multiply<const N: usize>(
    graph: &mut GraphBuilder,
    numbers: Numbers<'_>,
    site: &str,
    inputs: &Value,
    mut layers: [Linear; N],
    smoothing: &Smoothing,
) -> Result<[Value; N], ConvertError> {
    let ranges = match numbers {
        Numbers::Codes(ranges) => ranges,
        Numbers::Floats => return Ok(layers.map(|layer| in_floats(graph, inputs, &layer))),
        Numbers::Watched => {
            graph.watch(site, inputs, layers.first().map_or(0, Linear::inputs));
            return Ok(layers.map(|layer| in_floats(graph, inputs, &layer)));
        }
    };
    let mut columns = ranges.of(site, layers.first().map_or(0, Linear::inputs))?.clone();
    let mut inputs = inputs.clone();
    let by = match smoothing {
        Smoothing::None => None,
        Smoothing::Divided(by) => Some(by),
        Smoothing::Divide(by) => {
            let inverse: Vec<f32> = by.iter().map(|by| by.recip()).collect();
            let inverse = graph.floats(&format!("{site}.smoothing"), &[inverse.len()], &inverse);
            inputs = graph.op("Mul", &[&inputs, &inverse], &[]);
            Some(by)
        }
    };
    if let Some(by) = by {
        columns.divide(by);
        layers.iter_mut().for_each(|layer| layer.scale_inputs(by));
    }
    let (scale, zero) = columns.codes();
    let (scale, zero) = (graph.number(scale), graph.byte(zero));
    let codes = graph.op("QuantizeLinear", &[&inputs, &scale, &zero], &[]);
    Ok(layers.map(|layer| {
        let bias = bias_of(graph, &layer);
        in_codes(graph, [&codes, &scale, &zero], &layer, &bias)
    }))
}

/// [`multiply`] with one layer.
pub(super) fn multiply_by(
    graph: &mut GraphBuilder,
    numbers: Numbers<'_>,
    site: &str,
    inputs: &Value,
    layer: Linear,
    smoothing: &Smoothing,
) -> Result<Value, ConvertError> {
    let [product] = multiply(graph, numbers, site, inputs, [layer], smoothing)?;
    Ok(product)
}

/// Multiplies `inputs`, what GELU gave, by `layer`.
///
/// In 8 bits each row has a scale of its own, by its greatest value. One scale for all would not do: a few tokens of some
/// encoders, such as MPNet, are a hundred times as wide as the others ("massive activations", Sun et al., 2024), and
/// smoothing does not help, since columns are narrow in one text and wide in another. `zeros` are as many codes of zero
/// as there are rows, [`GELU_ZERO`]s.
pub(super) fn multiply_gelu(
    graph: &mut GraphBuilder,
    numbers: Numbers<'_>,
    zeros: &Value,
    inputs: &Value,
    layer: &Linear,
) -> Value {
    if !matches!(numbers, Numbers::Codes(_)) {
        return in_floats(graph, inputs, layer);
    }
    let (column, least, step) = (graph.integers(&[1]), graph.number(GELU_LEAST), graph.number(GELU_STEP));
    let widest = graph.op("ReduceMax", &[inputs, &column], &[Setting::Int("keepdims", 0)]);
    let widest = graph.op("Max", &[&widest, &least], &[]);
    let scales = graph.op("Mul", &[&widest, &step], &[]);
    let codes = graph.op("QuantizeLinear", &[inputs, &scales, zeros], &[Setting::Int("axis", 0)]);
    let (one, zero) = (graph.number(1.0), graph.byte(GELU_ZERO));
    let product = in_codes(graph, [&codes, &one, &zero], layer, &Value::absent());
    let scales = graph.op("Unsqueeze", &[&scales, &column], &[]);
    let product = graph.op("Mul", &[&product, &scales], &[]);
    let bias = bias_of(graph, layer);
    graph.op("Add", &[&product, &bias], &[])
}

fn bias_of(graph: &mut GraphBuilder, layer: &Linear) -> Value {
    graph.floats(&format!("{}.bias", layer.name), &[layer.bias.len()], &layer.bias)
}

fn in_floats(graph: &mut GraphBuilder, inputs: &Value, layer: &Linear) -> Value {
    let Linear { name, weight, bias } = layer;
    let (inner, outer) = (layer.inputs(), bias.len());
    let weight = graph.floats(&format!("{name}.weight"), &[inner, outer], &transposed(weight, inner));
    let product = graph.op("MatMul", &[inputs, &weight], &[]);
    let bias = bias_of(graph, layer);
    graph.op("Add", &[&product, &bias], &[])
}

/// An operator of ONNX Runtime's own: what it makes of a `QuantizeLinear` - `DequantizeLinear` - `Gemm` is slower, and
/// what it makes of one with a `MatMul` multiplies floats.
fn in_codes(graph: &mut GraphBuilder, [codes, scale, zero]: [&Value; 3], layer: &Linear, bias: &Value) -> Value {
    let Linear { name, weight, .. } = layer;
    let (inner, outer) = (layer.inputs(), layer.bias.len());
    let (weight, scales) = quantized(weight, inner);
    let weight = graph.bytes(&format!("{name}.weight"), &[inner, outer], &transposed(&weight, inner));
    let scales = graph.floats(&format!("{name}.scale"), &[outer], &scales);
    let no_zeros = Value::absent();
    graph.runtime_op("MatMulIntegerToFloat", &[codes, &weight, scale, &scales, zero, &no_zeros, bias])
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

    fn layer(weight: &[f32], bias: &[f32]) -> Linear {
        Linear { name: "layer".to_owned(), weight: weight.to_vec(), bias: bias.to_vec() }
    }

    /// What the layer gives for one row.
    fn applied(layer: &Linear, row: &[f32]) -> Vec<f32> {
        let products = layer.weight.chunks(row.len()).map(|weights| weights.iter().zip(row).map(|(a, b)| a * b).sum());
        products.zip(&layer.bias).map(|(product, bias): (f32, &f32)| product + bias).collect()
    }

    #[test]
    fn a_wide_column_is_divided_and_its_weights_multiplied() {
        let columns = Columns::new(vec![-1.0, -64.0, 0.0], vec![1.0, 16.0, 1.0]);
        let mut layer = layer(&[1.0, 1.0, -1.0, 0.5, -1.0, 1.0], &[1.0, -1.0]);
        let by = divisors(&columns, &[&layer]);
        assert!((by[1] / by[0] - 8.0).abs() < 1e-4, "the root of 64: {by:?}");
        assert!((by.iter().map(|by| by.ln()).sum::<f32>()).abs() < 1e-5, "1 in the geometric mean: {by:?}");

        let row = [0.5, -30.0, 0.25];
        let before = applied(&layer, &row);
        layer.scale_inputs(&by);
        let divided: Vec<f32> = row.iter().zip(&by).map(|(value, by)| value / by).collect();
        for (before, after) in before.iter().zip(applied(&layer, &divided)) {
            assert!((before - after).abs() < 1e-4, "{before} {after}");
        }
    }

    #[test]
    fn a_column_that_is_nowhere_used_divides_by_a_number() {
        let columns = Columns::new(vec![0.0, -1.0], vec![0.0, 1.0]);
        let by = divisors(&columns, &[&layer(&[0.0, 0.0], &[0.0])]);
        assert!(by.iter().all(|by| by.is_normal() && *by > 0.0), "{by:?}");
    }

    #[test]
    fn outputs_are_scaled_with_their_bias() {
        let mut layer = layer(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0]);
        layer.scale_outputs([2.0, 0.5].into_iter());
        assert_eq!((layer.weight, layer.bias), (vec![2.0, 4.0, 1.5, 2.0], vec![10.0, 3.0]));
    }

    #[test]
    fn the_least_that_gelu_gives_has_a_code() {
        // Its minimum is at x = -0.7518, where it is -0.16997.
        let least = -0.169_971;
        let reach = -f32::from(GELU_ZERO) * GELU_STEP * GELU_LEAST;
        assert!(reach <= least && reach > 1.1 * least, "{reach}");
        assert_eq!((GELU_STEP.recip() + f32::from(GELU_ZERO)).round(), 255.0);
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
