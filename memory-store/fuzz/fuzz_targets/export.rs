//! An exported conversation.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    memory_store::fuzzing::export(bytes);
});
