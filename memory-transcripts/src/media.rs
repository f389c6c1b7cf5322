//! Pictures and other bytes in blocks. Bytes that a message can hold become pictures and documents; no other bytes stay
//! in its text.

use base64::{Engine, prelude::BASE64_STANDARD};
use memory_core::{ContentBlock, Json, Media, Message};
use serde_json::{Map, Value, json};

use crate::{
    blocks::{EXTRA, file, image, url_of},
    exact,
};

/// Minimum characters of base64 for a text to count as bytes.
const BYTES: usize = 512;
/// Members and types of blocks that never hold words.
#[rustfmt::skip]
const WORDLESS: [&str; 9] = [
    "redacted_thinking", "redactedContent", "input_audio", "audio", "video", "input_video", "cachePoint", "cache_point",
    "image_generation_call",
];

/// Metadata member of a message in which core keeps members that only Strands knows.
const STRANDS: &str = "strands";

/// The picture or file of a LangChain block, which may name its bytes or address in several ways.
pub(crate) fn langchain(part: &Value) -> Option<ContentBlock> {
    let text = |name: &str| part[name].as_str();
    let kind = text("type")?;
    let media_type = text("mime_type").or(text("media_type")).or(text("mediaType"));
    let data = text("base64").or(text("data"));
    let address = text("url").or(text("file_id")).or(text("id").filter(|_| text("source_type") == Some("id")));
    match kind {
        "image" => {
            let url = match (data, url_of(part).or(address)) {
                (Some(data), _) if data.starts_with("data:") => data.to_owned(),
                (Some(data), _) => format!("data:{};base64,{data}", media_type.unwrap_or("image/png")),
                (None, Some(address)) => address.to_owned(),
                (None, None) => return None,
            };
            picture(&url)
        }
        // A message cannot hold audio or video, but can hold their address.
        "audio" | "video" if data.is_none() => address.map(|address| file(text("name"), None, Some(address))),
        "file" if part.get("file").is_none() && (data.is_some() || text("text").is_some() || address.is_some()) => {
            let name = text("filename").or(text("name")).or_else(|| part.pointer("/metadata/name")?.as_str());
            let url = data.map(|data| match data.starts_with("data:") {
                true => data.to_owned(),
                false => format!("data:{};base64,{data}", media_type.unwrap_or("application/octet-stream")),
            });
            Some(match (url, text("text")) {
                (None, Some(text)) => {
                    let media_type = media_type.unwrap_or("text/plain").to_owned();
                    let media = Media::Text { media_type, text: text.to_owned() };
                    ContentBlock::Document { title: name.map(str::to_owned), media }
                }
                (url, _) => file(name, url.as_deref(), address),
            })
        }
        _ => None,
    }
}

/// A picture; `None` if the address holds no readable picture.
fn picture(url: &str) -> Option<ContentBlock> {
    Some(image(url)).filter(|block| matches!(block, ContentBlock::Image(_)))
}

/// The picture that a hosted tool made, in base64.
pub(crate) fn generated(item: &Value) -> Option<ContentBlock> {
    let text = |name: &str| item[name].as_str();
    let format = text("output_format").unwrap_or("png");
    picture(&format!("data:image/{format};base64,{}", text("result")?))
}

/// Wraps the base64 texts of a message of Bedrock as bytes, in the form that Strands uses: those of pictures and files
/// in blocks and in tool results, but not in the input of tools.
pub(crate) fn wrap(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(wrap),
        Value::Object(members) => {
            if let Some(bytes) = members.get_mut("source").and_then(|source| source.get_mut("bytes")) {
                let data = bytes.as_str().filter(|text| BASE64_STANDARD.decode(text).is_ok()).map(str::to_owned);
                if let Some(data) = data {
                    *bytes = json!({"__bytes_encoded__": true, "data": data});
                }
            }
            let is_said = |name: &str| !matches!(name, "toolUse" | "json");
            members.iter_mut().filter(|(name, _)| is_said(name)).for_each(|(_, value)| wrap(value));
        }
        _ => {}
    }
}

/// Removes content that a message cannot hold: other bytes, and marks without words. Returns the names of the removed
/// content.
pub(crate) fn without_bytes(message: &mut Message) -> Vec<String> {
    let mut taken = Vec::new();
    let extra = message.metadata.get(EXTRA).map(exact::value);
    let kept = keep(&mut message.content, &mut taken);
    if let (Some(Value::Object(extra)), false) = (extra, taken.is_empty()) {
        // Members are keyed by the number of their block, which has changed.
        let moved = |(old, members): (String, Value)| {
            let old: usize = old.parse().ok()?;
            Some((kept.iter().position(|kept| *kept == old)?.to_string(), members))
        };
        let moved: Map<_, _> = extra.into_iter().filter_map(moved).collect();
        message.metadata.remove(EXTRA);
        if !moved.is_empty() {
            message.metadata.insert(EXTRA.to_owned(), exact::json(&moved.into()));
        }
    }
    if let (Some(mut strands), false) = (message.metadata.get(STRANDS).map(exact::value), taken.is_empty()) {
        // Verbatim blocks are also keyed by number.
        let members = strands.as_object_mut();
        let is_empty = members.is_none_or(|members| members.remove("blocks").is_some() && members.is_empty());
        message.metadata.remove(STRANDS);
        if !is_empty {
            message.metadata.insert(STRANDS.to_owned(), exact::json(&strands));
        }
    }
    taken
}

/// Removes bytes, and blocks without words; returns the numbers of the remaining blocks.
fn keep(blocks: &mut Vec<ContentBlock>, taken: &mut Vec<String>) -> Vec<usize> {
    let mut kept = Vec::new();
    let mut number = 0;
    blocks.retain_mut(|block| {
        let has_words = match block {
            ContentBlock::Unknown(json) => words(json, taken),
            ContentBlock::ToolResult { content, .. } => {
                keep(content, taken);
                true
            }
            _ => true,
        };
        if has_words {
            kept.push(number);
        }
        number += 1;
        has_words
    });
    kept
}

/// Removes the bytes from a block of an unknown kind; `false` if nothing else is in it.
fn words(json: &mut Json, taken: &mut Vec<String>) -> bool {
    let mut value = exact::value(json);
    let Some(members) = value.as_object() else { return true };
    let kind = members.get("type").and_then(Value::as_str);
    let own = members.keys().map(String::as_str);
    let deeper = members.values().filter_map(Value::as_object).flat_map(Map::keys).map(String::as_str);
    // A block without a type is identified by its member.
    let known = match kind {
        Some(kind) => WORDLESS.contains(&kind).then_some(kind),
        None => own.chain(deeper).find(|name| WORDLESS.contains(name)),
    };
    if let Some(known) = known {
        taken.push(known.to_owned());
        return false;
    }
    let name = kind.or_else(|| members.keys().next().map(String::as_str)).unwrap_or("block");
    let name = format!("bytes in {name}");
    if elide(&mut value) {
        *json = exact::json(&value);
        taken.push(name);
    }
    true
}

/// Replaces each long base64 text with a note; returns true if there was one.
fn elide(value: &mut Value) -> bool {
    match value {
        Value::String(text) => {
            let data = text.split_once(";base64,").map_or(text.as_str(), |(_, data)| data);
            let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=');
            let is_bytes = data.len() >= BYTES && data.bytes().all(is_digit);
            if is_bytes {
                *text = format!("[{} characters of base64]", data.len());
            }
            is_bytes
        }
        Value::Array(values) => values.iter_mut().fold(false, |any, value| elide(value) | any),
        Value::Object(members) => members.values_mut().fold(false, |any, value| elide(value) | any),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use memory_core::Role;

    use super::*;

    fn unknown(value: &Value) -> ContentBlock {
        ContentBlock::Unknown(Json::from_value(value))
    }

    #[test]
    fn bytes_that_no_message_has_a_place_for_are_taken_out_and_named() {
        let long = "QUJD".repeat(200);
        let kept =
            [unknown(&json!({"type": "server_tool_use", "name": "web_search"})), ContentBlock::Text(long.clone())];
        let hologram = format!(r#"{{"type":"hologram","size":12345678901234567890.5,"frames":[{{"data":"{long}"}}]}}"#);
        let mut message = Message::new(
            Role::User,
            vec![
                unknown(&json!({"type": "redacted_thinking", "data": "QUJD"})),
                kept[0].clone(),
                ContentBlock::Unknown(Json::new(&hologram).unwrap()),
                ContentBlock::ToolResult {
                    tool_use_id: "t".to_owned(),
                    content: vec![unknown(&json!({"video": {"format": "mp4", "source": {"bytes": "QUJD"}}}))],
                    is_error: false,
                },
                kept[1].clone(),
                unknown(&json!({"reasoningContent": {"redactedContent": "QUJD"}})),
                unknown(&json!({"cachePoint": {"type": "default"}})),
            ],
        );
        message.metadata.insert(EXTRA.to_owned(), Json::from_value(&json!({"0": {"a": 1}, "4": {"b": 2}})));
        let taken = without_bytes(&mut message);
        assert_eq!(taken, ["redacted_thinking", "bytes in hologram", "video", "redactedContent", "cachePoint"]);
        assert_eq!(message.content.len(), 4);
        assert_eq!([&message.content[0], &message.content[3]], [&kept[0], &kept[1]]);
        let ContentBlock::Unknown(left) = &message.content[1] else { panic!("{:?}", message.content[1]) };
        assert!(left.as_str().contains(r#""size":12345678901234567890.5,"#), "{left}");
        assert!(left.as_str().contains("[800 characters of base64]"), "{left}");
        assert_eq!(message.metadata[EXTRA].to_value(), json!({"3": {"b": 2}}));
    }
}
