//! Parts of a message: those of a model's turn, and a user's attachments.

use crate::{ContentBlock, Json, Media, Message, Node};

/// The parts of a turn of the model, as a view of the blocks that hold them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct AiComponents<'a> {
    /// Texts of the model, in order.
    pub text: Vec<&'a str>,
    /// Reasoning of the model, in order.
    pub reasoning: Vec<&'a str>,
    /// The tools that it called, in order.
    pub calls: Vec<ToolCall<'a>>,
    /// Results of the tools, in order.
    pub results: Vec<ToolAnswer<'a>>,
    /// Results of the tools that failed, in order.
    pub errors: Vec<ToolAnswer<'a>>,
}

/// A call of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct ToolCall<'a> {
    /// The call's id, which its result repeats.
    pub id: &'a str,
    /// The tool.
    pub name: &'a str,
    /// Its arguments.
    pub input: &'a Json,
}

/// Result of a tool for a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct ToolAnswer<'a> {
    /// The id of the call.
    pub id: &'a str,
    /// The result as text.
    pub text: String,
    /// The later message with it; `None` for the message itself.
    pub node: Option<crate::NodeId>,
    /// The result as blocks.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub content: &'a [ContentBlock],
}

/// A file that came with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attachment<'a> {
    /// Picture or document.
    pub kind: AttachmentKind,
    /// Title or file name, if any.
    pub title: Option<&'a str>,
    /// The file or its address.
    pub media: &'a Media,
}

/// The kind of an attachment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum AttachmentKind {
    /// A picture.
    Image,
    /// A document.
    Document,
}

impl AttachmentKind {
    /// `image` or `document`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Document => "document",
        }
    }
}

impl Attachment<'_> {
    /// The IANA media type; `None` for an attachment at an address.
    #[must_use]
    pub fn media_type(&self) -> Option<&str> {
        match self.media {
            Media::Url(_) => None,
            Media::Text { media_type, .. } | Media::Bytes { media_type, .. } => Some(media_type),
        }
    }

    /// Size in bytes; `None` for an attachment at an address.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        match self.media {
            Media::Url(_) => None,
            Media::Text { text, .. } => Some(text.len() as u64),
            Media::Bytes { data, .. } => Some(data.len() as u64),
        }
    }

    /// The address, if stored elsewhere.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        match self.media {
            Media::Url(url) => Some(url),
            Media::Text { .. } | Media::Bytes { .. } => None,
        }
    }
}

impl<'a> AiComponents<'a> {
    /// The parts of a message.
    #[must_use]
    pub fn of(message: &'a Message) -> Self {
        let mut parts = Self::default();
        for block in &message.content {
            match block {
                ContentBlock::Text(text) => parts.text.push(text),
                ContentBlock::Reasoning { text, .. } => parts.reasoning.push(text),
                ContentBlock::ToolUse { id, name, input } => parts.calls.push(ToolCall { id, name, input }),
                ContentBlock::ToolResult { .. } => parts.add(block, None),
                ContentBlock::Image(_) | ContentBlock::Document { .. } | ContentBlock::Unknown(_) => {}
            }
        }
        parts
    }

    /// Adds the results of the calls in a later message. Results of other calls are left out.
    #[must_use]
    pub fn answered_by(mut self, later: &'a Node) -> Self {
        for block in &later.message.content {
            if let ContentBlock::ToolResult { tool_use_id, .. } = block
                && self.calls.iter().any(|call| call.id == tool_use_id)
            {
                self.add(block, Some(later.id));
            }
        }
        self
    }

    fn add(&mut self, block: &'a ContentBlock, node: Option<crate::NodeId>) {
        let ContentBlock::ToolResult { tool_use_id, content, is_error } = block else { return };
        let text =
            content.iter().map(ContentBlock::text).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
        let answer = ToolAnswer { id: tool_use_id, text, node, content };
        if *is_error { self.errors.push(answer) } else { self.results.push(answer) }
    }
}

impl Message {
    /// Pictures and documents of the message, in order, without those in a tool's results.
    pub fn attachments(&self) -> impl Iterator<Item = Attachment<'_>> {
        self.content.iter().filter_map(|block| match block {
            ContentBlock::Image(media) => Some(Attachment { kind: AttachmentKind::Image, title: None, media }),
            ContentBlock::Document { title, media } => {
                Some(Attachment { kind: AttachmentKind::Document, title: title.as_deref(), media })
            }
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NodeId, Role, Timestamp};

    fn result(id: &str, text: &str, is_error: bool) -> ContentBlock {
        ContentBlock::ToolResult {
            tool_use_id: id.to_owned(),
            content: vec![ContentBlock::Text(text.to_owned())],
            is_error,
        }
    }

    #[test]
    fn a_turn_of_the_model_is_text_calls_results_and_errors() {
        let call = |id: &str| ContentBlock::ToolUse {
            id: id.to_owned(),
            name: "read".into(),
            input: Json::new("{\"path\":\"a\"}").unwrap(),
        };
        let said = ContentBlock::Text("I look at both.".into());
        let message = Message::new(Role::Assistant, vec![said, call("a"), call("b")]);
        let answer = Message::new(
            Role::User,
            vec![result("a", "41 rows", false), result("b", "no such file", true), result("other", "x", false)],
        );
        let later = Node::new(NodeId::new(2).unwrap(), answer, Timestamp::default());
        let parts = AiComponents::of(&message).answered_by(&later);
        assert_eq!((parts.text.as_slice(), parts.calls.len()), (&["I look at both."][..], 2));
        let texts = |answers: &[ToolAnswer<'_>]| {
            answers.iter().map(|answer| (answer.id.to_owned(), answer.text.clone())).collect::<Vec<_>>()
        };
        assert_eq!(texts(&parts.results), [("a".to_owned(), "41 rows".to_owned())]);
        assert_eq!(texts(&parts.errors), [("b".to_owned(), "no such file".to_owned())]);
        assert!(parts.errors.iter().all(|error| error.node == Some(later.id)));
    }

    #[test]
    fn what_a_user_attached_is_named_with_its_size_and_place() {
        let picture = Media::Bytes { media_type: "image/png".into(), data: vec![0; 7].into() };
        let report = Media::Url("https://example.com/report.pdf".into());
        let message = Message::new(
            Role::User,
            vec![
                ContentBlock::Text("Both files.".into()),
                ContentBlock::Image(picture),
                ContentBlock::Document { title: Some("Report".into()), media: report },
            ],
        );
        let found: Vec<_> = message.attachments().collect();
        let facts =
            found.iter().map(|file| (file.kind.as_str(), file.title, file.media_type(), file.bytes(), file.url()));
        assert_eq!(
            facts.collect::<Vec<_>>(),
            [
                ("image", None, Some("image/png"), Some(7), None),
                ("document", Some("Report"), None, None, Some("https://example.com/report.pdf")),
            ]
        );
    }
}
