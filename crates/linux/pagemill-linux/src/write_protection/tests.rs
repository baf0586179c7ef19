use super::*;
use crate::{Backing, Mapping, memory_file};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// A writer in a tight loop neither goes on nor loses a write.
#[test]
fn a_writer_waits_and_then_goes_on() {
    let bytes = 1 << 16;
    let file = memory_file("hold", bytes).expect("a file");
    let mapping = Mapping::new(Backing::File(file.as_fd()), bytes as usize, true);
    let mapping = mapping.expect("mapped");
    // SAFETY: aligned, mapped as long as `mapping` is, and used atomically only.
    let word = unsafe { &*(mapping.address() as *const AtomicU64) };
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut written = 0;
            while !is_over.load(Ordering::Relaxed) {
                written += 1;
                word.store(written, Ordering::Relaxed);
                assert_eq!(word.load(Ordering::Relaxed), written);
            }
        });
        for _ in 0..20 {
            let start = mapping.address() as u64;
            let Ok(hold) = WriteProtection::new(start..start + bytes) else {
                is_over.store(true, Ordering::Relaxed);
                return;
            };
            let held = word.load(Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(1));
            assert_eq!(word.load(Ordering::Relaxed), held);
            drop(hold);
            while word.load(Ordering::Relaxed) == held {
                assert!(!writer.is_finished());
                std::thread::yield_now();
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
}
