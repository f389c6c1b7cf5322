//! The fuzz targets on stable: each input of the corpus and mutations of it, the same on every machine, with a bound on
//! memory and on work. `MEMORY_FUZZ_MUTATIONS` asks for more of them.
//!
//! A failure leaves its input in the directory that `MEMORY_FUZZ_FAILURES` names, and its number is in the message.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "helpers of tests")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    env, fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

use memory_core::proof::Proof;
use memory_store::fuzzing;

/// Mutations of each input, unless more are requested; a fifth of that for whole logs, which take longest.
const MUTATIONS: u64 = 1_000;
/// Limit of the memory that reading an input takes at once: a factor of its length, and bytes in addition. The target
/// states what the input may need beyond that.
const MEMORY: (u64, u64) = (64, 1 << 20);
/// Limit of the bytes that are scanned for frames: a factor of the bytes that are read, and bytes in addition.
const WORK: (u64, u64) = (256, 1 << 20);

/// Counts what each thread holds, since tests run side by side.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    static HELD: Cell<i64> = const { Cell::new(0) };
    static MOST: Cell<i64> = const { Cell::new(0) };
}

fn count(bytes: usize, is_new: bool) {
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    // The thread may be ending, and its counters be gone.
    let _ = HELD.try_with(|held| {
        let now = if is_new { held.get().saturating_add(bytes) } else { held.get().saturating_sub(bytes) };
        held.set(now);
        let _ = MOST.try_with(|most| most.set(most.get().max(now)));
    });
}

// SAFETY: everything is left to the system's allocator.
#[expect(unsafe_code, reason = "only a global allocator sees every allocation")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), true);
        // SAFETY: as the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(layout.size(), false);
        // SAFETY: as the caller's.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), true);
        // SAFETY: as the caller's.
        unsafe { System.alloc_zeroed(layout) }
    }
}

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `limit`, or 0.
    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.roll() % (limit.max(1) as u64)).unwrap()
    }
}

/// Bytes that begin numbers, end ranges, or ask for much.
const TELLING: [u8; 12] = [0, 1, 2, 13, 0x7F, 0x80, 0xF7, 250, 251, 252, 253, 0xFF];
const TELLING_NUMBERS: [u32; 8] = [0, 1, 64, 0xFFFF, 1 << 24, 1 << 28, i32::MAX as u32, u32::MAX];

/// One to six changes of an input.
fn mutate(input: &[u8], other: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..=dice.below(6) {
        let at = dice.below(bytes.len());
        let until = (at + 1 + dice.below(64)).min(bytes.len());
        match dice.below(9) {
            0 | 1 => {
                let bit = dice.below(8);
                bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << bit);
            }
            2 | 3 => {
                let telling = TELLING[dice.below(TELLING.len())];
                bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = telling);
            }
            4 => {
                let number = TELLING_NUMBERS[dice.below(TELLING_NUMBERS.len())].to_le_bytes();
                bytes.iter_mut().skip(at).zip(number).for_each(|(byte, new)| *byte = new);
            }
            5 => bytes.truncate(at),
            6 => drop(bytes.drain(at..until)),
            7 => {
                let again = bytes[at..until].to_vec();
                let to = dice.below(bytes.len());
                bytes.splice(to..to, again);
            }
            _ => {
                let from = dice.below(other.len());
                let piece = &other[from..(from + 64).min(other.len())];
                bytes.splice(at..until, piece.iter().copied());
            }
        }
    }
    bytes
}

/// Bytes of the log that a target reads next to its input; 0 for most targets.
fn log_bytes(target: &str) -> u64 {
    let whole = ["checkpoint", "watermark"].contains(&target).then(|| fs::metadata(corpus("recovery").join("whole")));
    whole.map_or(0, |file| file.unwrap().len())
}

fn corpus(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz").join("corpus").join(target)
}

/// Runs a target on its corpus and on mutations of it.
fn run(name: &str, target: fn(&[u8]) -> u64) {
    let mutations = env::var("MEMORY_FUZZ_MUTATIONS").map_or(MUTATIONS, |count| count.parse().unwrap());
    let mutations = if name == "recovery" { mutations.div_ceil(5) } else { mutations };
    let mut paths: Vec<_> = fs::read_dir(corpus(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let inputs: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
    let log_bytes = log_bytes(name);
    for (path, input) in paths.iter().zip(&inputs) {
        for number in 0..mutations {
            let mut dice = Dice(number << 8 | input.len() as u64);
            let other = &inputs[dice.below(inputs.len())];
            let mutated = if number == 0 { input.clone() } else { mutate(input, other, &mut dice) };
            let _: u64 = fuzzing::take_scanned();
            let before = HELD.get();
            MOST.set(before);
            let outcome = catch_unwind(AssertUnwindSafe(|| target(&mutated)));
            let (memory, work) = (MOST.get().abs_diff(before), fuzzing::take_scanned());
            let bytes = mutated.len() as u64 + log_bytes;
            let fits =
                |asked: u64| memory <= bytes * MEMORY.0 + MEMORY.1 + asked && work <= (bytes + asked) * WORK.0 + WORK.1;
            if outcome.as_ref().is_ok_and(|asked| fits(*asked)) {
                continue;
            }
            if let Some(dir) = env::var_os("MEMORY_FUZZ_FAILURES") {
                fs::write(Path::new(&dir).join(format!("{name}-{number}")), &mutated).unwrap();
            }
            panic!(
                "{name}: mutation {number} of {}, {bytes} bytes: {memory} bytes of memory, {work} of work, {outcome:?}",
                path.display()
            );
        }
    }
}

#[test]
fn records() {
    run("record", fuzzing::record);
}

#[test]
fn logs() {
    run("recovery", fuzzing::recovery);
}

#[test]
fn checkpoints() {
    run("checkpoint", fuzzing::checkpoint);
}

#[test]
fn watermarks() {
    run("watermark", fuzzing::watermark);
}

#[test]
fn compressed_segments() {
    run("compressed", fuzzing::compressed);
}

#[test]
fn exports() {
    run("export", fuzzing::export);
}

#[test]
fn proofs() {
    run("proof", |bytes| {
        if let Ok(proof) = Proof::parse(bytes) {
            let holds = proof.verify().is_ok();
            let again = Proof::parse(proof.to_json().to_string().as_bytes()).unwrap();
            assert!(!holds || again == proof, "a proof that holds reads back as another");
        }
        0
    });
}

#[test]
fn memory_is_counted() {
    let before = HELD.get();
    MOST.set(before);
    drop(vec![0u8; 5 << 20]);
    assert!(MOST.get() - before >= 5 << 20 && HELD.get() - before < 1 << 20);
}
