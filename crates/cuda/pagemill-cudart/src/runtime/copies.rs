//! Copies and fills: which bytes go where is settled here, moving them between pointers is the border's.

use super::Runtime;
use super::device::Device;
use super::memory::Side;
use super::streams::StreamId;
use crate::error::Fault;
use pagemill_pages::parts::link::Direction;
use pagemill_sim::{Gpu, Writer};
use pagemill_types::{Picos, VirtAddr};

/// Bytes in three dimensions. A plain copy has one row of one slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Bytes of a row.
    pub width_bytes: u64,
    /// Rows of a slice.
    pub rows: u64,
    /// Slices.
    pub slices: u64,
}

impl Extent {
    /// `bytes` in a row.
    pub fn linear(bytes: u64) -> Self {
        Self {
            width_bytes: bytes,
            rows: 1,
            slices: 1,
        }
    }

    /// All bytes, or `None` if they cannot be counted.
    pub fn bytes(&self) -> Option<u64> {
        self.width_bytes
            .checked_mul(self.rows)?
            .checked_mul(self.slices)
    }
}

/// Where the rows of an [`Extent`] lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Address of the first byte.
    pub address: u64,
    /// From one row to the next.
    pub pitch_bytes: u64,
    /// From one slice to the next.
    pub slice_bytes: u64,
}

impl Span {
    /// Consecutive bytes.
    pub fn linear(address: u64, bytes: u64) -> Self {
        Self {
            address,
            pitch_bytes: bytes,
            slice_bytes: bytes,
        }
    }

    /// From the first byte to the end of the last.
    pub(super) fn reach(&self, extent: &Extent) -> Option<u64> {
        let slices = self
            .slice_bytes
            .checked_mul(extent.slices.checked_sub(1)?)?;
        let rows = self.pitch_bytes.checked_mul(extent.rows.checked_sub(1)?)?;
        slices.checked_add(rows)?.checked_add(extent.width_bytes)
    }

    /// Offset of a row.
    pub fn offset(&self, row: u64, slice: u64) -> u64 {
        row * self.pitch_bytes + slice * self.slice_bytes
    }
}

/// A copy of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copy3d {
    /// To where.
    pub to: Span,
    /// From where.
    pub from: Span,
    /// How much.
    pub extent: Extent,
}

impl Device {
    /// Checks that memory that the runtime knows holds all rows of `span`, and returns which it is and all of its bytes
    /// from the first to the last; `None` for the bytes of host memory.
    ///
    /// # Errors
    /// If rows overlap or reach past the allocation.
    pub fn locate(
        &mut self,
        span: &Span,
        extent: &Extent,
    ) -> Result<(Side, Option<&mut [u8]>), Fault> {
        match self.locate_reach(span, extent)? {
            (Side::Host, _) => Ok((Side::Host, None)),
            (side, reach) => Ok((side, Some(self.bytes_mut(span.address, reach)?))),
        }
    }

    /// As [`Device::locate`], to read.
    ///
    /// # Errors
    /// As there.
    pub fn locate_source(
        &self,
        span: &Span,
        extent: &Extent,
    ) -> Result<(Side, Option<&[u8]>), Fault> {
        match self.locate_reach(span, extent)? {
            (Side::Host, _) => Ok((Side::Host, None)),
            (side, reach) => Ok((side, Some(self.bytes(span.address, reach)?))),
        }
    }

    /// Where `span` lies, and how far it reaches.
    fn locate_reach(&self, span: &Span, extent: &Extent) -> Result<(Side, u64), Fault> {
        let is_pitched = extent.rows > 1 || extent.slices > 1;
        if is_pitched && span.pitch_bytes < extent.width_bytes {
            return Err(Fault::invalid(format!(
                "a pitch of {} bytes is less than a row of {}",
                span.pitch_bytes, extent.width_bytes
            )));
        }
        let reach = span
            .reach(extent)
            .ok_or_else(|| Fault::invalid("the copy is larger than any memory"))?;
        Ok((self.side(span.address), reach))
    }

    /// What of a copy's source has no value, a list for each of its rows: for [`Device::leave_unset`], before the copy.
    pub fn unset_rows(&self, copy: &Copy3d) -> Vec<(u64, Vec<(u64, u64)>)> {
        if !self.setting.check || self.side(copy.to.address) != Side::Device {
            return Vec::new();
        }
        let extent = copy.extent;
        let rows = rows(&extent);
        let memory = self.gpu.device_memory();
        let unset = rows.map(|(row, slice)| {
            let from = copy.from.address + copy.from.offset(row, slice);
            let to = copy.to.address + copy.to.offset(row, slice);
            (to, memory.without_values(from, extent.width_bytes))
        });
        unset.filter(|(_, holes)| !holes.is_empty()).collect()
    }

    /// What has no value between the rows of `span`: for [`Device::leave_unset`], before a copy or fill of them.
    pub fn unset_gaps(&self, span: &Span, extent: &Extent) -> Vec<(u64, Vec<(u64, u64)>)> {
        if !self.setting.check || self.side(span.address) != Side::Device {
            return Vec::new();
        }
        let memory = self.gpu.device_memory();
        let rows: Vec<u64> = rows(extent)
            .map(|(row, slice)| span.offset(row, slice))
            .collect();
        let gaps = rows.windows(2).filter_map(|pair| {
            let start = pair[0] + extent.width_bytes;
            let bytes = pair[1].checked_sub(start)?;
            let start = span.address + start;
            Some((start, memory.without_values(start, bytes)))
        });
        gaps.filter(|(_, holes)| !holes.is_empty()).collect()
    }

    /// A copy has taken along what has no value.
    pub fn leave_unset(&mut self, rows: &[(u64, Vec<(u64, u64)>)]) {
        for (to, holes) in rows {
            for (start, end) in holes {
                let memory = self.gpu.device_memory_mut();
                memory.forget_values(to + start, end - start);
            }
        }
    }

    fn managed_span(
        &self,
        span: &Span,
        extent: &Extent,
        side: Side,
    ) -> Option<(pagemill_sim::Buffer, std::ops::Range<u64>)> {
        if side != Side::Managed {
            return None;
        }
        self.managed_range(span.address, span.reach(extent)?).ok()
    }
}

impl Runtime {
    /// Takes the time of a copy between two sides; `copy` says where it happens.
    ///
    /// # Errors
    /// If there is no such stream.
    pub fn charge_copy(
        &mut self,
        copy: &Copy3d,
        to: Side,
        from: Side,
        stream: StreamId,
    ) -> Result<(), Fault> {
        self.note_copy(copy, (to, from), stream)?;
        let from = self.bring_for_copy((&copy.from, from), &copy.extent, stream)?;
        let to = self.bring_for_copy((&copy.to, to), &copy.extent, stream)?;
        let bytes = copy.extent.bytes().unwrap_or(u64::MAX);
        let on_board = self.device.on_board_copy(bytes, bytes);
        let managed_from = self.device.managed_span(&copy.from, &copy.extent, from);
        let managed_to = self.device.managed_span(&copy.to, &copy.extent, to);
        self.enqueue(stream, |gpu, mut at| {
            if let Some((buffer, range)) = managed_from {
                at = gpu.copy_from_gpu(at, buffer, range)?;
            }
            if let Some((buffer, range)) = managed_to {
                at = gpu.copy_to_gpu(at, buffer, range)?;
            }
            let done = match (to == Side::Device, from == Side::Device) {
                (true, true) => gpu.occupy(at, on_board),
                (false, false) => at,
                (true, false) => gpu.transfer(at, bytes, Direction::ToGpu),
                (false, true) => gpu.transfer(at, bytes, Direction::ToCpu),
            };
            if to == Side::Device {
                let by = match from {
                    Side::Device => Writer::Gpu,
                    _ => Writer::Link,
                };
                note_written(gpu, done, by, (&copy.to, &copy.extent));
            }
            Ok(done)
        })?;
        Ok(())
    }

    /// Takes the time of filling memory.
    ///
    /// # Errors
    /// If there is no such stream.
    pub fn charge_fill(
        &mut self,
        span: &Span,
        extent: &Extent,
        side: Side,
        stream: StreamId,
    ) -> Result<(), Fault> {
        self.note_fill(span, extent, stream)?;
        let side = self.bring_for_copy((span, side), extent, stream)?;
        let bytes = extent.bytes().unwrap_or(u64::MAX);
        let on_board = self.device.on_board_copy(0, bytes);
        let managed = self.device.managed_span(span, extent, side);
        self.enqueue(stream, |gpu, at| {
            Ok(match (managed, side) {
                (Some((buffer, range)), _) => gpu.copy_to_gpu(at, buffer, range)?,
                (None, Side::Device) => {
                    let done = gpu.occupy(at, on_board);
                    note_written(gpu, done, Writer::Gpu, (span, extent));
                    done
                }
                (None, _) => at,
            })
        })?;
        Ok(())
    }
}

/// The rows of all slices, each with its slice.
fn rows(extent: &Extent) -> impl Iterator<Item = (u64, u64)> + use<> {
    let (rows, slices) = (extent.rows, extent.slices);
    (0..slices).flat_map(move |slice| (0..rows).map(move |row| (row, slice)))
}

/// `by` has written rows of GPU memory by `at`.
fn note_written(gpu: &mut Gpu, at: Picos, by: Writer, (span, extent): (&Span, &Extent)) {
    for (row, slice) in rows(extent) {
        let address = VirtAddr(span.address + span.offset(row, slice));
        gpu.note_written(at, address, extent.width_bytes, by);
    }
}
