//! Opens a database read-only: no file is created next to it, and its owner is never blocked.

use std::{
    fs::{self, Metadata},
    io::Read,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use memory_files::{Links, open};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use rusqlite::{Connection, OpenFlags, config::DbConfig, limits::Limit};
use tempfile::TempDir;

use crate::{Limits, TranscriptError, format::SQLITE};

/// Maximum wait for a write that locks the whole database.
const WAIT: Duration = Duration::from_secs(2);
/// Bytes of the header that are read.
const HEADER: u64 = 100;
/// Offsets of the read and write versions in the header; 2 means a write-ahead log.
const VERSIONS: [usize; 2] = [18, 19];
/// Minimum size limit of a value, in bytes, for the schema's own texts.
const LEAST: u64 = 1 << 20;

/// A read-only connection.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) connection: Connection,
    /// For a database that is read without locks: the state of its files when it was opened.
    pub(super) frozen: Option<Stamp>,
    /// Removed together with the connection.
    _copy: Option<TempDir>,
}

/// State of a database file and its log.
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

/// Opens a database read-only.
///
/// A database with a write-ahead log is read together with its log. If the log exists without its index, as in a copy
/// of both files, SQLite would create the index next to it, so a private copy is read instead. Without a log the file
/// is complete and read without locks; the caller checks that it has not changed.
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

/// Opens a private copy of the database and its log.
fn copied(path: &Path, limits: Limits) -> Result<Opened, TranscriptError> {
    let io = TranscriptError::io(path);
    let directory = tempfile::tempdir().map_err(&io)?;
    let copy = directory.path().join("copy");
    for (from, to) in [(path.to_owned(), copy.clone()), (beside(path, "-wal"), beside(&copy, "-wal"))] {
        let size = fs::metadata(&from).as_ref().map_or(0, Metadata::len);
        if size > limits.unpacked {
            let (place, most) = (from.display().to_string(), (limits.unpacked, "bytes"));
            let hint = "open it once with its program, which ends its log";
            return Err(TranscriptError::too_large(place, "what has to be copied to be read", most, hint));
        }
        let mut read = open(&from, Links::Follow).map_err(&io)?.take(limits.unpacked);
        let mut written = fs::File::create(&to).map_err(&io)?;
        std::io::copy(&mut read, &mut written).map_err(&io)?;
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
    let connection = connected.map_err(|error| super::database::failed(path, limits, &error))?;
    Ok(Opened { connection, frozen, _copy: copy })
}

/// Disables features that a hostile database could abuse: views, triggers, functions in the schema, other files, and
/// values and programs of unlimited size.
fn guard(connection: &Connection, limits: Limits) -> rusqlite::Result<()> {
    connection.busy_timeout(WAIT)?;
    for (config, is_on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, false),
        // Only the owner checkpoints its log.
        (DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true),
    ] {
        connection.set_db_config(config, is_on)?;
    }
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

/// True if the header states a write-ahead log.
fn has_log(path: &Path) -> Result<bool, TranscriptError> {
    let io = TranscriptError::io(path);
    let mut header = Vec::new();
    open(path, Links::Follow).map_err(&io)?.take(HEADER).read_to_end(&mut header).map_err(&io)?;
    if !header.starts_with(SQLITE) {
        let why = "it is no SQLite database".to_owned();
        return Err(TranscriptError::Damaged { place: format!("{}, byte 0", path.display()), why });
    }
    Ok(VERSIONS.iter().any(|at| header.get(*at) == Some(&2)))
}

/// Path with `ending` appended to the file name.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn length(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().map(|metadata| metadata.len())
}

/// URI of a file, with every special character of its path escaped.
fn address(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let path = if cfg!(windows) { format!("/{}", path.display()).replace('\\', "/").into() } else { path };
    const ESCAPED: AsciiSet = NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b':');
    format!("file:{}", percent_encode(path.as_os_str().as_encoded_bytes(), &ESCAPED))
}
