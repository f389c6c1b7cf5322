//! Hybrid retrieval by words and by meaning, packing under a budget.

mod lexical;
