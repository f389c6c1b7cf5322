//! The strategies that are compiled in.

use std::sync::Arc;

use memory_core::FirstWords;
use memory_strategies::{Extractive, Rules};

use super::{Origin, PluginCapabilities, PluginInfo, Strategy, StrategyKind};

/// All of them, each with its description.
pub(super) fn all() -> Vec<(PluginInfo, Strategy)> {
    let listed = [
        ("The sentences that say most: decisions, figures, names.", Strategy::Summarizer(Arc::new(Extractive))),
        ("The first eight words of each message.", Strategy::Summarizer(Arc::new(FirstWords))),
        (
            "Words that announce decisions, promises, preferences, errors; figures; code.",
            Strategy::Scorer(Arc::new(Rules)),
        ),
    ];
    listed.into_iter().map(|(description, strategy)| (info(&strategy, description), strategy)).collect()
}

fn info(strategy: &Strategy, description: &str) -> PluginInfo {
    let (kind, identity) = match strategy {
        Strategy::Summarizer(summarizer) => (StrategyKind::Summarizer, summarizer.identity()),
        Strategy::Scorer(scorer) => (StrategyKind::Scorer, scorer.identity()),
    };
    PluginInfo {
        name: identity.strategy,
        version: identity.version,
        kind,
        description: description.to_owned(),
        configuration_schema: None,
        capabilities: PluginCapabilities::default(),
        origin: Origin::BuiltIn,
        digest: None,
    }
}
