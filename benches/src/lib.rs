//! Benchmarks and quality evaluation.
