//! Pairs of a question and its answer.

use memory_core::{NodeId, NodeOutline, Role};

use crate::lexical::Traits;

/// Questions of a conversation with their answers. No message is a question, or an answer, twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    /// Questions with their answers, both in order of time.
    pairs: Vec<(NodeId, NodeId)>,
}

impl Pairs {
    pub(crate) fn none() -> &'static Self {
        static NONE: Pairs = Pairs { pairs: Vec::new() };
        &NONE
    }

    /// Pairs of question and answer, in order of time. Pairs whose question precedes the answer of the previous pair
    /// are dropped.
    #[must_use]
    pub fn new(pairs: impl IntoIterator<Item = (NodeId, NodeId)>) -> Self {
        let mut ordered: Vec<(NodeId, NodeId)> = Vec::new();
        for (question, answer) in pairs {
            if question < answer && ordered.last().is_none_or(|&(_, before)| question >= before) {
                ordered.push((question, answer));
            }
        }
        Self { pairs: ordered }
    }

    /// Pairs of a conversation: a message that ends with a question mark, and the next one of its session if it is by
    /// another speaker. Tool calls, tool results and system messages between them are skipped.
    pub(crate) fn of(traits: &[Traits], outline: &[NodeOutline]) -> Self {
        let mut open: Option<(NodeId, &Traits)> = None;
        let mut pairs = Vec::new();
        for ((node, here), outline) in (0..).map(NodeId::from_index).zip(traits).zip(outline) {
            let is_aside = matches!(here.role, Some(Role::Tool | Role::System));
            if is_aside || outline.calls > 0 || outline.answers > 0 {
                continue;
            }
            let voice = |traits: &Traits| (traits.speaker, traits.role);
            if let Some((question, asked)) = open
                && here.role.is_some()
                && here.session == asked.session
                && voice(here) != voice(asked)
            {
                pairs.push((question, node));
            }
            open = here.is_question.then_some((node, here));
        }
        Self { pairs }
    }

    /// The answer to a message, and the question that it answers.
    pub(crate) fn beside(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        let answer = self.pairs.binary_search_by_key(&node, |&(question, _)| question);
        let question = self.pairs.binary_search_by_key(&node, |&(_, answer)| answer);
        let answer = answer.ok().and_then(|at| self.pairs.get(at)).map(|&(_, answer)| answer);
        let question = question.ok().and_then(|at| self.pairs.get(at)).map(|&(question, _)| question);
        answer.into_iter().chain(question)
    }
}

#[cfg(test)]
mod tests {
    use memory_core::Timestamp;

    use super::*;

    /// Speakers: `a` and `b` are people, `s` the system, `c` a call of `b`'s, `r` its result, `x` an unreadable
    /// message; each with `?` if it ends in a question, and with `|` if a session ends before it.
    fn found(talk: &str) -> String {
        let (mut traits, mut outline) = (Vec::new(), Vec::new());
        let mut session = 0;
        for letter in talk.chars() {
            let (speaker, role) = match letter {
                '?' => {
                    traits.iter_mut().last().into_iter().for_each(|last: &mut Traits| last.is_question = true);
                    continue;
                }
                '|' => {
                    session += 1;
                    continue;
                }
                'a' => (1, Some(Role::User)),
                'u' => (0, Some(Role::User)),
                'v' => (0, Some(Role::Assistant)),
                's' => (0, Some(Role::System)),
                'r' => (0, Some(Role::Tool)),
                'x' => (0, None),
                _ => (2, Some(Role::User)),
            };
            traits.push(Traits { speaker, role, session, ..Traits::default() });
            let mut here = NodeOutline::new(Timestamp::default(), role.unwrap_or(Role::User));
            here.calls = u8::from(letter == 'c');
            outline.push(here);
        }
        let pairs = Pairs::of(&traits, &outline);
        assert_eq!(Pairs::new(pairs.pairs.iter().copied()), pairs, "what is found is in order");
        let each = pairs.pairs.iter().map(|(question, answer)| format!("{question}-{answer}"));
        each.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_next_message_of_another_speaker_answers() {
        assert_eq!(found("aba?bab?a?b"), "3-4 6-7 7-8");
        assert_eq!(found("u?v"), "1-2");
        assert_eq!(found("a?ab"), "", "who goes on is not answered");
        assert_eq!(found("a?|b"), "", "nor is what ended a session");
        assert_eq!(found("a?xb"), "", "nor is one before what cannot be read");
        assert_eq!(found("a?"), "");
    }

    #[test]
    fn an_answer_may_stand_behind_calls_and_results() {
        assert_eq!(found("a?crb"), "1-4");
        assert_eq!(found("a?c?rcrsb"), "1-7");
        assert_eq!(found("a?cr"), "");
    }

    #[test]
    fn pairs_that_are_out_of_order_are_left_out() {
        let id = |position| NodeId::new(position).unwrap_or(NodeId::FIRST);
        let pairs = Pairs::new([(1, 2), (2, 3), (2, 4), (6, 5), (7, 9), (8, 9)].map(|(a, b)| (id(a), id(b))));
        assert_eq!(pairs.pairs, [(1, 2), (2, 3), (7, 9)].map(|(a, b)| (id(a), id(b))));
        let beside = |node| pairs.beside(id(node)).map(NodeId::get).collect::<Vec<_>>();
        assert_eq!([beside(1), beside(2), beside(3), beside(5)], [vec![2], vec![3, 1], vec![2], vec![]]);
    }
}
