//! Reads a database page by page, each page in a short transaction.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use memory_core::text::one_line;
use rusqlite::{Error, ErrorCode, Params, Row, types::Value as Key};

use super::{
    cells,
    open::{Opened, Stamp, opened},
};
use crate::{Limits, TranscriptError};

/// Maximum rows of a page. Nothing is locked between two pages.
pub(super) const PAGE: usize = 256;
/// Bytes after which a page ends.
const PAGE_BYTES: u64 = 4 << 20;
/// Attempts to read a page when the database changes during a read without locks.
const TRIES: usize = 16;
/// Maximum tables of a database.
const TABLES: usize = 4_096;

#[derive(Debug)]
pub(super) struct Database {
    path: PathBuf,
    limits: Limits,
    opened: Opened,
}

impl Database {
    pub(super) fn open(path: &Path, limits: Limits) -> Result<Self, TranscriptError> {
        Ok(Self { path: path.to_owned(), limits, opened: opened(path, limits)? })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Runs a query for one page of rows. The query orders its rows and selects those after the last one.
    pub(super) fn page<T>(
        &mut self,
        sql: &str,
        parameters: impl Params + Clone,
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, TranscriptError> {
        for _ in 0..TRIES {
            let page = self.rows(sql, parameters.clone(), &read);
            // A read without locks is valid only if the file has not changed since.
            if self.opened.frozen.is_none_or(|then| Stamp::of(&self.path) == Some(then)) {
                return page;
            }
            self.opened = opened(&self.path, self.limits)?;
        }
        Err(TranscriptError::Locked { place: self.path.display().to_string() })
    }

    /// Runs a query for the next rows that belong to `of`, its first parameter, in the order of column `by`, after the
    /// row with the value `after` in that column. The query ends with a condition.
    pub(super) fn page_of<T>(
        &mut self,
        from: &str,
        of: &Key,
        (by, after): (&str, Option<&Key>),
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, TranscriptError> {
        let order = format!("ORDER BY {by} LIMIT {PAGE}");
        match after {
            None => self.page(&format!("{from} {order}"), [of], read),
            Some(after) => self.page(&format!("{from} AND {by} > ?2 {order}"), [of, after], read),
        }
    }

    fn rows<T>(
        &self,
        sql: &str,
        parameters: impl Params,
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, TranscriptError> {
        let failed = |error: Error| failed(&self.path, self.limits, &error);
        let mut statement = self.opened.connection.prepare_cached(sql).map_err(failed)?;
        let mut rows = statement.query(parameters).map_err(failed)?;
        let (mut page, mut sum) = (Vec::new(), 0);
        while page.len() < PAGE && sum < PAGE_BYTES {
            let Some(row) = rows.next().map_err(failed)? else { break };
            let bytes = cells::bytes(row).map_err(failed)?;
            if bytes > self.limits.record {
                return Err(too_large(&self.path, self.limits));
            }
            sum += bytes;
            page.push(read(row).map_err(failed)?);
        }
        Ok(page)
    }

    /// The first row of a query.
    pub(super) fn first<T>(
        &mut self,
        sql: &str,
        parameters: impl Params + Clone,
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, TranscriptError> {
        Ok(self.page(sql, parameters, read)?.into_iter().next())
    }

    /// The row of a query with the lowest value of column `by` after the value `after`.
    pub(super) fn next<T>(
        &mut self,
        from: &str,
        by: &str,
        after: Option<&Key>,
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, TranscriptError> {
        match after {
            None => self.first(&format!("{from} WHERE {by} IS NOT NULL ORDER BY {by} LIMIT 1"), [], read),
            Some(after) => self.first(&format!("{from} WHERE {by} > ?1 ORDER BY {by} LIMIT 1"), [after], read),
        }
    }

    /// The plain tables of the database.
    pub(super) fn tables(&mut self) -> Result<Tables, TranscriptError> {
        let mut tables = Tables::default();
        let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE TABLE%' AND name > ?1 \
                   ORDER BY name LIMIT 256";
        let mut after = String::new();
        loop {
            let names = self.page(sql, [after.as_str()], |row| cells::text(row, 0))?;
            let Some(last) = names.last().cloned().flatten() else { return Ok(tables) };
            for name in names.into_iter().flatten() {
                let sql = "SELECT name FROM pragma_table_info(?1) LIMIT 256";
                let columns = self.page(sql, [name.as_str()], |row| cells::text(row, 0))?;
                let columns: BTreeSet<_> = columns.into_iter().flatten().map(|name| name.to_lowercase()).collect();
                tables.0.insert(name.to_lowercase(), columns);
            }
            if tables.0.len() >= TABLES {
                return Ok(tables);
            }
            after = last;
        }
    }

    /// The error for a database of no known program.
    pub(super) fn unknown(&self, tables: &Tables) -> TranscriptError {
        TranscriptError::UnknownDatabase { place: self.path.display().to_string(), found: tables.names() }
    }
}

/// Maximum tables that an error names.
const NAMED: usize = 8;

/// Plain tables with their columns, in lower case: no views, virtual tables or computed columns.
#[derive(Debug, Default)]
pub(super) struct Tables(BTreeMap<String, BTreeSet<String>>);

impl Tables {
    /// True if a table has all of these columns.
    pub(super) fn has(&self, table: &str, columns: &[&str]) -> bool {
        self.0.get(table).is_some_and(|there| columns.iter().all(|column| there.contains(*column)))
    }

    /// A column for a `SELECT`: `NULL` if the table lacks it, as in older versions.
    pub(super) fn column<'a>(&self, table: &str, column: &'a str) -> &'a str {
        if self.has(table, &[column]) { column } else { "NULL" }
    }

    /// Several columns for a `SELECT`; see [`Self::column`].
    pub(super) fn columns(&self, table: &str, columns: &[&str]) -> String {
        columns.iter().map(|column| self.column(table, column)).collect::<Vec<_>>().join(", ")
    }

    /// The names of the tables, for an error.
    fn names(&self) -> String {
        let short = |name: &String| one_line(name).chars().take(40).collect::<String>();
        let names: Vec<_> = self.0.keys().take(NAMED).map(short).collect();
        match self.0.len() {
            0 => "it has no tables".to_owned(),
            count if count > NAMED => format!("it has the tables {} and {} more", names.join(", "), count - NAMED),
            _ => format!("it has the tables {}", names.join(", ")),
        }
    }
}

/// The error for a row that is larger than the limit.
fn too_large(path: &Path, limits: Limits) -> TranscriptError {
    let place = path.display().to_string();
    TranscriptError::too_large(place, "a row", (limits.record, "bytes"), "--max-line raises the limit")
}

/// The error for one of SQLite.
pub(super) fn failed(path: &Path, limits: Limits, error: &Error) -> TranscriptError {
    let place = path.display().to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => TranscriptError::Locked { place },
        Some(ErrorCode::TooBig) => too_large(path, limits),
        Some(ErrorCode::ReadOnly) => {
            let why = "its program was stopped within a write: start that once, so that it mends the database";
            TranscriptError::Unfit { place, why }
        }
        _ => TranscriptError::Damaged { place, why: one_line(&format!("SQLite cannot read it: {error}")).into_owned() },
    }
}
