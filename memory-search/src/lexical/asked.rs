//! Words of a question, and the parts of compounds.

use super::language::{Language, Languages};

/// Distinct words of a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Forms of each word.
    words: Vec<Vec<Box<str>>>,
    /// All forms, each with the index of its word; sorted.
    forms: Vec<(Box<str>, usize)>,
    languages: Languages,
}

/// Terms of the searched nodes.
pub(crate) trait Vocabulary {
    /// Number of nodes that contain the term.
    fn nodes_with(&self, term: &str) -> u64;

    /// Visits every term, and perhaps others; one may come several times.
    fn each_term(&self, visit: &mut dyn FnMut(&str));
}

/// Minimum bytes of a part of a compound, and of what it is joined to.
const PART: usize = 4;
const REST: usize = 3;
/// Letters that join the parts of a compound in German and Dutch.
const JOINTS: [&str; 7] = ["", "s", "n", "en", "es", "e", "er"];

impl Asked {
    pub(super) fn new(words: impl Iterator<Item = Vec<Box<str>>>, languages: Languages) -> Self {
        let words: Vec<_> = words.collect();
        let of_word = |(index, forms): (usize, &Vec<Box<str>>)| -> Vec<_> {
            forms.iter().map(|form| (form.clone(), index)).collect()
        };
        let mut forms: Vec<_> = words.iter().enumerate().flat_map(of_word).collect();
        forms.sort_unstable();
        forms.dedup_by(|later, first| later.0 == first.0);
        Self { words, forms, languages }
    }

    pub(crate) fn languages(&self) -> Languages {
        self.languages
    }

    /// All forms of the words, sorted.
    pub(super) fn forms(&self) -> impl Iterator<Item = &str> {
        self.forms.iter().map(|(form, _)| &**form)
    }

    /// Number of words.
    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// Index of the word with this form.
    pub(crate) fn word_of(&self, form: &str) -> Option<usize> {
        let at = self.forms.binary_search_by(|(asked, _)| (**asked).cmp(form)).ok()?;
        self.forms.get(at).map(|(_, word)| *word)
    }

    /// Index of the word with this form, or that a compound of this form ends with.
    pub(crate) fn word_in(&self, form: &str) -> Option<usize> {
        self.word_of(form).or_else(|| {
            let is_end = |end: &&(Box<str>, usize)| self.joins() && is_end_of(&end.0, form);
            self.forms.iter().find(is_end).map(|(_, word)| *word)
        })
    }

    /// True if the question may be in a language that writes compounds as one word.
    fn joins(&self) -> bool {
        self.languages.has(Language::German) || self.languages.has(Language::Dutch)
    }

    /// Forms of each word, and those of the compounds that it is part of. A compound that no node contains is replaced
    /// by two parts that some do.
    pub(crate) fn words_in(&self, vocabulary: &dyn Vocabulary) -> Vec<Vec<Box<str>>> {
        if !self.joins() {
            return self.words.clone();
        }
        let mut words: Vec<Vec<Box<str>>> = Vec::new();
        for forms in &self.words {
            let is_known = forms.iter().any(|form| vocabulary.nodes_with(form) > 0);
            match forms.iter().find_map(|form| parts(form, vocabulary)).filter(|_| !is_known) {
                Some(parts) => words.extend(parts.map(|part| vec![part])),
                None => words.push(forms.clone()),
            }
        }
        let of_words = words.clone();
        let is_asked = |part: &str| of_words.iter().flatten().any(|form| &**form == part);
        vocabulary.each_term(&mut |term| {
            for (forms, own) in words.iter_mut().zip(&of_words) {
                let is_in = |form: &str| {
                    is_end_of(form, term)
                        || rest_after(form, term).is_some_and(|rest| is_asked(rest) || vocabulary.nodes_with(rest) > 0)
                };
                if own.iter().any(|form| is_in(form)) && !forms.iter().any(|form| &**form == term) {
                    forms.push(term.into());
                }
            }
        });
        words
    }
}

/// True if a compound ends with `end`.
fn is_end_of(end: &str, compound: &str) -> bool {
    end.len() >= PART
        && compound.len() >= end.len() + REST
        && compound.ends_with(end)
        && compound.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Rest of a compound behind `begin` and a joint.
fn rest_after<'a>(begin: &str, compound: &'a str) -> Option<&'a str> {
    let rest = compound.strip_prefix(begin).filter(|_| begin.len() >= PART)?;
    let rests = JOINTS.iter().filter_map(|joint| rest.strip_prefix(joint));
    rests.filter(|rest| rest.len() > PART).max_by_key(|rest| rest.len())
}

/// The two longest parts of a compound that nodes contain.
fn parts(compound: &str, vocabulary: &dyn Vocabulary) -> Option<[Box<str>; 2]> {
    if !compound.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return None;
    }
    let splits = (PART..compound.len().saturating_sub(REST)).filter_map(|at| compound.split_at_checked(at));
    let known = splits.flat_map(|(begin, end)| {
        let heads = JOINTS.iter().filter_map(move |joint| begin.strip_suffix(joint));
        heads.filter(|head| head.len() >= PART).map(move |head| (head, end))
    });
    let is_known = |(head, end): &(&str, &str)| vocabulary.nodes_with(head) > 0 && vocabulary.nodes_with(end) > 0;
    let (head, end) = known.filter(is_known).max_by_key(|(head, end)| head.len().min(end.len()))?;
    Some([head.into(), end.into()])
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Words(&'static [&'static str]);

    impl Vocabulary for Words {
        fn nodes_with(&self, term: &str) -> u64 {
            u64::from(self.0.contains(&term))
        }

        fn each_term(&self, visit: &mut dyn FnMut(&str)) {
            self.0.iter().for_each(|term| visit(term));
        }
    }

    fn check(languages: Languages, asked: &[&str], said: &'static [&'static str], expected: &[&[&str]]) {
        let words = asked.iter().map(|word| vec![Box::from(*word)]);
        let found = Asked::new(words, languages).words_in(&Words(said));
        let expected: Vec<Vec<Box<str>>> =
            expected.iter().map(|forms| forms.iter().map(|form| Box::from(*form)).collect()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn compounds_are_found_by_their_parts_and_parts_by_their_compounds() {
        let german = Languages::of([Language::German]);
        check(german, &["allergi"], &["erdnussallergi", "energi"], &[&["allergi", "erdnussallergi"]]);
        check(german, &["erdnussallergi"], &["erdnuss", "allergi"], &[&["erdnuss"], &["allergi"]]);
        check(german, &["arbeitsvertrag"], &["arbeit", "vertrag"], &[&["arbeit"], &["vertrag"]]);
        check(
            german,
            &["datenbank", "migration"],
            &["datenbankmigration"],
            &[&["datenbank", "datenbankmigration"], &["migration", "datenbankmigration"]],
        );
        check(german, &["auto"], &["autor", "automatisch"], &[&["auto"]]);
        check(Languages::ENGLISH, &["read"], &["thread"], &[&["read"]]);
    }
}
