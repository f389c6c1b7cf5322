//! Imports what `memory export` wrote, and verifies it.

use std::{io, path::Path};

use memory_core::{ConversationId, Verification};
use memory_store::{ExchangeError, ExportFile, ImportedExport};
use serde_json::{Value, json};

use crate::{
    Runtime,
    commands::verify,
    failure::Damage,
    output::{Output, grouped},
};

/// Result of importing a file.
pub(super) struct Restored {
    file: String,
    imported: ImportedExport,
    verification: Verification,
    pub(super) notices: Vec<String>,
}

/// Reads a file, or standard input for `-`, and checks all of it.
pub(super) fn read(file: &Path) -> Result<ExportFile, ExchangeError> {
    if file == Path::new("-") {
        return ExportFile::spool("standard input", &mut io::stdin().lock());
    }
    ExportFile::open(file)
}

/// Imports a file into the store, embeds it, and reads all of it again.
pub(super) async fn import(
    runtime: &Runtime,
    file: &mut ExportFile,
    name: Option<&ConversationId>,
    embed: bool,
    output: Output,
) -> anyhow::Result<Restored> {
    let bar = output.bar("importing");
    let imported = memory_store::import(&*runtime.store, file, name, &bar).await?;
    bar.finish();
    let mut notices = Vec::new();
    if imported.nodes == 0 && runtime.store.conversations().await?.iter().all(|one| one.id != imported.conversation) {
        // Salvage writes such a file for a conversation that has lost all its messages.
        notices.push(format!("{} holds no message: there is nothing to import", file.name()));
        let verification = Verification::of(Vec::new(), Vec::new());
        return Ok(Restored { file: file.name().to_owned(), imported, verification, notices });
    }
    if imported.orphaned_summaries > 0 {
        notices.push(format!(
            "{} summaries of {} were left out: what they were made from was lost before the export",
            imported.orphaned_summaries,
            file.name()
        ));
    }
    if embed {
        let bar = output.bar("embedding");
        notices.extend(runtime.memory.conversation(imported.conversation.clone()).index(&bar).await?.notices);
        bar.finish();
    }
    let verification = runtime.store.verify(Some(&imported.conversation)).await?;
    if verification.nodes > imported.nodes {
        let more = verification.nodes - imported.nodes;
        notices.push(format!("`{}` goes on for {more} messages after those of the file", imported.conversation));
    }
    // A conversation with more messages has another root; its beginning was compared with the file's messages.
    let is_whole = verification.is_whole() && (verification.nodes > imported.nodes || verification.root == file.root());
    if !is_whole {
        return Err(Damage(format!(
            "`{}` was imported, and: {}",
            imported.conversation,
            verify::last_line(&verification)
        ))
        .into());
    }
    Ok(Restored { file: file.name().to_owned(), imported, verification, notices })
}

pub(super) fn to_json(restored: &Restored) -> Value {
    let Restored { imported, verification, .. } = restored;
    json!({
        "conversation": imported.conversation.as_str(),
        "read": imported.nodes,
        "new": imported.new_nodes,
        "nodes": verification.nodes,
        "verified": verification.verified,
        "summaries": imported.summaries,
        "new_summaries": imported.new_summaries,
        "orphaned_summaries": imported.orphaned_summaries,
        "root": verification.root.to_string(),
    })
}

pub(super) fn print(output: Output, restored: &Restored) -> io::Result<()> {
    let Restored { file, imported, verification, .. } = restored;
    output.line(&format!(
        "imported `{}` from {file}: {} messages, {} of them new; {} summaries, {} of them new",
        imported.conversation,
        grouped(imported.nodes),
        grouped(imported.new_nodes),
        grouped(imported.summaries),
        grouped(imported.new_summaries)
    ))?;
    output.line(&verify::last_line(verification))
}
