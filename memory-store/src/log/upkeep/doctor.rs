//! Examines a store: what is damaged, what is whole, and the state of each conversation.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    io::ErrorKind,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    sync::Arc,
};

use memory_core::{
    ConversationId, Hash, NodeId, NodeRange, NoteId, SummaryId, ViewId,
    port::{Progress, StoreError},
};
use memory_files::DataFile;

use super::{
    merkle::{MerkleBuilder, Remembered, Standing},
    rescue::RescueError,
};
use crate::{
    derived::{NAMED_BY, is_of_store},
    log::{
        format::{codec::Past, frame::StoreId},
        keys::MasterKey,
        media::{Access, Disk, Media},
        read::survey::{Part, RawFinding, Source, Surveyed, Tail, Visitor, run, survey},
        state::damage::TornTail,
    },
};

/// Most places that are reported one by one.
const MOST_FINDINGS: usize = 10_000;

/// The result of examining a store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Diagnosis {
    /// The store's directory.
    #[cfg_attr(feature = "serde", serde(rename = "store", serialize_with = "crate::reports::path"))]
    pub path: PathBuf,
    /// Places that are damaged, in the order of the log; the first ten thousand.
    #[cfg_attr(feature = "serde", serde(rename = "damage"))]
    pub findings: Vec<Finding>,
    /// How many more damaged places there are.
    #[cfg_attr(feature = "serde", serde(rename = "more_damage"))]
    pub more_findings: u64,
    /// Each conversation, in the order in which they began.
    pub conversations: Vec<ConversationReport>,
    /// A write that was cut short and never acknowledged, or is under way. It is not damage: opening the store for
    /// writing cuts it off.
    pub torn: Option<TornTail>,
    /// Files that were never finished. They take space and are ignored.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::reports::paths"))]
    pub leftovers: Vec<PathBuf>,
    /// Caches that do not belong to this store. They are not used, and may be deleted.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::reports::paths"))]
    pub stale_caches: Vec<PathBuf>,
    /// Directories of caches that cannot be listed, and why: what is in them was not examined.
    #[cfg_attr(
        feature = "serde",
        serde(serialize_with = "crate::reports::faults"),
        schemars(with = "Vec<crate::reports::Fault>")
    )]
    pub unlisted_caches: Vec<(PathBuf, String)>,
}

/// A damaged place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Finding {
    /// The file.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::reports::path"))]
    pub path: PathBuf,
    /// Where the damage begins.
    pub offset: u64,
    /// How far it reaches; 0 when that is not known.
    pub bytes: u64,
    /// Fault found there.
    pub why: String,
    /// The conversation that it is in, where that is known.
    pub conversation: Option<ConversationLabel>,
    /// Nodes that are known to be lost with it.
    #[cfg_attr(
        feature = "serde",
        serde(serialize_with = "crate::reports::losses"),
        schemars(with = "Vec<crate::reports::Loss>")
    )]
    pub lost: Vec<(ConversationLabel, NodeRange)>,
}

/// A conversation by its name or, where its opening is lost, by its number in the log.
///
/// Exhaustive: a conversation has a name or has lost it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(untagged))]
pub enum ConversationLabel {
    /// Its name.
    Named(ConversationId),
    /// Its number.
    Nameless(u64),
}

/// The state of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct ConversationReport {
    /// Name or number of the conversation.
    #[cfg_attr(feature = "serde", serde(rename = "conversation"))]
    pub label: ConversationLabel,
    /// The parent that it was forked from, and the last node that both have in common. Losses among the shared nodes,
    /// and among their summaries and views, are reported with the conversation that they were appended to.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub forked_from: Option<(ConversationLabel, NodeId)>,
    /// Known nodes, shared and lost ones included.
    pub nodes: u64,
    /// Nodes that were read, decoded, and hashed to their leaf.
    pub verified: u64,
    /// Nodes whose message was erased, and whose leaf is there.
    pub erased: u64,
    /// The Merkle root over the leaves; it is the one from before the damage only if every node was verified.
    pub root: Hash,
    /// Nodes that are known to be lost.
    pub lost: Vec<NodeRange>,
    /// Its own summaries that can be read.
    pub summaries: u64,
    /// Numbers of summaries that are lost.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::reports::runs"), schemars(with = "Vec<[u64; 2]>"))]
    pub lost_summaries: Vec<RangeInclusive<u64>>,
    /// Summaries that can be read but have a lost part.
    pub orphaned_summaries: Vec<SummaryId>,
    /// Its own recorded views that can be read.
    pub views: u64,
    /// Numbers of views whose records are lost.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::reports::runs"), schemars(with = "Vec<[u64; 2]>"))]
    pub lost_views: Vec<RangeInclusive<u64>>,
    /// Its notes that can be read.
    pub notes: u64,
    /// Numbers of notes whose records are lost.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::reports::runs"), schemars(with = "Vec<[u64; 2]>"))]
    pub lost_notes: Vec<RangeInclusive<u64>>,
    /// True if damage after the last frame of the conversation may hold more of it.
    pub may_have_lost_more: bool,
}

impl Diagnosis {
    /// True if nothing is damaged and every node is there.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.findings.is_empty() && self.conversations.iter().all(ConversationReport::is_whole)
    }

    /// Known nodes, and how many of them were verified.
    #[must_use]
    pub fn nodes(&self) -> (u64, u64) {
        self.conversations.iter().fold((0, 0), |(nodes, verified), one| (nodes + one.nodes, verified + one.verified))
    }

    /// Known nodes whose message was erased, and whose leaf is there.
    #[must_use]
    pub fn erased(&self) -> u64 {
        self.conversations.iter().map(|one| one.erased).sum()
    }
}

impl ConversationReport {
    /// True if no part of the conversation is lost.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let named = matches!(self.label, ConversationLabel::Named(_));
        let lacks_events =
            ![&self.lost_summaries, &self.lost_views, &self.lost_notes].iter().all(|lost| lost.is_empty());
        named && self.nodes == self.verified + self.erased && !lacks_events && !self.may_have_lost_more
    }
}

impl fmt::Display for ConversationLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => write!(f, "`{name}`"),
            Self::Nameless(number) => write!(f, "conversation number {number}, whose name is lost"),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.path.display(), self.offset)?;
        if self.bytes > 0 {
            write!(f, " for {} bytes", self.bytes)?;
        }
        write!(f, ": {}", self.why)?;
        if let Some(conversation) = &self.conversation {
            write!(f, " (in {conversation})")?;
        }
        self.lost
            .iter()
            .try_for_each(|(conversation, nodes)| write!(f, "; lost with it: nodes {nodes} of {conversation}"))
    }
}

/// Examines the store in `path`: reads every byte of its log, and changes nothing. Takes no lock, so it works next to a
/// writer, whose unfinished write may show as a torn tail, and where a store cannot be opened for writing.
///
/// # Errors
/// Where there is no store, or one of a newer format. Damage is not an error; it is in the result.
pub fn examine(path: impl AsRef<Path>, progress: &dyn Progress) -> Result<Diagnosis, RescueError> {
    examine_with(path, None, progress)
}

/// [`examine`] of a store that may be encrypted.
///
/// # Errors
/// [`StoreError::Key`] if the key of an encrypted store is missing or another one, and as for [`examine`].
pub fn examine_with(
    path: impl AsRef<Path>,
    key: Option<&MasterKey>,
    progress: &dyn Progress,
) -> Result<Diagnosis, RescueError> {
    examine_on(&(Arc::new(Disk) as Arc<dyn Media>), path.as_ref(), key, progress)
}

/// The files of a store, with its keys.
pub(super) fn unlocked(media: &Arc<dyn Media>, path: &Path, key: Option<&MasterKey>) -> Result<Source, RescueError> {
    #[cfg(test)]
    let key = key.or(crate::log::store::tested::key());
    let mut source = Source::find(&**media, path)?;
    source.unlock(media, key)?;
    Ok(source)
}

pub(crate) fn examine_on(
    media: &Arc<dyn Media>,
    path: &Path,
    key: Option<&MasterKey>,
    progress: &dyn Progress,
) -> Result<Diagnosis, RescueError> {
    let source = unlocked(media, path, key)?;
    let media: &dyn Media = &**media;
    let mut remembered = Remembered::new();
    let doctor = loop {
        let mut doctor = Doctor { remembered: remembered.clone(), ..Doctor::default() };
        survey(media, &source, Tail::Cut, progress, &mut doctor)?;
        if doctor.forgotten.is_empty() {
            break doctor;
        }
        // Some forks begin before the end of their parent: now it is known which states to remember.
        for (number, leaves) in doctor.forgotten {
            remembered.entry(number).or_default().extend(leaves);
        }
    };
    Ok(doctor.diagnosis(source, media))
}

#[derive(Default)]
struct Doctor {
    findings: Vec<(RawFinding, Vec<(u64, NodeRange)>)>,
    more: u64,
    builders: BTreeMap<u64, ReportBuilder>,
    torn: Option<TornTail>,
    /// Numbers of leaves of each conversation at which forks begin, known from earlier passes.
    remembered: Remembered,
    /// Such numbers that only this pass found, after it had read past them; another pass needs them.
    forgotten: Remembered,
}

struct ReportBuilder {
    name: Option<ConversationId>,
    past: Option<Past>,
    tree: MerkleBuilder,
    lost: Vec<NodeRange>,
    /// Children of each summary.
    summaries: BTreeMap<SummaryId, Vec<SummaryId>>,
    views: BTreeSet<ViewId>,
    notes: BTreeSet<NoteId>,
    /// Number of findings before its last frame.
    findings_before: usize,
}

/// A conversation, its parent if it is a fork, and so on.
fn line(builders: &BTreeMap<u64, ReportBuilder>, number: u64) -> impl Iterator<Item = (u64, &ReportBuilder)> {
    let find = |number: u64| Some((number, builders.get(&number)?));
    std::iter::successors(find(number), move |(_, builder)| find(builder.past?.parent))
}

impl ReportBuilder {
    /// Adds lost nodes, which have no leaf.
    fn lose(&mut self, count: u64) -> Option<NodeRange> {
        let lost = run(self.tree.len() + 1, count)?;
        (0..count).for_each(|_| self.tree.lose());
        match self.lost.last_mut() {
            Some(last) if last.last().next() == lost.first() => *last = NodeRange::new(last.first(), lost.last())?,
            _ => self.lost.push(lost),
        }
        Some(lost)
    }

    fn label(&self, number: u64) -> ConversationLabel {
        self.name.clone().map_or(ConversationLabel::Nameless(number), ConversationLabel::Named)
    }
}

impl Visitor for Doctor {
    fn frame(&mut self, frame: &Surveyed<'_>) -> Result<(), StoreError> {
        let number = frame.conversation;
        let past = frame.past.filter(|past| past.nodes > 0);
        let shared = past.map(|past| self.shared(past)).unwrap_or_default();
        let remembered = self.remembered.remove(&number).unwrap_or_default();
        let builder = self.builders.entry(number).or_insert_with(|| ReportBuilder {
            name: frame.opened.cloned(),
            past,
            tree: MerkleBuilder::remembering(remembered),
            lost: Vec::new(),
            summaries: BTreeMap::new(),
            views: BTreeSet::new(),
            notes: BTreeSet::new(),
            findings_before: 0,
        });
        if past.is_some() {
            builder.tree.begin(shared);
        }
        builder.lose(frame.lost_past);
        if let Some(lost) = builder.lose(frame.lost_before) {
            // Lost in the one place that can have held them; if there are several, it is unknown which.
            let behind = self.findings.iter_mut().skip(builder.findings_before);
            let mut places =
                behind.filter(|(finding, _)| finding.hides && finding.conversation.is_none_or(|of| of == number));
            if let (Some((_, lost_there)), None) = (places.next(), places.next()) {
                lost_there.push((number, lost));
            }
        }
        frame.reading.parts(|_, part, _| match part {
            Ok(Part::Message(leaf)) => {
                builder.tree.push(leaf, true);
            }
            Ok(Part::Erased(leaf)) => builder.tree.push_erased(leaf),
            Ok(Part::Lost(count)) => drop(builder.lose(count)),
            Ok(Part::Summary(id, parts)) => drop(builder.summaries.insert(id, parts)),
            Ok(Part::View(id)) => drop(builder.views.insert(id)),
            Ok(Part::Note(id)) => drop(builder.notes.insert(id)),
            Ok(Part::Opened(_) | Part::OtherEvent) => {}
            Err((_, is_node)) => drop(builder.lose(u64::from(is_node))),
        });
        builder.findings_before = self.findings.len();
        Ok(())
    }

    fn finding(&mut self, finding: RawFinding) {
        if self.findings.len() == MOST_FINDINGS {
            self.more += 1;
            return;
        }
        let lost = finding.conversation.zip(finding.node).map(|(of, node)| (of, NodeRange::single(node)));
        self.findings.push((finding, lost.into_iter().collect()));
    }

    fn torn(&mut self, torn: TornTail) {
        self.torn = Some(torn);
    }
}

impl Doctor {
    /// The leaves that a fork shares, as its owner stood then.
    fn shared(&mut self, past: Past) -> Standing {
        let is_owner = |(_, builder): &(u64, &ReportBuilder)| builder.past.is_none_or(|above| above.nodes < past.nodes);
        let Some((number, owner)) = line(&self.builders, past.parent).find(is_owner) else {
            return Standing::default();
        };
        owner.tree.with(past.nodes).unwrap_or_else(|| {
            self.forgotten.entry(number).or_default().insert(past.nodes);
            Standing::default()
        })
    }

    fn diagnosis(self, source: Source, media: &dyn Media) -> Diagnosis {
        let Self { findings, more, builders, torn, .. } = self;
        let orphaned: HashMap<u64, Vec<SummaryId>> =
            builders.keys().map(|number| (*number, orphaned_summaries(&builders, *number))).collect();
        let labels: HashMap<u64, ConversationLabel> =
            builders.iter().map(|(number, builder)| (*number, builder.label(*number))).collect();
        let label = |number: u64| labels.get(&number).cloned().unwrap_or(ConversationLabel::Nameless(number));
        let conversations = builders.into_iter().map(|(number, builder)| {
            let behind = findings.iter().skip(builder.findings_before);
            let doubtful =
                |(finding, _): &(RawFinding, _)| finding.hides && finding.conversation.is_none_or(|of| of == number);
            let may_have_lost_more = behind.into_iter().any(doubtful);
            let shared_with = builder.past.and_then(|past| Some((label(past.parent), NodeId::new(past.nodes)?)));
            let orphaned = orphaned.get(&number).cloned().unwrap_or_default();
            conversation_report(label(number), shared_with, builder, orphaned, may_have_lost_more)
        });
        let conversations = conversations.collect();
        let findings = findings.into_iter().map(|(finding, lost)| Finding {
            path: finding.path,
            offset: finding.offset,
            bytes: finding.bytes,
            why: finding.why,
            conversation: finding.conversation.map(label),
            lost: lost.into_iter().map(|(number, nodes)| (label(number), nodes)).collect(),
        });
        let (stale_caches, unlisted_caches) = caches(media, &source.path, source.id);
        Diagnosis {
            findings: findings.collect(),
            more_findings: more,
            conversations,
            torn,
            stale_caches,
            unlisted_caches,
            leftovers: source.leftovers,
            path: source.path,
        }
    }
}

/// Summaries of a conversation with a part that is missing from it and from the conversations of its shared prefix.
fn orphaned_summaries(builders: &BTreeMap<u64, ReportBuilder>, number: u64) -> Vec<SummaryId> {
    let is_there = |part: SummaryId| {
        let is_here = |(_, builder): &(u64, &ReportBuilder)| {
            builder.past.is_none_or(|past| u64::from(past.summaries) < part.get())
        };
        line(builders, number).find(is_here).is_some_and(|(_, builder)| builder.summaries.contains_key(&part))
    };
    let Some(builder) = builders.get(&number) else { return Vec::new() };
    let lacks_a_part = |(_, parts): &(&SummaryId, &Vec<SummaryId>)| !parts.iter().all(|part| is_there(*part));
    builder.summaries.iter().filter(lacks_a_part).map(|(id, _)| *id).collect()
}

fn conversation_report(
    label: ConversationLabel,
    forked_from: Option<(ConversationLabel, NodeId)>,
    builder: ReportBuilder,
    orphaned_summaries: Vec<SummaryId>,
    may_have_lost_more: bool,
) -> ConversationReport {
    let ReportBuilder { tree, lost, summaries, views, notes, past, .. } = builder;
    let stands = tree.finish();
    // Messages that are notes have the numbers before the first note.
    let as_messages = notes.first().map_or(0, |first| first.get() - 1);
    let notes_before = u32::try_from(as_messages).ok().filter(|_| as_messages == stands.tree.len()).unwrap_or(0);
    let (summaries_before, views_before) = past.map_or((0, 0), |past| (past.summaries, past.views));
    ConversationReport {
        label,
        forked_from,
        nodes: stands.tree.len(),
        verified: stands.verified,
        erased: stands.erased,
        root: stands.tree.root(),
        lost,
        summaries: summaries.len() as u64,
        lost_summaries: missing(summaries.keys().map(|id| id.get()), summaries_before),
        orphaned_summaries,
        views: views.len() as u64,
        lost_views: missing(views.iter().map(|id| id.get()), views_before),
        notes: notes.len() as u64,
        lost_notes: missing(notes.iter().map(|id| id.get()), notes_before),
        may_have_lost_more,
    }
}

/// Numbers above `before` that are missing from `there`, which is sorted, up to its last.
fn missing(there: impl Iterator<Item = u64>, before: u32) -> Vec<RangeInclusive<u64>> {
    let mut missing = Vec::new();
    let mut next = u64::from(before) + 1;
    for number in there {
        if next < number {
            missing.push(next..=number - 1);
        }
        next = number.saturating_add(1);
    }
    missing
}

/// Caches of vectors, tokens and words that belong to another store or to no store, and the directories of such that
/// cannot be listed.
fn caches(media: &dyn Media, path: &Path, store: StoreId) -> (Vec<PathBuf>, Vec<(PathBuf, String)>) {
    let (mut stale, mut unlisted) = (Vec::new(), Vec::new());
    for name in ["tokens", "tokens/packs", "vectors", "vectors/packs", "words"] {
        let dir = path.join("cache").join(name);
        let names = match media.list(&dir) {
            Ok(names) => names,
            Err(error) => {
                if error.kind() != ErrorKind::NotFound {
                    unlisted.push((dir, error.to_string()));
                }
                continue;
            }
        };
        let files = names.into_iter().map(|name| dir.join(name));
        let is_stale = |path: &PathBuf| {
            let mut header = [0; NAMED_BY];
            let read = media.open(path, Access::Read).and_then(|file| file.read_at(&mut header, 0));
            // Who wrote an encrypted file shows only with its key.
            read.is_ok() && !header.starts_with(&DataFile::MAGIC) && !is_of_store(&header, store)
        };
        stale.extend(files.filter(is_stale));
    }
    stale.sort();
    (stale, unlisted)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_cache_that_cannot_be_listed_is_named() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("cache")).unwrap();
        assert_eq!(caches(&Disk, dir.path(), [0; 16]), (Vec::new(), Vec::new()), "what is missing holds nothing");
        // A file stands for a directory that may not be listed: a test that runs as root may list every directory.
        fs::write(dir.path().join("cache/words"), b"no directory").unwrap();
        let (stale, unlisted) = caches(&Disk, dir.path(), [0; 16]);
        let [(path, why)] = unlisted.as_slice() else { panic!("{unlisted:?}") };
        assert!(stale.is_empty() && path.ends_with("cache/words") && !why.is_empty(), "{unlisted:?}");
    }
}
