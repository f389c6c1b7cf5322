//! Disabled messages: hidden in every process at once, kept by every file, whatever fails in between.

use std::{path::Path, sync::Arc};

use memory_core::{
    Disabling, NodeRange, SummaryId, Timestamp,
    port::{Event, Source, Store},
};
use proptest::prelude::*;

use super::{
    faults::{PATH, empty_disk, fail_at_each_operation, open, perform_all, without_checkpoint},
    sample::{Request, all, draft, id, model, node, perform, requests, shown, summary},
};
use crate::{CompressionOptions, LogStore, VacuumOptions, log::media::Media};

fn change(of: &'static str, is_disabled: bool, runs: &[(u64, u64)], summaries: &[u64]) -> Request {
    let run = |(first, last): &(u64, u64)| NodeRange::new(node(*first), node(*last)).unwrap();
    let change = Disabling::new(Timestamp::from_millis(9), is_disabled).by("Ann");
    let change = change.nodes(runs.iter().map(run).collect());
    let summaries = summaries.iter().filter_map(|number| SummaryId::new(*number)).collect();
    Request::Record(of, vec![Event::Disabled(Box::new(change.summaries(summaries)))])
}

/// The sample with changes in a conversation and in forks, before and after they were made, and with what follows.
fn changes() -> Vec<Request> {
    let mut all = requests();
    all.extend([
        change("a", true, &[(2, 4), (9, 9)], &[]),
        Request::Fork("a", 12, "late"),
        Request::Record("a", vec![Event::Summary(summary(2, 2, &[]).erased(1))]),
        change("its-fork", true, &[(6, 6), (11, 11)], &[1]),
        change("a", false, &[(3, 3), (9, 9)], &[]),
        change("late", false, &[(1, 12)], &[]),
        change("b", true, &[(1, 3)], &[]),
        change("a", true, &[(1, 1)], &[2]),
        Request::Append("a", vec![draft(95, 100)]),
        change("b", false, &[(2, 2)], &[]),
    ]);
    all
}

/// All that can be read of what is disabled.
fn whole(store: &dyn Store) -> Vec<String> {
    let ids: Vec<_> = (1..40).filter_map(SummaryId::new).collect();
    pollster::block_on(async {
        let mut whole = Vec::new();
        for state in store.conversations().await.unwrap() {
            let nodes = store.whole_nodes(&state.id, all()).await.unwrap().nodes;
            let summaries = store.whole_summaries_of(&state.id, &ids).await.unwrap();
            let changes = store.disablings(&state.id).await.unwrap();
            let outlines = store.outline(&state.id).await.unwrap();
            whole.push(format!("{:?} {nodes:?} {summaries:?} {changes:?} {outlines:?}", state.id));
        }
        whole
    })
}

fn check(store: &LogStore, requests: &[Request], context: &str) {
    let truth = model(requests);
    let (found, expected) = (shown(store).unwrap(), shown(&truth).unwrap());
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected, "{context}");
    }
    assert_eq!(found.len(), expected.len(), "{context}");
    assert_eq!(whole(store), whole(&truth), "{context}");
    let verified = pollster::block_on(store.verify(None)).unwrap();
    assert!(verified.is_whole(), "{context}: {:?}", verified.damage);
}

#[test]
fn what_is_disabled_is_so_in_every_process_and_after_every_way_to_open_the_store() {
    for options in [VacuumOptions::default(), VacuumOptions::compress(CompressionOptions::default().level(1))] {
        let disk = empty_disk();
        let (store, other) = (open(&disk).unwrap(), open(&disk).unwrap());
        let reader = LogStore::open_read_only_on(Arc::new(disk.clone()), Path::new(PATH)).unwrap();
        perform_all(&store, &changes());
        for store in [&store, &other, &reader] {
            check(store, &changes(), "while it is open");
        }
        store.vacuum(options, &()).unwrap();
        for store in [&store, &other, &reader] {
            check(store, &changes(), "after a vacuum");
        }
        drop((store, other, reader));
        check(&open(&disk).unwrap(), &changes(), "by its checkpoint");
        without_checkpoint(&disk);
        let store = open(&disk).unwrap();
        check(&store, &changes(), "without a checkpoint");
        let more = [change("a", false, &[(1, 22)], &[2]), Request::Fork("its-fork", 11, "last")];
        perform_all(&store, &more);
        check(&store, &[changes(), more.to_vec()].concat(), "it goes on");
    }
}

#[test]
fn a_change_is_there_or_not_whatever_operation_of_it_fails() {
    let before = requests();
    let changes: Vec<_> = changes().into_iter().skip(before.len()).collect();
    let run = |store: &LogStore| {
        let done = changes.iter().take_while(|request| perform(store, request).is_ok()).count();
        drop(store.vacuum(VacuumOptions::default(), &()));
        done
    };
    let all = [&before[..], &changes].concat();
    fail_at_each_operation([&before, &changes], "disabled", run, |store, _, context| check(store, &all, context));
}

#[test]
fn doctor_finds_it_whole_and_salvage_keeps_it() {
    let disk = empty_disk();
    perform_all(&open(&disk).unwrap(), &changes());
    let media: Arc<dyn Media> = Arc::new(disk.clone());
    let diagnosis = crate::log::upkeep::doctor::examine_on(&media, Path::new(PATH), None, &()).unwrap();
    assert!(diagnosis.is_whole(), "{diagnosis:?}");
    let target = Path::new("/disk/saved");
    crate::log::upkeep::salvage::salvage_on(
        &media,
        Path::new(PATH),
        target,
        4096,
        crate::log::store::tested::key(),
        &(),
    )
    .unwrap();
    let saved = LogStore::open_on(Arc::new(disk.clone()), target, super::sample::tiny_segments()).unwrap();
    check(&saved, &changes(), "salvaged");
}

/// One step of a random history.
#[derive(Clone, Debug)]
enum Step {
    Append(usize),
    Summarize(u64),
    Change(bool, u64, u64),
    ChangeSummary(bool, u64),
    Erase(u64),
    Fork(u64),
    Vacuum,
    Reopen(bool),
}

fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
    let step = prop_oneof![
        5 => (1usize..4).prop_map(Step::Append),
        4 => (1u64..9).prop_map(Step::Summarize),
        6 => (any::<bool>(), 1u64..12, 0u64..3).prop_map(|(is, first, more)| Step::Change(is, first, more)),
        3 => (any::<bool>(), 1u64..9).prop_map(|(is, number)| Step::ChangeSummary(is, number)),
        1 => (1u64..9).prop_map(Step::Erase),
        2 => (1u64..9).prop_map(Step::Fork),
        1 => Just(Step::Vacuum),
        2 => any::<bool>().prop_map(Step::Reopen),
    ];
    prop::collection::vec((0usize..4, step), 1..40)
}

const NAMES: [&str; 4] = ["w", "x", "y", "z"];

/// The requests that a step comes to in the present state, none of which is refused.
fn requests_of(store: &LogStore, number: usize, which: usize, step: &Step) -> Vec<Request> {
    let name = NAMES[which];
    let nodes = pollster::block_on(store.conversation(&id(name))).map_or(0, |state| state.nodes);
    match step {
        Step::Append(count) => {
            vec![Request::Append(name, (0..*count).map(|more| draft(number * 10 + more, 40)).collect())]
        }
        Step::Summarize(at) if *at <= nodes => {
            let outlines = pollster::block_on(store.outline(&id(name))).unwrap();
            let is_hidden = outlines[usize::try_from(*at).unwrap() - 1].is_hidden();
            let mut draft = summary(*at, *at, &[]).erased(u64::from(is_hidden));
            draft.text = format!("summary {number} of {name}");
            draft.input_hash = memory_core::Hash::of_parts([number.to_le_bytes().as_slice()]);
            vec![Request::Record(name, vec![Event::Summary(draft)])]
        }
        Step::Change(is_disabled, first, more) if first + more <= nodes => {
            vec![change(name, *is_disabled, &[(*first, first + more)], &[])]
        }
        Step::ChangeSummary(is_disabled, number) => {
            let there = SummaryId::new(*number).into_iter().collect::<Vec<_>>();
            let there = pollster::block_on(store.whole_summaries_of(&id(name), &there)).unwrap_or_default();
            if there.is_empty() { Vec::new() } else { vec![change(name, *is_disabled, &[], &[*number])] }
        }
        Step::Erase(at) if *at <= nodes => {
            let number = memory_core::ErasureId::from_bytes([u8::try_from(number).unwrap(); 16]);
            let erasure = memory_core::Erasure::new(number, Timestamp::default(), vec![NodeRange::single(node(*at))]);
            vec![Request::Record(name, vec![Event::Erased(Box::new(erasure))])]
        }
        Step::Fork(at) if *at <= nodes => {
            let free = NAMES.iter().find(|name| pollster::block_on(store.conversation(&id(name))).is_err());
            free.map(|free| Request::Fork(name, *at, free)).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]
    #[test]
    fn any_history_shows_what_is_enabled_and_keeps_the_rest(steps in steps()) {
        let disk = empty_disk();
        let mut store = open(&disk).unwrap();
        let mut done: Vec<Request> = Vec::new();
        for (number, (which, step)) in (1..).zip(&steps) {
            match step {
                Step::Vacuum => drop(store.vacuum(VacuumOptions::default(), &()).unwrap()),
                Step::Reopen(with_checkpoint) => {
                    drop(store);
                    if !with_checkpoint {
                        without_checkpoint(&disk);
                    }
                    store = open(&disk).unwrap();
                    prop_assert!(store.report().damage.is_empty());
                }
                step => {
                    for request in requests_of(&store, number, *which, step) {
                        perform(&store, &request).unwrap();
                        done.push(request);
                    }
                }
            }
        }
        check(&store, &done, "at the end");
        drop(store);
        check(&open(&disk).unwrap(), &done, "by its checkpoint");
        without_checkpoint(&disk);
        check(&open(&disk).unwrap(), &done, "without a checkpoint");
    }
}
