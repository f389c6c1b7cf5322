//! Titles of conversations, made from their first message.

use std::{collections::HashSet, sync::LazyLock};

use unicode_width::UnicodeWidthStr;

use crate::{
    cues::{Cues, cues},
    markup::push_plain,
    phrases::{Phrases, phrase_lists, word_lists},
    said::said,
    sentences::closes,
    spoken::spoken,
    terms::is_common,
    words::{Form, KeySet, Word, keys, words},
};

/// Maximum columns of a title.
const LONGEST: usize = 60;
/// Maximum sentences that are tried, since greetings may come first.
const TRIED: usize = 6;

/// Greetings at the beginning of a message. Some are followed by a name: "Hey Sam,".
const GREETINGS: &str = "hi | hello | hey | hi there | hello there | hey there | good morning | good afternoon | good evening | dear | \
                         great to meet you | nice to meet you | good to meet you | great to see you | nice to see you | \
                         good to see you | good to hear from you | great to hear from you | how are you | how are you doing | \
                         how's it going | what's up | welcome back | \
                         morning | afternoon | evening | greetings | thanks | thank you | hi all | hi everyone | hello everyone | \
                         hallo | guten tag | guten morgen | guten abend | moin | bonjour | bonsoir | hola | buenos días | ciao | \
                         buongiorno | hej | olá | 你好 | こんにちは | 早 | 早啊 | 早上好 | 晚上好 | おはよう | おはようございます | こんばんは | 안녕 | 안녕하세요 | 굿모닝 | \
                         좋은 아침 | привет | здравствуйте | доброе утро | добрый день | добрый вечер | günaydın | merhaba | selam | \
                         iyi akşamlar | buenas tardes | buenas noches | buenas | bom dia | boa tarde | boa noite | oi | salut | coucou | \
                         goedemorgen | goedendag | hoi | god morgon | god morgen | hei | cześć | dzień dobry | dobrý den | ahoj | \
                         नमस्ते | सुप्रभात | صباح الخير | مساء الخير | مرحبا | السلام عليكم | سلام | بוקר טוב | שלום | สวัสดี | \
                         xin chào | selamat pagi | servus | grüß gott | na";
/// Polite openers that turn a request into a question.
const ASKS: &str = "can you | could you | would you | will you | can you please | could you please | would you please | \
                    can you help me | could you help me | can you help me to | could you help me to | i wonder if | \
                    i was wondering if | can you help me with | could you help me with | kannst du | können sie";
const OPENERS: &str = "please | help me | help me to | please help me | please help me to | i want to | i'd like to | \
                       i would like to | i need to | i need you to | i want you to | i'm trying to | i am trying to | i have to | \
                       we want to | we'd like to | we need to | we're trying to | we have to | let's | let us | \
                       i'd like you to | i need help with | i need some help with | help me with | so | ok | okay | \
                       well | now | and | uh | um | hmm | yep | yeah | oh | bitte | ich möchte | ich will";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opener {
    Greets,
    Asks,
    Begins,
}

static OPENING: LazyLock<Phrases<Opener>> =
    LazyLock::new(|| Phrases::listed(&[(Opener::Greets, GREETINGS), (Opener::Asks, ASKS), (Opener::Begins, OPENERS)]));

/// A title for a conversation that begins with `text`: the first sentence with content, without greetings and polite
/// openers, on one line of at most 60 columns. A message of only code or data gives its first line; `None` without
/// words.
#[must_use]
pub fn title(text: &str) -> Option<String> {
    let of_matter = spoken(text).take(TRIED).find_map(matter);
    let of_matter = of_matter.as_deref().map(shortened);
    of_matter.or_else(|| said(text).lines().map(str::trim).find(|line| words(line).next().is_some()).map(shortened))
}

/// True if a text has content, not only greetings. Code and data count as content.
#[must_use]
pub fn has_matter(text: &str) -> bool {
    let mut said = spoken(text).take(TRIED).peekable();
    if said.peek().is_none() {
        return words(&crate::said(text)).next().is_some();
    }
    said.any(|sentence| matter(sentence).is_some())
}

/// Words of greetings, thanks, farewells and assent. A text of only these has no content.
const SMALL: &str = "good night evening morning afternoon day hi hello hey yes yep yeah no nope ok okay k sure continue go on ahead \
                     proceed next cheers mate thanks thank thx ty you so much very for your help today see tomorrow later soon \
                     have a nice great lovely perfect awesome cool fine weekend bye goodbye please danke dankeschön schön vielen \
                     dank tschüss tschüs bis bald morgen gute nacht guten abend hallo ja nein merci beaucoup au revoir bonne nuit \
                     bonjour bonsoir oui non gracias muchas adiós hola hasta luego mañana buenas buenos noches días sí grazie \
                     mille ciao arrivederci buongiorno buonanotte obrigado obrigada tchau dank je wel doei hoi bedankt tak tack \
                     hej takk dziękuję cześć спасибо большое до свидания пока привет да нет teşekkürler teşekkür ederim güle \
                     merhaba evet 谢谢 谢谢你 再见 你好 好的 晚安 ありがとう ありがとうございます さようなら おやすみ はい 감사합니다 안녕히 \
                     안녕 가세요 계세요 네 धन्यवाद नमस्ते شكرا مرحبا תודה שלום";

static SMALL_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| SMALL.split_whitespace().collect());

/// True if a text consists only of greetings, thanks, assent and the like: "Thanks, bye!", "continue", "👍"
#[must_use]
pub fn is_small_talk(text: &str) -> bool {
    let is_small = |word: &str| SMALL_WORDS.contains(word.to_lowercase().as_str());
    let ends = |c: char| c.is_whitespace() || c.is_ascii_punctuation() || "，。！、；…¡¿·".contains(c);
    let pieces = || text.split(ends).filter(|piece| piece.chars().any(char::is_alphanumeric));
    if pieces().all(is_small) {
        return !text.contains(['?', '？']) && !text.trim().is_empty();
    }
    let is_said = |sentence: &str| {
        let keys = keys(sentence);
        cues(sentence, &keys).has(Cues::SMALL_TALK)
    };
    !text.contains('?') && !has_matter(text) && spoken(text).any(is_said)
}

/// Marks that may begin a word.
const OPENING_MARKS: [char; 14] = ['<', '(', '[', '{', '$', '@', '#', '/', '~', '.', '"', '\'', '¿', '¡'];

/// Requests within a sentence, before the matter: "I'm kinda stressed, could you help me create a schedule".
const REQUESTS: &str = "can you help me | could you help me | can you help me to | could you help me to | you could help me | \
                        you can help me | you could help me with | you can help me with | help me to | help me | can you help me with | could you help me with | \
                        help me with";
static REQUEST_PHRASES: LazyLock<Phrases<()>> = LazyLock::new(|| Phrases::listed(&[((), REQUESTS)]));

/// First words of a request that names nothing: "help me with that".
const POINTS: [&str; 4] = ["that", "this", "it", "here"];

/// Questions within a long sentence, which say what it is about: "I'm 60 and work a lot, how do I rest".
const QUESTIONS: &str = "how can i | how do i | how should i | how could i | how can we | how do we | how should we | what should i | \
                         what should we | what can i | what are some | what is the best | what's the best | what are the best | \
                         how i can | how i could | how i should | how to best | wie kann ich | was soll ich | wie soll ich";
static QUESTION_PHRASES: LazyLock<Phrases<()>> = LazyLock::new(|| Phrases::listed(&[((), QUESTIONS)]));

phrase_lists! {
    /// Beginnings of a sentence about oneself.
    OF_ONESELF = "i'm | i am | i feel | i've been | i have been | we're | we are";
    /// Beginnings of an introduction.
    INTRODUCES = "i'm | i am | my name is | this is | it's";
}

word_lists! {
    /// Words before "help me" that make it a statement.
    WILLS = "will would could can might may to should did does really always";
    /// Words before a feeling or an intention.
    DEGREES = "kinda a bit little really so still now just also pretty quite very feeling getting currently honestly somewhat \
        slightly starting super";
    /// Feelings and intentions, whose matter follows.
    FEELINGS = "worried stressed curious concerned anxious confused struggling unsure excited nervous overwhelmed frustrated \
        thinking interested stuck preparing planning looking focusing hoping torn afraid scared considering debating \
        exploring wondering";
    /// Intentions that need no preposition.
    BARE = "considering debating exploring";
    /// Words between a feeling and its matter.
    PREPOSITIONS = "about with on by for at in into over of";
    /// First words of a clause that a title leaves out.
    CLAUSES = "i i'm i've i'd i'll we we're we've can could would will do does did is are how what which where when why who \
        because since considering especially given though although even so but that's it's it they he she you please thanks";
}

/// Words of noise in speech.
const NOISE: [&str; 10] = ["uh", "um", "uhm", "hmm", "mm", "mhm", "er", "erm", "huh", "mm-hmm"];

/// Maximum words of a fragment that repeats a word.
const STUTTER: usize = 12;

/// True for a word of noise in speech.
pub(crate) fn is_noise_word(word: &str) -> bool {
    NOISE.iter().any(|noise| word.eq_ignore_ascii_case(noise))
}

/// True for a fragment or noise of speech: "To to handle", "How uh how we doing ?", "We 're going ?".
fn is_noise(text: &str, all: &[Word<'_>]) -> bool {
    let repeats = |pair: &[Word<'_>]| matches!(pair, [a, b] if a.key == b.key && a.form != Form::Figure && a.form != Form::Unspaced);
    let is_transcript = text.contains(" '") || text.contains(" ?") || text.contains(" ,") || text.ends_with(" .");
    let informative = all.iter().filter(|word| word.form == Form::Figure || !is_common(word)).count();
    // "Where f f' is zero" in a long sentence is a formula.
    let stutters = all.len() <= STUTTER && all.windows(2).any(repeats);
    all.iter().any(|word| is_noise_word(word.text)) || stutters || is_transcript && informative < 3
}

/// The matter of a request within a sentence, if it says what is asked for.
fn requested<'t>(text: &'t str, all: &[Word<'_>]) -> Option<&'t str> {
    let keys: Vec<u64> = all.iter().map(|word| word.key).collect();
    let find = |phrases: &Phrases<()>| {
        // "This habit will help me rest" asks for nothing.
        let is_free = |at: usize| keys.get(at - 1).is_none_or(|before| !WILLS.contains(before));
        let at = |at: usize| Some((at, phrases.at(keys.get(at..)?).map(|(length, ())| length).max()?));
        (1..keys.len()).filter(|index| is_free(*index)).find_map(at)
    };
    let Some((at, length)) = find(&REQUEST_PHRASES) else {
        // A short sentence says it better itself.
        let (at, _) = find(&QUESTION_PHRASES).filter(|_| text.width() > LONGEST)?;
        return text.get(all.get(at)?.at..);
    };
    let rest = all.get(at + length..)?;
    let informative = rest.iter().filter(|word| !is_common(word)).count();
    // "Help me with that", "help me solve it if …"
    let points = rest.iter().take(2).any(|word| POINTS.contains(&word.text));
    (informative > 1 && !points).then(|| text.get(rest.first()?.at..)).flatten()
}

/// The content of a sentence; `None` for a greeting, and for words without meaning of their own.
fn matter(sentence: &str) -> Option<String> {
    let mut plain = String::new();
    push_plain(sentence, &mut plain);
    let all: Vec<Word<'_>> = words(&plain).collect();
    if is_noise(&plain, &all) {
        return None;
    }
    if let Some(requested) = requested(&plain, &all) {
        return Some(requested.trim_end_matches('?').to_owned());
    }
    let (first, asks) = after_openers(&plain, &all);
    let rest = all.get(first..)?;
    if rest.iter().all(|word| word.form != Form::Figure && is_common(word)) {
        return None;
    }
    let word = rest.first()?.at;
    let before = plain.get(..word)?;
    // A mark belongs to the adjacent word, as in `<image>` and `.gitignore`.
    let free = before.trim_end_matches(OPENING_MARKS);
    let begins = if free.ends_with(|c: char| !c.is_whitespace()) { word } else { free.len() };
    let said = plain.get(begins..)?;
    // "Can you plan a trip?" without its opener is not a question.
    let said = if asks { said.trim_end_matches('?') } else { said };
    Some(said.to_owned())
}

/// Index of the first word after greetings, the greeted name and polite openers; true if an opener made it a question.
fn after_openers(text: &str, all: &[Word<'_>]) -> (usize, bool) {
    let keys: Vec<u64> = all.iter().map(|word| word.key).collect();
    let follows = |index: usize| {
        let end = index.checked_sub(1).and_then(|last| all.get(last)).map_or(0, |word| word.at + word.text.len());
        text.get(end..).unwrap_or_default()
    };
    let (mut first, mut asks) = (0, false);
    loop {
        first += introduction(text, all.get(first..).unwrap_or_default());
        let opener = OPENING.at(keys.get(first..).unwrap_or_default()).max_by_key(|(length, _)| *length);
        let is_opener = |length: usize| !is_let(all.get(first..first + length).unwrap_or_default(), first > 0);
        let Some((length, opener)) = opener.filter(|(length, _)| is_opener(*length)) else { break };
        first += length;
        asks |= *opener == Opener::Asks;
        let is_name = all.get(first).is_some_and(|word| word.form == Form::Capital);
        if *opener == Opener::Greets && is_name && follows(first + 1).starts_with([',', '!', '.', ':']) {
            first += 1;
        }
    }
    (first + feeling(keys.get(first..).unwrap_or_default()), asks)
}

/// Maximum words of who somebody is: "a nurse from Ghent".
const APPOSITION: usize = 8;

/// Number of words of an introduction at the beginning: "I'm Ada, and".
fn introduction(text: &str, all: &[Word<'_>]) -> usize {
    let keys: Vec<u64> = all.iter().take(4).map(|word| word.key).collect();
    let Some(name) = INTRODUCES.at(&keys).map(|(length, ())| length).max() else { return 0 };
    let Some(word) = all.get(name).filter(|word| word.form == Form::Capital && !is_common(word)) else { return 0 };
    let is_name = text.get(word.at + word.text.len()..).is_some_and(|behind| behind.starts_with([',', '.', '!']));
    if !is_name || all.get(name + 2).is_none() {
        return 0;
    }
    // "I'm Ada, a nurse from Ghent, and"
    let is_apposition = all.get(name + 1).is_some_and(|next| ["a", "an", "the"].contains(&next.text));
    let ends = |pair: &[Word<'_>]| matches!(pair, [before, next] if text.get(before.at + before.text.len()..next.at).is_some_and(|gap| gap.contains(',')));
    let behind = all.get(name + 1..).unwrap_or_default();
    let apposition = behind.windows(2).take(APPOSITION).position(ends).filter(|_| is_apposition).map_or(0, |at| at + 1);
    name + 1 + apposition
}

/// Number of words of a feeling or an intention, behind which its matter follows: "I'm a bit worried about".
fn feeling(keys: &[u64]) -> usize {
    let Some(begin) = OF_ONESELF.at(keys).map(|(length, ())| length).max() else { return 0 };
    let degrees = keys.iter().skip(begin).take_while(|key| DEGREES.contains(key)).count();
    let at = begin + degrees;
    let is_in = |at: usize, words: &KeySet| keys.get(at).is_some_and(|key| words.contains(key));
    match () {
        () if !is_in(at, &FEELINGS) => 0,
        () if is_in(at + 1, &PREPOSITIONS) => at + 2,
        () if is_in(at, &BARE) && !is_in(at + 1, &CLAUSES) => at + 1,
        () => 0,
    }
}

/// True for a single "let", or "lets" within a sentence, whose keys equal that of "let's".
pub(crate) fn is_let(words: &[Word<'_>], is_within: bool) -> bool {
    let is = |word: &Word<'_>, form: &str| word.text.eq_ignore_ascii_case(form);
    matches!(words, [word] if is(word, "let") || is_within && is(word, "lets"))
}

/// Words that join a clause to the one before.
const JOINS: [&str; 6] = ["and", "so", "but", "or", "like", "because"];

/// End of the first clause within a long title, or of the second one where it is very short: "The roof of the old barn"
/// of "The roof of the old barn, I'm new here and can you help".
fn clause_end(title: &str) -> Option<usize> {
    let all: Vec<Word<'_>> = words(title).collect();
    let is_clause = |at: usize| all.get(at).is_some_and(|word| CLAUSES.contains(&word.key));
    let ends = all.windows(2).enumerate().filter_map(|(index, pair)| {
        let [before, next] = pair else { return None };
        let end = before.at + before.text.len();
        let gap = title.get(end..next.at)?;
        let is_marked = gap.contains([';', '—', '–']) || gap.contains(" - ") || gap.contains(". ");
        let joins = JOINS.contains(&next.text) && is_clause(index + 2);
        (is_marked || joins || gap.contains(',') && is_clause(index + 1)).then_some((index, end))
    });
    let says_something = |index: usize| {
        index > 0 && all.iter().take(index + 1).any(|word| word.form == Form::Figure || !is_common(word))
    };
    let columns = |end: usize| title.get(..end).map_or(0, UnicodeWidthStr::width);
    let mut ends = ends.filter(|(index, end)| columns(*end) < LONGEST && says_something(*index)).map(|(_, end)| end);
    let first = ends.next()?;
    if columns(first) >= LONGEST / 3 { Some(first) } else { ends.next().or(Some(first)) }
}

/// The beginning of a text that takes at most `most` columns.
fn within(text: &str, most: usize) -> &str {
    // Characters together may be wider than each.
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8()).take(most * 4);
    let fits = |end: &usize| text.get(..*end).is_some_and(|head| head.width() <= most);
    text.get(..ends.take_while(fits).last().unwrap_or(0)).unwrap_or_default()
}

/// One line with a capital, cut after a clause or a word.
pub(crate) fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = line.trim_end_matches(|c: char| matches!(c, '.' | ',' | ':' | ';' | '!') || c.is_whitespace());
    let mut title: String = line.chars().take(1).flat_map(char::to_uppercase).collect();
    title.extend(line.chars().skip(1));
    if title.width() > LONGEST {
        if let Some(clause) = clause_end(&title).and_then(|end| title.get(..end)) {
            return format!("{clause}…");
        }
        let head = within(&title, LONGEST - 1);
        let half = within(&title, LONGEST / 2).len();
        let whole = head.rfind(' ').filter(|at| *at > half).and_then(|at| head.get(..at)).unwrap_or(head);
        // "…for a vet clinic and want" ends in the middle of a thought.
        let last = words(whole).filter(|word| !is_common(word)).last().map(|word| word.at + word.text.len());
        let whole = last.filter(|end| *end > half).and_then(|end| whole.get(..end)).unwrap_or(whole);
        title = format!("{}…", whole.trim_end_matches(|c: char| !c.is_alphanumeric() && !closes(c)));
    }
    title
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(title(text).as_deref(), Some(expected), "{text}");
    }

    #[test]
    fn words_that_ask_and_tell_nothing_are_small_talk_in_any_language() {
        for small in [
            "Thanks, bye!",
            "Good night!",
            "Yes.",
            "continue",
            "👍",
            "Cheers mate",
            "Danke, tschüss!",
            "Merci, au revoir !",
            "谢谢，再见",
            "ok",
            "Thx, see you tomorrow",
            "Perfect, have a nice weekend!",
            "¡Gracias! Hasta mañana.",
            "Great, thank you so much for your help today!",
        ] {
            assert!(is_small_talk(small), "{small}");
        }
        for matter in ["Yes?", "Night train?", "Continue with the invoices.", "Danke, aber wann fährt der Zug?", ""] {
            assert!(!is_small_talk(matter), "{matter}");
        }
    }

    #[test]
    fn greetings_and_polite_openers_are_no_matter() {
        check("Hi! Can you help me plan a trip to Rome in May?", "Plan a trip to Rome in May");
        check("Hey Claude, I'd like to compare two hotels.", "Compare two hotels");
        check("Good morning. So, which train goes to Oslo?", "Which train goes to Oslo?");
        check("Hello there!\n\nThanks. The build fails on Windows.", "The build fails on Windows");
        check("Let’s fix the parser", "Fix the parser");
        check("Let me think about the schema of invoices", "Let me think about the schema of invoices");
    }

    #[test]
    fn a_mark_stays_at_its_word() {
        check("<image>Who are they?", "<image>Who are they?");
        check("/etc/hosts is read twice", "/etc/hosts is read twice");
        check("Hello! \"Anna Karenina\" is whose book?", "\"Anna Karenina\" is whose book?");
        check("- (b) is the answer", "(b) is the answer");
    }

    #[test]
    fn a_long_sentence_is_cut_after_a_word() {
        let long = "The migration of the old invoices to the new ledger has stopped in the middle of the second night.";
        check(long, "The migration of the old invoices to the new ledger…");
        let first =
            "Morning. I'm building the booking system for a vet clinic and want you beside me for the next weeks.";
        check(first, "I'm building the booking system for a vet clinic…");
    }

    #[test]
    fn the_words_of_programs_are_no_title() {
        check("<system-reminder>Be brief.</system-reminder>\nHello!\nFix the login form.", "Fix the login form");
        check("# Context from my IDE setup:\n- a.rs\n\n## My request for Codex:\nRename the table", "Rename the table");
        check("[Pasted text #1 +20 lines]\n[Image #1]\nWhy is it red?", "Why is it red?");
        assert_eq!(title("<command-name>/clear</command-name>"), None);
        assert!(!has_matter("<local-command-stdout>Set model to x</local-command-stdout>"));
    }

    #[test]
    fn a_message_of_code_has_its_first_line() {
        check("```\nfn main() {}\n```", "Fn main() {}");
        assert_eq!(title(" \n "), None);
        assert_eq!(title("!?"), None);
    }

    #[test]
    fn greetings_and_marks_of_other_languages_are_known() {
        check("¿Cuándo vence el contrato con Meyer?", "¿Cuándo vence el contrato con Meyer?");
        for (text, expected) in [
            ("Доброе утро! Договор с Мейером продлён.", "Договор с Мейером продлён"),
            ("Günaydın! Meyer ile sözleşme uzatıldı.", "Meyer ile sözleşme uzatıldı"),
            ("おはよう！契約は延長された。", "契約は延長された。"),
            ("굿모닝! 계약이 연장되었다.", "계약이 연장되었다"),
        ] {
            check(text, expected);
        }
        // A title has columns, whatever bytes they take.
        let hindi = "मेयर के साथ अनुबंध मार्च तक बढ़ाया गया है और किराया नहीं बढ़ेगा क्योंकि हमने मना किया";
        let title = title(hindi).unwrap();
        assert!(title.width() > 40 && title.ends_with('…'), "{title}");
    }

    #[test]
    fn a_greeting_alone_has_no_matter() {
        for (text, expected) in [
            ("hi", false),
            ("Hello! How are you?", false),
            ("thanks", false),
            ("?", false),
            ("Hi! The build fails.", true),
            ("```\nfn main() {}\n```", true),
        ] {
            assert_eq!(has_matter(text), expected, "{text}");
        }
    }

    #[test]
    fn words_that_say_nothing_are_passed_over() {
        check("Hello. How are you? What does the contract with Meyer cost?", "What does the contract with Meyer cost?");
    }

    #[test]
    fn fragments_and_noise_of_meetings_are_passed_over() {
        for noise in ["To to handle", "How uh how we doing ?", "We 're going ?", "Great to meet you!", "Um okay."] {
            assert!(!has_matter(noise), "{noise}");
        }
        check("Um okay. Right. The remote control has to be yellow.", "The remote control has to be yellow");
        check("Great to meet you! The hall in Ghent floods.", "The hall in Ghent floods");
    }

    #[test]
    fn a_request_within_a_sentence_is_the_title() {
        check(
            "I'm kinda stressed about my time, so I was wondering if you could help me create a schedule for the harbour?",
            "Create a schedule for the harbour",
        );
        check("I'm building a resume for Kestrel, can you help me with that?", "I'm building a resume for Kestrel…");
    }

    #[test]
    fn what_is_felt_or_intended_leaves_its_matter() {
        check("I'm Ada, and I'm a bit worried about the leak in the cellar.", "The leak in the cellar");
        check("I'm Ada, a nurse from Ghent, and I'm trying to sell my boat.", "Sell my boat");
        check(
            "I'm really stressed about the move, I'm 40 and alone, what now?",
            "The move, I'm 40 and alone, what now?",
        );
        check("I'm considering selling the boat.", "Selling the boat");
        check("I am now preparing for the exam in tax law.", "The exam in tax law");
        for whole in ["I'm worried", "I'm building a barn near Ghent", "I'm curious, as somebody who sails"] {
            check(whole, whole);
        }
    }

    #[test]
    fn a_long_sentence_is_called_by_what_it_asks() {
        check(
            "I'm a nurse on nights, I work three weeks in a row and sleep badly, so I wonder how I can plan my meals?",
            "How I can plan my meals",
        );
        check(
            "The new habit of an hour by the river every morning will help me sleep better in the winter months.",
            "The new habit of an hour by the river…",
        );
        check(
            "I'm trying to draw the roof of a barn in perspective, but I'm stuck - can you help me finish it if it is round?",
            "Draw the roof of a barn in perspective…",
        );
    }

    #[test]
    fn characters_that_are_wider_together_are_cut_as_shown() {
        let text = "ὐ¡ 𑁒 A￼ⴰ0꧞0ം0 𑥐 𐒠𞴁ኸ𑵐🕨ﶒ＂0ண𞹋A !ⴰA 𑤕ቐ A !0A¡꩐ 𑙐¡ᚠ0𞺫 ®aA𐬹®𞻰0ꦃaa;¹";
        assert!(shortened(text).width() <= LONGEST);
    }

    proptest! {
        #[test]
        fn a_title_is_one_short_line(text in "(\\PC|[.!?\n ,#>`*a-zA-Z]){0,300}") {
            if let Some(title) = title(&text) {
                prop_assert!(title.width() <= LONGEST, "{title:?}");
                prop_assert!(!title.contains('\n') && !title.trim().is_empty(), "{title:?}");
            }
        }
    }
}
