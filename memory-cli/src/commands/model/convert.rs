//! `memory model convert`: makes a model's graphs from its weights.

use clap::Args as ClapArgs;
use memory::models::source_of;
use memory_embed::{GateReport, ModelError};
use schemars::JsonSchema;
use serde::Serialize;

use super::prepare_loudly;
use crate::globals::Globals;

/// Makes a model's graphs from its weights.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The model: its name in the model store, or a directory with `config.json`, `tokenizer.json` and
    /// `model.safetensors`, as a path that begins with `.` or `/`
    model: String,
    /// Make them even if they exist
    #[arg(long)]
    force: bool,
}

/// A model with its graphs.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer {
    /// Directory of the graphs.
    directory: String,
    /// True if the graphs were made now.
    converted: bool,
    int8: Int8,
}

/// Similarity of the 8-bit graph to the other one, or the reason why there is none.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Int8 {
    Made {
        /// Mean cosine of the vectors.
        mean_cosine: f64,
        /// Least cosine of the vectors.
        least_cosine: f64,
        /// Number of compared texts.
        texts: usize,
    },
    Refused {
        /// Reason why there is no 8-bit graph.
        refused: String,
    },
}

impl Int8 {
    pub(super) fn of(gate: &Result<GateReport, ModelError>) -> Self {
        match gate {
            Ok(gate) => Self::Made { mean_cosine: gate.mean, least_cosine: gate.least, texts: gate.texts },
            Err(refused) => Self::Refused { refused: refused.to_string() },
        }
    }
}

pub(super) fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let store = globals.models()?;
    let source = source_of(&args.model, &store);
    let output = globals.output;
    let prepared = prepare_loudly(&source, &store, args.force, output)?;
    let directory = source.directory(&store).join("onnx");
    if output.json {
        let int8 = Int8::of(&prepared.int8);
        let directory = directory.display().to_string();
        return Ok(output.value(&Answer { directory, converted: prepared.converted, int8 })?);
    }
    let did = if prepared.converted { "made" } else { "there already, and right" };
    output.line(&format!("fp32 graph: {did}"))?;
    match &prepared.int8 {
        Ok(gate) => output.line(&format!(
            "int8 graph: {did}; cosine to fp32 {:.4} in the mean of {} texts, {:.4} at worst",
            gate.mean, gate.texts, gate.least
        ))?,
        Err(refused) => output.line(&format!("int8 graph: {refused}"))?,
    }
    Ok(output.line(&format!("the graphs are in {}", directory.display()))?)
}
