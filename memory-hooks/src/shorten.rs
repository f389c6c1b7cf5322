//! Shortening of long messages to head and tail.

use memory_core::{
    ContentBlock, Json, Message, Node, NodeId, NodeRange,
    port::TokenCounter,
    text::{ceil_char_boundary, floor_char_boundary},
};
use serde_json::Value;
use unicode_segmentation::GraphemeCursor;

use crate::{prompt::share_of, render::Layout};

/// Fewest tokens of a text in the arguments of a call.
const FEWEST: u32 = 8;
/// Share of the budget that a text of the history may take, and the last message of the user.
const TEXT: f32 = 0.15;
const ASKED: f32 = 0.5;

/// Limits on the texts of a prompt whose history is not whole, by its layout.
///
/// In a prompt for a question the messages after the last one of the user have at most `longest` tokens a text, that one
/// half of the budget, and all others .15 of it. In the prompts of a running agent all texts have at most `longest`.
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
        // The first layouts cut texts of the last turn alone.
        let cuts_texts = !self.layout.is_first() || self.layout.is_running() || is_last_turn;
        let Some(most) = self.of(node.id) else { return node };
        if let Some(message) = shorter(&node, most, cuts_texts, self.layout.expands(), counter) {
            node.message = message;
        }
        if !self.layout.is_first() {
            for block in &mut node.message.content {
                let tokens = counter.count(&block.text());
                if let ContentBlock::ToolUse { input, .. } = block
                    && tokens > most
                {
                    *input = shorter_arguments(input, node.id, most, self.layout.expands(), counter);
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
            Some(turn) if turn.first() == node => ASKED,
            Some(turn) if turn.contains(node) => return Some(longest),
            _ => TEXT,
        };
        Some(longest.max(share_of(self.budget, share)))
    }
}

/// Arguments of a call with their texts shown by head and tail, so that all have about `most` tokens where possible.
fn shorter_arguments(input: &Json, node: NodeId, most: u32, expands: bool, counter: &dyn TokenCounter) -> Json {
    let Ok(whole) = serde_json::from_str::<Value>(input.as_str()) else { return input.clone() };
    let mut each = most;
    loop {
        let mut shown = whole.clone();
        cut_texts(&mut shown, &|text| head_and_tail(text, node, each, expands, counter));
        let shown = Json::from_value(&shown);
        if counter.count(shown.as_str()) <= most || each < FEWEST {
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
fn shorter(node: &Node, most: u32, cuts_texts: bool, expands: bool, counter: &dyn TokenCounter) -> Option<Message> {
    let mut message = node.message.clone();
    let mut is_shortened = false;
    for block in &mut message.content {
        let text = block.text().into_owned();
        match block {
            ContentBlock::ToolResult { content, is_error, .. } => {
                let said = if *is_error { text.strip_prefix("error:").unwrap_or(&text) } else { &text };
                if let Some(shorter) = head_and_tail(said, node.id, most, expands, counter) {
                    *content = vec![ContentBlock::Text(shorter)];
                    is_shortened = true;
                }
            }
            ContentBlock::Text(text) if cuts_texts => {
                let shorter = head_and_tail(text, node.id, most, expands, counter);
                if let Some(shorter) = shorter.filter(|shorter| counter.count(shorter) < counter.count(text)) {
                    *text = shorter;
                    is_shortened = true;
                }
            }
            _ => {}
        }
    }
    is_shortened.then_some(message)
}

/// Head and tail of a text. The head gets two thirds of the remaining length.
fn head_and_tail(text: &str, node: NodeId, most: u32, expands: bool, counter: &dyn TokenCounter) -> Option<String> {
    let tokens = counter.count(text);
    if tokens <= most {
        return None;
    }
    let whole = if expands { format!(": expand_node({node}) gives all of it") } else { String::new() };
    let mut keep = text.len() as u64 * u64::from(most) / u64::from(tokens).max(1);
    loop {
        let head = cut_before(text, usize::try_from(keep * 2 / 3).unwrap_or(usize::MAX));
        let tail = usize::try_from(keep / 3).unwrap_or(usize::MAX).min(text.len() - head);
        let tail = cut_after(text, text.len() - tail);
        let (head, tail) = (text.get(..head).unwrap_or_default(), text.get(tail..).unwrap_or_default());
        let kept = counter.count(head).saturating_add(counter.count(tail));
        if kept <= most || keep == 0 {
            let gone = tokens.saturating_sub(kept);
            return Some(format!("{head}\n[… {gone} tokens left out{whole} …]\n{tail}"));
        }
        keep = keep * 3 / 4;
    }
}

/// Bytes within which a cut moves to the next space, so that no word or number is split.
const NEAR: usize = 48;

/// The last place up to byte `at` where a text may be cut: a space near by, or else the end of a character as people
/// see it.
fn cut_before(text: &str, at: usize) -> usize {
    let at = floor_char_boundary(text, at);
    let from = floor_char_boundary(text, at.saturating_sub(NEAR));
    let is_between_words = text.get(at..).is_none_or(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace));
    let space = text.get(from..at).and_then(|near| near.rfind(char::is_whitespace));
    match space.filter(|_| !is_between_words) {
        Some(space) => from + space,
        None => at_character(text, at, GraphemeCursor::prev_boundary),
    }
}

/// The first place from byte `at` on where a text may be cut.
fn cut_after(text: &str, at: usize) -> usize {
    let at = ceil_char_boundary(text, at);
    let to = ceil_char_boundary(text, at.saturating_add(NEAR).min(text.len()));
    let is_between_words =
        text.get(..at).is_none_or(|before| before.is_empty() || before.ends_with(char::is_whitespace));
    let space = text.get(at..to).and_then(|near| near.find(char::is_whitespace));
    match space.filter(|_| !is_between_words) {
        Some(space) => at + space,
        None => at_character(text, at, GraphemeCursor::next_boundary),
    }
}

/// `at`, or the next boundary in a direction if it lies within a character as people see it, such as an emoji of parts.
fn at_character(
    text: &str,
    at: usize,
    next: fn(&mut GraphemeCursor, &str, usize) -> Result<Option<usize>, unicode_segmentation::GraphemeIncomplete>,
) -> usize {
    let mut cursor = GraphemeCursor::new(at, text.len(), true);
    match cursor.is_boundary(text, 0) {
        Ok(false) => next(&mut cursor, text, 0).ok().flatten().unwrap_or(at),
        _ => at,
    }
}

#[cfg(test)]
mod tests {
    use memory_core::{Role, Timestamp, testing::WordCounter};
    use proptest::prelude::*;

    use super::*;

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
        let short = shorter(&node, 60, false, true, &WordCounter).unwrap().text();
        assert!(short.starts_with("all is well\nword0 word1 "), "{short}");
        assert!(short.ends_with(" word998 word999") && short.contains("expand_node(7)"), "{short}");
        assert!(WordCounter.count(&short) < 90, "{short}");
        assert!(shorter(&node, 5_000, false, true, &WordCounter).is_none());
        let said = Node::new(node.id, Message::user(words.join(" ")), node.at);
        assert!(shorter(&said, 60, false, true, &WordCounter).is_none(), "what is said stays, but for the end's sake");
        assert!(shorter(&said, 60, true, true, &WordCounter).unwrap().text().contains("expand_node(7)"));
    }

    #[test]
    fn a_cut_splits_no_number_and_no_emoji() {
        let family = "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}";
        let text = "the price is 1234567890 euros";
        assert_eq!(text.get(..cut_before(text, 18)), Some("the price is"));
        assert_eq!(text.get(cut_after(text, 18)..), Some(" euros"));
        let emoji = family.repeat(9);
        for at in 0..emoji.len() {
            assert_eq!((cut_before(&emoji, at) % family.len(), cut_after(&emoji, at) % family.len()), (0, 0));
        }
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
            let Some(short) = head_and_tail(&text, NodeId::FIRST, most, false, &WordCounter) else { return Ok(()) };
            let (head, rest) = short.split_once("\n[… ").unwrap();
            let (_, tail) = rest.split_once(" …]\n").unwrap();
            prop_assert!(text.starts_with(head) && text.ends_with(tail));
            prop_assert!(WordCounter.count(head) + WordCounter.count(tail) <= most);
        }
    }
}
