//! Requests that are not JSON, which the protocol's own reader does not answer.

use rmcp::model::{ErrorCode, ErrorData, JsonRpcError, RequestId};
use serde::Deserialize;
use serde_json::{Value, error::Category};

/// The answer to a request that is no JSON, is nested too deeply or has a number out of range; `None` for all others.
/// The answer has the request's id if that can be read.
pub(crate) fn refusal(request: &[u8]) -> Option<Value> {
    let error = serde_json::from_slice::<Value>(request).err()?;
    let why = memory::text::one_line(&error.to_string()).into_owned();
    Some(answer(request, format!("the request cannot be read: {why}")))
}

/// The answer to a request that is JSON, but no message of the protocol.
pub(crate) fn no_message(request: &[u8]) -> Option<Value> {
    let error = serde_json::from_slice::<rmcp::model::ClientJsonRpcMessage>(request).err()?;
    if !matches!(error.classify(), Category::Data) {
        return refusal(request);
    }
    Some(answer(request, "the request is no message of the protocol".to_owned()))
}

fn answer(request: &[u8], why: String) -> Value {
    /// The id of a request that cannot be read as a whole. Other members are skipped, however deep they are.
    #[derive(Deserialize)]
    struct Known {
        #[serde(default)]
        id: Option<Value>,
    }
    let known = serde_json::from_slice::<Known>(request).ok();
    let code = if known.is_some() { ErrorCode::INVALID_REQUEST } else { ErrorCode::PARSE_ERROR };
    let id = known.and_then(|known| serde_json::from_value::<RequestId>(known.id?).ok());
    serde_json::to_value(JsonRpcError::new(id, ErrorData::new(code, why, None))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(request: &str) -> (Value, Value) {
        let answer = refusal(request.as_bytes()).unwrap();
        (answer.pointer("/error/code").unwrap().clone(), answer.get("id").cloned().unwrap_or_default())
    }

    #[test]
    fn what_cannot_be_read_is_answered_with_the_id_where_there_is_one() {
        let deep =
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"ping","x":{}1{}}}"#, "[".repeat(2_000), "]".repeat(2_000));
        let huge = r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"x":1e400}}"#;
        assert_eq!(answered("{bad"), ((-32700).into(), Value::Null));
        assert_eq!(answered(r#"{"jsonrpc":"2.0","id":3,"method":"#), ((-32700).into(), Value::Null));
        assert_eq!(answered(&deep), ((-32600).into(), 7.into()));
        assert_eq!(answered(huge), ((-32600).into(), "a".into()));
        assert!(refusal(b"\xff\xfe{}").is_some());
        assert_eq!(refusal(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#), None);
        assert_eq!(refusal(br#"{"any":"json"}"#), None);
    }
}
