//! The catalog of pinned models and their packages.

mod pins;

use pins::{E5, MINILM, MPNET, POTION};
pub(crate) use pins::{ONNX_RUNTIME, ONNX_RUNTIME_LIBRARY};

/// A file that is installed from a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PinnedFile {
    /// Name inside the package.
    pub member: &'static str,
    /// Its path in the model store, with `/` between directories.
    pub path: &'static str,
    /// Its size in bytes.
    pub size: u64,
    /// Its SHA-256: 64 lower-case hexadecimal digits.
    pub sha256: &'static str,
}

/// A package, pinned by version and checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Package {
    /// Its name on the Python package index.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// The SHA-256 of the wheel: 64 lower-case hexadecimal digits.
    pub sha256: &'static str,
    /// The size of the wheel in bytes.
    pub size: u64,
    /// The platform of its files.
    pub platform: Platform,
    /// Python version of the wheel, on which the installed files do not depend.
    pub python: Python,
    /// The SPDX licence of the installed files.
    pub licence: &'static str,
    /// Pieces of an archive that is split over packages; `None` if the files are in the wheel itself.
    pub pieces: Option<Pieces>,
    /// The files to install.
    pub files: &'static [PinnedFile],
}

/// An archive that is split into pieces, one in each of several packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pieces {
    /// The first piece's name inside the package that lists the pieces.
    pub first: &'static str,
    /// The other pieces, in order.
    pub others: &'static [Piece],
}

/// A package with a further piece of an archive, for the same Python as the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Piece {
    /// The package's name on the Python package index.
    pub name: &'static str,
    /// The SHA-256 of the wheel: 64 lower-case hexadecimal digits.
    pub sha256: &'static str,
    /// The size of the wheel in bytes.
    pub size: u64,
    /// The piece's name inside the package.
    pub member: &'static str,
}

impl Package {
    /// Bytes to download.
    #[must_use]
    pub fn download_size(&self) -> u64 {
        self.size + self.pieces.iter().flat_map(|pieces| pieces.others).map(|piece| piece.size).sum::<u64>()
    }
}

/// The Python version of a wheel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Python {
    /// 3.11
    V3_11,
    /// 3.13
    V3_13,
}

/// The platform of a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Platform {
    /// Any platform: the package holds data.
    Any,
    /// Linux with glibc 2.28 or later on x86-64.
    LinuxX86_64,
}

impl Platform {
    /// True if the running program can use the platform's files.
    #[must_use]
    pub const fn is_current(self) -> bool {
        match self {
            Self::Any => true,
            Self::LinuxX86_64 => {
                cfg!(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))
            }
        }
    }
}

/// The engine of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// An encoder: ONNX Runtime runs its graph.
    Onnx,
    /// A table of token vectors, which needs no runtime.
    Static,
}

/// A model and the packages that hold its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PinnedModel {
    /// Name, also that of its directory in the model store.
    pub name: &'static str,
    /// Engine of the model.
    pub backend: Backend,
    /// Components of its vectors.
    pub dimensions: usize,
    /// Maximum tokens of an input, including the two special tokens around a text; 0 for no limit.
    pub max_tokens: usize,
    /// The SPDX licence of its weights.
    pub licence: &'static str,
    /// Packages of its files, including those of its runtime.
    pub packages: &'static [Package],
}

/// `all-MiniLM-L6-v2`: the default, small and good for its size.
pub const ALL_MINILM_L6_V2: PinnedModel = PinnedModel {
    name: "all-MiniLM-L6-v2",
    backend: Backend::Onnx,
    dimensions: 384,
    max_tokens: 256,
    licence: "Apache-2.0",
    packages: &[ONNX_RUNTIME, MINILM],
};

/// `potion-base-8M`: a static model, for machines without ONNX Runtime.
pub const POTION_BASE_8M: PinnedModel = PinnedModel {
    name: "potion-base-8M",
    backend: Backend::Static,
    dimensions: 256,
    max_tokens: 0,
    licence: "MIT",
    packages: &[POTION],
};

/// `all-mpnet-base-v2`: larger and slower than the default.
///
/// Its packages state no licence; `licence` is that of the model itself.
pub const ALL_MPNET_BASE_V2: PinnedModel = PinnedModel {
    name: "all-mpnet-base-v2",
    backend: Backend::Onnx,
    dimensions: 768,
    max_tokens: 384,
    licence: "Apache-2.0",
    packages: &[ONNX_RUNTIME, MPNET],
};

/// `multilingual-e5-small`: reads a hundred languages, and questions in one find texts in another.
///
/// Its package has weights of 4 bits. The vectors of `intfloat/multilingual-e5-small` from a hub are like them, but have
/// another id.
pub const MULTILINGUAL_E5_SMALL: PinnedModel = PinnedModel {
    name: "multilingual-e5-small",
    backend: Backend::Onnx,
    dimensions: 384,
    max_tokens: 256,
    licence: "MIT",
    packages: &[ONNX_RUNTIME, E5],
};

/// All pinned models, the default first.
pub const PINNED_MODELS: &[PinnedModel] = &[ALL_MINILM_L6_V2, MULTILINGUAL_E5_SMALL, POTION_BASE_8M, ALL_MPNET_BASE_V2];

#[cfg(test)]
mod tests {
    use std::{collections::HashSet, path::Path};

    use super::*;
    use crate::convert::PACKED;

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
            let packed: &[&str] = &[PACKED];
            let plain = &["config.json", "tokenizer.json", "model.safetensors", "modules.json"][..];
            for needed in if model.name == MULTILINGUAL_E5_SMALL.name { packed } else { plain } {
                assert!(held.contains(&format!("{}/{needed}", model.name)), "{needed} of {}", model.name);
            }
            assert_eq!(held.contains(ONNX_RUNTIME_LIBRARY.path), model.backend == Backend::Onnx);
        }
    }
}
