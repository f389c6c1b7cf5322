//! Requests the embeddings of messages from the host.

use memory_plugin_abi::v1;

/// A vector for each of `jobs`; none if the host has no model, so that messages are compared by their words.
pub(crate) fn of(jobs: &[v1::ScoreJob<'_>], host: &dyn v1::ScoreHost) -> Result<Vec<Vec<f32>>, v1::Failure> {
    let texts: Vec<_> = jobs.iter().map(|job| job.text).collect();
    match host.embed(texts.as_slice().into()).into_result() {
        Ok(vectors) => Ok(vectors.into_iter().map(Into::into).collect()),
        Err(failure) if failure.code == v1::FailureCode::UNAVAILABLE => {
            host.log(v1::LogLevel::DEBUG, "messages are compared by their words: no embeddings".into());
            Ok(Vec::new())
        }
        Err(failure) => Err(failure),
    }
}
