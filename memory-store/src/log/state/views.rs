//! State of each recorded view in memory: 12 bytes. Its contents stay on disk.

use memory_core::ViewId;

use super::shared_vec::SharedVec;
use crate::log::format::Location;

/// A view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) id: u32,
    pub(crate) segment: u32,
    pub(crate) offset: u32,
}

/// The views of one conversation, in the order of their numbers. Lost ones leave gaps.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Views {
    slots: SharedVec<Slot>,
    /// Number of the last view shared with the parent; own views have higher numbers.
    before: u32,
}

impl Views {
    /// The highest number.
    pub(crate) fn last(&self) -> Option<ViewId> {
        ViewId::new(u64::from(self.last_number()))
    }

    fn last_number(&self) -> u32 {
        self.slots.last().map_or(0, |slot| slot.id).max(self.before)
    }

    pub(crate) fn slots(&self) -> &SharedVec<Slot> {
        &self.slots
    }

    /// Views with numbers up to `last`, for a fork.
    pub(crate) fn fork(&self, last: u32) -> Self {
        Self::forked(self, self.slots.partition_point(|slot| slot.id <= last), last)
    }

    /// The parent's first `common` views, for a fork whose own views get numbers above `before`.
    pub(crate) fn forked(parent: &Self, common: usize, before: u32) -> Self {
        Self { slots: parent.slots.first(common), before }
    }

    /// Number of the last view before a location of the log; 0 without one.
    pub(crate) fn last_before(&self, place: Location) -> u64 {
        let before = self.slots.partition_point(|slot| Location { segment: slot.segment, offset: slot.offset } < place);
        before.checked_sub(1).and_then(|last| self.slots.get(last)).map_or(0, |slot| u64::from(slot.id))
    }

    /// Adds the next view. `Err` when it cannot follow.
    pub(crate) fn push(&mut self, id: ViewId, location: Location) -> Result<(), &'static str> {
        let id = u32::try_from(id.get()).map_err(|_| "a view has a number beyond all bounds")?;
        self.push_slot(Slot { id, segment: location.segment, offset: location.offset })
    }

    pub(crate) fn push_slot(&mut self, slot: Slot) -> Result<(), &'static str> {
        if slot.id <= self.last_number() {
            return Err("a view's number is not above the one before");
        }
        self.slots.push(slot);
        Ok(())
    }

    /// Locations of the views with these numbers.
    pub(crate) fn locations(&self, first: ViewId, last: ViewId) -> Vec<Location> {
        let from = self.slots.partition_point(|slot| u64::from(slot.id) < first.get());
        let wanted = self.slots.iter_from(from).take_while(|slot| u64::from(slot.id) <= last.get());
        wanted.map(|slot| Location { segment: slot.segment, offset: slot.offset }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_are_found_by_number_and_numbers_only_grow() {
        let id = |number| ViewId::new(number).unwrap();
        let at = |offset| Location { segment: 3, offset };
        let mut all = Views::default();
        for number in [1, 2, 5] {
            all.push(id(number), at(u32::try_from(number).unwrap())).unwrap();
        }
        assert_eq!(all.last(), Some(id(5)));
        assert_eq!(all.locations(id(2), id(9)), [at(2), at(5)]);
        assert_eq!(all.locations(id(3), id(4)), []);
        assert_eq!(all.locations(id(5), id(1)), []);
        assert!(all.push(id(5), at(6)).is_err() && all.push(id(1 << 40), at(7)).is_err());
        assert_eq!(all.slots().len(), 3);
        assert_eq!([1, 2, 5, 6].map(|offset| all.last_before(at(offset))), [0, 1, 2, 5]);
        assert_eq!(all.fork(4).locations(id(1), id(9)), [at(1), at(2)]);
    }
}
