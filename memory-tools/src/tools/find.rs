//! `find`: text by a regular expression.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use memory::{
    Error, FindRequest, Found, Match, Node, NodeId, NodeRange, Scope,
    answer::FindError,
    text::{one_line, quoted},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    failure::{self, Failure},
    page::{self, Entry, Pages},
    shown::{self, is_false, known, label},
    tool::{Answer, Tool},
    tools::Tools,
};

/// Pages of matches.
const PAGES: Pages = Pages::new("match", 2_000);
/// Time limit of the search of one call.
const MAX_TIME: Duration = Duration::from_secs(10);
/// Most matches of one call.
const MOST: usize = 200;

pub(crate) struct Find;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Regular expression (Rust syntax; (?i) ignores case)
    pattern: String,
    /// Id, title or "last"; all if left out
    conversation_id: Option<String>,
    /// First message, in one conversation
    start: Option<u64>,
    /// Last message
    end: Option<u64>,
    /// next_cursor of the page before
    cursor: Option<String>,
    #[schemars(range(min = 200, max = 50_000))]
    max_tokens: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    /// In order of conversation and message
    matches: Vec<FoundMatch>,
    /// Parts that were not searched
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notices: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_used: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// How many matches stand before
    #[serde(skip)]
    skipped: usize,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct FoundMatch {
    conversation: String,
    node: u64,
    /// Line of the message
    line: u32,
    speaker: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    /// That line around the match
    text: String,
    /// The match
    matched: String,
    /// True for a part of the line: expand_node gives all
    #[serde(skip_serializing_if = "is_false")]
    shortened: bool,
}

impl FoundMatch {
    fn of(found: &Match, said: Option<&Node>) -> Self {
        Self {
            conversation: found.conversation.to_string(),
            node: found.node.get(),
            line: found.line,
            speaker: said.map(|node| node.message.voice().to_owned()).unwrap_or_default(),
            at: said.and_then(|node| known(node.at)),
            text: format!("{}{}{}", found.before, found.matched, found.after),
            matched: found.matched.clone(),
            shortened: found.before.starts_with('…') || found.after.ends_with('…') || found.matched.ends_with('…'),
        }
    }
}

impl Entry for FoundMatch {
    fn line(&self) -> String {
        let Self { conversation, node, line, speaker, at, text, shortened, .. } = self;
        let at = at.as_ref().map(|at| format!(", {at}")).unwrap_or_default();
        let dots = if *shortened { " …" } else { "" };
        let (id, speaker) = (one_line(conversation), label(speaker));
        format!("[Message {node} of {id}, line {line}, {speaker}{at}]: {}{dots}", quoted(text))
    }

    fn words(&mut self) -> &mut String {
        &mut self.text
    }

    fn shortened(&mut self) {
        page::keep(&mut self.matched, 80);
        self.shortened = true;
    }

    fn piece(&self) -> Option<String> {
        Some(format!("message {} of {}", self.node, self.conversation))
    }
}

impl Tool for Find {
    const NAME: &'static str = "find";
    const TITLE: &'static str = "Find by pattern";
    const ABOUT: &'static str = "Find exact text by a regular expression.";
    const MORE: &'static str = "For names, numbers, codes and the like, of which every occurrence matters. ^ and $ match \
        at the ends of each line.";
    type Input = Input;
    type Output = Output;

    async fn run(tools: &Tools, input: Input) -> Result<Output, Failure> {
        let memory = tools.memory();
        let one = match &input.conversation_id {
            Some(name) => Some(failure::conversation(memory, name).await?),
            None => None,
        };
        let range = range(&input)?;
        if range.is_some() && one.is_none() {
            return Err(Failure("start and end are messages of one conversation: give conversation_id".to_owned()));
        }
        let scope = one.as_ref().map_or_else(Scope::all, |one| Scope::one(one.id()));
        let skip = PAGES.skipped(input.cursor.as_deref(), 1 << 20)?;
        let scope = scope.owner(memory.config().owner.clone());
        let request = FindRequest::new(&input.pattern, scope).range(range).limit(skip + MOST).max_time(MAX_TIME);
        let found = found(tools, request).await.map_err(explained)?;
        let mut page = PAGES.page(memory, input.max_tokens);
        let rest = found.matches.get(skip..).unwrap_or_default();
        let (mut shown, mut said) = (0, None);
        for one in rest {
            // The call itself holds the pattern, and its question often does; the cursor counts them.
            if tools.turn().is_some_and(|(running, turn)| one.conversation == *running && turn.contains(one.node)) {
                shown += 1;
                continue;
            }
            let place = (one.conversation.clone(), one.node);
            if said.as_ref().is_none_or(|(of, _)| *of != place) {
                let conversation = failure::whole(memory, &one.conversation)?;
                said = Some((place, shown::said(&conversation, one.node).await));
            }
            if !page.push(FoundMatch::of(one, said.as_ref().and_then(|(_, node)| node.as_ref()))) {
                break;
            }
            shown += 1;
        }
        let next = found.more || shown < rest.len();
        let next_cursor = next.then(|| PAGES.cursor((skip + shown) as u64));
        let mut notices: Vec<_> =
            found.losses.iter().filter_map(|(id, lost)| lost.notice(id)).map(|lost| lost.to_string()).collect();
        if let Some(stopped) = &found.stopped_at {
            notices.push(format!(
                "Time ran out at message {} of {}: search the rest with conversation_id and start.",
                stopped.node, stopped.conversation
            ));
        }
        if let Some(left) = &found.left_out {
            notices.push(format!(
                "Message {} of {} was too long to be searched to its end.",
                left.node, left.conversation
            ));
        }
        let memory_used = shown::used(&page.entries, 0);
        Ok(Output { matches: page.entries, notices, memory_used, next_cursor, skipped: skip })
    }
}

/// The matches. If the client no longer waits, the search gets a signal to stop and is awaited, since dropping the call
/// would not stop it.
async fn found(tools: &Tools, request: FindRequest) -> Result<Found, Error> {
    let stop = Arc::new(AtomicBool::new(false));
    let mut search = std::pin::pin!(tools.memory().find(request.stop(Arc::clone(&stop))));
    tokio::select! {
        biased;
        () = tools.cancelled() => stop.store(true, Ordering::Relaxed),
        found = &mut search => return found,
    }
    search.await
}

fn range(input: &Input) -> Result<Option<NodeRange>, Failure> {
    if input.start.is_none() && input.end.is_none() {
        return Ok(None);
    }
    let start = failure::node(input.start.unwrap_or(1))?;
    let end = input.end.map_or_else(|| NodeId::new(u64::MAX).ok_or(Failure(String::new())), failure::node)?;
    let range = NodeRange::new(start, end);
    range.map(Some).ok_or_else(|| Failure(format!("start {start} comes after end {end}")))
}

fn explained(error: Error) -> Failure {
    match &error {
        // The reason marks the place in the pattern on lines of its own.
        Error::Find(FindError::Pattern { why, .. }) => {
            Failure(format!("the pattern cannot be searched for: {}", memory::text::lines(&why.to_string())))
        }
        _ => error.into(),
    }
}

impl Answer for Output {
    fn text(&self) -> String {
        let lead = match self.matches.len() {
            0 if self.skipped > 0 => "There are no more matches.".to_owned(),
            0 if self.notices.is_empty() => "Nothing matches.".to_owned(),
            0 => "Nothing was found in what was searched.".to_owned(),
            1 => "1 match.".to_owned(),
            count => format!("{count} matches."),
        };
        let notices = self.notices.iter().cloned().map(Some);
        let after = [self.memory_used.clone(), shown::more(self.next_cursor.as_ref())].into_iter().chain(notices);
        shown::list(&lead, &self.matches, &after.collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use memory::{Access, Builder, Config, Message};
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::Options;

    /// The tools of a memory with two messages.
    async fn tools(dir: &std::path::Path) -> Tools {
        let config = Config::new(dir.join("store"), Access::Write).without_model();
        let memory = Builder::of(config).background(false).open().unwrap();
        for text in ["a first", "a second"] {
            memory.conversation("trip").unwrap().append(Message::user(text)).await.unwrap();
        }
        Tools::new(memory, Options::default()).unwrap()
    }

    #[tokio::test]
    async fn the_running_turn_is_left_out_and_counted_by_cursors() {
        let dir = tempfile::tempdir().unwrap();
        let all = tools(dir.path()).await;
        let find = async |tools: &Tools| {
            let input = serde_json::json!({"pattern": "a \\w"}).as_object().cloned().unwrap();
            tools.call("find", input).await.unwrap().text
        };
        let said = find(&all).await;
        assert!(said.contains("memory used: 2 recalled (messages 1 and 2 of trip)"), "{said}");
        let trip = all.memory().conversation("trip").unwrap();
        let running = all.during(trip.id(), NodeRange::single(NodeId::new(2).unwrap()));
        let said = find(&running).await;
        assert!(said.starts_with("1 match.") && said.contains("a first") && !said.contains("a second"), "{said}");
    }

    #[tokio::test]
    async fn a_search_that_its_client_cancels_ends() {
        let dir = tempfile::tempdir().unwrap();
        let tools = tools(dir.path()).await;
        let request = || FindRequest::new("a", Scope::all());
        assert_eq!(found(&tools, request()).await.unwrap().matches.len(), 2);
        let cancelled = CancellationToken::new();
        cancelled.cancel();
        let found = found(&tools.until(cancelled), request()).await.unwrap();
        assert_eq!((found.matches.len(), found.stopped_at.unwrap().node.get()), (1, 2));
    }
}
