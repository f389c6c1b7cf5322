//! Facts planted in a generated conversation, and the questions that they answer.

use anyhow::{Result, ensure};
use fastrand::Rng;
use memory_core::{Message, NodeDraft, Role, Timestamp, TokenCounter};

use crate::corpus::Corpus;

/// Depths at which each kind of fact is planted, evenly from the first message to the last.
const DEPTHS: usize = 11;
/// Messages between a wrong figure and its correction.
const CORRECTED_AFTER: usize = 5;
/// One sentence in so many of the talk around the facts also states something. In real conversations, one sentence in
/// 28 (LoCoMo), in 12 (QMSum) and, lists included, in 3 (BEAM) has a figure, a decision or the like.
const STATING: u32 = 6;
/// Messages that the facts of one depth span.
const SPAN: usize = Kind::ALL.len() + CORRECTED_AFTER;

/// A kind of fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A reference number.
    Number,
    /// A person's name.
    Name,
    /// A line of code.
    Code,
    /// A figure that a later message corrects.
    Corrected,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Number, Self::Name, Self::Code, Self::Corrected];
}

/// A fact, its position and its question.
#[derive(Clone, Debug)]
pub(crate) struct Needle {
    /// The index of its message.
    pub(crate) at: usize,
    pub(crate) question: String,
    /// Words that no other message has.
    pub(crate) answer: String,
    /// The wrong first statement, if there is one.
    pub(crate) wrong: Option<Wrong>,
    said: String,
    /// A sentence with the words of the question and without its answer.
    beside: String,
    place: Place,
}

/// A statement that is corrected.
#[derive(Clone, Debug)]
pub(crate) struct Wrong {
    at: usize,
    said: String,
    pub(crate) answer: String,
}

/// The position of a fact in its message.
#[derive(Clone, Copy, Debug)]
enum Place {
    First,
    Amid,
    Last,
}

/// Sentences that have the words of a question and do not answer it: so many for each fact in ten thousand messages, fewer in
/// fewer.
const BESIDE: usize = 8;

/// What the facts are about: words that the talk around the facts is full of.
const SUBJECTS: [&str; DEPTHS] = [
    "violin",
    "lantern",
    "bicycle",
    "battery",
    "recipe",
    "envelope",
    "ladder",
    "contract",
    "dashboard",
    "permit",
    "window",
];
const OWNERS: [&str; DEPTHS] = [
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

/// A conversation of `messages`, and the facts in it: one of each kind at each of eleven depths, by turns at the
/// beginning, in the middle and at the end of messages that mention other things too.
///
/// # Errors
/// When there are too few messages for all facts.
pub(crate) fn plant(messages: usize, counter: &dyn TokenCounter) -> Result<(Vec<NodeDraft>, Vec<Needle>)> {
    ensure!(messages >= DEPTHS * SPAN, "facts at {DEPTHS} depths need {} messages, not {messages}", DEPTHS * SPAN);
    let mut corpus = Corpus::new(23);
    let mut drafts: Vec<_> = (0..)
        .take(messages)
        .map(|said: i64| {
            let role = if said % 2 == 0 { Role::User } else { Role::Assistant };
            let text = corpus.talk(STATING);
            let tokens = counter.count(&text);
            NodeDraft::new(Message::text_of(role, text), Timestamp::from_millis(said * 30_000), tokens)
        })
        .collect();
    let depths = SUBJECTS.into_iter().zip(OWNERS).enumerate();
    let needles: Vec<_> = depths
        .flat_map(|(depth, (subject, owner))| {
            let first = (messages - SPAN) * depth / (DEPTHS - 1);
            Kind::ALL.into_iter().enumerate().map(move |(nth, kind)| {
                Needle::new(
                    kind,
                    first + nth,
                    Subject { name: subject, owner, depth, number: 4_000 + depth * 391 + nth * 17 },
                )
            })
        })
        .collect();
    put_beside(&mut drafts, &needles, counter);
    for needle in &needles {
        let wrong = needle.wrong.iter().map(|wrong| (wrong.at, wrong.said.as_str()));
        for (at, said) in wrong.chain([(needle.at, needle.said.as_str())]) {
            if let Some(draft) = drafts.get_mut(at) {
                let text = needle.place.put(said, &draft.message.text());
                *draft =
                    NodeDraft::new(Message::text_of(draft.message.role, text.as_str()), draft.at, counter.count(&text));
            }
        }
    }
    Ok((drafts, needles))
}

/// Puts sentences about the same subjects into other messages.
fn put_beside(drafts: &mut [NodeDraft], needles: &[Needle], counter: &dyn TokenCounter) {
    let is_taken = |at: usize| needles.iter().any(|one| one.at == at || one.wrong.iter().any(|wrong| wrong.at == at));
    let mut rng = Rng::with_seed(29);
    for needle in needles {
        for _ in 0..drafts.len() * BESIDE / 10_000 {
            let at = rng.usize(0..drafts.len());
            let Some(draft) = drafts.get_mut(at).filter(|_| !is_taken(at)) else { continue };
            let text = Place::Amid.put(&needle.beside, &draft.message.text());
            *draft =
                NodeDraft::new(Message::text_of(draft.message.role, text.as_str()), draft.at, counter.count(&text));
        }
    }
}

/// The subject of the facts of one depth.
#[derive(Clone, Copy, Debug)]
struct Subject {
    name: &'static str,
    owner: &'static str,
    depth: usize,
    number: usize,
}

impl Needle {
    /// The fact of a kind about a subject, in one of two wordings, and a question in other words.
    fn new(kind: Kind, at: usize, Subject { name, owner, depth, number }: Subject) -> Self {
        let is_plain = depth.is_multiple_of(2);
        let (said, question, answer) = match kind {
            Kind::Number => (
                if is_plain {
                    format!("The customs reference of the {name} shipment is {number}-XK.")
                } else {
                    format!("Please write down {number}-XK, that is what customs calls the {name} shipment.")
                },
                format!("Under which number is the {name} shipment registered at customs?"),
                format!("{number}-XK"),
            ),
            Kind::Name => (
                if is_plain {
                    format!("{owner} will lead the {name} workshop from now on.")
                } else {
                    format!("By the way, the {name} workshop will be led by {owner}, so write there with questions.")
                },
                format!("Who is in charge of the {name} workshop?"),
                owner.to_owned(),
            ),
            Kind::Code => (
                if is_plain {
                    format!("Call `{name}_open({number}, Mode::Shared)?` for the {name} module, anything else hangs.")
                } else {
                    format!(
                        "The {name} module is to be opened like this:\n```rust\n{name}_open({number}, Mode::Shared)?;\n```\n"
                    )
                },
                format!("Which line starts the {name} module?"),
                format!("{name}_open({number}, Mode::Shared)"),
            ),
            Kind::Corrected => (
                if is_plain {
                    format!("Correction: the {name} license costs {number} euros a year.")
                } else {
                    format!("I was wrong about the {name} license, it costs {number} euros a year.")
                },
                format!("How much do we pay for the {name} license?"),
                format!("{number} euros"),
            ),
        };
        let beside = match kind {
            Kind::Number => format!("Customs has not called about the {name} shipment yet, is it registered?"),
            Kind::Name => format!("I heard that whoever is in charge of the {name} workshop was away."),
            Kind::Code => format!("We should clean up the first line of the {name} module before anybody starts it."),
            Kind::Corrected => format!("How much longer do we pay for a {name} license that nobody uses?"),
        };
        let place = match depth % 3 {
            0 => Place::First,
            1 => Place::Amid,
            _ => Place::Last,
        };
        let (at, wrong) = match kind {
            Kind::Number | Kind::Name | Kind::Code => (at, None),
            Kind::Corrected => {
                let answer = format!("{} euros", number + 1_111);
                let said = format!("The {name} license costs {answer} a year, as far as I remember.");
                (at + CORRECTED_AFTER, Some(Wrong { at, said, answer }))
            }
        };
        Self { at, question, answer, wrong, said, beside, place }
    }
}

impl Place {
    /// A fact among the sentences of a message.
    fn put(self, fact: &str, others: &str) -> String {
        let mut sentences: Vec<&str> = others.split_inclusive(['.', '?']).map(str::trim).collect();
        let index = match self {
            Self::First => 0,
            Self::Amid => sentences.len() / 2,
            Self::Last => sentences.len(),
        };
        sentences.insert(index, fact);
        sentences.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use memory_core::testing::WordCounter;

    use super::*;

    #[test]
    fn every_fact_stands_once_in_the_conversation_and_no_question_gives_it_away() {
        for messages in [100, 1_000, 4_000] {
            let (drafts, needles) = plant(messages, &WordCounter).unwrap();
            assert_eq!((drafts.len(), needles.len()), (messages, 44));
            let texts: Vec<_> = drafts.iter().map(|draft| draft.message.text()).collect();
            let holding = |words: &str| {
                let holds = |(_, text): &(usize, &String)| text.contains(words);
                texts.iter().enumerate().filter(holds).map(|(at, _)| at).collect::<Vec<_>>()
            };
            for needle in &needles {
                assert_eq!(holding(&needle.answer), [needle.at], "{}", needle.answer);
                assert!(!needle.question.contains(&needle.answer));
                if let Some(wrong) = &needle.wrong {
                    assert_eq!(holding(&wrong.answer), [wrong.at], "{}", wrong.answer);
                    assert!(wrong.at < needle.at);
                }
            }
            let (first, last) =
                (needles.iter().map(|needle| needle.at).min(), needles.iter().map(|needle| needle.at).max());
            assert_eq!((first, last), (Some(0), Some(messages - 1)), "every depth");
            for needle in &needles {
                assert!(holding(&needle.beside).len() <= messages * BESIDE / 10_000, "{}", needle.beside);
            }
            let beside: usize = needles.iter().map(|needle| holding(&needle.beside).len()).sum();
            assert_eq!(beside > 0, messages > 1_250, "other messages have the words of the questions");
        }
        assert!(plant(98, &WordCounter).is_err());
    }

    #[test]
    fn a_fact_stands_where_it_is_put() {
        let put = |place: Place| place.put("Fact.", "One. Two? Three.");
        assert_eq!(put(Place::First), "Fact. One. Two? Three.");
        assert_eq!(put(Place::Amid), "One. Fact. Two? Three.");
        assert_eq!(put(Place::Last), "One. Two? Three. Fact.");
    }
}
