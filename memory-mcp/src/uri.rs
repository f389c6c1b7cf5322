//! Addresses of resources: `memory://conversation/{id}` and `memory://conversation/{id}/node/{n}`.

use memory::{ConversationId, NodeId};

/// The beginning of every address.
const ROOT: &str = "memory://conversation/";

/// Target of an address.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// A conversation from a message on.
    Conversation { id: ConversationId, from: NodeId },
    /// A message.
    Node { id: ConversationId, node: NodeId },
}

impl Address {
    /// The target of `uri`; `None` if it is none of this server's addresses.
    pub(crate) fn parse(uri: &str) -> Option<Self> {
        let rest = uri.strip_prefix(ROOT)?;
        let (path, query) = rest.split_once('?').map_or((rest, None), |(path, query)| (path, Some(query)));
        let mut parts = path.split('/');
        let id = ConversationId::new(&decoded(parts.next()?)?).ok()?;
        match (parts.next(), parts.next(), parts.next(), query) {
            (None, None, None, None) => Some(Self::Conversation { id, from: NodeId::FIRST }),
            (None, None, None, Some(query)) => {
                let from = query.strip_prefix("from=")?.parse().ok().and_then(NodeId::new)?;
                Some(Self::Conversation { id, from })
            }
            (Some("node"), Some(node), None, None) => {
                Some(Self::Node { id, node: node.parse().ok().and_then(NodeId::new)? })
            }
            _ => None,
        }
    }
}

/// The address of a conversation.
pub(crate) fn of_conversation(id: &ConversationId) -> String {
    format!("{ROOT}{}", encoded(id.as_str()))
}

/// The address of the rest of a conversation.
pub(crate) fn of_rest(id: &ConversationId, from: NodeId) -> String {
    format!("{}?from={from}", of_conversation(id))
}

/// The address of a message.
#[cfg(test)]
fn of_node(id: &ConversationId, node: NodeId) -> String {
    format!("{}/node/{node}", of_conversation(id))
}

/// Escapes all characters except those that are valid in every part of an address.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// The decoded text; `None` if it is not escaped UTF-8.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let (digits, behind) = rest.split_at_checked(2)?;
        if !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = behind;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> ConversationId {
        ConversationId::new(name).unwrap()
    }

    #[test]
    fn addresses_are_read_as_they_are_written() {
        let node = NodeId::new(7).unwrap();
        for name in ["trip", "a%b?c#d&e=f", "日本", "-", ".."] {
            let id = id(name);
            let conversation = Address::Conversation { id: id.clone(), from: NodeId::FIRST };
            assert_eq!(Address::parse(&of_conversation(&id)), Some(conversation));
            let rest = Address::Conversation { id: id.clone(), from: node };
            assert_eq!(Address::parse(&of_rest(&id, node)), Some(rest));
            assert_eq!(Address::parse(&of_node(&id, node)), Some(Address::Node { id, node }));
        }
    }

    #[test]
    fn what_is_no_address_names_nothing() {
        for wrong in [
            "",
            "memory://conversation/",
            "memory://conversation/trip/",
            "memory://conversation/trip/node",
            "memory://conversation/trip/node/0",
            "memory://conversation/trip/node/-1",
            "memory://conversation/trip/node/1/2",
            "memory://conversation/trip/node/99999999999999999999",
            "memory://conversation/trip?from=0",
            "memory://conversation/trip?from=x",
            "memory://conversation/trip?to=4",
            "memory://conversation/a%2Fb",
            "memory://conversation/a%5Cb",
            "memory://conversation/%00",
            "memory://conversation/%zz",
            "memory://conversation/%+1",
            "memory://conversation/../../etc/passwd",
            "file:///etc/passwd",
        ] {
            assert_eq!(Address::parse(wrong), None, "{wrong}");
        }
    }
}
