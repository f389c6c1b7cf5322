//! Tests of `find`.
