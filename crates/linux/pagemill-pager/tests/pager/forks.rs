use pagemill_pager::Count;
use rustix::process::{WaitOptions, waitpid};

use super::memory::Memory;
use super::programs::Random;
use super::{config, pager, stores};

const MIB: u64 = 1 << 20;
/// Small: each of its pages is read from a disk and written to one again and again, and some disks do 300 of these a second.
const BYTES: u64 = MIB;
const BUDGET_BYTES: u64 = BYTES / 2;

fn value(at: u64, by: u64) -> u8 {
    (at / 4096 * 7 + by) as u8
}

fn write_all(memory: &Memory, by: u64, random: &mut Random) {
    for _ in 0..200 {
        let at = random.below(BYTES);
        memory.write(at, value(at, by));
    }
    for at in (0..BYTES).step_by(512) {
        memory.write(at, value(at, by));
    }
}

fn holds(memory: &Memory, by: u64) -> bool {
    (0..BYTES)
        .step_by(512)
        .all(|at| memory.read(at) == value(at, by))
}

#[test]
fn parent_and_child_each_have_their_own_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    for store in stores(folder.path()) {
        let Some(pager) = pager(&config(BUDGET_BYTES, 1), store) else {
            return;
        };
        let allocation = pager.allocate(BYTES).expect("memory");
        let memory = Memory::new(allocation.range());
        let mut random = Random(77);
        for round in 0..3 {
            write_all(&memory, round, &mut random);
            pager.before_fork();
            // SAFETY: the child uses the pager, memory and system calls, and ends without running anything of the parent's.
            match unsafe { libc::fork() } {
                0 => {
                    let is_right = pager.in_child().is_ok() && holds(&memory, round) && {
                        write_all(&memory, 100, &mut random);
                        holds(&memory, 100)
                    };
                    // SAFETY: ends the child at once.
                    unsafe { libc::_exit(if is_right { 0 } else { 1 }) };
                }
                child => {
                    pager.in_parent();
                    assert!(child > 0);
                    assert!(holds(&memory, round), "the parent's bytes");
                    write_all(&memory, 50, &mut random);
                    let child = rustix::process::Pid::from_raw(child);
                    let (_, status) = waitpid(child, WaitOptions::empty())
                        .expect("a child")
                        .expect("it ended");
                    assert_eq!(status.exit_status(), Some(0), "the child's bytes");
                    assert!(holds(&memory, 50));
                }
            }
        }
        assert_eq!(pager.counters().get(Count::Forks), 3);
    }
}

#[test]
fn a_child_without_handlers_ends_rather_than_reading_zeros() {
    let store = stores(std::env::temp_dir().as_path()).remove(0);
    let Some(pager) = pager(&config(BUDGET_BYTES, 1), store) else {
        return;
    };
    let allocation = pager.allocate(BYTES).expect("memory");
    let memory = Memory::new(allocation.range());
    memory.write(5, 9);
    // SAFETY: the child touches memory and ends.
    match unsafe { libc::fork() } {
        0 => {
            let byte = memory.read(5);
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(i32::from(byte)) };
        }
        child => {
            let child = rustix::process::Pid::from_raw(child);
            let (_, status) = waitpid(child, WaitOptions::empty())
                .expect("a child")
                .expect("it ended");
            assert_eq!(status.terminating_signal(), Some(libc::SIGSEGV));
        }
    }
}

/// An address whose faults a pager answers, outside of `memory`: handlers keep frames there.
fn frames_outside(memory: &std::ops::Range<u64>) -> Option<u64> {
    let maps = std::fs::read_to_string("/proc/self/smaps").ok()?;
    let mut start = None;
    for line in maps.lines() {
        let first = line.split_whitespace().next()?;
        if let Some((low, _)) = first.split_once('-') {
            start = u64::from_str_radix(low, 16).ok();
        }
        let is_answered = line.starts_with("VmFlags:") && line.contains(" um");
        if is_answered && let Some(start) = start.filter(|start| !memory.contains(start)) {
            return Some(start);
        }
    }
    None
}

fn touch_frames_in_child(before: impl FnOnce()) -> Option<i32> {
    let store = stores(std::env::temp_dir().as_path()).remove(0);
    let pager = pager(&config(MIB, 1), store)?;
    let allocation = pager.allocate(BYTES).expect("memory");
    pager.before_fork();
    // SAFETY: the child uses the pager and system calls, and ends.
    match unsafe { libc::fork() } {
        0 => {
            let is_right = pager.in_child().is_ok();
            let frames = frames_outside(&allocation.range()).filter(|_| is_right);
            before();
            if let Some(frames) = frames {
                Memory::new(frames..frames + 4096).read(0);
            }
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(1) };
        }
        child => {
            pager.in_parent();
            let child = rustix::process::Pid::from_raw(child);
            let (_, status) = waitpid(child, WaitOptions::empty())
                .expect("a child")
                .expect("it ended");
            Some(status.terminating_signal().unwrap_or(0))
        }
    }
}

#[test]
fn a_touch_of_what_handlers_keep_ends_the_program_as_a_touch_of_no_memory() {
    let ended = touch_frames_in_child(|| {});
    assert!(ended.is_none_or(|signal| signal == libc::SIGSEGV));
    let ended = touch_frames_in_child(|| {
        // SAFETY: blocks a signal of the child's only thread.
        unsafe {
            let mut set = std::mem::zeroed();
            libc::sigaddset(&raw mut set, libc::SIGSEGV);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        }
    });
    assert!(ended.is_none_or(|signal| signal == libc::SIGSEGV));
}
