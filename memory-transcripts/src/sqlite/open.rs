//! Opens a database for reading alone, so that nothing beside it is made and its owner is never kept waiting.

use std::{
    fmt::Write as _,
    fs::{self, Metadata},
    io::Read,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use memory_files::{Links, open};
use rusqlite::{Connection, OpenFlags, config::DbConfig, limits::Limit};
use tempfile::TempDir;

use crate::{Limits, TranscriptError, format::SQLITE};

/// How long a read waits for a write that locks the whole database.
const WAIT: Duration = Duration::from_secs(2);
/// Bytes of the header that are looked at.
const HEADER: u64 = 100;
/// Where the header says how the database is read and written: 2 is a write-ahead log.
const VERSIONS: [usize; 2] = [18, 19];
/// Bytes of one value that the schema itself may need.
const LEAST: u64 = 1 << 20;

/// A connection that only reads.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) connection: Connection,
    /// Where the database is read as a file that does not change, what it was when it was opened.
    pub(super) frozen: Option<Stamp>,
    /// Goes away with the connection.
    _copy: Option<TempDir>,
}

/// What a file and the log beside it were at some moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    length: u64,
    changed: Option<SystemTime>,
    log: Option<u64>,
}

impl Stamp {
    pub(super) fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        Some(Self { length: metadata.len(), changed: metadata.modified().ok(), log: length(&beside(path, "-wal")) })
    }
}

/// Opens a database.
///
/// A database with a write-ahead log is read together with its log. Where the log is there and its index is not, as in a
/// copy of both files, SQLite would make the index beside it: a private copy is read instead. Where there is no log, the
/// file holds everything and is read as it stands; whoever reads on checks that this is still so.
pub(super) fn opened(path: &Path, limits: Limits) -> Result<Opened, TranscriptError> {
    let has_log = has_log(path)?;
    let log = length(&beside(path, "-wal"));
    let has_index = fs::symlink_metadata(beside(path, "-shm")).is_ok();
    if !has_log {
        return connected(path, "mode=ro", limits, None, None);
    }
    match log {
        None => frozen(path, limits),
        Some(_) if has_index => connected(path, "mode=ro&readonly_shm=1", limits, None, None),
        Some(0) => frozen(path, limits),
        Some(_) => copied(path, limits),
    }
}

fn frozen(path: &Path, limits: Limits) -> Result<Opened, TranscriptError> {
    connected(path, "mode=ro&immutable=1", limits, Stamp::of(path), None)
}

/// Reads a private copy of the database and its log.
fn copied(path: &Path, limits: Limits) -> Result<Opened, TranscriptError> {
    let io = |source| TranscriptError::Io { path: path.to_owned(), source };
    let directory = tempfile::tempdir().map_err(io)?;
    let copy = directory.path().join("copy");
    for (from, to) in [(path.to_owned(), copy.clone()), (beside(path, "-wal"), beside(&copy, "-wal"))] {
        let size = fs::metadata(&from).as_ref().map_or(0, Metadata::len);
        if size > limits.unpacked {
            return Err(TranscriptError::TooLarge {
                place: from.display().to_string(),
                what: "what has to be copied to be read",
                most: limits.unpacked,
                unit: "bytes",
                hint: "open it once with its program, which ends its log",
            });
        }
        let mut read = open(&from, Links::Follow).map_err(io)?.take(limits.unpacked);
        let mut written = fs::File::create(&to).map_err(io)?;
        std::io::copy(&mut read, &mut written).map_err(io)?;
    }
    connected(&copy, "mode=ro", limits, None, Some(directory))
}

fn connected(
    path: &Path,
    how: &str,
    limits: Limits,
    frozen: Option<Stamp>,
    copy: Option<TempDir>,
) -> Result<Opened, TranscriptError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connected = Connection::open_with_flags(format!("{}?{how}", address(path)), flags)
        .and_then(|connection| guard(&connection, limits).map(|()| connection));
    let connection = connected.map_err(|error| super::failure::failed(path, limits, &error))?;
    Ok(Opened { connection, frozen, _copy: copy })
}

/// Takes from a connection what a hostile database could use: views, triggers, functions of its schema, other files, and
/// values and programs without bound.
fn guard(connection: &Connection, limits: Limits) -> rusqlite::Result<()> {
    connection.busy_timeout(WAIT)?;
    let set = |config, on| connection.set_db_config(config, on).map(drop);
    set(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    set(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    set(DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, false)?;
    set(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    set(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    set(DbConfig::SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, false)?;
    // The owner moves its log into the database, not a reader that closes.
    set(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    let most = i32::try_from(limits.record.max(LEAST)).unwrap_or(i32::MAX);
    let bound = |limit, most| connection.set_limit(limit, most).map(drop);
    bound(Limit::SQLITE_LIMIT_LENGTH, most)?;
    bound(Limit::SQLITE_LIMIT_SQL_LENGTH, 256 << 10)?;
    bound(Limit::SQLITE_LIMIT_EXPR_DEPTH, 100)?;
    bound(Limit::SQLITE_LIMIT_COMPOUND_SELECT, 8)?;
    bound(Limit::SQLITE_LIMIT_VDBE_OP, 100_000)?;
    bound(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    bound(Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1)?;
    bound(Limit::SQLITE_LIMIT_WORKER_THREADS, 0)?;
    connection.execute_batch(
        "PRAGMA query_only = ON; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA cache_size = -8192;",
    )
}

/// Whether a database has a write-ahead log, by its header.
fn has_log(path: &Path) -> Result<bool, TranscriptError> {
    let io = |source| TranscriptError::Io { path: path.to_owned(), source };
    let mut header = Vec::new();
    open(path, Links::Follow).map_err(io)?.take(HEADER).read_to_end(&mut header).map_err(io)?;
    if !header.starts_with(SQLITE) {
        let why = "it is no SQLite database".to_owned();
        return Err(TranscriptError::Damaged { place: format!("{}, byte 0", path.display()), why });
    }
    Ok(VERSIONS.iter().any(|at| header.get(*at) == Some(&2)))
}

/// The file of a name that goes on with `ending`.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn length(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().map(|metadata| metadata.len())
}

/// The address of a file, in which nothing of its name is taken for a parameter.
fn address(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let path = if cfg!(windows) { format!("/{}", path.display()).replace('\\', "/").into() } else { path };
    let mut address = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_' | b'.' | b':') {
            address.push(char::from(*byte));
        } else {
            let _ = write!(address, "%{byte:02X}");
        }
    }
    address
}
