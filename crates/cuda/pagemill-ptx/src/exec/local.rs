//! Local memory: interleaved, so that word `w` of all lanes is one line.

use super::access::{Stores, window_fault};
use super::pattern;
use super::transfer::{load_lane, store_lane};
use crate::exec::trap::Fault;
use pagemill_ptx_ir::code::{AccessKind, MemoryInst, SINK};
use pagemill_ptx_ir::line::{Frame, LANE_BITS, LANES, Line, lanes_of};

impl Stores<'_> {
    /// Where all lanes of `mask` mean, if that is one place of whole words inside of local memory.
    #[inline(always)]
    pub(super) fn local_place(
        &self,
        inst: &MemoryInst,
        mask: u32,
        addresses: &Line<u64>,
    ) -> Option<u64> {
        let at = addresses[mask.trailing_zeros() as usize & (LANES - 1)];
        let bytes = u64::from(inst.lane_bytes());
        let room = (4 * self.local.len() as u64).checked_sub(bytes)?;
        let is_one = pattern::differs(addresses, mask, at, 0) == 0;
        (is_one && bytes >= 4 && at <= room && at & (bytes - 1) == 0).then_some(at)
    }

    /// Local memory is interleaved: word `w` of all lanes is one line.
    #[inline(always)]
    pub(super) fn in_local(
        &mut self,
        frame: &mut Frame<'_>,
        inst: &MemoryInst,
        mask: u32,
        addresses: &Line<u64>,
    ) -> Result<(), Box<Fault>> {
        if inst.element_bytes == 4
            && !inst.wide
            && let Some(at) = self.local_place(inst, mask, addresses)
        {
            self.uniform_local(frame, inst, mask, at);
            return Ok(());
        }
        self.lanes_in_local(frame, inst, mask, addresses)
    }

    #[inline(never)]
    fn lanes_in_local(
        &mut self,
        frame: &mut Frame<'_>,
        inst: &MemoryInst,
        mask: u32,
        addresses: &Line<u64>,
    ) -> Result<(), Box<Fault>> {
        self.check_local(inst, mask, addresses)?;
        let bytes = inst.lane_bytes() as usize;
        let mut buffer = [0; 64];
        for lane in lanes_of(mask) {
            let at = addresses[lane] as usize;
            for (index, byte) in buffer[..bytes].iter_mut().enumerate() {
                *byte = self.local_byte(lane, at + index);
            }
            if inst.kind == AccessKind::Load {
                load_lane(frame, inst, lane, &buffer[..bytes]);
                continue;
            }
            store_lane(frame, inst, lane, &mut buffer[..bytes]);
            for (index, &byte) in buffer[..bytes].iter().enumerate() {
                self.set_local_byte(lane, at + index, byte);
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn uniform_local(&mut self, frame: &mut Frame<'_>, inst: &MemoryInst, mask: u32, address: u64) {
        let first = (address / 4) as usize;
        for (word, &register) in inst.registers[..usize::from(inst.count)].iter().enumerate() {
            let line = &mut self.local[first + word].0;
            match inst.kind {
                AccessKind::Load if register == SINK => {}
                AccessKind::Load => frame.set_narrow(register, mask, *line),
                _ => {
                    let source = frame.narrow(register);
                    for lane in 0..LANES {
                        let is_active = mask & LANE_BITS[lane] != 0;
                        line[lane] = if is_active { source[lane] } else { line[lane] };
                    }
                }
            }
        }
    }

    pub(crate) fn check_local(
        &self,
        inst: &MemoryInst,
        mask: u32,
        addresses: &Line<u64>,
    ) -> Result<(), Box<Fault>> {
        let mut offsets = Line::splat(0);
        let size = 4 * self.local.len();
        match pattern::find(addresses, mask, (0, size), inst.lane_bytes(), &mut offsets) {
            Ok(_) => Ok(()),
            Err(stray) => Err(window_fault(inst, mask, addresses, "local", size, stray)),
        }
    }

    pub(crate) fn local_byte(&self, lane: usize, at: usize) -> u8 {
        self.local
            .get(at / 4)
            .map_or(0, |line| line.0[lane].to_le_bytes()[at % 4])
    }

    pub(super) fn set_local_byte(&mut self, lane: usize, at: usize, byte: u8) {
        if let Some(line) = self.local.get_mut(at / 4) {
            let mut bytes = line.0[lane].to_le_bytes();
            bytes[at % 4] = byte;
            line.0[lane] = u32::from_le_bytes(bytes);
        }
    }
}
