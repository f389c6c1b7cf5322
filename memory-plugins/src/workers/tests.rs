//! Tests of the workers. Blocked calls wait on channels, so no test depends on how long a thread sleeps.

use std::sync::mpsc::channel;

use memory_core::testing::WordCounter;
use pollster::block_on;

use super::*;

fn workers(workers: usize, queue: usize, deadline: Duration) -> Workers {
    Workers::new(&PluginOptions::default().workers(workers).queue(queue).deadline(deadline).replacements(1))
}

const SOON: Duration = Duration::from_millis(20);

#[test]
fn work_is_done_on_another_thread() {
    let here = thread::current().id();
    let there = block_on(workers(2, 9, FAR).call(None, |_| Ok(thread::current().id()))).unwrap();
    assert_ne!(here, there);
}

#[test]
fn the_caller_counts_for_the_worker_from_several_threads() {
    let answer = workers(1, 9, FAR).call(Some(&WordCounter), |call: &Call<u32>| {
        thread::scope(|scope| {
            let counts: Vec<_> = (0..8).map(|n| scope.spawn(move || call.count(&"word ".repeat(n)))).collect();
            Ok(counts.into_iter().map(|count| count.join().unwrap()).sum())
        })
    });
    assert_eq!(block_on(answer), Ok(28));
}

#[test]
fn a_panic_is_an_error_and_the_worker_goes_on() {
    let workers = workers(1, 9, FAR);
    let panicked = block_on(workers.call(None, |_| -> Result<(), _> { panic!("on purpose") }));
    assert!(matches!(panicked, Err(CallError::Panicked(_))));
    assert_eq!(block_on(workers.call(None, |_| Ok(7))), Ok(7));
}

#[test]
fn a_call_past_its_deadline_is_given_up_and_its_thread_replaced() {
    let workers = workers(1, 9, SOON);
    let (release, blocked) = channel::<()>();
    let (ended, end) = channel();
    let late = workers.call(None, move |call: &Call<()>| {
        let _ = blocked.recv();
        ended.send((call.is_over(), call.count("x"))).unwrap();
        Ok(())
    });
    assert_eq!(block_on(late), Err(CallError::Late(SOON)));
    // The one worker is stuck. Only a replacement can answer, and it may itself miss its deadline on a busy machine.
    let next = (0..1000).map(|_| block_on(workers.call(None, |_| Ok(7)))).find(Result::is_ok);
    assert_eq!(next, Some(Ok(7)));
    assert_eq!(workers.shared.lock().stuck, 1);
    drop(release);
    assert_eq!(end.recv().unwrap(), (true, u32::MAX));
}

#[test]
fn beyond_the_replacements_calls_are_refused_not_lost() {
    let workers = workers(1, 9, SOON);
    let (release, blocked) = channel::<()>();
    let blocked = Arc::new(Mutex::new(blocked));
    let block = || {
        let blocked = Arc::clone(&blocked);
        workers.call(None, move |_| {
            let _ = blocked.lock().map(|blocked| blocked.recv());
            Ok(())
        })
    };
    let mut late = 0;
    while late < 2 {
        late += usize::from(block_on(block()) == Err(CallError::Late(SOON)));
    }
    // Worker and replacement are stuck.
    assert_eq!(block_on(workers.call(None, |_| Ok(7))), Err(CallError::Busy));
    drop(release);
    // Both return.
    while block_on(workers.call(None, |_| Ok(7))) != Ok(7) {}
}

#[test]
fn a_full_queue_refuses_at_once() {
    let workers = workers(1, 1, FAR);
    let (release, blocked) = channel::<()>();
    let (began, begin) = channel();
    let first = workers.call(None, move |_| {
        began.send(()).unwrap();
        let _ = blocked.recv();
        Ok(1)
    });
    begin.recv().unwrap();
    let second = workers.call(None, |_| Ok(2));
    let third = workers.call(None, |_| Ok(3));
    assert_eq!(block_on(third), Err(CallError::Busy));
    drop(release);
    assert_eq!((block_on(first), block_on(second)), (Ok(1), Ok(2)));
}

#[test]
fn calls_in_quick_succession_each_wake_a_thread() {
    let workers = workers(2, 9, FAR);
    for n in 0..20_000u32 {
        let answer = workers.call(Some(&WordCounter), move |call: &Call<u32>| Ok(n + call.count("two words")));
        assert_eq!(block_on(answer), Ok(n + WordCounter.count("two words")));
    }
}

#[test]
fn a_call_whose_caller_went_away_is_told_so() {
    let workers = workers(1, 9, FAR);
    let (release, blocked) = channel::<()>();
    let (began, begin) = channel();
    let (told, tell) = channel();
    let answer = workers.call(None, move |call: &Call<()>| {
        began.send(call.is_over()).unwrap();
        let _ = blocked.recv();
        told.send(call.is_over()).unwrap();
        Ok(())
    });
    assert!(!begin.recv().unwrap());
    drop(answer);
    drop(release);
    assert!(tell.recv().unwrap());
}

#[test]
fn what_was_asked_is_answered_though_the_last_handle_is_gone() {
    let workers = workers(1, 9, FAR);
    let answers: Vec<_> = (0..9).map(|n| workers.call(None, move |_| Ok(n))).collect();
    drop(workers);
    let told: Vec<_> = answers.into_iter().map(|answer| block_on(answer).unwrap()).collect();
    assert_eq!(told, (0..9).collect::<Vec<_>>());
}

#[test]
fn a_deadline_beyond_the_clock_is_no_deadline() {
    assert_eq!(block_on(workers(1, 9, Duration::MAX).call(None, |_| Ok(1))), Ok(1));
}
