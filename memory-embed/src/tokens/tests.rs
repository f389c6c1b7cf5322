//! Counts are equal to tiktoken's.

use std::{env, fs, path::Path};

use proptest::prelude::*;
use tiktoken_rs::CoreBPE;

use super::*;

const COUNTERS: [TiktokenCounter; 2] = [TiktokenCounter::cl100k(), TiktokenCounter::o200k()];

fn tiktoken(counter: TiktokenCounter) -> &'static CoreBPE {
    match counter.encoding {
        Encoding::Cl100kBase => tiktoken_rs::cl100k_base_singleton(),
        Encoding::O200kBase => tiktoken_rs::o200k_base_singleton(),
    }
}

fn expected(counter: TiktokenCounter, text: &str) -> u32 {
    u32::try_from(tiktoken(counter).encode_ordinary(text).len()).unwrap()
}

/// The files of `vocabularies/`; with `MEMORY_GOLDEN` set to that directory, they are written.
#[test]
fn the_vocabularies_are_those_of_tiktoken() {
    for (counter, count, vocabulary) in
        [(COUNTERS[0], 100_256, &vocabulary::CL100K), (COUNTERS[1], 199_998, &vocabulary::O200K)]
    {
        let mut file = Vec::new();
        for rank in 0..count {
            let token = tiktoken(counter).decode_bytes(&[rank]).unwrap();
            file.push(u8::try_from(token.len()).unwrap());
            assert!(vocabulary.rank(&token) == u32::try_from(file.len()).ok(), "{} {rank} {token:?}", counter.name());
            file.extend(token);
        }
        if let Some(golden) = env::var_os("MEMORY_GOLDEN") {
            fs::write(Path::new(&golden).join(format!("{}.tokens", counter.name())), &file).unwrap();
        }
        assert!(file == vocabulary.tokens(), "{}", counter.name());
    }
}

#[test]
fn counts_what_the_reference_counts() {
    // Counts by the Python package tiktoken 0.14.0.
    for (text, cl100k, o200k) in REFERENCE {
        assert_eq!(TiktokenCounter::cl100k().count(text), *cl100k, "{text:?}");
        assert_eq!(TiktokenCounter::o200k().count(text), *o200k, "{text:?}");
    }
}

const REFERENCE: &[(&str, u32, u32)] = &[
    ("tiktoken is great!", 6, 6),
    ("hello world", 2, 2),
    ("<|endoftext|>", 7, 7),
    ("日本語の文章を数える。", 11, 8),
    ("fn main() {\n    println!(\"it's {}\", 1_000);\n}\n", 16, 15),
    ("antidisestablishmentarianism 1234567 don't WE'LL", 15, 14),
    ("\n\n   \t  x", 4, 4),
    ("naïve café 👍🏽", 9, 7),
    (" ", 1, 1),
];

#[test]
fn special_tokens_are_ordinary_text() {
    for counter in COUNTERS {
        assert_eq!(counter.count("<|endoftext|>"), expected(counter, "<|endoftext|>"));
        assert!(counter.count("<|endoftext|>") > 3);
    }
}

#[test]
fn the_empty_text_costs_nothing() {
    assert_eq!(TiktokenCounter::cl100k().count(""), 0);
}

/// One that tiktoken's expressions can take: they give up after a million steps.
#[test]
fn a_long_run_is_counted_exactly() {
    for counter in COUNTERS {
        for unit in
            ["a", "y", "aB", " ", "\n", " \n", "\t", "!", "é", "漢", "7", "👍", "\u{300}", "'s", "ab ", "A\u{300}"]
        {
            let text = unit.repeat(20_000 / unit.len());
            assert_eq!(counter.count(&text), expected(counter, &text), "{unit:?}");
        }
    }
}

/// Words that are cut take time by their length, and a few tokens at each cut.
#[test]
fn a_word_that_is_cut_is_counted_to_a_few_tokens() {
    for counter in COUNTERS {
        for unit in ["y", " ", "漢"] {
            let length = |bytes: usize| counter.count(&unit.repeat(bytes / unit.len()));
            let (whole, part) = (length(2 * LONGEST_WORD), length(LONGEST_WORD / 16));
            assert!(whole.abs_diff(part * 32) <= whole / 20 + 160, "{unit:?}: {whole} and {part}");
        }
    }
}

#[test]
fn a_long_document_is_counted_exactly() {
    let paragraph =
        "The cache was cold, so p99 rose to 412 ms.\n\n    fn main() { println!(\"it's {}\", 1_000); }\n日本語の文。\t";
    let text = paragraph.repeat((192 << 10) / paragraph.len());
    for counter in COUNTERS {
        assert_eq!(counter.count(&text), expected(counter, &text));
    }
}

/// Texts of pieces at which the patterns of the vocabularies go separate ways.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-zA-Z]{1,8}",
        "[A-ZÄÖǅ]{1,4}[a-zäöß]{0,4}",
        "[0-9²Ⅷ٣]{1,5}",
        "[ \t\r\n]{1,4}",
        "[!-/:-@\\[-`{-~]{1,3}",
        "[、。，！？ぁ-んァ-ヶ一-龥가-힣]{1,4}",
        "'(s|t|re|ve|m|ll|d|S|T|Re|VE|lL|ſ|r|l|v|x)",
        "\\PC{1,3}",
        "[a-zа-яА-Яא-תا-ي]{1,6}",
        prop::sample::select(vec![
            "\u{301}",
            "\u{3000}",
            "\u{a0}",
            "\u{85}",
            "\u{2028}",
            "\u{200d}",
            "\u{feff}",
            "\u{0}",
            "\u{903}",
            "ʰ",
            "👩🏽‍🚀",
            "🇩🇪",
            "    ",
            "\r\n",
            "/",
            "//\n",
            "</",
            "<|endoftext|>",
            "fn main() {\n",
            "\u{20dd}",
            "A\u{301}",
            "the",
            " the",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn counts_are_those_of_tiktoken(text in texts()) {
        for counter in COUNTERS {
            prop_assert_eq!(counter.count(&text), expected(counter, &text), "{}", counter.name());
        }
    }

    #[test]
    fn counts_of_any_characters_are_those_of_tiktoken(text in ".{0,60}|[\\s\\S]{0,30}|[\\p{L}\\p{M}'/ ]{0,40}") {
        for counter in COUNTERS {
            prop_assert_eq!(counter.count(&text), expected(counter, &text), "{}", counter.name());
        }
    }
}

proptest! {
    #[test]
    fn parts_that_end_with_a_line_end_add_up(parts in prop::collection::vec((texts(), prop::sample::select(vec!["[", "N", "-", "Ü"])), 1..5)) {
        let parts: Vec<_> = parts.into_iter().map(|(text, begin)| format!("{begin}{text}\n")).collect();
        for counter in COUNTERS {
            let sum: u32 = parts.iter().map(|part| counter.count(part)).sum();
            prop_assert_eq!(sum, counter.count(&parts.concat()));
        }
    }
}
