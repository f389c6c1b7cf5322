//! What one program says and asks: bursts of messages to few conversations often and to many seldom, and questions.

use std::fmt;

use anyhow::{Context as _, Result, ensure};
use fastrand::Rng;
use memory::{ConversationId, Query, Scope, blocking::Memory};

use crate::talks::{Asked, KINDS, Talk};

const HITS: usize = 10;
/// The most messages of a burst.
const BURST: usize = 8;
/// The most conversations of a question about some.
const SOME: u32 = 12;
/// Of so many bursts, one is followed by a question about its conversation, by a context, by a question about some
/// conversations, and by one about all.
const PER_SEARCH: u32 = 4;
const PER_CONTEXT: u32 = 8;
const PER_SEARCH_OF_SOME: u32 = 40;
const PER_SEARCH_OF_ALL: u32 = 400;

/// One of several programs that use a memory at once; each appends to conversations of its own.
pub(super) struct Client {
    number: u32,
    clients: u32,
    /// Messages in each of its conversations.
    said: Vec<usize>,
    appended: usize,
    rng: Rng,
}

/// How much was done.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Done {
    appended: usize,
    searches: usize,
    searches_of_some: usize,
    searches_of_all: usize,
    contexts: usize,
}

impl Done {
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            appended: self.appended + other.appended,
            searches: self.searches + other.searches,
            searches_of_some: self.searches_of_some + other.searches_of_some,
            searches_of_all: self.searches_of_all + other.searches_of_all,
            contexts: self.contexts + other.contexts,
        }
    }
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { appended, searches, searches_of_some, searches_of_all, contexts } = self;
        write!(
            f,
            "{appended} messages, {searches} searches of one, {searches_of_some} of some, {searches_of_all} of all, \
             {contexts} contexts"
        )
    }
}

impl Client {
    /// The client of this number, from 0, of so many, which share the conversations.
    pub(super) fn new(number: u32, clients: u32, conversations: u32) -> Self {
        let own = conversations / clients;
        Self { number, clients, said: vec![0; own as usize], appended: 0, rng: Rng::with_seed(number.into()) }
    }

    /// Appends and asks until it has appended at least `due` messages in its life.
    ///
    /// # Errors
    /// When a call fails.
    pub(super) fn go_on(&mut self, memory: &Memory, due: usize) -> Result<Done> {
        let mut done = Done::default();
        while self.appended < due {
            let own = self.choose();
            done.appended +=
                self.burst(memory, own).with_context(|| format!("appending to {}", self.talk(own).name()))?;
            let talk = self.talk(own);
            let Asked { text: question, answer } = talk.question(self.rng.usize(0..KINDS));
            let is_said = answer.is_some_and(|at| self.said.get(own).is_some_and(|said| at < *said));
            let id = ConversationId::new(&talk.name())?;
            if self.is_one_of(PER_SEARCH) {
                memory.search(Query::new(&question, Scope::one(&id)).limit(HITS)).context("searching one")?;
                done.searches += 1;
            }
            if self.is_one_of(PER_CONTEXT) {
                let conversation = memory.conversation(id.as_str())?;
                conversation.prompt(&question).context("making a context")?;
                done.contexts += 1;
            }
            if self.is_one_of(PER_SEARCH_OF_SOME) {
                let others = (0..self.rng.u32(2..SOME)).map(|_| self.choose()).collect::<Vec<_>>();
                let begun = others.into_iter().filter(|own| self.said.get(*own).is_some_and(|said| *said > 0));
                let some = begun.map(|own| ConversationId::new(&self.talk(own).name())).chain([Ok(id)]);
                let scope = Scope::only(some.collect::<Result<_, _>>()?);
                memory.search(Query::new(&question, scope).limit(HITS)).context("searching some")?;
                done.searches_of_some += 1;
            }
            if self.is_one_of(PER_SEARCH_OF_ALL) {
                let found = memory.search(Query::new(&question, Scope::all()).limit(HITS)).context("searching all")?;
                ensure!(!is_said || !found.hits.is_empty(), "nothing was found for {question:?}");
                done.searches_of_all += 1;
            }
        }
        Ok(done)
    }

    /// Appends some messages to a conversation: one by one, or at once as an import does.
    fn burst(&mut self, memory: &Memory, own: usize) -> Result<usize> {
        let (talk, messages) = (self.talk(own), self.rng.usize(1..=BURST));
        let said = self.said.get_mut(own).context("no such conversation")?;
        let burst = (*said..*said + messages).map(|index| talk.message(index));
        let conversation = memory.conversation(&talk.name())?;
        if self.rng.u8(0..5) == 0 {
            conversation.append_batch(burst.collect())?;
        } else {
            for (message, _) in burst {
                conversation.append(message)?;
            }
        }
        *said += messages;
        self.appended += messages;
        Ok(messages)
    }

    /// One of its conversations; the `n`th is chosen `n` times less often than the first.
    fn choose(&mut self) -> usize {
        #[expect(clippy::cast_precision_loss, reason = "thousands")]
        let own = self.said.len() as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to the number of conversations")]
        let rank = (own + 1.0).powf(self.rng.f64()) as usize;
        rank.saturating_sub(1).min(self.said.len().saturating_sub(1))
    }

    fn talk(&self, own: usize) -> Talk {
        Talk::of(self.number + self.clients * u32::try_from(own).unwrap_or_default())
    }

    fn is_one_of(&mut self, count: u32) -> bool {
        self.rng.u32(0..count) == 0
    }
}
