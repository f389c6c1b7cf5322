//! Receipts: what was erased, when, by whom, and what was found of it afterwards. They hold nothing of the content.

use std::{fmt::Write as _, str::FromStr};

use memory_core::{
    ConversationId, ErasureId, Hash, NodeId, NodeRange, OwnerId, Timestamp,
    port::{NoteChange, Store},
    proof::MerkleFrontier,
};
use memory_hooks::Documents;

use super::{
    EraseError,
    plan::{chunks, is_of_receipts},
};
use crate::{Config, parts::Parts};

/// Directory of the texts of receipts.
const DIRECTORY: &str = "receipts/";
const TITLE: &str = "memory-receipt 1";

/// Receipt of an erasure.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Receipt {
    /// Number of the erasure.
    #[cfg_attr(feature = "serde", serde(serialize_with = "as_text"), schemars(with = "String"))]
    pub id: ErasureId,
    /// Time from which nothing read what was erased.
    pub at: Timestamp,
    /// Time at which its bytes were gone and had been looked for.
    pub done: Timestamp,
    /// Person or program that erased; may be empty.
    pub by: String,
    /// True if the process that began it did not end it: nothing was left then to look for.
    pub was_resumed: bool,
    /// The conversations, by name.
    pub conversations: Vec<ErasedConversation>,
    /// Records of the log that were removed, or replaced by what is left of them.
    pub records: u64,
    /// True if the store is encrypted, and the keys of what was erased were overwritten.
    pub keys_overwritten: bool,
    /// Search of the bytes of all files.
    pub scan: ByteScan,
    /// Search through the store's own reads.
    pub probes: Probes,
    /// Backups that were brought up to date and searched as well.
    pub backups: Vec<String>,
    /// Backups that were said to be lost while it waited for them, and may still hold what was erased.
    pub abandoned: Vec<String>,
    /// Owner in whose name it was erased, and for whom the receipt is kept.
    pub owner: Option<OwnerId>,
    /// Hash over the other lines of the receipt.
    pub digest: Hash,
}

/// Erased part of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct ErasedConversation {
    /// The conversation.
    pub conversation: ConversationId,
    /// The erased messages, as runs in order.
    pub nodes: Vec<NodeRange>,
    /// Number of notes that were erased.
    pub notes: u64,
    /// True if title, tags, notes and views were erased, too.
    pub is_whole: bool,
    /// Number of messages in the tree.
    pub leaves: u64,
    /// Merkle root over them before.
    pub root_before: Hash,
    /// Merkle root over them afterwards.
    pub root_after: Hash,
}

/// A search for the bytes of what was erased in all files of the store and of the backups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct ByteScan {
    /// Number of files.
    pub files: u64,
    /// Bytes, with those of opened blocks.
    pub bytes: u64,
    /// Texts that were looked for, as they were said and as JSON writes them.
    pub texts: u64,
    /// Words that nothing else in the store has, as an index of words keeps them.
    pub words: u64,
    /// Texts among them that messages say that are not erased, so that they stay.
    pub also_said: u64,
    /// Texts and words that were found anywhere else.
    pub found: u64,
    /// Duration in milliseconds.
    pub millis: u64,
}

/// Attempts to get at what was erased through the store's own calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Probes {
    /// Searches by the words of what was erased.
    pub searches: u64,
    /// Searches for its text.
    pub finds: u64,
    /// Reads of the erased messages.
    pub reads: u64,
    /// Attempts that gave any of it back.
    pub found: u64,
}

/// Result of checking a receipt against the store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct ReceiptCheck {
    /// Number of the erasure.
    #[cfg_attr(feature = "serde", serde(serialize_with = "as_text"), schemars(with = "String"))]
    pub id: ErasureId,
    /// Messages of the receipt that are erased.
    pub erased: u64,
    /// Faults; empty if the store is as the receipt says.
    pub faults: Vec<String>,
}

#[cfg(feature = "serde")]
pub(super) fn as_text<S: serde::Serializer>(id: &ErasureId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(id)
}

impl Receipt {
    /// True if nothing of what was erased was found anywhere.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.scan.found + self.probes.found == 0
    }

    /// Number of erased messages.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.conversations.iter().flat_map(|one| &one.nodes).map(|run| run.count()).sum()
    }

    /// The lines that the digest covers.
    fn lines(&self) -> String {
        let mut text = format!("{TITLE}\nid {}\nat {}\ndone {}\n", self.id, self.at.as_millis(), self.done.as_millis());
        let by = self.by.replace(['\n', '\r'], " ");
        let Self { was_resumed, records, scan, probes, .. } = self;
        // Writing to a text does not fail.
        let _ = writeln!(text, "by {by}\nresumed {was_resumed}\nrecords {records}");
        let ByteScan { files, bytes, texts, words, also_said, found, millis } = scan;
        let _ = writeln!(text, "scan {files} {bytes} {texts} {words} {also_said} {found} {millis}");
        if self.keys_overwritten {
            text.push_str("keys overwritten\n");
        }
        let Probes { searches, finds, reads, found } = probes;
        let _ = writeln!(text, "probes {searches} {finds} {reads} {found}");
        for backup in &self.backups {
            let _ = writeln!(text, "backup {}", backup.replace(['\n', '\r'], " "));
        }
        for backup in &self.abandoned {
            let _ = writeln!(text, "abandoned {}", backup.replace(['\n', '\r'], " "));
        }
        for one in &self.conversations {
            let ErasedConversation { conversation, nodes, notes, is_whole, leaves, root_before, root_after } = one;
            let _ =
                writeln!(text, "conversation {conversation} {notes} {is_whole} {leaves} {root_before} {root_after}");
            let _ = writeln!(text, "nodes {}", runs_text(nodes));
        }
        text
    }

    pub(super) fn sealed(mut self) -> Self {
        self.digest = digest(&self.lines());
        self
    }

    fn text(&self) -> String {
        format!("{}digest {}\n", self.lines(), self.digest)
    }

    fn parse(text: &str) -> Result<Self, &'static str> {
        let (body, digest_line) = text.trim_end_matches('\n').rsplit_once('\n').ok_or("it is cut short")?;
        let said = digest_line.strip_prefix("digest ").and_then(|hash| hash.parse::<Hash>().ok());
        if said.ok_or("it has no digest")? != digest(&format!("{body}\n")) {
            return Err("its digest is not that of its lines");
        }
        let mut lines = body.lines();
        if lines.next() != Some(TITLE) {
            return Err("it is of a newer version");
        }
        let mut receipt = Self {
            id: ErasureId::from_bytes([0; 16]),
            at: Timestamp::default(),
            done: Timestamp::default(),
            by: String::new(),
            was_resumed: false,
            conversations: Vec::new(),
            records: 0,
            keys_overwritten: false,
            scan: ByteScan::default(),
            probes: Probes::default(),
            backups: Vec::new(),
            abandoned: Vec::new(),
            owner: None,
            digest: said.ok_or("it has no digest")?,
        };
        for line in lines {
            let (name, rest) = line.split_once(' ').ok_or("a line has no value")?;
            receipt.line(name, rest).ok_or("a line has another value than it can have")?;
        }
        Ok(receipt)
    }

    fn line(&mut self, name: &str, rest: &str) -> Option<()> {
        let time = || Some(Timestamp::from_millis(rest.parse().ok()?));
        match name {
            "id" => self.id = rest.parse().ok()?,
            "at" => self.at = time()?,
            "done" => self.done = time()?,
            "by" => rest.clone_into(&mut self.by),
            "resumed" => self.was_resumed = rest.parse().ok()?,
            "records" => self.records = rest.parse().ok()?,
            "keys" if rest == "overwritten" => self.keys_overwritten = true,
            "backup" => self.backups.push(rest.to_owned()),
            "abandoned" => self.abandoned.push(rest.to_owned()),
            "scan" => {
                let [files, bytes, texts, words, also_said, found, millis] = numbers(rest)?;
                self.scan = ByteScan { files, bytes, texts, words, also_said, found, millis };
            }
            "probes" => {
                let [searches, finds, reads, found] = numbers(rest)?;
                self.probes = Probes { searches, finds, reads, found };
            }
            "conversation" => {
                let mut words = rest.split(' ');
                self.conversations.push(ErasedConversation {
                    conversation: words.next()?.parse().ok()?,
                    nodes: Vec::new(),
                    notes: words.next()?.parse().ok()?,
                    is_whole: words.next()?.parse().ok()?,
                    leaves: words.next()?.parse().ok()?,
                    root_before: words.next()?.parse().ok()?,
                    root_after: words.next()?.parse().ok()?,
                });
            }
            "nodes" => self.conversations.last_mut()?.nodes = runs_of(rest)?,
            _ => return None,
        }
        Some(())
    }
}

fn digest(lines: &str) -> Hash {
    Hash::of_parts([lines.as_bytes()])
}

fn numbers<const N: usize>(text: &str) -> Option<[u64; N]> {
    let numbers: Vec<u64> = text.split(' ').map(u64::from_str).collect::<Result<_, _>>().ok()?;
    numbers.try_into().ok()
}

/// Runs as text, such as `3-7,9`; `-` for none.
pub(super) fn runs_text(runs: &[NodeRange]) -> String {
    if runs.is_empty() {
        return "-".to_owned();
    }
    runs.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

pub(super) fn runs_of(text: &str) -> Option<Vec<NodeRange>> {
    if text == "-" {
        return Some(Vec::new());
    }
    let run = |run: &str| {
        let (first, last) = run.split_once('-').unwrap_or((run, run));
        NodeRange::new(NodeId::new(first.parse().ok()?)?, NodeId::new(last.parse().ok()?)?)
    };
    text.split(',').map(run).collect()
}

/// The conversation that keeps the receipts of erasures by this process.
pub(crate) fn own_keeper(config: &Config) -> Result<ConversationId, EraseError> {
    Ok(ConversationId::of_receipts(config.owner.as_ref())?)
}

/// The conversations that keep receipts, and what is not completed, with their owners: those of all, for who sees all.
pub(crate) fn keepers(parts: &Parts, config: &Config) -> Result<Vec<(ConversationId, Option<OwnerId>)>, EraseError> {
    let own = own_keeper(config)?;
    let mut keepers = vec![(own.clone(), config.owner.clone())];
    if config.owner.is_none() {
        let of_owners = parts.log.named_after(&own)?.into_iter();
        let of_owners = of_owners.filter(|state| state.owner.is_some() && is_of_receipts(state));
        keepers.extend(of_owners.map(|state| (state.id, state.owner)));
    }
    Ok(keepers)
}

/// The texts of such a conversation.
pub(super) fn kept(parts: &Parts, keeper: &ConversationId) -> Documents {
    parts.memory.documents(keeper.clone()).own()
}

/// The texts of a directory of all such conversations, by name, with the conversation and its owner.
pub(super) async fn texts(
    parts: &Parts,
    config: &Config,
    directory: &'static str,
) -> Result<Vec<KeptText>, EraseError> {
    let mut texts = Vec::new();
    for (keeper, owner) in keepers(parts, config)? {
        let look = |now: memory_hooks::DocumentsNow<'_>| {
            let all = now.below(directory.trim_end_matches('/'));
            all.map(|(name, document)| (name.to_owned(), document.text.clone())).collect::<Vec<_>>()
        };
        let found = kept(parts, &keeper).look(look).await?;
        texts.extend(found.into_iter().map(|(name, text)| KeptText {
            keeper: keeper.clone(),
            owner: owner.clone(),
            name,
            text,
        }));
    }
    Ok(texts)
}

/// A text about an erasure.
pub(super) struct KeptText {
    pub(super) keeper: ConversationId,
    pub(super) owner: Option<OwnerId>,
    pub(super) name: String,
    pub(super) text: String,
}

/// Writes a receipt.
pub(super) async fn keep(parts: &Parts, keeper: &ConversationId, receipt: &Receipt) -> Result<(), EraseError> {
    write(parts, keeper, format!("{DIRECTORY}{}", receipt.id), receipt.text()).await
}

/// Writes a text of such a conversation, whatever it was.
pub(crate) async fn write(
    parts: &Parts,
    keeper: &ConversationId,
    name: String,
    text: String,
) -> Result<(), EraseError> {
    let change = move |_: memory_hooks::DocumentsNow<'_>| {
        let change = NoteChange::Write { name: name.clone(), text: text.clone() };
        Ok::<_, std::convert::Infallible>((change, ()))
    };
    let Ok(()) = kept(parts, keeper).change(change).await?;
    Ok(())
}

/// The receipts of all erasures, or of the owner's, the last one first.
///
/// # Errors
/// If the store fails, or a receipt was changed.
pub async fn receipts(parts: &Parts, config: &Config) -> Result<Vec<Receipt>, EraseError> {
    let parsed = texts(parts, config, DIRECTORY).await?.into_iter().map(|KeptText { owner, name, text, .. }| {
        let receipt = Receipt::parse(&text).map_err(|why| EraseError::NotAReceipt { name, why })?;
        Ok::<_, EraseError>(Receipt { owner, ..receipt })
    });
    let mut receipts = parsed.collect::<Result<Vec<_>, _>>()?;
    receipts.sort_by_key(|receipt| std::cmp::Reverse((receipt.at, receipt.id)));
    Ok(receipts)
}

/// Checks a receipt against the store: the messages are erased, the roots are those of the receipt, and no record of the
/// log holds erased content. Reads all of the log.
///
/// # Errors
/// [`EraseError::NoReceipt`], and if the store fails.
pub async fn check_receipt(parts: &Parts, config: &Config, id: ErasureId) -> Result<ReceiptCheck, EraseError> {
    let receipts = receipts(parts, config).await?;
    let receipt = receipts.into_iter().find(|receipt| receipt.id == id).ok_or(EraseError::NoReceipt(id))?;
    let mut check = ReceiptCheck { id, erased: 0, faults: Vec::new() };
    for one in &receipt.conversations {
        let name = &one.conversation;
        match parts.store.conversation(name).await {
            Err(error) if error.is_not_found() => {
                check.faults.push(format!("`{name}` is not there"));
                continue;
            }
            there => drop(there?),
        }
        let outlines = parts.store.outline(name).await?;
        for run in &one.nodes {
            for node in run.iter() {
                if outlines.get(node.index()).is_some_and(|outline| outline.is_erased) {
                    check.erased += 1;
                } else {
                    check.faults.push(format!("message {node} of `{name}` is not erased"));
                }
            }
        }
        if root(&*parts.store, name, one.leaves).await? != Some(one.root_after) {
            let leaves = one.leaves;
            check.faults.push(format!("the root over the first {leaves} messages of `{name}` is another one"));
        }
    }
    let left = parts.log.erased_content()?;
    if left > 0 {
        check.faults.push(format!("{left} records of the log hold erased content: run `memory vacuum --seal`"));
    }
    Ok(check)
}

/// The root over the first messages of a conversation; `None` if there are fewer.
pub(super) async fn root(
    store: &dyn Store,
    conversation: &ConversationId,
    leaves: u64,
) -> Result<Option<Hash>, EraseError> {
    let mut frontier = MerkleFrontier::new();
    for run in NodeRange::first_n(leaves).into_iter().flat_map(chunks) {
        let proofs = store.proofs(conversation, run).await?;
        proofs.iter().for_each(|proof| frontier.push(proof.leaf));
    }
    Ok((frontier.len() == leaves).then(|| frontier.root()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receipt() -> Receipt {
        let hash = Hash::of_parts([b"x".as_slice()]);
        let run = |first, last| NodeRange::new(NodeId::new(first).unwrap(), NodeId::new(last).unwrap()).unwrap();
        let one = |name: &str, nodes| ErasedConversation {
            conversation: name.parse().unwrap(),
            nodes,
            notes: 2,
            is_whole: name == "b",
            leaves: 9,
            root_before: hash,
            root_after: hash,
        };
        Receipt {
            id: ErasureId::from_bytes([7; 16]),
            at: Timestamp::from_millis(5),
            done: Timestamp::from_millis(6),
            by: "Ann\nand Ben".into(),
            was_resumed: false,
            conversations: vec![one("a", vec![run(1, 3), run(7, 7)]), one("b", Vec::new())],
            records: 4,
            keys_overwritten: true,
            scan: ByteScan { files: 1, bytes: 2, texts: 3, words: 4, also_said: 5, found: 0, millis: 7 },
            probes: Probes { searches: 1, finds: 2, reads: 3, found: 0 },
            backups: vec!["/backup of a store".into()],
            abandoned: vec!["/lost one".into()],
            owner: None,
            digest: hash,
        }
        .sealed()
    }

    #[test]
    fn a_receipt_reads_what_it_writes_and_notices_a_change() {
        let receipt = receipt();
        let text = receipt.text();
        let read = Receipt::parse(&text).unwrap();
        assert_eq!(read, Receipt { by: "Ann and Ben".into(), ..receipt.clone() });
        assert!(read.is_clean());
        for (from, to) in
            [("nodes 1-3,7", "nodes 1-3"), ("by Ann", "by Bob"), (TITLE, "memory-receipt 2"), ("digest", "d")]
        {
            assert!(Receipt::parse(&text.replacen(from, to, 1)).is_err(), "{from}");
        }
        assert!(Receipt::parse("").is_err() && Receipt::parse("\n").is_err());
    }
}
