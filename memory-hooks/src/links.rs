//! Links from a message to the earlier one that it follows up or corrects, by rules.

use std::{
    collections::VecDeque,
    sync::{Arc, OnceLock},
};

use memory_core::{Node, NodeId, NodeKind, Relation, RelationKind, Role, Timestamp, time::TimeWords};
use memory_strategies::{Backward, Gist, Reference, backward, said};

/// Number of earlier messages that a message may refer to by their day.
pub(crate) const LOOKED_BACK: usize = 512;
/// Number of earlier messages that it may refer to otherwise.
const NEAR: usize = 24;
/// Number of earlier messages that it may refer to without their subject: its speaker's and the reply to it.
const JUST_BEFORE: usize = 2;
/// The longest text that is kept until its gist is needed, in bytes.
const LONGEST: usize = 4_096;

/// A message that refers back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Link {
    /// The message.
    pub node: NodeId,
    /// The earlier message, and how this one relates to it.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub relation: Relation,
}

/// The links among messages that are added in their order.
///
/// Only an explicit phrase refers back ("Correction: …", "Scratch that", "You mentioned …"), and only to a message of the
/// same subject: of several the one with the most words in common, on the day that the reference names. Where none has
/// the subject, "That's wrong" and "Sorry, I meant …" refer to the message just before them. A link that the
/// caller stored in [`Node::relates_to`] is taken as it is. Links are derived on reading and not stored, so that better
/// rules find those of old messages, too.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links {
    before: VecDeque<Arc<EarlierMessage>>,
    found: Vec<Link>,
}

#[derive(Debug)]
struct EarlierMessage {
    node: NodeId,
    at: Timestamp,
    kind: NodeKind,
    speaker: Option<String>,
    text: String,
    /// Gist of the text; of a short one on demand: few messages refer back, so most gists are never needed.
    gist: OnceLock<Gist>,
}

impl EarlierMessage {
    fn gist(&self) -> &Gist {
        self.gist.get_or_init(|| Gist::of(&self.text))
    }
}

impl Links {
    /// Adds the next message, whose text is given.
    pub(crate) fn add(&mut self, node: &Node, text: &str) {
        let (message, text) = (&node.message, &*said(text));
        let is_tool = message.role == Role::Tool || message.tool_results().next().is_some();
        // What a tool found quotes others and corrects nobody.
        let derived = || backward(text).filter(|_| !is_tool).and_then(|reference| self.relation(node, &reference));
        if let Some(relation) = node.relates_to.or_else(derived) {
            self.found.push(Link { node: node.id, relation });
        }
        if is_tool || message.role == Role::System || text.trim().is_empty() {
            return;
        }
        if self.before.len() == LOOKED_BACK {
            self.before.pop_front();
        }
        let (kind, speaker) = (node.kind(), message.speaker.clone());
        // A pasted log is not kept for a gist that may never be needed.
        let (text, gist) = match text.len() {
            ..=LONGEST => (text.to_owned(), OnceLock::new()),
            _ => (String::new(), OnceLock::from(Gist::of(text))),
        };
        let before = EarlierMessage { node: node.id, at: node.at, kind, speaker, text, gist };
        self.before.push_back(Arc::new(before));
    }

    fn relation(&self, node: &Node, reference: &Reference) -> Option<Relation> {
        let is_own =
            |before: &&Arc<EarlierMessage>| before.kind == node.kind() && before.speaker == node.message.speaker;
        let kind = match reference.kind {
            // A reply always follows up the message that it replies to.
            Backward::FollowsUp if node.kind() == NodeKind::Ai => return None,
            Backward::FollowsUp => RelationKind::FollowUp,
            _ => RelationKind::Correction,
        };
        let days = reference.day.as_deref().map(|day| TimeWords::of(day).ranges(node.at)).unwrap_or_default();
        let may_be_meant = |before: &&Arc<EarlierMessage>| match reference.kind {
            _ if !days.is_empty() => days.iter().any(|day| day.contains(before.at)),
            Backward::Corrects => !is_own(before),
            Backward::CorrectsOwn => is_own(before),
            _ => true,
        };
        let is_of_subject = |before: &&Arc<EarlierMessage>| {
            let shared = before.gist().shared(&reference.gist);
            let is_enough = !days.is_empty() || shared >= 2 || 3 * shared >= reference.gist.len();
            is_enough && before.gist().shared(&reference.things) > 0
        };
        let looked_back = if days.is_empty() { NEAR } else { LOOKED_BACK };
        let before = self.before.iter().rev().take(looked_back).filter(may_be_meant).filter(is_of_subject);
        let meant = before.max_by_key(|before| (before.gist().shared(&reference.gist), before.node)).or_else(|| {
            let is_near = reference.is_of_last && days.is_empty();
            self.before.iter().rev().take(JUST_BEFORE).find(may_be_meant).filter(|_| is_near)
        })?;
        Some(Relation { to: meant.node, kind })
    }

    /// The last `most` links, in order.
    pub(crate) fn last(&self, most: usize) -> Vec<Link> {
        self.found.get(self.found.len().saturating_sub(most)..).unwrap_or_default().to_vec()
    }

    /// The messages that correct this one, in order.
    pub(crate) fn corrections_of(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        let corrects = move |link: &&Link| link.relation.to == node && link.relation.kind == RelationKind::Correction;
        self.found.iter().filter(corrects).map(|link| link.node)
    }

    /// The link of a message.
    pub(crate) fn of(&self, node: NodeId) -> Option<Relation> {
        self.found.iter().find(|link| link.node == node).map(|link| link.relation)
    }
}

#[cfg(test)]
mod tests {
    use memory_core::Message;

    use super::*;

    fn links(messages: &[Message]) -> Vec<(u64, u64, RelationKind)> {
        let mut links = Links::default();
        for (index, message) in messages.iter().enumerate() {
            let node = Node::new(NodeId::from_index(index), message.clone(), Timestamp::default());
            links.add(&node, &message.text());
        }
        let plain = |link: Link| (link.node.get(), link.relation.to.get(), link.relation.kind);
        links.last(10).into_iter().map(plain).collect()
    }

    #[test]
    fn a_correction_means_what_the_other_side_said_of_the_same_matter() {
        let talk = [
            Message::user("When does the train to Oslo leave?"),
            Message::assistant("The train to Oslo leaves at 7:42."),
            Message::user("Is there a museum?"),
            Message::assistant("Yes, one of modern art."),
            Message::user("That's wrong, the Oslo train leaves at 8:10."),
        ];
        assert_eq!(links(&talk), [(5, 2, RelationKind::Correction)]);
    }

    #[test]
    fn a_result_of_a_tool_corrects_nothing() {
        let quoted = memory_core::ContentBlock::ToolResult {
            tool_use_id: "a".into(),
            content: vec![memory_core::ContentBlock::Text("[Message 1]: Correction: the Oslo trip is in May.".into())],
            is_error: false,
        };
        let talk = [
            Message::user("I was wrong, the Oslo trip is in June, not in May."),
            Message::new(Role::User, vec![quoted]),
        ];
        assert_eq!(links(&talk), []);
    }

    #[test]
    fn who_corrects_themself_means_their_own_words() {
        let talk = [
            Message::user("We need three rooms in Lisbon."),
            Message::assistant("Three rooms in Lisbon, noted."),
            Message::user("Sorry, I meant four rooms."),
        ];
        assert_eq!(links(&talk), [(3, 1, RelationKind::Correction)]);
    }

    #[test]
    fn a_follow_up_names_what_it_goes_on_with() {
        let talk = [
            Message::user("The hotel near the harbour costs 90."),
            Message::assistant("Noted."),
            Message::user("Which tram goes there?"),
            Message::assistant("Number 4."),
            Message::user("Going back to the hotel: I take the small room."),
            Message::user("And it's night."),
            Message::user("And what about the tram?"),
        ];
        assert_eq!(links(&talk), [(5, 1, RelationKind::FollowUp)]);
    }

    #[test]
    fn a_correction_without_a_shared_subject_means_nothing() {
        let talk = [
            Message::user("The hotel near the harbour costs 90."),
            Message::assistant("The tram goes at 9."),
            Message::user("That's wrong, I never said so."),
            Message::assistant("Which of the two?"),
            Message::assistant("Or neither?"),
            Message::user("Sorry, I meant four."),
            Message::user("I mean, the harbour is nice."),
            Message::user("Correction: the ferry to Dover takes an hour."),
            Message::user("No, not yet."),
        ];
        assert_eq!(links(&talk), []);
    }

    #[test]
    fn a_slip_is_corrected_at_once_without_its_subject() {
        let talk = [
            Message::user("The wedding is at Lakeside."),
            Message::assistant("Lovely."),
            Message::user("Sorry, I meant the Mill."),
            Message::assistant("There is no mill in town."),
            Message::user("That's wrong, look near the river."),
        ];
        assert_eq!(links(&talk), [(3, 1, RelationKind::Correction), (5, 4, RelationKind::Correction)]);
    }

    #[test]
    fn a_correction_of_a_named_day_means_a_message_of_that_day() {
        let mut links = Links::default();
        let day = 86_400_000;
        let said = [
            (2, "Decision: the ceiling of a write-off is 2 euros per line."),
            (4, "The ceiling of a write-off in Norway is 20 crowns."),
            (10, "**Correction to the decision of 2 March:** the ceiling of a write-off is a sum."),
            (10, "**Correction to the decision of 3 March:** the ceiling of a write-off is a sum."),
        ];
        // 2026-03-01T09:00:00Z
        let first = 1_772_355_600_000;
        for (index, (on, text)) in said.into_iter().enumerate() {
            let at = Timestamp::from_millis(first + (on - 1) * day);
            let node = Node::new(NodeId::from_index(index), Message::assistant(text), at);
            links.add(&node, text);
        }
        let found: Vec<_> = links.last(9).iter().map(|link| (link.node.get(), link.relation.to.get())).collect();
        assert_eq!(found, [(3, 1)]);
    }

    #[test]
    fn what_the_caller_stored_is_taken_as_it_is() {
        let mut links = Links::default();
        let relation = Relation { to: NodeId::FIRST, kind: RelationKind::Correction };
        let node =
            Node::new(NodeId::from_index(8), Message::user("The hall."), Timestamp::default()).relates_to(relation);
        links.add(&node, "The hall.");
        assert_eq!(links.of(node.id), Some(relation));
    }
}
