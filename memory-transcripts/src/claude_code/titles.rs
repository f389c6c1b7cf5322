//! Titles of sessions. The program and the person may both set them, repeatedly.

use serde::{Deserialize, Serialize};

use super::{ClaudeCode, hashed, line::Line};
use crate::{
    Why,
    out::{ItemQueue, usable_title},
    records::RecordPlace,
};

/// Titles kept per conversation, and titles that may wait for their record.
const MOST: usize = 16;

/// Titles that a conversation has had, the newest last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Titles {
    given: Vec<String>,
    /// True if a person chose one of them.
    is_chosen: bool,
}

impl Titles {
    /// Adds a title; returns the titles that it replaces. `None` if a person's title stays.
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

/// A title and the session or record that it names.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) title: String,
    pub(super) is_chosen: bool,
    /// Type of its line.
    pub(super) kind: String,
    pub(super) session: String,
    /// Last record of the branch that it names; `None` if it names the session.
    pub(super) leaf: Option<String>,
    pub(super) place: RecordPlace,
}

impl ClaudeCode {
    pub(super) fn title(&mut self, line: &Line<'_>, title: Option<&str>, is_chosen: bool, out: &mut ItemQueue) {
        let Some(title) = title.and_then(usable_title) else {
            out.skip(Why::Broken, &line.kind);
            return;
        };
        let session = line.session().unwrap_or(&self.stem).to_owned();
        let leaf = line.leaf_uuid.as_deref().map(str::to_owned);
        let named = Named { title, is_chosen, kind: line.kind.to_string(), session, leaf, place: out.place };
        match self.named(&named) {
            Some(number) => self.entitle(number, &named, out),
            None if self.waiting.len() < MOST => self.waiting.push(named),
            None => skip_title(&named, out),
        }
    }

    pub(super) fn named(&self, named: &Named) -> Option<usize> {
        match &named.leaf {
            Some(leaf) => self.spots.get(&hashed(leaf)).map(|spot| spot.branch),
            None => self.by_name.get(&(named.session.clone(), None)).copied(),
        }
    }

    pub(super) fn entitle(&mut self, number: usize, named: &Named, out: &mut ItemQueue) {
        let Some(branch) = self.branches.get_mut(number) else { return };
        match branch.titles.take(&named.title, named.is_chosen) {
            Some(replaced) => out.title(&branch.conversation, &named.title, replaced),
            None => out.skip_at(Why::Note, &named.kind, named.place),
        }
    }
}

/// Counts a title whose session is not in the file.
pub(super) fn skip_title(named: &Named, out: &mut ItemQueue) {
    out.skip_at(Why::Note, &format!("{} of what is not in the file", named.kind), named.place);
}
