//! The tables of a database and their columns.

use std::collections::{BTreeMap, BTreeSet};

/// Tables that are named in an error.
const NAMED: usize = 8;

/// The plain tables of a database with their columns, in small letters: no views, no virtual tables, no computed columns.
#[derive(Debug, Default)]
pub(super) struct Tables(pub(super) BTreeMap<String, BTreeSet<String>>);

impl Tables {
    /// Whether there is a table with all of these columns.
    pub(super) fn has(&self, table: &str, columns: &[&str]) -> bool {
        self.0.get(table).is_some_and(|there| columns.iter().all(|column| there.contains(*column)))
    }

    /// A column as it is selected: `NULL` where the table has none of that name, as older versions do.
    pub(super) fn column<'a>(&self, table: &str, column: &'a str) -> &'a str {
        if self.has(table, &[column]) { column } else { "NULL" }
    }

    /// The same of several.
    pub(super) fn columns(&self, table: &str, columns: &[&str]) -> String {
        columns.iter().map(|column| self.column(table, column)).collect::<Vec<_>>().join(", ")
    }

    /// The names of the tables, for an error.
    pub(super) fn names(&self) -> String {
        let short = |name: &String| memory_core::one_line(name).chars().take(40).collect::<String>();
        let names: Vec<_> = self.0.keys().take(NAMED).map(short).collect();
        match self.0.len() {
            0 => "it has no tables".to_owned(),
            count if count > NAMED => format!("it has the tables {} and {} more", names.join(", "), count - NAMED),
            _ => format!("it has the tables {}", names.join(", ")),
        }
    }
}
