//! Managed pages as the CPU may use them: open where they are in CPU memory, closed where they are not.

use std::io::{self, Write};
use std::ops::Range;

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
}

impl ManagedPages {
    /// Maps `bytes` at `address`, all open.
    pub(super) fn map(
        address: u64,
        bytes: u64,
        page: PageSize,
    ) -> Result<(Self, &'static mut [u8]), Fault> {
        let granule_bytes = page.bytes();
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
        };
        Ok((pages, memory))
    }

    fn granule(&self, index: usize) -> Range<u64> {
        let start = self.views.cpu().start + index as u64 * self.granule_bytes;
        start..start + self.granule_bytes
    }

    /// Closes every open granule that `is_away` says, neighbours with one call.
    fn close(&mut self, is_away: impl Fn(u64) -> bool) -> io::Result<()> {
        let mut run: Option<Range<u64>> = None;
        for index in 0..self.closed.len() {
            let granule = self.granule(index);
            if self.closed[index] || !is_away(granule.start) {
                continue;
            }
            self.closed[index] = true;
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
        let migrations = self.gpu.migrations();
        let nothing_moved = migrations == self.migrations_seen && !all;
        if nothing_moved || self.setting.mode == TransferMode::IdealOverlap {
            return;
        }
        self.migrations_seen = migrations;
        for block in self.blocks.values_mut() {
            let Kind::Managed(buffer, pages) = &mut block.kind else {
                continue;
            };
            let gpu = &self.gpu;
            if pages
                .close(|start| all || gpu.is_on_gpu(VirtAddr(start)))
                .is_ok()
            {
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

fn warn_of_map_count() {
    use std::sync::Once;
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // There is nobody left to tell when standard error is closed.
        let _ = writeln!(
            std::io::stderr(),
            "pagemill: the system allows no more protected ranges, so all pages of an allocation came back at once: raise \
             vm.max_map_count or transfer.page_size"
        );
    });
}
