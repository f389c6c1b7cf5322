//! Shortening of long messages to head and tail.

use memory_core::{
    ContentBlock, Json, Message, Node, NodeId, NodeRange,
    port::TokenCounter,
    text::{ceil_char_boundary, floor_char_boundary},
};
use memory_search::{cut_after, cut_before};
use serde_json::Value;

use crate::{prompt::share_of, render::Layout};

/// Fewest tokens of a text in the arguments of a call.
const FEWEST: u32 = 8;
/// Maximum share of the budget for a text of the history.
const TEXT_SHARE: f32 = 0.15;
/// Maximum share of the budget for a text of the user's last message.
const QUESTION_SHARE: f32 = 0.5;

/// Limits on the texts of a prompt whose history is not whole, by its layout.
///
/// In a prompt for a question, a text after the last message of the user has at most `longest` tokens, one of that
/// message half of the budget, any other 15 % of it; no limit is below `longest`. In running prompts and the first
/// layouts, `longest` limits every text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextLimits {
    pub(crate) layout: Layout,
    /// Most tokens of a text after the last message of the user; `None` if no text is shortened.
    pub(crate) longest: Option<u32>,
    /// Budget of the prompt.
    pub(crate) budget: u32,
    /// The last message of the user and the messages after it.
    pub(crate) last_turn: Option<NodeRange>,
}

impl TextLimits {
    /// The message with each text and tool result within its limit.
    pub(crate) fn shortened(&self, mut node: Node, counter: &dyn TokenCounter) -> Node {
        let is_last_turn = self.last_turn.is_some_and(|turn| turn.contains(node.id));
        if self.layout.has_whole_sentences() && !self.layout.is_running() {
            node.message.replace_texts(&|_, text| without_reminders(text));
        }
        // The first layouts cut only texts of the last turn.
        let cuts_texts = !self.layout.is_first() || self.layout.is_running() || is_last_turn;
        let Some(most) = self.of(node.id) else { return node };
        let count = |text: &str| counter.count(text);
        let shortener = Shortener { layout: self.layout, unit: "tokens", count: &count };
        if let Some(message) = shorter(&node, most, cuts_texts, &shortener) {
            node.message = message;
        }
        if !self.layout.is_first() {
            for block in &mut node.message.content {
                let tokens = count(&block.text());
                if let ContentBlock::ToolUse { input, .. } = block
                    && tokens > most
                {
                    *input = shorter_arguments(input, node.id, most, &shortener);
                }
            }
        }
        node
    }

    /// Most tokens of each text of a message; `None` for no limit.
    pub(crate) fn of(&self, node: NodeId) -> Option<u32> {
        let longest = self.longest?;
        let share = match self.last_turn {
            _ if self.layout.is_first() || self.layout.is_running() => return Some(longest),
            Some(turn) if turn.first() == node => QUESTION_SHARE,
            Some(turn) if turn.contains(node) => return Some(longest),
            _ => TEXT_SHARE,
        };
        Some(longest.max(share_of(self.budget, share)))
    }
}

/// Arguments of a call with their texts shown by head and tail, so that all have about `most` tokens where possible.
fn shorter_arguments(input: &Json, node: NodeId, most: u32, shortener: &Shortener<'_>) -> Json {
    let Ok(whole) = serde_json::from_str::<Value>(input.as_str()) else { return input.clone() };
    let mut each = most;
    loop {
        let mut shown = whole.clone();
        cut_texts(&mut shown, &|text| shortener.head_and_tail(text, node, each));
        let shown = Json::from_value(&shown);
        if (shortener.count)(shown.as_str()) <= most || each < FEWEST {
            return shown;
        }
        each /= 2;
    }
}

fn cut_texts(value: &mut Value, cut: &dyn Fn(&str) -> Option<String>) {
    match value {
        Value::String(text) => {
            if let Some(shorter) = cut(text) {
                *text = shorter;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| cut_texts(item, cut)),
        Value::Object(members) => members.values_mut().for_each(|member| cut_texts(member, cut)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The shortened message; `None` if nothing is too long.
fn shorter(node: &Node, most: u32, cuts_texts: bool, shortener: &Shortener<'_>) -> Option<Message> {
    let mut message = node.message.clone();
    let mut is_shortened = false;
    for block in &mut message.content {
        let text = block.text().into_owned();
        match block {
            ContentBlock::ToolResult { content, is_error, .. } => {
                let said = if *is_error { text.strip_prefix("error:").unwrap_or(&text) } else { &text };
                if let Some(shorter) = shortener.head_and_tail(said, node.id, most) {
                    *content = vec![ContentBlock::Text(shorter)];
                    is_shortened = true;
                }
            }
            ContentBlock::Text(text) if cuts_texts => {
                let shorter = shortener.head_and_tail(text, node.id, most);
                if let Some(shorter) = shorter.filter(|shorter| (shortener.count)(shorter) < (shortener.count)(text)) {
                    *text = shorter;
                    is_shortened = true;
                }
            }
            _ => {}
        }
    }
    is_shortened.then_some(message)
}

/// Measure and marks of shortened texts.
pub(crate) struct Shortener<'a> {
    /// Layout whose places of cuts and promise of a tool hold.
    pub(crate) layout: Layout,
    /// Noun of what `count` counts, in the plural.
    pub(crate) unit: &'static str,
    pub(crate) count: &'a dyn Fn(&str) -> u32,
}

impl Shortener<'_> {
    /// Head and tail of a text of more than `most` units. The head gets two thirds of the remaining length.
    pub(crate) fn head_and_tail(&self, text: &str, node: NodeId, most: u32) -> Option<String> {
        let Self { layout, unit, count } = self;
        let units = count(text);
        // A mark of what is left out costs as much as a sentence.
        let spared = if layout.has_whole_sentences() { MARKED.min(most / 4) } else { 0 };
        if units <= most.saturating_add(spared) {
            return None;
        }
        let whole = if layout.expands() { format!(": expand_node({node}) gives all of it") } else { String::new() };
        // The first layouts cut words, which a replay must do too.
        let (before, after): (Cut, Cut) =
            if layout.is_first() { (floor_char_boundary, ceil_char_boundary) } else { (cut_before, cut_after) };
        let mut keep = text.len() as u64 * u64::from(most) / u64::from(units).max(1);
        loop {
            let head = before(text, usize::try_from(keep * 2 / 3).unwrap_or(usize::MAX));
            let tail = usize::try_from(keep / 3).unwrap_or(usize::MAX).min(text.len() - head);
            let tail = after(text, text.len() - tail);
            let (mut head, mut tail) = (text.get(..head).unwrap_or_default(), text.get(tail..).unwrap_or_default());
            if layout.has_whole_sentences() {
                (head, tail) = (sentences_before(head), sentences_after(tail));
            }
            let kept = count(head).saturating_add(count(tail));
            if kept <= most || keep == 0 {
                let gone = units.saturating_sub(kept);
                return Some(format!("{head}\n[… {gone} {unit} left out{whole} …]\n{tail}"));
            }
            keep = keep * 3 / 4;
        }
    }
}

/// Tokens of a mark of what is left out, for which nothing shorter is cut.
const MARKED: u32 = 40;

/// The beginning of a text up to its last end of a sentence or a line, or all of it if that is less than half.
fn sentences_before(text: &str) -> &str {
    let end = ends(text).filter(|end| *end >= text.len() / 2).last();
    end.and_then(|end| text.get(..end)).unwrap_or(text).trim_end()
}

/// The rest of a text from its first begin of a sentence or a line, or all of it if that is less than half.
fn sentences_after(text: &str) -> &str {
    let begin = ends(text).find(|end| *end <= text.len() / 2);
    begin.and_then(|begin| text.get(begin..)).unwrap_or(text).trim_start()
}

/// Places after the ends of sentences and lines. A full stop after a digit may be that of an ordinal.
fn ends(text: &str) -> impl Iterator<Item = usize> + '_ {
    let is_end = |(at, sign): (usize, char)| {
        let end = at + sign.len_utf8();
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let is_followed = text.get(end..).is_some_and(|rest| rest.starts_with(char::is_whitespace));
        let is_sentence = match sign {
            '\n' | '。' | '！' | '？' => true,
            '.' => is_followed && !before.is_some_and(|c| c.is_ascii_digit()),
            '!' | '?' | '…' | '۔' | '।' | '؟' => is_followed,
            _ => false,
        };
        is_sentence.then_some(end)
    };
    text.char_indices().filter_map(is_end)
}

/// The text without the reminders that a coding agent adds to results and requests; `None` if it has none.
fn without_reminders(text: &str) -> Option<String> {
    const OPEN: &str = "<system-reminder>";
    const CLOSE: &str = "</system-reminder>";
    let (mut shown, mut rest) = (String::new(), text);
    while let Some((before, behind)) = rest.split_once(OPEN) {
        let Some((_, after)) = behind.split_once(CLOSE) else { break };
        shown.push_str(before);
        rest = after;
    }
    (rest.len() < text.len()).then(|| (shown + rest).trim_end().to_owned())
}

/// Place at or next to a byte where a text may be cut.
type Cut = fn(&str, usize) -> usize;

#[cfg(test)]
mod tests {
    use memory_core::{Role, Timestamp, testing::WordCounter};
    use proptest::prelude::*;

    use super::*;

    fn by_words(expands: bool) -> Shortener<'static> {
        let count = &|text: &str| WordCounter.count(text);
        Shortener { layout: Layout::for_question(expands), unit: "tokens", count }
    }

    fn node(results: &[&str]) -> Node {
        let block = |text: &&str| ContentBlock::ToolResult {
            tool_use_id: "a".into(),
            content: vec![ContentBlock::Text((*text).to_owned())],
            is_error: false,
        };
        let message = Message::new(Role::User, results.iter().map(block).collect());
        let lines = message.line_count();
        Node::new(NodeId::from_index(6), message, Timestamp::default()).line_count(lines)
    }

    #[test]
    fn a_long_result_keeps_its_head_and_its_tail_and_a_short_one_everything() {
        let words: Vec<_> = (0..1_000).map(|n| format!("word{n}")).collect();
        let node = node(&["all is well", &words.join(" ")]);
        let short = shorter(&node, 60, false, &by_words(true)).unwrap().text();
        assert!(short.starts_with("all is well\nword0 word1 "), "{short}");
        assert!(short.ends_with(" word998 word999") && short.contains("expand_node(7)"), "{short}");
        assert!(WordCounter.count(&short) < 90, "{short}");
        assert!(shorter(&node, 5_000, false, &by_words(true)).is_none());
        let said = Node::new(node.id, Message::user(words.join(" ")), node.at);
        assert!(shorter(&said, 60, false, &by_words(true)).is_none(), "what is said stays, but for the end's sake");
        assert!(shorter(&said, 60, true, &by_words(true)).unwrap().text().contains("expand_node(7)"));
    }

    #[test]
    fn the_first_layouts_cut_words() {
        let cut =
            |layout| Shortener { layout, ..by_words(false) }.head_and_tail(&"wordy ".repeat(90), NodeId::FIRST, 10);
        let heads = [Layout::of_version(8).unwrap(), Layout::for_question(true)].map(|layout| {
            let shown = cut(layout).unwrap();
            shown.split_once("\n[… ").unwrap().0.to_owned()
        });
        assert_eq!(heads.each_ref().map(|head| head.ends_with("wordy")), [false, true], "{heads:?}");
    }

    #[test]
    fn long_arguments_of_a_call_are_cut_in_their_texts() {
        let text = "word ".repeat(900);
        let input = Json::from_value(&serde_json::json!({"path": "src/lib.rs", "edits": [{"new": text}], "n": 7}));
        let call = ContentBlock::ToolUse { id: "a".into(), name: "edit".into(), input };
        let node = Node::new(NodeId::FIRST, Message::new(Role::Assistant, vec![call]), Timestamp::default());
        let limits =
            TextLimits { layout: Layout::for_question(false), longest: Some(60), budget: 400, last_turn: None };
        let shown = limits.shortened(node, &WordCounter).message;
        let ContentBlock::ToolUse { input, .. } = &shown.content[0] else { panic!("{shown:?}") };
        let value: Value = serde_json::from_str(input.as_str()).unwrap();
        assert_eq!((&value["path"], &value["n"]), (&"src/lib.rs".into(), &7.into()));
        assert!(value["edits"][0]["new"].as_str().unwrap().contains("tokens left out"), "{value}");
        assert!(WordCounter.count(&shown.text()) < 80, "{}", shown.text());
    }

    #[test]
    fn the_last_message_of_the_user_is_cut_last_and_older_ones_by_the_budget() {
        let turn = NodeRange::new(NodeId::from_index(4), NodeId::from_index(6));
        let limits =
            TextLimits { layout: Layout::for_question(false), longest: Some(40), budget: 1_000, last_turn: turn };
        let of = |index| limits.of(NodeId::from_index(index));
        assert_eq!([of(0), of(4), of(5)], [Some(150), Some(500), Some(40)]);
        assert_eq!(TextLimits { longest: None, ..limits }.of(NodeId::FIRST), None);
    }

    proptest! {
        #[test]
        fn whatever_is_cut_it_is_cut_between_characters(text in "[a-z あ漢\u{1F600}\n]{0,400}", most in 0u32..60) {
            let Some(short) = by_words(false).head_and_tail(&text, NodeId::FIRST, most) else { return Ok(()) };
            let (head, rest) = short.split_once("\n[… ").unwrap();
            let (_, tail) = rest.split_once(" …]\n").unwrap();
            prop_assert!(text.starts_with(head) && text.ends_with(tail));
            prop_assert!(WordCounter.count(head) + WordCounter.count(tail) <= most);
        }
    }
}
