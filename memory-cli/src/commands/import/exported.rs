//! Imports files of `memory export`, and verifies the result.

use std::{io, path::Path};

use memory::parts::Parts;
use memory_core::{ConversationId, port::Verification};
use memory_embed::TiktokenCounter;
use memory_store::{ExchangeError, ExportFile, ImportedExport, ReadLimits};

use super::{KindFigures, Row};
use crate::{
    commands::verify,
    failure::Damage,
    import::is_pipe,
    news::{self, News},
    output::{Output, counted, grouped},
};

/// Result of importing a file.
pub(super) struct Restored {
    file: String,
    imported: ImportedExport,
    verification: Verification,
    pub(super) news: Vec<News>,
}

/// Reads a file, or standard input for `-`, and checks all of it.
pub(super) fn read(file: &Path, limits: ReadLimits) -> Result<ExportFile, ExchangeError> {
    if is_pipe(file) {
        return ExportFile::spool("standard input", &mut io::stdin().lock(), limits);
    }
    ExportFile::open(file, limits)
}

/// Imports a file into the store, embeds it, and reads all of it again.
pub(super) async fn import(
    runtime: &Parts,
    file: &mut ExportFile,
    name: Option<&ConversationId>,
    embed: bool,
    output: Output,
) -> anyhow::Result<Restored> {
    let bar = output.bar("importing");
    let imported = memory_store::import(&*runtime.store, file, name, Some(&TiktokenCounter::cl100k()), &bar).await?;
    bar.finish();
    let mut news = Vec::new();
    if imported.nodes + imported.notes == 0
        && runtime.store.conversations().await?.iter().all(|one| one.id != imported.conversation)
    {
        // A salvage writes such a file for a conversation that has lost all its messages.
        news.push(News::nothing_to_import(file.name()));
        let verification = Verification::of(Vec::new(), Vec::new());
        return Ok(Restored { file: file.name().to_owned(), imported, verification, news });
    }
    if imported.orphaned_summaries > 0 {
        news.push(News::summaries_left_out(imported.orphaned_summaries, file.name()));
    }
    if embed {
        let bar = output.bar("embedding");
        let indexed = runtime.memory.conversation(imported.conversation.clone()).index_with(&bar).await?;
        news.extend(news::of(indexed.notices));
        bar.finish();
    }
    let verification = runtime.store.verify(Some(&imported.conversation)).await?;
    if verification.nodes > imported.nodes {
        let messages = verification.nodes - imported.nodes;
        news.push(News::longer_than_file(&imported.conversation, messages));
    }
    // A conversation with more messages has another root; its beginning was compared with the file's messages.
    // So has one whose messages became notes.
    let has_root = verification.nodes == imported.nodes && imported.nodes == file.nodes();
    let is_whole = verification.is_whole() && (!has_root || verification.root == file.root());
    if !is_whole {
        return Err(Damage(format!(
            "`{}` was imported, and: {}",
            imported.conversation,
            verify::last_line(&verification)
        ))
        .into());
    }
    Ok(Restored { file: file.name().to_owned(), imported, verification, news })
}

impl Restored {
    pub(super) fn conversation(&self) -> &ConversationId {
        &self.imported.conversation
    }

    pub(super) fn row(&self) -> Row<'_> {
        let Self { imported, verification, .. } = self;
        Row {
            conversation: &imported.conversation,
            read: imported.nodes,
            new: imported.new_nodes,
            refused: 0,
            archived: false,
            nodes: verification.nodes,
            summaries: imported.summaries,
            new_summaries: imported.new_summaries,
            rest: KindFigures::Export {
                verified: verification.verified,
                orphaned_summaries: imported.orphaned_summaries,
                notes: imported.notes,
                new_notes: imported.new_notes,
                root: verification.root,
            },
        }
    }
}

pub(super) fn print(output: Output, restored: &Restored) -> io::Result<()> {
    let Restored { file, imported, verification, .. } = restored;
    output.line(&format!(
        "imported `{}` from {file}: {}, {} of them new; {}, {} of them new",
        imported.conversation,
        counted(imported.nodes, "message", "messages"),
        grouped(imported.new_nodes),
        counted(imported.summaries, "summary", "summaries"),
        grouped(imported.new_summaries)
    ))?;
    if imported.notes > 0 {
        let notes = counted(imported.notes, "note", "notes");
        output.line(&format!("  {notes}, {} of them new", grouped(imported.new_notes)))?;
    }
    output.line(&verify::last_line(verification))
}
