//! Where pages were in a profiled run: its events, replayed into a page map and sums.

use std::collections::BTreeMap;
use std::ops::Range;

use pagemill_map::{Cause, Change, Effect, Legend, Limits, Recorder};
use pagemill_policy::residency::{PAGE_BYTES, PageMask};
use pagemill_wire::readable_name;

use super::areas::{Account, Area, Areas, BLOCK_BYTES};
use super::event::{Event, What, Why};

/// From and to, in nanoseconds of the export's clock.
type Times = (u64, u64);

/// Causes, by their numbers in the legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    Fault,
    Prefetch,
    AskedFor,
    Counter,
    CameUnexplained,
    Populated,
    Eviction,
    CpuTouch,
    SentBack,
    LeftUnexplained,
    Freed,
    GpuFault,
    CpuFault,
}

fn legend() -> Legend {
    Legend {
        absent: "on the CPU".to_owned(),
        partial: "partly on the GPU".to_owned(),
        present: "on the GPU".to_owned(),
        departed: "back on the CPU".to_owned(),
        marked: "faulted on".to_owned(),
        place: String::new(),
        causes: vec![
            Cause::new("fault", Effect::Arrive),
            Cause::new("prefetch by the driver", Effect::Arrive),
            Cause::new("prefetch by a call", Effect::Arrive),
            Cause::new("access counter", Effect::Arrive),
            Cause::new("moved to the GPU", Effect::Arrive),
            Cause::new("on the GPU without a transfer", Effect::Arrive),
            Cause::new("eviction", Effect::Leave),
            Cause::new("CPU touch", Effect::Leave),
            Cause::new("sent back by a call", Effect::Leave),
            Cause::new("moved to the CPU", Effect::Leave),
            Cause::new("freed", Effect::Leave),
            Cause::new("GPU fault", Effect::Mark),
            Cause::new("CPU fault", Effect::Mark),
        ],
    }
}

/// A kernel, over all its launches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kernel {
    pub launches: u64,
    pub time_ns: u64,
    pub account: Account,
}

/// What a run left.
#[derive(Debug)]
pub struct Replayed {
    pub time_ns: u64,
    /// Part of it with a kernel running.
    pub kernel_time_ns: u64,
    /// Part of it with a copy that the program asked for.
    pub copy_time_ns: u64,
    pub launches: u64,
    pub whole: Account,
    pub kernels: BTreeMap<String, Kernel>,
    pub areas: Vec<Area>,
    /// The bytes of the page map.
    pub map: Vec<u8>,
}

/// Pages of a block: on the GPU, and ever there.
#[derive(Clone, Debug, Default)]
struct Block {
    there: PageMask,
    known: PageMask,
}

/// A running sum of the time that intervals cover, in the order of their beginnings.
#[derive(Debug, Default)]
struct Covered {
    until_ns: u64,
    sum_ns: u64,
}

impl Covered {
    fn add(&mut self, (start_ns, end_ns): Times) {
        let from_ns = start_ns.max(self.until_ns);
        self.sum_ns += end_ns.saturating_sub(from_ns);
        self.until_ns = self.until_ns.max(end_ns);
    }
}

/// The second pass.
pub struct Replay {
    recorder: Recorder,
    first_ns: u64,
    last_ns: u64,
    blocks: BTreeMap<u64, Block>,
    areas: Vec<Area>,
    whole: Account,
    kernels: BTreeMap<String, Kernel>,
    /// The kernel that began last, until it ends.
    running: Option<(String, u64)>,
    launches: u64,
    kernel_time: Covered,
    copy_time: Covered,
}

impl Replay {
    /// Of the memory that the first pass found.
    pub fn new(found: &Areas) -> Self {
        let mut recorder = Recorder::new(BLOCK_BYTES, legend(), Limits::default());
        let areas = found.all();
        for area in &areas {
            let blocks = area.blocks.end - area.blocks.start;
            recorder.allocated(
                &area.name,
                area.blocks.start * BLOCK_BYTES,
                blocks * BLOCK_BYTES,
            );
        }
        Self {
            recorder,
            first_ns: found.first_ns.unwrap_or(0),
            last_ns: 0,
            blocks: BTreeMap::new(),
            areas,
            whole: Account::default(),
            kernels: BTreeMap::new(),
            running: None,
            launches: 0,
            kernel_time: Covered::default(),
            copy_time: Covered::default(),
        }
    }

    /// Takes an event, none of which begins before the one before.
    ///
    /// # Errors
    /// Pages moved in pieces that no pages have.
    pub fn add(&mut self, event: Event) -> Result<(), String> {
        let times = (event.start_ns, event.end_ns);
        self.last_ns = self.last_ns.max(times.1);
        self.end_kernel(times.0);
        match event.what {
            What::Kernel(name) => self.launch(readable_name(&name), times),
            What::Came(address, bytes, why) => {
                self.carried(address, bytes, true, times)?;
                self.came(address, bytes, why, times);
            }
            What::Left(address, bytes, why) => {
                self.carried(address, bytes, false, times)?;
                self.left(address, bytes, why, times);
            }
            What::GpuFault(address, faults) => {
                self.fault(Reason::GpuFault, address, times);
                self.charge(address / BLOCK_BYTES, |account| {
                    account.gpu_faults += faults
                });
            }
            What::CpuFault(address) => {
                self.fault(Reason::CpuFault, address, times);
                self.charge(address / BLOCK_BYTES, |account| account.cpu_faults += 1);
            }
            What::Copied => self.copy_time.add(times),
            What::Freed(address, bytes) => self.freed(address, bytes, times),
            What::Allocated(..) => {}
        }
        Ok(())
    }

    /// Notes what moved, which are whole pages.
    fn carried(
        &mut self,
        address: u64,
        bytes: u64,
        to_gpu: bool,
        times: Times,
    ) -> Result<(), String> {
        let is_whole = |bytes: u64| bytes.is_multiple_of(PAGE_BYTES);
        if bytes == 0 || !is_whole(address) || !is_whole(bytes) {
            return Err(format!(
                "{bytes} bytes of unified memory moved at {address:#x}, which are no whole pages of {PAGE_BYTES} bytes"
            ));
        }
        let times_ps = (self.ps(times.0), self.ps(times.1));
        self.recorder.carried(times_ps, bytes, to_gpu);
        Ok(())
    }

    /// What the run left.
    pub fn finish(mut self) -> Replayed {
        self.end_kernel(u64::MAX);
        let last_ps = self.ps(self.last_ns);
        Replayed {
            time_ns: self.last_ns.saturating_sub(self.first_ns),
            kernel_time_ns: self.kernel_time.sum_ns,
            copy_time_ns: self.copy_time.sum_ns,
            launches: self.launches,
            whole: self.whole,
            kernels: self.kernels,
            areas: self.areas,
            map: self.recorder.finish("", last_ps, 0).encode(),
        }
    }

    fn ps(&self, at_ns: u64) -> u64 {
        at_ns.saturating_sub(self.first_ns) * 1000
    }

    fn launch(&mut self, name: String, times: Times) {
        self.kernel_time.add(times);
        self.launches += 1;
        let kernel = self.kernels.entry(name.clone()).or_default();
        kernel.launches += 1;
        kernel.time_ns += times.1 - times.0;
        self.recorder.launch(&name, self.ps(times.0));
        self.running = Some((name, times.1));
    }

    /// Ends the running kernel if it is over at a time.
    fn end_kernel(&mut self, at_ns: u64) {
        let over = self.running.take_if(|(_, until_ns)| *until_ns <= at_ns);
        if let Some((_, until_ns)) = over {
            self.recorder.ended(self.ps(until_ns));
        }
    }

    /// Adds to the sums of the whole run, of the kernel that runs, and of the area.
    fn charge(&mut self, block: u64, add: impl Fn(&mut Account)) {
        add(&mut self.whole);
        let running = self.running.as_ref();
        if let Some(kernel) = running.and_then(|(name, _)| self.kernels.get_mut(name)) {
            add(&mut kernel.account);
        }
        let place = self.areas.partition_point(|area| area.blocks.end <= block);
        if let Some(area) = self.areas.get_mut(place) {
            add(&mut area.account);
        }
    }

    fn fault(&mut self, reason: Reason, address: u64, times: Times) {
        let page = (address % BLOCK_BYTES / PAGE_BYTES) as u32;
        let pages = PageMask::range(page..page + 1);
        self.change(reason, address / BLOCK_BYTES, pages, times);
    }

    fn came(&mut self, address: u64, bytes: u64, why: Why, times: Times) {
        let reason = match why {
            Why::Touch => Reason::Fault,
            Why::Ahead => Reason::Prefetch,
            Why::Call => Reason::AskedFor,
            Why::Counter => Reason::Counter,
            _ => Reason::CameUnexplained,
        };
        let is_ahead = matches!(why, Why::Ahead | Why::Call);
        for (number, (block, pages)) in masks(address, bytes).enumerate() {
            let repeated = self.arrive(reason, block, pages, times);
            let sum = bytes_of(pages);
            self.charge(block, |account| {
                account.migrations += u64::from(number == 0);
                account.migrated_bytes += sum;
                account.repeated_bytes += repeated;
                account.prefetched_bytes += if is_ahead { sum } else { 0 };
                account.came_unexplained_bytes += if why == Why::Unknown { sum } else { 0 };
            });
        }
    }

    fn left(&mut self, address: u64, bytes: u64, why: Why, times: Times) {
        let reason = match why {
            Why::Eviction => Reason::Eviction,
            Why::Touch => Reason::CpuTouch,
            Why::Call => Reason::SentBack,
            _ => Reason::LeftUnexplained,
        };
        for (block, pages) in masks(address, bytes) {
            // What was on the GPU and did not come over the link was first touched there.
            let there = self.blocks.entry(block).or_default().there;
            let populated = pages.without(&there);
            self.arrive(Reason::Populated, block, populated, (times.0, times.0));
            self.leave(reason, block, pages, times);
            let sum = bytes_of(pages);
            self.charge(block, |account| {
                account.returned_bytes += sum;
                account.evicted_bytes += if why == Why::Eviction { sum } else { 0 };
                account.left_unexplained_bytes += if why == Why::Unknown { sum } else { 0 };
            });
        }
    }

    /// What is on the GPU of freed memory leaves, and is new memory when it comes again.
    fn freed(&mut self, address: u64, bytes: u64, times: Times) {
        let first = address / BLOCK_BYTES;
        let last = (address + bytes).div_ceil(BLOCK_BYTES);
        let seen: Vec<u64> = self
            .blocks
            .range(first..last)
            .map(|(block, _)| *block)
            .collect();
        for block in seen {
            let start = address.max(block * BLOCK_BYTES);
            let end = (address + bytes).min((block + 1) * BLOCK_BYTES);
            for (block, pages) in masks(start, end - start) {
                let state = self.blocks.entry(block).or_default();
                state.known = state.known.without(&pages);
                let there = state.there.and(&pages);
                self.leave(Reason::Freed, block, there, times);
            }
        }
    }

    /// Notes an arrival; how many bytes had been there before.
    fn arrive(&mut self, reason: Reason, block: u64, pages: PageMask, times: Times) -> u64 {
        self.change(reason, block, pages, times);
        let state = self.blocks.entry(block).or_default();
        let repeated = state.known.and(&pages);
        state.there = state.there.or(&pages);
        state.known = state.known.or(&pages);
        let done_ps = self.ps(times.1);
        for stretch in repeated.stretches() {
            self.recorder
                .moved_again(block, in_bytes(&stretch), done_ps);
        }
        bytes_of(repeated)
    }

    fn leave(&mut self, reason: Reason, block: u64, pages: PageMask, times: Times) {
        self.change(reason, block, pages, times);
        let state = self.blocks.entry(block).or_default();
        state.there = state.there.without(&pages);
    }

    fn change(&mut self, reason: Reason, block: u64, pages: PageMask, times: Times) {
        for stretch in pages.stretches() {
            self.recorder.changed(&Change {
                cause: reason as u8,
                page: block,
                range: in_bytes(&stretch),
                start_ps: self.ps(times.0),
                done_ps: self.ps(times.1),
                place: 0,
            });
        }
    }
}

/// The pages that hold some of the bytes, block by block.
fn masks(address: u64, bytes: u64) -> impl Iterator<Item = (u64, PageMask)> {
    let end = address.saturating_add(bytes);
    let blocks = address / BLOCK_BYTES..end.div_ceil(BLOCK_BYTES);
    blocks.map(move |block| {
        let start = block * BLOCK_BYTES;
        let first = address.max(start) - start;
        let last = end.min(start.saturating_add(BLOCK_BYTES)) - start;
        let pages = first / PAGE_BYTES..last.div_ceil(PAGE_BYTES);
        (block, PageMask::range(pages.start as u32..pages.end as u32))
    })
}

fn in_bytes(pages: &Range<u32>) -> Range<u32> {
    pages.start * PAGE_BYTES as u32..pages.end * PAGE_BYTES as u32
}

fn bytes_of(pages: PageMask) -> u64 {
    u64::from(pages.count()) * PAGE_BYTES
}
