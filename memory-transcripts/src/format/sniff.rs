//! Scans the keys at the start of a file, which may be cut off.

use std::collections::HashSet;

/// Maximum keys that are kept, since a hostile file may have any number.
const MOST: usize = 4_096;

/// Keys and types of the first value of a file, as far as they were scanned.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Keys of the value itself.
    own: HashSet<String>,
    /// Keys of all objects within it.
    inner: HashSet<String>,
    pub(super) kind: Option<String>,
    /// All values of `type` within it.
    kinds: HashSet<String>,
    /// True if some object has a `text` and no `type`.
    pub(super) has_bare_text: bool,
    /// True if the value is an element of a list.
    pub(super) in_list: bool,
}

impl Seen {
    pub(super) fn has(&self, key: &str) -> bool {
        self.own.contains(key)
    }

    pub(super) fn inner(&self, key: &str) -> bool {
        self.inner.contains(key)
    }

    pub(super) fn is_kind(&self, kinds: &[&str]) -> bool {
        kinds.iter().any(|kind| self.kinds.contains(*kind))
    }
}

/// An object or list whose end was not scanned yet, and which of two members it has.
#[derive(Clone, Copy, Debug, Default)]
struct Open {
    is_object: bool,
    has_type: bool,
    has_text: bool,
}

impl Open {
    fn is_bare(self) -> bool {
        self.has_text && !self.has_type
    }
}

/// Scans the first object: in a list, the first element. `None` without an object.
pub(super) fn first_value(bytes: &[u8]) -> Option<Seen> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let mut seen = Seen::default();
    let mut rest = text;
    // A list may contain lists.
    while let Some(inner) = rest.strip_prefix('[') {
        seen.in_list = true;
        rest = inner.trim_start();
    }
    if !rest.starts_with('{') {
        return None;
    }
    let mut open: Vec<Open> = Vec::new();
    let mut chars = rest.char_indices();
    let mut key: Option<String> = None;
    while let Some((_, c)) = chars.next() {
        match c {
            '{' | '[' => {
                open.push(Open { is_object: c == '{', ..Open::default() });
                key = None;
            }
            '}' | ']' => {
                let closed = open.pop();
                seen.has_bare_text |= !open.is_empty() && closed.is_some_and(Open::is_bare);
                key = None;
                if open.is_empty() {
                    break;
                }
            }
            ',' => key = None,
            '"' => {
                let text = string(&mut chars)?;
                let depth = open.len();
                match (open.last_mut().filter(|open| open.is_object), key.take()) {
                    (Some(object), None) => {
                        object.has_type |= text == "type";
                        object.has_text |= text == "text";
                        if seen.inner.len() < MOST {
                            if depth == 1 {
                                seen.own.insert(text.clone());
                            }
                            seen.inner.insert(text.clone());
                        }
                        key = Some(text);
                    }
                    (Some(_), Some(of)) if of == "type" && seen.kinds.len() < MOST => {
                        if depth == 1 {
                            seen.kind.get_or_insert_with(|| text.clone());
                        }
                        seen.kinds.insert(text);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        if open.len() > 64 {
            break;
        }
    }
    // An object that was cut off counts as complete.
    seen.has_bare_text |= open.into_iter().skip(1).any(Open::is_bare);
    Some(seen)
}

/// The rest of a string, still escaped; cut off where the scanned text ends.
#[expect(clippy::unnecessary_wraps, reason = "a string ends the scan where it is cut")]
fn string(chars: &mut std::str::CharIndices<'_>) -> Option<String> {
    let mut text = String::new();
    let mut escaped = false;
    for (_, c) in chars {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(text),
            _ => {}
        }
        if text.len() < 64 {
            text.push(c);
        }
    }
    Some(text)
}
