//! Checksums and entropy.

/// True if the text is the number of a payment card: an issuer's digits and length (ISO/IEC 7812-1), the checksum of its
/// annex B, and no separators or those between the groups that cards are printed with.
pub(crate) fn is_card(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    let number = |count: usize| digits.iter().take(count).fold(0, |number, digit| number * 10 + digit);
    let length = digits.len();
    let is_issued = match (number(1), number(2), number(3), number(4)) {
        (_, 34 | 37, ..) => length == 15,
        (_, 36 | 38 | 39, ..) | (_, _, 300..=305, _) => length == 14,
        (4, ..) => matches!(length, 16 | 19),
        (_, 51..=55, ..) | (_, _, _, 2221..=2720 | 3528..=3589) => length == 16,
        (_, 62 | 65, ..) | (_, _, 644..=649, _) | (_, _, _, 6011) => (16..=19).contains(&length),
        (_, _, _, 5018 | 5020 | 5038 | 5893 | 6304 | 6759 | 6761..=6763) => (13..=19).contains(&length),
        _ => false,
    };
    let is_one_digit = digits.windows(2).all(|pair| pair.first() == pair.last());
    let doubled = |digit: u32| if digit > 4 { 2 * digit - 9 } else { 2 * digit };
    let sum: u32 =
        digits.iter().rev().enumerate().map(|(n, digit)| if n % 2 == 1 { doubled(*digit) } else { *digit }).sum();
    is_issued && is_grouped(text) && !is_one_digit && sum.is_multiple_of(10)
}

/// True if digits stand together, or in the groups of cards with one kind of separator.
fn is_grouped(text: &str) -> bool {
    let separators: Vec<char> = text.chars().filter(|c| !c.is_ascii_digit()).collect();
    let groups: Vec<usize> = text.split(|c: char| !c.is_ascii_digit()).map(str::len).collect();
    separators.windows(2).all(|pair| pair.first() == pair.last())
        && (groups.len() == 1
            || matches!(
                groups.as_slice(),
                [4, 6, 4 | 5] | [4, 4, 4, 1..=4] | [4, 4, 4, 4, 1..=3] | [8, 8] | [6, 4..=13]
            ))
}

/// Characters of an IBAN by country (SWIFT, "IBAN Registry", release 99).
const IBANS: [(&str, usize); 85] = [
    ("AD", 24),
    ("AE", 23),
    ("AL", 28),
    ("AT", 20),
    ("AZ", 28),
    ("BA", 20),
    ("BE", 16),
    ("BG", 22),
    ("BH", 22),
    ("BI", 27),
    ("BR", 29),
    ("BY", 28),
    ("CH", 21),
    ("CR", 22),
    ("CY", 28),
    ("CZ", 24),
    ("DE", 22),
    ("DJ", 27),
    ("DK", 18),
    ("DO", 28),
    ("EE", 20),
    ("EG", 29),
    ("ES", 24),
    ("FI", 18),
    ("FK", 18),
    ("FO", 18),
    ("FR", 27),
    ("GB", 22),
    ("GE", 22),
    ("GI", 23),
    ("GL", 18),
    ("GR", 27),
    ("GT", 28),
    ("HN", 28),
    ("HR", 21),
    ("HU", 28),
    ("IE", 22),
    ("IL", 23),
    ("IQ", 23),
    ("IS", 26),
    ("IT", 27),
    ("JO", 30),
    ("KW", 30),
    ("KZ", 20),
    ("LB", 28),
    ("LC", 32),
    ("LI", 21),
    ("LT", 20),
    ("LU", 20),
    ("LV", 21),
    ("LY", 25),
    ("MC", 27),
    ("MD", 24),
    ("ME", 22),
    ("MK", 19),
    ("MN", 20),
    ("MR", 27),
    ("MT", 31),
    ("MU", 30),
    ("NI", 28),
    ("NL", 18),
    ("NO", 15),
    ("OM", 23),
    ("PK", 24),
    ("PL", 28),
    ("PS", 29),
    ("PT", 25),
    ("QA", 29),
    ("RO", 24),
    ("RS", 22),
    ("RU", 33),
    ("SA", 24),
    ("SC", 31),
    ("SD", 18),
    ("SE", 24),
    ("SI", 19),
    ("SK", 24),
    ("SM", 27),
    ("SO", 23),
    ("ST", 25),
    ("SV", 28),
    ("TL", 23),
    ("TN", 24),
    ("TR", 26),
    ("UA", 29),
];

/// Bytes of the IBAN that a text begins with, separators within included: as many characters as its country's have, and
/// the checksum (ISO 13616, ISO/IEC 7064 MOD 97-10); `None` if there is none.
pub(crate) fn length_of_iban(text: &str) -> Option<usize> {
    let country = text.get(..2)?.to_uppercase();
    let (_, length) = IBANS.iter().find(|(name, _)| *name == country)?;
    let mut plain = text.char_indices().filter(|(_, c)| c.is_alphanumeric());
    let of_iban: Vec<(usize, char)> = plain.by_ref().take(*length).collect();
    let (last, c) = of_iban.last().filter(|_| of_iban.len() == *length)?;
    let (head, tail) = of_iban.split_at_checked(4)?;
    let rest = tail.iter().chain(head).try_fold(0, |rest, (_, c)| {
        let value = c.to_digit(36)?;
        Some((if value > 9 { rest * 100 + value } else { rest * 10 + value }) % 97)
    });
    (rest == Some(1)).then_some(last + c.len_utf8())
}

/// Bits a character (Shannon, "A Mathematical Theory of Communication", 1948), from the text's own frequencies.
pub(crate) fn entropy(text: &str) -> f64 {
    let mut counts = [0u32; 256];
    for byte in text.bytes() {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "lengths of keys")]
    let total = text.len().max(1) as f64;
    let of = |count: u32| f64::from(count) / total;
    counts.into_iter().filter(|count| *count > 0).map(|count| -of(count) * of(count).log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_tell_numbers_from_cards_and_ibans() {
        let cards = [
            "4111 1111 1111 1111",
            "5500-0000-0000-0004",
            "378282246310005",
            "3782 822463 10005",
            "6011000990139424",
            "4111.1111.1111.1111",
            "3530 1113 3330 0000",
            "3056 930902 5904",
        ];
        for card in cards {
            assert!(is_card(card), "{card}");
        }
        for other in [
            "4111 1111 1111 1112",
            "0000000000000000",
            "1234567890123",
            "4444444444444444",
            "41 111111 1111 1111",
            "4111 1111-1111 1111",
        ] {
            assert!(!is_card(other), "{other}");
        }
        for iban in
            ["DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432", "nl91-abna-0417-1643-00", "NO93 8601 1117 947"]
        {
            assert_eq!(length_of_iban(iban), Some(iban.len()), "{iban}");
            assert_eq!(length_of_iban(&format!("{iban} and more")), Some(iban.len()), "{iban}");
        }
        for other in ["DE88 3704 0044 0532 0130 00", "GB82", "ÄÖ82WEST12345698765432", "DE89 3704 0044 0532 0130"] {
            assert_eq!(length_of_iban(other), None, "{other}");
        }
    }

    #[test]
    fn a_word_has_less_entropy_than_a_key() {
        assert!(entropy("password") < 3.0 && entropy("aaaaaaaaaaaa") < 0.1);
        assert!(entropy("wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY") > 4.0);
    }
}
