//! Linear layers in 32-bit floats, with or without calibration outputs, or in 8-bit integers.

use ndarray::{Array1, Array2, Axis, Zip};

use super::{
    graph::{GraphBuilder, Setting, Value},
    ranges::{Columns, Ranges},
};
use crate::{ModelError, processor::int8_sums_saturate};

/// Maximum signed code: codes range from -127 to 127.
pub(super) const MAX_CODE: f32 = 127.0;

/// Maximum code of a weight on processors that saturate the sum of two products at 16 bits: 2 · 255 · 64 fits.
const MAX_CODE_IN_16_BITS: f32 = 64.0;

/// Zero point of the outputs of GELU. Codes below it reach down to GELU's minimum, -0.17.
pub(super) const GELU_ZERO_POINT: u8 = 20;

/// Scale of a row, divided by its maximum.
const GELU_UNIT_SCALE: f32 = 1.0 / (255.0 - 20.0);

/// Minimum assumed maximum of a row, so that codes below the zero point reach down to -0.17.
const GELU_MIN_PEAK: f32 = 2.0;

/// SmoothQuant's migration strength: the share of a column's range that moves from the inputs to the weights.
const MIGRATION_STRENGTH: f32 = 0.5;

/// Minimum assumed range of a column and its weights, as a share of the mean, because a column that the sample hardly
/// uses may be used elsewhere.
const MIN_WIDTH_SHARE: f32 = 0.01;

/// The number format of linear layers.
#[derive(Clone, Copy, Debug)]
pub(super) enum NumberFormat<'a> {
    /// 32-bit floats.
    Floats,
    /// 32-bit floats, with outputs for the ranges of the columns of all inputs.
    Calibration,
    /// 8-bit integers for inputs within these ranges.
    Quantized(&'a Ranges),
}

/// A layer that multiplies rows by a matrix and adds a bias.
#[derive(Debug)]
pub(super) struct Linear {
    pub(super) name: String,
    /// `[outputs, inputs]`.
    pub(super) weight: Array2<f32>,
    pub(super) bias: Array1<f32>,
}

impl Linear {
    /// Multiplies each output by its factor.
    pub(super) fn scale_outputs(&mut self, by: &Array1<f32>) {
        self.weight *= &by.view().insert_axis(Axis(1));
        self.bias *= by;
    }
}

/// Scaling of wide columns of the inputs, so that they do not cost all others their precision.
#[derive(Debug)]
pub(super) enum Smoothing {
    /// None.
    None,
    /// Divides each column of the inputs by its number; the weights are multiplied by it.
    Divide(Array1<f32>),
    /// Multiplies the weights alone, for inputs that are divided already.
    Divided(Array1<f32>),
}

/// Divisors of the input columns of `layers`, which have the ranges `columns`. They make inputs and weights equally
/// hard to quantize (SmoothQuant, Xiao et al., 2022). Their geometric mean is 1.
pub(super) fn divisors(columns: &Columns, layers: &[&Linear]) -> Array1<f32> {
    let mut widest = Array1::<f32>::zeros(columns.len());
    for row in layers.iter().flat_map(|layer| layer.weight.rows()) {
        widest.zip_mut_with(&row, |widest, weight| *widest = widest.max(weight.abs()));
    }
    let (inputs, weights) = (logarithms(columns.magnitudes()), logarithms(widest));
    let logs = inputs * MIGRATION_STRENGTH - weights * (1.0 - MIGRATION_STRENGTH);
    let mean = mean(&logs);
    logs.mapv_into(|log| (log - mean).exp())
}

fn logarithms(widths: Array1<f32>) -> Array1<f32> {
    let least = (MIN_WIDTH_SHARE * mean(&widths)).max(f32::MIN_POSITIVE);
    widths.mapv_into(|width| width.max(least).ln())
}

/// Summed in order: the last digits of `ndarray`'s own mean would be others, and so the bytes of the graph.
#[expect(clippy::cast_precision_loss, reason = "a few thousand columns")]
fn mean(values: &Array1<f32>) -> f32 {
    values.iter().sum::<f32>() / values.len().max(1) as f32
}

/// Multiplies the rows `inputs`, `[rows, inputs]`, by each of `layers`.
///
/// In 8 bits the inputs have one static scale, from the ranges under `site`, so that a text's vector depends on no
/// other text, and nothing is measured at run time.
pub(super) fn multiply<const N: usize>(
    graph: &mut GraphBuilder,
    format: NumberFormat<'_>,
    site: &str,
    inputs: &Value,
    mut layers: [Linear; N],
    smoothing: &Smoothing,
) -> Result<[Value; N], ModelError> {
    let width = layers.first().map_or(0, |layer| layer.weight.ncols());
    let ranges = match format {
        NumberFormat::Quantized(ranges) => ranges,
        NumberFormat::Floats => return Ok(layers.map(|layer| in_floats(graph, inputs, &layer))),
        NumberFormat::Calibration => {
            graph.output_ranges(site, inputs, width);
            return Ok(layers.map(|layer| in_floats(graph, inputs, &layer)));
        }
    };
    let mut columns = ranges.of(site, width)?.clone();
    let mut inputs = inputs.clone();
    let by = match smoothing {
        Smoothing::None => None,
        Smoothing::Divided(by) => Some(by),
        Smoothing::Divide(by) => {
            let inverse = graph.floats(&format!("{site}.smoothing"), by.mapv(f32::recip).view());
            inputs = graph.op("Mul", &[&inputs, &inverse], &[]);
            Some(by)
        }
    };
    if let Some(by) = by {
        columns = columns.divided(by);
        layers.iter_mut().for_each(|layer| layer.weight *= by);
    }
    let (scale, zero) = columns.scale_and_zero_point();
    let (scale, zero) = (graph.number(scale), graph.byte(zero));
    let codes = graph.op("QuantizeLinear", &[&inputs, &scale, &zero], &[]);
    Ok(layers.map(|layer| {
        let bias = bias_of(graph, &layer);
        in_integers(graph, [&codes, &scale, &zero], &layer, &bias)
    }))
}

/// [`multiply`] with one layer.
pub(super) fn multiply_by(
    graph: &mut GraphBuilder,
    format: NumberFormat<'_>,
    site: &str,
    inputs: &Value,
    layer: Linear,
    smoothing: &Smoothing,
) -> Result<Value, ModelError> {
    let [product] = multiply(graph, format, site, inputs, [layer], smoothing)?;
    Ok(product)
}

/// Multiplies `inputs`, the outputs of GELU, by `layer`.
///
/// In 8 bits each row has a dynamic scale, from its maximum. A single scale for all rows loses too much: a few tokens
/// of some encoders, such as MPNet, are a hundred times as wide as the others ("massive activations", Sun et al.,
/// 2024). Smoothing does not help, because a column can be narrow in one text and wide in another. `zero_points`
/// contains [`GELU_ZERO_POINT`] once per row.
pub(super) fn multiply_gelu(
    graph: &mut GraphBuilder,
    format: NumberFormat<'_>,
    zero_points: &Value,
    inputs: &Value,
    layer: &Linear,
) -> Value {
    if !matches!(format, NumberFormat::Quantized(_)) {
        return in_floats(graph, inputs, layer);
    }
    let (column, least, step) = (graph.integers(&[1]), graph.number(GELU_MIN_PEAK), graph.number(GELU_UNIT_SCALE));
    let widest = graph.op("ReduceMax", &[inputs, &column], &[Setting::Int("keepdims", 0)]);
    let widest = graph.op("Max", &[&widest, &least], &[]);
    let scales = graph.op("Mul", &[&widest, &step], &[]);
    let codes = graph.op("QuantizeLinear", &[inputs, &scales, zero_points], &[Setting::Int("axis", 0)]);
    let (one, zero) = (graph.number(1.0), graph.byte(GELU_ZERO_POINT));
    let product = in_integers(graph, [&codes, &one, &zero], layer, &Value::absent());
    let scales = graph.op("Unsqueeze", &[&scales, &column], &[]);
    let product = graph.op("Mul", &[&product, &scales], &[]);
    let bias = bias_of(graph, layer);
    graph.op("Add", &[&product, &bias], &[])
}

fn bias_of(graph: &mut GraphBuilder, layer: &Linear) -> Value {
    graph.floats(&format!("{}.bias", layer.name), layer.bias.view())
}

fn in_floats(graph: &mut GraphBuilder, inputs: &Value, layer: &Linear) -> Value {
    let weight = graph.floats(&format!("{}.weight", layer.name), layer.weight.t());
    let product = graph.op("MatMul", &[inputs, &weight], &[]);
    let bias = bias_of(graph, layer);
    graph.op("Add", &[&product, &bias], &[])
}

/// Multiplies quantized rows with an ONNX Runtime operator. The runtime's rewrite of `QuantizeLinear` -
/// `DequantizeLinear` - `Gemm` is slower, and its rewrite with `MatMul` multiplies floats.
fn in_integers(graph: &mut GraphBuilder, [codes, scale, zero]: [&Value; 3], layer: &Linear, bias: &Value) -> Value {
    let Linear { name, weight, .. } = layer;
    let (weight, scales) = quantized(weight, max_weight_code());
    let weight = graph.bytes(&format!("{name}.weight"), weight.t());
    let scales = graph.floats(&format!("{name}.scale"), scales.view());
    let no_zero_points = Value::absent();
    graph.runtime_op("MatMulIntegerToFloat", &[codes, &weight, scale, &scales, zero, &no_zero_points, bias])
}

/// Maximum code of a weight for which this processor adds products exactly.
fn max_weight_code() -> f32 {
    if int8_sums_saturate() { MAX_CODE_IN_16_BITS } else { MAX_CODE }
}

/// Quantizes a matrix to codes from `-max_code` to `max_code`. Returns the codes, and the scale of each row.
pub(super) fn quantized(matrix: &Array2<f32>, max_code: f32) -> (Array2<i8>, Array1<f32>) {
    let scales = matrix.map_axis(Axis(1), |row| {
        let largest = row.fold(0.0_f32, |largest, value| largest.max(value.abs()));
        if largest > 0.0 { largest / max_code } else { 1.0 }
    });
    #[expect(clippy::cast_possible_truncation, reason = "at most 127")]
    let code = |value: &f32, scale: &f32| (value / scale).round_ties_even().clamp(-max_code, max_code) as i8;
    let codes = Zip::from(matrix).and_broadcast(scales.view().insert_axis(Axis(1))).map_collect(code);
    (codes, scales)
}

#[cfg(test)]
mod tests {
    use ndarray::{aview1, aview2};
    use proptest::prelude::*;

    use super::*;

    fn layer<const N: usize>(weight: &[[f32; N]], bias: &[f32]) -> Linear {
        Linear { name: "layer".to_owned(), weight: aview2(weight).to_owned(), bias: aview1(bias).to_owned() }
    }

    /// Output of the layer for one row.
    fn applied(layer: &Linear, row: &Array1<f32>) -> Array1<f32> {
        layer.weight.dot(row) + &layer.bias
    }

    #[test]
    fn a_wide_column_is_divided_and_its_weights_multiplied() {
        let columns = Columns::new(vec![-1.0, -64.0, 0.0], vec![1.0, 16.0, 1.0]);
        let mut layer = layer(&[[1.0, 1.0, -1.0], [0.5, -1.0, 1.0]], &[1.0, -1.0]);
        let by = divisors(&columns, &[&layer]);
        assert!((by[1] / by[0] - 8.0).abs() < 1e-4, "the root of 64: {by:?}");
        assert!((by.iter().map(|by| by.ln()).sum::<f32>()).abs() < 1e-5, "1 in the geometric mean: {by:?}");

        let row = Array1::from(vec![0.5, -30.0, 0.25]);
        let before = applied(&layer, &row);
        layer.weight *= &by;
        for (before, after) in before.iter().zip(applied(&layer, &(row / by))) {
            assert!((before - after).abs() < 1e-4, "{before} {after}");
        }
    }

    #[test]
    fn a_column_that_is_nowhere_used_divides_by_a_number() {
        let columns = Columns::new(vec![0.0, -1.0], vec![0.0, 1.0]);
        let by = divisors(&columns, &[&layer(&[[0.0, 0.0]], &[0.0])]);
        assert!(by.iter().all(|by| by.is_normal() && *by > 0.0), "{by:?}");
    }

    #[test]
    fn outputs_are_scaled_with_their_bias() {
        let mut layer = layer(&[[1.0, 2.0], [3.0, 4.0]], &[5.0, 6.0]);
        layer.scale_outputs(&Array1::from(vec![2.0, 0.5]));
        assert_eq!((layer.weight.view(), layer.bias.view()), (aview2(&[[2.0, 4.0], [1.5, 2.0]]), aview1(&[10.0, 3.0])));
    }

    #[test]
    fn the_least_that_gelu_gives_has_a_code() {
        // Its minimum is at x = -0.7518, where it is -0.16997.
        let least = -0.169_971;
        let reach = -f32::from(GELU_ZERO_POINT) * GELU_UNIT_SCALE * GELU_MIN_PEAK;
        assert!(reach <= least && reach > 1.1 * least, "{reach}");
        assert_eq!((GELU_UNIT_SCALE.recip() + f32::from(GELU_ZERO_POINT)).round(), 255.0);
    }

    #[test]
    fn the_sum_of_two_products_fits_16_bits_where_it_is_cut_off() {
        let widest = |max_code: f32| 2.0 * 255.0 * max_code;
        assert!(widest(MAX_CODE_IN_16_BITS) <= f32::from(i16::MAX) && widest(MAX_CODE) > f32::from(i16::MAX));
    }

    proptest! {
        #[test]
        fn a_code_is_within_half_a_step_of_its_value(rows in prop::collection::vec(prop::array::uniform4(-9.0f32..9.0), 1..6), max_code in prop::sample::select(&[MAX_CODE, MAX_CODE_IN_16_BITS])) {
            let matrix = aview2(&rows).to_owned();
            let (codes, scales) = quantized(&matrix, max_code);
            prop_assert_eq!(scales.len(), rows.len());
            for (at, (value, code)) in matrix.iter().zip(&codes).enumerate() {
                let scale = scales[at / 4];
                prop_assert!(f32::from(*code).abs() <= max_code);
                prop_assert!((f32::from(*code) * scale - value).abs() <= scale * 0.5001, "{value} as {code} x {scale}");
            }
        }
    }
}
