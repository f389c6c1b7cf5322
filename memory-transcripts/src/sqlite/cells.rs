//! Values of columns. In SQLite a value may have another type than its column.

use memory_core::Timestamp;
use rusqlite::{
    Row,
    types::{Value, ValueRef},
};

/// The text of a column; a number is formatted. `None` for `NULL` and for a blob.
pub(super) fn text(row: &Row<'_>, index: usize) -> rusqlite::Result<Option<String>> {
    Ok(match row.get_ref(index)? {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Blob(bytes) => std::str::from_utf8(bytes).ok().map(str::to_owned),
    })
}

pub(super) fn integer(row: &Row<'_>, index: usize) -> rusqlite::Result<Option<i64>> {
    Ok(match row.get_ref(index)? {
        ValueRef::Integer(number) => Some(number),
        ValueRef::Text(bytes) => std::str::from_utf8(bytes).ok().and_then(|text| text.trim().parse().ok()),
        ValueRef::Null | ValueRef::Real(_) | ValueRef::Blob(_) => None,
    })
}

/// The time of a column: RFC 3339, the UTC format of SQLite's `datetime`, or milliseconds since 1970.
pub(super) fn time(row: &Row<'_>, index: usize) -> rusqlite::Result<Option<Timestamp>> {
    let Some(text) = text(row, index)? else { return Ok(None) };
    let text = text.trim();
    let millis = || text.parse().ok().map(Timestamp::from_millis);
    Ok(text.parse().ok().or_else(|| format!("{}Z", text.replacen(' ', "T", 1)).parse().ok()).or_else(millis))
}

/// Bytes of the values of a row.
pub(super) fn bytes(row: &Row<'_>) -> rusqlite::Result<u64> {
    let mut sum = 0;
    for index in 0..row.as_ref().column_count() {
        sum += match row.get_ref(index)? {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len() as u64,
            _ => 8,
        };
    }
    Ok(sum)
}

/// A key as it is written in a name.
pub(in crate::sqlite) fn shown(key: &Value) -> String {
    match key {
        Value::Integer(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        other => format!("{other:?}"),
    }
}
