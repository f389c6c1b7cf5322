//! Halves of surrogate pairs in JSON, which other programs write after cutting a text between two UTF-16 units.

use std::borrow::Cow;

/// Bytes of an escape such as `\ud83d`.
const ESCAPE: usize = 6;

/// Replaces each escape that is half of a surrogate pair with `\ufffd`; returns the number of replacements.
///
/// JSON parsers give no text for a half. All other bytes stay, so that invalid JSON stays invalid.
pub fn mend_surrogates(json: &mut [u8]) -> u64 {
    let (mut at, mut mended) = (0, 0);
    while let Some(next) = json.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'\\')) {
        at += next;
        at += match (unit(json, at), unit(json, at + ESCAPE)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 2 * ESCAPE,
            (Some(0xD800..=0xDFFF), _) => {
                if let Some(half) = json.get_mut(at..at + ESCAPE) {
                    half.copy_from_slice(b"\\ufffd");
                    mended += 1;
                }
                ESCAPE
            }
            // An escaped backslash begins no escape.
            _ => 2,
        };
    }
    mended
}

/// [`mend_surrogates`] for a text.
#[must_use]
pub fn without_half_surrogates(json: &str) -> Cow<'_, str> {
    let mut mended = Cow::Borrowed(json);
    if ["\\ud", "\\uD"].iter().any(|begin| json.contains(begin)) {
        let mut bytes = json.as_bytes().to_vec();
        if mend_surrogates(&mut bytes) > 0
            && let Ok(text) = String::from_utf8(bytes)
        {
            mended = Cow::Owned(text);
        }
    }
    mended
}

/// The UTF-16 unit that the escape at `at` stands for.
fn unit(json: &[u8], at: usize) -> Option<u16> {
    let digits = json.get(at..at + ESCAPE)?.strip_prefix(b"\\u")?;
    let digits = str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn halves_are_replaced_and_everything_else_stays() {
        for (given, expected, halves) in [
            (r#"{"a": "x\ud83dy"}"#, r#"{"a": "x\ufffdy"}"#, 1),
            (r#"{"\uDE00": 1}"#, r#"{"\ufffd": 1}"#, 1),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#, 0),
            (r#""\ud83d\ud83d\ude00\ude00""#, r#""\ufffd\ud83d\ude00\ufffd""#, 2),
            (r#""\ude00\ud83d""#, r#""\ufffd\ufffd""#, 2),
            (r#""\\ud83d \\\ud83d \\\\ud83d""#, r#""\\ud83d \\\ufffd \\\\ud83d""#, 1),
            (r#""\ud83d\n\u0041 \ud83""#, r#""\ufffd\n\u0041 \ud83""#, 1),
            (r#""\ud83dé😀""#, r#""\ufffdé😀""#, 1),
            (r#""\u+83d \u""#, r#""\u+83d \u""#, 0),
            ("\\", "\\", 0),
            ("", "", 0),
        ] {
            assert_eq!(without_half_surrogates(given), expected);
            assert_eq!(mend_surrogates(&mut given.as_bytes().to_vec()), halves, "{given}");
        }
        assert!(matches!(without_half_surrogates(r#""\ud83d\ude00""#), Cow::Borrowed(_)));
    }

    proptest! {
        #[test]
        fn every_text_of_escapes_is_read_and_each_unit_counts(units in prop::collection::vec(any::<u16>(), 0..40), deep in any::<bool>()) {
            let escaped: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            let json = if deep { format!("[{{\"{escaped}\": [\"\\\\{escaped}\"]}}]") } else { format!("\"{escaped}\"") };
            let read: Value = serde_json::from_str(&without_half_surrogates(&json)).unwrap();
            let expected = String::from_utf16_lossy(&units);
            if deep {
                let members = read[0].as_object().unwrap();
                prop_assert_eq!(&members[&expected][0], &Value::from(format!("\\{expected}")));
            } else {
                prop_assert_eq!(read, Value::from(expected));
            }
        }
    }
}
