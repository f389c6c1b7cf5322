//! `memory add`: adds documents, which search and contexts recall from.

use std::{
    io::{self, Read as _},
    path::PathBuf,
    time::Duration,
};

use anyhow::Context as _;
use clap::Args as ClapArgs;
use memory_capture::{AddedDocument, Capture, Document, DocumentKind, Extractor, extract};
use memory_core::ConversationId;
use rustix::process::{Resource, Rlimit, setrlimit};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Access, globals::Globals, open, output::grouped, terminal};

/// Most bytes of memory that reading one file may take.
const MEMORY: u64 = 2 << 30;
/// Most seconds of a processor that it may take.
const SECONDS: u64 = 30;

/// Adds documents: text, Markdown, HTML or PDF, in chunks that recall and search find, cited by name and page.
///
/// A document is a conversation of its own, named after its file: `memory erase -c ID --all` erases it, `memory list
/// --documents` lists them. Added again it stays as it is; with another text it takes the place of the earlier one, which
/// is disabled. HTML and PDF are read in a process of its own, within 30 s and 2 GiB.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

/// Documents that were added.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer {
    documents: Vec<Added>,
}

/// A document.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Added {
    /// Name of the document.
    name: String,
    /// Its conversation.
    conversation: ConversationId,
    /// Number of pages with text.
    pages: u64,
    /// Number of chunks, each of which is a message.
    chunks: u64,
    /// Number of chunks that were not there before.
    new: u64,
    /// Conversation of an earlier text of the same name, which is disabled now.
    replaces: Option<ConversationId>,
    /// Number of chunks that were embedded now.
    embedded: u64,
}

impl Added {
    pub(super) fn of(name: String, pages: u64, added: AddedDocument, embedded: u64) -> Self {
        let AddedDocument { conversation, chunks, new, replaces, .. } = added;
        Self { name, conversation, pages, chunks, new, replaces, embedded }
    }

    pub(super) const fn conversation(&self) -> &ConversationId {
        &self.conversation
    }
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let program = std::env::current_exe().context("this program is not found")?;
    let extractor = Extractor::new(program, vec![EXTRACT.into()]).most(Duration::from_secs(SECONDS + 5));
    // All files are read first, so that an unreadable one leaves nothing half done.
    let read = args.files.iter().map(|file| Document::read(file, &extractor));
    let read = read.collect::<Result<Vec<_>, _>>()?;
    let config = globals.config(Access::Write)?;
    let runtime = open(&config)?;
    let capture = Capture::with_parts(runtime.clone(), &config);
    let output = globals.output;
    let mut documents = Vec::with_capacity(read.len());
    for document in read {
        let added = capture.add_document(&document).await?;
        if let Some(erased) = &added.after_erased {
            output.note(&format!("`{erased}` was erased: the file is added again, as `{}`", added.conversation));
        }
        let bar = output.bar("embedding");
        let embedded = runtime.memory.conversation(added.conversation.clone()).index_with(&bar).await?.embedded;
        bar.finish();
        documents.push(Added::of(document.name, document.pages.len() as u64, added, embedded));
    }
    let answer = Answer { documents };
    if output.json {
        return Ok(output.value(&answer)?);
    }
    output.table(["document", "conversation", "pages", "chunks", "new"], answer.documents.iter().map(row))?;
    for Added { conversation, replaces, .. } in &answer.documents {
        if let Some(before) = replaces {
            output.note(&format!("`{conversation}` takes the place of `{before}`, which is disabled"));
        }
    }
    Ok(())
}

fn row(added: &Added) -> [String; 5] {
    let Added { name, conversation, pages, chunks, new, .. } = added;
    [name.clone(), conversation.to_string(), grouped(*pages), grouped(*chunks), grouped(*new)]
}

/// First argument of the process that reads one file; no command for people.
pub(crate) const EXTRACT: &str = "extract-text";

/// Prints the text of the file of this kind on standard input, within limits that end the process.
pub(crate) fn extract_text(kind: &str) -> anyhow::Result<()> {
    let limit = |most| Rlimit { current: Some(most), maximum: Some(most) };
    setrlimit(Resource::As, limit(MEMORY)).context("memory cannot be limited")?;
    setrlimit(Resource::Cpu, limit(SECONDS)).context("time cannot be limited")?;
    let kind = DocumentKind::named(kind).context("no such kind")?;
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    let pages = extract(kind, &bytes).map_err(anyhow::Error::msg)?;
    // The libraries may have printed lines of their own before.
    Ok(terminal::exactly(format!("\n{}\n", serde_json::to_string(&pages)?).as_bytes())?)
}
