//! Tests of chunks with tokens of at most three letters.

use proptest::prelude::*;

use super::*;

fn tokens(text: &str) -> Vec<Range<usize>> {
    let mut tokens: Vec<Range<usize>> = Vec::new();
    let mut letters = 0;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        match tokens.last_mut() {
            Some(last) if c.is_alphanumeric() && last.end == at && letters < 3 => {
                letters += 1;
                last.end = end;
            }
            _ if !c.is_whitespace() => {
                letters = if c.is_alphanumeric() { 1 } else { 3 };
                tokens.push(at..end);
            }
            _ => {}
        }
    }
    tokens
}

/// The text of each chunk: from its first token to the first token after it.
fn pieces(text: &str, limit: usize, overlap: usize) -> Vec<&str> {
    let tokens = tokens(text);
    let begin = |at: usize| if at == 0 { 0 } else { tokens[at].start };
    let end = |at: usize| tokens.get(at).map_or(text.len(), |token| token.start);
    let chunks = plan_chunks(text, &tokens, limit, overlap);
    chunks.into_iter().map(|chunk| &text[begin(chunk.start)..end(chunk.end)]).collect()
}

#[test]
fn a_text_that_fits_is_one_chunk() {
    assert_eq!(pieces("one two six.", 4, 1), ["one two six."]);
    assert_eq!(pieces("", 4, 1), [""]);
    assert_eq!(pieces("  ", 4, 1), ["  "]);
}

#[test]
fn cuts_stand_between_sentences() {
    assert_eq!(
        pieces("Red is up. Ann can go. Bob may not. Cy is in.", 9, 0),
        ["Red is up. Ann can go. ", "Bob may not. Cy is in."]
    );
}

#[test]
fn the_last_sentence_is_repeated_if_it_is_short() {
    assert_eq!(pieces("Red is up. Ann ran. Bob may not.", 8, 4), ["Red is up. Ann ran. ", "Ann ran. Bob may not."]);
}

#[test]
fn lines_of_code_are_sentences() {
    assert_eq!(pieces("let a = 1;\nlet b = 2;\nlet c = 3;\n", 12, 0), ["let a = 1;\nlet b = 2;\n", "let c = 3;\n"]);
}

#[test]
fn a_sentence_that_is_too_long_is_cut_between_words() {
    assert_eq!(pieces("one two six ten abcdef end now", 5, 2), ["one two six ten ", "six ten abcdef end ", "end now"]);
}

#[test]
fn a_text_without_words_is_cut_between_tokens() {
    assert_eq!(pieces("aaabbbcccdddeeefff", 4, 1), ["aaabbbcccddd", "dddeeefff"]);
}

fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z]{1,9} ",
        "[A-Z][a-z]{1,5}[.!?] ",
        "[a-z]{10,60}",
        "[;{}().,]{1,3}",
        "[ \n\t]{1,4}",
        "[一-龥。]{1,5}",
        "\\PC{1,4}",
    ];
    prop::collection::vec(piece, 0..80).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn every_byte_is_in_a_chunk_and_no_chunk_is_too_long(text in texts(), limit in 2usize..40, overlap in 0usize..40) {
        let overlap = overlap % limit;
        let tokens = tokens(&text);
        let chunks = plan_chunks(&text, &tokens, limit, overlap);
        prop_assert!(chunks.iter().all(|chunk| chunk.len() <= limit));
        prop_assert_eq!(chunks[0].start, 0);
        prop_assert_eq!(chunks[chunks.len() - 1].end, tokens.len());
        for pair in chunks.windows(2) {
            prop_assert!(pair[1].start <= pair[0].end, "a gap: {:?}", chunks);
            prop_assert!(pair[0].end - pair[1].start <= overlap, "too much overlap: {:?}", chunks);
            prop_assert!(pair[0].start < pair[1].start && pair[0].end < pair[1].end, "no progress: {:?}", chunks);
        }
        // The pieces without their overlaps are the text.
        let mut covered = 0;
        for piece in pieces(&text, limit, overlap) {
            let start = piece.as_ptr() as usize - text.as_ptr() as usize;
            prop_assert!(start <= covered);
            covered = start + piece.len();
        }
        prop_assert_eq!(covered, text.len());
    }
}
