//! Prompts and figures, serialized.

use memory_hooks::{ConversationStats, PieceKind, PromptOptions, ResummarizeReport};
use pollster::block_on;
use serde_json::{from_value, json, to_value};

use crate::support::{World, chat};

#[test]
fn a_prompt_is_serialized_with_its_pieces() {
    let world = World::new();
    world.say(chat(200));
    let options = PromptOptions::new(700).instructions("You are a clerk.");
    let prompt = block_on(world.talk.prompt_with("What about topic7?", &options)).unwrap();
    let written = to_value(&prompt).unwrap();
    assert_eq!(written["text"], prompt.text());
    assert_eq!(
        (&written["question"], &written["instructions"]),
        (&json!("What about topic7?"), &"You are a clerk.".into())
    );
    assert_eq!((&written["tokens"], &written["nodes"]), (&json!(prompt.tokens), &json!(200)));
    let pieces = written["pieces"].as_array().unwrap();
    assert_eq!(pieces.len(), prompt.pieces.len());
    for (written, piece) in pieces.iter().zip(&prompt.pieces) {
        assert_eq!((&written["id"], &written["text"]), (&json!(piece.id()), &json!(piece.text)));
        assert_eq!((&written["kind"], &written["nodes"]), (&json!(piece.kind.as_str()), &json!(piece.nodes)));
    }
    let message = prompt.pieces.iter().position(|piece| piece.kind == PieceKind::Message).unwrap();
    assert!(["user", "model"].contains(&pieces[message]["source"].as_str().unwrap()), "{}", pieces[message]);
    assert_eq!(pieces[message]["times"].as_array().unwrap().len(), 2);
    let messages = to_value(prompt.messages()).unwrap();
    assert_eq!(messages, prompt.messages().to_json());
}

#[test]
fn figures_and_reports_are_read_back() {
    let world = World::new();
    world.say(chat(60));
    block_on(world.talk.compact()).unwrap();
    let stats = block_on(world.talk.stats()).unwrap();
    assert_eq!(from_value::<ConversationStats>(to_value(&stats).unwrap()).unwrap(), stats);
    let report = ResummarizeReport::default();
    assert_eq!(from_value::<ResummarizeReport>(to_value(report).unwrap()).unwrap(), report);
}
