//! Answers of a bridge that say something is done, also where several bridges write to one store at the same time.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "helpers of tests")]

use std::{collections::BTreeSet, thread};

use serde_json::{Value, json};

use crate::{
    bridge::{Bridge, known, text},
    support::Store,
};

fn of_session(mut request: Value) -> Value {
    request["session_id"] = "trip".into();
    request["agent_id"] = "a".into();
    request
}

fn create(id: u64, message: &Value) -> Value {
    of_session(json!({"op": "create_message", "message": {"message_id": id, "message": message, "created_at": "x"}}))
}

/// A bridge to a session with an agent.
fn begun(store: &Store) -> Bridge {
    let mut bridge = Bridge::over(store);
    bridge.ask(&json!({"op": "create_session", "session_id": "trip", "session": {}}));
    bridge.ask(&of_session(json!({"op": "create_agent", "agent": {"state": 1}})));
    bridge
}

fn messages(bridge: &mut Bridge) -> Vec<Value> {
    bridge.ask(&of_session(json!({"op": "list_messages"})))["messages"].as_array().unwrap().clone()
}

/// Appends as the adapter does: under the next id where the id is taken. The id that the message has.
fn append(bridge: &mut Bridge, mut id: u64, message: &Value) -> u64 {
    loop {
        let answer = bridge.send(&create(id, message).to_string());
        match answer["error"].as_str() {
            None => return answer["message_id"].as_u64().unwrap(),
            Some("message_exists") => id = answer["next_id"].as_u64().unwrap(),
            Some(_) => panic!("{answer}"),
        }
    }
}

#[test]
fn what_a_bridge_erases_is_gone_and_has_a_receipt() {
    let store = Store::new();
    let mut bridge = Bridge::over(&store);
    let items: Vec<_> = ["The code is zebra44712.", "Noted.", "Thank you."]
        .iter()
        .map(|said| json!({"item": {"said": said}, "message": text("user", said), "key": said}))
        .collect();
    bridge.ask(&json!({"op": "add_items", "conversation": "trip", "items": items}));
    let what = json!({"matching": "zebra[0-9]+"});
    let planned = bridge.ask(&json!({"op": "plan_erasure", "what": what}));
    assert_eq!(planned["plan"]["conversations"][0]["nodes"], json!([[1, 1]]), "{planned}");
    let erased = bridge.ask(&json!({"op": "erase", "what": what, "by": "Ann"}));
    assert_eq!((&erased["receipt"]["by"], &erased["receipt"]["scan"]["found"]), (&json!("Ann"), &json!(0)));
    let listed = bridge.ask(&json!({"op": "list_items", "conversation": "trip"}));
    assert_eq!(listed["items"].as_array().unwrap().len(), 2, "{listed}");
    let hidden = bridge.ask(&json!({"op": "disable", "conversation": "trip", "nodes": [2], "by": "Ann"}));
    assert_eq!((&hidden["changes"][0]["nodes"], &hidden["changes"][0]["disabled"]), (&json!([[2, 2]]), &json!(true)));
    let listed = bridge.ask(&json!({"op": "list_items", "conversation": "trip"}));
    assert_eq!(listed["items"].as_array().unwrap().len(), 1, "{listed}");
    bridge.ask(&json!({"op": "enable", "conversation": "trip", "nodes": [[1, 3]]}));
    let nodes = json!({"conversation": "trip", "nodes": [[2, 3]]});
    bridge.ask(&json!({"op": "erase", "what": nodes}));
    assert_eq!(bridge.ask(&json!({"op": "erase", "what": nodes}))["receipt"], Value::Null);
    assert_eq!(bridge.ask(&json!({"op": "receipts"}))["receipts"].as_array().unwrap().len(), 2);
    for (what, code) in [
        (json!({"conversation": "trip", "nodes": [99]}), "not_found"),
        (json!({"conversation": "nowhere", "all": true}), "not_found"),
        (json!({"matching": "a("}), "invalid_pattern"),
        (json!({"conversation": "trip"}), "malformed"),
        (json!({"all": true}), "malformed"),
    ] {
        assert_eq!(bridge.refused(&json!({"op": "erase", "what": what})), code, "{what}");
    }
    bridge.end();
}

#[test]
fn what_is_known_is_listed_recorded_corrected_and_disabled() {
    let store = Store::new();
    let mut bridge = Bridge::over(&store);
    let said = "We decided to rent the hall in Ghent.";
    let item = json!({"item": {"said": said}, "message": text("user", said), "key": "a"});
    bridge.ask(&json!({"op": "add_items", "conversation": "plans", "items": [item]}));
    let of = json!({"op": "facts", "conversation": "plans"});
    assert_eq!(bridge.ask(&of)["entries"][0]["text"], said);
    let correct =
        json!({"op": "correct_fact", "conversation": "plans", "id": "1.1", "text": "We rent the barn.", "by": "x"});
    let corrected = bridge.ask(&correct)["entry"].clone();
    assert_eq!((&corrected["by"], &corrected["sources"]), (&json!("program x"), &json!([[1, 1]])));
    assert_eq!(bridge.refused(&correct), "invalid_config", "it is corrected already");
    let fact = json!({"op": "add_fact", "conversation": "plans", "kind": "fact", "text": "Ann is 34.", "nodes": [1]});
    assert_eq!(bridge.ask(&fact)["entry"]["kind"], "fact");
    let id = &corrected["id"];
    let disable = json!({"op": "disable_fact", "conversation": "plans", "id": id});
    assert_eq!(bridge.ask(&disable)["entry"]["status"], "disabled");
    let all = json!({"op": "facts", "question": "barn", "all": true, "kinds": ["decision"]});
    assert_eq!(bridge.ask(&all)["entries"][0]["id"], *id);
    let gone = json!({"op": "disable_fact", "conversation": "plans", "id": "e99", "enable": true});
    assert_eq!(bridge.refused(&gone), "not_found");
    bridge.end();
}

#[test]
fn every_message_that_one_of_two_bridges_acknowledged_is_in_the_log_under_its_id() {
    let store = Store::new();
    let mut third = begun(&store);
    let speaker = |name: &'static str, mut bridge: Bridge| {
        move || {
            let mut id = 0;
            let mut acknowledged = Vec::new();
            for number in 0..60 {
                let said = format!("{name} says {number}.");
                // Messages of some programs have no id of their own.
                let message = match number % 2 {
                    0 => text("user", &said),
                    _ => known(&format!("{name}-{number}"), "user", &said),
                };
                let given = append(&mut bridge, id, &message);
                acknowledged.push((given, said));
                id = given + 1;
            }
            bridge.end();
            acknowledged
        }
    };
    let speakers = ["Ana", "Ben"].map(|name| thread::spawn(speaker(name, Bridge::over(&store))));
    let mut acknowledged: Vec<_> = speakers.into_iter().flat_map(|speaker| speaker.join().unwrap()).collect();
    acknowledged.sort();
    let record = |record: &Value| {
        let said = record["message"]["content"][0]["text"].as_str().unwrap().to_owned();
        (record["message_id"].as_u64().unwrap(), said)
    };
    let logged: Vec<_> = messages(&mut third).iter().map(record).collect();
    assert_eq!(logged.iter().map(|(id, _)| *id).collect::<Vec<_>>(), (0..120).collect::<Vec<_>>());
    assert_eq!(logged, acknowledged);
    third.end();
}

#[test]
fn an_id_that_is_taken_is_done_for_the_same_words_alone() {
    let store = Store::new();
    let mut bridge = begun(&store);
    for (id, message) in [(0, text("user", "hi")), (1, known("t1", "assistant", "hello"))] {
        for _ in 0..2 {
            assert_eq!(bridge.ask(&create(id, &message)), json!({"message_id": id}), "again as after a lost answer");
        }
    }
    let call = json!({"role": "user", "content": [{"text": "hi"}, {"cachePoint": {"type": "default"}}]});
    for other in [text("user", "ho"), text("assistant", "hi"), known("t2", "user", "hi"), call] {
        let refused = bridge.send(&create(0, &other).to_string());
        assert_eq!((&refused["error"], &refused["next_id"]), (&json!("message_exists"), &json!(2)), "{refused}");
    }
    // The same message under a later id, as after an agent was killed.
    assert_eq!(bridge.ask(&create(2, &known("t1", "assistant", "hello"))), json!({"message_id": 1}));
    // Other words under an id of their own are kept, too.
    assert_eq!(append(&mut bridge, 1, &known("t1", "assistant", "other words")), 2);
    assert_eq!(bridge.ask(&create(2, &known("t1", "assistant", "other words"))), json!({"message_id": 2}));
    // A view of the log is never appended to it.
    let mut view = known("t3", "user", "made");
    view["metadata"] = json!({"custom": {"memory_view": true}});
    assert_eq!(bridge.refused(&create(3, &view)), "session_exists");
    view["tracking_id"] = "t1".into();
    assert_eq!(bridge.ask(&create(3, &view)), json!({"message_id": 1}));
    assert_eq!(messages(&mut bridge).len(), 3);
    bridge.end();
}

#[test]
fn an_agent_that_exists_is_created_again_as_it_is_and_not_as_another() {
    let store = Store::new();
    let mut bridge = begun(&store);
    bridge.ask(&of_session(json!({"op": "create_agent", "agent": {"state": 1}})));
    let other = of_session(json!({"op": "create_agent", "agent": {"state": 2}}));
    assert_eq!(bridge.refused(&other), "session_exists");
    assert_eq!(bridge.ask(&of_session(json!({"op": "read_agent"})))["agent"], json!({"state": 1}));
    bridge.end();
}

#[test]
fn an_item_that_two_bridges_pop_is_given_to_one_of_them() {
    let store = Store::new();
    let mut bridge = Bridge::over(&store);
    let item = |number: usize| json!({"item": number, "message": text("user", "An item."), "key": number.to_string()});
    let items: Vec<_> = (0..40).map(item).collect();
    bridge.ask(&json!({"op": "add_items", "conversation": "list", "items": items}));
    let pop = |mut bridge: Bridge| {
        move || {
            let mut popped = Vec::new();
            while let Some(item) = bridge.ask(&json!({"op": "pop_item", "conversation": "list"}))["item"].as_u64() {
                popped.push(item);
            }
            bridge.end();
            popped
        }
    };
    let both = [Bridge::over(&store), bridge].map(|bridge| thread::spawn(pop(bridge)));
    let popped: Vec<_> = both.into_iter().flat_map(|one| one.join().unwrap()).collect();
    assert_eq!(popped.len(), 40, "{popped:?}");
    assert_eq!(popped.into_iter().collect::<BTreeSet<_>>(), (0..40).collect());
}

#[test]
fn other_words_under_the_id_of_a_message_of_the_log_are_noticed_once() {
    for is_new in [false, true] {
        let store = Store::new();
        let open = |bridge: &mut Bridge| {
            bridge.ask(&json!({"op": "open", "id": 0, "manager": "hierarchical", "config": {"conversation": "talk"}}));
        };
        let mut bridge = Bridge::over(&store);
        open(&mut bridge);
        let apply = |said: &str| json!({"op": "apply", "id": 0, "messages": [known("t", "user", said)]});
        assert_eq!(bridge.ask(&apply("one"))["notices"], json!([]));
        if is_new {
            bridge.end();
            bridge = Bridge::over(&store);
            open(&mut bridge);
        }
        assert_eq!(bridge.ask(&apply("one"))["notices"], json!([]));
        assert_eq!(bridge.ask(&apply("two"))["notices"][0]["code"], "other_words");
        assert_eq!(bridge.ask(&apply("two"))["notices"], json!([]));
        bridge.end();
    }
}

#[test]
fn a_summary_without_words_is_refused_and_nothing_is_removed() {
    let mut bridge = Bridge::start(&[]);
    let config = json!({"summary_ratio": 0.5, "preserve_recent_messages": 2, "summarizer": "caller"});
    bridge.ask(&json!({"op": "open", "id": 0, "manager": "summarizing", "config": config}));
    let list: Vec<_> =
        (0..8).map(|number| text(if number % 2 == 0 { "user" } else { "assistant" }, "The code is 4711.")).collect();
    bridge.ask(&json!({"op": "reduce", "id": 0, "messages": list, "cause": "overflow"}));
    let call = json!([{"toolUse": {"toolUseId": "t", "name": "n", "input": {}}}]);
    for content in
        [json!([]), json!([{"text": " \n"}]), json!([{"text": ""}, {"cachePoint": {"type": "default"}}]), call]
    {
        let summary = json!({"role": "assistant", "content": content});
        assert_eq!(bridge.refused(&json!({"op": "summary", "id": 0, "message": summary})), "summary_failed");
        let state = bridge.ask(&json!({"op": "state", "id": 0}))["state"].clone();
        assert_eq!(state["removed_message_count"], 0);
    }
    // The summary is still due.
    let done = bridge.ask(&json!({"op": "summary", "id": 0, "message": text("assistant", "The code is 4711.")}));
    assert_eq!(done["state"]["removed_message_count"], 4);
    bridge.end();
}

#[test]
fn a_message_that_is_said_again_to_be_redacted_is_redacted() {
    let store = Store::new();
    let mut bridge = begun(&store);
    let message = text("user", "My card is 4111.");
    bridge.ask(&create(0, &message));
    let mut again = create(0, &message);
    again["message"]["redact_message"] = json!({"role": "user", "content": [{"text": "[gone]"}]});
    assert_eq!(bridge.ask(&again)["message_id"], 0);
    let there = messages(&mut bridge);
    assert_eq!((there.len(), &there[0]["redact_message"]["content"][0]["text"]), (1, &json!("[gone]")));
}
