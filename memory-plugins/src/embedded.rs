//! Gives a built-in scorer the embeddings of the messages that it scores.

use std::sync::Arc;

use memory_core::{Embedder, ImportanceScorer, ScoreError, ScoreJob, WrittenBy};

use crate::options::PluginOptions;

/// A scorer whose jobs carry embeddings. Where the model fails they carry none, and a warning is logged.
///
/// The caller's thread waits for the model, as it does for a plugin that asks for embeddings.
#[derive(Debug)]
pub(crate) struct Embedded {
    scorer: Arc<dyn ImportanceScorer>,
    embedder: Arc<dyn Embedder>,
}

impl Embedded {
    /// `scorer` with the embedder of `options`, or `scorer` itself without an embedder.
    pub(crate) fn around(scorer: Arc<dyn ImportanceScorer>, options: &PluginOptions) -> Arc<dyn ImportanceScorer> {
        match &options.embedder {
            Some(embedder) => Arc::new(Self { scorer, embedder: Arc::clone(embedder) }),
            None => scorer,
        }
    }
}

impl ImportanceScorer for Embedded {
    fn identity(&self) -> WrittenBy {
        self.scorer.identity()
    }

    fn score(&self, jobs: &[ScoreJob<'_>]) -> Result<Vec<f32>, ScoreError> {
        let texts: Vec<_> = jobs.iter().map(|job| job.text).collect();
        let vectors = match pollster::block_on(self.embedder.embed_documents(&texts)) {
            Ok(vectors) if vectors.len() == jobs.len() => vectors,
            Ok(vectors) => {
                let (vectors, texts) = (vectors.len(), texts.len());
                tracing::warn!(vectors, texts, "messages are scored without embeddings: wrong number of vectors");
                return self.scorer.score(jobs);
            }
            Err(error) => {
                tracing::warn!(%error, "messages are scored without embeddings");
                return self.scorer.score(jobs);
            }
        };
        let vectors: Vec<_> = vectors.iter().map(|chunks| direction(chunks)).collect();
        let jobs: Vec<_> = jobs.iter().zip(&vectors).map(|(job, vector)| job.embedding(vector.as_slice())).collect();
        self.scorer.score(&jobs)
    }
}

/// The mean direction of a text's chunks, at unit length.
pub(crate) fn direction(chunks: &[Vec<f32>]) -> Vec<f32> {
    let mut sum = chunks.first().cloned().unwrap_or_default();
    for chunk in chunks.iter().skip(1) {
        sum.iter_mut().zip(chunk).for_each(|(sum, component)| *sum += component);
    }
    let length = sum.iter().map(|component| component * component).sum::<f32>().sqrt();
    if length > 0.0 {
        sum.iter_mut().for_each(|component| *component /= length);
    }
    sum
}

#[cfg(test)]
mod tests {
    use memory_core::{BoxFuture, EmbedError, ModelId, Role, testing::HashEmbedder};
    use memory_strategies::Novelty;

    use super::*;

    /// A model that is no longer available.
    #[derive(Debug)]
    struct Gone(ModelId);

    impl Embedder for Gone {
        fn model(&self) -> &ModelId {
            &self.0
        }

        fn dimensions(&self) -> usize {
            8
        }

        fn embed_documents<'a>(
            &'a self,
            _texts: &'a [&'a str],
        ) -> BoxFuture<'a, Result<Vec<Vec<Vec<f32>>>, EmbedError>> {
            Box::pin(async { Err(EmbedError::Unavailable { what: "the model".into(), how: "fetch it".into() }) })
        }

        fn embed_query<'a>(&'a self, _text: &'a str) -> BoxFuture<'a, Result<Vec<f32>, EmbedError>> {
            Box::pin(async { Err(EmbedError::Unavailable { what: "the model".into(), how: "fetch it".into() }) })
        }
    }

    fn scores(embedder: Option<Arc<dyn Embedder>>) -> Vec<f32> {
        let options = PluginOptions { embedder, ..PluginOptions::default() };
        let texts = ["hall rent in Ghent rises", "Ghent: in hall rent rises", "soup for forty people"];
        let jobs = texts.map(|text| ScoreJob::new(Role::User, text));
        Embedded::around(Arc::new(Novelty), &options).score(&jobs).unwrap()
    }

    #[test]
    fn messages_are_compared_by_what_the_model_makes_of_them() {
        let (by_words, by_vectors) = (scores(None), scores(Some(Arc::new(HashEmbedder::new(64)))));
        assert_ne!(by_words, by_vectors);
        assert!(by_vectors[1] < 0.01 && by_vectors[2] > 0.2, "{by_vectors:?}");
    }

    #[test]
    fn a_model_that_fails_leaves_the_words() {
        assert_eq!(scores(Some(Arc::new(Gone(ModelId::new("gone"))))), scores(None));
    }
}
