//! What tools, resources and prompts work with: the memory, the options, the notes.

use memory::{ConversationId, Documents, InvalidConversationId, Memory};
use tokio_util::sync::CancellationToken;

use crate::{
    Options,
    failure::Failure,
    page::{self, FRAME, PARTS, Part},
};

/// A memory with what a server offers of it. Cheap to clone; clones share everything.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    memory: Memory,
    options: Options,
    notes: Documents,
    /// Is cancelled when the client waits for an answer no more.
    cancelled: CancellationToken,
}

impl Context {
    pub(crate) fn new(memory: Memory, options: Options) -> Result<Self, InvalidConversationId> {
        let notes = memory.documents(ConversationId::of_notes(memory.config().owner.as_ref())?.as_str())?;
        Ok(Self { memory, options, notes, cancelled: CancellationToken::new() })
    }

    /// The same for a call that its client may cancel.
    pub(crate) fn until(&self, cancelled: CancellationToken) -> Self {
        Self { cancelled, ..self.clone() }
    }

    /// Ends when the client waits for an answer no more.
    pub(crate) async fn cancelled(&self) {
        self.cancelled.cancelled().await;
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    pub(crate) fn options(&self) -> Options {
        self.options
    }

    /// The documents of models.
    pub(crate) fn notes(&self) -> &Documents {
        &self.notes
    }

    /// The part of a text that a cursor names, or its first, which fits a bound with the lines around it. `whole` is called
    /// `what` where it does not go on there.
    pub(crate) fn part(
        &self,
        whole: &str,
        what: impl FnOnce() -> String,
        cursor: Option<&str>,
        max_tokens: Option<u32>,
    ) -> Result<Part, Failure> {
        let offset = PARTS.begin(cursor)?.unwrap_or_default();
        let rest = usize::try_from(offset).ok().and_then(|offset| whole.get(offset..));
        let rest = rest.ok_or_else(|| Failure(format!("{} does not go on there", what())))?;
        let text = self.beginning(rest, PARTS.most(max_tokens).saturating_sub(FRAME));
        let next_cursor = (text.len() < rest.len()).then(|| PARTS.cursor(offset + text.len() as u64));
        Ok(Part { offset, text, next_cursor })
    }

    /// The beginning of a text, of at most `most` tokens as text and as JSON; at least one character.
    pub(crate) fn beginning(&self, text: &str, most: u32) -> String {
        let mut text = text.to_owned();
        loop {
            // JSON escapes what text shows as it is.
            let json = serde_json::to_string(&text).unwrap_or_default();
            let shown = self.memory.count_tokens(&memory::quoted(&text));
            let tokens = shown.max(self.memory.count_tokens(&json));
            let chars = text.chars().count() as u64;
            if tokens <= most || chars <= 1 {
                return text;
            }
            let part = (chars * u64::from(most) / u64::from(tokens)).clamp(1, chars - 1);
            page::keep(&mut text, usize::try_from(part).unwrap_or(usize::MAX));
        }
    }
}
