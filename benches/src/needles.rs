//! Needles: facts planted at every depth of a conversation, and whether a context gives them back.

use std::{fmt, path::Path, sync::Arc};

use anyhow::{Result, ensure};
use memory_core::{
    ConversationId, FirstWords, Message, NodeDraft, NodeId, Role, Store, Summarizer, Timestamp, TokenCounter,
};
use memory_embed::TiktokenCounter;
use memory_hooks::{Context, ContextOptions, Conversation, Memory, PieceKind};
use memory_search::HybridRetriever;
use memory_store::LogStore;
use memory_strategies::{Extractive, Rules};

use crate::corpus::Corpus;

/// Conversations that are searched, in messages.
pub const SIZES: [usize; 3] = [100, 1_000, 10_000];
/// Depths at which each kind of fact is planted, evenly from the first message to the last.
const DEPTHS: usize = 11;
/// Messages between the wrong word and its correction.
const CORRECTED_AFTER: usize = 7;

/// A kind of fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A reference number.
    Number,
    /// A person's name.
    Name,
    /// A line of code.
    Code,
    /// A figure that a later message sets right.
    Corrected,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Number, Self::Name, Self::Code, Self::Corrected];
}

/// What a suite plants and asks for.
#[derive(Clone, Debug)]
struct Needle {
    /// Where the fact stands, from 0.
    at: usize,
    text: String,
    /// What was said first, where it was wrong, and where.
    wrong: Option<(usize, String)>,
    question: String,
    answer: String,
}

/// Subjects that no other message speaks of, so that a question has one answer.
const SUBJECTS: [&str; 11] =
    ["zeppelin", "marimba", "quasar", "gazebo", "tundra", "falcon", "orchid", "kayak", "bazaar", "igloo", "walnut"];
const OWNERS: [&str; 11] = [
    "Okonkwo",
    "Lindqvist",
    "Barzani",
    "Yamashita",
    "Petrosyan",
    "Moreau",
    "Castellanos",
    "Haugen",
    "Dlamini",
    "Vukovic",
    "Novotny",
];

impl Needle {
    fn plant(kind: Kind, depth: usize, messages: usize) -> Self {
        // Kinds stand side by side at each depth; a correction needs room behind the wrong word.
        let last = messages.saturating_sub(CORRECTED_AFTER + Kind::ALL.len() * 2);
        let at = last * depth / (DEPTHS - 1) + kind as usize;
        let subject = SUBJECTS.get(depth % SUBJECTS.len()).copied().unwrap_or_default();
        let number = 4_000 + depth * 391 + kind as usize * 17;
        let plain = |text, question, answer| Self { at, text, wrong: None, question, answer };
        match kind {
            Kind::Number => plain(
                format!(
                    "For the {subject} shipment please write down the customs reference {number}-XK. Thank you for that."
                ),
                format!("What is the customs reference of the {subject} shipment?"),
                format!("{number}-XK"),
            ),
            Kind::Name => {
                let owner = OWNERS.get(depth % OWNERS.len()).copied().unwrap_or_default();
                plain(
                    format!(
                        "By the way, the {subject} workshop will be led by {owner} from now on, so write there with questions."
                    ),
                    format!("Who will lead the {subject} workshop?"),
                    owner.to_owned(),
                )
            }
            Kind::Code => plain(
                format!(
                    "The {subject} module has to call it like this:\n```rust\n{subject}_open({number}, Mode::Shared)?;\n```\nAnything else hangs."
                ),
                format!("How does the {subject} module have to call open?"),
                format!("{subject}_open({number}, Mode::Shared)"),
            ),
            Kind::Corrected => Self {
                at: at + CORRECTED_AFTER,
                text: format!(
                    "I was wrong about the {subject} license: it costs {number} euros a year, not what I said before."
                ),
                wrong: Some((
                    at,
                    format!("The {subject} license costs {} euros a year, as far as I remember.", number + 1_111),
                )),
                question: format!("What does the {subject} license cost a year?"),
                answer: format!("{number} euros"),
            },
        }
    }
}

/// What of a suite was found, in needles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NeedleScore {
    /// Planted.
    pub needles: usize,
    /// In the history's part of a context.
    pub by_view: usize,
    /// In the history's part or among what was recalled.
    pub by_recall: usize,
    /// As before, or in a message that the view names by itself with the subject of the question.
    pub by_one_expand: usize,
}

impl NeedleScore {
    /// The share of needles in 0..=1.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "some dozens of needles")]
    pub fn share(self, found: usize) -> f64 {
        found as f64 / self.needles.max(1) as f64
    }
}

impl fmt::Display for NeedleScore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |found| 100.0 * self.share(found);
        write!(
            f,
            "{} needles: {:.1} % in the view, {:.1} % with recall, {:.1} % with one expand",
            self.needles,
            percent(self.by_view),
            percent(self.by_recall),
            percent(self.by_one_expand)
        )
    }
}

/// The strategies whose summaries are tried.
#[must_use]
pub fn strategies() -> Vec<Arc<dyn Summarizer>> {
    vec![Arc::new(Extractive), Arc::new(FirstWords)]
}

/// Plants facts in a conversation of `messages`, compacts it with `summarizer` and asks for each within `budget` tokens.
/// Recall is by words alone, so that it takes no model. The store is made under `directory`.
///
/// # Errors
/// When a part of the memory fails.
pub fn score(directory: &Path, messages: usize, budget: u32, summarizer: Arc<dyn Summarizer>) -> Result<NeedleScore> {
    let directory = tempfile::Builder::new().prefix("needles").tempdir_in(directory)?;
    let store: Arc<dyn Store> = Arc::new(LogStore::open(directory.path())?);
    let counter = Arc::new(TiktokenCounter::cl100k());
    let memory = Memory::builder()
        .store(Arc::clone(&store))
        .token_counter(counter.clone())
        .summarizer(summarizer)
        .scorer(Arc::new(Rules))
        .retriever(Arc::new(HybridRetriever::new(Arc::clone(&store), None, None)))
        .build()?;
    let talk = memory.conversation(ConversationId::new("needles")?);
    let needles: Vec<_> = (0..DEPTHS)
        .flat_map(|depth| Kind::ALL.into_iter().map(move |kind| Needle::plant(kind, depth, messages)))
        .collect();
    pollster::block_on(async {
        for batch in conversation(messages, &needles, counter.as_ref()).chunks(1_000) {
            store.append(talk.id(), batch.to_vec()).await?;
        }
        talk.compact(&()).await?;
        talk.index(&()).await?;
        let mut score = NeedleScore { needles: needles.len(), ..NeedleScore::default() };
        for needle in &needles {
            let context = talk.context(&needle.question, &ContextOptions::tokens(budget)).await?;
            ensure!(context.tokens <= budget, "the context is over its budget");
            let by_view = holds(&context, &needle.answer, PieceKind::is_history);
            let by_recall = by_view || holds(&context, &needle.answer, |kind| kind == PieceKind::Recalled);
            score.by_view += usize::from(by_view);
            score.by_recall += usize::from(by_recall);
            score.by_one_expand += usize::from(by_recall || expands_to(&talk, &context, needle).await?);
        }
        Ok(score)
    })
}

fn conversation(messages: usize, needles: &[Needle], counter: &dyn TokenCounter) -> Vec<NodeDraft> {
    let mut drafts = Corpus::new(23).drafts(messages, counter);
    let planted = needles.iter().flat_map(|needle| {
        let wrong = needle.wrong.iter().map(|(at, text)| (*at, text));
        wrong.chain([(needle.at, &needle.text)])
    });
    for (at, text) in planted {
        if let Some(draft) = drafts.get_mut(at) {
            let role = if at.is_multiple_of(2) { Role::User } else { Role::Assistant };
            let at = Timestamp::from_millis(draft.at.as_millis());
            *draft = NodeDraft::new(Message::text_of(role, text.as_str()), at, counter.count(text));
        }
    }
    drafts
}

fn holds(context: &Context, answer: &str, is: impl Fn(PieceKind) -> bool) -> bool {
    context.pieces.iter().filter(|piece| is(piece.kind)).any(|piece| piece.text.contains(answer))
}

/// Whether the summary of the needle's message, or of one beside it, stands by itself in the view and names what the
/// question is about, so that a model would open it.
async fn expands_to(talk: &Conversation, context: &Context, needle: &Needle) -> Result<bool> {
    let node = NodeId::from_index(needle.at);
    let single = |piece: &&memory_hooks::Piece| piece.nodes.is_some_and(|run| run.count() == 1 && run.contains(node));
    let Some(piece) = context.pieces.iter().filter(|piece| piece.kind.is_history()).find(single) else {
        return Ok(false);
    };
    let subject = SUBJECTS.iter().find(|subject| needle.question.contains(**subject));
    let is_named = subject.is_some_and(|subject| piece.text.contains(subject));
    Ok(is_named && talk.expand(node).await?.message.text().contains(&needle.answer))
}

#[cfg(test)]
mod tests {
    use memory_core::testing::WordCounter;

    use super::*;

    #[test]
    fn every_needle_stands_once_in_the_conversation_and_no_question_gives_it_away() {
        for messages in [100, 1_000] {
            let needles: Vec<_> = (0..DEPTHS)
                .flat_map(|depth| Kind::ALL.into_iter().map(move |kind| Needle::plant(kind, depth, messages)))
                .collect();
            let drafts = conversation(messages, &needles, &WordCounter);
            assert_eq!(drafts.len(), messages);
            for needle in &needles {
                let holding = drafts.iter().filter(|draft| draft.message.text().contains(&needle.answer)).count();
                assert_eq!(holding, 1, "{}", needle.answer);
                assert!(!needle.question.contains(&needle.answer));
            }
        }
    }
}
