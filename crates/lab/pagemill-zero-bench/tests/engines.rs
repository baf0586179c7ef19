//! Every engine that can run here clears everything it is given, and nothing else.

use std::process::{Command, Output};
use std::sync::LazyLock;

use pagemill_linux::{Backing, Mapping};
use pagemill_testkit::{fake_cuda, skip};
use pagemill_zero::engines::{Engine, EngineError, NoOp, Probe};
use pagemill_zero_bench::engines::{ENGINES, by_name};
use proptest::prelude::*;

const BYTES: usize = 4 << 20;

/// Opens every engine that can run here; the others are skipped by name.
fn engines() -> Vec<Box<dyn Engine>> {
    let mut opened = Vec::new();
    for entry in &ENGINES {
        match (entry.open)() {
            Ok(engine) => opened.push(engine),
            Err(error) => skip(&error.to_string()),
        }
    }
    opened
}

/// No byte is 0, and none has the value of its neighbor.
fn marks() -> &'static [u8] {
    static MARKS: LazyLock<Vec<u8>> =
        LazyLock::new(|| (0..BYTES).map(|index| (index % 251) as u8 + 1).collect());
    &MARKS
}

/// What holds of a correct engine: zeroes inside of the ranges, the marks as they were outside.
fn clears_exactly(engine: &mut dyn Engine, ranges: &[(usize, usize)]) -> bool {
    let mut memory = Mapping::new(Backing::Anonymous, BYTES, true).expect("memory");
    memory.bytes_mut().copy_from_slice(marks());
    let mut rest = memory.bytes_mut();
    let mut at = 0;
    let mut pages = Vec::new();
    for &(start, end) in ranges {
        let (before, after) = std::mem::take(&mut rest).split_at_mut(end - at);
        pages.push(&mut before[start - at..]);
        (rest, at) = (after, end);
    }
    let timing = match engine.zero(&mut pages) {
        Ok(timing) => timing,
        Err(error) => panic!("{error}"),
    };
    // Compared as a whole: a loop over bytes takes seconds where tests are little optimized.
    let mut expected = marks().to_vec();
    for &(start, end) in ranges {
        expected[start..end].fill(0);
    }
    let bytes: usize = ranges.iter().map(|(start, end)| end - start).sum();
    timing.bytes == bytes as u64 && memory.bytes() == expected
}

#[test]
fn every_engine_clears_all_of_a_page_and_no_byte_beside_it() {
    for engine in &mut engines() {
        for ranges in [
            &[(0, BYTES)][..],
            &[(4096, 8192), (16384, 2 << 20)],
            &[],
            &[(2 << 20, BYTES)],
        ] {
            assert!(
                clears_exactly(engine.as_mut(), ranges),
                "{} {ranges:?}",
                engine.name()
            );
        }
    }
}

/// Opens the CUDA engine in a process of its own that finds the stand-in for the driver, which writes only when it is waited for.
fn with_a_stand_in_for_cuda(mode: &str, test: &str) -> Option<Output> {
    let folder = fake_cuda::driver(&[])?;
    let mut tests = Command::new(std::env::current_exe().expect("these tests"));
    tests
        .env("LD_LIBRARY_PATH", folder.path())
        .env("FAKE_CUDA", mode)
        .args(["--exact", "--nocapture", test]);
    Some(tests.output().expect("these tests start"))
}

#[test]
fn a_gpu_clears_all_of_a_page_and_no_byte_beside_it() {
    let test = "every_engine_clears_all_of_a_page_and_no_byte_beside_it";
    let Some(output) = with_a_stand_in_for_cuda("", test) else {
        return;
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(!errors.contains("fake CUDA"), "{errors}");
    assert!(!errors.contains("engine cuda cannot run here"), "{errors}");
}

#[test]
fn a_gpu_that_fails_says_whether_it_may_still_write() {
    for (mode, says) in [
        (
            "fail-register",
            "engine cuda failed to clear: cuMemHostRegister",
        ),
        ("fail-synchronize", "engine cuda failed and may still write"),
    ] {
        let test = "every_engine_clears_all_of_a_page_and_no_byte_beside_it";
        let Some(output) = with_a_stand_in_for_cuda(mode, test) else {
            return;
        };
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{mode}");
        assert!(errors.contains(says), "{mode}: {errors}");
        assert!(!errors.contains("fake CUDA"), "{errors}");
    }
}

#[test]
fn an_engine_that_does_nothing_is_caught() {
    assert!(!clears_exactly(&mut NoOp, &[(0, 4096)]));
}

#[test]
fn an_engine_that_is_ready_opens_and_one_that_lacks_something_says_what() {
    for entry in &ENGINES {
        match ((entry.probe)(), (entry.open)()) {
            (Probe::Ready(what), Ok(engine)) => {
                assert!(!what.is_empty());
                assert!(entry.name == "auto" || engine.name() == entry.name);
            }
            (Probe::Missing { enable, .. }, Err(EngineError::Missing { enable: told, .. })) => {
                assert_eq!(enable, told);
            }
            (probe, opened) => panic!("{}: {probe:?}, opened: {}", entry.name, opened.is_ok()),
        }
    }
}

#[test]
fn an_unknown_name_lists_the_known_ones() {
    let message = by_name("gpu").err().expect("unknown").to_string();
    for entry in &ENGINES {
        assert!(message.contains(entry.name), "{message}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Odd starts and lengths are allowed, only slower.
    #[test]
    fn cpu_engines_clear_any_range(start in 0usize..5000, bytes in 0usize..9000) {
        for name in ["avx512", "avx2", "sse2", "clzero", "memset", "auto"] {
            if let Ok(mut engine) = by_name(name) {
                prop_assert!(clears_exactly(engine.as_mut(), &[(start, start + bytes)]), "{name}");
            }
        }
    }
}
