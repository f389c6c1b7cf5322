//! Token files as derived data.

use std::io;

use memory_core::{ModelId, NodeRange, NodeSet, port::DerivedKind};

use super::{
    super::{
        anchor::Anchor,
        header::{TOKENS, file_name},
        kind::{ATTEMPTS, Contents, Depth, Kind, Listed, named},
    },
    codec::{Codec, TokenBits},
    file::{EXTENSIONS, TokenFile},
};

pub(in crate::derived) static KIND: Kind = Kind {
    kind: DerivedKind::Tokens,
    directory: "tokens",
    extensions: EXTENSIONS,
    formats: &[TOKENS],
    header: named::<16>,
    stem: |[model, conversation]| file_name(conversation, model),
    read,
    forget,
};

/// Codec and bits stated in a file's header; `None` if they are invalid.
fn quantized(listed: &Listed) -> Option<(Codec, TokenBits)> {
    let bits = listed.number(1)?;
    let bits = TokenBits::ALL.into_iter().find(|known| known.count() == bits)?;
    Some((Codec::new(listed.number(0)?, bits), bits))
}

fn read(listed: &Listed, anchor: Anchor, depth: Depth) -> io::Result<Contents> {
    let Some((codec, bits)) = quantized(listed) else { return Ok(Contents::default()) };
    let mut file = TokenFile::new(&listed.packs, anchor, &ModelId::new(&listed.name), (&codec, bits));
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
    let Some((codec, bits)) = quantized(listed) else { return Ok(false) };
    for _ in 0..ATTEMPTS {
        let mut file = TokenFile::new(&listed.packs, anchor.clone(), &ModelId::new(&listed.name), (&codec, bits));
        let mut kept = file.try_read()?;
        if kept.count(nodes) == 0 && file.bytes() == listed.bytes() {
            return Ok(true);
        }
        kept = kept.without(nodes, codec.row_bytes());
        file.write_anew();
        // A save writes nothing while another process is writing.
        file.save(&mut kept)?;
    }
    Ok(false)
}
