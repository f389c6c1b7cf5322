//! Checksums and entropy.

/// True if the digits pass the checksum of payment cards (ISO/IEC 7812-1, annex B), and are 13 to 19 and not all equal.
pub(crate) fn is_card(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    let is_one_digit = digits.windows(2).all(|pair| pair.first() == pair.last());
    // Visa, Mastercard, American Express, Discover, JCB, Maestro and UnionPay begin with these.
    let has_issuer = matches!(digits.first(), Some(2..=6));
    let doubled = |digit: u32| if digit > 4 { 2 * digit - 9 } else { 2 * digit };
    let sum: u32 =
        digits.iter().rev().enumerate().map(|(n, digit)| if n % 2 == 1 { doubled(*digit) } else { *digit }).sum();
    (13..=19).contains(&digits.len()) && has_issuer && !is_one_digit && sum.is_multiple_of(10)
}

/// True if the text passes the checksum of an IBAN (ISO 13616, ISO/IEC 7064 MOD 97-10), with or without spaces.
pub(crate) fn is_iban(text: &str) -> bool {
    let plain: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    let Some((head, tail)) = plain.split_at_checked(4) else { return false };
    let rest = tail.iter().chain(head).try_fold(0, |rest, c| {
        let value = c.to_digit(36)?;
        Some((if value > 9 { rest * 100 + value } else { rest * 10 + value }) % 97)
    });
    (15..=34).contains(&plain.len()) && rest == Some(1)
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
        for card in ["4111 1111 1111 1111", "5500-0000-0000-0004", "378282246310005", "6011000990139424"] {
            assert!(is_card(card), "{card}");
        }
        for other in ["4111 1111 1111 1112", "0000000000000000", "1234567890123", "4444444444444444"] {
            assert!(!is_card(other), "{other}");
        }
        for iban in ["DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432", "NL91ABNA0417164300"] {
            assert!(is_iban(iban), "{iban}");
        }
        for other in ["DE88 3704 0044 0532 0130 00", "GB82", "ÄÖ82WEST12345698765432"] {
            assert!(!is_iban(other), "{other}");
        }
    }

    #[test]
    fn a_word_has_less_entropy_than_a_key() {
        assert!(entropy("password") < 3.0 && entropy("aaaaaaaaaaaa") < 0.1);
        assert!(entropy("wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY") > 4.0);
    }
}
