//! The erasure itself: recorded first, so that nothing reads it from then on, and then removed from every file.

use std::{
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use futures_channel::oneshot;
use memory_core::{
    ConversationId, Erasure, ErasureId, NodeSet, Timestamp,
    port::{ConversationState, DerivedError, Event, Forget, Lease, Store, StoreError},
};
use memory_store::VacuumOptions;

use super::{
    EraseError, ErasurePlan, ErasureTarget,
    attack::{Attack, Needles},
    plan::shared_with,
    receipt::{ErasedConversation, Receipt, keep, own_keeper, root},
    resume,
};
use crate::{Config, parts::Parts, parts::derived};

/// Time between attempts at what another process holds.
const BETWEEN_TRIES: Duration = Duration::from_millis(20);
/// Attempts to remove bytes that another process may have written again meanwhile.
const ROUNDS: u32 = 3;

/// Options of an erasure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EraseOptions {
    /// Person or program that erases, for the receipt.
    pub by: String,
    /// Directories of backups of the store, which are brought up to date.
    pub backups: Vec<PathBuf>,
}

impl EraseOptions {
    memory_core::setters! {
        into by: String,
        backups: Vec<PathBuf>,
    }
}

/// An erasure that was decided on.
#[derive(Clone, Debug)]
pub(super) struct Decided {
    pub(super) id: ErasureId,
    pub(super) at: Timestamp,
    pub(super) options: EraseOptions,
    pub(super) targets: Vec<ErasureTarget>,
    /// Backups that are lost.
    pub(super) abandoned: Vec<PathBuf>,
    /// Conversation that keeps the receipt.
    pub(super) keeper: ConversationId,
}

/// Erases what `plan` lists.
///
/// The plan is written down first, so that the next process completes an interrupted erasure. Then it is
/// recorded: from then on nothing reads it, in any process. Then its bytes go: from vectors, words and every other cache,
/// from the log, whose segments are rewritten, and from the backups. Then all files are searched for them.
///
/// Without anything to erase the backups are brought up to date all the same: they may hold what was erased before.
///
/// # Errors
/// [`EraseError`]; where that says so, the erasure is in effect and only its bytes are left.
pub async fn erase(
    parts: &Parts,
    config: &Config,
    plan: ErasurePlan,
    mut options: EraseOptions,
) -> Result<Receipt, EraseError> {
    for path in &mut options.backups {
        // The process that completes it may run elsewhere.
        if let Ok(absolute) = std::path::absolute(&*path) {
            *path = absolute;
        }
        check_is_backup(parts, path)?;
    }
    if plan.is_empty() {
        options.backups.iter().try_for_each(|path| renew(parts, path))?;
        return Err(EraseError::Nothing);
    }
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(EraseError::Randomness)?;
    let at = parts.memory.clock().now();
    let decided = Decided {
        id: ErasureId::from_bytes(id),
        at,
        options,
        targets: plan.conversations,
        abandoned: Vec::new(),
        keeper: own_keeper(config)?,
    };
    let needles = Needles::of(parts, &decided.targets).await?;
    resume::write_down(parts, &decided).await?;
    record(parts, &decided).await?;
    let _lease = lease(parts, config).await?;
    complete(parts, config, &decided, Some(needles)).await
}

fn check_is_backup(parts: &Parts, path: &Path) -> Result<(), EraseError> {
    match parts.log.has_backup(path) {
        Ok(true) => Ok(()),
        Ok(false) => Err(EraseError::NoBackup { path: path.to_owned() }),
        Err(source) => Err(EraseError::Backup { path: path.to_owned(), source }),
    }
}

/// Brings a backup up to date, so that it holds nothing that was erased.
fn renew(parts: &Parts, path: &Path) -> Result<(), EraseError> {
    let renewed = parts.log.backup(path, &());
    renewed.map(drop).map_err(|source| EraseError::Backup { path: path.to_owned(), source })
}

/// Records the erasure in each conversation that does not have it. From then on nothing reads what it covers.
pub(super) async fn record(parts: &Parts, decided: &Decided) -> Result<(), EraseError> {
    for target in &decided.targets {
        if parts.log.has_erasure(&target.conversation, decided.id)? {
            continue;
        }
        let erasure = Erasure::new(decided.id, decided.at, target.nodes.clone())
            .by(decided.options.by.clone())
            .notes(target.named_notes.clone())
            .is_whole(target.is_whole);
        let mut events = vec![Event::Erased(Box::new(erasure))];
        // The vacuum leaves out titles and tags that others follow.
        if target.with_title && !target.is_whole {
            events.push(Event::Title(String::new()));
        }
        if target.has_tags() && !target.is_whole {
            let tags = parts.store.conversation(&target.conversation).await?.tags;
            events.push(Event::Tags(target.tags_left(tags)));
        }
        parts.store.record(&target.conversation, events).await?;
        parts.memory.enqueue(&target.conversation);
    }
    Ok(())
}

/// Removes the bytes of a recorded erasure, looks for them, and writes the receipt. Without `needles`, which go with the
/// process that began it, only records are looked for.
pub(super) async fn complete(
    parts: &Parts,
    config: &Config,
    decided: &Decided,
    needles: Option<Needles>,
) -> Result<Receipt, EraseError> {
    let states = parts.store.conversations().await?;
    let leaves = |target: &ErasureTarget| {
        let state = states.iter().find(|state| state.id == target.conversation);
        state.map_or(0, |state| state.nodes)
    };
    let mut conversations = Vec::with_capacity(decided.targets.len());
    for target in &decided.targets {
        let leaves = leaves(target);
        let root = root(&*parts.store, &target.conversation, leaves).await?;
        let root = root.ok_or_else(|| StoreError::unknown_conversation(&target.conversation, []))?;
        conversations.push(ErasedConversation {
            conversation: target.conversation.clone(),
            nodes: target.nodes.clone(),
            notes: target.notes,
            is_whole: target.is_whole,
            leaves,
            root_before: root,
            root_after: root,
        });
    }
    let was_resumed = needles.is_none();
    let mut attack = Attack::new(needles.unwrap_or_default());
    let mut records = 0;
    let mut backups = decided.options.backups.clone();
    let configured =
        config.backup_directory.clone().filter(|path| !backups.contains(path) && check_is_backup(parts, path).is_ok());
    backups.extend(configured);
    // A backup that was named is waited for: where it is away, the erasure stays to be completed.
    backups.iter().try_for_each(|path| check_is_backup(parts, path))?;
    let mut round = 1;
    loop {
        forget(parts, config, &states, &decided.targets).await?;
        if decided.targets.iter().any(|target| !target.is_whole && (target.with_title || target.has_tags())) {
            // Replaced labels in the segment that is being written to hold no erased content by themselves.
            parts.log.seal().await.map_err(EraseError::Unfinished)?;
        }
        records += parts.log.vacuum(VacuumOptions::default(), &()).map_err(EraseError::Unfinished)?.erased;
        let mut searched = Vec::new();
        if !parts.log.is_in_memory() {
            searched.push(config.store.clone());
        }
        for path in &backups {
            renew(parts, path)?;
            searched.push(path.clone());
        }
        let left = attack.search_files(parts, &searched).await?;
        if left.is_empty() {
            break;
        }
        // Another process may have kept words or vectors that it had in memory.
        if round == ROUNDS {
            return Err(EraseError::Left { files: left });
        }
        round += 1;
    }
    attack.probe(parts, &decided.targets).await?;
    for one in &mut conversations {
        let root = root(&*parts.store, &one.conversation, one.leaves).await?;
        one.root_after = root.unwrap_or(one.root_before);
    }
    let receipt = Receipt {
        id: decided.id,
        at: decided.at,
        done: parts.memory.clock().now(),
        by: decided.options.by.clone(),
        was_resumed,
        conversations,
        records,
        keys_overwritten: parts.log.is_encrypted(),
        scan: attack.scan,
        probes: attack.probes,
        backups: backups.iter().map(|path| path.display().to_string()).collect(),
        abandoned: decided.abandoned.iter().map(|path| path.display().to_string()).collect(),
        owner: None,
        digest: memory_core::Hash::from_bytes([0; 32]),
    }
    .sealed();
    keep(parts, &decided.keeper, &receipt).await?;
    resume::cross_out(parts, decided).await?;
    Ok(receipt)
}

/// Forgets everything that was derived from the erased nodes, in all conversations that share them.
async fn forget(
    parts: &Parts,
    config: &Config,
    states: &[ConversationState],
    targets: &[ErasureTarget],
) -> Result<(), EraseError> {
    let kinds = derived(config, &parts.log);
    let deadline = Instant::now() + config.lock_timeout;
    for target in targets {
        let nodes = NodeSet::of_runs(target.nodes.clone());
        let Some(state) = states.iter().find(|state| state.id == target.conversation) else { continue };
        let others: Vec<ConversationId> = shared_with(states, state, &target.nodes);
        for conversation in others.iter().chain([&target.conversation]) {
            let what = Forget::nodes(conversation, &nodes);
            for kind in &kinds {
                loop {
                    match kind.forget(&what).await {
                        Err(DerivedError::Busy { .. }) if Instant::now() < deadline => {
                            rest().await;
                        }
                        // Questions stand in the log, which is rewritten next.
                        forgotten => {
                            let _ = forgotten?;
                            break;
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

/// Waits between two attempts under any executor: an opening runs under none, so that no timer of a runtime would fire.
async fn rest() {
    let (rested, until) = oneshot::channel();
    let waiting = thread::Builder::new().name("memory".to_owned()).spawn(move || {
        thread::sleep(BETWEEN_TRIES);
        let _ = rested.send(());
    });
    if waiting.is_ok() {
        let _ = until.await;
    }
}

/// The lease for background work, which shows other processes that this one is completing the erasure.
async fn lease(parts: &Parts, config: &Config) -> Result<Lease, EraseError> {
    let deadline = Instant::now() + config.lock_timeout;
    loop {
        match parts.log.lease().await {
            Err(StoreError::Locked { .. }) if Instant::now() < deadline => rest().await,
            answered => return answered.map_err(EraseError::Unfinished),
        }
    }
}
