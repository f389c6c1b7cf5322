//! The sample on which two models are compared: messages, and questions whose answers are among them.

use std::collections::HashSet;

use anyhow::ensure;
use fastrand::Rng;
use memory_core::{
    ConversationId, Message, Node, NodeDraft, NodeId, NodeRange, Role,
    port::{ConversationState, Store},
};

use crate::failure::NotFound;

/// Seed of all random draws, so that a second run compares the same.
pub(super) const SEED: u64 = 7;
/// Fewest messages of a sampled conversation that has as many.
const LEAST_RUN: u64 = 20;
/// Fewest characters of a question and of its reply.
const LEAST_CHARS: usize = 12;

/// A message in the sample.
pub(super) type MessageAddress = (ConversationId, NodeId);

/// Messages, and questions whose answers are among them.
#[derive(Debug)]
pub(super) struct Sample {
    /// Conversations, each with its messages from node 1 on.
    pub(super) conversations: Vec<(ConversationId, Vec<NodeDraft>)>,
    /// Questions; at least one.
    pub(super) questions: Vec<Question>,
}

/// A message that is asked as a question.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) text: String,
    /// The reply to the question, which must be found.
    pub(super) reply: MessageAddress,
}

impl Sample {
    /// Number of messages.
    pub(super) fn messages(&self) -> usize {
        self.conversations.iter().map(|(_, messages)| messages.len()).sum()
    }

    /// A sample of at most `messages` messages of a store, of which at most `questions` are asked and left out: the
    /// reply to each must be found among the messages of all conversations.
    ///
    /// # Errors
    /// If the store fails, is empty, or has no message with a reply.
    pub(super) async fn of_store(store: &dyn Store, messages: u64, questions: usize) -> anyhow::Result<Self> {
        let mut rng = Rng::with_seed(SEED);
        let mut conversations = Vec::new();
        for (id, run) in runs(&store.conversations().await?, messages, &mut rng) {
            conversations.push((id.clone(), store.readable_nodes(&id, run).await?.nodes));
        }
        if conversations.is_empty() {
            return Err(NotFound("the store holds no message: import some first".to_owned()).into());
        }
        let mut pairs = Vec::new();
        for (at, (_, nodes)) in conversations.iter().enumerate() {
            pairs.extend(with_replies(nodes).into_iter().map(|asked| (at, asked)));
        }
        rng.shuffle(&mut pairs);
        let asked = apart(pairs, questions);
        ensure!(!asked.is_empty(), "no message of this store is followed by a reply");
        let mut sample = Self { conversations: Vec::new(), questions: Vec::new() };
        for (at, (id, nodes)) in conversations.into_iter().enumerate() {
            let mut drafts: Vec<NodeDraft> = Vec::new();
            let mut question = None;
            for (place, node) in nodes.into_iter().enumerate() {
                if asked.contains(&(at, place)) {
                    question = Some(node.message.text());
                    continue;
                }
                // The message after a question is its reply.
                sample.questions.extend(
                    question
                        .take()
                        .map(|text| Question { text, reply: (id.clone(), NodeId::from_index(drafts.len())) }),
                );
                drafts.push(NodeDraft::new(node.message, node.at, node.tokens));
            }
            sample.conversations.push((id, drafts));
        }
        Ok(sample)
    }
}

/// Runs of at most `messages` messages in all, spread over conversations by their numbers of messages. A fork counts
/// with its own messages. Only some of many conversations are drawn, so that no run is too short.
fn runs(states: &[ConversationState], messages: u64, rng: &mut Rng) -> Vec<(ConversationId, NodeRange)> {
    let mut own: Vec<(ConversationId, NodeRange)> = Vec::new();
    for state in states {
        let shared = state.forked_from.as_ref().map_or(0, |fork| fork.node.get());
        let nodes = NodeId::new(shared + 1).zip(NodeId::new(state.nodes));
        own.extend(nodes.and_then(|(first, last)| Some((state.id.clone(), NodeRange::new(first, last)?))));
    }
    rng.shuffle(&mut own);
    own.truncate(usize::try_from(messages.div_ceil(LEAST_RUN)).unwrap_or(usize::MAX));
    own.sort_by_key(|(_, nodes)| nodes.count());
    let (mut left, mut conversations) = (messages, own.len() as u64);
    let mut runs = Vec::new();
    // The shortest come first: the others get their unused share.
    for (id, nodes) in own {
        let count = nodes.count().min(left.div_ceil(conversations)).min(left);
        left -= count;
        conversations -= 1;
        let skipped = rng.u64(0..=nodes.count() - count);
        let ends =
            NodeId::new(nodes.first().get() + skipped).zip(NodeId::new(nodes.first().get() + skipped + count - 1));
        runs.extend(ends.and_then(|(first, last)| Some((id, NodeRange::new(first, last)?))));
    }
    runs.sort();
    runs
}

/// The indices of messages that are followed by a reply: user's messages before the model's if there are such, else
/// messages before another speaker's.
fn with_replies(nodes: &[Node]) -> Vec<usize> {
    let pairs = || nodes.windows(2).enumerate().filter_map(|(at, pair)| Some((at, pair.first()?, pair.get(1)?)));
    let has_reply = |(_, asked, reply): &(usize, &Node, &Node)| {
        asked.id.next() == reply.id
            && asked.message.speaker_or_role() != reply.message.speaker_or_role()
            && is_prose(&asked.message)
            && is_prose(&reply.message)
    };
    let of_model = |(_, asked, reply): &(usize, &Node, &Node)| {
        asked.message.role == Role::User && reply.message.role == Role::Assistant
    };
    let answered: Vec<usize> = pairs().filter(of_model).filter(has_reply).map(|(at, ..)| at).collect();
    if answered.is_empty() { pairs().filter(has_reply).map(|(at, ..)| at).collect() } else { answered }
}

/// True if the message has a text longer than a word, and no call or result of a tool.
fn is_prose(message: &Message) -> bool {
    message.tool_calls().next().is_none()
        && message.tool_results().next().is_none()
        && message.text().trim().chars().nth(LEAST_CHARS - 1).is_some()
}

/// At most `most` of the pairs, in order, none of which shares a message with another: a question is not in the sample,
/// and a reply is.
fn apart(pairs: Vec<(usize, usize)>, most: usize) -> HashSet<(usize, usize)> {
    let mut asked = HashSet::new();
    for (conversation, place) in pairs {
        let is_reply = place.checked_sub(1).is_some_and(|before| asked.contains(&(conversation, before)));
        if asked.len() < most && !is_reply && !asked.contains(&(conversation, place + 1)) {
            asked.insert((conversation, place));
        }
    }
    asked
}

#[cfg(test)]
mod tests {
    use memory_core::{Timestamp, port::ForkedFrom};

    use super::*;

    fn id(name: &str) -> ConversationId {
        ConversationId::new(name).unwrap()
    }

    fn state(name: &str, nodes: u64) -> ConversationState {
        let mut state = ConversationState::new(id(name));
        state.nodes = nodes;
        state
    }

    fn lengths(states: &[ConversationState], messages: u64) -> Vec<(String, u64)> {
        let runs = runs(states, messages, &mut Rng::with_seed(1));
        for (id, run) in &runs {
            let state = states.iter().find(|state| state.id == *id).unwrap();
            assert!(run.last().get() <= state.nodes);
        }
        runs.into_iter().map(|(id, run)| (id.to_string(), run.count())).collect()
    }

    #[test]
    fn a_sample_is_as_even_as_the_conversations_are_long() {
        let named = |expected: &[(&str, u64)]| -> Vec<_> {
            expected.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
        };
        let states = [state("a", 1_000), state("b", 10), state("c", 0), state("d", 500)];
        assert_eq!(lengths(&states, 110), named(&[("a", 50), ("b", 10), ("d", 50)]));
        assert_eq!(lengths(&states, 5_000), named(&[("a", 1_000), ("b", 10), ("d", 500)]));
        assert_eq!(lengths(&states, 111).iter().map(|(_, count)| count).sum::<u64>(), 111);
        assert_eq!(lengths(&[], 10), []);
        // A run that is too short has no context.
        let many: Vec<_> = (0..100).map(|n| state(&format!("c{n}"), 50)).collect();
        let few = lengths(&many, 100);
        assert!(few.len() == 5 && few.iter().all(|(_, count)| *count == 20), "{few:?}");
        assert_eq!(few, lengths(&many, 100), "seeded");
    }

    #[test]
    fn what_a_fork_shares_is_taken_once() {
        let mut fork = state("fork", 30);
        fork.forked_from = Some(ForkedFrom { conversation: id("a"), node: NodeId::new(25).unwrap() });
        let mut same = state("same", 25);
        same.forked_from.clone_from(&fork.forked_from);
        let runs = runs(&[state("a", 40), fork, same], 1_000, &mut Rng::with_seed(1));
        let runs: Vec<_> = runs.iter().map(|(id, run)| format!("{id} {run}")).collect();
        assert_eq!(runs, ["a 1-40", "fork 26-30"]);
    }

    #[test]
    fn questions_are_what_the_model_answered_or_else_what_another_did() {
        let nodes = |said: &[(Role, &str, &str)]| -> Vec<Node> {
            let node = |(at, (role, who, text)): (usize, &(Role, &str, &str))| {
                let message = Message::text_of(*role, *text).speaker(*who);
                Node::new(NodeId::from_index(at), message, Timestamp::default())
            };
            said.iter().enumerate().map(node).collect()
        };
        let (user, model) = (Role::User, Role::Assistant);
        let long = "long enough to be asked";
        let with_model = nodes(&[
            (user, "Ann", long),
            (user, "Ben", long),
            (model, "model", long),
            (user, "Ann", "thanks"),
            (model, "model", long),
            (user, "Ann", long),
            (model, "model", "ok"),
        ]);
        assert_eq!(with_replies(&with_model), [1]);
        let among_people = nodes(&[(user, "Ann", long), (user, "Ben", long), (user, "Ben", long), (user, "Ann", long)]);
        assert_eq!(with_replies(&among_people), [0, 2]);
        let mut with_a_gap = among_people;
        with_a_gap.remove(1);
        assert_eq!(with_replies(&with_a_gap), [1], "what is lost may have been the reply");
    }

    #[test]
    fn no_question_is_the_reply_to_another() {
        let pairs = vec![(0, 3), (0, 2), (0, 4), (1, 4), (0, 5), (0, 0)];
        let mut found: Vec<_> = apart(pairs.clone(), 9).into_iter().collect();
        found.sort_unstable();
        assert_eq!(found, [(0, 0), (0, 3), (0, 5), (1, 4)]);
        assert_eq!(apart(pairs, 1), HashSet::from([(0, 3)]));
    }
}
