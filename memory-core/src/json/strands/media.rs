//! Pictures and documents: formats, and bytes in JSON.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

/// Formats of documents and their media types.
const DOCUMENTS: [(&str, &str); 9] = [
    ("pdf", "application/pdf"),
    ("csv", "text/csv"),
    ("doc", "application/msword"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("xls", "application/vnd.ms-excel"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("html", "text/html"),
    ("txt", "text/plain"),
    ("md", "text/markdown"),
];

/// The media type of a document's format.
pub(super) fn document_type(format: &str) -> String {
    let known = DOCUMENTS.iter().find(|(known, _)| *known == format);
    known.map_or_else(|| format!("application/{format}"), |(_, media_type)| (*media_type).to_owned())
}

/// The format of a document's media type.
pub(super) fn document_format(media_type: &str) -> &str {
    let known = DOCUMENTS.iter().find(|(_, known)| *known == media_type);
    known.map_or_else(|| subtype(media_type), |(format, _)| *format)
}

/// `png` of `image/png`.
pub(super) fn subtype(media_type: &str) -> &str {
    media_type.rsplit('/').next().unwrap_or(media_type)
}

/// The wrapped bytes; `None` if the value is not wrapped.
pub(super) fn unwrapped(value: &Value) -> Option<Vec<u8>> {
    value.get("__bytes_encoded__")?.as_bool().filter(|wrapped| *wrapped)?;
    BASE64_STANDARD.decode(value.get("data")?.as_str()?).ok()
}

pub(super) fn wrapped(bytes: &[u8]) -> Value {
    json!({"__bytes_encoded__": true, "data": BASE64_STANDARD.encode(bytes)})
}
