//! Tests of the packer.

use std::collections::BTreeSet;

use memory_core::{Message, Node, Role, Timestamp};
use proptest::prelude::*;

use super::*;

fn id(position: u64) -> NodeId {
    NodeId::new(position).unwrap()
}

fn run(first: u64, last: u64) -> NodeRange {
    NodeRange::new(id(first), id(last)).unwrap()
}

/// `q` a question that the next message answers, `u` a user's message, `1` and `2` an assistant's with as many tool calls, `r` and `R` one and two results.
fn outline(letter: char, tokens: u32) -> NodeOutline {
    let (role, calls, answers) = match letter {
        '1' => (Role::Assistant, 1, 0),
        '2' => (Role::Assistant, 2, 0),
        'r' => (Role::User, 0, 1),
        'R' => (Role::User, 0, 2),
        _ => (Role::User, 0, 0),
    };
    let node = Node::new(NodeId::FIRST, Message::text_of(role, ""), Timestamp::default()).tokens(tokens);
    let mut outline = NodeOutline::of(&node);
    (outline.calls, outline.answers) = (calls, answers);
    outline
}

/// Each `q` with what follows it.
fn pairs(conversation: &[(char, u32)]) -> Pairs {
    let asked = (1..).zip(conversation).filter(|(_, (letter, _))| *letter == 'q').map(|(at, _)| (id(at), id(at + 1)));
    Pairs::new(asked.filter(|(_, answer)| answer.index() < conversation.len()))
}

/// A conversation with the tokens of each message, and what was packed of it: the runs, and the tokens.
fn check(
    conversation: &[(char, u32)],
    ranked: &[u64],
    (max_tokens, radius): (u32, u64),
    shown: &[NodeRange],
    expected: &str,
) {
    let outline: Vec<_> = conversation.iter().map(|&(letter, tokens)| outline(letter, tokens)).collect();
    let ranked: Vec<_> = ranked.iter().map(|&node| id(node)).collect();
    let packed = pack(&PackRequest {
        outline: &outline,
        ranked: &ranked,
        shown,
        max_tokens,
        per_message: 8,
        characters: None,
        radius,
        pairs: &pairs(conversation),
    });
    let runs: Vec<_> = packed.runs.iter().map(ToString::to_string).collect();
    let too_large = packed.too_large.map(|hit| format!(" without {} of {}", hit.node, hit.tokens));
    let found = format!("{} for {}{}", runs.join(","), packed.tokens, too_large.unwrap_or_default());
    assert_eq!(found, expected, "{conversation:?} {ranked:?}");
}

const SHORT: (char, u32) = ('u', 2);

#[test]
fn runs_are_in_order_of_time_and_joined_where_they_touch() {
    check(&[SHORT; 9], &[7, 2, 6, 9], (100, 0), &[], "2,6-7,9 for 40");
}

#[test]
fn the_best_hit_is_not_the_one_cut() {
    let long = ('u', 92);
    check(&[SHORT, long, SHORT, SHORT], &[2, 1, 3, 4], (110, 0), &[], "1-2 for 110");
    check(&[SHORT, long, SHORT, SHORT], &[1, 2, 3, 4], (110, 0), &[], "1,3-4 for 30");
}

#[test]
fn a_best_hit_that_cannot_fit_is_named_and_leaves_its_place_to_others() {
    check(&[('u', 500), SHORT], &[1, 2], (100, 0), &[], "2 for 10 without 1 of 508");
    check(&[SHORT], &[1], (0, 0), &[], " for 0 without 1 of 10");
}

#[test]
fn what_is_shown_costs_nothing_and_is_not_shown_again() {
    check(&[SHORT; 5], &[3, 2, 4], (100, 0), &[run(2, 3)], "4 for 10");
    check(&[SHORT; 5], &[3], (100, 1), &[run(4, 9)], "2-3 for 20");
    check(&[SHORT; 2], &[1, 2], (100, 0), &[run(1, 2)], " for 0");
    check(&[SHORT; 2], &[9], (100, 0), &[run(8, 9)], " for 0");
}

#[test]
fn a_radius_shows_neighbours_as_far_as_they_fit() {
    check(&[SHORT; 9], &[5], (100, 2), &[], "3-7 for 50");
    check(&[SHORT; 9], &[5], (40, 2), &[], "4-6 for 30");
    check(&[SHORT; 9], &[5], (29, 2), &[], "5 for 10");
    check(&[SHORT; 9], &[1, 9], (100, u64::MAX), &[], "1-9 for 90");
    check(&[SHORT; 9], &[3, 6], (100, 1), &[], "2-7 for 60");
}

#[test]
fn a_question_comes_with_its_answer_and_an_answer_with_its_question() {
    let talk = [SHORT, ('q', 2), SHORT, SHORT, ('q', 2), ('q', 2), SHORT];
    check(&talk, &[2], (500, 0), &[], "2-3 for 20");
    check(&talk, &[3], (500, 0), &[], "2-3 for 20");
    check(&talk, &[6], (500, 0), &[], "5-7 for 30");
    check(&talk, &[4], (500, 0), &[], "4 for 10");
    // Neighbours that the caller asked for are shown instead.
    check(&talk, &[2], (500, 1), &[], "1-3 for 30");
    check(&talk, &[3], (500, 1), &[], "2-4 for 30");
}

#[test]
fn a_pair_is_parted_where_the_other_half_is_dear_or_does_not_fit_or_is_shown() {
    let talk = [('q', 2), ('u', 22), SHORT];
    check(&talk, &[1], (1_500, 0), &[], "1-2 for 40");
    check(&talk, &[1], (1_499, 0), &[], "1 for 10");
    check(&talk, &[2], (500, 0), &[], "1-2 for 40");
    check(&talk, &[2], (499, 0), &[], "2 for 30");
    check(&talk, &[1], (1_500, 0), &[run(2, 2)], "1 for 10");
    // The long message leaves room for the answer, but not for its question.
    check(&[('u', 472), ('q', 2), ('u', 12)], &[1, 3], (505, 0), &[], "1,3 for 500");
}

#[test]
fn a_hit_is_worth_less_the_more_its_other_half_costs() {
    let talk = |first| [('u', first), ('q', 22), ('u', 22), ('u', 22), ('u', 22)];
    check(&talk(2), &[1, 2, 5], (1_500, 0), &[], "1-3,5 for 100");
    check(&talk(1_434), &[1, 2, 5], (1_500, 0), &[], "1,5 for 1472");
}

#[test]
fn what_is_paired_with_a_call_comes_with_its_results() {
    let talk = [('q', 2), ('1', 2), ('r', 2), SHORT];
    check(&talk, &[1], (1_000, 0), &[], "1-3 for 30");
    check(&talk, &[1], (999, 0), &[], "1 for 10");
}

#[test]
fn a_tool_call_brings_its_results_and_a_result_its_call() {
    let tools = [SHORT, ('1', 2), ('r', 2), SHORT, ('2', 2), ('r', 2), ('r', 2), SHORT];
    check(&tools, &[2], (100, 0), &[], "2-3 for 20");
    check(&tools, &[3], (100, 0), &[], "2-3 for 20");
    check(&tools, &[6], (100, 0), &[], "5-7 for 30");
    check(&tools, &[6], (29, 0), &[], " for 0 without 6 of 30");
    check(&tools, &[4], (100, 1), &[], "2-7 for 60");
}

#[test]
fn a_radius_that_the_caller_chooses_costs_no_more_than_the_budget_holds() {
    let outline = vec![outline('u', 2); 300_000];
    let ranked = [id(150_000), id(299_999)];
    let pairs = Pairs::default();
    let request = |max_tokens| PackRequest {
        outline: &outline,
        ranked: &ranked,
        shown: &[],
        max_tokens,
        per_message: 8,
        characters: None,
        radius: 1_000_000,
        pairs: &pairs,
    };
    let reached: u64 = reach(&request(100)).iter().map(|run| run.count()).sum();
    assert!(reached <= 20, "{reached} nodes are to be read for a budget that holds ten");
    // From the widest run down, each priced anew, it took minutes.
    assert_eq!(pack(&request(100)).tokens, 100);
    assert_eq!(pack(&request(u32::MAX)).runs, [run(1, 300_000)]);
}

fn conversations() -> impl Strategy<Value = Vec<(char, u32)>> {
    let letters = prop::sample::select(vec!['u', 'a', 'q', 'q', '1', '2', 'r', 'R']);
    prop::collection::vec((letters, 0u32..300), 0..40)
}

fn ranges() -> impl Strategy<Value = Vec<NodeRange>> {
    prop::collection::vec((1u64..45, 0u64..6).prop_map(|(first, more)| run(first, first + more)), 0..3)
}

proptest! {
    #[test]
    fn a_hit_is_shown_with_as_many_neighbours_as_fit(
        conversation in conversations(),
        hit in 1u64..45,
        shown in ranges(),
        max_tokens in 0u32..2_000,
        radius in 0u64..30,
    ) {
        let outline: Vec<_> = conversation.iter().map(|&(letter, tokens)| outline(letter, tokens)).collect();
        let ranked = [id(hit)];
        let packed = |radius, max_tokens| {
            let (outline, ranked, shown, pairs) = (&outline, &ranked, &shown, &Pairs::default());
            pack(&PackRequest { outline, ranked, shown, max_tokens, per_message: 8, characters: None, radius, pairs })
        };
        let widest = (0..=radius).rev().map(|radius| packed(radius, u32::MAX));
        let expected = widest.into_iter().find(|packed| packed.tokens <= u64::from(max_tokens));
        prop_assert_eq!(packed(radius, max_tokens).runs, expected.map(|packed| packed.runs).unwrap_or_default());
    }

    #[test]
    fn packing_keeps_its_promises(
        conversation in conversations(),
        ranked in prop::collection::vec(1u64..45, 0..20),
        shown in ranges(),
        max_tokens in 0u32..2_000,
        per_message in 0u32..20,
        radius in 0u64..4,
        max_characters in prop::option::of(0u32..4_000),
    ) {
        let outline: Vec<_> = conversation.iter().map(|&(letter, tokens)| outline(letter, tokens)).collect();
        let ranked: Vec<_> = ranked.into_iter().map(id).collect();
        // Three characters a token.
        let lengths: Lengths = (0..).map(NodeId::from_index).zip(&outline).map(|(n, o)| (n, 3 * u64::from(o.tokens))).collect();
        let characters = max_characters.map(|max| Characters { max, of: &lengths });
        let pairs = pairs(&conversation);
        let request =
            PackRequest { outline: &outline, ranked: &ranked, shown: &shown, max_tokens, per_message, characters, radius, pairs: &pairs };
        let packed = pack(&request);
        let nodes: BTreeSet<_> = packed.runs.iter().flat_map(|run| run.iter()).collect();
        let is_shown = |node: NodeId| shown.iter().any(|run| run.contains(node));

        let cost: u64 = nodes.iter().map(|node| u64::from(outline[node.index()].tokens + per_message)).sum();
        prop_assert_eq!(cost, packed.tokens);
        prop_assert!(cost <= u64::from(max_tokens), "the budget is never exceeded");
        let length: u64 = nodes.iter().map(|node| lengths[node]).sum();
        prop_assert_eq!(if max_characters.is_some() { length } else { 0 }, packed.characters);
        prop_assert!(packed.characters <= max_characters.map_or(0, u64::from), "nor is that in characters");
        let reached = reach(&request);
        prop_assert!(nodes.iter().all(|&node| reached.iter().any(|run| run.contains(node))), "nothing beyond reach");

        let apart = packed.runs.windows(2).all(|pair| pair[0].last().next() < pair[1].first());
        prop_assert!(apart, "runs neither overlap nor touch: {:?}", packed.runs);
        prop_assert!(!nodes.iter().any(|&node| is_shown(node)), "nothing is shown twice");

        for turn in plan::turns(&outline) {
            let whole = turn.iter().all(|node| nodes.contains(&node) || is_shown(node));
            prop_assert!(whole || !turn.iter().any(|node| nodes.contains(&node)), "{turn} is parted");
        }

        let best = ranked.iter().copied().find(|&node| node.index() < outline.len() && !is_shown(node));
        if let Some(best) = best {
            let left_out = packed.too_large.filter(|hit| {
                let too_long = max_characters.is_some_and(|max| hit.characters > u64::from(max));
                hit.node == best && (hit.tokens > u64::from(max_tokens) || too_long)
            });
            prop_assert!(nodes.contains(&best) || left_out.is_some(), "the best hit is cut");
        }
        prop_assert_eq!(pack(&request), packed, "the same request packs the same");
    }
}
