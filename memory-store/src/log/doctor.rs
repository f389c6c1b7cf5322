//! What of a store is damaged, what is whole, and what has become of each conversation.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    ops::RangeInclusive,
    path::{Path, PathBuf},
};

use memory_core::{ConversationId, Hash, NodeId, NodeRange, Progress, SummaryId, ViewId};

use super::{
    codec::Past,
    frame::StoreId,
    growing::{Growing, Remembered, Standing},
    media::{Access, Disk, Media},
    recovery::TornTail,
    rescue::RescueError,
    survey::{Part, Source, Spot, Surveyed, Tail, Visitor, run, survey},
};
use crate::{blocks, cache_format::NAMED_BY, tokens, vector};

/// Most places that are told of one by one.
const MOST_FINDINGS: usize = 10_000;

/// What an examination of a store found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnosis {
    /// The store's directory.
    pub path: PathBuf,
    /// Places that are damaged, in the order of the log; the first ten thousand.
    pub findings: Vec<Finding>,
    /// How many more there are.
    pub more_findings: u64,
    /// Each conversation, in the order in which they began.
    pub conversations: Vec<Checkup>,
    /// A write that was cut short and never acknowledged, or is under way. No damage: opening the store for
    /// writing cuts it off.
    pub torn: Option<TornTail>,
    /// Files that were never finished. They take room and mean nothing.
    pub leftovers: Vec<PathBuf>,
    /// Caches that do not belong to this store. They are not used, and may be deleted.
    pub stale_caches: Vec<PathBuf>,
}

/// A damaged place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The file.
    pub path: PathBuf,
    /// Where the damage begins.
    pub offset: u64,
    /// How far it reaches; 0 when that is not known.
    pub bytes: u64,
    /// What is wrong there.
    pub why: String,
    /// The conversation that it is in, where that is known.
    pub conversation: Option<ConversationLabel>,
    /// Nodes that are known to be lost with it.
    pub lost: Vec<(ConversationLabel, NodeRange)>,
}

/// A conversation by its name or, where its opening is lost, by its number in the log.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ConversationLabel {
    /// Its name.
    Named(ConversationId),
    /// Its number.
    Nameless(u64),
}

/// What has become of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checkup {
    /// Which it is.
    pub label: ConversationLabel,
    /// Which one it was forked from, and the last node that both have in common. What is lost of those, and their
    /// summaries and views, is told of with the conversation that they were appended to.
    pub forked_from: Option<(ConversationLabel, NodeId)>,
    /// Nodes that are known of, those that it shares and lost ones included.
    pub nodes: u64,
    /// Nodes that were read, decoded, and hashed to the leaf that they had.
    pub verified: u64,
    /// The Merkle root over the leaves; the one from before the damage only where every node was verified.
    pub root: Hash,
    /// Nodes that are known to be lost.
    pub lost: Vec<NodeRange>,
    /// Its own summaries that can be read.
    pub summaries: u64,
    /// Numbers of summaries that are lost.
    pub lost_summaries: Vec<RangeInclusive<u64>>,
    /// Summaries that can be read and one of whose parts is lost.
    pub orphaned_summaries: Vec<SummaryId>,
    /// Its own recorded views that can be read.
    pub views: u64,
    /// Numbers of views whose records are lost.
    pub lost_views: Vec<RangeInclusive<u64>>,
    /// Whether damage stands behind its last frame that may hold more of it.
    pub may_have_lost_more: bool,
}

impl Diagnosis {
    /// Whether nothing is damaged and every node is there.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.findings.is_empty() && self.conversations.iter().all(Checkup::is_whole)
    }

    /// Nodes that are known of, and how many of them were verified.
    #[must_use]
    pub fn nodes(&self) -> (u64, u64) {
        self.conversations.iter().fold((0, 0), |(nodes, verified), one| (nodes + one.nodes, verified + one.verified))
    }
}

impl Checkup {
    /// Whether all of it is there.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let named = matches!(self.label, ConversationLabel::Named(_));
        let lacks_events = !self.lost_summaries.is_empty() || !self.lost_views.is_empty();
        named && self.nodes == self.verified && !lacks_events && !self.may_have_lost_more
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

/// Examines the store in `path`: reads every byte of its log, and changes nothing. No lock is taken, so it works
/// beside a writer, whose write under way may show as a torn tail, and where a store cannot be opened for writing.
///
/// # Errors
/// Where there is no store at all, or one of a newer format. Damage is an answer, not an error.
pub fn examine(path: impl AsRef<Path>, progress: &dyn Progress) -> Result<Diagnosis, RescueError> {
    examine_on(&Disk, path.as_ref(), progress)
}

pub(crate) fn examine_on(media: &dyn Media, path: &Path, progress: &dyn Progress) -> Result<Diagnosis, RescueError> {
    let source = Source::find(media, path)?;
    let mut remembered = Remembered::new();
    let doctor = loop {
        let mut doctor = Doctor { remembered: remembered.clone(), ..Doctor::default() };
        survey(media, &source, Tail::Cut, progress, &mut doctor)?;
        if doctor.forgotten.is_empty() {
            break doctor;
        }
        // Forks that begin before the end of what they were forked from: now it is known what to remember.
        for (number, leaves) in doctor.forgotten {
            remembered.entry(number).or_default().extend(leaves);
        }
    };
    Ok(doctor.diagnosis(source, media))
}

#[derive(Default)]
struct Doctor {
    spots: Vec<(Spot, Vec<(u64, NodeRange)>)>,
    more: u64,
    patients: BTreeMap<u64, Patient>,
    torn: Option<TornTail>,
    /// How many leaves each conversation had where forks begin, as far as that is known.
    remembered: Remembered,
    /// The same, as found out too late.
    forgotten: Remembered,
}

struct Patient {
    name: Option<ConversationId>,
    past: Option<Past>,
    tree: Growing,
    lost: Vec<NodeRange>,
    /// Children of each summary.
    summaries: BTreeMap<SummaryId, Vec<SummaryId>>,
    views: BTreeSet<ViewId>,
    /// How many spots there were when its last frame came.
    spots_before: usize,
}

/// A conversation, its parent if it is a fork, and so on.
fn line(patients: &BTreeMap<u64, Patient>, number: u64) -> impl Iterator<Item = (u64, &Patient)> {
    let find = |number: u64| Some((number, patients.get(&number)?));
    std::iter::successors(find(number), move |(_, patient)| find(patient.past?.parent))
}

impl Patient {
    /// Takes in lost nodes, which have no leaf.
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
    fn frame(&mut self, frame: &Surveyed<'_>) -> Result<(), RescueError> {
        let number = frame.conversation;
        let past = frame.past.filter(|past| past.nodes > 0);
        let shared = past.map(|past| self.shared(past)).unwrap_or_default();
        let remembered = self.remembered.remove(&number).unwrap_or_default();
        let patient = self.patients.entry(number).or_insert_with(|| Patient {
            name: frame.opened.cloned(),
            past,
            tree: Growing::remembering(remembered),
            lost: Vec::new(),
            summaries: BTreeMap::new(),
            views: BTreeSet::new(),
            spots_before: 0,
        });
        if past.is_some() {
            patient.tree.begin(shared);
        }
        patient.lose(frame.lost_past);
        if let Some(lost) = patient.lose(frame.lost_before) {
            // Lost in the one place where they can have been; if there are several, nobody knows in which.
            let behind = self.spots.iter_mut().skip(patient.spots_before);
            let mut places = behind.filter(|(spot, _)| spot.hides && spot.conversation.is_none_or(|of| of == number));
            if let (Some((_, lost_there)), None) = (places.next(), places.next()) {
                lost_there.push((number, lost));
            }
        }
        frame.reading.parts(|_, part, _| match part {
            Ok(Part::Message(leaf)) => {
                patient.tree.push(leaf, true);
            }
            Ok(Part::Lost(count)) => drop(patient.lose(count)),
            Ok(Part::Summary(summary)) => drop(patient.summaries.insert(summary.id, summary.body.children)),
            Ok(Part::View(id)) => drop(patient.views.insert(id)),
            Ok(Part::Opened(_) | Part::OtherEvent) => {}
            Err((_, is_node)) => drop(patient.lose(u64::from(is_node))),
        });
        patient.spots_before = self.spots.len();
        Ok(())
    }

    fn spot(&mut self, spot: Spot) {
        if self.spots.len() == MOST_FINDINGS {
            self.more += 1;
            return;
        }
        let lost = spot.conversation.zip(spot.node).map(|(of, node)| (of, NodeRange::single(node)));
        self.spots.push((spot, lost.into_iter().collect()));
    }

    fn torn(&mut self, torn: TornTail) {
        self.torn = Some(torn);
    }
}

impl Doctor {
    /// The leaves that a fork shares, as the conversation stood that they were appended to.
    fn shared(&mut self, past: Past) -> Standing {
        let is_owner = |(_, patient): &(u64, &Patient)| patient.past.is_none_or(|above| above.nodes < past.nodes);
        let Some((number, owner)) = line(&self.patients, past.parent).find(is_owner) else {
            return Standing::default();
        };
        owner.tree.with(past.nodes).unwrap_or_else(|| {
            self.forgotten.entry(number).or_default().insert(past.nodes);
            Standing::default()
        })
    }

    fn diagnosis(self, source: Source, media: &dyn Media) -> Diagnosis {
        let Self { spots, more, patients, torn, .. } = self;
        let orphaned: HashMap<u64, Vec<SummaryId>> =
            patients.keys().map(|number| (*number, orphaned_summaries(&patients, *number))).collect();
        let labels: HashMap<u64, ConversationLabel> =
            patients.iter().map(|(number, patient)| (*number, patient.label(*number))).collect();
        let label = |number: u64| labels.get(&number).cloned().unwrap_or(ConversationLabel::Nameless(number));
        let conversations = patients.into_iter().map(|(number, patient)| {
            let behind = spots.iter().skip(patient.spots_before);
            let doubtful = |(spot, _): &(Spot, _)| spot.hides && spot.conversation.is_none_or(|of| of == number);
            let may_have_lost_more = behind.into_iter().any(doubtful);
            let shared_with = patient.past.and_then(|past| Some((label(past.parent), NodeId::new(past.nodes)?)));
            let orphaned = orphaned.get(&number).cloned().unwrap_or_default();
            checkup(label(number), shared_with, patient, orphaned, may_have_lost_more)
        });
        let conversations = conversations.collect();
        let findings = spots.into_iter().map(|(spot, lost)| Finding {
            path: spot.path,
            offset: spot.offset,
            bytes: spot.bytes,
            why: spot.why,
            conversation: spot.conversation.map(label),
            lost: lost.into_iter().map(|(number, nodes)| (label(number), nodes)).collect(),
        });
        Diagnosis {
            findings: findings.collect(),
            more_findings: more,
            conversations,
            torn,
            stale_caches: stale_caches(media, &source.path, source.id),
            leftovers: source.leftovers,
            path: source.path,
        }
    }
}

/// Its own summaries one of whose parts is not there, with it or with those whose past it shares.
fn orphaned_summaries(patients: &BTreeMap<u64, Patient>, number: u64) -> Vec<SummaryId> {
    let is_there = |part: SummaryId| {
        let is_here =
            |(_, patient): &(u64, &Patient)| patient.past.is_none_or(|past| u64::from(past.summaries) < part.get());
        line(patients, number).find(is_here).is_some_and(|(_, patient)| patient.summaries.contains_key(&part))
    };
    let Some(patient) = patients.get(&number) else { return Vec::new() };
    let lacks_a_part = |(_, parts): &(&SummaryId, &Vec<SummaryId>)| !parts.iter().all(|part| is_there(*part));
    patient.summaries.iter().filter(lacks_a_part).map(|(id, _)| *id).collect()
}

fn checkup(
    label: ConversationLabel,
    forked_from: Option<(ConversationLabel, NodeId)>,
    patient: Patient,
    orphaned_summaries: Vec<SummaryId>,
    may_have_lost_more: bool,
) -> Checkup {
    let Patient { tree, lost, summaries, views, past, .. } = patient;
    let stands = tree.finish();
    let (summaries_before, views_before) = past.map_or((0, 0), |past| (past.summaries, past.views));
    Checkup {
        label,
        forked_from,
        nodes: stands.tree.len(),
        verified: stands.verified,
        root: stands.tree.root(),
        lost,
        summaries: summaries.len() as u64,
        lost_summaries: missing(summaries.keys().map(|id| id.get()), summaries_before),
        orphaned_summaries,
        views: views.len() as u64,
        lost_views: missing(views.iter().map(|id| id.get()), views_before),
        may_have_lost_more,
    }
}

/// Numbers above `before` that are not among `there`, which come in order, as far as those reach.
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

/// Caches of vectors, tokens and words of another store, or of none.
fn stale_caches(media: &dyn Media, path: &Path, store: StoreId) -> Vec<PathBuf> {
    let mut stale = Vec::new();
    for name in ["tokens", "vectors", "words"] {
        let dir = path.join("cache").join(name);
        let files = media.list(&dir).unwrap_or_default().into_iter().map(|name| dir.join(name));
        let is_stale = |path: &PathBuf| {
            let mut header = [0; NAMED_BY];
            let read = media.open(path, Access::Read).and_then(|file| file.read_at(&mut header, 0));
            let formats = [blocks::FORMAT, tokens::FORMAT, vector::FORMAT];
            read.is_ok() && !formats.iter().any(|format| format.is_of_store(&header, store))
        };
        stale.extend(files.filter(is_stale));
    }
    stale.sort();
    stale
}
