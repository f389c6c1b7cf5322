//! Attempts to get at what was erased: in the bytes of all files, and through the store's own calls.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    time::Instant,
};

use memory_core::{
    ContentBlock, ConversationId, Media, Message, NodeId, NodeRange, NoteId, SummaryId, ViewId,
    port::{NoteChange, Place, Query, Revision, Scope, Store, StoreError},
};
use memory_search::FindRequest;
use memory_store::TextSet;

use super::{
    EraseError, ErasureTarget,
    plan::chunks,
    receipt::{ByteScan, Probes},
};
use crate::parts::Parts;

/// Most texts and most words that are looked for.
const MOST: usize = 4_000;
/// Bytes of a text that is looked for; a shorter one is in other messages by chance.
const LENGTH: std::ops::RangeInclusive<usize> = 16..=64;
/// Characters of a word that is looked for.
const WORD: usize = 8;
/// Most searches, and most reads of each conversation.
const MOST_PROBES: usize = 8;
const MOST_READS: usize = 1_000;

/// Texts and words of messages that are about to be erased.
#[derive(Clone, Debug, Default)]
pub(super) struct Needles {
    texts: BTreeSet<String>,
    words: BTreeSet<String>,
    /// Texts by which the store is searched.
    questions: Vec<(ConversationId, String)>,
}

impl Needles {
    /// Texts of the messages of these targets, a bounded number of each.
    pub(super) async fn of(parts: &Parts, targets: &[ErasureTarget]) -> Result<Self, EraseError> {
        let mut needles = Self::default();
        for target in targets {
            for run in target.nodes.iter().flat_map(|run| chunks(*run)) {
                if needles.texts.len() >= MOST && needles.words.len() >= MOST {
                    break;
                }
                let read = parts.store.whole_nodes(&target.conversation, run).await?;
                read.nodes.iter().for_each(|node| needles.add(&target.conversation, &node.message));
            }
            for [first, last] in &target.named_notes {
                for note in parts.store.notes(&target.conversation, *first, *last).await? {
                    if let NoteChange::Write { text, .. } | NoteChange::Append { text, .. } = note.change {
                        needles.add_text(None, &text);
                    }
                }
            }
        }
        Ok(needles)
    }

    fn add(&mut self, conversation: &ConversationId, message: &Message) {
        let mut texts = Vec::new();
        texts_of(&message.content, &mut texts);
        texts.extend(message.metadata.values().map(|value| value.as_str().to_owned()));
        texts.iter().for_each(|text| self.add_text(Some(conversation), text));
    }

    /// Adds a text, which is also searched for in the conversation, if one is given.
    fn add_text(&mut self, conversation: Option<&ConversationId>, text: &str) {
        for line in text.lines() {
            let parts = pieces(line.trim());
            if let Some(conversation) = conversation.filter(|_| !parts.is_empty() && self.questions.len() < MOST_PROBES)
            {
                self.questions.push((conversation.clone(), line.trim().to_owned()));
            }
            for piece in parts {
                if self.texts.len() < MOST {
                    self.texts.extend(json_escaped(piece).into_iter().chain([piece.to_owned()]));
                }
            }
        }
        let words = words_of(text).filter(|word| word.chars().count() >= WORD);
        let room = MOST.saturating_sub(self.words.len());
        self.words.extend(words.take(room));
    }
}

/// The beginning, the middle and the end of a line that is long enough.
fn pieces(line: &str) -> Vec<&str> {
    if line.len() < *LENGTH.start() {
        return Vec::new();
    }
    let cut = |at: usize| {
        let begin = (at..line.len()).find(|at| line.is_char_boundary(*at))?;
        let end = (begin..=line.len().min(begin + LENGTH.end())).rev().find(|at| line.is_char_boundary(*at))?;
        line.get(begin..end).filter(|piece| piece.len() >= *LENGTH.start())
    };
    let starts = BTreeSet::from([0, line.len() / 2, line.len().saturating_sub(*LENGTH.end())]);
    starts.into_iter().filter_map(cut).collect()
}

/// All texts of a message's blocks.
pub(super) fn texts_of(blocks: &[ContentBlock], texts: &mut Vec<String>) {
    let of_media = |media: &Media| match media {
        Media::Url(text) | Media::Text { text, .. } => Some(text.clone()),
        Media::Bytes { .. } => None,
    };
    for block in blocks {
        match block {
            ContentBlock::Text(text) | ContentBlock::Reasoning { text, .. } => texts.push(text.clone()),
            ContentBlock::ToolUse { input, .. } => texts.push(input.as_str().to_owned()),
            ContentBlock::ToolResult { content, .. } => texts_of(content, texts),
            ContentBlock::Image(media) => texts.extend(of_media(media)),
            ContentBlock::Document { title, media } => texts.extend(title.clone().into_iter().chain(of_media(media))),
            ContentBlock::Unknown(json) => texts.push(json.as_str().to_owned()),
        }
    }
}

/// The text as JSON writes it, if that differs.
fn json_escaped(text: &str) -> Option<String> {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' => escaped.push_str("\\\""),
            '\\' => escaped.push_str("\\\\"),
            '\t' => escaped.push_str("\\t"),
            c if c.is_control() => escaped.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => escaped.push(c),
        }
    }
    (escaped != text).then_some(escaped)
}

/// Words in lower case, as an index of words keeps those that it does not shorten.
fn words_of(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// Attempts, and what they found.
#[derive(Debug)]
pub(super) struct Attack {
    needles: Needles,
    pub(super) scan: ByteScan,
    pub(super) probes: Probes,
}

impl Attack {
    pub(super) fn new(needles: Needles) -> Self {
        Self { needles, scan: ByteScan::default(), probes: Probes::default() }
    }

    /// Searches all files of these directories; returns those that hold what nothing that stays says.
    pub(super) async fn search_files(&mut self, parts: &Parts, dirs: &[PathBuf]) -> Result<Vec<PathBuf>, EraseError> {
        let started = Instant::now();
        let Needles { texts, words, .. } = &self.needles;
        let all: Vec<Vec<u8>> = texts.iter().chain(words).map(|text| text.as_bytes().to_vec()).collect();
        let mut scan = ByteScan { texts: texts.len() as u64, words: words.len() as u64, ..ByteScan::default() };
        let mut found: BTreeMap<usize, BTreeSet<PathBuf>> = BTreeMap::new();
        for dir in dirs {
            let searched = parts.log.scan_bytes(dir, &all, &()).map_err(|source| StoreError::Io {
                action: "search",
                place: dir.as_path().into(),
                source,
            })?;
            (scan.files, scan.bytes) = (scan.files + searched.files, scan.bytes + searched.bytes);
            for (number, path) in searched.found {
                found.entry(number).or_default().insert(path);
            }
        }
        scan.millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut open = Open::of(texts, words, found.keys().copied().collect())?;
        let before = open.left.len();
        strike_what_stays(parts, &mut open).await?;
        (scan.also_said, scan.found) = ((before - open.left.len()) as u64, open.left.len() as u64);
        self.scan = scan;
        let left = open.left.iter().filter_map(|number| found.get(number)).flatten();
        Ok(left.cloned().collect::<BTreeSet<_>>().into_iter().collect())
    }

    /// Searches for what was erased by meaning, words and text, and reads it.
    pub(super) async fn probe(&mut self, parts: &Parts, targets: &[ErasureTarget]) -> Result<(), EraseError> {
        let runs: BTreeMap<&ConversationId, &[NodeRange]> =
            targets.iter().map(|target| (&target.conversation, target.nodes.as_slice())).collect();
        let is_erased = |conversation: &ConversationId, node: NodeId| {
            runs.get(conversation).is_some_and(|runs| runs.iter().any(|run| run.contains(node)))
        };
        for (conversation, question) in &self.needles.questions {
            let scope = Scope::only(vec![conversation.clone()]);
            let found = parts.memory.search(Query::new(question, scope.clone())).await?;
            self.probes.searches += 1;
            self.probes.found += u64::from(found.hits.iter().any(|hit| is_erased(&hit.conversation, hit.node.id)));
            let found = parts.memory.find(FindRequest::new(&literal(question), scope)).await?;
            self.probes.finds += 1;
            self.probes.found +=
                u64::from(found.matches.iter().any(|found| is_erased(&found.conversation, found.node)));
        }
        for target in targets {
            for node in target.nodes.iter().flat_map(|run| run.iter()).take(MOST_READS) {
                let read = parts.store.node(&target.conversation, node).await?;
                self.probes.reads += 1;
                self.probes.found += u64::from(!read.is_erased || read.message.text() != memory_core::ERASED);
            }
        }
        Ok(())
    }
}

/// A regular expression that matches exactly this text.
fn literal(text: &str) -> String {
    let escaped =
        |c: char| if c.is_alphanumeric() || c == ' ' { c.to_string() } else { format!("\\x{{{:x}}}", u32::from(c)) };
    text.chars().map(escaped).collect()
}

/// Needles that a file holds, and that nothing that stays was found to say.
struct Open {
    /// Numbers of the needles that are left.
    left: BTreeSet<usize>,
    /// Numbers of the texts and of the words in the sets.
    numbers: [Vec<usize>; 2],
    texts: TextSet,
    words: TextSet,
}

impl Open {
    fn of(texts: &BTreeSet<String>, words: &BTreeSet<String>, left: BTreeSet<usize>) -> Result<Self, EraseError> {
        let (mut numbers, mut sets) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
        for (number, needle) in texts.iter().chain(words).enumerate().filter(|(number, _)| left.contains(number)) {
            let [of_texts, of_words] = &mut numbers;
            let [texts_left, words_left] = &mut sets;
            let (of, to) = if number < texts.len() { (of_texts, texts_left) } else { (of_words, words_left) };
            of.push(number);
            to.push(needle);
        }
        let [texts, words] = sets;
        let set = |needles: Vec<&String>| {
            TextSet::new(needles).map_err(|source| StoreError::Io {
                action: "search",
                place: Place::new("memory"),
                source,
            })
        };
        Ok(Self { left, numbers, texts: set(texts)?, words: set(words)? })
    }

    /// Removes the needles that these texts hold.
    fn strike(&mut self, said: &[String]) {
        let [texts, words] = &self.numbers;
        for text in said.iter().filter(|text| !text.is_empty()) {
            let (lower, escaped) = (text.to_lowercase(), json_escaped(text).unwrap_or_default());
            let of_texts = self.texts.found_in(text.as_bytes()).chain(self.texts.found_in(escaped.as_bytes()));
            let of_texts = of_texts.filter_map(|found| texts.get(found));
            let of_words = self.words.found_in(lower.as_bytes()).filter_map(|found| words.get(found));
            for number in of_texts.chain(of_words) {
                self.left.remove(number);
            }
        }
    }
}

/// Removes the needles that are in what stays: what was not erased, by any owner, and names and titles.
async fn strike_what_stays(parts: &Parts, open: &mut Open) -> Result<(), EraseError> {
    // The store itself, not what an owner sees of it.
    let log: &dyn Store = &*parts.log;
    let states = if open.left.is_empty() { Vec::new() } else { log.conversations().await? };
    for state in states {
        let mut said = vec![state.id.to_string(), state.tags.join(" ")];
        said.extend(state.title.clone());
        said.extend(state.owner.as_ref().map(ToString::to_string));
        let last = log.changes(&state.id, Revision::default()).await?.last_summary;
        let ids: Vec<_> = (1..=last).filter_map(SummaryId::new).collect();
        for summary in log.whole_summaries_of(&state.id, &ids).await? {
            said.extend([summary.body.text, summary.body.written_by.strategy, summary.body.written_by.version]);
            said.extend(summary.body.metadata.topics);
        }
        if let Some(last) = ViewId::new(state.views) {
            for view in log.views(&state.id, ViewId::FIRST, last).await? {
                said.extend([view.body.question, view.body.chosen_by.strategy, view.body.counter]);
            }
        }
        for note in log.notes(&state.id, NoteId::FIRST, NoteId::after(state.notes)).await? {
            match note.change {
                NoteChange::Write { name, text } | NoteChange::Append { name, text } => said.extend([name, text]),
                NoteChange::Remove { name } => said.push(name),
                NoteChange::Rename { from, to } => said.extend([from, to]),
            }
        }
        open.strike(&said);
        for run in NodeRange::first_n(state.nodes).into_iter().flat_map(chunks) {
            if open.left.is_empty() {
                return Ok(());
            }
            let read = log.whole_nodes(&state.id, run).await?;
            for node in read.nodes.iter().filter(|node| !node.is_erased) {
                let mut said = node.topics.clone();
                texts_of(&node.message.content, &mut said);
                said.extend(
                    node.message.metadata.iter().flat_map(|(name, value)| [name.clone(), value.as_str().to_owned()]),
                );
                said.extend(node.message.speaker.clone());
                said.extend(node.message.key.as_ref().map(ToString::to_string));
                open.strike(&said);
            }
        }
    }
    Ok(())
}
