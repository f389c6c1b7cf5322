//! Compaction: its rate, and whether the length of a conversation matters.

use std::{path::Path, time::Instant};

use anyhow::{Result, ensure};

use super::talk::Talk;
use crate::{
    figure::Figure,
    rounds::{Entrant, interleave},
};

/// Messages compacted at once for the rate.
const FRESH: usize = 2_000;
/// New messages since the last compaction, when compaction is repeated in a long conversation.
const MORE: usize = 40;

/// Messages a second, from FULL to the level that the thresholds require.
pub(super) fn rate(directory: &Path) -> Result<Figure> {
    eprintln!("views: compaction rate");
    let compact = || {
        let talk = Talk::begin(directory)?;
        talk.say(FRESH)?;
        let start = Instant::now();
        let report = talk.compact()?;
        let took = start.elapsed();
        ensure!(report.summaries > 0, "nothing was compacted");
        #[expect(clippy::cast_precision_loss, reason = "some thousand messages")]
        Ok([FRESH as f64 / took.as_secs_f64()])
    };
    let [[rate]] = interleave([Entrant::new("memory-hooks", ["messages/s"], compact)])?;
    let note = "summaries and scores by the default strategies of 2,000 messages, token counts and syncs included";
    Ok(Figure::absolute("compaction_messages_per_s", &rate, note))
}

/// Time for each message when a long conversation goes on, divided by that of a short one.
pub(super) fn growth(million: &Talk, thousand: &Talk) -> Result<Figure> {
    eprintln!("views: compaction at a million messages");
    for talk in [million, thousand] {
        talk.compact()?;
    }
    let [[large], [small]] = interleave([
        Entrant::new("1,000,000 messages", ["us"], || Ok([carry_on(million)?])),
        Entrant::new("1,000 messages", ["us"], || Ok([carry_on(thousand)?])),
    ])?;
    let note = format!("compacting {MORE} messages more; the tree's shape is real, its words are made up");
    Ok(Figure::ratio("compaction_1m_vs_1k", &large, &small, note))
}

/// Microseconds a message.
fn carry_on(talk: &Talk) -> Result<f64> {
    talk.say(MORE)?;
    let start = Instant::now();
    let report = talk.compact()?;
    let took = start.elapsed();
    ensure!(report.summaries > 0, "nothing was compacted");
    #[expect(clippy::cast_precision_loss, reason = "a few messages")]
    Ok(took.as_secs_f64() * 1e6 / MORE as f64)
}
