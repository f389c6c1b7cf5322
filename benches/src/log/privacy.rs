//! The group `privacy`: the cost of encryption, and of erasing.

use std::{path::Path, time::Instant};

use anyhow::{Result, ensure};
use memory_core::{
    Erasure, ErasureId, NodeId, NodeRange, Timestamp,
    port::{Event, Store},
};

use super::{
    APPENDED, BATCH, RECORDS, RUN, SHORT, SIZES, grow, read_round,
    stores::{Contender, Ours, Sealed, create, fill, filled},
};
use crate::figure::{Entrant, Figure, interleave, worst_size};

/// Messages of a conversation that is erased as a whole.
const ERASED: usize = 10_000;

/// Measures the group, with its files under `directory`.
///
/// # Errors
/// When a store fails.
pub(crate) fn measure(directory: &Path) -> Result<Vec<Figure>> {
    let mut figures = against_plain(directory)?;
    figures.push(erase_message(directory)?);
    figures.push(erase_conversation(directory)?);
    Ok(figures)
}

/// Appending and reading, encrypted and not.
fn against_plain(directory: &Path) -> Result<Vec<Figure>> {
    let mut sizes = Vec::new();
    for bytes in SIZES {
        eprintln!("privacy: appending and reading records of {bytes} B");
        let (mut sealed, mut plain) = (create::<Sealed>(directory)?, create::<Ours>(directory)?);
        let units = ["us"];
        let [[sealed_append], [plain_append]] = interleave([
            Entrant::new(Sealed::NAME, units, || Ok([grow(&mut sealed, bytes)?])),
            Entrant::new(Ours::NAME, units, || Ok([grow(&mut plain, bytes)?])),
        ])?;
        let (sealed, plain) =
            (filled::<Sealed>(directory, RECORDS, bytes)?, filled::<Ours>(directory, RECORDS, bytes)?);
        let units = ["us", "us"];
        let [[sealed_read, sealed_run], [plain_read, plain_run]] = interleave([
            Entrant::new(Sealed::NAME, units, || read_round(&sealed, bytes)),
            Entrant::new(Ours::NAME, units, || read_round(&plain, bytes)),
        ])?;
        let size = format!("the worse of two sizes, {bytes} B");
        let appended = format!("time a record, synced batches of {BATCH}, {APPENDED} a round; {size}");
        let point = format!("time a point read, {RECORDS} records in the page cache, segments sealed; {size}");
        let run = format!("the same for a run of {RUN} records; {size}");
        sizes.push([
            Figure::ratio("encrypted_append_vs_plain", &sealed_append, &plain_append, appended),
            Figure::ratio("encrypted_read_vs_plain", &sealed_read, &plain_read, point),
            Figure::ratio("encrypted_range50_vs_plain", &sealed_run, &plain_run, run),
        ]);
    }
    Ok(worst_size(sizes))
}

/// Milliseconds until one message of many is unreadable through every way, and its key overwritten.
fn erase_message(directory: &Path) -> Result<Figure> {
    eprintln!("privacy: erasing a message of {RECORDS}");
    let store = filled::<Sealed>(directory, RECORDS, SHORT)?;
    let mut node = 0;
    let erase = || {
        node += 1_000;
        let run = NodeId::new(node).map(NodeRange::single).into_iter().collect();
        Ok([erased(&store, run, false)?])
    };
    let [[took]] = interleave([Entrant::new(Sealed::NAME, ["ms"], erase)])?;
    let note = format!("encrypted, {RECORDS} records of {SHORT} B; until the call returns, receipt pending");
    Ok(Figure::absolute("erase_message_100k_ms", &took, note))
}

/// Milliseconds until a conversation is unreadable through every way, and its keys overwritten.
fn erase_conversation(directory: &Path) -> Result<Figure> {
    eprintln!("privacy: erasing a conversation of {ERASED}");
    let erase = || {
        let mut store = create::<Sealed>(directory)?;
        fill(&mut store, ERASED, SHORT)?;
        let run = NodeRange::first_n(ERASED as u64).into_iter().collect();
        Ok([erased(&store, run, true)?])
    };
    let [[took]] = interleave([Entrant::new(Sealed::NAME, ["ms"], erase)])?;
    let note = format!("encrypted, {ERASED} records of {SHORT} B; until the call returns, receipt pending");
    Ok(Figure::absolute("erase_conversation_10k_ms", &took, note))
}

/// Milliseconds of an erasure, after which the first node of the run reads as erased.
fn erased(store: &Sealed, nodes: Vec<NodeRange>, is_whole: bool) -> Result<f64> {
    let id = ErasureId::from_bytes(fastrand::u128(..).to_le_bytes());
    let first = nodes.first().map(|run| run.first());
    let erasure = Erasure::new(id, Timestamp::from_millis(7), nodes).is_whole(is_whole);
    let (start, conversation) = (Instant::now(), store.conversation());
    pollster::block_on(store.store().record(conversation, vec![Event::Erased(Box::new(erasure))]))?;
    let took = start.elapsed().as_secs_f64() * 1e3;
    let node = pollster::block_on(store.store().node(conversation, first.unwrap_or(NodeId::FIRST)))?;
    ensure!(node.is_erased, "node {} is still there", node.id);
    Ok(took)
}
