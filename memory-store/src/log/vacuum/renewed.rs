//! What is in memory of a log once segments of it are replaced, read before they are.

use memory_core::StoreError;

use super::{
    super::{
        failure::io_error,
        media::Access,
        segment::Segment,
        shared::Shared,
        state::{Location, State},
    },
    Replacement,
};

/// Reads the log of `segments` up to `end`, with the new files in place of those that they will replace.
///
/// # Errors
/// [`StoreError::Damaged`] when a new file does not say what it should: nothing is replaced then.
pub(super) fn renewed(
    shared: &Shared,
    segments: &[Segment],
    end: Location,
    replacements: &[Replacement],
) -> Result<State, StoreError> {
    let mut state = State::new(shared.directory.id);
    for old in segments {
        let new = replacements.iter().find(|new| new.number == old.number());
        let file = new.map_or(old.path(), |new| &new.file);
        let segment = match new {
            // It will have the old one's name by the time that anybody asks.
            Some(Replacement { number, file }) => {
                let opened = shared.media.open(file, Access::Read).map_err(io_error("open", file))?;
                Segment::new(*number, old.path(), opened).sealed()
            }
            None => old.clone(),
        };
        let (most, proven) = if old.number() == end.segment { (end.offset, end.offset) } else { (u32::MAX, 0) };
        let bytes = segment.image_part(0, most).map_err(io_error("read", file))?;
        state.replay_segment(&segment, &bytes, true, proven, &mut |_, _, _| ());
        if let Some(damage) = state.damage.first() {
            // Where it stands now: the next segment may tell of the end of the one before.
            let mut damage = damage.clone();
            let of = segments.iter().find(|segment| segment.path() == damage.path).map(Segment::number);
            if let Some(new) = replacements.iter().find(|new| Some(new.number) == of) {
                new.file.clone_into(&mut damage.path);
            }
            return Err(damage.into());
        }
    }
    Ok(state)
}
