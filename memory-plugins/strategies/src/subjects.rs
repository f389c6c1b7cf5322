//! Subjects of a conversation with their times: words, weighted by the number of messages that contain them.

use std::ops::Range;

use memory_core::NodeId;

use crate::{
    gist::Gist,
    phrases::{MONTHS, WEEKDAYS, word_lists},
    spoken::spoken,
    standing::scrapped,
    terms::is_common,
    words::{Form, KeyMap, KeySet, Word, keys, phrase_key, words},
};

/// Maximum words that are counted; beyond that, words of a single message are dropped.
const MOST: usize = 1 << 16;
/// Maximum bytes of a subject.
const LONGEST: usize = 40;
/// Messages after which the weight of a mention is halved.
const HALF_LIFE: f64 = 400.0;
/// Messages in which what was scrapped may still be named without being a subject again.
const AFTERMATH: u64 = 3;
/// Fewest messages that make two plain words a phrase.
const FEWEST: u64 = 3;
/// Fewest letters of a word of a phrase, and of the short form of a name.
const SHORT: usize = 3;
/// The weight of a name relative to a word.
const NAME: f64 = 1.6;
/// The weight of a name of two words relative to its single words, which occur at least as often.
const WHOLE_NAME: f64 = 1.3;

word_lists! {
    /// Common words of talk that are never its subject: answers, verbs of deciding and saying, days and months.
    OF_TALK = "noted gladly fine decide decided agree agreed choose chose chosen settled perfect absolutely \
        certainly definitely correct understood exactly indeed alright sorry apology question answer mean meant \
        wrong right idea minute hour today tomorrow yesterday tonight week weekend month year please welcome \
        course quite almost already another anything something everything nothing somebody anybody everybody \
        little better best found given taken made told asked goal name date zero one two three four five six \
        seven eight nine ten hundred thousand first second third";
    /// Numerals, units, days and months of other languages, and English units; pronouns and courtesies.
    COUNTED = "yourself yourselves myself himself herself itself ourselves themselves oneself blank favour \
        favor kinda gonna wanna gotta dunno euro dollar pound franc yen rupee cent percent kilo kilogram gram \
        litre liter metre meter kilometre kilometer mile inch foot feet degree second pair dozen couple half \
        quarter twice noon midnight eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen \
        twenty thirty forty fifty sixty seventy eighty ninety million billion fourth fifth sixth seventh eighth \
        ninth tenth afternoon decade century jahr jahre jahren woche wochen monat monate monaten tag tage tagen \
        stunde stunden minute minuten sekunde sekunden uhr abend abends morgen morgens mittag nachmittag \
        vormittag nacht nachts wochenende hälfte paar mal euros prozent grad meter kilometer liter stück zwei \
        drei vier fünf sechs sieben acht neun zehn elf zwölf zwanzig dreißig vierzig fünfzig hundert tausend \
        erste ersten zweite zweiten dritte dritten heute gestern frühjahr sommer herbst winter ende anfang \
        mitte frau herr leute mensch menschen sache sachen ding dinge jour jours semaine semaines mois an ans \
        année années heure heures minutes matin soir nuit midi weekend deux trois quatre cinq sept huit neuf \
        dix onze douze vingt trente quarante cinquante cent mille mars moitié fois fin début monsieur madame \
        gens chose choses hier demain aujourd'hui día días semana semanas mes meses año años hora horas minuto \
        minutos mañana tarde noche dos tres cuatro cinco seis siete ocho nueve diez once doce quince veinte \
        treinta cuarenta cincuenta sesenta cien mil mitad vez veces gente cosa cosas señor señora fin ayer hoy \
        dia dias ano anos hora horas manhã noite duas três sete oito nove dez vinte trinta segunda terça quarta \
        quinta sexta metade coisa coisas giorno giorni settimana settimane mese mesi anno anni ora ore minuti \
        mattina sera notte due tre quattro cinque sei sette otto nove dieci venti metà volta cosa dag dagen \
        weken maand maanden jaar uur minuten avond ochtend nacht twee drie vijf zes zeven negen tien helft keer \
        yıl yıllar ay hafta gün saat dakika akşam sabah iki üç dört beş altı yedi sekiz dokuz yirmi otuz elli \
        yüz bin pazar lira год года лет месяц месяца месяцев неделя недели недель неделю день дня дней час часа \
        часов минут минуты вечер вечером утро утром ночь раз рублей рубля евро два три четыре пять шесть семь \
        восемь девять десять двадцать сто тысяч половина людей साल महीने महीना हफ्ते हफ़्ते दिन घंटे घंटा मिनट \
        बजे रुपये शाम सुबह रात दो तीन चार पांच पाँच छह सात आठ नौ दस बीस लोग बात يوم أيام أسبوع شهر سنة ساعة \
        دقيقة الساعة جنيه مساء صباح الصبح النهارده بكرة 년 월 일 주 시간 분 원 오늘 내일 어제 이번 지난 다음";
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
        strategies abilities activities opportunities priorities responsibilities qualities boundaries difficulties \
        effectiveness technical soft outcome finding external basic double lower upper extra actual slightly regular \
        optional dark original advice atmosphere encouragement discussion expression advantage statement background \
        basics side bath hand head \
        opportunity potential quality ability skill knowledge understanding attention huge tough tiny equal detailed informed \
        positive negative minor major unexpected personal healthy older younger setting making taking getting keeping \
        maintaining managing using having doing being special numerical critical separate nature context behavior \
        behaviour inner outer warm easiest entry objective chair flying attempt sort overlap \
        gives fresh";
    /// Words before a noun and its adjective.
    ARTICLES = "the a an my our your his her their this its";
    /// Words before a noun.
    DETERMINERS = "the a an my our your his her their this its all some every of for \
        about with in on from le la les l un une des du de mon ma mes notre votre ce cette el los las una mi su \
        lo gli uno het een mijn um uma";
}

/// The words of a text that may be subjects.
#[must_use]
pub fn matter(text: &str) -> Gist {
    words(text).filter(may_be_subject).map(|word| word.key).collect::<KeySet>().into()
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
    /// True for a name, an identifier, or a phrase of two words.
    pub is_named: bool,
    /// Weight, at least 0; grows with the number of messages that mention it, and with their recency.
    pub weight: f64,
}

/// Counts the subjects of messages, which are added in order.
#[derive(Clone, Debug, Default)]
pub struct Subjects {
    tallies: KeyMap<Tally>,
    /// Words of what was scrapped, with the last message that did so.
    over: KeyMap<NodeId>,
    /// Names that are no subjects, in lower case.
    left_out: Vec<String>,
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
    /// Leaves out the name of a speaker, its parts and their short forms: "Rob" for "Robert".
    pub fn leave_out(&mut self, name: &str) {
        for word in words(name).map(|word| word.text.to_lowercase()) {
            if !self.left_out.contains(&word) {
                self.left_out.push(word);
            }
        }
    }

    fn is_left_out(&self, tally: &Tally) -> bool {
        let is_of_name = |word: &str| {
            let word = word.to_lowercase();
            let is_short = |name: &String| word.chars().nth(SHORT - 1).is_some() && name.starts_with(&word);
            self.left_out.iter().any(|name| *name == word || tally.form == Form::Capital && is_short(name))
        };
        tally.name.split(' ').all(is_of_name)
    }

    /// Adds a message with this text, and the topics that its writer stated.
    pub fn add(&mut self, node: NodeId, text: &str, topics: &[String]) {
        let mut mentions: KeyMap<Mention<'_>> = KeyMap::default();
        for key in spoken(text).flat_map(scrapped) {
            self.over.insert(key, node);
        }
        let given = topics.iter().flat_map(|topic| given(topic));
        for mention in spoken(text).filter(|sentence| !is_caption(sentence)).flat_map(mentioned).chain(given) {
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
        let is_over = |tally: &Tally| {
            let over = tally.keys.iter().filter_map(|key| self.over.get(key)).max();
            over.is_some_and(|over| tally.last.get() <= over.get() + AFTERMATH)
        };
        // A phrase is one if it is most of what its rarer word is said for.
        let said = |key: &u64| self.tallies.get(key).map_or(0, |tally| tally.messages);
        let is_firm = |tally: &Tally| {
            !tally.is_phrase() || tally.form == Form::Capital || {
                let rarer = tally.keys.iter().map(said).min().unwrap_or(0);
                tally.messages >= FEWEST && 2 * tally.messages >= rarer
            }
        };
        let is_frequent = |tally: &&Tally| {
            let is_said = tally.messages >= least && tally.is_subject() && is_firm(tally);
            is_said && !is_over(tally) && !self.is_left_out(tally)
        };
        let frequent = self.tallies.values().filter(is_frequent);
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
        if self.is_phrase() && self.form != Form::Capital {
            return 3 * self.nouns >= self.messages;
        }
        self.form == Form::Identifier || 2 * self.names.max(self.nouns) >= self.messages
    }

    fn is_phrase(&self) -> bool {
        self.keys[0] != self.keys[1]
    }

    fn recent_at(&self, node: NodeId) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "an age in messages is far below 2^52")]
        let age = node.get().saturating_sub(self.last.get()) as f64;
        self.recent * (-age / HALF_LIFE).exp2()
    }

    fn weight(&self, last: NodeId) -> f64 {
        let of_form = match self.form {
            _ if self.is_phrase() => NAME * WHOLE_NAME,
            Form::Capital if self.names * 2 >= self.messages => NAME,
            Form::Identifier => WHOLE_NAME,
            Form::Plain | Form::Capital | Form::Figure | Form::Unspaced => 1.0,
        };
        self.recent_at(last) * of_form
    }

    fn subject(&self, weight: f64) -> Subject {
        let (name, messages, first, last) = (self.name.clone(), self.messages, self.first, self.last);
        let is_named = self.is_phrase() || self.form == Form::Identifier || self.form == Form::Capital;
        Subject { name, messages, first, last, is_named, weight }
    }
}

/// True for the description of a picture: "[shared image: two dogs]", "[image] a lake".
fn is_caption(sentence: &str) -> bool {
    let open = sentence.trim_start().strip_prefix(['[', '(']).unwrap_or_default();
    let first = open.split([':', ']', ')']).next().unwrap_or_default().to_ascii_lowercase();
    ["image", "photo", "picture", "caption", "attachment", "video", "screenshot"]
        .iter()
        .any(|name| first.contains(name))
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
        let next = all.get(index + 1);
        if let Some(next) = next.filter(|next| may_be_phrase(sentence, word, next)) {
            let (key, keys) = (phrase_key(word.key, next.key), [word.key, next.key]);
            let text = sentence.get(word.at..next.at + next.text.len()).unwrap_or_default();
            let is_noun = stands_as_noun(sentence, &all, index..index + 2);
            found.push(Mention { key, keys, text, form: Form::Plain, is_name: false, is_noun });
        }
        if !may_be_subject(word) {
            continue;
        }
        let is_name = word.form == Form::Capital && !is_title;
        let is_noun = stands_as_noun(sentence, &all, index..index + 1);
        // "Follow-Up" is a word of a title.
        let is_joined = word.text.contains('-') && !word.text.contains(['_', '.', '/', '@', '\\']);
        let form = if word.form == Form::Identifier && is_joined { Form::Capital } else { word.form };
        found.push(Mention { key: word.key, keys: [word.key; 2], text: word.text, form, is_name, is_noun });
        let next = next.filter(|next| word.form == Form::Capital && next.form == Form::Capital);
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

/// True if two words may be a phrase of plain words: "remote control".
fn may_be_phrase(sentence: &str, word: &Word<'_>, next: &Word<'_>) -> bool {
    let is_plain = |word: &Word<'_>| {
        let says_nothing = is_common(word) || OF_TALK.contains(&word.key) || COUNTED.contains(&word.key);
        word.form == Form::Plain && word.text.len() >= SHORT && !says_nothing && !is_date(word)
    };
    let is_ordinary = |word: &Word<'_>| ORDINARY.contains(&word.key);
    // "The invoice waits" looks like "the garden hoses".
    let is_third = next.text.ends_with('s') && !next.text.ends_with("ss");
    sentence.get(word.at + word.text.len()..next.at) == Some(" ")
        && is_plain(word)
        && is_plain(next)
        && word.key != next.key
        && !is_ordinary(word)
        && !is_ordinary(next)
        && !next.text.ends_with("ly")
        && !is_third
        && next.at + next.text.len() - word.at <= LONGEST
}

/// True if words stand where a noun does: behind an article or preposition, and before a common word, a verb or a mark.
fn stands_as_noun(sentence: &str, all: &[Word<'_>], at: Range<usize>) -> bool {
    let Some(word) = at.end.checked_sub(1).and_then(|last| all.get(last)) else { return false };
    let before = at.start.checked_sub(1).and_then(|before| all.get(before));
    let ends = |next: &Word<'_>| {
        let gap = sentence.get(word.at + word.text.len()..next.at).unwrap_or_default();
        let is_verb = next.form == Form::Plain && (next.text.ends_with('s') || next.text.ends_with("ed"));
        gap != " " || is_common(next) || is_verb
    };
    // "Of finding" is an act; forms like this are rarely subjects.
    let is_form = word.form == Form::Plain && (word.text.ends_with("ing") || word.text.ends_with("ed"));
    // A preposition before two words may precede an act: "for setting boundaries".
    let names = if at.len() > 1 { &ARTICLES } else { &DETERMINERS };
    let is_named = before.is_some_and(|before| names.contains(&before.key));
    is_named && !is_form && all.get(at.end).is_none_or(ends)
}

/// The name on one line, without a possessive.
fn named(text: &str) -> String {
    let text = text.strip_suffix("'s").or_else(|| text.strip_suffix("’s")).unwrap_or(text);
    // "T_V_" in transcripts is an abbreviation.
    let is_spelled = |word: &str| word.len() > 3 && word.split('_').all(|part| part.chars().nth(1).is_none());
    let plain = |word: &str| if is_spelled(word) { word.replace('_', "") } else { word.to_owned() };
    text.split_whitespace().map(plain).collect::<Vec<_>>().join(" ")
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

/// True for the name of a month or of a day.
fn is_date(word: &Word<'_>) -> bool {
    MONTHS.contains(&word.key) || WEEKDAYS.contains(&word.key)
}

fn may_be_subject(word: &Word<'_>) -> bool {
    let least = match word.form {
        // Pairs of characters are no words.
        Form::Figure | Form::Unspaced => return false,
        Form::Capital => 3,
        Form::Plain | Form::Identifier => 4,
    };
    // "Fractional" says something of a subject.
    let is_adjective =
        word.form == Form::Plain && ["ional", "ical", "metric"].iter().any(|end| word.text.ends_with(end));
    let says_nothing = is_adjective
        || word.text.ends_with('_')
        || is_date(word)
        || is_common(word)
        || OF_TALK.contains(&word.key)
        || COUNTED.contains(&word.key)
        || ORDINARY.contains(&word.key);
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
    fn a_phrase_of_plain_words_that_belong_together_is_a_subject() {
        let talk = subjects(&[
            "We draw a garden hose today.",
            "The garden hose leaks.",
            "Is the garden hose green?",
            "A green hat is fine.",
            "The garden is dry.",
        ]);
        assert_eq!(names(&talk, 2, 5)[0], "garden hose");
        for texts in [
            ["For setting boundaries we met.", "Of setting boundaries they spoke.", "By setting boundaries it ends."],
            ["It is a huge fan.", "She is a huge fan.", "He is a huge fan."],
            ["Use your hour effectively.", "Plan your hour effectively.", "Spend your hour effectively."],
        ] {
            let found = names(&subjects(&texts), 2, 3);
            assert!(found.iter().all(|name| !name.contains(' ')), "{found:?}");
        }
    }

    #[test]
    fn speakers_and_their_short_forms_are_no_subjects() {
        let mut talk =
            subjects(&["Hi Rob, how is Oslo?", "Ask Robert about Oslo.", "Did Rob like Oslo, Robinson too?"]);
        talk.leave_out("Robert Lund");
        assert_eq!(names(&talk, 1, 3), ["Oslo", "Robinson"]);
    }

    #[test]
    fn words_of_titles_with_a_hyphen_are_no_names() {
        let talk = subjects(&["**Follow-Up:** write to Ann.", "- Follow-Up: call Ben.", "Follow-Up by mail."]);
        assert!(!names(&talk, 2, 3).contains(&"Follow-Up".to_owned()));
    }

    #[test]
    fn what_its_writer_says_it_is_about_counts() {
        let mut talk = Subjects::default();
        talk.add(NodeId::FIRST, "Fine.", &["tax return".to_owned()]);
        assert_eq!(names(&talk, 1, 1), ["tax return"]);
    }

    #[test]
    fn what_was_scrapped_is_no_subject_unless_it_comes_back() {
        let mut said = vec![
            "We use Redis for the queue.",
            "The queue in Redis is fine.",
            "Scratch Redis, we use RabbitMQ.",
            "RabbitMQ for the queue, noted.",
        ];
        let found = names(&subjects(&said), 2, 4);
        assert!(!found.contains(&"Redis".to_owned()) && found.contains(&"RabbitMQ".to_owned()), "{found:?}");
        said.extend(["Fine.", "Fine.", "Fine.", "Back to Redis for the queue."]);
        assert!(names(&subjects(&said), 2, 8).contains(&"Redis".to_owned()));
    }

    #[test]
    fn numerals_units_days_pronouns_and_captions_are_no_subjects() {
        for texts in [
            ["Das kostet zwanzig Euro im Jahr.", "Zwei Wochen, ein Jahr, der Euro und am Montag."],
            ["Son las seis o veinte de la tarde.", "A las seis del lunes, veinte en la semana."],
            ["Take the time for yourself, do me a favour.", "For yourself, as a favour, leave the blank."],
            ["[shared image: a photo of a dolphin on the sofa]", "[image: the dolphin on the sofa]"],
            ["Rendez-vous dans la semaine, le lundi de juin.", "Dans la semaine, le lundi de juin."],
            ["В понедельник через неделю, два часа.", "В понедельник через неделю, два часа."],
        ] {
            assert_eq!(
                names(&subjects(&texts), 1, 2).iter().filter(|name| *name != "Rendez-vous").count(),
                0,
                "{texts:?}"
            );
        }
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
