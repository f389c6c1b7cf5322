//! `memory model migrate`: embeds a store's messages again with another model.

use std::sync::Arc;

use anyhow::{bail, ensure};
use clap::Args as ClapArgs;
use memory::{
    models::{self, ModelRecord, from_anywhere},
    parts::{assemble, open_log},
};
use memory_core::port::{Source, Store, VectorIndex};
use memory_store::{AutoIndex, AutoOptions, forget_other_models};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Access, globals::Globals, news, output::grouped};

/// Embeds a store's messages again with another model.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The model: its name in the model store, or its directory, as a path that begins with `.` or `/`
    model: String,
}

/// A store whose messages were embedded again.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer<'a> {
    /// Id of the store's model now.
    model: &'a str,
    /// Number of components of a vector.
    dimensions: usize,
    /// Number of messages that were embedded now.
    embedded: u64,
}

/// Embeds everything with the new model and then makes it the store's model. Until then, and after an interruption, the
/// old vectors are used. Messages with a vector of the new model are not embedded again.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let config = globals.config(Access::Existing)?;
    let store = Arc::new(open_log(&config)?);
    if !store.may_write() {
        bail!("the store is read-only");
    }
    let name = from_anywhere(&args.model);
    let embedder = models::load(&config, &name)?;
    let new = ModelRecord::of(&name, &*embedder);
    let _lease = Store::lease(&*store).await?;

    let runtime = assemble(&config, Arc::clone(&store), Some(Arc::clone(&embedder)))?;
    let output = globals.output;
    let conversations = store.conversations().await?;
    let mut embedded = 0;
    for conversation in &conversations {
        let bar = output.bar("embedding");
        let report = runtime.memory.conversation(conversation.id.clone()).index_with(&bar).await?;
        bar.finish();
        news::print(output, &news::of(report.notices));
        embedded += report.embedded;
    }
    let index = AutoIndex::beside(&store, embedder.model().clone(), embedder.dimensions(), AutoOptions::default());
    for conversation in &conversations {
        let through = index.stats(&conversation.id).through;
        let (id, nodes) = (&conversation.id, conversation.nodes);
        ensure!(through >= nodes, "{id} is embedded up to message {through} of {nodes} only; the old model stays");
    }
    new.write(&config.store)?;
    // Removes also the vectors of an abandoned migration, and of one that was interrupted at this point.
    forget_other_models(&store, embedder.model())?;
    if output.json {
        return Ok(output.value(&Answer { model: &new.id, dimensions: new.dimensions, embedded })?);
    }
    Ok(output.line(&format!("{} messages embedded; the store's model is {}", grouped(embedded), new.id))?)
}
