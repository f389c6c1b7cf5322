//! Tool calls in a summary: the name of the tool, and the path or command.

use memory_core::port::SummaryJob;

use super::speakers::SpeakerPart;

/// Arguments that say what a call is about, the clearest first.
const ARGUMENTS: [&str; 11] = [
    "command",
    "cmd",
    "file_path",
    "path",
    "notebook_path",
    "url",
    "pattern",
    "query",
    "description",
    "skill",
    "prompt",
];
/// Maximum calls of a message that are named.
const MOST: usize = 4;
/// Maximum bytes of a line that is searched for an argument.
const LOOKED_AT: usize = 1 << 14;

/// A tool call, as messages show it: `Read({"path":"a.rs"})`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Call {
    name: String,
    argument: String,
}

/// The calls of the first part that has some, with its speaker's label: as much of them as fits.
pub(super) fn written(job: &SummaryJob<'_>, parts: &[(usize, SpeakerPart<'_>)], names: &[String]) -> Option<String> {
    let (calls, label) = parts
        .iter()
        .zip(names)
        .map(|((_, part), name)| (calls(part.text), name))
        .find(|(calls, _)| !calls.is_empty())?;
    let shown = |calls: &[Call], show: fn(&Call) -> String| calls.iter().map(show).collect::<Vec<_>>().join("; ");
    let fewer = (1..=calls.len()).rev().filter_map(|count| calls.get(..count));
    let texts = fewer.flat_map(|calls| {
        [shown(calls, Call::whole), shown(calls, Call::short)]
            .into_iter()
            .flat_map(|text| [format!("{label}{text}"), text])
    });
    let named = calls.first().map(|call| call.name.clone());
    texts.chain(named).find(|text| job.counter.count(text) <= job.max_tokens)
}

impl Call {
    fn whole(&self) -> String {
        format!("{} {}", self.name, self.argument).trim_end().to_owned()
    }

    /// The call with the name of a file instead of its path, and the first words of a command.
    fn short(&self) -> String {
        const WORDS: usize = 3;
        let words: Vec<&str> = self.argument.split_whitespace().collect();
        let argument = match *words {
            [path] => path.rsplit('/').next().unwrap_or(path).to_owned(),
            _ if words.len() > WORDS => format!("{}…", words.iter().take(WORDS).copied().collect::<Vec<_>>().join(" ")),
            _ => words.join(" "),
        };
        format!("{} {argument}", self.name).trim_end().to_owned()
    }
}

/// The tool calls in a text.
fn calls(text: &str) -> Vec<Call> {
    text.lines().filter_map(call).take(MOST).collect()
}

fn call(line: &str) -> Option<Call> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    let (name, input) = line.trim_start().split_once('(')?;
    let is_call = !name.is_empty() && name.chars().all(is_name) && input.starts_with(['{', '[']);
    let input = input.get(..memory_core::text::floor_char_boundary(input, LOOKED_AT))?;
    is_call.then(|| {
        let argument = ARGUMENTS.iter().find_map(|key| argument(input, key)).unwrap_or_default();
        Call { name: name.to_owned(), argument }
    })
}

/// The first line of a text argument.
fn argument(input: &str, key: &str) -> Option<String> {
    let behind = input.split_once(&format!("\"{key}\""))?.1.trim_start().strip_prefix(':')?.trim_start();
    let mut chars = behind.strip_prefix('"')?.chars();
    let mut value = String::new();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => match chars.next()? {
                'n' | 'r' => break,
                't' => value.push(' '),
                escaped => value.push(escaped),
            },
            _ if c.is_control() => {}
            _ => value.push(c),
        }
    }
    let value = value.split_whitespace().collect::<Vec<_>>().join(" ").replace(" | ", " / ");
    (!value.is_empty()).then_some(value)
}

#[cfg(test)]
mod tests {
    use memory_core::{Level, Role, port::SummarySource};

    use crate::testing::{message, write};

    fn check(text: &str, max_tokens: u32, expected: &str) {
        let source: SummarySource = message(text).role(Some(Role::Assistant)).speaker("assistant");
        let written = write(&crate::Spans, Level::Summary, &[source], max_tokens).text;
        assert_eq!(written, expected, "{text}");
    }

    #[test]
    fn a_call_is_its_name_and_its_path_or_command() {
        check(r#"Read({"file_path":"/srv/atlas/run.py","limit":20})"#, 12, "assistant: Read /srv/atlas/run.py");
        check(r#"Write({"content":"let a = 1;\n","file_path":"src/a.rs"})"#, 12, "assistant: Write src/a.rs");
        check(
            r#"Edit({"file_path":"src/a.rs","old_string":"\"a\"","new_string":"b"})"#,
            12,
            "assistant: Edit src/a.rs",
        );
        check(
            r#"Bash({"command":"pnpm test --filter \"@harbor/gateway\""})"#,
            14,
            "assistant: Bash pnpm test --filter \"@harbor/gateway\"",
        );
        check(r#"Bash({"command":"df -h\nls"})"#, 12, "assistant: Bash df -h");
    }

    #[test]
    fn a_call_is_shortened_until_it_fits() {
        let read = r#"Read({"file_path":"/srv/harbor/apps/gateway/src/app.ts"})"#;
        check(read, 7, "Read app.ts");
        check(read, 1, "Read");
        check(r#"Bash({"command":"psql -c select count from orders where paid"})"#, 8, "Bash psql -c select…");
    }

    #[test]
    fn what_is_said_goes_before_a_call() {
        check("I look into it now.\nRead({\"path\":\"a.rs\"})", 9, "assistant: I look into it now.");
    }
}
