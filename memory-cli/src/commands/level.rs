//! Parses a level of compression.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use memory_core::Level;

const NAMES: [(&str, Level); 4] =
    [("full", Level::Full), ("summary", Level::Summary), ("meta", Level::Meta), ("archive", Level::Archive)];

/// Parses this level and those above it.
pub(super) fn from(least: Level) -> impl TypedValueParser<Value = Level> {
    let names = NAMES.into_iter().filter(|(_, level)| *level >= least).map(|(name, _)| name);
    PossibleValuesParser::new(names.collect::<Vec<_>>()).try_map(|given| {
        let level = NAMES.into_iter().find(|(name, _)| *name == given).map(|(_, level)| level);
        level.ok_or("no such level")
    })
}
