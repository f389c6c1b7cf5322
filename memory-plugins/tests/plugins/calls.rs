//! Calls that go wrong: each becomes an error of one line, and the host lives.

use std::{process::ExitStatus, time::Duration};

use memory_core::testing::HashEmbedder;
use memory_plugins::{CallError, ChooseError, PluginOptions, Registry};

use crate::support::{MISBEHAVES, TEXT, as_child, ask, conduct, conducting, in_child, library, misbehaving, score};

const SOON: Duration = Duration::from_millis(30);

/// The options under which the bad summarizer behaves so and is given up soon.
fn hurried(conduct: &str) -> PluginOptions {
    let mut options = conducting(MISBEHAVES, conduct);
    options.deadline = SOON;
    options
}

#[test]
fn a_panic_in_a_call_is_an_error() {
    assert_eq!(conduct("panic"), Err(CallError::Panicked("cannot bear 1 sources".into())));
    assert_eq!(conduct("answer").unwrap(), "fine");
}

#[test]
fn a_panic_in_the_constructor_is_an_error() {
    let error = misbehaving(conducting(MISBEHAVES, "panic when made")).summarizer(MISBEHAVES).unwrap_err();
    let ChooseError::Refused { source, .. } = &error else { panic!("{error}") };
    assert_eq!(*source, CallError::Panicked("cannot begin".into()));
    let error = misbehaving(conducting(MISBEHAVES, "refuse")).summarizer(MISBEHAVES).unwrap_err();
    assert!(!error.to_string().contains('\n'));
}

#[test]
fn a_panic_in_a_destructor_ends_in_the_plugin() {
    if as_child().is_some() {
        let registry = misbehaving(conducting(MISBEHAVES, "panic when dropped"));
        let summarizer = registry.summarizer(MISBEHAVES).unwrap();
        assert_eq!(ask(&*summarizer, TEXT).unwrap(), "fine");
        drop(summarizer);
        println!("outlived it");
        return;
    }
    let child = in_child("calls::a_panic_in_a_destructor_ends_in_the_plugin", ".".as_ref());
    assert!(child.status.success(), "{}", child.status);
    assert!(String::from_utf8_lossy(&child.stderr).contains("cannot let go"), "the destructor did panic");
    assert!(String::from_utf8_lossy(&child.stdout).contains("outlived it"));
}

#[test]
fn a_panic_in_a_scorer_is_an_error() {
    let mut registry = Registry::with_options(conducting("misjudges", "panic"));
    registry.load(&library("memory_plugin_fixture_misjudges")).unwrap();
    let answer = score(&*registry.scorer("misjudges").unwrap(), &["a", "b"]);
    assert_eq!(answer, Err(CallError::Panicked("cannot bear 2 messages".into())));
}

#[test]
fn scores_that_are_none_are_errors() {
    for (conduct, said) in [
        ("not a number", "NaN"),
        ("too high", "1.5"),
        ("below zero", "-0.1"),
        ("infinite", "inf"),
        ("too few", "0 scores for 2 messages"),
    ] {
        let mut registry = Registry::with_options(conducting("misjudges", conduct));
        registry.load(&library("memory_plugin_fixture_misjudges")).unwrap();
        let error = score(&*registry.scorer("misjudges").unwrap(), &["a", "b"]).unwrap_err();
        assert!(matches!(&error, CallError::Breach(breach) if breach.contains(said)), "{conduct}: {error}");
    }
}

#[test]
fn a_scorer_asks_for_embeddings_through_the_border() {
    let mut options = conducting("misjudges", "likeness to the first");
    options.embedder = Some(std::sync::Arc::new(HashEmbedder::new(64)));
    let mut registry = Registry::with_options(options);
    assert!(registry.load(&library("memory_plugin_fixture_misjudges")).unwrap().capabilities.embeddings);
    let scores = score(&*registry.scorer("misjudges").unwrap(), &["the sea", "the sea", "budget figures"]).unwrap();
    assert!(scores[1] > 0.999 && scores[2] < 0.9, "{scores:?}");
}

#[test]
fn answers_that_break_the_contract_are_errors() {
    assert_eq!(conduct("write too much"), Err(CallError::TooLong { tokens: 21, max_tokens: 20 }));
    for (asked, said) in
        [("write a bomb", "more than 4 MiB"), ("weigh wrongly", "importance of NaN"), ("say nothing", "blank summary")]
    {
        let error = conduct(asked).unwrap_err();
        assert!(matches!(&error, CallError::Breach(breach) if breach.contains(said)), "{asked}: {error}");
    }
    assert!(matches!(conduct("allocate too much"), Err(CallError::Panicked(said)) if said.contains("capacity")));
}

/// Behaviour that no host in the same process survives, as `docs/plugins.md` states.
#[test]
fn a_plugin_that_runs_out_of_memory_ends_the_process_as_documented() {
    if as_child().is_some() {
        drop(conduct("run out of memory"));
        println!("outlived it");
        return;
    }
    let child = in_child("calls::a_plugin_that_runs_out_of_memory_ends_the_process_as_documented", ".".as_ref());
    assert!(!child.status.success() && !String::from_utf8_lossy(&child.stdout).contains("outlived it"));
    assert!(was_aborted(child.status), "{}", child.status);
}

#[cfg(unix)]
fn was_aborted(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    status.signal() == Some(6)
}

#[cfg(not(unix))]
fn was_aborted(_status: ExitStatus) -> bool {
    true
}

#[test]
fn a_plugin_that_oversleeps_is_late_and_learns_that_it_was_given_up() {
    let registry = misbehaving(hurried("oversleep"));
    // Making it may itself be starved of so short a deadline.
    let summarizer = std::iter::repeat_with(|| registry.summarizer(MISBEHAVES)).find_map(Result::ok).unwrap();
    assert_eq!(ask(&*summarizer, TEXT), Err(CallError::Late(SOON)));
    // The call returns as soon as it sees that nobody waits.
    while registry.stuck_calls() > 0 {
        std::thread::yield_now();
    }
    assert_eq!(registry.status(MISBEHAVES).unwrap().late, 1);
}

#[test]
fn calls_that_never_return_are_counted_and_their_threads_replaced_up_to_a_bound() {
    let mut options = hurried("never return");
    (options.workers, options.replacements, options.failures) = (1, 2, u32::MAX);
    let registry = misbehaving(options);
    let summarizer = std::iter::repeat_with(|| registry.summarizer(MISBEHAVES)).find_map(Result::ok).unwrap();
    // The worker and its two replacements are lost, one call after the other; then no thread is left to ask.
    let mut late = 0;
    while late < 3 {
        late += u64::from(ask(&*summarizer, TEXT) == Err(CallError::Late(SOON)));
        assert_eq!(registry.stuck_calls() as u64, late);
    }
    assert_eq!(ask(&*summarizer, TEXT), Err(CallError::Busy));
    assert_eq!((registry.stuck_calls(), registry.status(MISBEHAVES).unwrap().late), (3, 3));
}

#[test]
fn a_constructor_that_never_returns_is_given_up() {
    let registry = misbehaving(hurried("never start"));
    let error = registry.summarizer(MISBEHAVES).unwrap_err();
    assert!(matches!(&error, ChooseError::Refused { source: CallError::Late(_), .. }), "{error}");
}

#[test]
fn a_plugin_that_keeps_failing_is_quarantined() {
    let registry = misbehaving(conducting(MISBEHAVES, "panic"));
    let summarizer = registry.summarizer(MISBEHAVES).unwrap();
    for _ in 0..3 {
        assert!(!registry.status(MISBEHAVES).unwrap().quarantined);
        assert!(matches!(ask(&*summarizer, TEXT), Err(CallError::Panicked(_))));
    }
    assert_eq!(ask(&*summarizer, TEXT), Err(CallError::Quarantined(3)));
    let status = registry.status(MISBEHAVES).unwrap();
    assert!(status.quarantined && status.failures == 3 && status.calls == 3);
    // Made anew it is still the same plugin.
    assert_eq!(ask(&*registry.summarizer(MISBEHAVES).unwrap(), TEXT), Err(CallError::Quarantined(3)));
}

/// A hanging destructor does not block the caller that drops the strategy; its thread ends with the process.
#[test]
fn a_destructor_that_never_returns_keeps_nobody() {
    let registry = misbehaving(conducting(MISBEHAVES, "hang when dropped"));
    let summarizer = registry.summarizer(MISBEHAVES).unwrap();
    assert_eq!(ask(&*summarizer, TEXT).unwrap(), "fine");
    drop(summarizer);
    drop(registry);
}
