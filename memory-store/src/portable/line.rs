//! The lines of an export, as they stand in the file.

use std::borrow::Cow;

use memory_core::{
    ConversationId, ErasedLeaf, Hash, Level, Node, NodeDraft, NodeId, NodeRange, NoteId, OwnerId, Relation,
    RelationKind, Summary, SummaryDraft, SummaryId, SummaryMetadata, Timestamp, WrittenBy,
    json::{message_from_raw_json, message_to_raw_json},
    port::{ConversationState, NodeProof, Note, NoteChange},
    proof::Salt,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::{FORMAT, WITH_DISABLED, WITH_ERASED, WITH_NOTES, WITH_OWNER, WITH_VIEWS};

/// The beginning of every export, so that its first bytes identify it.
pub(super) const BEGINNING: &str = r#"{"memory_export":"#;

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    /// Version of the format.
    pub(super) memory_export: u32,
    #[serde(with = "text")]
    pub(super) conversation: ConversationId,
    /// Lines of nodes.
    pub(super) nodes: u64,
    /// Lines of summaries, after them.
    pub(super) summaries: u64,
    /// Lines of notes, after those.
    #[serde(default, skip_serializing_if = "is_none")]
    pub(super) notes: u64,
    /// The Merkle root over the nodes.
    #[serde(with = "text")]
    pub(super) root: Hash,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) title: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) tags: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<OwnerName>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "for serde")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct OwnerName(#[serde(with = "text")] OwnerId);

/// Only the version, which decides whether the rest can be read.
#[derive(Deserialize)]
pub(super) struct Version {
    pub(super) memory_export: u32,
}

/// One message in its place.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NodeLine<'a> {
    node: u64,
    #[serde(with = "hex")]
    salt: Salt,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    at: i64,
    tokens: u32,
    importance: f32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    topics: Vec<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    relates_to: Option<RelationLine>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pinned: bool,
    /// Leaf of an erased message, whose salt is zeros.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    erased: Option<Leaf>,
    /// Milliseconds since 1970-01-01T00:00:00Z, from which the message is disabled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    disabled: Option<i64>,
    message: Box<RawValue>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Leaf(#[serde(with = "text")] Hash);

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RelationLine {
    node: u64,
    kind: RelationName,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RelationName {
    FollowUp,
    Correction,
}

impl<'a> NodeLine<'a> {
    /// The line of a node; `disabled` is the time from which it is disabled.
    pub(super) fn new(
        node: &'a Node,
        NodeProof { salt, leaf }: NodeProof,
        disabled: Option<Timestamp>,
    ) -> serde_json::Result<Self> {
        let relates_to = node.relates_to.map(|Relation { to, kind }| RelationLine {
            node: to.get(),
            kind: match kind {
                RelationKind::FollowUp => RelationName::FollowUp,
                RelationKind::Correction => RelationName::Correction,
            },
        });
        Ok(Self {
            node: node.id.get(),
            salt,
            at: node.at.as_millis(),
            tokens: node.tokens,
            importance: node.importance,
            topics: node.topics.iter().map(|topic| Cow::Borrowed(topic.as_str())).collect(),
            relates_to,
            pinned: node.pinned,
            erased: node.is_erased.then_some(Leaf(leaf)),
            disabled: disabled.map(Timestamp::as_millis),
            message: message_to_raw_json(&node.message)?,
        })
    }

    /// Time from which the message is disabled.
    pub(super) fn disabled(&self) -> Option<Timestamp> {
        self.disabled.map(Timestamp::from_millis)
    }

    /// The message that was appended as `node`, and whether it is pinned; `Err` says what is wrong with it.
    pub(super) fn into_draft(self, node: NodeId) -> Result<(NodeDraft, bool), String> {
        if self.node != node.get() {
            return Err(format!("node {} stands where node {node} belongs", self.node));
        }
        let relates_to = self.relates_to.map(|RelationLine { node, kind }| {
            let kind = match kind {
                RelationName::FollowUp => RelationKind::FollowUp,
                RelationName::Correction => RelationKind::Correction,
            };
            NodeId::new(node).map(|to| Relation { to, kind }).ok_or("it relates to node 0")
        });
        let draft = NodeDraft::new(
            message_from_raw_json(&self.message).map_err(|error| error.to_string())?,
            Timestamp::from_millis(self.at),
            self.tokens,
        )
        .importance(weight(self.importance)?)
        .topics(self.topics.into_iter().map(Cow::into_owned).collect())
        .relates_to(relates_to.transpose()?)
        .salt(self.salt)
        .erased(self.erased.map(|Leaf(leaf)| ErasedLeaf { leaf, key: None }));
        Ok((draft, self.pinned))
    }
}

/// One summary.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SummaryLine<'a> {
    summary: u64,
    level: LevelName,
    first: u64,
    last: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    children: Vec<u64>,
    tokens: u32,
    importance: f32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    topics: Vec<Cow<'a, str>>,
    has_decision: bool,
    has_code: bool,
    line_count: u64,
    #[serde(borrow)]
    strategy: Cow<'a, str>,
    #[serde(borrow)]
    version: Cow<'a, str>,
    #[serde(with = "text")]
    input_hash: Hash,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    for_view: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    disabled: bool,
    #[serde(borrow)]
    text: Cow<'a, str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum LevelName {
    Full,
    Summary,
    Meta,
    Archive,
}

impl<'a> SummaryLine<'a> {
    pub(super) fn new(summary: &'a Summary) -> Self {
        let Summary { id, body, is_disabled, .. } = summary;
        Self {
            summary: id.get(),
            level: match body.level {
                Level::Full => LevelName::Full,
                Level::Summary => LevelName::Summary,
                Level::Meta => LevelName::Meta,
                Level::Archive => LevelName::Archive,
            },
            first: body.span.first().get(),
            last: body.span.last().get(),
            children: body.children.iter().map(|child| child.get()).collect(),
            tokens: body.tokens,
            importance: body.metadata.importance,
            topics: body.metadata.topics.iter().map(|topic| Cow::Borrowed(topic.as_str())).collect(),
            has_decision: body.metadata.has_decision,
            has_code: body.metadata.has_code,
            line_count: body.metadata.line_count,
            strategy: Cow::Borrowed(&body.written_by.strategy),
            version: Cow::Borrowed(&body.written_by.version),
            input_hash: body.input_hash,
            for_view: body.for_view,
            disabled: *is_disabled,
            text: Cow::Borrowed(&body.text),
        }
    }

    /// The summary as it was recorded; `Err` says what is wrong with it.
    pub(super) fn into_summary(self) -> Result<Summary, String> {
        let node = |position| NodeId::new(position).ok_or("nodes are numbered from 1");
        let children: Option<_> = self.children.into_iter().map(SummaryId::new).collect();
        let body = SummaryDraft::new(
            match self.level {
                LevelName::Full => Level::Full,
                LevelName::Summary => Level::Summary,
                LevelName::Meta => Level::Meta,
                LevelName::Archive => Level::Archive,
            },
            NodeRange::new(node(self.first)?, node(self.last)?).ok_or("its span is reversed")?,
            self.text.into_owned(),
            self.tokens,
            WrittenBy::new(self.strategy.into_owned(), self.version.into_owned()),
            self.input_hash,
        )
        .for_view(self.for_view)
        .children(children.ok_or("summaries are numbered from 1")?)
        .metadata(
            SummaryMetadata::default()
                .importance(weight(self.importance)?)
                .topics(self.topics.into_iter().map(Cow::into_owned).collect())
                .has_decision(self.has_decision)
                .has_code(self.has_code)
                .line_count(self.line_count),
        );
        let mut summary = Summary::new(SummaryId::new(self.summary).ok_or("summaries are numbered from 1")?, body);
        summary.is_disabled = self.disabled;
        Ok(summary)
    }
}

/// One note.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NoteLine<'a> {
    note: u64,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    at: i64,
    change: ChangeName,
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    to: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sources: Vec<[u64; 2]>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    text: Option<Cow<'a, str>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ChangeName {
    Write,
    Append,
    Remove,
    Rename,
}

impl<'a> NoteLine<'a> {
    /// The line of a note, which is the `number`th of the file.
    pub(super) fn new(number: u64, note: &'a Note) -> Self {
        let (change, name, to, text) = match &note.change {
            NoteChange::Write { name, text } => (ChangeName::Write, name, None, Some(text)),
            NoteChange::Append { name, text } => (ChangeName::Append, name, None, Some(text)),
            NoteChange::Remove { name } => (ChangeName::Remove, name, None, None),
            NoteChange::Rename { from, to } => (ChangeName::Rename, from, Some(to), None),
        };
        let borrowed = |text: &'a String| Cow::Borrowed(text.as_str());
        Self {
            note: number,
            at: note.at.as_millis(),
            change,
            name: borrowed(name),
            to: to.map(borrowed),
            sources: note.sources.iter().map(|run| [run.first().get(), run.last().get()]).collect(),
            text: text.map(borrowed),
        }
    }

    /// The note as it was recorded, under its number in the file; `Err` says what is wrong with it.
    pub(super) fn into_note(self, number: NoteId) -> Result<Note, String> {
        if self.note != number.get() {
            return Err(format!("note {} stands where note {} belongs", self.note, number.get()));
        }
        let change = match (self.change, self.name.into_owned(), self.text, self.to) {
            (ChangeName::Write, name, Some(text), None) => NoteChange::Write { name, text: text.into_owned() },
            (ChangeName::Append, name, Some(text), None) => NoteChange::Append { name, text: text.into_owned() },
            (ChangeName::Remove, name, None, None) => NoteChange::Remove { name },
            (ChangeName::Rename, from, None, Some(to)) => NoteChange::Rename { from, to: to.into_owned() },
            _ => return Err("its members are not those of its change".to_owned()),
        };
        let run = |[first, last]: [u64; 2]| NodeRange::new(NodeId::new(first)?, NodeId::new(last)?);
        let sources: Option<_> = self.sources.into_iter().map(run).collect();
        let note = Note::new(number, Timestamp::from_millis(self.at), change);
        Ok(note.sources(sources.ok_or("a source is no run of nodes")?))
    }
}

/// The last line, which confirms that all lines before it are there and unaltered.
#[derive(Debug, Serialize)]
pub(super) struct Closing {
    end: End,
}

#[derive(Debug, Serialize)]
struct End {
    lines: u64,
    #[serde(with = "text")]
    root: Hash,
    #[serde(with = "text")]
    blake3: Hash,
}

impl Closing {
    /// Closes `lines` lines, whose bytes have the hash `blake3`.
    pub(super) fn new(lines: u64, root: Hash, blake3: Hash) -> Self {
        Self { end: End { lines, root, blake3 } }
    }
}

impl Header {
    /// The header of a conversation with this many lines of each kind; `of_views` if a summary serves a single view,
    /// `has_disabled` if a message or a summary is disabled.
    pub(super) fn new(
        of: &ConversationState,
        [nodes, summaries, notes]: [u64; 3],
        [of_views, has_disabled]: [bool; 2],
        root: Hash,
    ) -> Self {
        let memory_export = match (&of.owner, notes) {
            _ if has_disabled => WITH_DISABLED,
            _ if of.erased > 0 => WITH_ERASED,
            _ if of_views => WITH_VIEWS,
            (None, 0) => FORMAT,
            (Some(_), 0) => WITH_OWNER,
            _ => WITH_NOTES,
        };
        Self {
            memory_export,
            conversation: of.id.clone(),
            nodes,
            summaries,
            notes,
            root,
            title: of.title.clone(),
            tags: of.tags.clone(),
            owner: of.owner.clone().map(OwnerName),
        }
    }

    pub(super) fn owner(&self) -> Option<&OwnerId> {
        self.owner.as_ref().map(|OwnerName(owner)| owner)
    }

    /// True if the header has the members of its version.
    pub(super) fn fits_version(&self) -> bool {
        match self.memory_export {
            WITH_VIEWS | WITH_ERASED | WITH_DISABLED => true,
            WITH_NOTES => self.notes > 0,
            version => self.notes == 0 && self.owner.is_some() == (version == WITH_OWNER),
        }
    }

    /// True if the conversation had notes in the place of messages, as versions without notes kept them.
    pub(super) fn has_notes_as_messages(&self) -> bool {
        let state = ConversationState::new(self.conversation.clone()).nodes(self.nodes).tags(self.tags.clone());
        self.summaries == 0 && state.has_notes_as_messages()
    }
}

fn weight(importance: f32) -> Result<f32, String> {
    let lies_within = (0.0..=1.0).contains(&importance);
    lies_within.then_some(importance).ok_or_else(|| format!("an importance lies in 0..=1, not at {importance}"))
}

/// A value as the text that it prints and parses.
mod text {
    use std::{borrow::Cow, fmt::Display, str::FromStr};

    use super::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub(super) fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        Cow::<str>::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A salt as 32 hexadecimal digits.
mod hex {
    use std::borrow::Cow;

    use super::{Deserialize, Deserializer, Salt, Serializer};

    pub(super) fn serialize<S: Serializer>(salt: &Salt, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:032x}", u128::from_be_bytes(*salt)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Salt, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        let is_hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u128::from_str_radix(&text, 16).ok().filter(|_| is_hex);
        let number = number.ok_or_else(|| serde::de::Error::custom("a salt has 32 hexadecimal digits"))?;
        Ok(number.to_be_bytes())
    }
}
