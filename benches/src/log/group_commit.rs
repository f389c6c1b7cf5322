//! Many writers at once: their durable records a second with shared syncs.

use std::{path::Path, thread, time::Instant};

use anyhow::{Context, Result};
use memory_core::{ConversationId, Store};

use super::{
    filled::{create, texts},
    ours::{Ours, draft},
};
use crate::{
    corpus::Corpus,
    figure::Figure,
    rounds::{Entrant, interleave},
};

const WRITERS: usize = 64;
/// Records of a round with one writer.
const ALONE: usize = 200;
/// Records of a round for each of many writers.
const EACH: usize = 50;
const BYTES: usize = 200;

pub(super) fn measure(directory: &Path) -> Result<Figure> {
    eprintln!("log: {WRITERS} writers");
    let ours = create::<Ours>(directory)?;
    let [[many], [one]] = interleave([
        Entrant::new(format!("{WRITERS} writers"), ["records/s"], || Ok([rate(&ours, WRITERS, EACH)?])),
        Entrant::new("1 writer", ["records/s"], || Ok([rate(&ours, 1, ALONE)?])),
    ])?;
    let note = "each writer appends one record of 200 B to a conversation of its own and waits until it is on disk";
    Ok(Figure::ratio("group_commit_64_vs_1", &many, &one, note))
}

/// Durable records a second of so many writers, each with its own thread and conversation.
fn rate(ours: &Ours, writers: usize, records: usize) -> Result<f64> {
    let mut corpus = Corpus::new(3);
    let conversations: Vec<_> =
        (0..writers).map(|writer| ConversationId::new(&format!("writer-{writer}"))).collect::<Result<_, _>>()?;
    let texts: Vec<_> = conversations.iter().map(|_| texts(&mut corpus, records, BYTES)).collect();
    let start = Instant::now();
    thread::scope(|scope| {
        let writers: Vec<_> = conversations
            .iter()
            .zip(&texts)
            .map(|(conversation, texts)| {
                scope.spawn(move || -> Result<()> {
                    for text in texts {
                        pollster::block_on(ours.store().append(conversation, vec![draft(text)]))?;
                    }
                    Ok(())
                })
            })
            .collect();
        writers.into_iter().try_for_each(|writer| writer.join().ok().context("a writer panicked")?)
    })?;
    #[expect(clippy::cast_precision_loss, reason = "a few thousand records")]
    Ok((writers * records) as f64 / start.elapsed().as_secs_f64())
}
