//! Descriptions of memory accesses for the timing model, before they take effect.

use super::access::{Stores, Target, lane_addresses, resolve};
use super::due::Due;
use super::pattern::Pattern;
use super::step::{AccessSpace, LanePlaces, MemoryAccess};
use crate::exec::trap::Fault;
use pagemill_ptx_ir::address::window::Window;
use pagemill_ptx_ir::ast::Space;
use pagemill_ptx_ir::code::{AccessKind, MemoryInst};
use pagemill_ptx_ir::line::{Frame, LANE_BITS, LANES, Line, lanes_of};

impl Stores<'_> {
    /// Describes and checks the access if it is one that the timing model decides about. Fills `offsets` for lanes that are
    /// scattered in one allocation.
    #[inline(always)]
    pub(crate) fn announce(
        &mut self,
        frame: &Frame<'_>,
        inst: &MemoryInst,
        mask: u32,
        access: &mut MemoryAccess,
        offsets: &mut Line<u64>,
    ) -> Result<Option<Due>, Box<Fault>> {
        if inst.untimed || matches!(inst.space, Space::Shared | Space::Const | Space::Param) {
            return Ok(None);
        }
        let mut addresses = lane_addresses(frame, inst);
        access.mask = mask;
        access.space = AccessSpace::Global;
        access.lane_bytes = inst.lane_bytes();
        access.kind = inst.kind;
        access.slot = inst.slot;
        access.cache_hint = inst.hint;
        let target = resolve(inst.space, &mut addresses, mask);
        if target == Target::Local
            && let Some(at) = self.local_place(inst, mask, &addresses)
        {
            // The words of all lanes lie one behind the other.
            let line = (at / 4).wrapping_mul(4 * LANES as u64);
            access.space = AccessSpace::Local;
            access.places = LanePlaces::Row {
                first: self.local_base.wrapping_add(line),
            };
            return Ok(Some(Due::Unknown));
        }
        let due = match target {
            Target::Memory => {
                let first = addresses[mask.trailing_zeros() as usize & (LANES - 1)];
                if Window::of(first) == Window::Constant {
                    return Ok(None);
                }
                self.check_global(inst, mask, &addresses, offsets)?
            }
            target => match self.announce_window(inst, access, &mut addresses, target)? {
                true => Due::Unknown,
                false => return Ok(None),
            },
        };
        let pattern = match due {
            Due::Whole { pattern, .. } => pattern,
            Due::Unknown => Pattern::Scattered,
        };
        let lane = mask.trailing_zeros() as usize & (LANES - 1);
        let (at, before) = (addresses[lane], lane as u64 * u64::from(access.lane_bytes));
        let first = at.wrapping_sub(before);
        access.places = match pattern {
            Pattern::Block { .. } => LanePlaces::Row { first },
            Pattern::Broadcast { .. } => LanePlaces::Together { at },
            Pattern::Scattered => LanePlaces::Listed,
        };
        if access.places == LanePlaces::Listed {
            access.listed = addresses.0;
        }
        Ok(Some(due))
    }

    /// The same for what is not all in global memory; whether there is anything to announce.
    #[inline(never)]
    fn announce_window(
        &mut self,
        inst: &MemoryInst,
        access: &mut MemoryAccess,
        addresses: &mut Line<u64>,
        target: Target,
    ) -> Result<bool, Box<Fault>> {
        match target {
            Target::Shared | Target::Param => return Ok(false),
            Target::Local => {
                self.check_local(inst, access.mask, addresses)?;
                access.space = AccessSpace::Local;
                let bytes = u64::from(access.lane_bytes.max(4));
                for (lane, address) in addresses.0.iter_mut().enumerate() {
                    // Wraps only in lanes that take no part.
                    let line = (*address / 4).wrapping_mul(4 * LANES as u64);
                    let place = lane as u64 * bytes + *address % 4;
                    *address = self.local_base.wrapping_add(line).wrapping_add(place);
                }
            }
            Target::Memory | Target::Mixed => {
                let is_global = |lane: &usize| Window::of(addresses[*lane]) == Window::Global;
                let globals = lanes_of(access.mask).filter(is_global);
                access.mask = globals.fold(0, |mask, lane| mask | LANE_BITS[lane]);
                if access.mask == 0 {
                    return Ok(false);
                }
                let mut offsets = Line::splat(0);
                self.check_global(inst, access.mask, addresses, &mut offsets)?;
            }
        }
        Ok(true)
    }

    /// Performs an access that was announced.
    #[inline(always)]
    pub(crate) fn perform_due(
        &mut self,
        frame: &mut Frame<'_>,
        inst: &MemoryInst,
        mask: u32,
        (due, offsets): (Due, &Line<u64>),
    ) -> Result<(), Box<Fault>> {
        match (due, inst.kind) {
            (
                Due::Whole {
                    at,
                    pattern,
                    generation,
                },
                AccessKind::Load | AccessKind::Store,
            ) if generation == self.memory.generation() => {
                self.transfer(frame, inst, mask, (at as usize, pattern), offsets);
                Ok(())
            }
            _ => self.perform(frame, inst, mask),
        }
    }
}
