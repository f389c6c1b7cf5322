//! Opening files that may be anything: regular ones alone, bounded, for their owner alone.
//!
//! A name in a store, a model's directory or a directory of plugins may stand for a pipe that nobody writes to, or for a
//! device without an end. Whoever opens it by [`std::fs`] waits or reads for ever. Here nothing waits, what is no regular
//! file is an error, and who reads says how much at most.
//!
//! It is a leaf: it depends on none of ours, and every library may use it.

mod private;
mod regular;

pub use private::{create_dir_all, options, tighten};
pub use regular::{
    Links, NotRegular, is_not_regular, make_way, open, open_dir, open_with, or_missing, read, read_to_string,
};
