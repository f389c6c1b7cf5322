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
    line::{Inner, Line},
    pending, uuid_of,
};
use crate::{
    TranscriptError, Why,
    blocks::{Blocks, anthropic},
    out::{ItemQueue, says_nothing},
    records::RecordPlace,
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

/// Prompt that only the note of its queue holds, unless another record has the same words.
#[derive(Debug)]
pub(super) struct Taken {
    raw: String,
    words: String,
    place: RecordPlace,
}

impl Taken {
    /// Offset of its line in bytes.
    pub(super) const fn start(&self) -> u64 {
        self.place.start
    }

    pub(super) fn skip(&self, why: Why, out: &mut ItemQueue) {
        out.skip_at(why, "queue-operation (a prompt)", self.place);
    }
}

fn words(blocks: &[ContentBlock]) -> String {
    blocks.iter().map(|block| block.text().trim().to_owned()).collect::<Vec<_>>().join("\n")
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

    /// Records the words of an attachment, which the note of its queue may repeat.
    fn push_attached(&mut self, words: &str) {
        self.0.push(Prompt { fingerprint: attached(words), uuid: None });
    }

    /// True if an attachment just had these words.
    fn take_attached(&mut self, words: &str) -> bool {
        let print = attached(words);
        self.0.extract_if(.., |prompt| prompt.fingerprint == print).count() > 0
    }

    fn forget_attached(&mut self) {
        self.0.retain(|prompt| !prompt.fingerprint.starts_with(ATTACHED));
    }

    /// True if another line with the same prompt id had the same text.
    pub(super) fn repeats(&self, line: &Line<'_>, blocks: &[ContentBlock]) -> bool {
        let is_another = |prompt: &Prompt| prompt.uuid.as_deref() != line.uuid.as_deref();
        !self.0.is_empty()
            && fingerprint(line, blocks)
                .is_some_and(|print| self.0.iter().any(|said| is_another(said) && said.fingerprint == print))
    }
}

/// Begin of the fingerprint of an attachment's words.
const ATTACHED: &str = "attached-";

fn attached(words: &str) -> String {
    let hash: String = Hash::of_parts([words.as_bytes()]).to_string().chars().take(32).collect();
    format!("{ATTACHED}{hash}")
}

/// Hash of the prompt's id and text; `None` without an id.
fn fingerprint(line: &Line<'_>, blocks: &[ContentBlock]) -> Option<String> {
    let id = line.prompt_id.as_deref()?;
    let hash = Hash::of_parts([id.as_bytes(), words(blocks).as_bytes()]);
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
        let said = words(&prompt.blocks);
        if let Some(taken) = self.taken.take_if(|taken| taken.words == said) {
            taken.skip(Why::Repeated, out);
        }
        if let Some(branch) = self.current.and_then(|current| self.branches.get_mut(current)) {
            branch.prompts.push_attached(&said);
        }
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
        self.say_queued(line, &uuid, source, prompt, out)
    }

    /// Takes the prompt of a queue that the model took while it worked.
    pub(super) fn take_queued(
        &mut self,
        line: &Line<'_>,
        raw: &str,
        out: &mut ItemQueue,
    ) -> Result<(), TranscriptError> {
        let prompt = line.content.map(anthropic).unwrap_or_default();
        let taken = Taken { raw: raw.to_owned(), words: words(&prompt.blocks), place: out.place };
        let is_attached = self.branches.iter_mut().any(|branch| branch.prompts.take_attached(&taken.words));
        self.say_taken(None, out)?;
        if taken.words.is_empty() || command(&prompt.blocks) != Command::None {
            self.skip(line, Why::Note, &line.kind, out);
        } else if is_attached {
            taken.skip(Why::Repeated, out);
        } else {
            self.taken = Some(taken);
        }
        Ok(())
    }

    /// Adds the waiting prompt of a queue before the record that follows it, unless that repeats it.
    pub(super) fn say_taken(&mut self, next: Option<&Line<'_>>, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        if next.is_some() {
            self.branches.iter_mut().for_each(|branch| branch.prompts.forget_attached());
        }
        let Some(taken) = self.taken.take() else { return Ok(()) };
        let Ok(line) = serde_json::from_str::<Line<'_>>(&taken.raw) else { return Ok(()) };
        let said = next.filter(|next| next.kind == "user").and_then(|next| next.message);
        let said = said.and_then(|said| serde_json::from_str::<Inner<'_>>(said.get()).ok()?.content.map(anthropic));
        if said.is_some_and(|said| words(&said.blocks) == taken.words) {
            taken.skip(Why::Repeated, out);
            return Ok(());
        }
        let prompt = line.content.map(anthropic).unwrap_or_default();
        let place = std::mem::replace(&mut out.place, taken.place);
        let added = self.say_queued(&line, &uuid_of(&line, &taken.raw), None, prompt, out);
        out.place = place;
        added
    }

    /// Adds a prompt, with the id of another record that has it.
    fn say_queued(
        &mut self,
        line: &Line<'_>,
        uuid: &str,
        source: Option<String>,
        prompt: Blocks,
        out: &mut ItemQueue,
    ) -> Result<(), TranscriptError> {
        // The prompt is inside the model's turn, next to tool results, and does not end the answer.
        let number = self.branch(line, true, out)?;
        self.current = Some(number);
        let Some(branch) = self.branches.get_mut(number) else { return Ok(()) };
        branch.is_linked |= line.parent().is_some();
        branch.prompts.push(line, &prompt.blocks);
        let mut message = Message::new(Role::User, Vec::new());
        branch.set_out(&mut message, line);
        // No record continues a note of the queue.
        let record = branch.record.clone().filter(|_| line.uuid.is_none()).unwrap_or_else(|| uuid.to_owned());
        let message = branch.push(&record, pending(uuid, message, line, out.place.start, true), prompt, None, out);
        let spot = Spot { branch: number, message };
        self.spots.extend(source.iter().map(|source| (hashed(source), spot)));
        self.spots.insert(hashed(uuid), spot);
        Ok(())
    }
}
