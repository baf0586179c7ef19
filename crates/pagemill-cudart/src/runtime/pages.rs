//! Managed pages as the CPU may use them: open where they are in CPU memory, closed where they are not.

use std::io::{self, Write};
use std::ops::Range;

use pagemill_sim::hints::PAGE_BYTES;
use pagemill_sim::{Gpu, TransferMode};
use pagemill_types::{PageSize, VirtAddr};

use super::Runtime;
use super::memory::Kind;
use crate::error::{CudaError, Fault};
use crate::managed::{self, GRANULE_BYTES_MIN, Views};

/// The pages of one managed allocation.
pub(super) struct ManagedPages {
    views: Views,
    granule_bytes: u64,
    /// For each granule, whether a touch of the CPU faults.
    closed: Vec<bool>,
    /// For each granule, whether the simulator knows of a touch of all its pages.
    settled: Vec<bool>,
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
            closed: vec![false; granules as usize],
            settled: vec![false; granules as usize],
        };
        Ok((pages, memory))
    }

    fn granule(&self, index: usize) -> Range<u64> {
        let start = self.views.cpu().start + index as u64 * self.granule_bytes;
        start..start + self.granule_bytes
    }

    /// Closes the open granules that begin at `starts`, neighbors with one call. Addresses of others are passed over.
    fn close(&mut self, starts: impl Iterator<Item = u64>) -> io::Result<()> {
        let cpu = self.views.cpu();
        let mut run: Option<Range<u64>> = None;
        for start in starts.filter(|start| cpu.contains(start)) {
            let index = ((start - cpu.start) / self.granule_bytes) as usize;
            self.settled[index] = true;
            if std::mem::replace(&mut self.closed[index], true) {
                continue;
            }
            let granule = self.granule(index);
            match &mut run {
                Some(run) if run.end == granule.start => run.end = granule.end,
                _ => {
                    if let Some(run) = run.replace(granule) {
                        managed::close(run)?;
                    }
                }
            }
        }
        run.map_or(Ok(()), managed::close)
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

    /// The granules that the CPU touched, as ranges of the allocation's `bytes`.
    fn take_touched(&mut self, bytes: u64) -> Vec<Range<u64>> {
        let cpu = self.views.cpu();
        let mut ranges: Vec<Range<u64>> = Vec::new();
        managed::take_touched(cpu.clone(), |start| {
            let offset = start - cpu.start;
            if let Some(closed) = self.closed.get_mut((offset / self.granule_bytes) as usize) {
                *closed = false;
            }
            let end = bytes.min(offset + self.granule_bytes);
            match ranges.last_mut() {
                Some(last) if last.end == offset => last.end = end,
                _ => ranges.push(offset..end),
            }
        });
        ranges
    }
}

impl Runtime {
    /// Pages that the CPU has touched come back, in the order of their addresses, while the host waits.
    pub(super) fn return_touched(&mut self) {
        if !managed::any_touched() {
            return;
        }
        self.gpu.set_now(self.clocks.host());
        for block in self.blocks.values_mut() {
            let Kind::Managed(buffer, pages) = &mut block.kind else {
                continue;
            };
            for range in pages.take_touched(block.bytes) {
                // The range is within the buffer.
                let _ = self.gpu.copy_from_gpu(*buffer, range);
            }
        }
        self.clocks.host_waits(self.gpu.now());
    }

    /// Before the page manager looks at pages: those that the CPU has touched first are in its memory.
    pub(super) fn tell_first_touches(&mut self) {
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

    /// Before a kernel of a mode that copies: what the CPU has in hand is copied to the GPU.
    pub(super) fn copy_open_pages(gpu: &mut Gpu, blocks: &mut super::Blocks) {
        for block in blocks.values_mut() {
            let Kind::Managed(buffer, pages) = &mut block.kind else {
                continue;
            };
            for (closed, index) in pages.closed.iter().zip(0u64..) {
                let start = index * pages.granule_bytes;
                if !closed && start < block.bytes {
                    let end = block.bytes.min(start + pages.granule_bytes);
                    // The range is within the buffer.
                    let _ = gpu.copy_to_gpu(*buffer, start..end);
                }
            }
        }
    }

    /// Closes the pages that are on the GPU now, so that the CPU's next touch is seen.
    pub(super) fn close_pages_on_gpu(&mut self) {
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
                true => pages.close(pages.starts()),
                false => pages.close(of_allocation(&arrived, &pages.views.cpu())),
            };
            if closed.is_ok() {
                continue;
            }
            // The system allows only so many ranges of different protection (vm.max_map_count).
            warn_of_map_count();
            if managed::open(pages.views.cpu()).is_ok() {
                pages.closed.fill(false);
            }
            let _ = self.gpu.copy_from_gpu(*buffer, 0..block.bytes);
        }
    }
}

/// Those of the ascending `addresses` that lie in `allocation`.
fn of_allocation<'a>(
    addresses: &'a [VirtAddr],
    allocation: &Range<u64>,
) -> impl Iterator<Item = u64> + use<'a> {
    let first = addresses.partition_point(|address| address.0 < allocation.start);
    let end = addresses.partition_point(|address| address.0 < allocation.end);
    addresses[first..end].iter().map(|address| address.0)
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
