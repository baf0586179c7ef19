//! Too little room: programs wait for a full disk or are stopped, fit into a memory cgroup, and lose no byte.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use pagemill_pager::store::Directory;
use pagemill_pager::{Config, Count, WhenStoreFails};

use super::failing::stopped;
use super::memory::Memory;
use super::{config, pager};

const MIB: u64 = 1 << 20;

/// More than the disk has room for beside the ballast.
const BYTES: u64 = 16 * MIB;

/// Names the folder to a test that is run again.
const PLACE: &str = "PAGEMILL_TEST_PLACE";

/// In memory: blocks are allocated before they are written.
const IN_MEMORY: &str = "mount -t tmpfs -o size=24m none place";

/// Blocks are allocated when they are written.
const ON_WRITE: &str = "truncate -s 24M image && mkfs.ext2 -q image && mount -o loop image place";

/// A memory cgroup of 64 MiB, of version 1 or 2. It is removed with the folder's name.
const IN_CGROUP: &str = "root=/sys/fs/cgroup; limit=memory.max; \
     if [ -d $root/memory ]; then root=$root/memory; limit=memory.limit_in_bytes; fi; \
     group=$root/pagemill-test-$$; mkdir $group && echo 64M > $group/$limit && echo $$ > $group/cgroup.procs";

/// The exit code of a run that could not be prepared.
const UNPREPARED: i32 = 99;

/// Runs the calling test again in a process with mounts of its own, after the shell commands `prepare`, where `act` gets a folder.
fn prepared(test: &str, prepare: &str, act: impl FnOnce(&Path)) {
    if let Some(place) = std::env::var_os(PLACE) {
        return act(Path::new(&place));
    }
    if !rustix::process::geteuid().is_root() {
        return pagemill_testkit::skip("root alone mounts file systems and makes cgroups");
    }
    // On a disk: a file system in memory would count for the cgroup.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let script = format!(
        "cd \"$1\" && mkdir place && {prepare} || exit {UNPREPARED}; \"$2\" --exact limits::{test} --nocapture; code=$?; \
         if [ -n \"$group\" ]; then echo $$ > $root/cgroup.procs; rmdir $group; fi; exit $code"
    );
    let program = std::env::current_exe().expect("this program");
    let ran = Command::new("unshare")
        .args(["--mount", "sh", "-c", &script, "sh"])
        .args([folder.path(), &program])
        .env(PLACE, folder.path().join("place"))
        .output();
    let ran = ran.expect("util-linux is installed");
    let said = String::from_utf8_lossy(&ran.stderr);
    if ran.status.code() == Some(UNPREPARED) {
        return pagemill_testkit::skip(&format!(
            "no file system or cgroup of a test's own: {said}"
        ));
    }
    let output = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{output}{said}");
    assert!(output.contains("1 passed"), "{output}{said}");
}

fn word(unit: u64) -> u8 {
    1 + (unit % 251) as u8
}

fn write_all(memory: Memory) {
    for unit in 0..BYTES / 4096 {
        memory.write(unit * 4096 + unit % 4096, word(unit));
    }
}

fn check_all(memory: Memory) {
    for unit in 0..BYTES / 4096 {
        assert_eq!(memory.read(unit * 4096 + unit % 4096), word(unit));
    }
}

fn fill_half(disk: &Path) -> std::path::PathBuf {
    let ballast = disk.join("ballast");
    std::fs::write(&ballast, vec![1; 12 << 20]).expect("room for the ballast");
    ballast
}

/// A thread waits while the disk is full, and all its bytes are right once there is room.
fn waits(disk: &Path) {
    let ballast = fill_half(disk);
    let store = Directory::open(disk, 1 << 30).expect("a store");
    let config = Config {
        when_store_fails: WhenStoreFails::Wait,
        ..config(MIB, 1)
    };
    let Some(pager) = pager(&config, Box::new(store)) else {
        return;
    };
    let allocation = pager.allocate(BYTES).expect("memory");
    let memory = Memory::new(allocation.range());
    let writer = std::thread::spawn(move || write_all(memory));
    while pager.counters().get(Count::StoreFailures) < 2 {
        std::thread::sleep(Duration::from_millis(5));
        assert!(!writer.is_finished(), "the disk has no room for all");
    }
    // Not far from the end: small pieces of room are used, too.
    let kept_bytes = pager.counters().get(Count::StoredBytes);
    assert!(kept_bytes > 9 << 20, "{kept_bytes} bytes are kept");
    std::fs::remove_file(ballast).expect("the ballast was there");
    writer.join().expect("a thread");
    check_all(memory);
}

fn is_stopped(disk: &Path) {
    fill_half(disk);
    let text = stopped(|| {
        let store = Directory::open(disk, 1 << 30).expect("a store");
        let Some(pager) = pager(&config(MIB, 1), Box::new(store)) else {
            return false;
        };
        let allocation = pager.allocate(BYTES).expect("memory");
        write_all(Memory::new(allocation.range()));
        true
    });
    let Some(text) = text else {
        return;
    };
    let head = format!("pagemill pager: the folder {} is full at ", disk.display());
    assert!(text.starts_with(&head), "{text}");
    let tail = "; give it more room, or add a second store; the program was stopped, because its memory would be wrong\n";
    assert!(text.ends_with(tail), "{text}");
}

#[test]
fn a_program_waits_for_a_full_file_system_in_memory() {
    let test = "a_program_waits_for_a_full_file_system_in_memory";
    prepared(test, IN_MEMORY, waits);
}

#[test]
fn a_program_waits_for_a_full_disk() {
    prepared("a_program_waits_for_a_full_disk", ON_WRITE, waits);
}

#[test]
fn a_program_on_a_full_file_system_in_memory_is_stopped() {
    let test = "a_program_on_a_full_file_system_in_memory_is_stopped";
    prepared(test, IN_MEMORY, is_stopped);
}

#[test]
fn a_program_on_a_full_disk_is_stopped() {
    prepared("a_program_on_a_full_disk_is_stopped", ON_WRITE, is_stopped);
}

/// Writes a byte of each unit of memory that the pager does not have; the process's end.
fn fills_plain_memory(bytes: usize) -> Option<i32> {
    // SAFETY: the child writes memory of its own, and ends without running anything of the parent's.
    match unsafe { libc::fork() } {
        0 => {
            let mut memory = vec![0_u8; bytes];
            memory.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
            std::hint::black_box(&memory);
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(0) };
        }
        child => {
            let child = rustix::process::Pid::from_raw(child);
            let ended = rustix::process::waitpid(child, rustix::process::WaitOptions::empty());
            ended
                .expect("a child")
                .and_then(|(_, status)| status.terminating_signal())
        }
    }
}

/// Four times what the cgroup lets this process have; more than it, the kernel ends a process.
fn fits(folder: &Path) {
    const ALL: u64 = 256 * MIB;
    assert_eq!(fills_plain_memory(ALL as usize), Some(libc::SIGKILL));
    let store = Directory::open(folder, 1 << 30).expect("a store");
    let Some(pager) = pager(&config(8 * MIB, 1), Box::new(store)) else {
        return;
    };
    let allocation = pager.allocate(ALL).expect("memory");
    let memory = Memory::new(allocation.range());
    let byte_of = |unit: u64| (unit * 7 % 251) as u8 + 1;
    for unit in 0..ALL / 4096 {
        memory.write(unit * 4096 + 9, byte_of(unit));
    }
    for unit in 0..ALL / 4096 {
        assert_eq!(memory.read(unit * 4096 + 9), byte_of(unit), "unit {unit}");
    }
    let in_frames = pager.counters().get(Count::ResidentUnitsMax);
    assert!(in_frames <= 8 * MIB / 4096 + 512, "{in_frames} units");
}

#[test]
fn a_program_with_four_times_the_memory_of_its_cgroup_ends_well() {
    let test = "a_program_with_four_times_the_memory_of_its_cgroup_ends_well";
    prepared(test, IN_CGROUP, fits);
}
