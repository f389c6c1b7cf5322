//! The memory of a server in which a model rewrites one document over and over.

use std::path::Path;

use anyhow::Result;
use serde_json::json;

use super::{binary::Binary, client::Client};
use crate::{Corpus, figure::Figure, process_memory, rounds::Samples};

/// Bytes of the document.
const BYTES: usize = 60_000;
/// Rewrites after which the memory is looked at.
const FEW: usize = 1_000;
const MANY: usize = 20_000;
/// Rewrites between two searches.
const PER_SEARCH: usize = 250;

/// The resident memory after many rewrites against that after few; a tenth of both if it `is_short`.
pub(super) fn growth(binary: &Binary, scratch: &Path, is_short: bool) -> Result<Figure> {
    let [few, many] = [FEW, MANY].map(|rewrites| if is_short { rewrites / 10 } else { rewrites });
    eprintln!("tools: rewriting a document {many} times");
    let mut client = Client::begin(&binary.with_store(&scratch.join("notes")), &[], &[])?;
    let (mut corpus, mut searches, mut after_few) = (Corpus::new(7), Vec::new(), None);
    for rewrite in 1..=many {
        client.call("scratchpad_set", &json!({"text": corpus.text(BYTES)}))?;
        if rewrite % PER_SEARCH == 0 {
            searches.push(client.call("search_memory", &json!({"query": corpus.question()}))?.1);
        }
        if rewrite == few {
            after_few = Some(process_memory::megabytes_of(client.process(), "VmRSS")?);
        }
    }
    let samples = |name: String, megabytes| Samples { name, unit: "MB", values: vec![megabytes] };
    let last = samples(format!("{many} rewrites"), process_memory::megabytes_of(client.process(), "VmRSS")?);
    let first = samples(format!("{few} rewrites"), after_few.unwrap_or(f64::NAN));
    let note = format!(
        "resident memory of `memory mcp` while a scratchpad of {BYTES} B is set anew, searched after every {PER_SEARCH}; the last \
         search took {:.1} ms",
        searches.last().copied().unwrap_or(f64::NAN)
    );
    Ok(Figure::ratio("notes_20k_vs_1k_rss", &last, &first, note))
}
