//! Arbitrary bytes as PTX: a module or an error, never a panic, never much memory.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pagemill_ptx::parse::parse;

fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = parse("fuzz", &String::from_utf8_lossy(bytes)) {
        assert!(error.line >= 1);
        assert!(!error.to_string().is_empty());
    }
});
