//! Local memory: interleaved, so that word `w` of all lanes is one line.

use super::access::{Stores, window_fault};
use super::line::{Frame, LANES, Line, lanes_of};
use super::pattern;
use super::transfer::{load_lane, store_lane};
use crate::code::{AccessKind, MemoryInst, SINK};
use crate::trap::Fault;

impl Stores<'_> {
    /// Local memory is interleaved: word `w` of all lanes is one line.
    #[inline(never)]
    pub(super) fn in_local(
        &mut self,
        frame: &mut Frame<'_>,
        inst: &MemoryInst,
        mask: u32,
        addresses: &Line<u64>,
    ) -> Result<(), Box<Fault>> {
        self.check_local(inst, mask, addresses)?;
        if inst.element_bytes == 4 && !inst.wide && is_uniform(addresses, mask) {
            self.uniform_local(
                frame,
                inst,
                mask,
                addresses[mask.trailing_zeros() as usize & (LANES - 1)],
            );
            return Ok(());
        }
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

    fn uniform_local(&mut self, frame: &mut Frame<'_>, inst: &MemoryInst, mask: u32, address: u64) {
        let first = (address / 4) as usize;
        for (word, &register) in inst.registers[..usize::from(inst.count)].iter().enumerate() {
            let line = &mut self.local[first + word].0;
            match inst.kind {
                AccessKind::Load if register == SINK => {}
                AccessKind::Load => frame.set_narrow(register, mask, *line),
                _ => {
                    let source = frame.narrow(register);
                    for lane in lanes_of(mask) {
                        line[lane] = source[lane];
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

fn is_uniform(addresses: &Line<u64>, mask: u32) -> bool {
    let first = addresses[mask.trailing_zeros() as usize & (LANES - 1)];
    lanes_of(mask).all(|lane| addresses[lane] == first)
}
