//! Markdown for people.

use std::io::{self, Write};

use memory_core::{
    Message, Timestamp,
    text::{lines, one_line},
};

use super::{
    Heading,
    text::{Shown, byline, shown, voice},
};

pub(super) fn begin(out: &mut impl Write, heading: Heading<'_>) -> io::Result<()> {
    writeln!(out, "# {}", one_line(heading.shown()))
}

pub(super) fn write(out: &mut impl Write, message: &Message, at: Timestamp) -> io::Result<()> {
    write!(out, "\n## {}\n", voice(message))?;
    let byline = byline(message, at);
    if !byline.is_empty() {
        write!(out, "\n*{}*\n", byline.replace(['*', '_', '<'], " "))?;
    }
    for block in &message.content {
        match shown(block) {
            Shown::Words(text) => {
                out.write_all(b"\n")?;
                let text = lines(&text);
                let mut fence = None;
                for line in text.lines() {
                    let marker: String = line.trim_start().chars().take_while(|c| *c == '`').collect();
                    match &fence {
                        None if marker.len() >= 3 => fence = Some(marker),
                        Some(open) if marker.len() >= open.len() && line.trim() == marker => fence = None,
                        _ => {}
                    }
                    // Escaped, so that text is not read as a heading of this file or as a tag.
                    let escape = if fence.is_none() && line.starts_with(['#', '<']) { "\\" } else { "" };
                    writeln!(out, "{escape}{line}")?;
                }
                // An unclosed fence of a text must not include what follows.
                if let Some(fence) = fence {
                    writeln!(out, "{fence}")?;
                }
            }
            Shown::Beside(title, text) => {
                let text = lines(&text);
                let fence = "`".repeat(longest_run(&text).max(2) + 1);
                write!(out, "\n{title}:\n\n{fence}\n{}\n{fence}\n", text.trim_end_matches('\n'))?;
            }
        }
    }
    Ok(())
}

/// The longest run of backticks.
fn longest_run(text: &str) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}
