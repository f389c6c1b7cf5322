//! Overwrites the salts of erased records, so that these can never be decrypted.

use std::sync::Arc;

use memory_core::{
    Erasure,
    port::{Event, StoreError},
};

use crate::log::{read::reader::Reader, state::erased::Cut, write::shared::Shared};

/// The erasures among events, if the store is encrypted.
pub(crate) fn erasures(shared: &Shared, events: &[Event]) -> Vec<Erasure> {
    let erasure = |event: &Event| if let Event::Erased(erasure) = event { Some((**erasure).clone()) } else { None };
    if shared.directory.keys.is_some() { events.iter().filter_map(erasure).collect() } else { Vec::new() }
}

/// Overwrites the salts of the messages, summaries and notes that these erasures hide. After an interruption a vacuum
/// overwrites the rest.
pub(crate) fn shred(shared: &Shared, erasures: &[Erasure]) -> Result<(), StoreError> {
    if erasures.is_empty() {
        return Ok(());
    }
    let (segments, places, notes) = {
        let state = shared.current()?;
        let (mut places, mut notes) = (Vec::new(), Vec::new());
        for one in state.conversations() {
            let is_meant = |cut: &&Cut| erasures.iter().any(|erasure| erasure.id == cut.id);
            let cuts: Vec<_> = one.erased.cuts().iter().filter(is_meant).collect();
            if cuts.is_empty() {
                continue;
            }
            let runs = cuts.iter().flat_map(|cut| &cut.nodes);
            places.extend(runs.flat_map(|run| one.nodes.all_wanted(*run)).map(|wanted| wanted.location));
            places.extend(one.summaries.erased_locations());
            notes.push((one.notes.locations(1, one.notes.last()), one.erased.clone()));
        }
        (Arc::clone(&state.segments), places, notes)
    };
    let mut reader = Reader::new(&segments);
    let mut graves = Vec::new();
    for place in places {
        graves.extend(reader.grave(place)?);
    }
    for (places, erased) in notes {
        for place in places {
            if reader.note(place)?.is_some_and(|note| erased.hides_note(&note, place)) {
                graves.extend(reader.grave(place)?);
            }
        }
    }
    shared.directory.keys.shred(graves)
}
