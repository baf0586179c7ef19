//! The GMMU against a model that keeps, for every single byte, when it is in GPU memory.

use super::gmmu::{Gmmu, Residency};
use super::machine::{CpuReturn, GpuMachine};
use super::timeline::Timeline;
use crate::parts::link::{Direction, Link, LinkSpec};
use pagemill_policy::migration::{MigrationSpec, find_policy};
use pagemill_types::{Bandwidth, PageSize, Picos};
use proptest::prelude::*;

const PAGE: u64 = 2048;
const PAGES: u64 = 4;
const UNIT: u64 = 256;
const PARTITIONS: usize = 3;
const ENTRIES: usize = 2;
const LATENCY: u64 = 300_000;
const CYCLE: u64 = 1_000;

fn machine(cpu_return: CpuReturn) -> GpuMachine {
    let mut machine = GpuMachine::gtx480();
    machine.core_clock = pagemill_types::Clock::new(1_000_000_000).unwrap();
    machine.dram.channels = PARTITIONS as u32;
    machine.gmmu.buffer_entries = ENTRIES as u32;
    machine.gmmu.state_query_cycles = 5;
    machine.gmmu.state_update_cycles = 7;
    machine.gmmu.cpu_return = cpu_return;
    let bandwidth = Bandwidth::new(1_000_000_000).unwrap();
    machine.link = LinkSpec {
        to_gpu: bandwidth,
        to_cpu: bandwidth,
        latency: Picos(LATENCY),
        payload_bytes: 0,
        header_bytes: 0,
    };
    machine
}

/// A second implementation, as slow and as plain as can be. One byte takes one nanosecond on the link.
struct ByteMap {
    whole_page: bool,
    /// When the byte is there; `None` while it is in CPU memory.
    arrival: Vec<Option<u64>>,
    buffers: Vec<Vec<u64>>,
    link_free: [u64; 2],
    migrated: u64,
    returned: u64,
}

impl ByteMap {
    fn new(whole_page: bool) -> Self {
        Self {
            whole_page,
            arrival: vec![None; (PAGE * PAGES) as usize],
            buffers: vec![Vec::new(); PARTITIONS],
            link_free: [0; 2],
            migrated: 0,
            returned: 0,
        }
    }

    /// When a request goes on.
    fn gpu_request(&mut self, at: u64, address: u64, partition: usize) -> u64 {
        let page = address / PAGE * PAGE;
        let page_bytes = page as usize..(page + PAGE) as usize;
        if self.arrival[page_bytes]
            .iter()
            .all(|byte| byte.is_some_and(|arrival| arrival <= at))
        {
            return at;
        }
        let known = at + 5 * CYCLE;
        let segment = address as usize..(address + 128) as usize;
        if self.arrival[segment.clone()].iter().any(Option::is_none) {
            let wanted = if self.whole_page {
                page..page + PAGE
            } else {
                address / UNIT * UNIT..address / UNIT * UNIT + UNIT
            };
            // Validity only ever changes by whole units, so what is missing of a unit is all of it.
            let entries = &mut self.buffers[partition];
            entries.sort_unstable();
            entries.retain(|&release| release > known);
            let start = if entries.len() == ENTRIES {
                entries.remove(0)
            } else {
                known
            };
            let bytes = wanted.end - wanted.start;
            let done = (start + LATENCY).max(self.link_free[0]) + bytes * 1000;
            self.link_free[0] = done;
            self.migrated += bytes;
            self.buffers[partition].push(done + 7 * CYCLE);
            for byte in wanted {
                assert!(self.arrival[byte as usize].is_none());
                self.arrival[byte as usize] = Some(done + 7 * CYCLE);
            }
        }
        self.arrival[segment]
            .iter()
            .flatten()
            .copied()
            .max()
            .unwrap()
            .max(known)
    }

    fn cpu_request(&mut self, at: u64, from: u64, to: u64, cpu_return: CpuReturn) -> u64 {
        let mut last = at;
        for page in from / PAGE..=(to - 1) / PAGE {
            let bytes = &mut self.arrival[(page * PAGE) as usize..((page + 1) * PAGE) as usize];
            let valid = bytes.iter().flatten().count() as u64;
            if valid == 0 {
                continue;
            }
            let landed = bytes.iter().flatten().copied().max().unwrap().max(at);
            let moved = if cpu_return == CpuReturn::Valid {
                valid
            } else {
                PAGE
            };
            let done = (landed + LATENCY).max(self.link_free[1]) + moved * 1000;
            self.link_free[1] = done;
            self.returned += moved;
            last = last.max(done);
            bytes.fill(None);
        }
        last
    }
}

#[derive(Clone, Debug)]
enum Action {
    Gpu { segment: u64, partition: usize },
    Cpu { from: u64, bytes: u64 },
}

fn action() -> impl Strategy<Value = (u64, Action)> {
    let gpu = (0..PAGE * PAGES / 128, 0..PARTITIONS)
        .prop_map(|(segment, partition)| Action::Gpu { segment, partition });
    let cpu = (0..PAGE * PAGES, 1..PAGE).prop_map(|(from, bytes)| Action::Cpu {
        from,
        bytes: bytes.min(PAGE * PAGES - from),
    });
    (0u64..2_000_000, prop_oneof![8 => gpu, 1 => cpu])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn equals_the_byte_map(
        whole_page in any::<bool>(), valid_only in any::<bool>(),
        actions in prop::collection::vec(action(), 1..120),
    ) {
        let cpu_return = if valid_only { CpuReturn::Valid } else { CpuReturn::WholePage };
        let machine = machine(cpu_return);
        let mut spec = MigrationSpec::new(PageSize::new(PAGE).unwrap(), find_policy(if whole_page { "whole-page" } else { "multi-range" }).unwrap());
        spec.unit_bytes = UNIT as u32;
        let mut gmmu = Gmmu::new(&machine, spec.build().unwrap(), 0);
        gmmu.grow(PAGE * PAGES);
        let mut link = Link::new(machine.link);
        let mut timeline = Timeline::with_limit(0);
        let mut model = ByteMap::new(whole_page);
        let mut at = 0;
        for (gap, action) in actions {
            at += gap;
            match action {
                Action::Gpu { segment, partition } => {
                    let address = segment * 128;
                    let got = match gmmu.gpu_request(Picos(at), address, partition, &mut link, &mut timeline) {
                        Residency::Local(at) | Residency::Arrives(at) => at.0,
                    };
                    prop_assert_eq!(got, model.gpu_request(at, address, partition));
                }
                Action::Cpu { from, bytes } => {
                    let (done, _) = gmmu.cpu_request(Picos(at), from, bytes, &mut link);
                    prop_assert_eq!(done.0, model.cpu_request(at, from, from + bytes, cpu_return));
                    // The host waits for its pages.
                    at = at.max(done.0);
                }
            }
            prop_assert_eq!(link.traffic(Direction::ToGpu).bytes, model.migrated);
            prop_assert_eq!(link.traffic(Direction::ToCpu).bytes, model.returned);
            let resident = model.arrival.iter().flatten().count() as u64;
            prop_assert_eq!(gmmu.resident_bytes(), resident);
            if valid_only {
                prop_assert_eq!(model.migrated, model.returned + resident, "bytes came from nowhere");
            }
        }
        let counts = gmmu.counts();
        prop_assert_eq!(counts.migrated_bytes, model.migrated);
        prop_assert_eq!(counts.returned_bytes, model.returned);
    }
}

#[test]
fn a_full_memory_moves_the_least_recently_used_page_out() {
    let mut machine = machine(CpuReturn::WholePage);
    machine.memory_bytes = Some(2 * PAGE);
    let spec = MigrationSpec::new(
        PageSize::new(PAGE).unwrap(),
        find_policy("whole-page").unwrap(),
    );
    let mut gmmu = Gmmu::new(&machine, spec.build().unwrap(), 0);
    gmmu.grow(PAGE * PAGES);
    let mut link = Link::new(machine.link);
    let mut timeline = Timeline::with_limit(10);
    let mut request =
        |at: u64, page: u64| gmmu.gpu_request(Picos(at), page * PAGE, 0, &mut link, &mut timeline);
    let second = 1_000_000_000;
    request(0, 0);
    request(second, 1);
    assert_eq!(request(2 * second, 0), Residency::Local(Picos(2 * second)));
    // Page 1 is the older one now. Its way out comes before page 2's way in.
    let out = LATENCY + PAGE * 1000;
    let fetched = 3 * second + 5 * CYCLE + out + LATENCY + PAGE * 1000 + 7 * CYCLE;
    assert_eq!(request(3 * second, 2), Residency::Arrives(Picos(fetched)));
    assert_eq!(gmmu.take_evicted(), Some(1));
    assert_eq!(gmmu.take_evicted(), None);
    assert_eq!(gmmu.counts().evictions, 1);
    assert_eq!(gmmu.resident_bytes(), 2 * PAGE);
}
