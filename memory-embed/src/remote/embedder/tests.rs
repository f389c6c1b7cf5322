//! Tests of chunks, batches, concurrency and deadlines with a protocol without a network.

use std::{
    pin::pin,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Waker},
    time::Duration,
};

use tokio::sync::Semaphore as Gate;

use super::*;
use crate::remote::cause_of;

/// Returns for each text the vector (its length in bytes, 1), once the gate lets a call through.
#[derive(Debug)]
struct Fake {
    gate: Gate,
    calls: Mutex<Vec<Vec<String>>>,
    running: AtomicUsize,
    most: AtomicUsize,
    /// Bytes of a text, at most; longer ones are refused.
    longest: usize,
    /// Texts of a call, at most; larger calls hang.
    bearable: usize,
    /// Calls that will be throttled.
    throttles: AtomicUsize,
}

impl Fake {
    fn new() -> Self {
        Self {
            gate: Gate::new(Gate::MAX_PERMITS),
            calls: Mutex::default(),
            running: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            longest: usize::MAX,
            bearable: usize::MAX,
            throttles: AtomicUsize::new(0),
        }
    }
}

struct Running<'a>(&'a AtomicUsize);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Protocol for Arc<Fake> {
    async fn call(&self, texts: &[String], _purpose: Purpose) -> Result<Vec<Vec<f32>>, Failure> {
        let now = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        let _running = Running(&self.running);
        self.most.fetch_max(now, Ordering::SeqCst);
        self.calls.lock().unwrap().push(texts.to_vec());
        self.gate.acquire().await.unwrap().forget();
        if texts.len() > self.bearable {
            std::future::pending::<()>().await;
        }
        let fewer = |left: usize| left.checked_sub(1);
        if self.throttles.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fewer).is_ok() {
            return Err(RemoteError::Throttled { attempts: 1, detail: "slow down".to_owned() }.into());
        }
        if texts.iter().any(|text| text.len() > self.longest) {
            return Err(RemoteError::TooLong { detail: "512 tokens at most".to_owned() }.into());
        }
        if texts.iter().any(|text| text == "zero") {
            return Ok(vec![vec![0.0, 0.0]; texts.len()]);
        }
        if texts.iter().any(|text| text == "few") {
            return Ok(Vec::new());
        }
        #[expect(clippy::cast_precision_loss, reason = "short texts")]
        Ok(texts.iter().map(|text| vec![text.len() as f32, 1.0]).collect())
    }
}

const LIMITS: Limits = Limits { tokens: 64, texts: 3, call_tokens: 1000 };

fn start(fake: &Arc<Fake>, limits: Limits, options: RemoteOptions) -> Remote<Arc<Fake>> {
    Remote::start(Arc::clone(fake), ModelId::new("fake"), 2, limits, options).unwrap()
}

fn options() -> RemoteOptions {
    RemoteOptions::default().chunk_tokens(64).overlap_tokens(0)
}

fn unit(length: f32) -> Vec<f32> {
    let norm = (length * length + 1.0).sqrt();
    vec![length / norm, 1.0 / norm]
}

fn assert_near(a: &[f32], b: &[f32]) {
    assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6), "{a:?} and {b:?}");
}

#[test]
fn vectors_come_in_the_order_of_texts_and_have_unit_length() {
    let fake = Arc::new(Fake::new());
    let remote = start(&fake, LIMITS, options());
    let texts: Vec<String> = (1..=10).map(|n| "x".repeat(n)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let found = pollster::block_on(remote.documents(&texts)).unwrap();
    assert_eq!(found.len(), 10);
    for (text, chunks) in texts.iter().zip(found) {
        assert_eq!(chunks.len(), 1);
        assert_near(&chunks[0], &unit(f32::from(u8::try_from(text.len()).unwrap())));
    }
    let mut sizes: Vec<usize> = fake.calls.lock().unwrap().iter().map(Vec::len).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [1, 3, 3, 3], "texts of each call");
}

#[test]
fn a_call_holds_no_more_tokens_than_it_may() {
    let fake = Arc::new(Fake::new());
    let limits = Limits { call_tokens: 20, ..LIMITS };
    let remote = start(&fake, limits, options());
    let text = "one two six ten ".repeat(2);
    pollster::block_on(remote.documents(&[&text, &text, &text, &text, &text])).unwrap();
    assert_eq!(fake.calls.lock().unwrap().iter().map(Vec::len).max(), Some(2));
}

#[test]
fn no_more_calls_run_at_once_than_may() {
    let mut fake = Fake::new();
    fake.gate = Gate::new(0);
    let fake = Arc::new(fake);
    let remote = start(&fake, Limits { texts: 1, ..LIMITS }, options().concurrency(3));
    let texts = vec!["a word"; 12];
    std::thread::scope(|scope| {
        let two = [(); 2].map(|()| scope.spawn(|| pollster::block_on(remote.documents(&texts)).unwrap()));
        while fake.running.load(Ordering::SeqCst) < 3 {
            std::thread::yield_now();
        }
        for _ in 0..24 {
            while fake.running.load(Ordering::SeqCst) == 0 {
                std::thread::yield_now();
            }
            fake.gate.add_permits(1);
        }
        for done in two {
            assert_eq!(done.join().unwrap().len(), 12);
        }
    });
    assert_eq!(fake.calls.lock().unwrap().len(), 24);
    assert_eq!(fake.most.load(Ordering::SeqCst), 3, "calls at once");
}

#[test]
fn a_request_that_nobody_waits_for_is_given_up() {
    let mut fake = Fake::new();
    fake.gate = Gate::new(0);
    let fake = Arc::new(fake);
    let remote = start(&fake, LIMITS, options());
    {
        let mut request = pin!(remote.documents(&["a", "b", "c", "d"]));
        assert!(request.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        while fake.running.load(Ordering::SeqCst) < 2 {
            std::thread::yield_now();
        }
    }
    // Their futures are dropped, which releases the permits.
    while fake.running.load(Ordering::SeqCst) > 0 {
        std::thread::yield_now();
    }
    fake.gate.add_permits(1);
    assert_eq!(pollster::block_on(remote.documents(&["e"])).unwrap().len(), 1);
}

#[test]
fn a_long_text_has_several_vectors_and_a_long_question_one() {
    let fake = Arc::new(Fake::new());
    let remote = start(&fake, LIMITS, options());
    let long = "A sentence of some words. ".repeat(40);
    let found = pollster::block_on(remote.documents(&["short", &long])).unwrap();
    assert_eq!(found[0].len(), 1);
    assert!(found[1].len() > 3, "{} chunks", found[1].len());
    let sent: usize = fake.calls.lock().unwrap().concat().iter().map(|chunk| chunk.matches("sentence").count()).sum();
    assert_eq!(sent, 40, "sentences sent");
    let vector = pollster::block_on(remote.query(&long)).unwrap();
    assert!((vector.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-6);
}

#[test]
fn a_chunk_that_the_model_finds_too_long_is_cut_again() {
    let mut fake = Fake::new();
    fake.longest = 70;
    let fake = Arc::new(fake);
    let remote = start(&fake, LIMITS, options());
    let long = "Words of a language ".repeat(8);
    // Two other texts of the call that stay whole; one is longer than the pieces of the long text.
    let mate = "Some other words ".repeat(4);
    let alone = pollster::block_on(remote.documents(&[long.trim()])).unwrap();
    let found = pollster::block_on(remote.documents(&["short", long.trim(), mate.trim()])).unwrap();
    assert_eq!((found[0].len(), &found[2]), (1, &vec![unit(67.0)]));
    assert!(found[1].len() >= 3, "{} pieces", found[1].len());
    assert_eq!(found[1], alone[0], "whatever came with it");
}

#[test]
fn a_service_that_reads_less_than_it_is_known_to_is_given_shorter_pieces() {
    let mut fake = Fake::new();
    fake.longest = 20;
    let remote = start(&Arc::new(fake), LIMITS, options());
    let found = pollster::block_on(remote.documents(&["Words of a language ".repeat(4).trim()])).unwrap();
    assert!(found[0].len() >= 4, "{} pieces", found[0].len());
}

#[test]
fn a_question_is_asked_while_documents_wait_for_their_next_attempt() {
    let fake = Arc::new(Fake::new());
    fake.throttles.store(1, Ordering::SeqCst);
    let hour = Duration::from_secs(3600);
    let slow = options().concurrency(1).first_pause(hour).longest_pause(hour);
    let slow = slow.document_deadline(10 * hour).query_deadline(Duration::from_secs(60));
    let remote = start(&fake, LIMITS, slow);
    let mut documents = pin!(remote.documents(&["a"]));
    while fake.throttles.load(Ordering::SeqCst) > 0 {
        assert!(documents.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        std::thread::yield_now();
    }
    assert_eq!(pollster::block_on(remote.query("b")).unwrap(), unit(1.0));
}

#[test]
fn a_text_that_cannot_be_cut_to_fit_is_an_error() {
    let mut fake = Fake::new();
    fake.longest = 2;
    let remote = start(&Arc::new(fake), LIMITS, options());
    let error = pollster::block_on(remote.documents(&["word"])).unwrap_err();
    assert!(matches!(cause_of(&error), RemoteError::TooLong { .. }), "{error}");
    assert!(matches!(error, EmbedError::Backend { .. }));
}

#[test]
fn what_is_no_vector_is_refused() {
    let remote = start(&Arc::new(Fake::new()), LIMITS, options());
    for (text, what) in [("zero", "without a direction"), ("few", "0 vectors for 1 texts")] {
        let error = pollster::block_on(remote.documents(&[text])).unwrap_err();
        assert!(matches!(&error, EmbedError::BadOutput { what: said, .. } if said.contains(what)), "{error}");
    }
    let fake = Arc::new(Fake::new());
    let remote = Remote::start(fake, ModelId::new("fake"), 3, LIMITS, options()).unwrap();
    let error = pollster::block_on(remote.documents(&["a"])).unwrap_err();
    assert!(error.to_string().contains("vectors of 2 dimensions, not 3"), "{error}");
}

#[test]
fn a_server_that_is_slow_is_asked_for_less_at_a_time() {
    let mut fake = Fake::new();
    fake.bearable = 3;
    let fake = Arc::new(fake);
    let options = options().call_timeout(Duration::from_millis(50)).concurrency(1);
    let remote = start(&fake, Limits { texts: 16, ..LIMITS }, options);
    let texts: Vec<String> = (1..=40).map(|n| "x".repeat(n)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let found = pollster::block_on(remote.documents(&texts)).unwrap();
    assert_eq!(found.len(), 40);
    for (text, chunks) in texts.iter().zip(found) {
        assert_near(&chunks[0], &unit(f32::from(u8::try_from(text.len()).unwrap())));
    }
    let sizes: Vec<usize> = fake.calls.lock().unwrap().iter().map(Vec::len).collect();
    assert_eq!(sizes[..4], [16, 8, 4, 2], "halves, until it gets done");
    assert!(sizes.iter().filter(|size| **size > 8).count() == 1, "the next batches begin with fewer: {sizes:?}");
}

#[test]
fn a_text_that_is_never_done_is_an_error_after_all_attempts() {
    let mut fake = Fake::new();
    fake.bearable = 0;
    let fake = Arc::new(fake);
    let at_once = Duration::from_millis(1);
    let options = options().call_timeout(Duration::from_millis(5)).first_pause(at_once).longest_pause(at_once);
    let remote = start(&fake, LIMITS, options.attempts(3));
    let error = pollster::block_on(remote.documents(&["a"])).unwrap_err();
    assert!(matches!(cause_of(&error), RemoteError::TimedOut { attempts: 3, .. }), "{error}");
    assert!(matches!(error, EmbedError::Unreachable { .. }));
    assert_eq!(fake.calls.lock().unwrap().len(), 3);
}

#[test]
fn a_deadline_ends_a_request() {
    let mut fake = Fake::new();
    fake.gate = Gate::new(0);
    let options = options().document_deadline(Duration::from_secs(60)).query_deadline(Duration::from_millis(20));
    let remote = start(&Arc::new(fake), LIMITS, options);
    let error = pollster::block_on(remote.query("a")).unwrap_err();
    assert!(matches!(error, EmbedError::Unreachable { .. }));
    let RemoteError::Deadline { after } = cause_of(&error) else { panic!("{error}") };
    assert_eq!(*after, Duration::from_millis(20));
}
