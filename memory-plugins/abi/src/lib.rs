//! The stable ABI between a strategy plugin and its host, version 1.
