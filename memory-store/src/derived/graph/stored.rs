//! Graph files as derived data. Removing nodes would change the whole graph, so forgetting removes the file.

use std::io;

use memory_core::{Hash, NodeSet, port::DerivedKind};

use super::{
    super::{
        anchor::Anchor,
        disk,
        header::GRAPH,
        kind::{Contents, Depth, Kind, Listed},
        map::FileMap,
        turn::Turn,
    },
    file::survey,
};

pub(in crate::derived) static KIND: Kind = Kind {
    kind: DerivedKind::Graph,
    directory: "vectors/graphs",
    extensions: &["hnsw"],
    formats: &[GRAPH],
    fields: 8,
    read,
    forget,
};

fn read(listed: &Listed, anchor: Anchor, depth: Depth) -> io::Result<Contents> {
    let file = match disk::open(&listed.path(), listed.packs.keys()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Contents::default()),
        opened => opened?,
    };
    let image = FileMap::of(&file)?;
    Ok(match survey(image.as_ref(), depth == Depth::All) {
        Ok((graph, count)) if anchor.leaf(graph.through) == Some(Hash::from_bytes(graph.leaf)) => {
            Contents { through: graph.through, count, bytes: image.as_ref().len() as u64 }
        }
        _ => Contents::default(),
    })
}

fn forget(listed: &Listed, _: &Anchor, _: &NodeSet) -> io::Result<bool> {
    let Some(_turn) = Turn::wait(&listed.dir)? else { return Ok(false) };
    listed.paths().try_for_each(|path| disk::remove(&path))?;
    Ok(true)
}
