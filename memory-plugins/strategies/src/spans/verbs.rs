//! Detects clauses, titles and questions by verbs, capitals and question words.

use crate::{
    phrases::word_lists,
    words::{Form, Word, key},
};

word_lists! {
    /// Finite verb forms and auxiliaries.
    VERBS = "is are am was were be been has have had do does did can could will would shall should might must may \
        i'm you're we're they're he's she's it's that's there's what's who's here's how's let's i've you've \
        we've they've i'd you'd he'd she'd we'd they'd i'll you'll he'll she'll it'll we'll they'll that'll \
        isn't aren't wasn't weren't hasn't haven't hadn't don't doesn't didn't can't cannot couldn't won't \
        wouldn't shouldn't mustn't ain't went got made said told took came found gave bought thought knew \
        felt left kept began saw met ran sold sent spent built brought caught chose drove fell fought forgot \
        grew heard held hit hurt lost paid put read rode sang sat set slept spoke stood taught understood \
        wore won wrote broke became dreamt ate drank flew hid led lent lit meant rose shot showed sought \
        stuck struck swore threw woke goes gets makes says tells takes comes finds gives buys thinks knows \
        feels leaves keeps begins sees meets runs sells sends works wants needs means seems looks helps \
        shows lets lives loves likes hates uses happens depends requires returns fails cost include allow \
        provide want need hope wish guess suggest recommend";
    /// Words at the beginning of a request.
    REQUESTS = "please use add make let try check consider ensure create remember tell show explain help give write \
        see call ask keep set run start avoid provide include review take go get put send bring find look \
        think imagine note focus begin stop choose pick compare solve calculate build read listen don't";
    /// Words at the beginning of a question, and words that mark one anywhere.
    ASKING = "can could would will should shall may is are was were do does did have has am";
    QUESTIONS = "what what's how how's why which whether wondering wonder who's where's";
    /// Subject pronouns; a word after one counts as a verb.
    SUBJECTS = "i he she we they who";
}

/// True if `words` contain a verb, by lists and endings; `opens` is true if they begin a sentence. Recognizes only
/// English.
pub(super) fn has_verb<'w>(words: impl Iterator<Item = Word<'w>>, opens: bool) -> bool {
    let mut after_subject = false;
    for (number, word) in words.enumerate() {
        let past = word.form == Form::Plain && word.text.len() > 4 && word.text.ends_with("ed") && number > 0;
        let asked = opens && number == 0 && REQUESTS.contains(&word.key);
        // "4 May", "Will"
        let named = number > 0 && word.form == Form::Capital;
        if after_subject || past || asked || (!named && VERBS.contains(&word.key)) {
            return true;
        }
        after_subject = SUBJECTS.contains(&word.key);
    }
    false
}

/// True if `word` marks a question: a question word anywhere, an auxiliary only if it `opens` a clause.
pub(super) fn asks(word: &str, opens: bool) -> bool {
    let key = key(word);
    QUESTIONS.contains(&key) || (opens && ASKING.contains(&key))
}

/// True if most of the longer words are capitalized: "Review Basic Definitions".
pub(super) fn is_title<'w>(words: impl Iterator<Item = Word<'w>>) -> bool {
    let (mut capitals, mut others) = (0, 0);
    // A sentence begins with a capital, too, and may contain names.
    for word in words.skip(1).filter(|word| word.text.len() > 3 || word.form == Form::Capital) {
        if word.form == Form::Capital { capitals += 1 } else { others += 1 }
    }
    capitals > 1 && capitals > 2 * others
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::words;

    #[test]
    fn a_clause_has_a_verb_and_a_label_has_none() {
        for clause in
            ["We rent the hall", "the hall costs us nothing, it's free", "use metric units", "he moved", "I swim"]
        {
            assert!(has_verb(words(clause), true), "{clause}");
        }
        for label in
            ["for the AI tool", "Incorrect Square Root", "the key of the cellar", "Improved Skills", "on 4 May"]
        {
            assert!(!has_verb(words(label), true), "{label}");
        }
    }

    #[test]
    fn a_title_is_written_with_capitals() {
        assert!(is_title(words("Review Basic Definitions of the Root")));
        assert!(!is_title(words("We met Priya in Ghent and went home")));
    }
}
