//! Hook registry, conversation managers and sessions.
