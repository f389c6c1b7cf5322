//! Checks that `benches/figures.toml` equals the shared bars, byte for byte, if those are available.

use super::fault::Fault;

const COPY: &str = "benches/figures.toml";

pub(super) fn check(shared: Option<&[u8]>, copy: Option<&[u8]>) -> Option<Fault> {
    match (shared, copy) {
        (_, None) => Some(Fault::new(COPY, "is missing")),
        (Some(shared), Some(copy)) if shared != copy => {
            Some(Fault::new(COPY, "differs from ../shared/figures.toml; copy that file over it"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_must_be_there_and_be_the_same() {
        assert!(check(Some(b"a"), None).is_some());
        assert!(check(None, None).is_some());
        assert!(check(Some(b"a"), Some(b"b")).is_some());
        assert!(check(Some(b"a"), Some(b"a ")).is_some());
    }

    #[test]
    fn the_same_bytes_pass_and_so_does_a_lone_copy() {
        assert!(check(Some(b"a"), Some(b"a")).is_none());
        assert!(check(None, Some(b"a")).is_none());
    }
}
