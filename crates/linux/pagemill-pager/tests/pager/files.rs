//! Files as memory: what programs see, what gets into the file, and what a kill leaves.

use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use pagemill_pager::store::Compressed;
use pagemill_pager::{Allocation, Count, FileError, FileMode, Pager, PagerError};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use super::memory::Memory;
use super::programs::Random;
use super::{config, pager, stores};

const MIB: u64 = 1 << 20;

fn compressed() -> Box<Compressed> {
    Box::new(Compressed::new(u64::MAX))
}

fn memory(allocation: &Allocation, bytes: u64) -> Memory {
    Memory::new(allocation.start()..allocation.start() + bytes)
}

/// Bytes that differ from place to place.
fn pattern(bytes: u64) -> Vec<u8> {
    let mut random = Random(77);
    (0..bytes).map(|_| random.below(256) as u8).collect()
}

/// Random reads, writes and flushes of `part` of `file`, which has `model` when they begin.
fn random_program(
    pager: &Pager,
    path: &Path,
    mode: FileMode,
    part: Range<u64>,
    model: &mut [u8],
    random: &mut Random,
) {
    let bytes = part.end - part.start;
    let allocation = pager
        .map_file(path, mode, part.start, bytes)
        .expect("memory");
    let memory = memory(&allocation, bytes);
    let seen = &mut model[part.start as usize..part.end as usize];
    for _ in 0..300 {
        let at = random.below(bytes);
        let run = (1 + random.below(9000)).min(bytes - at);
        match random.below(8) {
            0..3 => {
                let is_right = |at: u64| memory.read(at) == seen[at as usize];
                assert!((at..at + run).all(is_right), "{mode:?} {at} {run}");
            }
            3..5 if mode != FileMode::Read => {
                for at in at..at + run {
                    seen[at as usize] = random.below(256) as u8;
                    memory.write(at, seen[at as usize]);
                }
            }
            5 if mode != FileMode::Read => {
                seen[at as usize] ^= 1;
                memory.write(at, seen[at as usize]);
            }
            6 if random.below(8) == 0 => {
                allocation.flush().expect("flushed");
                if mode == FileMode::ReadWrite {
                    let file = std::fs::read(path).expect("a file");
                    assert!(file[part.start as usize..part.end as usize] == *seen);
                }
            }
            _ => assert_eq!(memory.read(at), seen[at as usize], "{mode:?} {at}"),
        }
    }
    assert!((0..bytes).all(|at| memory.read(at) == seen[at as usize]));
    if random.below(2) == 0 {
        allocation
            .close()
            .map_err(|(_, error)| error)
            .expect("closed");
    }
}

fn random_programs(in_thread: bool) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("data");
    for (number, store) in stores(folder.path()).into_iter().enumerate() {
        let mut config = config(MIB, 1 + number % 2);
        config.in_thread = in_thread;
        let Some(pager) = pager(&config, store) else {
            return;
        };
        let mut random = Random(5 + number as u64);
        let mut file = pattern(3 * MIB + 777);
        std::fs::write(&path, &file).expect("written");
        let modes = [FileMode::ReadWrite, FileMode::Private, FileMode::Read];
        for (round, mode) in modes.into_iter().cycle().take(6).enumerate() {
            // From within a unit on, or all.
            let start = random.below(9000) * (round as u64 % 2);
            let end = file.len() as u64 - random.below(9000) * (round as u64 % 2);
            let mut model = file.clone();
            random_program(&pager, &path, mode, start..end, &mut model, &mut random);
            if mode == FileMode::ReadWrite {
                file = model;
            }
            assert!(std::fs::read(&path).expect("a file") == file, "{mode:?}");
        }
        assert_eq!(pager.counters().get(Count::MappedBytes), 0);
        assert_eq!(pager.counters().get(Count::StoredUnits), 0);
        assert!(pager.counters().get(Count::ResidentUnitsMax) <= MIB / 4096 + 16);
    }
}

#[test]
fn random_programs_see_the_file_and_change_it_as_their_mode_says() {
    random_programs(false);
}

#[test]
fn threads_that_answer_their_own_faults_have_files_too() {
    random_programs(true);
}

#[test]
fn only_units_that_changed_are_written() {
    let Some(pager) = pager(&config(MIB, 1), compressed()) else {
        return;
    };
    let file = tempfile::NamedTempFile::new().expect("a file");
    let before = pattern(4 * MIB);
    std::fs::write(file.path(), &before).expect("written");
    let map = || pager.map_file(file.path(), FileMode::ReadWrite, 0, 4 * MIB);
    let allocation = map().expect("memory");
    let bytes = memory(&allocation, 4 * MIB);
    let mut expected = before.clone();
    for unit in (0..1024_u64).step_by(10) {
        let at = unit * 4096 + unit;
        bytes.write(at, !before[at as usize]);
        expected[at as usize] = !before[at as usize];
        // The same bytes again are no change.
        bytes.write(at + 4096, before[at as usize + 4096]);
    }
    // Another writes to a unit that nothing changes here.
    let other = std::fs::File::options().write(true).open(file.path());
    (other.expect("a file").write_all_at(&[9; 4096], 5 * 4096)).expect("written");
    expected[5 * 4096..6 * 4096].fill(9);
    allocation.flush().expect("flushed");
    assert!(std::fs::read(file.path()).expect("a file") == expected);
    assert_eq!(pager.counters().get(Count::WrittenUnits), 103);
    assert_eq!(allocation.flush().expect("flushed"), 0);
    drop(allocation);
    assert_eq!(pager.counters().get(Count::WrittenUnits), 103);
    // Zeros are bytes as others are.
    let allocation = map().expect("memory");
    let bytes = memory(&allocation, 4 * MIB);
    (0..4096).for_each(|at| bytes.write(at, 0));
    (0..1024).for_each(|unit| {
        assert_eq!(
            bytes.read(unit * 4096),
            expected[unit as usize * 4096] * u8::from(unit > 0)
        )
    });
    drop(allocation);
    expected[..4096].fill(0);
    assert!(std::fs::read(file.path()).expect("a file") == expected);
}

#[test]
fn neighbors_in_a_unit_of_the_file_do_not_overwrite_each_other() {
    let Some(pager) = pager(&config(MIB, 1), compressed()) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("new");
    let first = pager
        .map_file(&path, FileMode::Create, 0, 10_000)
        .expect("memory");
    assert_eq!(path.metadata().expect("made").len(), 10_000);
    let second = pager
        .map_file(&path, FileMode::ReadWrite, 10_000, 10_000)
        .expect("memory");
    let (one, other) = (memory(&first, 10_000), memory(&second, 10_000));
    (0..10_000).for_each(|at| one.write(at, 1));
    (0..10_000).for_each(|at| other.write(at, 2));
    drop((first, second));
    let expected = [[1; 10_000], [2; 10_000]].concat();
    assert!(std::fs::read(&path).expect("a file") == expected);
}

#[test]
fn what_cannot_be_mapped_is_named_with_its_numbers() {
    let Some(pager) = pager(&config(MIB, 1), compressed()) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("short");
    std::fs::write(&path, [1; 100]).expect("written");
    let none = folder.path().join("none");
    for (path, mode, offset, bytes, words) in [
        (
            &path,
            "r",
            60,
            41,
            "has 100 bytes, and 101 are to be mapped",
        ),
        (
            &path,
            "c",
            0,
            4096,
            "has 100 bytes, and 4096 are to be mapped",
        ),
        (&path, "r", 0, 0, "0 bytes of"),
        (&none, "r", 0, 1, "none for reading: No such file"),
        (&none, "r+", 0, 1, "mode \"w+\" makes a new file"),
        (
            &folder.path().to_owned(),
            "r+",
            0,
            1,
            "for writing: Is a directory",
        ),
        (&none, "w+", 0, 1 << 60, "1152921504606846976 bytes long: "),
    ] {
        let mode: FileMode = mode.parse().expect("a mode");
        let error = pager.map_file(path, mode, offset, bytes);
        let text = error.expect_err("it cannot be mapped").to_string();
        assert!(text.contains(words), "{text}");
        assert!(
            text.contains(&folder.path().display().to_string()),
            "{text}"
        );
    }
    assert_eq!(none.metadata().expect("made").len(), 0);
    let error = "rw".parse::<FileMode>().expect_err("no mode");
    assert!(
        matches!(&error, FileError::Mode(mode) if mode == "rw"),
        "{error}"
    );
}

/// The exit code of a child that does `act`, and what it wrote to standard error.
fn child(act: impl FnOnce() -> i32) -> (Option<i32>, String) {
    let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
    // SAFETY: the child starts threads of its own, and ends without running anything of the parent's.
    match unsafe { libc::fork() } {
        0 => {
            rustix::stdio::dup2_stderr(&writer).expect("standard error");
            let code = act();
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(code) };
        }
        child => {
            drop(writer);
            let mut text = String::new();
            std::io::Read::read_to_string(&mut std::fs::File::from(reader), &mut text)
                .expect("text");
            let (_, status) = waitpid(Pid::from_raw(child), WaitOptions::empty())
                .expect("a child")
                .expect("it ended");
            (status.exit_status(), text)
        }
    }
}

#[test]
fn a_file_that_is_shortened_stops_its_readers_and_is_not_made_longer() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), pattern(2 * MIB)).expect("written");
    let map = || {
        let pager = pager(&config(MIB, 1), compressed())?;
        let mapped = pager.map_file(file.path(), FileMode::ReadWrite, 0, 2 * MIB);
        Some((mapped.expect("memory"), pager))
    };
    let shorten = || file.as_file().set_len(MIB).expect("shortened");
    let (code, text) = child(|| {
        let Some((allocation, _pager)) = map() else {
            return 77;
        };
        shorten();
        let last = memory(&allocation, 2 * MIB).read(2 * MIB - 1);
        5 + i32::from(last)
    });
    if code == Some(77) {
        return;
    }
    assert_eq!(code, Some(1), "{text}");
    let words = "was shortened to 1048576 bytes while 2097152 of it were mapped";
    assert!(text.contains(words), "{text}");
    std::fs::write(file.path(), pattern(2 * MIB)).expect("written");
    let (allocation, _pager) = map().expect("as before");
    memory(&allocation, 2 * MIB).write(2 * MIB - 1, 0);
    shorten();
    let text = allocation.flush().expect_err("it is shorter").to_string();
    assert!(text.contains(words), "{text}");
    assert_eq!(file.path().metadata().expect("there").len(), MIB);
    file.as_file().set_len(2 * MIB).expect("longer");
    assert_eq!(allocation.flush().expect("flushed"), 1);
}

/// A limit of the process stands for a full disk: the kernel refuses the same write.
#[test]
fn a_write_that_fails_loses_nothing_and_is_tried_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("data");
    let limit = |bytes: u64| {
        let limit = libc::rlimit {
            rlim_cur: bytes,
            rlim_max: libc::RLIM_INFINITY,
        };
        // SAFETY: the limit is a plain value; the signal has no handler that could run.
        unsafe {
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
            libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit);
        }
    };
    let (code, text) = child(|| {
        let Some(pager) = pager(&config(MIB, 1), compressed()) else {
            return 77;
        };
        let allocation = pager
            .map_file(&path, FileMode::Create, 0, MIB / 2)
            .expect("memory");
        let memory = memory(&allocation, MIB / 2);
        (0..MIB / 2).for_each(|at| memory.write(at, 3));
        limit(MIB / 4);
        let error = allocation.flush().expect_err("a limit").to_string();
        if !error.contains("cannot write bytes") || !error.contains("File too large") {
            return 2;
        }
        let Err((allocation, _)) = allocation.close() else {
            return 3;
        };
        if !(0..MIB / 2).all(|at| memory.read(at) == 3) {
            return 4;
        }
        limit(libc::RLIM_INFINITY);
        allocation.flush().expect("it has room");
        5
    });
    if code != Some(77) {
        assert_eq!(code, Some(5), "{text}");
        assert!(std::fs::read(&path).expect("a file") == vec![3; MIB as usize / 2]);
    }
}

#[test]
fn a_child_of_fork_leaves_the_memory_of_its_parent_alone() {
    let Some(pager) = pager(&config(MIB, 1), compressed()) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("data");
    let allocation = pager
        .map_file(&path, FileMode::Create, 0, MIB)
        .expect("memory");
    let memory = memory(&allocation, MIB);
    memory.write(5, 9);
    let (code, text) = child(|| match allocation.flush() {
        Err(PagerError::File(FileError::Child { .. })) => 3,
        _ => 4,
    });
    assert_eq!(code, Some(3), "{text}");
    assert_eq!(memory.read(5), 9);
    pager.before_fork();
    let (code, text) = child(|| {
        pager.in_child().expect("workers");
        i32::try_from(allocation.flush().expect("nothing")).unwrap_or(1)
    });
    pager.in_parent();
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(memory.read(5), 9);
    drop(allocation);
    assert_eq!(std::fs::read(&path).expect("a file")[5], 9);
}

const UNITS: u64 = 1024;

/// The unit that step `step` writes.
fn unit_of(step: u64, seed: u64) -> u64 {
    let mut random = Random(step * 8191 + seed * 2 + 1);
    random.below(UNITS);
    random.below(UNITS)
}

/// Fills a unit with its number at each step, for ever; reports each flush.
fn write_for_ever(path: &Path, seed: u64, report: impl AsFd) -> i32 {
    let Some(pager) = pager(&config(MIB, 1), compressed()) else {
        return 77;
    };
    let allocation = pager
        .map_file(path, FileMode::ReadWrite, 0, UNITS * 4096)
        .expect("memory");
    let memory = memory(&allocation, UNITS * 4096);
    for step in 1_u64.. {
        let start = unit_of(step, seed) * 4096;
        for at in 0..4096 {
            memory.write(start + at, step.to_le_bytes()[at as usize % 8]);
        }
        if step.is_multiple_of(97) {
            allocation.flush().expect("flushed");
            let sent = rustix::io::write(&report, &step.to_le_bytes());
            assert_eq!(sent, Ok(8));
        }
    }
    0
}

#[test]
fn a_killed_process_leaves_each_unit_old_or_new_and_all_that_was_flushed() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    for seed in 0..6 {
        std::fs::write(file.path(), vec![0; UNITS as usize * 4096]).expect("written");
        let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
        // SAFETY: the child starts threads of its own, and is killed.
        let child = match unsafe { libc::fork() } {
            0 => {
                let code = write_for_ever(file.path(), seed, &writer);
                // SAFETY: ends the child at once.
                unsafe { libc::_exit(code) };
            }
            child => Pid::from_raw(child).expect("a child"),
        };
        drop(writer);
        let mut reports = std::fs::File::from(reader);
        let mut report = [0; 8];
        let mut flushed = 0;
        let mut wanted = 3 + seed * 5;
        while std::io::Read::read_exact(&mut reports, &mut report).is_ok() {
            flushed = u64::from_le_bytes(report);
            wanted -= 1;
            if wanted == 0 {
                kill_process(child, Signal::KILL).expect("killed");
                break;
            }
        }
        let ended = waitpid(Some(child), WaitOptions::empty()).expect("a child");
        if ended.is_some_and(|(_, status)| status.exit_status() == Some(77)) {
            return;
        }
        while std::io::Read::read_exact(&mut reports, &mut report).is_ok() {
            flushed = u64::from_le_bytes(report);
        }
        assert_whole(&std::fs::read(file.path()).expect("a file"), seed, flushed);
    }
}

fn assert_whole(file: &[u8], seed: u64, flushed: u64) {
    let mut oldest = vec![0; UNITS as usize];
    (1..=flushed).for_each(|step| oldest[unit_of(step, seed) as usize] = step);
    for (unit, bytes) in file.as_chunks::<4096>().0.iter().enumerate() {
        let (words, _) = bytes.as_chunks::<8>();
        let step = u64::from_le_bytes(words[0]);
        assert!(
            words.iter().all(|word| *word == words[0]),
            "unit {unit} is torn"
        );
        let is_its_own = step == 0 || unit_of(step, seed) == unit as u64;
        assert!(is_its_own, "unit {unit} has the bytes of step {step}");
        assert!(
            step >= oldest[unit],
            "unit {unit} lost step {}",
            oldest[unit]
        );
    }
}
