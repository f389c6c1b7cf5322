//! Proofs to and from JSON. `docs/format.md` defines each member.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Map, Value, json};

use super::{HistoryProof, MessageProof, Proof, TreeHead, once::Once};
use crate::{
    ConversationId, Hash, Message, NodeId, Timestamp,
    json::{message_from_json, message_to_json},
    proof::{Salt, canonical_bytes, message_from_canonical},
};

/// Reason why bytes are not a proof.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidProof {
    /// The document is too long.
    #[error("a proof has at most {} bytes, this has {bytes}", Proof::MAX_BYTES)]
    TooLong {
        /// The length.
        bytes: usize,
    },
    /// The bytes are not JSON.
    #[error("a proof is one JSON object; this is not")]
    NotJson(#[source] serde_json::Error),
    /// A later version of this software wrote the proof.
    #[error("the proof has format {found}, this version reads format {}: use a newer version", Proof::FORMAT)]
    NewerFormat {
        /// The format of the proof.
        found: u64,
    },
    /// A member is missing, unknown or invalid.
    #[error("{at}: {why}")]
    Member {
        /// The member, as in `path[3]`.
        at: String,
        /// The fault.
        why: String,
    },
}

/// The longest path of any tree: a consistency proof over `u64::MAX` leaves.
const LONGEST_PATH: usize = 65;

const INCLUSION: &str = "inclusion";
const CONSISTENCY: &str = "consistency";

impl Proof {
    /// The format that [`Self::to_json`] writes and [`Self::parse`] reads.
    pub const FORMAT: u64 = 1;

    /// The most bytes that [`Self::parse`] reads: room for every message a log can hold, base64 included.
    pub const MAX_BYTES: usize = 128 << 20;

    /// Reads a proof without checking it: [`Self::verify`] does.
    ///
    /// # Errors
    /// [`InvalidProof`]. No input causes a panic or memory use out of proportion to its length.
    pub fn parse(bytes: &[u8]) -> Result<Self, InvalidProof> {
        if bytes.len() > Self::MAX_BYTES {
            return Err(InvalidProof::TooLong { bytes: bytes.len() });
        }
        // Doubled members are refused, because a reader that takes the first would see another proof.
        serde_json::from_slice::<Once>(bytes).map_err(|error| match error.is_data() {
            true => InvalidProof::Member { at: "proof".to_owned(), why: short(&error.to_string()) },
            false => InvalidProof::NotJson(error),
        })?;
        let value: Value = serde_json::from_slice(bytes).map_err(InvalidProof::NotJson)?;
        let members = Members::of(None, &value)?;
        match members.number("format")? {
            Self::FORMAT => {}
            0 => return Err(members.refuse("format", "there is no format 0")),
            found => return Err(InvalidProof::NewerFormat { found }),
        }
        match members.text("proof")? {
            INCLUSION => message_proof(&members).map(Self::from),
            CONSISTENCY => history_proof(&members).map(Self::from),
            other => Err(members.refuse("proof", format!("`{}` is none of {INCLUSION}, {CONSISTENCY}", short(other)))),
        }
    }

    /// Writes the JSON that [`Self::parse`] reads.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match self {
            Self::Message(proof) => message_proof_to_json(proof),
            Self::History(proof) => json!({
                "format": Self::FORMAT,
                "proof": CONSISTENCY,
                "conversation": proof.conversation.as_str(),
                "from": {"nodes": proof.earlier.nodes, "root": proof.earlier.root.to_string()},
                "to": {"nodes": proof.tree.nodes, "root": proof.tree.root.to_string()},
                "path": path_to_json(&proof.path),
            }),
        }
    }
}

fn message_proof_to_json(proof: &MessageProof) -> Value {
    let mut map = Map::new();
    let mut put = |name: &str, value: Value| map.insert(name.to_owned(), value);
    put("format", Proof::FORMAT.into());
    put("proof", INCLUSION.into());
    put("conversation", proof.conversation.as_str().into());
    put("node", proof.node.get().into());
    put("nodes", proof.tree.nodes.into());
    put("root", proof.tree.root.to_string().into());
    match faithful_json(&proof.message) {
        Some(message) => {
            put("at", at_to_json(proof.at));
            put("message", message);
        }
        None => {
            let bytes = canonical_bytes(&proof.message, proof.at);
            put("canonical", BASE64_STANDARD.encode(bytes).into());
        }
    }
    put("salt", format!("{:032x}", u128::from_be_bytes(proof.salt)).into());
    put("path", path_to_json(&proof.path));
    Value::Object(map)
}

/// The message as JSON, if a reader gets exactly the same message. Spelling and space of JSON inside the message would
/// get lost and so change the leaf. Parsers reject JSON that is nested too deep.
fn faithful_json(message: &Message) -> Option<Value> {
    let document = json!({"message": message_to_json(message)}).to_string();
    let mut read: Value = serde_json::from_str(&document).ok()?;
    let read = read.get_mut("message").map(Value::take)?;
    (message_from_json(&read).as_ref() == Ok(message)).then_some(read)
}

/// The time in RFC 3339, or in milliseconds outside the calendar.
fn at_to_json(at: Timestamp) -> Value {
    let text = at.to_string();
    if text.parse() == Ok(at) { text.into() } else { at.as_millis().into() }
}

fn path_to_json(path: &[Hash]) -> Value {
    path.iter().map(Hash::to_string).collect()
}

fn message_proof(members: &Members<'_>) -> Result<MessageProof, InvalidProof> {
    let always = ["format", "proof", "conversation", "node", "nodes", "root", "salt", "path"];
    let (message, at) = if members.map.contains_key("canonical") {
        members.only(&[&always[..], &["canonical"]].concat())?;
        canonical(members)?
    } else {
        members.only(&[&always[..], &["at", "message"]].concat())?;
        (members.message()?, members.at()?)
    };
    Ok(MessageProof {
        conversation: members.conversation()?,
        node: NodeId::new(members.number("node")?)
            .ok_or_else(|| members.refuse("node", "nodes are numbered from 1"))?,
        tree: TreeHead { nodes: members.number("nodes")?, root: members.hash("root")? },
        salt: members.salt()?,
        at,
        message,
        path: members.path()?,
    })
}

fn history_proof(members: &Members<'_>) -> Result<HistoryProof, InvalidProof> {
    members.only(&["format", "proof", "conversation", "from", "to", "path"])?;
    Ok(HistoryProof {
        conversation: members.conversation()?,
        earlier: members.tree_head("from")?,
        tree: members.tree_head("to")?,
        path: members.path()?,
    })
}

fn canonical(members: &Members<'_>) -> Result<(Message, Timestamp), InvalidProof> {
    let refuse = |why: String| members.refuse("canonical", why);
    let bytes = BASE64_STANDARD.decode(members.text("canonical")?).map_err(|_| refuse("expected base64".to_owned()))?;
    message_from_canonical(&bytes).map_err(|error| refuse(error.to_string()))
}

/// The members of an object of the document.
struct Members<'a> {
    /// The object's name; `None` for the document itself.
    within: Option<&'static str>,
    map: &'a Map<String, Value>,
}

impl<'a> Members<'a> {
    fn of(within: Option<&'static str>, value: &'a Value) -> Result<Self, InvalidProof> {
        let map = value.as_object().ok_or_else(|| InvalidProof::Member {
            at: within.unwrap_or("proof").to_owned(),
            why: "expected an object".to_owned(),
        })?;
        Ok(Self { within, map })
    }

    fn refuse(&self, name: &str, why: impl Into<String>) -> InvalidProof {
        let at = self.within.map_or_else(|| name.to_owned(), |within| format!("{within}.{name}"));
        InvalidProof::Member { at, why: why.into() }
    }

    fn only(&self, known: &[&str]) -> Result<(), InvalidProof> {
        match self.map.keys().find(|name| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some(unknown) => Err(self.refuse(&short(unknown), format!("no such member, only {}", known.join(", ")))),
        }
    }

    fn get(&self, name: &str) -> Result<&'a Value, InvalidProof> {
        self.map.get(name).ok_or_else(|| self.refuse(name, "missing"))
    }

    fn text(&self, name: &str) -> Result<&'a str, InvalidProof> {
        self.get(name)?.as_str().ok_or_else(|| self.refuse(name, "expected a text"))
    }

    fn number(&self, name: &str) -> Result<u64, InvalidProof> {
        self.get(name)?.as_u64().ok_or_else(|| self.refuse(name, "expected a whole number from 0 to 2^64 - 1"))
    }

    fn hash(&self, name: &str) -> Result<Hash, InvalidProof> {
        self.text(name)?.parse().map_err(|error: crate::InvalidHash| self.refuse(name, error.to_string()))
    }

    fn salt(&self) -> Result<Salt, InvalidProof> {
        salt_from_hex(self.text("salt")?).ok_or_else(|| self.refuse("salt", "a salt is 32 hexadecimal digits"))
    }

    fn conversation(&self) -> Result<ConversationId, InvalidProof> {
        let name = self.text("conversation")?;
        ConversationId::new(name).map_err(|error| self.refuse("conversation", error.to_string()))
    }

    fn tree_head(&self, name: &'static str) -> Result<TreeHead, InvalidProof> {
        let members = Members::of(Some(name), self.get(name)?)?;
        members.only(&["nodes", "root"])?;
        Ok(TreeHead { nodes: members.number("nodes")?, root: members.hash("root")? })
    }

    fn path(&self) -> Result<Vec<Hash>, InvalidProof> {
        let items = self.get("path")?.as_array().ok_or_else(|| self.refuse("path", "expected a list"))?;
        if items.len() > LONGEST_PATH {
            return Err(self.refuse("path", format!("no tree is {} hashes high", items.len())));
        }
        let hash = |(index, item): (usize, &Value)| {
            let hash = item.as_str().and_then(|text| text.parse().ok());
            hash.ok_or_else(|| self.refuse(&format!("path[{index}]"), crate::InvalidHash.to_string()))
        };
        items.iter().enumerate().map(hash).collect()
    }

    fn message(&self) -> Result<Message, InvalidProof> {
        message_from_json(self.get("message")?).map_err(|error| {
            let at = if error.at == "message" { error.at } else { format!("message.{}", short(&error.at)) };
            InvalidProof::Member { at, why: short(&error.why) }
        })
    }

    fn at(&self) -> Result<Timestamp, InvalidProof> {
        let at = match self.get("at")? {
            Value::String(text) => text.parse().ok(),
            Value::Number(millis) => millis.as_i64().map(Timestamp::from_millis),
            _ => None,
        };
        at.ok_or_else(|| self.refuse("at", "expected a time as RFC 3339 or milliseconds since 1970"))
    }
}

fn salt_from_hex(text: &str) -> Option<Salt> {
    let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    digits.then(|| u128::from_str_radix(text, 16).ok().map(u128::to_be_bytes)).flatten()
}

/// A beginning of an untrusted text, long enough to find it in the document.
fn short(text: &str) -> String {
    text.chars().take(200).flat_map(char::escape_debug).collect()
}
