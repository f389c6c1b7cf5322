//! The group `soak`: a simulated day of traffic in one process, and how its memory grows.

mod traffic;

use std::{path::Path, sync::Arc, thread, time::Instant};

use anyhow::{Context as _, Result, ensure};
use indicatif::ProgressBar;
use memory::{Builder, Config, blocking::Memory};
use memory_core::{
    Timestamp,
    testing::{FixedClock, HashEmbedder},
};

use self::traffic::{Client, Done};
use crate::{figure::Figure, process_memory, rounds::Samples, stats::Spread};

const HOURS: usize = 24;
/// Times at which the memory is looked at in an hour.
const LOOKS: usize = 10;
/// Programs that talk to the memory at once.
const CLIENTS: u32 = 4;
/// Components of the vectors, which cost next to nothing to make.
const DIMENSIONS: usize = 32;

/// The traffic of a day.
#[derive(Clone, Copy, Debug)]
struct Day {
    conversations: u32,
    messages: usize,
}

const WHOLE: Day = Day { conversations: 10_000, messages: 200_000 };
const SHORT: Day = Day { conversations: 1_000, messages: 20_000 };

/// Measures the group, with its stores under `scratch`; a tenth of the traffic if it `is_short`.
///
/// # Errors
/// When a call of the memory fails, or something in its background.
pub(crate) fn measure(scratch: &Path, is_short: bool) -> Result<Vec<Figure>> {
    // As the binary does, and a service should.
    memory::limit_heap_arenas();
    let words = |store: &Path| Builder::of(Config::new(store, memory::Access::Write).without_model());
    let vectors = |store: &Path| Builder::new(store).embedder(Arc::new(HashEmbedder::new(DIMENSIONS)));
    Ok(vec![
        growth("memory_growth_words", words(&scratch.join("words")), is_short)?,
        growth("memory_growth_vectors", vectors(&scratch.join("vectors")), is_short)?,
    ])
}

/// How the memory of a process grows in a day; a tenth of the traffic if it `is_short`.
fn growth(key: &'static str, builder: Builder, is_short: bool) -> Result<Figure> {
    let day = if is_short { SHORT } else { WHOLE };
    day.run(key, builder)
}

impl Day {
    /// Plays days before and the day, and compares the memory of the last hour with that of the first.
    fn run(self, key: &'static str, builder: Builder) -> Result<Figure> {
        let clock = FixedClock::starting_at(Timestamp::from_millis(1_704_067_200_000));
        let memory = Memory::from(builder.clock(Arc::new(clock)).open()?);
        let client = |number| Client::new(number, CLIENTS, self.conversations);
        let mut clients: Vec<_> = (0..CLIENTS).map(client).collect();
        // Half of the messages are of days before: a store that begins empty grows by what is in it.
        let (start, mut hours, before) = (Instant::now(), Vec::new(), self.messages / 2);
        let mut done = play(&memory, &mut clients, before / CLIENTS as usize)?;
        let bar = ProgressBar::new(HOURS as u64);
        for hour in 1..=HOURS {
            let mut looks = Vec::with_capacity(LOOKS);
            for look in 1..=LOOKS {
                let part = (hour - 1) * LOOKS + look;
                let due = (before + (self.messages - before) * part / (HOURS * LOOKS)) / CLIENTS as usize;
                done = done.plus(play(&memory, &mut clients, due)?);
                looks.push(process_memory::megabytes("RssAnon")?);
            }
            let failures = memory.failures();
            ensure!(failures.is_empty(), "the background failed: {failures:?}");
            hours.push(Samples { name: format!("hour {hour}"), unit: "MB", values: looks });
            bar.inc(1);
        }
        bar.finish_and_clear();
        let held: Vec<_> =
            memory.held().iter().map(|held| format!("{} {:.1}", held.kind, megabytes(held.bytes))).collect();
        let (first, last) = (hours.first().context("no hour")?, hours.last().context("no hour")?);
        let medians: Vec<_> = hours.iter().map(|hour| format!("{:.0}", Spread::of(&hour.values).median)).collect();
        let note = format!(
            "RssAnon in a simulated day of one process with its background, half of all messages are there before, {} conversations, \
             {done}, {CLIENTS} clients at once, in {:.0} s; MB in each hour: {}; MB held at the end: {}",
            self.conversations,
            start.elapsed().as_secs_f64(),
            medians.join(" "),
            held.join(", ")
        );
        Ok(Figure::ratio(key, last, first, note))
    }
}

#[expect(clippy::cast_precision_loss, reason = "some million bytes")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// Lets every client go on until it has appended `due` messages in all.
fn play(memory: &Memory, clients: &mut [Client], due: usize) -> Result<Done> {
    thread::scope(|scope| {
        let running: Vec<_> = clients.iter_mut().map(|client| scope.spawn(|| client.go_on(memory, due))).collect();
        let mut all = Done::default();
        for client in running {
            all = all.plus(client.join().ok().context("a client panicked")??);
        }
        Ok(all)
    })
}
