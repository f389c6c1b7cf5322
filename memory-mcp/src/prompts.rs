//! The prompt `recall`: the memory's prompt for a question.

use memory::{Conversations, PromptOptions, text::one_line};
use rmcp::{
    ErrorData,
    model::{GetPromptRequestParams, GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage, Role},
};
use serde_json::Value;

use memory_tools::{Failure, Tools, failure, prompt_options, shown_prompt};

use crate::resources;

const RECALL: &str = "recall";

pub(crate) fn list() -> ListPromptsResult {
    let argument =
        |name: &str, about: &str, required| PromptArgument::new(name).with_description(about).with_required(required);
    let arguments = vec![
        argument("question", "What you want to know", true),
        argument("conversation", "Id, title or \"last\" (default); all others are searched as well", false),
    ];
    let about = "Ask with everything in memory that bears on the question";
    ListPromptsResult::with_all_items(vec![
        Prompt::new(RECALL, Some(about), Some(arguments)).with_title("Recall from memory"),
    ])
}

pub(crate) async fn get(tools: &Tools, request: &GetPromptRequestParams) -> Result<GetPromptResult, ErrorData> {
    let invalid = |why: String| ErrorData::invalid_params(why, None);
    if request.name != RECALL {
        return Err(invalid(format!("there is no prompt {}", failure::named(&request.name))));
    }
    let argument = |name: &str| request.arguments.as_ref()?.get(name).and_then(Value::as_str);
    let question = argument("question").filter(|question| !question.trim().is_empty());
    let question = question.ok_or_else(|| invalid("the argument question is missing".to_owned()))?;
    let name = argument("conversation").unwrap_or("last");
    let found = failure::conversation(tools.memory(), name).await;
    let conversation = found.map_err(|Failure(why)| invalid(why))?;
    let options = prompt_options(tools, PromptOptions::default().budget).scope(Conversations::All);
    let prompt = conversation.prompt_with(question, &options).await.map_err(resources::internal)?;
    let used = prompt.used().sentence().unwrap_or_else(|| "memory used: the conversation itself".to_owned());
    let about = format!("{} of {}; {used}", RECALL, conversation.id());
    let message = PromptMessage::new_text(Role::User, shown_prompt(conversation.id(), &prompt));
    Ok(GetPromptResult::new(vec![message]).with_description(one_line(&about)))
}
