//! Files that are cut, changed, foreign or out of date.

use std::sync::Arc;

use super::{super::file::SetAside, *};
use crate::derived::block::{BlockHeader, HEADER};

pub(super) fn binding(block: &Block) -> GraphBinding {
    GraphBinding {
        store: [7; 16],
        conversation: "talk".to_owned(),
        model: "toy@1".to_owned(),
        dimensions: block.dimensions as u32,
        through: block.scales.len() as u64,
        leaf: [8; 32],
        rows: [9; 32],
    }
}

fn small() -> (Block, Graph, GraphOptions) {
    let block = clustered(&mut Rng::with_seed(1), 8, 200, 4);
    let options = GraphOptions::default().degree(8).seed(3);
    let graph = built(options, &block, 1);
    (block, graph, options)
}

fn decode(bytes: Vec<u8>, binding: &GraphBinding, options: GraphOptions) -> Result<Graph, SetAside> {
    Graph::decode(Arc::new(bytes), binding, options)
}

#[test]
fn a_file_gives_back_the_graph() {
    let (mut block, graph, options) = small();
    let bytes = graph.encode(&binding(&block));
    let mut again = decode(bytes.clone(), &binding(&block), options).unwrap();
    assert_eq!(again.encode(&binding(&block)), bytes);
    assert_eq!(again.len(), 200);
    for row in 0..200 {
        let find = |graph: &Graph| found(graph, &block, block.vector(row), 10, 30, |_| true);
        assert_eq!(find(&again), find(&graph));
    }
    // The decoded graph grows on, as the other would.
    let more = clustered(&mut Rng::with_seed(2), 8, 100, 4);
    (0..100).for_each(|row| block.push(more.vector(row)));
    let [grown, expected] = [again, graph].map(|mut graph| {
        graph.grow(300);
        graph.link(&block.codes(), ONE);
        graph.encode(&binding(&block))
    });
    assert_eq!(grown, expected);
    again = decode(grown, &binding(&block), options).unwrap();
    assert_eq!(again.len(), 300);
}

#[test]
fn a_graph_of_nothing_goes_through_a_file() {
    let block = Block::new(8);
    let bytes = Graph::new(GraphOptions::default()).encode(&binding(&block));
    assert!(decode(bytes, &binding(&block), GraphOptions::default()).unwrap().is_empty());
}

#[test]
fn a_file_that_is_cut_anywhere_is_set_aside() {
    let (block, graph, options) = small();
    let bytes = graph.encode(&binding(&block));
    for length in 0..bytes.len() {
        let reason = decode(bytes[..length].to_vec(), &binding(&block), options).unwrap_err();
        assert!(matches!(reason, SetAside::Size { .. }), "{length}: {reason}");
    }
    let longer = [bytes.as_slice(), &[0]].concat();
    assert!(matches!(decode(longer, &binding(&block), options), Err(SetAside::Size { .. })));
}

#[test]
fn a_byte_that_is_changed_anywhere_is_noticed() {
    let (block, graph, options) = small();
    let bytes = graph.encode(&binding(&block));
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0x41;
        assert!(decode(changed, &binding(&block), options).is_err(), "byte {at}");
    }
}

/// Damage that the checksum vouches for, or that came after it was compared.
#[test]
fn lists_full_of_nonsense_lead_nowhere_and_break_nothing() {
    let (block, graph, options) = small();
    let bytes = graph.encode(&binding(&block));
    let head = bytes.windows(4).position(|window| window == b"blok").unwrap();
    let body = (head + HEADER + 68).next_multiple_of(64);
    for seed in 0..300 {
        let (mut changed, rng) = (bytes.clone(), &mut Rng::with_seed(seed));
        let end = changed.len();
        for _ in 0..rng.usize(1..200) {
            changed[rng.usize(body..end)] = rng.u8(..);
        }
        // The checksum is the right one, so that only the content is wrong.
        let mut header = BlockHeader::read(&changed[head..head + HEADER]).unwrap();
        header.rows_sum = crc32c::crc32c(&changed[body..]);
        changed[head..head + HEADER].copy_from_slice(&header.bytes());
        let mut graph = decode(changed, &binding(&block), options).unwrap();
        for row in 0..20 {
            let near = found(&graph, &block, block.vector(row), 10, 30, |_| true);
            assert_eq!(near.len(), 10);
            assert!(near.iter().all(|row| *row < 200));
        }
        let mut grown = block.clone();
        (0..50).for_each(|row| grown.push(block.vector(row)));
        graph.grow(250);
        graph.link(&grown.codes(), ONE);
        assert_eq!(graph.len(), 250);
    }
}

#[test]
fn a_file_of_something_else_is_told_by_what_differs() {
    let (block, graph, options) = small();
    let own = binding(&block);
    let bytes = graph.encode(&own);
    let reason = |binding: GraphBinding, options| decode(bytes.clone(), &binding, options).unwrap_err();
    let foreign = |what| SetAside::Foreign { what };
    let cases = [
        (GraphBinding { store: [8; 16], ..own.clone() }, foreign("store")),
        (GraphBinding { conversation: "other".to_owned(), ..own.clone() }, foreign("conversation")),
        (GraphBinding { model: "toy@2".to_owned(), ..own.clone() }, foreign("model")),
        (GraphBinding { dimensions: 9, ..own.clone() }, foreign("number of dimensions")),
        (GraphBinding { rows: [1; 32], ..own.clone() }, foreign("file of vectors")),
        (GraphBinding { leaf: [1; 32], ..own.clone() }, foreign("file of vectors")),
        (GraphBinding { through: 201, ..own.clone() }, SetAside::Position { expected: 201, found: 200 }),
    ];
    for (binding, expected) in cases {
        assert_eq!(reason(binding, options), expected);
    }
    assert_eq!(reason(own.clone(), options.seed(4)), SetAside::Options);
    assert_eq!(reason(own.clone(), options.degree(16)), SetAside::Options);
    let other_format = [b"MEMHNSW\n".as_slice(), &1u32.to_le_bytes(), &[0; 200]].concat();
    for bytes in [other_format, vec![0; 300], b"not a graph, but long enough to be one".repeat(4)] {
        assert_eq!(decode(bytes, &own, options).unwrap_err(), SetAside::Format);
    }
}
