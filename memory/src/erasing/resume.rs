//! Erasures that a process began and did not end, completed by the next one.

use std::{
    convert::Infallible,
    fmt,
    path::{Path, PathBuf},
};

use memory_core::{
    ConversationId, ErasureId, NoteId, Timestamp,
    port::{NoteChange, Store, StoreError},
};
use memory_hooks::DocumentsNow;

use super::{
    EraseError, ErasureTarget, TagPlaces,
    act::{Decided, EraseOptions, complete, record},
    receipt::{KeptText, Receipt, kept, runs_of, runs_text, texts, write},
};
use crate::{Config, parts::Parts};

/// Directory of the texts of erasures that are not completed.
const DIRECTORY: &str = "begun/";
const TITLE: &str = "memory-erasure 1";
/// Directory of a backup's files, as docs/format.md names it.
const FILES_OF_BACKUPS: &str = "files";

/// Writes down what is to be erased, before any of it is.
pub(super) async fn write_down(parts: &Parts, decided: &Decided) -> Result<(), EraseError> {
    write(parts, &decided.keeper, format!("{DIRECTORY}{}", decided.id), text(decided)).await
}

/// Removes what was written down of a completed erasure.
pub(super) async fn cross_out(parts: &Parts, decided: &Decided) -> Result<(), EraseError> {
    let name = format!("{DIRECTORY}{}", decided.id);
    let remove = move |_: DocumentsNow<'_>| Ok::<_, Infallible>((NoteChange::Remove { name: name.clone() }, ()));
    let Ok(()) = kept(parts, &decided.keeper).change(remove).await?;
    Ok(())
}

/// Completes the erasures that were begun, unless another process is at it; returns their receipts.
///
/// # Errors
/// As [`erase`](super::erase). One that cannot be completed does not keep the others from it.
pub async fn resume(parts: &Parts, config: &Config) -> Result<Vec<Receipt>, EraseError> {
    let mut receipts = Vec::new();
    if begun(parts, config).await?.is_empty() {
        return Ok(receipts);
    }
    let _lease = match parts.log.lease().await {
        Err(StoreError::Locked { .. }) => return Ok(receipts),
        lease => lease?,
    };
    let mut failed = None;
    // Read again: it may have been completed before the lease was free.
    for decided in begun(parts, config).await? {
        let done = async {
            record(parts, &decided).await?;
            complete(parts, config, &decided, None).await
        };
        match done.await {
            Ok(receipt) => receipts.push(receipt),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(receipts), Err)
}

/// An erasure that was begun and is not completed, so that bytes of what it covers may be in files.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct OpenErasure {
    /// Number of the erasure.
    #[cfg_attr(feature = "serde", serde(serialize_with = "super::receipt::as_text"), schemars(with = "String"))]
    pub id: ErasureId,
    /// Time at which it was begun.
    pub at: Timestamp,
    /// Seconds since then.
    pub age_seconds: u64,
    /// Number of messages.
    pub messages: u64,
    /// True if it is recorded in all of its conversations, so that nothing reads what it covers.
    pub is_recorded: bool,
    /// Directories of the backups that it waits for, because they are not there; empty if the next command that writes
    /// to the store completes it.
    pub waits_for: Vec<PathBuf>,
}

impl fmt::Display for OpenErasure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, age_seconds, messages, waits_for, .. } = self;
        let unit = if *messages == 1 { "message" } else { "messages" };
        let age = match age_seconds {
            0..=119 => format!("{age_seconds} seconds"),
            120..=7_199 => format!("{} minutes", age_seconds / 60),
            7_200..=172_799 => format!("{} hours", age_seconds / 3_600),
            _ => format!("{} days", age_seconds / 86_400),
        };
        write!(f, "erasure {id} of {messages} {unit} was begun {age} ago and ")?;
        if waits_for.is_empty() {
            return f.write_str("is completed by the next command that writes");
        }
        let places = waits_for.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
        write!(f, "waits for the backup in {places}: put it back, or run `memory backup --lost {places}`")
    }
}

/// The erasures that are not completed, and what each waits for.
///
/// # Errors
/// If the store fails, or a record of what was begun is damaged.
pub async fn open_erasures(parts: &Parts, config: &Config) -> Result<Vec<OpenErasure>, EraseError> {
    let now = parts.memory.clock().now();
    let open = begun(parts, config).await?.into_iter().map(|decided| -> Result<_, EraseError> {
        let is_recorded = |target: &ErasureTarget| Ok(parts.log.has_erasure(&target.conversation, decided.id)?);
        let recorded = decided.targets.iter().map(is_recorded).collect::<Result<Vec<_>, EraseError>>()?;
        let Decided { id, at, options, targets, .. } = decided;
        let is_there = |path: &Path| parts.log.has_backup(path).is_ok_and(|is_one| is_one);
        let is_away = |path: &PathBuf| !is_there(path) || !path.join(FILES_OF_BACKUPS).is_dir();
        Ok(OpenErasure {
            id,
            at,
            is_recorded: recorded.into_iter().all(|is_recorded| is_recorded),
            age_seconds: u64::try_from(now.as_millis().saturating_sub(at.as_millis()) / 1_000).unwrap_or_default(),
            messages: targets.iter().map(|target| target.messages).sum(),
            waits_for: options.backups.into_iter().filter(is_away).collect(),
        })
    });
    open.collect()
}

/// Gives up a backup that is lost: erasures that wait for it are completed without it, and their receipts say so.
///
/// # Errors
/// [`EraseError::NotAwaited`] if no erasure waits for it; otherwise as [`resume`].
pub async fn abandon_backup(parts: &Parts, config: &Config, path: &Path) -> Result<Vec<Receipt>, EraseError> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut is_awaited = false;
    for mut decided in begun(parts, config).await? {
        if let Some(at) = decided.options.backups.iter().position(|backup| *backup == path) {
            decided.abandoned.push(decided.options.backups.remove(at));
            write_down(parts, &decided).await?;
            is_awaited = true;
        }
    }
    if is_awaited { resume(parts, config).await } else { Err(EraseError::NotAwaited { path }) }
}

/// True if an erasure was begun and is not completed, so that its bytes are still in files.
///
/// # Errors
/// If the store fails, or a record of what was begun is damaged.
pub async fn is_pending(parts: &Parts, config: &Config) -> Result<bool, EraseError> {
    Ok(!begun(parts, config).await?.is_empty())
}

async fn begun(parts: &Parts, config: &Config) -> Result<Vec<Decided>, EraseError> {
    let decided = texts(parts, config, DIRECTORY).await?.into_iter().map(|KeptText { keeper, name, text, .. }| {
        let why = "it does not say what was to be erased";
        parse(&text, keeper).ok_or(EraseError::NotAReceipt { name, why })
    });
    decided.collect()
}

fn text(decided: &Decided) -> String {
    let Decided { id, at, options, targets, abandoned, .. } = decided;
    let plain = |text: &str| text.replace(['\n', '\r'], " ");
    let mut lines = vec![TITLE.to_owned(), format!("id {id}"), format!("at {}", at.as_millis())];
    lines.push(format!("by {}", plain(&options.by)));
    lines.extend(options.backups.iter().map(|path| format!("backup {}", plain(&path.display().to_string()))));
    lines.extend(abandoned.iter().map(|path| format!("abandoned {}", plain(&path.display().to_string()))));
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

fn parse(text: &str, keeper: ConversationId) -> Option<Decided> {
    let mut lines = text.lines();
    if lines.next()? != TITLE {
        return None;
    }
    let mut field = |name: &str| Some(lines.next()?.strip_prefix(name)?.strip_prefix(' ')?.to_owned());
    let (id, at, by) = (field("id")?, field("at")?, field("by")?);
    let mut options = EraseOptions::default().by(by);
    let (mut targets, mut abandoned) = (Vec::new(), Vec::new());
    for line in lines {
        if let Some(path) = line.strip_prefix("backup ") {
            options.backups.push(path.into());
            continue;
        }
        if let Some(path) = line.strip_prefix("abandoned ") {
            abandoned.push(path.into());
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
    let (id, at) = (id.parse().ok()?, Timestamp::from_millis(at.parse().ok()?));
    Some(Decided { id, at, options, targets, abandoned, keeper })
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
        let keeper = ConversationId::new("memory-receipts").unwrap();
        let (id, at, abandoned) =
            (ErasureId::from_bytes([9; 16]), Timestamp::from_millis(-4), vec!["/lost one".into()]);
        let decided = Decided { id, at, options, targets, abandoned, keeper: keeper.clone() };
        let read = parse(&text(&decided), keeper.clone()).unwrap();
        assert_eq!(read.abandoned, decided.abandoned);
        assert_eq!((read.id, read.at, &read.options), (decided.id, decided.at, &decided.options));
        assert_eq!(read.targets, decided.targets);
        let tags = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(read.targets[0].tags_left(tags.to_vec()), ["b"]);
        assert_eq!(read.targets[0].tags_left(tags[1..].to_vec()), ["b", "c"], "they are others now");
        assert!(
            parse("", keeper.clone()).is_none()
                && parse(&text(&decided).replace("b true", "b perhaps"), keeper).is_none()
        );
    }
}
