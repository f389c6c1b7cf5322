//! The levels of a conversation on a whole terminal, browsed by keys.

mod draw;
mod item;
mod listing;
mod screen;
mod signals;
mod state;

use std::time::Duration;

use memory::parts::Parts;
use memory_core::{ConversationId, Level, NodeId, NodeRange, SummaryId, port::Scope};
use memory_hooks::{Conversation, LevelsRequest, ListOptions};
use memory_search::FindRequest;
use ratatui::crossterm::event::{self, Event};

use self::{
    item::Item,
    listing::{ListingPlace, Load, PAGE, Page, PagePosition},
    screen::Screen,
    signals::{SignalRequest, Signals, WaitEnd},
    state::{Browser, Effect},
};
use crate::{
    Access,
    commands::{list, resolve},
    editor, failure,
    globals::Globals,
    open, terminal,
};

/// Longest wait before a signal to end or to stop is handled.
const PATIENCE: Duration = Duration::from_millis(200);
/// Most entries below a summary: more than any compaction merges.
const MOST_BELOW: usize = 2_000;
/// Most matches of one search, and its time limit: the screen stands still meanwhile.
const MOST_MATCHES: usize = 200;
const LONGEST_FIND: Duration = Duration::from_secs(10);
/// The most conversations to choose from.
const MOST_LISTED: usize = 1_000;

/// Shows a conversation until the user leaves; without a name the only one, or a list to choose from.
pub(super) async fn run(conversation: &resolve::First, globals: &Globals) -> anyhow::Result<()> {
    let with = |access| -> anyhow::Result<Parts> { Ok(open(&globals.config(access)?.without_model())?) };
    // A store that cannot be written to is still shown.
    let (runtime, is_writable) = match with(Access::Existing) {
        Ok(runtime) => (runtime, true),
        Err(_) => (with(Access::Read)?, false),
    };
    resolve::check_readable(&runtime).await?;
    let is_choice = !conversation.is_named() && resolve::talks(&runtime).await?.len() > 1;
    let first = if is_choice { None } else { Some(conversation.id(&runtime).await?) };
    // Signals are caught before the screen is taken, so that an end in between restores the terminal.
    let signals = Signals::listen()?;
    let mut driver = Driver { runtime, browser: Browser::new(is_writable), id: None, listed: Vec::new() };
    match first {
        Some(id) => driver.begin(id).await?,
        None => driver.list().await?,
    }
    let mut screen = Screen::enter()?;
    let left = driver.attend(&mut screen, &signals).await;
    drop(screen);
    if let Some(signal) = left? {
        signals::end_by(signal);
    }
    Ok(())
}

struct Driver {
    runtime: Parts,
    browser: Browser,
    /// The conversation on the screen.
    id: Option<ConversationId>,
    /// The conversations to choose from.
    listed: Vec<ConversationId>,
}

impl Driver {
    /// Draws and carries out keys, until the user leaves or a signal ends the program.
    async fn attend(&mut self, screen: &mut Screen, signals: &Signals) -> anyhow::Result<Option<i32>> {
        let is_colored = terminal::wants_highlights();
        loop {
            while let Some(load) = self.browser.wanted() {
                self.load(load).await?;
            }
            screen.terminal.draw(|frame| {
                draw::fit(&mut self.browser, frame.area());
                draw::draw(frame, &self.browser, is_colored);
            })?;
            let effect = loop {
                match signals.request() {
                    Some(SignalRequest::End(signal)) => return Ok(Some(signal)),
                    Some(SignalRequest::Stop) => break Some(Effect::Suspend),
                    None => {}
                }
                if signals.wait(PATIENCE)? == WaitEnd::TerminalGone {
                    return Ok(None);
                }
                if event::poll(Duration::ZERO)? {
                    break match event::read()? {
                        Event::Key(key) => self.browser.key(key),
                        _ => None,
                    };
                }
            };
            if effect == Some(Effect::Leave) {
                return Ok(None);
            }
            if let Some(effect) = effect
                && let Err(error) = self.perform(effect, screen).await
            {
                self.browser.status = failure::in_a_line(&error);
            }
        }
    }

    async fn perform(&mut self, effect: Effect, screen: &mut Screen) -> anyhow::Result<()> {
        match effect {
            Effect::Load(load) => self.load(load).await?,
            Effect::Find { pattern, from } => self.find(pattern, from).await?,
            Effect::Edit(summary) => self.edit(summary, screen).await?,
            Effect::Dissolve(summary) => self.dissolve(summary).await?,
            Effect::List => self.list().await?,
            Effect::Open(index) => {
                if let Some(id) = self.listed.get(index).cloned() {
                    self.begin(id).await?;
                }
            }
            Effect::Suspend => screen.paused(signals::stop)??,
            Effect::Leave => {}
        }
        Ok(())
    }

    fn conversation(&self) -> anyhow::Result<Conversation> {
        let id = self.id.clone().ok_or_else(|| failure::NotFound("no conversation was chosen".to_owned()))?;
        Ok(self.runtime.memory.conversation(id))
    }

    async fn begin(&mut self, id: ConversationId) -> anyhow::Result<()> {
        let nodes = self.runtime.store.conversation(&id).await?.nodes;
        let title = self.runtime.memory.conversation(id.clone()).title().await?;
        let title = title.map(|title| title.text).unwrap_or_default();
        let load = self.browser.begin(id.as_str(), &title, nodes);
        self.id = Some(id);
        self.load(load).await
    }

    async fn list(&mut self) -> anyhow::Result<()> {
        let options = ListOptions::default().archived(true).limit(MOST_LISTED);
        let listing = self.runtime.memory.list(options).await?;
        let rows = listing.conversations.iter().map(|one| {
            let [id, title, messages, _, last, tags] = list::row(one, &resolve::ShownNames::default());
            let fields = [id, title, format!("{messages} messages"), last, tags];
            let fields: Vec<_> =
                fields.iter().filter(|field| !field.is_empty()).map(|f| memory_core::text::one_line(f)).collect();
            fields.join("  ")
        });
        self.browser.choose(rows.collect());
        self.listed = listing.conversations.into_iter().map(|one| one.state.id).collect();
        Ok(())
    }

    async fn load(&mut self, load: Load) -> anyhow::Result<()> {
        let page = page(&self.conversation()?, &load, self.browser.messages()).await?;
        self.browser.loaded(load, page);
        Ok(())
    }

    async fn find(&mut self, pattern: String, from: NodeId) -> anyhow::Result<()> {
        let conversation = self.conversation()?;
        let last = NodeId::new(self.browser.messages());
        let range = last.and_then(|last| NodeRange::new(from.min(last), last));
        let request = FindRequest::new(&pattern, Scope::one(conversation.id()))
            .range(range)
            .limit(MOST_MATCHES)
            .max_time(LONGEST_FIND);
        let found = memory_search::find(&*self.runtime.store, &request).await?;
        let mut nodes: Vec<_> = found.matches.iter().map(|found| found.node).collect();
        nodes.dedup();
        if let Some(stopped) = found.stopped_at.as_ref().filter(|_| nodes.is_empty()) {
            self.browser.status = format!("no match up to message {}, where time ran out: / from there", stopped.node);
            return Ok(());
        }
        let more = found.more || found.stopped_at.is_some();
        if let Some(Effect::Load(load)) = self.browser.found(pattern, nodes, more) {
            self.load(load).await?;
        }
        Ok(())
    }

    async fn edit(&mut self, summary: SummaryId, screen: &mut Screen) -> anyhow::Result<()> {
        let conversation = self.conversation()?;
        let before = conversation.summary(summary).await?.body.text;
        let Some(text) = screen.paused(|| editor::edit(&before))?? else {
            self.browser.status = "the text is as it was: nothing was recorded".to_owned();
            return Ok(());
        };
        let repaired = conversation.rewrite_summary(summary, &text, "").await?;
        let (tokens, before) = (repaired.tokens, repaired.tokens_before);
        let redacted = if repaired.is_redacted { ", without what is kept out of summaries" } else { "" };
        let status = format!("{} replaces {summary}: {tokens} tokens, {before} before{redacted}", repaired.summary);
        self.browser.repaired(status);
        Ok(())
    }

    async fn dissolve(&mut self, summary: SummaryId) -> anyhow::Result<()> {
        let repaired = self.conversation()?.dissolve_summary(summary, "").await?;
        let status = format!(
            "{} {} is dissolved; memory summaries rewrite {summary} --again brings it back",
            repaired.level, repaired.nodes
        );
        self.browser.repaired(status);
        Ok(())
    }
}

/// Reads a page of a listing of a conversation of so many messages.
async fn page(conversation: &Conversation, load: &Load, messages: u64) -> anyhow::Result<Page> {
    let all = NodeRange::first_n(messages);
    let (level, span) = match load.place {
        ListingPlace::Below(summary) => {
            let below = conversation.levels_below(summary, MOST_BELOW).await?;
            return Ok(Page { items: below.entries.iter().map(Item::of).collect(), ..Page::default() });
        }
        ListingPlace::Top => (None, all),
        ListingPlace::Messages(span) => (Some(Level::Full), Some(span)),
    };
    let Some(span) = span else { return Ok(Page::default()) };
    let Some(asked) = asked(load.at, span) else { return Ok(Page::default()) };
    // A page with a fixed end is read whole; it has no more entries than messages, and ARCHIVEs around them.
    let limit = if matches!(load.at, PagePosition::Before(_) | PagePosition::End) { MOST_BELOW } else { PAGE };
    let request = LevelsRequest::default().level(level).from(asked.first()).to(asked.last()).limit(limit);
    let read = conversation.levels(request).await?;
    let is_new = |item: &Item| match load.at {
        PagePosition::Before(node) => item.nodes.last() < node,
        PagePosition::After(node) => item.nodes.first() > node,
        _ => true,
    };
    let items: Vec<_> = read.entries.iter().map(Item::of).filter(is_new).collect();
    let before = items.first().is_some_and(|first| first.nodes.first() > span.first());
    let after = items.last().is_some_and(|last| last.nodes.last() < span.last());
    Ok(Page { items, before, after })
}

/// The messages that a page covers.
fn asked(at: PagePosition, span: NodeRange) -> Option<NodeRange> {
    let back = |from: NodeId, count: usize| {
        let first = from.get().saturating_sub(count as u64).max(span.first().get());
        NodeId::new(first).unwrap_or(span.first())
    };
    let (first, last) = match at {
        PagePosition::Start => (span.first(), span.last()),
        PagePosition::End => (back(span.last(), PAGE), span.last()),
        PagePosition::Around(node) => (back(node, PAGE / 2), span.last()),
        PagePosition::Before(node) => (back(node, PAGE), NodeId::new(node.get() - 1)?),
        PagePosition::After(node) => (node.next(), span.last()),
    };
    NodeRange::new(first, last)
}
