//! Flags that every command takes.

mod chat;

use std::{
    borrow::Cow,
    collections::BTreeMap,
    ffi::OsString,
    num::NonZeroU32,
    path::{self, Path, PathBuf},
    time::Duration,
};

use clap::{ArgMatches, Args, ValueEnum, ValueHint, builder::FalseyValueParser, parser::ValueSource};
use memory::{
    encryption::{KeySource, MasterKey},
    redaction::Redaction,
};
use memory_core::{OwnerId, port::Notice};
use memory_embed::{MODELS_VARIABLE, ModelError, ModelStore};
use memory_plugins::PluginOptions;
use memory_store::{LogStore, Method};

use self::chat::ChatArgs;
use crate::{
    Access, Config, Recall,
    cli::GLOBAL_OPTIONS,
    config_file::{self, Choice, ConfigFile, NONE},
    failure::{NotFound, Usage},
    news::News,
    output::Output,
};

/// The environment variable that names the store.
const STORE_VARIABLE: &str = "MEMORY_STORE";
/// The key of an encrypted store in hexadecimal digits, and the passphrase that locks one.
const KEY_VARIABLE: &str = "MEMORY_KEY";
const PASSPHRASE_VARIABLE: &str = "MEMORY_PASSPHRASE";

/// The parsed flags. [`command`](crate::cli::command) has every command take them, and hides the values of variables.
#[derive(Debug, Args)]
#[command(next_help_heading = GLOBAL_OPTIONS)]
pub(crate) struct GlobalArgs {
    /// The store's directory [default: this user's data directory]
    #[arg(long, env = STORE_VARIABLE, value_name = "DIR|URL")]
    store: Option<String>,
    /// See and begin the conversations of this owner alone, in a store that others use as well
    #[arg(long, value_name = "NAME", env = "MEMORY_OWNER")]
    owner: Option<OwnerId>,
    /// The configuration file, or none to read no file [default: config.toml in this user's configuration directory]
    #[arg(long, value_name = "FILE|none", env = config_file::VARIABLE, value_hint = ValueHint::FilePath)]
    config: Option<OsString>,
    /// Print one JSON value instead of tables and text
    #[arg(long)]
    pub(crate) json: bool,
    /// Recall by words alone, without the embedding model
    #[arg(long)]
    words_only: bool,
    /// The embedding model; also bedrock:ID and openai:NAME, with ?dimensions=N where there is a choice [default: the
    /// store's own]
    #[arg(long, value_name = "NAME|DIR", env = "MEMORY_EMBEDDING_MODEL")]
    embedding_model: Option<String>,
    /// The directory of ONNX Runtime and the models [default: this user's cache directory]
    #[arg(long, value_name = "DIR", env = MODELS_VARIABLE, value_hint = ValueHint::DirPath)]
    models: Option<OsString>,
    #[command(flatten)]
    chat: ChatArgs,
    /// The AWS region of a model of Bedrock [default: that of the environment or the profile]
    #[arg(long, value_name = "REGION")]
    region: Option<String>,
    /// Send keys over plain http to other machines as well, where others can read them
    #[arg(long, env = "MEMORY_PLAIN_HTTP", value_parser = FalseyValueParser::new())]
    plain_http: bool,
    /// A cross-encoder that reads question and candidates together: ms-marco-MiniLM, an id of a hub, a directory, or
    /// none
    #[arg(long, value_name = "NAME|DIR", env = "MEMORY_RERANKER", default_value = "none")]
    reranker: String,
    /// The least score, a logit on the cross-encoder's scale, of a message among the hits [default: none]
    #[arg(long, value_name = "SCORE", env = "MEMORY_MIN_SCORE", allow_negative_numbers = true, value_parser = finite)]
    min_score: Option<f32>,
    /// The most messages of a conversation that recall finds, the newest; the log keeps them all [default: no limit]
    #[arg(long, value_name = "N", env = "MEMORY_MAX_NUM_ARCHIVED_MESSAGES")]
    max_num_archived_messages: Option<u64>,
    /// The most bytes of a conversation's messages that recall finds, the newest [default: no limit]
    #[arg(long, value_name = "BYTES", env = "MEMORY_MAX_MEMORY_ARCHIVED_MESSAGES")]
    max_memory_archived_messages: Option<u64>,
    /// Treatment of keys and personal data in new messages: keep, mask or refuse, as in email=mask; classes are
    /// private-key, service-key, url-credentials, email, phone, card, iban and all; may be repeated [default: keep]
    #[arg(long, value_name = "CLASS=TREATMENT", env = "MEMORY_REDACT")]
    redact: Vec<Redaction>,
    /// Your time zone, for messages that state none: a name as in Europe/Berlin, an offset as in +02:00, or local
    /// [default: UTC]
    #[arg(long, value_name = "ZONE", env = "MEMORY_TIME_ZONE")]
    time_zone: Option<String>,
    /// Megabytes of embeddings to keep for texts that are embedded again; 0 for none
    #[arg(long, value_name = "MB", env = "MEMORY_EMBEDDING_CACHE_MB", default_value_t = 256)]
    embedding_cache_mb: u32,
    /// How vectors are compared
    #[arg(long, value_name = "HOW", env = "MEMORY_VECTORS", default_value = "fastest")]
    vectors: Vectors,
    /// The manager of summaries and of what a model is shown: hierarchical, none, sliding-window, summarizing,
    /// semantic-summarizing, tiered, importance-window, query-aware or knowledge
    #[arg(long, value_name = "NAME", env = "MEMORY_MANAGER", default_value = Config::DEFAULT_MANAGER)]
    manager: String,
    /// The settings of the manager, as a JSON object
    #[arg(long, value_name = "JSON", env = "MEMORY_MANAGER_SETTINGS", default_value = "", hide_default_value = true)]
    manager_settings: String,
    /// The strategy that writes summaries: built in or a plugin
    #[arg(long, value_name = "NAME", env = "MEMORY_SUMMARIZER", default_value = "spans")]
    summarizer: String,
    /// The strategy that scores messages: built in or a plugin
    #[arg(long, value_name = "NAME", env = "MEMORY_SCORER", default_value = "rules")]
    scorer: String,
    /// The configuration of a strategy, as JSON; may be repeated
    #[arg(long, value_name = "NAME=JSON")]
    configure: Vec<String>,
    /// A directory with strategy plugins; may be repeated
    #[arg(long, value_name = "DIR")]
    plugins: Vec<PathBuf>,
    /// The file of an encrypted store's key: 32 random bytes
    #[arg(long, value_name = "FILE", env = "MEMORY_KEY_FILE", value_hint = ValueHint::FilePath)]
    key_file: Option<PathBuf>,
    /// A command of the shell that prints the key of an encrypted store: 32 bytes or 64 hexadecimal digits
    #[arg(long, value_name = "COMMAND", env = "MEMORY_KEY_COMMAND")]
    key_command: Option<String>,
    /// The directory that mcp, bridge, watch and chat back the store up to while they run; with --owner they do not
    #[arg(long, value_name = "DIR", env = "MEMORY_BACKUP_DIRECTORY", value_hint = ValueHint::DirPath)]
    backup_directory: Option<PathBuf>,
    /// How many hours after a backup the next one is due
    #[arg(long, value_name = "HOURS", env = "MEMORY_BACKUP_INTERVAL_HOURS", default_value = "24")]
    backup_interval_hours: NonZeroU32,
    /// How long to wait for another process that is writing to the store
    #[arg(long, value_name = "SECONDS", env = "MEMORY_LOCK_TIMEOUT", default_value_t = 10)]
    lock_timeout: u32,
}

/// How vectors are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Vectors {
    /// By a scan or a graph, whichever is faster
    Fastest,
    /// By scans alone
    Scan,
    /// By a graph, however few vectors there are
    Graph,
    /// By the graph of the crate `hnsw_rs`, which each process builds in memory
    #[cfg(feature = "hnsw-rs")]
    HnswRs,
}

impl From<Vectors> for Method {
    fn from(vectors: Vectors) -> Self {
        match vectors {
            Vectors::Fastest => Self::Fastest,
            Vectors::Scan => Self::Scan,
            Vectors::Graph => Self::Graph,
            #[cfg(feature = "hnsw-rs")]
            Vectors::HnswRs => Self::HnswRs,
        }
    }
}

/// Settings that every command gets.
#[derive(Debug)]
pub(crate) struct Globals {
    pub(crate) output: Output,
    /// The configuration file, whose values the flags have where nothing else gives one.
    pub(crate) file: ConfigFile,
    /// The parsed command line, which states the source of each flag's value.
    pub(crate) matches: ArgMatches,
    /// The whole command line, as it is without the configuration file.
    pub(crate) definition: fn() -> clap::Command,
    args: GlobalArgs,
    configurations: BTreeMap<String, String>,
    /// Source of the key of an encrypted store.
    key: Option<KeySource>,
}

impl Globals {
    /// Checks the flags.
    pub(crate) fn new(
        args: GlobalArgs,
        file: ConfigFile,
        matches: ArgMatches,
        definition: fn() -> clap::Command,
    ) -> Result<Self, Usage> {
        let mut configurations = configurations(&args.configure)?;
        // Configurations of other strategies wait until they are chosen.
        let is_chosen = |strategy: &str| strategy == args.summarizer || strategy == args.scorer;
        for (strategy, json) in file.strategies().filter(|(strategy, _)| is_chosen(strategy)) {
            configurations.entry(strategy.to_owned()).or_insert_with(|| json.to_owned());
        }
        let key = key_source(&args, &matches)?;
        Ok(Self { output: Output { json: args.json }, file, matches, definition, args, configurations, key })
    }

    /// True if keys may be sent over plain http to other machines.
    #[cfg(feature = "hub")]
    pub(crate) fn plain_http(&self) -> bool {
        self.args.plain_http
    }

    /// Drops the notice that the user asked for by `--words-only`.
    pub(crate) fn keep_news(&self, notices: &mut Vec<Notice>) {
        if self.args.words_only {
            notices.retain(|notice| !matches!(notice, Notice::WordsOnly { .. }));
        }
    }

    /// Drops the same notice from the news of a command.
    pub(crate) fn keep(&self, news: &mut Vec<News>) {
        if self.args.words_only {
            news.retain(|one| !matches!(one, News::Memory(Notice::WordsOnly { .. })));
        }
    }

    /// The configuration for a command that reads or writes the store.
    ///
    /// # Errors
    /// [`NotFound`] when a command needs a store that exists, and none does: it must not make an empty one. [`Usage`]
    /// for a least score without a cross-encoder.
    pub(crate) fn config(&self, access: Access) -> anyhow::Result<Config> {
        let store = self.store()?;
        if access != Access::Write {
            check_exists(&store)?;
        }
        if self.args.min_score.is_some() && self.args.reranker == "none" {
            let why = "a least score is a logit on a cross-encoder's scale: name one by --reranker, or leave out --min-score; \
                       --min-relevance of `memory search` needs none";
            return Err(Usage(why.to_owned()).into());
        }
        Ok(self.config_at(store, access))
    }

    /// The directory of the store, which need not exist.
    pub(crate) fn store(&self) -> anyhow::Result<PathBuf> {
        Ok(match &self.args.store {
            Some(url) if url.contains("://") => {
                let scheme = url.split("://").next().unwrap_or_default();
                let why = format!("this build keeps stores in directories only, not at `{scheme}://`");
                return Err(Usage(why).into());
            }
            Some(directory) => PathBuf::from(directory),
            None => Config::default_store()
                .ok_or_else(|| Usage(format!("this user has no data directory: give --store or {STORE_VARIABLE}")))?,
        })
    }

    /// Refuses a command that works on all conversations of a store when the owner of some is named.
    pub(crate) fn check_sees_all(&self) -> Result<(), Usage> {
        match &self.args.owner {
            None => Ok(()),
            Some(_) => {
                let from = if self.is_of_the_file("owner") {
                    "the configuration file names an owner: read none by --config none, and name the store by --store"
                } else {
                    "leave out --owner and MEMORY_OWNER"
                };
                Err(Usage(format!("this is done to the whole store: {from}")))
            }
        }
    }

    /// True if an option has the value that the configuration file gives it.
    fn is_of_the_file(&self, name: &str) -> bool {
        self.file.find(None, name).is_some() && !config_file::is_given(&self.matches, name)
    }

    /// True if recall is only by words, as the user wants it.
    pub(crate) fn is_by_words(&self) -> bool {
        self.args.words_only
    }

    /// The directory of the runtime and the models.
    ///
    /// # Errors
    /// When none is named and the user has no cache directory.
    pub(crate) fn models(&self) -> Result<ModelStore, ModelError> {
        ModelStore::discover(self.models_directory().as_deref())
    }

    fn models_directory(&self) -> Option<PathBuf> {
        self.args.models.as_ref().filter(|named| !named.is_empty()).map(PathBuf::from)
    }

    /// The name of the strategy that writes summaries.
    pub(crate) fn summarizer_name(&self) -> &str {
        &self.args.summarizer
    }

    /// Options of plugins, and the directories that hold them.
    pub(crate) fn plugins(&self) -> (PluginOptions, &[PathBuf]) {
        let mut options = PluginOptions::default();
        options.configurations.clone_from(&self.configurations);
        (options, &self.args.plugins)
    }

    /// The settings of the strategies that are chosen, by their names, as JSON.
    pub(crate) fn configurations(&self) -> impl Iterator<Item = (&str, &str)> {
        self.configurations.iter().map(|(strategy, json)| (strategy.as_str(), json.as_str()))
    }

    /// The configuration for another store.
    pub(crate) fn config_at(&self, store: PathBuf, access: Access) -> Config {
        let mut config = Config::new(store, access);
        config.owner.clone_from(&self.args.owner);
        config.recall = if self.args.words_only { Recall::Words } else { Recall::Hybrid };
        config.model.clone_from(&self.args.embedding_model);
        config.models = self.models_directory();
        config.chat = self.args.chat.settings();
        config.region.clone_from(&self.args.region);
        config.plain_http = self.args.plain_http;
        config.reranker = Some(self.args.reranker.clone()).filter(|name| name != "none");
        config.min_score = self.args.min_score;
        config.max_num_archived_messages = self.args.max_num_archived_messages;
        config.max_memory_archived_messages = self.args.max_memory_archived_messages;
        config.redaction = self.args.redact.iter().cloned().fold(Redaction::default(), Redaction::and);
        config.time_zone.clone_from(&self.args.time_zone);
        config.embedding_cache_bytes = u64::from(self.args.embedding_cache_mb) << 20;
        config.vectors = self.args.vectors.into();
        config.manager.clone_from(&self.args.manager);
        config.manager_settings.clone_from(&self.args.manager_settings);
        config.summarizer.clone_from(&self.args.summarizer);
        config.scorer.clone_from(&self.args.scorer);
        config.configurations.clone_from(&self.configurations);
        config.plugins.clone_from(&self.args.plugins);
        config.lock_timeout = Duration::from_secs(self.args.lock_timeout.into());
        // A backup has the conversations of all owners.
        config.backup_directory = self.args.backup_directory.clone().filter(|_| self.args.owner.is_none());
        config.backup_interval_hours = self.args.backup_interval_hours;
        config.key.clone_from(&self.key);
        config
    }

    /// `program` with the configuration file, the store and the owner that were named for this call. Settings of that
    /// file are left out: the other call reads it.
    pub(crate) fn command_line(&self, program: &str) -> String {
        let GlobalArgs { store, owner, .. } = &self.args;
        let mut words = vec![quoted(program).into_owned()];
        let named = match &self.file.choice {
            Choice::Named(path) => Some(path.display().to_string()),
            Choice::Off if self.matches.value_source("config") == Some(ValueSource::CommandLine) => {
                Some(NONE.to_owned())
            }
            Choice::Off | Choice::Default(_) => None,
        };
        if let Some(named) = named {
            words.extend(["--config".to_owned(), quoted(&named).into_owned()]);
        }
        if let Some(store) = store.as_ref().filter(|_| !self.is_of_the_file("store")) {
            // Another call has another working directory.
            let place = path::absolute(store).ok().filter(|_| !store.contains("://"));
            let place = place.map_or_else(|| store.clone(), |place| place.display().to_string());
            words.extend(["--store".to_owned(), quoted(&place).into_owned()]);
        }
        if let Some(owner) = owner.as_ref().filter(|_| !self.is_of_the_file("owner")) {
            words.extend(["--owner".to_owned(), quoted(owner.as_str()).into_owned()]);
        }
        words.join(" ")
    }
}

/// Refuses a place where no store was ever made. One that lost files to damage is there: `doctor` reports what is
/// whole.
fn check_exists(store: &Path) -> Result<(), NotFound> {
    let is_there = |path: &Path| path.symlink_metadata().is_ok();
    let is_something = if store.is_dir() { is_there(&store.join("FORMAT")) } else { is_there(store) };
    if is_something || LogStore::exists(store) {
        return Ok(());
    }
    Err(NotFound(format!(
        "there is no store at {}: `memory import FILE` or `memory append -c NAME TEXT` makes one there, `memory demo \
         --keep DIR` makes one with a sample; --store or {STORE_VARIABLE} names another",
        store.display()
    )))
}

/// The key of an encrypted store: of an option, then of a variable, then of the configuration file.
fn key_source(args: &GlobalArgs, matches: &ArgMatches) -> Result<Option<KeySource>, Usage> {
    let of_options = |wanted: &dyn Fn(Option<ValueSource>) -> bool| {
        let of = |id: &str| wanted(matches.value_source(id));
        let file = args.key_file.as_ref().filter(|file| of("key_file") && !file.as_os_str().is_empty());
        let command = args.key_command.as_ref().filter(|command| of("key_command") && !command.is_empty());
        file.cloned().map(KeySource::File).or(command.cloned().map(KeySource::Command))
    };
    let is_of_shell = |source| matches!(source, Some(ValueSource::CommandLine | ValueSource::EnvVariable));
    if let Some(named) = of_options(&|source| source == Some(ValueSource::CommandLine))
        .or_else(|| of_options(&|source| source == Some(ValueSource::EnvVariable)))
    {
        return Ok(Some(named));
    }
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    if let Some(digits) = variable(KEY_VARIABLE) {
        let why = || Usage(format!("{KEY_VARIABLE} is no key: 64 hexadecimal digits are expected"));
        return KeySource::from_hex(&digits).map(Some).ok_or_else(why);
    }
    let passphrase = variable(PASSPHRASE_VARIABLE).map(MasterKey::from_passphrase);
    Ok(passphrase.map(KeySource::Key).or_else(|| of_options(&|source| !is_of_shell(source))))
}

fn finite(text: &str) -> Result<f32, String> {
    let number = text.parse::<f32>().map_err(|error| error.to_string())?;
    if number.is_finite() { Ok(number) } else { Err("a score is a finite number".to_owned()) }
}

/// Configurations by the names of strategies.
fn configurations(given: &[String]) -> Result<BTreeMap<String, String>, Usage> {
    let mut configurations = BTreeMap::new();
    for given in given {
        let (name, json) =
            given.split_once('=').ok_or_else(|| Usage(format!("--configure {given}: write NAME=JSON")))?;
        let object = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(json);
        object.map_err(|error| Usage(format!("--configure {name}: expected a JSON object: {error}")))?;
        if configurations.insert(name.to_owned(), json.to_owned()).is_some() {
            return Err(Usage(format!("--configure {name}: it is configured twice")));
        }
    }
    Ok(configurations)
}

/// A word that a POSIX shell reads as this text.
pub(crate) fn quoted(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("'{}'", text.replace('\'', r"'\''")))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_shell_reads_a_quoted_word_as_the_text() {
        assert_eq!(quoted("/usr/bin/memory"), "/usr/bin/memory");
        assert_eq!(quoted("/opt/Ana B/it's; rm -rf $X"), r"'/opt/Ana B/it'\''s; rm -rf $X'");
        assert_eq!(quoted(""), "''");
    }
}
