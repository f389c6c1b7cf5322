//! Documents that are made of messages of a conversation.

use std::fmt::Write as _;

use memory::{
    ConversationId, NodeRange,
    answer::{MadeOf, SourceClass},
    port::StoreError,
};

use super::{AddedDocument, Document, Origin, Page};
use crate::{Capture, Error};

/// A document that was made of messages.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Noted {
    /// The document.
    pub document: AddedDocument,
    /// Name of the document.
    pub name: String,
    /// Number of messages whose words are in it.
    pub messages: u64,
    /// Number of messages that it leaves out: without text, disabled, erased, or kept out of summaries.
    pub left_out: u64,
}

impl Capture {
    /// Makes a document of messages, each with its speaker and day, so that recall in other conversations finds them. It
    /// goes with them: an erasure of one erases the document, and a quarantine covers it. It is trusted as little as the
    /// least trusted of them.
    ///
    /// # Errors
    /// [`Error::Nothing`] if no message of the run has text to show; otherwise as for [`Self::add_document`].
    pub async fn note_exchange(
        &self,
        conversation: &ConversationId,
        nodes: NodeRange,
        name: Option<&str>,
    ) -> Result<Noted, Error> {
        let name = name.map_or_else(|| format!("{conversation} {nodes}"), str::to_owned);
        let from = self.parts().memory.conversation(conversation.clone());
        let there = from.overview().await?.nodes;
        if nodes.last().get() > there {
            let (conversation, node) = (conversation.clone(), nodes.last());
            return Err(StoreError::UnknownNode { conversation, node, nodes: there }.into());
        }
        let read = from.whole_messages(nodes).await?;
        let (mut text, mut messages, mut class) = (String::new(), 0, SourceClass::Document);
        for node in read.iter().filter(|node| !node.is_hidden() && !node.message.keep_out_of_summaries) {
            let said = node.message.text();
            if said.trim().is_empty() {
                continue;
            }
            let day = node.at.civil(node.message.utc_offset().unwrap_or_default());
            let day = day.map(|day| format!(" ({})", day.date())).unwrap_or_default();
            // Writing to a string cannot fail.
            let _ = write!(text, "{}{day}: {}\n\n", node.message.speaker_or_role(), said.trim());
            class = class.min(SourceClass::of(&node.message));
            messages += 1;
        }
        if messages == 0 {
            return Err(Error::Nothing { conversation: conversation.clone(), nodes });
        }
        let document = Document { name: name.clone(), pages: vec![Page { number: None, text }] };
        let origin = Origin { class, made_of: Some(MadeOf::new(conversation.clone(), nodes)) };
        let document = self.add_document_of(&document, &origin).await?;
        Ok(Noted { document, name, messages, left_out: nodes.count() - messages })
    }
}
