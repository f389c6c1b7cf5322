//! The embedded texts: the same from the same seed.

use fastrand::Rng;

use crate::corpus::Corpus;

/// Approximate bytes of a token of these texts.
const BYTES_PER_TOKEN: f64 = 5.0;

/// A set of texts of similar lengths.
#[derive(Debug)]
pub(super) struct Texts {
    pub(super) name: &'static str,
    pub(super) texts: Vec<String>,
}

/// Remarks and paragraphs as in conversations: 45 tokens in the mean, most of them shorter.
pub(super) fn mixed() -> Texts {
    let mut rng = Rng::with_seed(7);
    // The sum of twelve uniform numbers is about normal; lengths of messages are about log-normal.
    let mut length = || {
        let normal = (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
        (3.45 + 0.8 * normal).exp().clamp(4.0, 220.0)
    };
    make("mixed", 200, &mut length)
}

/// Remarks of 18 tokens.
pub(super) fn short() -> Texts {
    make("short", 200, &mut || 18.0)
}

/// Paragraphs of 185 tokens.
pub(super) fn long() -> Texts {
    make("long", 32, &mut || 185.0)
}

fn make(name: &'static str, count: usize, tokens: &mut dyn FnMut() -> f64) -> Texts {
    let mut corpus = Corpus::new(11);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most some 1,000")]
    let texts = (0..count).map(|_| corpus.text((tokens() * BYTES_PER_TOKEN) as usize)).collect();
    Texts { name, texts }
}
