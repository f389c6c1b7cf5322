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

use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool as Described};
use serde_json::Value;

use crate::{
    Options, Profile, arguments,
    context::Context,
    failure::Failure,
    schema,
    tool::{Answer as _, Kind, Tool},
};

type Called<'a> = Pin<Box<dyn Future<Output = CallToolResult> + Send + 'a>>;

/// A tool in the table.
pub(crate) struct Registered {
    pub(crate) name: &'static str,
    kind: Kind,
    describe: fn(Profile) -> Described,
    call: for<'a> fn(&'a Context, JsonObject) -> Called<'a>,
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

/// The tools that are offered: none where they are turned off, and only those that read where nothing can be written.
pub(crate) fn offered(context: &Context) -> impl Iterator<Item = &'static Registered> {
    let (memory, options) = (context.memory(), context.options());
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
    pub(crate) async fn called(&self, context: &Context, arguments: JsonObject) -> CallToolResult {
        (self.call)(context, arguments).await
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

fn call<T: Tool>(context: &Context, arguments: JsonObject) -> Called<'_> {
    Box::pin(async move {
        match run::<T>(context, arguments).await {
            Ok((text, value)) => {
                let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
                result.structured_content = Some(value);
                result
            }
            Err(Failure(why)) => CallToolResult::error(vec![ContentBlock::text(why)]),
        }
    })
}

async fn run<T: Tool>(context: &Context, arguments: JsonObject) -> Result<(String, Value), Failure> {
    let arguments = arguments::fitted(arguments, &schema::input::<T::Input>());
    let arguments = arguments.map_err(|Failure(why)| Failure(format!("{}: {why}", T::NAME)))?;
    let input = serde_json::from_value(Value::Object(arguments));
    let input = input.map_err(|error| Failure(format!("{}: {}", T::NAME, memory::one_line(&error.to_string()))))?;
    let answer = T::run(context, input).await?;
    let value = serde_json::to_value(&answer);
    Ok((answer.text(), value.map_err(|error| Failure(format!("the answer is no JSON: {error}")))?))
}
