//! Documents of a person, such as a handbook: each one is a conversation of its own, so that search, erasure, owners
//! and proofs work on it as on any other.

mod chunks;
mod exchange;
mod extract;
mod read;

use memory::{
    Conversation, ConversationId, Json, Mark, Message, MessageKey, NodeRange,
    answer::{MadeOf, SourceClass},
    parts::Parts,
};

pub use self::{
    exchange::Noted,
    extract::{DocumentKind, ExtractError, Extractor, extract},
    read::{Document, DocumentError, Page},
};
use crate::{Capture, Error};

/// Member of a chunk's metadata that names its document.
const NAME: &str = "document";
/// Member of a chunk's metadata with the number of its page.
const PAGE: &str = "page";
/// Most chunks that are appended at once.
const BATCH: usize = 256;
/// Most characters of the id of a document's conversation, before its number.
const LONGEST_ID: usize = 60;

/// A document that was added.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AddedDocument {
    /// Conversation of the document.
    pub conversation: ConversationId,
    /// Number of its chunks, each of which is a message.
    pub chunks: u64,
    /// Number of chunks that were not there before.
    pub new: u64,
    /// Conversation of an earlier text of the same name, whose messages are disabled now.
    pub replaces: Option<ConversationId>,
    /// Conversation that would have its name, and of which everything was erased.
    pub after_erased: Option<ConversationId>,
}

/// Source of a document.
struct Origin {
    class: SourceClass,
    /// Messages that the document was made of, if any.
    made_of: Option<MadeOf>,
}

impl Capture {
    /// Adds a document in chunks of about 1,200 characters, each below its headings and within its page. Recall and
    /// search find them, under the document's name and page. The same text is not added again; another text of the same
    /// name becomes a conversation of its own, and the messages of the earlier one are disabled.
    ///
    /// Rules, decisions and questions in a document have no speaker: no state, standing line or ledger has them.
    ///
    /// # Errors
    /// If the memory fails. Chunks that were appended stay, and another call continues after them.
    pub async fn add_document(&self, document: &Document) -> Result<AddedDocument, Error> {
        self.add_document_of(document, &Origin { class: SourceClass::Document, made_of: None }).await
    }

    async fn add_document_of(&self, document: &Document, origin: &Origin) -> Result<AddedDocument, Error> {
        let parts = self.parts();
        let chunks = chunks::chunks(document);
        let messages: Vec<Message> =
            (1..).zip(&chunks).map(|(number, chunk)| message(document, origin, number, chunk)).collect();
        let Place { conversation, there, before, erased } = place(parts, document, &messages).await?;
        let mut added = AddedDocument {
            conversation: conversation.id().clone(),
            chunks: messages.len() as u64,
            new: 0,
            replaces: None,
            after_erased: erased,
        };
        let rest = messages.get(usize::try_from(there).unwrap_or(usize::MAX)..).unwrap_or_default();
        for batch in rest.chunks(BATCH) {
            let at = parts.memory.clock().now();
            let appended =
                conversation.append_batch(batch.iter().map(|message| (message.clone(), at)).collect()).await?;
            added.new += appended.iter().filter(|appended| appended.is_new).count() as u64;
        }
        conversation.mark(Mark::Document, true).await?;
        if conversation.overview().await?.own_title() != Some(document.name.as_str()) {
            conversation.set_title(&document.name).await?;
        }
        if let Some(before) = before
            && let Some(all) = NodeRange::first_n(before.overview().await?.nodes)
        {
            let disabled = before.disable(vec![all], &format!("replaced by {}", conversation.id())).await?;
            added.replaces = (!disabled.nodes.is_empty()).then(|| before.id().clone());
        }
        Ok(added)
    }
}

fn message(document: &Document, origin: &Origin, number: u64, chunk: &chunks::Chunk) -> Message {
    let page = chunk.page.map(|page| format!(", page {page}")).unwrap_or_default();
    let mut message = Message::user(chunk.text.as_str()).speaker(format!("{}{page}", document.name));
    let mut add = |name: &str, value: String| drop(message.metadata.insert(name.to_owned(), Json::string(&value)));
    add(SourceClass::MEMBER, origin.class.to_string());
    origin.made_of.iter().for_each(|of| add(MadeOf::MEMBER, of.to_string()));
    add(NAME, document.name.clone());
    chunk.page.into_iter().for_each(|page| add(PAGE, page.to_string()));
    message.key = MessageKey::new(&format!("chunk {number}")).ok();
    message
}

/// Place of a document.
struct Place {
    conversation: Conversation,
    /// Number of messages that it has already.
    there: u64,
    /// Conversation of an earlier text.
    before: Option<Conversation>,
    /// Conversation of the name, of which everything was erased.
    erased: Option<ConversationId>,
}

async fn place(parts: &Parts, document: &Document, messages: &[Message]) -> Result<Place, Error> {
    let name = slug(&document.name);
    let (mut before, mut erased) = (None, None);
    for number in 1_u64.. {
        let id = if number == 1 { name.clone() } else { format!("{name}-{number}") };
        let Ok(id) = ConversationId::new(&id) else { break };
        let conversation = parts.memory.conversation(id);
        let there = match conversation.overview().await {
            Ok(state) if state.erased > 0 && state.erased == state.nodes => {
                erased.get_or_insert(state.id);
                continue;
            }
            Ok(state) => state.nodes,
            Err(error) if error.is_not_found() => return Ok(Place { conversation, there: 0, before, erased }),
            Err(error) => return Err(error.into()),
        };
        match is_same(&conversation, there, messages).await? {
            Same::All => return Ok(Place { conversation, there, before, erased: None }),
            Same::Name => before = Some(conversation),
            Same::Nothing => {}
        }
    }
    Err(Error::Unnamed)
}

/// The part of a document that a conversation has.
enum Same {
    /// Its first messages or all, and nothing else.
    All,
    /// Another text of its name.
    Name,
    Nothing,
}

async fn is_same(conversation: &Conversation, there: u64, messages: &[Message]) -> Result<Same, Error> {
    let Some(all) = NodeRange::first_n(there) else { return Ok(Same::All) };
    let read = conversation.whole_messages(all).await?;
    let name_of = |message: &Message| message.metadata.get(NAME).map(|name| name.as_str().to_owned());
    let (Some(first), Some(wanted)) = (read.first(), messages.first()) else { return Ok(Same::Nothing) };
    if name_of(&first.message).is_none() || name_of(&first.message) != name_of(wanted) {
        return Ok(Same::Nothing);
    }
    let is_all = read.len() <= messages.len()
        && read.iter().zip(messages).all(|(node, message)| !node.is_hidden() && node.message.text() == message.text());
    Ok(if is_all { Same::All } else { Same::Name })
}

/// The name of a document as the beginning of an id: letters and digits in lower case, joined by hyphens.
fn slug(name: &str) -> String {
    let mut out = String::new();
    for part in name.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()) {
        if !out.is_empty() {
            out.push('-');
        }
        out.extend(part.chars().flat_map(char::to_lowercase));
    }
    let cut: String = out.chars().take(LONGEST_ID).collect();
    let cut = cut.trim_end_matches('-');
    if cut.is_empty() { "document".to_owned() } else { cut.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_becomes_an_id() {
        for (name, id) in [
            ("Handbook (v2).pdf", "handbook-v2-pdf"),
            ("Übersicht.md", "übersicht-md"),
            ("…", "document"),
            ("a--b", "a-b"),
        ] {
            assert_eq!(slug(name), id);
            assert!(ConversationId::new(&slug(name)).is_ok(), "{name}");
        }
    }
}
