//! The door as clients meet it: over a duplex in this process, and over HTTP.

mod bounds;
mod files;
mod hostile;
mod http;
mod notes;
mod paging;
mod profile;
mod resources;
mod support;
mod tools;
