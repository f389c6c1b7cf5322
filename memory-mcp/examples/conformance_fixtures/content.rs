//! Answers that are always the same.

use rmcp::{
    ErrorData,
    model::{
        CallToolResult, ContentBlock, GetPromptResult, JsonObject, PromptMessage, ReadResourceResult, ResourceContents,
        Role,
    },
};
use serde_json::{Value, json};

/// A red pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// A sound without samples.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

/// A content block as it stands in the protocol.
fn block(value: Value) -> Option<ContentBlock> {
    serde_json::from_value(value).ok()
}

fn resource_block(uri: &str, mime_type: &str, text: &str) -> Option<ContentBlock> {
    block(json!({"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": text}}))
}

/// Answer of a tool without an effect; `None` for another name.
pub(crate) fn answer(name: &str) -> Option<CallToolResult> {
    let image = || block(json!({"type": "image", "data": PNG, "mimeType": "image/png"}));
    let blocks = match name {
        "test_simple_text" => vec![Some(ContentBlock::text("This is a simple text response for testing."))],
        "test_image_content" => vec![image()],
        "test_audio_content" => vec![block(json!({"type": "audio", "data": WAV, "mimeType": "audio/wav"}))],
        "test_embedded_resource" => {
            let text = "This is an embedded resource content.";
            vec![resource_block("test://embedded-resource", "text/plain", text)]
        }
        "test_multiple_content_types" => vec![
            Some(ContentBlock::text("Multiple content types test:")),
            image(),
            resource_block("test://mixed-content-resource", "application/json", r#"{"test":"data","value":123}"#),
        ],
        "test_error_handling" => {
            let text = "This tool intentionally returns an error for testing";
            return Some(CallToolResult::error(vec![ContentBlock::text(text)]));
        }
        "json_schema_2020_12_tool" | "test_nothing" | "test_reconnection" => vec![Some(ContentBlock::text("Done."))],
        _ => return None,
    };
    Some(CallToolResult::success(blocks.into_iter().flatten().collect()))
}

pub(crate) fn resource(uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let contents = match uri {
        "test://static-text" => ResourceContents::text("This is the content of the static text resource.", uri),
        "test://watched-resource" => ResourceContents::text("Nothing changes here.", uri),
        "test://static-binary" => ResourceContents::blob(PNG, uri).with_mime_type("image/png"),
        _ => {
            let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
            let not_found = || ErrorData::resource_not_found("Resource not found", Some(json!({"uri": uri})));
            let id = id.ok_or_else(not_found)?;
            let data = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
            ResourceContents::text(data.to_string(), uri).with_mime_type("application/json")
        }
    };
    Ok(ReadResourceResult::new(vec![contents]))
}

pub(crate) fn prompt(name: &str, arguments: Option<&JsonObject>) -> Result<GetPromptResult, ErrorData> {
    let argument = |name: &str| {
        let given = arguments.and_then(|arguments| arguments.get(name)).and_then(Value::as_str);
        given.ok_or_else(|| ErrorData::invalid_params(format!("the argument {name} is missing"), None))
    };
    let user = |block: Option<ContentBlock>| block.map(|block| PromptMessage::new(Role::User, block));
    let text = |text: &str| user(Some(ContentBlock::text(text)));
    let messages = match name {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            let (one, other) = (argument("arg1")?, argument("arg2")?);
            vec![text(&format!("Prompt with arguments: arg1='{one}', arg2='{other}'"))]
        }
        "test_prompt_with_embedded_resource" => {
            let embedded = "Embedded resource content for testing.";
            vec![
                user(resource_block(argument("resourceUri")?, "text/plain", embedded)),
                text("Please process the embedded resource above."),
            ]
        }
        "test_prompt_with_image" => vec![
            user(block(json!({"type": "image", "data": PNG, "mimeType": "image/png"}))),
            text("Please analyze the image above."),
        ],
        _ => return Err(ErrorData::invalid_params("there is no such prompt", None)),
    };
    Ok(GetPromptResult::new(messages.into_iter().flatten().collect()))
}
