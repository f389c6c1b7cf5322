//! Detects rules: lasting instructions to the assistant.
//!
//! A missed rule is still found by recall, but a remark taken for a rule misleads every answer. So a sentence must
//! begin like an order, or name its duration or condition.

use super::sentence::Sentence;
use crate::{
    phrases::{Phrases, phrase_lists, word_lists},
    spoken::asks,
    terms::is_common,
    words::{Form, KeySet, Word, key},
};

word_lists! {
    /// Words before an order.
    OPENERS = "please pls plz and but also so then ok okay note remember kindly oh well yes just plus again \
        bitte und aber auch";
    PLEASE = "please pls plz bitte";
    /// Words that forbid or require in general.
    FOREVER = "always never immer niemals nie toujours siempre nunca jamás";
    DONT = "don't dont";
    /// Words after "always" or "never" that make a sentence a remark: "Always here to help!", "Never been there."
    REMARKS = "here there been had have a an the in on at of to nice good great glad happy fun so thought knew seen \
        felt is was were are gonna wanted love loved mind more again before did does do i i'm i've you we he \
        she they it this that these those my your our his her their with for as by heard had up down out off \
        over about around ready open keen eager hungry late early busy saw got took went came made told gave \
        found kept left lost ate drank slept won ran wrote spoke thank thanks welcome sure too quite really \
        just enjoy worth same something anything everything ever wonder even once too stop forget lose \
        underestimate doubt know believe stay noch wieder wenn mehr mal so diese dieser dieses";
    /// Words after "don't", "you must" and the like that make a sentence a remark: "Don't worry", "You must be tired".
    NO_RULES = "worry forget know think mind get be hesitate panic laugh understand you have need see want care \
        believe bother tell feel like hear admit say i've go let lose stop remember recall really even work love quit wanna";
    /// First words of a question.
    ASKING = "can could would will do does did is are was were am have has shall should may might what how why who \
        which where";
    /// Words that limit a sentence to the present.
    MOMENTS = "now yet today tonight tomorrow here heute jetzt";
    /// Words that address a person as a person, unless [`OUTPUTS`] follow.
    ADDRESSES = "your yours yourself yourselves ourselves myself";
    OUTPUTS = "answer reply response work reasoning source output code step explanation assumption thinking commit \
        message text comment list summary";
    /// First words of a report: "I always", "She smiles when I ask".
    NARRATORS = "i i'm i've i'll i'd he she it they we you that this there he's she's it's they're you're we're my \
        his her their the what why how who where which";
    /// Verbs that order a style together with [`STYLES`]: "Keep answers short", "Use tabs".
    STYLE_VERBS = "use keep answer reply respond format speak indent spell be stick";
    /// Verbs of orders that hold before or after each act.
    ACTS = "run ask check test lint format review update show tell confirm commit add write";
    /// Verbs of single requests, which order a style only with "in": "Write SQL in lower case".
    WRITING_VERBS = "write quote put name";
    STYLES = "everywhere short brief briefly concise concisely terse formally spelling british american lowercase uppercase case formal informal polite plain metric \
        tabs spaces emojis markdown words sentences lines paragraphs characters english german french spanish \
        dutch italian portuguese polish japanese chinese korean deutsch englisch";
    /// Words after a verb that ask for a single thing: "Use this data", "Keep it".
    ONE_THING = "me a an the that this these those it us some my another down up out one two three his her their";
    /// Things that a sentence like "No emojis" refuses.
    REFUSED = "emoji emojis table tables bullet bullets markdown jargon comments apologies jokes popups headings \
        headers summaries abbreviations exclamation disclaimers small";
    /// Words after "no" that refuse nothing: "No problem."
    NO_REFUSALS = "problem worries thanks thank idea way rush hurry need doubt matter one please more";
    /// Verbs that order something after a condition: "Whenever I send code, run the tests."
    ORDERS = "run ask check test lint format review update show tell confirm commit add write use keep answer reply \
        respond give remind warn name mention say skip send list put include explain quote cite translate summarize \
        suggest";
    /// Words of a label before orders: "A few requests:"
    ANNOUNCES = "request wish thing favour favor note rule remember mind bitte regel wunsch";
    /// Texts that a sentence like "All texts must be in British English" is about.
    TEXTS = "text answer reply response message comment code function file commit name variable date amount number \
        test query sql document email figure price module";
    EVERY = "all every each any";
    PREPOSITIONS = "on at for from of to with about by";
    PERSONS = "me him her them us it";
    /// Words between a text and its style: "Comments in English".
    LINKS = "in as under without";
}

word_lists! {
    /// Words of rules that hold on beyond a task.
    LASTING = "everywhere all every each any ever answer reply response overall generally";
}

phrase_lists! {
    /// Beginnings of a request for a task.
    REQUESTS = "can you | could you | would you | will you | can we | could we | kannst du | können sie | könntest du | \
        peux-tu | pouvez-vous | puedes";
    /// Phrases that make the items of a list rules.
    LISTED = "repeat them | repeat myself | repeat it | repeat that | preferences of mine | my rules | our rules | my house rules | \
        our house rules | rules of mine | rules for you | my conventions | our conventions | my ground rules | \
        meine regeln | unsere regeln";
    /// Phrases of duration.
    DURATIONS = "from now on | from today on | going forward | in future | ab jetzt | von jetzt an | ab sofort | \
        künftig | à partir de maintenant | désormais | de ahora en adelante";
    /// Conditions that make a sentence a rule.
    ASKED = "when i ask | whenever i ask | if i ask | every time i ask | each time i ask | when asked | if asked | \
        when i mention | whenever i mention | when i request | whenever i request | wenn ich nach | wenn ich frage";
    /// Phrases of orders anywhere in a sentence.
    ANYWHERE = "please always | please never | please don't | please do not | please avoid | bitte immer | bitte nie | \
        bitte niemals | bitte keine | bitte kein | bitte nicht | under no circumstances | make sure to always | \
        make sure to never | make sure you always | make sure you never | make sure that you always | \
        make sure that you never | it is important that you never | it is important that you always | \
        it's important that you never | it's important that you always | i don't want you to | i do not want you to | \
        i want you to always | i want you to never | i need you to be | i want you to be | i'd like you to be | \
        i need you to always | i need you to never | ich möchte dass du immer | ich möchte nicht dass du";
    /// Phrases of orders at the beginning of a sentence.
    AT_THE_BEGINNING = "you must | you mustn't | you must not | you must never | you must always | you should always | \
        you should never | we must not | we mustn't | we must never | we must always | do not | do not ever | don't ever | \
        du darfst nie | du darfst niemals";
    /// Orders about answers at the beginning of a sentence.
    ANSWERS = "duze | duz | sieze | answer only in | reply only in | respond only in | ask before | ask me before | address me | answer in | reply in | respond in | answer with at most | keep answers | keep your answers | \
        keep the answers | keep replies | keep your replies | keep the replies | keep responses | keep your responses | \
        keep it under | keep them under | use only | only use | stop using | stop apologizing | stop apologising | stop repeating | stop answering | stop replying | stop writing | stop giving | stop adding | \
        stop asking | stop calling | stop including | stop showing | stop suggesting | remember that i | no more | \
        merk dir | nenn mich | antworte auf | antworte immer | antworte bitte | schreib immer | \
        schreibe immer | du kannst mich duzen | réponds en | réponds toujours | n'utilise jamais | ne propose jamais | \
        responde en | responde siempre";
    /// Beginnings of a request of somebody, which is a rule before "always", "never" and "stop".
    ASKED_OF_YOU = "could you | can you | would you | could we | could you please | can you please | would you please | \
        könntest du | kannst du";
    /// Phrases before an order, and beginnings of a sentence that lead to one.
    LEADS = "btw | before that | first of all | by the way | fyi | also please | one more thing | one last thing | another thing | one other thing | übrigens";
    SERIOUS = "serious for | seriously | actually | honestly | oh and";
    /// Conditions about what a model does.
    WORKS = "when you write | when you make | when you create | when you generate | when you use | when you review | when you explain | \
        when you summarize | when you summarise | when you refer | when you send | when you answer | when you suggest | when you recommend | when you give | when you name | \
        when you show | when you list | when you translate | when you quote | whenever you write | whenever you suggest | \
        whenever you answer | wenn du schreibst | wenn du antwortest";
    /// Orders about the length of answers, if "at most" follows.
    KEPT_TO = "keep it to | keep them to | keep that to";
    AT_MOST = "at most | max | maximum | or less | or fewer";
    /// Phrases of rules that bind people, too.
    FIRM = "from now on | so from now on | and from now on | ab jetzt | ab sofort | von jetzt an | please always | please never | bitte immer | bitte nie | under no circumstances";
    /// Bans and duties of a thing: "Patient data must never appear in log files."
    BOUND = "must never | must always | must under no circumstances | may never | darf nie | darf niemals | dürfen nie | \
        dürfen niemals | muss immer | müssen immer";
    /// Phrases of repetition.
    EACH_TIME = "before each | before every | before any | after each | after every";
    /// Phrases that make an order a remark to a person.
    CHEERS = "give up | give in | give it | bright side | make me laugh | get me wrong | get me started | hold your breath | no more questions | ask me how | ask me why | be afraid | be hard | miss out | hold back | let go | look back | too late | this time | \
        for now | at the moment | this one";
}

/// Maximum words of a sentence like "No emojis please."
const SHORT: usize = 8;
/// Maximum words that lead to an order.
const LEAD: usize = 10;
/// Maximum words of a cheer like "Never give up!"
const CHEER: usize = 6;
/// Maximum words of "in lower case" and the like.
const IN_STYLE: usize = 4;
/// Minimum words of a rule, and of an order about style: "Be brief."
const FEWEST: usize = 3;
const FEWEST_OF_STYLE: usize = 2;
/// Maximum words of a sentence that binds a thing.
const BINDS: usize = 20;

/// The lasting instruction of a sentence, without "by the way" or "One more thing:".
pub(super) fn order<'a>(sentence: &Sentence<'a>) -> Option<Sentence<'a>> {
    let from = |word: &Word<'_>| sentence.text.get(word.at..).map(Sentence::of);
    let begin = begin_behind_lead(sentence);
    if is_asked(sentence) || is_rule(sentence) {
        return Some(Sentence::of(sentence.text));
    }
    let order = from(sentence.words.get(begin).filter(|_| begin > 0)?)?;
    (is_asked(&order) || is_rule(&order)).then_some(order)
}

/// Index of the first word behind what leads to an order: "btw", "A few requests:", "Forget that rule,"; 0 without one.
fn begin_behind_lead(sentence: &Sentence<'_>) -> usize {
    let keys = &sentence.keys;
    let openers = keys.iter().position(|key| !OPENERS.contains(key)).unwrap_or(0);
    let lead = LEADS.at(keys.get(openers..).unwrap_or_default()).map(|(length, ())| openers + length).max();
    if lead.is_some() {
        return lead.unwrap_or(0);
    }
    let mark = |at: &usize| sentence.words.get(*at).is_some_and(|word| sentence.is_after_comma(word));
    let Some(mark) = (1..keys.len().min(LEAD + 1)).find(mark) else { return 0 };
    let before = sentence.words.get(mark).and_then(|word| sentence.text.get(..word.at)).unwrap_or_default();
    let announces = before.trim_end().ends_with(':')
        && keys.get(..mark).is_some_and(|lead| lead.iter().any(|key| ANNOUNCES.contains(key)));
    let ends = keys.get(..mark).is_some_and(super::announcing::ends_rule);
    if announces || ends || SERIOUS.are_in(keys.get(..mark).unwrap_or_default()) { mark } else { 0 }
}

/// True for a lasting request: "Could you always give both units?", "Can you please stop using emojis?"
pub(super) fn is_asked(sentence: &Sentence<'_>) -> bool {
    let begin = begin(sentence);
    let keys = sentence.keys.get(begin..).unwrap_or_default();
    let Some(length) = ASKED_OF_YOU.at(keys).map(|(length, ())| length).max() else { return false };
    let please = usize::from(keys.get(length).is_some_and(|key| PLEASE.contains(key)));
    let is_polite = please > 0 || keys.iter().take(length).all(|word| *word != key("can") && *word != key("would"));
    let next = keys.get(length + please);
    let verb = sentence.words.get(begin + length + please + 1);
    let is_free = verb.is_some_and(|verb| !REMARKS.contains(&verb.key) && !tells(verb));
    let stops = next == Some(&key("stop")) && verb.is_some_and(|verb| verb.text.ends_with("ing"));
    // "Could you give prices in euros from now on?"
    let is_lasting = DURATIONS.are_in(keys);
    let holds =
        is_lasting || is_polite && next.is_some_and(|next| FOREVER.contains(next) || *next == key("not")) && is_free;
    let is_now = !is_lasting && sentence.keys.iter().any(|key| MOMENTS.contains(key));
    let is_of_moment = is_now || CHEERS.are_in(&sentence.keys);
    (stops || holds) && !is_of_moment && keys.len() >= FEWEST + length
}

/// True for a rule that states its duration, and so binds people too: "From now on, no closing without a tag."
pub(super) fn is_firm(sentence: &Sentence<'_>) -> bool {
    FIRM.at(&sentence.keys).next().is_some()
}

/// The end of the first of two orders in a sentence, and the second: "Stop apologizing, and show diffs, not files."
pub(super) fn second<'a>(sentence: &Sentence<'a>) -> Option<(usize, &'a str)> {
    let is_limited =
        sentence.find(&DURATIONS).is_some_and(|(at, _)| at <= begin(sentence)) || ASKED.are_in(&sentence.keys);
    let and = sentence.words.windows(2).find_map(|pair| {
        let [and, verb] = pair else { return None };
        let orders = ORDERS.contains(&verb.key) || STYLE_VERBS.contains(&verb.key) || DONT.contains(&verb.key);
        (and.text == "and" && sentence.is_after_comma(and) && orders).then_some((and, verb))
    });
    let (and, verb) = and.filter(|_| !is_limited)?;
    let first = sentence.text.get(..and.at)?.trim_end().trim_end_matches(',');
    let second = sentence.text.get(verb.at..)?;
    let is_whole = Sentence::of(second).words.len() >= FEWEST && order(&Sentence::of(first)).is_some();
    is_whole.then_some((first.len(), second))
}

/// True if a sentence is a lasting instruction.
fn is_rule(sentence: &Sentence<'_>) -> bool {
    if asks(sentence.text) || is_remark(sentence) {
        return false;
    }
    refuses(sentence)
        || forbids_ever(sentence)
        || sentence.words.len() >= FEWEST_OF_STYLE && sets_style(sentence)
        || sentence.words.len() >= FEWEST && (lasts(sentence) || is_ordered(sentence) || binds_texts(sentence))
        || ends_in_rule(sentence)
}

/// True if the label of a list makes its items rules: "From now on:", "Please always:".
pub(super) fn opens_list(label: &Sentence<'_>) -> bool {
    LISTED.are_in(&label.keys)
        || DURATIONS.are_in(&label.keys)
        || label.keys.last().is_some_and(|key| FOREVER.contains(key))
}

/// True if a sentence asks for a task at hand: "Can you look?"
pub(super) fn requests(sentence: &str) -> bool {
    let sentence = Sentence::of(sentence);
    let begin = begin(&sentence);
    let from = sentence.keys.get(begin..).unwrap_or_default();
    asks(sentence.text) && REQUESTS.at(from).next().is_some() && !is_asked(&sentence)
}

/// True if a rule names its duration, its condition, or what it always holds for.
pub(super) fn names_duration(sentence: &Sentence<'_>) -> bool {
    let keys = &sentence.keys;
    let is_lasting = |key: &u64| FOREVER.contains(key) || LASTING.contains(key);
    keys.iter().any(is_lasting) || [&DURATIONS, &ASKED, &EACH_TIME].iter().any(|phrases| phrases.are_in(keys))
}

/// True for remarks to a person, and orders that apply only now.
fn is_remark(sentence: &Sentence<'_>) -> bool {
    let keys = &sentence.keys;
    let begin = begin(sentence);
    // "Don't tempt me."
    let is_banter = keys.get(begin).is_some_and(|key| DONT.contains(key))
        && keys.len() == begin + 3
        && keys.last().is_some_and(|last| PERSONS.contains(last));
    let is_cheer = is_banter || sentence.text.ends_with('!') && keys.len() <= CHEER;
    let addresses = keys.iter().any(|key| ADDRESSES.contains(key))
        && !keys.iter().any(|key| OUTPUTS.contains(key))
        && !is_for_you(sentence, begin);
    let is_of_moment = !DURATIONS.are_in(keys) && keys.iter().any(|key| MOMENTS.contains(key));
    let asks = keys.get(begin).is_some_and(|key| ASKING.contains(key)) && keys.get(begin + 1) != Some(&key("not"));
    is_cheer || addresses || is_of_moment || asks || CHEERS.are_in(keys)
}

/// True for a ban of what somebody may not do without others: "Never run the migrations yourself."
fn is_for_you(sentence: &Sentence<'_>, begin: usize) -> bool {
    let keys = &sentence.keys;
    let bans = keys.get(begin).is_some_and(|first| FOREVER.contains(first) || DONT.contains(first));
    let own = keys.iter().position(|word| *word == key("yourself")).filter(|own| *own >= begin + 3);
    bans && own.is_some_and(|own| keys.get(own - 1).is_some_and(|before| !PREPOSITIONS.contains(before)))
}

/// True for an order that names its duration or condition: "From now on answer in German."
fn lasts(sentence: &Sentence<'_>) -> bool {
    let begin = begin(sentence);
    let is_order = |at: usize| sentence.keys.get(at).is_some_and(|key| !NARRATORS.contains(key));
    if let Some((at, length)) = sentence.find(&DURATIONS) {
        // "Answer in German from now on.", but not "the roads in future plans".
        let is_at_an_end = at <= begin || at + length + 1 >= sentence.keys.len();
        let ordering = if at <= begin { at + length } else { begin };
        let is_ours = at <= begin && sentence.keys.get(ordering) == Some(&key("we"));
        return is_at_an_end && (is_order(ordering) || is_ours);
    }
    if WORKS.at(sentence.keys.get(begin..).unwrap_or_default()).next().is_some() {
        // "When you write SQL for me, use lower case."
        let ordering = sentence.words.iter().find(|word| sentence.is_after_comma(word));
        return ordering.is_some_and(|order| ORDERS.contains(&order.key) || FOREVER.contains(&order.key));
    }
    let Some((at, _)) = sentence.find(&ASKED) else {
        // "Whenever I send code, run the tests first."
        let ordering = sentence.words.iter().find(|word| sentence.is_after_comma(word));
        return sentence.keys.get(begin) == Some(&key("whenever"))
            && ordering.is_some_and(|order| ORDERS.contains(&order.key));
    };
    if at > begin {
        return is_order(begin);
    }
    // "When I ask about invoices, name the accountant."
    let ordering = sentence.words.iter().position(|word| sentence.is_after_comma(word));
    ordering.is_some_and(is_order)
}

/// True for an order or a ban: "Never push to main.", "You must run the tests before each commit."
fn is_ordered(sentence: &Sentence<'_>) -> bool {
    let begin = begin(sentence);
    let from = sentence.keys.get(begin..).unwrap_or_default();
    let is_free = |at: usize, words: &KeySet| {
        sentence.words.get(at).is_some_and(|word| !words.contains(&word.key) && !tells(word))
    };
    let longest = |phrases: &Phrases<()>| phrases.at(from).map(|(length, ())| length).max();
    if from.first().is_some_and(|key| FOREVER.contains(key)) {
        return is_free(begin + 1, &REMARKS);
    }
    if from.first().is_some_and(|key| DONT.contains(key)) {
        let ever = usize::from(from.get(1) == Some(&key("ever")));
        return is_free(begin + 1 + ever, &NO_RULES);
    }
    if from.first() == Some(&key("avoid")) {
        return is_free(begin + 1, &ONE_THING);
    }
    if let Some(length) = longest(&AT_THE_BEGINNING) {
        return is_free(begin + length, &NO_RULES);
    }
    if longest(&KEPT_TO).is_some() {
        return AT_MOST.are_in(from);
    }
    if EACH_TIME.are_in(from) && from.first().is_some_and(|verb| ACTS.contains(verb)) {
        return true;
    }
    if let Some((at, length)) = sentence.find(&ANYWHERE) {
        return is_free(at + length, &NO_RULES);
    }
    if from.len() <= BINDS && sentence.find(&BOUND).is_some_and(|(at, length)| is_bound(sentence, at, length)) {
        return true;
    }
    // "No more DELETE on orders" is about the thing at hand.
    let is_of_thing =
        from.starts_with(&[key("no"), key("more")]) && from.iter().any(|word| PREPOSITIONS.contains(word));
    if is_of_thing {
        return false;
    }
    let is_named = from.starts_with(&[key("call"), key("me")])
        && sentence.words.get(begin + 2).is_some_and(|word| word.form == Form::Capital);
    is_named || longest(&ANSWERS).is_some_and(|length| from.len() > length)
}

/// True if a thing, and nobody who tells of it, is bound by a phrase: not "I must never have been there".
fn is_bound(sentence: &Sentence<'_>, at: usize, length: usize) -> bool {
    let before = sentence.keys.get(..at).unwrap_or_default();
    let names = sentence.words.get(..at).unwrap_or_default().iter().any(|word| !is_common(word));
    let is_free = sentence.words.get(at + length).is_some_and(|word| !tells(word) && word.text != "have");
    names && is_free && !before.iter().any(|key| NARRATORS.contains(key))
}

/// True for an order about style: "Write SQL in lower case", "use tabs, not spaces, everywhere".
fn sets_style(sentence: &Sentence<'_>) -> bool {
    let from = sentence.keys.get(begin(sentence)..).unwrap_or_default();
    let (Some(verb), Some(object)) = (from.first(), from.get(1)) else { return false };
    let has_style = |keys: &[u64]| keys.iter().any(|key| STYLES.contains(key));
    if STYLE_VERBS.contains(verb) {
        return !ONE_THING.contains(object) && has_style(from);
    }
    let is_only = from.len() <= SHORT && from.iter().rev().take(2).any(|of| *of == key("only"));
    if is_only && has_style(from) && !NARRATORS.contains(verb) {
        return true;
    }
    let style = from.iter().position(|of| *of == key("in")).and_then(|at| from.get(at..)).unwrap_or_default();
    let is_style = has_style(style.get(..style.len().min(IN_STYLE)).unwrap_or_default());
    WRITING_VERBS.contains(verb) && !ONE_THING.contains(object) && is_style
}

/// True for a wish to omit something: "No emojis please", "Please no tables".
fn refuses(sentence: &Sentence<'_>) -> bool {
    let keys = &sentence.keys;
    let no = key("no");
    let opener = usize::from(keys.first().is_some_and(|key| OPENERS.contains(key) && !PLEASE.contains(key)));
    let (first, second) = (keys.get(opener), keys.get(opener + 1));
    let is_please = |key: Option<&u64>| key.is_some_and(|key| PLEASE.contains(key));
    let is_word = second.is_none_or(|key| NO_REFUSALS.contains(key));
    let is_known = second.is_some_and(|key| REFUSED.contains(key)) && keys.len() < SHORT;
    let begins = first == Some(&no) && !is_word && (is_please(keys.last()) || is_known);
    (begins || is_please(first) && second == Some(&no)) && (2..=SHORT).contains(&keys.len())
}

/// True for a ban without a verb: "So no nuts, ever."
fn forbids_ever(sentence: &Sentence<'_>) -> bool {
    let from = sentence.keys.get(begin(sentence)..).unwrap_or_default();
    let names = from.get(1).is_some_and(|next| !NO_REFUSALS.contains(next));
    from.first() == Some(&key("no")) && names && from.contains(&key("ever")) && from.len() <= SHORT
}

/// True for a rule about all texts of a kind: "All texts must be in British English.", "Comments in English."
fn binds_texts(sentence: &Sentence<'_>) -> bool {
    let begin = begin(sentence);
    let is_text = |at: usize| sentence.keys.get(at).is_some_and(|key| TEXTS.contains(key));
    let is_every = sentence.keys.get(begin).is_some_and(|key| EVERY.contains(key)) && is_text(begin + 1);
    let has = |word: &str| sentence.keys.contains(&key(word));
    let second = sentence.keys.get(begin + 1);
    let is_bound = has("must") || is_every && (has("needs") || has("need") || has("gets") || has("get"));
    if is_bound && (is_every || is_text(begin) && second == Some(&key("must"))) {
        return true;
    }
    // "Comments in English", "All amounts in cents"
    let link = if is_every { begin + 2 } else { begin + 1 };
    let is_linked = sentence.keys.get(link).is_some_and(|key| LINKS.contains(key));
    let has_style = sentence.keys.iter().any(|key| STYLES.contains(key));
    (is_every || is_text(begin) && has_style) && is_linked && sentence.words.len() <= SHORT
}

/// True if a sentence ends like a rule: "Every function needs a docstring, always.", "I eat no pork, never suggest it."
fn ends_in_rule(sentence: &Sentence<'_>) -> bool {
    let words = &sentence.words;
    let is = |word: &Word<'_>, text: &str| word.text.eq_ignore_ascii_case(text);
    let orders = |pair: &[Word<'_>]| {
        let [never, next] = pair else { return false };
        (is(never, "never") || is(never, "always"))
            && sentence.is_after_comma(never)
            && !REMARKS.contains(&next.key)
            && !tells(next)
    };
    let is_last = words.last().is_some_and(|last| is(last, "always") && sentence.is_after_comma(last));
    let asks = words.last().is_some_and(|last| PLEASE.contains(&last.key)) && words.len() <= SHORT;
    let without = words.iter().any(|word| is(word, "without"));
    words.len() >= FEWEST && (is_last || asks && without || words.windows(2).any(orders))
}

/// True for the form of a report: "never been asked", "always working".
fn tells(word: &Word<'_>) -> bool {
    let text = word.text;
    let is_past = text.ends_with("ed") && text != "embed" && text != "feed";
    // "He never misses"
    let is_third = text.len() > 3 && text.ends_with('s') && !text.ends_with("ss") && !text.ends_with("us");
    text.ends_with("ing") || is_past || is_third && word.form == Form::Plain
}

/// Index of the first word that is not an opener; a sentence of only openers begins at its first word.
fn begin(sentence: &Sentence<'_>) -> usize {
    sentence.keys.iter().position(|key| !OPENERS.contains(key)).unwrap_or(0)
}
