//! Strategies that are compiled in.

use std::{fmt, sync::Arc};

use memory_core::{FirstWords, ImportanceScorer, Summarizer, WrittenBy};
use memory_strategies::{
    Blend, Extractive, InvalidConfiguration, KeywordDigest, Novelty, RecencyAndUse, Rules, Spans, ThemeMerger,
};

use super::{Origin, PluginCapabilities, PluginInfo, StrategyKind};
use crate::{embedded::Embedded, options::PluginOptions};

/// Creates a scorer from a configuration that its schema allows.
type MakeScorer = fn(&str, &PluginOptions) -> Result<Arc<dyn ImportanceScorer>, InvalidConfiguration>;

/// A built-in strategy.
#[derive(Clone)]
pub(super) enum BuiltIn {
    /// Takes no configuration.
    Summarizer(Arc<dyn Summarizer>),
    /// Created when it is chosen.
    Scorer(MakeScorer),
}

impl fmt::Debug for BuiltIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Summarizer(summarizer) => summarizer.fmt(f),
            Self::Scorer(_) => f.write_str("Scorer"),
        }
    }
}

/// All built-in strategies, each with its description.
pub(super) fn all() -> Vec<(PluginInfo, BuiltIn)> {
    let summarizers: [(&str, Arc<dyn Summarizer>); 5] = [
        ("The sentences that say most, and keywords of the rest; of summaries as themes.", Arc::new(Extractive)),
        ("The first eight words of each message.", Arc::new(FirstWords)),
        ("Names, figures and rare words, as many as fit.", Arc::new(KeywordDigest)),
        ("Clauses and phrases cut out whole, with the speaker and a sign for each gap.", Arc::new(Spans)),
        ("Topics, what was said, decided and left open, and keywords of the rest.", Arc::new(ThemeMerger)),
    ];
    let summarizers = summarizers.into_iter().map(|(description, summarizer)| {
        let info = info(summarizer.identity(), StrategyKind::Summarizer, description);
        (info, BuiltIn::Summarizer(summarizer))
    });
    summarizers.chain(scorers()).collect()
}

fn scorers() -> [(PluginInfo, BuiltIn); 4] {
    let scorer = |name: &str, description: &str| {
        // All scorers of this crate are at version 1.
        info(WrittenBy::new(name, "1"), StrategyKind::Scorer, description)
    };
    let embeddings = PluginCapabilities { embeddings: true, ..PluginCapabilities::default() };
    [
        (
            scorer("rules", "Words that announce decisions, promises, preferences, errors; figures; code."),
            BuiltIn::Scorer(|_, _| Ok(Arc::new(Rules))),
        ),
        (
            PluginInfo {
                capabilities: embeddings,
                ..scorer("novelty", "What was not said before, by embeddings where there is a model, or by words.")
            },
            BuiltIn::Scorer(|_, options| Ok(Embedded::around(Arc::new(Novelty), options))),
        ),
        (
            PluginInfo {
                configuration_schema: Some(RecencyAndUse::SCHEMA.to_owned()),
                ..scorer("recency-and-use", "Age, which halves again and again, and how often a message was recalled.")
            },
            BuiltIn::Scorer(|configuration, _| Ok(Arc::new(RecencyAndUse::from_configuration(configuration)?))),
        ),
        (
            PluginInfo {
                configuration_schema: Some(Blend::SCHEMA.to_owned()),
                capabilities: embeddings,
                ..scorer("blend", "Rules, novelty, recency and use, each with a weight.")
            },
            BuiltIn::Scorer(|configuration, options| {
                Ok(Embedded::around(Arc::new(Blend::from_configuration(configuration)?), options))
            }),
        ),
    ]
}

fn info(identity: WrittenBy, kind: StrategyKind, description: &str) -> PluginInfo {
    PluginInfo {
        name: identity.strategy,
        version: identity.version,
        kind,
        description: description.to_owned(),
        configuration_schema: None,
        capabilities: PluginCapabilities::default(),
        origin: Origin::BuiltIn,
        sha256: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_listed_as_what_it_calls_itself() {
        for (info, built_in) in all() {
            let identity = match built_in {
                BuiltIn::Summarizer(summarizer) => summarizer.identity(),
                BuiltIn::Scorer(make) => make("", &PluginOptions::default()).unwrap().identity(),
            };
            assert_eq!((info.name, info.version), (identity.strategy, identity.version));
        }
    }
}
