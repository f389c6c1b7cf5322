//! What is kept in memory of each recorded view: 12 bytes. What it says stays on disk.

use memory_core::ViewId;

use super::state::Location;

/// A view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) id: u32,
    pub(super) segment: u32,
    pub(super) offset: u32,
}

/// The views of one conversation, in the order of their numbers. Lost ones leave gaps.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Views(Vec<Slot>);

impl Views {
    /// The highest number.
    pub(crate) fn last(&self) -> Option<ViewId> {
        self.0.last().and_then(|slot| ViewId::new(u64::from(slot.id)))
    }

    pub(super) fn slots(&self) -> &[Slot] {
        &self.0
    }

    /// Takes in the next view. `Err` when none like it can follow.
    pub(crate) fn push(&mut self, id: ViewId, location: Location) -> Result<(), &'static str> {
        let id = u32::try_from(id.get()).map_err(|_| "a view has a number beyond all bounds")?;
        self.push_slot(Slot { id, segment: location.segment, offset: location.offset })
    }

    pub(super) fn push_slot(&mut self, slot: Slot) -> Result<(), &'static str> {
        if self.0.last().is_some_and(|last| last.id >= slot.id) || slot.id == 0 {
            return Err("a view's number is not above the one before");
        }
        self.0.push(slot);
        Ok(())
    }

    /// Where those with these numbers stand.
    pub(crate) fn locations(&self, first: ViewId, last: ViewId) -> Vec<Location> {
        let from = self.0.partition_point(|slot| u64::from(slot.id) < first.get());
        let wanted = self.0.iter().skip(from).take_while(|slot| u64::from(slot.id) <= last.get());
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
    }
}
