//! Which models there are and where their files lie.

mod catalog;
mod error;
mod store;

pub use catalog::{ALL_MINILM_L6_V2, Package, PinnedFile, PinnedModel, Platform};
pub use error::ModelError;
pub use store::{MODELS_VARIABLE, ModelFiles, ModelStore};
