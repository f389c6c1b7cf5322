//! Disabled messages and summaries in exports.

use memory_core::{
    Disabling, Level, NodeRange, SummaryId, Timestamp,
    port::{Event, Source, Store},
    testing::MemoryStore,
};
use pollster::block_on;

use super::{export, fill, id, import, node, plain, summary};

fn change(is_disabled: bool, nodes: &[u64], summaries: &[u64]) -> Event {
    let change = Disabling::new(Timestamp::from_millis(77), is_disabled);
    let change = change.nodes(nodes.iter().map(|number| NodeRange::single(node(*number))).collect());
    Event::Disabled(Box::new(change.summaries(summaries.iter().filter_map(|id| SummaryId::new(*id)).collect())))
}

#[test]
fn what_is_disabled_comes_back_disabled_and_whole() {
    let store = MemoryStore::default();
    fill(&store, plain(4));
    let record = |events| block_on(store.record(&id("c"), events)).unwrap();
    let before = block_on(store.summaries(&id("c"))).unwrap().len() as u64;
    record(vec![change(true, &[2], &[])]);
    let Event::Summary(draft) = summary(Level::Summary, (2, 2), &[]) else { panic!("no summary") };
    let mut without = draft.erased(1);
    without.text = "nothing of it".to_owned();
    without.input_hash = memory_core::Hash::of_parts([b"without".as_slice()]);
    record(vec![Event::Summary(without)]);
    record(vec![change(true, &[], &[before + 1])]);

    let bytes = export(&store, "c");
    let lines = super::lines(&bytes);
    assert!(lines[0].starts_with(r#"{"memory_export":6,"#), "{}", lines[0]);
    assert!(lines[2].contains(r#""disabled":77"#) && !lines[1].contains("disabled"), "{lines:?}");
    let said = block_on(store.whole_nodes(&id("c"), NodeRange::single(node(2)))).unwrap().nodes;
    assert!(lines[2].contains(&said[0].message.text()), "{}", lines[2]);
    assert!(lines.iter().any(|line| line.contains("nothing of it") && line.contains(r#""disabled":true"#)));

    let other = MemoryStore::default();
    import(&other, &bytes).unwrap();
    // Superseded summaries have no numbers there.
    let said_by = |lines: &[String]| -> Vec<String> {
        let inner = lines.iter().take(lines.len() - 1);
        inner.map(|line| line.split_once(r#","level""#).map_or(line.clone(), |(_, rest)| rest.to_owned())).collect()
    };
    assert_eq!(said_by(&super::lines(&export(&other, "c"))), said_by(&lines));
    let state = block_on(other.conversation(&id("c"))).unwrap();
    assert_eq!((state.disabled, state.nodes), (1, 4));
    assert_eq!(block_on(other.whole_nodes(&id("c"), NodeRange::single(node(2)))).unwrap().nodes, said);
    block_on(other.record(&id("c"), vec![change(false, &[2], &[])])).unwrap();
    assert_eq!(block_on(other.node(&id("c"), node(2))).unwrap().message, said[0].message);
}
