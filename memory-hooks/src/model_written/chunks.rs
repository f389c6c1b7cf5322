//! The sources of a summary as blocks of text, and parts of them that fit a window.

use std::collections::VecDeque;

use memory_core::{
    Message, NodeRange,
    port::{SummarySource, TokenCounter},
    text::floor_char_boundary,
};

use crate::render;

/// Most bytes of a token of text that people write, on average; a bound for the text counted at once.
const BYTES_PER_TOKEN: usize = 8;

/// A text with its label line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Block {
    /// Messages of the text.
    pub(super) nodes: NodeRange,
    /// Speaker of the text; empty if several speak.
    speaker: String,
    pub(super) text: String,
    /// True if the block continues a block that was cut.
    goes_on: bool,
}

impl Block {
    /// Notes that were written about a part.
    pub(super) fn notes_on(chunk: &[Self], text: String) -> Self {
        let nodes = chunk.iter().map(|block| block.nodes).reduce(NodeRange::hull);
        let nodes = nodes.unwrap_or(NodeRange::single(memory_core::NodeId::FIRST));
        Self { nodes, speaker: String::new(), text, goes_on: false }
    }

    /// The speaker and the words.
    pub(super) fn said(&self) -> String {
        format!("{} {}", self.speaker, self.text)
    }

    /// The block as a model reads it: `[Message 7, Maya]: text`. The text is data, and cannot look like such a line.
    pub(super) fn line(&self) -> String {
        let name = if self.nodes.count() == 1 { "Message" } else { "Messages" };
        let speaker = if self.speaker.is_empty() { "a summary" } else { &self.speaker };
        let goes_on = if self.goes_on { ", continued" } else { "" };
        format!("[{name} {}, {speaker}{goes_on}]: {}\n", self.nodes, render::escape(&self.text))
    }
}

/// Blocks of the sources that are not blank.
pub(super) fn blocks(sources: &[SummarySource]) -> VecDeque<Block> {
    let said = sources.iter().filter(|source| !source.text.trim().is_empty());
    said.map(|source| Block {
        nodes: source.nodes,
        speaker: speaker(source),
        text: source.text.clone(),
        goes_on: false,
    })
    .collect()
}

/// The speaker's name as prompts show it.
fn speaker(source: &SummarySource) -> String {
    let Some(role) = source.role else { return String::new() };
    let message = Message::text_of(role, "");
    let is_named = !source.speaker.is_empty() && source.speaker != role.as_str();
    render::label(&if is_named { message.speaker(&*source.speaker) } else { message })
}

/// Takes blocks from the front while they cost at most `room` tokens: at least one, or its beginning.
pub(super) fn take_chunk(rest: &mut VecDeque<Block>, room: u32, counter: &dyn TokenCounter) -> Vec<Block> {
    let (mut chunk, mut left) = (Vec::new(), room);
    while let Some(mut block) = rest.pop_front() {
        let cost = counter.count(&block.line());
        if cost <= left {
            left -= cost;
            chunk.push(block);
            continue;
        }
        if chunk.is_empty() {
            let end = end_within(&block, left, counter);
            let after = block.text.split_off(end);
            if !after.trim().is_empty() {
                rest.push_front(Block { text: after, goes_on: true, ..block.clone() });
            }
            chunk.push(block);
        } else {
            rest.push_front(block);
        }
        break;
    }
    chunk
}

/// Cut position in a block that is too long: after a line, a sentence or a word, so that the part before costs at most
/// `room` tokens; at least after one character.
fn end_within(block: &Block, room: u32, counter: &dyn TokenCounter) -> usize {
    let text = &block.text;
    let mut end = floor_char_boundary(text, (room as usize).saturating_mul(BYTES_PER_TOKEN));
    loop {
        let head = text.get(..end).unwrap_or_default();
        if counter.count(&Block { text: head.to_owned(), ..block.clone() }.line()) <= room {
            break;
        }
        let shorter = floor_char_boundary(text, end / 8 * 7);
        if shorter == 0 {
            break;
        }
        end = shorter;
    }
    let head = text.get(..end).unwrap_or_default();
    let late = |found: Option<(usize, &str)>| found.map(|(at, mark)| at + mark.len()).filter(|at| *at > end / 2);
    let whole = late(head.rmatch_indices('\n').next())
        .or_else(|| late(head.rmatch_indices(". ").next()))
        .or_else(|| late(head.rmatch_indices(char::is_whitespace).next()))
        .unwrap_or(end);
    whole.max(text.chars().next().map_or(0, char::len_utf8))
}
