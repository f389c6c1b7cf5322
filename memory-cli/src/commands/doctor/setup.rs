//! Report of `memory doctor` on the surroundings of a store: present and missing parts, and remedies.

mod hooks;
mod models;

use memory_core::ModelId;
use memory_store::{AutoIndex, AutoOptions, LogStore};
use schemars::JsonSchema;
use serde::Serialize;

use super::super::plugins::registry;
use crate::{
    Access, Config,
    config_file::Choice,
    globals::{Globals, quoted},
    open,
    output::{Output, counted},
};
use memory::{
    erasing::OpenErasure,
    models::{ModelRecord, better_for_languages},
    parts::open_log,
};
use memory_core::port::VectorIndex as _;

/// State of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    /// Present, and working.
    Here,
    /// Missing, which makes nothing fail.
    Missing,
    /// Requested, and not working.
    Wrong,
}

impl State {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Here => "here",
            Self::Missing => "missing",
            Self::Wrong => "wrong",
        }
    }
}

/// A part of a store's surroundings.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Item {
    /// Name of the part, such as `embedding model`.
    what: &'static str,
    /// State of the part.
    pub(super) state: State,
    /// Place of the part, or the missing piece.
    detail: String,
    /// Command that fetches or mends it.
    remedy: Option<String>,
}

impl Item {
    fn new(what: &'static str, state: State, detail: impl Into<String>) -> Self {
        Self { what, state, detail: detail.into(), remedy: None }
    }

    fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    pub(super) fn print(&self, output: Output) -> std::io::Result<()> {
        let what_for = match self.state {
            State::Here => "to try it",
            State::Missing => "to get it",
            State::Wrong => "to mend it",
        };
        let remedy = self.remedy.as_ref().map(|remedy| format!("; {what_for}: {remedy}")).unwrap_or_default();
        output.line(&format!("{:8} {}: {}{remedy}", format!("{}:", self.state.as_str()), self.what, self.detail))
    }
}

/// All parts around the store of `config`, without damage of the store itself.
pub(super) async fn look(config: &Config, globals: &Globals) -> Vec<Item> {
    let mut items = configuration(globals);
    items.extend(models::look(config, globals));
    items.extend(behind(config).await);
    items.extend(languages(config).await);
    items.extend(erasures(config).await);
    items.extend(encryption(config));
    items.extend(hooks::look());
    items.extend(strategies(config, globals));
    items
}

fn configuration(globals: &Globals) -> Vec<Item> {
    const WHAT: &str = "configuration";
    let file = &globals.file;
    if !file.faults.is_empty() {
        let named = match &file.choice {
            Choice::Named(path) => format!(" {}", quoted(&path.display().to_string())),
            Choice::Default(_) | Choice::Off => String::new(),
        };
        let check = format!("memory config check{named}");
        return file.lines().map(|line| Item::new(WHAT, State::Wrong, line).remedy(&check)).collect();
    }
    let path = file.path().display();
    vec![match (&file.choice, file.exists) {
        (Choice::Off, _) => Item::new(WHAT, State::Here, "no file is read"),
        (_, true) => Item::new(
            WHAT,
            State::Here,
            format!("{path}, {}", counted(file.settings.len() as u64, "setting", "settings")),
        ),
        (_, false) => {
            Item::new(WHAT, State::Missing, format!("{path}, which need not be")).remedy("memory config init")
        }
    }]
}

/// A better model for the languages of the messages.
async fn languages(config: &Config) -> Option<Item> {
    let log = open_log(&config.clone().access(Access::Read)).ok()?;
    let better = better_for_languages(config, &log).await.ok().flatten()?;
    let detail = "most messages are not in English, on which the store's model was trained";
    let remedy = format!("memory model fetch {better}, then memory model migrate {better}");
    Some(Item::new("languages", State::Missing, detail).remedy(remedy))
}

/// The messages without a cached vector.
async fn behind(config: &Config) -> Option<Item> {
    const WHAT: &str = "embedded messages";
    // Another item reports a broken model, and `doctor` itself a broken store.
    let record = ModelRecord::read(&config.store).ok().flatten()?;
    let parts = open(&config.clone().access(Access::Read).without_model()).ok()?;
    let index = AutoIndex::beside(&parts.log, ModelId::new(&record.id), record.dimensions, AutoOptions::default());
    let (mut behind, mut conversations) = (0, 0);
    // Notes are never embedded.
    for conversation in parts.store.conversations().await.ok()?.iter().filter(|state| !state.is_of_notes()) {
        let missing = conversation.nodes.saturating_sub(index.stats(&conversation.id).through);
        behind += missing;
        conversations += u64::from(missing > 0);
    }
    Some(if behind == 0 {
        Item::new(WHAT, State::Here, "all of them, so that recall finds them by meaning")
    } else {
        let detail = format!(
            "found by words alone: {} of {}",
            counted(behind, "message", "messages"),
            counted(conversations, "conversation", "conversations")
        );
        Item::new(WHAT, State::Missing, detail).remedy("memory index")
    })
}

/// Erasures that were begun and are not completed.
async fn erasures(config: &Config) -> Vec<Item> {
    let config = config.clone().access(Access::Read).without_model();
    let Ok(parts) = open(&config) else { return Vec::new() };
    let open = memory::erasing::open_erasures(&parts, &config).await.unwrap_or_default();
    let item = |open: &OpenErasure| {
        let remedy =
            if open.waits_for.is_empty() { "memory vacuum" } else { "memory vacuum, with the backup in place" };
        Item::new("erasure", State::Wrong, open.to_string()).remedy(remedy)
    };
    open.iter().map(item).collect()
}

/// Encryption of the store, if it has any.
fn encryption(config: &Config) -> Option<Item> {
    const WHAT: &str = "encryption";
    let log = open_log(&config.clone().access(Access::Read)).ok().filter(LogStore::is_encrypted)?;
    Some(match log.is_encryption_changing() {
        false => Item::new(WHAT, State::Here, "the store is encrypted, and this key opens it"),
        true => {
            let detail = "it is being encrypted, decrypted or given new keys, or that was interrupted";
            Item::new(WHAT, State::Wrong, detail).remedy("memory vacuum")
        }
    })
}

/// Plugins that are not loaded, and strategies that no plugin has. Loading runs their code, so it comes last.
fn strategies(config: &Config, globals: &Globals) -> Vec<Item> {
    let (registry, refused) = registry(globals);
    let mut items: Vec<_> = refused
        .iter()
        .map(|error| Item::new("plugin", State::Wrong, error.to_string()).remedy("memory plugins list"))
        .collect();
    let loaded = registry.list().filter(|info| matches!(info.origin, memory_plugins::Origin::File(_))).count();
    if loaded > 0 {
        items.push(Item::new("plugins", State::Here, format!("{loaded} are loaded")));
    }
    let named = [("summarizer", &config.summarizer), ("scorer", &config.scorer)];
    let configured = globals.file.strategies().map(|(strategy, _)| ("configured strategy", strategy));
    for (what, name) in named.map(|(what, name)| (what, name.as_str())).into_iter().chain(configured) {
        if registry.get(name).is_none() {
            let detail = format!("nothing is called `{name}`");
            items.push(Item::new(what, State::Wrong, detail).remedy("memory plugins list"));
        }
    }
    items
}
