//! Reaching services over a network.
#![doc = include_str!("../README.md")]
//!
//! # Features
//!
//! Without features: [`redacted`], [`ApiKey`] and excerpts of foreign messages.
//!
//! - `route`: `Route`, which refuses to send a key where others can read it.
//! - `runtime`: `Runtime`, a thread for network calls.
//! - `client`: `client()`, a client of HTTP.
//! - `bedrock`: `bedrock::Connection`, the AWS SDK's client of Bedrock.
//! - `ureq`: routes as `ureq` takes them.
//! - `testing`: a stub of a service, for tests.
//!
//! # Non-goals
//!
//! Protocols of services: the packages that speak them have those.

#[cfg(feature = "bedrock")]
pub mod bedrock;
#[cfg(feature = "client")]
mod client;
mod excerpt;
mod key;
mod redact;
#[cfg(feature = "route")]
mod route;
#[cfg(feature = "runtime")]
mod runtime;
#[cfg(feature = "testing")]
pub mod testing;

#[cfg(feature = "client")]
pub use client::{Endpoint, client, retry_after};
pub use excerpt::{causes, decode_error, excerpt, with_causes};
pub use key::ApiKey;
pub use redact::{keep_secret, keep_secret_of_address, redacted};
#[cfg(feature = "route")]
pub use route::{Route, is_loopback};
#[cfg(feature = "runtime")]
pub use runtime::Runtime;
