//! Stores that fail: no wrong byte is ever seen.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use pagemill_pager::store::{Compressed, Slot, Store, StoreError, Unit, Usage};
use pagemill_pager::{Count, WhenStoreFails};
use rustix::process::{WaitOptions, waitpid};

use super::memory::Memory;
use super::{config, pager};

const MIB: u64 = 1 << 20;

/// A store that fails on demand, or changes a bit.
#[derive(Debug)]
struct Unreliable {
    inner: Compressed,
    switches: Arc<Switches>,
}

#[derive(Debug, Default)]
struct Switches {
    fails: AtomicBool,
    damages: AtomicBool,
    failures: AtomicU64,
}

impl Unreliable {
    fn check(&self) -> Result<(), StoreError> {
        if self.switches.fails.load(Ordering::SeqCst) {
            self.switches.failures.fetch_add(1, Ordering::SeqCst);
            let used_bytes = 7;
            return Err(StoreError::Full {
                store: self.name(),
                used_bytes,
            });
        }
        Ok(())
    }
}

impl Store for Unreliable {
    fn name(&self) -> String {
        "an unreliable store".to_owned()
    }

    fn put(&self, units: &[&Unit], slots: &mut [Slot]) -> Result<u64, StoreError> {
        self.check()?;
        self.inner.put(units, slots)
    }

    fn get(&self, slots: &[Slot], units: &mut [u8]) -> Result<(), StoreError> {
        self.check()?;
        self.inner.get(slots, units)?;
        if self.switches.damages.load(Ordering::SeqCst) {
            units[99] ^= 4;
        }
        Ok(())
    }

    fn free(&self, slots: &[Slot]) {
        self.inner.free(slots);
    }

    fn usage(&self) -> Usage {
        self.inner.usage()
    }

    fn is_copied_by_fork(&self) -> bool {
        true
    }
}

fn unreliable() -> (Box<dyn Store>, Arc<Switches>) {
    let switches = Arc::new(Switches::default());
    let store = Unreliable {
        inner: Compressed::new(u64::MAX),
        switches: Arc::clone(&switches),
    };
    (Box::new(store), switches)
}

fn write_all(memory: Memory) {
    for at in (0..4 * MIB).step_by(4096) {
        memory.write(at, 1 + (at / 4096) as u8 % 100);
    }
}

fn is_whole(memory: Memory) -> bool {
    (0..4 * MIB)
        .step_by(4096)
        .all(|at| memory.read(at) == 1 + (at / 4096) as u8 % 100)
}

#[test]
fn waiting_threads_go_on_when_the_store_works_again() {
    let (store, switches) = unreliable();
    let mut config = config(MIB, 1);
    config.when_store_fails = WhenStoreFails::Wait;
    let Some(pager) = pager(&config, store) else {
        return;
    };
    let allocation = pager.allocate(4 * MIB).expect("memory");
    let memory = Memory::new(allocation.range());
    write_all(memory);
    switches.fails.store(true, Ordering::SeqCst);
    let reader = std::thread::spawn(move || is_whole(memory));
    while switches.failures.load(Ordering::SeqCst) < 2 {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(!reader.is_finished());
    switches.fails.store(false, Ordering::SeqCst);
    assert!(reader.join().expect("a thread"));
    assert!(pager.counters().get(Count::StoreFailures) >= 2);
}

/// Runs a child that is to be stopped, unless its `run` returns false; what it wrote to standard error.
pub fn stopped(run: impl FnOnce() -> bool) -> Option<String> {
    let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
    // SAFETY: the child starts threads of its own, and ends without running anything of the parent's.
    match unsafe { libc::fork() } {
        0 => {
            rustix::stdio::dup2_stderr(&writer).expect("standard error");
            let code = if run() { 33 } else { 77 };
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(code) };
        }
        child => {
            drop(writer);
            let mut text = Vec::new();
            std::io::Read::read_to_end(&mut std::fs::File::from(reader), &mut text).expect("text");
            let child = rustix::process::Pid::from_raw(child);
            let (_, status) = waitpid(child, WaitOptions::empty())
                .expect("a child")
                .expect("it ended");
            if status.exit_status() == Some(77) {
                return None;
            }
            assert_eq!(status.exit_status(), Some(1), "{status:?}");
            Some(String::from_utf8(text).expect("text"))
        }
    }
}

/// Writes to all memory, and reads it after something broke; false where there are no faults to answer.
fn writes_and_reads(break_it: fn(&Switches)) -> bool {
    let (store, switches) = unreliable();
    let Some(pager) = pager(&config(MIB, 1), store) else {
        return false;
    };
    let allocation = pager.allocate(4 * MIB).expect("memory");
    let memory = Memory::new(allocation.range());
    write_all(memory);
    break_it(&switches);
    let _ = is_whole(memory);
    true
}

#[test]
fn a_program_whose_store_is_full_is_stopped_with_a_message() {
    let run = || writes_and_reads(|switches| switches.fails.store(true, Ordering::SeqCst));
    let Some(text) = stopped(run) else {
        return;
    };
    assert_eq!(
        text,
        "pagemill pager: an unreliable store is full at 7 bytes; give it more room, or add a second store; \
         the program was stopped, because its memory would be wrong\n"
    );
}

#[test]
fn a_program_whose_store_returns_other_bytes_is_stopped_before_it_sees_them() {
    let run = || writes_and_reads(|switches| switches.damages.store(true, Ordering::SeqCst));
    let Some(text) = stopped(run) else {
        return;
    };
    assert!(
        text.contains("an unreliable store returned other bytes"),
        "{text}"
    );
}
