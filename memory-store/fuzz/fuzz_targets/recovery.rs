//! A whole log, plain or compressed, which recovery must read without a panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    memory_store::fuzzing::recovery(bytes);
});
