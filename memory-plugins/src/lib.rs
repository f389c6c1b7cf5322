//! Strategies loaded at run time through a stable ABI, and the registry of all strategies.
