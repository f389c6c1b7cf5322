//! One of the models: its hits in the sample, and their cost.

use std::{
    collections::BTreeSet,
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use memory::{
    models::{self, is_remote},
    parts::{Parts, assemble, derived, open_log},
};
use memory_core::{
    ModelId,
    port::{DerivedKind, Embedder, Notice, Progress, Query, Scope},
};
use tempfile::TempDir;

use super::{
    super::list::size_of,
    meter::{Meter, Spent},
    sample::{MessageAddress, Question, Sample},
};
use crate::{Access, Config, Recall, globals::Globals};

/// Number of best hits of a question that count.
const BEST: usize = 10;

/// A model to compare.
#[derive(Debug)]
pub(super) struct Contender {
    name: String,
    embedder: Arc<dyn Embedder>,
}

/// Figures of a model: its hits, and their cost.
#[derive(Debug)]
pub(super) struct Figures {
    pub(super) model: ModelId,
    pub(super) dimensions: usize,
    pub(super) is_remote: bool,
    /// 1 for each question whose reply is among the best hits, otherwise 0.
    pub(super) found: Vec<f64>,
    /// Best hits of each question.
    pub(super) best: Vec<BTreeSet<MessageAddress>>,
    /// Time of each question.
    pub(super) took: Vec<Duration>,
    pub(super) spent: Spent,
    /// Bytes of the vectors on disk.
    pub(super) vector_bytes: u64,
    /// Bytes of the model's weights; `None` for a remote model.
    pub(super) model_bytes: Option<u64>,
    /// Notices of the embedding.
    pub(super) notices: Vec<Notice>,
}

impl Contender {
    /// Loads the model, without any use of the network.
    ///
    /// # Errors
    /// If it is missing or cannot be used.
    pub(super) fn load(name: &str, globals: &Globals) -> anyhow::Result<Self> {
        // The model is independent of any store.
        let embedder = models::load(&globals.config_at("none".into(), Access::Read), name)?;
        Ok(Self { name: name.to_owned(), embedder })
    }

    /// Embeds the sample into a temporary store, and asks all questions.
    ///
    /// # Errors
    /// If the model fails, or does not take part in a question.
    pub(super) async fn measure(&self, sample: &Sample, globals: &Globals) -> anyhow::Result<Figures> {
        let is_remote = is_remote(&self.name);
        if is_remote {
            let (messages, questions) = (sample.messages(), sample.questions.len());
            globals.output.note(&format!("{} is sent {messages} messages and {questions} questions", self.name));
        }
        let directory = private_directory().context("cannot make a temporary directory")?;
        let config = alone(globals.config_at(directory.path().join("store"), Access::Write));
        let meter = Arc::new(Meter::new(Arc::clone(&self.embedder), is_remote));
        let log = Arc::new(open_log(&config)?);
        let parts = assemble(&config, Arc::clone(&log), Some(meter.clone()))?;
        let notices = self.embed(&parts, sample, globals).await?;
        let mut vector_bytes = 0;
        for data in derived(&config, &log) {
            if matches!(data.kind(), DerivedKind::Vectors | DerivedKind::Graph | DerivedKind::Tokens) {
                vector_bytes += data.holdings().await?.total().disk;
            }
        }
        let model_bytes = if is_remote { None } else { Some(size_of(&self.name, &globals.models()?)?) };
        let mut figures = Figures {
            model: self.embedder.model().clone(),
            dimensions: self.embedder.dimensions(),
            is_remote,
            found: Vec::new(),
            best: Vec::new(),
            took: Vec::new(),
            spent: Spent::default(),
            vector_bytes,
            model_bytes,
            notices,
        };
        let bar = globals.output.bar("asking");
        for (done, question) in (1..).zip(&sample.questions) {
            self.ask(&parts, question, &mut figures).await?;
            bar.report(done, sample.questions.len() as u64);
        }
        bar.finish();
        figures.spent = meter.spent();
        Ok(figures)
    }

    async fn embed(&self, parts: &Parts, sample: &Sample, globals: &Globals) -> anyhow::Result<Vec<Notice>> {
        let mut notices = Vec::new();
        for (id, messages) in &sample.conversations {
            parts.store.append(id, messages.clone()).await?;
            let bar = globals.output.bar("embedding");
            let report = parts.retriever.catch_up(id, &bar).await?;
            bar.finish();
            let through = parts.vectors.as_ref().map_or(0, |vectors| vectors.stats(id).through);
            let why = || report.notices.first().map_or_else(String::new, |notice| format!(": {notice}"));
            ensure!(through >= messages.len() as u64, "{} did not embed the messages{}", self.name, why());
            notices.extend(report.notices);
        }
        parts.flush().await?;
        notices.dedup();
        Ok(notices)
    }

    async fn ask(&self, parts: &Parts, question: &Question, figures: &mut Figures) -> anyhow::Result<()> {
        let query = Query::new(&question.text, Scope::all()).limit(BEST);
        let started = Instant::now();
        let answer = parts.retriever.search(&query).await?;
        figures.took.push(started.elapsed());
        // A search by words alone would be compared with a model.
        let without = |notice: &&Notice| {
            matches!(notice, Notice::WordsOnly { .. } | Notice::NotEmbedded { .. } | Notice::TokensNotCompared { .. })
        };
        if let Some(notice) = answer.notices.iter().find(without) {
            bail!("{} did not take part in a question: {notice}", self.name);
        }
        let best: BTreeSet<MessageAddress> =
            answer.hits.into_iter().map(|hit| (hit.conversation, hit.node.id)).collect();
        figures.found.push(f64::from(u8::from(best.contains(&question.reply))));
        figures.best.push(best);
        Ok(())
    }
}

/// A temporary directory that only this user can read.
fn private_directory() -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.prefix("memory-compare-").tempdir()
}

/// The configuration of a store without an owner and without cached embeddings, so that each message is embedded.
fn alone(mut config: Config) -> Config {
    config.owner = None;
    config.recall = Recall::Hybrid;
    config.embedding_cache_bytes = 0;
    config
}
