//! The built-in summarizers and importance scorers, pure.
