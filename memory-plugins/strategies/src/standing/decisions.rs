//! Detects decisions: what a person says is decided, agreed or changed.

use std::ops::Range;

use super::{announcing, sentence::Sentence};
use crate::{
    cues::negated,
    goal::is_of_date,
    phrases::{Phrases, phrase_lists, word_lists},
    spoken::asks,
    terms::is_common,
    words::{Form, Word, key},
};

phrase_lists! {
    /// Phrases that state a decision, after which its content follows.
    STATED = "i decided | i've decided | i have decided | we decided | we've decided | we have decided | \
        i finally decided | let's go with | we go with | we'll go with | we will go with | i'll go with | \
        i will go with | i'm going with | we're going with | we are going with | we went with | i went with | \
        we settled on | i settled on | we've settled on | we agreed | we have agreed | we've agreed | we chose | i chose | \
        i've chosen | i have chosen | we've chosen | we have chosen | i opted | we opted | we stay with | \
        we're staying with | we'll stay with | we stick with | we're sticking with | we'll stick with | we change it | \
        let's change it | i switched to | we switched to | we're switching to | let's switch to | we're moving to | \
        we'll switch to | we switch to | we are switching to | i'm switching to | we've gone for | \
        we have gone for | i've gone for | we're going for | i'm going for | \
        wir gehen doch auf | gehen wir doch auf | wir wechseln auf | wir wechseln zu | wir nehmen doch | \
        we signed off on | the decision is | the final decision is | i made up my mind on | it was decided | wir haben beschlossen | \
        wir haben entschieden | wir haben uns entschieden | ich habe entschieden | ich habe mich entschieden | \
        wir nehmen | nehmen wir | wir bleiben bei | wir bleiben erst mal bei | bleiben wir bei | on a décidé | nous avons décidé | hemos decidido | he decidido";
    /// Phrases of use, which state a decision if a name follows: "We use Redis for the queue."
    USED = "we're dropping | we are dropping | we use | we'll use | we will use | let's use | we take | we're taking | we are taking | we'll take | we will take | let's take | \
        we keep | we stay at | we'll stay at | we will stay at | we're staying at | let's do | let's run | \
        let's keep | let's start with | let's book | let's rent | let's call it | wir verwenden | wir nutzen";
    /// Phrases at the beginning of a sentence that put something away, for which another thing may follow.
    PUT_AWAY = "forget | scratch | scrap | drop | ditch | on second thought | change of plan | change of plans | \
        i changed my mind | i've changed my mind | we changed our minds | i take that back | no wait | doch lieber";
    /// Verbs of a move, behind which the new value follows.
    MOVES = "moved to | moved back to | is back at | postponed to | rescheduled to | pushed to | brought forward to | verschoben auf | verlegt auf";
    /// Verbs between a new thing and the old one.
    REPLACES = "replaces | is replaced by | are replaced by | will be replaced by | ersetzt";
    /// Phrases at the beginning of a sentence that change something.
    CHANGED = "change it to | change that to | make that | let's make it | make it | we make it | we'll make it | \
        i make it | i'll make it | back to | doch | zurück zu";
    /// Phrases that set a value, behind which "to" or "at" and the value follow: "Let's set the height to 92 cm."
    SETS = "let's set | we'll set | we set | let's fix | let's cap | let's limit | wir setzen | setzen wir";
    /// Endings of a sentence that decides on what it names: "Yes, steam oven, decided."
    SETTLED = "decided | settled | taken | we decided | that's decided | that's settled | beschlossen | abgemacht";
    /// Endings of a sentence that keeps or ends what it names: "OK, nginx stays."
    STAYS = "stays | wins";
    /// Idioms with the words of a decision.
    IDIOMS = "my words | go with the flow | go with it | just kidding | only kidding | let's do lunch | let's keep going | let's keep in touch | \
        let's try again | let's run through | let's start with you | let's start with me | in touch";
    /// Phrases of somebody who has not decided for certain.
    UNSURE = "not sure if | not sure whether | unsure | reconsider | reconsidering | having doubts | having second thoughts | \
        still deciding | on the fence | right decision | right call | right choice | trying to decide | deciding whether | \
        agree to disagree | agreed to disagree | decided to focus on | decided to start with | chose to focus on | \
        deciding if | deciding between | decide whether | decide if | decide between | wondering if | wondering whether | \
        is it worth | good enough";
    /// Phrases of what somebody did: "I chose headphones". They decide something of the work at hand only in
    /// talk with a model.
    TOLD = "i decided | i've decided | i have decided | i finally decided | we decided | we've decided | we have decided | \
        i went with | we went with | i chose | we chose | i've chosen | i have chosen | we've chosen | i opted | \
        we opted | i switched to | we switched to | we settled on | i settled on | we agreed | we've agreed | \
        we have agreed";
    /// Times of a story.
    PAST = "yesterday | last night | last week | last month | last year | last summer | last weekend | this morning | days ago | \
        weeks ago | months ago | years ago | back then | at that time | the other day | gestern | letzte woche | \
        today i decided | today we decided | once upon | once it | some time ago | a while ago | as a child | when i was | growing up";
    /// Phrases behind a decision that make it depend on something.
    DEPENDS = "only if | if the | if it | if they | if we | if he | if she | if you | if that | unless | provided that | \
        if legal | depending on | as long as | assuming | in case | falls | sofern";
    /// Phrases of a choice of now.
    NOW = "i'm going with | we're going with | we are going with | we'll go with | let's go with | i'll go with | \
        we're going for | i'm going for | we're taking";
    /// Phrases of the choice of a thing.
    CHOICES = "decided to use | decided to take | decided to go | call it | go with | going with | went with | \
        gone with | gone for | going for | it is | we use | let's use | we'll use | we take | \
        we'll take | we're taking | let's take | chose | chosen | opted | settled on | nehmen | entschieden | switch to | switching to | \
        doch";
    /// Phrases before what was chosen, with "entschieden" behind it.
    CHOSEN = "wir haben uns für | ich habe mich für | haben wir uns für | habe ich mich für";
    /// Phrases before a reason, which is no subject.
    REASONS = "due to | because | since | so that | in order to | thanks to | given";
    /// Phrases of a choice in the place of an earlier one, which may be left unnamed.
    TURNS = "actually let's | actually we'll | actually we | actually i'll | switch to | switching to | \
        after all | dann doch | also doch | gone for | gehen doch | nehmen doch | gehen wir doch | nehmen wir doch";
    /// Phrases that put something in the place of another thing.
    INSTEAD = "instead | instead of | rather than | statt | anstatt | stattdessen";
    /// Phrases before the old thing of a switch.
    SWITCHED = "we switched from | we switch from | we moved from | we're switching from | i switched from | i moved from";
    /// Phrases that leave a thing out.
    UNNEEDED = "we don't need | we do not need | we won't need | i don't need";
    /// Phrases of a change that is not made yet.
    HEDGES_OF_CHANGE = "maybe | perhaps | might | could | should | would | not sure | thinking of | thinking about | if";
    /// Agreement that is no decision: "I know how it is."
    TURNS_OF_PHRASE = "as it is | how it is | that it is | like it is | where it is | is it is | than it is | so it is | \
        all it is | course it is | which it is | time it is | indeed it is | yes it is | yep it is | yeah it is | sure it is | no it is";
}

word_lists! {
    /// Words before a phrase that make it doubtful, hypothetical, or part of another statement.
    HEDGES = "if whether when think maybe perhaps probably might may could should would guess suppose hope unless \
        until wonder wondering before after since because as that which how why who what where once \
        said says told tells asked claims claimed thinks thought heard hears reports reported wrote writes imagine \
        pretend suppose ob wenn falls dass weil";
    /// Words that stand for something said before.
    POINTS = "them they it he him she her that those these this there";
    /// First words of a main clause.
    MAIN = "i i'm i've we we're we've the a an my our his her their this these those all both here here's it it's he she they";
    /// Units, which are no subject: "We agreed on 3 days".
    UNITS = "second minute hour day week month quarter year night euro dollar pound cent percent time people person \
        stunde tag woche monat jahr";
    /// Words after which a decision has no content: "We decided that already."
    NAMES_NOTHING = "this it another some again more you already so not those these them your yours which what how whether if \
        something anything everything nothing maybe perhaps probably vielleicht eventuell wahrscheinlich";
    /// Words between a phrase and its content: "We decided that", "We agreed on".
    LEADS_ON = "to on that for against";
    /// Words before a value: "set the height to 92 cm".
    BEFORE_VALUES = "to at auf";
    /// Words between a comma or the beginning, and the phrase: "so we use", "okay, then we use".
    LEADS = "and so then but okay ok yes fine alright agreed well actually hmm now also und also dann";
    /// Words at the beginning of an agreement: "Agreed, REST then.", "OK, Friday then."
    AGREES = "agreed ok okay fine alright good deal yes right settled einverstanden gut";
    /// Words behind a phrase that take the decision back: "We decided on Osprey, then Paul vetoed it."
    REVERSED = "vetoed veto rejected cancelled canceled withdrawn withdrew overruled reversed declined refused \
        abandoned regret abgelehnt zurückgezogen verworfen";
    /// Verbs of a move that name a thing first.
    MOVE_VERBS = "move postpone push delay reschedule shift";
    /// First words of what somebody did, not of what is decided: "I moved to".
    PEOPLE = "i we he she they you who";
    /// Words after "so no" that leave nothing out.
    NO_THINGS = "problem worries idea need rush hurry doubt chance luck wonder surprise matter way harm";
    /// Owners of another time, and words for one: "my last job".
    OWN = "my our his her their";
    OTHER = "last previous old former earlier first";
    /// Persons whom somebody goes with.
    FAMILY = "mum mom mother dad father wife husband son daughter sister brother friend friends parents kids boss gut";
    /// Words of a mood before "it is", which decide nothing.
    MOODS = "cold hot warm cool wet dry dark bright late early loud quiet beautiful lovely nice good bad great sad funny \
        strange weird true wonderful amazing whatever easy hard simple cute pretty small big fun";
    /// Places of a vehicle, to which a move decides nothing.
    PLACES = "platform gate terminal track gleis";
    /// Words of a sentence that only judges.
    JUDGES = "is are was were costs cost has have had wants want needs need ist sind war";
    /// Words of people who decide: "We do dark blue instead of sage."
    DECIDERS = "we we're we'll we've let's i i'll i'm wir nehmen";
    /// Words that an agreement on a thing does not have: "Okay, see you then."
    TELLS = "i you he she they we me us see talk until till tomorrow later back what how why that this such when \
        if as was were just only right now and but because even not don't there here ah oh uh um";
}

/// Number of words behind a phrase that are searched for [`DONE`].
const POINTED: usize = 3;
/// Words that point to something said before: "I chose to do this".
const DONE: [&str; 2] = ["this", "it"];
/// Maximum words of an agreement without a verb.
const AGREEMENT: usize = 12;
/// Maximum words of a thing that replaces another.
const REPLACEMENT: usize = 8;
/// Maximum words between "we use" and the name.
const NAMED_WITHIN: usize = 3;
/// Maximum words of a corrected value behind "not": "are 45, not 30 minutes".
const VALUE: usize = 2;

/// The bytes of the decision in a sentence.
pub(super) fn decided(sentence: &Sentence<'_>) -> Option<Range<usize>> {
    let is_past = PAST.are_in(&sentence.keys) || is_of_another_time(sentence);
    let is_story = is_of_history(sentence) || is_story(sentence) || is_past && !is_of_now(sentence);
    if UNSURE.are_in(&sentence.keys) || is_story {
        return None;
    }
    let is_settled = agrees(sentence)
        || corrects_value(sentence)
        || replaces(sentence)
        || moves(sentence)
        || settles(sentence)
        || sets(sentence);
    if !asks(sentence.text) && is_settled {
        return sentence.whole();
    }
    let (at, length) = stated(sentence)?;
    let behind = sentence.keys.get(at + length..).unwrap_or_default();
    let is_of_person = behind.iter().take(2).any(|word| FAMILY.contains(word));
    let is_conditional =
        behind.windows(2).any(|pair| matches!(pair, [even, of] if *of == key("if") && *even != key("even")));
    if is_of_person || is_conditional {
        return None;
    }
    // "Let's go with MySQL after all."
    let rest = behind.strip_suffix(&[key("after"), key("all")]).unwrap_or(behind);
    let is_reversed = behind.iter().any(|key| REVERSED.contains(key)) || announcing::takes_back(rest);
    if is_reversed || DEPENDS.are_in(behind) || !has_subject(sentence, at + length) {
        return None;
    }
    let part = sentence.part(at)?;
    let behind = sentence.words.iter().skip(at + length).filter(|word| part.contains(&word.at));
    let (points, is_empty) = (behind.clone().any(|word| POINTS.contains(&word.key)), behind.count() == 0);
    // "I'm worried about the guests, so I decided to tell them": the guests belong to it.
    let from_first = sentence.whole().map(|whole| whole.start..part.end).filter(|_| !sentence.begins_with_question());
    match from_first {
        _ if is_empty => None,
        Some(whole) => Some(whole),
        None => Some(part).filter(|_| !points),
    }
}

/// True for what was at another time of the speaker's: "In my last jam we chose Unity".
fn is_of_another_time(sentence: &Sentence<'_>) -> bool {
    let is_other = |pair: &[u64]| matches!(pair, [own, other] if OWN.contains(own) && OTHER.contains(other));
    sentence.keys.windows(2).any(is_other)
}

/// True for a choice of now behind the time of a talk: "After the call yesterday, we're going with Jane."
fn is_of_now(sentence: &Sentence<'_>) -> bool {
    let is_going =
        |(at, length): (usize, usize)| sentence.keys.get(at..at + length).is_some_and(|keys| NOW.are_in(keys));
    stated(sentence).is_some_and(is_going)
}

/// True for an idiom, and for something done once: "I decided to learn the harp once."
fn is_story(sentence: &Sentence<'_>) -> bool {
    IDIOMS.are_in(&sentence.keys) || sentence.keys.last() == Some(&key("once"))
}

/// True for a choice that stands in the place of an earlier one without naming it: "Let's switch to Redis.", "We're
/// taking Two Brothers now."
pub(super) fn turns(sentence: &Sentence<'_>) -> bool {
    let ends = |(at, word): (usize, &u64)| {
        let is_end = sentence.words.get(at + 1).is_none_or(|next| sentence.is_after_comma(next));
        is_end && [key("instead"), key("now")].contains(word)
    };
    TURNS.are_in(&sentence.keys) || sentence.keys.iter().enumerate().any(ends)
}

/// True for a sentence about a past year: "It was decided in 1949 that Bonn would be the capital."
fn is_of_history(sentence: &Sentence<'_>) -> bool {
    let is_year =
        |text: &str| text.len() == 4 && text.starts_with(['1', '2']) && text.chars().all(|c| c.is_ascii_digit());
    let is_told = || TOLD.are_in(&sentence.keys);
    // "In 2019 we decided …", but not "We decided to open in 2027".
    let is_past = |at: usize, year: &str| year.starts_with('1') || at < 2 && is_told();
    sentence.words.windows(2).enumerate().any(|(at, pair)| {
        matches!(pair, [before, year] if before.key == key("in") && is_year(year.text) && is_past(at, year.text))
    })
}

/// True if a decision is a story of what somebody did, "I chose headphones", and not an agreement or a correction.
pub(super) fn is_told(sentence: &Sentence<'_>) -> bool {
    let is_settled = agrees(sentence) || corrects_value(sentence) || replaces(sentence) || moves(sentence);
    let is_of_talk =
        |(at, length): (usize, usize)| sentence.keys.get(at..at + length).is_some_and(|keys| TOLD.are_in(keys));
    !is_settled && stated(sentence).is_some_and(is_of_talk)
}

/// True if the words behind a phrase, up to a reason, are more than a number of units: not "we agreed on 3 days due to
/// work".
fn has_subject(sentence: &Sentence<'_>, behind: usize) -> bool {
    let keys = sentence.keys.get(behind..).unwrap_or_default();
    let starts = |at: &usize| REASONS.at(keys.get(*at..).unwrap_or_default()).next().is_some();
    let end = (0..keys.len()).find(starts).unwrap_or(keys.len());
    let mut matter =
        sentence.words.iter().skip(behind).take(end).filter(|word| !LEADS_ON.contains(&word.key)).peekable();
    let is_bare = |word: &Word<'_>| word.form == Form::Figure && !word.text.contains(char::is_alphabetic);
    let is_counted = matter.peek().is_some_and(|first| is_bare(first));
    !is_counted || matter.any(|word| !is_bare(word) && !UNITS.contains(&word.key) && !is_common(word))
}

/// Place and length of the first phrase that certainly states a decision.
fn stated(sentence: &Sentence<'_>) -> Option<(usize, usize)> {
    let keys = &sentence.keys;
    (0..keys.len()).find_map(|at| {
        let from = keys.get(at..)?;
        let longest = |phrases: &Phrases<()>| phrases.at(from).map(|(length, ())| length).max();
        let is_chosen = || keys.contains(&key("entschieden"));
        let stated = longest(&STATED).or_else(|| longest(&CHOSEN).filter(|_| is_chosen()));
        let stated = stated.filter(|length| names_something(sentence, at + length));
        let used = || longest(&USED).filter(|length| begins_clause(sentence, at) && has_thing(sentence, at + length));
        // "Back to cooking: …" changes the subject of the talk.
        let is_activity = |behind: usize| sentence.words.get(behind).is_some_and(|word| word.text.ends_with("ing"));
        let changed = || {
            longest(&CHANGED).filter(|length| {
                let behind = at + length;
                begins_clause(sentence, at) && has_name(sentence, behind) && !is_activity(behind)
            })
        };
        let length = stated.or_else(used).or_else(changed)?;
        (!is_doubtful(sentence, at) && !is_relative(sentence, at)).then_some((at, length))
    })
}

/// True for a clause about a noun before it: "I like the tiles I chose for the bath".
fn is_relative(sentence: &Sentence<'_>, at: usize) -> bool {
    let Some(before) = at.checked_sub(1).and_then(|before| sentence.words.get(before)) else { return false };
    let is_joined = sentence.words.get(at).is_some_and(|word| !sentence.is_after_comma(word));
    is_joined && !is_common(before) && sentence.keys.first().is_some_and(|first| MAIN.contains(first))
}

/// True if the words before a phrase make it doubtful, or quote or deny it.
pub(super) fn is_doubtful(sentence: &Sentence<'_>, at: usize) -> bool {
    let clause = clause(sentence, at);
    let hedged = sentence.keys.get(clause..at).unwrap_or_default().iter().any(|key| HEDGES.contains(key));
    let before = sentence.keys.get(..at).unwrap_or_default();
    let begins_with_condition = before.contains(&key("if")) || before.first() == Some(&key("when"));
    let is_quoted = at > 0 && sentence.words.get(at).is_some_and(|word| sentence.is_quoted(word));
    hedged || begins_with_condition || is_quoted || negated(&sentence.keys, at)
}

/// Index of the first word of the clause of a word.
fn clause(sentence: &Sentence<'_>, at: usize) -> usize {
    let words = sentence.words.get(..=at).unwrap_or_default();
    words.iter().rposition(|word| sentence.is_after_comma(word)).unwrap_or(0)
}

/// True if the words behind a phrase name a thing.
fn names_something(sentence: &Sentence<'_>, behind: usize) -> bool {
    let rest = sentence.words.get(behind..).unwrap_or_default();
    let next = rest.iter().find(|word| !LEADS_ON.contains(&word.key));
    // "Let's go with that plan."
    let points = rest.first().is_some_and(|first| first.key == key("that"))
        && behind.checked_sub(1).and_then(|last| sentence.keys.get(last)) == Some(&key("with"));
    !points
        // "So we're going for p Okay" breaks off.
        && next.is_some_and(|next| !NAMES_NOTHING.contains(&next.key) && !is_stammered(next))
        // "I chose to do this because …"
        && !rest.iter().take(POINTED).any(|word| DONE.contains(&word.text))
        && rest.iter().any(|word| word.form != Form::Plain || !is_common(word))
}

/// True for a single letter that is no word.
fn is_stammered(word: &Word<'_>) -> bool {
    word.form == Form::Plain && word.text.len() == 1 && !is_common(word)
}

/// True if a name follows soon, or a thing that replaces another: "let's use vitest instead of jest".
fn has_thing(sentence: &Sentence<'_>, behind: usize) -> bool {
    let next = sentence.words.get(behind);
    let is_thing = next.is_some_and(|next| !is_common(next) && !NAMES_NOTHING.contains(&next.key));
    has_name(sentence, behind) || is_thing && !announcing::over(&sentence.keys).is_empty()
}

/// True if a name, a figure or an identifier follows soon.
fn has_name(sentence: &Sentence<'_>, behind: usize) -> bool {
    sentence.words.iter().skip(behind).take(NAMED_WITHIN).any(is_name)
}

fn is_name(word: &Word<'_>) -> bool {
    matches!(word.form, Form::Capital | Form::Figure | Form::Identifier) && !is_common(word)
}

/// True if a clause begins at a word, perhaps after "so" or "then".
pub(super) fn begins_clause(sentence: &Sentence<'_>, at: usize) -> bool {
    let first = clause(sentence, at);
    sentence.keys.get(first..at).unwrap_or_default().iter().all(|key| LEADS.contains(key))
}

/// True if only words like "so" precede a word.
fn is_first(sentence: &Sentence<'_>, at: usize) -> bool {
    sentence.keys.get(..at).unwrap_or_default().iter().all(|key| LEADS.contains(key))
}

/// True for an agreement on a thing: "Agreed, REST then.", "ok seven.io for the texts it is then", "Postgres it is, not
/// MySQL."
fn agrees(sentence: &Sentence<'_>) -> bool {
    /// Maximum words of a thing before "it is" and a comma.
    const THING: usize = 6;
    let keys = &sentence.keys;
    let it_is = keys.windows(2).position(|pair| pair == [key("it"), key("is")]);
    let then_behind = |at: usize| usize::from(keys.get(at) == Some(&key("then")));
    // "Postgres it is then, no MySQL."
    let tail = it_is.map(|at| at + 2 + then_behind(at + 2)).filter(|tail| {
        let is_separate = sentence.words.get(*tail).is_some_and(|word| sentence.is_after_comma(word));
        let is_compared = keys.get(*tail) == Some(&key("the"));
        is_separate && !is_compared && *tail <= THING + 3
    });
    let keys = tail.and_then(|tail| keys.get(..tail)).unwrap_or(keys);
    let then = usize::from(keys.last() == Some(&key("then")));
    let body = keys.get(..keys.len() - then).unwrap_or_default();
    let is_it = body.ends_with(&[key("it"), key("is")]) && !TURNS_OF_PHRASE.are_in(keys);
    let begins = keys.first().is_some_and(|first| AGREES.contains(first));
    let (from, to) = (usize::from(begins), body.len() - if is_it { 2 } else { 0 });
    let matter = sentence.words.get(from..to.max(from)).unwrap_or_default();
    let says_more = matter.iter().any(|word| TELLS.contains(&word.key) || is_it && MOODS.contains(&word.key));
    let is_cheer = sentence.text.ends_with('!')
        && !(is_it && matter.iter().any(|word| is_name(word) && word.at > 0 || is_name(word) && matter.len() == 1));
    let is_short = !matter.is_empty() && matter.len() <= AGREEMENT && !is_cheer;
    let has_matter = || matter.iter().any(|word| is_name(word) || is_it && !is_common(word));
    // "seven.io then."
    let is_named = then == 1 && matter.len() == 1 && matter.iter().all(|word| word.form == Form::Identifier);
    (is_it || begins && then == 1 || is_named) && is_short && !says_more && has_matter()
}

/// True if a sentence ends with a word that settles it, "Steam oven, decided.", or leaves something out, "so no car".
fn settles(sentence: &Sentence<'_>) -> bool {
    /// Maximum words of what is kept or left out.
    const THING: usize = 4;
    let (words, keys) = (&sentence.words, &sentence.keys);
    let ends_with = |phrases: &Phrases<()>| {
        (0..keys.len())
            .find(|at| keys.get(*at..).is_some_and(|end| phrases.at(end).any(|(length, ())| length == end.len())))
    };
    let names = |words: &[Word<'_>]| words.iter().any(|word| !is_common(word));
    let tells = |words: &[Word<'_>]| words.iter().any(|word| TELLS.contains(&word.key));
    let points = |words: &[Word<'_>]| words.iter().any(|word| POINTS.contains(&word.key));
    let decided =
        ends_with(&SETTLED).filter(|at| *at > 0 && words.get(*at).is_some_and(|word| sentence.is_after_comma(word)));
    if let Some(matter) = decided.and_then(|at| words.get(..at)) {
        return matter.len() <= AGREEMENT && names(matter) && !tells(matter) && !points(matter);
    }
    let begin = keys.iter().position(|key| !LEADS.contains(key)).unwrap_or(0);
    if let Some(matter) = ends_with(&STAYS).and_then(|at| words.get(begin..at)) {
        return (1..=THING - 2).contains(&matter.len())
            && names(matter)
            && !tells(matter)
            && !matter.iter().any(|word| POINTS.contains(&word.key));
    }
    // "parking is a nightmare, so no car"
    let no = words.iter().rposition(|word| word.key == key("no")).filter(|no| *no > 0);
    let behind = no.and_then(|no| words.get(no + 1..)).unwrap_or_default();
    let leads = no.and_then(|no| words.get(no - 1)).is_some_and(|lead| {
        [key("so"), key("then")].contains(&lead.key) && (lead.at == 0 || sentence.is_after_comma(lead))
    });
    leads
        && (1..=THING + 4).contains(&behind.len())
        && behind
            .first()
            .is_some_and(|first| !is_common(first) && first.form != Form::Figure && !NO_THINGS.contains(&first.key))
        && !tells(behind)
}

/// Number of words that a sentence must share with an open point to answer it: "Storage: S3."; 0 if it answers none.
pub(super) fn answers(sentence: &Sentence<'_>) -> usize {
    /// Maximum words of an answer.
    const ANSWER: usize = 8;
    /// Maximum words of its topic; a choice may have one more.
    const TOPIC: usize = 3;
    let (words, keys) = (&sentence.words, &sentence.keys);
    if asks(sentence.text) || words.len() > ANSWER || !words.iter().any(|word| !is_common(word)) {
        return 0;
    }
    let topic = sentence.text.split_once(": ").map(|(topic, _)| topic.split_whitespace().count());
    let is_choice = words.len() <= TOPIC + 1 && keys.last() == Some(&key("then"));
    let is_settled = SETTLED.at(keys.get(keys.len().saturating_sub(2)..).unwrap_or_default()).next().is_some();
    if topic.is_some_and(|topic| topic <= TOPIC) || is_choice || is_settled {
        return 1;
    }
    let states = [key("will"), key("be")];
    let is_now = keys.last() == Some(&key("now")) && keys.iter().any(|word| [key("is"), key("are")].contains(word));
    let is_needless = UNNEEDED.at(keys).next().is_some();
    if is_now || is_needless || keys.windows(2).any(|pair| pair == states) { 2 } else { 0 }
}

/// True if a sentence that ends something names what stands instead: "No Postgres after all, MySQL.", "Not gas but
/// induction."
pub(super) fn restates(sentence: &Sentence<'_>) -> bool {
    let (words, keys) = (&sentence.words, &sentence.keys);
    // "Damn, Kaiser cancelled." names nothing instead.
    if asks(sentence.text) || HEDGES_OF_CHANGE.are_in(keys) || announcing::cancels(keys) {
        return false;
    }
    let names = |words: &[Word<'_>]| words.iter().any(|word| !is_common(word));
    let comma = words.iter().rposition(|word| sentence.is_after_comma(word)).filter(|comma| *comma > 0);
    let behind = comma.and_then(|comma| words.get(comma..)).unwrap_or_default();
    let is_told =
        |words: &[Word<'_>]| words.iter().any(|word| JUDGES.contains(&word.key) || POINTS.contains(&word.key));
    if !behind.is_empty() && behind.len() <= REPLACEMENT && names(behind) && !is_told(behind) {
        return true;
    }
    let decides = keys.iter().any(|word| DECIDERS.contains(word));
    let but = keys.iter().position(|word| *word == key("but"));
    let contrasts = keys.contains(&key("not")) && but.and_then(|but| words.get(but + 1..)).is_some_and(names);
    decides && INSTEAD.are_in(keys) || contrasts || SWITCHED.are_in(keys)
}

/// True if a thing replaces another: "Forget Kafka, NATS instead.", "NATS replaces Kafka."
fn replaces(sentence: &Sentence<'_>) -> bool {
    let words = &sentence.words;
    let puts_away = sentence.find(&PUT_AWAY).filter(|(at, _)| is_first(sentence, *at));
    if let Some((at, length)) = puts_away {
        let comma = words.iter().skip(at + length).position(|word| sentence.is_after_comma(word));
        let behind = comma.and_then(|comma| words.get(at + length + comma..)).unwrap_or_default();
        let tells = behind.iter().any(|word| TELLS.contains(&word.key) && !PEOPLE.contains(&word.key));
        // "On second thought gas is a bad idea, the utility wants 2,500" gives a reason, and a rule is no choice.
        let begins = behind
            .first()
            .is_some_and(|first| is_name(first) || DECIDERS.contains(&first.key) || ["a", "an"].contains(&first.text));
        let is_of_rule = announcing::ends_rule(&sentence.keys);
        return behind.len() <= REPLACEMENT && begins && !is_of_rule && !tells && behind.iter().any(is_name);
    }
    let Some((at, length)) = sentence.find(&REPLACES) else { return false };
    let before = at.checked_sub(1).and_then(|before| words.get(before));
    !is_doubtful(sentence, at) && before.is_some_and(is_name) && words.get(at + length).is_some_and(is_name)
}

/// True if a value is set: "Let's set the worktop height to 92 cm."
fn sets(sentence: &Sentence<'_>) -> bool {
    /// Most words of the thing before the value.
    const THING: usize = 6;
    let Some((at, length)) = sentence.find(&SETS).filter(|(at, _)| begins_clause(sentence, *at)) else { return false };
    let thing = sentence.words.iter().enumerate().skip(at + length).take(THING);
    let value = |(at, word): (usize, &Word<'_>)| {
        BEFORE_VALUES.contains(&word.key) && sentence.words.get(at + 1).is_some_and(|next| next.form == Form::Figure)
    };
    !is_doubtful(sentence, at) && thing.skip(1).any(value)
}

/// True if a date or another value is moved: "The launch is postponed to 3 May.", "The release moves to the 14th."
pub(super) fn moves(sentence: &Sentence<'_>) -> bool {
    let keys = &sentence.keys;
    let told = sentence.find(&MOVES).filter(|(at, _)| {
        let before = at.checked_sub(1).and_then(|before| keys.get(before));
        // "My meeting moved to 3" is news of the day.
        before.is_some_and(|key| !PEOPLE.contains(key)) && keys.first() != Some(&key("my"))
    });
    let shifted = || {
        let verb = sentence
            .words
            .windows(2)
            .position(|pair| matches!(pair, [verb, to] if verb.text == "moves" && to.text == "to"));
        verb.filter(|verb| *verb > 0 && !is_person(sentence, verb - 1)).map(|verb| (verb, 2))
    };
    let Some((at, length)) = told.or_else(shifted).or_else(|| moves_thing(sentence)) else { return false };
    let values = sentence.words.get(at + length..).unwrap_or_default();
    let is_placed = values.first().is_some_and(|first| PLACES.contains(&first.key));
    !is_doubtful(sentence, at) && !is_placed && values.iter().take(VALUE).any(is_value)
}

fn is_person(sentence: &Sentence<'_>, at: usize) -> bool {
    sentence.keys.get(at).is_some_and(|key| PEOPLE.contains(key))
}

/// Keys of the thing that a sentence moves to a date.
pub(super) fn moved(sentence: &Sentence<'_>) -> Vec<u64> {
    let Some((at, length)) = moves_thing(sentence).filter(|_| moves(sentence)) else { return Vec::new() };
    let thing = sentence.words.iter().skip(at + 1).take(length.saturating_sub(2));
    thing.filter(|word| !is_common(word)).map(|word| word.key).collect()
}

/// Place and length of the phrase that moves a thing to a date: "We have to move the launch to 2 June."
fn moves_thing(sentence: &Sentence<'_>) -> Option<(usize, usize)> {
    /// Most words between the verb and "to".
    const THING: usize = 5;
    let verb = sentence.keys.iter().position(|key| MOVE_VERBS.contains(key))?;
    let to = sentence.keys.iter().skip(verb).take(THING).position(|of| *of == key("to"))?;
    let is_named = |word: &Word<'_>| !is_common(word);
    sentence.words.get(verb + 1..verb + to)?.iter().any(is_named).then_some((verb, to + 1))
}

/// True for the key of a unit.
pub(super) fn is_unit(key: u64) -> bool {
    UNITS.contains(&key)
}

/// True if words with these keys choose a thing.
pub(super) fn chooses(keys: &[u64]) -> bool {
    CHOICES.are_in(keys)
}

/// True for a figure, a day or a month.
fn is_value(word: &Word<'_>) -> bool {
    word.form == Form::Figure || is_of_date(word)
}

/// True for a corrected value: "Dental appointments are 45, not 30.", "Not Postgres 16 but 17."
pub(super) fn corrects_value(sentence: &Sentence<'_>) -> bool {
    let words = &sentence.words;
    let Some(not) = words.iter().position(|word| word.text.eq_ignore_ascii_case("not")) else { return false };
    let old = |words: &[Word<'_>]| words.iter().take(VALUE).any(is_value);
    let behind = words.get(not + 1..).unwrap_or_default();
    // "are 45, not 30": the value before the comma, and nothing but the old one behind it.
    let replaced = not > 1
        && words.get(not).is_some_and(|not| sentence.is_after_comma(not))
        && words.get(not.saturating_sub(VALUE)..not).is_some_and(old)
        && behind.len() <= VALUE + 1
        && old(behind);
    // "Not 16 but 17": both values next to "but".
    let but = behind.iter().position(|word| word.text.eq_ignore_ascii_case("but"));
    let contrasted = but.is_some_and(|but| {
        but <= VALUE + 1
            && behind.get(..but).is_some_and(|words| words.iter().any(is_value))
            && behind.get(but + 1..).is_some_and(old)
    });
    // "It's not 1911 any more, I moved it to 1913"
    let over = words.get(not + 2..).unwrap_or_default();
    let is_over = ["any more", "anymore"].iter().any(|end| {
        let rest = behind.first().and_then(|old| sentence.text.get(old.at + old.text.len()..));
        rest.is_some_and(|rest| rest.trim_start().starts_with(end))
    });
    let moved = is_over && behind.first().is_some_and(is_value) && over.iter().any(is_value);
    let hypothetical = words.iter().take(not).any(|word| HEDGES.contains(&word.key));
    !hypothetical && (replaced || moved || contrasted && not <= AGREEMENT)
}
