//! The model that said a message, and the blocks that may be sent to a model.

use crate::{ContentBlock, Json, Message};

impl Message {
    /// The metadata member with the provider's name of the model that said the message: a string.
    pub const MODEL: &'static str = "model";

    /// The model that said the message, if known.
    #[must_use]
    pub fn model(&self) -> Option<String> {
        let model = self.metadata.get(Self::MODEL)?.to_value();
        model.as_str().map(str::trim).filter(|model| !model.is_empty()).map(str::to_owned)
    }

    /// The same message with the model that said it.
    #[must_use]
    pub fn spoken_by(mut self, model: &str) -> Self {
        self.metadata.insert(Self::MODEL.to_owned(), Json::string(model));
        self
    }

    /// The blocks that may be sent to `model`; `None` means an unknown model.
    ///
    /// Signed or encrypted reasoning is useful only to the model that wrote it. Providers refuse such reasoning of
    /// another model, and signed reasoning without its signature. So these blocks are left out for any model that is
    /// not known to be the same. Reasoning without a signature is text and stays.
    #[must_use]
    pub fn content_for(&self, model: Option<&str>) -> Vec<ContentBlock> {
        let is_same = model.is_some_and(|model| self.model().as_deref() == Some(model));
        self.content.iter().filter(|block| is_same || !is_of_one_model(block)).cloned().collect()
    }
}

/// True if only the model that wrote a block can read it.
fn is_of_one_model(block: &ContentBlock) -> bool {
    match block {
        ContentBlock::Reasoning { signature, .. } => signature.is_some(),
        ContentBlock::Unknown(json) => {
            let value = json.to_value();
            let kind = value.get("type").and_then(|kind| kind.as_str()).unwrap_or_default();
            let has = |member| value.get(member).is_some();
            matches!(kind, "redacted_thinking" | "compaction")
                || (kind == "thinking" && has("signature"))
                || has("reasoningContent")
                || has("reasoning_details")
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Role;

    fn reasoning(signature: Option<&str>) -> ContentBlock {
        ContentBlock::Reasoning { text: "Let me see.".into(), signature: signature.map(str::to_owned) }
    }

    #[test]
    fn a_signature_goes_to_the_model_that_wrote_it_alone() {
        let redacted = ContentBlock::Unknown(Json::new(r#"{"type":"redacted_thinking","data":"x"}"#).unwrap());
        let said = ContentBlock::Text("At 7:42.".into());
        let blocks = vec![reasoning(Some("sig")), redacted, reasoning(None), said.clone()];
        let message = Message::new(Role::Assistant, blocks.clone()).spoken_by("one");
        assert_eq!(message.content_for(Some("one")), blocks);
        for other in [Some("two"), None] {
            assert_eq!(message.content_for(other), [reasoning(None), said.clone()], "{other:?}");
        }
    }

    #[test]
    fn where_the_model_is_not_recorded_no_signature_is_sent_to_any() {
        let message = Message::new(Role::Assistant, vec![reasoning(Some("sig"))]);
        assert_eq!(message.model(), None);
        assert!(message.content_for(Some("one")).is_empty());
    }

    #[test]
    fn a_model_is_part_of_what_was_said() {
        let message = Message::assistant("Hi.").spoken_by("one \"two\"");
        assert_eq!(message.model().as_deref(), Some("one \"two\""));
        let read = crate::json::message_from_json(&crate::json::message_to_json(&message)).unwrap();
        assert_eq!(read.model(), message.model());
        let mut odd = message;
        odd.metadata.insert(Message::MODEL.to_owned(), Json::new("7").unwrap());
        assert_eq!(odd.model(), None);
    }
}
