//! Tools that report while they run, or ask their client (revision 2025-11-25).

use std::time::Duration;

use rmcp::{
    ErrorData,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock,
        CreateMessageRequestParams, ElicitRequestParams, LoggingLevel, LoggingMessageNotificationParam,
        ProgressNotificationParam,
    },
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::Context;

const PAUSE: Duration = Duration::from_millis(50);

fn done(text: impl Into<String>) -> Result<CallToolResponse, ErrorData> {
    Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
}

fn failed(error: &dyn std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

fn params<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|error| failed(&error))
}

pub(crate) async fn answer(request: &CallToolRequestParams, context: &Context) -> Result<CallToolResponse, ErrorData> {
    let argument = |name: &str| {
        let given = request.arguments.as_ref().and_then(|arguments| arguments.get(name)).and_then(Value::as_str);
        given.unwrap_or_default().to_owned()
    };
    match &*request.name {
        "test_tool_with_logging" => logged(context).await,
        "test_logging_tool" => done("Nothing was logged, since no level was asked for."),
        "test_tool_with_progress" => progressed(context).await,
        "test_missing_capability" => {
            if context.client_capabilities().is_some_and(|capabilities| capabilities.sampling.is_some()) {
                return done("The capability is there.");
            }
            Err(ErrorData::missing_required_client_capability(ClientCapabilities::builder().enable_sampling().build()))
        }
        "test_streaming_elicitation" => {
            progressed(context).await?;
            done("Nothing was asked on the stream.")
        }
        "test_sampling" => {
            let message = json!({"messages": [{"role": "user", "content": {"type": "text", "text": argument("prompt")}}],
                                 "maxTokens": 100});
            let message: CreateMessageRequestParams = params(message)?;
            let said = context.peer.create_message(message).await.map_err(|error| failed(&error))?;
            let said = serde_json::to_value(&said).map_err(|error| failed(&error))?;
            done(format!("LLM response: {}", text_in(&said)))
        }
        "test_elicitation" => {
            let schema = json!({"type": "object", "properties": {
                "username": {"type": "string", "description": "User's response"},
                "email": {"type": "string", "description": "User's email address"}
            }, "required": ["username", "email"]});
            elicited(context, &argument("message"), schema, "User response: ").await
        }
        "test_elicitation_sep1034_defaults" => {
            let schema = json!({"type": "object", "properties": {
                "name": {"type": "string", "default": "John Doe"},
                "age": {"type": "integer", "default": 30},
                "score": {"type": "number", "default": 95.5},
                "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
                "verified": {"type": "boolean", "default": true}
            }});
            elicited(context, "Please look through the defaults", schema, "Elicitation completed: ").await
        }
        "test_elicitation_sep1330_enums" => {
            let titled =
                |values: [(&str, &str); 3]| values.map(|(value, title)| json!({"const": value, "title": title}));
            let firsts = titled([("value1", "First Option"), ("value2", "Second Option"), ("value3", "Third Option")]);
            let choices = titled([("value1", "First Choice"), ("value2", "Second Choice"), ("value3", "Third Choice")]);
            let options = ["option1", "option2", "option3"];
            let schema = json!({"type": "object", "properties": {
                "untitledSingle": {"type": "string", "enum": options},
                "titledSingle": {"type": "string", "oneOf": firsts},
                "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"],
                               "enumNames": ["Option One", "Option Two", "Option Three"]},
                "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
                "titledMulti": {"type": "array", "items": {"anyOf": choices}}
            }});
            elicited(context, "Please choose", schema, "Elicitation completed: ").await
        }
        _ => Err(ErrorData::invalid_params("there is no such tool", None)),
    }
}

/// The text of a message, in whatever shape it stands.
fn text_in(message: &Value) -> String {
    let content = message.get("content");
    let first = content.and_then(|content| content.get(0)).or(content);
    first.and_then(|block| block.get("text")).and_then(Value::as_str).unwrap_or_default().to_owned()
}

async fn logged(context: &Context) -> Result<CallToolResponse, ErrorData> {
    for (place, said) in
        ["Tool execution started", "Tool processing data", "Tool execution completed"].into_iter().enumerate()
    {
        if place > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(said));
        context.peer.notify_logging_message(message).await.map_err(|error| failed(&error))?;
    }
    done("It was logged.")
}

async fn progressed(context: &Context) -> Result<CallToolResponse, ErrorData> {
    let token = context.meta.get_progress_token();
    for (place, progress) in [0.0, 50.0, 100.0].into_iter().enumerate() {
        if place > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        if let Some(token) = token.clone() {
            let progress = ProgressNotificationParam::new(token, progress).with_total(100.0);
            context.peer.notify_progress(progress).await.map_err(|error| failed(&error))?;
        }
    }
    done("It is done.")
}

async fn elicited(context: &Context, message: &str, schema: Value, lead: &str) -> Result<CallToolResponse, ErrorData> {
    let asked: ElicitRequestParams = params(json!({"mode": "form", "message": message, "requestedSchema": schema}))?;
    let result = context.peer.create_elicitation(asked).await.map_err(|error| failed(&error))?;
    let result = serde_json::to_value(&result).map_err(|error| failed(&error))?;
    let action = result.get("action").and_then(Value::as_str).unwrap_or_default();
    let content = result.get("content").cloned().unwrap_or(json!({}));
    done(format!("{lead}action={action}, content={content}"))
}
