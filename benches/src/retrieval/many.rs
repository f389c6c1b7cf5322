//! The time and memory of searches over thousands of conversations: in running processes, and in new ones.

mod kept;
mod running;

use std::{cell::Cell, path::Path, time::Instant};

use anyhow::{Result, ensure};

use self::running::Searcher;
pub use self::running::serve_searches;
use super::{
    cold,
    sizes::{CONVERSATIONS, MESSAGES_OF_EACH},
};
use crate::{
    figure::Figure,
    rounds::{Entrant, Samples, interleave},
    stats::quantile,
    talks::{Asked, KINDS, Talk},
};

/// Between the talks of two questions; a prime, so that it shares no factor with the number of conversations.
const STEP: u32 = 617;

/// Measures the figures over a store under `kept`, which is made there once.
pub(super) fn measure(kept: &Path) -> Result<Vec<Figure>> {
    let store = kept::store(kept, CONVERSATIONS, false)?;
    let words = Asking::begin(&store, CONVERSATIONS, true)?;
    let model = Asking::begin(&store, CONVERSATIONS, false)?;
    let [[by_words], [by_model]] = interleave([
        Entrant::new("by words", ["ms"], || Ok([words.round()?])),
        Entrant::new("with a model", ["ms"], || Ok([model.round()?])),
    ])?;
    let how = format!(
        "a search without a scope, {} made-up messages in {CONVERSATIONS} conversations, a running process with its \
         background, {KINDS} other questions a round",
        MESSAGES_OF_EACH * CONVERSATIONS as usize
    );
    let note = |asking: &Asking| format!("{how}; {}", asking.found());
    let resident = [&words, &model].map(|asking| asking.searcher.resident_mb());
    let [by_words_mb, by_model_mb] = resident;
    let resident = Samples { name: "process".to_owned(), unit: "MB", values: vec![by_model_mb?] };
    let of_words =
        format!("RssAnon after the last question, model loaded; {:.0} MB in a process by words", by_words_mb?);
    let mut figures = vec![
        Figure::absolute("all_2000_conversations_words_p50_ms", &by_words, note(&words)),
        Figure::absolute("all_2000_conversations_model_p50_ms", &by_model, note(&model)),
        Figure::absolute("all_2000_conversations_rss_mb", &resident, of_words),
    ];
    // Nothing else may hold the store in a measurement of new processes.
    drop((words, model));
    let next = Cell::new(0);
    let question = || nth_question(&next, CONVERSATIONS).1.text;
    figures.push(cold::measure_all("all_2000_conversations_cold_ms", &store, false, question)?);
    Ok(figures)
}

/// Measures searches by words over a store of so many conversations under `kept`, which is made there once.
///
/// # Errors
/// When the store cannot be made, a process fails, or finds nothing.
pub fn measure_by_words(kept: &Path, conversations: u32) -> Result<Vec<Figure>> {
    let store = kept::store(kept, conversations, true)?;
    let words = Asking::begin(&store, conversations, true)?;
    let [[running]] = interleave([Entrant::new("by words", ["ms"], || Ok([words.round()?]))])?;
    let resident = vec![words.searcher.resident_mb()?];
    let resident = Samples { name: "process".to_owned(), unit: "MB", values: resident };
    let how =
        format!("{} made-up messages in {conversations} conversations", MESSAGES_OF_EACH * conversations as usize);
    let mut figures = vec![
        Figure::absolute("many_words_p50_ms", &running, format!("a running process, {how}; {}", words.found())),
        Figure::absolute("many_rss_mb", &resident, "RssAnon after the last question"),
    ];
    drop(words);
    let next = Cell::new(0);
    let question = || nth_question(&next, conversations).1.text;
    figures.push(cold::measure_all("many_words_cold_ms", &store, true, question)?);
    Ok(figures)
}

/// A process, and which questions it was asked.
struct Asking {
    searcher: Searcher,
    conversations: u32,
    next: Cell<usize>,
    /// Questions that one message answers, and how many had it among their hits.
    answered: Cell<[usize; 2]>,
}

impl Asking {
    fn begin(store: &Path, conversations: u32, by_words: bool) -> Result<Self> {
        let searcher = Searcher::start(store, by_words)?;
        Ok(Self { searcher, conversations, next: Cell::new(0), answered: Cell::default() })
    }

    /// The median time of one question of each kind, in milliseconds.
    fn round(&self) -> Result<f64> {
        let mut times = Vec::with_capacity(KINDS);
        for _ in 0..KINDS {
            let (talk, Asked { text, answer }) = nth_question(&self.next, self.conversations);
            let start = Instant::now();
            let hits = self.searcher.ask(&text)?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
            ensure!(!hits.is_empty(), "nothing was found for {text:?}");
            if let Some(answer) = answer {
                let wanted = running::place(&talk.name(), answer);
                let [asked, found] = self.answered.get();
                self.answered.set([asked + 1, found + usize::from(hits.contains(&wanted))]);
            }
        }
        times.sort_by(f64::total_cmp);
        Ok(quantile(&times, 0.5))
    }

    fn found(&self) -> String {
        let [asked, found] = self.answered.get();
        format!("of {asked} questions that one message answers, {found} had it among ten hits")
    }
}

/// The next question: of each kind in turn, about another talk each time.
fn nth_question(next: &Cell<usize>, conversations: u32) -> (Talk, Asked) {
    let number = next.replace(next.get() + 1);
    let talk = Talk::of(u32::try_from(number).unwrap_or_default().wrapping_mul(STEP) % conversations);
    let asked = talk.question(number % KINDS);
    (talk, asked)
}
