//! Saved postings answer as fresh ones do, and invalid blocks are rejected.

use memory_core::{Filter, Json, Losses, Message, Node, NodeId, Place, StoreError, Timestamp};
use proptest::prelude::*;

use super::*;
use crate::lexical::{Analyzer, Postings, indexed_text, postings::DecodedBlock};

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
        postings.push(id, Some(&node), Analyzer::default().document(&indexed_text(&node.message)));
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
        assert_eq!(
            found.occurrences(term).collect::<Vec<_>>(),
            expected.occurrences(term).collect::<Vec<_>>(),
            "{term}"
        );
    }
}

/// The content of a cache after these blocks were written to it in turn.
fn kept(blocks: &[Block]) -> Vec<Block> {
    let mut kept: Vec<Block> = Vec::new();
    for block in blocks {
        kept.retain(|before| before.nodes.last() < block.nodes.first());
        kept.push(block.clone());
    }
    kept
}

proptest! {
    #[test]
    fn what_was_kept_answers_as_what_was_read(said in said(), seals in prop::collection::vec(any::<bool>(), 60)) {
        let (mut plain, mut sealed) = (Postings::default(), Postings::default());
        let mut blocks = Vec::new();
        for (said, seals) in said.iter().zip(seals) {
            push(&mut plain, said);
            push(&mut sealed, said);
            blocks.extend(seals.then(|| sealed.seal()).flatten());
        }
        check(&sealed, &plain);
        prop_assert!(sealed.seal().is_none() || sealed.sealed() == sealed.through());
        // Few segments, however often it was sealed.
        let kept = kept(&blocks);
        prop_assert!(kept.len() <= 7, "{} blocks", kept.len());

        let mut restored = Postings::default();
        for block in &kept {
            let kept = DecodedBlock::of(block).unwrap();
            let losses = all_lost(&said);
            let within: Vec<_> = losses.within(block.nodes).collect();
            prop_assert_eq!(&kept.lost(), &within);
            let mut of_block = Losses::default();
            within.iter().flat_map(|run| run.iter()).for_each(|id| of_block.extend(&lost(id)));
            prop_assert!(restored.restore(kept, &of_block));
        }
        for said in said.iter().skip(restored.lengths().len()) {
            push(&mut restored, said);
        }
        check(&restored, &plain);
    }

    #[test]
    fn nothing_that_is_kept_is_believed(said in said(), at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let mut postings = Postings::default();
        said.iter().for_each(|said| push(&mut postings, said));
        let Some(block) = postings.seal() else { return Ok(()) };
        // Without a checksum the block is rejected or gives wrong postings, but nothing panics.
        let mut bytes = block.bytes.to_vec();
        let place = at.index(bytes.len());
        bytes[place] = to;
        for bytes in [bytes, block.bytes[..place].to_vec()] {
            let block = Block::new(block.nodes, bytes);
            let Some(kept) = DecodedBlock::of(&block) else { continue };
            let mut restored = Postings::default();
            kept.lost();
            if restored.restore(kept, &Losses::default()) {
                for term in ["cello", "hall", "", "user"] {
                    restored.nodes_with(term);
                    prop_assert!(restored.occurrences(term).count() <= block.bytes.len());
                }
                push(&mut restored, &("cello".to_owned(), None, None, 0, false));
                restored.seal();
            }
        }
    }

    #[test]
    fn any_bytes_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..80), nodes in 1u64..1 << 40) {
        let block = Block::new(NodeRange::first_n(nodes).unwrap(), bytes);
        if let Some(kept) = DecodedBlock::of(&block) {
            Postings::default().restore(kept, &Losses::default());
        }
    }
}

#[test]
fn a_block_that_does_not_follow_is_not_taken() {
    let said = |text: &str| (text.to_owned(), Some(1), None, 0, false);
    let mut postings = Postings::default();
    push(&mut postings, &said("cello"));
    let first = postings.seal().unwrap();
    for _ in 0..2 {
        push(&mut postings, &said("hall"));
    }
    let later = Block::new(NodeRange::single(NodeId::new(2).unwrap()), first.bytes.clone());
    let mut restored = Postings::default();
    assert!(!restored.restore(DecodedBlock::of(&later).unwrap(), &Losses::default()), "a gap");
    assert!(restored.restore(DecodedBlock::of(&first).unwrap(), &Losses::default()));
    assert!(!restored.restore(DecodedBlock::of(&first).unwrap(), &Losses::default()), "twice");
    assert_eq!((restored.through(), restored.restored()), (1, 1));
}

#[test]
fn the_bytes_of_a_block_are_those_that_format_md_describes() {
    let mut postings = Postings::default();
    push(&mut postings, &("Hi".to_owned(), None, None, 1_000, false));
    let rows = [0, 1, 0, 2, 0xD0, 0x0F, 0, 0, 1];
    let terms = [2u32, 2, 6, 2, 4, 1, 1].map(u32::to_le_bytes).concat();
    let expected = [&9u32.to_le_bytes(), rows.as_slice(), &terms, b"hiuser", &[1, 1, 1, 1]].concat();
    assert_eq!(*postings.seal().unwrap().bytes, *expected);
}
