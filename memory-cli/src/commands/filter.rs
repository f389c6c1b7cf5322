//! Converts flags to a filter.

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use memory_core::{
    Filter, Level, Role, SourceClass, Timestamp,
    time::{Edge, InvalidTimestamp, TimeRange, TimeWords},
};

use memory_hooks::EntryKind;

use crate::failure::Usage;

/// Filters of messages.
#[derive(Debug, Args)]
#[command(next_help_heading = "Which messages")]
pub(super) struct FilterArgs {
    /// Said at this time or later: a date or RFC 3339; without a zone it is the time where each message was said, or UTC
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<Edge>,
    /// Said by this time; of a date, by the end of the day
    #[arg(long, value_name = "TIME", value_parser = until_edge)]
    until: Option<Edge>,
    /// Said in this time, in words ("last week", "in March", "since Monday"), relative to the last message of each
    /// conversation
    #[arg(long, value_name = "WORDS")]
    during: Option<TimeWords>,
    /// Said by this role; several may be given
    #[arg(long, value_name = "ROLE", value_parser = role())]
    role: Vec<Role>,
    /// Said in this session, by its name or, if it has none, by its place in its conversation; several may be given
    #[arg(long, value_name = "NAME")]
    session: Vec<String>,
    /// Only in conversations with this tag; if several are given, with all of them
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// Compressed to this level; several may be given
    #[arg(long, value_name = "LEVEL", value_parser = level(Level::Full))]
    level: Vec<Level>,
    /// Only from these sources: person, document, model, plugin, tool or import; several separated by commas
    #[arg(long, value_name = "CLASS", value_delimiter = ',')]
    trust: Vec<SourceClass>,
}

impl FilterArgs {
    /// The filter of the flags.
    pub(super) fn filter(&self) -> Result<Filter, Usage> {
        let mut filter = Filter::default()
            .between(self.since, self.until)
            .map_err(|empty| Usage(format!("--since and --until leave no time: {empty}")))?
            .roles(self.role.clone())
            .sessions(self.session.clone())
            .tags(self.tag.clone())
            .levels(self.level.clone())
            .sources(self.trust.clone());
        filter.during.clone_from(&self.during);
        Ok(filter)
    }
}

/// Parses a role.
pub(super) fn role() -> impl TypedValueParser<Value = Role> {
    one_of([Role::User, Role::Assistant, Role::System, Role::Tool].map(|role| (role.as_str(), role)))
}

/// Parses a kind of entries.
pub(super) fn kind() -> impl TypedValueParser<Value = EntryKind> {
    one_of(EntryKind::ALL.map(|kind| (kind.as_str(), kind)))
}

/// Parses this level of compression and those above it.
pub(super) fn level(least: Level) -> impl TypedValueParser<Value = Level> {
    let all = [("full", Level::Full), ("summary", Level::Summary), ("meta", Level::Meta), ("archive", Level::Archive)];
    one_of(all.into_iter().filter(move |(_, level)| *level >= least))
}

fn one_of<T: Copy + Send + Sync + 'static>(
    all: impl IntoIterator<Item = (&'static str, T)>,
) -> impl TypedValueParser<Value = T> {
    let all: Vec<_> = all.into_iter().collect();
    PossibleValuesParser::new(all.iter().map(|(name, _)| *name)).try_map(move |given| {
        all.iter().find(|(name, _)| *name == given).map(|(_, value)| *value).ok_or("no such value")
    })
}

fn since(text: &str) -> Result<Edge, String> {
    Edge::since(text).map_err(|invalid| with_hint(text, &invalid))
}

fn until_edge(text: &str) -> Result<Edge, String> {
    Edge::until(text).map_err(|invalid| with_hint(text, &invalid))
}

/// The first instant after a time, or after a day.
pub(super) fn until(text: &str) -> Result<Timestamp, String> {
    TimeRange::end(text).map_err(|invalid| with_hint(text, &invalid))
}

fn with_hint(text: &str, invalid: &InvalidTimestamp) -> String {
    let hint = if TimeWords::of(text).is_empty() { "" } else { "; words like these go with --during" };
    format!("{invalid}{hint}")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        filter: FilterArgs,
    }

    fn filter(args: &str) -> Result<Filter, String> {
        let args = args.split('|').filter(|arg| !arg.is_empty());
        let cli = Cli::try_parse_from(std::iter::once("x").chain(args)).map_err(|error| error.to_string())?;
        cli.filter.filter().map_err(|usage| usage.to_string())
    }

    #[test]
    fn a_day_is_in_it_to_its_end() {
        let time = filter("--since|2023-05-01|--until|2023-05-07").unwrap().local;
        assert_eq!(time.to_string(), "2023-05-01T00:00:00Z..2023-05-08T00:00:00Z");
        let time = filter("--until|2023-05-07T09:00:00Z").unwrap().time;
        assert!(time.contains("2023-05-07T09:00:00Z".parse().unwrap()));
        assert!(!time.contains("2023-05-07T09:00:01Z".parse().unwrap()));
        assert!(filter("").unwrap().is_empty());
    }

    #[test]
    fn what_makes_no_filter_is_said_to() {
        let check = |args: &str, expected: &str| {
            let error = filter(args).unwrap_err();
            assert!(error.contains(expected), "{args}: {error}");
        };
        check("--since|2023-05-07|--until|2023-05-06", "--since and --until leave no time");
        check("--since|yesterday", "words like these go with --during");
        check("--during|the hall", "`the hall` names no time");
        check("--role|user|--role|nobody", "[possible values: user, assistant, system, tool]");
    }

    #[test]
    fn flags_are_taken_over() {
        let filter = filter("--role|user|--role|tool|--session|D1|--tag|home|--level|full|--during|last week").unwrap();
        assert_eq!((filter.roles.len(), filter.sessions.len(), filter.tags.len(), filter.levels.len()), (2, 1, 1, 1));
        assert_eq!(filter.during, Some("last week".parse().unwrap()));
    }
}
