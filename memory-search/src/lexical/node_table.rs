//! The node table: time, session, speaker and role of each node of a conversation.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use memory_core::{ContentBlock, Filter, Message, Node, Role, Timestamp, is_own_tool};
use regex::RegexSet;

use super::{NodeTerms, stored_rows::StoredRows};

/// Pause in milliseconds after which a new session begins, in a conversation that names no sessions: six hours.
const PAUSE: i64 = 6 * 60 * 60 * 1_000;

/// A speaker with one of these names counts as unnamed.
const ROLES: [Role; 4] = [Role::User, Role::Assistant, Role::System, Role::Tool];

/// One row of a [`NodeTable`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traits {
    pub(crate) at: Timestamp,
    /// Number of its session, from 0 in order of time.
    pub(crate) session: u32,
    /// Number of its speaker in [`NodeTable::speakers`]; 0 if unnamed.
    pub(crate) speaker: u32,
    /// Role of the speaker by [`Message::said_as`]; `None` if the message is unreadable.
    pub(crate) role: Option<Role>,
    /// True if the user speaks.
    pub(crate) by_user: bool,
    /// True if the message ends with a question mark.
    pub(crate) is_question: bool,
    /// True if the message mentions days, months, years or other times.
    pub(crate) tells_time: bool,
    /// True if the user gives an instruction for the future.
    pub(crate) is_standing: bool,
    /// True if the user states a preference.
    pub(crate) is_preference: bool,
    /// True if the message only calls [our own tools](is_own_tool) or only answers such calls.
    pub(crate) is_own_tool: bool,
}

/// Kind of a conversation by its speakers. Each kind is ranked with weights of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Talk {
    /// A user with an agent: at most one speaker is named.
    Agent,
    /// Two people.
    Pair,
    /// More than two people, as in a meeting.
    Group,
}

impl Talk {
    /// All kinds, in the order of the columns of weights.
    pub(crate) const ALL: [Self; 3] = [Self::Agent, Self::Pair, Self::Group];
}

/// Speakers, sessions and per-node attributes of a conversation.
#[derive(Debug, Default)]
pub(crate) struct NodeTable {
    speakers: Vec<Box<str>>,
    /// Index of each speaker in `speakers`.
    places: HashMap<Box<str>, usize>,
    traits: Vec<Traits>,
    /// Names of the sessions in order, `None` for an unnamed one.
    sessions: Vec<Option<Box<str>>>,
    /// Ids of calls of our own tools that have no result yet.
    own_calls: HashSet<Box<str>>,
    /// Bytes of the names of speakers and sessions.
    name_bytes: usize,
}

impl NodeTable {
    pub(crate) fn traits(&self) -> &[Traits] {
        &self.traits
    }

    /// Speakers' names in lower case, numbered from 1, without those of whom nothing is left.
    pub(crate) fn speakers(&self) -> impl Iterator<Item = (u32, &str)> {
        (1..).zip(self.speakers.iter().map(|name| &**name)).filter(|(_, name)| !name.is_empty())
    }

    /// The same table without what the `hidden` nodes say and who says it; they keep their time and session.
    pub(super) fn without(&self, hidden: &[usize]) -> Self {
        let mut traits = self.traits.clone();
        for index in hidden {
            if let Some(here) = traits.get_mut(*index) {
                *here = Traits { at: here.at, session: here.session, ..Traits::default() };
            }
        }
        let heard: HashSet<u32> = traits.iter().map(|traits| traits.speaker).collect();
        let mut speakers = self.speakers.clone();
        for (_, name) in (1..).zip(&mut speakers).filter(|(number, _)| !heard.contains(number)) {
            *name = Box::default();
        }
        Self { speakers, traits, sessions: self.sessions.clone(), ..Self::default() }
    }

    /// Kind of the conversation, by the number of named speakers.
    pub(crate) fn talk(&self) -> Talk {
        match self.speakers().count() {
            0 | 1 => Talk::Agent,
            2 => Talk::Pair,
            _ => Talk::Group,
        }
    }

    /// Names of the sessions in order, `None` for an unnamed one.
    pub(crate) fn sessions(&self) -> &[Option<Box<str>>] {
        &self.sessions
    }

    /// Clock of the conversation: time of its last node.
    pub(crate) fn clock(&self) -> Timestamp {
        self.traits.last().map_or_else(Timestamp::default, |last| last.at)
    }

    /// Rows from `begin` on, with the speakers and sessions that they introduce; without lengths.
    pub(super) fn rows_from(&self, begin: usize) -> StoredRows {
        let (before, here) = self.traits.split_at_checked(begin).unwrap_or((&self.traits, &[]));
        let known = |of: fn(&Traits) -> u32| before.iter().map(of).max().map_or(0, |most| most as usize);
        let speakers = known(|traits| traits.speaker);
        let sessions = before.last().map_or(0, |last| last.session as usize + 1);
        StoredRows {
            speakers: self.speakers.get(speakers..).unwrap_or_default().to_vec(),
            sessions: self.sessions.get(sessions..).unwrap_or_default().to_vec(),
            traits: here.to_vec(),
            ..StoredRows::default()
        }
    }

    /// Appends rows if they continue the table; returns `false` otherwise.
    pub(super) fn restore(&mut self, rows: &mut StoredRows) -> bool {
        if !rows.follows(self.speakers.len(), self.sessions.len()) {
            return false;
        }
        for name in rows.speakers.drain(..) {
            self.add_speaker(name);
        }
        for name in rows.sessions.drain(..) {
            self.add_session(name);
        }
        self.traits.append(&mut rows.traits);
        true
    }

    /// Appends the next node; an unreadable one (`None`) continues the current session.
    pub(crate) fn push(&mut self, node: Option<&Node>, terms: &NodeTerms) {
        let last = self.traits.last().copied().unwrap_or_default();
        let Some(node) = node else {
            if self.sessions.is_empty() {
                self.add_session(None);
            }
            let unread = Traits { at: last.at, session: last.session, ..Traits::default() };
            self.traits.push(unread);
            return;
        };
        let text = node.message.text();
        let named = Filter::session_of(node);
        let begins = match (self.sessions.last(), &named) {
            (None, _) => true,
            (Some(session), Some(named)) => session.as_deref() != Some(named),
            (Some(session), None) => {
                session.is_some() || node.at.as_millis().saturating_sub(last.at.as_millis()) > PAUSE
            }
        };
        if begins {
            self.add_session(named.map(Into::into));
        }
        let speaker = self.speaker(&node.message);
        let role = node.message.said_as();
        let by_user = role == Role::User;
        let wishes = if by_user { Wishes::of(&text) } else { Wishes::default() };
        let is_own_tool = self.is_own_tool(&node.message, last);
        self.traits.push(Traits {
            at: node.at,
            session: u32::try_from(self.sessions.len().saturating_sub(1)).unwrap_or(u32::MAX),
            speaker,
            role: Some(role),
            by_user,
            is_question: text.trim_end().ends_with(['?', '？']),
            tells_time: terms.counts.iter().any(|(term, _)| is_of_time(term)),
            is_standing: wishes.standing,
            is_preference: wishes.preference,
            is_own_tool,
        });
    }

    /// True if a message has calls or results of tools, all of them of our own tools. Ids of calls are not saved, so if
    /// the `last` message is such a call of an earlier run, a result is its own.
    fn is_own_tool(&mut self, message: &Message, last: Traits) -> bool {
        let is_after_saved = last.is_own_tool && last.role == Some(Role::Assistant) && self.own_calls.is_empty();
        let mut all = Vec::new();
        for block in &message.content {
            match block {
                ContentBlock::ToolUse { id, name, .. } => {
                    let is_own = is_own_tool(name);
                    if is_own {
                        self.own_calls.insert(id.as_str().into());
                    }
                    all.push(is_own);
                }
                ContentBlock::ToolResult { tool_use_id, .. } => {
                    all.push(self.own_calls.remove(tool_use_id.as_str()) || is_after_saved);
                }
                _ => {}
            }
        }
        !all.is_empty() && all.iter().all(|is_own| *is_own)
    }

    fn speaker(&mut self, message: &Message) -> u32 {
        let Some(name) = message.speaker.as_deref().map(|name| name.trim().to_lowercase()) else { return 0 };
        if name.is_empty() || ROLES.iter().any(|role| role.as_str() == name) {
            return 0;
        }
        let at = self.places.get(&*name).copied().unwrap_or_else(|| self.add_speaker(name.into()));
        u32::try_from(at + 1).unwrap_or_default()
    }

    /// Appends a speaker; returns its index.
    fn add_speaker(&mut self, name: Box<str>) -> usize {
        let at = self.speakers.len();
        self.name_bytes += size_of::<Box<str>>() + size_of::<(Box<str>, usize)>() + 2 * name.len();
        self.places.entry(name.clone()).or_insert(at);
        self.speakers.push(name);
        at
    }

    fn add_session(&mut self, name: Option<Box<str>>) {
        self.name_bytes += size_of::<Option<Box<str>>>() + name.as_ref().map_or(0, |name| name.len());
        self.sessions.push(name);
    }

    pub(crate) fn bytes(&self) -> usize {
        self.traits.len() * size_of::<Traits>() + self.name_bytes
    }
}

/// Statements of a user about the future.
#[derive(Clone, Copy, Debug, Default)]
struct Wishes {
    standing: bool,
    preference: bool,
}

/// Patterns of instructions for the future (`Always … when I ask …`) and of preferences (`I prefer …`), in English
/// only.
const WISHES: [&str; 2] = [
    r"(?is)\b(always|never)\b.*\b(when|whenever|if)\b|\bwhenever i\b|\bfrom now on\b|\bwhen i ask\b",
    r"(?i)\bi('d| would|'m)? ?(prefer|rather|like to|want to|really like|love|enjoy|avoid|need)\b|\bpreference\b",
];

impl Wishes {
    fn of(text: &str) -> Self {
        static PATTERNS: LazyLock<Option<RegexSet>> = LazyLock::new(|| RegexSet::new(WISHES).ok());
        let matches = PATTERNS.as_ref().map(|patterns| patterns.matches(text));
        let is = |which: usize| matches.as_ref().is_some_and(|matches| matches.matched(which));
        Self { standing: is(0), preference: is(1) }
    }
}

/// Stems of words that denote a time.
const TIME_TERMS: &str = "
yesterday today tomorrow tonight morn midday noon midnight weekend
hour day week month year ago sinc recent earlier later soon last next
monday tuesday wednesday thursday friday saturday sunday
januari februari march april may june juli august septemb octob novemb decemb
spring summer autumn winter anniversari birthday easter christma
";

/// True if a term denotes a time, such as a day, month or year.
fn is_of_time(term: &str) -> bool {
    static TERMS: LazyLock<HashSet<&str>> = LazyLock::new(|| TIME_TERMS.split_whitespace().collect());
    let is_year = || {
        let is_of_late = term.starts_with("19") || term.starts_with("20");
        term.len() == 4 && is_of_late && term.bytes().all(|byte| byte.is_ascii_digit())
    };
    TERMS.contains(term) || is_year()
}

#[cfg(test)]
mod tests {
    use memory_core::NodeId;

    use super::*;

    fn said_by(name: &str) -> Node {
        Node::new(NodeId::FIRST, Message::user("x").speaker(name), Timestamp::default()).tokens(1)
    }

    fn table(names: impl Iterator<Item = String>) -> NodeTable {
        let mut table = NodeTable::default();
        names.for_each(|name| table.push(Some(&said_by(&name)), &NodeTerms::default()));
        table
    }

    #[test]
    fn a_user_who_wants_something_to_hold_is_heard() {
        let check = |text: &str, expected: [bool; 2]| {
            let Wishes { standing, preference } = Wishes::of(text);
            assert_eq!([standing, preference], expected, "{text}");
        };
        check("Always show the code first when I ask about a bug.", [true, false]);
        check("From now on, answer in German.", [true, false]);
        check("I'd prefer trains over flights.", [false, true]);
        check("Whenever I travel, I like to walk.", [true, true]);
        check("I always walk.", [false, false]);
        check("Die Halle ist immer offen.", [false, false]);
    }

    fn speakers(table: &NodeTable) -> Vec<u32> {
        table.traits().iter().map(|traits| traits.speaker).collect()
    }

    #[test]
    fn many_speakers_are_numbered_in_time_in_proportion_to_them() {
        let table = table((0..100_000).map(|n| format!("speaker {n:06}")));
        assert_eq!(speakers(&table), (1..=100_000).collect::<Vec<_>>());
        // Looked for one after the other, they took a minute.
        assert!(table.bytes() > 100_000 * (2 * "speaker 000000".len() + size_of::<Traits>()), "{}", table.bytes());
    }

    #[test]
    fn speakers_keep_their_numbers_after_they_were_restored() {
        let names = || ["Maya", "Omar", "user", "maya "].into_iter().map(str::to_owned);
        let told = table(names());
        assert_eq!(speakers(&told), [1, 2, 0, 1]);
        let mut restored = NodeTable::default();
        assert!(restored.restore(&mut told.rows_from(0)));
        assert_eq!(restored.bytes(), told.bytes());
        for name in ["Lena", "Omar", "Lena"] {
            restored.push(Some(&said_by(name)), &NodeTerms::default());
        }
        assert_eq!(speakers(&restored), [1, 2, 0, 1, 3, 2, 3]);
    }
}
