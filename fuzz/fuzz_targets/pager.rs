#![allow(missing_docs)]
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pagemill_fuzz::pager(bytes));
