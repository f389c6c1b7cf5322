//! Pure decisions over the summary tree: which summaries to write, and what a view shows.

mod check;
mod chunks;
mod compaction;
mod cut;
pub mod list;
mod policy;
mod profile;
mod runs;
#[cfg(test)]
mod testing;
mod tree;
mod turns;
mod view;

pub use check::check_summary;
pub use compaction::{
    Compaction, InvalidThresholds, Merge, Thresholds, plan_compaction, plan_merge_before_end, plan_ratio, plan_shrink,
    plan_shrink_before_end,
};
pub use cut::{Cut, CutPiece, PlanError};
pub use policy::ViewPolicy;
pub use tree::Tree;
pub use turns::turns;
pub use view::{
    EverythingView, HierarchicalView, MANAGERS, ManagerNameError, SelectedView, SlidingWindowView, SummarizingView,
    TierShares, TieredView, coarsest, plan_view, strategy_named,
};
