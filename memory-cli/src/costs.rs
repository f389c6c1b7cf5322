//! Costs of a conversation, shown as it is and in other ways.

mod alternatives;
mod prices;

pub use alternatives::Alternatives;
pub use prices::Prices;
