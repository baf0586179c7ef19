//! The managed memory that a profile speaks of.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use pagemill_sim::managed_name;

use super::event::{Event, What};

/// What NVIDIA's driver evicts as one. Areas consist of whole blocks.
pub const BLOCK_BYTES: u64 = 2 << 20;

/// What moved, and who faulted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    pub migrated_bytes: u64,
    /// Part of these: had been on the GPU before.
    pub repeated_bytes: u64,
    /// Part of these: by the driver ahead of faults, or by a call.
    pub prefetched_bytes: u64,
    pub returned_bytes: u64,
    /// Part of these: to make room.
    pub evicted_bytes: u64,
    /// Came for a cause that was not recorded.
    pub came_unexplained_bytes: u64,
    /// Returned for a cause that was not recorded.
    pub left_unexplained_bytes: u64,
    /// Copies to the GPU.
    pub migrations: u64,
    pub gpu_faults: u64,
    pub cpu_faults: u64,
}

/// An allocation, or several that shared a block or had the same addresses one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Area {
    pub name: String,
    /// The numbers of its blocks.
    pub blocks: Range<u64>,
    /// What was allocated there, in all, if that was recorded.
    pub bytes: Option<u64>,
    pub account: Account,
}

/// What a first pass over the events finds, because the map has its rows in the order of addresses.
#[derive(Debug, Default)]
pub struct Areas {
    /// Known allocations by their first block: the block behind them, their bytes and their names.
    allocated: BTreeMap<u64, (u64, u64, Vec<String>)>,
    allocations: usize,
    /// Blocks that something happened to.
    touched: BTreeSet<u64>,
    /// When the first event began.
    pub first_ns: Option<u64>,
}

impl Areas {
    /// Takes an event of the first pass.
    pub fn add(&mut self, event: &Event) {
        self.first_ns.get_or_insert(event.start_ns);
        match &event.what {
            What::Allocated(address, bytes, name) => {
                self.allocations += 1;
                let name = name.clone();
                let name = name.unwrap_or_else(|| managed_name(self.allocations));
                self.allocate(blocks(*address, *bytes), *bytes, name);
            }
            What::Came(address, bytes, _) | What::Left(address, bytes, _) => {
                self.touched.extend(blocks(*address, *bytes));
            }
            What::GpuFault(address, _) | What::CpuFault(address) => {
                self.touched.insert(address / BLOCK_BYTES);
            }
            What::Kernel(_) | What::Copied | What::Freed(..) => {}
        }
    }

    /// Adds an allocation; it becomes one with those that have a block of it.
    fn allocate(&mut self, mut blocks: Range<u64>, mut bytes: u64, name: String) {
        let mut names = vec![name];
        while let Some((&start, &(end, ..))) = self.allocated.range(..blocks.end).next_back() {
            if end <= blocks.start {
                break;
            }
            blocks = blocks.start.min(start)..blocks.end.max(end);
            if let Some((_, others_bytes, others)) = self.allocated.remove(&start) {
                bytes += others_bytes;
                names.splice(0..0, others);
            }
        }
        self.allocated
            .insert(blocks.start, (blocks.end, bytes, names));
    }

    /// All areas by address; memory of which no allocation is known is called by its address.
    pub fn all(&self) -> Vec<Area> {
        let area = |name, blocks, bytes| Area {
            name,
            blocks,
            bytes,
            account: Account::default(),
        };
        let known = self.allocated.iter();
        let mut areas: Vec<Area> = known
            .map(|(start, (end, bytes, names))| area(shown(names), *start..*end, Some(*bytes)))
            .collect();
        let is_known = |block: u64| {
            let before = self.allocated.range(..=block).next_back();
            before.is_some_and(|(_, (end, ..))| *end > block)
        };
        let unknown: Vec<u64> = (self.touched.iter().copied())
            .filter(|block| !is_known(*block))
            .collect();
        for run in unknown.chunk_by(|a, b| a + 1 == *b) {
            let blocks = run[0]..run[0] + run.len() as u64;
            let name = format!("memory at {:#x}", blocks.start * BLOCK_BYTES);
            areas.push(area(name, blocks, None));
        }
        areas.sort_by_key(|area| area.blocks.start);
        areas
    }
}

/// The numbers of the blocks that hold some of the bytes.
fn blocks(address: u64, bytes: u64) -> Range<u64> {
    address / BLOCK_BYTES..address.saturating_add(bytes).div_ceil(BLOCK_BYTES)
}

fn shown(names: &[String]) -> String {
    match names {
        [first, .., last] => format!("{first} to {last}"),
        _ => names.concat(),
    }
}
