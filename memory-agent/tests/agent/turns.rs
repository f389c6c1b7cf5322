//! Turns that end well, are interrupted, overflow, or go wrong.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU32, AtomicUsize, Ordering},
};

use memory::{
    ContentBlock, Message, MessageKey, PieceKind, PromptOptions, Timestamp,
    port::{BoxFuture, ChatError, ChatEvent, ChatEvents, ChatModel, ChatReply, ChatRequest, ChatUsage, StopReason},
};
use memory_agent::{
    Agent, AgentError, AgentEvent, AgentOptions, CancellationToken, Ended, FunctionTool, Prices, Scripted,
};
use memory_tools::{Options, Profile, Tools};
use pollster::block_on;
use serde_json::json;

use crate::support::{Counter, agent, call, log, open, says};

#[test]
fn a_turn_streams_calls_tools_and_counts() {
    let directory = tempfile::tempdir().unwrap();
    let memory = open(directory.path());
    let options = AgentOptions::default().prices(Prices::new(1.0, 2.0));
    let mut agent = agent(&memory, Counter::pair()).options(options);
    let (text, kinds) = (Mutex::new(String::new()), Mutex::new(Vec::new()));
    let take = |event: AgentEvent<'_>| match event {
        AgentEvent::Part(ChatEvent::Text(part)) => text.lock().unwrap().push_str(&part),
        AgentEvent::Calling { name, .. } => kinds.lock().unwrap().push(format!("calling {name}")),
        AgentEvent::Called(done) => kinds.lock().unwrap().push(format!("called {}", done.name)),
        _ => {}
    };
    let turn = block_on(agent.run(Message::user("Begin."), &take)).unwrap();
    assert_eq!(turn.text(), "All of it is done now.");
    assert_eq!(text.into_inner().unwrap(), "Let me see.All of it is done now.");
    // The tools run at once, so that their events come in any order.
    let mut events = kinds.into_inner().unwrap();
    events.sort();
    assert_eq!(events, ["called read", "called write", "calling read", "calling write"]);
    assert_eq!((turn.calls.len(), turn.usage.requests, turn.nodes.unwrap().count()), (2, 2, 5));
    assert!(turn.usage.prompt_tokens > 50 && turn.usage.reply_tokens > 5 && turn.usage.cost.unwrap() > 0.0);
    let second = block_on(agent.run(Message::user("Once more."), &())).unwrap();
    assert_eq!(second.nodes.unwrap().to_string(), "6-7");
    assert_eq!(second.answer.unwrap().model().as_deref(), Some("scripted"));
}

#[test]
fn an_interrupted_answer_keeps_what_came_and_is_marked() {
    let directory = tempfile::tempdir().unwrap();
    let memory = open(directory.path());
    let model = Arc::new(Scripted::new(|_, _| Ok(Message::assistant("One two three four five."))));
    let mut agent = Agent::new(memory.conversation("talk").unwrap(), model);
    for (parts, kept) in [(3, "One two three  [interrupted]"), (0, "[interrupted]")] {
        let token = CancellationToken::new();
        let seen = AtomicUsize::new(0);
        if parts == 0 {
            token.cancel();
        }
        let stop = |event: AgentEvent<'_>| {
            if matches!(event, AgentEvent::Part(_)) && seen.fetch_add(1, Ordering::Relaxed) + 1 == parts {
                token.cancel();
            }
        };
        let turn = block_on(agent.until(token.clone()).run(Message::user("Count."), &stop)).unwrap();
        assert_eq!((turn.ended, turn.text().as_str()), (Ended::Interrupted, kept));
        assert!(turn.answer.unwrap().metadata.contains_key("interrupted"));
        assert!(block_on(agent.resume(&())).unwrap().is_none(), "it was ended by the user");
    }
    let turn = block_on(agent.until(CancellationToken::new()).run(Message::user("Again."), &())).unwrap();
    assert_eq!((turn.ended, turn.text().as_str()), (Ended::Answered, "One two three four five."));
}

#[test]
fn an_interrupted_call_has_a_result() {
    let directory = tempfile::tempdir().unwrap();
    let memory = open(directory.path());
    let token = CancellationToken::new();
    let stop = token.clone();
    let slow = move |_| {
        stop.cancel();
        std::future::pending()
    };
    let tool = FunctionTool::new("write", "Never ends.", &json!({}), slow);
    let model = Arc::new(Scripted::new(|_, _| Ok(says(vec![call("a", "write")]))));
    let mut agent = Agent::new(memory.conversation("talk").unwrap(), model).tool(tool).unwrap();
    let turn = block_on(agent.until(token).run(Message::user("Begin."), &())).unwrap();
    assert_eq!((turn.ended, turn.calls[0].is_error), (Ended::Interrupted, true));
    let log = log(agent.conversation());
    assert_eq!(log[2], "tool: error: / interrupted by the user before it was done");
}

#[test]
fn a_failing_tool_and_one_that_is_not_there_are_results() {
    let directory = tempfile::tempdir().unwrap();
    let memory = open(directory.path());
    let fails = FunctionTool::new("fails", "Fails.", &json!({}), |_| async { Err("the disk is full".to_owned()) });
    let model = Scripted::new(|number, _| {
        Ok(if number == 0 { says(vec![call("a", "fails"), call("b", "fa\nke")]) } else { Message::assistant(" ") })
    });
    let mut agent = Agent::new(memory.conversation("talk").unwrap(), Arc::new(model)).tool(fails).unwrap();
    let turn = block_on(agent.run(Message::user("Begin."), &())).unwrap();
    assert!(turn.calls.iter().all(|call| call.is_error));
    let log = log(agent.conversation()).join("\n");
    assert!(log.contains("error: / the disk is full"), "{log}");
    assert!(log.contains(r"error: / there is no tool `fa\nke`: tools are fails"), "{log}");
    assert!(log.ends_with("assistant: [no answer]"), "{log}");
}

#[test]
fn a_turn_has_a_limit_of_requests_and_the_next_one_continues() {
    let directory = tempfile::tempdir().unwrap();
    let memory = open(directory.path());
    let model = Arc::new(Scripted::new(|number, _| {
        Ok(if number < 4 { says(vec![call(&format!("c{number}"), "read")]) } else { Message::assistant("Done.") })
    }));
    let [read, _] = Counter::pair();
    let options = AgentOptions::default().max_requests(3);
    let mut agent = Agent::new(memory.conversation("talk").unwrap(), model).tool(read).unwrap().options(options);
    let turn = block_on(agent.run(Message::user("Begin."), &())).unwrap();
    assert_eq!((turn.ended, turn.calls.len()), (Ended::Requests, 3));
    let turn = block_on(agent.resume(&())).unwrap().unwrap();
    assert_eq!((turn.ended, turn.text().as_str()), (Ended::Answered, "Done."));
}

#[test]
fn a_model_that_fails_leaves_a_turn_to_resume() {
    let directory = tempfile::tempdir().unwrap();
    let memory = open(directory.path());
    let model = Arc::new(Scripted::new(|number, _| match number {
        0 => Err(ChatError::RateLimited { model: "m".to_owned(), detail: "wait".to_owned(), retry_after: None }),
        _ => Ok(Message::assistant("Here.")),
    }));
    let mut agent = Agent::new(memory.conversation("talk").unwrap(), model);
    let error = block_on(agent.run(Message::user("Are you there?"), &())).unwrap_err();
    assert!(matches!(error, AgentError::Model(ChatError::RateLimited { .. })), "{error}");
    assert!(block_on(agent.is_open()).unwrap());
    let turn = block_on(agent.resume(&())).unwrap().unwrap();
    assert_eq!((turn.node.unwrap().get(), turn.text().as_str()), (2, "Here."));
}

/// A second agent asks nothing, and a message under the key of an answer is never doubled.
#[test]
fn of_two_agents_one_answers() {
    let directory = tempfile::tempdir().unwrap();
    let memory = open(directory.path());
    let talk = memory.conversation("talk").unwrap();
    block_on(talk.append(Message::user("Who answers?"))).unwrap();
    let other = Arc::new(Scripted::new(|_, _| Ok(Message::assistant("The other."))));
    let (other, there) = (Mutex::new(Agent::new(talk.clone(), other)), talk.clone());
    let slow = Scripted::new(move |_, _| {
        let mut other = other.lock().unwrap();
        let left = block_on(other.resume(&())).unwrap_err();
        for error in [left, block_on(other.run(Message::user("And I?"), &())).unwrap_err()] {
            let pid = std::process::id();
            assert!(matches!(&error, AgentError::Answering { pid: held, .. } if *held == pid), "{error}");
            assert!(error.to_string().contains("`talk` is being answered by process"), "{error}");
        }
        let answer = Message::assistant("By other means.").key(Some(MessageKey::new("agent 1").unwrap()));
        block_on(there.append(answer)).unwrap();
        Ok(Message::assistant("The slow one."))
    });
    let error = block_on(Agent::new(talk.clone(), Arc::new(slow)).resume(&())).unwrap_err();
    assert!(matches!(error, AgentError::Elsewhere { node } if node.get() == 2), "{error}");
    assert_eq!(log(&talk), ["user: Who answers?", "assistant: By other means."]);
    let turns = directory.path().join("cache").join("turns");
    assert_eq!(std::fs::read_dir(turns).unwrap().count(), 0, "nothing of the turn is left");
}

/// A model whose connection breaks after some words, until it is asked a second time.
#[derive(Debug, Default)]
struct Breaking(AtomicUsize);

impl ChatModel for Breaking {
    fn name(&self) -> &'static str {
        "breaking"
    }

    fn context_window(&self) -> u32 {
        8_192
    }

    fn reply<'a>(&'a self, _: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ChatError>> {
        Box::pin(async { Ok(ChatReply::new(Message::assistant("All of it."))) })
    }

    fn stream<'a>(
        &'a self,
        request: &'a ChatRequest,
        events: &'a dyn ChatEvents,
    ) -> BoxFuture<'a, Result<ChatReply, ChatError>> {
        if self.0.fetch_add(1, Ordering::Relaxed) > 0 {
            return self.reply(request);
        }
        events.event(ChatEvent::Text("The first half".to_owned()));
        Box::pin(async { Err(ChatError::Backend { model: "breaking".to_owned(), source: "cut".into() }) })
    }
}

/// A model whose replies are the count of the request's tokens, and state it.
#[derive(Debug)]
struct Counting(Scripted);

impl ChatModel for Counting {
    fn name(&self) -> &'static str {
        "counting"
    }

    fn context_window(&self) -> u32 {
        self.0.context_window()
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ChatError>> {
        Box::pin(async {
            let reply = self.0.reply(request).await?;
            let usage = ChatUsage::default().prompt_tokens(reply.message.text().parse().ok());
            Ok(reply.usage(usage))
        })
    }
}

/// A model whose replies end for a reason.
#[derive(Debug)]
struct Stopping(Scripted, Option<StopReason>);

impl ChatModel for Stopping {
    fn name(&self) -> &'static str {
        "stopping"
    }

    fn context_window(&self) -> u32 {
        self.0.context_window()
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ChatError>> {
        Box::pin(async { Ok(self.0.reply(request).await?.stop(self.1.clone())) })
    }
}

#[test]
fn an_answer_that_breaks_off_keeps_what_came_and_is_not_asked_for_again() {
    let directory = tempfile::tempdir().unwrap();
    let memory = open(directory.path());
    let mut agent = Agent::new(memory.conversation("talk").unwrap(), Arc::new(Breaking::default()));
    let turn = block_on(agent.run(Message::user("Tell me all."), &())).unwrap();
    assert_eq!((turn.ended, turn.text().as_str()), (Ended::Cut, "The first half [cut off]"));
    assert!(matches!(turn.failure.as_deref(), Some(ChatError::Backend { .. })));
    assert!(turn.is_estimated && turn.answer.unwrap().metadata.contains_key("cut"));
    assert!(block_on(agent.resume(&())).unwrap().is_none(), "nobody asked for more");
    assert_eq!(block_on(agent.go_on(&())).unwrap().unwrap().text(), "All of it.");
    assert!(block_on(agent.go_on(&())).unwrap().is_none(), "the answer is whole");
    let said = ["user: Tell me all.", "assistant: The first half [cut off]", "assistant: All of it."];
    assert_eq!(log(agent.conversation()), said, "nothing was said in the user's name");
}

/// The real window is smaller than the configured one, and the provider counts more tokens than the memory does.
#[test]
fn an_overflow_is_recovered_from_and_the_window_is_learned() {
    let directory = tempfile::tempdir().unwrap();
    let memory = open(directory.path());
    let talk = memory.conversation("talk").unwrap();
    let remark = |number: usize| {
        let text =
            format!("Remark {number}: we walked along the river, past the market, and rested for a while there. ");
        (Message::user(text.repeat(5)), Timestamp::from_millis(0))
    };
    block_on(talk.append_batch((0..300).map(remark).collect())).unwrap();
    let counter = memory.clone();
    let requests = Arc::new(AtomicU32::new(0));
    let asked = Arc::clone(&requests);
    let model = Scripted::new(move |_, request| {
        asked.fetch_add(1, Ordering::Relaxed);
        let text: Vec<_> = request.messages.iter().map(Message::text).collect();
        let tokens = counter.count_tokens(&text.join("\n")) * 3 / 2;
        match tokens > 2_048 {
            true => Err(ChatError::ContextOverflow { window: 2_048, prompt_tokens: Some(tokens) }),
            false => Ok(Message::assistant("A walk.")),
        }
    });
    let mut agent = Agent::new(talk, Arc::new(model.window(8_192)));
    let turn = block_on(agent.run(Message::user("What did we do?"), &())).unwrap();
    assert!((1..=2).contains(&turn.overflows), "{}", turn.overflows);
    // The view covers every message.
    let shown = turn.prompt.unwrap();
    let covered: u64 = shown
        .pieces
        .iter()
        .filter(|piece| piece.kind.is_history() && piece.kind != PieceKind::Recalled)
        .map(|piece| piece.nodes.unwrap().count())
        .sum();
    assert_eq!(covered, 301);
    let before = requests.load(Ordering::Relaxed);
    for number in 0..10 {
        let turn = block_on(agent.run(remark(number).0, &())).unwrap();
        assert_eq!(turn.overflows, 0, "turn {number}");
    }
    assert_eq!(requests.load(Ordering::Relaxed), before + 10);
}

/// The tools of the memory fill the actual window, so that no smaller prompt helps.
#[test]
fn tools_give_way_where_the_window_proves_small() {
    for reports in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let memory = open(directory.path());
        let tools = Tools::new(memory.clone(), Options::default()).unwrap();
        let counter = memory.clone();
        let offered = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&offered);
        let model = Scripted::new(move |_, request| {
            let text: Vec<_> = request.messages.iter().map(Message::text).collect();
            let specs: Vec<_> = request.tools.iter().map(|tool| format!("{tool:?}")).collect();
            let tokens = counter.count_tokens(&format!("{} {}", text.join("\n"), specs.join("\n")));
            seen.store(request.tools.len(), Ordering::Relaxed);
            match tokens > 800 {
                true if reports => Err(ChatError::ContextOverflow { window: 1_024, prompt_tokens: Some(tokens) }),
                true => Err(ChatError::ContextOverflow { window: 16_384, prompt_tokens: None }),
                false => Ok(Message::assistant("It fits.")),
            }
        });
        let agent = Agent::new(memory.conversation("talk").unwrap(), Arc::new(model.window(16_384)));
        let mut agent = agent.memory_tools(&tools).unwrap();
        let first = agent.tool_names().count();
        let turn = block_on(agent.run(Message::user("Is there room?"), &())).unwrap();
        assert_eq!(turn.text(), "It fits.");
        assert!((1..=5).contains(&turn.overflows), "{}", turn.overflows);
        assert!(offered.load(Ordering::Relaxed) < first, "{first}");
        let turn = block_on(agent.run(Message::user("And now?"), &())).unwrap();
        assert_eq!(turn.overflows, 0, "what was learned stays");
    }
}

#[test]
fn a_window_that_the_programs_tools_fill_is_an_error_that_says_what_to_change() {
    let directory = tempfile::tempdir().unwrap();
    let memory = open(directory.path());
    let tool = FunctionTool::new("fill", &"words ".repeat(2_000), &json!({}), |_| async { Ok(String::new()) });
    let model = Arc::new(Scripted::new(|_, _| Ok(Message::assistant("Yes."))).window(2_048));
    let mut agent = Agent::new(memory.conversation("talk").unwrap(), model).tool(tool).unwrap();
    let error = block_on(agent.run(Message::user("Is there room?"), &())).unwrap_err();
    assert!(error.to_string().ends_with("a model with a larger window"), "{error}");
    assert_eq!(error.to_string().lines().count(), 1, "{error}");
}

#[test]
fn what_no_window_holds_is_a_typed_error_and_stays_in_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let memory = open(directory.path());
    let model = Arc::new(Scripted::new(|_, _| Ok(Message::assistant("Yes."))).window(300));
    let options = AgentOptions::default().prompt(PromptOptions::new(100));
    let mut agent = Agent::new(memory.conversation("talk").unwrap(), model).options(options);
    let error = block_on(agent.run(Message::user("word ".repeat(2_000)), &())).unwrap_err();
    assert!(matches!(error, AgentError::Memory(memory::Error::QuestionTooLong { .. })), "{error}");
    assert_eq!(log(agent.conversation()).len(), 1);
    // A shorter one is answered, although the long one stays.
    assert_eq!(block_on(agent.run(Message::user("Shorter?"), &())).unwrap().text(), "Yes.");
}

#[test]
fn the_tools_of_the_memory_take_a_quarter_of_the_window_at_most() {
    let directory = tempfile::tempdir().unwrap();
    let memory = open(directory.path());
    let tools = Tools::new(memory.clone(), Options::default().profile(Profile::Compact)).unwrap();
    let offered = |window| {
        let model = Arc::new(Scripted::new(|_, _| Ok(Message::assistant("."))).window(window));
        let agent = Agent::new(memory.conversation("talk").unwrap(), model).memory_tools(&tools).unwrap();
        agent.tool_names().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(offered(200_000).len(), tools.list().count());
    let few = offered(2_048);
    assert!(few.len() < 8 && few[0] == "search_memory", "{few:?}");
    assert!(offered(300).is_empty());

    let model = Arc::new(Scripted::new(|number, _| {
        let input = memory::Json::from_value(&json!({"query": "number"}));
        let search = ContentBlock::ToolUse { id: "s".to_owned(), name: "search_memory".to_owned(), input };
        Ok(if number == 0 { says(vec![search]) } else { Message::assistant("It is 4471.") })
    }));
    let talk = memory.conversation("talk").unwrap();
    block_on(talk.append(Message::user("The number is 4471."))).unwrap();
    let mut agent = Agent::new(talk, model).memory_tools(&tools).unwrap();
    let turn = block_on(agent.run(Message::user("Which number is it?"), &())).unwrap();
    assert!(!turn.calls[0].is_error, "{:?}", log(agent.conversation()));
    let found = log(agent.conversation()).swap_remove(3);
    assert!(found.contains("4471") && !found.contains("Which number"), "the running turn is left out: {found}");
    let twice = agent.memory_tools(&tools).unwrap_err();
    assert!(matches!(twice, AgentError::TwoTools { .. }), "{twice}");
}

/// A provider that refuses one message however short its request is: the next one has all of the window again.
#[test]
fn a_message_that_overflows_to_the_end_makes_no_later_prompt_small() {
    let directory = tempfile::tempdir().unwrap();
    let memory = open(directory.path());
    let is_refused = |text: &str| text.trim_end().lines().last().is_some_and(|line| line.contains("too long"));
    let model = Scripted::new(move |_, request| match is_refused(&request.messages.last().unwrap().text()) {
        true => Err(ChatError::ContextOverflow { window: 4_096, prompt_tokens: Some(5_000) }),
        false => Ok(Message::assistant("Yes.")),
    });
    let mut agent = Agent::new(memory.conversation("talk").unwrap(), Arc::new(model));
    block_on(agent.run(Message::user("Is all well?"), &())).unwrap();
    let error = block_on(agent.run(Message::user("Is this too long?"), &())).unwrap_err();
    let said = "the request of 5000 tokens does not fit the window of 4096 tokens";
    assert!(error.is_too_long() && error.to_string() == said, "the provider's own figures: {error}");
    assert_eq!(agent.window(), 100_000);
    let turn = block_on(agent.run(Message::user("And now?"), &())).unwrap();
    assert_eq!((turn.text().as_str(), turn.overflows, turn.prompt.unwrap().budget), ("Yes.", 0, 16_000));
}

#[test]
fn the_figures_of_a_window_without_room_add_up() {
    let directory = tempfile::tempdir().unwrap();
    let memory = open(directory.path());
    let model = Arc::new(Scripted::new(|_, _| Ok(Message::assistant("Yes."))).window(1_000));
    let options = AgentOptions::default().prompt(PromptOptions::new(16_000).instructions("word ".repeat(900)));
    let mut agent = Agent::new(memory.conversation("talk").unwrap(), model).options(options);
    let error = block_on(agent.run(Message::user("Is there room?"), &())).unwrap_err();
    let AgentError::NoRoom { window, prompt, budget, tools, reply, frame } = error else { panic!("{error}") };
    assert!(prompt > budget && budget + tools + reply + frame == window, "{error}");
}

/// A provider that counts one pasted text for six times what the memory does, and others for as much.
#[test]
fn the_prompt_grows_again_after_a_text_that_the_provider_counts_for_much() {
    let directory = tempfile::tempdir().unwrap();
    let memory = open(directory.path());
    let talk = memory.conversation("talk").unwrap();
    let counter = memory.clone();
    let model = Scripted::new(move |_, request| {
        let text: Vec<_> = request.messages.iter().map(Message::text).collect();
        let text = text.join("\n");
        let tokens = counter.count_tokens(&text) * if text.matches("ERROR").count() > 100 { 6 } else { 1 };
        match tokens > 3_000 {
            true => Err(ChatError::ContextOverflow { window: 3_000, prompt_tokens: Some(tokens) }),
            false => Ok(Message::assistant(tokens.to_string())),
        }
    });
    let mut agent = Agent::new(talk, Arc::new(Counting(model)));
    block_on(agent.run(Message::user("ERROR 1 2 3 4\n".repeat(600)), &())).unwrap();
    assert_eq!(agent.window(), 3_000);
    let mut budgets = Vec::new();
    for number in 0..8 {
        let turn = block_on(agent.run(Message::user(format!("What did we do on day {number}?")), &())).unwrap();
        budgets.push(turn.prompt.unwrap().budget);
    }
    assert!(budgets[0] < 700 && budgets[7] > 1_500, "{budgets:?}");
}

#[test]
fn a_model_without_tools_is_asked_again_without_them_and_that_is_said_once() {
    let directory = tempfile::tempdir().unwrap();
    let memory = open(directory.path());
    let model = Scripted::new(|_, request| match request.tools.is_empty() {
        true => Ok(Message::assistant("Yes.")),
        false => Err(ChatError::NoTools { model: "m".to_owned(), detail: "m does not support tools".to_owned() }),
    });
    let tools = Tools::new(memory.clone(), Options::default()).unwrap();
    let agent = Agent::new(memory.conversation("talk").unwrap(), Arc::new(model));
    let mut agent = agent.memory_tools(&tools).unwrap();
    let said = AtomicUsize::new(0);
    let take = |event: AgentEvent<'_>| {
        if let AgentEvent::WithoutTools { why } = event {
            assert!(why.contains("does not support"));
            said.fetch_add(1, Ordering::Relaxed);
        }
    };
    for _ in 0..2 {
        assert_eq!(block_on(agent.run(Message::user("Are you there?"), &take)).unwrap().text(), "Yes.");
    }
    assert!(said.into_inner() == 1 && !agent.takes_tools() && agent.tool_names().next().is_none());
}

#[test]
fn an_answer_that_is_empty_or_has_its_maximum_of_tokens_is_marked() {
    let directory = tempfile::tempdir().unwrap();
    let memory = open(directory.path());
    for (text, stop, ended) in [
        ("Half of", Some(StopReason::MaxTokens), Ended::Length),
        (" ", Some(StopReason::MaxTokens), Ended::Length),
        (" ", None, Ended::Empty),
        ("Whole.", Some(StopReason::EndOfTurn), Ended::Answered),
    ] {
        let model = Stopping(Scripted::new(move |_, _| Ok(Message::assistant(text))), stop);
        let mut agent = Agent::new(memory.conversation("talk").unwrap(), Arc::new(model));
        let turn = block_on(agent.run(Message::user("Tell me all."), &())).unwrap();
        assert_eq!((turn.ended, turn.text().as_str()), (ended, text.trim()));
        assert_eq!(Ended::of(&turn.answer.unwrap()).unwrap_or_default(), ended);
    }
}
