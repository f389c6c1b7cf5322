//! Zeros written ahead of the log, past the page cache.

use std::{
    fs::{File, OpenOptions},
    io,
    ops::Range,
    os::{
        fd::AsRawFd,
        unix::fs::{FileExt, OpenOptionsExt},
    },
};

/// Alignment of direct writes, in memory and in the file; no disk needs more.
const ALIGNMENT: usize = 4 << 10;
/// Bytes written at once.
const CHUNK: usize = 1 << 20;

/// Writes zeros to `range`.
///
/// Frames overwrite these bytes later. Past the page cache, the first write costs the processor almost nothing. If that
/// is impossible, the zeros are written the usual way.
pub(super) fn write(file: &File, range: Range<u64>) -> io::Result<()> {
    let zeros = vec![0; CHUNK + ALIGNMENT];
    let skip = zeros.as_ptr().align_offset(ALIGNMENT);
    let zeros = zeros.get(skip..).and_then(|zeros| zeros.get(..CHUNK)).unwrap_or(&zeros);
    let page = ALIGNMENT as u64;
    let aligned = range.start.next_multiple_of(page)..range.end / page * page;
    if aligned.is_empty() {
        return fill(file, range, zeros);
    }
    fill(file, range.start..aligned.start, zeros)?;
    let direct = direct(file).and_then(|direct| fill(&direct, aligned.clone(), zeros));
    direct.or_else(|_| fill(file, aligned.clone(), zeros))?;
    fill(file, aligned.end..range.end, zeros)
}

/// The same file, opened again for writing past the page cache.
#[cfg(target_os = "linux")]
fn direct(file: &File) -> io::Result<File> {
    // The descriptor is used, since the name may have changed.
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    OpenOptions::new().write(true).custom_flags(libc::O_DIRECT).open(path)
}

#[cfg(not(target_os = "linux"))]
fn direct(_: &File) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

fn fill(file: &File, range: Range<u64>, zeros: &[u8]) -> io::Result<()> {
    let mut at = range.start;
    while at < range.end {
        let bytes = usize::try_from(range.end - at).unwrap_or(usize::MAX).min(zeros.len());
        file.write_all_at(zeros.get(..bytes).unwrap_or(zeros), at)?;
        at += bytes as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_fill_exactly_the_range_whatever_its_alignment() {
        let dir = tempfile::tempdir().unwrap();
        for range in [0..4096, 10..4096, 10..100, 4096..3_000_000, 5000..2_200_001, 8192..8192] {
            let path = dir.path().join(format!("{range:?}"));
            let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).unwrap();
            file.write_all_at(&vec![7; usize::try_from(range.start).unwrap()], 0).unwrap();
            write(&file, range.clone()).unwrap();
            let bytes = std::fs::read(&path).unwrap();
            let (before, zeros) = bytes.split_at(usize::try_from(range.start).unwrap());
            assert_eq!(bytes.len() as u64, range.end);
            assert!(before.iter().all(|byte| *byte == 7) && zeros.iter().all(|byte| *byte == 0), "{range:?}");
        }
    }
}
