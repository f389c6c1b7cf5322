//! Finds the conversation that a name means: an id, `last`, the beginning of an id, or a title.

use memory_core::{
    ConversationId, Mark,
    port::{ConversationState, StoreError},
};

use crate::{
    Conversation, Memory, MemoryError,
    candidate::Candidate,
    title::{self, by_last_update},
};

impl Memory {
    /// The conversation that `name` means: by its id; with `last` the most recent one that is not archived; by the only
    /// id that begins so; or by the only title that is equal, or else begins so, or else has its words. Titles are
    /// compared without case; a title that somebody set goes before a derived one.
    ///
    /// # Errors
    /// [`MemoryError::Ambiguous`] with the candidates if several match; [`StoreError::UnknownConversation`] or
    /// [`MemoryError::NoConversation`] if none does; or if the store fails.
    pub async fn resolve(&self, name: &str) -> Result<ConversationId, MemoryError> {
        let name = name.to_owned();
        self.call(move |this| async move {
            let states = this.store().conversations().await?;
            if let Some(id) = by_id(&states, &name).known(&name)? {
                return Ok(id);
            }
            if name == LAST {
                // The store is empty, or has only archived conversations.
                return Err(MemoryError::NoConversation { name });
            }
            let spoken = || states.iter().filter(|state| !state.is_of_notes());
            let mut titled = Vec::with_capacity(states.len());
            for state in spoken().filter(|state| state.own_title().is_some()) {
                titled.push(Candidate { id: state.id.clone(), title: state.own_title().map(str::to_owned) });
            }
            if let Some(found) = by_title(&titled, &name, is_same) {
                return found.id(&name);
            }
            for state in spoken().filter(|state| state.own_title().is_none()) {
                let title = title::title(&this.parts, state).await?;
                titled.push(Candidate { id: state.id.clone(), title: title.map(|title| title.text) });
            }
            let same = by_title(&titled, &name, is_same);
            match same.or_else(|| by_title(&titled, &name, begins)).or_else(|| by_title(&titled, &name, has)) {
                Some(found) => found.id(&name),
                None => Err(match ConversationId::new(&name) {
                    Ok(id) => StoreError::unknown_conversation(&id, states.iter().map(|state| &state.id)).into(),
                    Err(_) => MemoryError::NoConversation { name },
                }),
            }
        })
        .await
    }

    /// The conversation whose id is `name`, or the only one that begins so, or `last`; `None` if there is none. Titles
    /// are not compared, so that no message is read.
    ///
    /// # Errors
    /// [`MemoryError::Ambiguous`] with the candidates if several match, or if the store fails.
    pub async fn resolve_id(&self, name: &str) -> Result<Option<ConversationId>, MemoryError> {
        let name = name.to_owned();
        self.call(move |this| async move { by_id(&this.store().conversations().await?, &name).known(&name) }).await
    }

    /// The existing conversation that `name` means, as [`Self::resolve`] finds it.
    ///
    /// # Errors
    /// Same as [`Self::resolve`].
    pub async fn resume(&self, name: &str) -> Result<Conversation, MemoryError> {
        Ok(self.conversation(self.resolve(name).await?))
    }
}

/// Name of the most recent conversation.
const LAST: &str = "last";

/// Meaning of a name.
#[derive(Debug, PartialEq, Eq)]
enum Meant {
    One(ConversationId),
    Several(Vec<Candidate>),
    Unknown,
}

impl Meant {
    fn of(mut candidates: Vec<Candidate>) -> Self {
        match candidates.len() {
            0 => Self::Unknown,
            1 => candidates.pop().map_or(Self::Unknown, |only| Self::One(only.id)),
            _ => Self::Several(candidates),
        }
    }

    /// The conversation, if a name means one.
    fn known(self, name: &str) -> Result<Option<ConversationId>, MemoryError> {
        match self {
            Self::One(id) => Ok(Some(id)),
            Self::Several(candidates) => Err(MemoryError::Ambiguous { name: name.to_owned(), candidates }),
            Self::Unknown => Ok(None),
        }
    }

    fn id(self, name: &str) -> Result<ConversationId, MemoryError> {
        self.known(name)?.ok_or_else(|| MemoryError::NoConversation { name: name.to_owned() })
    }
}

/// Finds a conversation by the whole id, by `last`, or by the beginning of an id.
fn by_id(states: &[ConversationState], name: &str) -> Meant {
    if let Some(exact) = states.iter().find(|state| state.id.as_str() == name) {
        return Meant::One(exact.id.clone());
    }
    if name == LAST {
        let goes_on = |state: &ConversationState| !state.is_marked(Mark::Archived) && state.is_talk();
        let latest = by_last_update(states.to_vec()).into_iter().find(goes_on);
        return latest.map_or(Meant::Unknown, |state| Meant::One(state.id));
    }
    let beginning = states.iter().filter(|state| !name.is_empty() && state.id.as_str().starts_with(name));
    let candidate =
        |state: &ConversationState| Candidate { id: state.id.clone(), title: state.own_title().map(str::to_owned) };
    let found: Vec<_> = beginning.map(candidate).collect();
    // Forks and subagents of a session are named after it.
    let is_of = |other: &Candidate, one: &Candidate| {
        other.id.as_str().strip_prefix(one.id.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    match found.iter().find(|one| found.iter().all(|other| is_of(other, one))) {
        Some(session) => Meant::One(session.id.clone()),
        None => Meant::of(found),
    }
}

/// Conversations whose title matches; `None` without any.
fn by_title(titled: &[Candidate], name: &str, matches: fn(&str, &str) -> bool) -> Option<Meant> {
    let name = folded(name);
    let is_meant = |one: &&Candidate| one.title.as_deref().is_some_and(|title| matches(&folded(title), &name));
    let found: Vec<_> = titled.iter().filter(is_meant).cloned().collect();
    (!name.is_empty() && !found.is_empty()).then(|| Meant::of(found))
}

fn is_same(title: &str, name: &str) -> bool {
    title == name
}

fn begins(title: &str, name: &str) -> bool {
    title.starts_with(name)
}

/// True if a title has the words of a name in a row; the last of them may be cut short.
fn has(title: &str, name: &str) -> bool {
    const LEAST: usize = 3;
    name.chars().count() >= LEAST && format!(" {title}").contains(&format!(" {name}"))
}

/// A text without case and with single blanks.
fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use memory_core::Timestamp;

    use super::*;
    use crate::candidate::Named;

    fn state(id: &str, at: i64, title: &str) -> ConversationState {
        ConversationState::new(ConversationId::new(id).unwrap())
            .last_at(Timestamp::from_millis(at))
            .title(title.to_owned())
    }

    #[test]
    fn a_whole_id_goes_before_everything_else() {
        let states = [state("trip", 1, ""), state("trip-2", 2, ""), state("last", 0, "")];
        assert_eq!(by_id(&states, "trip"), Meant::One(states[0].id.clone()));
        assert_eq!(by_id(&states, "last"), Meant::One(states[2].id.clone()));
    }

    #[test]
    fn last_is_the_one_spoken_in_last_that_is_not_archived() {
        let archived = state("done", 9, "").tags(vec![Mark::Archived.tag().to_owned()]);
        let states = [state("early", 1, ""), state("late", 5, ""), archived];
        assert_eq!(by_id(&states, "last"), Meant::One(states[1].id.clone()));
        assert_eq!(by_id(&states[2..], "last"), Meant::Unknown);
    }

    #[test]
    fn a_beginning_of_several_ids_names_the_candidates() {
        let states = [state("trip", 1, "Rome"), state("train", 2, ""), state("hotel", 3, "")];
        let Meant::Several(candidates) = by_id(&states, "tr") else { panic!("`tr` begins two ids") };
        assert_eq!(Named(&candidates).to_string(), "`trip` (Rome), `train`");
        assert_eq!(by_id(&states, "h"), Meant::One(states[2].id.clone()));
        assert_eq!((by_id(&states, ""), by_id(&states, "x")), (Meant::Unknown, Meant::Unknown));
    }

    #[test]
    fn a_beginning_of_a_session_prefers_it_over_its_forks_and_subagents() {
        let states = [state("5f0c-1-agent-a", 1, ""), state("5f0c-1", 2, ""), state("5f0c-1-b2", 3, "")];
        assert_eq!(by_id(&states, "5f0"), Meant::One(states[1].id.clone()));
        assert_eq!(by_id(&states, "5f0c-1-"), by_id(&[states[0].clone(), states[2].clone()], "5f0c"));
        let others = [state("5f0c-1", 1, ""), state("5f0c-12", 2, "")];
        assert!(matches!(by_id(&others, "5f0c"), Meant::Several(two) if two.len() == 2));
    }

    #[test]
    fn a_title_is_found_without_case_and_by_its_beginning() {
        let titled = ["Rome in May", "Rome and Naples", "Oslo"].map(|title| Candidate {
            id: ConversationId::new(&title.to_lowercase().replace(' ', "-")).unwrap(),
            title: Some(title.to_owned()),
        });
        assert_eq!(by_title(&titled, "rome  IN may", is_same), Some(Meant::One(titled[0].id.clone())));
        assert_eq!(by_title(&titled, "os", begins), Some(Meant::One(titled[2].id.clone())));
        assert!(matches!(by_title(&titled, "Rome", begins), Some(Meant::Several(two)) if two.len() == 2));
        assert_eq!(by_title(&titled, " ", begins), None);
        assert_eq!(by_title(&titled, "and naples", has), Some(Meant::One(titled[1].id.clone())));
        assert_eq!(by_title(&titled, "may", has), Some(Meant::One(titled[0].id.clone())));
        assert_eq!((by_title(&titled, "in", has), by_title(&titled, "ome", has)), (None, None));
    }
}
