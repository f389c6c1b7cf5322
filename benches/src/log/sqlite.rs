//! SQLite as a peer: the usual choice for such a store.

use std::path::Path;

use anyhow::Result;
use rusqlite::{Connection, params};

use super::contender::Contender;

/// A B-tree behind a write-ahead log, as its documentation recommends for durable writes: `synchronous=FULL`,
/// statements prepared once, the file mapped and cached whole.
pub(super) struct Sqlite {
    database: Connection,
    next: i64,
}

impl Contender for Sqlite {
    type Batch = Vec<Vec<u8>>;

    const NAME: &'static str = "sqlite";

    fn create(directory: &Path) -> Result<Self> {
        let database = Connection::open(directory.join("records.sqlite"))?;
        database.pragma_update(None, "journal_mode", "wal")?;
        database.pragma_update(None, "synchronous", "full")?;
        database.pragma_update(None, "mmap_size", 1_i64 << 30)?;
        // A negative value is in KiB: 1 GiB.
        database.pragma_update(None, "cache_size", -(1_i64 << 20))?;
        database.execute_batch("CREATE TABLE records (position INTEGER PRIMARY KEY, text BLOB NOT NULL)")?;
        Ok(Self { database, next: 0 })
    }

    fn batch(texts: &[String]) -> Vec<Vec<u8>> {
        texts.iter().map(|text| text.as_bytes().to_vec()).collect()
    }

    fn append(&mut self, batch: Vec<Vec<u8>>) -> Result<()> {
        let write = self.database.transaction()?;
        {
            let mut insert = write.prepare_cached("INSERT INTO records (position, text) VALUES (?1, ?2)")?;
            for text in &batch {
                insert.execute(params![self.next, text])?;
                self.next += 1;
            }
        }
        Ok(write.commit()?)
    }

    /// Moves the write-ahead log into the file.
    fn settle(&mut self) -> Result<()> {
        Ok(self.database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(()))?)
    }

    fn read(&self, position: u64) -> Result<usize> {
        let mut select = self.database.prepare_cached("SELECT text FROM records WHERE position = ?1")?;
        let text: Vec<u8> = select.query_row([i64::try_from(position)?], |row| row.get(0))?;
        Ok(text.len())
    }

    fn read_run(&self, first: u64, count: u64) -> Result<usize> {
        let sql = "SELECT text FROM records WHERE position >= ?1 AND position < ?2 ORDER BY position";
        let mut select = self.database.prepare_cached(sql)?;
        let ends = [i64::try_from(first)?, i64::try_from(first + count)?];
        let texts = select.query_map(ends, |row| row.get(0))?.collect::<Result<Vec<Vec<u8>>, _>>()?;
        Ok(texts.iter().map(Vec::len).sum())
    }
}
