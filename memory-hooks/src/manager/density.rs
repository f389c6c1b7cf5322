//! Limits of summaries for other languages, whose words take more tokens than English ones.

use crate::prompt::share_of;

/// Tokens of an English word.
const OF_ENGLISH: f32 = 1.6;
/// Most times as many tokens that a word of another language may take.
const MOST: f32 = 3.0;

/// Tokens for as many words of the language of `text` as `most` tokens of English have; `tokens` are those of `text`. A
/// word of Hindi or Korean takes three times as many tokens. Code and text in ASCII have `most`.
pub(super) fn most_of_words(most: u32, text: &str, tokens: u32) -> u32 {
    let letters = || text.chars().filter(|c| c.is_alphabetic());
    let foreign = letters().filter(|c| !c.is_ascii()).count();
    if foreign * 2 <= letters().count() {
        return most;
    }
    let words: f32 = text.split_whitespace().map(|word| word.chars().map(part_of_a_word).sum::<f32>().max(1.0)).sum();
    let tokens = f32::from(u16::try_from(tokens).unwrap_or(u16::MAX));
    share_of(most, (tokens / words.max(1.0) / OF_ENGLISH).clamp(1.0, MOST))
}

/// Share of a word that a letter makes up in a script without spaces; 0 for other letters.
fn part_of_a_word(c: char) -> f32 {
    match c {
        // Thai and Lao, Burmese, Khmer
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' => 0.25,
        // Kana, Chinese characters
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}' => 0.5,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_has_as_many_words_in_every_language() {
        for (text, tokens, most) in [
            ("We rent the hall in Ghent for one more year.", 11, 48),
            ("fn main() { let x = 0xdeadbeef; }", 20, 48),
            ("Мы арендуем зал в Генте ещё на один год.", 27, 90),
            ("हम घेंट का हॉल एक और साल के लिए किराए पर लेंगे।", 48, 130),
            ("เราเช่าห้องโถงในเกนต์อีกหนึ่งปี", 34, 127),
            ("我们在根特再租一年大厅。", 17, 92),
        ] {
            let found = most_of_words(48, text, tokens);
            assert!(found.abs_diff(most) <= most / 8, "{text}: {found}");
        }
    }
}
