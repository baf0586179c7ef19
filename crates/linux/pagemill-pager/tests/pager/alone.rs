//! Threads that fault alone, which a handler follows.

use pagemill_pager::store::Compressed;
use pagemill_pager::{Allocation, Pager};
use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_setaffinity};

use crate::memory::Memory;
use crate::{config, pager};

const UNIT: u64 = 4096;
const UNITS: u64 = 2048;

/// Memory of so many units, and few frames.
fn paged(units: u64) -> Option<(Pager, Allocation)> {
    let pager = pager(
        &config(UNITS / 8 * UNIT, 1),
        Box::new(Compressed::new(u64::MAX)),
    )?;
    let allocation = pager.allocate(units * UNIT).expect("memory");
    Some((pager, allocation))
}

/// Touches all units of `memory`, of which an eighth has frames, in a scattered order; calls `after` behind each.
fn scatter(memory: &Memory, mut after: impl FnMut(u64)) {
    for index in 0..UNITS {
        let unit = index * 769 % UNITS;
        let at = unit * UNIT;
        let expected = memory.read(at);
        assert!(expected == 0 || expected == unit as u8 | 1);
        memory.write(at, unit as u8 | 1);
        after(index);
    }
}

/// It would hand what it has in a fault to the threads that it makes, and count its processors by it.
#[test]
fn a_thread_has_its_own_processors_whenever_it_runs() {
    let Some((_pager, allocation)) = paged(UNITS) else {
        return;
    };
    let memory = Memory::new(allocation.range());
    let all = sched_getaffinity(None).expect("processors");
    for _ in 0..4 {
        scatter(&memory, |_| assert_eq!(sched_getaffinity(None), Ok(all)));
    }
}

#[test]
fn processors_that_another_gives_to_a_faulting_thread_stay() {
    let Some((_pager, allocation)) = paged(UNITS) else {
        return;
    };
    let memory = Memory::new(allocation.range());
    let all = sched_getaffinity(None).expect("processors");
    let first = (0..CpuSet::MAX_CPU).find(|number| all.is_set(*number));
    let mut one = CpuSet::new();
    one.set(first.expect("a processor"));
    let thread = gettid();
    scatter(&memory, |_| {});
    for given in [one, all, one, all] {
        std::thread::spawn(move || {
            sched_setaffinity(Some(thread), &given).expect("its own thread")
        })
        .join()
        .expect("no panic");
        scatter(&memory, |_| assert_eq!(sched_getaffinity(None), Ok(given)));
    }
}

/// The handler that follows one of them must let the others answer as well.
#[test]
fn threads_that_fault_after_one_another_and_together_are_answered() {
    let Some((_pager, allocation)) = paged(4 * UNITS) else {
        return;
    };
    let all = Memory::new(allocation.range());
    let parts: Vec<_> = (0..4)
        .map(|part| all.part(part * UNITS * UNIT..(part + 1) * UNITS * UNIT))
        .collect();
    for part in &parts {
        std::thread::scope(|scope| scope.spawn(|| scatter(part, |_| {})).join().expect("right"));
    }
    std::thread::scope(|scope| {
        for part in &parts {
            scope.spawn(|| scatter(part, |_| {}));
        }
    });
    scatter(&parts[0], |_| {});
}
