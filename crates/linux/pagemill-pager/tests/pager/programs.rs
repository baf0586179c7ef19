use std::thread;

use pagemill_pager::{Config, Count};
use pagemill_policy::migration::POLICIES;
use pagemill_policy::paging::READ_AHEADS;
use pagemill_policy::residency::{EVICTIONS, GROWTHS};
use pagemill_types::PageSize;
use proptest::prelude::*;

use super::memory::Memory;
use super::{config, pager, stores};

const MIB: u64 = 1 << 20;

/// A generator of numbers that tests may repeat.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// How many operations each thread does: `PAGEMILL_PAGER_OPERATIONS` for a longer test.
fn operations(usual: u64) -> u64 {
    let set = std::env::var("PAGEMILL_PAGER_OPERATIONS");
    set.ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Random reads, writes, runs of both and discards, each checked against plain memory.
fn random_program(
    memory: Memory,
    bytes: u64,
    seed: u64,
    count: u64,
    has_system_calls: bool,
    discard: &dyn Fn(std::ops::Range<u64>),
) {
    let mut model = vec![0_u8; bytes as usize];
    let mut random = Random(seed * 2 + 1);
    for _ in 0..count {
        let at = random.below(bytes);
        let run = (1 + random.below(6000)).min(bytes - at);
        match random.below(16) {
            0..5 => assert_eq!(memory.read(at), model[at as usize], "byte {at}"),
            5..10 => {
                let byte = random.below(256) as u8;
                memory.write(at, byte);
                model[at as usize] = byte;
            }
            10..12 => {
                for at in at..at + run {
                    assert_eq!(memory.read(at), model[at as usize], "byte {at} of a run");
                }
            }
            12..14 => {
                let byte = random.below(256) as u8;
                for at in at..at + run {
                    let byte = byte.wrapping_add(at as u8);
                    memory.write(at, byte);
                    model[at as usize] = byte;
                }
            }
            14 if has_system_calls => {
                let copy = memory.read_by_kernel(at, run as usize);
                assert_eq!(copy, model[at as usize..(at + run) as usize]);
            }
            _ => {
                let units = at / 4096 * 4096..(at + run) / 4096 * 4096;
                if units.start < units.end {
                    discard(memory.address() + units.start..memory.address() + units.end);
                    model[units.start as usize..units.end as usize].fill(0);
                }
            }
        }
    }
    for at in 0..bytes {
        assert_eq!(memory.read(at), model[at as usize], "byte {at} at the end");
    }
}

fn run_threads(config: &Config, store: Box<dyn pagemill_pager::store::Store>, seed: u64) {
    let Some(pager) = pager(config, store) else {
        return;
    };
    let has_system_calls = !config.in_thread;
    const THREADS: u64 = 8;
    const EACH: u64 = MIB + 12288;
    let allocation = pager.allocate(THREADS * EACH).expect("memory");
    let memory = Memory::new(allocation.range());
    thread::scope(|scope| {
        for number in 0..THREADS {
            let pager = &pager;
            scope.spawn(move || {
                let part = memory.part(number * EACH..(number + 1) * EACH);
                let count = operations(100);
                random_program(
                    part,
                    EACH,
                    seed * 10 + number,
                    count,
                    has_system_calls,
                    &|range| {
                        pager.discard(range);
                    },
                );
            });
        }
    });
    drop(allocation);
    let counters = pager.counters();
    assert_eq!(counters.get(Count::StoredUnits), 0, "all is given back");
    assert_eq!(counters.get(Count::MappedBytes), 0);
    assert!(counters.get(Count::FetchedUnits) > 0);
}

#[test]
fn threads_see_their_bytes_whatever_the_store() {
    let folder = tempfile::tempdir().expect("a folder");
    for (number, store) in stores(folder.path()).into_iter().enumerate() {
        run_threads(&config(MIB, 2), store, number as u64);
    }
}

#[test]
fn threads_that_answer_their_own_faults_see_their_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    for (number, store) in stores(folder.path()).into_iter().enumerate() {
        let mut config = config(MIB, 1 + number % 2);
        config.in_thread = true;
        // They find a worker busy with one and with two.
        config.handlers = std::num::NonZeroUsize::new(1 + number).expect("at least one");
        run_threads(&config, store, 20 + number as u64);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]
    #[test]
    fn threads_see_their_bytes_whatever_the_policies(
        seed in 0u64..1000,
        page_shift in 16u32..=18,
        choice in (0..POLICIES.len(), 0..GROWTHS.len(), 0..EVICTIONS.len(), 0..READ_AHEADS.len()),
        shards in 1usize..3,
    ) {
        let mut config = config(2 * MIB, shards);
        let page = PageSize::new(1 << page_shift).expect("a page size");
        let (policy, growth, eviction, read_ahead) = choice;
        config.paging.migration.page = page;
        config.paging.migration.policy = &POLICIES[policy];
        config.paging.growth = &GROWTHS[growth];
        config.paging.eviction = &EVICTIONS[eviction];
        config.paging.read_ahead = &READ_AHEADS[read_ahead];
        run_threads(&config, Box::new(pagemill_pager::store::Compressed::new(u64::MAX)), seed);
    }
}

/// Waits for what happens beside the program, up to a limit.
fn wait_until(mut is_so: impl FnMut() -> bool) {
    for _ in 0..10_000 {
        if is_so() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

#[test]
fn frames_stay_within_the_budget_and_unchanged_units_are_not_written() {
    let mut config = config(MIB, 1);
    config.paging.read_ahead = pagemill_policy::paging::READ_AHEADS
        .find("none")
        .expect("a policy");
    let folder = tempfile::tempdir().expect("a folder");
    for store in stores(folder.path()) {
        let Some(pager) = pager(&config, store) else {
            return;
        };
        let allocation = pager.allocate(4 * MIB).expect("memory");
        let memory = Memory::new(allocation.range());
        let units = 4 * MIB / 4096;
        for unit in 0..units {
            memory.write(unit * 4096 + 7, 1 + unit as u8 % 200);
        }
        let counters = pager.counters();
        let in_frames = MIB / 4096;
        assert_eq!(counters.get(Count::WriteFaults), units);
        assert_eq!(counters.get(Count::ZeroUnits), units);
        assert_eq!(counters.get(Count::FetchedUnits), 0);
        // What leaves is written while the program goes on.
        wait_until(|| counters.get(Count::WrittenUnits) >= units - in_frames);
        assert_eq!(counters.get(Count::WrittenUnits), units - in_frames);
        for _ in 0..2 {
            for unit in 0..units {
                assert_eq!(memory.read(unit * 4096 + 7), 1 + unit as u8 % 200);
            }
        }
        let counters = pager.counters();
        wait_until(|| counters.get(Count::WrittenUnits) >= units);
        assert_eq!(
            counters.get(Count::WrittenUnits),
            units,
            "each was written once"
        );
        assert_eq!(counters.get(Count::FetchedUnits), 2 * units);
        assert_eq!(counters.get(Count::ResidentUnitsMax), in_frames);
        // The same bytes again are no change.
        for unit in 0..units {
            memory.write(unit * 4096 + 7, 1 + unit as u8 % 200);
        }
        assert_eq!(pager.counters().get(Count::WrittenUnits), units);
        assert_eq!(pager.counters().get(Count::StoredUnits), units);
    }
}

#[test]
fn memory_that_ends_in_the_middle_of_a_page_works_to_its_last_byte() {
    let config = config(MIB, 1);
    let Some(pager) = pager(
        &config,
        Box::new(pagemill_pager::store::Compressed::new(u64::MAX)),
    ) else {
        return;
    };
    for bytes in [1, 4096, 4097, 2 * MIB + 1, 3 * MIB - 4096] {
        let allocation = pager.allocate(bytes).expect("memory");
        let memory = Memory::new(allocation.range());
        assert!(allocation.range().start.is_multiple_of(2 * MIB));
        for at in (0..bytes).step_by(1000).chain([bytes - 1]) {
            memory.write(at, at as u8 | 1);
        }
        for at in (0..bytes).step_by(1000).chain([bytes - 1]) {
            assert_eq!(memory.read(at), at as u8 | 1, "byte {at} of {bytes}");
        }
    }
}
