//! A compressed segment.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    memory_store::fuzzing::compressed(bytes);
});
