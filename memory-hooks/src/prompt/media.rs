//! Token prices of pictures and documents, and which of them a request has room for.

use imagesize::ImageSize;
use memory_core::{ContentBlock, Media, Message};

use crate::render::{Body, Part};

/// Tokens of a picture of unknown size: the most that Anthropic's models count for one.
const PICTURE: u32 = 1_600;
/// Pixels a token (Anthropic), after the long edge is at most [`EDGE`].
const PIXELS: u64 = 750;
const EDGE: u64 = 1_568;
/// Tokens of a picture and of each of its tiles of 512 pixels (OpenAI, high detail), after the long edge is at most
/// [`LONG`] and the short one at most [`SHORT`].
const BASE: u64 = 85;
const TILE: u64 = 170;
const LONG: u64 = 2_048;
const SHORT: u64 = 768;
/// Tokens of a page of a PDF: its text and its picture, at the upper end of what providers state.
const PAGE: u32 = 3_000;
/// Bytes a token of JSON, at the least.
const JSON: usize = 3;

/// Tokens of an unchanged block beyond those of its text.
fn price(block: &ContentBlock) -> u32 {
    match block {
        ContentBlock::Image(media) => picture(media),
        ContentBlock::Document { media: Media::Text { .. }, .. } => 0,
        ContentBlock::Document { media: Media::Url(_), .. } => PAGE,
        ContentBlock::Document { media: Media::Bytes { data, .. }, .. } => PAGE.saturating_mul(pages(data)),
        ContentBlock::ToolResult { content, .. } => content.iter().map(price).fold(0, u32::saturating_add),
        ContentBlock::Unknown(json) => {
            let hidden = json.as_str().len().saturating_sub(block.text().len());
            u32::try_from(hidden / JSON).unwrap_or(u32::MAX)
        }
        ContentBlock::Text(_) | ContentBlock::ToolUse { .. } | ContentBlock::Reasoning { .. } => 0,
    }
}

/// The dearer of two providers' prices of a picture.
fn picture(media: &Media) -> u32 {
    let Media::Bytes { data, .. } = media else { return PICTURE };
    let Ok(ImageSize { width, height }) = imagesize::blob_size(data) else { return PICTURE };
    let sides = [width, height].map(|side| u64::try_from(side).unwrap_or(u64::MAX).clamp(1, u64::from(u32::MAX)));
    let [width, height] = within(sides, EDGE);
    let by_pixels = (width * height).div_ceil(PIXELS).min(u64::from(PICTURE));
    let [width, height] = within(sides, LONG);
    let short = width.min(height);
    let scaled = |side: u64| if short > SHORT { (side * SHORT).div_ceil(short) } else { side };
    let by_tiles = BASE + TILE * scaled(width).div_ceil(512) * scaled(height).div_ceil(512);
    u32::try_from(by_pixels.max(by_tiles)).unwrap_or(u32::MAX)
}

/// The sides of a picture that is scaled down until its long edge has at most `longest` pixels.
fn within([width, height]: [u64; 2], longest: u64) -> [u64; 2] {
    let long = width.max(height);
    if long <= longest {
        return [width, height];
    }
    [width, height].map(|side| (side * longest).div_ceil(long))
}

/// The pages of a PDF, at least one. Pages in compressed streams are not seen, and a page of text has at most
/// [`BYTES`] bytes.
fn pages(data: &[u8]) -> u32 {
    /// Bytes of a page of text, compressed.
    const BYTES: usize = 100_000;
    let is_page = |at: usize| {
        let rest = data.get(at..).unwrap_or_default();
        let rest = rest.strip_prefix(b"/Type").unwrap_or_default().trim_ascii_start();
        rest.strip_prefix(b"/Page").is_some_and(|rest| !rest.starts_with(b"s"))
    };
    let slashes = data.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    let pages = slashes.filter(|at| is_page(*at)).count().max(data.len() / BYTES).max(1);
    u32::try_from(pages).unwrap_or(u32::MAX)
}

/// True if a part of a message costs more than its text.
pub(super) fn is_dear(message: &Message) -> bool {
    message.content.iter().any(|block| price(block) > 0)
}

/// The message with as many of its pictures and documents as `left` tokens allow, which are taken from it. The text of
/// the others, which names them, takes their place.
pub(super) fn within_budget(message: &Message, left: &mut u32) -> Message {
    let mut message = message.clone();
    // The last is the newest.
    message.content.iter_mut().rev().for_each(|block| thin(block, left));
    message
}

fn thin(block: &mut ContentBlock, left: &mut u32) {
    if let ContentBlock::ToolResult { content, .. } = block {
        content.iter_mut().rev().for_each(|block| thin(block, left));
        return;
    }
    let price = price(block);
    match left.checked_sub(price) {
        Some(rest) => *left = rest,
        None => *block = ContentBlock::Text(block.text().into_owned()),
    }
}

/// Tokens to reserve for the pictures and documents from the last message of the user on, the newest first, within half
/// of the budget; the others are named instead.
pub(super) fn of_last_turn(parts: &[Part], budget: u32) -> u32 {
    let mut left = budget / 2;
    for part in parts.iter().rev().filter(|part| part.kind.is_history()) {
        let Body::Message(node) = &part.body else { break };
        if is_dear(&node.message) {
            within_budget(&node.message, &mut left);
        }
        if node.message.begins_prompt() {
            break;
        }
    }
    budget / 2 - left
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The beginning of a PNG file, which states its size.
    fn png(width: u32, height: u32) -> Media {
        let mut data = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
        data.extend([width.to_be_bytes(), height.to_be_bytes()].concat());
        data.extend([8, 2, 0, 0, 0]);
        Media::Bytes { media_type: "image/png".into(), data: data.into() }
    }

    #[test]
    fn a_picture_costs_what_the_dearer_provider_counts() {
        assert_eq!(picture(&png(200, 200)), 255);
        assert_eq!(picture(&png(1_024, 1_024)), 1_399);
        assert_eq!(picture(&png(1_920, 1_080)), 1_600.min(picture(&png(1_920, 1_080))));
        assert!((1_000..=1_600).contains(&picture(&png(1_920, 1_080))));
        assert_eq!(picture(&Media::Url("https://example.org/a.png".into())), PICTURE);
    }

    #[test]
    fn a_pdf_costs_by_its_pages() {
        let pages = |text: &[u8]| pages(text);
        assert_eq!(pages(b"%PDF-1.4 /Type /Pages /Kids [] /Type /Page /Type/Page"), 2);
        assert_eq!(pages(&[0; 900_000]), 9);
        assert_eq!(pages(b""), 1);
    }
}
