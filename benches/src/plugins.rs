//! The group `plugins`: the cost of the plugin interface, and the speed of the built-in strategies.

use std::{
    env::{self, consts},
    ffi::OsStr,
    fs,
    hint::black_box,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use abi_stable::{library::lib_header_from_path, sabi_trait::TD_Opaque};
use anyhow::{Context, Result, anyhow, ensure};
use memory_core::{
    Level, NodeId, NodeRange, Role, WrittenBy,
    port::{
        BoxFuture, ImportanceScorer, ScoreJob, SummarizeError, Summarizer, SummaryJob, SummarySource, TokenCounter,
        WrittenSummary,
    },
    text::FirstWords,
};
use memory_plugin_abi::{
    testing::{TestHost, source},
    v1::{self, Failure, PluginModule_Ref, SummarizerPlugin, SummaryHost, SummaryHost_TO, Written},
};
use memory_plugin_fixture_misbehaves::Misbehaves;
use memory_plugins::Registry;
use memory_strategies::{Rules, Spans};
use pollster::block_on;

use crate::{
    corpus::{Corpus, QuarterOfBytes},
    eval::{conversations, directories},
    figure::{Entrant, Figure, Samples, interleave, median_of},
    process,
};

/// The fixture that is called.
const FIXTURE: &str = "memory_plugin_fixture_misbehaves";
/// A message to summarize.
const MESSAGE: &str = "After the tests we decided to ship version 2.4 on 12 March, if Priya agrees.";
/// Calls of a round through the interface.
const MANY: u32 = 200_000;
/// Calls of a round through the host.
const CALLS: usize = 100;
/// Pause before each call through the host.
const REST: Duration = Duration::from_millis(10);
/// Processes of a round that load a plugin.
const PROCESSES: u32 = 8;
/// Messages of a round that strategies read.
const MESSAGES: usize = 20_000;
/// Messages that are scored at once, as a compaction does.
const BATCH: usize = 256;
/// The bound of a SUMMARY.
const MOST_TOKENS: u32 = 48;

/// Measures the group; the strategies also read evaluation `data`, if given.
///
/// # Errors
/// When a plugin's library is not where the build puts it, or a call fails.
pub(crate) fn measure(data: Option<&Path>) -> Result<Vec<Figure>> {
    eprintln!("plugins: calls through the interface");
    let mut figures = vec![interface()?];
    eprintln!("plugins: calls through the host");
    figures.push(host()?);
    eprintln!("plugins: loading");
    figures.push(loading()?);
    eprintln!("plugins: built-in strategies");
    figures.extend(strategies(data)?);
    Ok(figures)
}

/// The library of a crate, next to this binary or among its build outputs.
fn library(crate_name: &str) -> Result<PathBuf> {
    let file = format!("{}{crate_name}{}", consts::DLL_PREFIX, consts::DLL_SUFFIX);
    let binary = env::current_exe()?;
    let beside = binary.parent().context("a binary lies in a directory")?;
    let places = [beside.join("deps").join(&file), beside.join(&file)];
    places.iter().find(|place| place.is_file()).cloned().with_context(|| format!("no library at {places:?}"))
}

/// A summarizer behind a vtable of this program, to call the fixture's function directly.
trait Direct {
    fn summarize(&self, job: &v1::SummaryJob<'_>, host: &dyn SummaryHost) -> Result<Written, Failure>;
}

impl Direct for Misbehaves {
    fn summarize(&self, job: &v1::SummaryJob<'_>, host: &dyn SummaryHost) -> Result<Written, Failure> {
        SummarizerPlugin::summarize(self, job, host)
    }
}

/// A call through the interface against a direct one.
fn interface() -> Result<Figure> {
    let header = lib_header_from_path(&library(FIXTURE)?).map_err(|error| anyhow!("{error}"))?;
    let module: PluginModule_Ref = header.init_root_module().map_err(|error| anyhow!("{error}"))?;
    let behind = module.new_summarizer()("{}".into()).into_result().map_err(|error| anyhow!("{}", error.message))?;
    let direct: Box<dyn Direct> = Box::new(Misbehaves::new("{}").map_err(|error| anyhow!("{}", error.message))?);
    let host = TestHost::default();
    let sources = [source(1, MESSAGE)];
    let job = v1::SummaryJob { sources: (&sources[..]).into(), max_tokens: 20, level: v1::Level::SUMMARY };
    let [[through], [directly]] = interleave([
        Entrant::new("through the interface", ["ns"], || {
            time_call(|| behind.summarize(black_box(job), SummaryHost_TO::from_ptr(&host, TD_Opaque)).into_result())
        }),
        Entrant::new("directly", ["ns"], || time_call(|| direct.summarize(black_box(&job), &host))),
    ])?;
    let note = format!(
        "the same function called through the interface, its guard against panics included, less called by `dyn`: \
         {:.0} ns less {:.0} ns",
        through.median(),
        directly.median(),
    );
    Ok(Figure::absolute("abi_call_overhead_ns", &difference(&through, &directly), note))
}

/// Cost of a call beyond that of a direct one, round by round.
fn difference(through: &Samples, directly: &Samples) -> Samples {
    let values = through.values.iter().zip(&directly.values).map(|(through, directly)| through - directly);
    Samples { values: values.collect(), ..through.clone() }
}

/// Nanoseconds a call.
fn time_call(mut call: impl FnMut() -> Result<Written, Failure>) -> Result<[f64; 1]> {
    let start = Instant::now();
    let mut bytes = 0;
    for _ in 0..MANY {
        bytes += black_box(call()).map_err(|error| anyhow!("{}", error.message))?.text.len();
    }
    let took = start.elapsed();
    ensure!(bytes == MANY as usize * "fine".len(), "the answers are not those that were asked for");
    Ok([took.as_secs_f64() * 1e9 / f64::from(MANY)])
}

/// A summarizer that gives the plugin's answers, for direct calls.
#[derive(Debug)]
struct Fine;

impl Summarizer for Fine {
    fn identity(&self) -> WrittenBy {
        FirstWords.identity()
    }

    fn summarize<'a>(&'a self, _job: SummaryJob<'a>) -> BoxFuture<'a, Result<WrittenSummary, SummarizeError>> {
        Box::pin(async { Ok(WrittenSummary::new("fine")) })
    }
}

/// A call through the host, with its threads, deadline and checks, against a direct one.
fn host() -> Result<Figure> {
    let mut registry = Registry::with_builtins();
    let info = registry.load(&library(FIXTURE)?)?;
    let plugin = registry.summarizer(&info.name)?;
    let [[through], [directly]] = interleave([
        Entrant::new("through the host", ["us"], || median_us(&*plugin)),
        Entrant::new("directly", ["us"], || median_us(&Fine)),
    ])?;
    let note = "one call after a rest of 10 ms, from the port to the plugin on a thread of the host's, under a deadline, and \
                back, less a direct call; the middle of a hundred";
    Ok(Figure::absolute("host_call_us", &difference(&through, &directly), note))
}

/// Median microseconds of a call.
fn median_us(summarizer: &dyn Summarizer) -> Result<[f64; 1]> {
    let source = SummarySource::new(NodeRange::single(NodeId::FIRST), MESSAGE).role(Role::User).speaker("user");
    let sources = [source];
    let job = SummaryJob::new(Level::Summary, &sources, 20, &QuarterOfBytes);
    median_of(CALLS, || {
        thread::sleep(REST);
        let start = Instant::now();
        let written = block_on(summarizer.summarize(job))?;
        let took = start.elapsed().as_secs_f64() * 1e6;
        ensure!(written.text == "fine", "the answer is not the one that was asked for");
        Ok(took)
    })
}

/// The time in which a process loads its first plugin and creates its strategy.
fn loading() -> Result<Figure> {
    let library = library("memory_plugin_first_words")?;
    let [[load]] = interleave([Entrant::new("memory-plugins", ["ms"], || {
        let mut all = 0.0;
        for _ in 0..PROCESSES {
            let [took] = process::numbers(process::task([OsStr::new("load-plugin"), library.as_os_str()])?)?;
            all += took;
        }
        Ok([all / f64::from(PROCESSES)])
    })])?;
    let name = library.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let kilobytes = fs::metadata(&library)?.len() / 1_000;
    let note = format!(
        "checks, digest, opening, comparing layouts and making the strategy, each in a new process; an official plugin, \
         {name}, {kilobytes} kB"
    );
    Ok(Figure::absolute("load_ms", &load, note))
}

/// Loads the plugin at `library` in this process and prints the milliseconds that it took.
///
/// # Errors
/// When it cannot be loaded.
pub(crate) fn print_load(library: &Path) -> Result<()> {
    let start = Instant::now();
    let mut registry = Registry::with_builtins();
    let info = registry.load(library)?;
    let summarizer = registry.summarizer(&info.name)?;
    let took = start.elapsed();
    ensure!(summarizer.identity().strategy == info.name, "another strategy was made");
    println!("{}", took.as_secs_f64() * 1e3);
    Ok(())
}

/// Texts to read, and their source.
struct Texts {
    from: &'static str,
    sources: Vec<SummarySource>,
}

impl Texts {
    fn of(from: &'static str, texts: impl Iterator<Item = (Role, String)>) -> Self {
        let source = |(index, (role, text)): (usize, (Role, String))| {
            SummarySource::new(NodeRange::single(NodeId::from_index(index)), text).role(role)
        };
        Self { from, sources: texts.take(MESSAGES).enumerate().map(source).collect() }
    }

    fn made_up() -> Self {
        let drafts = Corpus::new(11).drafts(MESSAGES, &QuarterOfBytes);
        Self::of("made up", drafts.into_iter().map(|draft| (draft.message.role, draft.message.text())))
    }

    fn of_data(data: &Path) -> Result<Self> {
        let mut texts = Vec::new();
        for directory in directories(data)? {
            for conversation in conversations(&directory)? {
                texts.extend(conversation.messages.iter().map(|(message, _)| (message.role, message.text())));
            }
        }
        Ok(Self::of("of real conversations", texts.into_iter()))
    }
}

/// The speed figures, the slower of made-up and real messages.
fn strategies(data: Option<&Path>) -> Result<Vec<Figure>> {
    let mut texts = vec![Texts::made_up()];
    texts.extend(data.map(Texts::of_data).transpose()?);
    let mut measured = [const { Vec::new() }; 2];
    for texts in &texts {
        measured.iter_mut().zip(read(texts)?).for_each(|(all, figure)| all.push(figure));
    }
    Ok(measured.into_iter().filter_map(Figure::smallest).collect())
}

fn read(Texts { from, sources }: &Texts) -> Result<[Figure; 2]> {
    let count = u32::try_from(sources.len())?;
    let bytes: usize = sources.iter().map(|source| source.text.len()).sum();
    let megabytes = f64::from(u32::try_from(bytes)?) / 1e6;
    let [[cut], [scored]] = interleave([
        Entrant::new("spans", ["MB/s"], || Ok([megabytes / write_all(sources)?])),
        Entrant::new("rules", ["messages/s"], || Ok([f64::from(count) / score_all(sources)?])),
    ])?;
    let mean = bytes / sources.len().max(1);
    let note = |what: &str| format!("{what}, {count} messages of {mean} B on average, {from}, one thread");
    let summaries = "a SUMMARY of each, counting tokens not included";
    Ok([
        Figure::absolute("spans_mb_per_s", &cut, note(summaries)),
        Figure::absolute("rules_messages_per_s", &scored, note("in batches of 256")),
    ])
}

/// Seconds to summarize all sources, each alone.
fn write_all(sources: &[SummarySource]) -> Result<f64> {
    let (start, mut all) = (Instant::now(), Vec::with_capacity(sources.len()));
    for source in sources {
        let sources = std::slice::from_ref(source);
        let max_tokens = (QuarterOfBytes.count(&source.text) / 2).clamp(1, MOST_TOKENS);
        let job = SummaryJob::new(Level::Summary, sources, max_tokens, &QuarterOfBytes);
        all.push((Spans.write(black_box(&job)).text, max_tokens));
    }
    let took = start.elapsed();
    ensure!(all.iter().all(|(text, most)| QuarterOfBytes.count(text) <= *most), "a summary is over its bound");
    Ok(took.as_secs_f64())
}

/// Seconds to score all sources.
fn score_all(sources: &[SummarySource]) -> Result<f64> {
    let start = Instant::now();
    for batch in sources.chunks(BATCH) {
        let roles = batch.iter().map(|source| source.role.unwrap_or(Role::User));
        let jobs: Vec<_> = batch.iter().zip(roles).map(|(source, role)| ScoreJob::new(role, &source.text)).collect();
        ensure!(black_box(Rules.score(black_box(&jobs))?).len() == jobs.len(), "a message has no score");
    }
    Ok(start.elapsed().as_secs_f64())
}
