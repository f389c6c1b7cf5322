//! The commands, one per file.

pub(crate) mod add;
pub(crate) mod append;
#[cfg(feature = "chat")]
pub(crate) mod ask;
pub(crate) mod backup;
pub(crate) mod bridge;
pub(crate) mod browse;
#[cfg(feature = "chat")]
pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod context;
pub(crate) mod demo;
pub(crate) mod disable;
pub(crate) mod doctor;
pub(crate) mod encrypt;
pub(crate) mod erase;
pub(crate) mod expand;
pub(crate) mod export;
pub(crate) mod facts;
pub(crate) mod find;
pub(crate) mod fork;
pub(crate) mod hook;
pub(crate) mod import;
pub(crate) mod index;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod mark;
#[cfg(feature = "mcp")]
pub(crate) mod mcp;
pub(crate) mod model;
pub(crate) mod pin;
pub(crate) mod plugins;
pub(crate) mod prove;
pub(crate) mod quarantine;
pub(crate) mod receipt;
pub(crate) mod replay;
pub(crate) mod restore;
pub(crate) mod resume;
pub(crate) mod resummarize;
pub(crate) mod retention;
pub(crate) mod search;
pub(crate) mod sessions;
pub(crate) mod show;
pub(crate) mod stats;
pub(crate) mod summaries;
pub(crate) mod tag;
pub(crate) mod title;
pub(crate) mod vacuum;
pub(crate) mod verify;
pub(crate) mod verify_proof;
pub(crate) mod watch;

mod filter;
pub(crate) mod message;
mod resolve;
