//! Managed pages as the CPU may use them: open where they are in CPU memory, closed where they are not.

use std::io::{self, Write};
use std::ops::Range;

use pagemill_pages::hints::PAGE_BYTES;
use pagemill_sim::{Arrived, TransferMode};
use pagemill_types::{PageSize, Picos};

use super::Runtime;
use super::device::Device;
use super::memory::{Block, Kind, Pinned};
use crate::error::{CudaError, Fault};
use crate::managed::{self, Closed, GRANULE_BYTES_MIN, Touched, Views};

/// The pages of one managed allocation.
pub(super) struct ManagedPages {
    views: Views,
    granule_bytes: u64,
    /// For each granule, which touches of the CPU fault.
    closed: Vec<Option<Closed>>,
    /// For each granule, whether the simulator knows of a touch of all its pages.
    settled: Vec<bool>,
    in_place_of_device: bool,
}

impl ManagedPages {
    /// Maps `bytes` at `address`, all open.
    pub(super) fn map(
        address: u64,
        bytes: u64,
        granule: PageSize,
    ) -> Result<(Self, &'static mut [u8]), Fault> {
        let granule_bytes = granule.bytes();
        if granule_bytes < GRANULE_BYTES_MIN {
            let message = format!(
                "managed memory needs pages of at least {GRANULE_BYTES_MIN} bytes, transfer.page_size is {granule_bytes}"
            );
            return Err(Fault::new(CudaError::NOT_SUPPORTED, message));
        }
        let mapped = Views::map(address, bytes, granule_bytes.trailing_zeros());
        let (views, memory) = mapped.map_err(|error| {
            let message = format!("cannot map {bytes} managed bytes at {address:#x}: {error}");
            Fault::new(CudaError::MEMORY_ALLOCATION, message)
        })?;
        let granules = (views.cpu().end - views.cpu().start) / granule_bytes;
        let pages = Self {
            views,
            granule_bytes,
            closed: vec![None; granules as usize],
            settled: vec![false; granules as usize],
            in_place_of_device: false,
        };
        Ok((pages, memory))
    }

    /// The same for a program that asked for memory of the GPU.
    pub(super) fn in_place_of_device(self) -> Self {
        Self {
            in_place_of_device: true,
            ..self
        }
    }

    pub(super) fn is_in_place_of_device(&self) -> bool {
        self.in_place_of_device
    }

    fn granule(&self, index: usize) -> Range<u64> {
        let start = self.views.cpu().start + index as u64 * self.granule_bytes;
        start..start + self.granule_bytes
    }

    /// Closes the granules that begin at `starts`, neighbors with one call. Addresses of others are passed over.
    fn close(&mut self, starts: impl Iterator<Item = u64>, how: Closed) -> io::Result<()> {
        let cpu = self.views.cpu();
        let mut run: Option<Range<u64>> = None;
        for start in starts.filter(|start| cpu.contains(start)) {
            let index = ((start - cpu.start) / self.granule_bytes) as usize;
            self.settled[index] = true;
            if self.closed[index].replace(how) == Some(how) {
                continue;
            }
            let granule = self.granule(index);
            match &mut run {
                Some(run) if run.end == granule.start => run.end = granule.end,
                _ => {
                    if let Some(run) = run.replace(granule) {
                        managed::close(run, how)?;
                    }
                }
            }
        }
        run.map_or(Ok(()), |run| managed::close(run, how))
    }

    /// Closes the granules that something arrived for on the GPU.
    fn close_arrived(&mut self, arrived: &[Arrived]) -> io::Result<()> {
        let starts = |how: Closed| {
            let granules = arrived
                .iter()
                .filter(move |granule| closing(granule) == how);
            granules.map(|granule| granule.address.0)
        };
        // Where the system does not show writes alone, a page that is read mostly keeps its copies.
        let _ = self.close(starts(Closed::Writes), Closed::Writes);
        self.close(starts(Closed::Apart), Closed::Apart)?;
        self.close(starts(Closed::All), Closed::All)
    }

    /// Of the closed granules of `range`, reads and writes are told apart from now on.
    fn part_touches(&mut self, range: Range<u64>) -> io::Result<()> {
        let closed: Vec<u64> = (0..self.closed.len())
            .filter(|&index| self.closed[index] == Some(Closed::All))
            .map(|index| self.granule(index))
            .filter(|granule| granule.start < range.end && range.start < granule.end)
            .map(|granule| granule.start)
            .collect();
        self.close(closed.into_iter(), Closed::Apart)
    }

    /// The first addresses of all granules.
    fn starts(&self) -> impl Iterator<Item = u64> + use<> {
        self.views.cpu().step_by(self.granule_bytes as usize)
    }

    /// The pages of open granules that have memory, as ranges of the allocation's `bytes`: the CPU has touched them.
    fn populated(&mut self, bytes: u64) -> Vec<Range<u64>> {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        let cpu = self.views.cpu();
        for index in 0..self.settled.len() {
            if self.settled[index] {
                continue;
            }
            let granule = self.granule(index);
            let present = self.views.present(granule.clone());
            self.settled[index] = present.iter().all(|&present| present);
            let places = (0u64..).zip(&present).filter(|(_, present)| **present);
            for (place, _) in places {
                let start = granule.start - cpu.start + place * PAGE_BYTES;
                let end = bytes.min(start + PAGE_BYTES);
                match ranges.last_mut() {
                    Some(last) if last.end == start => last.end = end,
                    _ if start < bytes => ranges.push(start..end),
                    _ => {}
                }
            }
        }
        ranges
    }

    /// The granules that the CPU touched, as ranges of the allocation's `bytes`, and whether it is known to have written there.
    fn take_touched(&mut self, bytes: u64) -> Vec<(Range<u64>, bool)> {
        let cpu = self.views.cpu();
        let mut ranges: Vec<(Range<u64>, bool)> = Vec::new();
        managed::take_touched(cpu.clone(), |start, touched| {
            let offset = start - cpu.start;
            if let Some(closed) = self.closed.get_mut((offset / self.granule_bytes) as usize) {
                *closed = (touched == Touched::Read).then_some(Closed::Writes);
            }
            let wrote = touched == Touched::Written;
            let end = bytes.min(offset + self.granule_bytes);
            match ranges.last_mut() {
                Some((last, same)) if last.end == offset && *same == wrote => last.end = end,
                _ => ranges.push((offset..end, wrote)),
            }
        });
        ranges
    }
}

impl Device {
    /// Of several runtimes in a process one has managed memory, and touches are for it.
    fn has_managed_memory(&self) -> bool {
        self.blocks.values().any(|block| block.pages().is_some())
    }

    /// Whether some touches of the CPU can be seen for `--check`.
    pub(super) fn has_watched_memory(&self) -> bool {
        self.setting.check && self.has_managed_memory()
    }

    /// Closes all pages of the ascending ranges `written`, from one address to another, so that the CPU's next touch is seen.
    pub(super) fn close_watched_pages(&mut self, written: &[(u64, u64)]) {
        for pages in self.blocks.values_mut().filter_map(Block::pages_mut) {
            let (cpu, granule) = (pages.views.cpu(), pages.granule_bytes);
            let first = written.partition_point(|(_, end)| *end <= cpu.start);
            let here = written[first..]
                .iter()
                .take_while(|(start, _)| *start < cpu.end);
            let starts = here.flat_map(|&(start, end)| {
                let first = start.max(cpu.start) - (start.max(cpu.start) - cpu.start) % granule;
                (first..end.min(cpu.end)).step_by(granule as usize)
            });
            // Without, a touch is not seen.
            let _ = pages.close(starts, Closed::All);
        }
    }

    /// Opens what is closed: nothing that the CPU touches can be a mistake.
    pub(super) fn open_watched_pages(&mut self) {
        for pages in self.blocks.values_mut().filter_map(Block::pages_mut) {
            let is_closed = pages.closed.iter().any(Option::is_some);
            if is_closed && managed::open(pages.views.cpu()).is_ok() {
                pages.closed.fill(None);
            }
        }
    }

    /// Before the page manager looks at pages: those that the CPU has touched first are in its memory.
    pub(super) fn report_first_touches(&mut self) {
        if !self.gpu.migrates() {
            return;
        }
        for block in self.blocks.values_mut() {
            let Kind::Managed(buffer, pages) = &mut block.kind else {
                continue;
            };
            for range in pages.populated(block.bytes) {
                // The range is within the buffer.
                let _ = self.gpu.touched_by_host(*buffer, range);
            }
        }
    }

    /// Of the managed bytes from `address`, reads and writes of the CPU are told apart from now on.
    pub(super) fn see_writes_to(&mut self, address: u64, bytes: u64) {
        let Some((start, _)) = self.block_at(address) else {
            return;
        };
        if let Some(Kind::Managed(_, pages)) =
            self.blocks.get_mut(&start).map(|block| &mut block.kind)
        {
            // Without, writes are taken for reads.
            let _ = pages.part_touches(address..address + bytes);
        }
    }

    /// Before a kernel of a mode that copies: what the CPU has in hand is copied to the GPU from `at` on. Returns when it is there.
    pub(super) fn copy_open_pages(&mut self, mut at: Picos) -> Picos {
        for block in self.blocks.values() {
            let Kind::Managed(buffer, pages) = &block.kind else {
                continue;
            };
            for (closed, index) in pages.closed.iter().zip(0u64..) {
                let start = index * pages.granule_bytes;
                if closed.is_none() && start < block.bytes {
                    let end = block.bytes.min(start + pages.granule_bytes);
                    // The range is within the buffer.
                    at = self.gpu.copy_to_gpu(at, *buffer, start..end).unwrap_or(at);
                }
            }
        }
        at
    }

    /// Closes the pages that are on the GPU now, so that the CPU's next touch is seen; those that CPU memory has too, to writes.
    pub(super) fn close_pages_on_gpu(&mut self, at: Picos) {
        let all = self.is_programmer_copy();
        let arrived = self.gpu.take_arrived();
        if (arrived.is_empty() && !all) || self.setting.mode == TransferMode::IdealOverlap {
            return;
        }
        for block in self.blocks.values_mut() {
            let Kind::Managed(buffer, pages) = &mut block.kind else {
                continue;
            };
            let closed = match all {
                true => pages.close(pages.starts(), Closed::All),
                false => pages.close_arrived(of_allocation(&arrived, &pages.views.cpu())),
            };
            if closed.is_ok() {
                continue;
            }
            // The system allows only so many ranges of different protection (vm.max_map_count).
            warn_of_map_count();
            if managed::open(pages.views.cpu()).is_ok() {
                pages.closed.fill(None);
            }
            let _ = self.gpu.copy_from_gpu(at, *buffer, 0..block.bytes);
        }
    }
}

impl Runtime {
    /// Pages that the CPU has touched come back, in the order of their addresses, while the host waits.
    pub(super) fn return_touched(&mut self) {
        if !managed::any_touched() || !self.device.has_managed_memory() {
            return;
        }
        managed::expect_touches();
        if self.device.setting.check {
            self.deeds
                .note_touches(&mut self.device, &managed::take_places());
        }
        let mut at = self.streams.host();
        for block in self.device.blocks.values_mut() {
            if let Kind::Pinned(Pinned::Watched(pages)) = &mut block.kind {
                pages.take_touched(block.bytes);
            }
            let Kind::Managed(buffer, pages) = &mut block.kind else {
                continue;
            };
            for (range, wrote) in pages.take_touched(block.bytes) {
                // The range is within the buffer.
                let done = match wrote {
                    true => self.device.gpu.written_by_host(at, *buffer, range),
                    false => self.device.gpu.copy_from_gpu(at, *buffer, range),
                };
                at = done.unwrap_or(at);
            }
        }
        self.streams.host_waits(at);
    }
}

/// Which touches of the CPU have to be seen.
fn closing(granule: &Arrived) -> Closed {
    match (granule.only_on_gpu, granule.is_read_mostly) {
        (false, _) => Closed::Writes,
        (true, true) => Closed::Apart,
        (true, false) => Closed::All,
    }
}

/// Those of the ascending `arrived` that lie in `allocation`.
fn of_allocation<'a>(arrived: &'a [Arrived], allocation: &Range<u64>) -> &'a [Arrived] {
    let first = arrived.partition_point(|granule| granule.address.0 < allocation.start);
    let end = arrived.partition_point(|granule| granule.address.0 < allocation.end);
    &arrived[first..end]
}

fn warn_of_map_count() {
    use std::sync::Once;
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // A closed standard error leaves no place for a message.
        let _ = writeln!(
            std::io::stderr(),
            "pagemill: the system allows no more protected ranges, so all pages of an allocation came back at once: raise \
             vm.max_map_count or transfer.page_size"
        );
    });
}
