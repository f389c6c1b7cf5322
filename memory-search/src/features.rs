//! The features of a candidate node that the ranker weighs.

use crate::{
    late::LateScores,
    lexical::{NodeTable, Talk, Traits},
    question::Question,
};

/// Defines the features with their names.
macro_rules! features {
    ($($(#[doc = $doc:literal])* $feature:ident => $name:literal,)*) => {
        /// A feature. Most are min-max normalized to 0..=1 over the whole pool, so that they are comparable between
        /// conversations.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub(crate) enum Feature {
            $($(#[doc = $doc])* $feature,)*
        }

        impl Feature {
            /// All features, in column order.
            pub(crate) const ALL: [Self; [$($name),*].len()] = [$(Self::$feature),*];

            /// Name among the signals of a hit.
            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $(Self::$feature => $name,)*
                }
            }
        }
    };
}

features! {
    /// BM25 with parameters for short turns.
    Chat => "words",
    /// BM25 with parameters for long turns.
    Agent => "words_long",
    /// BM25 of the node together with its neighbours.
    Window => "words_window",
    /// BM25 of the previous node, and of the next one.
    ChatBefore => "words_before",
    ChatAfter => "words_after",
    /// Mean BM25 of the three best nodes of the session.
    ChatSession => "words_session",
    /// Mean BM25 of the node and its neighbours, up to three on either side, and up to eight.
    ChatNear => "words_near",
    ChatAround => "words_around",
    /// Mean window BM25 of the three best nodes of the conversation.
    WindowConversation => "words_conversation",
    /// Share of the question's terms, weighted by rarity, in the node, and in the node with its neighbours.
    Coverage => "coverage",
    CoverageWindow => "coverage_window",
    /// Cosine of question and node.
    Cosine => "cosine",
    /// [`Self::Cosine`] plus 0.5 of the previous node's and 0.3 of the next node's.
    CosineSmoothed => "cosine_smoothed",
    CosineBefore => "cosine_before",
    CosineAfter => "cosine_after",
    CosineSession => "cosine_session",
    CosineNear => "cosine_near",
    CosineAround => "cosine_around",
    CosineConversation => "cosine_conversation",
    /// Late-interaction score of the node, and of the previous and next nodes.
    Late => "late",
    LateBefore => "late_before",
    LateAfter => "late_after",
    /// Mean of the three best such scores of the session.
    LateSession => "late_session",
    /// Among people: the question names one speaker, and the node is by that speaker, or by another.
    SpeakerNamed => "speaker_named",
    SpeakerOther => "speaker_other",
    /// With an agent: the user speaks.
    ByUser => "by_user",
    /// With an agent: the user speaks, and the question is in the first person.
    ByUserOfSelf => "by_user_of_self",
    /// With an agent: the agent speaks, and the question asks what the agent said.
    ByAgentAskedBack => "by_agent_asked_back",
    /// The user gives an instruction for the future, or states a preference.
    IsStanding => "is_standing",
    IsPreference => "is_preference",
    /// The conversation is with an agent, or among more than two people: an offset that makes scores of different kinds
    /// of conversation comparable.
    OfAgent => "of_agent",
    OfGroup => "of_group",
    /// The node ends in a question.
    IsQuestion => "is_question",
    /// Logarithm of the node's length in terms, and those of the previous and next nodes. Short neighbours are typical
    /// of an answer.
    Length => "length",
    LengthBefore => "length_before",
    LengthAfter => "length_after",
    /// The question asks when, and the node mentions times.
    TellsTime => "tells_time",
    /// Match between the node's timestamp and the dates in the question.
    Date => "date",
}

impl Feature {
    pub(crate) const fn is_of_meaning(self) -> bool {
        matches!(
            self,
            Self::Cosine
                | Self::CosineSmoothed
                | Self::CosineBefore
                | Self::CosineAfter
                | Self::CosineSession
                | Self::CosineNear
                | Self::CosineAround
                | Self::CosineConversation
        ) || self.is_late()
    }

    /// True for features of token vectors.
    pub(crate) const fn is_late(self) -> bool {
        matches!(self, Self::Late | Self::LateBefore | Self::LateAfter | Self::LateSession)
    }
}

pub(crate) type Features = [f32; Feature::ALL.len()];

/// Radius in nodes of the means over near nodes and over surrounding nodes.
const NEAR: usize = 3;
pub(crate) const AROUND: usize = 8;

/// Terms at which the length feature saturates.
const LONGEST: u32 = 400;

/// Raw scores of every node of a pool. All vectors have this length or are empty.
#[derive(Debug, Default)]
pub(crate) struct Evidence {
    pub(crate) chat: Vec<f32>,
    pub(crate) agent: Vec<f32>,
    pub(crate) window: Vec<f32>,
    pub(crate) coverage: Vec<f32>,
    pub(crate) coverage_window: Vec<f32>,
    /// NaN for a node without a vector; empty if no node has one.
    pub(crate) cosine: Vec<f32>,
    /// Means of `chat` and of `cosine` [around](around) each node, up to [`AROUND`]; empty if these are.
    pub(crate) chat_around: Vec<f32>,
    pub(crate) cosine_around: Vec<f32>,
    /// Match of each node's time with the question's, 0..=1; empty if the question names no time.
    pub(crate) date: Vec<f32>,
    /// Share of the question's weight in terms that some node contains, 0..=1.
    pub(crate) heard: f32,
}

/// Position of a node: its pool index and its neighbours in the session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placement {
    pub(crate) index: usize,
    pub(crate) before: Option<usize>,
    pub(crate) after: Option<usize>,
    /// Its session, numbered across the pool.
    pub(crate) session: usize,
    /// Number of its conversation among the pool's parts.
    pub(crate) part: usize,
    /// Its number of terms without stop words.
    pub(crate) length: u32,
}

#[derive(Debug)]
pub(crate) struct Extractor<'a> {
    evidence: &'a Evidence,
    question: &'a Question,
    placements: &'a [Placement],
    chat: Scale,
    agent: Scale,
    window: Scale,
    cosine: Scale,
    smoothed: Scale,
    chat_sessions: Vec<f32>,
    cosine_sessions: Vec<f32>,
    window_conversations: Vec<f32>,
    cosine_conversations: Vec<f32>,
    chat_near: Vec<f32>,
    chat_around: Vec<f32>,
    cosine_near: Vec<f32>,
    cosine_around: Vec<f32>,
}

/// The values that are mapped to 0 and to 1.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scale {
    /// Lowest value; 0 if all values are equal.
    pub(crate) low: f32,
    width: f32,
}

impl Scale {
    pub(crate) fn of(values: impl Iterator<Item = f32>) -> Self {
        let (low, high) = values
            .filter(|value| !value.is_nan())
            .fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        if high > low { Self { low, width: high - low } } else { Self { low: 0.0, width: 0.0 } }
    }

    fn place(self, value: f32) -> f32 {
        if value.is_nan() || self.width > 0.0 { ((value - self.low) / self.width).clamp(0.0, 1.0) } else { 0.0 }
    }
}

impl<'a> Extractor<'a> {
    /// Computes the scales. `placements` has all nodes in order.
    pub(crate) fn new(evidence: &'a Evidence, question: &'a Question, placements: &'a [Placement]) -> Self {
        let scale = |values: &[f32]| Scale::of(values.iter().copied());
        let (chat, cosine) = (scale(&evidence.chat), scale(&evidence.cosine));
        let mut extractor = Self {
            chat,
            cosine,
            agent: scale(&evidence.agent),
            window: scale(&evidence.window),
            smoothed: Scale::default(),
            chat_sessions: stretched(best_of(placements, |at| at.session, &evidence.chat)),
            cosine_sessions: stretched(best_of(placements, |at| at.session, &evidence.cosine)),
            window_conversations: stretched(best_of(placements, |at| at.part, &evidence.window)),
            cosine_conversations: stretched(best_of(placements, |at| at.part, &evidence.cosine)),
            chat_near: stretched(around(placements, &evidence.chat, NEAR)),
            chat_around: stretched(evidence.chat_around.clone()),
            cosine_near: stretched(around(placements, &evidence.cosine, NEAR)),
            cosine_around: stretched(evidence.cosine_around.clone()),
            evidence,
            question,
            placements,
        };
        extractor.smoothed = Scale::of(placements.iter().map(|placement| extractor.smoothed(*placement)));
        extractor
    }

    /// Features of a node. `named` is the speaker of its conversation whom the question names. A feature is NaN if it
    /// needs a vector and the node has none, and 0 if it does not apply to the kind of conversation.
    pub(crate) fn features(
        &self,
        placement: Placement,
        traits: &Traits,
        table: &NodeTable,
        named: Option<u32>,
    ) -> Features {
        let Self { evidence, question, .. } = self;
        let at = |values: &[f32], index: Option<usize>| index.and_then(|index| values.get(index)).copied();
        let here = |values: &[f32]| at(values, Some(placement.index)).unwrap_or_default();
        let beside = |scale: Scale, values: &[f32], index| {
            if values.is_empty() { f32::NAN } else { scale.place(at(values, index).unwrap_or(scale.low)) }
        };
        let length_of = |index: Option<usize>| {
            index.and_then(|index| self.placements.get(index)).map_or(0.0, |beside| length(beside.length))
        };
        let yes = |is: bool| f32::from(u8::from(is));
        let talk = table.talk();
        let with_agent = |is: bool| yes(is && talk == Talk::Agent);
        let of_people = |is: bool| yes(is && talk != Talk::Agent);
        let cosine = at(&evidence.cosine, Some(placement.index)).unwrap_or(f32::NAN);
        Feature::ALL.map(|feature| match feature {
            Feature::Chat => self.chat.place(here(&evidence.chat)),
            Feature::Agent => self.agent.place(here(&evidence.agent)),
            Feature::Window => self.window.place(here(&evidence.window)),
            Feature::ChatBefore => beside(self.chat, &evidence.chat, placement.before),
            Feature::ChatAfter => beside(self.chat, &evidence.chat, placement.after),
            Feature::ChatSession => at(&self.chat_sessions, Some(placement.session)).unwrap_or_default(),
            Feature::ChatNear => here(&self.chat_near),
            Feature::ChatAround => here(&self.chat_around),
            Feature::WindowConversation => at(&self.window_conversations, Some(placement.part)).unwrap_or_default(),
            Feature::Coverage => here(&evidence.coverage),
            Feature::CoverageWindow => here(&evidence.coverage_window),
            Feature::Cosine => self.cosine.place(cosine),
            Feature::CosineSmoothed => self.smoothed.place(self.smoothed(placement)),
            Feature::CosineBefore => beside(self.cosine, &evidence.cosine, placement.before),
            Feature::CosineAfter => beside(self.cosine, &evidence.cosine, placement.after),
            Feature::CosineSession => at(&self.cosine_sessions, Some(placement.session)).unwrap_or(f32::NAN),
            Feature::CosineNear => at(&self.cosine_near, Some(placement.index)).unwrap_or(f32::NAN),
            Feature::CosineAround => at(&self.cosine_around, Some(placement.index)).unwrap_or(f32::NAN),
            Feature::CosineConversation => at(&self.cosine_conversations, Some(placement.part)).unwrap_or(f32::NAN),
            Feature::Late | Feature::LateBefore | Feature::LateAfter | Feature::LateSession => f32::NAN,
            Feature::SpeakerNamed => of_people(named.is_some_and(|named| named == traits.speaker)),
            Feature::SpeakerOther => of_people(named.is_some_and(|named| named != traits.speaker)),
            Feature::ByUser => with_agent(traits.by_user),
            Feature::ByUserOfSelf => with_agent(traits.by_user && question.speaks_of_self),
            Feature::ByAgentAskedBack => with_agent(!traits.by_user && question.asks_back),
            Feature::IsStanding => yes(traits.is_standing),
            Feature::IsPreference => yes(traits.is_preference),
            Feature::OfAgent => yes(talk == Talk::Agent),
            Feature::OfGroup => yes(talk == Talk::Group),
            Feature::IsQuestion => yes(traits.is_question),
            Feature::Length => length(placement.length),
            Feature::LengthBefore => length_of(placement.before),
            Feature::LengthAfter => length_of(placement.after),
            Feature::TellsTime => yes(question.asks_when && traits.tells_time),
            Feature::Date => here(&evidence.date),
        })
    }

    /// Late score of each session; nodes that were not compared count as 0.
    pub(crate) fn late_sessions(placements: &[Placement], late: &LateScores) -> Vec<f32> {
        stretched(best_of(placements, |at| at.session, &late.all(placements.len())))
    }

    /// Adds the late features of a compared node. A missing neighbour counts as 0.
    pub(crate) fn add_late(features: &mut Features, placement: Placement, late: &LateScores, sessions: &[f32]) {
        let beside = |place: Option<usize>| place.map_or(0.0, |place| late.at(place));
        for (feature, value) in Feature::ALL.iter().zip(features) {
            match feature {
                Feature::Late => *value = late.at(placement.index),
                Feature::LateBefore => *value = beside(placement.before),
                Feature::LateAfter => *value = beside(placement.after),
                Feature::LateSession => *value = sessions.get(placement.session).copied().unwrap_or_default(),
                _ => {}
            }
        }
    }

    /// Cosine of a node plus shares of its neighbours' cosines; NaN if the node has none. A neighbour without a cosine
    /// counts as the lowest of all.
    fn smoothed(&self, placement: Placement) -> f32 {
        let cosine = |index: Option<usize>| {
            let cosine = index.and_then(|index| self.evidence.cosine.get(index)).copied();
            cosine.filter(|cosine| !cosine.is_nan()).unwrap_or(self.cosine.low)
        };
        let here = self.evidence.cosine.get(placement.index).copied().unwrap_or(f32::NAN);
        here + 0.5 * cosine(placement.before) + 0.3 * cosine(placement.after)
    }
}

/// Logarithm of a length relative to that of [`LONGEST`], in 0..=1.
#[expect(clippy::cast_precision_loss, reason = "at most LONGEST")]
fn length(terms: u32) -> f32 {
    (terms.min(LONGEST) as f32).ln_1p() / (LONGEST as f32).ln_1p()
}

/// Mean of the three best values of each group of nodes (session or conversation); groups are numbered in order.
fn best_of(placements: &[Placement], group: impl Fn(&Placement) -> usize, values: &[f32]) -> Vec<f32> {
    let count = placements.last().map_or(0, |last| group(last) + 1);
    let mut best = vec![[f32::NAN; 3]; if values.is_empty() { 0 } else { count }];
    for (placement, &value) in placements.iter().zip(values) {
        let Some(best) = best.get_mut(group(placement)) else { continue };
        let mut value = value;
        for place in best.iter_mut() {
            if place.is_nan() || value > *place {
                std::mem::swap(place, &mut value);
            }
        }
    }
    let mean = |best: [f32; 3]| {
        let known = best.iter().filter(|value| !value.is_nan());
        let (sum, count) = known.fold((0.0, 0.0f32), |(sum, count), value| (sum + value, count + 1.0));
        if count > 0.0 { sum / count } else { f32::NAN }
    };
    best.into_iter().map(mean).collect()
}

/// For each node, the mean over the node and its neighbours in the session, up to `radius` on either side; missing
/// neighbours and NaN count as 0. The node itself is included, since otherwise a node next to the only one with a word
/// would rank above that one.
pub(crate) fn around(placements: &[Placement], values: &[f32], radius: usize) -> Vec<f32> {
    if values.is_empty() {
        return Vec::new();
    }
    let value = |at: usize| f64::from(values.get(at).copied().filter(|value| !value.is_nan()).unwrap_or_default());
    let mut sums = Vec::with_capacity(placements.len());
    let (mut begin, mut nodes) = (0, placements);
    while let Some(first) = nodes.first() {
        let (session, rest) = nodes.split_at(nodes.partition_point(|node| node.session <= first.session));
        let end = begin + session.len();
        // A sliding window updates the sum.
        let mut sum: f64 = (begin..end.min(begin + radius)).map(value).sum();
        for at in begin..end {
            sum += if at + radius < end { value(at + radius) } else { 0.0 };
            sum -= if at > begin + radius { value(at - radius - 1) } else { 0.0 };
            #[expect(clippy::cast_possible_truncation, reason = "a mean of values of this size")]
            #[expect(clippy::cast_precision_loss, reason = "a radius is small")]
            sums.push((sum / (2 * radius + 1) as f64) as f32);
        }
        (begin, nodes) = (end, rest);
    }
    sums
}

fn stretched(values: Vec<f32>) -> Vec<f32> {
    let scale = Scale::of(values.iter().copied());
    values.into_iter().map(|value| if value.is_nan() { 0.0 } else { scale.place(value) }).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_around_is_what_is_in_reach_in_the_session(
            nodes in prop::collection::vec((any::<bool>(), -9.0f32..9.0), 0..60),
            radius in 1usize..9,
        ) {
            let mut session = 0;
            let placements: Vec<_> = nodes.iter().enumerate().map(|(index, (begins, _))| {
                session += usize::from(*begins && index > 0);
                Placement { index, before: None, after: None, session, part: 0, length: 0 }
            }).collect();
            let values: Vec<_> = nodes.iter().map(|(_, value)| *value).collect();
            let found = around(&placements, &values, radius);
            prop_assert_eq!(found.len(), values.len());
            for (here, found) in placements.iter().zip(found) {
                let near = placements.iter().filter(|other| {
                    other.session == here.session && other.index.abs_diff(here.index) <= radius
                });
                let expected = near.map(|other| values[other.index]).sum::<f32>() / (2 * radius + 1) as f32;
                prop_assert!((found - expected).abs() < 1e-4, "{} is not {}", found, expected);
            }
        }
    }
}
