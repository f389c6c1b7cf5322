//! The in-memory state of a log after the replacement of segments, read before it.

use std::path::PathBuf;

use memory_core::port::StoreError;

use crate::log::{
    failure::io_error,
    format::{Location, segment::Segment},
    media::Access,
    state::State,
    write::shared::Shared,
};

/// A segment whose new file waits to replace it.
pub(super) struct Replacement {
    pub(super) number: u32,
    pub(super) file: PathBuf,
}

/// Reads the log of `segments` up to `end`, with the new files in place of those that they will replace.
///
/// # Errors
/// [`StoreError::Damaged`] when a new file has wrong contents: nothing is replaced then.
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
            // The new segment has the old one's name by the time anyone reads the path.
            Some(Replacement { number, file }) => {
                let opened = shared.media.open(file, Access::Read).map_err(io_error("open", file))?;
                Segment::new(*number, old.path(), opened, old.keys()).sealed()
            }
            None => old.clone(),
        };
        let (most, proven) = if old.number() == end.segment { (end.offset, end.offset) } else { (u32::MAX, 0) };
        let bytes = segment.image_part(0, most).map_err(io_error("read", file))?;
        state.replay_segment(&segment, &bytes, true, proven, &mut |_, _, _| ());
        if let Some(damage) = state.damage.first() {
            // The damage is reported at its current path, perhaps in the segment before: the next one records its end.
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
