//! The graph of an encoder: token numbers in, the last layer's vectors out.

use super::{
    ConvertError, Precision,
    architecture::{Architecture, Family},
    graph::{GraphBuilder, Setting, Value, int},
    linear::{Rows, linear, quantized, rows},
    proto,
    weights::Weights,
};

/// What is added to the attention on a place that holds no token: its share is exactly 0 then.
const NO_TOKEN: f32 = -1e9;

/// MPNet's distances from here on share a bucket.
const MAX_DISTANCE: f32 = 128.0;

const LAST_AXIS: Setting<'_> = Setting::Ints("axes", &[-1]);

/// Writes an encoder's graph. Tokens are rows of matrices, `[batch · sequence, hidden]`, but in attention.
pub(super) struct Encoder<'a> {
    pub(super) graph: GraphBuilder,
    architecture: &'a Architecture,
    weights: &'a Weights<'a>,
    precision: Precision,
}

/// The names of a layer's parts, which differ between families.
struct Names {
    query: &'static str,
    key: &'static str,
    value: &'static str,
    output: &'static str,
    norm: &'static str,
}

impl Family {
    const fn names(self) -> Names {
        match self {
            Self::Bert => Names {
                query: "attention.self.query",
                key: "attention.self.key",
                value: "attention.self.value",
                output: "attention.output.dense",
                norm: "attention.output.LayerNorm",
            },
            Self::Mpnet => Names {
                query: "attention.attn.q",
                key: "attention.attn.k",
                value: "attention.attn.v",
                output: "attention.attn.o",
                norm: "attention.LayerNorm",
            },
        }
    }
}

/// What all layers share.
struct Shared {
    /// `[batch, sequence, heads, dimensions of a head]`.
    heads: Value,
    /// Added to the scores of attention, `[batch or 1, heads or 1, sequence or 1, sequence]`.
    bias: Value,
}

impl<'a> Encoder<'a> {
    pub(super) fn new(architecture: &'a Architecture, weights: &'a Weights<'a>, precision: Precision) -> Self {
        Self { graph: GraphBuilder::default(), architecture, weights, precision }
    }

    /// Writes the whole graph.
    pub(super) fn write(&mut self) -> Result<(), ConvertError> {
        let &Architecture { hidden, heads, layers, .. } = self.architecture;
        let ids = self.graph.tokens("input_ids");
        let mask = self.graph.tokens("attention_mask");
        let types = if self.architecture.token_types > 0 { Some(self.graph.tokens("token_type_ids")) } else { None };
        let shape = self.graph.op("Shape", &[&ids], &[]);
        let sequence = self.graph.integers(&[1]);
        let sequence = self.graph.op("Gather", &[&shape, &sequence], &[Setting::Int("axis", 0)]);

        let embedded = self.embeddings(&ids, types.as_ref(), &sequence)?;
        let flat = self.graph.integers(&[-1, int(hidden)]);
        let mut tokens = self.graph.op("Reshape", &[&embedded, &flat], &[]);
        let split = self.graph.integers(&[int(heads), int(self.architecture.head())]);
        let shared = Shared {
            heads: self.graph.op("Concat", &[&shape, &split], &[Setting::Int("axis", 0)]),
            bias: self.bias(&mask, &sequence)?,
        };
        for layer in 0..layers {
            tokens = self.layer(&format!("encoder.layer.{layer}."), tokens, &shared, &flat)?;
        }
        let width = self.graph.integers(&[int(hidden)]);
        let whole = self.graph.op("Concat", &[&shape, &width], &[Setting::Int("axis", 0)]);
        let tokens = self.graph.op("Reshape", &[&tokens, &whole], &[]);
        self.graph.output("last_hidden_state", &tokens, hidden);
        Ok(())
    }

    /// The sum of the vectors of words, positions and types, normalized: `[batch, sequence, hidden]`.
    fn embeddings(&mut self, ids: &Value, types: Option<&Value>, sequence: &Value) -> Result<Value, ConvertError> {
        let &Architecture { vocabulary, hidden, positions, token_types, .. } = self.architecture;
        let words = self.weights.tensor("embeddings.word_embeddings.weight", &[vocabulary, hidden])?;
        let mut sum = self.table("embeddings.words", ids, &words)?;
        if let Some(types) = types {
            let table = self.weights.tensor("embeddings.token_type_embeddings.weight", &[token_types, hidden])?;
            let table = self.graph.floats("embeddings.types", &[token_types, hidden], &table);
            let vectors = self.graph.op("Gather", &[&table, types], &[Setting::Int("axis", 0)]);
            sum = self.graph.op("Add", &[&sum, &vectors], &[]);
        }
        let table = self.weights.tensor("embeddings.position_embeddings.weight", &[positions, hidden])?;
        let unused = self.architecture.first_position();
        let table = table.get(unused * hidden..).unwrap_or_default();
        let table = self.graph.floats("embeddings.positions", &[positions - unused, hidden], table);
        let (start, axis) = (self.graph.integers(&[0]), self.graph.integers(&[0]));
        let vectors = self.graph.op("Slice", &[&table, &start, sequence, &axis], &[]);
        let sum = self.graph.op("Add", &[&sum, &vectors], &[]);
        self.norm("embeddings.LayerNorm", &sum)
    }

    /// The rows of the table of words; in 8 bits the table is, too, with a scale for each word.
    fn table(&mut self, name: &str, ids: &Value, words: &[f32]) -> Result<Value, ConvertError> {
        let &Architecture { vocabulary, hidden, .. } = self.architecture;
        let axis = [Setting::Int("axis", 0)];
        match self.precision {
            Precision::Full => {
                let table = self.graph.floats(name, &[vocabulary, hidden], words);
                Ok(self.graph.op("Gather", &[&table, ids], &axis))
            }
            Precision::Int8 => {
                let (codes, scales) = quantized(words, hidden);
                let codes = self.graph.bytes(name, &[vocabulary, hidden], &codes);
                let scales = self.graph.floats(&format!("{name}.scale"), &[vocabulary, 1], &scales);
                let codes = self.graph.op("Gather", &[&codes, ids], &axis);
                let codes = self.graph.op("Cast", &[&codes], &[Setting::Int("to", i64::from(proto::FLOAT))]);
                let scales = self.graph.op("Gather", &[&scales, ids], &axis);
                Ok(self.graph.op("Mul", &[&codes, &scales], &[]))
            }
        }
    }

    /// What is added to the scores of attention: nothing between tokens, or MPNet's bias by distance; on places without
    /// a token, [`NO_TOKEN`].
    fn bias(&mut self, mask: &Value, sequence: &Value) -> Result<Value, ConvertError> {
        let axes = self.graph.integers(&[1, 2]);
        let mask = self.graph.op("Unsqueeze", &[mask, &axes], &[]);
        let mask = self.graph.op("Cast", &[&mask], &[Setting::Int("to", i64::from(proto::FLOAT))]);
        let (one, absent) = (self.graph.number(1.0), self.graph.number(NO_TOKEN));
        let mask = self.graph.op("Sub", &[&one, &mask], &[]);
        let mask = self.graph.op("Mul", &[&mask, &absent], &[]);
        match self.architecture.family {
            Family::Bert => Ok(mask),
            Family::Mpnet => {
                let by_distance = self.bias_by_distance(sequence)?;
                Ok(self.graph.op("Add", &[&mask, &by_distance], &[]))
            }
        }
    }

    /// MPNet's bias, `[1, heads, sequence, sequence]`: a table of all distances, looked up.
    fn bias_by_distance(&mut self, sequence: &Value) -> Result<Value, ConvertError> {
        let &Architecture { heads, buckets, .. } = self.architecture;
        let furthest = self.architecture.max_tokens() - 1;
        let by_bucket = self.weights.tensor("encoder.relative_attention_bias.weight", &[buckets, heads])?;
        let by_bucket: Vec<&[f32]> = by_bucket.chunks(heads).collect();
        let before = (1..=furthest).rev().map(|distance| bucket(distance, false, buckets));
        let after = (0..=furthest).map(|distance| bucket(distance, distance > 0, buckets));
        let by_distance: Vec<f32> = before
            .chain(after)
            .flat_map(|bucket| by_bucket.get(bucket).copied().unwrap_or_default())
            .copied()
            .collect();
        let table = self.graph.floats("encoder.bias", &[2 * furthest + 1, heads], &by_distance);

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

    fn layer(&mut self, prefix: &str, tokens: Value, shared: &Shared, flat: &Value) -> Result<Value, ConvertError> {
        let &Architecture { hidden, intermediate, family, .. } = self.architecture;
        let names = family.names();
        let name = |part: &str| format!("{prefix}{part}");

        let inputs = rows(&mut self.graph, self.precision, tokens.clone());
        #[expect(clippy::cast_precision_loss, reason = "dimensions of a head, a few dozen")]
        let scale = 1.0 / (self.architecture.head() as f32).sqrt();
        let query = self.head(&name(names.query), &inputs, scale, shared, &[0, 2, 1, 3])?;
        let key = self.head(&name(names.key), &inputs, 1.0, shared, &[0, 2, 3, 1])?;
        let value = self.head(&name(names.value), &inputs, 1.0, shared, &[0, 2, 1, 3])?;
        let scores = self.graph.op("MatMul", &[&query, &key], &[]);
        let scores = self.graph.op("Add", &[&scores, &shared.bias], &[]);
        let shares = self.graph.op("Softmax", &[&scores], &[Setting::Int("axis", -1)]);
        let mixed = self.graph.op("MatMul", &[&shares, &value], &[]);
        let mixed = self.graph.op("Transpose", &[&mixed], &[Setting::Ints("perm", &[0, 2, 1, 3])]);
        let mixed = self.graph.op("Reshape", &[&mixed, flat], &[]);
        let mixed = self.dense(&name(names.output), mixed, hidden, hidden)?;
        let sum = self.graph.op("Add", &[&mixed, &tokens], &[]);
        let attended = self.norm(&name(names.norm), &sum)?;

        let inner = self.dense(&name("intermediate.dense"), attended.clone(), intermediate, hidden)?;
        let inner = self.gelu(&inner);
        let outer = self.dense(&name("output.dense"), inner, hidden, intermediate)?;
        let sum = self.graph.op("Add", &[&outer, &attended], &[]);
        self.norm(&name("output.LayerNorm"), &sum)
    }

    /// A projection of the tokens, times `scale`, by heads, its axes in the order `perm`.
    fn head(
        &mut self,
        name: &str,
        inputs: &Rows,
        scale: f32,
        shared: &Shared,
        perm: &[i64],
    ) -> Result<Value, ConvertError> {
        let hidden = self.architecture.hidden;
        let (weight, bias) = self.parameters(name, hidden, hidden)?;
        let scaled = |values: Vec<f32>| values.into_iter().map(|value| value * scale).collect::<Vec<_>>();
        let projected = linear(&mut self.graph, name, inputs, &scaled(weight), &scaled(bias));
        let projected = self.graph.op("Reshape", &[&projected, &shared.heads], &[]);
        Ok(self.graph.op("Transpose", &[&projected], &[Setting::Ints("perm", perm)]))
    }

    fn dense(&mut self, name: &str, input: Value, outputs: usize, inputs: usize) -> Result<Value, ConvertError> {
        let (weight, bias) = self.parameters(name, outputs, inputs)?;
        let rows = rows(&mut self.graph, self.precision, input);
        Ok(linear(&mut self.graph, name, &rows, &weight, &bias))
    }

    fn parameters(&self, name: &str, outputs: usize, inputs: usize) -> Result<(Vec<f32>, Vec<f32>), ConvertError> {
        let weight = self.weights.tensor(&format!("{name}.weight"), &[outputs, inputs])?;
        Ok((weight, self.weights.tensor(&format!("{name}.bias"), &[outputs])?))
    }

    /// Layer normalization (Ba et al., 2016) over the last axis.
    fn norm(&mut self, name: &str, value: &Value) -> Result<Value, ConvertError> {
        let &Architecture { hidden, epsilon, .. } = self.architecture;
        let mean = self.graph.op("ReduceMean", &[value], &[LAST_AXIS]);
        let centred = self.graph.op("Sub", &[value, &mean], &[]);
        let (two, epsilon) = (self.graph.number(2.0), self.graph.number(epsilon));
        let squares = self.graph.op("Pow", &[&centred, &two], &[]);
        let variance = self.graph.op("ReduceMean", &[&squares], &[LAST_AXIS]);
        let variance = self.graph.op("Add", &[&variance, &epsilon], &[]);
        let deviation = self.graph.op("Sqrt", &[&variance], &[]);
        let normal = self.graph.op("Div", &[&centred, &deviation], &[]);
        let weight = self.weights.tensor(&format!("{name}.weight"), &[hidden])?;
        let weight = self.graph.floats(&format!("{name}.weight"), &[hidden], &weight);
        let bias = self.weights.tensor(&format!("{name}.bias"), &[hidden])?;
        let bias = self.graph.floats(&format!("{name}.bias"), &[hidden], &bias);
        let scaled = self.graph.op("Mul", &[&normal, &weight], &[]);
        Ok(self.graph.op("Add", &[&scaled, &bias], &[]))
    }

    /// x · ½ (1 + erf(x / √2)), the exact GELU (Hendrycks and Gimpel, 2016).
    fn gelu(&mut self, value: &Value) -> Value {
        let (root, one, half) =
            (self.graph.number(std::f32::consts::SQRT_2), self.graph.number(1.0), self.graph.number(0.5));
        let erf = self.graph.op("Div", &[value, &root], &[]);
        let erf = self.graph.op("Erf", &[&erf], &[]);
        let gate = self.graph.op("Add", &[&erf, &one], &[]);
        let gated = self.graph.op("Mul", &[value, &gate], &[]);
        self.graph.op("Mul", &[&gated, &half], &[])
    }
}

/// MPNet's bucket of a distance: half of them for places `after`; of each half, one for each small distance, the others
/// in steps of its logarithm.
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
        // By `MPNetEncoder.relative_position_bucket` of transformers 5.23.
        let before = [0, 1, 7, 8, 11, 12, 15, 16, 31, 32, 63, 64, 127, 128, 500];
        let expected = [0, 1, 7, 8, 8, 9, 9, 10, 11, 12, 13, 14, 15, 15, 15];
        assert_eq!(before.map(|distance| bucket(distance, false, 32)), expected);
        assert_eq!(bucket(1, true, 32), 17);
        assert_eq!(bucket(500, true, 32), 31);
    }
}
