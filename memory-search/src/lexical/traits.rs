//! What ranking knows of a message beside its words.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use memory_core::{Filter, Message, Node, Role, Timestamp};

use super::{NodeTerms, roll::Roll};

/// A pause after which a conversation that names no sessions begins another one, in milliseconds: six hours.
const PAUSE: i64 = 6 * 60 * 60 * 1_000;

/// A speaker who is called so has no name.
const ROLES: [Role; 4] = [Role::User, Role::Assistant, Role::System, Role::Tool];

/// What is known of one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traits {
    /// When it was said.
    pub(crate) at: Timestamp,
    /// The conversation's sessions are numbered from 0 as they come.
    pub(crate) session: u32,
    /// Who says it, as a place among [`Cast::speakers`]; 0 for nobody who has a name.
    pub(crate) speaker: u32,
    /// In which role they say it; `None` where it could not be read.
    pub(crate) role: Option<Role>,
    /// Whether the user says it, or somebody on their side.
    pub(crate) by_user: bool,
    /// Whether it ends in a question.
    pub(crate) is_question: bool,
    /// Whether it speaks of days, months, years or other times.
    pub(crate) tells_time: bool,
}

/// The nodes of a conversation as they were said: by whom, and in which session.
#[derive(Debug, Default)]
pub(crate) struct Cast {
    speakers: Vec<Box<str>>,
    /// The place of each among them.
    places: HashMap<Box<str>, usize>,
    traits: Vec<Traits>,
    /// What the sessions are called, of those that have a name; number 0 first.
    sessions: Vec<Option<Box<str>>>,
    /// Bytes that the names of speakers and sessions take.
    name_bytes: usize,
}

impl Cast {
    /// What is known of each node, in order.
    pub(crate) fn traits(&self) -> &[Traits] {
        &self.traits
    }

    /// The names of those who speak, in lower case; number 1 first.
    pub(crate) fn speakers(&self) -> impl Iterator<Item = (u32, &str)> {
        (1..).zip(self.speakers.iter().map(|name| &**name))
    }

    /// Whether a user talks to an agent, rather than people to one another: at most one of those who speak has a name.
    pub(crate) fn is_with_agent(&self) -> bool {
        self.speakers.len() < 2
    }

    /// The names of sessions, `None` for one without; number 0 first.
    pub(crate) fn sessions(&self) -> &[Option<Box<str>>] {
        &self.sessions
    }

    /// The conversation's clock: when its last node was said.
    pub(crate) fn clock(&self) -> Timestamp {
        self.traits.last().map_or_else(Timestamp::default, |last| last.at)
    }

    /// What of it the nodes from `begin` on add to those before, apart from their lengths.
    pub(super) fn roll(&self, begin: usize) -> Roll {
        let (before, here) = self.traits.split_at_checked(begin).unwrap_or((&self.traits, &[]));
        let known = |of: fn(&Traits) -> u32| before.iter().map(of).max().map_or(0, |most| most as usize);
        let speakers = known(|traits| traits.speaker);
        let sessions = before.last().map_or(0, |last| last.session as usize + 1);
        Roll {
            speakers: self.speakers.get(speakers..).unwrap_or_default().to_vec(),
            sessions: self.sessions.get(sessions..).unwrap_or_default().to_vec(),
            traits: here.to_vec(),
            ..Roll::default()
        }
    }

    /// Adds the nodes of a roll, if they go on with those before; `false` where they do not.
    pub(super) fn restore(&mut self, roll: &mut Roll) -> bool {
        if !roll.follows(self.speakers.len(), self.sessions.len()) {
            return false;
        }
        for name in roll.speakers.drain(..) {
            self.add_speaker(name);
        }
        for name in roll.sessions.drain(..) {
            self.add_session(name);
        }
        self.traits.append(&mut roll.traits);
        true
    }

    /// Adds the next node; one that could not be read goes on with the session before it.
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
        self.traits.push(Traits {
            at: node.at,
            session: u32::try_from(self.sessions.len().saturating_sub(1)).unwrap_or(u32::MAX),
            speaker,
            role: Some(node.message.role),
            by_user: node.message.role == Role::User,
            is_question: text.trim_end().ends_with(['?', '？']),
            tells_time: terms.counts.iter().any(|(term, _)| is_of_time(term)),
        });
    }

    fn speaker(&mut self, message: &Message) -> u32 {
        let Some(name) = message.speaker.as_deref().map(|name| name.trim().to_lowercase()) else { return 0 };
        if name.is_empty() || ROLES.iter().any(|role| role.as_str() == name) {
            return 0;
        }
        let at = self.places.get(&*name).copied().unwrap_or_else(|| self.add_speaker(name.into()));
        u32::try_from(at + 1).unwrap_or_default()
    }

    /// Adds somebody who speaks behind the others; gives their place among them.
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

    /// About how many bytes of memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.traits.len() * size_of::<Traits>() + self.name_bytes
    }
}

/// Stems of words that tell when something was.
const TIME_TERMS: &str = "
yesterday today tomorrow tonight morn midday noon midnight weekend
hour day week month year ago sinc recent earlier later soon last next
monday tuesday wednesday thursday friday saturday sunday
januari februari march april may june juli august septemb octob novemb decemb
spring summer autumn winter anniversari birthday easter christma
";

/// Whether a term names a time: a day, a month, a year.
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
        Node {
            id: NodeId::FIRST,
            message: Message::user("x").by(name),
            at: Timestamp::default(),
            line_count: 1,
            tokens: 1,
            importance: Node::NEUTRAL_IMPORTANCE,
            topics: Vec::new(),
            relates_to: None,
            pinned: false,
        }
    }

    fn cast(names: impl Iterator<Item = String>) -> Cast {
        let mut cast = Cast::default();
        names.for_each(|name| cast.push(Some(&said_by(&name)), &NodeTerms::default()));
        cast
    }

    fn speakers(cast: &Cast) -> Vec<u32> {
        cast.traits().iter().map(|traits| traits.speaker).collect()
    }

    #[test]
    fn many_speakers_are_numbered_in_time_in_proportion_to_them() {
        let cast = cast((0..100_000).map(|n| format!("speaker {n:06}")));
        assert_eq!(speakers(&cast), (1..=100_000).collect::<Vec<_>>());
        // Looked for one after the other, they took a minute.
        assert!(cast.bytes() > 100_000 * (2 * "speaker 000000".len() + size_of::<Traits>()), "{}", cast.bytes());
    }

    #[test]
    fn speakers_keep_their_numbers_after_they_were_restored() {
        let names = || ["Maya", "Omar", "user", "maya "].into_iter().map(str::to_owned);
        let told = cast(names());
        assert_eq!(speakers(&told), [1, 2, 0, 1]);
        let mut restored = Cast::default();
        assert!(restored.restore(&mut told.roll(0)));
        assert_eq!(restored.bytes(), told.bytes());
        for name in ["Lena", "Omar", "Lena"] {
            restored.push(Some(&said_by(name)), &NodeTerms::default());
        }
        assert_eq!(speakers(&restored), [1, 2, 0, 1, 3, 2, 3]);
    }
}
