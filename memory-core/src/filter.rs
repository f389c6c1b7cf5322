//! Filter of the messages that may answer a question.

use crate::{
    Level, Node, Role, SourceClass, Timestamp,
    time::{Edge, EmptyTimeRange, TimeRange, TimeWords},
};

/// Filter of the messages that may answer a question. The default admits all.
///
/// A message must meet every condition. One of several roles, sessions or levels is enough.
///
/// ```
/// use memory_core::{Filter, Role};
///
/// let filter = Filter::default().during("last week".parse()?).roles(vec![Role::User]);
/// assert!(!filter.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Filter {
    /// Time range of the message.
    pub time: TimeRange,
    /// Time range of the message by the clock where it was said: UTC, plus its own offset if it states one.
    pub local: TimeRange,
    /// Local time in words, relative to the last message of the conversation, not to the present.
    pub during: Option<TimeWords>,
    /// Roles of the speaker; empty for any.
    pub roles: Vec<Role>,
    /// Sessions of the conversation; empty for any. See [`Filter::SESSION`].
    pub sessions: Vec<String>,
    /// Tags that the conversation must have, all of them. Tags select conversations, as a [`Scope`](crate::port::Scope)
    /// does: other conversations are not searched at all.
    pub tags: Vec<String>,
    /// Levels of the message, which has that of the highest summary over it; empty for any.
    pub levels: Vec<Level>,
    /// Classes of the source of the message; empty for any.
    pub sources: Vec<SourceClass>,
    /// True if disabled messages may be hits, too.
    pub disabled: bool,
}

impl Filter {
    /// The member of a message's metadata that names its session: a string, or any other value as JSON text. A session
    /// without a name is named by its position among those of its conversation, from 1. A session begins where the name
    /// changes and, for messages without a name, after a pause of six hours.
    pub const SESSION: &'static str = "session";

    crate::setters! {
        const time: TimeRange,
        const local: TimeRange,
        some during: TimeWords,
        roles: Vec<Role>,
        sessions: Vec<String>,
        tags: Vec<String>,
        levels: Vec<Level>,
        sources: Vec<SourceClass>,
        const disabled: bool,
    }

    /// True if every message of every conversation passes, but for disabled ones.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        Self { disabled: false, ..self.clone() } == Self::default()
    }

    /// True if the filter distinguishes messages of one conversation.
    #[must_use]
    pub fn is_by_node(&self) -> bool {
        Self { tags: Vec::new(), disabled: false, ..self.clone() } != Self::default()
    }

    /// True if a conversation with these tags has all that are required.
    #[must_use]
    pub fn admits_tags(&self, tags: &[String]) -> bool {
        self.tags.iter().all(|tag| tags.contains(tag))
    }

    /// Admits messages said from `since` on and before `before`.
    ///
    /// # Errors
    /// When no time lies between them.
    pub fn between(mut self, since: Option<Edge>, before: Option<Edge>) -> Result<Self, EmptyTimeRange> {
        let zoned = |edge: Edge| if let Edge::Zoned(at) = edge { Some(at) } else { None };
        let local = |edge: Edge| if let Edge::Local(at) = edge { Some(at) } else { None };
        self.time = TimeRange::new(since.and_then(zoned), before.and_then(zoned))?;
        self.local = TimeRange::new(since.and_then(local), before.and_then(local))?;
        Ok(self)
    }

    /// The ranges of local time in which a message may have been said, in a conversation whose last message was said at
    /// the local time `clock`. An empty list admits no message.
    #[must_use]
    pub fn times(&self, clock: Timestamp) -> Vec<TimeRange> {
        match &self.during {
            None => vec![self.local],
            Some(during) => during.ranges(clock).into_iter().filter_map(|range| range.overlap(self.local)).collect(),
        }
    }

    /// The text of a session's name.
    #[must_use]
    pub fn session_of(node: &Node) -> Option<String> {
        let named = node.message.metadata.get(Self::SESSION)?;
        Some(match named.to_value() {
            serde_json::Value::String(name) => name,
            _ => named.as_str().to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Json, Message, NodeId};

    #[test]
    fn times_are_those_of_both_the_words_and_the_range() {
        let clock = "2023-05-10".parse().unwrap();
        let mut filter = Filter { during: Some("last week".parse().unwrap()), ..Filter::default() };
        assert_eq!(
            filter.times(clock).iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["2023-05-01T00:00:00Z..2023-05-08T00:00:00Z"]
        );
        filter.local = TimeRange::new(Some("2023-05-03".parse().unwrap()), None).unwrap();
        assert_eq!(
            filter.times(clock).iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["2023-05-03T00:00:00Z..2023-05-08T00:00:00Z"]
        );
        filter.local = TimeRange::new(Some("2023-05-08".parse().unwrap()), None).unwrap();
        assert!(filter.times(clock).is_empty());
    }

    #[test]
    fn an_edge_without_a_zone_is_a_local_time() {
        let between = |since: &str, until: &str| {
            let (since, before) = (Edge::since(since).unwrap(), Edge::until(until).unwrap());
            Filter::default().between(Some(since), Some(before)).map(|filter| [filter.time, filter.local])
        };
        let check = |since: &str, until: &str, expected: [&str; 2]| {
            assert_eq!(between(since, until).unwrap().map(|range| range.to_string()), expected);
        };
        check("2023-05-01", "2023-05-07", ["..", "2023-05-01T00:00:00Z..2023-05-08T00:00:00Z"]);
        check("2023-05-01T09:00:00+02:00", "2023-05-07", ["2023-05-01T07:00:00Z..", "..2023-05-08T00:00:00Z"]);
        assert!(between("2023-05-07", "2023-05-06").is_err());
    }

    #[test]
    fn tags_are_wanted_all() {
        let tags = ["home", "trip"].map(str::to_owned);
        let admits = |wanted: &[&str]| {
            let wanted = wanted.iter().map(|tag| (*tag).to_owned()).collect();
            Filter { tags: wanted, ..Filter::default() }.admits_tags(&tags)
        };
        assert_eq!(
            [admits(&[]), admits(&["trip"]), admits(&["trip", "home"]), admits(&["trip", "x"])],
            [true, true, true, false]
        );
    }

    #[test]
    fn a_session_is_called_by_its_name() {
        let check = |json: &str, expected: &str| {
            let mut node = Node {
                id: NodeId::FIRST,
                message: Message::user("Hi."),
                at: Timestamp::default(),
                line_count: 1,
                tokens: 1,
                importance: 0.5,
                topics: Vec::new(),
                relates_to: None,
                pinned: false,
                is_erased: false,
                is_disabled: false,
            };
            assert_eq!(Filter::session_of(&node), None);
            node.message.metadata.insert(Filter::SESSION.to_owned(), Json::new(json).unwrap());
            assert_eq!(Filter::session_of(&node).as_deref(), Some(expected));
        };
        check("\"D1\"", "D1");
        check("7", "7");
    }
}
