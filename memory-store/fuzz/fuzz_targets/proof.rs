//! A proof, which must read the same after it was written again.
#![no_main]

use memory_core::proof::Proof;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(proof) = Proof::parse(bytes) else { return };
    let holds = proof.verify().is_ok();
    let again = Proof::parse(proof.to_json().to_string().as_bytes()).expect("what was written can be read");
    assert!(!holds || again == proof, "a proof that holds reads back as another");
});
