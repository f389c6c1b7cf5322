//! Value of a word within a unit.

use super::super::lexis::Class;
use crate::{
    terms::is_common,
    words::{Form, Word},
};

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
