//! Records of prompts, each sufficient to write the prompt again byte for byte.

use crate::{ConversationId, Hash, NodeId, NodeRange, NoteId, SummaryId, Timestamp, ViewId, WrittenBy, proof::Salt};

/// Domains of hashes, distinct from those of leaves (0) and inner nodes (1) of the tree.
const TEXT: u8 = 2;
const RUN: u8 = 3;

/// A recorded view.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct View {
    /// Number of the view.
    pub id: ViewId,
    /// Content of the view.
    pub body: ViewDraft,
}

impl View {
    /// The view recorded under this number.
    #[must_use]
    pub fn new(id: ViewId, body: ViewDraft) -> Self {
        Self { id, body }
    }
}

/// A view about to be recorded: which messages and summaries were shown, the question, and hashes of the resulting
/// text.
///
/// A view, together with the messages and summaries that it names, the layout and the token counter, reproduces the
/// text. The reason for choosing a piece is not recorded. Every hash from which content could be guessed is salted.
/// Erasing something that a view showed also means erasing its salt.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ViewDraft {
    /// Time of the view.
    pub at: Timestamp,
    /// Number of messages in the conversation.
    pub nodes: u64,
    /// The version of the layout.
    pub layout: u32,
    /// The token budget.
    pub budget: u32,
    /// Tokens of the text.
    pub tokens: u32,
    /// The token counter's name.
    pub counter: String,
    /// The strategy that chose the history's cut.
    pub chosen_by: WrittenBy,
    /// Most tokens of a tool result. A longer one was shown by its head and tail.
    pub longest_result: Option<u32>,
    /// The history: each of the messages exactly once, in order.
    pub history: Vec<ShownRun>,
    /// Runs shown next to the history: standing lines, then messages recalled for the question, each in order.
    pub recalled: Vec<ShownRun>,
    /// Parts of other conversations that were shown, in order; empty in a view of one conversation alone.
    pub elsewhere: Vec<ShownElsewhere>,
    /// Runs shown between messages of a running agent's history, for earlier messages of its user. In order of the
    /// messages; empty in other views.
    pub attached: Vec<ShownAttached>,
    /// The question.
    pub question: String,
    /// The salt of this view's hashes, used for no other view.
    pub salt: Salt,
    /// [`text_hash`] of the whole text.
    pub hash: Hash,
    /// Number of erased messages among those of the conversation, as far as its writer knew. It is not recorded: a store
    /// refuses a view of which a message was erased while it was made.
    pub erased: u64,
}

impl ViewDraft {
    /// A view of `nodes` messages that shows nothing yet.
    #[must_use]
    pub fn new(at: Timestamp, nodes: u64, layout: u32, chosen_by: WrittenBy, salt: Salt, hash: Hash) -> Self {
        Self {
            at,
            nodes,
            layout,
            budget: 0,
            tokens: 0,
            counter: String::new(),
            chosen_by,
            longest_result: None,
            history: Vec::new(),
            recalled: Vec::new(),
            elsewhere: Vec::new(),
            attached: Vec::new(),
            question: String::new(),
            salt,
            hash,
            erased: 0,
        }
    }

    crate::setters! {
        const erased: u64,
        const at: Timestamp,
        const budget: u32,
        const tokens: u32,
        into counter: String,
        into longest_result: Option<u32>,
        history: Vec<ShownRun>,
        recalled: Vec<ShownRun>,
        elsewhere: Vec<ShownElsewhere>,
        attached: Vec<ShownAttached>,
        into question: String,
    }
}

impl ViewDraft {
    /// True if the view shows one of these messages of its conversation, which are in order, or one of these runs of
    /// notes; or was asked just before the first message and may be the same text.
    #[must_use]
    pub fn may_hold(&self, nodes: &[NodeRange], notes: &[[NoteId; 2]]) -> bool {
        let attached = self.attached.iter().flat_map(|group| &group.runs);
        let is_shown = |run: &ShownRun| match run.shown {
            Shown::Entry(note) => notes.iter().any(|[first, last]| (*first..=*last).contains(&note)),
            _ => false,
        };
        nodes.first().is_some_and(|run| run.first().get() <= self.nodes.saturating_add(1))
            || self.recalled.iter().chain(attached).any(is_shown)
    }

    /// True if the view shows one of these messages of another conversation.
    #[must_use]
    pub fn shows_of(&self, conversation: &ConversationId, nodes: &[NodeRange]) -> bool {
        let shown = self.elsewhere.iter().filter(|other| other.conversation == *conversation);
        shown.flat_map(|other| &other.runs).any(|run| match run.shown {
            Shown::Messages(run) => nodes.iter().any(|erased| erased.common(run).is_some()),
            _ => false,
        })
    }

    /// Erases all from which content could be read or guessed: the question, the titles, the salt and what it salts.
    pub fn erase(&mut self) {
        self.question.clear();
        self.elsewhere.iter_mut().for_each(|other| other.title = None);
        (self.salt, self.hash) = (Salt::default(), Hash::from_bytes([0; 32]));
        let elsewhere = self.elsewhere.iter_mut().map(|other| &mut other.runs);
        let attached = self.attached.iter_mut().map(|group| &mut group.runs);
        let all = [&mut self.history, &mut self.recalled].into_iter().chain(elsewhere).chain(attached);
        all.flatten().for_each(|run| run.check = [0; 8]);
    }

    /// True if the view was [erased](Self::erase): it cannot be compared with what was shown.
    #[must_use]
    pub fn is_erased(&self) -> bool {
        self.salt == Salt::default() && self.hash == Hash::from_bytes([0; 32])
    }
}

/// Part of a view that shows another conversation.
///
/// Title and times stand in the heading, and are recorded because both change later.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShownElsewhere {
    /// The conversation.
    pub conversation: ConversationId,
    /// Title at that time, as shown; `None` without a title.
    pub title: Option<String>,
    /// Times of the first and the last message; either may be unknown.
    pub times: [Timestamp; 2],
    /// Shown messages, in order.
    pub runs: Vec<ShownRun>,
}

impl ShownElsewhere {
    /// Messages of a conversation without a title and known times.
    #[must_use]
    pub fn new(conversation: ConversationId, runs: Vec<ShownRun>) -> Self {
        Self { conversation, title: None, times: [Timestamp::default(); 2], runs }
    }

    crate::setters! {
        into title: Option<String>,
        const times: [Timestamp; 2],
    }

    /// Number of shown messages.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.runs.iter().map(|run| run.shown.pieces()).fold(0, u64::saturating_add)
    }
}

/// Runs that a view shows before a message of its history.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShownAttached {
    /// The message.
    pub before: NodeId,
    /// Standing lines, then messages, each in order.
    pub runs: Vec<ShownRun>,
}

impl ShownAttached {
    /// Runs that stand before a message.
    #[must_use]
    pub fn new(before: NodeId, runs: Vec<ShownRun>) -> Self {
        Self { before, runs }
    }
}

/// Consecutive pieces of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownRun {
    /// Content of the pieces.
    pub shown: Shown,
    /// [`run_check`] of their text, to find the part that differs.
    pub check: [u8; 8],
}

/// The content of a run of pieces.
///
/// Exhaustive: a new kind is a new format, and a replay shows every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Messages verbatim, one piece each.
    Messages(NodeRange),
    /// Summaries with consecutive numbers, one piece each.
    Summaries {
        /// The first one's number.
        first: SummaryId,
        /// Number of summaries.
        count: u64,
    },
    /// One line in place of messages that could not be read.
    Lost(NodeRange),
    /// One line in place of messages that the manager leaves out.
    Omitted(NodeRange),
    /// One line in place of messages that are disabled.
    Disabled(NodeRange),
    /// A standing line: a part of a message's text, in bytes, that lies within it and on character boundaries.
    Excerpt {
        /// The message.
        node: NodeId,
        /// The part's first byte.
        at: u32,
        /// The part's length.
        bytes: u16,
    },
    /// A part of a recalled message's text, in bytes, that lies within it and on character boundaries.
    Part {
        /// The message.
        node: NodeId,
        /// The part's first byte.
        at: u32,
        /// The part's length.
        bytes: u32,
    },
    /// A recorded entry of the ledger, by its note.
    Entry(NoteId),
    /// The remark that a later message changes what the piece before says. It is no piece of its own.
    Changed {
        /// The message of the piece before.
        node: NodeId,
        /// The later message.
        by: NodeId,
    },
}

impl Shown {
    /// Number of pieces in the run.
    #[must_use]
    pub fn pieces(&self) -> u64 {
        match self {
            Self::Messages(run) => run.count(),
            Self::Summaries { count, .. } => *count,
            Self::Changed { .. } => 0,
            Self::Lost(_)
            | Self::Omitted(_)
            | Self::Disabled(_)
            | Self::Excerpt { .. }
            | Self::Part { .. }
            | Self::Entry(_) => 1,
        }
    }
}

/// The hash of a view's whole text.
#[must_use]
pub fn text_hash(salt: &Salt, text: &str) -> Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[TEXT]).update(salt).update(text.as_bytes());
    Hash::from_bytes(*hasher.finalize().as_bytes())
}

/// The check of the texts of a run of pieces: the first bytes of a hash, each text preceded by its length.
#[must_use]
pub fn run_check<'a>(salt: &Salt, texts: impl IntoIterator<Item = &'a str>) -> [u8; 8] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[RUN]).update(salt);
    for text in texts {
        hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
    }
    let mut check = [0; 8];
    hasher.finalize_xof().fill(&mut check);
    check
}

/// Checks that a view may be recorded in a conversation of `nodes` messages: its history represents each message up to
/// then exactly once, in order, and everything that it names of its conversation exists. References to other
/// conversations are checked when the view is shown again, since those may be lost before the view is.
///
/// # Errors
/// A description of the fault.
pub fn check_view(
    draft: &ViewDraft,
    nodes: u64,
    span_of: impl Fn(SummaryId) -> Option<NodeRange>,
) -> Result<(), String> {
    if draft.nodes == 0 || draft.nodes > nodes {
        return Err(format!("a view is of {} messages, and there are {nodes}", draft.nodes));
    }
    let mut reached = 0;
    let mut follow = |span: NodeRange| {
        if span.first().get() != reached + 1 || span.last().get() > draft.nodes {
            return Err(format!("a view shows nodes {span} after node {reached} of {}", draft.nodes));
        }
        reached = span.last().get();
        Ok(())
    };
    for ShownRun { shown, .. } in &draft.history {
        match *shown {
            Shown::Messages(run) | Shown::Lost(run) | Shown::Omitted(run) | Shown::Disabled(run) => follow(run)?,
            Shown::Excerpt { .. } | Shown::Part { .. } | Shown::Entry(_) | Shown::Changed { .. } => {
                return Err(format!("a view shows {shown:?} as its history"));
            }
            Shown::Summaries { first, count } => {
                // Each summary covers at least one node, so the loop ends where the nodes do.
                for number in (first.get()..).take(usize::try_from(count).unwrap_or(usize::MAX)) {
                    let summary = SummaryId::new(number);
                    let span = summary.and_then(&span_of);
                    follow(span.ok_or_else(|| format!("a view shows summary {number}, which is not recorded"))?)?;
                }
            }
        }
    }
    if reached != draft.nodes {
        return Err(format!("a view of {} messages ends at node {reached}", draft.nodes));
    }
    let mut last = None;
    for group in &draft.attached {
        if group.runs.is_empty() || last >= Some(group.before) || group.before.get() > draft.nodes {
            return Err(format!("a view attaches to message {} what cannot stand there", group.before));
        }
        last = Some(group.before);
    }
    let attached = draft.attached.iter().flat_map(|group| &group.runs);
    for ShownRun { shown, .. } in draft.recalled.iter().chain(attached) {
        match shown {
            // The note may be lost before the view is.
            Shown::Entry(_) => {}
            Shown::Changed { node, by } if node < by && by.get() <= nodes => {}
            // A recalled message may have been appended while the history was read.
            Shown::Messages(run) if run.last().get() <= nodes => {}
            Shown::Excerpt { node, .. } | Shown::Part { node, .. } if node.get() <= nodes => {}
            other => return Err(format!("a view cannot recall {other:?}")),
        }
    }
    for other in &draft.elsewhere {
        let of_messages = other.runs.iter().all(|run| matches!(run.shown, Shown::Messages(_)));
        if !of_messages || other.runs.is_empty() {
            return Err(format!("a view shows no messages of `{}`", other.conversation));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NodeId;

    fn nodes(first: u64, last: u64) -> NodeRange {
        NodeRange::new(NodeId::new(first).unwrap(), NodeId::new(last).unwrap()).unwrap()
    }

    fn run(shown: Shown) -> ShownRun {
        ShownRun { shown, check: [0; 8] }
    }

    fn summaries(first: u64, count: u64) -> Shown {
        Shown::Summaries { first: SummaryId::new(first).unwrap(), count }
    }

    fn view(history: Vec<Shown>, recalled: Vec<Shown>) -> ViewDraft {
        ViewDraft {
            at: Timestamp::default(),
            nodes: 9,
            layout: 1,
            budget: 100,
            tokens: 50,
            counter: "words".into(),
            chosen_by: WrittenBy { strategy: "hierarchical".into(), version: "1".into() },
            longest_result: None,
            history: history.into_iter().map(run).collect(),
            recalled: recalled.into_iter().map(run).collect(),
            elsewhere: Vec::new(),
            attached: Vec::new(),
            question: "why?".into(),
            salt: [7; 16],
            hash: text_hash(&[7; 16], "text"),
            erased: 0,
        }
    }

    #[test]
    fn a_view_covers_every_message_exactly_once() {
        // Summary n covers nodes 2n - 1 and 2n.
        let span_of = |id: SummaryId| (id.get() <= 3).then(|| nodes(2 * id.get() - 1, 2 * id.get()));
        let check = |history: Vec<Shown>, recalled: Vec<Shown>| check_view(&view(history, recalled), 12, span_of);
        let good =
            vec![summaries(1, 2), Shown::Omitted(nodes(5, 6)), Shown::Messages(nodes(7, 7)), Shown::Lost(nodes(8, 9))];
        assert_eq!(check(good.clone(), vec![Shown::Messages(nodes(2, 3))]), Ok(()));
        for (bad, why) in [
            (vec![summaries(1, 2), Shown::Messages(nodes(6, 9))], "a gap"),
            (vec![summaries(1, 2), Shown::Messages(nodes(4, 9))], "twice"),
            (vec![summaries(1, 2), Shown::Messages(nodes(5, 8))], "too short"),
            (vec![summaries(1, 2), Shown::Messages(nodes(5, 10))], "too long"),
            (vec![summaries(1, u64::MAX)], "a summary that is not there"),
            (vec![], "nothing"),
        ] {
            assert!(check(bad, vec![]).is_err(), "{why}");
        }
        let excerpt = |node| Shown::Excerpt { node: NodeId::new(node).unwrap(), at: 3, bytes: 20 };
        let changed = |node, by| Shown::Changed { node: NodeId::new(node).unwrap(), by: NodeId::new(by).unwrap() };
        let entry = Shown::Entry(NoteId::FIRST);
        assert_eq!(check(good.clone(), vec![excerpt(12), entry, Shown::Messages(nodes(2, 3)), changed(3, 7)]), Ok(()));
        assert!(check(vec![entry, Shown::Messages(nodes(1, 9))], vec![]).is_err(), "an entry is no history");
        assert!(check(vec![excerpt(1), Shown::Messages(nodes(2, 9))], vec![]).is_err(), "a part is no history");
        for bad in [
            summaries(1, 1),
            Shown::Lost(nodes(1, 1)),
            Shown::Omitted(nodes(1, 1)),
            Shown::Messages(nodes(9, 13)),
            excerpt(13),
            changed(2, 13),
            changed(3, 2),
        ] {
            assert!(check(good.clone(), vec![bad]).is_err(), "{bad:?}");
        }
        assert!(check_view(&view(good.clone(), vec![]), 8, span_of).is_err(), "of more messages than there are");
        let attached = |groups: &[(u64, Shown)]| {
            let group =
                |(before, shown): &(u64, Shown)| ShownAttached::new(NodeId::new(*before).unwrap(), vec![run(*shown)]);
            check_view(&view(good.clone(), vec![]).attached(groups.iter().map(group).collect()), 12, span_of)
        };
        let earlier = Shown::Messages(nodes(1, 2));
        assert_eq!(attached(&[(7, earlier), (9, excerpt(3))]), Ok(()));
        for bad in
            [vec![(9, earlier), (7, earlier)], vec![(7, earlier); 2], vec![(10, earlier)], vec![(7, summaries(1, 1))]]
        {
            assert!(attached(&bad).is_err(), "{bad:?}");
        }
        let beside = |runs: Vec<Shown>| {
            let trip = ConversationId::new("trip").unwrap();
            let other = ShownElsewhere::new(trip, runs.into_iter().map(run).collect());
            check_view(&view(good.clone(), vec![]).elsewhere(vec![other]), 12, span_of)
        };
        assert_eq!(beside(vec![Shown::Messages(nodes(70, 80))]), Ok(()), "another conversation may be longer");
        for bad in [vec![], vec![summaries(1, 1)], vec![Shown::Lost(nodes(1, 1))], vec![excerpt(1)]] {
            assert!(beside(bad.clone()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn hashes_depend_on_the_salt_and_on_where_texts_end() {
        let salt = [7; 16];
        assert_ne!(text_hash(&salt, "a"), text_hash(&[8; 16], "a"));
        assert_ne!(run_check(&salt, ["ab", "c"]), run_check(&salt, ["a", "bc"]));
        assert_ne!(run_check(&salt, ["a"]), run_check(&[8; 16], ["a"]));
        assert_eq!(
            text_hash(&salt, "text").to_string(),
            "8eb14313d4eb5f1aa484a21bafa5e39ef5fe30cb0adcb3dab9fd7b1ef2b2dd87",
            "a hash that changes makes every recorded view look forged"
        );
    }
}
