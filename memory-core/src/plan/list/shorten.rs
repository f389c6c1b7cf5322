//! Shortens tool results to their head and tail.

use crate::{ContentBlock, Media};

/// Characters kept at either end of a shortened text.
const PRESERVED: usize = 200;

/// Mark in every shortened text, so that no text is shortened twice.
pub const SHORTENED: &str = "... [truncated:";

/// The first and last 200 characters of a text with the number of removed ones between; `None` for a text of at most
/// 400 characters, and for one that was shortened before.
#[must_use]
pub fn shorten_text(text: &str) -> Option<String> {
    let removed = text.chars().count().checked_sub(2 * PRESERVED).filter(|removed| *removed > 0)?;
    if text.contains(SHORTENED) {
        return None;
    }
    let byte = |at: usize| text.char_indices().nth(at).map_or(text.len(), |(byte, _)| byte);
    let (head, tail) = (text.get(..byte(PRESERVED))?, text.get(byte(PRESERVED + removed)..)?);
    Some(format!("{head}...\n\n{SHORTENED} {removed} chars removed] ...\n\n...{tail}"))
}

/// True if a block is a tool result that can be shortened.
pub(super) fn can_be_shortened(block: &ContentBlock) -> bool {
    let ContentBlock::ToolResult { content, .. } = block else { return false };
    content.iter().any(|item| match item {
        ContentBlock::Text(text) => shorten_text(text).is_some(),
        other => matches!(other, ContentBlock::Image(_)),
    })
}

/// Shortens a block within a tool result.
pub(super) fn shorten_block(block: &mut ContentBlock) {
    match block {
        ContentBlock::Text(text) => *text = shorten_text(text).unwrap_or_else(|| std::mem::take(text)),
        ContentBlock::Image(media) => *block = ContentBlock::Text(image_line(media)),
        _ => {}
    }
}

fn image_line(media: &Media) -> String {
    match media {
        Media::Url(url) => format!("[image: {url}]"),
        Media::Text { media_type, text } => format!("[image: {}, {} bytes]", format_of(media_type), text.len()),
        Media::Bytes { media_type, data } => format!("[image: {}, {} bytes]", format_of(media_type), data.len()),
    }
}

/// The subtype of a media type: `jpeg` of `image/jpeg`.
fn format_of(media_type: &str) -> &str {
    media_type.rsplit('/').next().unwrap_or(media_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_and_tail_stay_and_the_rest_is_counted() {
        let text = format!("{}{}{}", "é".repeat(200), "m".repeat(300), "z".repeat(200));
        let expected =
            format!("{}...\n\n... [truncated: 300 chars removed] ...\n\n...{}", "é".repeat(200), "z".repeat(200));
        assert_eq!(shorten_text(&text), Some(expected.clone()));
        assert_eq!(shorten_text(&expected), None, "a text is shortened once");
        assert_eq!(shorten_text(&"x".repeat(400)), None);
        assert!(shorten_text(&"x".repeat(401)).is_some());
    }
}
