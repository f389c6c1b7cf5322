//! SHA-256 checksums of plugin files.

use std::{collections::BTreeMap, fmt, fs, io, path::Path, str::FromStr};

use memory_core::Hash;
use memory_files::Links;
use sha2::Digest as _;

use crate::error::LoadError;

/// SHA-256 of a file, written and parsed as 64 hexadecimal digits.
///
/// ```
/// use memory_plugins::Sha256;
///
/// let sha256 = Sha256::of(b"");
/// assert_eq!(sha256.to_string(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
/// assert_eq!(sha256.to_string().parse(), Ok(sha256));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha256(Hash);

impl Sha256 {
    /// The SHA-256 of some bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Hash::from_bytes(sha2::Sha256::digest(bytes).into()))
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The error for a text that is not a SHA-256.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a SHA-256 of 64 hexadecimal digits")]
pub struct InvalidSha256(String);

impl FromStr for Sha256 {
    type Err = InvalidSha256;

    fn from_str(text: &str) -> Result<Self, InvalidSha256> {
        text.parse().map(Self).map_err(|_| InvalidSha256(text.chars().take(80).collect()))
    }
}

/// The list of a directory's files, as `sha256sum` writes it. In a directory with a list, a library that is not listed,
/// or differs from the list, is not opened.
#[derive(Debug)]
pub(crate) struct Manifest {
    files: BTreeMap<String, Sha256>,
}

impl Manifest {
    /// File name of the list.
    pub(crate) const NAME: &str = "SHA256SUMS";

    /// Maximum bytes of the list.
    const LARGEST: u64 = 1 << 20;

    /// Reads the list of `directory`, if there is one.
    pub(crate) fn of(directory: &Path) -> Result<Option<Self>, LoadError> {
        let path = directory.join(Self::NAME);
        let unreadable = |source| LoadError::Unreadable { path: path.clone(), source };
        match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Ok(metadata) if metadata.len() > Self::LARGEST => {
                return Err(LoadError::TooLarge { path, size: metadata.len(), most: Self::LARGEST });
            }
            _ => {}
        }
        let text = memory_files::read_to_string(&path, Links::Follow, Self::LARGEST).map_err(unreadable)?;
        let mut files = BTreeMap::new();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            // A star before the name means that the file was read in binary mode.
            let entry = line.split_once(' ').and_then(|(sha256, name)| {
                let name = name.strip_prefix([' ', '*']).unwrap_or(name);
                Some((name.to_owned(), sha256.parse().ok()?))
            });
            let Some((name, sha256)) = entry else { return Err(LoadError::BadManifest { path, line: number + 1 }) };
            files.insert(name, sha256);
        }
        Ok(Some(Self { files }))
    }

    /// Checks that the file at `path` is listed with that SHA-256.
    pub(crate) fn check(&self, path: &Path, found: Sha256) -> Result<(), LoadError> {
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        match self.files.get(&*name) {
            Some(&listed) if listed == found => Ok(()),
            Some(&listed) => Err(LoadError::Changed { path: path.to_owned(), listed, found }),
            None => Err(LoadError::Unlisted { path: path.to_owned() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_64_hexadecimal_digits_are_a_checksum() {
        let good = "0aF1".repeat(16);
        assert_eq!(good.parse::<Sha256>().unwrap().to_string(), good.to_lowercase());
        for bad in ["", "00", &"0".repeat(63), &"g".repeat(64), &"+1".repeat(32), &"é".repeat(32)] {
            assert!(bad.parse::<Sha256>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_manifest_lists_what_may_be_opened() {
        let directory = tempfile::tempdir().unwrap();
        assert!(Manifest::of(directory.path()).unwrap().is_none());
        let [a, b] = [b"a", b"b"].map(|bytes| Sha256::of(bytes));
        fs::write(directory.path().join(Manifest::NAME), format!("{a}  a.so\n{b} *with space.so\n\n")).unwrap();
        let manifest = Manifest::of(directory.path()).unwrap().unwrap();
        let check = |name: &str, sha256| manifest.check(&directory.path().join(name), sha256);
        assert!(check("a.so", a).is_ok() && check("with space.so", b).is_ok());
        assert!(matches!(check("a.so", b), Err(LoadError::Changed { .. })));
        assert!(matches!(check("c.so", a), Err(LoadError::Unlisted { .. })));
        fs::write(directory.path().join(Manifest::NAME), format!("{a}  a.so\nnonsense\n")).unwrap();
        assert!(matches!(Manifest::of(directory.path()), Err(LoadError::BadManifest { line: 2, .. })));
    }
}
