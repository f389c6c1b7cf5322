//! Tests of the detection of standing statements, their extent, and contradictions.

use memory_core::NodeId;

use super::*;

fn parts(text: &str) -> Vec<(StandingKind, &str)> {
    let slice = |found: Standing| {
        let (at, bytes) = (found.at as usize, usize::from(found.bytes));
        (found.kind, text.get(at..at + bytes).unwrap())
    };
    // A statement that only puts an earlier one in doubt states nothing.
    let states = |found: &Standing| found.kind != StandingKind::Revocation || found.changes;
    standing(text, Speaker::User).into_iter().filter(states).map(slice).collect()
}

fn check(text: &str, kind: StandingKind, part: &str) {
    assert_eq!(parts(text), [(kind, part)], "{text}");
}

fn none(text: &str) {
    assert_eq!(parts(text), [], "{text}");
}

#[test]
fn an_instruction_is_taken_whole() {
    let kind = StandingKind::Instruction;
    let said = "Always provide detailed timelines when I ask about the garden.";
    check(said, kind, said);
    check(
        "Thanks! From now on answer in German, and never in verse.",
        kind,
        "From now on answer in German, and never in verse.",
    );
    check("- Never use tabs in my files", kind, "Never use tabs in my files");
    check("Please don’t mention the party to Ben.", kind, "Please don’t mention the party to Ben.");
}

#[test]
fn a_condition_stays_with_what_depends_on_it() {
    check(
        "If the hall is taken, I'd prefer to wait a week, so can you call them?",
        StandingKind::Preference,
        "If the hall is taken, I'd prefer to wait a week",
    );
}

#[test]
fn a_statement_is_a_whole_sentence() {
    for said in [
        "I actually have something new, Samantha and I have decided to move in together!",
        "Well, it took us weeks, but my wife and I have decided to sell the house.",
    ] {
        check(said, StandingKind::Decision, said);
    }
}

#[test]
fn a_wish_is_cut_out_of_the_question_that_follows() {
    check(
        "I'm redoing the page and I prefer short lists over long paragraphs, can you help me write one?",
        StandingKind::Preference,
        "I prefer short lists over long paragraphs",
    );
    none("Would you say that I prefer tea?");
    none("Do you think we should use what we decided on Monday?");
}

#[test]
fn what_only_tells_is_no_instruction() {
    none("Always here to help!");
    none("Never been on a boat.");
    none("You are amazing as always!");
    none("Never heard of it before.");
    none("Always rooting for you.");
    none("It reminds me to be careful with the boat.");
    none("They always support me, even when I am wrong.");
}

#[test]
fn a_decision_names_what_was_decided_and_is_not_denied() {
    check(
        "We decided to rent the hall for 1,850 euros.",
        StandingKind::Decision,
        "We decided to rent the hall for 1,850 euros.",
    );
    none("Right, we decided that already.");
    none("It is not so that we agreed on the price.");
    check("We have not decided on the caterer.", StandingKind::Open, "We have not decided on the caterer.");
}

#[test]
fn a_label_says_what_follows() {
    check(
        "Nice. **Decision: the pilot is on Thursday.** Good.",
        StandingKind::Decision,
        "Decision: the pilot is on Thursday.",
    );
    check(
        "One more preference for the next weeks: the status goes to Luis on Fridays, five sentences at most, bad news first.",
        StandingKind::Preference,
        "One more preference for the next weeks: the status goes to Luis on Fridays, five sentences at most, bad news first.",
    );
    check(
        "Preference: one page, blameless, no \"action items\" without a name.",
        StandingKind::Preference,
        "Preference: one page, blameless, no \"action items\" without a name.",
    );
    check(
        "Open question for Priya: what is the ceiling for NOK",
        StandingKind::Open,
        "Open question for Priya: what is the ceiling for NOK",
    );
    check("TODO: fix the burst calculation", StandingKind::Open, "TODO: fix the burst calculation");
    check("Open question: should we limit the rate?", StandingKind::Open, "Open question: should we limit the rate?");
    check("We must not touch the schema.", StandingKind::Instruction, "We must not touch the schema.");
    check(
        "**Decision: a file is UTF-8 as a whole. Otherwise it is windows-1252.**",
        StandingKind::Decision,
        "Decision: a file is UTF-8 as a whole.",
    );
    none("**Decision proposed: no generic ingest now.**");
    none("Decision 1: [Describe the decision and why]");
    none("**Decision**: <what was decided>");
    let said = "Decision: [RFC 12] is adopted and replaces [RFC 9]";
    check(said, StandingKind::Decision, said);
    none("What are your preferences: tea or coffee");
    none("The decision tree: see the figure above.");
    none("At 10:30 the decision:maker left for the harbour.");
    none("Not a decision: we keep talking about it.");
}

#[test]
fn the_items_under_a_label_stand_each_and_what_follows_the_list_does_not() {
    let text = "Some preferences of mine, so that I don't repeat them:\n\n- sql keywords in lower case\n- no ORM, plain \
                sql\n\nHere is the file.\n- a line of the file";
    let expected = ["sql keywords in lower case", "no ORM, plain sql"].map(|part| (StandingKind::Instruction, part));
    assert_eq!(parts(text), expected);
    none("The rules of the game:\n- each player draws seven cards");
    let asked = parts("From now on:\n- answer in German\n- give sources for figures");
    assert_eq!(asked, ["answer in German", "give sources for figures"].map(|part| (StandingKind::Instruction, part)));
}

#[test]
fn a_word_that_is_quoted_or_denied_announces_nothing() {
    none("The report has prose, one page of it, and no \"action items\" without a name and a date.");
    none("There are no action items from the review of the parser.");
}

#[test]
fn a_model_decides_only_what_it_labels_so() {
    let of_model = |text: &str| standing(text, Speaker::Model).len();
    assert_eq!(of_model("**Decision: amounts are integers of minor units.**"), 1);
    assert_eq!(of_model("Decision 2: files are named by their hash."), 1);
    assert_eq!(of_model("We decided to rent the hall for 1,850 euros."), 0);
    assert_eq!(of_model("My decision for today: none of the files is read."), 0);
    assert_eq!(of_model("Decisions:\n- rent the hall in Ghent"), 0);
    assert_eq!(of_model("- **Decision**: rent the hall in Ghent"), 0);
    assert_eq!(of_model("**Decision**: Decide to delegate a task to a colleague."), 0);
}

#[test]
fn code_quotations_and_tables_are_passed_over() {
    none("```\nAlways use tabs when I ask.\n```");
    none("> Always use tabs when I ask.");
    none("| Always use tabs | when I ask |");
    check("~~~\nx\n~~~\nAlways use tabs when I ask.", StandingKind::Instruction, "Always use tabs when I ask.");
}

#[test]
fn a_model_instructs_nobody() {
    assert_eq!(standing("Always consult a lawyer before you sign.", Speaker::Person), []);
    assert_eq!(standing("I'll send you the draft on Friday.", Speaker::Person).len(), 1);
}

#[test]
fn a_part_is_bounded_and_a_message_gives_few() {
    let long = format!("Always answer with {}", "very long words and ".repeat(60));
    assert!(parts(&long).iter().all(|(_, part)| part.len() <= LONGEST));
    let many = "Always use tabs in files.\n".repeat(50);
    assert_eq!(parts(&many).len(), MOST);
}

fn lines(said: &[&str]) -> StandingLines {
    let mut lines = StandingLines::default();
    for (index, text) in said.iter().enumerate() {
        lines.add(NodeId::from_index(index), "user", standing(text, Speaker::User));
    }
    lines
}

/// The numbers of the messages whose lines are valid.
fn holding(lines: &StandingLines) -> Vec<u64> {
    let mut nodes: Vec<_> = lines.by_worth("").into_iter().map(|line| line.node.get()).collect();
    nodes.sort_unstable();
    nodes
}

fn bearing(lines: &StandingLines, question: &str) -> Vec<u64> {
    let mut nodes: Vec<_> = lines.bearing_on(question).into_iter().map(|line| line.node.get()).collect();
    nodes.sort_unstable();
    nodes
}

#[test]
fn the_newest_of_contradicting_lines_holds() {
    for said in [
        ["Please answer in English.", "Please answer in German."],
        ["Always include the source of a quotation.", "Never include the source of a quotation."],
        ["I prefer the train to Ghent.", "I no longer prefer the train to Ghent."],
        ["We need to decide on the caterer.", "We decided on Anna as the caterer."],
        ["Always use tabs in my files.", "Always use tabs in my files."],
    ] {
        assert_eq!(holding(&lines(&said)), [2], "{said:?}");
    }
}

#[test]
fn lines_about_other_things_stand_side_by_side() {
    let said = [
        "Always include code examples when I ask about Python.",
        "Always include the time zone when I ask about meetings.",
        "I prefer tea in the morning.",
        "Never use tabs in my files.",
    ];
    assert_eq!(holding(&lines(&said)), [1, 2, 3, 4]);
}

#[test]
fn what_is_taken_back_stands_no_more_and_what_takes_back_is_no_line() {
    let said = ["Always answer in French from now on.", "Stop answering in French. English again."];
    assert_eq!(holding(&lines(&said)), [2]);
    let said = ["We decided to use MongoDB.", "Scrap MongoDB, we go with PostgreSQL instead."];
    assert_eq!(holding(&lines(&said)), [2]);
    let said = ["We decided to rent the hall in Ghent.", "Scrap the hall in Ghent."];
    assert_eq!(holding(&lines(&said)), [0; 0]);
    let said = ["Let's go with the token bucket per node.", "I take back the token bucket, it counts twice."];
    assert_eq!(holding(&lines(&said)), [0; 0]);
    let said = ["We decided to rent the hall in Ghent.", "Scrap the draft of the letter."];
    assert_eq!(holding(&lines(&said)), [1]);
}

#[test]
fn one_speaker_does_not_contradict_another() {
    let mut lines = StandingLines::default();
    for (index, name) in ["Maya", "Ben"].into_iter().enumerate() {
        let text = if index == 0 { "Please answer in English." } else { "Please answer in German." };
        lines.add(NodeId::from_index(index), name, standing(text, Speaker::User));
    }
    assert_eq!(holding(&lines), [1, 2]);
}

#[test]
fn decisions_and_wishes_are_shown_where_they_are_asked_for() {
    let lines = lines(&["I don't like dark beer.", "We decided to rent the hall in Ghent."]);
    assert_eq!(bearing(&lines, "And now?"), [0; 0]);
    assert_eq!(bearing(&lines, "Which beer?"), [1]);
    assert_eq!(bearing(&lines, "Where is the hall?"), [2]);
    assert_eq!(holding(&lines), [1, 2]);
}

#[test]
fn every_sentence_of_a_rule_stands_whole() {
    let rule = StandingKind::Instruction;
    for (text, rules) in [
        (
            "An old Access file. Always answer in at most five sentences. Write SQL in lower case. And never run or \
             propose a migration against the table invoices, the accountant owns it.",
            &[
                "Always answer in at most five sentences.",
                "Write SQL in lower case.",
                "And never run or propose a migration against the table invoices, the accountant owns it.",
            ][..],
        ),
        (
            "use tabs, not spaces, everywhere. keep answers short pls",
            &["use tabs, not spaces, everywhere.", "keep answers short pls"],
        ),
        (
            "You must run the tests before each commit. Never push to main.",
            &["You must run the tests before each commit.", "Never push to main."],
        ),
        ("No emojis please. Don't touch the folder legacy.", &["No emojis please.", "Don't touch the folder legacy."]),
        ("Please no tables, I read on a phone.", &["Please no tables, I read on a phone."]),
    ] {
        assert_eq!(parts(text), rules.iter().map(|part| (rule, *part)).collect::<Vec<_>>());
    }
    for text in [
        "Don't worry about the noise.",
        "You must be tired.",
        "No problem, take your time please.",
        "Please write me a poem about the sea.",
        "Don't run the tests now.",
        "Always up for something sweet.",
        "Never saw this coming.",
    ] {
        assert!(parts(text).iter().all(|(kind, _)| *kind != rule), "{text}: {:?}", parts(text));
    }
}

#[test]
fn a_rule_is_not_dropped_by_one_of_another_matter() {
    let rule = "And never run or propose a migration against the table invoices, the accountant owns it.";
    assert_eq!(holding(&lines(&[rule, "When I ask about invoices, name the accountant."])), [1, 2]);
}

#[test]
fn a_rule_under_a_condition_stands_where_its_subject_is_the_matter() {
    let lines = lines(&["When I ask about invoices, name the accountant.", "Never push to main."]);
    assert_eq!(bearing(&lines, "Which invoice is open?"), [1, 2]);
    assert_eq!(bearing(&lines, "Is the build green?"), [2]);
    assert_eq!(bearing(&lines, ""), [1, 2], "the window of an agent outlasts a question");
}

#[test]
fn a_decision_is_over_as_soon_as_anything_later_changes_its_subject() {
    let decided = "Decision: Postgres 16, not SQLite.";
    for change in [
        "Then we change it: Postgres 17 everywhere instead of 16, the host only offers that.",
        "Actually, scratch Postgres, we use CockroachDB.",
        "Changed: Postgres 17.",
        "We switched to Postgres 17.",
        "Postgres 17, not 16.",
        "Not Postgres 16 but 17.",
        "I take that back.",
    ] {
        assert!(!holding(&lines(&[decided, change])).contains(&1), "{change}");
    }
    for other in ["Scrap the draft of the letter.", "The hall costs 90, not 80.", "Thanks, that is clear."] {
        assert!(holding(&lines(&[decided, other])).contains(&1), "{other}");
    }
    let changed = lines(&[decided, "Changed: Postgres 17."]);
    assert_eq!(changed.replaced_by(NodeId::from_index(0)), Some(NodeId::from_index(1)));
}

#[test]
fn an_instruction_stands_also_where_the_model_has_a_name() {
    let mut lines = lines(&["From now on answer in German.", "We decided to rent the hall in Ghent."]);
    lines.add(NodeId::from_index(2), "supervisor", Vec::new());
    assert_eq!(bearing(&lines, "When is the train?"), [1]);
}

#[test]
fn what_a_model_decided_bears_on_its_subject_alone() {
    let mut lines = lines(&["Never use tabs in my files."]);
    let (node, name) = (NodeId::from_index(1), "assistant");
    lines.add(node, name, standing("Decision: the hall in Ghent is rented.", Speaker::Model));
    assert_eq!(holding(&lines), [1, 2]);
    assert_eq!(bearing(&lines, "And now?"), [1]);
    assert_eq!(bearing(&lines, "Where is the hall?"), [1, 2]);
}

#[test]
fn an_older_message_that_comes_later_contradicts_no_newer_one() {
    let mut lines = StandingLines::default();
    for (index, text) in [(1, "Please answer in German."), (0, "Please answer in English.")] {
        lines.add(NodeId::from_index(index), "user", standing(text, Speaker::User));
    }
    assert_eq!(holding(&lines), [2]);
}

#[test]
fn what_bears_on_the_question_comes_first_and_instructions_before_promises() {
    let said =
        ["I'll send the invoice on Friday.", "Always give the time zone of a meeting.", "Never use tabs in my files."];
    let lines = lines(&said);
    let order = |question: &str| lines.by_worth(question).iter().map(|line| line.node.get()).collect::<Vec<_>>();
    assert_eq!(order("Which tabs?"), [3, 2, 1]);
    assert_eq!(order("When is the meeting?"), [2, 3, 1]);
}

#[test]
fn a_decision_that_anything_later_puts_in_doubt_is_not_shown() {
    for [decided, later] in [
        ["We agreed on AWS Frankfurt.", "Management vetoed AWS. It'll be OVH Strasbourg."],
        ["We decided to use Postgres.", "We're moving off Postgres, MySQL it is."],
        ["We decided to use Postgres.", "Postgres is out. MySQL is in."],
        ["We decided to use Postgres.", "Scratch that, MySQL."],
        ["We decided to use Postgres.", "New decision: MySQL."],
        ["We decided to use Postgres.", "Let's use MySQL for the database after all."],
        ["We decided to hire Tom.", "We are not hiring Tom."],
        ["We decided to hire Tom.", "The decision to hire Tom is withdrawn."],
        ["We decided to hire Tom.", "Tom declined, we hire Eva."],
        ["We decided to hire Tom.", "Undo that."],
        ["I chose LaTeX with the memoir class.", "memoir drives me mad, I switched to KOMA-Script."],
        ["Let's use Redis for the queue.", "Redis was a mistake. RabbitMQ for the queue."],
        ["We decided to rent the hall in Linz.", "The hall in Linz burnt down, so we rent the one in Wels."],
        ["We'll use Postgres for the data.", "Finalement on prend MySQL à la place de Postgres."],
    ] {
        let mut lines = StandingLines::default();
        for (node, text) in [(1, decided), (2, later), (3, "The weather is nice.")] {
            let (node, name) = (NodeId::new(node).unwrap(), "user");
            lines.add(node, name, standing(text, Speaker::User));
        }
        let shown = lines.by_worth("");
        let first = shown.iter().find(|line| line.node.get() == 1);
        assert!(first.is_none(), "{decided} {later}: {first:?}");
    }
}

#[test]
fn what_is_taken_back_within_a_message_ends_nothing_before_it() {
    let mut lines = StandingLines::default();
    for (node, text) in [
        (1, "We decided to use Postgres for the data."),
        (2, "Let's go with GraphQL for a day. Hmm, I take that back, we stay with REST."),
    ] {
        lines.add(NodeId::new(node).unwrap(), "user", standing(text, Speaker::User));
    }
    let shown: Vec<_> = lines.by_worth("").iter().map(|line| (line.node.get(), line.standing.at)).collect();
    assert!(shown.contains(&(1, 0)) && !shown.contains(&(2, 0)), "{shown:?}");
}

#[test]
fn rules_are_recognized_in_the_words_that_people_use() {
    for rule in [
        "Don't ever email customers after 8 pm.",
        "You mustn't open port 22 to the world.",
        "dont touch the file a.txt",
        "Answers without tables, please.",
        "Under no circumstances delete the logs.",
        "I don't eat pork, never suggest it.",
        "Make sure to always ask before you buy something.",
        "It is important that you never share my address.",
        "Remember: never push to main, even when it is urgent.",
        "Keep the answers under 100 words.",
        "No more jokes.",
        "Every function needs a docstring, always.",
        "All texts must be in British English, and no popups please.",
        "Antworte auf Deutsch, wenn ich Deutsch schreibe.",
        "Bitte nicht duzen.",
        "Be brief.",
        "Please answer briefly.",
        "Ask before you delete a file.",
        "Run the linter before every commit.",
        "Stick to British spelling.",
        "Metric units only, please.",
        "Every commit needs a ticket number.",
        "Comments in English please.",
        "All amounts in cents.",
        "Reply only in Spanish.",
        "Call me Sam.",
        "No emojis.",
    ] {
        check(rule, StandingKind::Instruction, rule);
    }
}

#[test]
fn a_request_for_once_and_a_word_to_a_person_are_no_rules() {
    for text in [
        "Write a function that parses dates.",
        "Write the SQL for the invoices.",
        "Use this data: 3, 4, 5.",
        "Use the short version.",
        "Keep it up, you're doing great!",
        "Don't worry about it.",
        "Never mind.",
        "Don't give up on your dreams.",
        "Never give up!",
        "Don't forget to take it easy and look after yourself.",
        "Don't be afraid to seek help if you need it.",
        "Don't ever quit on what you love.",
        "You must have been so pumped when it happened!",
        "You must feel a great sense of unity.",
        "Always a joy to see him so happy.",
        "Never heard of it, but it sounds interesting.",
        "Challenging but fun, always admired musicians.",
        "We will continue to be nimble going forward.",
        "This binds the ministers in future assemblies of the country.",
        "No more questions for now.",
        "I want to make sure I understand how to use the theorem.",
        "I always answer in German when I ask my mother.",
        "Please write three sentences about dogs.",
        "Be careful with the boat.",
        "Add a docstring to every function of the module.",
        "Use it for the poster.",
        "Run the tests.",
        "Comments are welcome.",
        "Please make sure the tests pass.",
        "She smiles when I ask about the dog.",
        "Can you always answer in German?",
    ] {
        let found = parts(text);
        assert!(found.iter().all(|(kind, _)| *kind != StandingKind::Instruction), "{text}: {found:?}");
    }
}

#[test]
fn an_agreement_on_a_thing_is_a_decision() {
    for said in [
        "Agreed, REST then.",
        "We use Redis for the queue.",
        "We're going with Hetzner for hosting.",
        "ok seven.io for the texts it is then",
        "The night train it is.",
        "Decision: Postgres 16, not SQLite.",
        "Okay, then we use RabbitMQ.",
        "Dental appointments are 45, not 30.",
        "Not 16 but 17 workers.",
        "Change it to Postgres 17.",
        "Back to REST.",
        "Changed: reminders 36 hours before, people forget.",
        "Hmm, I take that back, we stay with REST.",
        "lets use vitest instead of jest, jest is too slow",
        "also, decision: we deploy with Fly, not Heroku",
        "Forget Kafka, NATS instead.",
        "Change of plan: NATS.",
        "On second thought, REST.",
        "Scrap the mobile app, a web page in Vue is enough.",
        "NATS replaces Kafka.",
        "Kafka is out, we take NATS.",
        "The launch is postponed to 3 May.",
        "The call is on Tuesday, not Monday.",
        "The deposit is 30 %, not 20 %.",
        "Decision: MySQL.",
        "Wir haben uns für Hetzner entschieden und wir nehmen Postgres.",
    ] {
        check(said, StandingKind::Decision, said);
    }
}

#[test]
fn what_is_not_certain_is_no_decision() {
    for text in [
        "Should we use Redis?",
        "I think I'll go with training Michele.",
        "Yeah, let's go with those steps.",
        "Yeah we'll go with that.",
        "If we use Redis, the queue is fast.",
        "Because we use scroll wheels.",
        "We use it a lot.",
        "I chose to keep the interviews, but I'm unsure about it.",
        "I know how it is.",
        "What a day it is!",
        "Okay, see you then.",
        "Agreed, James!",
        "Fully agreed!",
        "He asked when we decided to rent the hall.",
        "Let's try GraphQL for a day.",
        "I moved to 5 Main Street last year.",
        "Forget it, Anna called me back.",
        "I'd take Kafka if it were cheaper.",
        "We decided to go with the Osprey database, then Paul showed us the licence and vetoed it.",
        "- Changed: the parser reads dates now",
        "\"We decided to rent the hall,\" he said.",
    ] {
        let found = parts(text);
        assert!(found.iter().all(|(kind, _)| *kind != StandingKind::Decision), "{text}: {found:?}");
    }
    assert_eq!(standing("Changed: src/main.rs reads dates.", Speaker::Model), []);
}

#[test]
fn rules_of_a_meeting_are_addressed_to_people() {
    let rule = || standing("Don't change the case.", Speaker::User);
    let mut lines = StandingLines::default();
    lines.add(NodeId::new(100).unwrap(), "Ann", rule());
    assert_eq!(holding(&lines), [0; 0]);
    lines.note_model();
    assert_eq!(holding(&lines), [100]);
}

fn node(number: u64) -> NodeId {
    NodeId::new(number).unwrap()
}

#[test]
fn talk_about_a_matter_changes_no_statement_and_a_repetition_is_no_change() {
    for (statement, later, is_current) in [
        (
            "Always include a labelled graph.",
            "I'm stuck on a labelled graph and not sure what to include, can you help?",
            true,
        ),
        (
            "Always list timelines when I ask about therapy.",
            "I'll stick with the therapy on Fridays and the chats.",
            true,
        ),
        (
            "We agreed on closed bins for the craft.",
            "How did new craft bins save you money instead of the old ones?",
            true,
        ),
        ("I don't like dogs, that's why I have cats.", "I still have cats, one sits on the left.", true),
        ("I decided to do the error analysis after each session.", "I'll make sure to do the error analysis.", true),
        ("I prefer unplugged time.", "I've never taken so much time off work.", true),
        ("We decided to rent the hall in Ghent.", "We decided to rent the barn in Bruges instead of the hall.", false),
        ("Always write the tests in pytest.", "From now on write the tests in unittest instead of pytest.", false),
    ] {
        let mut lines = StandingLines::default();
        lines.note_model();
        lines.add(node(1), "user", standing(statement, Speaker::User));
        lines.add(node(9), "user", standing(later, Speaker::User));
        assert_eq!(lines.replaced_by(node(1)).is_none(), is_current, "{statement} {later}");
    }
    let mut lines = StandingLines::default();
    let again = "We decided to rent the hall in Ghent.";
    lines.add(node(1), "user", standing(again, Speaker::User));
    lines.add(node(9), "user", standing(again, Speaker::User));
    assert_eq!((lines.replaced_by(node(1)), lines.by_worth("").len()), (None, 1));
    assert!(lines.stated().next().is_some_and(StandingLine::is_left_out));
}
