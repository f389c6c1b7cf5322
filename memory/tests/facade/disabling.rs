//! Disabled messages through the facade: in no view, summary or search, and back once they are enabled.
#![expect(clippy::unwrap_used, reason = "helpers of tests, which the lints do not know as tests")]

use memory::{
    AsOf, Conversation, Filter, FindRequest, Memory, Message, NodeId, NodeRange, PromptOptions, Query, Scope,
    SummariesRequest,
};
use pollster::block_on;

use crate::support::{Dir, remark};

const WORD: &str = "Quagga7731";

fn node(number: u64) -> NodeId {
    NodeId::new(number).unwrap()
}

fn run(first: u64, last: u64) -> NodeRange {
    NodeRange::new(node(first), node(last)).unwrap()
}

/// A conversation that is long enough for summaries; message 3 alone says the word.
fn talk(memory: &Memory) -> Conversation {
    let talk = memory.conversation("trip").unwrap();
    for number in 1..=40 {
        let message = match number {
            3 => Message::user(format!("The hotel in Bergen is called {WORD}, and it costs 140 euros a night.")),
            _ => remark(number),
        };
        block_on(talk.append(message)).unwrap();
    }
    block_on(memory.catch_up()).unwrap();
    talk
}

/// Everything that a model may be shown or told of the conversation.
fn shown(memory: &Memory, talk: &Conversation) -> String {
    let question = "What is the hotel in Bergen called?";
    let mut all = Vec::new();
    for budget in [700, 1_500, 20_000] {
        let prompt = block_on(talk.prompt_with(question, &PromptOptions::new(budget))).unwrap();
        all.push(prompt.text().to_owned());
        all.push(format!("{:?}", prompt.messages()));
    }
    all.push(block_on(talk.turn(&PromptOptions::default())).unwrap().text().to_owned());
    let summaries = block_on(talk.summaries(SummariesRequest::default().limit(500))).unwrap();
    all.push(format!("{summaries:?}"));
    all.push(format!("{:?}", block_on(talk.reminder(2_000)).unwrap()));
    all.push(format!("{:?}", block_on(talk.title()).unwrap()));
    all.push(format!("{:?}", block_on(talk.messages(run(1, 41))).unwrap()));
    all.push(format!("{:?}", block_on(talk.details(run(1, 9))).unwrap()));
    for text in [question, WORD] {
        all.push(format!("{:?}", block_on(memory.search(Query::new(text, Scope::all()).limit(20))).unwrap().hits));
    }
    all.push(format!("{:?}", block_on(memory.find(FindRequest::new("(?i)quagga", Scope::all()))).unwrap()));
    all.join("\n")
}

#[test]
fn a_disabled_message_is_in_no_view_summary_or_search_until_it_is_enabled() {
    let dir = Dir::new();
    let memory = dir.meaning().open().unwrap();
    let talk = talk(&memory);
    let before = block_on(talk.prompt_with("What is the hotel called?", &PromptOptions::new(20_000))).unwrap();
    assert!(before.text().contains(WORD));
    assert!(shown(&memory, &talk).contains(WORD));
    let root = block_on(memory.store().verify(None)).unwrap();
    let summaries = |talk: &Conversation| {
        let page = block_on(talk.summaries(SummariesRequest::default().limit(500))).unwrap();
        page.summaries.iter().map(|summary| summary.text.clone()).collect::<Vec<_>>()
    };
    let written = summaries(&talk);

    let change = block_on(talk.disable(vec![run(3, 3)], "Ann")).unwrap();
    assert_eq!((change.nodes.clone(), change.is_disabled), (vec![run(3, 3)], true));
    block_on(memory.catch_up()).unwrap();
    let all = shown(&memory, &talk);
    assert!(!all.to_lowercase().contains(&WORD.to_lowercase()), "{all}");
    let prompt = block_on(talk.prompt_with("What is it called?", &PromptOptions::new(20_000))).unwrap();
    assert!(prompt.text().contains("[Message 3: disabled]"), "{}", prompt.text());
    assert!(block_on(talk.disable(vec![run(3, 3)], "Ann")).unwrap().is_empty(), "it is so already");
    assert!(block_on(talk.disable(vec![run(99, 99)], "Ann")).is_err());
    assert_eq!(block_on(memory.store().verify(None)).unwrap(), root, "it is counted whole");

    // Whoever asks for it gets it, marked.
    let whole = block_on(talk.whole_messages(run(3, 3))).unwrap();
    assert!(whole[0].is_disabled && whole[0].message.text().contains(WORD));
    let found = block_on(memory.find(FindRequest::new(WORD, Scope::all()).disabled(true))).unwrap();
    assert_eq!(found.matches.len(), 1);
    let query = Query::new(WORD, Scope::all()).filter(Filter::default().disabled(true));
    let hits = block_on(memory.search(query)).unwrap().hits;
    assert!(hits[0].node.id == node(3) && hits[0].node.is_disabled && hits[0].node.message.text().contains(WORD));
    let then = block_on(talk.as_of(AsOf::View(before.view.unwrap()))).unwrap();
    assert_eq!(then.text(), before.text(), "what was shown is shown again");
    assert!(then.notices.iter().any(|notice| notice.code() == "view-disabled"), "{:?}", then.notices);
    let changes = block_on(talk.disablings()).unwrap();
    assert_eq!(changes, [change]);

    drop((talk, memory));
    let memory = dir.meaning().open().unwrap();
    let talk = memory.conversation("trip").unwrap();
    let all = shown(&memory, &talk);
    assert!(!all.to_lowercase().contains(&WORD.to_lowercase()), "in another process: {all}");
    let hidden = prompt;
    block_on(talk.enable(vec![run(1, 40)], "Ben")).unwrap();
    block_on(memory.catch_up()).unwrap();
    let now = summaries(&talk);
    assert!(written.iter().all(|summary| now.contains(summary)), "the summaries of before are back: {now:?}");
    assert!(shown(&memory, &talk).contains(WORD));
    let then = block_on(talk.as_of(AsOf::View(hidden.view.unwrap()))).unwrap();
    assert_eq!(then.text(), hidden.text(), "and what was not shown is not shown again");
}

#[test]
fn disabled_messages_between_others_and_of_a_tool_have_one_line() {
    let dir = Dir::new();
    let memory = dir.words().open().unwrap();
    let talk = memory.conversation("tools").unwrap();
    let call = memory::ContentBlock::ToolUse {
        id: "c1".to_owned(),
        name: "train".to_owned(),
        input: memory::Json::new("{}").unwrap(),
    };
    let result = memory::ContentBlock::ToolResult {
        tool_use_id: "c1".to_owned(),
        content: vec![memory::ContentBlock::Text("platform 9".to_owned())],
        is_error: false,
    };
    block_on(talk.append(Message::user("When does it leave?"))).unwrap();
    block_on(talk.append(Message::new(memory::Role::Assistant, vec![call]))).unwrap();
    block_on(talk.append(Message::new(memory::Role::User, vec![result]))).unwrap();
    block_on(talk.append(Message::assistant("At 7:42."))).unwrap();
    let change = block_on(talk.disable(vec![run(3, 3)], "")).unwrap();
    assert_eq!(change.nodes, [run(2, 3)], "a call goes with its results");
    for prompt in [block_on(talk.prompt("And then?")).unwrap(), block_on(talk.turn(&PromptOptions::default())).unwrap()]
    {
        assert!(prompt.text().contains("[Messages 2-3: disabled]"), "{}", prompt.text());
        assert!(!prompt.text().contains("platform 9"));
    }
}

#[test]
fn the_window_of_a_running_agent_loses_what_is_disabled_and_gets_it_back() {
    let dir = Dir::new();
    let memory = dir.words().background(false).open().unwrap();
    let talk = memory.conversation("run").unwrap();
    let turn = |memory: &Memory| {
        let talk = memory.conversation("run").unwrap();
        block_on(talk.turn(&PromptOptions::default())).unwrap().text().to_owned()
    };
    for text in ["One.", &format!("Two {WORD}."), "Three."] {
        block_on(talk.append(Message::user(text))).unwrap();
    }
    assert!(turn(&memory).contains(WORD));
    block_on(talk.disable(vec![run(2, 2)], "")).unwrap();
    assert!(!turn(&memory).contains(WORD));
    block_on(talk.enable(vec![run(2, 2)], "")).unwrap();
    assert!(turn(&memory).contains(WORD));
    block_on(talk.disable(vec![run(2, 2)], "")).unwrap();
    drop((talk, memory));
    let memory = dir.words().background(false).open().unwrap();
    assert!(!turn(&memory).contains(WORD), "by another process, from the recorded window");
}

#[test]
fn a_disabled_summary_gives_its_place_to_its_parts() {
    let dir = Dir::new();
    let memory = dir.words().open().unwrap();
    let talk = talk(&memory);
    block_on(talk.prompt_with("And?", &PromptOptions::new(900))).unwrap();
    let page = block_on(talk.summaries(SummariesRequest::default().limit(500))).unwrap();
    let merged = page.summaries.iter().find(|summary| summary.level > memory::Level::Summary).unwrap();
    let (id, text) = (merged.summary, merged.text.clone());
    block_on(talk.disable_summaries(vec![id], "Ann")).unwrap();
    let prompt = block_on(talk.prompt_with("And?", &PromptOptions::new(2_000))).unwrap();
    assert!(!prompt.text().contains(&text), "{}", prompt.text());
    assert!(block_on(talk.disable_summaries(vec![memory::SummaryId::new(9_999).unwrap()], "")).is_err());
    block_on(talk.enable_summaries(vec![id], "Ann")).unwrap();
    let page = block_on(talk.summaries(SummariesRequest::default().limit(500))).unwrap();
    assert!(page.summaries.iter().any(|summary| summary.text == text));
}

#[test]
fn a_run_of_disabled_messages_takes_one_line_of_a_prompt_and_none_of_a_summary() {
    let dir = Dir::new();
    let memory = dir.words().open().unwrap();
    let talk = memory.conversation("trip").unwrap();
    for number in 1..=160 {
        block_on(talk.append(remark(number))).unwrap();
    }
    block_on(memory.catch_up()).unwrap();
    for (first, last) in [(4, 13), (30, 75), (150, 155)] {
        block_on(talk.disable(vec![run(first, last)], "Ann")).unwrap();
    }
    block_on(memory.catch_up()).unwrap();
    for budget in [700, 900, 1_500, 3_000, 40_000] {
        let prompt = block_on(talk.prompt_with("What was it?", &PromptOptions::new(budget))).unwrap();
        let text = prompt.text();
        assert!(!text.contains("[disabled]"), "{budget}: {text}");
        let lines = text.lines().filter(|line| line.contains(": disabled]")).count();
        assert!((1..=3).contains(&lines), "{budget}: {text}");
        assert!(text.contains("155: disabled]"), "{budget}: {text}");
    }
    let summaries = block_on(talk.summaries(SummariesRequest::default().limit(500))).unwrap().summaries;
    assert!(summaries.iter().all(|summary| !summary.text.contains("[disabled];")), "{summaries:?}");
}
