//! State of the screen, and the effect of a key on it. This module reads no store and draws nothing.

use memory_core::{NodeId, NodeRange, SummaryId, text::one_line};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::listing::{Listing, ListingPlace, Load, Page, PagePosition};

/// Effect of a key that the caller carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Load(Load),
    /// Find a pattern from this message on.
    Find {
        pattern: String,
        from: NodeId,
    },
    /// Let the user rewrite a summary.
    Edit(SummaryId),
    Dissolve(SummaryId),
    /// Read the list of conversations.
    List,
    /// Open the conversation with this index in the list.
    Open(usize),
    Suspend,
    Leave,
}

/// Purpose of the keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Browsing,
    /// The user types a pattern.
    Asking(String),
    /// The user is asked to confirm the dissolution of this summary.
    Confirming(SummaryId, String),
    /// The user chooses a conversation from rows.
    Choosing {
        rows: Vec<String>,
        selected: usize,
    },
    Helping,
}

/// The part of the screen that keys move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Focus {
    List,
    Text,
}

/// The matches of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Matches {
    pattern: String,
    nodes: Vec<NodeId>,
    at: usize,
    /// True if there are matches after the last one.
    more: bool,
}

/// The state of the screen.
#[derive(Clone, Debug)]
pub(super) struct Browser {
    /// Id of the conversation.
    pub(super) id: String,
    /// Title of the conversation; may be empty.
    pub(super) title: String,
    nodes: u64,
    /// True if summaries can be changed.
    is_writable: bool,
    stack: Vec<Listing>,
    pub(super) mode: Mode,
    pub(super) focus: Focus,
    /// Lines of the text above the screen.
    pub(super) scroll: usize,
    /// Message about the last event.
    pub(super) status: String,
    matches: Option<Matches>,
    /// Rows of the list and of the text on the screen.
    rows: [usize; 2],
}

impl Browser {
    pub(super) fn new(is_writable: bool) -> Self {
        Self {
            id: String::new(),
            title: String::new(),
            nodes: 0,
            is_writable,
            stack: Vec::new(),
            mode: Mode::Browsing,
            focus: Focus::List,
            scroll: 0,
            status: String::new(),
            matches: None,
            rows: [1; 2],
        }
    }

    /// Begins with another conversation. The caller loads the returned page.
    pub(super) fn begin(&mut self, id: &str, title: &str, nodes: u64) -> Load {
        self.id = one_line(id).into_owned();
        self.title = one_line(title).into_owned();
        self.nodes = nodes;
        self.stack.clear();
        self.matches = None;
        self.mode = Mode::Browsing;
        self.focus = Focus::List;
        self.scroll = 0;
        Load { place: ListingPlace::Top, name: "top of the tree".to_owned(), at: PagePosition::Start }
    }

    /// Sets the number of rows of the list and of the text on the screen.
    pub(super) fn resize(&mut self, rows: [usize; 2]) {
        self.rows = rows.map(|rows| rows.max(1));
    }

    pub(super) fn listing(&self) -> Option<&Listing> {
        self.stack.last()
    }

    /// The names of the listings from the top of the tree to this one.
    pub(super) fn path(&self) -> impl Iterator<Item = &str> {
        self.stack.iter().map(|listing| listing.name.as_str())
    }

    pub(super) const fn messages(&self) -> u64 {
        self.nodes
    }

    /// Takes a page that was read.
    pub(super) fn loaded(&mut self, load: Load, page: Page) {
        let is_same = self.listing().is_some_and(|listing| listing.place == load.place);
        match (load.at, self.stack.last_mut()) {
            (PagePosition::Before(_) | PagePosition::After(_), Some(listing)) if is_same => {
                return listing.add(load.at, page);
            }
            (PagePosition::Start, Some(_)) if page.items.is_empty() => {
                self.status = "nothing is below it".to_owned();
                return;
            }
            _ => {}
        }
        if is_same {
            self.stack.pop();
        }
        self.stack.push(Listing::new(load, page));
        self.scroll = 0;
    }

    /// A page that must be read before the screen is drawn.
    pub(super) fn wanted(&self) -> Option<Load> {
        let listing = self.listing()?;
        if listing.is_stale {
            return Some(listing.anew());
        }
        listing.wanted().map(|at| listing.load(at))
    }

    /// Marks all entries as stale after a repair.
    pub(super) fn repaired(&mut self, status: String) {
        self.stack.iter_mut().for_each(|listing| listing.is_stale = true);
        self.status = status;
    }

    /// Takes the messages that match a pattern, and goes to the first.
    pub(super) fn found(&mut self, pattern: String, nodes: Vec<NodeId>, more: bool) -> Option<Effect> {
        if nodes.is_empty() {
            self.status = format!("no message from here on matches {}", one_line(&pattern));
            return None;
        }
        self.matches = Some(Matches { pattern, nodes, at: 0, more });
        self.go_to_match()
    }

    /// Lets the user choose from these conversations.
    pub(super) fn choose(&mut self, rows: Vec<String>) {
        self.mode = Mode::Choosing { rows, selected: 0 };
    }

    fn go_to_match(&mut self) -> Option<Effect> {
        let Matches { pattern, nodes, at, more } = self.matches.as_ref()?;
        let node = *nodes.get(*at)?;
        let more = if *more { " or more" } else { "" };
        self.status = format!("{}: match {} of {}{more}", one_line(pattern), at + 1, nodes.len());
        let all = NodeRange::first_n(self.nodes)?;
        Some(Effect::Load(Load {
            place: ListingPlace::Messages(all),
            name: "all messages".to_owned(),
            at: PagePosition::Around(node),
        }))
    }

    /// Goes to the next or the previous match.
    fn step(&mut self, forward: bool) -> Option<Effect> {
        let Some(matches) = self.matches.as_mut() else {
            self.status = "nothing was searched for yet: / finds text by a regular expression".to_owned();
            return None;
        };
        let last = matches.nodes.len().saturating_sub(1);
        match forward {
            true if matches.at < last => matches.at += 1,
            true if matches.more => {
                let from = matches.nodes.last()?.next();
                return Some(Effect::Find { pattern: matches.pattern.clone(), from });
            }
            true => matches.at = 0,
            false => matches.at = matches.at.checked_sub(1).unwrap_or(last),
        }
        self.go_to_match()
    }

    /// Effect of a key.
    pub(super) fn key(&mut self, key: KeyEvent) -> Option<Effect> {
        if key.kind == KeyEventKind::Release {
            return None;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            match key.code {
                KeyCode::Char('c') => return Some(Effect::Leave),
                KeyCode::Char('z') => return Some(Effect::Suspend),
                _ => return None,
            }
        }
        self.status.clear();
        match std::mem::replace(&mut self.mode, Mode::Browsing) {
            Mode::Browsing => self.browse(key.code),
            Mode::Helping => None,
            Mode::Asking(text) => self.ask(text, key.code),
            Mode::Confirming(summary, name) => match key.code {
                KeyCode::Char('y' | 'Y') => Some(Effect::Dissolve(summary)),
                _ => {
                    self.status = format!("{name} stays as it is");
                    None
                }
            },
            Mode::Choosing { rows, selected } => self.choose_by(rows, selected, key.code),
        }
    }

    fn ask(&mut self, mut text: String, key: KeyCode) -> Option<Effect> {
        match key {
            KeyCode::Esc => return None,
            KeyCode::Enter if text.is_empty() => return None,
            KeyCode::Enter => {
                let here = self.listing().and_then(Listing::item).map_or(NodeId::FIRST, |item| item.nodes.first());
                return Some(Effect::Find { pattern: text, from: here });
            }
            KeyCode::Backspace => {
                text.pop();
            }
            KeyCode::Char(c) => text.push(c),
            _ => {}
        }
        self.mode = Mode::Asking(text);
        None
    }

    fn choose_by(&mut self, rows: Vec<String>, selected: usize, key: KeyCode) -> Option<Effect> {
        let last = rows.len().saturating_sub(1);
        let page = self.rows[0].saturating_sub(1);
        let selected = match key {
            KeyCode::Enter | KeyCode::Right | KeyCode::Char('l') => return Some(Effect::Open(selected)),
            KeyCode::Esc | KeyCode::Left | KeyCode::Char('h' | 'c' | 'q') => {
                // Without a conversation there is nothing to return to.
                return self.stack.is_empty().then_some(Effect::Leave);
            }
            KeyCode::Up | KeyCode::Char('k') => selected.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => selected + 1,
            KeyCode::PageUp => selected.saturating_sub(page),
            KeyCode::PageDown => selected + page,
            KeyCode::Home | KeyCode::Char('g') => 0,
            KeyCode::End | KeyCode::Char('G') => last,
            _ => selected,
        };
        self.mode = Mode::Choosing { rows, selected: selected.min(last) };
        None
    }

    fn browse(&mut self, key: KeyCode) -> Option<Effect> {
        let [list, text] = self.rows.map(|rows| isize::try_from(rows.saturating_sub(1).max(1)).unwrap_or(1));
        let page = if self.focus == Focus::List { list } else { text };
        match key {
            KeyCode::Char('q') | KeyCode::Esc => return Some(Effect::Leave),
            KeyCode::Char('?') => self.mode = Mode::Helping,
            KeyCode::Char('/') => self.mode = Mode::Asking(String::new()),
            KeyCode::Char('n') => return self.step(true),
            KeyCode::Char('N') => return self.step(false),
            KeyCode::Char('c') => return Some(Effect::List),
            KeyCode::Tab | KeyCode::BackTab => {
                self.focus = if self.focus == Focus::List { Focus::Text } else { Focus::List };
            }
            KeyCode::Up | KeyCode::Char('k') => self.move_by(-1),
            KeyCode::Down | KeyCode::Char('j') => self.move_by(1),
            KeyCode::PageUp => self.move_by(-page),
            KeyCode::PageDown | KeyCode::Char(' ') => self.move_by(page),
            KeyCode::Home | KeyCode::Char('g') => return self.go_to(PagePosition::Start),
            KeyCode::End | KeyCode::Char('G') => return self.go_to(PagePosition::End),
            KeyCode::Left | KeyCode::Char('h') | KeyCode::Backspace => self.back(),
            KeyCode::Enter | KeyCode::Right | KeyCode::Char('l') => return self.open(),
            KeyCode::Char('s') => return self.source(),
            KeyCode::Char('e') => return self.summary_to_change().map(Effect::Edit),
            KeyCode::Char('d') => {
                let name = self.listing().and_then(Listing::item).map(|item| item.name.clone()).unwrap_or_default();
                if let Some(summary) = self.summary_to_change() {
                    self.mode = Mode::Confirming(summary, name);
                }
            }
            _ => {}
        }
        None
    }

    fn move_by(&mut self, steps: isize) {
        if self.focus == Focus::Text {
            self.scroll = self.scroll.saturating_add_signed(steps);
        } else if let Some(listing) = self.stack.last_mut() {
            let before = listing.selected;
            listing.move_by(steps);
            if listing.selected != before {
                self.scroll = 0;
            }
        }
    }

    fn go_to(&mut self, end: PagePosition) -> Option<Effect> {
        if self.focus == Focus::Text {
            // Drawing limits the scroll to the last line.
            self.scroll = if end == PagePosition::Start { 0 } else { usize::MAX };
            return None;
        }
        self.scroll = 0;
        self.stack.last_mut()?.go_to(end).map(Effect::Load)
    }

    fn back(&mut self) {
        if self.focus == Focus::Text {
            self.focus = Focus::List;
        } else if self.stack.len() > 1 {
            self.stack.pop();
            self.scroll = 0;
        } else {
            self.status = "this is the top of the tree; q leaves".to_owned();
        }
    }

    /// Goes one level down, or from a message to its text.
    fn open(&mut self) -> Option<Effect> {
        let item = self.listing()?.item()?;
        let Some(summary) = item.summary else {
            self.focus = Focus::Text;
            return None;
        };
        let load = Load { place: ListingPlace::Below(summary), name: item.name.clone(), at: PagePosition::Start };
        Some(Effect::Load(load))
    }

    /// Goes to the verbatim messages of a summary.
    fn source(&mut self) -> Option<Effect> {
        let item = self.listing()?.item()?;
        if item.summary.is_none() {
            self.focus = Focus::Text;
            return None;
        }
        let (place, name) = (ListingPlace::Messages(item.nodes), format!("messages {}", item.nodes));
        Some(Effect::Load(Load { place, name, at: PagePosition::Start }))
    }

    /// The selected summary, if it can be changed; otherwise the status states the reason.
    fn summary_to_change(&mut self) -> Option<SummaryId> {
        let summary = self.listing()?.item()?.summary;
        match summary {
            None => self.status = "a message stays as it was said: summaries can be rewritten".to_owned(),
            Some(_) if !self.is_writable => self.status = "the store is open for reading alone".to_owned(),
            Some(_) => return summary,
        }
        None
    }
}

#[cfg(test)]
pub(super) mod tests;
