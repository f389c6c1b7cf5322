//! The pinned packages that runtime, models and tokenizers are taken from.

mod pins;

use pins::{MINILM, MPNET, POTION};
pub(crate) use pins::{ONNX_RUNTIME, ONNX_RUNTIME_LIBRARY};

/// A file of a package that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PinnedFile {
    /// Its name inside the package.
    pub member: &'static str,
    /// Where it is kept: relative to the model store, `/` between directories.
    pub path: &'static str,
    /// Its size in bytes.
    pub size: u64,
    /// Its digest: 64 lower-case hexadecimal digits.
    pub sha256: &'static str,
}

/// One exact package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Package {
    /// Its name on the Python package index.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// The digest of the wheel: 64 lower-case hexadecimal digits.
    pub sha256: &'static str,
    /// The size of the wheel in bytes.
    pub size: u64,
    /// Where its files are of use.
    pub platform: Platform,
    /// The Python that its wheel says it is for; the files kept have nothing to do with it.
    pub python: Python,
    /// The licence of the files kept, as SPDX names it.
    pub licence: &'static str,
    /// Of an archive that was cut to fit into packages: where its pieces are. Without, the files are in the wheel itself.
    pub pieces: Option<Pieces>,
    /// What is kept of it.
    pub files: &'static [PinnedFile],
}

/// An archive of files in pieces, one in each of several packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pieces {
    /// The first piece's name inside the package that names them.
    pub first: &'static str,
    /// The others, in order.
    pub others: &'static [Piece],
}

/// A package that holds a piece of an archive, for the same Python as the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The package's name on the Python package index.
    pub name: &'static str,
    /// The digest of the wheel: 64 lower-case hexadecimal digits.
    pub sha256: &'static str,
    /// The size of the wheel in bytes.
    pub size: u64,
    /// The piece's name inside the package.
    pub member: &'static str,
}

impl Package {
    /// Bytes that are downloaded.
    #[must_use]
    pub fn download_size(&self) -> u64 {
        self.size + self.pieces.iter().flat_map(|pieces| pieces.others).map(|piece| piece.size).sum::<u64>()
    }
}

/// A version of Python that a wheel is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Python {
    /// 3.11
    V3_11,
    /// 3.13
    V3_13,
}

/// Machines that a package is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Platform {
    /// Data: all of them.
    Any,
    /// Linux with glibc 2.28 or later on x86-64.
    LinuxX86_64,
}

impl Platform {
    /// Whether this program runs on it.
    #[must_use]
    pub const fn is_this_one(self) -> bool {
        match self {
            Self::Any => true,
            Self::LinuxX86_64 => {
                cfg!(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))
            }
        }
    }
}

/// What runs a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// An encoder: its graph, run by ONNX Runtime.
    Onnx,
    /// A table of the vectors of tokens; nothing but this program.
    Static,
}

/// A model and the packages that hold its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PinnedModel {
    /// Its name, and that of its directory in the model store.
    pub name: &'static str,
    /// What runs it.
    pub backend: Backend,
    /// Components of its vectors.
    pub dimensions: usize,
    /// Tokens that it reads at once, the two that enclose a text included; 0 for any number.
    pub max_tokens: usize,
    /// The licence of its weights, as SPDX names it.
    pub licence: &'static str,
    /// What holds its files, its runtime's among them.
    pub packages: &'static [Package],
}

/// `all-MiniLM-L6-v2`: small, and good for its size.
pub const ALL_MINILM_L6_V2: PinnedModel = PinnedModel {
    name: "all-MiniLM-L6-v2",
    backend: Backend::Onnx,
    dimensions: 384,
    max_tokens: 256,
    licence: "Apache-2.0",
    packages: &[ONNX_RUNTIME, MINILM],
};

/// `potion-base-8M`: a table of vectors, for machines that ONNX Runtime cannot run on.
pub const POTION_BASE_8M: PinnedModel = PinnedModel {
    name: "potion-base-8M",
    backend: Backend::Static,
    dimensions: 256,
    max_tokens: 0,
    licence: "MIT",
    packages: &[POTION],
};

/// `all-mpnet-base-v2`: larger and slower.
///
/// The packages state no licence; the model's own is given.
pub const ALL_MPNET_BASE_V2: PinnedModel = PinnedModel {
    name: "all-mpnet-base-v2",
    backend: Backend::Onnx,
    dimensions: 768,
    max_tokens: 384,
    licence: "Apache-2.0",
    packages: &[ONNX_RUNTIME, MPNET],
};

/// All models that are pinned, the default first.
pub const PINNED_MODELS: &[PinnedModel] = &[ALL_MINILM_L6_V2, POTION_BASE_8M, ALL_MPNET_BASE_V2];

#[cfg(test)]
mod tests {
    use std::{collections::HashSet, path::Path};

    use super::*;

    #[test]
    fn every_pin_is_a_digest_and_every_path_stays_inside() {
        let is_digest = |text: &str| text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        for model in PINNED_MODELS {
            let mut paths = HashSet::new();
            for package in model.packages {
                assert!(is_digest(package.sha256), "{}", package.name);
                for piece in package.pieces.iter().flat_map(|pieces| pieces.others) {
                    assert!(is_digest(piece.sha256) && piece.size > 0, "{}", piece.name);
                }
                for file in package.files {
                    assert!(is_digest(file.sha256) && file.size > 0, "{}", file.path);
                    assert!(paths.insert(file.path), "{} is kept twice", file.path);
                    let inside =
                        Path::new(file.path).components().all(|part| matches!(part, std::path::Component::Normal(_)));
                    assert!(inside, "{}", file.path);
                }
            }
        }
    }

    #[test]
    fn the_packages_hold_what_the_models_need() {
        for model in PINNED_MODELS {
            let held: HashSet<_> =
                model.packages.iter().flat_map(|package| package.files).map(|file| file.path.to_owned()).collect();
            for needed in ["config.json", "tokenizer.json", "model.safetensors", "modules.json"] {
                assert!(held.contains(&format!("{}/{needed}", model.name)), "{needed} of {}", model.name);
            }
            assert_eq!(held.contains(ONNX_RUNTIME_LIBRARY.path), model.backend == Backend::Onnx);
        }
    }
}
