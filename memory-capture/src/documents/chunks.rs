//! Documents in chunks that are messages: each below its headings, and within its page.

use unicode_segmentation::UnicodeSegmentation;

use super::Document;

/// Most characters of a chunk, without its headings.
const LONGEST: usize = 1_200;
/// Characters from which a chunk may end at a paragraph.
const ENOUGH: usize = 600;

/// A part of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) text: String,
    /// Number of the page, from 1, if the document has pages.
    pub(super) page: Option<u32>,
}

/// Chunks of a document, in order. Every chunk begins with the headings above it.
pub(super) fn chunks(document: &Document) -> Vec<Chunk> {
    let mut writer = Writer::default();
    for page in &document.pages {
        writer.page = page.number;
        paragraphs(&page.text).for_each(|paragraph| writer.add(&paragraph));
        writer.end();
    }
    writer.chunks
}

/// Paragraphs of a text: runs of lines between blank ones, headings of Markdown, and fenced blocks.
fn paragraphs(text: &str) -> impl Iterator<Item = String> {
    let mut all = Vec::new();
    let mut current: Vec<&str> = Vec::new();
    let mut is_fenced = false;
    for line in text.lines().map(str::trim_end) {
        let is_fence = line.trim_start().starts_with("```");
        let begins = heading(line).is_some() && !is_fenced;
        if (line.trim().is_empty() && !is_fenced) || begins {
            all.push(std::mem::take(&mut current).join("\n"));
        }
        is_fenced ^= is_fence;
        if begins {
            all.push(line.to_owned());
        } else if !line.trim().is_empty() || is_fenced {
            current.push(line);
        }
    }
    all.push(current.join("\n"));
    all.into_iter().filter(|paragraph| !paragraph.trim().is_empty())
}

/// Level of a heading of Markdown.
fn heading(line: &str) -> Option<usize> {
    let marks = line.chars().take_while(|c| *c == '#').count();
    let is_heading = (1..=6).contains(&marks) && line.chars().nth(marks) == Some(' ');
    is_heading.then_some(marks)
}

#[derive(Default)]
struct Writer {
    chunks: Vec<Chunk>,
    /// Headings above, with their levels.
    headings: Vec<(usize, String)>,
    page: Option<u32>,
    text: String,
    /// Characters of `text` below its headings.
    length: usize,
}

impl Writer {
    fn add(&mut self, paragraph: &str) {
        if let Some(level) = heading(paragraph) {
            if self.length > 0 {
                self.end();
            }
            self.headings.retain(|(above, _)| *above < level);
            self.headings.push((level, paragraph.to_owned()));
            self.text.clear();
            return;
        }
        let length = paragraph.chars().count();
        if self.length >= ENOUGH || (self.length > 0 && self.length + length > LONGEST) {
            self.end();
        }
        if length <= LONGEST {
            self.push(paragraph, length);
            return;
        }
        for sentence in paragraph.unicode_sentences() {
            for part in parts(sentence) {
                let length = part.chars().count();
                if self.length > 0 && self.length + length > LONGEST {
                    self.end();
                }
                self.push(part.trim(), length);
            }
        }
    }

    fn push(&mut self, text: &str, length: usize) {
        if self.length == 0 {
            self.text = self.headings.iter().map(|(_, heading)| format!("{heading}\n")).collect();
        } else {
            self.text.push('\n');
        }
        self.text.push_str(text);
        self.length += length;
    }

    fn end(&mut self) {
        if self.length > 0 {
            self.chunks.push(Chunk { text: std::mem::take(&mut self.text), page: self.page });
            self.length = 0;
        }
    }
}

/// A sentence in parts of at most [`LONGEST`] characters, cut between words where there are some.
fn parts(mut sentence: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    while let Some((most, _)) = sentence.char_indices().nth(LONGEST) {
        let (head, _) = sentence.split_at(most);
        let at = head.rfind(char::is_whitespace).filter(|at| *at > 0).unwrap_or(most);
        let (part, rest) = sentence.split_at(at);
        parts.push(part);
        sentence = rest;
    }
    parts.push(sentence);
    parts
}

#[cfg(test)]
mod tests {
    use super::{super::Page, *};

    fn of(pages: &[&str]) -> Vec<Chunk> {
        let page = |(index, text): (usize, &&str)| Page {
            number: (pages.len() > 1).then(|| u32::try_from(index).unwrap() + 1),
            text: (*text).to_owned(),
        };
        let pages: Vec<Page> = pages.iter().enumerate().map(page).collect();
        chunks(&Document { name: "x".to_owned(), pages })
    }

    #[test]
    fn a_chunk_stands_below_its_headings_and_within_its_page() {
        let long = "One sentence of it. ".repeat(50);
        let text = format!("# Setup\n\nFirst.\n## Linux\n{long}\n\n{long}\n# End\nLast.\n```\n# no heading\n\nx\n```");
        let texts: Vec<String> = of(&[&text]).into_iter().map(|chunk| chunk.text).collect();
        let beginnings: Vec<String> = texts.iter().map(|text| text.chars().take(24).collect()).collect();
        assert_eq!(
            beginnings,
            [
                "# Setup\nFirst.",
                "# Setup\n## Linux\nOne sen",
                "# Setup\n## Linux\nOne sen",
                "# End\nLast.\n```\n# no hea"
            ]
        );
        assert!(texts[3].ends_with("\n\nx\n```"), "{}", texts[3]);
        let pages: Vec<_> = of(&["a\n\nb", "", "c"]).into_iter().map(|chunk| (chunk.text, chunk.page)).collect();
        assert_eq!(pages, [("a\nb".to_owned(), Some(1)), ("c".to_owned(), Some(3))]);
    }

    #[test]
    fn no_chunk_is_too_long_and_no_word_is_lost() {
        for text in ["word ".repeat(2_000), "ab".repeat(3_000), "火车在八点到。".repeat(600), "A b. ".repeat(900)]
        {
            let chunks = of(&[&text]);
            assert!(chunks.iter().all(|chunk| chunk.text.chars().count() <= LONGEST + ENOUGH), "{text:.20}");
            let strip = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            assert_eq!(chunks.iter().map(|chunk| strip(&chunk.text)).collect::<String>(), strip(&text));
        }
    }
}
