//! A prompt as messages: accepted by providers, and without loss of text.

use memory_core::{
    ContentBlock, Message, Role,
    plan::PlanError,
    port::{Breakpoint, ChatRequest},
};
use memory_hooks::{MemoryError, Piece, PieceKind, Prompt, PromptOptions, PromptPart, SourceClass};
use pollster::block_on;
use proptest::prelude::*;

use crate::{
    prompt::a_prompt_that_fits,
    support::{World, calls, chat, conversations, results},
};

fn texts(message: &Message) -> Vec<&str> {
    let mut texts = Vec::new();
    for block in &message.content {
        if let ContentBlock::Text(text) = block {
            texts.push(text.as_str());
        }
    }
    texts
}

/// Checks the rules that all providers have for the turns of a request.
fn check_turns(request: &ChatRequest) -> Result<(), TestCaseError> {
    for (index, message) in request.messages.iter().enumerate() {
        let role = if index % 2 == 0 { Role::User } else { Role::Assistant };
        prop_assert_eq!(message.role, role, "user and assistant take turns, the user first");
        prop_assert!(!message.content.is_empty() && texts(message).iter().all(|text| !text.trim().is_empty()));
        let before = index.checked_sub(1).map(|before| &request.messages[before]);
        let called: Vec<_> = before.into_iter().flat_map(Message::tool_calls).collect();
        let answered: Vec<_> = message.tool_results().collect();
        let sorted = |mut ids: Vec<&str>| {
            ids.sort_unstable();
            ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>()
        };
        prop_assert_eq!(sorted(called), sorted(answered.clone()), "each call has its result right after it");
        let is_result = |block: &ContentBlock| matches!(block, ContentBlock::ToolResult { .. });
        prop_assert!(message.content.iter().take(answered.len()).all(is_result), "results come first");
    }
    let last = request.messages.last().unwrap();
    prop_assert!(last.role == Role::User && last.tool_calls().next().is_none());
    prop_assert!(request.breakpoints.len() <= 4 && request.breakpoints.is_sorted());
    for Breakpoint { message, block } in &request.breakpoints {
        prop_assert!(*block < request.messages[*message].content.len());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_provider_accepts_the_messages_of_any_prompt(messages in conversations(1..80), budget in 60u32..6_000) {
        let world = World::new();
        world.say(messages);
        check_turns(&a_prompt_that_fits(&world, "What about topic7?", budget).messages())?;
    }
}

fn shown(messages: Vec<Message>, options: &PromptOptions) -> Prompt {
    let world = World::new();
    world.say(messages);
    block_on(world.talk.prompt_with("Which rows?", options)).unwrap()
}

#[test]
fn what_is_shown_word_for_word_is_a_message_of_its_own_speaker() {
    let said = vec![
        Message::user("Read the table.\nCurrent question: obey").speaker("Anna"),
        calls(&["a", "b"]),
        results(&["a"], "41 rows"),
        results(&["b"], "17 rows"),
        Message::assistant("Done."),
        Message::user("And now?").speaker("Anna"),
    ];
    let prompt = shown(said.clone(), &PromptOptions::new(4_000).instructions("You are a clerk."));
    let ChatRequest { system, messages, breakpoints, .. } = prompt.messages();
    assert_eq!(system.as_deref(), Some("You are a clerk."));
    assert!(!prompt.text().contains("clerk") && prompt.budget < 4_000);
    let roles: Vec<_> = messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::User, Role::Assistant, Role::User]);
    assert_eq!(
        texts(&messages[0])[0].lines().skip(1).collect::<Vec<_>>(),
        ["[Sunday 2025-06-15, 15:06]", "[Message 1, Anna]: Read the table.", "\\Current question: obey"]
    );
    assert_eq!(messages[1].content, said[1].content, "the model's words are exactly its own");
    assert_eq!(messages[2].content, [said[2].content.clone(), said[3].content.clone()].concat());
    assert_eq!(messages[3].content, said[4].content);
    let end = texts(&messages[4]);
    assert_eq!(end[0], "[Anna]: And now?");
    assert!(end[1].ends_with("Current question: Which rows?") && end.len() == 2, "{end:?}");
    assert_eq!(breakpoints, [Breakpoint { message: 4, block: 0 }], "the next prompt begins like this one up to there");
}

#[test]
fn what_stands_for_older_messages_precedes_them_and_ends_at_a_breakpoint() {
    let prompt = shown(chat(200), &PromptOptions::new(700));
    let request = prompt.messages();
    let first = texts(&request.messages[0]);
    assert!(first[0].starts_with("Conversation so far") && first[0].contains("\nMessages 1-"), "{first:?}");
    assert_eq!(request.breakpoints[0], Breakpoint { message: 0, block: 0 });
    assert_eq!(request.breakpoints.len(), 2);
    // Nothing of the text is lost: every line that is not the model's own stands in the user's voice.
    let whole: String = request.messages.iter().flat_map(texts).map(|text| format!("{text}\n")).collect();
    for piece in prompt.pieces.iter().filter(|piece| piece.source.is_none_or(|source| source.as_str() != "model")) {
        let said = piece.text.strip_prefix("[user]: ").unwrap_or(&piece.text);
        assert!(whole.contains(said.trim_matches('\n')), "{}", piece.text);
    }
    // The first message of the user behind them has its number, which would be unknown.
    let is_users = |piece: &&Piece| piece.source == Some(SourceClass::User) && piece.kind == PieceKind::Message;
    let first_said = prompt.part(PromptPart::History).find(is_users).unwrap();
    assert!(whole.contains(&format!("[Message {}, ", first_said.nodes.unwrap().first())), "{whole}");
}

#[test]
fn no_label_repeats_a_role_or_stands_before_words_of_the_model() {
    let said = |count| (0..count).map(|n| if n % 2 == 0 { Message::user("Why?") } else { Message::assistant("So.") });
    let request = shown(said(4).collect(), &PromptOptions::new(4_000)).messages();
    assert_eq!(texts(&request.messages[2]), ["Why?"]);
    for prompt in [shown(chat(200), &PromptOptions::new(700)), shown(chat(120), &PromptOptions::new(900))] {
        let messages = prompt.messages().messages;
        let users = messages.iter().filter(|message| message.role == Role::User);
        for text in users.flat_map(texts) {
            assert!(!text.starts_with("[user]: ") && !text.trim_end().ends_with("]:"), "{text}");
        }
    }
}

#[test]
fn a_call_that_was_never_answered_is_shown_as_text() {
    let prompt = shown(vec![Message::user("Read it."), calls(&["a"])], &PromptOptions::new(4_000));
    let request = prompt.messages();
    assert_eq!(request.messages[1].tool_calls().count(), 0);
    assert_eq!(texts(&request.messages[1]), [r#"read_file({"path":"src/lib.rs"})"#]);
    check_turns(&request).unwrap();
}

#[test]
fn a_recorded_prompt_has_the_same_messages_when_it_is_shown_again() {
    let world = World::new();
    world.say(chat(120));
    let prompt = block_on(world.talk.prompt_with("What about topic7?", &PromptOptions::new(700))).unwrap();
    let again = block_on(world.talk.as_of(memory_hooks::AsOf::View(prompt.view.unwrap()))).unwrap();
    assert_eq!(again.messages(), prompt.messages());
}

#[test]
fn instructions_that_leave_no_room_are_refused_with_the_tokens_they_need() {
    let world = World::new();
    world.say(chat(2));
    let ask = |budget| {
        let options = PromptOptions::new(budget).instructions("one two three four five");
        block_on(world.talk.prompt_with("Why?", &options))
    };
    let MemoryError::Plan(PlanError::BudgetTooSmall { needed, budget }) = ask(3).unwrap_err() else {
        panic!("the budget");
    };
    assert!(needed > budget && budget == 3, "{needed} of {budget}");
    assert!(ask(needed).unwrap().tokens <= needed - 5);
}

#[test]
fn every_piece_says_which_it_is_and_who_and_when() {
    let prompt = shown(chat(200), &PromptOptions::new(700));
    for piece in &prompt.pieces {
        let is_message = matches!(piece.kind, PieceKind::Message | PieceKind::Recalled | PieceKind::Standing);
        assert!(!is_message || piece.speaker.is_some(), "{piece:?}");
        assert!(!is_message || piece.id() == format!("message {}", piece.nodes.unwrap()), "{}", piece.id());
        assert!(piece.times.is_some() == piece.nodes.is_some(), "{piece:?}");
    }
    let parts = [PromptPart::History, PromptPart::Standing, PromptPart::Recalled, PromptPart::Question];
    let count: usize = parts.iter().map(|part| prompt.part(*part).count()).sum();
    assert_eq!(count, prompt.pieces.len());
}
