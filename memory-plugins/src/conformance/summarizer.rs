//! The checks of a summarizer.

use memory_core::{
    Level, NodeId, NodeRange, Role, SummaryMetadata,
    port::{Summarizer, SummaryJob, SummarySource, WrittenSummary},
};
use pollster::block_on;

use super::{
    Check, Trial, Verdict, from_many_threads,
    jobs::{MANY, TALK, UNICODE, huge},
    patiently,
    stand_ins::Pieces,
};

pub(super) fn run(trial: &mut Trial<'_>, check: Check, subject: &dyn Summarizer) -> Verdict {
    let talk = sources(TALK);
    match check {
        Check::Contract => {
            let bounds = [1, 2, 3, 5, 8, 13, 21, 34, 89, 233, 10_000];
            let levels = [Level::Summary, Level::Meta, Level::Archive];
            let jobs = bounds.iter().flat_map(|bound| levels.map(|level| (*bound, level)));
            all(trial, subject, jobs.map(|(bound, level)| (talk.as_slice(), level, bound)))
        }
        Check::Unicode => {
            let sources = sources(UNICODE);
            let each = sources.chunks(1).chain([sources.as_slice()]);
            let jobs = each.flat_map(|sources| [1, 4, 40].map(|bound| (sources, Level::Summary, bound)));
            all(trial, subject, jobs)
        }
        Check::Empty => {
            let empty = sources(&[""]);
            let blank = sources(&["", " \n\t ", ""]);
            let some = sources(&["", "word", ""]);
            all(
                trial,
                subject,
                [(empty.as_slice(), Level::Summary, 1), (&blank, Level::Meta, 20), (&some, Level::Meta, 20)],
            )
        }
        Check::Huge => {
            let huge = huge();
            let huge = sources(&huge.iter().map(String::as_str).collect::<Vec<_>>());
            let many: Vec<_> = TALK.iter().copied().cycle().take(MANY).collect();
            let many = sources(&many);
            let each = huge.chunks(1).map(|sources| (sources, Level::Summary, 60));
            all(trial, subject, each.chain([(many.as_slice(), Level::Archive, 200)]))
        }
        Check::Determinism => match varies(trial) {
            Some(skipped) => skipped,
            None => determinism(trial, subject, &talk),
        },
        Check::Concurrency => match ask(subject, (&talk, Level::Meta, 40)) {
            Err(error) => Verdict::Broken(trial.note(&*error)),
            Ok(_) if trial.info.capabilities.varies => from_many_threads(&true, || {
                ask(subject, (&talk, Level::Meta, 40)).map(|_| true).map_err(|e| e.to_string())
            }),
            Ok(expected) => {
                from_many_threads(&expected, || ask(subject, (&talk, Level::Meta, 40)).map_err(|e| e.to_string()))
            }
        },
        Check::Deadline => {
            let huge = huge();
            let huge = sources(&huge.iter().map(String::as_str).collect::<Vec<_>>());
            trial.deadline(|hasty| {
                // Only the deadline matters here, not the outcome.
                let subject = patiently(|| hasty.summarizer(&trial.info.name))?;
                drop(ask(&*subject, (&huge, Level::Archive, 1_000)));
                Ok(())
            })
        }
        Check::Configuration | Check::Panics => Verdict::Kept,
    }
}

pub(super) fn varies(trial: &Trial<'_>) -> Option<Verdict> {
    trial.info.capabilities.varies.then_some(Verdict::Skipped("it says that its answers vary"))
}

/// Sources, level and maximum tokens.
type Job<'a> = (&'a [SummarySource], Level, u32);

fn ask(
    subject: &dyn Summarizer,
    (sources, level, max_tokens): Job<'_>,
) -> Result<WrittenSummary, memory_core::port::BoxError> {
    let job = SummaryJob::new(level, sources, max_tokens, &Pieces);
    block_on(subject.summarize(job)).map_err(|error| error.source)
}

/// The first fault among the answers. The adapter checks limit, range and blankness.
fn all<'a>(trial: &mut Trial<'_>, subject: &dyn Summarizer, jobs: impl IntoIterator<Item = Job<'a>>) -> Verdict {
    let mut broken = None;
    for job in jobs {
        if let Err(error) = ask(subject, job) {
            let said = trial.note(&*error);
            let (sources, level, bound) = job;
            broken.get_or_insert(format!("{level} of {} sources in {bound} tokens: {said}", sources.len()));
        }
    }
    broken.map_or(Verdict::Kept, Verdict::Broken)
}

fn determinism(trial: &mut Trial<'_>, subject: &dyn Summarizer, talk: &[SummarySource]) -> Verdict {
    let answers: Result<Vec<_>, _> = (0..3).map(|_| ask(subject, (talk, Level::Meta, 40))).collect();
    match answers {
        Err(error) => Verdict::Broken(trial.note(&*error)),
        Ok(answers) if answers.windows(2).all(|pair| matches!(pair, [a, b] if a == b)) => Verdict::Kept,
        Ok(_) => Verdict::Broken("two answers to the same job differ".to_owned()),
    }
}

fn sources(texts: &[&str]) -> Vec<SummarySource> {
    let source = |(index, text): (usize, &&str)| {
        SummarySource::new(NodeRange::single(NodeId::from_index(index)), (*text).to_owned())
            .role(if index % 2 == 0 { Role::User } else { Role::Assistant })
            .speaker(if index % 2 == 0 { "Maya" } else { "assistant" }.to_owned())
            .metadata(SummaryMetadata::default().importance(0.5).line_count(1))
    };
    texts.iter().enumerate().map(source).collect()
}
