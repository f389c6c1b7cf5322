//! A checkpoint next to a log.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    memory_store::fuzzing::checkpoint(bytes);
});
