//! Many conversations at once, each with a turn a second.

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use memory::{Access, Builder, Config, PromptOptions, blocking::Memory};

use crate::{figure::Figure, rounds::Samples, stats::quantile, talks::Talk};

const CONVERSATIONS: u32 = 200;
/// Turns of each conversation, one a second.
const SECONDS: usize = 30;
/// Messages of each conversation before.
const BEFORE: usize = 100;
/// Threads that play the conversations.
const CLIENTS: u32 = 20;

/// Milliseconds of turns.
#[derive(Default)]
struct Turns {
    worked: Vec<f64>,
    waited: Vec<f64>,
    late: Vec<f64>,
}

/// The slowest turn but for one in a hundred, and by how much turns began late.
pub(super) fn measure(store: &Path, is_short: bool) -> Result<Vec<Figure>> {
    let seconds = if is_short { SECONDS / 10 } else { SECONDS };
    eprintln!("managers: {CONVERSATIONS} conversations, {seconds} turns each");
    let memory = Memory::from(Builder::of(Config::new(store, Access::Write).without_model()).open()?);
    for number in 0..CONVERSATIONS {
        let talk = Talk::of(number);
        let batch = (0..BEFORE).map(|index| talk.message(index)).collect();
        memory.conversation(&talk.name())?.append_batch(batch)?;
    }
    memory.catch_up()?;
    // Each conversation is opened once, as it would be by then.
    play(&memory, 1, BEFORE)?;
    let turns = play(&memory, seconds, BEFORE + 2)?;
    let failures = memory.failures();
    ensure!(failures.is_empty(), "the background failed: {failures:?}");
    let [worked, waited, late] = [turns.worked, turns.waited, turns.late].map(|mut values| {
        values.sort_by(f64::total_cmp);
        values
    });
    let note = format!(
        "the prompt of a running agent, with recall by words and no embedding, in {CONVERSATIONS} conversations at once, a turn a \
         second each, for {seconds} s, with the background at work; p50 {:.2} ms, the slowest {:.2} ms<br>waiting for two messages to be \
         on disk is left out: p50 {:.2} ms, p99 {:.2} ms<br>turns began late, as a turn before was not done: p50 {:.2} ms, p99 {:.2} ms",
        quantile(&worked, 0.5),
        quantile(&worked, 1.0),
        quantile(&waited, 0.5),
        quantile(&waited, 0.99),
        quantile(&late, 0.5),
        quantile(&late, 0.99),
    );
    let one = |name: &str, value| Samples { name: name.to_owned(), unit: "ms", values: vec![value] };
    Ok(vec![
        Figure::absolute("conversations_200_p99_ms", &one("turns", quantile(&worked, 0.99)), note),
        Figure::absolute(
            "conversations_200_late_p99_ms",
            &one("turns", quantile(&late, 0.99)),
            "by how much those turns began late, the wait for the disk included",
        ),
    ])
}

/// Has every conversation take a turn a second, the conversations one after the other within it.
fn play(memory: &Memory, seconds: usize, said: usize) -> Result<Turns> {
    let start = Instant::now();
    thread::scope(|scope| {
        let clients: Vec<_> =
            (0..CLIENTS).map(|client| scope.spawn(move || of_client(memory, client, start, seconds, said))).collect();
        let mut all = Turns::default();
        for client in clients {
            let turns = client.join().ok().context("a client panicked")??;
            all.worked.extend(turns.worked);
            all.waited.extend(turns.waited);
            all.late.extend(turns.late);
        }
        Ok(all)
    })
}

/// The turns of the conversations of one client.
fn of_client(memory: &Memory, client: u32, start: Instant, seconds: usize, said: usize) -> Result<Turns> {
    // What is recorded of a prompt would be a third wait for the disk.
    let options = PromptOptions::default().record(false);
    let mut turns = Turns::default();
    for second in 0..seconds {
        for number in (client..CONVERSATIONS).step_by(CLIENTS as usize) {
            let within = f64::from(number) / f64::from(CONVERSATIONS);
            let due = start + Duration::from_secs(second as u64) + Duration::from_secs_f64(within);
            thread::sleep(due.saturating_duration_since(Instant::now()));
            turns.late.push(millis(due.elapsed()));
            let (talk, next) = (Talk::of(number), said + 2 * second);
            let conversation = memory.conversation(&talk.name())?;
            let begun = Instant::now();
            conversation.append(talk.message(next).0)?;
            let appended = begun.elapsed();
            let begun = Instant::now();
            let prompt = conversation.turn(&options)?;
            turns.worked.push(millis(begun.elapsed()));
            ensure!(prompt.tokens <= prompt.budget, "a prompt is over its budget");
            let begun = Instant::now();
            conversation.append(talk.message(next + 1).0)?;
            turns.waited.push(millis(appended + begun.elapsed()));
        }
    }
    Ok(turns)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
