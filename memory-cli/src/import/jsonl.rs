//! Plain message JSONL: a message a line.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fs::File,
    io::{Read, Seek},
    path::{Path, PathBuf},
};

use memory_core::{Hash, Json, Message, MessageKey, Timestamp, json::message_with_members, port::Progress};
use memory_store::{ReadLimits, Spool};
use serde_json::value::RawValue;

use super::{
    ImportError, is_stream,
    lines::{Lines, not_json},
    open,
};

/// Members of a line that are not members of the message.
const BESIDE: [&str; 6] = ["id", "at", "timestamp", "time", "session", "name"];

/// Members of a message, and an old one whose call must not be left out, so that it is refused.
#[rustfmt::skip]
const MEMBERS: [&str; 9] = [
    "role", "content", "speaker", "key", "keep_out_of_summaries", "metadata", "tool_calls", "tool_call_id",
    "function_call",
];
/// Names of unknown members that are counted; a hostile file may have any number.
const MOST_NAMES: usize = 64;

/// Numbers taken for seconds: those of 1973 to 2286, which as milliseconds are days of early 1970.
const SECONDS: std::ops::Range<i64> = 100_000_000..10_000_000_000;

/// A message of a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReadMessage {
    /// Message, with its own key if it has one.
    pub(crate) message: Message,
    /// Key made of the line and all lines before it. It identifies the file so far and the position of the message: a
    /// file that has grown begins with the same keys, and equal lines have different ones.
    pub(crate) line_key: Option<MessageKey>,
    /// Time of the message, if the line states it.
    pub(crate) at: Option<Timestamp>,
    /// Bytes of the line.
    pub(crate) bytes: usize,
    /// Number of the line in the file.
    pub(crate) line: usize,
}

/// A file whose lines are messages: `{"role", "content", "speaker"? or "name"?, "key"? or "id"?, "at"?, "timestamp"? or
/// "time"?, "session"?, "keep_out_of_summaries"?, "metadata"?}`. Blank lines are skipped. The file is
/// read twice: first to check it, and then to use it.
#[derive(Debug)]
pub(crate) struct JsonlFile {
    path: PathBuf,
    /// The data of a stream, in a temporary file. A named file is opened again, so that many files can be checked first
    /// without keeping them open.
    kept: Option<File>,
    longest: u64,
    /// Number of messages in the file.
    pub(crate) messages: usize,
    /// Number of halves of characters in the file, each replaced by U+FFFD.
    pub(crate) mended: u64,
    /// Members of lines that a message has no place for, with the number of lines.
    pub(crate) unknown: BTreeMap<String, u64>,
}

impl JsonlFile {
    /// Checks a file, or standard input for `-`, and reports the number of messages read so far. A fault ends that at
    /// once, even in an endless file.
    ///
    /// # Errors
    /// [`ImportError`] with the line of the first fault; also for a file without messages.
    pub(crate) fn check(path: &Path, limits: ReadLimits, progress: &dyn Progress) -> Result<Self, ImportError> {
        let (name, mut data) = open(path)?;
        let failed = |source| ImportError::Io { path: name.to_owned(), source };
        let (counted, kept) = if is_stream(path) {
            let mut spool = Spool::new(&mut *data, limits.stream).map_err(failed)?;
            let counted = count(Lines::new(name, &mut spool, limits.line), progress)?;
            (counted, Some(spool.into_file().map_err(failed)?))
        } else {
            (count(Lines::new(name, data, limits.line), progress)?, None)
        };
        let (messages, mended, unknown) = counted;
        Ok(Self { path: name.to_owned(), kept, longest: limits.line, messages, mended, unknown })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Passes the messages to `take` in order, until that fails.
    ///
    /// # Errors
    /// Errors of `take`, and [`ImportError::Changed`] for a file that changed since its check.
    pub(crate) async fn each<E: From<ImportError>>(
        &self,
        mut take: impl AsyncFnMut(ReadMessage) -> Result<(), E>,
    ) -> Result<(), E> {
        let failed = |source| ImportError::Io { path: self.path.clone(), source };
        let data: Box<dyn Read> = match self.kept.as_ref() {
            Some(mut kept) => {
                kept.rewind().map_err(failed)?;
                Box::new(kept)
            }
            None => Box::new(File::open(&self.path).map_err(failed)?),
        };
        let mut messages = Messages::new(Lines::new(&self.path, data, self.longest));
        let changed = || ImportError::Changed { path: self.path.clone() };
        for _ in 0..self.messages {
            // A longer file is no change of the checked part.
            let message = messages.next().map_err(|_| changed())?.ok_or_else(changed)?;
            take(message).await?;
        }
        Ok(())
    }
}

/// Numbers of messages, of replaced halves of characters, and of lines with an unknown member.
fn count(lines: Lines<'_>, progress: &dyn Progress) -> Result<(usize, u64, BTreeMap<String, u64>), ImportError> {
    let mut messages = Messages::new(lines);
    let mut number = 0;
    while messages.next()?.is_some() {
        number += 1;
        progress.report(number as u64, 0);
    }
    match number {
        0 => Err(ImportError::Empty { path: messages.lines.path().to_owned() }),
        _ => Ok((number, messages.lines.mended(), messages.unknown)),
    }
}

/// Parses the text of such a file; `path` is for errors.
///
/// # Errors
/// Same as [`JsonlFile::check`].
pub(crate) fn parse(text: &str, path: &Path) -> Result<Vec<(Message, Option<Timestamp>)>, ImportError> {
    let mut messages = Messages::new(Lines::new(path, text.as_bytes(), ReadLimits::default().line));
    let mut all = Vec::new();
    while let Some(ReadMessage { message, at, .. }) = messages.next()? {
        all.push((message, at));
    }
    if all.is_empty() { Err(ImportError::Empty { path: path.to_owned() }) } else { Ok(all) }
}

/// The messages of lines.
struct Messages<'a> {
    lines: Lines<'a>,
    /// Hash over all lines so far.
    so_far: Hash,
    unknown: BTreeMap<String, u64>,
}

impl<'a> Messages<'a> {
    fn new(lines: Lines<'a>) -> Self {
        Self { lines, so_far: Hash::of_parts([]), unknown: BTreeMap::new() }
    }

    fn next(&mut self) -> Result<Option<ReadMessage>, ImportError> {
        let Some(line) = self.lines.next()? else { return Ok(None) };
        self.so_far = Hash::of_parts([self.so_far.as_bytes().as_slice(), line.as_bytes()]);
        let bytes = line.len();
        let read = serde_json::from_str(line).map_err(|error| not_json(&error)).and_then(|line| {
            let unknown = unknown(line);
            message(line, &unknown).map(|(message, at)| (message, at, unknown))
        });
        let (message, at, unknown) = read.map_err(|why| self.lines.fault(why))?;
        for name in unknown {
            let name = if self.unknown.len() < MOST_NAMES { name } else { "(others)".to_owned() };
            *self.unknown.entry(name).or_default() += 1;
        }
        let line_key = self.so_far.to_string().get(..32).and_then(|hash| MessageKey::new(&format!("line-{hash}")).ok());
        Ok(Some(ReadMessage { message, line_key, at, bytes, line: self.lines.number() }))
    }
}

/// Members of a line that a message has no place for.
fn unknown(line: &RawValue) -> Vec<String> {
    let members: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_str(line.get()).unwrap_or_default();
    let is_known = |name: &str| MEMBERS.contains(&name) || BESIDE.contains(&name);
    let unknown = members.into_iter().filter(|(name, value)| !is_known(name) && value.get() != "null");
    unknown.map(|(name, _)| name.into_owned()).collect()
}

fn message(line: &RawValue, unknown: &[String]) -> Result<(Message, Option<Timestamp>), String> {
    let of_lines: Vec<_> = BESIDE.into_iter().chain(unknown.iter().map(String::as_str)).collect();
    let (mut message, beside) = message_with_members(line, &of_lines).map_err(|error| error.to_string())?;
    let of = |name: &str| beside.iter().find(|(known, _)| known == name).map(|(_, value)| value.get());
    let given = |name: &str| of(name).filter(|value| *value != "null");
    let text =
        |name: &str, value: &str| serde_json::from_str::<String>(value).map_err(|_| format!("{name}: expected a text"));
    if let Some(id) = given("id") {
        if message.key.is_some() {
            return Err("id: there is a key, too".to_owned());
        }
        message.key = Some(MessageKey::new(&text("id", id)?).map_err(|error| format!("id: {error}"))?);
    }
    if let Some(name) = given("name") {
        if message.speaker.is_some() {
            return Err("name: there is a speaker, too".to_owned());
        }
        message.speaker = Some(text("name", name)?);
    }
    if let Some(session) = given("session") {
        if message.metadata.contains_key("session") {
            return Err("session: there is one in the metadata, too".to_owned());
        }
        message.metadata.insert("session".to_owned(), Json::new(session).map_err(|error| error.to_string())?);
    }
    let times: Vec<_> = ["at", "timestamp", "time"].into_iter().filter(|name| of(name).is_some()).collect();
    if let [one, other, ..] = times[..] {
        return Err(format!("{one}: there is a {other}, too"));
    }
    let at = times.first().and_then(|name| Some((*name, given(name)?)));
    let at = match at {
        // Other programs write seconds there.
        Some(("timestamp" | "time", at)) => Some(seconds(at).map_or_else(|| time(at, &mut message), Ok)?),
        at => at.map(|(_, at)| time(at, &mut message)).transpose()?,
    };
    message.metadata.entry("imported".to_owned()).or_insert(Json::from_value(&true.into()));
    Ok((message, at))
}

/// A number of seconds since 1970 as a time.
fn seconds(at: &str) -> Option<Timestamp> {
    let seconds: f64 = at.parse().ok()?;
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    SECONDS.contains(&(seconds as i64)).then(|| Timestamp::from_millis((seconds * 1e3).round() as i64))
}

/// The time that a line states; its distance from UTC goes into the metadata.
fn time(at: &str, message: &mut Message) -> Result<Timestamp, String> {
    if let Ok(text) = serde_json::from_str::<String>(at) {
        let at = text.parse::<Timestamp>().map_err(|error| format!("at: {error}"))?;
        if let Some(offset) = memory_core::time::utc_offset(&text) {
            message.state_utc_offset(offset);
        }
        return Ok(at);
    }
    if !at.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
        return Err("at: expected a time as text or milliseconds since 1970".to_owned());
    }
    let millis = at.parse().map_err(|_| "at: expected whole milliseconds since 1970")?;
    if SECONDS.contains(&millis) {
        return Err(format!("at: {millis} milliseconds are a day of early 1970; of seconds, write {millis}000"));
    }
    Ok(Timestamp::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn parse_text(text: &str) -> Result<Vec<(Message, Option<Timestamp>)>, String> {
        parse(text, Path::new("x.jsonl")).map_err(|error| error.to_string())
    }

    #[test]
    fn faults_name_file_and_line() {
        let good = r#"{"role":"user","content":"hi"}"#;
        let check = |bad: &str, expected: &str| {
            let error = parse_text(&format!("{good}\n\n{bad}\n{good}")).unwrap_err();
            assert!(error.starts_with(&format!("x.jsonl:3: {expected}")), "{error}");
        };
        check("{", "not JSON at column 1");
        check(r#"{"role":"user"}"#, "content: missing");
        check(r#"{"role":"user","content":"x","at":"noon"}"#, "at: `noon` is not a time");
        check(r#"{"role":"user","content":"x","at":1.5}"#, "at: expected whole milliseconds since 1970");
        check(r#"{"role":"user","content":"x","at":[]}"#, "at: expected a time as text or milliseconds");
        check(r#"{"role":"user","content":"x","key":""}"#, "key: ");
        check(r#"{"role":"user","content":"x","key":"k","id":"i"}"#, "id: there is a key, too");
        check(r#"{"role":"user","content":"x","speaker":"Ana","name":"Ben"}"#, "name: there is a speaker, too");
        let twice = r#"{"role":"user","content":"x","session":"a","metadata":{"session":"b"}}"#;
        check(twice, "session: there is one in the metadata, too");
        check(
            r#"{"role":"assistant","content":null,"function_call":{}}"#,
            "function_call: a message has no such member, only role, content, speaker, key, keep_out_of_summaries, \
             metadata, tool_calls, tool_call_id, id, at, timestamp, time, session, name;",
        );
        assert_eq!(parse_text("\n \n").unwrap_err(), "x.jsonl holds no message: nothing was imported");
    }

    #[test]
    fn a_member_that_is_given_twice_is_refused() {
        let check = |line: &str, expected: &str| {
            assert_eq!(parse_text(line).unwrap_err(), format!("x.jsonl:1: {expected}; nothing was imported"));
        };
        check(r#"{"role":"user","content":"x","content":"y"}"#, "content: given twice");
        check(r#"{"role":"user","content":"x","at":1,"at":2}"#, "at: given twice");
        check(r#"{"role":"user","content":"x","metadata":{"n":1,"m":2,"n":1}}"#, "metadata.n: given twice");
        check(r#"{"role":"user","content":[{"type":"text","text":"x","text":"y"}]}"#, "content[0].text: given twice");
    }

    #[test]
    fn numbers_from_outside_keep_every_digit() {
        let numbers =
            r#"{"big": 123456789012345678901234567890, "long": 0.1000000000000000055511151231257827, "e": 1e400}"#;
        let line = format!(
            r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"t","name":"sum","input":{numbers}}}],"metadata":{{"n":{numbers},"i":18446744073709551617}}}}"#
        );
        let (message, _) = parse_text(&line).unwrap().remove(0);
        assert_eq!(message.metadata["n"].as_str(), numbers);
        assert_eq!(message.metadata["i"].as_str(), "18446744073709551617");
        let memory_core::ContentBlock::ToolUse { input, .. } = &message.content[0] else { panic!("{message:?}") };
        assert_eq!(input.as_str(), numbers);
    }

    #[test]
    fn a_time_has_one_of_three_names() {
        for name in ["at", "timestamp", "time"] {
            let line = format!(r#"{{"role":"user","content":"hi","{name}":"2026-03-02T09:20:00Z"}}"#);
            assert_eq!(parse_text(&line).unwrap()[0].1.unwrap().to_string(), "2026-03-02T09:20:00Z");
        }
        let twice = parse_text(r#"{"role":"user","content":"hi","time":1,"at":1}"#).unwrap_err();
        assert!(twice.starts_with("x.jsonl:1: at: there is a time, too"), "{twice}");
    }

    #[test]
    fn a_member_that_no_message_has_is_left_out_and_counted() {
        let line = |more: &str| format!("{{\"role\":\"user\",\"content\":\"hi\"{more}}}\n");
        let text = [line(",\"session_id\":\"s\",\"cost\":null"), line(",\"session_id\":\"s\",\"tags\":[1]")].concat();
        let lines = Lines::new(Path::new("x.jsonl"), text.as_bytes(), 100);
        let (messages, _, unknown) = count(lines, &()).unwrap();
        let expected = BTreeMap::from([("session_id".to_owned(), 2), ("tags".to_owned(), 1)]);
        assert_eq!((messages, unknown), (2, expected));
        let many: String = (0..200).map(|number| line(&format!(",\"x{number}\":1"))).collect();
        let (_, _, unknown) = count(Lines::new(Path::new("x.jsonl"), many.as_bytes(), 100), &()).unwrap();
        assert_eq!((unknown.len(), unknown.values().sum::<u64>()), (MOST_NAMES + 1, 200));
    }

    #[test]
    fn a_timestamp_of_another_program_may_count_seconds() {
        for (at, expected) in [("1732536000", 0), ("1732536000.25", 250), ("1732536000250", 250)] {
            let line = format!(r#"{{"role":"user","content":"hi","timestamp":{at}}}"#);
            assert_eq!(parse_text(&line).unwrap()[0].1, Some(Timestamp::from_millis(1_732_536_000_000 + expected)));
        }
    }

    #[test]
    fn a_name_is_the_speaker() {
        let (message, _) = parse_text(r#"{"role":"user","name":"Ana","content":"hi"}"#).unwrap().remove(0);
        assert_eq!(message.speaker.as_deref(), Some("Ana"));
    }

    #[test]
    fn a_key_of_lines_says_which_file_and_where() {
        let keys = |text: &str| {
            let mut messages = Messages::new(Lines::new(Path::new("x.jsonl"), text.as_bytes(), 1 << 20));
            let mut keys = Vec::new();
            while let Some(message) = messages.next().unwrap() {
                keys.push(message.line_key.unwrap().as_str().to_owned());
            }
            keys
        };
        let [ok, yes] = [r#"{"role":"user","content":"ok"}"#, r#"{"role":"user","content":"yes"}"#];
        let three = keys(&format!("{ok}\n{ok}\n{ok}\n"));
        assert!(three[0] != three[1] && three[1] != three[2], "equal lines are messages of their own");
        let grown = keys(&format!("{ok}\r\n\n{ok}\n {ok}\n{yes}"));
        assert_eq!(grown[..3], three, "white space is no other file");
        let other = keys(&format!("{yes}\n{ok}\n"));
        assert!(!three.contains(&other[1]), "the same line of another file");
    }

    #[test]
    fn a_file_that_is_not_utf8_is_a_fault_of_its_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("latin1.jsonl");
        fs::write(&path, b"{\"role\":\"user\",\"content\":\"x\"}\n{\"role\":\"\xe9\"}\n").unwrap();
        let error = JsonlFile::check(&path, ReadLimits::default(), &()).unwrap_err().to_string();
        assert!(error.ends_with("latin1.jsonl:2: not UTF-8; nothing was imported"), "{error}");
    }

    #[test]
    fn a_line_gives_message_time_and_key() {
        let read =
            parse_text("\u{feff}{\"role\":\"ai\",\"content\":\"hi\",\"id\":\"k\",\"at\":1500,\"session\":2}").unwrap();
        let (message, at) = &read[0];
        assert_eq!(message.key.as_ref().map(MessageKey::as_str), Some("k"));
        assert_eq!(message.metadata["session"].as_str(), "2");
        assert_eq!(*at, Some(Timestamp::from_millis(1500)));
    }
}
