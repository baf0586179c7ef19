//! What the timing model is told of a memory access before it takes effect.

use super::access::{Stores, Target, lane_addresses, resolve};
use super::line::{Frame, LANE_BITS, LANES, lanes_of};
use super::step::{AccessSpace, MemoryAccess};
use crate::ast::Space;
use crate::code::MemoryInst;
use crate::trap::Fault;
use crate::window::Window;

impl Stores<'_> {
    /// Describes and checks the access if it is one that the timing model decides about.
    pub(crate) fn announce(
        &mut self,
        frame: &Frame<'_>,
        inst: &MemoryInst,
        mask: u32,
        access: &mut MemoryAccess,
    ) -> Result<bool, Box<Fault>> {
        if matches!(inst.space, Space::Shared | Space::Const | Space::Param) {
            return Ok(false);
        }
        let addresses = &mut access.addresses;
        *addresses = lane_addresses(frame, inst);
        access.mask = mask;
        access.space = AccessSpace::Global;
        access.lane_bytes = inst.lane_bytes();
        access.kind = inst.kind;
        access.slot = inst.slot;
        access.cache_hint = inst.hint;
        match resolve(inst.space, addresses, mask) {
            Target::Shared | Target::Param => return Ok(false),
            Target::Memory => {
                if Window::of(addresses[mask.trailing_zeros() as usize & (LANES - 1)])
                    == Window::Constant
                {
                    return Ok(false);
                }
                self.check_global(inst, mask, addresses)?;
            }
            Target::Local => {
                self.check_local(inst, mask, addresses)?;
                access.space = AccessSpace::Local;
                let bytes = u64::from(access.lane_bytes.max(4));
                for (lane, address) in addresses.iter_mut().enumerate() {
                    *address =
                        self.local_base + *address / 4 * 128 + lane as u64 * bytes + *address % 4;
                }
            }
            Target::Mixed => {
                let global = |lane: &usize| Window::of(addresses[*lane]) == Window::Global;
                access.mask = lanes_of(mask)
                    .filter(global)
                    .fold(0, |mask, lane| mask | LANE_BITS[lane]);
                if access.mask == 0 {
                    return Ok(false);
                }
                self.check_global(inst, access.mask, addresses)?;
            }
        }
        Ok(true)
    }
}
