//! The least cost of appending: each record hashed, each batch written and synced, and nothing else.

use std::{
    fs::{File, OpenOptions},
    os::unix::fs::FileExt,
    path::Path,
};

use anyhow::{Context, Result, bail};

use super::contender::Contender;

/// Zeros written before the measurement, so that no append changes metadata.
const ROOM: u64 = 128 << 20;

/// A file that holds salts, hashes and texts in a row, with no index, no checksum and no thread. A store that hashes
/// with BLAKE3 and syncs with `fdatasync` takes at least this time.
pub(super) struct Bare {
    file: File,
    end: u64,
    out: Vec<u8>,
}

impl Contender for Bare {
    type Batch = Vec<Vec<u8>>;

    const NAME: &'static str = "hash, write and sync alone";

    fn create(directory: &Path) -> Result<Self> {
        let path = directory.join("bare");
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        let zeros = vec![0; 1 << 20];
        for offset in (0..ROOM).step_by(zeros.len()) {
            file.write_all_at(&zeros, offset)?;
        }
        file.sync_all()?;
        Ok(Self { file, end: 0, out: Vec::new() })
    }

    fn batch(texts: &[String]) -> Vec<Vec<u8>> {
        texts.iter().map(|text| text.as_bytes().to_vec()).collect()
    }

    /// Each round begins at the front again, so that none needs more space than another.
    fn begin_round(&mut self) {
        self.end = 0;
    }

    fn append(&mut self, batch: Vec<Vec<u8>>) -> Result<()> {
        const PREFIX: [u8; 17] = [7; 17];

        self.out.clear();
        for text in batch {
            let start = self.out.len();
            self.out.extend_from_slice(&PREFIX);
            self.out.extend_from_slice(&text);
            let digest = blake3::hash(self.out.get(start..).unwrap_or_default());
            self.out.extend_from_slice(digest.as_bytes());
        }
        self.file.write_all_at(&self.out, self.end)?;
        self.end += self.out.len() as u64;
        self.file.sync_data().context("syncing the bare file")
    }

    fn settle(&mut self) -> Result<()> {
        Ok(())
    }

    fn read(&self, _: u64) -> Result<usize> {
        bail!("a bare file has no index")
    }

    fn read_run(&self, _: u64, _: u64) -> Result<usize> {
        bail!("a bare file has no index")
    }
}
