//! Lines that name a speaker: `## User`, `**Assistant:** Hi.`, `_**Agent (model gpt-5)**_`, `Human: Hi.`, `You said:`.

use memory_core::Role;

/// A line that may name a speaker.
#[derive(Clone, Debug)]
pub(super) struct Line {
    style: Style,
    name: String,
    /// Text after the name.
    pub(super) rest: String,
    /// The original line.
    pub(super) written: String,
}

/// Style in which a line names a speaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// A heading with this many `#`.
    Heading(usize),
    Bold,
    Label,
}

#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) role: Role,
    /// The name, if it is not that of a role.
    pub(super) speaker: Option<String>,
    /// Words next to the name: a time, a model.
    pub(super) beside: Option<String>,
    /// True for a subagent, and for the model that gives it its task.
    pub(super) is_side: bool,
    /// True for `Prompt` and `Response`, which name speakers only if the first speaker is one of them.
    pub(super) is_pair: bool,
}

/// Maximum characters of a name.
const LONGEST: usize = 60;
/// Maximum words of a name.
const MOST_WORDS: usize = 3;
/// Names of models and programs, which speak as the model.
#[rustfmt::skip]
const ANSWERING: [&str; 36] = [
    "aider", "amp", "antigravity", "bard", "cascade", "chatgpt", "claude", "claude code", "cline", "codex", "copilot",
    "cursor", "deepseek", "devin", "gemini", "gemini cli", "github copilot", "gpt", "grok", "jules", "junie", "kilo code",
    "kimi", "kiro", "le chat", "llama", "meta ai", "mistral", "opencode", "perplexity", "qwen", "qwen code", "roo",
    "roo code", "windsurf", "zed",
];
/// Names of the person and of the model in other languages.
const PERSON: [&str; 8] = ["benutzer", "nutzer", "utilisateur", "usuario", "utente", "usuário", "пользователь", "用户"];
const MODEL: [&str; 6] = ["assistent", "asistente", "assistente", "ассистент", "助手", "アシスタント"];

impl Line {
    pub(super) fn is_label(&self) -> bool {
        self.style == Style::Label
    }

    pub(super) fn lower_name(&self) -> String {
        apart(&self.name).0.to_lowercase()
    }

    /// True for `You said`, which is no heading of a document.
    pub(super) fn is_said(&self) -> bool {
        self.name.ends_with(" said")
    }

    /// True for a heading of any level.
    pub(super) fn is_heading(&self) -> bool {
        matches!(self.style, Style::Heading(_))
    }

    /// Words after a name in bold.
    pub(super) fn bold_member(&self) -> Option<(String, &str)> {
        (self.style == Style::Bold && !self.rest.is_empty()).then(|| (self.lower_name(), self.rest.as_str()))
    }

    /// True if both lines have the same style.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.style == other.style
    }
}

/// Splits a line that may name a speaker.
pub(super) fn line(written: &str) -> Option<Line> {
    let line = written.trim_end();
    // Italics may enclose the bold text.
    let line = line.strip_prefix('_').and_then(|line| line.strip_suffix('_')).unwrap_or(line);
    let (style, name, rest) = if line.starts_with('#') {
        let heading = line.trim_start_matches('#');
        (Style::Heading(line.len() - heading.len()), heading.strip_prefix(' ')?, "")
    } else if let Some(bold) = line.strip_prefix("**") {
        let (name, rest) = bold.trim_start_matches('*').split_once("**")?;
        let rest = rest.trim_start_matches('*');
        let is_whole = rest.trim().is_empty();
        let rest =
            if name.trim_end().ends_with(':') { rest } else { rest.strip_prefix(':').or(is_whole.then_some(""))? };
        (Style::Bold, name, rest)
    } else {
        let (name, rest) = line.split_once(':')?;
        let may_be_label = name.starts_with(char::is_uppercase) && (rest.is_empty() || rest.starts_with(' '));
        if !may_be_label && known(name).is_none() {
            return None;
        }
        (Style::Label, name, rest)
    };
    let name = name.trim_matches(['*', '_', ' ', ':']);
    let (bare, _) = apart(name);
    let is_name = name.chars().count() <= LONGEST
        && (1..=MOST_WORDS).contains(&bare.split_whitespace().count())
        && bare.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '.' | '_' | '\''));
    let (name, rest, written) = (name.to_owned(), rest.trim_start().to_owned(), written.trim().to_owned());
    is_name.then_some(Line { style, name, rest, written })
}

/// Mark that SpecStory writes after the names of a subagent and of who gives it its task.
const SIDE: &str = " - sidechain";

/// Splits a name from the words in brackets after it; drops emoji before it, `said` and the mark of a subagent after it.
fn apart(name: &str) -> (&str, Option<&str>) {
    let name = name.trim_start_matches(|c: char| !c.is_alphanumeric());
    let (name, beside) = match name.strip_suffix(')').and_then(|name| name.split_once('(')) {
        Some((name, beside)) => (name.trim_end(), Some(beside)),
        None => (name, None),
    };
    let name = name.strip_suffix(SIDE).unwrap_or(name);
    (name.strip_suffix(" said").unwrap_or(name), beside)
}

/// The speaker that a line names, if the name is a known one.
pub(super) fn named(line: &Line) -> Option<Named> {
    let named = known(&line.name)?;
    (named.role != Role::Tool || line.is_heading()).then_some(named)
}

/// True for the name of a model or of a program that speaks as one.
pub(crate) fn answers(name: &str) -> bool {
    let lower = name.to_lowercase();
    ANSWERING.contains(&lower.as_str())
        || ["gpt-", "claude ", "claude-", "gemini "].iter().any(|begin| lower.starts_with(begin))
}

fn known(whole: &str) -> Option<Named> {
    let (name, beside) = apart(whole);
    let lower = name.to_lowercase();
    let answers = answers(name);
    let role = match lower.as_str() {
        _ if PERSON.contains(&lower.as_str()) => Role::User,
        _ if MODEL.contains(&lower.as_str()) => Role::Assistant,
        "user" | "human" | "you" | "me" | "prompt" | "question" => Role::User,
        "assistant" | "ai" | "model" | "bot" | "agent" | "ai assistant" | "response" | "answer" => Role::Assistant,
        "system" => Role::System,
        "tool" => Role::Tool,
        _ if answers => Role::Assistant,
        _ => return None,
    };
    Some(Named {
        role,
        speaker: answers.then(|| name.to_owned()),
        beside: beside.map(str::to_owned),
        is_side: whole.contains(SIDE),
        is_pair: matches!(lower.as_str(), "prompt" | "question" | "response" | "answer"),
    })
}
