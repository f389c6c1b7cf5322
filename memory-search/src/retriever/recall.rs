//! Recall: packs the best hits of one or several conversations under one budget.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::Arc,
};

use memory_core::{
    ConversationId, NodeId, NodeOutline, NodeRange,
    port::{Excerpt, HeldBack, Losses, Notice, Recall, RecallRequest, RetrieveError},
};

use super::{HybridRetriever, Ranked};
use crate::{
    budget::{are_worth, budget_share, share_of},
    content::has_content,
    cut::{PART_BYTES, cut},
    lexical::Asked,
    pack::{Characters, Lengths, PackRequest, PackSource, SourceNode, TooLarge, pack, prices, reach},
    pairs::Pairs,
    ranking::{ANSWERS_QUESTION, Candidate, Pool},
    reads::Reads,
    repeats::{EarlierStatements, corrects},
};

/// Maximum hits that are compared with each other, and whose long messages are cut.
const COMPARED: usize = 64;
/// Maximum tokens of a message that is read to see if it has content.
const FEW_TOKENS: u32 = 12;

/// Parts to show of long messages.
type Cuts = BTreeMap<SourceNode, Vec<Range<usize>>>;

struct WithHits {
    conversation: ConversationId,
    /// Outlines of its nodes; a node that is cut has the tokens of its parts.
    outline: Arc<Vec<NodeOutline>>,
    pairs: Pairs,
    /// First names of its speakers, in lower case.
    names: Vec<Box<str>>,
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
        let asked = ranking.pool().asked(&request.question);
        let repeats = repeats(&asked, &hits, &mut reads).await?;
        let share = budget_share(request, &asked, ranking.pool());
        let mut found = self.with_hits(&hits, ranking.pool(), own).await?;
        let place = |hit: &Candidate| {
            let source = found.iter().position(|of| of.conversation == hit.conversation);
            (source.unwrap_or(usize::MAX), hit.node)
        };
        let ranked: Vec<SourceNode> = hits.iter().map(place).collect();
        let is_evidence = are_evidence(&hits, &ranked, &found, &mut reads).await?;
        let max_tokens = share_of(request.max_tokens, share);
        let cuts = match request.longest {
            Some(longest) => {
                let sources: Vec<_> = found.iter().map(|of| of.to_pack(request)).collect();
                let best = ranked.get(..COMPARED).unwrap_or(&ranked);
                let runs = reach(&PackRequest::new(&sources, best, max_tokens).radius(request.radius));
                shorten(&mut reads, &mut found, &runs, &asked, longest).await?
            }
            None => Cuts::new(),
        };
        let sources: Vec<_> = found.iter().map(|of| of.to_pack(request)).collect();
        let mut to_pack =
            PackRequest::new(&sources, &ranked, max_tokens).per_message(request.per_message).radius(request.radius);
        let lengths = match request.max_characters {
            Some(_) => lengths(&mut reads, &found, &reach(&to_pack), &cuts).await?,
            None => Lengths::default(),
        };
        to_pack.characters = request.max_characters.map(|max| Characters { max: share_of(max, share), of: &lengths });
        let mut worth = if request.stop_early {
            are_worth(&hits, &prices(&to_pack), to_pack.max_tokens)
        } else {
            vec![true; hits.len()]
        };
        worth.iter_mut().zip(is_evidence).for_each(|(worth, is_evidence)| *worth &= is_evidence);
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
            let source = found.iter().position(|of| of.conversation == *conversation);
            let parts = |node: NodeId| cuts.get(&(source?, node)).map(|parts| (node, parts));
            let cuts = nodes.iter().filter_map(parts);
            let cuts = cuts.flat_map(|(node, parts)| parts.iter().map(move |part| (node, part.clone()))).collect();
            Excerpt::new(conversation.clone(), nodes, messages, hits).cuts(cuts)
        };
        let excerpts: Vec<_> = chosen.into_iter().flat_map(rest).map(excerpt).collect();
        let others: BTreeSet<_> =
            excerpts.iter().map(|excerpt| &excerpt.conversation).filter(|of| *of != own).collect();
        let cost = |excerpt: &Excerpt| -> u64 {
            let outline = found.iter().find(|of| of.conversation == excerpt.conversation).map(|of| &of.outline);
            let tokens = |node: NodeId| outline.and_then(|of| of.get(node.index())).map_or(0, |node| node.tokens);
            let nodes = excerpt.messages.iter().map(|node| u64::from(tokens(node.id)) + u64::from(request.per_message));
            nodes.sum()
        };
        let tokens = excerpts.iter().map(cost).sum::<u64>() + others.len() as u64 * u64::from(request.per_conversation);
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
            let (pairs, names) = {
                let postings = part.indexed.read();
                let table = postings.node_table();
                let first = |(_, name): (u32, &str)| name.split_whitespace().next().map(Box::from);
                (Pairs::of(table.traits(), &outline), table.speakers().filter_map(first).collect())
            };
            found.push(WithHits { conversation: id.clone(), outline, pairs, names });
        }
        Ok(found)
    }
}

/// For each hit, true if it is among the best and repeats a better one, or is corrected by another one of them.
async fn repeats(asked: &Asked, hits: &[Candidate], reads: &mut Reads<'_>) -> Result<Vec<bool>, RetrieveError> {
    let mut told = EarlierStatements::new(asked.clone());
    let mut repeats = vec![false; hits.len()];
    let mut corrected = BTreeSet::new();
    for (hit, repeat) in hits.iter().zip(&mut repeats).take(COMPARED) {
        reads.read(&hit.conversation, NodeRange::single(hit.node)).await?;
        let Some(node) = reads.get(&hit.conversation, hit.node) else { continue };
        *repeat = told.is_repeat(&node.message.text());
        corrected.extend(corrects(node).map(|stale| (&hit.conversation, stale)));
    }
    for (hit, repeat) in hits.iter().zip(&mut repeats) {
        *repeat |= corrected.contains(&(&hit.conversation, hit.node));
    }
    Ok(repeats)
}

/// For each hit, false if it repeats the question, or has no content, such as thanks, and does not answer such a
/// repeat.
async fn are_evidence(
    hits: &[Candidate],
    ranked: &[SourceNode],
    found: &[WithHits],
    reads: &mut Reads<'_>,
) -> Result<Vec<bool>, RetrieveError> {
    let mut are_evidence = Vec::with_capacity(hits.len());
    for (hit, (source, node)) in hits.iter().zip(ranked) {
        let of = found.get(*source);
        let is_short = of.and_then(|of| of.outline.get(node.index())).is_some_and(|node| node.tokens <= FEW_TOKENS);
        let mut is_evidence = !hit.repeats_question;
        let answers = hit.signals.iter().any(|signal| signal.name == ANSWERS_QUESTION);
        if is_evidence && is_short && !answers {
            reads.read(&hit.conversation, NodeRange::single(hit.node)).await?;
            let names: Vec<&str> = of.into_iter().flat_map(|of| &of.names).map(|name| &**name).collect();
            let read = reads.get(&hit.conversation, hit.node);
            is_evidence = read.is_none_or(|read| has_content(&read.message.text(), &names));
        }
        are_evidence.push(is_evidence);
    }
    Ok(are_evidence)
}

/// Parts of the messages of some runs that have more than `longest` tokens. Their outlines get the tokens of the parts.
async fn shorten(
    reads: &mut Reads<'_>,
    found: &mut [WithHits],
    runs: &[(usize, NodeRange)],
    asked: &Asked,
    longest: u32,
) -> Result<Cuts, RetrieveError> {
    let mut cuts = Cuts::new();
    for &(source, run) in runs {
        let Some(WithHits { conversation, outline, .. }) = found.get_mut(source) else { continue };
        for node in run.iter() {
            let Some(tokens) = outline.get(node.index()).map(|node| node.tokens).filter(|of| *of > longest) else {
                continue;
            };
            reads.read(conversation, NodeRange::single(node)).await?;
            let Some(read) = reads.get(conversation, node) else { continue };
            let text = read.message.text();
            // Parts may have more tokens in a byte than the whole.
            let bytes_of =
                |tokens_shown: u32| u64::from(tokens_shown) * 10 * text.len() as u64 / (u64::from(tokens) * 11);
            let parts = cut(&text, asked, usize::try_from(bytes_of(longest)).unwrap_or(usize::MAX));
            if parts.is_empty() {
                continue;
            }
            let shown = parts.iter().map(|part| (part.len() + PART_BYTES) as u64).sum::<u64>();
            let price = (shown * u64::from(tokens) * 11).div_ceil(10 * text.len().max(1) as u64);
            if let Some(node) = Arc::make_mut(outline).get_mut(node.index()) {
                node.tokens = u32::try_from(price).unwrap_or(u32::MAX).min(tokens);
            }
            cuts.insert((source, node), parts);
        }
    }
    Ok(cuts)
}

/// Lengths of some nodes in characters, without unreadable nodes.
async fn lengths(
    reads: &mut Reads<'_>,
    found: &[WithHits],
    runs: &[(usize, NodeRange)],
    cuts: &Cuts,
) -> Result<Lengths, RetrieveError> {
    let mut lengths = Lengths::new();
    for &(source, run) in runs {
        let Some(WithHits { conversation, .. }) = found.get(source) else { continue };
        reads.read(conversation, run).await?;
        let length = |text: &str, parts: Option<&Vec<Range<usize>>>| match parts {
            None => text.chars().count(),
            Some(parts) => {
                parts.iter().filter_map(|part| text.get(part.clone())).map(|part| part.chars().count()).sum()
            }
        };
        let nodes = reads.run(conversation, run).map(|node| ((source, node.id), node.message.text()));
        lengths.extend(nodes.map(|(node, text)| (node, length(&text, cuts.get(&node)) as u64)));
    }
    Ok(lengths)
}
