//! State of each view and note in memory: 12 bytes. Its contents stay on disk.

use super::shared_vec::SharedVec;
use crate::log::format::Location;

/// A record with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) id: u32,
    pub(crate) segment: u32,
    pub(crate) offset: u32,
}

/// The views or the notes of one conversation, in the order of their numbers. Lost ones leave gaps.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Numbered {
    slots: SharedVec<Slot>,
    /// Number of the last view shared with the parent; own views have higher numbers.
    before: u32,
}

impl Numbered {
    /// The highest number; 0 without one.
    pub(crate) fn last(&self) -> u64 {
        u64::from(self.last_number())
    }

    fn last_number(&self) -> u32 {
        self.slots.last().map_or(0, |slot| slot.id).max(self.before)
    }

    pub(crate) fn slots(&self) -> &SharedVec<Slot> {
        &self.slots
    }

    /// Records with numbers up to `last`, for a fork.
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

    /// Adds the next one. `Err` when it cannot follow.
    pub(crate) fn push(&mut self, id: u64, location: Location) -> Result<(), &'static str> {
        let id = u32::try_from(id).map_err(|_| "a view or a note has a number beyond all bounds")?;
        self.push_slot(Slot { id, segment: location.segment, offset: location.offset })
    }

    pub(crate) fn push_slot(&mut self, slot: Slot) -> Result<(), &'static str> {
        if slot.id <= self.last_number() {
            return Err("the number of a view or a note is not above the one before");
        }
        self.slots.push(slot);
        Ok(())
    }

    /// Locations of the views or notes with these numbers.
    pub(crate) fn locations(&self, first: u64, last: u64) -> Vec<Location> {
        let from = self.slots.partition_point(|slot| u64::from(slot.id) < first);
        let wanted = self.slots.iter_from(from).take_while(|slot| u64::from(slot.id) <= last);
        wanted.map(|slot| Location { segment: slot.segment, offset: slot.offset }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_found_by_number_and_numbers_only_grow() {
        let at = |offset| Location { segment: 3, offset };
        let mut all = Numbered::default();
        for number in [1, 2, 5] {
            all.push(number, at(u32::try_from(number).unwrap())).unwrap();
        }
        assert_eq!(all.last(), 5);
        assert_eq!(all.locations(2, 9), [at(2), at(5)]);
        assert_eq!(all.locations(3, 4), []);
        assert_eq!(all.locations(5, 1), []);
        assert!(all.push(5, at(6)).is_err() && all.push(1 << 40, at(7)).is_err());
        assert_eq!(all.slots().len(), 3);
        assert_eq!([1, 2, 5, 6].map(|offset| all.last_before(at(offset))), [0, 1, 2, 5]);
        assert_eq!(all.fork(4).locations(1, 9), [at(1), at(2)]);
    }
}
