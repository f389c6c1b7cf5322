//! Vector files as derived data.

use std::io;

use memory_core::{ModelId, NodeSet, port::DerivedKind};

use super::{
    super::super::{
        anchor::Anchor,
        cached::{CacheFile, Data},
        header::{VECTOR_ROWS, VECTORS},
        kind::{ATTEMPTS, Contents, Depth, Kind, Listed},
        map::ROWS_AT,
    },
    VectorFile,
    contents::read_entries,
};

pub(in crate::derived) static KIND: Kind = Kind {
    kind: DerivedKind::Vectors,
    directory: VectorFile::DIRECTORY,
    extensions: VectorFile::EXTENSIONS,
    formats: &[VECTORS, VECTOR_ROWS],
    fields: 8,
    read,
    forget,
};

fn file(listed: &Listed, anchor: Anchor) -> Option<VectorFile> {
    Some(VectorFile::new(&listed.packs, anchor, &ModelId::new(&listed.name), &listed.number(0)?))
}

fn read(listed: &Listed, anchor: Anchor, depth: Depth) -> io::Result<Contents> {
    let Some(mut file) = file(listed, anchor) else { return Ok(Contents::default()) };
    if depth == Depth::Headers {
        let mut count = 0;
        file.file.read(|header, body| {
            let Some(entries) = read_entries(header, body) else { return false };
            count += entries.iter().filter(|entry| entry.scale > 0.0).count() as u64;
            true
        })?;
        return Ok(Contents { through: file.file.through(), count, bytes: 0 });
    }
    // Verifies the components of every vector.
    file.wary = true;
    let rows = file.try_read()?;
    let count = (rows.len() - rows.removed()) as u64;
    Ok(Contents { through: rows.through(), count, bytes: file.good_bytes() })
}

fn forget(listed: &Listed, anchor: &Anchor, nodes: &NodeSet) -> io::Result<bool> {
    for _ in 0..ATTEMPTS {
        let Some(mut file) = file(listed, anchor.clone()) else { return Ok(false) };
        let mut rows = file.try_read()?;
        if rows.remove(nodes) == 0 && file.good_bytes() == listed.bytes() {
            return Ok(true);
        }
        file.must_rewrite = true;
        // A save writes nothing while another process is writing.
        file.save(&mut rows)?;
    }
    Ok(false)
}

impl VectorFile {
    /// Valid bytes on disk, including the headers of files without rows.
    fn good_bytes(&self) -> u64 {
        match self.rows {
            0 => {
                self.file.bytes()
                    + ["i8", "f32"].map(|extension| self.length(extension).min(ROWS_AT as u64)).iter().sum::<u64>()
            }
            _ if self.codes_owed => 0,
            _ => self.bytes(),
        }
    }
}
