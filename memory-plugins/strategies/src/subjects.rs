//! Subjects of a conversation with their times: words, weighted by the number of messages that contain them.

use memory_core::NodeId;

use crate::{
    phrases::word_lists,
    spoken::spoken,
    terms::is_common,
    words::{Form, KeyMap, Word, keys, phrase_key, words},
};

/// Maximum words that are counted; beyond that, words of a single message are dropped.
const MOST: usize = 1 << 16;
/// Maximum bytes of a subject.
const LONGEST: usize = 40;
/// Messages after which the weight of a mention is halved.
const HALF_LIFE: f64 = 400.0;
/// The weight of a name relative to a word.
const NAME: f64 = 1.6;
/// The weight of a name of two words relative to its single words, which occur at least as often.
const WHOLE_NAME: f64 = 1.3;

word_lists! {
    /// Common words of talk that are never its subject: answers, verbs of deciding and saying, days and months.
    OF_TALK = "noted gladly fine decide decided agree agreed choose chose chosen settled perfect absolutely \
        certainly definitely correct understood exactly indeed alright sorry apology question answer mean \
        meant wrong right idea minute hour today tomorrow yesterday tonight week weekend month year monday \
        tuesday wednesday thursday friday saturday sunday january february march april june july august \
        september october november december please welcome course quite almost already another anything \
        something everything nothing somebody anybody everybody little better best found given taken made \
        told asked goal name date zero one two three four five six seven eight nine ten hundred thousand \
        first second third";
    /// Nouns and adjectives that fit any subject and name none.
    ORDINARY = "page test file problem part place people person man woman day lot bit kind type sort point case \
        fact reason result list number line end start side word world life work job line text code error issue \
        change version feature function value item option detail process approach method system tool user \
        difference topic subject area level group team member meeting message plan time moment chance feeling \
        experience situation relationship benefit effort progress goal task step piece section field form view \
        button box table row column data information input output request response query handler filter script \
        class object project folder path link title note comment summary report document content style size \
        color colour money price cost amount total future past present morning afternoon evening night beginning \
        middle rest top bottom front back left whole full main current final real free short long old big small \
        large high low early late next previous following recent latest entire own general common important \
        possible necessary available similar certain clear simple easy hard difficult strong weak quick slow \
        fast safe nice fun hope help support need use look way thought thank joke lesson story family friend \
        guy girl boy kid picture photo image example instance order set check call share move break fix build \
        run read write update answer focus decision question idea impact importance purpose concept role \
        balance challenge strategy track choice passion dream journey sense perspective action improvement \
        achievement industry management technique favorite favourite blast emotion term rate solution application \
        respect touch review schedule protection lunch act interview clarity insight trend aspect factor goal mind \
        opportunity potential quality ability skill knowledge understanding attention";
    /// Words before a noun.
    DETERMINERS = "the a an my our your his her their this its all some every of for \
        about with in on from le la les l un une des du de mon ma mes notre votre ce cette el los las una mi su \
        lo gli uno het een mijn um uma";
}

/// A subject of a conversation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Subject {
    /// Its name, in its first spelling.
    pub name: String,
    /// Number of messages that mention it.
    pub messages: u64,
    /// First message that mentions it.
    pub first: NodeId,
    /// Last message that mentions it.
    pub last: NodeId,
    /// Weight, at least 0; grows with the number of messages that mention it, and with their recency.
    pub weight: f64,
}

/// Counts the subjects of messages, which are added in order.
#[derive(Clone, Debug, Default)]
pub struct Subjects {
    tallies: KeyMap<Tally>,
}

#[derive(Clone, Debug)]
struct Tally {
    name: String,
    form: Form,
    /// Keys of its words.
    keys: [u64; 2],
    messages: u64,
    /// Number of messages in which it is a name within a sentence.
    names: u64,
    /// Number of messages in which it stands where a noun does.
    nouns: u64,
    first: NodeId,
    last: NodeId,
    /// Number of messages, each halved after every [`HALF_LIFE`] further messages.
    recent: f64,
}

/// A mention within a message.
struct Mention<'a> {
    key: u64,
    keys: [u64; 2],
    text: &'a str,
    form: Form,
    is_name: bool,
    is_noun: bool,
}

impl Subjects {
    /// Adds a message with this text, and the topics that its writer stated.
    pub fn add(&mut self, node: NodeId, text: &str, topics: &[String]) {
        let mut mentions: KeyMap<Mention<'_>> = KeyMap::default();
        let given = topics.iter().flat_map(|topic| given(topic));
        for mention in spoken(text).flat_map(mentioned).chain(given) {
            match mentions.get_mut(&mention.key) {
                Some(known) => {
                    known.is_name |= mention.is_name;
                    known.is_noun |= mention.is_noun;
                }
                None => drop(mentions.insert(mention.key, mention)),
            }
        }
        mentions.into_values().for_each(|mention| self.count(node, &mention));
        if self.tallies.len() > MOST {
            self.tallies.retain(|_, tally| tally.messages > 1);
        }
    }

    fn count(&mut self, node: NodeId, mention: &Mention<'_>) {
        let tally = self.tallies.entry(mention.key).or_insert_with(|| Tally {
            name: named(mention.text),
            form: mention.form,
            keys: mention.keys,
            messages: 0,
            names: 0,
            nouns: 0,
            first: node,
            last: node,
            recent: 0.0,
        });
        tally.recent = 1.0 + tally.recent_at(node);
        tally.messages += 1;
        tally.names += u64::from(mention.is_name);
        tally.nouns += u64::from(mention.is_noun);
        tally.last = node;
    }

    /// The heaviest subjects if the conversation ends with `last`, at most `most`, no two of which share a word: names,
    /// identifiers, and words that stand where a noun does, which at least `least` messages mention.
    #[must_use]
    pub fn top(&self, most: usize, least: u64, last: NodeId) -> Vec<Subject> {
        let frequent = self.tallies.values().filter(|tally| tally.messages >= least && tally.is_subject());
        let mut rated: Vec<_> = frequent.map(|tally| (tally.weight(last), tally)).collect();
        rated.sort_by(|(a_weight, a), (b_weight, b)| {
            b_weight.total_cmp(a_weight).then(a.first.cmp(&b.first)).then(a.name.cmp(&b.name))
        });
        let (mut best, mut known): (Vec<Subject>, Vec<u64>) = (Vec::new(), Vec::new());
        for (weight, tally) in rated {
            if best.len() == most {
                break;
            }
            if tally.keys.iter().all(|key| !known.contains(key)) {
                known.extend(tally.keys);
                best.push(tally.subject(weight));
            }
        }
        best
    }
}

impl Tally {
    /// True if it names something in at least half of its messages, and not only begins sentences.
    fn is_subject(&self) -> bool {
        self.form == Form::Identifier || 2 * self.names.max(self.nouns) >= self.messages
    }

    fn recent_at(&self, node: NodeId) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "an age in messages is far below 2^52")]
        let age = node.get().saturating_sub(self.last.get()) as f64;
        self.recent * (-age / HALF_LIFE).exp2()
    }

    fn weight(&self, last: NodeId) -> f64 {
        let is_phrase = self.keys[0] != self.keys[1];
        let of_form = match self.form {
            _ if is_phrase => NAME * WHOLE_NAME,
            Form::Capital if self.names * 2 >= self.messages => NAME,
            Form::Identifier => WHOLE_NAME,
            Form::Plain | Form::Capital | Form::Figure | Form::Unspaced => 1.0,
        };
        self.recent_at(last) * of_form
    }

    fn subject(&self, weight: f64) -> Subject {
        let (name, messages, first, last) = (self.name.clone(), self.messages, self.first, self.last);
        Subject { name, messages, first, last, weight }
    }
}

/// The possible subjects of a sentence: words, and names of two words.
fn mentioned(sentence: &str) -> Vec<Mention<'_>> {
    let all: Vec<Word<'_>> = words(sentence).collect();
    let mut found = Vec::new();
    let mut is_title = true;
    for (index, word) in all.iter().enumerate() {
        // "Feedback Mechanism: …" begins with a title, "Then Maya Okafor called" with a common word and a name.
        let before = index.checked_sub(1).and_then(|before| all.get(before));
        let gap = before.and_then(|before| sentence.get(before.at + before.text.len()..word.at)).unwrap_or_default();
        let goes_on = before.is_none_or(|before| before.form == Form::Capital && !is_common(before));
        is_title = word.form == Form::Capital && (is_title && goes_on || gap.contains(':'));
        if !may_be_subject(word) {
            continue;
        }
        let is_name = word.form == Form::Capital && !is_title;
        let is_noun = stands_as_noun(sentence, &all, index);
        found.push(Mention { key: word.key, keys: [word.key; 2], text: word.text, form: word.form, is_name, is_noun });
        let next = all.get(index + 1).filter(|next| word.form == Form::Capital && next.form == Form::Capital);
        if let Some(next) = next.filter(|next| may_be_subject(next))
            && sentence.get(word.at + word.text.len()..next.at) == Some(" ")
            && let Some(text) = sentence.get(word.at..next.at + next.text.len()).filter(|text| text.len() <= LONGEST)
        {
            let (key, keys) = (phrase_key(word.key, next.key), [word.key, next.key]);
            found.push(Mention { key, keys, text, form: Form::Capital, is_name, is_noun: false });
        }
    }
    found
}

/// True if a word stands where a noun does: behind an article or preposition, and before a common word, a verb or a
/// mark.
fn stands_as_noun(sentence: &str, all: &[Word<'_>], index: usize) -> bool {
    let Some(word) = all.get(index) else { return false };
    let before = index.checked_sub(1).and_then(|before| all.get(before));
    let ends = |next: &Word<'_>| {
        let gap = sentence.get(word.at + word.text.len()..next.at).unwrap_or_default();
        let is_verb = next.form == Form::Plain && (next.text.ends_with('s') || next.text.ends_with("ed"));
        gap != " " || is_common(next) || is_verb
    };
    // "Of finding" is an act; forms like this are rarely subjects.
    let is_form = word.form == Form::Plain && (word.text.ends_with("ing") || word.text.ends_with("ed"));
    let is_named = before.is_some_and(|before| DETERMINERS.contains(&before.key));
    is_named && !is_form && all.get(index + 1).is_none_or(ends)
}

/// The name on one line, without a possessive.
fn named(text: &str) -> String {
    let text = text.strip_suffix("'s").or_else(|| text.strip_suffix("’s")).unwrap_or(text);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A subject that is given by name.
fn given(topic: &str) -> Option<Mention<'_>> {
    let text = topic.trim();
    let keys = keys(text);
    let (first, last) = (*keys.first()?, *keys.last()?);
    let key = keys.into_iter().reduce(phrase_key)?;
    let keys = [first, last];
    (text.len() <= LONGEST).then_some(Mention { key, keys, text, form: Form::Capital, is_name: true, is_noun: false })
}

fn may_be_subject(word: &Word<'_>) -> bool {
    let least = match word.form {
        // Pairs of characters are no words.
        Form::Figure | Form::Unspaced => return false,
        Form::Capital => 3,
        Form::Plain | Form::Identifier => 4,
    };
    let says_nothing = is_common(word) || OF_TALK.contains(&word.key) || ORDINARY.contains(&word.key);
    !says_nothing && word.text.len() <= LONGEST && word.text.chars().nth(least - 1).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subjects(texts: &[&str]) -> Subjects {
        let mut subjects = Subjects::default();
        for (index, text) in texts.iter().enumerate() {
            subjects.add(NodeId::from_index(index), text, &[]);
        }
        subjects
    }

    fn names(subjects: &Subjects, least: u64, last: u64) -> Vec<String> {
        subjects.top(3, least, NodeId::new(last).unwrap()).into_iter().map(|subject| subject.name).collect()
    }

    #[test]
    fn frequent_subjects_weigh_more() {
        let talk = subjects(&[
            "We fly to Lisbon in May.",
            "The hotel in Lisbon is quiet.",
            "Is the hotel near the museum?",
            "In Lisbon all museums close on Monday.",
        ]);
        assert_eq!(names(&talk, 2, 4), ["Lisbon", "museum", "hotel"]);
        let lisbon = &talk.top(1, 1, NodeId::new(4).unwrap())[0];
        assert_eq!((lisbon.messages, lisbon.first.get(), lisbon.last.get()), (3, 1, 4));
    }

    #[test]
    fn what_was_spoken_of_lately_weighs_more_than_what_was_long_ago() {
        let mut talk = Subjects::default();
        for node in 1..=30u64 {
            talk.add(NodeId::new(node).unwrap(), "The parser loops.", &[]);
        }
        for node in 2_000..=2_010u64 {
            talk.add(NodeId::new(node).unwrap(), "The invoice waits.", &[]);
        }
        assert_eq!(names(&talk, 2, 2_010)[0], "invoice");
    }

    #[test]
    fn a_name_of_two_words_stands_for_both() {
        let talk = subjects(&["We met Maya Okafor's team.", "Then Maya Okafor called.", "Did Maya Okafor pay?"]);
        assert_eq!(names(&talk, 2, 3), ["Maya Okafor"]);
    }

    #[test]
    fn what_its_writer_says_it_is_about_counts() {
        let mut talk = Subjects::default();
        talk.add(NodeId::FIRST, "Fine.", &["tax return".to_owned()]);
        assert_eq!(names(&talk, 1, 1), ["tax return"]);
    }

    #[test]
    fn code_and_common_words_are_no_subjects() {
        assert_eq!(names(&subjects(&["```\nlet widget = widget;\n```", "And then again, really."]), 1, 2), [""; 0]);
    }

    #[test]
    fn ordinary_words_keys_and_pairs_of_characters_are_no_subjects() {
        let talk = subjects(&[
            "The login page breaks on Safari. Changed the view and added a test.",
            "Changed it again. The page breaks, added a test.",
            "Read({\"file_path\":\"a.rs\",\"limit\":20})\n{\"file_path\": \"b.rs\"}",
            "会議は金曜日です。場所は東京です。",
            "会議は金曜日です。場所は東京です。",
        ]);
        assert_eq!(names(&talk, 2, 5), [""; 0]);
    }
}
