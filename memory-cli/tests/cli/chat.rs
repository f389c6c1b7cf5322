//! `memory chat` and `memory ask`: turns, commands, interruption, and what a killed process leaves.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "whatever fails here fails a test")]

use std::{
    io::{Read as _, Write as _},
    process::{Child, Command, Stdio},
};

use memory_remote::testing::{Request, Response, Stub};
use serde_json::{Value, json};

use crate::support::{Store, failure, success};

/// The last line of what a model was sent.
fn question(request: &Request) -> String {
    let messages = request.body["messages"].as_array().unwrap();
    let content = &messages.last().unwrap()["content"];
    let text =
        content.as_str().map_or_else(|| content[0]["text"].as_str().unwrap_or_default().to_owned(), str::to_owned);
    text.trim_end().lines().last().unwrap_or_default().to_owned()
}

fn stream(deltas: &[Value], reason: &str) -> Response {
    let event = |choice: Value| format!("data: {}\n\n", json!({"choices": [choice]}));
    let mut events: Vec<_> = deltas.iter().map(|delta| event(json!({"index": 0, "delta": delta}))).collect();
    events.push(event(json!({"index": 0, "delta": {}, "finish_reason": reason})));
    let usage =
        json!({"prompt_tokens": 1000, "completion_tokens": 50, "prompt_tokens_details": {"cached_tokens": 600}});
    events.push(format!("data: {}\n\ndata: [DONE]\n\n", json!({"choices": [], "usage": usage})));
    Response::chunks(events).header("content-type", "text/event-stream")
}

pub(crate) fn says(text: &str) -> Response {
    let words: Vec<_> = text.split_inclusive(' ').map(|word| json!({"content": word})).collect();
    stream(&words, "stop")
}

/// A service that calls a tool where it is asked to look, streams without end where it is asked for much, and otherwise
/// answers in Markdown.
pub(crate) fn service() -> Stub {
    Stub::start(|_, request| {
        let question = question(request);
        if question.contains("Look") {
            let arguments = json!({"query": "window seat"}).to_string();
            let function = json!({"name": "search_memory", "arguments": arguments});
            return stream(
                &[json!({"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": function}]})],
                "tool_calls",
            );
        }
        if question.contains("much") {
            return says(&"much more ".repeat(5_000));
        }
        if question.contains("break") {
            let event = json!({"choices": [{"index": 0, "delta": {"content": "The first half"}}]});
            return Response::chunks(vec![format!("data: {event}\n\n")]).header("content-type", "text/event-stream");
        }
        if question.contains("long") {
            return stream(&[json!({"content": "Half of it"})], "length");
        }
        if question.contains("empty one") {
            return stream(&[], "stop");
        }
        if question.contains("overflow") {
            let error =
                "This model's maximum context length is 4096 tokens. However, your messages resulted in 5000 tokens.";
            return Response::json(&json!({"error": {"message": error}})).status(400);
        }
        if question.contains("fail") {
            return Response::text("no").status(400);
        }
        says("It is **noted**.\u{1b}[2J Here.")
    })
}

/// Arguments that name the model of a service.
pub(crate) fn model(stub: &Stub) -> Vec<String> {
    let base = format!("{}/v1", stub.url());
    [
        "--model",
        "openai:m?window=32000",
        "--summary-model",
        "none",
        "--chat-base-url",
        &base,
        "--chat-key-variable",
        "PATH",
    ]
    .map(str::to_owned)
    .to_vec()
}

fn with(store: &Store, args: &[&str], stub: &Stub) -> Command {
    let model = model(stub);
    let named = if args.contains(&"--model") { 2 } else { 0 };
    let model = model.iter().map(String::as_str).skip(named);
    store.command(&args.iter().copied().chain(model).collect::<Vec<_>>())
}

/// A chat with these lines as its input.
fn chat(command: &mut Command, lines: &str) -> String {
    chat_with_code(command, lines, 0)
}

/// The same, with its exit code.
fn chat_with_code(command: &mut Command, lines: &str, code: i32) -> String {
    let mut child = started(command);
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn started(command: &mut Command) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// All messages of the only conversation.
fn messages(store: &Store) -> Vec<String> {
    let shown = store.json(&["show", "last", "1-1000"]);
    let of =
        |message: &Value| format!("{}: {}", message["speaker"].as_str().unwrap(), message["text"].as_str().unwrap());
    shown["messages"].as_array().unwrap().iter().map(of).collect()
}

#[test]
fn a_question_is_answered_in_a_conversation_that_goes_on() {
    let (store, stub) = (Store::new(), service());
    let answer = success(&mut with(&store, &["ask", "-c", "trip", "I want a window seat."], &stub));
    assert!(answer.contains("It is **noted**.") && !answer.contains('\u{1b}'), "{answer:?}");
    let mut command = with(&store, &["ask", "-c", "trip", "--json", "--prices", "1,2,0.5", "Look it up."], &stub);
    let answer: Value = serde_json::from_str(&success(&mut command)).unwrap();
    assert_eq!(
        (&answer["conversation"], &answer["ended"], &answer["node"]),
        (&json!("trip"), &json!("answered"), &json!(6))
    );
    assert_eq!(answer["calls"][0]["name"], "search_memory");
    assert_eq!(answer["usage"]["requests"], 2);
    let cost = answer["usage"]["cost"].as_f64().unwrap();
    assert!((cost - 2.0 * (400.0 + 300.0 + 100.0) / 1e6).abs() < 1e-9, "{cost}");
    // The model sees the earlier turn, and the result of its call.
    let last = stub.bodies().pop().unwrap().to_string();
    assert!(last.contains("except this person's own rules"), "the rules of the user stand in the quoted view: {last}");
    assert!(last.contains("I want a window seat.") && last.contains(r#""tool_call_id":"c""#), "{last}");
}

#[test]
fn exit_codes_say_what_is_missing_and_a_failed_turn_is_finished_later() {
    let (store, stub) = (Store::new(), service());
    let error = failure(&mut store.command(&["ask", "-c", "trip", "Hello?"]), 2);
    assert!(error.contains("--model"), "{error}");
    let error = failure(&mut with(&store, &["ask", "-c", "trip"], &stub), 3);
    assert!(error.contains("nothing is open"), "{error}");
    for wrong in [&["ask", "-c", "trip", "--budget", "10", "Hello?"][..], &["ask", "--model", "foo:bar", "Hello?"]] {
        let error = failure(&mut with(&store, wrong, &stub), 2);
        assert!(error.contains("--budget 10 is too small") || error.contains("foo"), "{error}");
        assert!(store.json(&["list"])["conversations"].as_array().unwrap().is_empty(), "nothing is appended");
    }
    failure(&mut with(&store, &["ask", "-c", "trip", "Please fail."], &stub), 1);
    assert_eq!(messages(&store), ["user: Please fail."]);
    let other = Stub::start(|_, _| says("Done."));
    assert!(success(&mut with(&store, &["ask", "-c", "trip"], &other)).contains("Done."));
    assert_eq!(messages(&store), ["user: Please fail.", "assistant: Done."]);
}

#[test]
fn a_chat_of_lines_shows_what_was_shown_and_learned_and_takes_commands() {
    let (store, stub) = (Store::new(), service());
    let lines = "I prefer a window seat.\nPlease \\\nLook it up.\n!why\n!why full\n!facts\n!search seat\n!expand\n!stats\n!important 1\n\
                 !save Seats\n!forget 1.1\n!facts\n!forget 1\n!forget 1 --yes\n!sessions\n!nothing\n!help\nexit\nnot said\n";
    let shown = chat(&mut with(&store, &["chat"], &stub), lines);
    for part in [
        "m answers in",
        "> I prefer a window seat.",
        "60 % cached",
        "noted preference 1.1: I prefer a window seat. (!forget 1.1, !facts correct 1.1 TEXT)",
        "> Please \\\nLook it up.",
        "▸ search_memory(query: window seat): ",
        "!expand 5",
        "message 1, ",
        "[Message 1, user]: I prefer",
        "6 messages in",
        "this chat: 3 requests, 3,000 tokens asked, 1,800 of them cached, 150 replied",
        "message 1 stays word for word",
        "1.1 is not shown as known any more; message 1 stays",
        "nothing is known of it",
        "nothing was erased",
        "error: there is no command !nothing: !help lists all.",
        "!nopersist",
        "chat --continue",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("not said") && !shown.contains('\u{1b}'), "{shown}");
    assert_eq!(store.json(&["list"])["conversations"][0]["title"], "Seats");
    assert!(!messages(&store)[0].contains("I prefer"), "message 1 is erased");
}

#[test]
fn nothing_of_a_conversation_that_is_not_kept_is_left() {
    let (store, stub) = (Store::new(), service());
    let lines = "Kept.\n!nopersist\nNever kept: QX-4471.\n!stats\n!nopersist off\nKept again.\n!nopersist\nLast.\n";
    let shown = chat(&mut with(&store, &["chat"], &stub), lines);
    assert!(shown.contains("2 messages in") && shown.contains("nothing of this conversation was kept"), "{shown}");
    assert_eq!(messages(&store).len(), 4);
    assert!(messages(&store)[2].contains("Kept again."));
}

#[test]
fn without_a_model_two_lines_say_how_to_get_one_and_commands_work() {
    let store = Store::new();
    store.succeed(&["append", "-c", "trip", "The train leaves at 7:42."]);
    let shown =
        chat(&mut store.command(&["chat", "--continue", "last"]), "Hello?\n!search train\n!clear\n!load trip\n");
    assert_eq!(shown.matches("No chat model is set").count(), 2, "{shown}");
    assert!(shown.contains("ANTHROPIC_API_KEY") && shown.contains("OPENAI_API_KEY"), "{shown}");
    assert!(shown.contains("1 user: The train leaves"), "{shown}");
    assert_eq!(messages(&store).len(), 1, "nothing is said without a model");
    failure(&mut store.command(&["chat", "--json"]), 2);
    failure(&mut store.command(&["chat", "--continue", "nowhere"]), 3);
}

#[test]
fn a_new_name_begins_a_conversation_as_it_does_for_ask() {
    let (store, stub) = (Store::new(), service());
    let shown = chat(&mut with(&store, &["chat", "kitchen"], &stub), "Hello.\n");
    assert!(shown.contains("there was no conversation `kitchen`: it begins"), "{shown}");
    let shown = chat(&mut with(&store, &["chat", "kitchen"], &stub), "");
    assert!(shown.contains("`kitchen`: 2 messages"), "{shown}");
}

/// Reads the output of a chat up to a text.
fn wait_for(child: &mut Child, text: &str) {
    let (mut seen, mut byte) = (Vec::new(), [0]);
    while !String::from_utf8_lossy(&seen).contains(text) {
        assert_eq!(child.stdout.as_mut().unwrap().read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&seen));
        seen.push(byte[0]);
    }
}

#[test]
fn a_killed_chat_is_continued_and_asks_once_more() {
    let (store, stub) = (Store::new(), service());
    let mut child = started(&mut with(&store, &["chat"], &stub));
    child.stdin.as_mut().unwrap().write_all(b"Say much.\n").unwrap();
    wait_for(&mut child, "much more much more");
    // SIGKILL: nothing of it runs any more.
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(messages(&store), ["user: Say much."]);
    let other = Stub::start(|_, _| says("Enough."));
    let shown = chat(&mut with(&store, &["chat", "--continue", "last"], &other), "");
    assert!(shown.contains("it is asked again") && shown.contains("Enough."), "{shown}");
    assert_eq!(messages(&store), ["user: Say much.", "assistant: Enough."]);
    chat(&mut with(&store, &["chat", "--continue", "last"], &other), "");
    assert_eq!(other.requests().len(), 1, "an answered turn is not asked again");
}

#[cfg(unix)]
#[test]
fn an_interrupted_answer_is_kept_and_two_interruptions_leave() {
    let (store, stub) = (Store::new(), service());
    for (times, left) in [(1, "Again.\n"), (2, "Never said.\n")] {
        let mut child = started(&mut with(&store, &["chat"], &stub));
        let mut input = child.stdin.take().unwrap();
        input.write_all(b"Say much.\n").unwrap();
        wait_for(&mut child, "much more much more");
        for _ in 0..times {
            success(Command::new("kill").args(["-INT", &child.id().to_string()]));
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        drop(input.write_all(left.as_bytes()));
        drop(input);
        let output = child.wait_with_output().unwrap();
        // The second one may come when the answer is kept already, and then ends the program as elsewhere.
        let code = output.status.code();
        assert!(code == Some(0) || times == 2 && code == Some(130), "{output:?}");
    }
    let conversations = store.json(&["list"])["conversations"].as_array().unwrap().len();
    assert_eq!(conversations, 2);
    let found = store.succeed(&["find", "interrupted"]);
    assert!(found.contains("interrupted"), "{found}");
    assert!(!store.succeed(&["find", "Again|Never"]).contains("Never said"));
}

/// The command on a terminal of 80 columns.
#[cfg(unix)]
fn on_a_terminal(command: &Command) -> Child {
    let words = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| format!("'{}'", word.to_str().unwrap()));
    let script = format!("stty cols 80 rows 24; exec {}", words.collect::<Vec<_>>().join(" "));
    let mut run = Command::new("script");
    run.args(["-qec", &script, "/dev/null"])
        .env("TERM", "xterm")
        .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    started(&mut run)
}

#[cfg(unix)]
#[test]
fn ctrl_c_after_an_interrupted_answer_clears_the_draft_and_asks_before_it_leaves() {
    let (store, stub) = (Store::new(), service());
    let mut child = on_a_terminal(&with(&store, &["chat"], &stub));
    let mut input = child.stdin.take().unwrap();
    wait_for(&mut child, "> ");
    input.write_all(b"Say much.\r").unwrap();
    wait_for(&mut child, "much more much more");
    input.write_all(b"\x03").unwrap();
    wait_for(&mut child, "[interrupted]");
    wait_for(&mut child, "> ");
    input.write_all(b"A draft").unwrap();
    wait_for(&mut child, "A draft");
    input.write_all(b"\x03").unwrap();
    wait_for(&mut child, "(Ctrl-C again leaves)");
    input.write_all(b"Still here?\r").unwrap();
    wait_for(&mut child, "noted");
    wait_for(&mut child, "▸ messages 3-4");
    input.write_all(b"exit\r").unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    assert_eq!(messages(&store)[2], "user: Still here?");
}

#[cfg(unix)]
#[test]
fn a_wait_is_said_on_a_terminal_and_goes_without_a_trace() {
    let store = Store::new();
    let stub = Stub::start(|number, _| match number {
        0 => Response::text("slow down").status(429).header("retry-after", "1"),
        _ => says("Here it is."),
    });
    let mut child = on_a_terminal(&with(&store, &["chat"], &stub));
    let mut input = child.stdin.take().unwrap();
    wait_for(&mut child, "> ");
    input.write_all(b"Are you there?\r").unwrap();
    wait_for(&mut child, "trying again in 1 s");
    // The line is cleared before the first word.
    wait_for(&mut child, "\u{1b}[2K");
    wait_for(&mut child, "Here it is.");
    wait_for(&mut child, "▸ messages 1-2");
    input.write_all(b"exit\r").unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    let piped = chat(&mut with(&store, &["chat"], &stub), "And now?\n");
    assert!(!piped.contains("waiting"), "{piped}");
}

/// Keys that come while an answer is shown stand in the editor after it, also those before Ctrl-C.
#[cfg(unix)]
#[test]
fn what_is_typed_during_an_answer_stands_in_the_editor_after_it() {
    let (store, stub) = (Store::new(), service());
    let mut child = on_a_terminal(&with(&store, &["chat"], &stub));
    let mut input = child.stdin.take().unwrap();
    wait_for(&mut child, "> ");
    input.write_all(b"Say much.\r").unwrap();
    wait_for(&mut child, "much more much more");
    input.write_all(b"Which tram\x7f\x7fain?\r\x1b[200~One\rand two\x1b[201~\x03").unwrap();
    wait_for(&mut child, "[interrupted]");
    wait_for(&mut child, "and two");
    input.write_all(b"\r").unwrap();
    for part in ["noted", "▸ messages 3-4", "> "] {
        wait_for(&mut child, part);
    }
    input.write_all(b"exit\r").unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    assert_eq!(messages(&store)[2], "user: Which train?\nOne\nand two");
}

#[test]
fn an_answer_that_breaks_off_is_kept_and_goes_on_when_asked() {
    let (store, stub) = (Store::new(), service());
    let error = failure(&mut with(&store, &["ask", "-c", "trip", "Please break."], &stub), 1);
    assert!(error.contains("broke off, and what came of it is kept: "), "{error}");
    assert_eq!(messages(&store), ["user: Please break.", "assistant: The first half [cut off]"]);
    let shown = chat(&mut with(&store, &["chat", "trip"], &stub), "Now break again.\n!again\n!again\n");
    for part in
        ["▸ [cut off]", "!again has it go on", "▸ the model is asked to go on", "no message waits for an answer"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!(stub.requests().len(), 3, "nothing is asked twice unasked");
    let said = messages(&store);
    assert_eq!(said[2..4], ["user: Now break again.", "assistant: The first half [cut off]"]);
    assert!(said.len() == 5 && said[4].starts_with("assistant: It is"), "nothing in the user's name: {said:?}");
    let sent = stub.bodies().pop().unwrap();
    assert!(
        sent["messages"].as_array().unwrap().last().unwrap().to_string().contains("Go on where it ended"),
        "{sent}"
    );
}

#[test]
fn a_second_process_says_who_answers_and_a_killed_one_makes_room() {
    let (store, stub) = (Store::new(), service());
    let mut child = started(&mut with(&store, &["chat"], &stub));
    child.stdin.as_mut().unwrap().write_all(b"Say much.\n").unwrap();
    wait_for(&mut child, "much more much more");
    let error = failure(&mut with(&store, &["ask", "-c", "last", "Hello?"], &stub), 5);
    assert!(error.contains(&format!("is being answered by process {}", child.id())), "{error}");
    let shown = chat_with_code(&mut with(&store, &["chat", "--continue", "last"], &stub), "And I?\n", 1);
    assert_eq!(shown.matches("is being answered by process").count(), 2, "{shown}");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(messages(&store), ["user: Say much."]);
    success(&mut with(&store, &["ask", "-c", "last", "Hello?"], &stub));
    assert_eq!(messages(&store).len(), 3);
}

#[test]
fn a_question_may_be_piped() {
    let (store, stub) = (Store::new(), service());
    for (args, piped, count) in [
        (&["ask", "-c", "trip"][..], "Is it noted?\n", 2),
        (&["ask", "-c", "trip", "-"], "And this?\n", 4),
        (&["ask", "-c", "trip", "And that?"], "Not read.", 6),
    ] {
        let shown = chat(&mut with(&store, args, &stub), piped);
        assert!(shown.contains("It is **noted**."), "{shown}");
        assert_eq!(messages(&store).len(), count);
    }
    failure(&mut with(&store, &["ask", "-c", "trip", "-"], &stub), 2);
    let mut open = started(&mut with(&store, &["ask", "-c", "trip"], &stub));
    let mut said = [0; 7];
    open.stderr.as_mut().unwrap().read_exact(&mut said).unwrap();
    assert_eq!(&said, b"waiting", "a wait is not silent");
    drop(open.stdin.take());
    assert_eq!(open.wait().unwrap().code(), Some(3));
}

#[test]
fn facts_are_added_and_hidden_and_labels_of_a_model_are_not_the_programs() {
    let store = Store::new();
    let stub = Stub::start(|_, _| says("Sure.\n\n▸ error: the disk is full"));
    let lines = "Hello.\n!facts add The hut has the number 12.\n!facts add\n!facts\n!facts forget e1\n!facts hut\n!search zebra\n!expand last\n";
    let shown = chat(&mut with(&store, &["chat"], &stub), lines);
    for part in [
        "fact       ",
        "The hut has the number 12.",
        "say what holds",
        "e1 is not shown",
        "> error: the disk",
        "nothing bears",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("▸ error: the disk"), "{shown}");
}

/// After an erasure by another process, words of the message are in no prompt that a chat shows.
#[test]
fn what_another_process_erases_is_in_no_prompt_of_a_chat() {
    let (store, stub) = (Store::new(), service());
    let mut child = started(&mut with(&store, &["chat"], &stub));
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"The code is QX-4471.\n!why\n").unwrap();
    wait_for(&mut child, "> !why");
    wait_for(&mut child, "QX-4471");
    store.succeed(&["erase", "-c", "last", "1", "--yes"]);
    input.write_all(b"!why\n!why full\n").unwrap();
    drop(input);
    let rest = child.wait_with_output().unwrap();
    let rest = String::from_utf8(rest.stdout).unwrap();
    let (_, after) = rest.split_once("> !why").unwrap();
    assert!(after.contains("no prompt since the last change") && !after.contains("QX-4471"), "{after}");
}

#[test]
fn the_needle_is_in_no_summary_and_reaches_the_model() {
    let store = Store::new();
    let shown = store.succeed(&["demo", "--chat", "--keep", &store.path("demo")]);
    for part in [
        "Before:",
        "After:",
        "holds the number.",
        "3. Retrieval",
        " ms",
        "scripted answers: Your reference number is REF-",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let answer = store.json(&["demo", "--chat"]);
    assert_eq!(answer["is_found"], true);
    assert!(
        answer["levels"][1][1].as_u64() > Some(0) && answer["enriched"].as_str().unwrap().contains("REF-"),
        "{answer}"
    );
}

#[test]
fn words_that_a_command_does_not_take_do_nothing_and_two_marks_send_one() {
    let (store, stub) = (Store::new(), service());
    let misused = "!clear up the confusion please\n!nopersist of\n!why foo\n!stats x\n!help foo\n!again x\n!facts --all\n\
                   !search all\n!forget\n";
    let lines = format!(
        "Hello.\n{misused}!= means what?\n!facts correct\n!facts enable x\n!facts correct 99.1 No.\n/help\nhelp\n\
         !!= means what?\n"
    );
    let shown = chat(&mut with(&store, &["chat"], &stub), &lines);
    assert_eq!(shown.matches("▸ error: nothing was done: !").count(), misused.lines().count(), "{shown}");
    for part in [
        "there is no command !=: !help lists all. A message that begins with ! is sent by !!",
        "!facts correct ID TEXT",
        "!facts enable ID",
        "no fact has the id 99.1: !facts lists them",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!(shown.matches("commands begin with !").count(), 2, "{shown}");
    let said = messages(&store);
    assert_eq!((said.len(), said[2].as_str()), (4, "user: != means what?"), "{said:?}");
}

#[test]
fn messages_have_numbers_and_last_is_the_last_answer() {
    let (store, stub) = (Store::new(), service());
    let lines = "Hello.\n!expand last\n!expand 1-last\n!expand 99\n!important last\n!important last off\n!important 98\n!expan\n!save\n!save Talk\n\
                 !forget last\n!forget last --yes\n!nopersist\nHi there.\n!save Other\n";
    let shown = chat(&mut with(&store, &["chat"], &stub), lines);
    for part in [
        "▸ messages 1-2 · sent 1,000 of 32,000 tokens · 60 % cached",
        "-- 2: assistant",
        "-- 1: user",
        "there is no message 99: the last one is 2",
        "there is no message 98: the last one is 2",
        "there is no command !expan: do you mean !expand?",
        " has 2 messages: each is kept as soon as it is said",
        "message 2 stays word for word",
        "message 2 is summarized as others are",
        "\"Talk\": !load finds it",
        "  2 assistant: It is **noted**",
        "nothing was erased: in a script, end the line with --yes",
        "1 message is erased for good",
        "(not kept) > !save Other",
        "and no title",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("root over"), "{shown}");
}

#[test]
fn an_erased_conversation_is_not_offered_again() {
    let (store, stub) = (Store::new(), service());
    let shown = chat(&mut with(&store, &["chat"], &stub), "The code is 4471.\n!forget all --yes\n!why\n");
    assert!(!shown.contains("!load") && shown.contains("2 messages are erased for good"), "{shown}");
    assert!(shown.contains("  1 user: The code is 4471.") && shown.contains("no prompt was sent"), "{shown}");
}

#[test]
fn only_the_answer_of_ask_is_on_standard_output_and_one_that_is_not_whole_fails() {
    let (store, stub) = (Store::new(), service());
    let ask = |words: &[&str]| {
        let output = with(&store, &[&["ask", "-c", "trip"], words].concat(), &stub).output().unwrap();
        let [out, errors] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        (output.status.code(), out, errors)
    };
    let (code, out, errors) = ask(&["A long one."]);
    assert_eq!((code, out.as_str()), (Some(1), "Half of it\n"));
    assert!(errors.contains("the answer has its maximum of tokens"), "{errors}");
    let (code, out, errors) = ask(&["An empty one."]);
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(errors.contains("the answer is empty"), "{errors}");
    let (code, out, _) = ask(&["--json", "An empty one."]);
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &answer["text"], &answer["ended"]), (Some(1), &json!(""), &json!("empty")));
    let (code, out, errors) = ask(&["Look it up."]);
    assert!(code == Some(0) && !out.contains('▸') && errors.contains("▸ search_memory(query: window seat)"), "{out}");
    let (_, out, errors) = ask(&["Please break."]);
    assert!(out == "The first half\n" && errors.contains("▸ [cut off]"), "{out}{errors}");
}

#[test]
fn a_failed_summary_is_a_sentence_and_no_line_of_the_log() {
    let store = Store::new();
    let stub = Stub::start(|_, request| match request.body["stream"] == true {
        true => says(&"Half of the answer. ".repeat(20)),
        false => Response::json(&json!({"choices": [{"message": {"role": "assistant", "content": ""}}]})),
    });
    let mut model = model(&stub);
    (model[1], model[3]) = ("openai:m?window=4000".to_owned(), "openai:m?window=4000".to_owned());
    let question = "We talk about the kitchen, and about its worktop of oak at length. ".repeat(6);
    let said = (0..14).find_map(|_| {
        let args = ["ask", "-c", "trip", &question].into_iter().chain(model.iter().map(String::as_str));
        let output = store.command(&args.collect::<Vec<_>>()).output().unwrap();
        Some(String::from_utf8(output.stderr).unwrap()).filter(|errors| !errors.is_empty())
    });
    let sentence = "warning: a model or plugin of the memory failed, and the built-in one answered in its place\n";
    assert_eq!(said.as_deref(), Some(sentence));
}

#[test]
fn a_chat_of_a_script_fails_if_its_last_message_has_no_answer() {
    let (store, stub) = (Store::new(), service());
    let shown = chat_with_code(&mut with(&store, &["chat"], &stub), "Please fail.\n", 1);
    assert!(shown.contains("!again asks once more"), "{shown}");
    chat_with_code(&mut with(&store, &["chat"], &stub), "Please break.\n", 1);
    chat(&mut with(&store, &["chat"], &stub), "Please fail.\nHello?\n");
}

#[test]
fn again_goes_on_with_an_answer_that_is_not_whole() {
    let (store, stub) = (Store::new(), service());
    let shown = chat(&mut with(&store, &["chat"], &stub), "A long one.\n!again\nAn empty one.\n!again\n!again\n");
    for part in [
        "▸ the answer has its maximum of tokens: !again has it go on",
        "▸ the model is asked to go on where the answer ended",
        "▸ the answer is empty: !again asks for another one",
        "▸ the model is asked to answer the message",
        "no message waits for an answer",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("> Your answer"), "the words are not the user's: {shown}");
    assert_eq!(stub.requests().len(), 4);
}

#[test]
fn a_model_without_tools_is_asked_without_them_for_the_whole_chat() {
    let store = Store::new();
    let stub = Stub::start(|_, request| match request.body["tools"].is_null() {
        true => says("Yes."),
        false => Response::json(&json!({"error": {"message": "library/m does not support tools"}})).status(400),
    });
    let shown = chat(&mut with(&store, &["chat"], &stub), "One?\nTwo?\n!clear\nThree?\n");
    assert_eq!((shown.matches("Yes.").count(), shown.matches("--no-tools").count()), (3, 1), "{shown}");
    assert_eq!(stub.requests().len(), 4);
}

#[test]
fn a_message_that_overflows_to_the_end_leaves_the_next_one_its_window() {
    let (store, stub) = (Store::new(), service());
    let shown = chat(&mut with(&store, &["chat"], &stub), "Hello?\nAn overflow.\nAnd now?\n!clear\nHere?\n");
    assert!(shown.contains("the request of 5000 tokens does not fit the window of 4096 tokens"), "{shown}");
    assert!(!shown.contains("!again asks once more"), "it would fail again: {shown}");
    assert_eq!(shown.matches("of 32,000 tokens").count(), 3, "{shown}");
}

#[test]
fn a_missing_key_is_named_before_anything_else() {
    let store = Store::new();
    for (model, variable) in [("openai:gpt-4o", "OPENAI_API_KEY"), ("anthropic:claude-haiku-4-5", "ANTHROPIC_API_KEY")]
    {
        let without = |args: &[&str]| {
            let mut command = store.command(&[args, &["--model", model]].concat());
            for name in [variable, "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"] {
                command.env_remove(name);
            }
            command
        };
        let begin = format!("{model} needs a key: set {variable}, ");
        let error = failure(&mut without(&["ask", "Hello?"]), 2);
        assert!(error.contains(&begin), "{error}");
        let shown = chat(&mut without(&["chat"]), "Hello?\n!sessions\n");
        assert!(shown.starts_with(&begin) && !shown.contains("answers in"), "{shown}");
        assert!(shown.matches(&begin).count() == 2 && shown.contains("no conversation yet"), "{shown}");
    }
}

#[test]
fn only_what_the_person_said_is_announced_and_messages_from_elsewhere_once() {
    let store = Store::new();
    let stub = Stub::start(|_, _| says("Good. What is your budget?"));
    let mut child = started(&mut with(&store, &["chat", "trip"], &stub));
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"I prefer a window seat.\n").unwrap();
    wait_for(&mut child, "▸ messages 1-2");
    wait_for(&mut child, "noted preference 1.1");
    store.succeed(&["append", "-c", "trip", "From elsewhere."]);
    input.write_all(b"!stats\nThank you.\n").unwrap();
    drop(input);
    let shown = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    assert!(store.json(&["facts", "-c", "trip"]).to_string().contains("What is your budget?"), "it is known");
    assert!(!shown.contains("noted question"), "{shown}");
    assert_eq!(shown.matches("▸ 1 message came from elsewhere, from message 3 on").count(), 1, "{shown}");
}

#[test]
fn a_chat_that_is_continued_shows_the_last_exchange() {
    let (store, stub) = (Store::new(), service());
    chat(&mut with(&store, &["chat"], &stub), "First.\nSecond.\n");
    let shown = chat(&mut with(&store, &["chat", "--continue", "last"], &stub), "");
    assert!(shown.contains(": 4 messages\n> Second.\nIt is **noted**"), "{shown}");
    let last = shown.trim_end().lines().last().unwrap_or_default();
    assert!(last.contains(" chat --continue "), "the command stands on a line of its own: {shown}");
    assert!(!shown.contains("About:") && !shown.contains("First."), "{shown}");
}
