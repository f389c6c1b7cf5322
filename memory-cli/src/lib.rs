//! The memory binary: wiring, commands.
