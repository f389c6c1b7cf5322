//! Managers of the summary tree by name, configured in JSON.

use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::{
    EverythingView, HierarchicalView, SelectedView, SlidingWindowView, SummarizingView, TieredView,
    selected::SelectedSettings,
};
use crate::{
    plan::{InvalidThresholds, Thresholds, list::InvalidListConfig},
    port::ContextStrategy,
};

/// Names of the managers, the default first.
pub const MANAGERS: [&str; 9] = [
    "hierarchical",
    "none",
    "sliding-window",
    "summarizing",
    "semantic-summarizing",
    "tiered",
    "importance-window",
    "query-aware",
    "knowledge",
];

/// Reason why a manager cannot be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManagerNameError {
    /// No manager has this name.
    #[error("no manager is called `{name}`; there are {}", MANAGERS.join(", "))]
    Unknown {
        /// The name.
        name: String,
    },
    /// The settings cannot be parsed.
    #[error("the settings of the manager `{name}`: {why}")]
    Settings {
        /// The manager.
        name: String,
        /// The fault.
        why: String,
    },
    /// The thresholds contradict each other.
    #[error("the settings of the manager `{name}`")]
    Thresholds {
        /// The manager.
        name: String,
        /// The contradiction.
        #[source]
        source: InvalidThresholds,
    },
    /// The ratio is out of range.
    #[error("the settings of the manager `{name}`")]
    Ratio {
        /// The manager.
        name: String,
        /// The ratio.
        #[source]
        source: InvalidListConfig,
    },
}

/// Creates the manager of a name. `settings` is a JSON object with fields of the manager's type; `{}` for the defaults.
///
/// # Errors
/// [`ManagerNameError`]: an unknown name, an unknown field, or a value out of range.
pub fn strategy_named(name: &str, settings: &str) -> Result<Arc<dyn ContextStrategy>, ManagerNameError> {
    let summarizing = |is_semantic: bool| {
        let view: SummarizingView = read(name, settings)?;
        view.check().map_err(|source| ManagerNameError::Ratio { name: name.to_owned(), source })?;
        Ok::<_, ManagerNameError>(view.is_semantic(is_semantic))
    };
    let checked = |thresholds: Thresholds| {
        thresholds.check().map_err(|source| ManagerNameError::Thresholds { name: name.to_owned(), source })
    };
    let selected = |view: SelectedView| {
        let settings: SelectedSettings = read(name, settings)?;
        checked(settings.thresholds)?;
        view.configured(settings).map_err(|why| ManagerNameError::Settings { name: name.to_owned(), why })
    };
    Ok(match name {
        "hierarchical" => {
            let view: HierarchicalView = read(name, settings)?;
            checked(view.thresholds)?;
            Arc::new(view)
        }
        "none" => Arc::new(read::<EverythingView>(name, settings)?),
        "sliding-window" => Arc::new(read::<SlidingWindowView>(name, settings)?),
        "summarizing" => Arc::new(summarizing(false)?),
        "semantic-summarizing" => Arc::new(summarizing(true)?),
        "tiered" => {
            let view: TieredView = read(name, settings)?;
            checked(view.thresholds())?;
            Arc::new(view)
        }
        "importance-window" => Arc::new(selected(SelectedView::importance_window())?),
        "query-aware" => Arc::new(selected(SelectedView::query_aware())?),
        "knowledge" => Arc::new(selected(SelectedView::knowledge())?),
        name => return Err(ManagerNameError::Unknown { name: name.to_owned() }),
    })
}

fn read<T: DeserializeOwned>(name: &str, settings: &str) -> Result<T, ManagerNameError> {
    let settings = if settings.trim().is_empty() { "{}" } else { settings };
    serde_json::from_str(settings)
        .map_err(|error| ManagerNameError::Settings { name: name.to_owned(), why: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_makes_the_manager_of_that_name() {
        for name in MANAGERS {
            assert_eq!(strategy_named(name, "{}").unwrap().identity().strategy, name);
        }
        let unknown = strategy_named("window", "").unwrap_err().to_string();
        assert!(unknown.contains("sliding-window"), "{unknown}");
    }

    #[test]
    fn settings_out_of_range_and_unknown_members_are_errors() {
        let check = |name, settings, ok: bool| assert_eq!(strategy_named(name, settings).is_ok(), ok, "{settings}");
        check("summarizing", r#"{"summary_ratio": 0.8}"#, true);
        check("summarizing", r#"{"summary_ratio": 0.9}"#, false);
        check("summarizing", r#"{"summary_ratio": "much"}"#, false);
        check("sliding-window", r#"{"window_size": 12, "pin_first": 2}"#, true);
        check("sliding-window", r#"{"window_size": -1}"#, false);
        check("sliding-window", r#"{"window": 12}"#, false);
        check("tiered", r#"{"immediate": 4, "shares": {"working": 0.6}}"#, true);
        check("hierarchical", r#"{"thresholds": {"recent_node_limit": 30}}"#, false);
        check("none", "[1]", false);
        check("knowledge", r#"{"tail": 0.1, "share": 1.0}"#, true);
        check("query-aware", r#"{"share": 1.1}"#, false);
        assert_eq!(SummarizingView::default().summary_ratio(0.95).clamped().summary_ratio, 0.8);
    }
}
