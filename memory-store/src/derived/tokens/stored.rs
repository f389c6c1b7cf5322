//! Token files as derived data.

use std::io;

use memory_core::{ModelId, NodeRange, NodeSet, port::DerivedKind};

use super::{
    super::{
        anchor::Anchor,
        cached::{CacheFile, Data},
        header::TOKENS,
        kind::{ATTEMPTS, Contents, Depth, Kind, Listed},
    },
    codec::{Codec, TokenBits},
    file::TokenFile,
};

pub(in crate::derived) static KIND: Kind = Kind {
    kind: DerivedKind::Tokens,
    directory: TokenFile::DIRECTORY,
    extensions: TokenFile::EXTENSIONS,
    formats: &[TOKENS],
    fields: 16,
    read,
    forget,
};

/// Codec stated in a file's header; `None` if it is invalid.
fn codec(listed: &Listed) -> Option<Codec> {
    let bits = listed.number(1)?;
    Some(Codec::new(listed.number(0)?, TokenBits::ALL.into_iter().find(|known| known.count() == bits)?))
}

fn read(listed: &Listed, anchor: Anchor, depth: Depth) -> io::Result<Contents> {
    let Some(codec) = codec(listed) else { return Ok(Contents::default()) };
    let mut file = TokenFile::new(&listed.packs, anchor, &ModelId::new(&listed.name), &codec);
    if depth == Depth::Headers {
        let (through, count) = file.survey()?;
        return Ok(Contents { through, count, bytes: 0 });
    }
    let kept = file.try_read()?;
    let nodes = NodeRange::first_n(kept.through());
    let mut damaged =
        nodes.iter().flat_map(|nodes| nodes.iter()).filter_map(|node| kept.rows_of(node, codec.row_bytes()).err());
    let (through, bytes) = damaged.next().map_or((kept.through(), file.bytes()), |block| (block.0 - 1, 0));
    Ok(Contents { through, count: kept.tokens(), bytes })
}

fn forget(listed: &Listed, anchor: &Anchor, nodes: &NodeSet) -> io::Result<bool> {
    let Some(codec) = codec(listed) else { return Ok(false) };
    for _ in 0..ATTEMPTS {
        let mut file = TokenFile::new(&listed.packs, anchor.clone(), &ModelId::new(&listed.name), &codec);
        let mut kept = file.try_read()?;
        if kept.count(nodes) == 0 && file.bytes() == listed.bytes() {
            return Ok(true);
        }
        kept = kept.without(nodes, codec.row_bytes());
        file.rewrite_on_save();
        // A save writes nothing while another process is writing.
        file.save(&mut kept)?;
    }
    Ok(false)
}
