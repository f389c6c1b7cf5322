//! The scratchpad: one text of the model's own, to read, set and append to.

use memory::{
    DocumentsNow, NoteChange,
    text::{fenced, quoted},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    failure::Failure,
    page::TextPart,
    shown,
    tool::{Answer, Kind, Tool},
    tools::Tools,
};

/// Name of the document.
const NAME: &str = "scratchpad";
/// Most bytes of the text.
const MOST: usize = 64 << 10;

pub(crate) struct Read;
pub(crate) struct Set;
pub(crate) struct Append;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadInput {
    /// next_cursor of the page before
    cursor: Option<String>,
    #[schemars(range(min = 200, max = 50_000))]
    max_tokens: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteInput {
    text: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ReadOutput {
    /// The text, or the part from the cursor on
    text: String,
    /// Bytes of the whole text
    bytes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    written_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct WriteOutput {
    /// Bytes of the whole text now
    bytes: usize,
}

impl Tool for Read {
    const NAME: &'static str = "scratchpad_read";
    const TITLE: &'static str = "Read the scratchpad";
    const ABOUT: &'static str = "Read your scratchpad: notes that you keep across conversations.";
    type Input = ReadInput;
    type Output = ReadOutput;

    async fn run(tools: &Tools, input: ReadInput) -> Result<ReadOutput, Failure> {
        let document = tools.notes().look(|now| now.get(NAME).cloned()).await?;
        let (whole, at) = document.map_or_else(Default::default, |document| (document.text, Some(document.at)));
        let called = || "the scratchpad was changed, and".to_owned();
        let part = tools.part(&whole, called, input.cursor.as_deref(), input.max_tokens)?;
        let (bytes, TextPart { text, next_cursor, .. }) = (whole.len(), part);
        Ok(ReadOutput { text, bytes, written_at: at.and_then(shown::known), next_cursor })
    }
}

impl Answer for ReadOutput {
    fn text(&self) -> String {
        if self.bytes == 0 {
            return "The scratchpad is empty.".to_owned();
        }
        let at = self.written_at.as_ref().map(|at| format!(", written {at}")).unwrap_or_default();
        let lead = format!("The scratchpad, {} bytes{at}:\n{}", self.bytes, fenced(&quoted(&self.text)));
        [Some(lead), shown::more(self.next_cursor.as_ref())].into_iter().flatten().collect::<Vec<_>>().join("\n")
    }
}

/// A change after which the scratchpad has `bytes` bytes; a failure if that is too many.
fn checked(bytes: usize, change: NoteChange) -> Result<(NoteChange, WriteOutput), Failure> {
    if bytes > MOST {
        return Err(Failure(format!("the scratchpad takes at most {MOST} bytes, and these are {bytes}: shorten it")));
    }
    Ok((change, WriteOutput { bytes }))
}

impl Tool for Set {
    const NAME: &'static str = "scratchpad_set";
    const TITLE: &'static str = "Set the scratchpad";
    const ABOUT: &'static str = "Replace the whole text of your scratchpad.";
    const MORE: &'static str = "Earlier texts stay in the log.";
    const KIND: Kind = Kind::Replaces;
    type Input = WriteInput;
    type Output = WriteOutput;

    async fn run(tools: &Tools, input: WriteInput) -> Result<WriteOutput, Failure> {
        let decide = move |_: DocumentsNow<'_>| {
            let text = input.text.clone();
            checked(text.len(), NoteChange::Write { name: NAME.to_owned(), text })
        };
        tools.notes().change(decide).await?
    }
}

impl Tool for Append {
    const NAME: &'static str = "scratchpad_append";
    const TITLE: &'static str = "Append to the scratchpad";
    const ABOUT: &'static str = "Add a line at the end of your scratchpad.";
    const KIND: Kind = Kind::Adds;
    type Input = WriteInput;
    type Output = WriteOutput;

    async fn run(tools: &Tools, input: WriteInput) -> Result<WriteOutput, Failure> {
        let decide = move |now: DocumentsNow<'_>| {
            let before = now.get(NAME).map_or("", |document| &document.text);
            let end = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
            let text = format!("{end}{}", input.text);
            checked(before.len() + text.len(), NoteChange::Append { name: NAME.to_owned(), text })
        };
        tools.notes().change(decide).await?
    }
}

impl Answer for WriteOutput {
    fn text(&self) -> String {
        format!("The scratchpad has {} bytes now.", self.bytes)
    }
}
