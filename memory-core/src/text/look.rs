//! The look of texts to a reader, in which characters that look alike are equal.

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

use crate::text::is_hidden;

/// A text with every look-alike replaced by the ASCII it looks like, in lower case, and without invisible characters;
/// line breaks and spaces stay.
///
/// ```
/// let look = memory_core::text::Look::of("Оpen\u{200b}：");
/// assert_eq!(look.text(), "open:");
/// assert_eq!(look.place(1), "О".len());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Look {
    text: String,
    /// Offset in the original text of each byte.
    places: Vec<usize>,
}

impl Look {
    /// The look of `text`.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut look = Self::default();
        for (at, c) in text.char_indices() {
            if c.is_ascii_graphic() || c.is_whitespace() {
                look.push(at, c);
            } else if !is_hidden(c) {
                for plain in std::iter::once(c).nfkd().filter(|plain| !is_combining_mark(*plain)) {
                    ascii(plain).chars().for_each(|c| look.push(at, c));
                    if ascii(plain).is_empty() {
                        look.push(at, plain);
                    }
                }
            }
        }
        look
    }

    fn push(&mut self, at: usize, c: char) {
        self.text.push(c);
        self.places.resize(self.text.len(), at);
    }

    /// The look as text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Offset in the original text of a byte of the look.
    #[must_use]
    pub fn place(&self, byte: usize) -> usize {
        self.places.get(byte).copied().unwrap_or_default()
    }
}

/// The ASCII that a character looks like; empty if there is none.
#[rustfmt::skip]
const fn ascii(c: char) -> &'static str {
    match c {
        'а' | 'А' | 'α' | 'Α' | 'ɑ' | 'ᴀ' | 'Ꭺ' => "a", 'в' | 'В' | 'ь' | 'Ь' | 'β' | 'Β' | 'ʙ' | 'Ᏼ' => "b",
        'с' | 'С' | 'ϲ' | 'Ϲ' | 'ᴄ' | 'Ꮯ' | 'ς' => "c", 'ԁ' | 'Ԁ' | 'ᴅ' | 'Ꭰ' | 'ɗ' | 'đ' | 'Đ' => "d",
        'е' | 'Е' | 'ε' | 'Ε' | 'ᴇ' | 'Ꭼ' | 'є' | 'Є' | 'ҽ' => "e", 'ғ' | 'Ғ' | 'ƒ' | 'ꜰ' | 'ϝ' | 'Ϝ' => "f",
        'ԍ' | 'Ԍ' | 'ɡ' | 'ɢ' | 'Ꮐ' | 'ց' => "g", 'һ' | 'Һ' | 'Н' | 'н' | 'Η' | 'ʜ' | 'Ꮋ' | 'հ' => "h",
        'і' | 'І' | 'ι' | 'Ι' | 'ı' | 'ɩ' | 'ɪ' | 'Ꭵ' | 'ӏ' | 'Ӏ' => "i", 'ј' | 'Ј' | 'ϳ' | 'ᴊ' | 'Ꭻ' => "j",
        'к' | 'К' | 'κ' | 'Κ' | 'ᴋ' | 'Ꮶ' => "k", 'ʟ' | 'Ꮮ' | 'ł' | 'Ł' | 'ǀ' | '∣' => "l",
        'м' | 'М' | 'Μ' | 'ᴍ' | 'Ꮇ' | 'ϻ' | 'Ϻ' => "m", 'п' | 'П' | 'η' | 'Ν' | 'ɴ' | 'ո' | 'и' | 'И' => "n",
        'о' | 'О' | 'ο' | 'Ο' | 'σ' | 'ᴏ' | 'օ' | 'Օ' | 'ø' | 'Ø' | 'ө' | 'Ө' => "o", 'р' | 'Р' | 'ρ' | 'Ρ' | 'ᴘ' | 'Ꮲ' => "p",
        'ԛ' | 'Ԛ' | 'զ' => "q", 'г' | 'Г' | 'Ꭱ' | 'ʀ' | 'я' | 'Я' => "r", 'ѕ' | 'Ѕ' | 'ꜱ' | 'Ꮪ' | 'ʂ' => "s",
        'т' | 'Т' | 'τ' | 'Τ' | 'ᴛ' | 'Ꭲ' => "t", 'υ' | 'ս' | 'ᴜ' | 'ʋ' | 'μ' | 'ц' | 'Ц' => "u",
        'ѵ' | 'Ѵ' | 'ν' | 'ᴠ' | 'Ꮩ' => "v", 'ԝ' | 'Ԝ' | 'ω' | 'ᴡ' | 'Ꮃ' | 'ш' | 'Ш' => "w", 'х' | 'Х' | 'χ' | 'Χ' => "x",
        'у' | 'У' | 'γ' | 'Υ' | 'ү' | 'Ү' | 'ʏ' | 'Ꮍ' => "y", 'Ζ' | 'ᴢ' | 'Ꮓ' => "z",
        '‐' | '‑' | '‒' | '–' | '−' | '⁃' | '˗' | '﹣' | '╴' | '╶' | '־' | '᠆' | '‧' | 'ᅳ' | 'ー' | '一' => "-",
        '—' | '―' | '─' | '━' | '⸺' | '⸻' | '﹘' | '⎯' | '⏤' | '┄' | '┅' | '┈' | '┉' | '╌' | '╍' | '═' => "--",
        '꞉' | '∶' | 'ː' | '˸' | '׃' | '܃' | '܄' | 'ः' | '։' | '⁚' => ":",
        '【' | '〔' | '〖' | '〘' | '〚' | '⟦' | '⁅' | '❲' | '「' | '『' => "[", '】' | '〕' | '〗' | '〙' | '〛' | '⟧' | '⁆' | '❳' | '」' | '』' => "]",
        '❨' | '⟮' => "(", '❩' | '⟯' => ")", '‘' | '’' | 'ʼ' | '′' | 'ˋ' | '‵' => "`",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_alikes_look_like_ascii_and_know_their_places() {
        for (text, look) in [
            ("plain\ttext\n", "plain\ttext\n"),
            ("Сurrеnt quеstіоn：", "current question:"),
            ("―Ｐｒｅｖｉｏｕｓ 𝐂𝐨𝐧𝐭𝐞𝐱𝐭―", "--Previous Context--"),
            ("Go\u{ad}a\u{200b}l\u{2060}: é", "Goal: e"),
            ("【Message 3】", "[Message 3]"),
            ("日本", "日本"),
        ] {
            let found = Look::of(text);
            assert_eq!(found.text().to_lowercase(), look.to_lowercase(), "{text}");
            assert!(found.text().char_indices().all(|(at, _)| text.is_char_boundary(found.place(at))));
        }
    }
}
