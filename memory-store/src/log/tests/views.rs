//! Views whose records are damaged: the others stay, and none is taken for another.

use std::{fs, path::Path};

use memory_core::{
    ViewId,
    port::{Recorded, Source, Store},
};

use super::sample::{Request, draft, id, last_view, perform, summary, view};
use crate::{LogStore, examine, salvage};

fn number(number: u64) -> ViewId {
    ViewId::new(number).unwrap()
}

/// Three messages and three views, each in a frame of its own.
fn fill(path: &Path) {
    let store = LogStore::open(path).unwrap();
    perform(&store, &Request::Append("a", (1..4).map(|n| draft(n, 10)).collect())).unwrap();
    let leaf = memory_core::port::Event::Summary(summary(1, 1, &[]));
    perform(&store, &Request::Record("a", vec![leaf])).unwrap();
    for question in ["the first question", "the second question", "the third question"] {
        perform(&store, &Request::Record("a", vec![view(3, question)])).unwrap();
    }
}

/// The numbers of the views that can be read.
fn there(store: &LogStore) -> Vec<u64> {
    let views = pollster::block_on(store.views(&id("a"), ViewId::FIRST, last_view())).unwrap();
    views.iter().map(|view| view.id.get()).collect()
}

#[test]
fn a_view_whose_record_is_damaged_is_named_and_the_others_keep_their_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let (path, saved) = (dir.path().join("store"), dir.path().join("saved"));
    fill(&path);
    let log = path.join("log/0001.seg");
    let mut bytes = fs::read(&log).unwrap();
    let text = b"the second question";
    let at = bytes.windows(text.len()).position(|window| window == text).unwrap();
    bytes[at] ^= 1;
    fs::write(&log, bytes).unwrap();
    for cached in [true, false] {
        if !cached {
            fs::remove_dir_all(path.join("cache")).unwrap();
        }
        let store = LogStore::open_read_only(&path).unwrap();
        assert_eq!(there(&store), [1, 3], "from a checkpoint: {cached}");
        assert_eq!(pollster::block_on(store.conversation(&id("a"))).unwrap().views, 3);
        let verified = pollster::block_on(store.verify(None)).unwrap();
        assert_eq!((verified.nodes, verified.verified), (3, 3), "no message is touched");
    }
    let examined = examine(&path, &()).unwrap();
    let [conversation] = examined.conversations.as_slice() else { panic!("{examined:?}") };
    assert_eq!((conversation.views, conversation.lost_views.as_slice()), (2, [2..=2].as_slice()));
    assert!(!conversation.is_whole() && conversation.lost.is_empty());

    let salvaged = salvage(&path, &saved, &()).unwrap();
    assert_eq!(salvaged.target.conversations[0].lost_views, [2..=2]);
    let store = LogStore::open(&saved).unwrap();
    assert_eq!(there(&store), [1, 3]);
    let recorded = pollster::block_on(store.record(&id("a"), vec![view(3, "the fourth question")])).unwrap();
    assert_eq!(recorded, [Recorded::View(number(4))], "a lost number is not given again");
}
