//! Tests of the queue with an engine without a model.

use std::{
    future::Future,
    pin::pin,
    sync::atomic::{AtomicUsize, Ordering},
    sync::mpsc::{Receiver, Sender, channel},
    task::{Context, Poll, Waker},
    time::Duration,
};

use super::*;

/// Returns the first token of each sequence as its vector, once the gate lets the batch through.
struct Gated {
    /// One message lets one batch through; a dropped sender lets all through.
    gate: Arc<Mutex<Receiver<()>>>,
    seen: Sender<Vec<Vec<u32>>>,
}

impl Engine<Vec<u32>, Vec<f32>> for Gated {
    fn run(&mut self, sequences: &[Vec<u32>]) -> Result<Vec<Vec<f32>>, WorkError> {
        self.seen.send(sequences.to_vec()).unwrap();
        let _ = self.gate.lock().unwrap().recv();
        sequences
            .iter()
            .map(|sequence| match sequence[0] {
                13 => panic!("unlucky"),
                14 => Err(WorkError::BadOutput("nonsense".to_owned())),
                first => Ok(vec![f32::from(u8::try_from(first).unwrap())]),
            })
            .collect()
    }
}

struct Fixture {
    workers: Workers<Vec<u32>, Vec<f32>>,
    open: Option<Sender<()>>,
    seen: Receiver<Vec<Vec<u32>>>,
    started: Arc<AtomicUsize>,
}

/// A text is a list of numbers; `/` separates its sequences.
fn split(texts: &[&str]) -> impl Fn(usize) -> Result<Vec<Vec<u32>>, BoxError> + Send + Sync + 'static {
    let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    let sequence = |text: &str| text.split(' ').map(|token| Ok(token.parse()?)).collect();
    move |text| {
        assert!(texts != ["panic"]);
        texts[text].split('/').map(sequence).collect()
    }
}

impl Fixture {
    fn new(workers: usize, queue: usize) -> Self {
        let (open, gate) = channel();
        let (send, seen) = channel();
        let gate = Arc::new(Mutex::new(gate));
        let started = Arc::new(AtomicUsize::new(1));
        let engine = move || Box::new(Gated { gate: Arc::clone(&gate), seen: send.clone() }) as Box<dyn Engine<_, _>>;
        let first = engine();
        let engine = Mutex::new(engine);
        let count = Arc::clone(&started);
        let config = WorkerConfig {
            name: "test",
            start: Box::new(move || {
                count.fetch_add(1, Ordering::SeqCst);
                Ok(engine.lock().unwrap()())
            }),
            workers,
            batch_tokens: 2,
            queue,
        };
        Self { workers: Workers::start(config, first).unwrap(), open: Some(open), seen, started }
    }

    /// Waits until so many workers are idle.
    fn wait_until_idle(&self, workers: usize) {
        while self.workers.shared.lock().idle < workers {
            thread::yield_now();
        }
    }

    fn open(mut self) -> Self {
        self.open = None;
        self
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<Vec<f32>>>, WorkError> {
        pollster::block_on(self.workers.run(texts.len(), split(texts), Priority::Indexing))
    }
}

fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn vectors_come_in_the_order_of_texts_and_chunks() {
    let fixture = Fixture::new(3, 8).open();
    let texts: Vec<String> = (0..50)
        .map(|n| format!("{n} 0/{}", 100 + n))
        .map(|text| text.replace("13 ", "12 ").replace("14 ", "12 "))
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let embeddings = fixture.embed(&texts).unwrap();
    assert_eq!(embeddings.len(), 50);
    for (n, chunks) in (0_u8..).zip(&embeddings) {
        let first = if n == 13 || n == 14 { 12 } else { n };
        assert_eq!(*chunks, [[f32::from(first)], [f32::from(100 + n)]]);
    }
}

#[test]
fn a_request_without_inputs_is_answered() {
    assert!(Fixture::new(1, 1).embed(&[]).unwrap().is_empty());
}

#[test]
fn a_question_goes_before_the_batches_that_wait() {
    let fixture = Fixture::new(1, 8);
    let mut indexing = pin!(fixture.workers.run(1, split(&["1 0/2 0/3 0"]), Priority::Indexing));
    assert!(poll(indexing.as_mut()).is_pending());
    assert_eq!(fixture.seen.recv().unwrap(), [[1, 0]]);
    let mut question = pin!(fixture.workers.run(1, split(&["9 0"]), Priority::Query));
    assert!(poll(question.as_mut()).is_pending());
    let fixture_open = fixture.open.as_ref().unwrap();
    fixture_open.send(()).unwrap();
    assert_eq!(fixture.seen.recv().unwrap(), [[9, 0]]);
    for _ in 0..3 {
        fixture_open.send(()).unwrap();
    }
    assert_eq!(pollster::block_on(question).unwrap(), [[[9.0]]]);
    assert_eq!(pollster::block_on(indexing).unwrap(), [[[1.0], [2.0], [3.0]]]);
}

#[test]
fn callers_wait_when_the_queue_is_full() {
    let fixture = Fixture::new(1, 1);
    let mut first = pin!(fixture.workers.run(1, split(&["1"]), Priority::Indexing));
    let mut second = pin!(fixture.workers.run(1, split(&["2"]), Priority::Indexing));
    assert!(poll(first.as_mut()).is_pending());
    assert!(poll(second.as_mut()).is_pending());
    assert_eq!(fixture.seen.recv().unwrap(), [[1]]);
    assert_eq!(fixture.workers.shared.lock().waiting(), 0, "the second was let in");
    fixture.open.as_ref().unwrap().send(()).unwrap();
    assert_eq!(pollster::block_on(first).unwrap(), [[[1.0]]]);
    fixture.open.as_ref().unwrap().send(()).unwrap();
    assert_eq!(pollster::block_on(second).unwrap(), [[[2.0]]]);
}

#[test]
fn work_that_nobody_waits_for_is_given_up() {
    let fixture = Fixture::new(1, 8);
    {
        let mut dropped = pin!(fixture.workers.run(1, split(&["1 0/2 0/3 0"]), Priority::Indexing));
        assert!(poll(dropped.as_mut()).is_pending());
        assert_eq!(fixture.seen.recv().unwrap(), [[1, 0]]);
    }
    let fixture = fixture.open();
    assert_eq!(fixture.embed(&["7"]).unwrap(), [[[7.0]]]);
    assert_eq!(fixture.seen.recv().unwrap(), [[7]]);
}

#[test]
fn workers_start_only_when_work_piles_up() {
    let fixture = Fixture::new(3, 8).open();
    fixture.embed(&["1", "2", "3"]).unwrap();
    assert_eq!(fixture.started.load(Ordering::SeqCst), 1);
    let many = vec!["1 2"; 40];
    fixture.embed(&many).unwrap();
    let Fixture { workers, started, .. } = fixture;
    drop(workers);
    assert_eq!(started.load(Ordering::SeqCst), 3);
}

#[test]
fn a_panic_fails_one_request_and_no_more() {
    let fixture = Fixture::new(1, 8).open();
    for (text, why) in [("13", "the model's worker panicked"), ("panic", "the tokenizer panicked")] {
        let Err(WorkError::Failed(source)) = fixture.embed(&[text]) else { panic!("{text} has a vector") };
        assert_eq!(source.to_string(), why);
    }
    assert_eq!(fixture.embed(&["7"]).unwrap(), [[[7.0]]]);
}

#[test]
fn errors_of_tokenizer_and_model_reach_the_caller() {
    let fixture = Fixture::new(1, 8).open();
    assert!(matches!(fixture.embed(&["x"]), Err(WorkError::Failed(_))));
    assert!(matches!(fixture.embed(&["1", "14", "2 2"]), Err(WorkError::BadOutput(what)) if what == "nonsense"));
    assert_eq!(fixture.embed(&["7"]).unwrap(), [[[7.0]]]);
}

#[test]
fn idle_workers_help_to_split_a_request() {
    let fixture = Fixture::new(2, 8).open();
    // Enough to start the second worker.
    fixture.embed(&["1"; 50]).unwrap();
    assert_eq!(fixture.workers.shared.lock().started, 2);
    fixture.wait_until_idle(2);
    let (said, heard) = channel();
    let (said, heard) = (Mutex::new(said), Mutex::new(heard));
    let alone = Arc::new(Mutex::new(false));
    let result = Arc::clone(&alone);
    let split = move |text| {
        // The first text waits for one of another block, which only another worker can split.
        match text {
            0 => *result.lock().unwrap() = heard.lock().unwrap().recv_timeout(Duration::from_secs(20)).is_err(),
            40 => said.lock().unwrap().send(()).unwrap(),
            _ => {}
        }
        Ok(vec![vec![1_u32]])
    };
    let outputs = pollster::block_on(fixture.workers.run(41, split, Priority::Indexing)).unwrap();
    assert_eq!(outputs.len(), 41);
    assert!(!*alone.lock().unwrap(), "nobody helped");
}

#[test]
fn a_question_goes_before_what_is_left_to_split() {
    let fixture = Fixture::new(1, 8).open();
    let (begun, first) = channel();
    let (go_on, may) = channel();
    let (begun, may) = (Mutex::new(begun), Mutex::new(may));
    let slow = move |text: usize| {
        if text == 0 {
            begun.lock().unwrap().send(()).unwrap();
            may.lock().unwrap().recv().unwrap();
        }
        Ok(vec![vec![u32::try_from(text).unwrap() % 10, 0]])
    };
    let mut indexing = pin!(fixture.workers.run(100, slow, Priority::Indexing));
    assert!(poll(indexing.as_mut()).is_pending());
    first.recv().unwrap();
    let mut question = pin!(fixture.workers.run(1, split(&["99 0"]), Priority::Query));
    assert!(poll(question.as_mut()).is_pending());
    go_on.send(()).unwrap();
    assert_eq!(fixture.seen.recv().unwrap(), [[99, 0]], "before any batch of the other");
    assert_eq!(pollster::block_on(question).unwrap(), [[[99.0]]]);
    assert_eq!(pollster::block_on(indexing).unwrap().len(), 100);
}

#[test]
fn a_request_that_is_dropped_while_it_is_split_lets_the_next_one_in() {
    let fixture = Fixture::new(2, 1).open();
    let (begun, first) = channel();
    let (go_on, may) = channel::<()>();
    let (begun, may) = (Mutex::new(begun), Mutex::new(may));
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    {
        let slow = move |text: usize| {
            counted.fetch_add(1, Ordering::SeqCst);
            if text == 0 {
                begun.lock().unwrap().send(()).unwrap();
                let _ = may.lock().unwrap().recv();
            }
            Ok(vec![vec![1_u32]])
        };
        let mut dropped = pin!(fixture.workers.run(100, slow, Priority::Indexing));
        assert!(poll(dropped.as_mut()).is_pending());
        first.recv().unwrap();
    }
    drop(go_on);
    assert_eq!(fixture.embed(&["7"]).unwrap(), [[[7.0]]]);
    let calls = calls.load(Ordering::SeqCst);
    assert!(calls < 100, "{calls} texts were split for nobody");
}
