//! Safe opening of files: only regular files, bounded reads, and permissions only for the owner.
//!
#![doc = include_str!("../README.md")]
//!
//! # Guide
//!
//! - [`read`] and [`read_to_string`] read a whole file up to a limit.
//! - [`open`], [`open_with`] and [`open_dir`] open a file or a directory. [`Links`] states whether a symbolic link is
//!   followed or refused.
//! - [`NotRegular`] is the source of the [`std::io::Error`] for anything else; [`is_not_regular`] recognizes it.
//!   [`or_missing`] and [`make_way`] serve caches, which replace such a file.
//! - [`create_dir_all`] and [`options`] create directories and files only for their owner; [`tighten`] removes the
//!   permissions of others from existing ones.
//! - [`DataFile`] is a file of a store, encrypted or not as its [`KeySet`](seal::KeySet) says; [`seal`] has the keys
//!   and the cipher.
//!
//! Non-goals: atomic replacement of files, locks, asynchronous IO. The crate has no features and depends on no other
//! crate of the workspace, so that every library may use it.

mod data;
mod private;
mod regular;
pub mod seal;

pub use data::{DataFile, DataReader};
pub use private::{create_dir_all, is_readable_by_others, options, tighten};
pub use regular::{
    Links, NotRegular, is_not_regular, make_way, open, open_dir, open_with, or_missing, read, read_to_string,
};
