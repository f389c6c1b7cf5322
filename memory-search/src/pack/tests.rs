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

/// `q` a question that the next message answers, `u` a user's message, `1` and `2` an assistant's with as many tool
/// calls, `r` and `R` one and two results.
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
    let ranked: Vec<_> = ranked.iter().map(|&node| (0, id(node))).collect();
    let pairs = pairs(conversation);
    let sources = [PackSource::new(&outline).shown(shown).pairs(&pairs)];
    let packed = pack(&PackRequest::new(&sources, &ranked, max_tokens).per_message(8).radius(radius));
    let runs: Vec<_> = packed.runs.iter().map(|(_, run)| run.to_string()).collect();
    let too_large = packed.too_large.map(|hit| format!(" without {} of {}", hit.node.1, hit.tokens));
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
fn a_cheap_turn_between_two_taken_ones_closes_the_gap() {
    check(&[SHORT; 5], &[4, 2], (900, 0), &[], "2-4 for 30");
    check(&[SHORT, SHORT, ('u', 40), SHORT], &[4, 2], (900, 0), &[], "2,4 for 20");
    check(&[SHORT; 6], &[5, 2], (900, 0), &[], "2,5 for 20");
    check(&[SHORT, SHORT, ('1', 1), ('r', 1), SHORT], &[2, 5], (2_000, 0), &[], "2-5 for 38");
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
    let talk = [SHORT, SHORT, SHORT, SHORT, ('q', 2), ('u', 22)];
    check(&talk, &[1, 2, 3, 4, 5], (1_500, 0), &[], "1-6 for 80");
    check(&talk, &[1, 2, 3, 4, 5], (1_499, 0), &[], "1-5 for 50");
    check(&talk, &[1, 2, 3, 4, 6], (500, 0), &[], "1-6 for 80");
    check(&talk, &[5], (1_500, 0), &[run(6, 6)], "5 for 10");
    // The long message leaves room for the answer, but not for its question.
    check(&[('u', 472), ('q', 2), ('u', 12)], &[1, 3], (505, 0), &[], "1,3 for 500");
}

#[test]
fn the_best_hits_are_paired_with_what_all_hits_leave() {
    let talk = [('q', 2), ('u', 62), SHORT];
    check(&talk, &[1], (90, 0), &[], "1-2 for 80");
    check(&talk, &[2], (90, 0), &[], "1-2 for 80");
    check(&talk, &[1], (79, 0), &[], "1 for 10");
    check(&talk, &[1, 3], (89, 0), &[], "1,3 for 20");
    check(&talk, &[1, 3], (90, 0), &[], "1-3 for 90");
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
    check(&talk, &[1], (30, 0), &[], "1-3 for 30");
    check(&talk, &[1], (29, 0), &[], "1 for 10");
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
    let ranked = [(0, id(150_000)), (0, id(299_999))];
    let sources = [PackSource::new(&outline)];
    let request = |max_tokens| PackRequest::new(&sources, &ranked, max_tokens).per_message(8).radius(1_000_000);
    let reached: u64 = reach(&request(100)).iter().map(|(_, run)| run.count()).sum();
    assert!(reached <= 20, "{reached} nodes are to be read for a budget that holds ten");
    // Pricing every run again from the widest down took minutes.
    assert_eq!(pack(&request(100)).tokens, 100);
    assert_eq!(pack(&request(u32::MAX)).runs, [(0, run(1, 300_000))]);
}

#[test]
fn conversations_share_one_budget_and_each_pays_its_heading_once() {
    let outline: Vec<_> = (0..6).map(|_| outline('u', 2)).collect();
    let other = PackSource::new(&outline).heading(30);
    let sources = [PackSource::new(&outline), other, other];
    let check = |ranked: &[(usize, u64)], max_tokens, expected: &str| {
        let ranked: Vec<_> = ranked.iter().map(|&(source, node)| (source, id(node))).collect();
        let packed = pack(&PackRequest::new(&sources, &ranked, max_tokens).per_message(8));
        let runs: Vec<_> = packed.runs.iter().map(|(source, run)| format!("{source}:{run}")).collect();
        let too_large = packed.too_large.map(|hit| format!(" without {}:{} of {}", hit.node.0, hit.node.1, hit.tokens));
        assert_eq!(format!("{} for {}{}", runs.join(" "), packed.tokens, too_large.unwrap_or_default()), expected);
    };
    check(&[(1, 4), (0, 4), (1, 2), (1, 3)], 100, "0:4 1:2-4 for 70");
    // The other conversation does not fit, and its place goes to hits of those that are there.
    check(&[(1, 4), (2, 1), (1, 6), (0, 1)], 79, "0:1 1:4 1:6 for 60");
    check(&[(1, 4), (0, 1)], 39, "0:1 for 10 without 1:4 of 40");
    // A node of a conversation that is not there is none.
    check(&[(7, 1), (0, 1)], 39, "0:1 for 10");
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
        let (ranked, sources) = ([(0, id(hit))], [PackSource::new(&outline).shown(&shown)]);
        let packed = |radius, max_tokens| {
            pack(&PackRequest::new(&sources, &ranked, max_tokens).per_message(8).radius(radius))
        };
        let widest = (0..=radius).rev().map(|radius| packed(radius, u32::MAX));
        let expected = widest.into_iter().find(|packed| packed.tokens <= u64::from(max_tokens));
        prop_assert_eq!(packed(radius, max_tokens).runs, expected.map(|packed| packed.runs).unwrap_or_default());
    }

    #[test]
    fn packing_keeps_its_promises(
        conversations in prop::collection::vec((conversations(), ranges(), 0u32..60), 1..4),
        ranked in prop::collection::vec((0usize..4, 1u64..45), 0..20),
        max_tokens in 0u32..2_000,
        per_message in 0u32..20,
        radius in 0u64..4,
        max_characters in prop::option::of(0u32..4_000),
    ) {
        let outlines: Vec<Vec<_>> = conversations
            .iter()
            .map(|(talk, ..)| talk.iter().map(|&(letter, tokens)| outline(letter, tokens)).collect())
            .collect();
        let all_pairs: Vec<_> = conversations.iter().map(|(talk, ..)| pairs(talk)).collect();
        let sources: Vec<_> = (outlines.iter().zip(&all_pairs).zip(&conversations))
            .map(|((outline, pairs), (_, shown, heading))| PackSource { outline, shown, pairs, heading: *heading })
            .collect();
        let ranked: Vec<_> = ranked.into_iter().map(|(source, node)| (source, id(node))).collect();
        // Three characters a token.
        let lengths: Lengths = (0..)
            .zip(&outlines)
            .flat_map(|(source, outline)| {
                (0..).map(NodeId::from_index).zip(outline).map(move |(n, o)| ((source, n), 3 * u64::from(o.tokens)))
            })
            .collect();
        let characters = max_characters.map(|max| Characters { max, of: &lengths });
        let request =
            PackRequest::new(&sources, &ranked, max_tokens).per_message(per_message).characters(characters).radius(radius);
        let packed = pack(&request);
        let flat = |runs: &[(usize, NodeRange)]| -> BTreeSet<SourceNode> {
            runs.iter().flat_map(|&(source, run)| run.iter().map(move |node| (source, node))).collect()
        };
        let nodes = flat(&packed.runs);
        let is_shown = |(source, node): SourceNode| sources[source].shown.iter().any(|run| run.contains(node));

        let cost = |&(source, node): &SourceNode| u64::from(outlines[source][node.index()].tokens + per_message);
        let opened: BTreeSet<_> = nodes.iter().map(|&(source, _)| source).collect();
        let headings: u64 = opened.iter().map(|&source| u64::from(sources[source].heading)).sum();
        let cost = nodes.iter().map(cost).sum::<u64>() + headings;
        prop_assert_eq!(cost, packed.tokens, "each conversation costs its heading once");
        prop_assert!(cost <= u64::from(max_tokens), "the budget is never exceeded");
        let length: u64 = nodes.iter().map(|place| lengths[place]).sum();
        prop_assert_eq!(if max_characters.is_some() { length } else { 0 }, packed.characters);
        prop_assert!(packed.characters <= max_characters.map_or(0, u64::from), "nor is that in characters");
        prop_assert!(nodes.is_subset(&flat(&reach(&request))), "nothing beyond reach");

        let apart = packed.runs.windows(2).all(|pair| {
            pair[0].0 < pair[1].0 || (pair[0].0 == pair[1].0 && pair[0].1.last().next() < pair[1].1.first())
        });
        prop_assert!(apart, "runs neither overlap nor touch: {:?}", packed.runs);
        prop_assert!(!nodes.iter().any(|&node| is_shown(node)), "nothing is shown twice");

        for (source, outline) in outlines.iter().enumerate() {
            for turn in plan::turns(outline) {
                let whole = turn.iter().all(|node| nodes.contains(&(source, node)) || is_shown((source, node)));
                prop_assert!(whole || !turn.iter().any(|node| nodes.contains(&(source, node))), "{turn} is parted");
            }
        }

        let exists = |&(source, node): &SourceNode| outlines.get(source).is_some_and(|outline| node.index() < outline.len());
        let best = ranked.iter().copied().find(|place| exists(place) && !is_shown(*place));
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
