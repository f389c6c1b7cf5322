//! Answers that need something of the client first, in several rounds (revision 2026-07-28).

use rmcp::{
    ErrorData,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, GetPromptRequestParams,
        GetPromptResponse, GetPromptResult, InputRequests, InputRequiredResult, InputResponses, PromptMessage, Role,
    },
};
use serde_json::{Map, Value, json};

use crate::Context;

/// The key of states, which this process alone has to check.
const KEY: [u8; 32] = [7; 32];

/// A state that its client cannot change.
fn sealed(state: &str) -> String {
    format!("{state}.{}", blake3::keyed_hash(&KEY, state.as_bytes()).to_hex())
}

fn opened(sealed: &str) -> Result<&str, ErrorData> {
    let parts = sealed.rsplit_once('.').and_then(|(state, mac)| Some((state, blake3::Hash::from_hex(mac).ok()?)));
    let state = parts.filter(|(state, mac)| blake3::keyed_hash(&KEY, state.as_bytes()) == *mac);
    state.map(|(state, _)| state).ok_or_else(|| ErrorData::invalid_params("requestState was changed", None))
}

fn elicitation(message: &str, name: &str, kind: &str) -> Value {
    json!({"method": "elicitation/create", "params": {
        "mode": "form",
        "message": message,
        "requestedSchema": {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}
    }})
}

fn sampling(text: &str, max_tokens: u32) -> Value {
    json!({"method": "sampling/createMessage", "params": {
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
        "maxTokens": max_tokens
    }})
}

fn roots() -> Value {
    json!({"method": "roots/list", "params": {}})
}

/// Asks for these inputs.
fn required(inputs: Value, state: Option<&str>) -> Result<InputRequiredResult, ErrorData> {
    let inputs: Result<InputRequests, _> = serde_json::from_value(inputs);
    let inputs = inputs.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    Ok(InputRequiredResult::new(Some(inputs), state.map(sealed)))
}

fn done(text: String) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text)]).into()
}

/// A response under `name`, if it has what was asked for at `pointer`.
fn given<'a>(responses: Option<&'a InputResponses>, name: &str, pointer: &str) -> Option<&'a Value> {
    responses?.get(name)?.pointer(pointer)
}

pub(crate) fn answer(request: &CallToolRequestParams, context: &Context) -> Result<CallToolResponse, ErrorData> {
    let responses = request.input_responses.as_ref();
    let state = request.request_state.as_deref().map(opened).transpose()?;
    let name = || json!({"user_name": elicitation("What is your name?", "name", "string")});
    let answered = match &*request.name {
        "test_input_required_result_elicitation" | "test_input_required_result_progress" => {
            match given(responses, "user_name", "/content/name").and_then(Value::as_str) {
                Some(name) => Ok(done(format!("Hello, {name}!"))),
                None => Err(required(name(), None)?),
            }
        }
        "test_input_required_result_sampling" => match given(responses, "capital_question", "/content") {
            Some(said) => Ok(done(said.get("text").and_then(Value::as_str).unwrap_or_default().to_owned())),
            None => Err(required(json!({"capital_question": sampling("What is the capital of France?", 100)}), None)?),
        },
        "test_input_required_result_list_roots" => match given(responses, "client_roots", "/roots") {
            Some(roots) => Ok(done(format!("Roots: {roots}"))),
            None => Err(required(json!({"client_roots": roots()}), None)?),
        },
        "test_input_required_result_request_state" | "test_input_required_result_tampered_state" => {
            match (state, given(responses, "confirm", "")) {
                (Some(_), Some(_)) => Ok(done("state-ok".to_owned())),
                _ => {
                    Err(required(json!({"confirm": elicitation("Please confirm", "ok", "boolean")}), Some("confirm"))?)
                }
            }
        }
        "test_input_required_result_multiple_inputs" => {
            let all = ["user_name", "greeting", "client_roots"].map(|name| given(responses, name, "").is_some());
            if state.is_some() && all == [true; 3] {
                Ok(done("All were given.".to_owned()))
            } else {
                let inputs = json!({"user_name": elicitation("What is your name?", "name", "string"),
                                    "greeting": sampling("Generate a greeting", 50), "client_roots": roots()});
                Err(required(inputs, Some("all"))?)
            }
        }
        "test_input_required_result_multi_round" => match state {
            Some("step1") if given(responses, "step1", "").is_some() => {
                let step = elicitation("Step 2: What is your favorite color?", "color", "string");
                Err(required(json!({"step2": step}), Some("step2"))?)
            }
            Some("step2") if given(responses, "step2", "").is_some() => Ok(done("Both steps are done.".to_owned())),
            _ => {
                let step = elicitation("Step 1: What is your name?", "name", "string");
                Err(required(json!({"step1": step}), Some("step1"))?)
            }
        },
        "test_input_required_result_capabilities" => {
            let capabilities = context.client_capabilities().unwrap_or_default();
            let greeting = capabilities.sampling.map(|_| ("greeting", sampling("Generate a greeting", 50)));
            let name = capabilities.elicitation.map(|_| ("user_name", elicitation("Your name?", "name", "string")));
            let inputs: Map<String, Value> =
                greeting.into_iter().chain(name).map(|(name, input)| (name.to_owned(), input)).collect();
            if responses.is_some() || inputs.is_empty() {
                Ok(done("Done.".to_owned()))
            } else {
                Err(required(inputs.into(), None)?)
            }
        }
        _ => return Err(ErrorData::invalid_params("there is no such tool", None)),
    };
    Ok(answered.unwrap_or_else(Into::into))
}

pub(crate) fn prompt(request: &GetPromptRequestParams) -> Result<GetPromptResponse, ErrorData> {
    match given(request.input_responses.as_ref(), "user_context", "/content/context").and_then(Value::as_str) {
        Some(context) => {
            let message = PromptMessage::new_text(Role::User, format!("In the context of {context}."));
            Ok(GetPromptResult::new(vec![message]).into())
        }
        None => {
            let asked = elicitation("What context should the prompt use?", "context", "string");
            Ok(required(json!({"user_context": asked}), None)?.into())
        }
    }
}
