//! Dates after words such as "yesterday", for a reader who meets them later.

use jiff::civil::DateTime;

use super::{
    Time, Unit, Which,
    lexicon::Trait,
    parse::Reader,
    resolve::stretch,
    signs::Signs,
    text::{Text, is_letter},
};
use crate::Timestamp;

/// Words before "last" and "next" that may mean another time, as in "the last week of May".
const OWNED: &str = " a the this that these those my our your his her their its very every each die das den der dem des \
                     de het mijn onze ";

/// Words before a count that make it vague or part of a larger one.
const VAGUE: &str = " or to about around over than nearly almost approximately roughly least some like maybe twenty \
                     thirty forty fifty sixty seventy eighty ninety hundred desde depuis ";

/// Words in a time that make it vague or part of a story.
const STORY: [&str; 5] = ["couple", "previous", "past", "verleden", "afgelopen"];

/// Days of a week.
const SUNDAY: i8 = 7;

/// `text` with the date in parentheses after each word that names one for certain when it was said at `at`, `offset`
/// seconds east of UTC: `yesterday (2023-05-07)`.
///
/// Such words are days (`yesterday`, `last night`, `three days ago`), units of the calendar (`last week`, `next month`; a
/// week begins on Monday) and `last` or `next` with the name of a day, in the languages of [`TimeWords`] as far as they
/// mean nothing else. Code, quotations and names (`yesterday.txt`, `USA Today`) stay as they are, and so does all of a
/// text whose time is unknown. A second pass changes nothing.
///
/// [`TimeWords`]: super::TimeWords
#[must_use]
pub fn with_dates(text: &str, at: Timestamp, offset: i32) -> String {
    let Some(now) = at.datetime(offset) else { return text.to_owned() };
    let mut out = String::with_capacity(text.len());
    let mut fence = None;
    for line in text.split_inclusive('\n') {
        let mark = ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark));
        match (fence, mark) {
            (None, None) if !is_code(line) => push_dated(line, now, &mut out),
            (None, mark) => {
                fence = mark;
                out.push_str(line);
            }
            (Some(open), mark) => {
                fence = Some(open).filter(|open| mark != Some(open));
                out.push_str(line);
            }
        }
    }
    out
}

/// True for a line of code, of a table or of somebody else's words.
fn is_code(line: &str) -> bool {
    let is_indented = line.starts_with("    ") || line.starts_with('\t');
    let opens = line.trim_start().starts_with(['>', '|', '<', '[', '"', '$', '/']);
    is_indented || opens || is_report(line) || line.trim_end().ends_with(';') || line.contains(['=', '{', '}', '\\'])
}

/// True for the report of somebody else under its number, as in "Ticket 132: the search box shows last year".
fn is_report(line: &str) -> bool {
    const LONGEST: usize = 40;
    let Some((label, _)) = line.trim_start_matches(['-', '*', ' ', '\t']).split_once(':') else { return false };
    let mut words = label.split_whitespace();
    let kind = words.next().unwrap_or_default().trim_start_matches('*').to_lowercase();
    let is_number = |word: &str| {
        word.trim_matches(['#', '*']).bytes().all(|byte| byte.is_ascii_digit())
            && word.contains(|c: char| c.is_ascii_digit())
    };
    let is_key = kind.split_once(['-', '#']).is_some_and(|(_, number)| is_number(number));
    let is_kind =
        ["ticket", "issue", "bug", "report", "story", "task", "incident", "case", "fehler"].contains(&kind.as_str());
    label.len() <= LONGEST && (is_key || is_kind && words.next().is_none_or(is_number))
}

/// Appends a line with its dates.
fn push_dated(line: &str, now: DateTime, out: &mut String) {
    if !Signs::of(line).may_be_dated() {
        out.push_str(line);
        return;
    }
    let text = Text::of(line);
    let said = Said { line, text: &text, readers: Reader::all(&text), now };
    let (mut at, mut copied, mut free, mut before) = (0, 0, 0, "");
    let (mut in_code, mut is_quoted) = (false, false);
    for piece in line.split_inclusive(char::is_whitespace) {
        let word = piece.trim_start_matches(['(', '—', '–', '¿', '¡']);
        let first = at + (piece.len() - word.len());
        for (offset, c) in piece.char_indices() {
            let begin = at + offset;
            if begin >= free
                && !in_code
                && !is_quoted
                && (begin == first || said.may_begin_within(begin))
                && let Some((end, date)) = said.named(begin, before)
            {
                free = end;
                if let Some(date) = date {
                    out.push_str(line.get(copied..end).unwrap_or_default());
                    out.push_str(&format!(" ({date})"));
                    copied = end;
                }
            }
            in_code ^= c == '`';
            is_quoted = match c {
                '"' => !is_quoted,
                '“' | '„' | '«' | '「' | '『' => true,
                '”' | '»' | '」' | '』' => false,
                _ => is_quoted,
            };
        }
        at += piece.len();
        before = Some(piece.trim()).filter(|word| !word.is_empty()).unwrap_or(before);
    }
    out.push_str(line.get(copied..).unwrap_or_default());
}

/// A line that was said.
struct Said<'a> {
    line: &'a str,
    text: &'a Text,
    readers: Vec<Reader<'a>>,
    now: DateTime,
}

impl Said<'_> {
    /// True if a word without a space before it may begin at a place: not within a path or a name in Latin letters.
    fn may_begin_within(&self, begin: usize) -> bool {
        let is_in = |c: char| matches!(c, '\u{3041}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}');
        let follows = self.line.get(begin..).is_some_and(|rest| rest.starts_with(is_in));
        let before = self.line.get(..begin).and_then(|before| before.chars().next_back());
        follows && before.is_none_or(|c| !c.is_ascii() || matches!(c, ' ' | '\t' | '(' | ',' | ':' | '!' | '?'))
    }

    /// End of the words at a place that name a time, and its date if they mean nothing else. `before` is the word before.
    fn named(&self, begin: usize, before: &str) -> Option<(usize, Option<String>)> {
        // "USA Today"
        if self.line.get(begin..)?.starts_with(char::is_uppercase) && before.ends_with(char::is_alphanumeric) {
            return None;
        }
        let at = self.text.place_of(begin)?;
        let mut found: Option<(usize, Option<String>)> = None;
        for reader in self.readers.iter().filter(|reader| reader.may_begin(at)) {
            let decoy = || Some((self.text.end_of(reader.decoy(at)?)?, None));
            let dated = || self.dated(reader, at, begin, before).map(|(end, date)| (end, Some(date)));
            if let Some(new) = decoy().or_else(dated)
                && found.as_ref().is_none_or(|(end, _)| new.0 > *end)
            {
                found = Some(new);
            }
        }
        found
    }

    fn dated(&self, reader: &Reader<'_>, at: usize, begin: usize, before: &str) -> Option<(usize, String)> {
        let is_after = |words: &str| words.contains(&format!(" {} ", before.to_lowercase()));
        let (time, end) = reader.bare(at)?;
        let closed = reader.closed(end)?;
        // "上周二": the date of the week would part it from its day.
        let is_whole = !reader.has(Trait::Glued) || reader.joined(time, end).1 == end;
        let is_meant = is_whole
            && !reader.is_other(time, at, end)
            && match time {
                Time::DaysBack(_) => true,
                Time::LastNight | Time::Calendar { .. } => !is_after(OWNED),
                Time::Weekday { day, which } => self.is_sure(day, which) && !is_after(OWNED),
                Time::Ago { least, most, unit: Unit::Day } => {
                    least == most && reader.has(Trait::SureCounts) && !is_after(VAGUE)
                }
                _ => false,
            };
        let end = self.text.end_of(closed)?;
        let (words, behind) = (self.line.get(begin..end)?, self.line.get(end..)?);
        let is_run = words.chars().all(|c| is_letter(c) || matches!(c, ' ' | '-' | '\'' | '\u{2019}'));
        let is_story = words.split(' ').any(|word| STORY.contains(&&*word.to_lowercase()));
        let may_end = may_end(behind) || (reader.is_unspaced() && behind.starts_with(is_unspaced));
        (is_meant && is_run && !is_story && may_end).then_some((end, date(time, self.now)?))
    }

    /// True if the nearest such day and that of the week before or after are the same, whether weeks begin on Monday or
    /// on Sunday.
    fn is_sure(&self, day: i8, which: Which) -> bool {
        let today = self.now.date().weekday().to_monday_one_offset();
        match which {
            Which::Last => day == today || (day > today && day != SUNDAY),
            Which::Next => day == today || (day < today && today != SUNDAY),
            Which::Latest | Which::Back(_) => false,
        }
    }
}

/// True for a letter of a script without spaces, but for those that make another time of the one before: "上个月末".
fn is_unspaced(c: char) -> bool {
    c.is_alphabetic() && !c.is_ascii() && !matches!(c, '末' | '底' | '初')
}

/// True if words of time may end before `behind`: not within a name or a line of code, and without a date already.
fn may_end(behind: &str) -> bool {
    let mut after = behind.chars();
    match after.next() {
        None => true,
        Some(c) if c.is_whitespace() => {
            !behind.trim_start().starts_with(['(', '+', '<', '>', '|']) && !behind.starts_with(" of ")
        }
        Some('.' | ',' | ';' | ':' | '!' | '?' | ')' | '…' | '—' | '–') => {
            !after.next().is_some_and(char::is_alphanumeric)
        }
        Some('。' | '，' | '、' | '；' | '：' | '！' | '？' | '）' | '」' | '』' | '؟' | '،' | '؛' | '।') => {
            true
        }
        Some(_) => false,
    }
}

/// The days of a time: `2023-05-07`, `week of 2023-05-01`, `2023-04`, `2022`.
fn date(time: Time, now: DateTime) -> Option<String> {
    let time = if time == Time::LastNight { Time::DaysBack(1) } else { time };
    let (begin, _) = stretch(time, now)?;
    let first = begin.date();
    Some(match time {
        // "Last week" of a Sunday depends on the day that a week begins on.
        Time::Calendar { unit: Unit::Week, .. } if now.date().weekday().to_monday_one_offset() == SUNDAY => {
            return None;
        }
        Time::Calendar { back: 0, .. } => return None,
        Time::Calendar { unit: Unit::Month, .. } => first.strftime("%Y-%m").to_string(),
        Time::Calendar { unit: Unit::Year, .. } => first.year().to_string(),
        Time::Calendar { unit: Unit::Week, .. } => format!("week of {first}"),
        Time::Calendar { .. } => return None,
        _ => first.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `text` as said on a Wednesday evening.
    fn dated(text: &str) -> String {
        with_dates(text, "2023-05-10T18:30:00Z".parse().unwrap(), 0)
    }

    fn check(text: &str, date: &str) {
        let expected = text.replace('_', &format!(" ({date})"));
        assert_eq!(dated(&text.replace('_', "")), expected);
    }

    #[test]
    fn a_word_that_names_one_time_gets_its_date() {
        check("I went there yesterday_.", "2023-05-09");
        check("Yesterday_ I went there", "2023-05-09");
        check("yesterday's_ call", "2023-05-09");
        check("the day before yesterday_, we met", "2023-05-08");
        check("Ben (who called last night_) agrees", "2023-05-09");
        check("I ran this morning_!", "2023-05-10");
        check("We fly tomorrow_… or never", "2023-05-11");
        check("And 3 days ago_ it broke", "2023-05-07");
        check("Twelve days ago_ it broke", "2023-04-28");
        check("I moved last week_:", "week of 2023-05-01");
        check("I moved last month_", "2023-04");
        check("I move next month_", "2023-06");
        check("I moved last year_", "2022");
        check("Gestern_ war ich dort", "2023-05-09");
        check("Ich war letzte Woche_ dort", "week of 2023-05-01");
        check("C'était hier soir_.", "2023-05-09");
        check("Nous partons après-demain_", "2023-05-12");
        check("El año pasado_ viajamos", "2022");
        check("Vor drei Tagen_ ging es kaputt", "2023-05-07");
        check("Il y a trois jours_ il est parti", "2023-05-07");
        check("Nous avons dit cela hier_", "2023-05-09");
        check("la settimana scorsa_", "week of 2023-05-01");
        check("Tre giorni fa_ l'ho visto", "2023-05-07");
        check("Ontem_ choveu", "2023-05-09");
        check("Eergisteren_ was ik ziek", "2023-05-08");
        check("Вчера_ я был там", "2023-05-09");
        check("На прошлой неделе_ я болел", "week of 2023-05-01");
        check("Dünkü_ toplantı, ", "2023-05-09");
        check("Geçen ay_ taşındım", "2023-04");
        check("ذهبت أمس_، ثم عدت", "2023-05-09");
        check("पिछले हफ़्ते_ मैं बीमार था", "week of 2023-05-01");
        check("我昨天_去了那里", "2023-05-09");
        check("他说上个月_。", "2023-04");
        check("先週_は忙しかった", "week of 2023-05-01");
        check("어제는_ 비가 왔다", "2023-05-09");
    }

    #[test]
    fn a_day_of_the_week_gets_its_date_where_it_can_be_one_alone() {
        check("last Friday_", "2023-05-05");
        check("last Wednesday_", "2023-05-03");
        check("next Monday_", "2023-05-15");
        check("next Wednesday_", "2023-05-17");
        for unsure in ["last Monday", "next Friday", "last Sunday", "next Sunday", "on Monday"] {
            check(unsure, "");
        }
        let on_sunday = |text| with_dates(text, "2023-05-14".parse().unwrap(), 0);
        for unsure in ["last week", "next week", "last Friday", "next Monday"] {
            assert_eq!(on_sunday(unsure), unsure);
        }
        assert_eq!(on_sunday("last Sunday"), "last Sunday (2023-05-07)");
    }

    #[test]
    fn the_day_is_that_of_the_place_where_it_was_said() {
        let late = "2023-05-10T23:30:00Z".parse().unwrap();
        assert_eq!(with_dates("today", late, 7_200), "today (2023-05-11)");
        assert_eq!(with_dates("today", late, -7_200), "today (2023-05-10)");
        assert_eq!(with_dates("today", Timestamp::default(), 0), "today");
    }

    #[test]
    fn code_names_quotations_and_vague_words_stay() {
        for text in [
            "see yesterday.txt",
            "see /logs/yesterday and yesterday/log",
            "#today @today $today today() today_log today-log",
            "run `git log --since yesterday` now",
            "let today = now();",
            "    print yesterday",
            "```sql\nselect yesterday\n```\n",
            "~~~\nyesterday\n```\ntoday\n",
            "> I went there yesterday",
            "Ticket 132: the search box shows last year",
            "- Bug #7: the label says tomorrow",
            "SHOP-12: the invoice is of yesterday",
            "| today | 5 |",
            "{\"when\": \"we met yesterday\"}",
            "He wrote \"I went yesterday\" then",
            "He wrote “I went yesterday” then",
            "the song \"Yesterday\" and USA Today",
            "the last week of May, our last night, the last month, my last year",
            "about two days ago, two or three days ago, twenty two days ago, 2-3 days ago, a few days ago",
            "yesterday (a Tuesday) and yesterday (2023-05-09)",
            "ich war hier, guten morgen",
            "Was hast du hier gemacht?",
            "al giorno d'oggi, hoy en día, hoje em dia",
            "in der letzten Woche des Kurses, mehr als drei Tage",
            "desde hace tres días, hace tres días que espero",
            "sınavdan iki gün önce, üç gün önce",
            "कल मैं वहाँ था",
            "上周二、三天前、如今年轻人、上个月末",
            "他说「昨天去了」",
            "logs/昨天 和 昨天.txt",
            "今日子さん、締め切りの三日前",
            "그제야 알았다, 오늘날",
            "اليوم التالي",
            "two weeks ago",
        ] {
            assert_eq!(dated(text), text);
        }
        assert_eq!(dated("```\ntoday\n```\ntoday"), "```\ntoday\n```\ntoday (2023-05-10)");
    }

    proptest! {
        #[test]
        fn a_text_without_its_dates_is_as_it_was(
            words in prop::collection::vec(
                prop_oneof![
                    Just("yesterday"), Just("last"), Just("next"), Just("week"), Just("Monday"), Just("3"), Just("days"),
                    Just("ago"), Just("\n"), Just("```"), Just("`"), Just("\""), Just("après-demain"), Just("é"),
                    Just("gestern,"), Just("(today)"), Just("today."), Just(" "), Just("("), Just("昨天"), Just("上个月末"),
                    Just("我昨天去"), Just("「"), Just("어제는"), Just("vor drei Tagen"), Just("Dünkü"), Just("أَمْس،"),
                    Just("पिछले हफ़्ते"), Just("l’anne\u{301}e dernière"), Just("hier"), Just("la"),
                ],
                0..24,
            ),
            clock in any::<i64>(),
            offset in -100_000..100_000,
        ) {
            let (text, at) = (words.join(" "), Timestamp::from_millis(clock));
            let dated = with_dates(&text, at, offset);
            let date = regex::Regex::new(r" \((week of )?-?\d{4}[^)]*\)").unwrap();
            prop_assert_eq!(date.replace_all(&dated, ""), text);
            prop_assert_eq!(with_dates(&dated, at, offset), dated);
        }

        #[test]
        fn any_text_is_read_to_its_end(text in "(.|\n){0,60}") {
            prop_assert!(dated(&text).len() >= text.len());
        }
    }
}
