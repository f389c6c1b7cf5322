//! A file of one mapped block: the runs that it was derived from, and its bytes.

use std::{
    io,
    sync::{Arc, OnceLock},
};

use memory_core::{
    ConversationId, Hash, NodeId, NodeRange,
    port::{BlockBytes, BlockRun},
};
use memory_files::DataFile;

use super::super::{
    block::PLAIN,
    header::{Header, WORDS},
    map::FileMap,
};
use crate::{checksum, log::Leaves, wire::In};

const MAGIC: [u8; 4] = *b"runs";
/// Magic, bytes of the runs, bytes and checksum of the body, encryption fields.
const HEAD: usize = 4 + 8 + 8 + 4 + PLAIN.len();

/// A block in its file.
#[derive(Debug)]
pub(super) struct StoredBlock {
    pub(super) kind: String,
    pub(super) version: u32,
    /// Runs of nodes that the block was derived from, each with the leaf of its last node.
    pub(super) runs: Vec<(ConversationId, NodeRange, Hash)>,
    pub(super) body: Arc<Body>,
}

/// Mapped bytes of a block, verified on first use.
pub(super) struct Body {
    map: FileMap,
    begin: usize,
    sum: u32,
    is_whole: OnceLock<bool>,
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Body({} bytes)", self.bytes().len())
    }
}

impl Body {
    fn bytes(&self) -> &[u8] {
        self.map.as_ref().get(self.begin..).unwrap_or_default()
    }

    pub(super) fn file_bytes(&self) -> u64 {
        self.map.as_ref().len() as u64
    }
}

impl BlockBytes for Body {
    fn get(&self) -> Option<&[u8]> {
        let is_whole = self.is_whole.get_or_init(|| checksum::crc32c(self.bytes()) == self.sum);
        is_whole.then(|| self.bytes())
    }
}

impl StoredBlock {
    /// Reads everything except the body; `None` if the file is damaged or not of this store.
    ///
    /// # Errors
    /// If the file cannot be mapped.
    pub(super) fn open(file: &DataFile, store: [u8; 16]) -> io::Result<Option<Self>> {
        // An empty file cannot be mapped.
        if file.size()? == 0 {
            return Ok(None);
        }
        let map = FileMap::of(file)?;
        Ok(Self::read(map, store))
    }

    fn read(map: FileMap, store: [u8; 16]) -> Option<Self> {
        let bytes = map.as_ref();
        let Header { store: of, fields: version, names, rest } = WORDS.read(bytes, 4).ok()?;
        let (head, after) = rest.split_at_checked(HEAD)?;
        let (mut fields, mut after) = (In(head), In(after));
        let magic = fields.array::<4>()?;
        let (runs_bytes, body_bytes) = (read_length(&mut fields)?, read_length(&mut fields)?);
        let sum = u32::from_le_bytes(fields.array()?);
        let runs = after.take(runs_bytes)?;
        let crc = u32::from_le_bytes(after.array()?);
        let body = after.0;
        let is_good = of == store
            && magic == MAGIC
            && fields.0 == PLAIN
            && body.len() == body_bytes
            && checksum::crc32c_append(checksum::crc32c(head), runs) == crc;
        if !is_good {
            return None;
        }
        let (kind, version) = (names[0].to_owned(), u32::from_le_bytes(version.try_into().ok()?));
        let (runs, begin) = (read_runs(runs)?, bytes.len() - body.len());
        let body = Arc::new(Body { map, begin, sum, is_whole: OnceLock::new() });
        Some(Self { kind, version, runs, body })
    }

    /// The runs, each marked as current if the log still has exactly these nodes.
    pub(super) fn runs(&self, leaves: &Leaves) -> Vec<BlockRun> {
        let run = |(conversation, nodes, leaf): &(ConversationId, NodeRange, Hash)| {
            let is_current = leaves.get(conversation, nodes.last()) == Some(*leaf);
            BlockRun::new(conversation.clone(), *nodes).is_current(is_current)
        };
        self.runs.iter().map(run).collect()
    }
}

/// Writes the file of a block.
pub(super) fn write(
    file: &DataFile,
    (store, kind, version): ([u8; 16], &str, u32),
    runs: &[u8],
    body: &[u8],
) -> io::Result<()> {
    let mut head = Vec::with_capacity(HEAD);
    head.extend_from_slice(&MAGIC);
    head.extend_from_slice(&(runs.len() as u64).to_le_bytes());
    head.extend_from_slice(&(body.len() as u64).to_le_bytes());
    head.extend_from_slice(&checksum::crc32c(body).to_le_bytes());
    head.extend_from_slice(&PLAIN);
    let crc = checksum::crc32c_append(checksum::crc32c(&head), runs);
    let header = WORDS.header(store, &version.to_le_bytes(), [kind, ""]);
    let front = [&header, &head, runs, &crc.to_le_bytes()].concat();
    file.write_all_at(&front, 0)?;
    file.write_all_at(body, front.len() as u64)
}

/// Bytes of runs. The leaf of an unreadable node is written as zeros, which no node has.
pub(super) fn runs_bytes(runs: &[BlockRun], leaves: &Leaves) -> Vec<u8> {
    let mut out = Vec::new();
    for BlockRun { conversation, nodes, .. } in runs {
        let leaf = leaves.get(conversation, nodes.last()).unwrap_or(Hash::from_bytes([0; 32]));
        out.extend_from_slice(&(conversation.as_str().len() as u64).to_le_bytes());
        out.extend_from_slice(conversation.as_str().as_bytes());
        out.extend_from_slice(&nodes.first().get().to_le_bytes());
        out.extend_from_slice(&nodes.last().get().to_le_bytes());
        out.extend_from_slice(leaf.as_bytes());
    }
    out
}

fn read_runs(bytes: &[u8]) -> Option<Vec<(ConversationId, NodeRange, Hash)>> {
    let (mut rest, mut runs) = (In(bytes), Vec::new());
    while !rest.0.is_empty() {
        let length = read_length(&mut rest)?;
        let conversation = ConversationId::new(std::str::from_utf8(rest.take(length)?).ok()?).ok()?;
        let mut node = || NodeId::new(u64::from_le_bytes(rest.array()?));
        let nodes = NodeRange::new(node()?, node()?)?;
        runs.push((conversation, nodes, Hash::from_bytes(rest.array()?)));
    }
    Some(runs)
}

/// Reads a length of eight bytes.
fn read_length(bytes: &mut In<'_>) -> Option<usize> {
    usize::try_from(u64::from_le_bytes(bytes.array()?)).ok()
}
