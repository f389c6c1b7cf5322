//! A host for unit tests of plugins, which counts words as tokens and embeds texts by their letters.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use abi_stable::std_types::{RResult, RSlice, RStr, RVec};

use crate::v1::{Failure, Flags, LogLevel, Role, ScoreHost, ScoreJob, Source, SummaryHost};

/// The dimensions of the vectors of [`TestHost`].
pub const DIMENSIONS: usize = 26;

/// Stands in for a host in tests.
///
/// ```
/// use memory_plugin_abi::{testing::TestHost, v1::SummaryHost};
///
/// let host = TestHost::default();
/// assert_eq!(host.count_tokens("three small words".into()), 3);
/// host.cancel();
/// assert!(SummaryHost::is_cancelled(&host));
/// ```
#[derive(Debug, Default)]
pub struct TestHost {
    cancelled: AtomicBool,
    log: Mutex<Vec<(LogLevel, String)>>,
}

impl TestHost {
    /// Marks calls as cancelled from now on.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// The log lines so far.
    #[must_use]
    pub fn logged(&self) -> Vec<(LogLevel, String)> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn take_note(&self, level: LogLevel, message: RStr<'_>) {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).push((level, message.to_string()));
    }
}

impl SummaryHost for TestHost {
    fn count_tokens(&self, text: RStr<'_>) -> u32 {
        u32::try_from(text.split_whitespace().count()).unwrap_or(u32::MAX)
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    fn log(&self, level: LogLevel, message: RStr<'_>) {
        self.take_note(level, message);
    }
}

impl ScoreHost for TestHost {
    fn embed(&self, texts: RSlice<'_, RStr<'_>>) -> RResult<RVec<RVec<f32>>, Failure> {
        RResult::ROk(texts.iter().map(|text| embed(text.as_str()).into()).collect())
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    fn log(&self, level: LogLevel, message: RStr<'_>) {
        self.take_note(level, message);
    }
}

/// The letter frequencies at unit length; the first axis for a text without letters.
#[must_use]
pub fn embed(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0_f32; DIMENSIONS];
    for letter in text.bytes().map(|byte| byte.to_ascii_lowercase()).filter(u8::is_ascii_lowercase) {
        if let Some(component) = vector.get_mut(usize::from(letter - b'a')) {
            *component += 1.0;
        }
    }
    let length = vector.iter().map(|component| component * component).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|component| *component /= length);
    } else if let Some(first) = vector.first_mut() {
        *first = 1.0;
    }
    vector
}

/// A user's message as a source of a summary.
#[must_use]
pub fn source(node: u64, text: &str) -> Source<'_> {
    Source {
        first_node: node,
        last_node: node,
        line_count: text.lines().count() as u64,
        text: text.into(),
        speaker: "user".into(),
        topics: RSlice::EMPTY,
        importance: 0.5,
        flags: Flags::default(),
        role: Role::USER,
    }
}

/// A user's message as a job of a scorer.
#[must_use]
pub fn score_job(node: u64, text: &str) -> ScoreJob<'_> {
    ScoreJob { node, said_at: ScoreJob::UNTOLD, text: text.into(), uses: 0, role: Role::USER }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_texts_have_like_vectors_of_unit_length() {
        let texts: Vec<RStr<'_>> =
            ["sea and sand", "sand and sea", "", "日本"].into_iter().map(RStr::from_str).collect();
        let vectors = TestHost::default().embed(RSlice::from_slice(&texts)).unwrap();
        assert_eq!(vectors.len(), 4);
        assert_eq!(vectors[0], vectors[1]);
        for vector in &vectors {
            let length: f32 = vector.iter().map(|component| component * component).sum();
            assert!((length - 1.0).abs() < 1e-5, "{vector:?}");
        }
    }

    #[test]
    fn what_is_logged_is_kept_in_order() {
        let host = TestHost::default();
        SummaryHost::log(&host, LogLevel::INFO, "one".into());
        ScoreHost::log(&host, LogLevel::WARN, "two".into());
        assert_eq!(host.logged(), [(LogLevel::INFO, "one".to_owned()), (LogLevel::WARN, "two".to_owned())]);
    }
}
