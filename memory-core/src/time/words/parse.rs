//! Parser of the times that a text names, one for all languages.

mod count;
mod date;

pub(super) use date::numeric_date;

use super::{
    Phrase, Time, Unit, Which,
    lexicon::{
        Lexicon, Needs,
        Preposition::{self, After, Before, During, Since, Until},
        Sense, Trait, languages,
    },
    signs::{Languages, Signs},
    text::Text,
};

/// Most articles before a time.
const ARTICLES: usize = 3;
const HAN_DIGITS: &str = "〇一二三四五六七八九";

/// A value read from a text, and the place behind it.
type Read<T> = Option<(T, usize)>;

/// All times that a text names, in order.
pub(super) fn phrases(text: &str) -> Vec<Phrase> {
    let mut phrases = Vec::new();
    if !Signs::of(text).may_name() {
        return phrases;
    }
    let text = Text::of(text);
    let readers = Reader::all(&text);
    let unspaced = readers.iter().filter(|reader| reader.is_unspaced()).fold(0, |all, reader| all | reader.language);
    let mut at = 0;
    while let Some(first) = text.rest(at).chars().next() {
        let languages = text.begins(at) | unspaced;
        if languages == 0 {
            at = text.word_behind(at);
            continue;
        }
        let may_begin = |reader: &&Reader<'_>| languages & reader.language != 0 && reader.may_begin(at);
        // `max_by_key` keeps the last of equal ones, and the first language counts.
        let found = readers.iter().rev().filter(may_begin).filter_map(|reader| reader.phrase(at));
        match found.max_by_key(|(_, end)| *end).filter(|(_, end)| *end > at) {
            Some((phrase, end)) => {
                phrases.extend(phrase);
                at = end;
            }
            None if is_numeral(first) => {
                let rest = text.rest(at);
                at += rest.find(|c| !is_numeral(c)).unwrap_or(rest.len());
            }
            None => at += first.len_utf8(),
        }
    }
    phrases
}

fn is_numeral(c: char) -> bool {
    c.is_ascii_digit() || "十百千万億亿零两半".contains(c) || HAN_DIGITS.contains(c)
}

/// A noun that "last" may precede.
#[derive(Clone, Copy)]
enum Noun {
    Unit(Unit),
    Weekend,
    Weekday(i8),
    Month(i8),
}

/// A text in one language.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    text: &'a Text,
    lexicon: &'static Lexicon,
    /// The bit of the language.
    language: Languages,
    /// True if the text is in this language for certain.
    is_certain: bool,
    /// True if the text is in another language for certain.
    is_foreign: bool,
}

impl<'a> Reader<'a> {
    /// The readers of the languages that a text may be in, English first.
    pub(super) fn all(text: &'a Text) -> Vec<Self> {
        let languages = languages(text);
        let has_certain = languages.iter().any(|(.., is_certain)| *is_certain);
        let reader = |(number, lexicon, is_certain): (usize, _, bool)| Self {
            text,
            lexicon,
            language: 1 << number,
            is_certain,
            is_foreign: has_certain && !is_certain,
        };
        languages.into_iter().map(reader).collect()
    }

    pub(super) fn has(&self, of: Trait) -> bool {
        self.lexicon.has(of)
    }

    /// True if the words of the language may begin within a run of letters.
    pub(super) fn is_unspaced(&self) -> bool {
        self.has(Trait::Glued) && self.lexicon.endings.is_empty()
    }

    /// True if a time may begin at a place, by its first word.
    pub(super) fn may_begin(&self, at: usize) -> bool {
        let rest = self.text.rest(at);
        let may_begin = self.is_unspaced() || self.text.begins(at) & self.language != 0;
        let Some(first) = rest.chars().next().filter(|_| may_begin) else {
            return false;
        };
        is_numeral(first) || self.lexicon.entries(rest).next().is_some()
    }

    /// The value of the longest word with a meaning at a place.
    fn entry<T>(&self, at: usize, pick: impl Fn(Sense) -> Option<T>) -> Option<(T, usize, Needs)> {
        let rest = self.text.rest(at);
        for entry in self.lexicon.entries(rest) {
            let end = at + entry.phrase.len();
            let value = pick(entry.sense);
            let may = (value.is_some() || entry.sense == Sense::Decoy)
                && (!entry.is_unsure || self.is_certain)
                && (!entry.needs_capital || self.text.is_capital(at))
                && self.may_end(end);
            if may {
                // A decoy hides the shorter words in it.
                return value.map(|value| (value, end, entry.needs));
            }
        }
        None
    }

    fn read<T>(&self, at: usize, pick: impl Fn(Sense) -> Option<T>) -> Read<T> {
        self.entry(at, pick).map(|(value, end, _)| (value, end))
    }

    /// The place of the next word after a word of this meaning.
    fn skip(&self, at: usize, sense: Sense) -> Option<usize> {
        let (_, end) = self.read(at, |of| (of == sense).then_some(()))?;
        Some(self.next(end))
    }

    /// True if a word may end at a place.
    fn may_end(&self, at: usize) -> bool {
        self.has(Trait::Glued) || self.is_end(at) || (!self.lexicon.endings.is_empty() && self.behind(at).is_some())
    }

    /// True if a run of letters ends at a place, but for an ending of the language.
    fn is_end(&self, at: usize) -> bool {
        self.is_boundary(at) || self.ending(at).is_some()
    }

    fn is_boundary(&self, at: usize) -> bool {
        let rest = self.text.rest(at);
        rest.is_empty() || rest.starts_with(' ')
    }

    /// The place behind an ending.
    fn ending(&self, at: usize) -> Option<usize> {
        let rest = self.text.rest(at);
        let ends = self.lexicon.endings.iter().filter(|ending| rest.starts_with(&***ending));
        ends.map(|ending| at + ending.len()).find(|end| self.is_boundary(*end))
    }

    /// The place behind a time with its ending; `None` within a word.
    pub(super) fn closed(&self, at: usize) -> Option<usize> {
        if self.is_unspaced() { Some(at) } else { self.ending(at).or_else(|| self.is_boundary(at).then_some(at)) }
    }

    /// The beginning of the next word.
    fn next(&self, at: usize) -> usize {
        let at = self.ending(at).unwrap_or(at);
        at + usize::from(self.text.rest(at).starts_with(' '))
    }

    /// A preposition that follows a word, joined to it or not.
    pub(super) fn behind(&self, at: usize) -> Read<Preposition> {
        let joint = if self.text.rest(at).starts_with("' ") { "' ".len() } else { 0 };
        let joined = self.read(at + joint, |sense| match sense {
            Sense::Behind(preposition) | Sense::Suffix(preposition) => Some(preposition),
            _ => None,
        });
        joined.or_else(|| {
            let next = self.next(at);
            self.read(next, |sense| match sense {
                Sense::Behind(preposition) if next > at => Some(preposition),
                _ => None,
            })
        })
    }

    /// A phrase at a place, or words that look like one, with the place behind them.
    fn phrase(&self, at: usize) -> Read<Option<Phrase>> {
        if let Some(end) = self.decoy(at) {
            return Some((None, end));
        }
        if let Some((_, end)) = self.skip(at, Sense::Not).and_then(|behind| self.any_time(behind)) {
            return Some((None, end));
        }
        // "This Monday" may be the next one.
        let is_this = || self.skip(at, Sense::This).filter(|_| !self.has(Trait::English));
        if let Some((time, end)) = self.skip(at, Sense::Habit).or_else(is_this).and_then(|at| self.time(at, true))
            && matches!(
                time,
                Time::Weekday { which: Which::Latest, .. }
                    | Time::Month { day: None, year: None, which: Which::Latest, .. }
            )
        {
            return Some((None, end));
        }
        let (plain, led) = (self.plain(at), self.between(at).or_else(|| self.led(at)));
        // "Avant-hier" is no time before yesterday.
        let (phrase, end) = led.into_iter().chain(plain).max_by_key(|(_, end)| *end)?;
        let end = self.closed(end)?;
        let is_meant = !phrase.is_future() && !self.is_changed_behind(phrase, end);
        Some((Some(phrase).filter(|_| is_meant), end))
    }

    /// True if the words behind a phrase make it another one.
    fn is_changed_behind(&self, phrase: Phrase, end: usize) -> bool {
        let next = self.next(end);
        let is_before = |sense: Sense| self.skip(next, sense).is_some();
        is_before(Sense::NextBehind)
            || (is_before(Sense::NotBehind) && matches!(phrase, Phrase::During(Time::Ago { .. })))
            || (is_before(Sense::HabitBehind) && matches!(phrase, Phrase::During(Time::Weekday { .. })))
    }

    /// The place behind words that look like a time and are none.
    pub(super) fn decoy(&self, at: usize) -> Option<usize> {
        self.read(at, |sense| (sense == Sense::Decoy).then_some(())).map(|(_, end)| end)
    }

    /// A time with or without a preposition.
    fn any_time(&self, at: usize) -> Read<()> {
        let behind = self.preposition(at).map_or(at, |(_, end)| self.next(end));
        self.time(behind, true).map(|(_, end)| ((), end))
    }

    fn preposition(&self, at: usize) -> Read<Preposition> {
        self.read(at, |sense| match sense {
            Sense::Preposition(preposition) => Some(preposition),
            _ => None,
        })
    }

    /// "Between March and April", "from Monday to Friday", "from 3 to 5 May".
    fn between(&self, at: usize) -> Read<Phrase> {
        let both = |first: Sense, joint: Sense| {
            let begin = self.skip(at, first)?;
            if let Some((one, end)) = self.time(begin, true)
                && let Some(found) = self.another(one, end, joint)
            {
                return Some(found);
            }
            let (day, end) = self.day(self.skip(begin, Sense::Article).unwrap_or(begin))?;
            let (other, end) = self.time(self.skip(self.next(end), joint)?, true)?;
            Some((Phrase::Between(other.on_day(day)?, other), end))
        };
        both(Sense::Between, Sense::And).or_else(|| both(Sense::From, Sense::To))
    }

    /// The time before a joint with the one behind it.
    fn another(&self, one: Time, end: usize, joint: Sense) -> Read<Phrase> {
        let begin = self.skip(self.next(end), joint)?;
        let (other, end) = self.time(begin, true).or_else(|| self.later_day(one, begin))?;
        Some((Phrase::Between(one, other), end))
    }

    /// A time with a preposition before it.
    fn led(&self, at: usize) -> Read<Phrase> {
        let (preposition, end) = self.preposition(at)?;
        let (time, end) = self.time(self.next(end), true)?;
        Some((preposition.with(time), end))
    }

    /// A time without a preposition before it.
    fn plain(&self, at: usize) -> Read<Phrase> {
        if let Some((time, end)) = self.time(at, true) {
            // "周一到周三"
            if self.is_unspaced()
                && let Some(found) = self.another(time, end, Sense::To)
            {
                return Some(found);
            }
            if let Some((preposition, end)) = self.behind(end) {
                let round = |year: i16| year % 50 == 0 && self.is_unspaced();
                if matches!(time, Time::Year(year) if round(year)) {
                    // "2000年前" may be a count.
                    return None;
                }
                return Some(self.until_another(time, preposition, end));
            }
            // All of a text is a time if it may be one.
            if at == 0 && self.next(end) >= self.text.len() && self.closed(end).is_some() {
                return Some((Phrase::During(time), end));
            }
        }
        self.time(at, false).map(|(time, end)| (Phrase::During(time), end))
    }

    /// "From March on" before "until May".
    fn until_another(&self, time: Time, preposition: Preposition, end: usize) -> (Phrase, usize) {
        let other = || {
            let next = self.next(end);
            let (other, end) = self.time(next, true).or_else(|| self.later_day(time, next))?;
            let (until, end) = self.behind(end)?;
            (preposition == Since && until == Until).then_some((Phrase::Between(time, other), end))
        };
        other().unwrap_or_else(|| (preposition.with(time), end))
    }

    /// A time at a place. `is_led` means that a word of time precedes it, without which `March` and `2048` are ambiguous.
    fn time(&self, at: usize, is_led: bool) -> Read<Time> {
        let mut at = at;
        for _ in 0..=ARTICLES {
            let found = self
                .bare(at)
                .or_else(|| self.date(at, is_led))
                .or_else(|| self.weekday(at, is_led))
                .or_else(|| self.year(at, is_led));
            if let Some((time, end)) = found {
                return Some(self.joined(time, end));
            }
            at = self.skip(at, Sense::Article)?;
        }
        None
    }

    /// A time that needs no preposition: a day near the clock, "last week", "two days ago".
    pub(super) fn bare(&self, at: usize) -> Read<Time> {
        self.named(at).or_else(|| self.relative(at)).or_else(|| self.back(at))
    }

    fn named(&self, at: usize) -> Read<Time> {
        let named = self.read(at, |sense| match sense {
            Sense::Named(time) => Some(time),
            _ => None,
        });
        // "اليوم التالي" is "the next day".
        let is_adjective = |end: usize| self.text.rest(self.next(end)).starts_with("ال");
        named.filter(|(_, end)| !self.has(Trait::AdjectivesBehind) || !is_adjective(*end))
    }

    /// A time with what follows and belongs to it: "in March last year", "Tuesday of last week", "Monday, 7 May".
    pub(super) fn joined(&self, time: Time, end: usize) -> (Time, usize) {
        let next = self.next(end);
        let of = self.skip(next, Sense::Of).unwrap_or(next);
        let article = self.skip(of, Sense::Article).unwrap_or(of);
        let inner = self.preposition(of).filter(|(of, _)| *of == During).map_or(article, |(_, end)| self.next(end));
        let inner = self.skip(inner, Sense::Article).unwrap_or(inner);
        let calendar = |unit: Unit| {
            let found = |at: usize| match self.named(at).or_else(|| self.relative(at))? {
                (Time::Calendar { unit: of, back }, end) if of == unit => Some((i16::try_from(back).ok()?, end)),
                _ => None,
            };
            found(article).or_else(|| found(inner))
        };
        let other = match time {
            Time::Calendar { unit: Unit::Week, back } => i16::try_from(back).ok().and_then(|back| {
                let (day, end) = self.day_of_week(article).or_else(|| self.day_of_week(inner))?;
                Some((Time::Weekday { day, which: Which::Back(back) }, end))
            }),
            Time::Calendar { unit: Unit::Year, back } => i16::try_from(back).ok().and_then(|back| {
                let date = || self.date(article, true).or_else(|| self.date(inner, true));
                match date().or_else(|| self.month_before_preposition(article))? {
                    (Time::Month { month, day, year: None, .. }, end) => {
                        Some((Time::Month { month, day, year: None, which: Which::Back(back) }, end))
                    }
                    _ => None,
                }
            }),
            Time::Month { month, day, year: None, which: Which::Latest } => calendar(Unit::Year)
                .map(|(back, end)| (Time::Month { month, day, year: None, which: Which::Back(back) }, end))
                .or_else(|| Some((time, self.day_of_week(next).filter(|_| day.is_some())?.1))),
            Time::Month { day: Some(_), .. } => self.day_of_week(next).map(|(_, end)| (time, end)),
            Time::Weekday { day, which: Which::Latest } => {
                calendar(Unit::Week).map(|(back, end)| (Time::Weekday { day, which: Which::Back(back) }, end)).or_else(
                    || self.date(inner, false).filter(|(time, _)| matches!(time, Time::Month { day: Some(_), .. })),
                )
            }
            _ => None,
        };
        other.unwrap_or((time, end))
    }

    /// A day after the week that it is of.
    fn day_of_week(&self, at: usize) -> Read<i8> {
        let found = self.read(at, |sense| match sense {
            Sense::Weekday(day) | Sense::ShortWeekday(day) => Some(day),
            _ => None,
        });
        found.filter(|(_, end)| self.may_end_weekday(*end))
    }

    /// False for "周一次", which is "once a week".
    fn may_end_weekday(&self, end: usize) -> bool {
        !self.text.rest(end).starts_with(|c| self.lexicon.table.not_after_weekday.contains(c))
    }

    fn noun(&self, at: usize) -> Read<Noun> {
        let (noun, end) = self.read(at, |sense| {
            Some(match sense {
                // "This day" and "last hour" name a time in English only.
                Sense::Unit { unit, is_plural: false }
                    if self.has(Trait::English) || !matches!(unit, Unit::Minute | Unit::Hour | Unit::Day) =>
                {
                    Noun::Unit(unit)
                }
                Sense::Weekend => Noun::Weekend,
                Sense::Weekday(day) => Noun::Weekday(day),
                Sense::Month(month) => Noun::Month(month),
                _ => return None,
            })
        })?;
        (!matches!(noun, Noun::Weekday(_)) || self.may_end_weekday(end)).then_some((noun, end))
    }

    /// `last week`, `the past three months`, `this March`, `last Friday`, `next year`, in either order.
    fn relative(&self, at: usize) -> Read<Time> {
        let first = self.read(at, |sense| match sense {
            Sense::Last(back) => Some((Sense::Last(1), back)),
            Sense::Past | Sense::PastCount => Some((sense, 1)),
            Sense::This => Some((sense, 0)),
            Sense::Next => Some((sense, -1)),
            _ => None,
        });
        let found = match first {
            Some(((sense, back), end)) => self.after(sense, back, self.next(end)),
            None => self.before(at),
        };
        // "The last week of May".
        found.filter(|(_, end)| {
            let is_last = matches!(first, Some(((Sense::Last(_) | Sense::Past | Sense::PastCount, _), _)));
            let of = self.skip(self.next(*end), Sense::PartOf).filter(|_| is_last);
            of.is_none_or(|of| self.bare(self.skip(of, Sense::Article).unwrap_or(of)).is_some())
        })
    }

    fn after(&self, sense: Sense, back: i16, at: usize) -> Read<Time> {
        if back == 1
            && let Some((count, end)) = self.count(at)
        {
            // `last May 7` has no count.
            let (unit, end) = self.unit(self.next(end))?;
            let end = if self.has(Trait::SpanWord) { self.span(end)? } else { end };
            return Some((Time::Past { unit, count }, end));
        }
        if sense == Sense::PastCount {
            return None;
        }
        let (noun, end) = self.noun(at)?;
        // "Esta semana pasada".
        if let Some((back, end)) = self.last_behind(self.next(end)).filter(|_| sense == Sense::This) {
            return noun.at(back).map(|time| (time, end));
        }
        let time = match (sense, noun) {
            (Sense::Past, Noun::Unit(unit)) => Time::Past { unit, count: 1 },
            (Sense::This, Noun::Weekday(_) | Noun::Month(_)) if !self.has(Trait::English) => return None,
            _ => noun.at(back)?,
        };
        Some((time, end))
    }

    /// The place behind a word for "during" after a count.
    fn span(&self, at: usize) -> Option<usize> {
        let is_span = |sense| (sense == Sense::Span).then_some(());
        self.read(at, is_span).or_else(|| self.read(self.next(at), is_span)).map(|(_, end)| end)
    }

    fn last_behind(&self, at: usize) -> Read<i16> {
        self.read(at, |sense| match sense {
            Sense::LastBehind(back) => Some(back),
            Sense::NextBehind => Some(-1),
            _ => None,
        })
    }

    /// A noun before "last", a count before or after "past".
    fn before(&self, at: usize) -> Read<Time> {
        if let Some((count, end)) = self.count(at)
            && let Some(at) = self.skip(self.next(end), Sense::PastWithin)
        {
            return self.unit(at).map(|(unit, end)| (Time::Past { unit, count }, end));
        }
        if let Some((noun, end)) = self.noun(at)
            && let Some((back, end)) = self.last_behind(self.next(end))
        {
            return noun.at(back).map(|time| (time, end));
        }
        // "الأيام الثلاثة الماضية"
        let (unit, end) = self.unit(at)?;
        let (count, end) = self.count(self.next(end))?;
        let (_, end) = self.last_behind(self.next(end)).filter(|(back, _)| *back == 1)?;
        Some((Time::Past { unit, count }, end))
    }

    /// True if a word before a place, or one behind it, makes the time between another one.
    pub(super) fn is_other(&self, time: Time, at: usize, end: usize) -> bool {
        let before = self.text.before(at).trim_end();
        let last = before.rsplit(' ').next().unwrap_or(before);
        let place = before.len() - last.len();
        let is_weekday = matches!(time, Time::Weekday { .. });
        let is_not = |sense| (sense == Sense::Not || (sense == Sense::Habit && is_weekday)).then_some(());
        (!before.is_empty() && self.read(place, is_not).is_some()) || self.is_changed_behind(Phrase::During(time), end)
    }
}

impl Noun {
    /// The noun after "last" (1), "this" (0) or "next" (-1).
    fn at(self, back: i16) -> Option<Time> {
        let which = match back {
            0 => Which::Back(0),
            ..0 => Which::Next,
            _ => Which::Last,
        };
        Some(match self {
            Self::Unit(unit) => Time::Calendar { unit, back: back.into() },
            Self::Weekend if back < 0 => return None,
            Self::Weekend => Time::Weekend { is_last: back > 0 },
            Self::Weekday(day) => Time::Weekday { day, which },
            Self::Month(month) => Time::Month { month, day: None, year: None, which },
        })
    }
}

impl Preposition {
    fn with(self, time: Time) -> Phrase {
        match self {
            Since => Phrase::Since(time),
            After => Phrase::After(time),
            Before => Phrase::Before(time),
            Until => Phrase::Until(time),
            During => Phrase::During(time),
        }
    }
}
