//! Builds the graph of an encoder: token ids in, the last layer's vectors out.

use ndarray::{Array2, Axis, Slice};

use super::{
    architecture::{Architecture, Family},
    graph::{GraphBuilder, Setting, Value, int},
    linear::{
        GELU_ZERO_POINT, Linear, MAX_CODE, NumberFormat, Smoothing, divisors, multiply, multiply_by, multiply_gelu,
        quantized,
    },
    proto,
    weights::Weights,
};

use super::WORDS;
use crate::ModelError;

/// Bytes from which a table of words is kept beside its graph: processes then share it, and read only the words they use.
/// Smaller tables stay inside, as those of English models always were.
const LARGE_TABLE: usize = 32 << 20;

/// Minimum distance at which distances share the last bucket in MPNet.
const MAX_DISTANCE: f32 = 128.0;

/// Builds an encoder's graph. Tokens are rows of matrices, `[batch · sequence, hidden]`, except in attention.
pub(super) struct Encoder<'a> {
    pub(super) graph: GraphBuilder,
    architecture: &'a Architecture,
    weights: &'a Weights<'a>,
    format: NumberFormat<'a>,
    /// The table of words, if it is large: the content of the file [`WORDS`].
    pub(super) words: Option<Vec<u8>>,
}

/// Names of a layer's query, key, value, output and normalization in one family.
#[rustfmt::skip]
const fn tensor_names(family: Family) -> [&'static str; 5] {
    match family {
        Family::Bert | Family::XlmRoberta => [
            "attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
            "attention.output.LayerNorm",
        ],
        Family::Mpnet => [
            "attention.attn.q", "attention.attn.k", "attention.attn.v", "attention.attn.o", "attention.LayerNorm",
        ],
    }
}

struct SharedValues {
    /// The shape of a matrix of tokens, `[-1, hidden]`.
    flat: Value,
    /// The shape of the tokens by texts, `[batch, sequence, hidden]`.
    by_text: Value,
    /// Tokens of each text, `[batch]`, to which attention is limited.
    lengths: Value,
    /// Bias of the attention scores, `[1, heads, sequence, sequence]`, or absent.
    bias: Value,
    /// The zero point of each token, `[batch · sequence]`; absent in 32-bit floats.
    zero_points: Value,
}

impl<'a> Encoder<'a> {
    pub(super) fn new(architecture: &'a Architecture, weights: &'a Weights<'a>, format: NumberFormat<'a>) -> Self {
        Self { graph: GraphBuilder::default(), architecture, weights, format, words: None }
    }

    pub(super) fn write(&mut self) -> Result<(), ModelError> {
        let &Architecture { hidden, layers, .. } = self.architecture;
        let ids = self.graph.tokens("input_ids");
        let mask = self.graph.tokens("attention_mask");
        let types = if self.architecture.token_types > 0 { Some(self.graph.tokens("token_type_ids")) } else { None };
        let shape = self.graph.op("Shape", &[&ids], &[]);
        let sequence = self.graph.integers(&[1]);
        let sequence = self.graph.op("Gather", &[&shape, &sequence], &[Setting::Int("axis", 0)]);

        let embedded = self.embeddings(&ids, types.as_ref(), &sequence)?;
        let (first, row) = (self.graph.integers(&[0]), self.graph.integers(&[1]));
        let width = self.graph.integers(&[int(hidden)]);
        let shared = SharedValues {
            flat: self.graph.integers(&[-1, int(hidden)]),
            by_text: self.graph.op("Concat", &[&shape, &width], &[Setting::Int("axis", 0)]),
            lengths: self.graph.op("ReduceSum", &[&mask, &row], &[Setting::Int("keepdims", 0)]),
            bias: match self.architecture.family {
                Family::Bert | Family::XlmRoberta => Value::absent(),
                Family::Mpnet => self.bias_by_distance(&sequence)?,
            },
            zero_points: match self.format {
                NumberFormat::Floats | NumberFormat::Calibration => Value::absent(),
                NumberFormat::Quantized(_) => {
                    let tokens = self.graph.op("Size", &[&ids], &[]);
                    let tokens = self.graph.op("Unsqueeze", &[&tokens, &first], &[]);
                    let zero = self.graph.byte(GELU_ZERO_POINT);
                    self.graph.op("Expand", &[&zero, &tokens], &[])
                }
            },
        };
        let mut tokens = self.graph.op("Reshape", &[&embedded, &shared.flat], &[]);
        for layer in 0..layers {
            tokens = self.layer(&format!("encoder.layer.{layer}."), tokens, &shared)?;
        }
        let tokens = self.graph.op("Reshape", &[&tokens, &shared.by_text], &[]);
        self.graph.output("last_hidden_state", &tokens, hidden);
        Ok(())
    }

    /// The normalized sum of word, position and type embeddings: `[batch, sequence, hidden]`.
    fn embeddings(&mut self, ids: &Value, types: Option<&Value>, sequence: &Value) -> Result<Value, ModelError> {
        let &Architecture { vocabulary, hidden, positions, token_types, .. } = self.architecture;
        let words = self.weights.tensor("embeddings.word_embeddings.weight", [vocabulary, hidden])?;
        let mut sum = self.table("embeddings.words", ids, &words);
        if let Some(types) = types {
            let table = self.weights.tensor("embeddings.token_type_embeddings.weight", [token_types, hidden])?;
            let table = self.graph.floats("embeddings.types", table.view());
            let vectors = self.graph.op("Gather", &[&table, types], &[Setting::Int("axis", 0)]);
            sum = self.graph.op("Add", &[&sum, &vectors], &[]);
        }
        let table = self.weights.tensor("embeddings.position_embeddings.weight", [positions, hidden])?;
        let mut table = table.slice_axis_move(Axis(0), Slice::from(self.architecture.first_position()..));
        if self.architecture.family == Family::XlmRoberta {
            // Every token has the one type.
            table += &self.weights.tensor("embeddings.token_type_embeddings.weight", [1, hidden])?;
        }
        let table = self.graph.floats("embeddings.positions", table.view());
        let (start, axis) = (self.graph.integers(&[0]), self.graph.integers(&[0]));
        let vectors = self.graph.op("Slice", &[&table, &start, sequence, &axis], &[]);
        let sum = self.graph.op("Add", &[&sum, &vectors], &[]);
        self.norm("embeddings.LayerNorm", &sum)
    }

    /// Looks up word embeddings. In 8 bits the table has a scale for each word, and a large one a file of its own.
    fn table(&mut self, name: &str, ids: &Value, words: &Array2<f32>) -> Value {
        let axis = [Setting::Int("axis", 0)];
        match self.format {
            NumberFormat::Floats | NumberFormat::Calibration => {
                let table = self.graph.floats(name, words.view());
                self.graph.op("Gather", &[&table, ids], &axis)
            }
            NumberFormat::Quantized(_) => {
                let (codes, scales) = quantized(words, MAX_CODE);
                let codes = if codes.len() < LARGE_TABLE {
                    self.graph.bytes(name, codes.view())
                } else {
                    let (codes, words) = self.graph.external_bytes(name, codes.view(), WORDS);
                    self.words = Some(words);
                    codes
                };
                let scales = self.graph.floats(&format!("{name}.scale"), scales.view().insert_axis(Axis(1)));
                let codes = self.graph.op("Gather", &[&codes, ids], &axis);
                let codes = self.graph.op("Cast", &[&codes], &[Setting::Int("to", i64::from(proto::FLOAT))]);
                let scales = self.graph.op("Gather", &[&scales, ids], &axis);
                self.graph.op("Mul", &[&codes, &scales], &[])
            }
        }
    }

    /// MPNet's bias, `[1, heads, sequence, sequence]`, looked up in a table of all distances.
    fn bias_by_distance(&mut self, sequence: &Value) -> Result<Value, ModelError> {
        let &Architecture { heads, buckets, .. } = self.architecture;
        let furthest = self.architecture.max_tokens() - 1;
        let by_bucket = self.weights.tensor("encoder.relative_attention_bias.weight", [buckets, heads])?;
        let before = (1..=furthest).rev().map(|distance| bucket(distance, false, buckets));
        let after = (0..=furthest).map(|distance| bucket(distance, distance > 0, buckets));
        let by_distance = by_bucket.select(Axis(0), &before.chain(after).collect::<Vec<_>>());
        let table = self.graph.floats("encoder.bias", by_distance.view());

        let (zero, one) = (self.graph.integer(0), self.graph.integer(1));
        let no_axes = self.graph.integers(&[]);
        let end = self.graph.op("Reshape", &[sequence, &no_axes], &[]);
        let places = self.graph.op("Range", &[&zero, &end, &one], &[]);
        let (row, column) = (self.graph.integers(&[0]), self.graph.integers(&[1]));
        let to = self.graph.op("Unsqueeze", &[&places, &row], &[]);
        let from = self.graph.op("Unsqueeze", &[&places, &column], &[]);
        let distance = self.graph.op("Sub", &[&to, &from], &[]);
        let middle = self.graph.integer(int(furthest));
        let distance = self.graph.op("Add", &[&distance, &middle], &[]);
        let bias = self.graph.op("Gather", &[&table, &distance], &[Setting::Int("axis", 0)]);
        let bias = self.graph.op("Transpose", &[&bias], &[Setting::Ints("perm", &[2, 0, 1])]);
        Ok(self.graph.op("Unsqueeze", &[&bias, &row], &[]))
    }

    fn layer(&mut self, prefix: &str, tokens: Value, shared: &SharedValues) -> Result<Value, ModelError> {
        let &Architecture { hidden, intermediate, family, heads, .. } = self.architecture;
        let [query, key, value, output, norm] = tensor_names(family);
        let name = |part: &str| format!("{prefix}{part}");

        let query = self.linear(name(query), hidden, hidden)?;
        let key = self.linear(name(key), hidden, hidden)?;
        let mut value = self.linear(name(value), hidden, hidden)?;
        let output = self.linear(name(output), hidden, hidden)?;
        let (site, mixed_site) = (name("attention"), name("attention.mixed"));
        let smoothing = self.smoothing(&site, &[&query, &key, &value])?;
        let mixed_smoothing = self.fold_smoothing(&mut value, &mixed_site, &output)?;
        let (graph, format) = (&mut self.graph, self.format);
        let projected = multiply(graph, format, &site, &tokens, [query, key, value], &smoothing)?;
        let [query, key, value] = projected.map(|rows| graph.op("Reshape", &[&rows, &shared.by_text], &[]));
        let absent = Value::absent();
        let inputs = [&query, &key, &value, &shared.bias, &absent, &absent, &shared.lengths];
        let heads = [Setting::Int("q_num_heads", int(heads)), Setting::Int("kv_num_heads", int(heads))];
        let mixed = graph.op("Attention", &inputs, &heads);
        let mixed = graph.op("Reshape", &[&mixed, &shared.flat], &[]);
        let mixed = multiply_by(graph, format, &mixed_site, &mixed, output, &mixed_smoothing)?;
        let sum = self.graph.op("Add", &[&mixed, &tokens], &[]);
        let attended = self.norm(&name(norm), &sum)?;

        let inner = self.linear(name("intermediate.dense"), intermediate, hidden)?;
        let site = name("intermediate");
        let smoothing = self.smoothing(&site, &[&inner])?;
        let inner = multiply_by(&mut self.graph, format, &site, &attended, inner, &smoothing)?;
        // The exact GELU (Hendrycks and Gimpel, 2016).
        let inner = self.graph.op("Gelu", &[&inner], &[]);
        let outer = self.linear(name("output.dense"), hidden, intermediate)?;
        let outer = multiply_gelu(&mut self.graph, format, &shared.zero_points, &inner, &outer);
        let sum = self.graph.op("Add", &[&outer, &attended], &[]);
        self.norm(&name("output.LayerNorm"), &sum)
    }

    /// The smoothing of the common inputs of `layers`.
    fn smoothing(&self, site: &str, layers: &[&Linear]) -> Result<Smoothing, ModelError> {
        let NumberFormat::Quantized(ranges) = self.format else { return Ok(Smoothing::None) };
        Ok(Smoothing::Divide(divisors(ranges.of(site, self.architecture.hidden)?, layers)))
    }

    /// Folds the smoothing of the inputs of `output`, calibrated under `site`, into the outputs of `value`, so that it
    /// takes no time in the graph: attention averages the outputs of `value`.
    fn fold_smoothing(&self, value: &mut Linear, site: &str, output: &Linear) -> Result<Smoothing, ModelError> {
        let NumberFormat::Quantized(ranges) = self.format else { return Ok(Smoothing::None) };
        let by = divisors(ranges.of(site, self.architecture.hidden)?, &[output]);
        value.scale_outputs(&by.mapv(f32::recip));
        Ok(Smoothing::Divided(by))
    }

    fn linear(&self, name: String, outputs: usize, inputs: usize) -> Result<Linear, ModelError> {
        let weight = self.weights.tensor(&format!("{name}.weight"), [outputs, inputs])?;
        let bias = self.weights.tensor(&format!("{name}.bias"), [outputs])?;
        Ok(Linear { name, weight, bias })
    }

    /// Layer normalization (Ba et al., 2016) over the last axis.
    fn norm(&mut self, name: &str, value: &Value) -> Result<Value, ModelError> {
        let &Architecture { hidden, epsilon, .. } = self.architecture;
        let [weight, bias] = ["weight", "bias"].map(|part| {
            let name = format!("{name}.{part}");
            Ok::<_, ModelError>(self.graph.floats(&name, self.weights.tensor(&name, [hidden])?.view()))
        });
        let (weight, bias) = (weight?, bias?);
        let settings = [Setting::Int("axis", -1), Setting::Float("epsilon", epsilon)];
        Ok(self.graph.op("LayerNormalization", &[value, &weight, &bias], &settings))
    }
}

/// MPNet's bucket of a distance. Half of the buckets are for positions `after`. In each half, small distances have a
/// bucket each, and larger ones logarithmic buckets.
fn bucket(distance: usize, after: bool, buckets: usize) -> usize {
    let half = buckets / 2;
    let exact = half / 2;
    let within = if distance < exact {
        distance
    } else {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "small positive numbers, in the 32-bit steps of the original"
        )]
        let steps = {
            let exact = exact as f32;
            ((distance as f32 / exact).ln() / (MAX_DISTANCE / exact).ln() * (half - exact as usize) as f32) as usize
        };
        (exact + steps).min(half - 1)
    };
    within + if after { half } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_share_buckets_as_in_the_original() {
        // Buckets by `MPNetEncoder.relative_position_bucket` of transformers 5.23.
        let before = [0, 1, 7, 8, 11, 12, 15, 16, 31, 32, 63, 64, 127, 128, 500];
        let expected = [0, 1, 7, 8, 8, 9, 9, 10, 11, 12, 13, 14, 15, 15, 15];
        assert_eq!(before.map(|distance| bucket(distance, false, 32)), expected);
        assert_eq!(bucket(1, true, 32), 17);
        assert_eq!(bucket(500, true, 32), 31);
    }
}
