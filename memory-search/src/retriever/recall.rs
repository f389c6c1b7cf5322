//! Recall: packs the best hits of one or several conversations under one budget.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use memory_core::{
    ConversationId, Node, NodeOutline, NodeRange,
    port::{Excerpt, HeldBack, Losses, Notice, Recall, RecallRequest, RetrieveError},
};

use super::{HybridRetriever, Ranked};
use crate::{
    budget::{are_worth, budget_share, share_of},
    pack::{Characters, Lengths, PackRequest, PackSource, SourceNode, TooLarge, pack, prices, reach},
    pairs::Pairs,
    ranking::{Candidate, Pool},
    reads::Reads,
    repeats::EarlierStatements,
};

/// Maximum hits that are compared with each other.
const COMPARED: usize = 64;

struct WithHits {
    conversation: ConversationId,
    outline: Arc<Vec<NodeOutline>>,
    pairs: Pairs,
}

impl WithHits {
    fn to_pack<'a>(&'a self, request: &'a RecallRequest) -> PackSource<'a> {
        let source = PackSource::new(&self.outline).pairs(&self.pairs);
        if self.conversation == request.conversation {
            source.shown(&request.shown)
        } else {
            source.heading(request.per_conversation)
        }
    }
}

impl HybridRetriever {
    pub(super) async fn recalled(&self, request: &RecallRequest) -> Result<Recall, RetrieveError> {
        if request.question.trim().is_empty() {
            return Ok(Recall::default().notices(vec![Notice::EmptyQuestion]));
        }
        let own = &request.conversation;
        let mut ranked = self.rank(&request.question, &request.scope(), &request.filter, Some(own)).await?;
        let wanted = |conversation: &ConversationId, node| !request.is_shown(conversation, node);
        let hits = ranked.hits(&request.question, request.limit, wanted).await?;
        let Ranked { mut ranking, mut reads, mut notices, mut stopwatch, .. } = ranked;
        let repeats = repeats(&request.question, &hits, &mut reads).await?;
        let share = budget_share(request, &self.words.question(&request.question), ranking.pool());
        let found = self.with_hits(&hits, ranking.pool(), own).await?;
        let sources: Vec<_> = found.iter().map(|of| of.to_pack(request)).collect();
        let place = |hit: &Candidate| {
            let source = found.iter().position(|of| of.conversation == hit.conversation);
            (source.unwrap_or(usize::MAX), hit.node)
        };
        let ranked: Vec<SourceNode> = hits.iter().map(place).collect();
        let max_tokens = share_of(request.max_tokens, share);
        let mut to_pack =
            PackRequest::new(&sources, &ranked, max_tokens).per_message(request.per_message).radius(request.radius);
        let lengths = match request.max_characters {
            Some(_) => lengths(&mut reads, &found, &reach(&to_pack)).await?,
            None => Lengths::default(),
        };
        to_pack.characters = request.max_characters.map(|max| Characters { max: share_of(max, share), of: &lengths });
        let worth = if request.stop_early {
            are_worth(&hits, &prices(&to_pack), to_pack.max_tokens)
        } else {
            vec![true; hits.len()]
        };
        // Hits that repeat a better one rank last but are kept, since equal words may describe different events.
        let worthy = |of_repeats: bool| {
            let of_hits = ranked.iter().zip(&worth).zip(&repeats);
            of_hits.filter(move |((_, worth), repeat)| **worth && **repeat == of_repeats).map(|((place, _), _)| *place)
        };
        let worthy: Vec<SourceNode> = worthy(false).chain(worthy(true)).collect();
        to_pack.ranked = &worthy;
        let packed = pack(&to_pack);
        if let Some(TooLarge { node: (source, node), tokens, characters }) = packed.too_large {
            let max = to_pack.max_tokens;
            let of = found.get(source).map(|of| of.conversation.clone());
            let conversation = of.filter(|of| of != own);
            notices.push(match to_pack.characters {
                Some(Characters { max: most, .. }) if tokens <= u64::from(max) => {
                    Notice::BestHitOverCharacters { conversation, node, characters, max: most }
                }
                _ => Notice::BestHitOverTokens { conversation, node, tokens, max },
            });
        }
        let chosen = |&(source, run): &(usize, NodeRange)| Some((&found.get(source)?.conversation, run));
        let chosen: Vec<_> = packed.runs.iter().filter_map(chosen).collect();
        reads.are_there(ranking.pool_mut(), chosen.iter().copied()).await?;
        let mut losses = BTreeMap::new();
        for part in ranking.pool().parts().iter().filter(|part| !part.losses.is_empty()) {
            losses.insert(&part.conversation, &part.losses);
        }
        // Neighbours of a hit, and its tool calls and results, may be lost.
        let rest = |(conversation, run): (_, NodeRange)| {
            let rest = losses.get(conversation).map_or_else(|| vec![run], |losses| losses.rest_of(run));
            rest.into_iter().map(move |run| (conversation, run))
        };
        let excerpt = |(conversation, nodes): (&ConversationId, NodeRange)| {
            let messages = reads.run(conversation, nodes).cloned().collect();
            let hits = hits.iter().filter(|hit| hit.conversation == *conversation && nodes.contains(hit.node));
            let hits = hits.filter_map(|hit| reads.hit(hit)).collect();
            Excerpt::new(conversation.clone(), nodes, messages, hits)
        };
        let excerpts: Vec<_> = chosen.into_iter().flat_map(rest).map(excerpt).collect();
        let others: BTreeSet<_> =
            excerpts.iter().map(|excerpt| &excerpt.conversation).filter(|of| *of != own).collect();
        let cost = |node: &Arc<Node>| u64::from(node.tokens) + u64::from(request.per_message);
        let tokens = excerpts.iter().flat_map(|excerpt| &excerpt.messages).map(cost).sum::<u64>()
            + others.len() as u64 * u64::from(request.per_conversation);
        let held_back = |of_worth: bool| {
            let is_in = |hit: &Candidate, excerpt: &Excerpt| {
                excerpt.conversation == hit.conversation && excerpt.nodes.contains(hit.node)
            };
            let is_there = |hit: &Candidate| {
                losses.get(&hit.conversation).is_some_and(|lost| lost.contains(hit.node))
                    || excerpts.iter().any(|excerpt| is_in(hit, excerpt))
            };
            let mut held = hits.iter().zip(&worth).filter(|(hit, worth)| **worth == of_worth && !is_there(hit));
            let (best, _) = held.next()?;
            Some(HeldBack::new(1 + held.count(), best.score))
        };
        let (not_worth, no_room) = (held_back(false), held_back(true));
        notices.extend(losses.iter().filter(|(of, _)| **of != own).filter_map(|(of, lost)| lost.notice(of)));
        let losses = losses.get(own).map(|lost| Losses::clone(lost)).unwrap_or_default();
        stopwatch.end("pack", hits.len());
        Ok(Recall::new(excerpts)
            .tokens(tokens)
            .not_worth(not_worth)
            .no_room(no_room)
            .notices(notices)
            .losses(losses)
            .steps(stopwatch.steps()))
    }

    /// Conversations with hits: `own` first, then the others by name.
    async fn with_hits(
        &self,
        hits: &[Candidate],
        pool: &Pool,
        own: &ConversationId,
    ) -> Result<Vec<WithHits>, RetrieveError> {
        let ids: BTreeSet<_> = hits.iter().map(|hit| (hit.conversation != *own, &hit.conversation)).collect();
        let mut found = Vec::with_capacity(ids.len());
        for (_, id) in ids {
            let Some(part) = pool.parts().iter().find(|part| part.conversation == *id) else { continue };
            let outline = self.words.outlines(&*self.source, id, part.nodes).await?;
            let pairs = Pairs::of(part.indexed.read().node_table().traits(), &outline);
            found.push(WithHits { conversation: id.clone(), outline, pairs });
        }
        Ok(found)
    }
}

/// For each hit, true if it is among the best and repeats a better one.
async fn repeats(question: &str, hits: &[Candidate], reads: &mut Reads<'_>) -> Result<Vec<bool>, RetrieveError> {
    let mut told = EarlierStatements::new(question);
    let mut repeats = vec![false; hits.len()];
    for (hit, repeat) in hits.iter().zip(&mut repeats).take(COMPARED) {
        reads.read(&hit.conversation, NodeRange::single(hit.node)).await?;
        let node = reads.get(&hit.conversation, hit.node);
        *repeat = node.is_some_and(|node| told.is_repeat(&node.message.text()));
    }
    Ok(repeats)
}

/// Lengths of some nodes in characters, without unreadable nodes.
async fn lengths(
    reads: &mut Reads<'_>,
    found: &[WithHits],
    runs: &[(usize, NodeRange)],
) -> Result<Lengths, RetrieveError> {
    let mut lengths = Lengths::new();
    for &(source, run) in runs {
        let Some(WithHits { conversation, .. }) = found.get(source) else { continue };
        reads.read(conversation, run).await?;
        let nodes = reads.run(conversation, run);
        lengths.extend(nodes.map(|node| ((source, node.id), node.message.text().chars().count() as u64)));
    }
    Ok(lengths)
}
