//! `memory append`: appends one message to a conversation.

use std::{
    io::{self, IsTerminal, Read},
    str::FromStr,
};

use anyhow::Context as _;
use clap::Args as ClapArgs;
use memory::parts::Parts;
use memory_core::{
    ConversationId, Message, MessageKey, Role, Timestamp,
    json::message_with_members,
    port::{Appended, Clock, StoreError},
    text::without_half_surrogates,
    time::utc_offset,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::{filter, resolve};
use crate::{
    Access,
    failure::{self, Usage},
    globals::Globals,
    news, open,
    output::{Output, counted},
};

/// The most bytes of a message from standard input.
const MOST_BYTES: usize = 64 << 20;

/// Appends one message to a conversation, which begins with it if it is new.
///
/// Returns when the message is on disk, and prints its number. Summaries are written and messages are embedded later,
/// by `memory context` and `memory index`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The text of the message, also after the name of its conversation; standard input without it, up to its end and
    /// without its last line end
    #[arg(value_name = "TEXT")]
    text: Option<String>,
    /// The conversation, by its whole name; one of a new name begins [default: the only one]
    #[arg(long, short, value_name = "ID")]
    conversation: Option<ConversationId>,
    #[command(flatten)]
    word: resolve::FirstWord,
    /// The first word names the conversation, also a new one
    #[arg(long, hide = true)]
    begins: bool,
    /// Who said it
    #[arg(long, value_name = "ROLE", default_value = "user", value_parser = filter::role())]
    role: Role,
    /// The name of who said it
    #[arg(long, value_name = "NAME")]
    speaker: Option<String>,
    /// The model that said it, by its name at its provider
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// When it was said: a date or RFC 3339; without an offset in the configured time zone, or else in UTC [default: now]
    #[arg(long, value_name = "TIME")]
    at: Option<SaidAt>,
    /// Your own name for the message: a message under a key that the conversation has is not appended again
    #[arg(long, value_name = "KEY", value_parser = MessageKey::new)]
    key: Option<MessageKey>,
    /// The metadata of the message: a JSON object
    #[arg(long, value_name = "JSON", value_parser = object)]
    metadata: Option<Box<RawValue>>,
    /// Keep its words out of all summaries
    #[arg(long)]
    keep_out_of_summaries: bool,
}

/// An appended message.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer<'a> {
    /// Conversation of the message.
    pub(crate) conversation: &'a ConversationId,
    #[serde(flatten)]
    pub(crate) appended: Appended,
    /// Number of messages in the conversation.
    pub(crate) nodes: u64,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let output = globals.output;
    let text = args.text(output)?;
    let kept = match args.append(&text, globals).await {
        // The store was encrypted or decrypted after it was opened, and nothing was appended.
        Err(error) if failure::must_open_again(&error) => args.append(&text, globals).await,
        kept => kept,
    };
    let (id, appended, nodes) = kept?;
    let Appended { node, is_new, is_erased, .. } = appended;
    if output.json {
        return Ok(output.value(&Answer { conversation: &id, appended, nodes })?);
    }
    output.line(&node.to_string())?;
    output.note(&match is_new {
        _ if is_erased => format!("message {node} of `{id}` had this key and was erased: nothing was appended"),
        true if nodes == 1 => format!("`{id}` begins with it"),
        true => format!("appended to `{id}`, which has {}", counted(nodes, "message", "messages")),
        false => format!("`{id}` has it already, as message {node}"),
    });
    Ok(())
}

impl Args {
    /// Appends the message; returns its conversation, its place there, and the number of messages.
    async fn append(&self, text: &str, globals: &Globals) -> anyhow::Result<(ConversationId, Appended, u64)> {
        // Without a name, a conversation must exist, and so must the store.
        let is_named = self.conversation.is_some() && !self.is_last();
        let access = if is_named || self.begins { Access::Write } else { Access::Existing };
        let config = globals.config(access)?.without_model();
        // Faults of the message are said before anything is opened.
        let mut message = self.message(text)?;
        let runtime = open(&config)?;
        news::print(globals.output, &news::of_key(&runtime, &config));
        let (id, whole) = self.place(&runtime, text, globals.output).await?;
        if whole != text {
            message = self.message(&whole)?;
        }
        let conversation = runtime.memory.conversation(id.clone());
        let appended = match &self.at {
            None => conversation.append(message).await?,
            Some(said) => {
                let at = &said.by(&**runtime.memory.clock());
                let appended = conversation.append_batch(vec![(message, *at)]).await?;
                let appended = appended.into_iter().next().context("the store took no message")?;
                if let Some(key) = self.key.clone().filter(|_| !appended.is_new)
                    && runtime.store.node(&id, appended.node).await?.at != *at
                {
                    return Err(StoreError::KeyConflict { conversation: id, key, node: appended.node }.into());
                }
                appended
            }
        };
        let state = match runtime.store.conversation(&id).await {
            // The message is appended: its number needs another opening.
            Err(error) if memory_store::must_open_again(&error) => open(&config)?.store.conversation(&id).await?,
            state => state?,
        };
        Ok((id, appended, state.nodes))
    }

    /// The conversation, and the text without its name.
    async fn place(&self, runtime: &Parts, text: &str, output: Output) -> anyhow::Result<(ConversationId, String)> {
        if let Some(id) = &self.conversation {
            // A conversation of this name would stand for the last one from then on.
            let id = if self.is_last() { resolve::conversation(runtime, Some("last")).await? } else { id.clone() };
            return Ok((id, text.to_owned()));
        }
        let (named, whole) = self.word.of(&runtime.memory, text, output).await?;
        match (named, self.word.word()) {
            (Some(id), _) => Ok((id, whole)),
            (None, Some(new)) if self.begins => Ok((ConversationId::new(new)?, text.to_owned())),
            _ => Ok((resolve::conversation(runtime, None).await?, whole)),
        }
    }

    fn is_last(&self) -> bool {
        self.conversation.as_ref().is_some_and(|id| id.as_str() == "last")
    }

    /// The text of the command line or of standard input.
    fn text(&self, output: Output) -> anyhow::Result<String> {
        if let Some(text) = &self.text {
            return Ok(text.clone());
        }
        if io::stdin().is_terminal() {
            output.note("reading the message from this terminal, up to Ctrl-D");
        }
        read(&mut io::stdin().lock())
    }

    fn message(&self, text: &str) -> anyhow::Result<Message> {
        if text.is_empty() {
            return Err(Usage("the message is empty".to_owned()).into());
        }
        let given = MessageMembers {
            role: self.role.as_str(),
            content: text,
            speaker: self.speaker.as_deref(),
            key: self.key.as_ref().map(MessageKey::as_str),
            keep_out_of_summaries: self.keep_out_of_summaries,
            metadata: self.metadata.as_deref(),
        };
        // The same reader as an import's: every digit stays, and no member may appear twice.
        let given = to_raw_value(&given)?;
        let (mut message, _) = message_with_members(&given, &[]).map_err(|error| Usage(error.to_string()))?;
        if let Some(model) = &self.model {
            message = message.spoken_by(model);
        }
        if let Some(offset) = self.at.as_ref().and_then(|said| said.offset) {
            message.state_utc_offset(offset);
        }
        Ok(message)
    }
}

/// The members of a message.
#[derive(Serialize)]
struct MessageMembers<'a> {
    role: &'a str,
    content: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    speaker: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    keep_out_of_summaries: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a RawValue>,
}

/// Reads a message to its end.
pub(super) fn read(from: &mut dyn Read) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    from.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes).context("cannot read standard input")?;
    if bytes.len() > MOST_BYTES {
        return Err(Usage(format!("standard input has more than {} MiB: that is no message", MOST_BYTES >> 20)).into());
    }
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Usage(format!("standard input is not UTF-8 at byte {at}"))
    })?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(text)
}

/// A time on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SaidAt {
    /// The time; in UTC if none is stated.
    at: Timestamp,
    pub(crate) offset: Option<i32>,
    /// True for a time of day of which no zone is stated.
    is_local: bool,
}

impl SaidAt {
    /// The time by a clock that knows the zone of the user.
    pub(crate) fn by(&self, clock: &dyn Clock) -> Timestamp {
        if !self.is_local {
            return self.at;
        }
        let read = self.at.as_millis();
        // Midnight in UTC would be a day without a time.
        let less_offset = |at: i64| {
            let offset = clock.utc_offset(Timestamp::from_millis(at | 1)).unwrap_or_default();
            read - i64::from(offset) * 1_000
        };
        Timestamp::from_millis(less_offset(less_offset(read)))
    }
}

impl FromStr for SaidAt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let at = text.parse::<Timestamp>().map_err(|error| error.to_string())?;
        let time = text.split_once(['T', 't', ' ']).map(|(_, time)| time);
        let is_local = time.is_some_and(|time| !time.contains(['Z', 'z', '+', '-']));
        Ok(Self { at, offset: utc_offset(text), is_local })
    }
}

fn object(text: &str) -> Result<Box<RawValue>, String> {
    let raw: Box<RawValue> =
        serde_json::from_str(&without_half_surrogates(text)).map_err(|error| format!("not JSON: {error}"))?;
    match raw.get().starts_with('{') {
        true => Ok(raw),
        false => Err("expected a JSON object, as in {\"channel\": \"mail\"}".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_input_loses_its_last_line_end_alone() {
        let check = |given: &str, expected: &str| assert_eq!(read(&mut given.as_bytes()).unwrap(), expected);
        check("hi\n", "hi");
        check("hi\r\n", "hi");
        check("a\n\nb\n\n", "a\n\nb\n");
        check(" hi", " hi");
        check("", "");
    }

    #[test]
    fn standard_input_that_is_no_message_is_refused_within_bounds() {
        assert!(read(&mut [b'a', 0xff].as_slice()).unwrap_err().to_string().contains("not UTF-8 at byte 1"));
        let endless = read(&mut io::repeat(b'a')).unwrap_err();
        assert!(endless.to_string().contains("more than 64 MiB"), "{endless}");
    }
}
