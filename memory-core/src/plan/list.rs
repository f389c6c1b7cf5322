//! Pure decisions about a caller's own list of messages: messages to shorten, messages to remove, place of a summary.
//!
//! The decisions follow the contract of the conversation managers of Strands Agents 1.62, for programs that send whole
//! lists to their model. `docs/strands.md` lists the deliberate differences: the preserved tail is never summarized, a
//! failed summary changes nothing, a ratio out of range is an error, and no summary is paid for that cannot shorten the
//! list.
//!
//! A [`SlidingWindow`] or [`Summarizing`] decides on [`ListItem`]s, the outlines of the messages, and returns a
//! [`ListPlan`]. A [`ListManager`] keeps the state between two decisions.

mod error;
mod item;
mod manager;
mod pins;
mod proactive;
mod shorten;
mod sliding;
mod slots;
mod split;
mod state;
mod summarizing;
#[cfg(test)]
mod testing;

pub use error::{InvalidListConfig, ListError};
pub use item::{ListItem, Listed};
pub use manager::{ListManager, ListStrategy};
pub use pins::kept;
pub use proactive::ProactiveCompression;
pub use shorten::{SHORTENED, shorten_text};
pub use sliding::{PerTurn, SlidingWindow};
pub use slots::{ListPlan, ListSlot};
pub use split::{query_from, split_forward};
pub use state::{Extent, ListState};
pub use summarizing::{RecentMessages, Summarizing};
