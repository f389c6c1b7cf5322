//! A model's reply, read as a summary.

use memory_core::{
    ContentBlock, Message,
    port::{Excluded, TokenCounter},
};

use super::{ModelSummaryError, chunks::Block};
use crate::render;

/// Beginnings of refusals of models, in lower case.
const REFUSALS: [&str; 14] = [
    "i can't",
    "i cannot",
    "i'm sorry",
    "i am sorry",
    "sorry, ",
    "i'm unable",
    "i am unable",
    "i'm not able",
    "i won't",
    "i will not",
    "i don't have access",
    "i do not have access",
    "as an ai",
    "as a language model",
];

/// Labels that a model puts before a summary, in lower case.
const LABELS: [&str; 4] = ["summary:", "here is the summary:", "here is a summary:", "here's the summary:"];

/// The text of a reply about these blocks, on one line.
pub(super) fn read(
    reply: &Message,
    blocks: &[Block],
    excluded: Option<&dyn Excluded>,
) -> Result<String, ModelSummaryError> {
    if reply.tool_calls().next().is_some() {
        return Err(ModelSummaryError::CalledTool);
    }
    let texts = reply.content.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let said = texts.collect::<Vec<_>>().join(" ");
    // Models that think aloud in their answer close their thoughts with this tag.
    let said = said.rsplit_once("</think>").map_or(said.as_str(), |(_, after)| after);
    let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = without_label(&line);
    if text.is_empty() {
        return Err(ModelSummaryError::Blank);
    }
    // Text that would have to be escaped looks like the lines around the data.
    if render::escape(said) != said || render::escape(text) != text {
        return Err(ModelSummaryError::Echo);
    }
    let plain = |text: &str| text.to_lowercase().replace('’', "'");
    let begins = plain(text);
    let refusal = REFUSALS.iter().find(|refusal| begins.starts_with(**refusal));
    // A summary may quote a refusal in its text.
    if refusal.is_some_and(|refusal| !blocks.iter().any(|block| plain(&block.text).contains(refusal))) {
        return Err(ModelSummaryError::Refused);
    }
    if excluded.is_some_and(|excluded| excluded.is_repeated_in(text)) {
        return Err(ModelSummaryError::RepeatsExcluded);
    }
    Ok(text.to_owned())
}

fn without_label(line: &str) -> &str {
    let label = LABELS.iter().find(|label| line.get(..label.len()).is_some_and(|at| at.eq_ignore_ascii_case(label)));
    label.and_then(|label| line.get(label.len()..)).unwrap_or(line).trim()
}

/// A text, or as many whole sentences of its beginning as cost at most `most` tokens; `None` if those cost less than
/// `least`.
pub(super) fn fitting(text: &str, most: u32, least: u32, counter: &dyn TokenCounter) -> Option<String> {
    if counter.count(text) <= most {
        return Some(text.to_owned());
    }
    let (mut kept, mut end) = (String::new(), 0);
    for sentence in memory_strategies::sentences(text) {
        let before = kept.len();
        kept.push_str(if kept.is_empty() { "" } else { " " });
        kept.push_str(sentence);
        if counter.count(&kept) > most {
            kept.truncate(before);
            break;
        }
        // A very long sentence comes in pieces.
        if !sentence.ends_with(|c: char| c.is_alphanumeric() || matches!(c, ',' | ';' | ':')) {
            end = kept.len();
        }
    }
    kept.truncate(end);
    (!kept.is_empty() && counter.count(&kept) >= least).then_some(kept)
}
