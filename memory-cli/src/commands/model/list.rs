//! `memory model list`: which models there are, what they cost, and which are here.

use clap::Args as ClapArgs;
use memory_embed::{Backend, ModelError, ModelSource, ModelStore, PINNED_MODELS, PinnedModel, Precision};
use serde_json::{Value, json};

use crate::{
    cli::Globals,
    output::{grouped, table},
};

/// Which models there are, what they cost, and which are here.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {}

/// How models compare in speed, as `cargo xtask bench embed` measures it; `memory model test` says how fast one is here.
const fn usual_speed(backend: Backend, precision: Precision) -> &'static str {
    match (backend, precision) {
        (Backend::Static, _) => "fastest",
        (_, Precision::Full) => "slow",
        (_, Precision::Int8) => "fast",
    }
}

struct Row {
    name: String,
    model: &'static PinnedModel,
    bytes: u64,
    speed: &'static str,
    state: String,
}

pub(super) fn run(_: &Args, globals: &Globals) -> anyhow::Result<()> {
    let store = ModelStore::discover(None)?;
    let rows: Vec<Row> = PINNED_MODELS.iter().flat_map(|model| rows(model, &store)).collect();
    let output = globals.output;
    if output.json {
        let models: Vec<Value> = rows
            .iter()
            .map(|row| {
                json!({
                    "name": row.name, "dimensions": row.model.dimensions, "max_tokens": row.model.max_tokens,
                    "download_bytes": row.bytes, "speed": row.speed, "licence": row.model.licence, "state": row.state,
                })
            })
            .collect();
        return Ok(output.value(&json!({"directory": store.root(), "models": models}))?);
    }
    let lines = rows.iter().map(|row| {
        [
            row.name.clone(),
            row.model.dimensions.to_string(),
            if row.model.max_tokens == 0 { "any".to_owned() } else { row.model.max_tokens.to_string() },
            format!("{} MB", grouped(row.bytes / 1_000_000)),
            row.speed.to_owned(),
            row.model.licence.to_owned(),
            row.state.clone(),
        ]
    });
    let header = ["model", "dimensions", "tokens", "download", "speed", "licence", "state"];
    output.line(&table(header, lines).to_string())?;
    Ok(output.line(&format!("models are kept in {}", store.root().display()))?)
}

fn rows(model: &'static PinnedModel, store: &ModelStore) -> Vec<Row> {
    let bytes = model.packages.iter().map(|package| package.size).sum();
    let row = |name: String, precision, state| Row {
        name,
        model,
        bytes,
        speed: usual_speed(model.backend, precision),
        state,
    };
    match model.backend {
        Backend::Onnx => [Precision::Int8, Precision::Full]
            .map(|precision| {
                let state = store.locate_with(model.name, precision).map(drop);
                row(format!("{}/{}", model.name, precision.name()), precision, describe(state))
            })
            .into(),
        _ => {
            let Ok(source) = model.name.parse::<ModelSource>();
            let weights = source.directory(store).join("model.safetensors");
            let state = if weights.is_file() { "here".to_owned() } else { "not here".to_owned() };
            vec![row(model.name.to_owned(), Precision::Full, state)]
        }
    }
}

fn describe(state: Result<(), ModelError>) -> String {
    match state {
        Ok(()) => "here".to_owned(),
        Err(ModelError::Missing { .. }) => "not here".to_owned(),
        Err(other) => other.to_string(),
    }
}
