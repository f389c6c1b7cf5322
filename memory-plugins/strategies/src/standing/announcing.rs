//! Phrases that announce preferences, open points and promises, and signs that a statement changes an earlier one.

use std::sync::LazyLock;

use super::{StandingKind, sentence::Sentence};
use crate::{
    cues::has_negation,
    goal::is_of_date,
    phrases::{Phrases, phrase_lists, word_lists},
    spoken::asks,
    terms::is_common,
    words::{Form, KeySet, Word, key},
};

/// Phrases separated by `|`, matched word by word; case and the kind of apostrophe are ignored.
const ANYWHERE: &[(StandingKind, &str)] = &[
    (
        StandingKind::Preference,
        "i prefer | i'd prefer | i would prefer | we prefer | i now prefer | i actually prefer | i'd rather not | \
         i would rather not | i'd rather have | i'd rather use | i'd rather keep | i'm not a fan of | \
         i am not a fan of | my preference | my preferred | i can't stand | i cannot stand | i'm allergic | i am allergic | \
         i'm vegan | i'm vegetarian | i'm a vegan | i'm a vegetarian | \
         we're vegan | we're vegetarian | we are vegan | we are vegetarian | i'm against | i am against | i can't eat | i don't eat | i don't drink | \
         i don't like | i do not like | i no longer like | i no longer prefer | i no longer want | i hate | i dislike | \
         ich bevorzuge | ich mag keine | ich mag keinen | ich mag kein | ich esse keine | ich esse keinen | ich esse kein | ich trinke keinen | \
         ich vertrage keine | ich vertrage keinen | ich vertrage kein | mir wäre lieber | mir ist lieber | ich hätte lieber | je préfère | prefiero",
    ),
    (
        StandingKind::Open,
        "we haven't decided | we have not decided | i haven't decided | i have not decided | hasn't been decided | \
         has not been decided | is not decided yet | not yet decided | is still undecided | are still undecided | \
         we still need to decide | i still need to decide | we still have to decide | i still have to decide | \
         is an open question | to be decided | tbd | is unresolved | still unresolved | \
         is still open | are still open | i need to find out if | i need to find out whether | we need to find out if | \
         we need to find out whether | i haven't figured out | we haven't figured out | still haven't figured out | still haven't decided | still need to figure out | \
         still have to figure out | still need to decide | offen ist noch | noch offen ist | i have to think about whether | \
         i'll have to think about whether | weiß noch nicht ob | wissen noch nicht ob | i don't know yet whether | i don't know yet if | we don't know yet whether | \
         we don't know yet if | we don't know yet who | we don't know yet which | we don't know yet how | \
         ist noch offen | noch nicht entschieden",
    ),
    (
        StandingKind::Promise,
        "i promise to | i promised to | i'll send | i will send | i'll bring | i will bring | i'll call | i will call | \
         i'll book | i will book | i'll prepare | i will prepare | i'll finish | i will finish | i'll write | i will write | \
         i'll take care of | i will take care of | we'll send | we will send | we'll deliver | we will deliver | \
         i'll order | i will order | i'll pay for | i will pay for | i'll pick up | i will pick up",
    ),
];

/// Phrases that count only at the beginning of a sentence.
const AT_THE_BEGINNING: &[(StandingKind, &str)] = &[(
    StandingKind::Revocation,
    "scrap | drop the | dropping | forget the | forget about | forget what i said about | forget what we said about | no need to | no need for | get rid of | scratch that | \
     i take back | i take that back | i take it back | we take back | never mind | cancel | change of plan | change of plans | i changed my mind | i've changed my mind | we changed our minds | no longer | \
     not any more | not anymore | instead of",
)];

static ANYWHERE_PHRASES: LazyLock<Phrases<StandingKind>> = LazyLock::new(|| Phrases::listed(ANYWHERE));
static BEGINNINGS: LazyLock<Phrases<StandingKind>> = LazyLock::new(|| Phrases::listed(AT_THE_BEGINNING));

word_lists! {
    /// Words with a negative meaning.
    NEGATES = "avoid stop";
    /// Words that, in addition to [`CHANGES`], end the subject of a sentence.
    ENDS = "vetoed veto withdrawn withdrew rejected burnt burned quit resigned abandoned discarded obsolete outdated \
        retired sold closed abgelehnt zurückgezogen gestrichen remplacé abandonné annulé";
    /// Words that cast doubt on the subject of a short sentence.
    DOUBTS = "expensive declined refused mistake regret gone dead broken failed fails moving off out rather false untrue mad \
        weder";
    /// First words of a condition.
    IFS = "if when whenever wenn falls sobald si quand lorsque cuando";
    /// Words that may precede a condition at the beginning of a rule.
    BEFORE_CONDITIONS = "and but also so please remember und aber bitte";
    /// Subjects of a condition at the end of a rule.
    SUBJECTS = "i you we he she they it the a an there somebody someone anybody anyone one ich du wir man es die der das";
    /// Words of bans, which hold whatever their condition.
    FORBIDS = "never don't dont not no avoid without nie niemals kein keine nicht jamais nunca";
    /// Words of conditions that hold at any time: "when in doubt", "if you answer".
    ANY_TIME = "doubt possible necessary needed unsure unclear answer answering reply replying write writing code coding \
        respond responding question ask speak talk know understand";
    /// Words before an open point that make it hypothetical, or of the past.
    HEDGES = "if when why because how whether until before";
    /// Words behind "I don't like" that name nothing: "I don't like it", "I hate being late".
    NO_TASTES = "if it that this them these those him her you your when being not how what";
    /// Words of a wish for the moment, and fillers of speech that was written down.
    MOMENTARY = "yet today tonight tomorrow lol haha uh um uhm hm mm";
    /// Words for a thing that only the talk around it names: "the clunky one".
    POINTED = "one ones thing things part bit moment memory time day";
    /// Words of a refusal of the moment: "I'd rather not pour acid into a machine".
    OF_MOMENT = "a an the this that it them now yet today again";
    /// Things that are open as a door is: "The shop is still open."
    OPENED = "wound window shop store door gate restaurant bar café cafe pharmacy museum bakery supermarket kitchen \
        pool office library bottle file tab eye mouth road border";
    /// Verbs of a wish that is stated: "My preference is".
    STATES = "is are remains would ist";
    /// Texts of a model: a wish about them is a rule.
    OUTPUTS = "answer answers reply replies response responses explanation explanations output summaries bullet emojis";
    /// Verbs of reported speech.
    SAYS = "says said told tells wrote writes claims claimed recommends recommended suggests suggested sagt sagte meint";
    /// Speakers who may repeat their own rule: "As I said, never push to main."
    SPEAKERS = "i we ich wir";
    /// Base forms of verbs of reported speech, which order something without a subject: "never suggest it".
    ORDERED = "say tell write claim recommend suggest";
    /// Subjects of a base form that reports: "They suggest".
    MANY = "they people you we i guys";
    /// Verbs of a task with a text behind a colon: "Translate: always use tabs."
    TASKS = "translate fix rephrase proofread rewrite summarize summarise paraphrase shorten improve edit reword spellcheck \
        übersetze korrigiere";
    /// Words before the verb of a saying: "my gran used to say".
    SAYING = "used to always often would once like";
    /// Languages of answers.
    LANGUAGES = "english german french spanish italian portuguese dutch polish turkish russian japanese chinese korean arabic hindi \
        deutsch englisch französisch spanisch italienisch";
    /// Words before what a revocation is limited to.
    LIMITS = "for in on except when where für in bei außer";
    /// Words that allow something, before [`AGAIN`]: "Emojis are fine now."
    ALLOWED = "fine ok okay allowed welcome";
    /// Words at the end of a sentence that allows something again.
    AGAIN = "now again";
}

phrase_lists! {
    /// Phrases of what cannot be had.
    CANCELLED = "abgesagt | storniert | ausgebucht | ausverkauft | cancelled on us | canceled on us | fell through | falls through | \
        backed out | sold out | fully booked | out of stock | went out of business";
    /// Phrases of a value that does not do.
    EXCESSES = "too low | too high | too small | too big | too slow | too short | too long | too weak | too far | too early | \
        too late | zu teuer | zu klein | zu groß | zu langsam | zu spät | \
        zu früh | zu weit | zu kurz | zu lang | passt nicht | klappt nicht";
    /// Phrases that limit a rule to a context.
    CONDITIONS = "when i ask | whenever i ask | if i ask | every time i ask | each time i ask | when i mention | \
        when i talk | when i say | when i request | when i want | when i need | whenever i mention | \
        whenever i want | if i mention | when asked | if asked | wenn ich nach | wenn ich frage";
    /// Phrases that revoke an earlier statement.
    CHANGES = "no longer | not any more | not anymore | instead | from now on | changed my mind | forget | stop | \
        actually | never mind | scrap | scratch | cancel | cancelled | canceled | rather than | switch to | \
        switched | switching | changed | change it | change that | change the | moved to | move it | move the | \
        moved | postponed | final | corrected | correction | replaced | replace it | replaces | drop it | dropped | \
        declined so | declined we | too expensive | stay with | staying with | stick with | back to | take back | take that back | take it back | make it | \
        make that | on second thought | new plan | now prefer | after all | turns out | doch nicht | nicht mehr | \
        stattdessen | statt | doch lieber";
    /// Phrases that put something else in the place of a thing.
    GOES_BACK = "back to | instead of | scratch | scrap";
    /// Phrases before a thing that is over.
    OVER = "scratch | scrap | dropping | forget about | forget what i said about | forget what we said about | no need to | no need for | get rid of | instead of | rather than | no longer | you can skip | you don't need to | you don't have to | \
        you needn't | drop | cancel | moving off | take back | \
        not any more | statt | anstelle von | anstatt | à la place de | plutôt que | en vez de | en lugar de";
    /// Phrases at the beginning of a sentence before a thing that is over: "Forget the word limit."
    BEGINS_OVER = "forget the | drop the";
    /// Phrases before what still stands.
    STAYS = "stay with | staying with | stick with | sticking with | bleiben bei";
    /// Phrases before what stands again.
    RETURNS = "back to | zurück zu";
    /// Phrases that take back the last rule.
    ENDS_RULE = "forget that rule | forget this rule | forget the rule | forget my rule | drop that rule | drop this rule | \
        drop the rule | ignore that rule | ignore the rule | ignore this rule | scrap that rule | scrap the rule | \
        scratch that rule | cancel that rule | never mind that rule | never mind the rule | forget that instruction | \
        ignore that instruction | drop that instruction | vergiss die regel | vergiss diese regel";
    /// Beginnings of leave to do something again: "You can use emojis again."
    PERMITS = "you can | you may | you could | you're allowed to | you are allowed to | you're free to | feel free to | use | \
        du kannst | du darfst | ihr könnt | ihr dürft";
    /// Endings of what need not be done any more.
    LEFT = "wieder lassen | jetzt lassen | bleiben lassen";
    /// Beginnings of what is to be kept in mind.
    REMEMBER = "please remember | remember | please remember that | remember that | please note | keep in mind | \
        please keep in mind | bitte merk dir";
    /// Phrases of what was pleasant, and is over.
    WAS_NICE = "was so nice | was so good | was so great | was so fun | was so much fun | was really nice | was really good | \
        was really great | was great fun | was very nice | was lovely | was fantastic | was wonderful | was delicious";
    /// Phrases of songs and sayings.
    OF_SONGS = "in the song | the song goes | it goes | da dum | la la | the saying | the proverb | as they say | so they say";
    /// Phrases that take back whatever was said shortly before.
    TAKES_BACK = "scratch that | scratch this | undo that | undo this | strike that | take that back | drop that | \
        take it back | new decision | after all | forget that | on second thought | never mind | changed my mind | \
        changed our minds | we took it back | doch nicht | doch lieber";
    /// Those of them that point to what was said, whatever else the sentence names.
    POINTS_BACK = "scratch that | scratch this | undo that | undo this | strike that | take that back | take it back | \
        forget that | drop that | new decision";
}

/// The phrase "I want" before a thing: "I want window seats.", "Please remember: I want a desk."
fn wanted(sentence: &Sentence<'_>) -> Option<Announced> {
    /// Maximum words of a thing.
    const THING: usize = 3;
    let keys = &sentence.keys;
    let at = keys.windows(2).position(|pair| pair == [key("i"), key("want")])?;
    let behind = sentence.words.get(at + 2..)?;
    let is_kept =
        REMEMBER.at(keys).any(|(length, ())| length == at) && behind.first().is_some_and(|word| word.text != "to");
    let is_plural = |word: &Word<'_>| word.text.ends_with('s') && !word.text.ends_with("ss");
    let is_thing = at == 0
        && (2..=THING).contains(&behind.len())
        && behind.last().is_some_and(is_plural)
        && behind.iter().all(|word| !is_common(word) && !OUTPUTS.contains(&word.key));
    (is_kept || is_thing).then_some(Announced { kind: StandingKind::Preference, at, length: 2 })
}

/// An announcing phrase in a sentence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Announced {
    pub(super) kind: StandingKind,
    /// Index of the first word of the phrase.
    pub(super) at: usize,
    /// Number of its words.
    pub(super) length: usize,
}

/// The announcing phrase of the highest-ranking kind in a sentence; the first of equals.
pub(super) fn announced(sentence: &Sentence<'_>) -> Option<Announced> {
    let keys = &sentence.keys;
    let mut best: Option<Announced> = wanted(sentence);
    for at in 0..keys.len() {
        let from = keys.get(at..).unwrap_or_default();
        let begins = (at == 0).then(|| BEGINNINGS.at(from));
        for (length, kind) in begins.into_iter().flatten().chain(ANYWHERE_PHRASES.at(from)) {
            // "No open question" leaves nothing open; `no "tbd" without a name` is about the word.
            let is_denied = *kind == StandingKind::Open
                && (at.checked_sub(1).is_some_and(|before| has_negation(keys.get(before..at).unwrap_or_default()))
                    || keys.get(..at).unwrap_or_default().iter().any(|key| HEDGES.contains(key)));
            let is_door = *kind == StandingKind::Open
                && keys.get(at..at + length).is_some_and(|keys| keys.ends_with(&[key("still"), key("open")]))
                && keys.get(..at).unwrap_or_default().iter().any(|key| OPENED.contains(key));
            let is_denied = is_denied || is_door;
            let is_quoted = at > 0 && sentence.words.get(at).is_some_and(|word| sentence.is_quoted(word));
            if !is_denied && !is_quoted && best.is_none_or(|known| *kind < known.kind) {
                best = Some(Announced { kind: *kind, at, length });
            }
        }
    }
    best
}

/// True if words with these keys revoke an earlier statement.
pub(super) fn changes(keys: &[u64]) -> bool {
    // "We're not using Postgres any more."
    let ends = || keys.contains(&key("anymore")) || keys.windows(2).any(|pair| pair == [key("any"), key("more")]);
    CHANGES.are_in(keys) || has_negation(keys) && ends()
}

/// True if words with these keys put something in the place of a thing: "Go back to jest for now."
pub(super) fn goes_back(keys: &[u64]) -> bool {
    GOES_BACK.are_in(keys)
}

/// True for reported speech: "My colleague told me: never use ORMs.", "Always wear sunscreen, my gran used to say."
pub(super) fn is_reported(sentence: &Sentence<'_>) -> bool {
    /// Maximum words before the verb.
    const SPEAKER: usize = 5;
    /// Maximum words between the verb and the mark before what is said.
    const LISTENER: usize = 4;
    let keys = &sentence.keys;
    let is = |at: usize, set: &KeySet| keys.get(at).is_some_and(|key| set.contains(key));
    let is_plural = |at: usize| {
        sentence.words.get(at).is_some_and(|word| word.text.ends_with('s') && !word.text.eq_ignore_ascii_case("always"))
    };
    // "Never suggest it", but not "They suggest".
    let orders = |at: usize| {
        let is_base = sentence.words.get(at).is_some_and(|word| !word.text.ends_with('s')) && is(at, &ORDERED);
        is_base && !is_plural(at - 1) && !is(at - 1, &MANY)
    };
    let told = |at: &usize| is(*at, &SAYS) && !orders(*at);
    let told = (1..keys.len().min(SPEAKER + 1)).find(told);
    let is_before = told.is_some_and(|at| {
        let repeats = is(at - 1, &SPEAKERS)
            && sentence.words.get(at + 1).is_some_and(|next| next.text == "you" || sentence.is_after_comma(next));
        let is_told = |word: &Word<'_>| sentence.is_after_comma(word);
        !repeats && sentence.words.iter().skip(at + 1).take(LISTENER).any(is_told)
    });
    let has_quotation = [": \"", ": “", ": „", ": «"].iter().any(|begin| sentence.text.contains(begin));
    let task = sentence.text.split_once(": ").map(|(head, _)| crate::words::keys(head)).unwrap_or_default();
    let is_material = task.len() <= SPEAKER + 1 && task.iter().any(|word| TASKS.contains(word));
    // "When you write Python for me, use type hints."
    let is_before = is_before && !keys.first().is_some_and(|first| IFS.contains(first));
    is_before || is_material || has_quotation || ends_reported(sentence) || OF_SONGS.are_in(keys)
}

/// True if a sentence ends with its speaker: "You should always floss, my dentist says."
fn ends_reported(sentence: &Sentence<'_>) -> bool {
    /// Maximum words of the speaker and the verb.
    const TAG: usize = 6;
    let Some(comma) = sentence.words.iter().rposition(|word| sentence.is_after_comma(word)) else { return false };
    let tag = sentence.keys.get(comma..).unwrap_or_default();
    let listener = usize::from(tag.last().is_some_and(|last| [key("me"), key("us")].contains(last)));
    let Some((verb, speaker)) = tag.get(..tag.len() - listener).and_then(<[u64]>::split_last) else { return false };
    let is_own = speaker.iter().any(|word| SPEAKERS.contains(word));
    let is_speaker = !is_own && speaker.iter().any(|word| !SAYING.contains(word));
    comma > 0 && tag.len() <= TAG && SAYS.contains(verb) && is_speaker
}

/// True for a preference that says what its speaker likes, in general: not "I don't like it", "I'd prefer not to yet".
pub(super) fn is_lasting(sentence: &Sentence<'_>, announced: Announced) -> bool {
    let Announced { at, length, .. } = announced;
    let behind = sentence.keys.get(at + length..).unwrap_or_default();
    let phrase = sentence.keys.get(at..at + length).unwrap_or_default();
    let names = behind.first().map_or(is_complete(phrase), |first| !NO_TASTES.contains(first));
    let near = behind.get(..behind.len().min(4)).unwrap_or_default();
    let points = near.iter().any(|key| POINTED.contains(key));
    let is_momentary = behind.iter().any(|key| MOMENTARY.contains(key));
    // "How can my preference be used?" states none.
    let is_own = sentence.keys.get(at) == Some(&key("my"));
    let is_stated = !is_own || behind.iter().take(6).any(|key| STATES.contains(key));
    let is_refused =
        sentence.keys.get(at + length - 1) == Some(&key("not")) && behind.iter().any(|key| OF_MOMENT.contains(key));
    names && !points && !is_momentary && !is_refused && is_stated
}

/// True if a phrase is complete without a thing behind it: "I'm vegan."
pub(super) fn is_complete(phrase: &[u64]) -> bool {
    phrase.last().is_some_and(|last| [key("vegan"), key("vegetarian")].contains(last))
}

/// True for a wish about the texts of a model: "I prefer short answers."
pub(super) fn is_of_outputs(keys: &[u64]) -> bool {
    keys.iter().any(|key| OUTPUTS.contains(key))
}

/// Keys of the words of what a sentence allows again: "Emojis are fine now.", "Das mit brutto kannst du wieder lassen."
pub(super) fn allowed(sentence: &Sentence<'_>) -> Vec<u64> {
    let keys = &sentence.keys;
    if let Some(at) = keys.windows(2).position(|pair| pair == [key("kannst"), key("du")]) {
        let is_let = LEFT.are_in(keys.get(at..).unwrap_or_default());
        return keys.get(..at).filter(|_| is_let).unwrap_or_default().to_vec();
    }
    let is = |at: usize, set: &KeySet| keys.get(at).is_some_and(|key| set.contains(key));
    let Some(verb) = keys.iter().position(|of| [key("are"), key("is")].contains(of)) else { return Vec::new() };
    let allows = is(verb + 1, &ALLOWED) && is(verb + 2, &AGAIN) && keys.len() == verb + 3;
    if allows { keys.get(..verb).unwrap_or_default().to_vec() } else { Vec::new() }
}

/// Keys of the words of what a sentence permits again: "You can use emojis again.", "Du darfst wieder Emojis nutzen."
pub(super) fn permitted(sentence: &Sentence<'_>) -> Vec<u64> {
    let (words, keys) = (&sentence.words, &sentence.keys);
    let begin = keys.iter().position(|word| !BEFORE_CONDITIONS.contains(word)).unwrap_or(0);
    let longest = PERMITS.at(keys.get(begin..).unwrap_or_default()).map(|(length, ())| length).max();
    let Some(from) = longest.map(|length| begin + length).filter(|_| !asks(sentence.text)) else { return Vec::new() };
    let comma = words.iter().skip(from).position(|word| sentence.is_after_comma(word));
    let clause = keys.get(from..comma.map_or(keys.len(), |comma| from + comma)).unwrap_or_default();
    let is_again = clause.last().is_some_and(|last| AGAIN.contains(last)) || clause.first() == Some(&key("wieder"));
    if is_again { clause.to_vec() } else { Vec::new() }
}

/// Keys of the figures that another one replaces: "95 cm instead of 92 cm", "45, not 30".
pub(super) fn replaced_figures(sentence: &Sentence<'_>) -> Vec<u64> {
    let Sentence { words, keys, .. } = sentence;
    let is_replaced = |at: &usize| {
        let before = keys.get(..*at).unwrap_or_default();
        let is_not = before.last() == Some(&key("not")) && *at > 1;
        before.ends_with(&[key("instead"), key("of")])
            || before.ends_with(&[key("rather"), key("than")])
            || before.last().is_some_and(|last| [key("statt"), key("anstatt")].contains(last))
            || is_not && words.get(at - 1).is_some_and(|not| sentence.is_after_comma(not))
    };
    let figures = words.iter().enumerate().filter(|(at, word)| word.form == Form::Figure && is_replaced(at));
    figures.map(|(_, word)| word.key).collect()
}

/// Keys of the things that still stand, behind phrases like "stay with".
pub(super) fn confirmed(keys: &[u64]) -> Vec<u64> {
    named_behind(&STAYS, keys)
}

/// Keys of the things that stand again, behind phrases like "back to".
pub(super) fn restored(keys: &[u64]) -> Vec<u64> {
    named_behind(&RETURNS, keys)
}

/// Keys of the first words behind phrases anywhere in a sentence.
fn named_behind(phrases: &Phrases<()>, keys: &[u64]) -> Vec<u64> {
    let behind = |at: usize| first_behind(phrases, keys.get(at..).unwrap_or_default());
    (0..keys.len()).flat_map(behind).copied().collect()
}

/// Keys of the first words behind the longest phrase with which the words begin.
fn first_behind<'k>(phrases: &Phrases<()>, keys: &'k [u64]) -> &'k [u64] {
    /// Maximum words that the phrase names: "scratch the old queue".
    const NAMED: usize = 3;
    let longest = phrases.at(keys).map(|(length, ())| length).max();
    longest.and_then(|length| keys.get(length..keys.len().min(length + NAMED))).unwrap_or_default()
}

/// Keys of the things that are over, behind phrases like "instead of".
pub(super) fn over(keys: &[u64]) -> Vec<u64> {
    let mut named = named_behind(&OVER, keys);
    named.extend(first_behind(&BEGINS_OVER, keys));
    named
}

/// Keys of the thing that is over, behind a phrase like "scrap" and up to a mark.
pub(super) fn scrapped(sentence: &Sentence<'_>) -> Vec<u64> {
    let Some((at, length)) = sentence.find(&OVER) else { return Vec::new() };
    let behind = sentence.words.iter().skip(at + length).enumerate();
    let named = behind.take_while(|(index, word)| *index == 0 || !sentence.is_after_comma(word)).take(4);
    named.map(|(_, word)| word.key).collect()
}

/// True if words with these keys take back the last rule: "Forget that rule, answer in English."
pub(super) fn ends_rule(keys: &[u64]) -> bool {
    // "Scrap the house rule about drowning."
    let is_rule =
        || (0..keys.len()).any(|at| first_behind(&OVER, keys.get(at..).unwrap_or_default()).contains(&key("rule")));
    ENDS_RULE.are_in(keys) || is_rule()
}

/// True if words with these keys take back whatever was said shortly before.
pub(super) fn takes_back(keys: &[u64]) -> bool {
    TAKES_BACK.are_in(keys)
}

/// True if one of the keys is of a language.
pub(super) fn has_language(keys: &[u64]) -> bool {
    keys.iter().any(|word| LANGUAGES.contains(word))
}

/// Keys of the words of the part to which a revocation is limited: "You can drop the rule for the tests."
pub(super) fn limited_to(keys: &[u64]) -> &[u64] {
    let behind = (0..keys.len()).find(|at| !first_behind(&OVER, keys.get(*at..).unwrap_or_default()).is_empty());
    let behind = behind.and_then(|at| keys.get(at..)).unwrap_or_default();
    let is_limit = |pair: &[u64]| matches!(pair, [limit, next] if LIMITS.contains(limit) && *next != key("now"));
    let limit = behind.windows(2).position(is_limit);
    limit.and_then(|limit| behind.get(limit + 1..)).unwrap_or_default()
}

/// True if words with these keys point to what was said before.
pub(super) fn points_back(keys: &[u64]) -> bool {
    POINTS_BACK.are_in(keys)
}

/// True if words with these keys speak of what may be: "If they want more than 800, come back to us."
pub(super) fn is_hypothetical(keys: &[u64]) -> bool {
    keys.iter().any(|word| IFS.contains(word))
}

/// True if words with these keys say that a thing cannot be had: "Harrow's backed out."
pub(super) fn cancels(keys: &[u64]) -> bool {
    CANCELLED.are_in(keys)
}

/// True if words with these keys say that a value does not do: "40 is too low."
pub(super) fn exceeds(keys: &[u64]) -> bool {
    EXCESSES.are_in(keys)
}

/// True if words with these keys may invalidate their subject: "Postgres is out.", "We are not hiring Tom."
pub(super) fn doubts(keys: &[u64]) -> bool {
    has_negation(keys) || exceeds(keys) || WAS_NICE.are_in(keys) || keys.iter().any(|key| DOUBTS.contains(key))
}

/// Words that a doubt is about. Dates are left out, and so is a word that qualifies the noun behind it: "The gas bill
/// isn't paid yet" is about a bill, and not about gas.
pub(super) fn doubted<'w>(sentence: &Sentence<'_>, words: &[Word<'w>]) -> Vec<Word<'w>> {
    let goes_on = |word: &Word<'_>| {
        let next = sentence.words.iter().find(|next| next.at > word.at);
        next.is_some_and(|next| {
            let is_joined = sentence.text.get(word.at + word.text.len()..next.at) == Some(" ");
            let is_verb = DOUBTS.contains(&next.key)
                || ENDS.contains(&next.key)
                || CHANGES.at(&[next.key]).next().is_some()
                || has_negation(&[next.key])
                || ["any", "anymore", "hat", "haben", "ist", "sind", "wird", "war"].contains(&next.text)
                || next.text.ends_with("ed");
            is_joined && next.form == Form::Plain && word.form != Form::Figure && !is_common(next) && !is_verb
        })
    };
    let is_ordinal = |word: &Word<'_>| {
        ["st", "nd", "rd", "th"]
            .iter()
            .any(|end| word.text.strip_suffix(end).is_some_and(|figure| figure.chars().all(|c| c.is_ascii_digit())))
    };
    words.iter().filter(|word| !is_of_date(word) && !is_ordinal(word) && !goes_on(word)).copied().collect()
}

/// True if words with these keys end their subject: "The hall in Linz burnt down."
pub(super) fn ends(keys: &[u64]) -> bool {
    keys.iter().any(|key| ENDS.contains(key))
}

/// True if a sentence corrects an earlier statement: "no longer", "Dental ones are 45, not 30.", "Moved: …".
pub(super) fn corrects(sentence: &Sentence<'_>) -> bool {
    let is_replaced = |pair: &[Word<'_>]| {
        let [before, not] = pair else { return false };
        let gap = sentence.text.get(before.at + before.text.len()..not.at).unwrap_or_default();
        not.text.eq_ignore_ascii_case("not") && gap.contains(',')
    };
    let not_but = || {
        let not = sentence.keys.iter().position(|of| *of == key("not"));
        not.is_some_and(|not| sentence.keys.iter().skip(not).any(|of| *of == key("but")))
    };
    changes(&sentence.keys) || sentence.words.windows(2).any(is_replaced) || not_but()
}

/// True if a rule is limited to a context: "When I ask about invoices, …", "If you deploy on Fridays, tell Ann."
///
/// A ban holds whatever its condition, and "when in doubt" limits nothing.
pub(super) fn is_conditional(rule: &Sentence<'_>) -> bool {
    let Sentence { words, keys, .. } = rule;
    if CONDITIONS.are_in(keys) {
        return true;
    }
    let is_in = |at: usize, set: &KeySet| keys.get(at).is_some_and(|key| set.contains(key));
    let begin = (0..keys.len()).find(|at| !is_in(*at, &BEFORE_CONDITIONS)).unwrap_or(0);
    let is_condition = |at: &usize| *at == begin || is_in(*at + 1, &SUBJECTS);
    let Some(at) = (begin..keys.len()).filter(|at| is_in(*at, &IFS)).find(is_condition) else { return false };
    let forbids = at > begin && keys.iter().take(at).any(|key| FORBIDS.contains(key));
    let clause = words.iter().skip(at + 1).enumerate();
    let mut clause = clause.take_while(|(index, word)| *index == 0 || at > begin || !rule.is_after_comma(word));
    !forbids && clause.any(|(_, word)| !is_common(word) && !ANY_TIME.contains(&word.key))
}

pub(super) fn negates(keys: &[u64]) -> bool {
    has_negation(keys) || keys.iter().any(|key| NEGATES.contains(key))
}
