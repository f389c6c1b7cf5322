//! Tests that only what is certain is shown as decided or as a rule.

use memory_core::NodeId;

use super::{Speaker, StandingKind, StandingLines, standing};

fn of_kind(text: &str, kind: StandingKind) -> Vec<&str> {
    let found = standing(text, Speaker::User);
    let part = |at: u32, bytes: u16| text.get(at as usize..at as usize + usize::from(bytes)).unwrap();
    found.iter().filter(|found| found.kind == kind).map(|found| part(found.at, found.bytes)).collect()
}

/// The decisions that are shown of a talk, in which a model may speak.
fn decided(said: &[&str], has_model: bool) -> Vec<u64> {
    let mut lines = StandingLines::default();
    for (index, text) in said.iter().enumerate() {
        lines.add(NodeId::from_index(index), "user", standing(text, Speaker::User));
    }
    if has_model {
        lines.note_model();
    }
    // A second person speaks, too.
    lines.add(NodeId::from_index(said.len()), "Ben", standing("I prefer tea in the morning.", Speaker::Person));
    let shown = lines.by_worth("").into_iter().filter(|line| line.standing.kind == StandingKind::Decision);
    shown.map(|line| line.node.get()).collect()
}

#[test]
fn who_is_deciding_has_not_decided() {
    for text in [
        "I'm trying to decide whether the 18% improvement is good enough, considering I chose to invest my bonus in a MacBook.",
        "I'm deciding whether we go with Redis.",
        "I'm deciding between Hetzner and OVH, we chose Hetzner last time.",
        "I was wondering if we agreed on the hall in Ghent.",
    ] {
        assert_eq!(of_kind(text, StandingKind::Decision), [""; 0], "{text}");
    }
}

#[test]
fn a_clause_about_a_noun_decides_nothing_and_neither_does_what_points() {
    for text in [
        "I like the blue tiles I chose for the kitchen in Ghent.",
        "The dates we agreed on with Ben were in May.",
        "I've been drawing maps of Ghent, and I chose to do this because of Ben.",
    ] {
        assert_eq!(of_kind(text, StandingKind::Decision), [""; 0], "{text}");
    }
    for text in
        ["In the end we decided to rent the barn in Ghent.", "Well, the family met and we chose the blue tiles."]
    {
        assert_eq!(of_kind(text, StandingKind::Decision), [text], "{text}");
    }
}

#[test]
fn stories_of_the_past_decide_nothing() {
    for text in [
        "By the way, today I decided to spend time with my beloved pets again.",
        "Last week we decided to paint the fence.",
        "Back then we chose MongoDB for everything.",
        "Two years ago I switched to a vegan diet.",
    ] {
        assert_eq!(of_kind(text, StandingKind::Decision), [""; 0], "{text}");
    }
    for story in [
        "We still had money left, and we decided to use this money to buy groceries.",
        "I've always loved strategy games, so I decided to challenge myself and create one of my own.",
        "I chose headphones from Sennheiser.",
    ] {
        assert_eq!(decided(&[story], false), [0; 0], "{story}");
    }
    assert_eq!(decided(&["I chose the headphones from Sennheiser."], true), [1]);
    // Between people, too, an agreement on the work at hand stands.
    for work in ["Decision: the pilot is on Thursday.", "Let's go with the yellow case.", "Agreed, REST then."] {
        assert_eq!(decided(&[work], false), [1], "{work}");
    }
}

#[test]
fn a_number_of_units_alone_is_no_subject() {
    for text in
        ["We agreed on 3 days due to work limits.", "We agreed on 90 minutes.", "We settled on 2 weeks because of Ben."]
    {
        assert_eq!(of_kind(text, StandingKind::Decision), [""; 0], "{text}");
    }
    for text in
        ["We agreed on 3 days for the pilot.", "We settled on 2 weeks of training.", "We agreed on Postgres 17."]
    {
        assert_eq!(of_kind(text, StandingKind::Decision), [text], "{text}");
    }
}

#[test]
fn a_date_alone_is_no_subject() {
    assert_eq!(of_kind("March 1, 2025 it is.", StandingKind::Decision), [""; 0]);
    assert_eq!(of_kind("Agreed, Monday then.", StandingKind::Decision), [""; 0]);
    assert_eq!(of_kind("Postgres it is.", StandingKind::Decision), ["Postgres it is."]);
}

#[test]
fn a_decision_keeps_what_it_is_about_and_loses_the_question() {
    for (text, expected) in [
        (
            "I'm worried about the guests, so I decided to tell them on Monday in Ghent, what do you think?",
            &["I'm worried about the guests, so I decided to tell them on Monday in Ghent"][..],
        ),
        (
            "The hall in Ghent floods, and we agreed to sell the chairs of it in May, can you draft the advertisement",
            &["The hall in Ghent floods, and we agreed to sell the chairs of it in May"],
        ),
        ("How do I tell Ben, now that we agreed to sell the hall in Ghent?", &[]),
    ] {
        assert_eq!(of_kind(text, StandingKind::Decision), expected, "{text}");
    }
}

#[test]
fn a_rule_with_a_condition_bears_on_its_matter_alone() {
    let mut lines = StandingLines::default();
    let rules = [
        ("If you deploy on Fridays, always tell Ann first.", true),
        ("Whenever I mention the harbour, always name the tide.", true),
        ("Always ask Ben when we touch the invoices.", true),
        ("Please always warn me if the ferry is late.", true),
        ("When in doubt, always ask me.", false),
        ("Never push to main if the tests fail.", false),
        ("Always answer in German.", false),
    ];
    for (index, (text, is_conditional)) in rules.iter().enumerate() {
        let found = standing(text, Speaker::User);
        assert_eq!(found.iter().map(|one| one.is_conditional).collect::<Vec<_>>(), [*is_conditional], "{text}");
        lines.add(NodeId::from_index(index), "user", found);
    }
    let bearing = |question: &str| lines.bearing_on(question).iter().map(|line| line.node.get()).collect::<Vec<_>>();
    assert!(!bearing("What does the roof cost?").contains(&1));
    assert!(bearing("Can we deploy today?").contains(&1));
}

#[test]
fn conditions_and_reports_decide_nothing() {
    for text in [
        "We go with Redis unless Henrik objects.",
        "We'll go with Hetzner only if the price holds.",
        "We decided to rent the hall, provided that Ben pays.",
        "If the tests pass tonight, then on Friday we go with Redis.",
        "Tomasz says we decided to rent the hall.",
        "Paul told me we agreed on Osprey.",
    ] {
        assert_eq!(of_kind(text, StandingKind::Decision), [""; 0], "{text}");
    }
}

#[test]
fn words_of_others_history_and_idioms_decide_and_rule_nothing() {
    for text in [
        "My colleague told me: never use ORMs, always write raw SQL.",
        "I told my neighbour: if I were you I'd never buy a used oven, always get a new one",
        "The docs say: always call close() before exit.",
        "Mein Betreuer sagt immer, man soll nie mit der Einleitung anfangen.",
        "In my last job we decided to use Kafka for everything, it was a mess.",
        "It was decided in 1949 that Bonn would be the capital.",
        "We agreed to disagree about the tiles.",
        "We'll move on to item 2.",
        "March 1, 2025 it is. I'll set a reminder for that.",
        "I've decided to focus on tangent lines for the exam in Ghent.",
    ] {
        assert_eq!(standing(text, Speaker::User), [], "{text}");
    }
    for (text, kind) in [
        ("As I said, never push to main.", StandingKind::Instruction),
        ("Never say sorry, please.", StandingKind::Instruction),
        ("Whenever I send code, run the tests first.", StandingKind::Instruction),
        ("I don't want you to change the case of keys.", StandingKind::Instruction),
        ("Every function gets a docstring.", StandingKind::Instruction),
        ("We have to move the launch to 2 June.", StandingKind::Decision),
        ("seven.io then.", StandingKind::Decision),
    ] {
        assert_eq!(of_kind(text, kind), [text], "{text}");
    }
    assert_eq!(of_kind("Whenever we met in Ghent, Ben smiled.", StandingKind::Instruction), [""; 0]);
}

#[test]
fn a_preference_says_what_is_liked_and_one_of_outputs_is_a_rule() {
    for text in [
        "Neith uh I don't like it uh neither .",
        "Um , my own preferences , I prefer the the clunky one .",
        "It's frustrating because I hate being stuck and not making progress.",
        "I'd prefer not to talk about the price yet",
        "I want to see how my preference can be used to create more realistic models in Ghent",
    ] {
        assert_eq!(of_kind(text, StandingKind::Preference), [""; 0], "{text}");
    }
    for text in ["I prefer tabs.", "I'm not a fan of long meetings."] {
        assert_eq!(of_kind(text, StandingKind::Preference), [text], "{text}");
    }
    let rule = "I prefer short answers by the way, no more than five sentences.";
    assert_eq!(of_kind(rule, StandingKind::Instruction), [rule]);
}

/// Messages of the statements that hold, of a talk with a model.
fn held(said: &[&str], kind: StandingKind) -> Vec<u64> {
    let mut lines = StandingLines::default();
    lines.note_model();
    for (index, text) in said.iter().enumerate() {
        lines.add(NodeId::from_index(index), "user", standing(text, Speaker::User));
    }
    let mut shown: Vec<_> =
        lines.by_worth("").iter().filter(|line| line.standing.kind == kind).map(|line| line.node.get()).collect();
    shown.sort_unstable();
    shown
}

#[test]
fn what_is_dropped_forgotten_or_allowed_again_ends() {
    for (said, kind, expected) in [
        (&["yeah ok Chromium it is", "dropping Chromium, typst is better."][..], StandingKind::Decision, &[][..]),
        (&["ok Stripe it is", "hmm, Stripe is too expensive."], StandingKind::Decision, &[]),
        (&["We decided to hire Ben.", "Ben declined, so we take Mia."], StandingKind::Decision, &[2]),
        (&["Never use emojis.", "Emojis are fine now."], StandingKind::Instruction, &[]),
        (&["Keep answers under 100 words.", "Forget the word limit."], StandingKind::Instruction, &[]),
        (&["We agreed on 3pm for the tasting.", "2pm it is."], StandingKind::Decision, &[2]),
        (&["We decided to stay 5 days in Porto.", "3 days only, sorry."], StandingKind::Decision, &[]),
        (
            &["We decided on gas.", "On second thought gas is a bad idea, the utility wants 2,500."],
            StandingKind::Decision,
            &[],
        ),
        (&["Always give the DOI when you cite.", "You can skip the DOIs from now on."], StandingKind::Instruction, &[]),
        (&["Never use emojis.", "You can use emojis again, I changed my mind."], StandingKind::Instruction, &[]),
        (&["Always run the linter first.", "You can run the linter again."], StandingKind::Instruction, &[1]),
        (&["Never push to main.", "Can you push to main again?"], StandingKind::Instruction, &[1]),
        (&["We go with Haecker for the kitchen.", "We switch to Ewe."], StandingKind::Decision, &[2]),
        (&["We decided to use Postgres.", "Actually, let's use SQLite."], StandingKind::Decision, &[2]),
        (
            &["Let's set the worktop to 92 cm.", "Jonas is tall, so we make it 95 cm instead of 92 cm."],
            StandingKind::Decision,
            &[2],
        ),
        (
            &["Our budget is 18,000 euros.", "Budget changed: my mother helps, we now have 22,000 euros."],
            StandingKind::Fact,
            &[2],
        ),
        (&["Always run the linter first.", "No need to run the linter any more."], StandingKind::Instruction, &[]),
        (&["Decision: two tiers.", "Back to three tiers after all."], StandingKind::Decision, &[]),
        (&["Agreed, REST then.", "Hmm, no, we stay with REST."], StandingKind::Decision, &[1]),
        (
            &["We have to move the launch to 2 June.", "26 May it is. Final launch date, the board agreed this time."],
            StandingKind::Decision,
            &[2],
        ),
        (
            &[
                "Let's use SQLite for the store.",
                "Decision: Postgres at Hetzner, gateway with a queue of 7 days. Forget the SQLite file.",
                "Let's do (1): back to SQLite, on an SSD.",
            ],
            StandingKind::Decision,
            &[3],
        ),
    ] {
        assert_eq!(held(said, kind), expected, "{said:?}");
    }
}

#[test]
fn an_overtaken_decision_is_not_shown() {
    let said = ["Decision: the launch is on 19 May.", "The launch was moved to 26 May by the way."];
    assert_eq!(decided(&said, true), [2]);
    assert_eq!(decided(&["Let's go with the fixed window.", "Scrap the fixed window."], true), [0; 0]);
}

#[test]
fn orders_of_a_task_at_hand_are_no_rules() {
    for text in [
        "Can you look? Use the staging database, select part only please, don't write.",
        "Could you check the log of the import? Don't restart the job.",
        "Can you draft the letter? Keep it formal, no tables please.",
    ] {
        assert_eq!(of_kind(text, StandingKind::Instruction), [""; 0], "{text}");
    }
    for (text, rule) in [
        ("Can you look? And never write to the production database.", "And never write to the production database."),
        ("Can you fix the parser? From now on run the linter.", "From now on run the linter."),
        (
            "Could you draft it? Answer in English when I ask about letters.",
            "Answer in English when I ask about letters.",
        ),
        ("Don't touch the folder legacy.", "Don't touch the folder legacy."),
    ] {
        assert_eq!(of_kind(text, StandingKind::Instruction), [rule], "{text}");
    }
}

#[test]
fn lists_of_rules_of_ones_own_are_rules_line_by_line() {
    for label in [
        "Some preferences of mine, so that I don't have to repeat them every day:",
        "My rules:",
        "Our house rules:",
        "So that I don't have to repeat myself:",
        "Can you remember my conventions:",
    ] {
        let text = format!(
            "{label}\n\n- sql keywords in lower case\n- no ORM, sqlx with checked queries\n- no emoji\n\nThanks. The file waits."
        );
        let rules = ["sql keywords in lower case", "no ORM, sqlx with checked queries", "no emoji"];
        assert_eq!(of_kind(&text, StandingKind::Instruction), rules, "{label}");
    }
    for label in ["The rules of the game:", "The rules of chess:", "Your preferences:"] {
        let text = format!("{label}\n\n- each player draws seven cards\n- the queen moves far");
        assert_eq!(of_kind(&text, StandingKind::Instruction), [""; 0], "{label}");
    }
}

#[test]
fn a_change_of_a_subject_is_known_later() {
    let mut lines = StandingLines::default();
    let moved = standing("The launch was moved to 26 May.", Speaker::User);
    lines.add(NodeId::from_index(4), "user", moved);
    assert!(lines.is_changed_after(NodeId::from_index(0), "Rate limits before the launch on 19 May."));
    assert!(!lines.is_changed_after(NodeId::from_index(0), "Sell the boat by 19 June."));
    assert!(!lines.is_changed_after(NodeId::from_index(6), "Rate limits before the launch on 19 May."));
}
