//! The door as clients meet it: over a duplex in this process, and over HTTP.

mod files;
mod hostile;
mod http;
mod paging;
mod profile;
mod resources;
mod support;
mod tools;
