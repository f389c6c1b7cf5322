//! A process that ends at any place of a turn, and the next one that continues it.

use std::{
    collections::BTreeSet,
    env,
    future::Future,
    io::{BufRead as _, BufReader, Write as _},
    path::PathBuf,
    process::{Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
};

use memory::Message;
use memory_agent::{AgentEvent, Ended};
use pollster::block_on;

use crate::support::{Counter, agent, log, open};

/// Polls a future until it is done or `is_over`, and drops it.
fn until<T>(future: impl Future<Output = T>, is_over: impl Fn() -> bool) -> Option<T> {
    let mut future = Box::pin(future);
    let mut context = Context::from_waker(Waker::noop());
    while !is_over() {
        if let Poll::Ready(done) = future.as_mut().poll(&mut context) {
            return Some(done);
        }
        std::thread::yield_now();
    }
    None
}

#[test]
fn a_turn_that_ends_at_any_event_is_continued_and_no_recorded_call_is_made_again() {
    let mut ends = BTreeSet::new();
    for last in 1.. {
        let directory = tempfile::tempdir().unwrap();
        let [read, write] = Counter::pair();
        let counts = [&read, &write].map(|tool| Arc::clone(&tool.calls));
        let again = || {
            let of = |name, is_idempotent, at: usize| Counter { name, is_idempotent, calls: Arc::clone(&counts[at]) };
            [of("read", true, 0), of("write", false, 1)]
        };
        let (seen, recorded) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let count = |event: AgentEvent<'_>| {
            seen.fetch_add(1, Ordering::Relaxed);
            if let AgentEvent::Called(call) = event {
                recorded.lock().unwrap().push(call.name.clone());
            }
        };
        let memory = open(directory.path());
        let mut first = agent(&memory, [read, write]);
        let is_over = || seen.load(Ordering::Relaxed) >= last;
        let done = until(first.run(Message::user("Begin."), &count), is_over);
        let before = counts.each_ref().map(|count| count.load(Ordering::Relaxed));
        drop((first, memory));

        let memory = open(directory.path());
        let mut second = agent(&memory, again());
        let left = log(second.conversation()).len();
        let resumed = block_on(second.resume(&())).unwrap();
        let log = log(second.conversation());
        let [reads, writes] = counts.each_ref().map(|count| count.load(Ordering::Relaxed));
        assert_eq!(resumed.is_none(), left == 0 || left == 5, "{last}: {log:?}");
        if log.is_empty() {
            continue;
        }
        // The log of a turn that nothing interrupted, but for the results and their order.
        assert_eq!(log.len(), 5, "{last}: {log:?}");
        assert_eq!((log[0].as_str(), log[4].as_str()), ("user: Begin.", "assistant: All of it is done now."));
        assert!(log[1].starts_with("assistant: Let me see. / read"), "{log:?}");
        let results: BTreeSet<_> = log[2..4].iter().map(String::as_str).collect();
        assert_eq!(results.iter().filter(|result| result.starts_with("tool: read")).count(), 1, "{log:?}");
        // What may have taken effect is never repeated.
        assert!(writes <= 1 && reads <= 2, "{last}: {reads} {writes}");
        let is_known = results.contains("tool: write 1");
        assert!(is_known || results.iter().any(|result| result.starts_with("tool: error: / interrupted")), "{log:?}");
        let recorded = recorded.lock().unwrap();
        assert!(!recorded.iter().any(|name| name == "read") || reads == before[0], "{last}: read again");
        assert!(block_on(second.resume(&())).unwrap().is_none());
        ends.insert(before);
        if done.is_some() {
            break;
        }
    }
    assert!(ends.contains(&[0, 0]) && ends.contains(&[1, 1]), "{ends:?}");
}

/// Names the store to the child.
const STORE: &str = "MEMORY_TEST_AGENT_STORE";

/// The process that is killed; nothing where the test below has not started it.
#[test]
fn work_until_killed() {
    let Some(store) = env::var_os(STORE) else { return };
    let memory = open(&PathBuf::from(store));
    let say = |event: AgentEvent<'_>| {
        let kind = match event {
            AgentEvent::Part(_) => "part",
            AgentEvent::Calling { .. } => "calling",
            AgentEvent::Called(_) => "called",
            AgentEvent::Appended { .. } => "appended",
            _ => "other",
        };
        // The parent answers each line, or kills.
        writeln!(std::io::stderr(), "event {kind}").unwrap();
        std::io::stdin().read_line(&mut String::new()).unwrap();
    };
    block_on(agent(&memory, Counter::pair()).run(Message::user("Begin."), &say)).unwrap();
}

#[test]
fn a_process_that_is_killed_leaves_a_turn_that_the_next_one_finishes() {
    for (kind, times) in [("part", 2), ("calling", 1), ("called", 1), ("appended", 2)] {
        let directory = tempfile::tempdir().unwrap();
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "crash::work_until_killed", "--nocapture"])
            .env(STORE, directory.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stderr.take().unwrap()));
        let mut left = times;
        for line in output.lines().map(Result::unwrap).filter(|line| line.starts_with("event ")) {
            left -= usize::from(line == format!("event {kind}"));
            if left == 0 {
                break;
            }
            input.write_all(b"\n").unwrap();
        }
        assert_eq!(left, 0, "{kind}");
        // SIGKILL: nothing of it runs any more.
        child.kill().unwrap();
        child.wait().unwrap();

        let memory = open(directory.path());
        let mut agent = agent(&memory, Counter::pair());
        let turn = block_on(agent.resume(&())).unwrap().unwrap();
        let log = log(agent.conversation());
        assert_eq!((turn.ended, log.len()), (Ended::Answered, 5), "{kind}: {log:?}");
        assert_eq!(log[4], "assistant: All of it is done now.");
    }
}
