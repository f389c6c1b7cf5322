//! Numbers with more digits than Rust's numbers hold.

use memory_core::Timestamp;
use memory_transcripts::{Format, Heading, MessageWriter, Written};

use crate::support::{Files, Read, read, read_as};

/// The input of a call as a model may write it.
const INPUT: &str = r#"{"n":12345678901234567890.5,"e":1e400}"#;

/// The only call that was read, as it is shown.
fn call(read: &Read) -> String {
    let texts: Vec<_> = read.ids().iter().flat_map(|id| read.texts(id)).collect();
    texts.into_iter().find(|text| text.contains("add(")).unwrap()
}

#[test]
fn every_importer_and_exporter_keeps_every_digit() {
    let files = Files::new();
    let check = |name: &str, text: String, format: Option<Format>| {
        let read = read_as(&files.write(name, text), format);
        assert!(call(&read).ends_with(&format!("add({INPUT})")), "{name}: {}", call(&read));
    };
    let blocks = format!(r#"[{{"type":"tool_use","id":"t","name":"add","input":{INPUT}}}]"#);
    let answer = format!(r#"{{"role":"assistant","content":{blocks}}}"#);
    check("anthropic.json", format!(r#"{{"system":"x","messages":[{answer}]}}"#), None);
    check(
        "claude-code.jsonl",
        format!(r#"{{"type":"assistant","uuid":"u","sessionId":"s","message":{answer}}}"#),
        None,
    );
    check(
        "claude.json",
        format!(r#"[{{"uuid":"c","chat_messages":[{{"uuid":"m","sender":"assistant","content":{blocks}}}]}}]"#),
        None,
    );
    let strands =
        format!(r#"{{"role":"assistant","content":[{{"toolUse":{{"toolUseId":"t","name":"add","input":{INPUT}}}}}]}}"#);
    check("bedrock.json", format!(r#"{{"messages":[{strands}]}}"#), None);
    let kept = format!(r#"{{"message":{strands},"message_id":0}}"#);
    files.write("s/session_a/session.json", "{}");
    files.write("s/session_a/agents/agent_b/messages/message_0.json", kept);
    assert!(call(&read(&files.path("s"))).ends_with(&format!("add({INPUT})")));
    let args = format!(r#"{{"id":"t","name":"add","args":{INPUT}}}"#);
    check("langchain.json", format!(r#"[{{"type":"ai","data":{{"content":"","tool_calls":[{args}]}}}}]"#), None);
    let pi = format!(r#"{{"type":"toolCall","id":"t","name":"add","arguments":{INPUT}}}"#);
    let pi = format!(r#"{{"type":"message","id":"b","message":{{"role":"assistant","content":[{pi}]}}}}"#);
    check("pi.jsonl", format!("{{\"type\":\"session\",\"id\":\"s\",\"timestamp\":\"t\"}}\n{pi}"), None);
    let quoted = serde_json::Value::from(INPUT).to_string();
    let function = format!(r#"{{"id":"t","type":"function","function":{{"name":"add","arguments":{quoted}}}}}"#);
    let openai = format!(r#"{{"messages":[{{"role":"assistant","content":null,"tool_calls":[{function}]}}]}}"#);
    check("openai.json", openai, None);
    let item = format!(r#"{{"type":"function_call","call_id":"t","name":"add","arguments":{quoted}}}"#);
    check("responses.json", format!("[{item}]"), None);
    check("codex.jsonl", format!(r#"{{"timestamp":"t","type":"response_item","payload":{item}}}"#), None);
    // A call whose arguments are no text, as some servers write them.
    let plain = format!(r#"{{"id":"t","function":{{"name":"add","arguments":{INPUT}}}}}"#);
    check(
        "plain.json",
        format!(r#"{{"messages":[{{"role":"assistant","tool_calls":[{plain}]}}]}}"#),
        Some(Format::OpenAi),
    );

    let read = read(&files.path("anthropic.json"));
    let message = &read.messages["anthropic"].last().unwrap().message;
    for shape in Written::ALL {
        let mut out = Vec::new();
        let mut writer = MessageWriter::begin(&mut out, shape, Heading::new("x")).unwrap();
        writer.write(message, Timestamp::default()).unwrap();
        writer.end().unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("12345678901234567890.5") && text.contains("1e400"), "{shape}: {text}");
    }
}
