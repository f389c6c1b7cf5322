//! Draws the state of the screen.

use std::borrow::Cow;

use memory_core::{
    Level,
    text::{grouped, one_line},
};
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::{Color, Modifier, Style},
    text::{Line, Span},
    widgets::{Block, BorderType, Borders, Paragraph},
};
use textwrap::{WordSeparator, WordSplitter};

use super::{
    item::Item,
    state::{Browser, Focus, Mode},
};

/// Columns from which on the text stands next to the list.
const WIDE: u16 = 72;
/// Keys and their effects, in pairs.
const KEYS: [(&str, &str); 16] = [
    ("↑ ↓  j k", "move"),
    ("g G", "first, last"),
    ("PageUp PageDown", "a page up, down"),
    ("Enter →  l", "one level down; into the text of a message"),
    ("←  h", "back"),
    ("Tab", "between the list and the text, which the same keys move"),
    ("s", "source messages of a summary, word for word"),
    ("/", "find text from here on, by a regular expression"),
    ("n N", "next, previous match"),
    ("c", "choose a conversation"),
    ("e", "rewrite a summary in $VISUAL or $EDITOR"),
    ("d", "dissolve a META or an ARCHIVE: show its parts instead"),
    ("?", "this help"),
    ("q  Esc  Ctrl-C", "leave"),
    ("", ""),
    ("", "What you replace stays in the log: memory summaries --replaced"),
];
const HINTS: &str = "? help  q leave  ↑↓ move  → open  ← back  s source  / find  e rewrite  d dissolve";
/// Rows of the text from which on the facts of an entry precede it.
const HIGH: u16 = 10;

/// The parts of the screen.
pub(super) struct Areas {
    header: Rect,
    list: Rect,
    text: Rect,
    footer: Rect,
    is_wide: bool,
}

impl Areas {
    /// The areas of a screen. A text without enough width next to the list has the whole screen while the keys move it.
    pub(super) fn of(area: Rect, focus: Focus) -> Self {
        let [header, main, footer] =
            Layout::vertical([Constraint::Length(1), Constraint::Fill(1), Constraint::Length(1)]).areas(area);
        let is_wide = area.width >= WIDE;
        let first = if is_wide || focus == Focus::List { 45 } else { 0 };
        let parts = [Constraint::Percentage(first), Constraint::Fill(1)];
        let [list, text] = if is_wide { Layout::horizontal(parts) } else { Layout::vertical(parts) }.areas(main);
        Self { header, list, text, footer, is_wide }
    }

    /// Rows of the list and of the text.
    pub(super) fn rows(&self) -> [usize; 2] {
        [usize::from(self.list.height), usize::from(self.border().inner(self.text).height)]
    }

    /// The line between the list and the text.
    fn border(&self) -> Block<'static> {
        Block::new().borders(if self.is_wide { Borders::LEFT } else { Borders::TOP })
    }
}

/// Draws everything. Without colors, the selection shows only by its reversed style.
pub(super) fn draw(frame: &mut Frame<'_>, browser: &Browser, is_colored: bool) {
    let areas = Areas::of(frame.area(), browser.focus);
    let header = match &browser.mode {
        Mode::Choosing { .. } => "Conversations".to_owned(),
        Mode::Helping => "Keys".to_owned(),
        _ => header(browser, usize::from(areas.header.width)),
    };
    frame.render_widget(Line::styled(header, Modifier::BOLD), areas.header);
    match &browser.mode {
        Mode::Helping => help(frame, areas.list.union(areas.text)),
        Mode::Choosing { rows, selected } => {
            let rows = rows.iter().map(|row| Line::raw(row.as_str())).collect();
            list(frame, areas.list.union(areas.text), rows, *selected, true);
        }
        Mode::Browsing | Mode::Asking(_) | Mode::Confirming(..) => {
            let Some(listing) = browser.listing() else { return };
            let rows = listing.items.iter().map(|item| row(item, is_colored)).collect();
            list(frame, areas.list, rows, listing.selected, browser.focus == Focus::List);
            if let Some(item) = listing.item() {
                text(frame, &areas, item, browser);
            }
        }
    }
    frame.render_widget(footer(browser), areas.footer);
}

/// The header: as much of the path as there is room for, then other facts.
fn header(browser: &Browser, width: usize) -> String {
    let path: Vec<_> = browser.path().collect();
    let from = |first: usize| {
        let left_out = if first == 0 { "" } else { " › …" };
        let shown = path.get(first..).unwrap_or_default().join(" › ");
        format!("{}{left_out} › {shown}", browser.id)
    };
    let last = path.len().saturating_sub(1);
    let fits = |path: &String| textwrap::core::display_width(path) <= width;
    let path = (0..last).map(from).find(fits).unwrap_or_else(|| from(last));
    let title = if browser.title.is_empty() { String::new() } else { format!(" · “{}”", browser.title) };
    format!("{path} · {} messages{title}", grouped(browser.messages()))
}

fn footer(browser: &Browser) -> Line<'_> {
    match &browser.mode {
        Mode::Asking(pattern) => Line::raw(format!("/{}▏", one_line(pattern))),
        Mode::Confirming(_, name) => {
            Line::styled(format!("Dissolve {name}? Its parts are shown in its place. y/n"), Modifier::BOLD)
        }
        Mode::Helping => Line::styled("any key goes back", Modifier::DIM),
        Mode::Choosing { .. } => Line::styled("↑↓ move  → open  ← back", Modifier::DIM),
        Mode::Browsing if browser.status.is_empty() => Line::styled(HINTS, Modifier::DIM),
        Mode::Browsing => Line::raw(one_line(&browser.status).into_owned()),
    }
}

/// The rows around the selected one.
fn list(frame: &mut Frame<'_>, area: Rect, rows: Vec<Line<'_>>, selected: usize, is_focused: bool) {
    let height = usize::from(area.height);
    let most = rows.len().saturating_sub(height);
    let first = selected.saturating_sub(height / 2).min(most);
    for (row, (index, line)) in area.rows().zip(rows.into_iter().enumerate().skip(first)) {
        frame.render_widget(line, row);
        if index == selected {
            let style = if is_focused { Modifier::REVERSED } else { Modifier::UNDERLINED };
            frame.buffer_mut().set_style(row, Style::new().add_modifier(style));
        }
    }
}

fn row(item: &Item, is_colored: bool) -> Line<'_> {
    let color = match item.level {
        Level::Full => Color::Reset,
        Level::Summary => Color::Green,
        Level::Meta => Color::Yellow,
        Level::Archive => Color::Magenta,
    };
    let style = if is_colored { Style::new().fg(color) } else { Style::new() };
    let mark = if item.summary.is_some() { "▸ " } else { "  " };
    Line::from(vec![
        Span::raw(mark),
        Span::styled(item.name.as_str(), style.add_modifier(Modifier::BOLD)),
        Span::raw("  "),
        Span::raw(item.beginning.as_str()),
    ])
}

fn text(frame: &mut Frame<'_>, areas: &Areas, item: &Item, browser: &Browser) {
    let mut block = areas.border();
    if browser.focus == Focus::Text {
        // The block has no title, which would take a row.
        block = block.border_type(BorderType::Thick);
    }
    let inner = block.inner(areas.text);
    frame.render_widget(block, areas.text);
    let lines = wrapped(item, inner);
    let most = lines.len().saturating_sub(usize::from(inner.height));
    let shown: Vec<_> = lines.into_iter().skip(browser.scroll.min(most)).take(usize::from(inner.height)).collect();
    frame.render_widget(Paragraph::new(shown), inner);
}

/// The facts and the text of an entry in lines that fit an area. If the area is low, the text comes first.
fn wrapped(item: &Item, area: Rect) -> Vec<Line<'static>> {
    // Lines break only at spaces: a time that is broken at its hyphens is hard to read.
    let options = textwrap::Options::new(usize::from(area.width.max(1)))
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation);
    let wrap = |text: &str| textwrap::wrap(text, &options).into_iter().map(Cow::into_owned).collect();
    let facts = item.facts.iter().flat_map(|fact| -> Vec<String> { wrap(fact) });
    let facts = facts.map(|line| Line::styled(line, Modifier::DIM));
    let text = item.text.lines().flat_map(|line| -> Vec<String> { wrap(line) });
    let text = text.map(Line::raw);
    if area.height < HIGH {
        return text.chain([Line::default()]).chain(facts).collect();
    }
    facts.chain([Line::default()]).chain(text).collect()
}

/// Fits the state to a screen of this size: the length of a page, and the range of scrolling.
pub(super) fn fit(browser: &mut Browser, area: Rect) {
    let areas = Areas::of(area, browser.focus);
    browser.resize(areas.rows());
    let inner = areas.border().inner(areas.text);
    let lines = |item: &Item| wrapped(item, inner).len();
    let most = browser.listing().and_then(|listing| listing.item()).map_or(0, lines);
    browser.scroll = browser.scroll.min(most.saturating_sub(usize::from(inner.height)));
}

fn help(frame: &mut Frame<'_>, area: Rect) {
    let keys =
        KEYS.map(|(key, what)| Line::from(vec![Span::styled(format!("{key:16} "), Modifier::BOLD), Span::raw(what)]));
    frame.render_widget(Paragraph::new(keys.to_vec()), area);
}

#[cfg(test)]
mod tests;
