//! Semantic retrieval: embeds a small backlog and scores nodes by cosine.

mod embedding;

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    error::Error,
    sync::Arc,
};

use memory_core::{
    ConversationId, ModelId, NodeId, NodeRange,
    port::{
        CachedInMemory, ConversationState, EmbedError, Embedder, Notice, RetrieveError, Source, StoreError,
        TokenEmbedder, TokenIndex, VectorAnswer, VectorError, VectorIndex, VectorPart, VectorQuery,
    },
    text::{ceil_char_boundary, floor_char_boundary},
};

use crate::{
    late::Late,
    lexical::indexed_text,
    nearest::{COMPARED_ALL, Compared},
    ranking::Pool,
    selection::Selection,
    stopwatch::Stopwatch,
};

/// Maximum pieces of text that a query embeds over the whole pool: what a live conversation appends between two
/// questions, some 16,000 tokens, a second or two on two cores.
pub(crate) const MAX_BACKLOG_PIECES: u64 = 64;
/// Bytes of a piece: what a small model takes at once.
pub(crate) const PIECE_BYTES: usize = 1 << 10;

/// Maximum bytes of a question to embed, since a pasted page need not be embedded in full.
pub(crate) const MAX_QUESTION_BYTES: usize = 16 << 10;
pub(crate) const HOW_TO_CATCH_UP: &str = "index the rest first (`memory index` does it)";

/// The embedding model and its indexes, if present.
#[derive(Debug)]
pub(crate) struct Semantic {
    embedder: Option<Arc<dyn Embedder>>,
    index: Option<Arc<dyn VectorIndex>>,
    pub(crate) tokens: Option<Arc<dyn TokenIndex>>,
    /// Maximum nodes of a conversation that is compared exhaustively.
    pub(crate) compared_all: usize,
}

/// A model with an index of the same model id and dimensions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vectors<'a> {
    embedder: &'a dyn Embedder,
    pub(crate) index: &'a dyn VectorIndex,
    tokens: Option<Tokens<'a>>,
}

/// The same model, if it makes token vectors, with a matching token index.
#[derive(Clone, Copy, Debug)]
struct Tokens<'a> {
    embedder: &'a dyn TokenEmbedder,
    index: &'a dyn TokenIndex,
}

/// Semantic scores of the nodes of a pool.
#[derive(Debug)]
pub(crate) struct SemanticScores<'a> {
    /// Cosine of each node; NaN for one without a vector.
    pub(crate) cosines: Vec<f32>,
    /// Notices about missing parts.
    pub(crate) notices: Vec<Notice>,
    /// The late-interaction scorer, if tokens are available.
    pub(crate) late: Option<Late<'a>>,
}

/// Why semantic retrieval is not available.
#[derive(Debug)]
pub(crate) enum SemanticError {
    /// Model or index are missing or do not match; with the reason.
    Missing(String),
    /// The model is unavailable or failed.
    Model(EmbedError),
    /// The index failed. Reads do without it, because it is a cache.
    Index(VectorError),
    /// A failure that also prevents lexical retrieval.
    Failed(RetrieveError),
}

impl SemanticError {
    /// The notice for an answer by words only.
    ///
    /// # Errors
    /// [`Self::Failed`].
    pub(crate) fn notice(self) -> Result<Notice, RetrieveError> {
        match self {
            Self::Failed(error) => Err(error),
            other => Ok(Notice::WordsOnly { why: other.reason() }),
        }
    }

    /// The notice for a request to index everything. Only a missing model or index, and a remote model that does not
    /// answer, become notices.
    ///
    /// # Errors
    /// All other failures.
    pub(crate) fn notice_of_absence(self) -> Result<Notice, RetrieveError> {
        match self {
            Self::Index(failed) => Err(failed.into()),
            Self::Model(failed) if !is_absent(&failed) => Err(failed.into()),
            Self::Model(EmbedError::Unreachable { .. }) => Ok(Notice::NotEmbedded { why: self.reason() }),
            other => other.notice(),
        }
    }

    fn reason(&self) -> String {
        match self {
            Self::Missing(why) => why.clone(),
            Self::Model(EmbedError::Unreachable { model, source }) => format!("{model} cannot be asked: {source}"),
            Self::Model(failed) => in_full(failed),
            Self::Index(failed) => format!("the vector index failed ({failed})"),
            Self::Failed(error) => in_full(error),
        }
    }
}

/// True if the model is absent, so that the failure does not depend on the text.
fn is_absent(error: &EmbedError) -> bool {
    matches!(error, EmbedError::Unavailable { .. } | EmbedError::Unreachable { .. })
}

impl From<EmbedError> for SemanticError {
    fn from(error: EmbedError) -> Self {
        Self::Model(error)
    }
}

impl From<VectorError> for SemanticError {
    fn from(error: VectorError) -> Self {
        Self::Index(error)
    }
}

impl From<StoreError> for SemanticError {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

impl Semantic {
    pub(crate) fn new(embedder: Option<Arc<dyn Embedder>>, index: Option<Arc<dyn VectorIndex>>) -> Self {
        Self { embedder, index, tokens: None, compared_all: COMPARED_ALL }
    }

    /// The embedding model, if one is set up.
    pub(crate) fn model(&self) -> Option<&ModelId> {
        self.embedder.as_deref().map(|embedder| embedder.model())
    }

    /// Memory held by the indexes.
    pub(crate) fn held(&self) -> Vec<CachedInMemory> {
        let vectors = self.index.iter().flat_map(|index| index.held());
        vectors.chain(self.tokens.iter().flat_map(|tokens| tokens.held())).collect()
    }

    pub(crate) fn vectors(&self) -> Result<Vectors<'_>, SemanticError> {
        let missing = |why: &str| SemanticError::Missing(why.to_owned());
        let embedder = self.embedder.as_deref().ok_or_else(|| missing("no embedding model is set up"))?;
        let index = self.index.as_deref().ok_or_else(|| missing("no vector index is set up"))?;
        let (model, dimensions) = (embedder.model(), embedder.dimensions());
        if (model, dimensions) != (index.model(), index.dimensions()) {
            return Err(SemanticError::Missing(format!(
                "the index holds vectors of {} with {} dimensions, the embedding model is {model} with {dimensions}",
                index.model(),
                index.dimensions(),
            )));
        }
        Ok(Vectors { embedder, index, tokens: self.tokens(embedder) })
    }

    /// Token vectors, if the model makes them and the index matches.
    fn tokens<'a>(&'a self, embedder: &'a dyn Embedder) -> Option<Tokens<'a>> {
        let (index, model) = (self.tokens.as_deref()?, embedder.model());
        let embedder = embedder.with_tokens()?;
        let fits = (model, embedder.token_dimensions()) == (index.model(), index.dimensions());
        fits.then_some(Tokens { embedder, index })
    }

    pub(crate) async fn ask<'a>(
        &'a self,
        source: &'a dyn Source,
        question: &str,
        stopwatch: &mut Stopwatch,
    ) -> Result<Asked<'a>, SemanticError> {
        let vectors = self.vectors()?;
        let (question, late) = vectors.question(source, &ends_of(question)).await?;
        stopwatch.end("embed", 0);
        Ok(Asked { vectors, question, late, compared_all: self.compared_all })
    }
}

#[derive(Debug)]
pub(crate) struct Asked<'a> {
    vectors: Vectors<'a>,
    question: Vec<f32>,
    late: Option<Late<'a>>,
    compared_all: usize,
}

/// Messages of a scope outside of its pool: how many there are, and how many have vectors.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OutsidePool {
    pub(crate) messages: usize,
    pub(crate) embedded: usize,
}

impl<'a> Asked<'a> {
    /// Nearest vectors in several conversations, and how many of their messages have vectors.
    pub(crate) async fn nearest(
        &self,
        states: &[ConversationState],
        limit: usize,
    ) -> Result<(VectorAnswer, Vec<u64>), VectorError> {
        let parts: Vec<_> = states.iter().map(|state| VectorPart::new(&state.id)).collect();
        let answer = self.vectors.index.search(&VectorQuery::new(&self.question, limit, &parts)).await?;
        Ok((answer, states.iter().map(|state| self.vectors.through(&state.id).min(state.nodes)).collect()))
    }

    /// Scores each node of a pool by its cosine with the question.
    ///
    /// First embeds a small backlog of at most [`MAX_BACKLOG_PIECES`] over the whole pool. A
    /// larger backlog is not embedded at all, so that no query takes long.
    ///
    /// In a large conversation only the nodes that the index finds and the best by `words` are compared; `words` has
    /// one score per node of the pool, or is empty.
    pub(crate) async fn meaning(
        self,
        source: &dyn Source,
        pool: &Pool,
        selection: &Selection,
        words: &[f32],
        beyond: OutsidePool,
        stopwatch: &mut Stopwatch,
    ) -> Result<SemanticScores<'a>, SemanticError> {
        let Self { vectors, question, mut late, compared_all } = self;
        if let Some(late) = &mut late {
            let hidden = pool.parts().iter().map(|part| {
                let hidden = part.indexed.read().hidden().iter().copied().map(NodeId::from_index).collect();
                (part.conversation.clone(), hidden)
            });
            late.hidden = hidden.collect();
        }
        let embeds = vectors.is_backlog_small(source, pool).await?;
        let (mut cosines, mut ways, mut notices) = (Vec::new(), BTreeMap::new(), Vec::new());
        let mut is_all_tried = beyond.embedded == beyond.messages;
        for part in pool.parts() {
            let (conversation, last) = (&part.conversation, part.nodes as u64);
            if embeds {
                for notice in vectors.catch_up_for_question(source, conversation, &part.indexed, last).await? {
                    push_new(&mut notices, notice);
                }
            }
            is_all_tried &= vectors.through(conversation) >= last;
            let (index, conversation, nodes) = (vectors.index, &part.conversation, part.nodes);
            let compared = Compared { index, conversation, question: &question, nodes };
            let (mut of_part, of_index) = if nodes <= compared_all {
                compared.all().await?
            } else {
                let places = part.places();
                let may_answer = |index: usize| selection.admits(places.start + index);
                let words = words.get(places.clone()).unwrap_or_default();
                compared.nearest(words, (!selection.is_all()).then_some(may_answer)).await?
            };
            // A node may have been lost since it was embedded, and a disabled one keeps its vectors.
            let lost = part.losses.runs().iter().flat_map(|run| run.iter()).map(NodeId::index);
            for unheard in lost.chain(part.indexed.read().hidden().iter().copied()) {
                if let Some(cosine) = of_part.get_mut(unheard) {
                    *cosine = f32::NAN;
                }
            }
            cosines.extend(of_part);
            ways.insert(conversation.clone(), of_index);
        }
        let in_pool = cosines.iter().filter(|cosine| !cosine.is_nan()).count();
        let (all, scored) = (pool.readable() + beyond.messages, in_pool + beyond.embedded);
        if scored == 0 && all > 0 {
            let why = notices.pop().map_or_else(|| format!("; {HOW_TO_CATCH_UP}"), |why| format!(": {why}"));
            return Err(SemanticError::Missing(format!("none of the {all} messages is embedded{why}")));
        }
        stopwatch.end_compared("vectors", in_pool, ways);
        if scored < all && notices.is_empty() {
            let why = if is_all_tried { "the others have no vector" } else { HOW_TO_CATCH_UP }.to_owned();
            notices.push(Notice::PartlyEmbedded { embedded: scored, messages: all, why });
        }
        Ok(SemanticScores { notices, cosines, late })
    }
}

impl<'a> Vectors<'a> {
    /// Last node with vectors.
    pub(crate) fn through(&self, conversation: &ConversationId) -> u64 {
        self.index.stats(conversation).through
    }

    /// Last node with vectors, and with token vectors if there is an index for them.
    pub(crate) fn all_through(&self, conversation: &ConversationId) -> u64 {
        let tokens = self.tokens.map(|tokens| tokens.index.stats(conversation).through);
        self.through(conversation).min(tokens.unwrap_or(u64::MAX))
    }

    /// Vector of a question, with its late-interaction scorer.
    async fn question(&self, source: &'a dyn Source, text: &str) -> Result<(Vec<f32>, Option<Late<'a>>), EmbedError> {
        let Some(Tokens { embedder, index }) = self.tokens else {
            return Ok((self.embedder.embed_query(text).await?, None));
        };
        let question = embedder.embed_query_with_tokens(text).await?;
        Ok((question.whole, Some(Late { question: question.tokens, index, embedder, source, hidden: HashMap::new() })))
    }

    /// True if the backlog is within the limits of a query. Reads only as much text as needed to decide.
    async fn is_backlog_small(&self, source: &dyn Source, pool: &Pool) -> Result<bool, StoreError> {
        let begins: Vec<_> = pool.parts().iter().map(|part| (part, self.through(&part.conversation))).collect();
        let nodes: u64 = begins.iter().map(|(part, through)| (part.nodes as u64).saturating_sub(*through)).sum();
        // Each node is at least one piece.
        if nodes > MAX_BACKLOG_PIECES {
            return Ok(false);
        }
        let mut pieces = 0;
        for (part, through) in begins {
            for node in (through + 1..=part.nodes as u64).filter_map(NodeId::new) {
                let read = source.whole_nodes(&part.conversation, NodeRange::single(node)).await?;
                let texts = read.nodes.iter().filter(|node| !node.is_erased).map(|node| indexed_text(&node.message));
                pieces += texts.map(|text| text.len().div_ceil(PIECE_BYTES) as u64).sum::<u64>();
                if pieces > MAX_BACKLOG_PIECES {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

/// The question, or both ends of one longer than [`MAX_QUESTION_BYTES`], because the actual question precedes or
/// follows pasted text.
pub(crate) fn ends_of(question: &str) -> Cow<'_, str> {
    if question.len() <= MAX_QUESTION_BYTES {
        return Cow::Borrowed(question);
    }
    let half = MAX_QUESTION_BYTES / 2;
    let (first, rest) = question.split_at(floor_char_boundary(question, half));
    let (_, last) = rest.split_at(ceil_char_boundary(rest, rest.len() - half + 1));
    Cow::Owned(format!("{first}\n{last}"))
}

/// Adds a notice if it is new.
pub(crate) fn push_new(notices: &mut Vec<Notice>, notice: Notice) {
    if !notices.contains(&notice) {
        notices.push(notice);
    }
}

/// An error and its causes, on one line.
pub(crate) fn in_full(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        line = format!("{line}: {cause}");
        source = cause.source();
    }
    line
}
