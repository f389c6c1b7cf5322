//! The tables of a database and their columns.

use std::collections::{BTreeMap, BTreeSet};

/// Maximum tables that an error names.
const NAMED: usize = 8;

/// Plain tables with their columns, in lower case: no views, virtual tables or computed columns.
#[derive(Debug, Default)]
pub(super) struct Tables(pub(super) BTreeMap<String, BTreeSet<String>>);

impl Tables {
    /// True if a table has all of these columns.
    pub(super) fn has(&self, table: &str, columns: &[&str]) -> bool {
        self.0.get(table).is_some_and(|there| columns.iter().all(|column| there.contains(*column)))
    }

    /// A column for a `SELECT`: `NULL` if the table lacks it, as in older versions.
    pub(super) fn column<'a>(&self, table: &str, column: &'a str) -> &'a str {
        if self.has(table, &[column]) { column } else { "NULL" }
    }

    /// As [`Self::column`], for several columns.
    pub(super) fn columns(&self, table: &str, columns: &[&str]) -> String {
        columns.iter().map(|column| self.column(table, column)).collect::<Vec<_>>().join(", ")
    }

    /// The names of the tables, for an error.
    pub(super) fn names(&self) -> String {
        let short = |name: &String| memory_core::text::one_line(name).chars().take(40).collect::<String>();
        let names: Vec<_> = self.0.keys().take(NAMED).map(short).collect();
        match self.0.len() {
            0 => "it has no tables".to_owned(),
            count if count > NAMED => format!("it has the tables {} and {} more", names.join(", "), count - NAMED),
            _ => format!("it has the tables {}", names.join(", ")),
        }
    }
}
