//! Words of the made-up talks: common ones, and made-up ones without end.

pub(super) const FIRST_NAMES: &[&str] = &[
    "Maya", "Tomas", "Ingrid", "Kwame", "Lucia", "Pavel", "Noor", "Emil", "Aiko", "Bram", "Chiara", "Dario", "Elif",
    "Farid", "Greta", "Hugo", "Ines", "Jonas", "Kaja", "Levi", "Mira", "Nils", "Olga", "Priya", "Quinn", "Rosa",
    "Sven", "Tala", "Umar", "Vera", "Wanda", "Yusuf",
];
pub(super) const LAST_NAMES: &[&str] = &[
    "Abara",
    "Berg",
    "Castell",
    "Dvorak",
    "Eriksen",
    "Fontana",
    "Gruber",
    "Halvorsen",
    "Ito",
    "Jansen",
    "Kowalski",
    "Lindqvist",
    "Moreau",
    "Novak",
    "Okafor",
    "Petrov",
    "Quist",
    "Rossi",
    "Sato",
    "Tanaka",
    "Ueda",
    "Vogel",
    "Weiss",
    "Xenakis",
    "Ylitalo",
    "Zeman",
];
pub(super) const THINGS: &[&str] = &[
    "printer",
    "boat",
    "garage",
    "archive",
    "router",
    "locker",
    "camera",
    "workshop",
    "piano",
    "greenhouse",
    "projector",
    "cellar",
    "trailer",
    "studio",
    "drone",
    "telescope",
    "kiln",
];
pub(super) const VERBS: &[&str] = &[
    "moves", "needs", "repairs", "delays", "replaces", "measures", "confirms", "forgets", "blocks", "reports",
    "paints", "returns", "cancels", "splits",
];
pub(super) const ADJECTIVES: &[&str] = &[
    "late",
    "slow",
    "broken",
    "ready",
    "quiet",
    "narrow",
    "empty",
    "expensive",
    "rusty",
    "partial",
    "wooden",
    "early",
    "spare",
    "green",
];
pub(super) const TAILS: &[&str] = &[
    "before the release",
    "after lunch",
    "without a warning",
    "twice a day",
    "behind the office",
    "unless it rains",
    "as agreed last week",
    "by hand",
];
pub(super) const DAYS: &[&str] = &["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
/// The commonest words, most frequent first.
const COMMON: &[&str] = &[
    "meeting", "report", "train", "garden", "budget", "ticket", "house", "school", "invoice", "kitchen", "phone",
    "doctor", "window", "market", "contract", "bicycle", "recipe", "server", "weather", "library", "engine", "holiday",
    "dentist", "letter", "bridge", "battery", "concert", "museum", "ladder", "orchard", "ferry", "violin", "lantern",
    "permit", "harvest", "glacier",
];
const CONSONANTS: &[&str] = &["b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z"];
const VOWELS: &[&str] = &["a", "e", "i", "o", "u"];

/// Ranks from here on are of words that no text draws by Zipf's law.
pub(super) const FIRST_TOPIC: usize = 20_000;

/// The word of this rank, from 0: a common one, or one of three or more syllables. No two ranks have one word.
pub(super) fn word(rank: usize) -> String {
    if let Some(common) = COMMON.get(rank) {
        return (*common).to_owned();
    }
    let syllables = CONSONANTS.len() * VOWELS.len();
    let (mut rest, mut text) = (rank, String::new());
    while rest > 0 || text.len() < 6 {
        let syllable = rest % syllables;
        rest /= syllables;
        text += CONSONANTS.get(syllable / VOWELS.len()).copied().unwrap_or_default();
        text += VOWELS.get(syllable % VOWELS.len()).copied().unwrap_or_default();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_rank_has_a_word_of_its_own() {
        let words: HashSet<_> = (0..50_000).map(word).collect();
        assert_eq!(words.len(), 50_000);
    }
}
