//! Tests of reading packed files, of a small one that is written here.

use super::*;
use crate::{ModelDirectory, Prompts};

/// A packed file with the vocabulary of a few pieces and the tensors of no layer.
fn packed() -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    let number = |file: &mut Vec<u8>, number: u32| file.extend_from_slice(&number.to_le_bytes());
    [32, 0, 4, 64, 6, 3, 2].into_iter().for_each(|size| number(&mut file, size));
    file.extend_from_slice(&1e-12_f32.to_le_bytes());
    number(&mut file, 32);
    let pieces = ["<s>", "<pad>", "</s>", "<unk>", "▁a", "b"];
    [6, 0, 2, 1, 3].into_iter().for_each(|id| number(&mut file, id));
    file.extend_from_slice(&(pieces.concat().len() as u64).to_le_bytes());
    let ends = pieces.iter().scan(0, |end, piece| {
        *end += u32::try_from(piece.len()).unwrap();
        Some(*end)
    });
    std::iter::once(0).chain(ends).for_each(|end| number(&mut file, end));
    [0.0, 0.0, 0.0, 0.0, -1.0_f32, -2.0].iter().for_each(|score| file.extend_from_slice(&score.to_le_bytes()));
    file.extend_from_slice(pieces.concat().as_bytes());
    // "ª" becomes "a", a tab a blank.
    number(&mut file, 2);
    number(&mut file, 2 * 9);
    for (from, to) in [('\t', ' '), ('ª', 'a')] {
        number(&mut file, from as u32);
        file.push(1);
        number(&mut file, to as u32);
    }
    number(&mut file, 2);
    let start = file.len() as u64 + 2 * 23 + "emb.word".len() as u64 + "l7.fo.b".len() as u64;
    for (name, format, count, at, bytes) in [("emb.word", 1, 64, start, 36_u64), ("l7.fo.b", 0, 1, start + 36, 4)] {
        file.extend_from_slice(&u16::try_from(name.len()).unwrap().to_le_bytes());
        file.extend_from_slice(name.as_bytes());
        file.push(format);
        number(&mut file, count);
        file.extend_from_slice(&at.to_le_bytes());
        file.extend_from_slice(&bytes.to_le_bytes());
    }
    assert_eq!(file.len() as u64, start);
    for scale in [0.5_f32, -2.0] {
        file.extend_from_slice(&f16::from_f32(scale).to_le_bytes());
        file.extend((0..16).map(|code| code | (15 - code) << 4));
    }
    file.extend_from_slice(&7.5_f32.to_le_bytes());
    file
}

#[test]
fn tensors_are_read_by_the_names_of_transformers() {
    let file = packed();
    let packed = Packed::read(&file).unwrap();
    let words = packed.values("embeddings.word_embeddings.weight").unwrap();
    assert_eq!((words.len(), words[0], words[1], words[16], words[31]), (64, -4.0, -3.5, 3.5, -4.0));
    assert_eq!((words[32], words[48]), (16.0, -14.0));
    assert_eq!(packed.values("encoder.layer.7.output.dense.bias"), Some(vec![7.5]));
    for missing in ["encoder.layer.8.output.dense.bias", "pooler.dense.weight", "weight", "embeddings.LayerNorm.bias"] {
        assert_eq!(packed.values(missing), None, "{missing}");
    }
}

#[test]
fn a_file_that_is_cut_short_or_points_beyond_its_end_is_an_error() {
    let file = packed();
    for length in 0..file.len() {
        assert!(Packed::read(&file[..length]).is_err(), "{length} bytes");
    }
    // Any byte may be wrong, which must neither panic nor take memory.
    for at in 0..file.len() {
        for wrong in [0x00, 0x7f, 0xff] {
            let mut file = file.clone();
            file[at] = wrong;
            if let Ok(packed) = Packed::read(&file) {
                let _files = layout::files(&packed);
                let _values = packed.values("embeddings.word_embeddings.weight");
            }
        }
    }
}

#[test]
fn the_directory_of_a_packed_model_becomes_one_of_sentence_transformers() {
    let directory = tempfile::tempdir().unwrap();
    unpack(directory.path()).unwrap();
    assert!(weights_in(directory.path()).ends_with("model.safetensors"));
    std::fs::write(directory.path().join(PACKED), packed()).unwrap();
    unpack(directory.path()).unwrap();
    assert!(weights_in(directory.path()).ends_with(PACKED));

    let described = ModelDirectory::read(directory.path()).unwrap();
    assert_eq!((described.max_tokens, described.dimensions, described.normalizes), (3, Some(32), true));
    let prompts = Prompts { query: "query: ".to_owned(), document: "passage: ".to_owned() };
    assert_eq!(described.prompts, prompts);

    let path = directory.path().join("tokenizer.json");
    let tokenizer = tokenizers::Tokenizer::from_file(&path).unwrap();
    let ids = |text: &str| tokenizer.encode_fast(text, true).unwrap().get_ids().to_vec();
    assert_eq!(ids("ª\t \tab"), [0, 4, 4, 5, 2]);

    // A changed file is written again, and one that is right is not.
    std::fs::write(&path, "{}").unwrap();
    let modified = || std::fs::metadata(directory.path().join("config.json")).unwrap().modified().unwrap();
    let before = modified();
    unpack(directory.path()).unwrap();
    assert_eq!(modified(), before);
    tokenizers::Tokenizer::from_file(&path).unwrap();
}
