//! The checks of an importance scorer.

use memory_core::{
    NodeId, Role, Timestamp,
    port::{BoxError, ImportanceScorer, ScoreJob},
};

use super::{
    Check, Trial, Verdict, from_many_threads,
    jobs::{MANY, TALK, UNICODE, huge},
    patiently,
    summarizer::varies,
};

pub(super) fn run(trial: &mut Trial<'_>, check: Check, subject: &dyn ImportanceScorer) -> Verdict {
    match check {
        Check::Contract => {
            let jobs = jobs(TALK);
            all(trial, subject, jobs.chunks(1).chain([jobs.as_slice()]))
        }
        Check::Unicode => all(trial, subject, [jobs(UNICODE).as_slice()]),
        Check::Empty => all(trial, subject, [[].as_slice(), jobs(&["", " \n "]).as_slice()]),
        Check::Huge => {
            let huge = huge();
            let huge: Vec<_> = huge.iter().map(String::as_str).collect();
            let many: Vec<_> = TALK.iter().copied().cycle().take(MANY).collect();
            all(trial, subject, [jobs(&huge).as_slice(), jobs(&many).as_slice()])
        }
        Check::Determinism => match varies(trial) {
            Some(skipped) => skipped,
            None => determinism(trial, subject),
        },
        Check::Concurrency => match ask(subject, &jobs(TALK)) {
            Err(error) => Verdict::Broken(trial.note(&*error)),
            Ok(_) if trial.info.capabilities.varies => {
                from_many_threads(&true, || ask(subject, &jobs(TALK)).map(|_| true).map_err(|error| error.to_string()))
            }
            Ok(expected) => {
                from_many_threads(&expected, || ask(subject, &jobs(TALK)).map_err(|error| error.to_string()))
            }
        },
        Check::Deadline => {
            let huge = huge();
            let huge: Vec<_> = huge.iter().map(String::as_str).collect();
            trial.deadline(|hasty| {
                // Only the deadline matters here, not the outcome.
                let subject = patiently(|| hasty.scorer(&trial.info.name))?;
                drop(ask(&*subject, &jobs(&huge)));
                Ok(())
            })
        }
        Check::Configuration | Check::Panics => Verdict::Kept,
    }
}

fn ask(subject: &dyn ImportanceScorer, jobs: &[ScoreJob<'_>]) -> Result<Vec<f32>, BoxError> {
    subject.score(jobs).map_err(|error| error.source)
}

/// The first fault among the answers. The adapter checks their number and range.
fn all<'a>(
    trial: &mut Trial<'_>,
    subject: &dyn ImportanceScorer,
    batches: impl IntoIterator<Item = &'a [ScoreJob<'a>]>,
) -> Verdict {
    let mut broken = None;
    for batch in batches {
        if let Err(error) = ask(subject, batch) {
            let said = trial.note(&*error);
            broken.get_or_insert(format!("{} messages: {said}", batch.len()));
        }
    }
    broken.map_or(Verdict::Kept, Verdict::Broken)
}

fn determinism(trial: &mut Trial<'_>, subject: &dyn ImportanceScorer) -> Verdict {
    let answers: Result<Vec<_>, _> = (0..3).map(|_| ask(subject, &jobs(TALK))).collect();
    match answers {
        Err(error) => Verdict::Broken(trial.note(&*error)),
        Ok(answers) if answers.windows(2).all(|pair| matches!(pair, [a, b] if a == b)) => Verdict::Kept,
        Ok(_) => Verdict::Broken("two answers to the same messages differ".to_owned()),
    }
}

fn jobs<'a>(texts: &[&'a str]) -> Vec<ScoreJob<'a>> {
    let job = |(index, text): (usize, &&'a str)| {
        ScoreJob::new(if index % 2 == 0 { Role::User } else { Role::Assistant }, text)
            .node(NodeId::from_index(index))
            .said_at(
                i64::try_from(index).ok().map(|minutes| Timestamp::from_millis(1_700_000_000_000 + minutes * 60_000)),
            )
    };
    texts.iter().enumerate().map(job).collect()
}
