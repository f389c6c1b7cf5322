//! Stores wrecked at random.

use std::{path::Path, sync::OnceLock};

use memory_core::{Node, port::Source};
use proptest::{prelude::*, sample::Index};

use super::{
    salvage::{readable, rescue, salvage_gives_all_that_is_whole},
    sample::{Request, model, shown},
    wreck::{Files, put, sample},
};
use crate::LogStore;

#[derive(Clone, Debug)]
enum Wreck {
    Flip(Index, Index, u8),
    Fill(Index, Index, u8, usize),
    Garbage(Index, Index, Vec<u8>),
    Cut(Index, Index),
    Remove(Index),
    Copy(Index, Index),
}

fn wrecks() -> impl Strategy<Value = Vec<Wreck>> {
    let place = || (any::<Index>(), any::<Index>());
    let one = prop_oneof![
        4 => (place(), 0u8..8).prop_map(|((file, at), bit)| Wreck::Flip(file, at, 1 << bit)),
        2 => (place(), any::<u8>(), 1usize..3_000).prop_map(|((file, at), byte, n)| Wreck::Fill(file, at, byte, n)),
        2 => (place(), prop::collection::vec(any::<u8>(), 1..300)).prop_map(|((file, at), b)| Wreck::Garbage(file, at, b)),
        1 => place().prop_map(|(file, at)| Wreck::Cut(file, at)),
        1 => any::<Index>().prop_map(Wreck::Remove),
        1 => (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Wreck::Copy(from, to)),
    ];
    prop::collection::vec(one, 1..5)
}

fn apply(files: &mut Files, wreck: &Wreck) {
    let name = |file: &Index, files: &Files| files.keys().nth(file.index(files.len())).unwrap().clone();
    let (Wreck::Flip(file, ..)
    | Wreck::Fill(file, ..)
    | Wreck::Garbage(file, ..)
    | Wreck::Cut(file, _)
    | Wreck::Remove(file)
    | Wreck::Copy(file, _)) = wreck;
    if files.is_empty() {
        return;
    }
    let path = name(file, files);
    if let Wreck::Remove(_) = wreck {
        files.remove(&path);
        return;
    }
    let bytes = files[&path].clone();
    if let Wreck::Copy(_, to) = wreck {
        files.insert(name(to, files), bytes);
        return;
    }
    let bytes = files.get_mut(&path).unwrap();
    if bytes.is_empty() {
        return;
    }
    match wreck {
        Wreck::Flip(_, at, bit) => {
            let at = at.index(bytes.len());
            bytes[at] ^= bit;
        }
        Wreck::Fill(_, at, byte, count) => {
            let at = at.index(bytes.len());
            bytes.iter_mut().skip(at).take(*count).for_each(|there| *there = *byte);
        }
        Wreck::Garbage(_, at, garbage) => {
            let at = at.index(bytes.len());
            bytes.iter_mut().skip(at).zip(garbage).for_each(|(there, byte)| *there = *byte);
        }
        Wreck::Cut(_, at) => bytes.truncate(at.index(bytes.len())),
        Wreck::Remove(_) | Wreck::Copy(..) => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn whatever_is_wrecked_what_is_whole_comes_out_and_nothing_else(wrecks in wrecks()) {
        static SAMPLE: OnceLock<(Files, Vec<Request>)> = OnceLock::new();
        let (whole, requests) = SAMPLE.get_or_init(sample);
        let mut wrecked = whole.clone();
        wrecks.iter().for_each(|wreck| apply(&mut wrecked, wreck));
        let format = wrecked.get(Path::new("FORMAT")) == whole.get(Path::new("FORMAT"));
        let copied = wrecks.iter().any(|wreck| matches!(wreck, Wreck::Copy(..)));
        if format && !copied {
            salvage_gives_all_that_is_whole(whole, &model(requests), &wrecked, &format!("{wrecks:?}"));
        } else {
            // Without `FORMAT`, or with segments under other names, more or nothing may be found; all of it is true.
            let dir = put(&wrecked);
            let Ok((report, target)) = rescue(dir.path()) else { return Ok(()) };
            let store = LogStore::open(target.path().join("new")).unwrap();
            prop_assert!(store.report().damage.is_empty() && report.target.findings.is_empty());
            let truth = shown(&model(requests)).unwrap();
            for state in pollster::block_on(store.conversations()).unwrap() {
                let found = readable(&store, &state.id);
                let matches = |nodes: &[Node]| found.iter().all(|(position, node)| {
                    nodes.get(position.index()).is_some_and(|should| should.message == node.message)
                });
                prop_assert!(truth.iter().any(|(_, nodes, ..)| matches(nodes)), "{:?}", state);
            }
        }
    }
}
