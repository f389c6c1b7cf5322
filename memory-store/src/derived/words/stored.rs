//! The files of words as derived data: how far they reach, and the same files without some nodes.

use std::io;

use memory_core::{DerivedKind, NodeSet};

use super::{
    super::{
        anchor::Anchor,
        file::BlockFile,
        header::WORDS,
        kind::{Contents, Depth, Kind, Listed, named},
    },
    stem,
};

pub(in crate::derived) static KIND: Kind = Kind {
    kind: DerivedKind::Words,
    directory: "words",
    extensions: &["blocks"],
    formats: &[WORDS],
    header: named::<4>,
    stem: |[kind, conversation]| stem(kind, conversation),
    read,
    forget,
};

fn file(listed: &Listed, anchor: &Anchor) -> BlockFile {
    let names = [listed.name.as_str(), listed.conversation.as_str()];
    BlockFile::new(listed.path(), anchor.clone(), WORDS, &listed.fields, names)
}

fn read(listed: &Listed, anchor: Anchor, _: Depth) -> io::Result<Contents> {
    let mut file = file(listed, &anchor);
    file.read(|_, _| true)?;
    Ok(Contents { through: file.through(), count: file.blocks().len() as u64, bytes: file.bytes() })
}

/// Only the producer knows what stands where in a block, so the blocks are cut off from the first of these nodes on.
fn forget(listed: &Listed, anchor: &Anchor, nodes: &NodeSet) -> io::Result<bool> {
    let Some(first) = nodes.runs().first().map(|run| run.first().get()) else { return Ok(true) };
    let mut file = file(listed, anchor);
    let Some(_turn) = file.turn()? else { return Ok(false) };
    file.read(|_, _| true)?;
    let kept = file.blocks().iter().take_while(|placed| placed.header.last < first).count();
    if kept < file.blocks().len() || file.bytes() != listed.bytes() {
        file.cut(kept)?;
    }
    Ok(true)
}
