//! Edits the hooks in a settings file as text, so that nothing else in it changes.
//!
//! Each edit looks at the positions of values in the text, and adds or removes one piece. The piece added last is
//! removed first, up to the byte. A container made here begins with white space, and is removed with its last element;
//! an existing empty one gets its first element right after its bracket, and stays.

use std::ops::Range;

use serde::{
    Deserializer as _,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

/// Reasons why an edit cannot be made.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::commands) enum SettingsError {
    #[error("it is not JSON ({0})")]
    NotJson(String),
    #[error("{0} is expected to be {1}")]
    Unexpected(String, &'static str),
    #[error("{0} is given twice")]
    Twice(String),
}

/// Adds a group of hooks to each event, behind the existing ones.
pub(super) fn add(text: Option<&str>, events: &[&str], group: &Value) -> Result<String, SettingsError> {
    let is_new = text.is_none();
    let mut text = text.unwrap_or("{}").to_owned();
    for event in events {
        let root = Container::object(&text, 0..text.len(), "the whole")?;
        let Some(hooks) = root.get("hooks")? else {
            let (key, value) = ("\"hooks\": ".to_owned(), serde_json::json!({*event: [group]}));
            // A new file has its object in our own style.
            text = match is_new {
                true => format!("{{\n  {key}{}\n}}\n", pretty(&value, "  ", "  ")),
                false => root.push(&text, &key, &value),
            };
            continue;
        };
        let hooks = Container::object(&text, hooks, "hooks")?;
        text = match hooks.get(event)? {
            Some(groups) => Container::array(&text, groups, &format!("hooks.{event}"))?.push(&text, "", group),
            None => hooks.push(&text, &format!("{}: ", Value::from(*event)), &Value::Array(vec![group.clone()])),
        };
    }
    Ok(text)
}

/// Removes the hooks whose command `is_ours` accepts, and containers that become empty; `None` if nothing is left.
pub(super) fn remove(text: &str, is_ours: &dyn Fn(&str) -> bool) -> Result<Option<String>, SettingsError> {
    let mut text = text.to_owned();
    loop {
        match remove_last(&text, is_ours)? {
            Edit::Nothing => return Ok(Some(text)),
            Edit::Cut(cut) => text.replace_range(cut, ""),
            Edit::All => return Ok(None),
        }
    }
}

/// The commands of all hooks.
pub(in crate::commands) fn commands(text: &str) -> Result<Vec<String>, SettingsError> {
    let mut found = Vec::new();
    each(text, &mut |command, _| found.push(command.to_owned()))?;
    Ok(found)
}

enum Edit {
    Nothing,
    Cut(Range<usize>),
    All,
}

/// The containers around a hook, the outer ones first, each with the index of its element.
type Chain<'a> = Vec<(&'a Container, usize)>;

/// Indices in a chain: root, hooks, groups of an event, a group, its hooks.
const GROUP: usize = 3;
const HANDLERS: usize = 4;

fn each(text: &str, take: &mut dyn FnMut(&str, &Chain<'_>)) -> Result<(), SettingsError> {
    let root = Container::object(text, 0..text.len(), "the whole")?;
    let Some(hooks) = root.get("hooks")? else { return Ok(()) };
    let of_root = root.position("hooks");
    let hooks = Container::object(text, hooks, "hooks")?;
    for (of_hooks, event) in hooks.elements.iter().enumerate() {
        let name = event.key.clone().unwrap_or_default();
        let Ok(groups) = Container::array(text, event.value.clone(), &name) else { continue };
        for (of_event, group) in groups.elements.iter().enumerate() {
            let Ok(group) = Container::object(text, group.value.clone(), &name) else { continue };
            if !group.is_of_every_use(text) {
                continue;
            }
            let Some(handlers) = group.get("hooks")? else { continue };
            let of_group = group.position("hooks");
            let Ok(handlers) = Container::array(text, handlers, &name) else { continue };
            for (of_handlers, handler) in handlers.elements.iter().enumerate() {
                let value: Option<Value> =
                    text.get(handler.value.clone()).and_then(|text| serde_json::from_str(text).ok());
                let command = value.as_ref().and_then(|value| value.get("command")).and_then(Value::as_str);
                let Some(command) = command else { continue };
                let chain = vec![
                    (&root, of_root),
                    (&hooks, of_hooks),
                    (&groups, of_event),
                    (&group, of_group),
                    (&handlers, of_handlers),
                ];
                take(command, &chain);
            }
        }
    }
    Ok(())
}

fn remove_last(text: &str, is_ours: &dyn Fn(&str) -> bool) -> Result<Edit, SettingsError> {
    let mut edit = Edit::Nothing;
    each(text, &mut |command, chain| {
        if is_ours(command) {
            edit = cut(text, chain);
        }
    })?;
    Ok(edit)
}

/// The edit that removes the innermost element, and every container of ours that becomes empty.
fn cut(text: &str, chain: &Chain<'_>) -> Edit {
    for (depth, (container, at)) in chain.iter().enumerate().rev() {
        let is_last = container.elements.len() == 1;
        let goes_whole = match depth {
            // A group without hooks does nothing, even if it was there before.
            HANDLERS => is_last && chain.get(GROUP).is_some_and(|(group, _)| group.is_plain_group()),
            GROUP => true,
            _ => is_last && container.is_made_here(text),
        };
        if !goes_whole {
            return Edit::Cut(container.cut(*at));
        }
    }
    Edit::All
}

/// An object or array in a text.
struct Container {
    span: Range<usize>,
    elements: Vec<Element>,
    name: String,
}

/// A member or an element.
struct Element {
    key: Option<String>,
    /// Range of the member, from its key if it has one.
    whole: Range<usize>,
    value: Range<usize>,
}

impl Container {
    fn object(text: &str, span: Range<usize>, name: &str) -> Result<Self, SettingsError> {
        Self::of(text, span, name, '{', "an object")
    }

    fn array(text: &str, span: Range<usize>, name: &str) -> Result<Self, SettingsError> {
        Self::of(text, span, name, '[', "a list")
    }

    fn of(
        text: &str,
        span: Range<usize>,
        name: &str,
        bracket: char,
        expected: &'static str,
    ) -> Result<Self, SettingsError> {
        let inner = text.get(span.clone()).unwrap_or_default();
        let not_json = |error: serde_json::Error| SettingsError::NotJson(error.to_string());
        let raw: &RawValue = serde_json::from_str(inner).map_err(not_json)?;
        if !raw.get().starts_with(bracket) {
            return Err(SettingsError::Unexpected(name.to_owned(), expected));
        }
        let mut deserializer = serde_json::Deserializer::from_str(raw.get());
        let values = if bracket == '{' {
            deserializer.deserialize_map(Elements).map_err(not_json)?
        } else {
            deserializer.deserialize_seq(Elements).map_err(not_json)?
        };
        let place = |part: &str| {
            let start = part.as_ptr().addr() - text.as_ptr().addr();
            start..start + part.len()
        };
        let span = place(raw.get());
        let mut elements: Vec<Element> = Vec::new();
        for (key, value) in values {
            let value = place(value.get());
            let from = elements.last().map_or(span.start, |last| last.whole.end);
            // The gap begins after the bracket or the comma.
            let blank = |c: char| c.is_ascii_whitespace() || c == ',' || c == bracket;
            let between = text.get(from..value.start).unwrap_or_default();
            let start = from + (between.len() - between.trim_start_matches(blank).len());
            let start = if key.is_some() { start } else { value.start };
            elements.push(Element { key, whole: start..value.end, value });
        }
        Ok(Self { span, elements, name: name.to_owned() })
    }

    fn get(&self, key: &str) -> Result<Option<Range<usize>>, SettingsError> {
        let mut found = self.elements.iter().filter(|element| element.key.as_deref() == Some(key));
        match (found.next(), found.next()) {
            (_, Some(_)) => Err(SettingsError::Twice(format!("\"{key}\" in {}", self.name))),
            (found, None) => Ok(found.map(|element| element.value.clone())),
        }
    }

    /// True if a group of hooks is called for every event. A group that a person has bound to some tools is theirs.
    fn is_of_every_use(&self, text: &str) -> bool {
        let matcher = self.elements.iter().find(|element| element.key.as_deref() == Some("matcher"));
        matcher.is_none_or(|matcher| matches!(text.get(matcher.value.clone()), Some("\"\"" | "\"*\"" | "null")))
    }

    /// True if a group has only members that are made here, and a matcher.
    fn is_plain_group(&self) -> bool {
        self.elements.iter().all(|element| matches!(element.key.as_deref(), Some("hooks" | "matcher")))
    }

    fn position(&self, key: &str) -> usize {
        self.elements.iter().position(|element| element.key.as_deref() == Some(key)).unwrap_or_default()
    }

    /// White space before the first element.
    fn lead<'a>(&self, text: &'a str) -> &'a str {
        let first = self.elements.first().map_or(self.span.end, |first| first.whole.start);
        text.get(self.span.start + 1..first).unwrap_or_default()
    }

    fn is_made_here(&self, text: &str) -> bool {
        !self.lead(text).is_empty()
    }

    /// The text with one more element at the end, in the style of those before it.
    fn push(&self, text: &str, key: &str, value: &Value) -> String {
        let (at, piece) = match self.elements.as_slice() {
            [] => (self.span.start + 1, format!("{key}{}", spaced(value))),
            [.., last] => {
                let before = match self.elements.len() {
                    1 => self.lead(text),
                    count => {
                        let end = self.elements.get(count - 2).map_or(0, |element| element.whole.end);
                        text.get(end..last.whole.start).unwrap_or_default()
                    }
                };
                // The element gets a line of its own if the one before it has one.
                let line = before.rfind('\n').and_then(|line| before.get(line..)).unwrap_or_default();
                let before = if line.trim().is_empty() { line } else { "" };
                let indent = before.trim_start_matches('\n');
                let value = if before.is_empty() { spaced(value) } else { pretty(value, indent, unit(text)) };
                let before = if before.is_empty() { " " } else { before };
                (last.whole.end, format!(",{before}{key}{value}"))
            }
        };
        let (head, tail) = text.split_at(at);
        format!("{head}{piece}{tail}")
    }

    /// The range to cut to remove an element.
    fn cut(&self, at: usize) -> Range<usize> {
        let Some(element) = self.elements.get(at) else { return 0..0 };
        match (at.checked_sub(1).and_then(|before| self.elements.get(before)), self.elements.get(at + 1)) {
            (Some(before), _) => before.whole.end..element.whole.end,
            (None, Some(next)) => element.whole.start..next.whole.start,
            (None, None) => self.span.start + 1..element.whole.end,
        }
    }
}

/// Collects the members of an object or the elements of an array with their positions in the text.
struct Elements;

impl<'de> Visitor<'de> for Elements {
    type Value = Vec<(Option<String>, &'de RawValue)>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object or a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some((key, value)) = map.next_entry::<String, &RawValue>()? {
            all.push((Some(key), value));
        }
        Ok(all)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some(value) = list.next_element()? {
            all.push((None, value));
        }
        Ok(all)
    }
}

/// The indentation of one level: that of the first indented line.
fn unit(text: &str) -> &str {
    let indent = |line: &'_ str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let line = text.lines().find(|line| indent(line) > 0 && !line.trim().is_empty());
    line.and_then(|line| line.get(..indent(line))).unwrap_or("  ")
}

/// A value over several lines, which begin with `indent` after the first.
fn pretty(value: &Value, indent: &str, unit: &str) -> String {
    let deeper = format!("{indent}{unit}");
    let lines = |items: Vec<String>, [open, close]: [&str; 2]| match items.is_empty() {
        true => format!("{open}{close}"),
        false => format!("{open}\n{deeper}{}\n{indent}{close}", items.join(&format!(",\n{deeper}"))),
    };
    match value {
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| {
                format!("{}: {}", Value::from(key.as_str()), pretty(value, &deeper, unit))
            };
            lines(members.iter().map(member).collect(), ["{", "}"])
        }
        Value::Array(values) => lines(values.iter().map(|value| pretty(value, &deeper, unit)).collect(), ["[", "]"]),
        other => other.to_string(),
    }
}

/// A value on one line, with a space behind each bracket.
fn spaced(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| format!("{}: {}", Value::from(key.as_str()), spaced(value));
            format!("{{ {} }}", members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        Value::Array(values) => format!("[ {} ]", values.iter().map(spaced).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS: [&str; 3] = ["SessionStart", "Stop", "PreCompact"];

    fn group() -> Value {
        serde_json::json!({"hooks": [{"type": "command", "command": "memory hook codex", "timeout": 30}]})
    }

    fn is_ours(command: &str) -> bool {
        command == "memory hook codex"
    }

    #[test]
    fn what_was_added_is_removed_to_the_byte() {
        let texts = [
            "{}",
            "{ }\n",
            "{\n}\n",
            "{\n  \"model\": \"opus\"\n}\n",
            "{\n\t\"model\": \"opus\",\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}\n\t\t]\n\t}\n}",
            "{\"a\":1,\"hooks\":{\"Stop\":[{\"hooks\":[{\"command\":\"x\"}]}],\"Other\":[]},\"z\":[ ]}",
            "{\"hooks\":{}}",
            "{ \"hooks\": { } , \"b\": \"{\\\"hooks\\\": [\" }",
            "{\n    \"hooks\": {\n        \"PreCompact\": [],\n        \"SessionStart\": [ ]\n    },\n    \"u\": \"\\u00e9 é 🏔\"\n}\r\n",
            "{\r\n  \"a\": 1,\r\n  \"b\": 2\r\n}\r\n",
            "{\"a\": 1\n, \"b\": 2}",
        ];
        for text in texts {
            let added = add(Some(text), &EVENTS, &group()).unwrap();
            let value: Value = serde_json::from_str(&added).unwrap_or_else(|error| panic!("{error}: {added}"));
            for event in EVENTS {
                assert_eq!(value["hooks"][event].as_array().unwrap().last(), Some(&group()), "{added}");
            }
            assert_eq!(commands(&added).unwrap().iter().filter(|command| is_ours(command)).count(), 3);
            assert_eq!(remove(&added, &is_ours).unwrap().as_deref(), Some(text), "{added}");
            assert_eq!(remove(text, &is_ours).unwrap().as_deref(), Some(text), "nothing of ours is in it");
        }
        let own = add(None, &EVENTS, &group()).unwrap();
        assert_eq!(
            own,
            format!(
                "{:#}\n",
                serde_json::json!({"hooks":
            {"SessionStart": [group()], "Stop": [group()], "PreCompact": [group()]}})
            )
        );
        assert_eq!(remove(&own, &is_ours).unwrap(), None, "the file was made for it");
    }

    #[test]
    fn what_others_added_since_stays() {
        let text = "{\n  \"a\": 1\n}\n";
        let added = add(Some(text), &EVENTS, &group()).unwrap();
        let others =
            add(Some(&added), &["Stop", "Other"], &serde_json::json!({"hooks": [{"command": "theirs"}]})).unwrap();
        let left = remove(&others, &is_ours).unwrap().unwrap();
        let value: Value = serde_json::from_str(&left).unwrap();
        assert_eq!(
            value,
            serde_json::json!({"a": 1, "hooks": {
            "Stop": [{"hooks": [{"command": "theirs"}]}], "Other": [{"hooks": [{"command": "theirs"}]}]}})
        );
        let bound = r#"{"hooks":{"Stop":[{"matcher":"Bash","hooks":[{"command":"memory hook codex"}]}]}}"#;
        assert_eq!(remove(bound, &is_ours).unwrap().as_deref(), Some(bound), "a person has bound it to a tool");
        let noted = r#"{"hooks":{"Stop":[{"note":"mine","hooks":[{"command":"memory hook codex"}]}]}}"#;
        let left = noted.replace(r#"{"command":"memory hook codex"}"#, "");
        assert_eq!(remove(noted, &is_ours).unwrap(), Some(left), "a person has written more into it");
        // The hook shares a group with another hook, in a file rewritten by a program.
        let shared = serde_json::json!({"hooks": {"Stop": [{"matcher": "", "hooks": [
            {"command": "theirs"}, {"command": "memory hook codex"}]}]}});
        for text in [shared.to_string(), format!("{shared:#}")] {
            let left = remove(&text, &is_ours).unwrap().unwrap();
            let left: Value = serde_json::from_str(&left).unwrap();
            assert_eq!(left["hooks"]["Stop"][0]["hooks"], serde_json::json!([{"command": "theirs"}]));
        }
    }

    #[test]
    fn settings_of_another_shape_are_refused() {
        let check = |text: &str, expected: &str| {
            let error = add(Some(text), &EVENTS, &group()).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        };
        check("", "not JSON");
        check("{\"a\": 1,}", "not JSON");
        check("// c\n{}", "not JSON");
        check("[]", "the whole is expected to be an object");
        check("{\"hooks\": []}", "hooks is expected to be an object");
        check("{\"hooks\": {\"Stop\": {}}}", "hooks.Stop is expected to be a list");
        check("{\"hooks\": {}, \"hooks\": {}}", "\"hooks\" in the whole is given twice");
    }
}
