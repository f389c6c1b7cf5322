//! The end of the log, to which frames are written, and the creation of segments.

use std::path::Path;

use crate::log::{
    failure::Failure,
    format::segment::{SEGMENT_HEADER, Segment, SegmentHeader, segment_name, segment_path},
    keys::Keys,
    media::{Access, Media},
};

/// Fewest zeros written ahead at once; twice as many each time, up to [`MOST_AHEAD`].
const LEAST_AHEAD: u64 = 64 << 10;
const MOST_AHEAD: u64 = 8 << 20;
/// The first bytes of a new segment: its header and zeros to the end of a page.
const FIRST_BYTES: usize = 4 << 10;
const PAGE: u64 = 4 << 10;

/// The active segment.
#[derive(Debug)]
pub(crate) struct Tail {
    pub(crate) segment: Segment,
    /// Offset of the next frame.
    pub(crate) end: u32,
    /// Length of the file, which holds zeros after `end`.
    pub(crate) allocated: u64,
}

/// Makes segment `header.number`: header and first zeros on disk before the file has its name.
pub(crate) fn create_segment(
    media: &dyn Media,
    (log, keys): (&Path, &Keys),
    header: &SegmentHeader,
) -> Result<Tail, Failure> {
    let path = segment_path(log, header.number);
    let temporary = log.join(format!("{}.tmp", segment_name(header.number)));
    let failed = |error: std::io::Error| Failure::new("create", &path, &error);
    let file = media.open(&temporary, Access::Create).map_err(failed)?;
    let mut first = header.encode();
    first.resize(FIRST_BYTES, 0);
    file.write_at(&first, 0).map_err(failed)?;
    file.sync_all().map_err(failed)?;
    media.rename(&temporary, &path).map_err(failed)?;
    // The segment has its name now, but the name may not be durable: no later write may go to the segment before.
    media.sync_dir(log).map_err(|error| failed(error).leaving_doubt())?;
    let segment = Segment::new(header.number, &path, file, keys);
    Ok(Tail { segment, end: SEGMENT_HEADER, allocated: first.len() as u64 })
}

impl Tail {
    /// End of a write of everything up to `until`, extended to a whole page by zeros over zeros. A partial write of a
    /// page would first read the page, since zeros written ahead are not in the page cache.
    pub(crate) fn end_of_page(&self, until: u64) -> u64 {
        until.next_multiple_of(PAGE).min(self.allocated).max(until)
    }

    /// Makes sure that the file reaches to `until`, so that writing there changes no metadata and cannot run out of
    /// space. On failure the file keeps its size.
    pub(crate) fn reserve(&mut self, until: u64, segment_bytes: u32) -> Result<(), Failure> {
        if until <= self.allocated {
            return Ok(());
        }
        let ahead = self.allocated.clamp(LEAST_AHEAD, MOST_AHEAD);
        let goal = (self.allocated + ahead).min(u64::from(segment_bytes)).max(until);
        let file = self.segment.file();
        let extend = || {
            file.write_zeros(self.allocated..goal)?;
            file.sync_all()
        };
        if let Err(error) = extend() {
            let failure = Failure::new("extend", self.segment.path(), &error);
            // Leftover zeros do no harm, but take space that others need.
            if let Err(error) = file.set_size(self.allocated) {
                tracing::debug!(%error, "zeros stay after the end of the log");
            }
            return Err(failure);
        }
        self.allocated = goal;
        Ok(())
    }

    /// Cuts off the zeros: a sealed segment ends with its last frame.
    pub(crate) fn trim(&mut self) -> Result<(), Failure> {
        let end = u64::from(self.end);
        let trim = || {
            self.segment.file().set_size(end)?;
            self.segment.file().sync_all()
        };
        // Zeros after the end no longer count, even if the trim fails.
        self.allocated = end;
        trim().map_err(|error| Failure::new("seal", self.segment.path(), &error))
    }
}
