//! The recursive definitions of RFC 9162 as published, to test against.

use super::{inner_hash, leaf_hash};
use crate::Hash;

pub(super) fn leaves(count: usize) -> Vec<Hash> {
    (0..count).map(|i| leaf_hash(&[7; 16], &i.to_le_bytes())).collect()
}

pub(super) fn flip(hash: Hash, bit: usize) -> Hash {
    let mut bytes = *hash.as_bytes();
    bytes[bit / 8] ^= 1 << (bit % 8);
    Hash::from_bytes(bytes)
}

/// The largest power of two smaller than `n`.
fn k(n: usize) -> usize {
    let mut k = 1;
    while k * 2 < n {
        k *= 2;
    }
    k
}

/// MTH(D_n).
pub(super) fn root(d: &[Hash]) -> Hash {
    match d {
        [] => Hash::from_bytes(*blake3::hash(&[]).as_bytes()),
        [leaf] => *leaf,
        _ => {
            let k = k(d.len());
            inner_hash(&root(&d[..k]), &root(&d[k..]))
        }
    }
}

/// PATH(m, D_n).
pub(super) fn inclusion_path(d: &[Hash], m: usize) -> Vec<Hash> {
    if d.len() == 1 {
        return Vec::new();
    }
    let k = k(d.len());
    if m < k {
        [inclusion_path(&d[..k], m), vec![root(&d[k..])]].concat()
    } else {
        [inclusion_path(&d[k..], m - k), vec![root(&d[..k])]].concat()
    }
}

/// PROOF(m, D_n).
pub(super) fn consistency_path(d: &[Hash], m: usize) -> Vec<Hash> {
    subproof(d, m, true)
}

/// SUBPROOF(m, D_n, b).
fn subproof(d: &[Hash], m: usize, b: bool) -> Vec<Hash> {
    if m == d.len() {
        return if b { Vec::new() } else { vec![root(d)] };
    }
    let k = k(d.len());
    if m <= k {
        [subproof(&d[..k], m, b), vec![root(&d[k..])]].concat()
    } else {
        [subproof(&d[k..], m - k, false), vec![root(&d[..k])]].concat()
    }
}

/// Computation of a root from the parts of a proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Term {
    /// The leaf of an inclusion proof, the earlier root of a consistency proof.
    Given,
    /// A hash of the path.
    Path(usize),
    Inner(Box<Term>, Box<Term>),
}

fn inner(left: Term, right: Term) -> Term {
    Term::Inner(Box::new(left), Box::new(right))
}

/// The root of a tree of `n` leaves from leaf `m` and a path of exactly `length` hashes, from PATH read backwards.
pub(super) fn inclusion_term(n: usize, m: usize, length: usize) -> Option<Term> {
    if n == 1 {
        return (length == 0).then_some(Term::Given);
    }
    let sibling = Term::Path(length.checked_sub(1)?);
    let k = k(n);
    if m < k {
        Some(inner(inclusion_term(k, m, length - 1)?, sibling))
    } else {
        Some(inner(sibling, inclusion_term(n - k, m - k, length - 1)?))
    }
}

/// The roots of the first `m` and of all `n` leaves from a path of exactly `length` hashes, from SUBPROOF read
/// backwards; `None` when the path has another length, or the sizes are invalid.
pub(super) fn consistency_terms(n: usize, m: usize, length: usize) -> Option<(Term, Term)> {
    if m == 0 || m > n { None } else { subproof_terms(n, m, true, length) }
}

fn subproof_terms(n: usize, m: usize, b: bool, length: usize) -> Option<(Term, Term)> {
    if m == n {
        let whole = if b { (length == 0).then_some(Term::Given) } else { (length == 1).then_some(Term::Path(0)) }?;
        return Some((whole.clone(), whole));
    }
    let sibling = Term::Path(length.checked_sub(1)?);
    let k = k(n);
    if m <= k {
        let (earlier, whole) = subproof_terms(k, m, b, length - 1)?;
        Some((earlier, inner(whole, sibling)))
    } else {
        let (earlier, whole) = subproof_terms(n - k, m - k, false, length - 1)?;
        Some((inner(sibling.clone(), earlier), inner(sibling, whole)))
    }
}
