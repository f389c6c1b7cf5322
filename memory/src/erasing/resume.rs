//! Erasures that a process began and did not end, completed by the next one.

use std::convert::Infallible;

use memory_core::{
    ErasureId, NoteId, Timestamp,
    port::{NoteChange, Store, StoreError},
};
use memory_hooks::DocumentsNow;

use super::{
    EraseError, ErasureTarget, TagPlaces,
    act::{Decided, EraseOptions, complete, record},
    receipt::{Receipt, kept, runs_of, runs_text},
};
use crate::{Config, parts::Parts};

/// Directory of the texts of erasures that are not completed.
const DIRECTORY: &str = "begun/";
const TITLE: &str = "memory-erasure 1";

/// Writes down what is to be erased, before any of it is.
pub(super) async fn write_down(parts: &Parts, config: &Config, decided: &Decided) -> Result<(), EraseError> {
    let (name, text) = (format!("{DIRECTORY}{}", decided.id), text(decided));
    let write = move |_: DocumentsNow<'_>| {
        Ok::<_, Infallible>((NoteChange::Write { name: name.clone(), text: text.clone() }, ()))
    };
    let Ok(()) = kept(parts, config)?.change(write).await?;
    Ok(())
}

/// Removes what was written down of a completed erasure.
pub(super) async fn cross_out(parts: &Parts, config: &Config, id: ErasureId) -> Result<(), EraseError> {
    let name = format!("{DIRECTORY}{id}");
    let remove = move |_: DocumentsNow<'_>| Ok::<_, Infallible>((NoteChange::Remove { name: name.clone() }, ()));
    let Ok(()) = kept(parts, config)?.change(remove).await?;
    Ok(())
}

/// Completes the erasures that were begun, unless another process is at it; returns their receipts.
///
/// # Errors
/// As [`erase`](super::erase).
pub async fn resume(parts: &Parts, config: &Config) -> Result<Vec<Receipt>, EraseError> {
    let mut receipts = Vec::new();
    if begun(parts, config).await?.is_empty() {
        return Ok(receipts);
    }
    let _lease = match parts.log.lease().await {
        Err(StoreError::Locked { .. }) => return Ok(receipts),
        lease => lease?,
    };
    // Read again: it may have been completed before the lease was free.
    for decided in begun(parts, config).await? {
        record(parts, &decided).await?;
        receipts.push(complete(parts, config, &decided, None).await?);
    }
    Ok(receipts)
}

/// True if an erasure was begun and is not completed, so that its bytes are still in files.
///
/// # Errors
/// If the store fails, or a record of what was begun is damaged.
pub async fn is_pending(parts: &Parts, config: &Config) -> Result<bool, EraseError> {
    Ok(!begun(parts, config).await?.is_empty())
}

async fn begun(parts: &Parts, config: &Config) -> Result<Vec<Decided>, EraseError> {
    let look = |now: DocumentsNow<'_>| {
        let all = now.below(DIRECTORY.trim_end_matches('/'));
        all.map(|(name, document)| (name.to_owned(), document.text.clone())).collect::<Vec<_>>()
    };
    let texts = kept(parts, config)?.look(look).await?;
    let decided = texts.into_iter().map(|(name, text)| {
        let why = "it does not say what was to be erased";
        parse(&text).ok_or(EraseError::NotAReceipt { name, why })
    });
    decided.collect()
}

fn text(decided: &Decided) -> String {
    let Decided { id, at, options, targets } = decided;
    let plain = |text: &str| text.replace(['\n', '\r'], " ");
    let mut lines = vec![TITLE.to_owned(), format!("id {id}"), format!("at {}", at.as_millis())];
    lines.push(format!("by {}", plain(&options.by)));
    lines.extend(options.backups.iter().map(|path| format!("backup {}", plain(&path.display().to_string()))));
    for target in targets {
        let ErasureTarget { conversation, nodes, notes, named_notes, is_whole, with_title, tag_places, .. } = target;
        let named: Vec<_> = named_notes.iter().map(|[first, last]| format!("{}-{}", first.get(), last.get())).collect();
        let named = if named.is_empty() { "-".to_owned() } else { named.join(",") };
        // Tags by their places: what is written here stays in the log until the next vacuum.
        let places: String = tag_places.at.iter().map(|place| format!(",{place}")).collect();
        let tags = if places.is_empty() { String::new() } else { format!(" {}{places}", tag_places.of) };
        lines.push(format!("{conversation} {is_whole} {with_title} {notes} {} {named}{tags}", runs_text(nodes)));
    }
    lines.join("\n") + "\n"
}

fn parse(text: &str) -> Option<Decided> {
    let mut lines = text.lines();
    if lines.next()? != TITLE {
        return None;
    }
    let mut field = |name: &str| Some(lines.next()?.strip_prefix(name)?.strip_prefix(' ')?.to_owned());
    let (id, at, by) = (field("id")?, field("at")?, field("by")?);
    let mut options = EraseOptions::default().by(by);
    let mut targets = Vec::new();
    for line in lines {
        if let Some(path) = line.strip_prefix("backup ") {
            options.backups.push(path.into());
            continue;
        }
        let mut words = line.split(' ');
        let (conversation, is_whole) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let (with_title, notes) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let nodes = runs_of(words.next()?)?;
        let named = words.next()?;
        let run = |run: &str| {
            let (first, last) = run.split_once('-')?;
            Some([NoteId::new(first.parse().ok()?)?, NoteId::new(last.parse().ok()?)?])
        };
        let named_notes = if named == "-" { Vec::new() } else { named.split(',').map(run).collect::<Option<_>>()? };
        let mut tag_places = TagPlaces::default();
        if let Some(tags) = words.next() {
            let numbers: Option<Vec<usize>> = tags.split(',').map(|number| number.parse().ok()).collect();
            let (of, at) = numbers.as_deref()?.split_first().map(|(of, at)| (*of, at.to_vec()))?;
            tag_places = TagPlaces { of, at };
        }
        targets.push(ErasureTarget {
            messages: nodes.iter().map(|run| run.count()).sum(),
            nodes,
            notes,
            named_notes,
            is_whole,
            with_title,
            tag_places,
            ..ErasureTarget::new(conversation)
        });
    }
    Some(Decided { id: id.parse().ok()?, at: Timestamp::from_millis(at.parse().ok()?), options, targets })
}

#[cfg(test)]
mod tests {
    use memory_core::{NodeId, NodeRange};

    use super::*;

    #[test]
    fn what_was_written_down_is_read_again() {
        let run = |first, last| NodeRange::new(NodeId::new(first).unwrap(), NodeId::new(last).unwrap()).unwrap();
        let note = |number| NoteId::new(number).unwrap();
        let target = |name: &str, nodes: Vec<NodeRange>, named_notes, is_whole: bool| ErasureTarget {
            messages: nodes.iter().map(|run| run.count()).sum(),
            nodes,
            notes: 3,
            named_notes,
            is_whole,
            with_title: !is_whole,
            tag_places: if is_whole { TagPlaces::default() } else { TagPlaces { of: 3, at: vec![0, 2] } },
            ..ErasureTarget::new(name.parse().unwrap())
        };
        let targets = vec![
            target("a", vec![run(1, 3), run(9, 9)], Vec::new(), false),
            target("b", Vec::new(), vec![[note(2), note(5)]], true),
        ];
        let options = EraseOptions::default().by("Ann B.").backups(vec!["/a b/c".into()]);
        let decided = Decided { id: ErasureId::from_bytes([9; 16]), at: Timestamp::from_millis(-4), options, targets };
        let read = parse(&text(&decided)).unwrap();
        assert_eq!((read.id, read.at, &read.options), (decided.id, decided.at, &decided.options));
        assert_eq!(read.targets, decided.targets);
        let tags = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(read.targets[0].tags_left(tags.to_vec()), ["b"]);
        assert_eq!(read.targets[0].tags_left(tags[1..].to_vec()), ["b", "c"], "they are others now");
        assert!(parse("").is_none() && parse(&text(&decided).replace("b true", "b perhaps")).is_none());
    }
}
