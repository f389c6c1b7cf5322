//! Reading a message from JSON, leniently or exactly.

mod calls;

use std::{borrow::Cow, collections::BTreeMap};

use base64::{Engine, prelude::BASE64_STANDARD};

use super::{
    InvalidMessage, OtherMembers,
    value::{Members, Raw},
};
use crate::{ContentBlock, Json, Media, Message, MessageKey, Role};

const MEMBERS: [&str; 6] = ["role", "content", "speaker", "key", "keep_out_of_summaries", "metadata"];

/// Maximum nesting of tool results. No store of ours keeps a deeper one.
const MAX_DEPTH: usize = 32;

fn invalid(at: impl Into<String>, why: impl Into<String>) -> InvalidMessage {
    InvalidMessage { at: at.into(), why: why.into() }
}

/// Error for JSON that is not an object, or that gives a member twice.
fn not_an_object(json: Raw<'_>, at: &str) -> InvalidMessage {
    match json.given_twice() {
        Some(name) => invalid(if at == "message" { name } else { format!("{at}.{name}") }, "given twice"),
        None => invalid(at, "expected an object"),
    }
}

/// A message, and its members that `beside` names.
pub(super) fn message(json: Raw<'_>, beside: &[&str]) -> Result<(Message, OtherMembers), InvalidMessage> {
    let members = json.members().ok_or_else(|| not_an_object(json, "message"))?;
    let says_nothing = |name: &str, value: &Raw<'_>| json.foreign && value.is_null() && !MEMBERS.contains(&name);
    let (others, members): (Vec<_>, Vec<_>) =
        members.into_iter().partition(|(name, _)| beside.contains(&name.as_ref()));
    let members = members.into_iter().filter(|(name, value)| !says_nothing(name, value)).collect();
    let members = Object { members, exact: json.exact };
    let mut known: Vec<_> = MEMBERS.to_vec();
    if json.foreign {
        known.extend(calls::MEMBERS);
    }
    if let Some(unknown) = members.beyond(&known) {
        known.extend(beside);
        let why = format!("a message has no such member, only {}", known.join(", "));
        return Err(invalid(unknown, why));
    }
    let others = others.into_iter().map(|(name, value)| (name.into_owned(), value.json.to_owned())).collect();
    Ok((members.message()?, others))
}

/// JSON from outside.
fn from_outside(json: Raw<'_>, at: &str) -> Result<Json, InvalidMessage> {
    match json.unquoted() {
        Some(text) => Json::new(&text).map_err(|_| invalid(at, "`json_text` holds no JSON")),
        None => json.json().map_err(|error| invalid(at, error.to_string())),
    }
}

fn blocks(content: Raw<'_>, at: &str, depth: usize) -> Result<Vec<ContentBlock>, InvalidMessage> {
    if let Some(text) = content.text() {
        return Ok(vec![ContentBlock::Text(text.into_owned())]);
    }
    if !content.exact && content.is_null() {
        return Ok(Vec::new());
    }
    if content.is_text() {
        return Err(invalid(
            at,
            "half of a surrogate pair, which is no character: write the character, or leave it out",
        ));
    }
    let items = content.items().ok_or_else(|| invalid(at, "expected a text or a list of blocks"))?;
    items.into_iter().enumerate().map(|(i, item)| block(item, &format!("{at}[{i}]"), depth)).collect()
}

pub(super) fn block(json: Raw<'_>, at: &str, depth: usize) -> Result<ContentBlock, InvalidMessage> {
    if depth > MAX_DEPTH {
        return Err(invalid("content", format!("tool results are nested more than {MAX_DEPTH} deep")));
    }
    let as_it_came = || from_outside(json, at).map(ContentBlock::Unknown);
    if json.unquoted().is_some() {
        return as_it_came();
    }
    let Some(members) = json.members().map(|members| Object { members, exact: json.exact }) else {
        return if json.exact { as_it_came() } else { Err(not_an_object(json, at)) };
    };
    let known = match members.get("type").and_then(Raw::text).as_deref() {
        Some("text") => members.text_block(),
        Some("tool_use") => members.tool_use(at)?,
        Some("tool_result") => members.tool_result(at, depth)?,
        Some("thinking") => members.thinking(),
        Some("image") => members.only(&["type", "source"]).and_then(|()| members.media()).map(ContentBlock::Image),
        Some("document") => members.document(),
        Some("image_url") if json.foreign => members.image_url(),
        Some(_) => None,
        None if json.exact => None,
        None => return Err(invalid(format!("{at}.type"), "missing")),
    };
    known.map_or_else(as_it_came, Ok)
}

/// The picture at an address or in a `data:` URL; `None` for an invalid `data:` URL.
fn of_url(url: String) -> Option<Media> {
    let Some(data) = url.strip_prefix("data:") else { return Some(Media::Url(url)) };
    let (media_type, data) = data.split_once(";base64,")?;
    let data = BASE64_STANDARD.decode(data).ok()?.into();
    (!media_type.is_empty()).then(|| Media::Bytes { media_type: media_type.to_owned(), data })
}

/// An object. A method returns `None` if a member is missing or unexpected, so that the object is not a block of the
/// kind.
struct Object<'a> {
    members: Members<'a>,
    exact: bool,
}

impl<'a> Object<'a> {
    fn message(&self) -> Result<Message, InvalidMessage> {
        let role = match self.text("role")?.ok_or_else(|| invalid("role", "missing"))?.as_ref() {
            "user" | "human" => Role::User,
            "assistant" | "ai" => Role::Assistant,
            "system" | "developer" => Role::System,
            "tool" => Role::Tool,
            other => {
                return Err(invalid("role", format!("`{other}` is none of user, assistant, system, tool")));
            }
        };
        let content = match self.get("content") {
            Some(content) => blocks(content, "content", 0)?,
            None if self.given("tool_calls").is_some() => Vec::new(),
            None => return Err(invalid("content", "missing")),
        };
        let content = self.with_calls(role, content)?;
        let key = match self.text("key")? {
            Some(key) => Some(MessageKey::new(&key).map_err(|e| invalid("key", e.to_string()))?),
            None => None,
        };
        let metadata = match self.given("metadata").map(|json| (json, json.members())) {
            None => BTreeMap::new(),
            Some((_, Some(entries))) => entries
                .into_iter()
                .map(|(name, value)| Ok((name.into_owned(), from_outside(value, "metadata")?)))
                .collect::<Result<_, _>>()?,
            Some((json, None)) => return Err(not_an_object(json, "metadata")),
        };
        let keep_out_of_summaries = match self.given("keep_out_of_summaries").map(Raw::flag) {
            None => false,
            Some(Some(keep)) => keep,
            Some(None) => return Err(invalid("keep_out_of_summaries", "expected true or false")),
        };
        let speaker = self.text("speaker")?.map(Cow::into_owned);
        Ok(Message { role, speaker, content, key, metadata, keep_out_of_summaries })
    }

    fn get(&self, name: &str) -> Option<Raw<'a>> {
        self.members.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// A member that is not `null`.
    fn given(&self, name: &str) -> Option<Raw<'a>> {
        self.get(name).filter(|value| !value.is_null())
    }

    fn text(&self, name: &str) -> Result<Option<Cow<'a, str>>, InvalidMessage> {
        self.given(name).map(|value| value.text().ok_or_else(|| invalid(name, "expected a text"))).transpose()
    }

    /// A member with another name, which would be lost.
    fn beyond(&self, members: &[&str]) -> Option<&str> {
        self.members.iter().map(|(name, _)| name.as_ref()).find(|name| !members.contains(name))
    }

    fn only(&self, members: &[&str]) -> Option<()> {
        self.beyond(members).is_none().then_some(())
    }

    fn string(&self, name: &str) -> Option<String> {
        self.get(name)?.text().map(Cow::into_owned)
    }

    /// A text that may be missing.
    fn optional(&self, name: &str) -> Option<Option<String>> {
        match self.get(name) {
            None => Some(None),
            Some(value) if self.exact && value.is_null() => Some(None),
            Some(value) => Some(Some(value.text()?.into_owned())),
        }
    }

    fn text_block(&self) -> Option<ContentBlock> {
        self.only(&["type", "text"])?;
        self.string("text").map(ContentBlock::Text)
    }

    fn tool_use(&self, at: &str) -> Result<Option<ContentBlock>, InvalidMessage> {
        let named = self
            .only(&["type", "id", "name", "input"])
            .and_then(|()| Some((self.string("id")?, self.string("name")?, self.get("input")?)));
        let Some((id, name, input)) = named else { return Ok(None) };
        let input = from_outside(input, &format!("{at}.input"))?;
        Ok(Some(ContentBlock::ToolUse { id, name, input }))
    }

    fn tool_result(&self, at: &str, depth: usize) -> Result<Option<ContentBlock>, InvalidMessage> {
        let (content, is_error) = (self.get("content"), self.get("is_error"));
        if self.exact && (content.is_none() || is_error.is_none()) {
            return Ok(None);
        }
        let known = self
            .only(&["type", "tool_use_id", "content", "is_error"])
            .and_then(|()| Some((self.string("tool_use_id")?, is_error.map_or(Some(false), Raw::flag)?)));
        let Some((tool_use_id, is_error)) = known else { return Ok(None) };
        let at = format!("{at}.content");
        let content = content.map_or(Ok(Vec::new()), |content| blocks(content, &at, depth + 1))?;
        Ok(Some(ContentBlock::ToolResult { tool_use_id, content, is_error }))
    }

    fn thinking(&self) -> Option<ContentBlock> {
        self.only(&["type", "thinking", "signature"])?;
        let signature = self.optional("signature")?;
        Some(ContentBlock::Reasoning { text: self.string("thinking")?, signature })
    }

    /// A picture of OpenAI's Chat Completions API. An image has no field for the requested `detail`, so a block that
    /// states one stays unchanged.
    fn image_url(&self) -> Option<ContentBlock> {
        self.only(&["type", "image_url"])?;
        let image = self.get("image_url")?;
        let image = Object { members: image.members()?, exact: image.exact };
        image.only(&["url", "detail"])?;
        let is_usual = image.given("detail").is_none_or(|detail| detail.text().as_deref() == Some("auto"));
        let url = image.string("url").filter(|_| is_usual)?;
        Some(ContentBlock::Image(of_url(url)?))
    }

    fn document(&self) -> Option<ContentBlock> {
        self.only(&["type", "title", "source"])?;
        let title = self.optional("title")?;
        Some(ContentBlock::Document { title, media: self.media()? })
    }

    fn media(&self) -> Option<Media> {
        self.get("source")?.source()?.into_media()
    }
}
