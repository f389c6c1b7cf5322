//! Prompts for a reader: whole rules, no decision that was changed later, no sentence cut into its opposite.
#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "whatever fails here fails a test")]

use memory::{ContentBlock, Message, PieceKind, PromptOptions, blocking::Conversation, blocking::Memory};
use memory_core::{Json, Media, Role, Timestamp};

use crate::support::{Dir, remark};

/// A conversation of a file: a message a line.
fn read(conversation: &Conversation, file: &str) {
    let message = |(line, index): (&str, i64)| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let role = if line["role"] == "user" { Role::User } else { Role::Assistant };
        let message = Message::text_of(role, line["content"].as_str().unwrap());
        (message, Timestamp::from_millis(1_756_713_600_000 + index * 600_000))
    };
    conversation.append_batch(file.lines().zip(0..).map(message).collect()).unwrap();
}

const CLINIC: &str = include_str!("../data/clinic.jsonl");
const NEGATION: &str = include_str!("../data/negation-de.jsonl");

const RULES: [&str; 6] = [
    "Always answer in at most five sentences.",
    "Write SQL in lower case.",
    "And never run or propose a migration against the table invoices, the accountant owns it.",
    "use tabs, not spaces, everywhere. keep answers short pls",
    "You must run the tests before each commit. Never push to main.",
    "No emojis please.",
];

#[test]
fn every_rule_of_the_user_stands_whole_in_every_prompt() {
    let dir = Dir::new();
    let memory = Memory::from(dir.words().background(false).open().unwrap());
    let clinic = memory.conversation("clinic").unwrap();
    read(&clinic, CLINIC);
    for budget in [800, 1_000, 2_000, 4_000, 8_000] {
        for question in ["Which database do we use?", "Is ticket 120 done?", "Thanks, bye!"] {
            let prompt = clinic.prompt_with(question, &PromptOptions::new(budget)).unwrap();
            let text = prompt.text();
            for rule in RULES.iter().flat_map(|rule| rule.split_inclusive(". ")) {
                assert!(text.contains(rule.trim()), "{rule:?} at {budget} for {question:?}: {text}");
            }
            assert!(prompt.tokens <= budget);
        }
        let asked = clinic.prompt_with("Is the invoice of Miller paid?", &PromptOptions::new(budget)).unwrap();
        assert!(asked.text().contains("When I ask about invoices, name the accountant."), "{}", asked.text());
    }
}

#[test]
fn no_decision_that_was_changed_is_shown_as_one() {
    let dir = Dir::new();
    let memory = Memory::from(dir.words().background(false).open().unwrap());
    let clinic = memory.conversation("clinic").unwrap();
    read(&clinic, CLINIC);
    let state = clinic.state().unwrap();
    let decided: Vec<_> = state.decisions.iter().map(|decision| decision.text.as_str()).collect();
    for over in ["Postgres 16,", "Redis for", "10 November", "MongoDB", "24 hours", "GraphQL for"] {
        assert!(decided.iter().all(|text| !text.contains(over)), "{over}: {decided:?}");
    }
    for question in ["Which database do we use?", "What did we decide?", "When is the go-live?", "Which queue?"] {
        for budget in [1_000, 4_000] {
            let prompt = clinic.prompt_with(question, &PromptOptions::new(budget)).unwrap();
            let standing = prompt.pieces.iter().filter(|piece| piece.kind == PieceKind::Standing);
            for piece in standing {
                for over in ["Postgres 16,", "10 November", "MongoDB"] {
                    assert!(!piece.text.contains(over), "{over} for {question:?} at {budget}: {}", piece.text);
                }
            }
        }
    }
}

#[test]
fn a_summary_says_the_date_of_yesterday_and_the_message_stays_as_it_was_said() {
    let dir = Dir::new();
    let memory = Memory::from(dir.words().background(false).open().unwrap());
    let talk = memory.conversation("talk").unwrap();
    let said = "I signed the lease of the pottery studio in Lyon yesterday. It is a bright room with two kilns, a sink, a \
                long table by the window and a shelf that nobody has cleaned for years, and the neighbours are kind.";
    let mut lease = Message::user(said);
    // 22:00 of 6 May where it was said.
    lease.metadata.insert("utc_offset".to_owned(), Json::new("-18000").unwrap());
    let at = |hour: usize| "2026-05-07T03:00:00Z".parse::<Timestamp>().unwrap().as_millis() + hour as i64 * 3_600_000;
    let messages = std::iter::once(lease).chain((1..150).map(remark));
    let batch = messages.enumerate().map(|(hour, message)| (message, Timestamp::from_millis(at(hour)))).collect();
    talk.append_batch(batch).unwrap();
    let prompt = talk.prompt("Is day 140 over?").unwrap();
    let summaries = prompt.pieces.iter().filter(|piece| matches!(piece.kind, PieceKind::Summary(_)));
    let told: Vec<_> = summaries.map(|piece| piece.text.as_str()).filter(|text| text.contains("lease")).collect();
    assert!(told.iter().any(|text| text.contains("in Lyon yesterday (2026-05-05).")), "{}", prompt.text());
    let asked = talk.prompt("Where is the pottery studio whose lease was signed?").unwrap();
    let recalled = asked.pieces.iter().find(|piece| piece.kind == PieceKind::Recalled).unwrap();
    assert!(recalled.text.contains(said), "{}", asked.text());
}

#[test]
fn a_message_that_was_superseded_comes_with_the_one_that_replaced_it() {
    let dir = Dir::new();
    let memory = Memory::from(dir.words().background(false).open().unwrap());
    let clinic = memory.conversation("clinic").unwrap();
    read(&clinic, CLINIC);
    for budget in [1_000, 2_000, 4_000] {
        let prompt = clinic.prompt_with("Do we use Postgres or SQLite?", &PromptOptions::new(budget)).unwrap();
        if prompt.text().contains("Decision: Postgres 16") {
            assert!(prompt.text().contains("Postgres 17 everywhere"), "{budget}: {}", prompt.text());
        }
    }
}

#[test]
fn no_summary_says_the_opposite_of_a_sentence_with_its_negation_at_the_end() {
    let dir = Dir::new();
    let memory = Memory::from(dir.words().background(false).open().unwrap());
    let talk = memory.conversation("talk").unwrap();
    read(&talk, NEGATION);
    for budget in [300, 400, 600, 1_000] {
        for question in ["Was machen wir am Freitag?", "Und jetzt?"] {
            let prompt = talk.prompt_with(question, &PromptOptions::new(budget)).unwrap();
            let (said, whole) = ("Wir rollen die neue Version", "auf gar keinen Fall in die Produktion aus");
            let (said, whole) = (prompt.text().matches(said).count(), prompt.text().matches(whole).count());
            assert_eq!(said, whole, "{budget}: {}", prompt.text());
        }
    }
}

#[test]
fn the_same_question_gives_the_same_view_whatever_was_shown_before() {
    let budgets = [8_000, 4_000, 2_000, 1_000, 500];
    let text_of = |talk: &Conversation, budget| {
        // The prompt says the minute of its question.
        let options = PromptOptions::new(budget).record(true).now(Timestamp::from_millis(1_756_900_000_000));
        talk.prompt_with("Which database do we use?", &options).unwrap().text().to_owned()
    };
    let fresh: Vec<String> = budgets
        .iter()
        .map(|budget| {
            let dir = Dir::new();
            let memory = Memory::from(dir.words().background(false).open().unwrap());
            let talk = memory.conversation("talk").unwrap();
            for _ in 0..4 {
                read(&talk, CLINIC);
            }
            text_of(&talk, *budget)
        })
        .collect();
    let dir = Dir::new();
    for order in [[4, 3, 2, 1, 0], [3, 0, 4, 2, 1], [0, 1, 2, 3, 4]] {
        // Each order goes on with the store that the one before has left.
        let memory = Memory::from(dir.words().background(false).open().unwrap());
        let talk = memory.conversation("talk").unwrap();
        if memory.conversations().unwrap().is_empty() {
            for _ in 0..4 {
                read(&talk, CLINIC);
            }
        }
        for at in order {
            assert_eq!(text_of(&talk, budgets[at]), fresh[at], "{} tokens in {order:?}", budgets[at]);
        }
    }
}

/// A picture of so many pixels and bytes.
fn picture(width: u32, height: u32, bytes: usize) -> ContentBlock {
    let mut data = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
    data.extend([width.to_be_bytes(), height.to_be_bytes()].concat());
    data.resize(bytes, 7);
    ContentBlock::Image(Media::Bytes { media_type: "image/png".into(), data: data.into() })
}

#[test]
fn pictures_and_documents_that_have_no_room_are_named_the_older_ones_first() {
    let dir = Dir::new();
    let memory = Memory::from(dir.words().background(false).open().unwrap());
    let talk = memory.conversation("talk").unwrap();
    for number in 1..=20 {
        let text = ContentBlock::Text(format!("This is page {number} of the plan."));
        talk.append(Message::new(Role::User, vec![text, picture(800, 600, 40_000)])).unwrap();
        talk.append(Message::assistant("Noted.")).unwrap();
    }
    let sent = |budget: u32| {
        let prompt = talk.prompt_with("What is on the plan?", &PromptOptions::new(budget)).unwrap();
        let blocks: Vec<_> = prompt.messages().messages.into_iter().flat_map(|message| message.content).collect();
        let pictures = blocks.iter().filter(|block| matches!(block, ContentBlock::Image(_))).count();
        let last = blocks.iter().rposition(|block| matches!(block, ContentBlock::Image(_)));
        let named = blocks.iter().rposition(|block| {
            block.text().contains("[image: image/png, 40000 bytes]") && !matches!(block, ContentBlock::Image(_))
        });
        (prompt.tokens, pictures, last > named)
    };
    let (tokens, pictures, newest_are_sent) = sent(4_000);
    // One of them costs 765 tokens by tiles.
    assert!(
        pictures > 0 && tokens + u32::try_from(pictures).unwrap() * 765 <= 4_000,
        "{pictures} beside {tokens} tokens"
    );
    assert!(newest_are_sent);
    assert_eq!(sent(32_000).1, 20);
    let pdf = Media::Bytes { media_type: "application/pdf".into(), data: vec![1; 900_000].into() };
    let document = ContentBlock::Document { title: Some("plan.pdf".into()), media: pdf };
    talk.append(Message::new(Role::User, vec![ContentBlock::Text("The plan as a file.".into()), document])).unwrap();
    let prompt = talk.prompt_with("What is in the file?", &PromptOptions::new(300)).unwrap();
    let blocks = prompt.messages().messages.into_iter().flat_map(|message| message.content);
    assert!(blocks.into_iter().all(|block| !matches!(block, ContentBlock::Document { .. } | ContentBlock::Image(_))));
}

#[test]
fn nothing_is_recalled_for_thanks_and_a_goodbye() {
    let dir = Dir::new();
    let memory = Memory::from(dir.words().background(false).open().unwrap());
    let talk = memory.conversation("talk").unwrap();
    for number in 1..=200 {
        talk.append(remark(number)).unwrap();
    }
    for text in ["Thanks, bye!", "Thank you so much!", "Great, thanks."] {
        let prompt = talk.prompt_with(text, &PromptOptions::new(1_000)).unwrap();
        assert!(prompt.pieces.iter().all(|piece| piece.kind != PieceKind::Recalled), "{}", prompt.text());
    }
}
