//! The kinds of content of a ChatGPT message.

use memory_core::{ContentBlock, Json, Media};
use serde_json::{Value, json};

use crate::{Why, blocks::unknown, out::ItemQueue};

/// Members of content that are read for any kind, or repeat others.
#[rustfmt::skip]
pub(super) const TAKEN: [&str; 18] = [
    "content_type", "parts", "text", "language", "output_str", "thoughts", "title", "url", "summary", "result",
    "snippet", "name", "screenshot", "content", "response_format_name", "source_analysis_msg_id", "domain", "tether_id",
];

/// Blocks of a message; `None` for content that is not part of the talk, which is counted.
pub(super) fn content(content: &Value, out: &mut ItemQueue) -> Option<Vec<ContentBlock>> {
    let text = |name: &str| content[name].as_str().filter(|text| !text.is_empty());
    let kind = text("content_type").unwrap_or("text");
    let one = |text: Option<&str>| Some(text.map(|text| ContentBlock::Text(text.to_owned())).into_iter().collect());
    let mut note = |kind: &str| {
        out.skip(Why::Note, kind);
        None
    };
    match kind {
        "text" | "multimodal_text" => {
            let parts: Vec<_> = content["parts"].as_array().into_iter().flatten().filter_map(part).collect();
            if parts.is_empty() { one(text("text")) } else { Some(parts) }
        }
        "code" => {
            let language = text("language").filter(|language| *language != "unknown").unwrap_or_default();
            one(text("text").map(|code| format!("```{language}\n{code}\n```")).as_deref())
        }
        "execution_output" => one(text("text")),
        "citable_code_output" => one(text("output_str")),
        "thoughts" => {
            let thoughts = content["thoughts"].as_array();
            for thought in thoughts.into_iter().flatten() {
                out.unknown("thoughts.", thought, &["summary", "content", "chunks", "finished"]);
            }
            Some(thoughts.into_iter().flatten().filter_map(thought).collect())
        }
        "tether_quote" => one(joined(&[text("title"), text("url"), text("text")]).as_deref()),
        "tether_browsing_display" => one(joined(&[text("summary"), text("result")]).as_deref()),
        "sonic_webpage" => one(joined(&[text("title"), text("url"), text("text").or(text("snippet"))]).as_deref()),
        "system_error" => one(joined(&[text("name"), text("text")]).as_deref()),
        "computer_output" => {
            let shot = content.get("screenshot").and_then(part);
            Some(shot.into_iter().chain(text("text").map(|text| ContentBlock::Text(text.to_owned()))).collect())
        }
        "reasoning_recap" | "user_editable_context" | "model_editable_context" => note(kind),
        other => {
            // An unknown kind is kept verbatim, and counted.
            out.skip(Why::Unknown, &format!("content {other} (kept as it came)"));
            Some(vec![unknown(&content.to_string())])
        }
    }
}

fn joined(texts: &[Option<&str>]) -> Option<String> {
    let texts: Vec<_> = texts.iter().flatten().copied().collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

fn thought(thought: &Value) -> Option<ContentBlock> {
    let text = |name: &str| thought[name].as_str().filter(|text| !text.is_empty());
    let text = joined(&[text("summary"), text("content")])?;
    Some(ContentBlock::Reasoning { text, signature: None })
}

fn part(part: &Value) -> Option<ContentBlock> {
    if let Some(text) = part.as_str() {
        return (!text.is_empty()).then(|| ContentBlock::Text(text.to_owned()));
    }
    let text = |name: &str| part[name].as_str();
    match text("content_type") {
        Some("image_asset_pointer") => Some(ContentBlock::Image(Media::Url(text("asset_pointer")?.to_owned()))),
        Some("audio_transcription") => Some(ContentBlock::Text(text("text")?.to_owned())),
        _ if part.is_null() => None,
        _ => Some(unknown(&part.to_string())),
    }
}

/// Turns the content of a message to a tool into the call of that tool.
pub(super) fn as_call(id: &str, tool: &str, blocks: Vec<ContentBlock>) -> Vec<ContentBlock> {
    let (texts, mut others): (Vec<_>, Vec<_>) =
        blocks.into_iter().partition(|block| matches!(block, ContentBlock::Text(_)));
    let text = texts.iter().map(ContentBlock::text).collect::<Vec<_>>().join("\n");
    let code =
        text.strip_prefix("```").and_then(|text| text.split_once('\n')?.1.strip_suffix("\n```")).unwrap_or(&text);
    let input = Json::new(code).ok().filter(|json| json.as_str().starts_with('{'));
    let input = input.unwrap_or_else(|| Json::from_value(&json!({"input": code})));
    others.push(ContentBlock::ToolUse { id: id.to_owned(), name: tool.to_owned(), input });
    others
}
