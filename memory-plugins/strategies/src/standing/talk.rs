//! Tests of whole talks: what a later message ends, what it leaves alone, and what takes its place.

use memory_core::NodeId;

use super::{Speaker, StandingKind, StandingLines, standing};

use StandingKind::{Decision, Instruction, Open, Preference};

fn talk(said: &[&str], has_model: bool) -> StandingLines {
    let mut lines = StandingLines::default();
    for (index, text) in said.iter().enumerate() {
        lines.add(NodeId::from_index(index), "user", standing(text, Speaker::User));
    }
    if has_model {
        lines.note_model();
    }
    lines
}

/// The statements of a talk that hold, or that were replaced, with their kinds.
fn listed<'t>(said: &[&'t str], is_current: bool) -> Vec<(StandingKind, &'t str)> {
    let lines = talk(said, true);
    let listed = lines.stated().filter(|line| !line.is_left_out() && line.first_replaced_by().is_none() == is_current);
    let part = |line: &super::StandingLine| {
        let (node, at) = (usize::try_from(line.node.get() - 1).unwrap(), line.standing.at as usize);
        (line.standing.kind, said[node].get(at..at + usize::from(line.standing.bytes)).unwrap())
    };
    listed.map(part).collect()
}

fn kinds(text: &str) -> Vec<StandingKind> {
    listed(&[text], true).into_iter().map(|(kind, _)| kind).filter(|kind| *kind != StandingKind::Promise).collect()
}

fn all_are(texts: &[&str], kind: StandingKind) {
    for text in texts {
        assert_eq!(listed(&[text], true), [(kind, *text)], "{text}");
    }
}

fn none_is(texts: &[&str], kind: StandingKind) {
    for text in texts {
        assert!(!kinds(text).contains(&kind), "{text}: {:?}", listed(&[text], true));
    }
}

#[test]
fn a_doubt_about_something_else_removes_nothing() {
    for statement in [
        "I prefer aisle seats.",
        "We decided to take the ferry to Elba.",
        "Let's go with Pension Rosa.",
        "Never use tabs in my files.",
        "Let's go with the column index then.",
        "Oil it is.",
        "So 3rd of May it is.",
    ] {
        for later in [
            "I don't know yet.",
            "I don't think so.",
            "Not sure.",
            "No, not really.",
            "Should Eva come along? I don't know yet.",
            "Do we need a stamp? I don't think so.",
            "The index of my book is broken.",
            "The oil filter isn't paid yet.",
            "Next fair on June 3rd, same place.",
            "It's out of the question.",
        ] {
            let said = [statement, later];
            assert!(listed(&said, true).iter().any(|(_, text)| *text == statement), "{said:?}");
        }
    }
}

#[test]
fn what_is_put_in_doubt_or_replaced_stays_in_the_history() {
    for said in [
        ["Use spaces, not tabs.", "Use tabs, not spaces."],
        ["We decided to hire Eva.", "We are not hiring Eva."],
        ["Let's go with Kafka for the events.", "Kafka is out."],
        ["We'll stay at Pension Rosa.", "No, not Pension Rosa, we stay at Villa Lima."],
    ] {
        assert!(listed(&said, false).iter().any(|(_, text)| *text == said[0]), "{said:?}: {:?}", listed(&said, false));
        assert!(!listed(&said, true).iter().any(|(_, text)| *text == said[0]), "{said:?}");
    }
    let again = ["We decided to rent the barn in Bruges."; 2];
    assert_eq!((listed(&again, true).len(), listed(&again, false).len()), (1, 0));
}

#[test]
fn what_is_taken_back_without_a_name_is_the_last_thing_alone() {
    let said = ["We decided to use Postgres.", "Let's go with Hetzner for hosting.", "Scratch that."];
    assert_eq!(listed(&said, true), [(Decision, said[0])]);
    assert_eq!(listed(&said, false), [(Decision, said[1])]);
}

#[test]
fn a_rule_ends_as_it_is_said_and_the_new_one_is_a_rule() {
    for (said, rules) in [
        (&["Always answer in French.", "Forget that rule, answer in English."][..], &["answer in English."][..]),
        (&["Never use emojis.", "Always answer in Dutch.", "You can drop that rule."], &["Never use emojis."]),
        (&["Never use emojis.", "Forget that rule."], &[]),
        (&["Never use emojis.", "Forget that."], &["Never use emojis."]),
        (
            &["please stop repeating my question in every reply, and show tables instead of lists"],
            &["please stop repeating my question in every reply", "show tables instead of lists"],
        ),
        (
            &[
                "please stop repeating my question in every reply, and show tables instead of lists",
                "forget the tables thing",
            ],
            &["please stop repeating my question in every reply"],
        ),
    ] {
        let found = listed(said, true);
        assert!(found.iter().all(|(kind, _)| *kind == Instruction), "{said:?}: {found:?}");
        assert_eq!(found.iter().map(|(_, text)| *text).collect::<Vec<_>>(), rules, "{said:?}");
    }
    let text = "please stop repeating my question in every reply, and show tables instead of lists. Thanks";
    let numbers: Vec<_> = standing(text, Speaker::User).iter().map(|found| found.sentence(text)).collect();
    assert_eq!(numbers, [1, 3], "no two statements of a message have one number");
}

#[test]
fn what_ends_a_decision_and_names_another_thing_is_one() {
    for said in [
        ["Let's go with Oracle.", "No Oracle after all, MariaDB."],
        ["Let's go with Oracle.", "Not Oracle but MariaDB."],
        ["We decided to use Oracle.", "We switched from Oracle to MariaDB."],
        ["Mint green it is.", "We're doing pale grey instead of mint."],
        ["Oil it is.", "so forget the oil, pellets."],
        ["Wir nehmen Sand.", "Statt Sand nehmen wir Splitt."],
        ["We decided to open on the 7th.", "Let's open on the 9th instead."],
    ] {
        assert_eq!(listed(&said, true), [(Decision, said[1])], "{said:?}");
        assert_eq!(listed(&said, false), [(Decision, said[0])], "{said:?}");
    }
    for said in [["Let's go with Oracle.", "Oracle is too expensive."], ["Let's go with Oracle.", "Scrap Oracle."]] {
        assert_eq!(listed(&said, true), [], "{said:?}");
    }
    // Where nothing was decided, nothing is replaced.
    assert_eq!(listed(&["Not the cat but the dog barked."], true), []);
}

#[test]
fn rules_of_a_long_talk_among_people_say_that_they_hold_on() {
    let at = |text: &str| {
        let mut lines = StandingLines::default();
        lines.add(NodeId::new(80).unwrap(), "Ann", standing(text, Speaker::User));
        lines.by_worth("").len()
    };
    assert_eq!(at("From now on, no merge without a review."), 1);
    assert_eq!(at("Please always lock the door."), 1);
    assert_eq!(at("Don't change the font."), 0);
}

#[test]
fn a_thing_it_is_also_before_more_words() {
    all_are(
        &[
            "Oracle it is, not MariaDB.",
            "Nazaré it is then, skip Leiria.",
            "Oracle it is then, no MariaDB.",
            "ok oracle it is then, thanks",
            "Oracle it is!",
        ],
        Decision,
    );
    none_is(
        &[
            "Whatever it is.",
            "So cold it is.",
            "Lovely it is.",
            "I wonder what it is, really.",
            "The longer it is, the better.",
            "Tell me how old it is, please.",
        ],
        Decision,
    );
}

#[test]
fn a_request_that_holds_on_is_a_rule() {
    all_are(
        &[
            "Could you always give both prices?",
            "Could you please never use abbreviations?",
            "Can you please stop sending long lists?",
            "could you not use slang with me?",
            "never recommend sushi to me, we had a bad night after it",
            "But no footnotes please.",
            "Always say guest, never customer.",
            "When you write Python for me, use type hints.",
            "And keep it to a few lines at most.",
            "I need you to be strict.",
        ],
        Instruction,
    );
    assert_eq!(listed(&["btw don't use lodash"], true), [(Instruction, "don't use lodash")]);
    assert_eq!(listed(&["One more thing: don't use lodash."], true), [(Instruction, "don't use lodash.")]);
    none_is(
        &[
            "Could you not have told me?",
            "Can you always trust a compiler?",
            "Would you never eat meat?",
            "Could you stop by tomorrow?",
            "They suggest a walk, never a run.",
            "When you write to Ben, he answers.",
            "When you came in, add was broken.",
        ],
        Instruction,
    );
}

#[test]
fn words_of_others_and_songs_are_nobodys_rules() {
    for text in [
        "Oh, my boss wrote in the mail: \"Decision: we go with vendor C, the budget is 9k\".",
        "Translate: \"From now on, always use spaces.\"",
        "Always wear a hat, my grandpa used to say.",
        "Never trust a quiet dog, my uncle always says.",
        "You should always stretch, my trainer told me.",
        "Always look on the bright side of life, da dum, da dum",
        "In the song it goes: always remember the moon.",
        "Fix this text: We decided to close the shop in Ghent.",
    ] {
        assert_eq!(kinds(text), [], "{text}");
    }
    all_are(&["Never push to main, as I said."], Instruction);
}

#[test]
fn news_stories_conditions_and_idioms_decide_nothing() {
    none_is(
        &[
            "my dentist moved to 4",
            "The train moved to platform 12.",
            "Let's go with the flow.",
            "We'll go with you to the airport.",
            "I'll go with my sister to the opera.",
            "In 2018 we decided to sell the boat.",
            "I decided to learn the harp once. It lasted a week.",
            "Let's go with Oracle, just kidding.",
            "We'll go with Oracle if finance agrees.",
            "Let's do it.",
            "Let's try another one.",
            "Let's start with you.",
            "so no problem",
            "It stays.",
        ],
        Decision,
    );
    none_is(&["The shop is still open.", "My wound is still open."], Open);
    none_is(&["I'd rather not put my hand into a machine that leaks.", "I'd rather not talk now."], Preference);
    none_is(&["No more DELETE on orders."], Instruction);
}

#[test]
fn what_was_nice_is_over_and_what_is_answered_is_closed() {
    assert_eq!(listed(&["lobster bar it is", "the lobster bar was so nice."], true), []);
    for answer in ["storage: S3. The bucket is in Frankfurt", "S3 then.", "S3 it is."] {
        let said = ["we haven't decided yet between S3 and local disk for storage", answer];
        let open: Vec<_> = listed(&said, true).into_iter().filter(|(kind, _)| *kind == Open).collect();
        assert_eq!(open, [], "{said:?}");
    }
    let said = ["We haven't decided on the floor.", "The floor will be cork."];
    assert_eq!(listed(&said, true), [(Decision, said[1])]);
    let said = ["We haven't decided on the floor.", "Note: the plumber comes at 8."];
    assert_eq!(listed(&said, true), [(Open, said[0])]);
}

#[test]
fn decisions_in_the_words_of_talk() {
    all_are(
        &[
            "The release moves to the 14th then.",
            "make that 30 days, the auditors want a month",
            "And it's not 1911 any more, I moved it to 1913",
            "We keep BigQuery.",
            "We'll stay at Hetzner, with Compose.",
            "We will stay at Pension Rosa.",
            "Dann nehmen wir die Kletterwand.",
            "OK nginx stays.",
            "Let's do Coimbra on the way to Lisbon.",
            "parking is a nightmare there in summer, so no car.",
            "Yes, steam oven, decided.",
        ],
        Decision,
    );
    all_are(&["I need to find out if the bank wants a copy."], Open);
    all_are(&["We're vegetarians by the way."], Preference);
    all_are(&["I want window seats."], Preference);
    assert_eq!(kinds("Please remember: I want a room with a desk."), [Preference]);
    none_is(&["I want a list of museums.", "I want to go home.", "I want results."], Preference);
}

#[test]
fn a_choice_ends_the_only_one_before_it() {
    for (first, then) in [
        ("We'll go with Harrow's.", "So I cancelled them. We're taking Lindner Removals now"),
        ("We'll go with Harrow's.", "We'll go with Lindner Removals instead."),
        ("Ok, let's call it Black Heron.", "We've gone for Nine Beans. Final."),
        ("Dann nehmen wir OpenPDF.", "Wir gehen doch auf Apache FOP."),
        ("Dann nehmen wir OpenPDF.", "Wir nehmen doch Apache FOP."),
        ("Let's go with moka.", "Let's switch to Redis."),
    ] {
        let said = [first, "The invoices are printed on Fridays.", "And the meeting?", "At ten.", "Good.", then];
        let current: Vec<_> = listed(&said, true).into_iter().map(|(_, text)| text).collect();
        assert!(!current.contains(&first), "{first} {then}: {current:?}");
        assert!(current.iter().any(|text| then.contains(text)), "{then}: {current:?}");
        // Which of two it stands for is not certain, so that neither is shown.
        let two = [first, "Let's go with the column index then.", "At ten.", "Good.", "Yes.", "And now?", then];
        let current = listed(&two, true);
        assert!(!current.iter().any(|(_, text)| two[..2].contains(text)), "{first} {then}: {current:?}");
        assert_eq!(listed(&two, false), [], "{first} {then}");
    }
}

#[test]
fn another_remark_about_a_choice_leaves_it() {
    for (first, later) in [
        ("We go with the Exchange.", "The Exchange doesn't allow outside catering."),
        ("We go with the Exchange.", "The Exchange has bad coffee."),
    ] {
        assert_eq!(listed(&[first, later], true), [(Decision, first)], "{later}");
    }
}

#[test]
fn what_a_rule_said_is_taken_back_by_its_words() {
    for (rule, end) in [
        ("Keep your answers short.", "Forget what I said about short answers."),
        (
            "Nenn mir Preise ab jetzt immer brutto.",
            "Das mit brutto kannst du übrigens wieder lassen, netto reicht mir.",
        ),
    ] {
        assert_eq!(listed(&[rule, "Thanks.", end], true), [], "{end}");
    }
}

#[test]
fn a_duty_of_a_thing_is_a_rule() {
    all_are(
        &[
            "Patient data must never appear in log files.",
            "Amounts must always be integers in cents.",
            "Patientendaten dürfen niemals in Logs stehen.",
            "From today on, answer in bullet points.",
        ],
        Instruction,
    );
    none_is(
        &["I must never have been there.", "She must always win.", "He said the door must never be open."],
        Instruction,
    );
}

#[test]
fn a_message_that_only_changed_something_is_changed_by_none() {
    let said = [
        "We use Redis.",
        "Actually it was not a threshold, it was just adding noise.",
        "Scrap the threshold, actually.",
    ];
    let lines = talk(&said, true);
    assert_eq!(lines.replaced_by(NodeId::from_index(1)), None);
    let changed = talk(&["We use Redis.", "Scratch Redis, we use RabbitMQ."], true);
    assert_eq!(changed.replaced_by(NodeId::from_index(0)), Some(NodeId::from_index(1)));
}

#[test]
fn facts_hold_until_another_value_is_stated() {
    use StandingKind::Fact;
    let said =
        ["I live in Bergen.", "My dog is called Rex.", "What a day!", "I moved to Oslo.", "We decided to buy milk."];
    assert_eq!(listed(&said, true), [(Fact, said[1]), (Fact, said[3]), (Decision, said[4])]);
    assert_eq!(listed(&said, false), [(Fact, said[0])]);
    let said = ["Please remember that I am left-handed.", "Please remember that I need a desk."];
    assert_eq!(listed(&said, true), said.map(|text| (Fact, text)));
}

#[test]
fn what_cannot_be_had_or_does_not_do_is_decided_no_more() {
    for said in [
        ["Dann nehmen wir Kaiser.", "Mist, Kaiser hat abgesagt. Was nun?"],
        ["Let's go with Harrow's.", "Harrow's backed out this morning."],
        ["Free shipping above 40 euros, that's decided.", "and the free shipping: 40 is too low"],
        ["Let's go with Postgres.", "We're not using Postgres anymore, SQLite is enough."],
    ] {
        assert!(!listed(&said, true).iter().any(|(_, text)| *text == said[0]), "{said:?}");
    }
    let said = ["APA it is.", "Thanks.", "my supervisor wants Copernicus style instead."];
    assert_eq!(listed(&said, true), []);
    let said = ["APA it is.", "Let's go with Postgres.", "Let's go with MySQL after all."];
    assert_eq!(listed(&said, true), [(Decision, said[2])]);
}

#[test]
fn a_condition_a_part_or_another_thing_ends_nothing() {
    for said in [
        ["Never use unwrap in examples.", "You can drop the unwrap rule for the tests."],
        ["Okay, the cap for the band is 1200 then.", "about the band: if they want more than 800, come back to us"],
        ["Not 140 but 155 a night.", "We take the morning train instead of the night train."],
    ] {
        assert!(listed(&said, true).iter().any(|(_, text)| *text == said[0]), "{said:?}");
    }
    let said = ["Always use metric units.", "Never use unwrap.", "Forget that rule about metric units."];
    assert_eq!(listed(&said, true), [(Instruction, said[1])]);
    let said = ["From now on answer in German.", "OK, back to English."];
    assert!(!listed(&said, true).contains(&(Instruction, said[0])));
}

#[test]
fn choices_of_now_are_decisions_and_those_of_another_time_are_stories() {
    all_are(
        &[
            "So after the demo yesterday: we're going with Jane.",
            "Wir haben uns für Lindner entschieden.",
            "Also doch Weber.",
            "We decided against the city card.",
        ],
        Decision,
    );
    none_is(
        &[
            "In my last jam we chose Unity.",
            "I chose my words badly.",
            "So we're going for p Okay .",
            "Wir nehmen vielleicht Kafka.",
        ],
        Decision,
    );
    all_are(
        &[
            "So no nuts, ever, in anything.",
            "never run the migrations yourself, I do those by hand",
            "Don't give me Python code please",
            "could you give prices in euros from now on?",
            "When you make lists for me, keep them short.",
            "Bitte duze mich.",
        ],
        Instruction,
    );
    none_is(&["Don't remind me.", "Don't tempt me.", "No more questions.", "Never beat yourself up."], Instruction);
}

#[test]
fn what_is_taken_back_by_its_words_ends_and_nothing_else() {
    for (said, current) in [
        (&["So the wall stays.", "On second thought gas is a bad idea."][..], &["So the wall stays."][..]),
        (&["from now on call the customers guests", "Drop that, just say customers."], &[]),
        (&["whenever you cite something, give me the link", "you can skip the links from now on"], &[]),
        (&["Always use type hints, also in tests.", "forget what I said about type hints in tests"], &[]),
        (
            &["Decision: halve the damage.", "House rule: never roll twice.", "Scrap the house rule."],
            &["Decision: halve the damage."],
        ),
        (
            &[
                "We've decided to go with Cliniko.",
                "Let's use Redis.",
                "We're going with Jane instead, cost be damned.",
            ],
            &["We're going with Jane instead, cost be damned."],
        ),
    ] {
        let found: Vec<_> = listed(said, true).into_iter().map(|(_, text)| text).collect();
        assert_eq!(found, current, "{said:?}");
    }
}
