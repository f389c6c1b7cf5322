//! Scans the keys of the first values of a file, which may be cut off.

use std::{collections::HashSet, iter};

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

/// The first objects of a text, or of a list at its start.
pub(super) fn values(text: &str) -> impl Iterator<Item = Seen> {
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    let mut in_list = false;
    // A list may contain lists.
    while let Some(inner) = rest.strip_prefix('[') {
        in_list = true;
        rest = inner.trim_start();
    }
    iter::from_fn(move || {
        let (mut seen, length) = rest.starts_with('{').then(|| value(rest))?;
        seen.in_list = in_list;
        rest = rest.get(length..).unwrap_or_default().trim_start_matches(|c: char| c == ',' || c.is_whitespace());
        Some(seen)
    })
}

/// Scans an object, and returns its length in bytes.
fn value(text: &str) -> (Seen, usize) {
    let mut seen = Seen::default();
    let mut open: Vec<Open> = Vec::new();
    let mut chars = text.char_indices();
    let mut key: Option<String> = None;
    let mut length = text.len();
    while let Some((at, c)) = chars.next() {
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
                    length = at + 1;
                    break;
                }
            }
            ',' => key = None,
            '"' => {
                let text = string(&mut chars);
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
    (seen, length)
}

/// The rest of a string, still escaped; cut off where the scanned text ends.
fn string(chars: &mut std::str::CharIndices<'_>) -> String {
    let mut text = String::new();
    let mut escaped = false;
    for (_, c) in chars {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => break,
            _ => {}
        }
        if text.len() < 64 {
            text.push(c);
        }
    }
    text
}
