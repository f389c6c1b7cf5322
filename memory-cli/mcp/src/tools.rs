//! The tools: a table of them, what is said of each, and the call by name.

mod append;
mod browse;
mod conversations;
mod expand;
mod files;
mod find;
mod recent;
mod scratchpad;
mod search;
mod stats;
mod summaries;

use std::{future::Future, pin::Pin};

use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool as Described, ToolAnnotations};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{Options, Profile, Server, failure::Failure, schema};

/// A tool.
pub(crate) trait Tool {
    const NAME: &'static str;
    const TITLE: &'static str;
    /// What it does, in one sentence.
    const ABOUT: &'static str;
    /// What else a model may want to know; left out of the compact profile.
    const MORE: &'static str = "";
    const KIND: Kind = Kind::Reads;
    type Input: DeserializeOwned + JsonSchema + Send + 'static;
    type Output: Answer;

    fn run(server: &Server, input: Self::Input) -> impl Future<Output = Result<Self::Output, Failure>> + Send;
}

/// What a tool gives, as JSON and as text.
pub(crate) trait Answer: Serialize + JsonSchema + Send {
    fn text(&self) -> String;
}

/// What a call of a tool does to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing.
    Reads,
    /// It adds to what is there; twice the same call adds twice.
    Adds,
    /// It replaces what is there; what was there stays in the log.
    Replaces,
    /// It changes or removes what is there; twice the same call may be an error.
    Changes,
}

impl Kind {
    fn annotations(self, title: &str) -> ToolAnnotations {
        ToolAnnotations::with_title(title)
            .read_only(self == Self::Reads)
            .destructive(matches!(self, Self::Replaces | Self::Changes))
            .idempotent(matches!(self, Self::Reads | Self::Replaces))
            .open_world(false)
    }
}

type Called<'a> = Pin<Box<dyn Future<Output = CallToolResult> + Send + 'a>>;

/// A tool in the table.
pub(crate) struct Registered {
    pub(crate) name: &'static str,
    kind: Kind,
    describe: fn(Profile) -> Described,
    call: for<'a> fn(&'a Server, JsonObject) -> Called<'a>,
    is_offered: fn(&Options) -> bool,
}

/// All tools in the order in which they are listed.
const TOOLS: [Registered; 13] = [
    always::<search::Search>(),
    always::<expand::Expand>(),
    always::<find::Find>(),
    always::<browse::Browse>(),
    always::<summaries::Summaries>(),
    always::<recent::Recent>(),
    always::<conversations::Conversations>(),
    always::<stats::Stats>(),
    only_if::<scratchpad::Read>(|options| options.scratchpad),
    only_if::<scratchpad::Set>(|options| options.scratchpad),
    only_if::<scratchpad::Append>(|options| options.scratchpad),
    only_if::<append::Append>(|options| options.append),
    only_if::<files::Files>(|options| options.memory_tool),
];

const fn always<T: Tool>() -> Registered {
    only_if::<T>(|_| true)
}

const fn only_if<T: Tool>(is_offered: fn(&Options) -> bool) -> Registered {
    Registered { name: T::NAME, kind: T::KIND, describe: describe::<T>, call: call::<T>, is_offered }
}

/// The tools that a server offers: none where they are turned off, and only those that read where nothing can be written.
pub(crate) fn offered(server: &Server) -> impl Iterator<Item = &'static Registered> {
    let (memory, options) = (server.memory(), server.options());
    let are_enabled = memory.config().enable_mcp_tools;
    let may_write = memory.may_write();
    TOOLS
        .iter()
        .filter(move |tool| are_enabled && (tool.is_offered)(&options) && (may_write || tool.kind == Kind::Reads))
}

impl Registered {
    pub(crate) fn described(&self, profile: Profile) -> Described {
        (self.describe)(profile)
    }

    /// What the tool answers. Whatever fails is an answer too, which the model is shown.
    pub(crate) async fn called(&self, server: &Server, arguments: JsonObject) -> CallToolResult {
        (self.call)(server, arguments).await
    }
}

fn describe<T: Tool>(profile: Profile) -> Described {
    let mut about = T::ABOUT.to_owned();
    if profile == Profile::Full && !T::MORE.is_empty() {
        about.push(' ');
        about.push_str(T::MORE);
    }
    let tool = Described::new(T::NAME, about, schema::input::<T::Input>());
    match profile {
        Profile::Full => tool
            .with_title(T::TITLE)
            .with_raw_output_schema(schema::output::<T::Output>())
            .with_annotations(T::KIND.annotations(T::TITLE)),
        Profile::Compact => {
            let mut annotations = T::KIND.annotations("");
            annotations.title = None;
            tool.with_annotations(annotations)
        }
    }
}

fn call<T: Tool>(server: &Server, arguments: JsonObject) -> Called<'_> {
    Box::pin(async move {
        match run::<T>(server, arguments).await {
            Ok((text, value)) => {
                let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
                result.structured_content = Some(value);
                result
            }
            Err(Failure(why)) => CallToolResult::error(vec![ContentBlock::text(why)]),
        }
    })
}

async fn run<T: Tool>(server: &Server, arguments: JsonObject) -> Result<(String, Value), Failure> {
    let input = serde_json::from_value(Value::Object(arguments));
    let input = input.map_err(|error| Failure(format!("{}: {}", T::NAME, memory::one_line(&error.to_string()))))?;
    let answer = T::run(server, input).await?;
    let value = serde_json::to_value(&answer);
    Ok((answer.text(), value.map_err(|error| Failure(format!("the answer is no JSON: {error}")))?))
}
