//! Writes the first inputs of the fuzz targets.
//!
//! `corpus GOLDEN CORPUS` takes the golden stores in the directory GOLDEN, and writes a directory in CORPUS for each
//! target. The log in `recovery/whole` is compiled into the target of checkpoints, whose inputs belong to it.

use std::{env, error::Error, fs, path::Path};

use memory_core::{
    ConversationId, Message, MessageKey, NodeDraft, NodeId, NodeRange, NoteId, Timestamp, WrittenBy,
    port::{Event, Note, NoteChange, Store},
    proof::{HistoryProof, MessageProof, Proof, TreeHead},
    view::{Shown, ShownRun, ViewDraft, run_check, text_hash},
};
use memory_store::{
    CompressionOptions, LogOptions, LogStore, VacuumOptions, compress_segment, export, fuzzing::row_of,
};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

fn main() -> Outcome {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [golden, corpus] = arguments.as_slice() else { return Err("usage: corpus GOLDEN CORPUS".into()) };
    let (golden, corpus) = (Path::new(golden), Path::new(corpus));
    pollster::block_on(write(golden, corpus))
}

/// A view of the first `nodes` messages, all verbatim.
fn view(nodes: u64) -> Outcome<Event> {
    let (salt, question) = ([6; 16], format!("question {nodes}"));
    let shown = Shown::Messages(NodeRange::first_n(nodes).ok_or("no nodes")?);
    Ok(Event::View(Box::new(
        ViewDraft::new(
            Timestamp::from_millis(2_000),
            nodes,
            1,
            WrittenBy::new("corpus", "1"),
            salt,
            text_hash(&salt, &question),
        )
        .budget(4_000)
        .tokens(100)
        .counter("words")
        .longest_result(64)
        .history(vec![ShownRun { shown, check: run_check(&salt, [question.as_str()]) }])
        .recalled(vec![ShownRun { shown, check: [1; 8] }])
        .question(question),
    )))
}

/// Short messages, a keyed one, importances, pins, views, titles and tags in several small segments.
async fn fill(store: &LogStore) -> Outcome {
    let scored_by = || WrittenBy::new("corpus", "1");
    for round in 0u64..14 {
        for name in ["one", "two"] {
            let id = ConversationId::new(name)?;
            let text = format!("message {round} of {name} {}", "words ".repeat(usize::try_from(round * 7)?));
            let mut draft = NodeDraft::new(Message::user(text), Timestamp::from_millis(1_000), 7);
            draft.message.key = (round % 3 == 0).then(|| MessageKey::new(&format!("key-{round}"))).transpose()?;
            store.append(&id, vec![draft]).await?;
            let node = NodeId::new(1 + round / 2).ok_or("no node")?;
            store.record(&id, vec![Event::Pin { node, pinned: round % 2 == 0 }]).await?;
            store.record(&id, vec![Event::Importance { node, importance: 0.5, scored_by: scored_by() }]).await?;
            store.record(&id, vec![view(round + 1)?]).await?;
        }
        let one = ConversationId::new("one")?;
        let change = NoteChange::Write { name: "a/b".to_owned(), text: format!("note {round}") };
        let note = Note::new(NoteId::after(round), Timestamp::from_millis(1_000), change);
        store.record(&ConversationId::new("noted")?, vec![Event::Note(Box::new(note))]).await?;
        store.record(&one, vec![Event::Title(format!("title {round}")), Event::Tags(vec!["tag".into()])]).await?;
        if round % 4 == 3 {
            store.seal().await?;
        }
    }
    Ok(())
}

fn log_of(store: &Path) -> Outcome<Vec<Vec<u8>>> {
    let mut paths = fs::read_dir(store.join("log"))?.map(|entry| Ok(entry?.path())).collect::<Outcome<Vec<_>>>()?;
    paths.sort();
    paths.iter().map(|path| Ok(fs::read(path)?)).collect()
}

/// A segment without the zeros after its last frame.
fn trimmed(segment: &[u8]) -> &[u8] {
    let end = segment.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    segment.get(..end).unwrap_or(segment)
}

fn row(log: &[Vec<u8>]) -> Vec<u8> {
    row_of(log.iter().map(|segment| trimmed(segment)))
}

/// The bodies of records in a segment: anything after a length and a checksum that fits it.
fn records(segment: &[u8]) -> Vec<&[u8]> {
    const FRAME_HEADER: usize = 52;
    let (mut bodies, mut at) = (Vec::new(), 64 + FRAME_HEADER);
    while let Some((length, rest)) = segment.get(at..).and_then(<[u8]>::split_first_chunk::<4>) {
        let body = rest.get(4..).and_then(|rest| rest.get(..u32::from_le_bytes(*length) as usize));
        match body.filter(|body| !body.is_empty()) {
            Some(body) => {
                at += 8 + body.len();
                bodies.push(body);
            }
            None => break,
        }
        // The next frame, if its magic stands here.
        if segment.get(at..).is_some_and(|rest| rest.starts_with(b"\xF7mem")) {
            at += FRAME_HEADER;
        }
    }
    bodies
}

async fn write(golden: &Path, corpus: &Path) -> Outcome {
    let put = |target: &str, name: &str, bytes: &[u8]| -> Outcome {
        fs::create_dir_all(corpus.join(target))?;
        Ok(fs::write(corpus.join(target).join(name), bytes)?)
    };
    let old = log_of(&golden.join("format-1"))?;
    put("recovery", "golden", &row(&old))?;
    let with_views = log_of(&golden.join("format-1-views"))?;
    for (index, body) in old.iter().chain(&with_views).flat_map(|segment| records(segment)).enumerate() {
        put("record", &format!("golden-{index}"), body)?;
    }
    // The record claims seven million tags, and ends.
    put("record", "claims-many-tags", &[&[7, 1, 252], 7_000_000u32.to_le_bytes().as_slice()].concat())?;
    put("export", "golden", &fs::read(golden.join("export-1.jsonl"))?)?;

    let dir = tempfile::tempdir()?;
    let path = dir.path().join("store");
    let store = LogStore::open_with(&path, LogOptions::default().checkpoint_bytes(1))?;
    fill(&store).await?;
    drop(store);
    let log = log_of(&path)?;
    put("recovery", "whole", &row(&log))?;
    put("recovery", "torn", &row(&log).split_last_chunk::<90>().map_or(Vec::new(), |(front, _)| front.to_vec()))?;
    put("checkpoint", "whole", &fs::read(path.join("cache").join("checkpoint"))?)?;
    let position = |segment: u32, offset: u32| (u64::from(segment) << 32 | u64::from(offset)).to_le_bytes();
    let ends = log.iter().map(|segment| u32::try_from(trimmed(segment).len())).collect::<Result<Vec<_>, _>>()?;
    for (number, end) in (1..).zip(ends) {
        put("watermark", &format!("end-of-{number}"), &[2u64.to_le_bytes(), position(number, end)].concat())?;
    }
    put("watermark", "beyond", &[1u64.to_le_bytes(), position(9, 64)].concat())?;

    let small = CompressionOptions::default().block_bytes(1 << 10);
    let first = log.first().ok_or("there is no segment")?;
    put("compressed", "no-dictionary", &compress_segment(first, &small.dictionary_bytes(0))?)?;
    // Long enough that a dictionary of it pays.
    let many: Vec<u8> = log.iter().flat_map(|segment| trimmed(segment)).copied().cycle().take(96 << 10).collect();
    put("compressed", "repeated", &compress_segment(&many, &small.dictionary_bytes(1 << 10))?)?;

    let store = LogStore::open(&path)?;
    let one = ConversationId::new("one")?;
    let mut lines = Vec::new();
    export(&store, &one, &mut lines, &()).await?;
    put("export", "one", &lines)?;
    let all = NodeRange::first_n(14).ok_or("no nodes")?;
    let proofs = store.proofs(&one, all).await?;
    let node = store.node(&one, NodeId::new(5).ok_or("no node")?).await?;
    let leaves: Vec<_> = proofs.iter().map(|proof| proof.leaf).collect();
    let inclusion = Proof::from(MessageProof::new(one.clone(), &node, &proofs)?);
    let earlier = TreeHead::of(leaves.get(..6).unwrap_or_default());
    let history = Proof::from(HistoryProof::new(one, &leaves, &earlier.root)?);
    put("proof", "inclusion", inclusion.to_json().to_string().as_bytes())?;
    put("proof", "consistency", history.to_json().to_string().as_bytes())?;

    store.vacuum(VacuumOptions::default(), &())?;
    put("recovery", "vacuumed", &row(&log_of(&path)?))?;
    store.vacuum(VacuumOptions::compress(small), &())?;
    put("recovery", "compressed", &row(&log_of(&path)?))
}
