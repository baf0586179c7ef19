//! The second-level cache: its slices, one before each partition of memory, in one half or two.

use std::ops::Range;

use crate::gpu::machine::GpuMachine;
use crate::gpu::memory::partition::{PartitionMap, PartitionPlace};
use crate::gpu::memory::partition_slice::PartitionSlice;
use crate::gpu::{SEGMENT_BYTES, SEGMENT_SHIFT};
use pagemill_pages::parts::cache::CacheCounts;
use pagemill_pages::parts::dram::DramCounts;
use pagemill_types::Picos;

/// What writes GPU memory beside kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// A copy over the link, which is so much slower than memory that memory has its bytes by the end.
    Link,
    /// A fill, or a copy within GPU memory: L2 writes its bytes back when they make room.
    Gpu,
}

/// All slices.
#[derive(Debug)]
pub(crate) struct L2 {
    slices: Vec<PartitionSlice>,
    map: PartitionMap,
    sms: usize,
    /// What stays of a copy over the link at most.
    kept_segments: u64,
    /// Each line has its home at the partition of its memory. SMs of the other half keep copies in the slice across.
    has_halves: bool,
}

impl L2 {
    pub(crate) fn new(machine: &GpuMachine, map: PartitionMap) -> Self {
        Self {
            slices: (0..machine.memory.partitions())
                .map(|_| PartitionSlice::new(machine))
                .collect(),
            map,
            sms: machine.sm.count as usize,
            kept_segments: u64::from(machine.l2_kept_copy_bytes) >> SEGMENT_SHIFT,
            has_halves: machine.l2_far_cycles > 0,
        }
    }

    #[inline]
    pub(crate) fn place(&self, segment: u64) -> PartitionPlace {
        self.map.place(segment)
    }

    /// Reads sectors of a line for SM `sm`; returns when their data leaves.
    #[inline]
    pub(crate) fn load(&mut self, at: Picos, sm: u32, place: PartitionPlace, sectors: u8) -> Picos {
        let PartitionPlace { partition, line } = place;
        if let Some(across) = self.across(partition)
            && self.is_far(sm, partition)
            && let Ok([home, near]) = self.slices.get_disjoint_mut([partition, across])
        {
            return near.load_copy(at, line, sectors, home);
        }
        self.slices[partition].load(at, line, sectors)
    }

    /// Writes sectors of a line, which takes the port for `busy`; returns when the slice has taken them.
    #[inline]
    pub(crate) fn store(
        &mut self,
        at: Picos,
        place: PartitionPlace,
        sectors: u8,
        busy: Picos,
    ) -> Picos {
        self.forget_copy(place);
        self.slices[place.partition].store(at, place.line, sectors, busy)
    }

    /// Changes words in sectors of a line in place for `cycles`; returns when the old data leaves.
    pub(crate) fn atomic(
        &mut self,
        at: Picos,
        place: PartitionPlace,
        sectors: u8,
        cycles: u32,
    ) -> Picos {
        self.forget_copy(place);
        self.slices[place.partition].atomic(at, place.line, sectors, cycles)
    }

    /// `by` has written `bytes` at `address` by `at`: the last of them that there is room for stay.
    pub(crate) fn leave_written(&mut self, at: Picos, (address, bytes): (u64, u64), by: Writer) {
        if self.kept_segments == 0 || bytes == 0 {
            return;
        }
        let room = match by {
            Writer::Link => self.kept_segments,
            Writer::Gpu => self.capacity_lines(),
        };
        let end = (address + bytes).div_ceil(SEGMENT_BYTES);
        let first = address >> SEGMENT_SHIFT;
        // In order of addresses: of more than there is room for, the first lines have left again, and need not be placed.
        let kept = first.max(end.saturating_sub(room));
        self.forget(first..kept);
        for segment in kept..end {
            let place = self.map.place(segment);
            self.forget_copy(place);
            self.slices[place.partition].place(at, place.line, by == Writer::Gpu);
        }
    }

    /// `segments` are no longer in GPU memory. By whichever is shorter: the segments or all slices.
    pub(crate) fn forget(&mut self, segments: Range<u64>) {
        if segments.end - segments.start < self.capacity_lines() {
            for segment in segments {
                let place = self.map.place(segment);
                self.forget_copy(place);
                self.slices[place.partition].forget(place.line);
            }
            return;
        }
        let (map, partitions) = (self.map, self.slices.len());
        for (here, slice) in self.slices.iter_mut().enumerate() {
            slice.forget_where(|line, is_copy| {
                let partition = if is_copy { partitions - 1 - here } else { here };
                segments.contains(&map.segment(PartitionPlace { partition, line }))
            });
        }
    }

    /// Asks for what is known of `segment` before `sm` looks it up.
    #[inline]
    pub(crate) fn warm(&self, sm: u32, segment: u64) {
        let place = self.map.place(segment);
        self.slices[place.partition].warm(place.line);
        if let Some(across) = self.across(place.partition)
            && self.is_far(sm, place.partition)
        {
            self.slices[across].warm_copy(place.line);
        }
    }

    pub(crate) fn counts(&self) -> impl Iterator<Item = (CacheCounts, DramCounts)> {
        self.slices.iter().map(PartitionSlice::counts)
    }

    /// The slice of the other half that has copies of what is at home in `partition`; none where that is the middle.
    #[inline]
    fn across(&self, partition: usize) -> Option<usize> {
        let across = self.slices.len() - 1 - partition;
        (self.has_halves && across != partition).then_some(across)
    }

    /// Whether `sm` lies at the other half than `partition`.
    #[inline]
    fn is_far(&self, sm: u32, partition: usize) -> bool {
        // No document says which SM lies where. By numbers, each has half of all partitions at the other side.
        (2 * sm as usize >= self.sms) != (2 * partition >= self.slices.len())
    }

    /// What changes a line does so at its home: a copy of it is old afterwards.
    #[inline]
    fn forget_copy(&mut self, place: PartitionPlace) {
        if let Some(across) = self.across(place.partition) {
            self.slices[across].forget_copy(place.line);
        }
    }

    fn capacity_lines(&self) -> u64 {
        let lines = self.slices.iter().map(PartitionSlice::capacity_lines);
        lines.sum::<usize>() as u64
    }
}

#[cfg(test)]
mod tests;
