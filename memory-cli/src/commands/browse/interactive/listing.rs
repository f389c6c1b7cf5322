//! A window of the entries of a level, which moves by pages.

use memory_core::{NodeId, NodeRange, SummaryId};

use super::item::Item;

/// Entries of one page.
pub(super) const PAGE: usize = 50;
/// Distance of the selection from an end of the window at which the next page is read.
const NEAR: usize = 20;
/// The most entries in memory.
const MOST: usize = 8 * PAGE;

/// Part of the tree that a listing shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ListingPlace {
    /// The top of the tree.
    Top,
    /// Sources of a summary.
    Below(SummaryId),
    /// Messages verbatim.
    Messages(NodeRange),
}

/// Position of a page in a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PagePosition {
    Start,
    End,
    /// A page around this message, which is selected.
    Around(NodeId),
    /// The page that ends before this message.
    Before(NodeId),
    /// The page that begins after this message.
    After(NodeId),
}

/// A page to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) place: ListingPlace,
    /// Name of the place.
    pub(super) name: String,
    pub(super) at: PagePosition,
}

/// A page that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) items: Vec<Item>,
    /// True if there are entries before the first one.
    pub(super) before: bool,
    /// True if there are entries after the last one.
    pub(super) after: bool,
}

/// A window of entries, one of which is selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listing {
    pub(super) place: ListingPlace,
    pub(super) name: String,
    pub(super) items: Vec<Item>,
    pub(super) selected: usize,
    before: bool,
    after: bool,
    /// True if a repair may have changed the entries since they were read.
    pub(super) is_stale: bool,
}

impl Listing {
    pub(super) fn new(load: Load, page: Page) -> Self {
        let Load { place, name, at } = load;
        let Page { items, before, after } = page;
        let selected = match at {
            PagePosition::Start | PagePosition::After(_) => 0,
            PagePosition::End | PagePosition::Before(_) => items.len().saturating_sub(1),
            PagePosition::Around(node) => items.iter().position(|item| item.nodes.last() >= node).unwrap_or_default(),
        };
        Self { place, name, items, selected, before, after, is_stale: false }
    }

    pub(super) fn item(&self) -> Option<&Item> {
        self.items.get(self.selected)
    }

    /// Adds a page at its end of the window.
    pub(super) fn add(&mut self, at: PagePosition, page: Page) {
        let added = page.items.len();
        if let PagePosition::Before(_) = at {
            self.items.splice(..0, page.items);
            self.selected += added;
            self.before = page.before && added > 0;
            if self.items.len() > MOST {
                self.items.truncate(MOST);
                self.after = true;
            }
        } else {
            self.items.extend(page.items);
            self.after = page.after && added > 0;
            let excess = self.items.len().saturating_sub(MOST);
            if excess > 0 {
                self.items.drain(..excess);
                self.selected = self.selected.saturating_sub(excess);
                self.before = true;
            }
        }
    }

    /// The page to read, if the selection is near the end of the window.
    pub(super) fn wanted(&self) -> Option<PagePosition> {
        let left = self.items.len().saturating_sub(self.selected + 1);
        if self.after && left < NEAR {
            return self.items.last().map(|last| PagePosition::After(last.nodes.last()));
        }
        let first = self.items.first().filter(|_| self.before && self.selected < NEAR);
        first.map(|first| PagePosition::Before(first.nodes.first()))
    }

    pub(super) fn move_by(&mut self, steps: isize) {
        let last = self.items.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(steps).min(last);
    }

    /// Goes to an end; returns the page to read if that end is not in the window.
    pub(super) fn go_to(&mut self, end: PagePosition) -> Option<Load> {
        let (is_there, selected) = match end {
            PagePosition::Start => (!self.before, 0),
            _ => (!self.after, self.items.len().saturating_sub(1)),
        };
        if is_there {
            self.selected = selected;
            return None;
        }
        Some(self.load(end))
    }

    /// A page of this listing.
    pub(super) fn load(&self, at: PagePosition) -> Load {
        Load { place: self.place.clone(), name: self.name.clone(), at }
    }

    /// The page to read again around the selection.
    pub(super) fn anew(&self) -> Load {
        self.load(self.item().map_or(PagePosition::Start, |item| PagePosition::Around(item.nodes.first())))
    }
}
