//! What is kept in memory of each summary: 28 bytes. Its words stay on disk.

use memory_core::{Level, NodeId, NodeRange, SummaryId};

use super::state::Location;

/// A summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) id: u32,
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) segment: u32,
    pub(super) offset: u32,
    pub(super) level: u8,
}

impl Slot {
    fn span(&self) -> Option<NodeRange> {
        NodeRange::new(NodeId::new(u64::from(self.first))?, NodeId::new(u64::from(self.last))?)
    }

    fn location(&self) -> Location {
        Location { segment: self.segment, offset: self.offset }
    }
}

/// The summaries of one conversation, in the order of their numbers. Lost ones leave gaps.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Summaries {
    slots: Vec<Slot>,
    /// For each level above FULL, places in `slots` in the order of the spans.
    by_span: [Vec<u32>; 3],
}

impl Summaries {
    pub(crate) fn len(&self) -> u64 {
        self.slots.len() as u64
    }

    /// The highest number.
    pub(crate) fn last(&self) -> Option<SummaryId> {
        self.slots.last().and_then(|slot| SummaryId::new(u64::from(slot.id)))
    }

    pub(super) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Takes in the next summary. `Err` when none like it can follow.
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
        self.push_slot(Slot { id, first, last, segment, offset, level: level.number() })
    }

    pub(super) fn push_slot(&mut self, slot: Slot) -> Result<(), &'static str> {
        if self.slots.last().is_some_and(|last| last.id >= slot.id) || slot.id == 0 {
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
        // Most come at the end, so that little is moved.
        let at =
            by_span.partition_point(|place| slots.get(*place as usize).is_some_and(|there| key(there) <= key(&slot)));
        by_span.insert(at, place);
        self.slots.push(slot);
        Ok(())
    }

    /// What a summary covers.
    pub(crate) fn span(&self, id: SummaryId) -> Option<NodeRange> {
        let place = self.slots.binary_search_by_key(&id.get(), |slot| u64::from(slot.id)).ok()?;
        self.slots.get(place)?.span()
    }

    /// Those of a level that cover exactly this, oldest first, and where they stand.
    pub(crate) fn with_span(&self, level: Level, span: NodeRange) -> Vec<(SummaryId, Location)> {
        let wanted = (span.first().get(), span.last().get());
        let key =
            |place: &u32| self.slots.get(*place as usize).map(|slot| (u64::from(slot.first), u64::from(slot.last)));
        let by_span =
            level_index(level.number()).and_then(|level| self.by_span.get(level)).map_or(&[][..], Vec::as_slice);
        let from = by_span.partition_point(|place| key(place) < Some(wanted));
        let same = by_span.iter().skip(from).take_while(|place| key(place) == Some(wanted));
        let found = same.filter_map(|place| self.slots.get(*place as usize));
        found.filter_map(|slot| Some((SummaryId::new(u64::from(slot.id))?, slot.location()))).collect()
    }

    /// Where a summary stands.
    pub(crate) fn location(&self, id: SummaryId) -> Option<Location> {
        let place = self.slots.binary_search_by_key(&id.get(), |slot| u64::from(slot.id)).ok()?;
        self.slots.get(place).map(Slot::location)
    }

    /// All behind the first `skip`, and where they stand.
    pub(crate) fn locations(&self, skip: usize) -> Vec<Location> {
        self.slots.iter().skip(skip).map(Slot::location).collect()
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
