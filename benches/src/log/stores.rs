//! The stores that are compared: ours, and its peers at their documented best settings and the same durability.
//!
//! The peers hold only texts, under eight-byte keys, without the hashes, salts, roles and times of ours, and are read
//! without decoding. So their measurements are a lower bound of their cost in our place.

use std::{path::Path, task};

use anyhow::{Context, Result, bail, ensure};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, PersistMode};
use memory_core::{
    ContentBlock, ConversationId, Message, Node, NodeDraft, NodeId, NodeRange, Timestamp,
    port::{BoxFuture, Store, StoreError},
};
use memory_store::{LogOptions, LogStore, MasterKey};
use redb::{ReadableDatabase, TableDefinition};
use rusqlite::{Connection, params};

use crate::corpus::Corpus;

/// A store of records under the positions 0, 1, 2, …
pub(super) trait Contender: Sized {
    /// Records ready to be appended, so that the measurement excludes their construction.
    type Batch;

    /// The name in the table.
    const NAME: &'static str;

    /// Makes a store in an empty directory.
    fn create(directory: &Path) -> Result<Self>;

    /// Makes records from texts.
    fn batch(texts: &[String]) -> Self::Batch;

    /// Appends a batch as one unit; it is on disk when this returns.
    fn append(&mut self, batch: Self::Batch) -> Result<()>;

    /// Brings the appended records into the form that is read fastest.
    fn settle(&mut self) -> Result<()> {
        Ok(())
    }

    /// Reads a record into memory of the caller; returns the bytes of its text.
    fn read(&self, position: u64) -> Result<usize>;

    /// Reads a run of records as [`Self::read`] does; returns the bytes of all texts.
    fn read_run(&self, first: u64, count: u64) -> Result<usize>;
}

/// Records appended at once while a store is filled.
const FILLED: usize = 1_000;

/// A store with `records` texts of `bytes` each, in a new directory under `parent`.
pub(super) fn filled<C: Contender>(parent: &Path, records: usize, bytes: usize) -> Result<C> {
    let mut store = create::<C>(parent)?;
    fill(&mut store, records, bytes)?;
    store.settle()?;
    let read = store.read(0)?;
    ensure!(read == bytes, "{} gave back {read} bytes of {bytes}", C::NAME);
    Ok(store)
}

/// An empty store in a new directory under `parent`.
pub(super) fn create<C: Contender>(parent: &Path) -> Result<C> {
    let directory = tempfile::Builder::new().prefix(C::NAME).tempdir_in(parent)?.keep();
    C::create(&directory).with_context(|| format!("making a store of {}", C::NAME))
}

/// Appends `records` texts of `bytes` each.
pub(super) fn fill<C: Contender>(store: &mut C, records: usize, bytes: usize) -> Result<()> {
    let mut corpus = Corpus::new(1);
    let mut left = records;
    while left > 0 {
        let texts = texts(&mut corpus, left.min(FILLED), bytes);
        left -= texts.len();
        store.append(C::batch(&texts)).with_context(|| format!("filling {}", C::NAME))?;
    }
    Ok(())
}

fn to_bytes(texts: &[String]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// `count` texts of `bytes` each.
pub(super) fn texts(corpus: &mut Corpus, count: usize, bytes: usize) -> Vec<String> {
    (0..count).map(|_| corpus.text(bytes)).collect()
}

/// One conversation in our log: every record is hashed with a salt, and checked when it is read.
#[derive(Debug)]
pub(super) struct Ours {
    store: LogStore,
    conversation: ConversationId,
}

impl Ours {
    /// Opens or creates the store.
    pub(super) fn open(directory: &Path) -> Result<Self> {
        Ok(Self { store: LogStore::open(directory)?, conversation: ConversationId::new("bench")? })
    }

    pub(super) fn store(&self) -> &LogStore {
        &self.store
    }
}

impl Contender for Ours {
    type Batch = Vec<NodeDraft>;

    const NAME: &'static str = "memory-store";

    fn create(directory: &Path) -> Result<Self> {
        Self::open(directory)
    }

    fn batch(texts: &[String]) -> Vec<NodeDraft> {
        texts.iter().map(|text| draft(text)).collect()
    }

    fn append(&mut self, batch: Vec<NodeDraft>) -> Result<()> {
        pollster::block_on(self.store.append(&self.conversation, batch))?;
        Ok(())
    }

    /// Begins a new segment, so that the appended records are mapped.
    fn settle(&mut self) -> Result<()> {
        Ok(pollster::block_on(self.store.seal())?)
    }

    fn read(&self, position: u64) -> Result<usize> {
        let node = NodeId::new(position + 1).context("positions begin at 0")?;
        Ok(text_bytes(&at_once(self.store.node(&self.conversation, node))?))
    }

    fn read_run(&self, first: u64, count: u64) -> Result<usize> {
        let ends = NodeId::new(first + 1).zip(NodeId::new(first + count));
        let run = ends.and_then(|(first, last)| NodeRange::new(first, last)).context("a run is not empty")?;
        let nodes = at_once(self.store.nodes(&self.conversation, run))?;
        Ok(nodes.iter().map(text_bytes).sum())
    }
}

/// [`Ours`], encrypted.
#[derive(Debug)]
pub(super) struct Sealed(Ours);

impl Sealed {
    pub(super) fn store(&self) -> &LogStore {
        &self.0.store
    }

    pub(super) fn conversation(&self) -> &ConversationId {
        &self.0.conversation
    }
}

impl Contender for Sealed {
    type Batch = Vec<NodeDraft>;

    const NAME: &'static str = "memory-store, encrypted";

    fn create(directory: &Path) -> Result<Self> {
        let key = MasterKey::from_bytes([7; 32]);
        let store = LogStore::open_encrypted(directory, LogOptions::default().encrypt(), Some(&key))?;
        Ok(Self(Ours { store, conversation: ConversationId::new("bench")? }))
    }

    fn batch(texts: &[String]) -> Vec<NodeDraft> {
        Ours::batch(texts)
    }

    fn append(&mut self, batch: Vec<NodeDraft>) -> Result<()> {
        self.0.append(batch)
    }

    fn settle(&mut self) -> Result<()> {
        self.0.settle()
    }

    fn read(&self, position: u64) -> Result<usize> {
        self.0.read(position)
    }

    fn read_run(&self, first: u64, count: u64) -> Result<usize> {
        self.0.read_run(first, count)
    }
}

/// The result of a read, which never waits: polling it once avoids making a waker, which a runtime has already.
fn at_once<T>(mut read: BoxFuture<'_, Result<T, StoreError>>) -> Result<T> {
    match read.as_mut().poll(&mut task::Context::from_waker(task::Waker::noop())) {
        task::Poll::Ready(outcome) => Ok(outcome?),
        task::Poll::Pending => bail!("a read waited"),
    }
}

/// A user's message of this text.
pub(super) fn draft(text: &str) -> NodeDraft {
    NodeDraft::new(Message::user(text), Timestamp::from_millis(1_772_442_840_000), 50)
}

/// The bytes of a message's texts.
pub(super) fn text_bytes(node: &Node) -> usize {
    let text = |block: &ContentBlock| match block {
        ContentBlock::Text(text) => text.len(),
        _ => 0,
    };
    node.message.content.iter().map(text).sum()
}

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
        to_bytes(texts)
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
    /// The table, kept open between reads as redb's documentation advises.
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
        to_bytes(texts)
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
        to_bytes(texts)
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
