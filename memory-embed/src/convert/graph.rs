//! Builds an ONNX graph node by node.

use std::{collections::HashMap, fmt::Display};

use ndarray::{ArrayView, ArrayView2};
use prost::Message;

use super::proto::{
    self, Attribute, AttributeType, Dimension, Extent, Model, Node, Opset, Property, Shape, Tensor, TensorType, Type,
    ValueInfo,
};
use super::ranges::{MAXIMA, MINIMA};

/// The opset of the operators.
const OPSET: i64 = 24;

/// The domain of ONNX Runtime's own operators, and their version.
const RUNTIME: (&str, i64) = ("com.microsoft", 1);

/// The IR version of the file.
const IR_VERSION: i64 = 12;

/// The name of a value in the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Value(String);

impl Value {
    /// An omitted optional input of an operator.
    pub(super) fn absent() -> Self {
        Self(String::new())
    }
}

/// An attribute of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Setting<'a> {
    /// One number.
    Int(&'static str, i64),
    /// A list of numbers.
    Ints(&'static str, &'a [i64]),
    /// A float.
    Float(&'static str, f32),
}

#[derive(Debug, Default)]
pub(crate) struct GraphBuilder {
    graph: proto::Graph,
    /// Constants by name, which states the value.
    constants: HashMap<String, Value>,
}

impl GraphBuilder {
    /// Adds an input of tokens: 64-bit integers, `[batch, sequence]`.
    pub(crate) fn tokens(&mut self, name: &str) -> Value {
        let shape = [named("batch"), named("sequence")];
        self.graph.input.push(value_info(name, proto::INT64, shape.to_vec()));
        Value(name.to_owned())
    }

    /// Adds a tensor of weights.
    pub(super) fn floats<D: ndarray::Dimension>(&mut self, name: &str, values: ArrayView<'_, f32, D>) -> Value {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.tensor(name, proto::FLOAT, values.shape(), bytes)
    }

    /// Adds a tensor of 8-bit weights that lie in `file`, next to that of the graph. Returns the bytes of that file.
    pub(super) fn external_bytes(&mut self, name: &str, values: ArrayView2<'_, i8>, file: &str) -> (Value, Vec<u8>) {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let value = self.tensor(name, proto::INT8, values.shape(), Vec::new());
        if let Some(tensor) = self.graph.initializer.last_mut() {
            tensor.raw_data = None;
            tensor.data_location = Some(proto::EXTERNAL);
            let entries = [("location", file.to_owned()), ("length", bytes.len().to_string())];
            tensor.external_data = entries
                .into_iter()
                .map(|(key, value)| Property { key: Some(key.to_owned()), value: Some(value) })
                .collect();
        }
        (value, bytes)
    }

    /// Adds a tensor of 8-bit weights.
    pub(super) fn bytes(&mut self, name: &str, values: ArrayView2<'_, i8>) -> Value {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.tensor(name, proto::INT8, values.shape(), bytes)
    }

    pub(super) fn number(&mut self, value: f32) -> Value {
        self.constant(&format!("number_{value:e}"), proto::FLOAT, &[], &value.to_le_bytes())
    }

    pub(super) fn byte(&mut self, value: u8) -> Value {
        self.constant(&format!("byte_{value}"), proto::UINT8, &[], &[value])
    }

    pub(super) fn integer(&mut self, value: i64) -> Value {
        self.constant(&format!("integer_{value}"), proto::INT64, &[], &value.to_le_bytes())
    }

    pub(crate) fn integers(&mut self, values: &[i64]) -> Value {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(&format!("integers_{values:?}"), proto::INT64, &[values.len()], &bytes)
    }

    /// Adds a node with one output.
    pub(crate) fn op(&mut self, operator: &str, inputs: &[&Value], settings: &[Setting<'_>]) -> Value {
        let output = format!("{operator}_{}", self.graph.node.len());
        self.node(operator, inputs, settings, output)
    }

    /// Adds a node of an ONNX Runtime operator, with one output.
    pub(super) fn runtime_op(&mut self, operator: &str, inputs: &[&Value]) -> Value {
        let output = self.op(operator, inputs, &[]);
        if let Some(node) = self.graph.node.last_mut() {
            node.domain = Some(RUNTIME.0.to_owned());
        }
        output
    }

    /// Adds outputs for the minimum and maximum of each column of `rows`, `[rows, width]`, under `name`.
    pub(super) fn output_ranges(&mut self, name: &str, rows: &Value, width: usize) {
        for (operator, end) in [("ReduceMin", MINIMA), ("ReduceMax", MAXIMA)] {
            let axis = self.integers(&[0]);
            let output = format!("{name}{end}");
            self.node(operator, &[rows, &axis], &[Setting::Int("keepdims", 0)], output.clone());
            let shape = vec![Extent::Value(int(width))];
            self.graph.output.push(value_info(&output, proto::FLOAT, shape));
        }
    }

    /// Makes `value` the graph's output under `name`: 32-bit floats, `[batch, sequence, dimensions]`.
    pub(super) fn output(&mut self, name: &str, value: &Value, dimensions: usize) {
        self.node("Identity", &[value], &[], name.to_owned());
        let shape = vec![named("batch"), named("sequence"), Extent::Value(int(dimensions))];
        self.graph.output.push(value_info(name, proto::FLOAT, shape));
    }

    /// Makes `value` the graph's output under `name`: 32-bit floats, `[batch, classes]`.
    #[cfg(test)]
    pub(crate) fn scores(&mut self, name: &str, value: &Value, classes: usize) {
        self.node("Identity", &[value], &[], name.to_owned());
        self.graph.output.push(value_info(name, proto::FLOAT, vec![named("batch"), Extent::Value(int(classes))]));
    }

    /// The bytes of the file. The same graph gives the same bytes.
    pub(crate) fn finish(mut self, name: &str, properties: &[(&str, &dyn Display)]) -> Vec<u8> {
        self.graph.name = Some(name.to_owned());
        let property = |(key, value): &(&str, &dyn Display)| Property {
            key: Some((*key).to_owned()),
            value: Some(value.to_string()),
        };
        let needs_runtime = self.graph.node.iter().any(|node| node.domain.is_some());
        let opsets = [("", OPSET)].into_iter().chain(needs_runtime.then_some(RUNTIME));
        let model = Model {
            ir_version: Some(IR_VERSION),
            producer_name: Some("memory-embed".to_owned()),
            graph: Some(self.graph),
            opset_import: opsets
                .map(|(domain, version)| Opset { domain: Some(domain.to_owned()), version: Some(version) })
                .collect(),
            metadata_props: properties.iter().map(property).collect(),
        };
        model.encode_to_vec()
    }

    fn node(&mut self, operator: &str, inputs: &[&Value], settings: &[Setting<'_>], output: String) -> Value {
        self.graph.node.push(Node {
            input: inputs.iter().map(|input| input.0.clone()).collect(),
            output: vec![output.clone()],
            name: Some(format!("node_{}", self.graph.node.len())),
            op_type: Some(operator.to_owned()),
            attribute: settings.iter().map(attribute).collect(),
            domain: None,
        });
        Value(output)
    }

    /// Adds a constant once for all its uses.
    fn constant(&mut self, name: &str, data_type: i32, dims: &[usize], bytes: &[u8]) -> Value {
        if let Some(value) = self.constants.get(name) {
            return value.clone();
        }
        let value = self.tensor(name, data_type, dims, bytes.to_vec());
        self.constants.insert(name.to_owned(), value.clone());
        value
    }

    fn tensor(&mut self, name: &str, data_type: i32, dims: &[usize], bytes: Vec<u8>) -> Value {
        self.graph.initializer.push(Tensor {
            dims: dims.iter().map(|dim| int(*dim)).collect(),
            data_type: Some(data_type),
            name: Some(name.to_owned()),
            raw_data: Some(bytes),
            ..Tensor::default()
        });
        Value(name.to_owned())
    }
}

/// A dimension as ONNX stores it. Sizes of data in memory always fit.
pub(super) fn int(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn named(name: &str) -> Extent {
    Extent::Param(name.to_owned())
}

fn attribute(setting: &Setting<'_>) -> Attribute {
    let named = |name: &str, r#type: AttributeType| Attribute {
        name: Some(name.to_owned()),
        r#type: Some(r#type as i32),
        ..Attribute::default()
    };
    match *setting {
        Setting::Int(name, value) => Attribute { i: Some(value), ..named(name, AttributeType::Int) },
        Setting::Ints(name, values) => Attribute { ints: values.to_vec(), ..named(name, AttributeType::Ints) },
        Setting::Float(name, value) => Attribute { f: Some(value), ..named(name, AttributeType::Float) },
    }
}

fn value_info(name: &str, elem_type: i32, shape: Vec<Extent>) -> ValueInfo {
    let dim = shape.into_iter().map(|extent| Dimension { value: Some(extent) }).collect();
    let tensor_type = Some(TensorType { elem_type: Some(elem_type), shape: Some(Shape { dim }) });
    ValueInfo { name: Some(name.to_owned()), r#type: Some(Type { tensor_type }) }
}
