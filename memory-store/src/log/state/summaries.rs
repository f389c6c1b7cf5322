//! State of each summary in memory: 32 bytes. Its text stays on disk.

use memory_core::{Level, NodeId, NodeRange, SummaryId};

use super::shared_vec::SharedVec;
use crate::log::format::Location;

/// A summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) id: u32,
    pub(crate) first: u32,
    pub(crate) last: u32,
    pub(crate) segment: u32,
    pub(crate) offset: u32,
    /// The highest last node of this summary and all before it.
    reach: u32,
    pub(crate) level: u8,
    /// True if a message that it covers was erased, and its text with it.
    pub(crate) is_erased: bool,
    /// True if other messages or summaries below it were disabled when it was recorded.
    pub(crate) is_stale: bool,
}

impl Slot {
    /// A summary of these nodes, whose record is at this location.
    pub(crate) fn new(id: u32, level: u8, (first, last): (u32, u32), (segment, offset): (u32, u32)) -> Self {
        Self { id, first, last, segment, offset, reach: last, level, is_erased: false, is_stale: false }
    }

    fn span(&self) -> Option<NodeRange> {
        NodeRange::new(NodeId::new(u64::from(self.first))?, NodeId::new(u64::from(self.last))?)
    }

    fn location(&self) -> Location {
        Location { segment: self.segment, offset: self.offset }
    }

    /// True if it is not read.
    fn is_hidden(&self) -> bool {
        self.is_erased || self.is_stale
    }
}

/// The summaries of one conversation, in the order of their numbers. Lost ones leave gaps.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Summaries {
    slots: SharedVec<Slot>,
    /// Number of erased ones.
    erased: usize,
    /// Number of stale ones that are not erased.
    stale: usize,
    /// Number of the parent's last summary at the fork; own summaries have higher numbers.
    before: u32,
    /// Number of first summaries that are the parent's.
    inherited: usize,
    /// For each level above FULL, indices into `slots` in the order of the spans; those of inherited summaries are in
    /// the parent.
    by_span: [Vec<u32>; 3],
}

impl Summaries {
    pub(crate) fn len(&self) -> u64 {
        self.slots.len() as u64
    }

    /// Number of those that are read.
    pub(crate) fn present(&self) -> u64 {
        (self.slots.len() - self.erased - self.stale) as u64
    }

    /// Number of those among the first `count` that are read.
    pub(crate) fn present_among(&self, count: usize) -> usize {
        self.slots.iter().take(count).filter(|slot| !slot.is_hidden()).count()
    }

    /// The highest number.
    pub(crate) fn last(&self) -> Option<SummaryId> {
        SummaryId::new(u64::from(self.last_number()))
    }

    fn last_number(&self) -> u32 {
        self.slots.last().map_or(0, |slot| slot.id).max(self.before)
    }

    pub(crate) fn slots(&self) -> &SharedVec<Slot> {
        &self.slots
    }

    /// Number of summaries to check one by one for a fork at a node.
    pub(crate) fn to_sift(&self, last: u64) -> u64 {
        (self.slots.len() - self.common_with(last)) as u64
    }

    /// Number of first summaries that cover no node after `last`.
    fn common_with(&self, last: u64) -> usize {
        self.slots.partition_point(|slot| u64::from(slot.reach) <= last)
    }

    /// Summaries that cover no node after `last`, for a fork whose own summaries get numbers above `before`.
    pub(crate) fn fork(&self, last: u64, before: u32) -> Self {
        let common = self.common_with(last);
        let slots = self.slots.first(common);
        let mut fork = Self { slots, before: before.max(self.last_number()), ..Self::default() };
        fork.count_hidden(self);
        for slot in self.slots.iter_from(common).filter(|slot| u64::from(slot.last) <= last) {
            fork.keep(*slot);
        }
        fork.inherited = fork.slots.len();
        fork
    }

    /// Counts the erased and the stale ones, all of which are the parent's.
    fn count_hidden(&mut self, parent: &Self) {
        let count = |is: fn(&Slot) -> bool| self.slots.iter().filter(|slot| is(slot)).count();
        let erased = if parent.erased == 0 { 0 } else { count(|slot| slot.is_erased) };
        let stale = if parent.stale == 0 { 0 } else { count(|slot| slot.is_stale && !slot.is_erased) };
        (self.erased, self.stale) = (erased, stale);
    }

    /// Looks again which of those whose span `is_concerned` are stale.
    pub(crate) fn mark_stale(
        &mut self,
        is_concerned: impl Fn(NodeRange) -> bool,
        is_stale: impl Fn(Level, NodeRange, Location) -> bool,
    ) {
        let now = |slot: &Slot| {
            let (level, span) = (Level::from_number(slot.level)?, slot.span()?);
            is_concerned(span).then(|| is_stale(level, span, slot.location()))
        };
        let changed =
            |(place, slot): (usize, &Slot)| Some((place, now(slot)?)).filter(|(_, now)| *now != slot.is_stale);
        let changed: Vec<_> = self.slots.iter().enumerate().filter_map(changed).collect();
        for (place, is_stale) in changed {
            let Some(slot) = self.slots.get_mut(place) else { continue };
            slot.is_stale = is_stale;
            if !slot.is_erased {
                self.stale = if is_stale { self.stale + 1 } else { self.stale.saturating_sub(1) };
            }
        }
    }

    /// Erases the summaries whose span is one of those.
    pub(crate) fn erase(&mut self, is_erased: impl Fn(NodeRange) -> bool) {
        let is_new = |slot: &Slot| !slot.is_erased && slot.span().is_some_and(&is_erased);
        let found: Vec<usize> =
            self.slots.iter().enumerate().filter(|(_, slot)| is_new(slot)).map(|(place, _)| place).collect();
        found.into_iter().for_each(|place| self.erase_at(place));
    }

    /// Erases the last summary, whose record says so.
    pub(crate) fn erase_last(&mut self) {
        self.slots.len().checked_sub(1).into_iter().for_each(|last| self.erase_at(last));
    }

    fn erase_at(&mut self, place: usize) {
        if let Some(slot) = self.slots.get_mut(place).filter(|slot| !slot.is_erased) {
            slot.is_erased = true;
            self.erased += 1;
            self.stale -= usize::from(slot.is_stale);
        }
    }

    /// The parent's first `common` summaries, for a fork restored from a checkpoint.
    pub(crate) fn forked(parent: &Self, common: usize, before: u32) -> Self {
        let mut fork = Self { slots: parent.slots.first(common), before, inherited: common, ..Self::default() };
        fork.count_hidden(parent);
        fork
    }

    /// Number of first summaries that are the parent's.
    pub(crate) fn inherited(&self) -> usize {
        self.inherited
    }

    /// Adds a summary of the parent. `Err` when it cannot follow.
    pub(crate) fn inherit(&mut self, slot: Slot) -> Result<(), &'static str> {
        if self.slots.len() > self.inherited || slot.span().is_none() {
            return Err("a summary of the parent stands after its own, or covers nothing");
        }
        self.keep(slot);
        self.inherited += 1;
        Ok(())
    }

    fn keep(&mut self, slot: Slot) {
        self.erased += usize::from(slot.is_erased);
        self.stale += usize::from(slot.is_stale && !slot.is_erased);
        let reach = self.slots.last().map_or(0, |last| last.reach).max(slot.last);
        self.slots.push(Slot { reach, ..slot });
    }

    /// Adds the next summary. `Err` when it cannot follow.
    pub(crate) fn push(
        &mut self,
        id: SummaryId,
        level: Level,
        span: NodeRange,
        location: Location,
    ) -> Result<(), &'static str> {
        let small = |number: u64| u32::try_from(number).map_err(|_| "a summary has a number beyond all bounds");
        let Location { segment, offset } = location;
        let (id, first, last) = (small(id.get())?, small(span.first().get())?, small(span.last().get())?);
        self.push_slot(Slot::new(id, level.number(), (first, last), (segment, offset)))
    }

    pub(crate) fn push_slot(&mut self, slot: Slot) -> Result<(), &'static str> {
        if slot.id <= self.last_number() {
            return Err("a summary's number is not above the one before");
        }
        if slot.span().is_none() {
            return Err("a summary's span is reversed");
        }
        let place = u32::try_from(self.slots.len()).map_err(|_| "there are more summaries than can be")?;
        let by_span = level_index(slot.level).and_then(|level| self.by_span.get_mut(level));
        let by_span = by_span.ok_or("a summary has an unknown level")?;
        let slots = &self.slots;
        let key = |slot: &Slot| (slot.first, slot.last);
        // Most summaries are added at the end, so little is moved.
        let at =
            by_span.partition_point(|place| slots.get(*place as usize).is_some_and(|there| key(there) <= key(&slot)));
        by_span.insert(at, place);
        self.keep(slot);
        Ok(())
    }

    /// Nodes that a summary covers; `None` for one that is not read.
    pub(crate) fn span(&self, id: SummaryId) -> Option<NodeRange> {
        self.find(id)?.span()
    }

    /// Level and nodes of a summary, also of a stale one; `None` for an erased one.
    pub(crate) fn level_and_span(&self, id: SummaryId) -> Option<(Level, NodeRange)> {
        let slot = self.find_unerased(id)?;
        Some((Level::from_number(slot.level)?, slot.span()?))
    }

    fn find(&self, id: SummaryId) -> Option<&Slot> {
        self.find_unerased(id).filter(|slot| !slot.is_stale)
    }

    fn find_unerased(&self, id: SummaryId) -> Option<&Slot> {
        let place = self.slots.partition_point(|slot| u64::from(slot.id) < id.get());
        self.slots.get(place).filter(|slot| u64::from(slot.id) == id.get() && !slot.is_erased)
    }

    /// Own summaries of a level that cover exactly this span, oldest first, with their locations.
    pub(crate) fn with_span(&self, level: Level, span: NodeRange) -> Vec<(SummaryId, Location)> {
        let wanted = (span.first().get(), span.last().get());
        let key =
            |place: &u32| self.slots.get(*place as usize).map(|slot| (u64::from(slot.first), u64::from(slot.last)));
        let by_span =
            level_index(level.number()).and_then(|level| self.by_span.get(level)).map_or(&[][..], Vec::as_slice);
        let from = by_span.partition_point(|place| key(place) < Some(wanted));
        let same = by_span.iter().skip(from).take_while(|place| key(place) == Some(wanted));
        let found = same.filter_map(|place| self.slots.get(*place as usize)).filter(|slot| !slot.is_hidden());
        found.filter_map(|slot| Some((SummaryId::new(u64::from(slot.id))?, slot.location()))).collect()
    }

    /// Location of a summary.
    pub(crate) fn location(&self, id: SummaryId) -> Option<Location> {
        self.find(id).map(Slot::location)
    }

    /// Location of a summary, also of a stale one.
    pub(crate) fn location_of_any(&self, id: SummaryId) -> Option<Location> {
        self.find_unerased(id).map(Slot::location)
    }

    /// Locations of the erased ones, whose records may still stand in the log.
    pub(crate) fn erased_locations(&self) -> Vec<Location> {
        self.slots.iter_from(0).filter(|slot| slot.is_erased).map(Slot::location).collect()
    }

    /// Locations of all summaries after the first `skip`.
    pub(crate) fn locations(&self, skip: usize) -> Vec<Location> {
        let behind = self.slots.iter_from(skip.min(self.slots.len()));
        behind.filter(|slot| !slot.is_hidden()).map(Slot::location).collect()
    }
}

fn level_index(level: u8) -> Option<usize> {
    usize::from(level).checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(first: u64, last: u64) -> NodeRange {
        NodeRange::new(NodeId::new(first).unwrap(), NodeId::new(last).unwrap()).unwrap()
    }

    fn id(number: u64) -> SummaryId {
        SummaryId::new(number).unwrap()
    }

    #[test]
    fn summaries_are_found_by_number_and_by_span() {
        let mut all = Summaries::default();
        let at = |offset| Location { segment: 3, offset };
        all.push(id(1), Level::Summary, span(2, 2), at(1)).unwrap();
        all.push(id(2), Level::Summary, span(1, 1), at(2)).unwrap();
        all.push(id(4), Level::Meta, span(1, 2), at(4)).unwrap();
        all.push(id(5), Level::Summary, span(1, 1), at(5)).unwrap();
        assert_eq!((all.len(), all.last()), (4, Some(id(5))));
        assert_eq!((all.span(id(4)), all.span(id(3))), (Some(span(1, 2)), None));
        assert_eq!(all.with_span(Level::Summary, span(1, 1)), [(id(2), at(2)), (id(5), at(5))]);
        assert_eq!(all.with_span(Level::Meta, span(1, 1)), []);
        assert_eq!(all.with_span(Level::Meta, span(1, 2)), [(id(4), at(4))]);
        assert_eq!(all.locations(2), [at(4), at(5)]);
        assert_eq!([2, 3, 5].map(|number| all.location(id(number))), [Some(at(2)), None, Some(at(5))]);
    }

    #[test]
    fn a_fork_has_those_that_cover_no_other_node() {
        let mut all = Summaries::default();
        let at = |offset| Location { segment: 3, offset };
        for (number, span) in [(1, span(1, 2)), (2, span(3, 4)), (3, span(5, 6)), (4, span(1, 1)), (6, span(2, 9))] {
            all.push(id(number), Level::Summary, span, at(u32::try_from(number).unwrap())).unwrap();
        }
        assert_eq!([1, 2, 4, 6, 9].map(|last| all.to_sift(last)), [5, 4, 3, 1, 0]);
        let mut fork = all.fork(4, 6);
        assert_eq!((fork.len(), fork.last()), (3, Some(id(6))));
        assert_eq!(fork.locations(0), [at(1), at(2), at(4)]);
        assert_eq!(fork.span(id(3)), None);
        assert!(fork.push(id(6), Level::Summary, span(1, 1), at(9)).is_err(), "the parent had that number");
        fork.push(id(7), Level::Summary, span(1, 1), at(9)).unwrap();
        assert_eq!(fork.with_span(Level::Summary, span(1, 1)), [(id(7), at(9))]);
        assert_eq!(fork.fork(9, 7).fork(1, 7).locations(0), [at(4), at(9)], "a fork of a fork");
        assert_eq!((all.len(), all.location(id(7))), (5, None));
    }

    #[test]
    fn a_number_that_goes_backwards_is_refused() {
        let mut all = Summaries::default();
        let at = Location { segment: 1, offset: 64 };
        all.push(id(7), Level::Summary, span(1, 1), at).unwrap();
        assert!(all.push(id(7), Level::Summary, span(2, 2), at).is_err());
        assert!(all.push(id(1 << 40), Level::Summary, span(2, 2), at).is_err());
        assert!(all.push(id(8), Level::Full, span(2, 2), at).is_err());
        assert_eq!(all.len(), 1);
    }
}
