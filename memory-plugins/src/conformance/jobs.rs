//! Jobs for the checks.

/// A typical conversation: a question, figures, a decision, code, an error, small talk.
pub(super) const TALK: &[&str] = &[
    "Could you look at why the nightly build fails since Tuesday?",
    "It fails in step 7 of 12: `cargo test` ends with error E0599 after 14 minutes, because version 2.3.1 dropped the \
     method. I can pin version 2.3.0 or change 4 call sites.",
    "Thanks! We decided to change the call sites, and Priya will review it before 12 March.",
    "fn total(prices: &[u32]) -> u32 {\n    prices.iter().sum()\n}\n",
    "ok",
    "Never deploy on Fridays. My preference is Monday morning, at 09:30, after the stand-up; the budget is 1,250 euros.",
];

/// Texts in many scripts, with joined, bidirectional, doubled, invisible and control characters.
pub(super) const UNICODE: &[&str] = &[
    "我们决定在三月十二日发布第二版。价格是一千二百元。",
    "กำหนดส่งงานคือวันศุกร์ที่สิบสอง",
    "نحن قررنا أن ننشر النسخة الثانية في الثاني عشر من مارس.",
    "Решили выпустить версию 2.4 двенадцатого марта; цена — 1 200 ₽.",
    "👩‍👩‍👧‍👦🏳️‍🌈👍🏽 e\u{301}e\u{301}e\u{301} Z\u{351}\u{36b}a\u{343}\u{36a}lgo",
    "\u{202e}txet detrever\u{202c} \u{200b}\u{feff} \0 \u{7}\u{1b}[31m \u{fffd} \u{10ffff}",
    "İstanbul ǆ ß ﬁ ½ Ⅷ",
    "\u{2028}\u{2029}\r\n\u{85}\u{a0}",
];

/// Megabytes of text: of words, of a single word, of one line in another script.
pub(super) fn huge() -> Vec<String> {
    vec![
        "The price of part 17 rose to 250 euros, so we decided to wait. ".repeat(32 << 10),
        "x".repeat(2 << 20),
        "山".repeat(1 << 20),
    ]
}

/// Number of messages of a large job.
pub(super) const MANY: usize = 5_000;
