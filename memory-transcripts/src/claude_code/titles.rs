//! Titles of sessions, which the program and the person give, and give anew.

use serde::{Deserialize, Serialize};

use super::{ClaudeCode, hashed, line::Line};
use crate::{
    Why,
    out::{Out, usable_title},
    records::Place,
};

/// Titles of a conversation that are remembered, and titles that wait for theirs.
const MOST: usize = 16;

/// The titles that a conversation was given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Titles {
    given: Vec<String>,
    /// Whether a person chose one.
    is_chosen: bool,
}

impl Titles {
    /// Takes a title; gives those that it replaces. `None` where a person's stays.
    pub(super) fn take(&mut self, title: &str, is_chosen: bool) -> Option<Vec<String>> {
        if self.is_chosen && !is_chosen {
            return None;
        }
        self.is_chosen |= is_chosen;
        let replaced: Vec<_> = self.given.iter().filter(|given| *given != title).cloned().collect();
        self.given.retain(|given| given != title);
        if self.given.len() >= MOST {
            self.given.remove(0);
        }
        self.given.push(title.to_owned());
        Some(replaced)
    }
}

/// A title, and what it names.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) title: String,
    pub(super) is_chosen: bool,
    /// The type of its line.
    pub(super) kind: String,
    pub(super) session: String,
    /// The record that ends what it names.
    pub(super) leaf: Option<String>,
    pub(super) place: Place,
}

/// Titles that stand before the first message of what they name.
#[derive(Debug, Default)]
pub(super) struct Waiting(Vec<Named>);

impl Waiting {
    /// Keeps a title; gives it back where too many wait.
    pub(super) fn push(&mut self, named: Named) -> Option<Named> {
        if self.0.len() >= MOST {
            return Some(named);
        }
        self.0.push(named);
        None
    }

    /// Those of a session that has begun.
    pub(super) fn of_session(&mut self, session: &str) -> Vec<Named> {
        self.0.extract_if(.., |named| named.leaf.is_none() && named.session == session).collect()
    }

    pub(super) fn all(&mut self) -> Vec<Named> {
        std::mem::take(&mut self.0)
    }

    /// The first byte of the first that waits for a session.
    pub(super) fn start(&self) -> Option<u64> {
        self.0.iter().filter(|named| named.leaf.is_none()).map(|named| named.place.start).min()
    }
}

impl ClaudeCode {
    pub(super) fn title(&mut self, line: &Line<'_>, title: Option<&str>, is_chosen: bool, place: Place, out: &mut Out) {
        let Some(title) = title.and_then(usable_title) else {
            out.skip(Why::Broken, &line.kind, place);
            return;
        };
        let session = line.session_id.as_deref().unwrap_or(&self.stem).to_owned();
        let leaf = line.leaf_uuid.as_deref().map(str::to_owned);
        let named = Named { title, is_chosen, kind: line.kind.to_string(), session, leaf, place };
        match self.named(&named) {
            Some(number) => self.entitle(number, &named, out),
            None => {
                if let Some(named) = self.waiting.push(named) {
                    skip_title(&named, out);
                }
            }
        }
    }

    /// The branch that a title names.
    pub(super) fn named(&self, named: &Named) -> Option<usize> {
        match &named.leaf {
            Some(leaf) => self.spots.get(&hashed(leaf)).map(|spot| spot.branch),
            None => self.by_name.get(&(named.session.clone(), None)).copied(),
        }
    }

    pub(super) fn entitle(&mut self, number: usize, named: &Named, out: &mut Out) {
        let Some(branch) = self.branches.get_mut(number) else { return };
        match branch.titles.take(&named.title, named.is_chosen) {
            Some(replaced) => out.title(&branch.conversation, &named.title, replaced),
            // A title that a person chose stays.
            None => out.skip(Why::Note, &named.kind, named.place),
        }
    }
}

/// Counts a title whose session is elsewhere.
pub(super) fn skip_title(named: &Named, out: &mut Out) {
    out.skip(Why::Note, &format!("{} of what is not in the file", named.kind), named.place);
}
