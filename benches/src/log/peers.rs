//! The stores that ours is compared with, at their documented best settings and the same durability.
//!
//! They hold only texts, under eight-byte keys, without the hashes, salts, roles and times of ours, and are read
//! without decoding. So their measurements are a lower bound of what they would cost in our place.

use std::path::Path;

use anyhow::{Context, Result};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, PersistMode};
use redb::{ReadableDatabase, TableDefinition};

use super::contender::Contender;

/// Memory for caching, more than any set of records here needs.
const CACHE_BYTES: u64 = 1 << 30;

/// A log-structured merge tree. Its journal carries the records, so that a batch costs one sync.
///
/// Compression is not compiled in: it would add time. There are no filters on the last level, because every read hits.
pub(super) struct Fjall {
    database: Database,
    records: Keyspace,
    next: u64,
}

impl Contender for Fjall {
    type Batch = Vec<Vec<u8>>;

    const NAME: &'static str = "fjall";

    fn create(directory: &Path) -> Result<Self> {
        let database = Database::builder(directory).cache_size(CACHE_BYTES).open()?;
        let records = database.keyspace("records", || KeyspaceCreateOptions::default().expect_point_read_hits(true))?;
        Ok(Self { database, records, next: 0 })
    }

    fn batch(texts: &[String]) -> Vec<Vec<u8>> {
        texts.iter().map(|text| text.as_bytes().to_vec()).collect()
    }

    fn append(&mut self, batch: Vec<Vec<u8>>) -> Result<()> {
        let mut write = OwnedWriteBatch::with_capacity(self.database.clone(), batch.len());
        for text in batch {
            write.insert(&self.records, self.next.to_be_bytes(), text);
            self.next += 1;
        }
        Ok(write.durability(Some(PersistMode::SyncData)).commit()?)
    }

    /// Writes tables and merges them into one level.
    fn settle(&mut self) -> Result<()> {
        self.records.rotate_memtable_and_wait()?;
        Ok(self.records.major_compact()?)
    }

    fn read(&self, position: u64) -> Result<usize> {
        let text = self.records.get(position.to_be_bytes())?.context("fjall has lost a record")?;
        Ok(text.to_vec().len())
    }

    fn read_run(&self, first: u64, count: u64) -> Result<usize> {
        let mut texts = Vec::new();
        for guard in self.records.range(first.to_be_bytes()..(first + count).to_be_bytes()) {
            texts.push(guard.value()?.to_vec());
        }
        Ok(texts.iter().map(Vec::len).sum())
    }
}

const RECORDS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("records");

/// A copy-on-write B-tree; commits are durable at once, which is its default.
pub(super) struct Redb {
    database: redb::Database,
    /// Kept open while records are read, as its documentation advises.
    reading: Option<redb::ReadOnlyTable<u64, &'static [u8]>>,
    next: u64,
}

impl Contender for Redb {
    type Batch = Vec<Vec<u8>>;

    const NAME: &'static str = "redb";

    fn create(directory: &Path) -> Result<Self> {
        let mut builder = redb::Database::builder();
        builder.set_cache_size(usize::try_from(CACHE_BYTES)?);
        let database = builder.create(directory.join("records.redb"))?;
        Ok(Self { database, reading: None, next: 0 })
    }

    fn batch(texts: &[String]) -> Vec<Vec<u8>> {
        Fjall::batch(texts)
    }

    fn append(&mut self, batch: Vec<Vec<u8>>) -> Result<()> {
        let write = self.database.begin_write()?;
        {
            let mut records = write.open_table(RECORDS)?;
            for text in &batch {
                records.insert(self.next, text.as_slice())?;
                self.next += 1;
            }
        }
        Ok(write.commit()?)
    }

    fn settle(&mut self) -> Result<()> {
        self.reading = Some(self.database.begin_read()?.open_table(RECORDS)?);
        Ok(())
    }

    fn read(&self, position: u64) -> Result<usize> {
        let records = self.reading.as_ref().context("redb was not settled")?;
        let text = records.get(position)?.context("redb has lost a record")?;
        Ok(text.value().to_vec().len())
    }

    fn read_run(&self, first: u64, count: u64) -> Result<usize> {
        let records = self.reading.as_ref().context("redb was not settled")?;
        let mut texts = Vec::new();
        for entry in records.range(first..first + count)? {
            texts.push(entry?.1.value().to_vec());
        }
        Ok(texts.iter().map(Vec::len).sum())
    }
}
