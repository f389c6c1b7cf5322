//! Prompts that a person typed while the model worked; the program stores them as attachments.

use std::borrow::Cow;

use memory_core::{ContentBlock, Hash, Message, Role};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    ClaudeCode, Spot,
    branch::Branch,
    command::{Command, command},
    hashed,
    line::Line,
    pending, uuid_of,
};
use crate::{
    TranscriptError, Why,
    blocks::{Blocks, anthropic},
    out::{ItemQueue, says_nothing},
};

/// Prompts that are kept to recognize repetitions.
const MOST: usize = 16;

#[derive(Debug, Deserialize)]
struct Attachment<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    prompt: Option<&'a RawValue>,
    #[serde(rename = "commandMode", borrow)]
    mode: Option<Cow<'a, str>>,
    #[serde(borrow)]
    origin: Option<Origin<'a>>,
    #[serde(rename = "isMeta")]
    is_meta: Option<bool>,
    #[serde(borrow)]
    source_uuid: Option<Cow<'a, str>>,
}

#[derive(Debug, Deserialize)]
struct Origin<'a> {
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
}

/// Prompt in an attachment, with its own id if its line has another. `None` for any other attachment, and for a prompt
/// that the program queued itself.
fn queued(line: &Line<'_>) -> Option<(Blocks, Option<String>)> {
    let attachment: Attachment<'_> = serde_json::from_str(line.attachment?.get()).ok()?;
    let by_person = attachment.mode.is_none_or(|mode| mode == "prompt")
        && attachment.origin.and_then(|origin| origin.kind).is_none_or(|kind| kind == "human")
        && attachment.is_meta != Some(true);
    if attachment.kind != "queued_command" || !by_person {
        return None;
    }
    Some((anthropic(attachment.prompt?), attachment.source_uuid.map(Cow::into_owned)))
}

/// Fingerprints of prompts typed while the model worked, to recognize messages that repeat them.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Prompts(Vec<Prompt>);

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, Deserialize)]
struct Prompt {
    /// Hash of the prompt's id and text.
    #[serde(rename = "print")]
    fingerprint: String,
    /// Id of its line, so that a line that is read again does not count as its own repetition.
    uuid: Option<String>,
}

impl Prompts {
    pub(super) fn push(&mut self, line: &Line<'_>, blocks: &[ContentBlock]) {
        let Some(fingerprint) = fingerprint(line, blocks) else { return };
        if self.0.len() >= MOST {
            self.0.remove(0);
        }
        self.0.push(Prompt { fingerprint, uuid: line.uuid.as_deref().map(str::to_owned) });
    }

    /// True if another line with the same prompt id had the same text.
    pub(super) fn repeats(&self, line: &Line<'_>, blocks: &[ContentBlock]) -> bool {
        let is_another = |prompt: &Prompt| prompt.uuid.as_deref() != line.uuid.as_deref();
        !self.0.is_empty()
            && fingerprint(line, blocks)
                .is_some_and(|print| self.0.iter().any(|said| is_another(said) && said.fingerprint == print))
    }
}

/// Hash of the prompt's id and text; `None` without an id.
fn fingerprint(line: &Line<'_>, blocks: &[ContentBlock]) -> Option<String> {
    let id = line.prompt_id.as_deref()?;
    let texts: Vec<_> = blocks.iter().map(|block| block.text().trim().to_owned()).collect();
    let hash = Hash::of_parts([id.as_bytes(), texts.join("\n").as_bytes()]);
    Some(hash.to_string().chars().take(32).collect())
}

impl ClaudeCode {
    /// Adds the prompt of an attachment, or counts the attachment as skipped.
    pub(super) fn attached(&mut self, line: &Line<'_>, raw: &str, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        let queued = queued(line).filter(|(prompt, _)| command(&prompt.blocks) == Command::None);
        let Some((prompt, source)) = queued else {
            self.skip(line, Why::Note, &line.kind, out);
            return Ok(());
        };
        let uuid = uuid_of(line, raw);
        let is_there = |uuid: &str| self.spots.contains_key(&hashed(uuid));
        let repeats = |branch: &Branch| branch.prompts.repeats(line, &prompt.blocks);
        if is_there(&uuid) || source.as_deref().is_some_and(is_there) || self.branches.iter().any(repeats) {
            self.skip(line, Why::Repeated, "attachment (a prompt)", out);
            return Ok(());
        }
        if says_nothing(&prompt.blocks) {
            self.skip(line, Why::Empty, "attachment (a prompt)", out);
            return Ok(());
        }
        // The prompt is inside the model's turn, next to tool results, and does not end the answer.
        let number = self.branch(line, true, out)?;
        self.current = Some(number);
        let Some(branch) = self.branches.get_mut(number) else { return Ok(()) };
        branch.is_linked |= line.parent().is_some();
        branch.prompts.push(line, &prompt.blocks);
        let mut message = Message::new(Role::User, Vec::new());
        branch.set_out(&mut message, line);
        let message = branch.push(&uuid, pending(&uuid, message, line, out.place.start, true), prompt, None, out);
        let spot = Spot { branch: number, message };
        self.spots.extend(source.iter().map(|source| (hashed(source), spot)));
        self.spots.insert(hashed(&uuid), spot);
        Ok(())
    }
}
