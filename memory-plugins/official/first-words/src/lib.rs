//! The first-words summarizer as a plugin.
