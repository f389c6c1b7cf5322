//! Shortening of oversized messages to head and tail.

use memory_core::{
    ContentBlock, Message, Node, NodeId,
    port::TokenCounter,
    text::{ceil_char_boundary, floor_char_boundary},
};

/// Shortens every tool result of more than `longest` tokens to its head and its tail, of at most `longest` tokens plus
/// the line between them. In the last turn it also shortens every text.
pub(crate) fn shortened(mut node: Node, longest: Option<u32>, is_last_turn: bool, counter: &dyn TokenCounter) -> Node {
    if let Some(message) = longest.and_then(|most| shorter(&node, most, is_last_turn, counter)) {
        node.message = message;
    }
    node
}

/// The shortened message; `None` if nothing is too long.
fn shorter(node: &Node, most: u32, is_last_turn: bool, counter: &dyn TokenCounter) -> Option<Message> {
    let mut message = node.message.clone();
    let mut is_shortened = false;
    for block in &mut message.content {
        let text = block.text().into_owned();
        match block {
            ContentBlock::ToolResult { content, is_error, .. } => {
                let said = if *is_error { text.strip_prefix("error:").unwrap_or(&text) } else { &text };
                if let Some(shorter) = head_and_tail(said, node.id, most, counter) {
                    *content = vec![ContentBlock::Text(shorter)];
                    is_shortened = true;
                }
            }
            ContentBlock::Text(text) if is_last_turn => {
                let shorter = head_and_tail(text, node.id, most, counter);
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
fn head_and_tail(text: &str, node: NodeId, most: u32, counter: &dyn TokenCounter) -> Option<String> {
    let tokens = counter.count(text);
    if tokens <= most {
        return None;
    }
    let mut keep = text.len() as u64 * u64::from(most) / u64::from(tokens).max(1);
    loop {
        let head = floor_char_boundary(text, usize::try_from(keep * 2 / 3).unwrap_or(usize::MAX));
        let tail = usize::try_from(keep / 3).unwrap_or(usize::MAX).min(text.len() - head);
        let tail = ceil_char_boundary(text, text.len() - tail);
        let (head, tail) = (text.get(..head).unwrap_or_default(), text.get(tail..).unwrap_or_default());
        let kept = counter.count(head).saturating_add(counter.count(tail));
        if kept <= most || keep == 0 {
            let gone = tokens.saturating_sub(kept);
            return Some(format!("{head}\n[… {gone} tokens left out: expand_node({node}) gives all of it …]\n{tail}"));
        }
        keep = keep * 3 / 4;
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
        let short = shorter(&node, 60, false, &WordCounter).unwrap().text();
        assert!(short.starts_with("all is well\nword0 word1 "), "{short}");
        assert!(short.ends_with(" word998 word999") && short.contains("expand_node(7)"), "{short}");
        assert!(WordCounter.count(&short) < 90, "{short}");
        assert!(shorter(&node, 5_000, false, &WordCounter).is_none());
        let said = Node::new(node.id, Message::user(words.join(" ")), node.at);
        assert!(shorter(&said, 60, false, &WordCounter).is_none(), "what is said stays, but for the end's sake");
        assert!(shorter(&said, 60, true, &WordCounter).unwrap().text().contains("expand_node(7)"));
    }

    proptest! {
        #[test]
        fn whatever_is_cut_it_is_cut_between_characters(text in "[a-z あ漢\u{1F600}\n]{0,400}", most in 0u32..60) {
            let Some(short) = head_and_tail(&text, NodeId::FIRST, most, &WordCounter) else { return Ok(()) };
            let (head, rest) = short.split_once("\n[… ").unwrap();
            let (_, tail) = rest.split_once(" …]\n").unwrap();
            prop_assert!(text.starts_with(head) && text.ends_with(tail));
            prop_assert!(WordCounter.count(head) + WordCounter.count(tail) <= most);
        }
    }
}
