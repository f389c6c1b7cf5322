//! Phrases that announce standing statements.

use std::sync::LazyLock;

use super::StandingKind;
use crate::{
    cues::{has_negation, negated},
    phrases::{Phrases, phrase_lists, word_lists},
    words::{Word, key},
};

/// Phrases separated by `|`, matched word by word; case and the kind of apostrophe are ignored.
const ANYWHERE: &[(StandingKind, &str)] = &[
    (
        StandingKind::Instruction,
        "from now on | going forward please | in future please | in the future please | whenever i ask | when i ask | \
         if i ask | every time i ask | please always | please never | please don't | please do not | please use | \
         please keep | please avoid | please stop | please make sure | please remember | please include | please answer | \
         please reply | please respond | please write | please call | we must not | you must not | must never | must always | must only | you must | \
         we must | you mustn't | we mustn't | don't ever | do not ever | under no circumstances | make sure to always | \
         make sure you | make sure that you | it is important that you | it's important that you | texts must be | \
         answers must be | replies must be | you should always | you should never | and never | and always | but never | but always | then never | \
         ab jetzt | von jetzt an | bitte immer | bitte nie | bitte niemals | bitte keine | bitte kein | bitte nicht | \
         du darfst nie | du darfst niemals | à partir de maintenant | de ahora en adelante",
    ),
    (
        StandingKind::Preference,
        "i prefer | i'd prefer | i would prefer | we prefer | i now prefer | i actually prefer | i'd rather not | \
         i would rather not | my preference | my preferred | i can't stand | i cannot stand | i'm allergic | i am allergic | \
         i'm vegan | i'm vegetarian | i'm a vegan | i'm a vegetarian | i can't eat | i don't eat | i don't drink | \
         i don't like | i do not like | i no longer like | i no longer prefer | i no longer want | i hate | i dislike | \
         ich bevorzuge | ich hätte lieber | je préfère | prefiero",
    ),
    (
        StandingKind::Decision,
        "i decided | i've decided | i have decided | we decided | we've decided | we have decided | i finally decided | \
         let's go with | we go with | we'll go with | we will go with | i'll go with | i will go with | i'm going with | \
         we're going with | we are going with | we went with | i went with | settled on | we agreed | we have agreed | \
         we've agreed | we chose | i chose | i've chosen | i have chosen | we've chosen | we have chosen | we'll use | \
         we will use | let's use | we stay with | we're staying with | we'll stay with | we stick with | \
         we're sticking with | we change it | let's change it | i opted | we opted | signed off on | i switched to | we switched to | we're moving to | \
         made up my mind | the decision is | the decision was | the final decision is | it was decided | is approved | \
         wir haben beschlossen | wir haben entschieden | ich habe entschieden | on a décidé | hemos decidido",
    ),
    (
        StandingKind::Open,
        "haven't decided | have not decided | hasn't been decided | not decided yet | not yet decided | still undecided | \
         still deciding | we need to decide | i need to decide | still need to decide | i still need to | \
         we still need to | i still have to | we still have to | open question | to be decided | tbd | \
         please remind me | don't know yet | do not know yet | action item | i'm waiting for | we're waiting for | \
         still waiting for | unresolved | left to do | ich muss noch | wir müssen noch",
    ),
    (
        StandingKind::Promise,
        "i promise to | i promised to | i'll send | i will send | i'll bring | i will bring | i'll call | i will call | \
         i'll book | i will book | i'll prepare | i will prepare | i'll finish | i will finish | i'll write | i will write | \
         i'll take care of | i will take care of | we'll send | we will send | we'll deliver | we will deliver | \
         i'll order | i will order | i'll pay for | i will pay for | i'll pick up | i will pick up",
    ),
];

/// Imperative phrases, which count only at the beginning of a sentence.
const AT_THE_BEGINNING: &[(StandingKind, &str)] = &[
    (
        StandingKind::Instruction,
        "always | never | avoid | don't | do not | stop using | \
         stop answering | stop replying | stop writing | stop giving | stop adding | stop asking | stop calling | \
         stop including | stop making | stop sending | stop showing | stop suggesting | use only | only use | answer in | reply in | \
         respond in | write in | call me | remember that i | remember never | remember always | no more | dont | \
         forget what i said | immer | niemals | toujours | siempre | merk dir | nenn mich | antworte auf | antworte immer | \
         antworte bitte | schreib immer | schreibe immer | du kannst mich duzen | réponds en | réponds toujours | \
         n'utilise jamais | ne propose jamais | responde en | responde siempre | nunca | jamás",
    ),
    (StandingKind::Open, "todo"),
    (
        StandingKind::Revocation,
        "scrap | scratch that | i take back | i take that back | i take it back | we take back | never mind | cancel | change of plan | change of plans | i changed my mind | \
         i've changed my mind | we changed our minds | no longer | not any more | not anymore | instead of",
    ),
];

static ANYWHERE_PHRASES: LazyLock<Phrases<StandingKind>> = LazyLock::new(|| Phrases::listed(ANYWHERE));
static BEGINNINGS: LazyLock<Phrases<StandingKind>> = LazyLock::new(|| Phrases::listed(AT_THE_BEGINNING));

word_lists! {
    /// Words after "always" or "never" that make a sentence a remark: "Always here to help!", "Never been there."
    REMARKS = "here there been had have a an the in on at of to nice good great glad happy fun so thought knew seen \
        felt is was were are gonna wanted love loved mind more again before did does do i i'm i've you we he \
        she they it this that these those my your our his her their with for as by heard had up down out off \
        over about around ready open keen eager hungry late early busy saw got took went came made told gave \
        found kept left lost ate drank slept won ran wrote spoke thank thanks welcome sure too quite really \
        just enjoy worth same something anything everything ever wonder even once too";
    /// Words of announcing phrases that are part of the subject.
    TOPICS = "answer reply respond write call remember";
    /// Words after which a decision has no content: "We decided that already."
    NAMES_NOTHING = "that this it already so not against";
    /// Words after "don't", "you must" and the like that make a sentence a remark: "Don't worry", "You must be tired".
    NO_RULES = "worry forget know think mind get be hesitate panic laugh understand you have need see want care \
        believe bother tell feel like understand hear admit say i've go let give";
    /// Verbs that begin an order about style.
    STYLE_VERBS = "use write keep answer reply respond format indent quote speak be make";
    /// Words that denote style: "Keep answers short", "Use tabs, not spaces".
    STYLES = "everywhere short brief concise terse lowercase uppercase case formal informal polite plain metric \
        tabs spaces emojis markdown words sentences lines paragraphs characters";
    /// Words that limit a sentence to the present.
    MOMENTS = "now yet today tonight tomorrow";
    /// Words after "please write" and the like that ask for a single thing: "Please write me a poem".
    ONE_THING = "me a an the this that it us some my another down up out one two three his her their";
    /// Words with a negative meaning.
    NEGATES = "avoid stop";
    /// Words that, in addition to [`CHANGES`], cast doubt on the subject of a sentence.
    DOUBTS = "vetoed veto withdrawn withdrew declined rejected refused mistake regret burnt burned gone dead \
        broken quit resigned left failed fails abandoned discarded moving off out rather false untrue mad \
        obsolete outdated retired sold closed weder abgelehnt zurückgezogen gestrichen remplacé abandonné \
        annulé place";
    PLEASE = "please pls plz";
    /// Words after "no" that refuse nothing: "No problem."
    NO_REFUSALS = "problem worries thanks thank idea way rush hurry need doubt matter one please more";
}

phrase_lists! {
    /// Phrases that limit a rule to a context.
    CONDITIONS = "when i ask | whenever i ask | if i ask | every time i ask | each time i ask | when i mention | \
        when i talk | when i say | when i request | when i want | when i need | whenever i mention | \
        whenever i want | if i mention | when asked | if asked | wenn ich nach | wenn ich frage";
    /// Phrases of orders, which may instead be remarks or apply only now.
    ORDERS = "don't | dont | do not | you must | we must | please don't | please do not | and never | and always | \
        but never | but always | then never";
    /// Phrases that may ask for a single thing.
    REQUESTS = "please use | please keep | please include | please write | please make sure | please call | \
        please answer | please reply | please respond | please remember";
    /// Phrases that revoke an earlier statement.
    CHANGES = "no longer | not any more | not anymore | instead | from now on | changed my mind | forget | stop | \
        actually | never mind | scrap | scratch | cancel | cancelled | canceled | rather than | switch to | \
        switched | switching | changed | change it | change that | change the | moved to | move it | move the | \
        moved | postponed | corrected | correction | replaced | replace it | replaces | drop it | dropped | \
        stay with | staying with | stick with | back to | take back | take that back | take it back | make it | \
        make that | on second thought | new plan | now prefer | after all | turns out | doch nicht | nicht mehr | \
        stattdessen | statt | doch lieber";
    /// Phrases that take back whatever was said shortly before.
    TAKES_BACK = "scratch that | scratch this | undo that | undo this | strike that | take that back | \
        take it back | new decision | after all | forget that | on second thought | never mind | changed my mind | \
        changed our minds | we took it back | doch nicht | doch lieber";
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
pub(super) fn announced(sentence: &str, words: &[Word<'_>], keys: &[u64]) -> Option<Announced> {
    let mut best: Option<Announced> = None;
    for at in 0..keys.len() {
        let from = keys.get(at..).unwrap_or_default();
        let begins = (at == 0).then(|| BEGINNINGS.at(from));
        for (length, kind) in begins.into_iter().flatten().chain(ANYWHERE_PHRASES.at(from)) {
            let next = words.get(at + length);
            let is_word = at == 0 && length == 1 && *kind != StandingKind::Revocation;
            let is_remark = is_word && next.is_none_or(is_remark);
            let is_no_rule = *kind == StandingKind::Instruction && is_no_rule(keys, at, length, next);
            // "We decided that already" has no content; "not that we agreed" is a denial.
            let is_none = *kind == StandingKind::Decision
                && (next.is_none_or(|next| NAMES_NOTHING.contains(&next.key)) || negated(keys, at));
            // "No action items" leaves nothing open; `no "todo" without a name` is about the word.
            let is_denied = *kind == StandingKind::Open
                && at.checked_sub(1).is_some_and(|before| has_negation(keys.get(before..at).unwrap_or_default()));
            let is_none = is_none || is_denied || at > 0 && words.get(at).is_some_and(|word| is_quoted(sentence, word));
            if !is_remark && !is_none && !is_no_rule && best.is_none_or(|known| *kind < known.kind) {
                best = Some(Announced { kind: *kind, at, length });
            }
        }
    }
    let is_rule = || refuses(keys) || sets_style(keys) || ends_in_rule(sentence, words);
    match best {
        Some(best) if best.kind != StandingKind::Preference || !ends_in_rule(sentence, words) => Some(best),
        None if !is_rule() => None,
        _ => Some(Announced { kind: StandingKind::Instruction, at: 0, length: 1 }),
    }
}

/// Maximum words of a sentence like "No emojis please."
const SHORT: usize = 8;

/// True for a wish to omit something: "No emojis please", "Please no tables".
fn refuses(keys: &[u64]) -> bool {
    let is_please = |key: Option<&u64>| key.is_some_and(|key| PLEASE.contains(key));
    let no = key("no");
    let (first, second) = (keys.first(), keys.get(1));
    let is_word = second.is_none_or(|key| NO_REFUSALS.contains(key));
    let refuses = first == Some(&no) && !is_word && is_please(keys.last()) || is_please(first) && second == Some(&no);
    refuses && (3..=SHORT).contains(&keys.len())
}

/// True if a sentence ends like a rule: "Every function needs a docstring, always.", "I eat no pork, never suggest it."
fn ends_in_rule(sentence: &str, words: &[Word<'_>]) -> bool {
    let after_comma = |word: &Word<'_>| sentence.get(..word.at).is_some_and(|before| before.trim_end().ends_with(','));
    let is = |word: &Word<'_>, text: &str| word.text.eq_ignore_ascii_case(text);
    let orders = |pair: &[Word<'_>]| {
        let [never, next] = pair else { return false };
        (is(never, "never") || is(never, "always")) && after_comma(never) && !is_remark(next)
    };
    let is_last = words.last().is_some_and(|last| is(last, "always") && after_comma(last));
    let asks = words.last().is_some_and(|last| is(last, "please")) && words.len() <= SHORT;
    let without = words.iter().any(|word| is(word, "without"));
    is_last || asks && without || words.windows(2).any(orders)
}

/// True for an order about style: "Write SQL in lower case".
fn sets_style(keys: &[u64]) -> bool {
    let asks_once = keys.get(1).is_none_or(|key| ONE_THING.contains(key));
    // "Keep the answers under 100 words."
    let of_answers = keys.get(2).is_some_and(|word| [key("answers"), key("replies")].contains(word));
    let asks_once = asks_once && !of_answers;
    keys.first().is_some_and(|key| STYLE_VERBS.contains(key))
        && !asks_once
        && keys.iter().any(|key| STYLES.contains(key))
}

/// True if the words after an announcing phrase make it a remark, a request for a single thing, or limit it to the
/// present.
fn is_no_rule(keys: &[u64], at: usize, length: usize, next: Option<&Word<'_>>) -> bool {
    let Some(next) = next else { return false };
    let phrase = keys.get(at..at + length).unwrap_or_default();
    let orders = ORDERS.at(phrase).any(|(words, _)| words == length);
    let asks_once = REQUESTS.at(phrase).any(|(words, _)| words == length);
    let is_of_moment = keys.iter().any(|key| MOMENTS.contains(key));
    orders && (NO_RULES.contains(&next.key) || is_of_moment) || asks_once && ONE_THING.contains(&next.key)
}

/// True if a word begins a quotation.
fn is_quoted(sentence: &str, word: &Word<'_>) -> bool {
    sentence.get(..word.at).is_some_and(|before| before.ends_with(['"', '“', '„', '«', '‘']))
}

/// True if "always" or "never" before this word makes a mere remark.
fn is_remark(next: &Word<'_>) -> bool {
    let text = next.text;
    REMARKS.contains(&next.key) || text.ends_with("ing") || (text.ends_with("ed") && text != "embed" && text != "feed")
}

/// True if a word of an announcing phrase is part of the instruction's subject.
pub(super) fn is_of_weight(word: &Word<'_>) -> bool {
    TOPICS.contains(&word.key)
}

/// True if words with these keys revoke an earlier statement.
pub(super) fn changes(keys: &[u64]) -> bool {
    CHANGES.are_in(keys)
}

/// True if words with these keys take back whatever was said shortly before.
pub(super) fn takes_back(keys: &[u64]) -> bool {
    TAKES_BACK.are_in(keys)
}

/// True if words with these keys may invalidate their subject: "Postgres is out.", "We are not hiring Tom."
pub(super) fn doubts(keys: &[u64]) -> bool {
    has_negation(keys) || keys.iter().any(|key| DOUBTS.contains(key))
}

/// True if a sentence corrects an earlier statement: "no longer", "Dental ones are 45, not 30.", "Moved: …".
pub(super) fn corrects(sentence: &str, words: &[Word<'_>], keys: &[u64]) -> bool {
    let is_replaced = |pair: &[Word<'_>]| {
        let [before, not] = pair else { return false };
        let gap = sentence.get(before.at + before.text.len()..not.at).unwrap_or_default();
        not.text.eq_ignore_ascii_case("not") && gap.contains(',')
    };
    let not_but = || {
        let not = keys.iter().position(|of| *of == key("not"));
        not.is_some_and(|not| keys.iter().skip(not).any(|of| *of == key("but")))
    };
    changes(keys) || words.windows(2).any(is_replaced) || not_but()
}

/// True if a rule with these words is limited to a context.
pub(super) fn is_conditional(keys: &[u64]) -> bool {
    CONDITIONS.are_in(keys)
}

pub(super) fn negates(keys: &[u64]) -> bool {
    has_negation(keys) || keys.iter().any(|key| NEGATES.contains(key))
}
