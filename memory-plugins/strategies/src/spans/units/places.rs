//! Words of a segment: their values, the boundaries after them, at which a unit may end, and the boundaries at which none
//! may: before words that take a clause back, and near a condition.

use super::{super::lexis::Class, LONGEST_BOND, WordPlace};
use crate::{
    segments::Kind,
    terms::is_common,
    words::{Form, Word},
};

/// A boundary after a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum End {
    Nothing,
    Phrase,
    /// A colon.
    Colon,
    Clause,
    /// An omission.
    Gap,
}

/// The boundary between two words.
pub(super) fn end_of(gap: &str, class: Class, next: Class, kind: Kind) -> End {
    if gap == " " {
        return open_end(class, next);
    }
    let free = gap.ends_with([' ', '(', '"', '“', '‘', '\'', '[', '$', '€', '£', '#']) || gap.contains(' ');
    let unspaced = gap.contains(['、', '，', '；', '：', '。', '！', '？']);
    if !free && !unspaced {
        return End::Nothing;
    }
    if gap.contains(['…', '|']) {
        return End::Gap;
    }
    if gap.contains(": ") {
        return End::Colon;
    }
    let clause =
        unspaced || gap.contains([';', '—', '–', '(', ')', '!', '?']) || gap.contains(" - ") || gap.contains(" . ");
    if clause {
        return End::Clause;
    }
    if gap.contains(',') {
        // A single cell of a row is not informative.
        let joins = next.is(Class::CONNECTIVE) || next.is(Class::SUBJECT);
        return if joins && kind == Kind::Sentence { End::Clause } else { End::Phrase };
    }
    open_end(class, next)
}

/// The boundary between two words with only a blank between them.
fn open_end(class: Class, next: Class) -> End {
    if next.is(Class::OPENER) {
        End::Clause
    } else if next.is(Class::PHRASE.or(Class::TO)) && !class.is(Class::PHRASE) {
        End::Phrase
    } else {
        End::Nothing
    }
}

/// Byte offset within the gap at which the next unit begins.
pub(super) fn cut_of(gap: &str) -> usize {
    gap.rfind(char::is_whitespace)
        .map_or(gap.len(), |at| at + gap.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8))
}

/// Maximum words between "but" and the words that take a clause back.
const NEAR_REVERSAL: usize = 6;

/// Maximum words between the start of a main clause and a condition after it.
const NEAR_CONDITION: usize = 12;

/// Removes the boundaries between a clause and the clause after it that takes it back.
pub(super) fn bind_reversals(places: &mut [WordPlace]) {
    for contrast in 1..places.len() {
        if !places.get(contrast).is_some_and(|place| place.class.is(Class::CONTRAST)) {
            continue;
        }
        let mut after = places.iter().enumerate().skip(contrast + 1).take(NEAR_REVERSAL);
        let Some((reversal, _)) = after.find(|(_, place)| place.class.is(Class::REVERSAL)) else { continue };
        let before = places.get(..contrast - 1).unwrap_or_default();
        let first = before.iter().rposition(|place| place.end_of >= End::Clause).map_or(0, |end| end + 1);
        let bound = places.get_mut(first..reversal).unwrap_or_default();
        if bound.len() < LONGEST_BOND && bound.iter().all(|place| place.end_of != End::Gap) {
            bound.iter_mut().for_each(|place| place.end_of = End::Nothing);
        }
    }
}

/// For each place, true if a condition opens soon after it in the same clause.
pub(super) fn conditions(places: &[WordPlace]) -> Vec<bool> {
    if !places.iter().any(|place| place.class.is(Class::CONDITION)) {
        return Vec::new();
    }
    let mut near = vec![false; places.len()];
    let mut distance = usize::MAX;
    let before = std::iter::once(Class::default()).chain(places.iter().map(|place| place.class));
    let before: Vec<Class> = before.take(places.len()).collect();
    for ((place, near), before) in places.iter().zip(&mut near).zip(before).rev() {
        // A comma may precede the condition itself.
        if place.end_of >= End::Clause && distance != 0 {
            distance = usize::MAX;
        }
        *near = distance < NEAR_CONDITION;
        distance = if place.class.is(Class::CONDITION) && !before.is(Class::ATTITUDE) {
            0
        } else {
            distance.saturating_add(1)
        };
    }
    near
}

/// The value of a greeted person's name.
pub(super) const GREETED: f32 = 3.5;

/// The value of a figure.
pub(super) const FIGURE: f32 = 2.5;

/// Value of a word by itself; 0 if it is not informative.
pub(super) fn weight(word: &Word<'_>, class: Class, opens: bool, dated: bool) -> f32 {
    const DATE: f32 = 4.0;
    const NAME: f32 = 5.0;
    // "New" in "New York"
    const NAME_OF_COMMON: f32 = 1.0;
    let is_month = class.is(Class::MONTH_BY_CAPITAL) && word.form == Form::Capital && (dated || !opens);
    if is_month || class.is(Class::DATE) {
        return DATE;
    }
    let named = word.form == Form::Capital && !opens && word.text.len() > 2;
    if named && is_common(word) && !class.is(Class::LEADS_ON.or(Class::SUBJECT).or(Class::FILLER).or(Class::CONNECTIVE))
    {
        return NAME_OF_COMMON;
    }
    if is_common(word) || word.text.len() < 3 && word.form == Form::Plain {
        return 0.0;
    }
    let plain = 0.3 + 0.08 * f32::from(u8::try_from(word.text.len().min(10)).unwrap_or(10));
    match word.form {
        // Generated identifiers, addresses and paths.
        _ if word.text.len() > 30 => 0.2,
        Form::Figure | Form::Identifier if word.text.contains(['\\', '@']) || word.text.matches('/').count() > 1 => 0.2,
        Form::Figure => FIGURE,
        Form::Capital if !opens => NAME,
        Form::Plain | Form::Capital => plain,
        Form::Identifier => 1.5,
        Form::Unspaced => 0.4,
    }
}
