//! `memory model convert`: makes a model's graphs from its weights.

use clap::Args as ClapArgs;
use memory::models::source_of;
use serde_json::json;

use super::prepare_loudly;
use crate::{globals::Globals, output::decimal};

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

pub(super) fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let store = globals.models()?;
    let source = source_of(&args.model, &store);
    let output = globals.output;
    let prepared = prepare_loudly(&source, &store, args.force, output)?;
    let directory = source.directory(&store).join("onnx");
    if output.json {
        let int8 = match &prepared.int8 {
            Ok(gate) => {
                json!({"mean_cosine": decimal(gate.mean), "least_cosine": decimal(gate.least), "texts": gate.texts})
            }
            Err(refused) => json!({"refused": refused.to_string()}),
        };
        let value = json!({"directory": directory, "converted": prepared.converted, "int8": int8});
        return Ok(output.value(&value)?);
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
