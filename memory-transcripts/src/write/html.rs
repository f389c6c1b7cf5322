//! An HTML page for people: one file without scripts or external resources.

use std::io::{self, Write};

use base64::{Engine, prelude::BASE64_STANDARD};
use memory_core::{
    ContentBlock, Media, Message, Timestamp,
    text::{lines, one_line},
};

use super::{
    Heading,
    text::{Shown, byline, shown, voice},
};

/// Style sheet of the page.
pub(super) const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:48rem;margin:2rem auto;padding:0 1rem;\
color:#1c1c1c;background:#fff}h1{font-size:1.4rem}article{border-top:1px solid #ddd;padding:.8rem 0}\
h2{font-size:.95rem;margin:0}.by{color:#666;font-size:.8rem;margin:0}.said,pre{white-space:pre-wrap;\
overflow-wrap:anywhere;margin:.5rem 0}pre{font-size:.85rem;background:#f5f5f5;padding:.6rem;border-radius:4px}\
summary{cursor:pointer;color:#444;font-size:.9rem}img{max-width:100%}.Assistant h2{color:#0a5a9c}.User h2{color:#7a4a00}\
.Tool h2,.System h2{color:#555}@media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#161616}\
article{border-color:#333}pre{background:#222}.by,summary{color:#aaa}.Assistant h2{color:#7ab8f0}.User h2{color:#e0b060}}";

/// Base64 of the SHA-256 of [`STYLE`]. The content security policy allows no other style.
pub(super) const STYLE_HASH: &str = "nOJ4XD9bEZvwwj8788YP/07ydR551rF+mEUdBFe5A+M=";

/// Picture types that are embedded; a picture of another type, such as SVG, is only named.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Escapes markup and invisible characters.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    for c in lines(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

pub(super) fn begin(out: &mut impl Write, heading: Heading<'_>) -> io::Result<()> {
    let title = escaped(&one_line(heading.shown()));
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'sha256-{STYLE_HASH}'; img-src data:; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    )
}

pub(super) fn write(out: &mut impl Write, message: &Message, at: Timestamp) -> io::Result<()> {
    let voice = voice(message);
    write!(out, "<article class=\"{voice}\">\n<h2>{voice}</h2>\n")?;
    let byline = byline(message, at);
    if !byline.is_empty() {
        writeln!(out, "<p class=\"by\">{}</p>", escaped(&byline))?;
    }
    for block in &message.content {
        if let ContentBlock::Image(Media::Bytes { media_type, data }) = block
            && PICTURES.contains(&media_type.as_str())
        {
            writeln!(out, "<img alt=\"\" src=\"data:{media_type};base64,{}\">", BASE64_STANDARD.encode(data))?;
            continue;
        }
        match shown(block) {
            Shown::Words(text) => writeln!(out, "<div class=\"said\">{}</div>", escaped(&text))?,
            Shown::Beside(title, text) => {
                writeln!(out, "<details><summary>{}</summary><pre>{}</pre></details>", escaped(&title), escaped(&text))?
            }
        }
    }
    writeln!(out, "</article>")
}

pub(super) fn end(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "</body>\n</html>")
}
