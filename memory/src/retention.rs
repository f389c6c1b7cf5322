//! Retention: how much of which conversations recall finds, and what is erased when it is older.

use std::{
    fmt,
    str::FromStr,
    sync::{PoisonError, RwLock},
};

use memory_core::{
    ConversationId, OwnerId, Timestamp,
    port::{ConversationState, NoteChange},
};
use memory_hooks::DocumentsNow;
use memory_search::ArchiveLimits;

use crate::{
    Config,
    erasing::{self, EraseError, EraseOptions, EraseRequest, ErasurePlan, Receipt},
    parts::Parts,
};

/// Names of the texts, next to the receipts of the same owner.
const POLICIES: &str = "retention/policies";
const LAST_RUN: &str = "retention/last-run";
const DAY_MILLIS: i64 = 86_400_000;

/// Conversations that a policy is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum RetentionScope {
    /// All conversations; for an owner, all of the owner's.
    Store,
    /// All conversations of an owner.
    Owner(OwnerId),
    /// One conversation.
    Conversation(ConversationId),
    /// All conversations with a tag.
    Tag(String),
}

impl fmt::Display for RetentionScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store => f.write_str("store"),
            Self::Owner(owner) => write!(f, "owner {owner}"),
            Self::Conversation(id) => write!(f, "conversation {id}"),
            Self::Tag(tag) => write!(f, "tag {tag}"),
        }
    }
}

/// Limits of each conversation in a scope. Messages over a limit, oldest first, are evicted: recall finds them no more,
/// and the log keeps them. They are erased only if the policy says so.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct RetentionPolicy {
    /// The conversations.
    pub scope: RetentionScope,
    /// Most messages of a conversation.
    pub messages: Option<u64>,
    /// Most bytes of a conversation's messages in their canonical encoding.
    pub bytes: Option<u64>,
    /// Most days since a message was said.
    pub days: Option<u32>,
    /// True to erase what is over a limit, with a receipt.
    pub erase: bool,
}

impl RetentionPolicy {
    /// A policy without limits, which is none.
    #[must_use]
    pub const fn new(scope: RetentionScope) -> Self {
        Self { scope, messages: None, bytes: None, days: None, erase: false }
    }

    memory_core::setters! {
        const messages: Option<u64>,
        const bytes: Option<u64>,
        const days: Option<u32>,
        const erase: bool,
    }

    /// True if it has a limit.
    #[must_use]
    pub const fn is_any(&self) -> bool {
        self.messages.is_some() || self.bytes.is_some() || self.days.is_some()
    }

    fn covers(&self, state: &ConversationState) -> bool {
        match &self.scope {
            RetentionScope::Store => true,
            RetentionScope::Owner(owner) => state.owner.as_ref() == Some(owner),
            RetentionScope::Conversation(id) => state.id == *id,
            RetentionScope::Tag(tag) => state.tags.contains(tag),
        }
    }

    fn limits(&self, now: Timestamp) -> ArchiveLimits {
        let since = |days: u32| Timestamp::from_millis(now.as_millis().saturating_sub(i64::from(days) * DAY_MILLIS));
        ArchiveLimits::default().messages(self.messages).bytes(self.bytes).since(self.days.map(since))
    }

    fn line(&self) -> String {
        let number = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
        let action = if self.erase { "erase" } else { "evict" };
        let [messages, bytes, days] = [self.messages, self.bytes, self.days.map(u64::from)].map(number);
        let scope = match &self.scope {
            // A tag may have line breaks.
            RetentionScope::Tag(tag) => format!("tag {}", escaped(tag)),
            scope => scope.to_string(),
        };
        format!("{messages} {bytes} {days} {action} {scope}")
    }

    fn parse(line: &str) -> Option<Self> {
        let mut words = line.splitn(6, ' ');
        let mut number = || {
            let word = words.next()?;
            if word == "-" { Some(None) } else { u64::from_str(word).ok().map(Some) }
        };
        let (messages, bytes, days) = (number()?, number()?, number()?);
        let erase = match words.next()? {
            "erase" => true,
            "evict" => false,
            _ => return None,
        };
        let scope = match (words.next()?, words.next()) {
            ("store", None) => RetentionScope::Store,
            ("owner", Some(owner)) => RetentionScope::Owner(OwnerId::new(owner).ok()?),
            ("conversation", Some(id)) => RetentionScope::Conversation(ConversationId::new(id).ok()?),
            ("tag", Some(tag)) => RetentionScope::Tag(unescaped(tag)),
            _ => return None,
        };
        let days = days.map(u32::try_from).transpose().ok()?;
        Some(Self { scope, messages, bytes, days, erase })
    }
}

/// A text on one line.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r")
}

/// The text of an [`escaped`] one.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.extend(match c {
            '\\' => match chars.next() {
                Some('n') => Some('\n'),
                Some('r') => Some('\r'),
                other => other,
            },
            c => Some(c),
        });
    }
    out
}

/// A policy and the owner who set it; `None` if it was set without one, and holds for all.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct OwnedPolicy {
    /// The owner.
    pub owner: Option<OwnerId>,
    /// The policy.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub policy: RetentionPolicy,
}

impl OwnedPolicy {
    fn covers(&self, state: &ConversationState) -> bool {
        (self.owner.is_none() || self.owner == state.owner) && self.policy.covers(state)
    }
}

/// The policies of a store as this process knows them.
#[derive(Debug, Default)]
pub(crate) struct Policies(RwLock<Vec<OwnedPolicy>>);

impl Policies {
    fn set(&self, policies: Vec<OwnedPolicy>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = policies;
    }

    /// The limits of a conversation, besides those of the configuration.
    pub(crate) fn limits(&self, state: &ConversationState, now: Timestamp) -> ArchiveLimits {
        let policies = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let covering = policies.iter().filter(|policy| policy.covers(state));
        covering.fold(ArchiveLimits::default(), |limits, one| limits.and(one.policy.limits(now)))
    }
}

/// Reasons why a retention policy could not be set or applied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RetentionError {
    /// The store failed, or the erasure did.
    #[error(transparent)]
    Erase(#[from] EraseError),
    /// The policy is about an owner, and was set for another one.
    #[error("a policy of the owner {of} cannot be about the owner {about}")]
    OfAnother {
        /// The owner.
        of: OwnerId,
        /// The other owner.
        about: OwnerId,
    },
    /// The texts of policies cannot be read.
    #[error("the retention policies cannot be read: {0:?} is none")]
    Damaged(String),
}

/// Messages of a conversation that recall finds no more.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct EvictedMessages {
    /// The conversation.
    pub conversation: ConversationId,
    /// Number of the newest messages, which are found.
    pub held: u64,
    /// Number of older ones, which are not.
    pub evicted: u64,
}

/// Outcome of applying the policies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct RetentionReport {
    /// Conversations with messages over a limit that only evicts.
    pub evicted: Vec<EvictedMessages>,
    /// Messages that policies with erasure cover, and that were not erased before.
    pub plan: ErasurePlan,
    /// The receipt, if anything was erased.
    pub receipt: Option<Receipt>,
}

/// The policies that are in force, those set without an owner first.
///
/// # Errors
/// If the store fails, or the text of policies is damaged.
pub async fn policies(parts: &Parts, config: &Config) -> Result<Vec<OwnedPolicy>, RetentionError> {
    let mut policies = Vec::new();
    for (keeper, owner) in erasing::keepers(parts, config)? {
        for policy in kept(parts, keeper).await? {
            policies.push(OwnedPolicy { owner: owner.clone(), policy });
        }
    }
    parts.retention.set(policies.clone());
    Ok(policies)
}

async fn kept(parts: &Parts, keeper: ConversationId) -> Result<Vec<RetentionPolicy>, RetentionError> {
    let text = |now: DocumentsNow<'_>| now.get(POLICIES).map(|document| document.text.clone());
    let text = parts.memory.documents(keeper).look(text).await.map_err(EraseError::from)?;
    parsed(text.as_deref().unwrap_or_default())
}

fn parsed(text: &str) -> Result<Vec<RetentionPolicy>, RetentionError> {
    let policy = |line: &str| RetentionPolicy::parse(line).ok_or_else(|| RetentionError::Damaged(line.to_owned()));
    text.lines().map(policy).collect()
}

/// Sets the policy of its scope, in the place of an earlier one; without limits it ends there.
///
/// # Errors
/// [`RetentionError`]
pub async fn set_policy(
    parts: &Parts,
    config: &Config,
    policy: RetentionPolicy,
) -> Result<Vec<OwnedPolicy>, RetentionError> {
    if let (Some(of), RetentionScope::Owner(about)) = (&config.owner, &policy.scope)
        && of != about
    {
        return Err(RetentionError::OfAnother { of: of.clone(), about: about.clone() });
    }
    let keeper = erasing::own_keeper(config)?;
    // Another process may set a policy at the same time.
    let change = move |now: DocumentsNow<'_>| {
        let mut all = parsed(now.get(POLICIES).map_or("", |document| document.text.as_str()))?;
        all.retain(|other| other.scope != policy.scope);
        all.extend(Some(policy.clone()).filter(RetentionPolicy::is_any));
        all.sort_by(|a, b| a.scope.cmp(&b.scope));
        let text = all.iter().map(|policy| policy.line() + "\n").collect();
        Ok::<_, RetentionError>((NoteChange::Write { name: POLICIES.to_owned(), text }, ()))
    };
    parts.memory.documents(keeper).own().change(change).await.map_err(EraseError::from)??;
    policies(parts, config).await
}

/// Applies the policies: what is over a limit of one that erases is erased. With `dry_run` nothing is written.
///
/// # Errors
/// [`RetentionError`]
pub async fn run(parts: &Parts, config: &Config, dry_run: bool) -> Result<RetentionReport, RetentionError> {
    let policies = policies(parts, config).await?;
    let now = parts.memory.clock().now();
    let mut report = RetentionReport::default();
    let states = parts.store.conversations().await.map_err(EraseError::from)?;
    for state in states.iter().filter(|state| !state.is_of_notes()) {
        let (mut evicts, mut erases) = (ArchiveLimits::default(), ArchiveLimits::default());
        for one in policies.iter().filter(|one| one.covers(state)) {
            let limits = if one.policy.erase { &mut erases } else { &mut evicts };
            *limits = limits.and(one.policy.limits(now));
        }
        let archived = evicts.archived(&*parts.store, state).await.map_err(EraseError::from)?;
        if archived.evicted > 0 {
            let conversation = state.id.clone();
            report.evicted.push(EvictedMessages { conversation, held: archived.held, evicted: archived.evicted });
        }
        let gone = erases.archived(&*parts.store, state).await.map_err(EraseError::from)?.evicted;
        let Some(nodes) = memory_core::NodeRange::first_n(gone) else { continue };
        let conversation = state.id.clone();
        let request = match gone == state.nodes {
            true => EraseRequest::Conversation(conversation),
            false => EraseRequest::Nodes { conversation, nodes: vec![nodes] },
        };
        report.plan.conversations.extend(erasing::plan(parts, &request).await?.conversations);
    }
    if dry_run {
        return Ok(report);
    }
    if !report.plan.is_empty() {
        let options = EraseOptions::default().by("retention");
        report.receipt = Some(erasing::erase(parts, config, report.plan.clone(), options).await?);
    }
    if policies.iter().any(|one| one.policy.erase) {
        erasing::write(parts, &erasing::own_keeper(config)?, LAST_RUN.to_owned(), now.as_millis().to_string()).await?;
    }
    Ok(report)
}

/// True if a policy erases and none was applied since a day.
pub(crate) async fn is_due(parts: &Parts, config: &Config) -> Result<bool, RetentionError> {
    if !policies(parts, config).await?.iter().any(|one| one.policy.erase) {
        return Ok(false);
    }
    let text = |now: DocumentsNow<'_>| now.get(LAST_RUN).map(|document| document.text.clone());
    let keeper = erasing::own_keeper(config)?;
    let last = parts.memory.documents(keeper).look(text).await.map_err(EraseError::from)?;
    let last = last.and_then(|millis| millis.trim().parse::<i64>().ok());
    let now = parts.memory.clock().now().as_millis();
    // A time in the future is from before the clock was set.
    Ok(last.is_none_or(|last| last > now || now - last >= DAY_MILLIS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_read_as_it_is_written() {
        let id = ConversationId::new("a trip").or_else(|_| ConversationId::new("trip")).unwrap();
        for scope in [
            RetentionScope::Store,
            RetentionScope::Owner(OwnerId::new("ana").unwrap()),
            RetentionScope::Conversation(id),
            RetentionScope::Tag("two words".to_owned()),
        ] {
            let policy = RetentionPolicy::new(scope).messages(Some(5)).days(Some(30)).erase(true);
            assert_eq!(RetentionPolicy::parse(&policy.line()), Some(policy));
        }
        for wrong in ["", "1 2 3", "1 2 3 keep store", "1 2 3 evict store more", "x - - evict store", "- - - evict tag"]
        {
            assert_eq!(RetentionPolicy::parse(wrong), None, "{wrong}");
        }
    }
}
