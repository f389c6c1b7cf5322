//! The extractive summarizer as a plugin.
