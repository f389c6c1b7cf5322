//! SHA-256 checksums: of a plugin's file, in the manifest of a directory, in a list of allowed files.

use std::{collections::BTreeMap, fmt, fs, io, path::Path, str::FromStr};

use memory_files::Links;
use sha2::{Digest as _, Sha256};

use crate::error::LoadError;

/// The SHA-256 of a file, written and parsed as 64 hexadecimal digits.
///
/// ```
/// use memory_plugins::Digest;
///
/// let digest = Digest::of(b"");
/// assert_eq!(digest.to_string(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
/// assert_eq!(digest.to_string().parse(), Ok(digest));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The SHA-256 of some bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

/// A text that is not a SHA-256.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a SHA-256 of 64 hexadecimal digits")]
pub struct InvalidDigest(String);

impl FromStr for Digest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        let invalid = || InvalidDigest(text.chars().take(80).collect());
        let mut digest = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return Err(invalid());
        }
        for (byte, digits) in digest.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let digits = str::from_utf8(digits).map_err(|_| invalid())?;
            if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(invalid());
            }
            *byte = u8::from_str_radix(digits, 16).map_err(|_| invalid())?;
        }
        Ok(Self(digest))
    }
}

/// A directory's list of files, as `sha256sum` writes it. In a directory with such a list, a library that is not on it,
/// or differs from it, is not opened.
#[derive(Debug)]
pub(crate) struct Manifest {
    digests: BTreeMap<String, Digest>,
}

impl Manifest {
    /// The file's name.
    pub(crate) const NAME: &str = "SHA256SUMS";

    /// The most bytes that are read.
    const LARGEST: u64 = 1 << 20;

    /// Reads the manifest of `directory`, if there is one.
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
        let mut digests = BTreeMap::new();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            // A star before the name means that the file was read in binary mode.
            let entry = line.split_once(' ').and_then(|(digest, name)| {
                let name = name.strip_prefix([' ', '*']).unwrap_or(name);
                Some((name.to_owned(), digest.parse().ok()?))
            });
            let Some((name, digest)) = entry else { return Err(LoadError::BadManifest { path, line: number + 1 }) };
            digests.insert(name, digest);
        }
        Ok(Some(Self { digests }))
    }

    /// Checks that the file at `path` is listed with that SHA-256.
    pub(crate) fn check(&self, path: &Path, found: Digest) -> Result<(), LoadError> {
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        match self.digests.get(&*name) {
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
    fn only_64_hexadecimal_digits_are_a_digest() {
        let good = "0aF1".repeat(16);
        assert_eq!(good.parse::<Digest>().unwrap().to_string(), good.to_lowercase());
        for bad in ["", "00", &"0".repeat(63), &"g".repeat(64), &"+1".repeat(32), &"é".repeat(32)] {
            assert!(bad.parse::<Digest>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_manifest_lists_what_may_be_opened() {
        let directory = tempfile::tempdir().unwrap();
        assert!(Manifest::of(directory.path()).unwrap().is_none());
        let [a, b] = [b"a", b"b"].map(|bytes| Digest::of(bytes));
        fs::write(directory.path().join(Manifest::NAME), format!("{a}  a.so\n{b} *with space.so\n\n")).unwrap();
        let manifest = Manifest::of(directory.path()).unwrap().unwrap();
        let check = |name: &str, digest| manifest.check(&directory.path().join(name), digest);
        assert!(check("a.so", a).is_ok() && check("with space.so", b).is_ok());
        assert!(matches!(check("a.so", b), Err(LoadError::Changed { .. })));
        assert!(matches!(check("c.so", a), Err(LoadError::Unlisted { .. })));
        fs::write(directory.path().join(Manifest::NAME), format!("{a}  a.so\nnonsense\n")).unwrap();
        assert!(matches!(Manifest::of(directory.path()), Err(LoadError::BadManifest { line: 2, .. })));
    }
}
