//! References to an earlier conversation.

use std::sync::LazyLock;

use crate::{phrases::Phrases, spoken::spoken, words::words};

/// Phrases that refer to an earlier conversation.
const SPEAKS: &str = "as we discussed | we discussed | as discussed | we talked about | we talked | we spoke | we were talking | \
                      we chatted | you told me | i told you | you said | last time | previous conversation | \
                      earlier conversation | last conversation | other conversation | our conversation | \
                      conversation about | chat about | discussion about | session about | our chat | last chat | \
                      previous chat | earlier chat | previous session | last session | earlier session | remember when | \
                      do you remember | as i said | as i mentioned | i mentioned | as mentioned | you mentioned | \
                      we agreed | we decided | you suggested | you recommended | you proposed | we planned | we settled | \
                      like last time | the other day | we looked at | we worked on | we went through | \
                      wie besprochen | wir haben besprochen | letztes mal | comme discuté | como hablamos";

static LEXICON: LazyLock<Phrases<()>> = LazyLock::new(|| Phrases::listed(&[((), SPEAKS)]));

/// True if a text refers to an earlier conversation: "as we discussed in the Rome trip".
#[must_use]
pub fn speaks_of_earlier(text: &str) -> bool {
    spoken(text).any(|sentence| LEXICON.are_in(&words(sentence).map(|word| word.key).collect::<Vec<u64>>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn talk_of_earlier_talk_is_noticed() {
        for text in [
            "As we discussed in the Rome trip, which hotel was it?",
            "Last week we talked about the budget.",
            "Do you remember the name of the plumber?",
        ] {
            assert!(speaks_of_earlier(text), "{text}");
        }
        for text in ["Which hotel in Rome is quiet?", "> as we discussed", "Last week it rained."] {
            assert!(!speaks_of_earlier(text), "{text}");
        }
    }
}
