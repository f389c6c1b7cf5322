//! Content blocks in the shapes of Anthropic and OpenAI, parsed by core's reader.

use std::collections::BTreeMap;

use memory_core::{ContentBlock, Json, Media, Message, Role, json::message_with_members};
use serde_json::{Map, Value, json, value::RawValue};

use crate::members::others;

/// Metadata member of a message that holds the block members that core's blocks cannot represent, by block number.
pub(crate) const EXTRA: &str = "block_members";

#[derive(Debug, Default)]
pub(crate) struct Blocks {
    pub(crate) blocks: Vec<ContentBlock>,
    /// Members that core's blocks cannot represent, by block number.
    pub(crate) extra: Map<String, Value>,
}

impl Blocks {
    pub(crate) fn push(&mut self, raw: &str) {
        self.add(block(raw));
    }

    /// Adds a block with its extra members.
    pub(crate) fn add(&mut self, (block, extra): (ContentBlock, Map<String, Value>)) {
        if !extra.is_empty() {
            self.extra.insert(self.blocks.len().to_string(), extra.into());
        }
        self.blocks.push(block);
    }

    pub(crate) fn append(&mut self, other: Self) {
        let before = self.blocks.len();
        for (index, extra) in other.extra {
            let index = index.parse::<usize>().unwrap_or_default() + before;
            self.extra.insert(index.to_string(), extra);
        }
        self.blocks.extend(other.blocks);
    }

    /// The blocks as the result of a call, with the extra members of its content.
    pub(crate) fn result(self, id: &str, is_error: bool) -> (ContentBlock, Map<String, Value>) {
        let extra = (!self.extra.is_empty()).then(|| ("content".to_owned(), self.extra.into()));
        let result = ContentBlock::ToolResult { tool_use_id: id.to_owned(), content: self.blocks, is_error };
        (result, extra.into_iter().collect())
    }

    /// Each block with its extra members.
    pub(crate) fn each(self) -> impl Iterator<Item = (ContentBlock, Map<String, Value>)> {
        let Self { blocks, mut extra } = self;
        blocks.into_iter().enumerate().map(move |(index, block)| match extra.remove(&index.to_string()) {
            Some(Value::Object(members)) => (block, members),
            _ => (block, Map::new()),
        })
    }

    pub(crate) fn message(self, role: Role) -> Message {
        let mut message = Message::new(role, Vec::new());
        message.metadata.extend(self.extra());
        message.content = self.blocks;
        message
    }

    /// Puts the blocks before those of a message.
    pub(crate) fn put_before(mut self, message: &mut Message) {
        let extra = match message.metadata.remove(EXTRA).map(|extra| crate::exact::value(&extra)) {
            Some(Value::Object(extra)) => extra,
            _ => Map::new(),
        };
        self.append(Self { blocks: std::mem::take(&mut message.content), extra });
        message.metadata.extend(self.extra());
        message.content = self.blocks;
    }

    /// Metadata entry with the extra members, if there are any.
    pub(crate) fn extra(&self) -> Option<(String, Json)> {
        (!self.extra.is_empty()).then(|| (EXTRA.to_owned(), Json::from_value(&Value::Object(self.extra.clone()))))
    }
}

/// Reads `content` of Anthropic's Messages API: a text, a list of blocks, or `null`.
pub(crate) fn anthropic(content: &RawValue) -> Blocks {
    let mut blocks = Blocks::default();
    let text = content.get();
    if let Ok(text) = serde_json::from_str::<String>(text) {
        blocks.blocks.push(ContentBlock::Text(text));
    } else if let Ok(list) = serde_json::from_str::<Vec<&RawValue>>(text) {
        for one in list {
            match serde_json::from_str::<String>(one.get()) {
                Ok(text) => blocks.blocks.push(ContentBlock::Text(text)),
                Err(_) => blocks.push(one.get()),
            }
        }
    } else if text != "null" {
        blocks.push(text);
    }
    blocks
}

/// [`anthropic`] for a parsed value.
pub(crate) fn anthropic_value(content: &Value) -> Blocks {
    serde_json::value::to_raw_value(content).map(|raw| anthropic(&raw)).unwrap_or_default()
}

/// Members of core's block of this type.
fn members_of(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind {
        "text" => &["text"],
        "tool_use" => &["id", "name", "input"],
        "tool_result" => &["tool_use_id", "content", "is_error"],
        "thinking" => &["thinking", "signature"],
        "image" => &["source"],
        "document" => &["title", "source"],
        _ => return None,
    })
}

/// Parses a block; also returns the members that core's block cannot represent. A block of an unknown type is kept
/// verbatim.
fn block(raw: &str) -> (ContentBlock, Map<String, Value>) {
    match read(raw) {
        Some(block) if !matches!(block, ContentBlock::Unknown(_)) => (block, Map::new()),
        kept => plain(raw).or_else(|| bytes(raw)).unwrap_or_else(|| (kept.unwrap_or_else(|| unknown(raw)), Map::new())),
    }
}

fn read(raw: &str) -> Option<ContentBlock> {
    let message = format!("{{\"role\":\"user\",\"content\":[{raw}]}}");
    let message = serde_json::from_str::<&RawValue>(&message).ok()?;
    let (mut message, _) = message_with_members(message, &[]).ok()?;
    (message.content.len() == 1).then(|| message.content.pop()).flatten()
}

/// Parses a block of a known type that has extra members, or members that are `null`.
fn plain(raw: &str) -> Option<(ContentBlock, Map<String, Value>)> {
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(raw).ok()?;
    let kind: String = serde_json::from_str(members.get("type")?.get()).ok()?;
    let ours = members_of(&kind)?;
    let mut known = vec![format!("\"type\":{}", Json::string(&kind))];
    let mut extra = Map::new();
    for (name, value) in &members {
        if name == "type" || value.get() == "null" {
            continue;
        }
        if ours.contains(&name.as_str()) {
            known.push(format!("{}:{}", Json::string(name), value.get()));
        } else {
            extra.insert(name.clone(), crate::exact::parse(value.get()).unwrap_or_default());
        }
    }
    let is_ours = |block: &ContentBlock| !matches!(block, ContentBlock::Unknown(_));
    let block = read(&format!("{{{}}}", known.join(","))).filter(is_ours);
    block.or_else(|| half_of_a_pair(&kind, &members, &mut extra)).map(|block| (block, extra))
}

/// A picture or file whose bytes are members of the block itself.
fn bytes(raw: &str) -> Option<(ContentBlock, Map<String, Value>)> {
    let part = serde_json::from_str(raw).ok()?;
    Some((crate::media::langchain(&part)?, others(&part, &MEDIA)))
}

/// Parses a tool call or result whose input or content core cannot parse, so that call and result stay a pair.
fn half_of_a_pair(
    kind: &str,
    members: &BTreeMap<String, &RawValue>,
    extra: &mut Map<String, Value>,
) -> Option<ContentBlock> {
    let text = |name: &str| serde_json::from_str::<String>(members.get(name)?.get()).ok();
    match kind {
        "tool_use" => {
            let input = members.get("input").and_then(|input| Json::new(input.get()).ok());
            let input = input.unwrap_or_else(|| Json::from_value(&json!({})));
            Some(ContentBlock::ToolUse { id: text("id")?, name: text("name")?, input })
        }
        "tool_result" => {
            let content = members.get("content").map(|content| anthropic(content)).unwrap_or_default();
            let is_error = members.get("is_error").is_some_and(|is_error| is_error.get() == "true");
            let (result, beside) = content.result(&text("tool_use_id")?, is_error);
            extra.extend(beside);
            Some(result)
        }
        _ => None,
    }
}

/// A block that is kept verbatim.
pub(crate) fn unknown(raw: &str) -> ContentBlock {
    Json::new(raw).map_or_else(|_| ContentBlock::Text(raw.to_owned()), ContentBlock::Unknown)
}

/// A picture at an address, or in a `data:` address.
pub(crate) fn image(url: &str) -> ContentBlock {
    let raw = json!({"type": "image_url", "image_url": {"url": url}}).to_string();
    read(&raw).unwrap_or_else(|| unknown(&raw))
}

/// A file in base64, at an address, or by its name only.
pub(crate) fn file(name: Option<&str>, data: Option<&str>, address: Option<&str>) -> ContentBlock {
    let title = name.map(str::to_owned);
    if let Some(ContentBlock::Image(media)) = data.map(image) {
        return ContentBlock::Document { title, media };
    }
    let address = address.or(name).unwrap_or("unknown").to_owned();
    ContentBlock::Document { title, media: Media::Url(address) }
}

/// Reads `content` of OpenAI's Chat Completions and Responses APIs: a text, a list of parts, or `null`.
pub(crate) fn openai(content: &Value) -> Blocks {
    let mut blocks = Blocks::default();
    match content {
        Value::Null => {}
        Value::String(text) => blocks.blocks.push(ContentBlock::Text(text.clone())),
        Value::Array(parts) => parts.iter().for_each(|one| blocks.add(part(one))),
        other => blocks.add(part(other)),
    }
    blocks
}

/// Members of a part that are read, by the part's type; for media, also members without meaning.
fn taken_of(kind: &str) -> &'static [&'static str] {
    match kind {
        "text" | "input_text" | "output_text" | "summary_text" | "reasoning_text" => &["type", "text", "value"],
        "refusal" => &["type", "refusal"],
        "reasoning" => &["type", "reasoning", "text", "value"],
        _ => &MEDIA,
    }
}

#[rustfmt::skip]
const MEDIA: [&str; 15] = [
    "type", "source_type", "data", "base64", "url", "mime_type", "mediaType", "filename", "file", "file_data",
    "file_url", "file_id", "image_url", "source", "id",
];

/// Parses a part; also returns the members that core's block cannot represent.
fn part(part: &Value) -> (ContentBlock, Map<String, Value>) {
    let kind = part["type"].as_str().unwrap_or_default();
    match kind {
        // LangChain mixes Anthropic's blocks with its own in one list.
        "tool_use" | "tool_result" | "thinking" | "image" | "document" if crate::media::langchain(part).is_none() => {
            block(&part.to_string())
        }
        _ => {
            let read = plain_part(part, kind);
            let is_kept = matches!(read, ContentBlock::Unknown(_));
            let mut extra = if is_kept { Map::new() } else { others(part, taken_of(kind)) };
            for (name, url) in [("image_url", "url"), ("file", "")] {
                let inner = part.get(name).filter(|_| !is_kept).unwrap_or(&Value::Null);
                let inner = others(inner, &[url, "filename", "file_data", "file_url", "file_id"]);
                if !inner.is_empty() {
                    extra.insert(name.to_owned(), inner.into());
                }
            }
            (read, extra)
        }
    }
}

fn plain_part(part: &Value, kind: &str) -> ContentBlock {
    let text = |name: &str| part[name].as_str();
    let kept = || unknown(&part.to_string());
    if let Some(text) = part.as_str() {
        return ContentBlock::Text(text.to_owned());
    }
    if let Some(media) = crate::media::langchain(part) {
        return media;
    }
    // Data sets name the words of a part `value`, and OpenAI's threads put them into one.
    let value = text("value").or_else(|| part.pointer("/text/value")?.as_str());
    let as_text = |name| text(name).or(value).map_or_else(kept, |text| ContentBlock::Text(text.to_owned()));
    match kind {
        "text" | "input_text" | "output_text" | "summary_text" | "reasoning_text" => as_text("text"),
        "refusal" => as_text("refusal"),
        "image_url" | "input_image" => match (url_of(part), text("file_id")) {
            (Some(url), _) => image(url),
            (None, Some(id)) => ContentBlock::Image(Media::Url(id.to_owned())),
            (None, None) => kept(),
        },
        "file" | "input_file" => {
            let inner = part.get("file").unwrap_or(part);
            let text = |name: &str| inner[name].as_str();
            file(text("filename"), text("file_data"), text("file_url").or(text("file_id")))
        }
        "reasoning" => match text("reasoning").or(text("text")).or(value) {
            Some(text) => ContentBlock::Reasoning { text: text.to_owned(), signature: None },
            None => kept(),
        },
        _ => kept(),
    }
}

/// The address of a picture: `image_url`, or its `url`.
pub(crate) fn url_of(part: &Value) -> Option<&str> {
    let url = &part["image_url"];
    url.as_str().or_else(|| url["url"].as_str())
}

/// A tool call whose arguments are JSON text. Text that is not JSON is kept as text.
pub(crate) fn call(id: &str, name: &str, arguments: &Value) -> ContentBlock {
    let input = match arguments {
        Value::String(text) if text.trim().is_empty() => Json::from_value(&json!({})),
        Value::String(text) => Json::new(text).unwrap_or_else(|_| Json::string(text)),
        Value::Null => Json::from_value(&json!({})),
        other => Json::from_value(other),
    };
    ContentBlock::ToolUse { id: id.to_owned(), name: name.to_owned(), input }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_with_members_of_a_later_version_is_still_a_call() {
        let raw = r#"[{"type":"tool_use","id":"t","name":"Bash","input":{"n":0.10000000000000000001},"caller":{"type":"direct"}},
            {"type":"tool_result","tool_use_id":"t","content":"ok","is_error":null},
            {"type":"server_tool_use","id":"s","name":"web_search","input":{}}]"#;
        let read = anthropic(serde_json::from_str(raw).unwrap());
        let ContentBlock::ToolUse { input, .. } = &read.blocks[0] else { panic!("{read:?}") };
        assert_eq!(input.as_str(), r#"{"n":0.10000000000000000001}"#);
        assert_eq!(read.extra["0"]["caller"]["type"], "direct");
        assert!(matches!(read.blocks[1], ContentBlock::ToolResult { is_error: false, .. }));
        assert!(matches!(read.blocks[2], ContentBlock::Unknown(_)));
    }

    #[test]
    fn what_is_no_block_is_kept() {
        let read = anthropic(serde_json::from_str(r#"[{"no": "type"}, 3, "text"]"#).unwrap());
        assert_eq!(read.blocks.len(), 3);
        assert_eq!(read.blocks[2], ContentBlock::Text("text".into()));
    }
}
