//! Threads that answer their own faults, by a signal.

use std::os::fd::AsFd;

use pagemill_pager::store::Compressed;
use pagemill_pager::{Config, Count, Pager, PagerError};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus, waitpid};

use super::memory::Memory;
use super::{config, pager};

const MIB: u64 = 1 << 20;

fn in_thread() -> Config {
    let mut config = config(MIB, 1);
    config.in_thread = true;
    config
}

fn started() -> Option<Pager> {
    pager(&in_thread(), Box::new(Compressed::new(u64::MAX)))
}

/// How a child ends that does `act` and then ends with its result.
fn child(act: impl FnOnce() -> i32) -> WaitStatus {
    // SAFETY: the child ends without running anything of the parent's.
    match unsafe { libc::fork() } {
        0 => {
            let code = act();
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(code) };
        }
        child => {
            let ended = waitpid(Pid::from_raw(child), WaitOptions::empty());
            ended.expect("a child").expect("it ended").1
        }
    }
}

#[test]
fn faults_keep_to_the_budget_and_system_calls_fail_rather_than_see_zeros() {
    let Some(pager) = started() else { return };
    let allocation = pager.allocate(4 * MIB).expect("memory");
    let memory = Memory::new(allocation.range());
    for at in (0..4 * MIB).step_by(4096) {
        memory.write(at, (at / 4096) as u8 | 1);
    }
    let counters = pager.counters();
    assert_eq!(counters.get(Count::ResidentUnits), MIB / 4096);
    assert!(counters.get(Count::WriteFaults) > 0, "writes are known");
    let (_reader, writer) = rustix::pipe::pipe().expect("a pipe");
    // SAFETY: within memory that the test holds; the slice lives for one system call.
    let first = unsafe { std::slice::from_raw_parts(memory.address() as *const u8, 16) };
    assert_eq!(rustix::io::write(writer.as_fd(), first), Err(Errno::FAULT));
    assert_eq!(memory.read(0), 1);
    assert_eq!(rustix::io::write(writer.as_fd(), first), Ok(16));
}

#[test]
fn two_pagers_answer_for_their_own_memory() {
    let (Some(one), Some(other)) = (started(), started()) else {
        return;
    };
    let (a, b) = (one.allocate(2 * MIB), other.allocate(2 * MIB));
    let (a, b) = (a.expect("memory"), b.expect("memory"));
    let (first, second) = (Memory::new(a.range()), Memory::new(b.range()));
    for at in (0..2 * MIB).step_by(4096) {
        first.write(at, (at >> 12) as u8);
        second.write(at, (at >> 12) as u8 ^ 0xff);
    }
    drop((a, one));
    let is_right = |at: u64| second.read(at) == (at >> 12) as u8 ^ 0xff;
    assert!((0..2 * MIB).step_by(4096).all(is_right));
}

#[test]
fn bus_errors_of_other_memory_end_the_program_as_before() {
    let status = child(|| {
        let Some(_pager) = started() else { return 77 };
        let file = tempfile::tempfile().expect("a file");
        file.set_len(4096).expect("a length");
        use rustix::mm::{MapFlags, ProtFlags, mmap};
        let null = std::ptr::null_mut();
        // SAFETY: the kernel chooses free addresses.
        let start = unsafe { mmap(null, 4096, ProtFlags::READ, MapFlags::SHARED, &file, 0) };
        let start = start.expect("a mapping");
        file.set_len(0).expect("a length");
        // SAFETY: the page is mapped; that the file has lost it is what the test is about.
        i32::from(unsafe { start.cast::<u8>().read_volatile() })
    });
    if status.exit_status() != Some(77) {
        assert_eq!(status.terminating_signal(), Some(libc::SIGBUS));
    }
}

#[test]
fn a_child_has_none_of_the_memory() {
    let Some(pager) = started() else { return };
    let allocation = pager.allocate(MIB).expect("memory");
    let memory = Memory::new(allocation.range());
    memory.write(5, 9);
    let status = child(|| i32::from(memory.read(5)));
    assert_eq!(status.terminating_signal(), Some(libc::SIGSEGV));
    pager.before_fork();
    let status = child(|| match pager.in_child() {
        Err(PagerError::InThread) => 3,
        _ => 4,
    });
    pager.in_parent();
    assert_eq!(status.exit_status(), Some(3));
    assert_eq!(memory.read(5), 9);
}
