//! Saved postings answer as fresh ones do, and invalid blocks are rejected.

use std::{
    collections::{BTreeMap, HashSet},
    sync::atomic::{AtomicU64, Ordering},
};

use memory_core::{
    ConversationId, Filter, Json, Message, Node, NodeId, Timestamp,
    port::{Losses, Place, StoreError},
};
use proptest::prelude::*;

use super::*;
use crate::lexical::{
    Language, Postings, indexed_text,
    saved::SavedWords,
    segment_builder::{Built, Piece, build},
    terms_of,
};

type Said = (String, Option<u8>, Option<u8>, i64, bool);

fn said() -> impl Strategy<Value = Vec<Said>> {
    let text = prop::collection::vec(prop_oneof![Just("cello"), Just("hall?"), Just("März"), Just("2023")], 0..6);
    let message = (text, prop::option::of(0u8..3), prop::option::of(0u8..2), any::<i64>(), prop::bool::weighted(0.1));
    let message =
        message.prop_map(|(words, speaker, session, at, is_lost)| (words.join(" "), speaker, session, at, is_lost));
    prop::collection::vec(message, 0..60)
}

fn node(id: NodeId, (text, speaker, session, at, _): &Said) -> Node {
    let mut message = Message::user(text.as_str());
    message.speaker = speaker.map(|speaker| format!("Speaker {speaker}"));
    if let Some(session) = session {
        message.metadata.insert(Filter::SESSION.to_owned(), Json::string(&session.to_string()));
    }
    Node::new(id, message, Timestamp::from_millis(*at)).tokens(1)
}

fn lost(id: NodeId) -> Losses {
    let mut losses = Losses::default();
    losses.add(id, &StoreError::Lost { place: Place::new("test").offset(0) });
    losses
}

fn push(postings: &mut Postings, said: &Said) {
    let id = NodeId::from_index(postings.lengths().len());
    if said.4 {
        postings.push(id, None, crate::lexical::NodeTerms::default());
        postings.lose(&lost(id));
    } else {
        let node = node(id, said);
        postings.push(id, Some(&node), terms_of(&indexed_text(&node.message), Language::English));
    }
}

fn all_lost(said: &[Said]) -> Losses {
    let mut losses = Losses::default();
    let ids = (0..).map(NodeId::from_index).zip(said).filter(|(_, said)| said.4);
    ids.for_each(|(id, _)| losses.extend(&lost(id)));
    losses
}

fn check(found: &Postings, expected: &Postings) {
    assert_eq!(found.lengths(), expected.lengths());
    assert_eq!(found.total_length(), expected.total_length());
    assert_eq!(found.losses().runs(), expected.losses().runs());
    assert_eq!(found.node_table().traits(), expected.node_table().traits());
    assert_eq!(found.node_table().sessions(), expected.node_table().sessions());
    assert_eq!(found.node_table().speakers().collect::<Vec<_>>(), expected.node_table().speakers().collect::<Vec<_>>());
    for term in ["cello", "hall", "marz", "2023", "speaker", "user", "nothing", ""] {
        assert_eq!(found.nodes_with(term), expected.nodes_with(term), "{term}");
        assert_eq!(found.occurrences(term), expected.occurrences(term), "{term}");
    }
}

fn id(number: usize) -> ConversationId {
    ConversationId::new(&format!("c{number}")).unwrap()
}

fn block(runs: Vec<BlockRun>, bytes: Vec<u8>) -> Arc<Block> {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let id = BlockId::new(&LAST.fetch_add(1, Ordering::Relaxed).to_string());
    Arc::new(Block::new(id, runs, Arc::new(bytes)))
}

/// Saves what is unsaved of all conversations, merged with the first blocks.
fn save(all: &mut [Postings], blocks: &mut Vec<Arc<Block>>, merged: usize) {
    let before = SavedWords::of(blocks.clone(), &SavedWords::default(), &HashSet::new());
    let merged: Vec<_> = blocks.drain(..merged.min(blocks.len())).collect();
    let ids = merged.iter().map(|block| block.id.clone()).collect();
    let runs = before.runs_in(&ids).unwrap();
    let names: Vec<_> = (0..all.len()).map(id).collect();
    let mut pieces: BTreeMap<&ConversationId, Vec<Piece<'_>>> =
        runs.iter().map(|(id, runs)| (id, runs.iter().map(Piece::Saved).collect())).collect();
    for (name, postings) in names.iter().zip(all.iter()) {
        if let Some(piece) = postings.unsaved() {
            pieces.entry(name).or_default().push(piece);
        }
    }
    let Built { runs, bytes } = build(&pieces).unwrap();
    blocks.push(block(runs, bytes));
    let saved = SavedWords::of(blocks.clone(), &SavedWords::default(), &HashSet::new());
    for (name, postings) in names.iter().zip(all) {
        postings.take_saved(saved.runs(name).unwrap());
        assert_eq!((postings.saved(), postings.unsaved().is_none()), (postings.through(), true));
    }
}

fn restored(blocks: &[Arc<Block>], conversation: usize, said: &[Said]) -> Postings {
    let saved = SavedWords::of(blocks.to_vec(), &SavedWords::default(), &HashSet::new());
    let mut restored = Postings::default();
    let losses = all_lost(said);
    for run in saved.runs(&id(conversation)).unwrap() {
        let (rows, nodes) = (run.rows().unwrap(), run.nodes().unwrap());
        let within: Vec<_> = losses.within(nodes).collect();
        assert_eq!(rows.lost(nodes.first()), within);
        let mut of_run = Losses::default();
        within.iter().flat_map(|run| run.iter()).for_each(|id| of_run.extend(&lost(id)));
        assert!(restored.restore(run, rows, &of_run));
    }
    restored
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_saved_answers_as_what_was_read(
        said in prop::collection::vec(said(), 1..5),
        saves in prop::collection::vec(prop::option::weighted(0.2, 0usize..4), 60),
    ) {
        let mut plain: Vec<_> = said.iter().map(|_| Postings::default()).collect();
        let mut saved: Vec<_> = said.iter().map(|_| Postings::default()).collect();
        let mut blocks = Vec::new();
        for (at, merged) in saves.iter().enumerate() {
            for ((said, plain), saved) in said.iter().zip(&mut plain).zip(&mut saved) {
                if let Some(said) = said.get(at) {
                    push(plain, said);
                    push(saved, said);
                }
            }
            if let Some(merged) = merged {
                save(&mut saved, &mut blocks, *merged);
            }
        }
        for (number, (said, (plain, saved))) in said.iter().zip(plain.iter().zip(&saved)).enumerate() {
            check(saved, plain);
            let mut restored = restored(&blocks, number, said);
            assert_eq!(restored.through(), saved.saved());
            for said in said.iter().skip(restored.lengths().len()) {
                push(&mut restored, said);
            }
            check(&restored, plain);
        }
        // All together count as each alone.
        let words = SavedWords::of(blocks.clone(), &SavedWords::default(), &HashSet::new());
        let names: Vec<_> = (0..said.len()).map(id).collect();
        for scoped in words.scoped(names.iter(), |_| true).unwrap() {
            for (run, number) in scoped.conversations.iter().enumerate().filter_map(|(run, of)| Some((run, (*of)?))) {
                let nodes = scoped.segment.runs()[run].nodes;
                let expected = saved[number].lengths().get(nodes.first().index()..=nodes.last().index()).unwrap();
                let begin = scoped.segment.begin(run);
                let found: Vec<_> = (begin..begin + expected.len()).map(|node| scoped.segment.length(node)).collect();
                prop_assert_eq!(found.as_slice(), expected);
                let lost = saved[number].losses().within(nodes).map(NodeRange::count).sum::<u64>();
                let total = expected.iter().copied().map(u64::from).sum::<u64>();
                prop_assert_eq!(scoped.segment.counts(run), (nodes.count() - lost, total));
            }
        }
    }

    #[test]
    fn nothing_that_is_kept_is_believed(said in said(), at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let mut postings = Postings::default();
        said.iter().for_each(|said| push(&mut postings, said));
        if said.is_empty() {
            return Ok(());
        }
        let (mut all, mut blocks) = ([postings], Vec::new());
        save(&mut all, &mut blocks, 0);
        // Without a checksum the block is rejected or gives wrong postings, but nothing panics.
        let whole = blocks[0].bytes().unwrap();
        let mut bytes = whole.to_vec();
        let place = at.index(bytes.len());
        bytes[place] = to;
        for bytes in [bytes, whole[..place].to_vec()] {
            let (length, runs) = (bytes.len(), blocks[0].runs.clone());
            let Some(segment) = Segment::open(&block(runs, bytes)).map(Arc::new) else { continue };
            let run = SegmentRun { segment: Arc::clone(&segment), run: 0 };
            let Some(rows) = run.rows() else { continue };
            segment.counts(0);
            let _lengths: u64 = (0..segment.nodes()).map(|node| u64::from(segment.length(node))).sum();
            let mut restored = Postings::default();
            rows.lost(NodeId::FIRST);
            if restored.restore(run.clone(), rows, &Losses::default()) {
                for term in ["cello", "hall", "", "user"] {
                    restored.nodes_with(term);
                    prop_assert!(restored.occurrences(term).len() <= length);
                }
                push(&mut restored, &("cello".to_owned(), None, None, 0, false));
            }
            build(&BTreeMap::from([(&id(0), vec![Piece::Saved(&run)])]));
        }
    }

    #[test]
    fn any_bytes_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..80), nodes in 1u64..1 << 40) {
        let run = BlockRun::new(id(0), NodeRange::first_n(nodes).unwrap());
        if let Some(segment) = Segment::open(&block(vec![run], bytes)) {
            segment.rows(0);
            let found: usize = segment.terms().map(|(_, row)| segment.entries_of(row).count()).sum();
            prop_assert!(found <= 80);
        }
    }
}

#[test]
fn a_run_that_does_not_follow_is_not_taken() {
    let said = |text: &str| (text.to_owned(), Some(1), None, 0, false);
    let (mut all, mut blocks) = ([Postings::default()], Vec::new());
    push(&mut all[0], &said("cello"));
    save(&mut all, &mut blocks, 0);
    push(&mut all[0], &said("hall"));
    save(&mut all, &mut blocks, 0);
    let [first, later] = [0, 1].map(|at| {
        let run = SegmentRun { segment: Arc::new(Segment::open(&blocks[at]).unwrap()), run: 0 };
        let rows = run.rows().unwrap();
        (run, rows)
    });
    let mut restored = Postings::default();
    assert!(!restored.restore(later.0, later.1, &Losses::default()), "a gap");
    assert!(restored.restore(first.0.clone(), first.1.clone(), &Losses::default()));
    assert!(!restored.restore(first.0, first.1, &Losses::default()), "twice");
    assert_eq!((restored.through(), restored.restored()), (1, 1));
}

#[test]
fn of_runs_that_overlap_the_longest_that_follows_counts() {
    let run = |first, last| NodeRange::new(NodeId::new(first).unwrap(), NodeId::new(last).unwrap()).unwrap();
    let block_of = |first, last| block(vec![BlockRun::new(id(0), run(first, last))], Vec::new());
    let blocks = vec![block_of(1, 4), block_of(1, 2), block_of(5, 6), block_of(3, 9), block_of(5, 8), block_of(10, 10)];
    let saved = SavedWords::of(blocks.clone(), &SavedWords::default(), &HashSet::new());
    assert_eq!(saved.through(&id(0)), 8, "1-4, then 5-8");
    let stale = BlockRun::new(id(0), run(9, 9)).is_current(false);
    let more = [block(vec![stale], Vec::new()), block_of(9, 9)];
    let saved = SavedWords::of(blocks.iter().chain(&more[..1]).cloned().collect(), &saved, &HashSet::new());
    assert_eq!(saved.through(&id(0)), 8, "a run that is not the log's counts for nothing");
    let saved = SavedWords::of(blocks.into_iter().chain(more).collect(), &saved, &HashSet::new());
    assert_eq!(saved.through(&id(0)), 10);
}

#[test]
fn the_bytes_of_a_segment_are_those_that_format_md_describes() {
    let (mut all, mut blocks) = ([Postings::default(), Postings::default()], Vec::new());
    for postings in &mut all {
        push(postings, &("Hi".to_owned(), None, None, 1_000, false));
    }
    save(&mut all, &mut blocks, 0);
    let rows = [0, 1, 0, 2, 0xD0, 0x0F, 0, 0, 1];
    let counts = [2u32, 2, 2, 9, 18, 1, 1].map(u32::to_le_bytes).concat();
    let totals = [2u64, 2].map(u64::to_le_bytes).concat();
    let lengths = [2u16, 2].map(u16::to_le_bytes).concat();
    let terms = [2u32, 6, 10, 20].map(u32::to_le_bytes).concat();
    let entries = [0, 1, 2, 1, 1, 0, 1, 2, 1, 1];
    let parts = [&counts, &totals, &lengths, &terms, rows.as_slice(), &rows, b"hiuser", &entries, &entries];
    assert_eq!(blocks[0].bytes().unwrap(), parts.concat());
}
