//! Opens stores for hooks and watched files.

use memory_capture::Capture;

use crate::{Access, globals::Globals};

/// Opens the store of a command only for capturing.
pub(super) fn open(globals: &Globals, access: Access) -> anyhow::Result<Capture> {
    Ok(Capture::open(globals.config(access)?)?)
}
