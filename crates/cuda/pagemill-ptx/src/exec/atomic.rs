//! Atomics and reductions.

use super::access::{Stores, Target, resolve};
use super::pattern::bank_replays;
use super::transfer::{extend, little_endian};
use crate::exec::trap::{Fault, TrapKind};
use pagemill_ptx_ir::ast::Space;
use pagemill_ptx_ir::code::{HIGH_RESULT, MemoryInst, SINK};
use pagemill_ptx_ir::line::{Frame, LANE_BITS, Line, lanes_of};

impl Stores<'_> {
    /// Lanes act one after the other, lowest first.
    #[inline(never)]
    pub(super) fn atomic(
        &mut self,
        frame: &mut Frame<'_>,
        inst: &MemoryInst,
        mask: u32,
        addresses: &Line<u64>,
        target: Target,
    ) -> Result<(), Box<Fault>> {
        if self.timed && target == Target::Shared {
            self.shared_replays += bank_replays(addresses, mask, inst.lane_bytes());
        }
        for lane in lanes_of(mask) {
            let mut single = Line::splat(addresses[lane]);
            let target = match target {
                Target::Mixed => resolve(Space::Generic, &mut single, LANE_BITS[lane]),
                target => target,
            };
            self.atomic_lane(frame, inst, lane, single[lane], target)?;
        }
        Ok(())
    }

    fn atomic_lane(
        &mut self,
        frame: &mut Frame<'_>,
        inst: &MemoryInst,
        lane: usize,
        address: u64,
        target: Target,
    ) -> Result<(), Box<Fault>> {
        let bytes = inst.lane_bytes() as usize;
        let data = match target {
            Target::Shared => {
                let place = self.place_in_cluster(inst, lane, address)?;
                self.remote_accesses += u64::from(place.rank.is_some() && !inst.untimed);
                &mut self.shared_at(place)[place.offset..place.offset + bytes]
            }
            Target::Memory => {
                let (at, offset) = self.place(inst, lane, address)?;
                &mut self.memory.data_mut(at).1[offset..offset + bytes]
            }
            _ => {
                let reason = "atomic access to local memory or parameters";
                return Err(Fault::at_lane(lane as u32, TrapKind::Misuse { reason }));
            }
        };
        if inst.count == 2 {
            let changes = swap_wide(frame, inst, lane, data);
            if changes {
                self.memory.note_write();
            }
            return Ok(());
        }
        let operand = |register: u16| match (register, inst.wide) {
            (SINK, _) => 0,
            (register, true) => frame.wide(register)[lane],
            (register, false) => u64::from(frame.narrow(register)[lane]),
        };
        let old = little_endian(data);
        let apply = inst
            .atomic
            .expect("lowering gives every atomic its function")
            .apply;
        let new = apply(old, operand(inst.registers[0]), operand(inst.registers[1]));
        let new = &new.to_le_bytes()[..bytes];
        let changes = *data != *new;
        data.copy_from_slice(new);
        if changes {
            self.memory.note_write();
        }
        if inst.result != SINK {
            let old = extend(old, inst.element_bytes, false);
            match inst.wide {
                true => frame.wide[usize::from(inst.result)].0[lane] = old,
                false => frame.narrow[usize::from(inst.result)].0[lane] = old as u32,
            }
        }
        Ok(())
    }
}

/// `cas` and `exch` of 128 bits for one lane; whether memory changed. The registers are the halves of what to compare with,
/// if there is that, then those of the new value.
fn swap_wide(frame: &mut Frame<'_>, inst: &MemoryInst, lane: usize, data: &mut [u8]) -> bool {
    let halves = |first: usize| {
        let half = |register: u16| u128::from(frame.wide(register)[lane]);
        half(inst.registers[first]) | half(inst.registers[first + 1]) << 64
    };
    let old = u128::from(little_endian(&data[..8])) | u128::from(little_endian(&data[8..])) << 64;
    let compares = inst.registers[2] != SINK;
    let new = match compares {
        true if old == halves(0) => halves(2),
        true => old,
        false => halves(0),
    };
    data.copy_from_slice(&new.to_le_bytes());
    for (register, half) in [(inst.result, old), (inst.registers[HIGH_RESULT], old >> 64)] {
        frame.wide[usize::from(register)].0[lane] = half as u64;
    }
    new != old
}
