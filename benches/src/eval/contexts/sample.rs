//! Chooses questions: a sample that is spread evenly over data sets, categories and conversations.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Result, ensure};
use memory_cli::import::eval::{Question, questions};

/// A question of a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::eval) struct Asked {
    /// The directory of its data set.
    pub(in crate::eval) directory: PathBuf,
    pub(in crate::eval) question: Question,
}

impl Asked {
    /// The name of its data set.
    pub(in crate::eval) fn data(&self) -> String {
        name(&self.directory)
    }
}

/// At most `count` of the questions in some directories that have an answer, spread evenly.
///
/// # Errors
/// When questions cannot be read, or none has an answer.
pub(in crate::eval) fn sample(directories: &[PathBuf], count: Option<usize>, seed: u64) -> Result<Vec<Asked>> {
    let mut all = Vec::new();
    for directory in directories {
        let questions = questions(directory)?.into_iter();
        let answered = questions.filter(|question| question.answerable && !question.answer.trim().is_empty());
        all.extend(answered.map(|question| Asked { directory: directory.clone(), question }));
    }
    ensure!(!all.is_empty(), "no question in the data has an answer");
    let names: Vec<String> = all.iter().map(Asked::data).collect();
    let traits: Vec<Traits<'_>> = all.iter().zip(&names).map(|(asked, data)| Traits::of(data, asked)).collect();
    let picked = pick(&traits, count.unwrap_or(all.len()), seed);
    Ok(picked.into_iter().filter_map(|index| all.get(index).cloned()).collect())
}

/// The name of a data set: that of its directory.
pub(in crate::eval) fn name(directory: &Path) -> String {
    directory.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Properties of a question over which the sample is spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Traits<'a> {
    data: &'a str,
    category: &'a str,
    conversation: &'a str,
}

impl<'a> Traits<'a> {
    fn of(data: &'a str, asked: &'a Asked) -> Self {
        Self { data, category: &asked.question.category, conversation: asked.question.conversation.as_str() }
    }
}

/// How many questions with each property were chosen.
#[derive(Default)]
struct Chosen<'a> {
    data: BTreeMap<&'a str, usize>,
    categories: BTreeMap<(&'a str, &'a str), usize>,
    conversations: BTreeMap<(&'a str, &'a str), usize>,
    cells: BTreeMap<Traits<'a>, usize>,
}

impl<'a> Chosen<'a> {
    /// Smaller if fewer questions with the same properties were chosen.
    fn rank(&self, traits: &Traits<'a>) -> [usize; 4] {
        let Traits { data, category, conversation } = *traits;
        [
            self.data.get(data),
            self.categories.get(&(data, category)),
            self.conversations.get(&(data, conversation)),
            self.cells.get(traits),
        ]
        .map(|count| count.copied().unwrap_or_default())
    }

    fn add(&mut self, traits: Traits<'a>) {
        let Traits { data, category, conversation } = traits;
        *self.data.entry(data).or_default() += 1;
        *self.categories.entry((data, category)).or_default() += 1;
        *self.conversations.entry((data, conversation)).or_default() += 1;
        *self.cells.entry(traits).or_default() += 1;
    }
}

/// Indexes of `count` questions, or of all if there are fewer, in the order in which they were chosen. A smaller sample
/// with the same seed is the beginning of a larger one.
fn pick(questions: &[Traits<'_>], count: usize, seed: u64) -> Vec<usize> {
    let mut left: Vec<usize> = (0..questions.len()).collect();
    fastrand::Rng::with_seed(seed).shuffle(&mut left);
    let mut chosen = Chosen::default();
    let mut picked = Vec::with_capacity(count.min(left.len()));
    while picked.len() < count {
        // Of equal ranks the first is taken, so the shuffle decides.
        let ranks = left.iter().enumerate().filter_map(|(at, index)| Some((chosen.rank(questions.get(*index)?), at)));
        let Some((_, at)) = ranks.min() else { break };
        let index = left.remove(at);
        questions.get(index).into_iter().for_each(|traits| chosen.add(*traits));
        picked.push(index);
    }
    picked
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Data set `a`: 60 questions of category `x` and 6 of `y` in 3 conversations; `b`: 4 of one category.
    fn questions() -> Vec<Traits<'static>> {
        let mut questions = Vec::new();
        for (conversation, _) in [("a1", 0), ("a2", 0), ("a3", 0)] {
            questions.extend([Traits { data: "a", category: "x", conversation }; 20]);
            questions.extend([Traits { data: "a", category: "y", conversation }; 2]);
        }
        questions.extend([Traits { data: "b", category: "x", conversation: "b1" }; 4]);
        questions
    }

    fn counts(picked: &[usize], of: impl Fn(Traits<'static>) -> bool) -> usize {
        let questions = questions();
        picked.iter().filter(|index| of(questions[**index])).count()
    }

    #[test]
    fn a_sample_is_spread_over_data_categories_and_conversations() {
        let picked = pick(&questions(), 16, 7);
        assert_eq!(picked.len(), 16);
        assert_eq!(counts(&picked, |it| it.data == "b"), 4, "all that there are");
        for category in ["x", "y"] {
            assert_eq!(counts(&picked, |it| it.data == "a" && it.category == category), 6, "{category}");
        }
        for conversation in ["a1", "a2", "a3"] {
            assert_eq!(counts(&picked, |it| it.conversation == conversation), 4, "{conversation}");
        }
    }

    #[test]
    fn a_seed_gives_one_sample_and_a_smaller_one_is_its_beginning() {
        let all = questions();
        assert_eq!(pick(&all, 20, 7), pick(&all, 20, 7));
        assert_eq!(pick(&all, 20, 7)[..5], pick(&all, 5, 7));
        assert_ne!(pick(&all, 20, 7), pick(&all, 20, 8));
        let mut whole = pick(&all, 999, 7);
        whole.sort_unstable();
        assert_eq!(whole, (0..all.len()).collect::<Vec<_>>(), "no question twice, and all of them at most");
    }
}
