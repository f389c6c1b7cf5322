//! Verifies that results from saved blocks can still be read before they are returned.

use memory_core::{ConversationId, NodeRange, RetrieveError, Source};

use crate::ranking::Pool;

/// Reads those of some nodes of a pool that this process has not read yet. If one cannot be read, all other nodes of
/// its conversation are read too, the pool's losses are updated, and the result is `true`: the caller must choose
/// again.
pub(crate) async fn are_some_lost(
    source: &dyn Source,
    pool: &mut Pool,
    nodes: impl Iterator<Item = (&ConversationId, NodeRange)>,
) -> Result<bool, RetrieveError> {
    let mut are_lost = false;
    for (conversation, run) in nodes {
        let Some(part) = pool.parts().iter().find(|part| part.conversation == *conversation) else { continue };
        let restored = part.indexed.read().restored();
        let Some(run) =
            NodeRange::first_n(restored).and_then(|kept| NodeRange::new(run.first(), run.last().min(kept.last())))
        else {
            continue;
        };
        let found = source.readable_nodes(conversation, run).await?.losses;
        if found.runs().iter().any(|lost| !part.losses.rest_of(*lost).is_empty()) {
            part.indexed.check(source, conversation).await?;
            are_lost = true;
        }
    }
    if are_lost {
        pool.refresh();
    }
    Ok(are_lost)
}
