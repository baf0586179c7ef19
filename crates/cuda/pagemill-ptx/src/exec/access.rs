//! Memory instructions: which bytes the lanes mean, whether they may, and the effect.

use super::due::Due;
use super::pattern::{self, Pattern, Stray, bank_replays};
use super::transfer::{load, load_lane, store, store_lane};
use crate::check::BlockCheck;
use crate::exec::trap::{Fault, TrapKind};
use crate::memory::DeviceMemory;
use crate::memory::cluster::Seat;
use pagemill_ptx_ir::address::window::{self, Window};
use pagemill_ptx_ir::ast::Space;
use pagemill_ptx_ir::code::{AccessKind, AddressOperand, MemoryInst};
use pagemill_ptx_ir::line::{Frame, LANE_BITS, LANES, Line, lanes_of};

/// The most that one lane loads.
const LANE_BYTES_MAX: usize = 32;

/// Everything a warp can address.
pub(crate) struct Stores<'a> {
    pub memory: &'a mut DeviceMemory,
    pub shared: &'a mut [u8],
    pub local: &'a mut Vec<Line<u32>>,
    /// Bytes that local memory may grow to.
    pub local_limit: u32,
    /// Bytes that are kept free behind the stack pointer.
    pub stack_margin: u32,
    pub params: &'a [u8],
    /// Per memory instruction, the allocation it touched last.
    pub hints: &'a mut [u32],
    /// Where the timing model sees this warp's local memory.
    pub local_base: u64,
    /// What is known of the block, if mistakes are looked for.
    pub check: Option<&'a mut BlockCheck>,
    /// Number in the grid of the thread in lane 0.
    pub first_thread: u64,
    /// Whether bank conflicts are to be counted.
    pub timed: bool,
    pub shared_replays: u64,
    /// Where the block sits, in launches with clusters.
    pub seat: Option<Seat>,
    /// Accesses that reached shared memory of other blocks.
    pub remote_accesses: u64,
}

/// A space with its addresses made relative where it is not global.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Memory,
    Shared,
    Local,
    Param,
    /// Generic lanes of different windows.
    Mixed,
}

fn verb(kind: AccessKind) -> &'static str {
    match kind {
        AccessKind::Load => "load",
        AccessKind::Store => "store",
        AccessKind::Atomic | AccessKind::Reduction => "atomic access",
    }
}

#[inline(always)]
pub(crate) fn lane_addresses(frame: &Frame<'_>, inst: &MemoryInst) -> Line<u64> {
    let mut out = Line::splat(0);
    let offset = inst.offset as u64;
    match inst.address {
        AddressOperand::Wide(operand) => {
            let base = frame.wide(operand);
            for lane in 0..LANES {
                out[lane] = base[lane].wrapping_add(offset);
            }
        }
        AddressOperand::Narrow(operand) => {
            let base = frame.narrow(operand);
            for lane in 0..LANES {
                out[lane] = u64::from(base[lane].wrapping_add(offset as u32));
            }
        }
    }
    out
}

/// Decides where the lanes go, and makes window addresses relative to their window.
#[inline(always)]
pub(crate) fn resolve(space: Space, addresses: &mut Line<u64>, mask: u32) -> Target {
    match space {
        Space::Global | Space::Const => Target::Memory,
        Space::Shared => Target::Shared,
        Space::Local => Target::Local,
        Space::Param | Space::Register => Target::Param,
        Space::Generic => resolve_generic(addresses, mask),
    }
}

#[inline(always)]
fn resolve_generic(addresses: &mut Line<u64>, mask: u32) -> Target {
    let first = addresses[mask.trailing_zeros() as usize & (LANES - 1)];
    let mut apart = Line::splat(0);
    for lane in 0..LANES {
        let active = if mask & LANE_BITS[lane] != 0 {
            u64::MAX
        } else {
            0
        };
        apart[lane] = (addresses[lane] ^ first) & active;
    }
    if pattern::or_all64(&apart) >= window::BYTES {
        return Target::Mixed;
    }
    let target = match Window::of(first) {
        Window::Global | Window::Constant => return Target::Memory,
        Window::Shared => Target::Shared,
        Window::Local => Target::Local,
        Window::Param => Target::Param,
    };
    for address in addresses.0.iter_mut() {
        *address &= window::BYTES - 1;
    }
    target
}

impl Stores<'_> {
    /// Performs `inst` for the lanes of `mask`.
    #[inline(always)]
    pub(crate) fn perform(
        &mut self,
        frame: &mut Frame<'_>,
        inst: &MemoryInst,
        mask: u32,
    ) -> Result<(), Box<Fault>> {
        let mut addresses = lane_addresses(frame, inst);
        let target = resolve(inst.space, &mut addresses, mask);
        if matches!(inst.kind, AccessKind::Atomic | AccessKind::Reduction) {
            return self.atomic(frame, inst, mask, &addresses, target);
        }
        match target {
            Target::Memory => self.global(frame, inst, mask, &addresses),
            Target::Shared => self.in_shared(frame, inst, mask, &addresses),
            Target::Local => self.in_local(frame, inst, mask, &addresses),
            Target::Param => self.in_params(frame, inst, mask, &addresses),
            Target::Mixed => self.in_several_spaces(frame, inst, mask, &addresses),
        }
    }

    #[inline(always)]
    fn global(
        &mut self,
        frame: &mut Frame<'_>,
        inst: &MemoryInst,
        mask: u32,
        addresses: &Line<u64>,
    ) -> Result<(), Box<Fault>> {
        let mut offsets = Line::splat(0);
        let Some((at, pattern)) = self.whole_warp(inst, mask, addresses, &mut offsets) else {
            return self.lane_by_lane(frame, inst, mask, addresses);
        };
        if inst.kind != AccessKind::Load && self.memory.is_read_only(at) {
            return Err(read_only_fault(addresses, mask));
        }
        if self.memory.part.is_some() {
            self.claim(inst, mask, (at, pattern), &offsets)?;
        }
        self.transfer(frame, inst, mask, (at, pattern), &offsets);
        Ok(())
    }

    /// Asks whether a block that runs apart may make this access, and marks what it stores.
    #[inline(never)]
    fn claim(
        &mut self,
        inst: &MemoryInst,
        mask: u32,
        place: (usize, Pattern),
        offsets: &Line<u64>,
    ) -> Result<(), Box<Fault>> {
        let (memory, is_load) = (&mut *self.memory, inst.kind == AccessKind::Load);
        let Some(part) = &mut memory.part else {
            return Ok(());
        };
        if !part.claim(place.0, is_load, &mut memory.allocations[place.0]) {
            return Err(have_met());
        }
        if !is_load {
            part.mark(place, mask, inst.lane_bytes(), offsets);
        }
        Ok(())
    }

    /// Moves the data of a load or store that was checked.
    #[inline(always)]
    pub(super) fn transfer(
        &mut self,
        frame: &mut Frame<'_>,
        inst: &MemoryInst,
        mask: u32,
        (at, pattern): (usize, Pattern),
        offsets: &Line<u64>,
    ) {
        if inst.kind == AccessKind::Load {
            load(frame, inst, mask, self.memory.data(at).1, pattern, offsets);
        } else {
            store(
                frame,
                inst,
                mask,
                self.memory.data_mut(at).1,
                pattern,
                offsets,
            );
        }
    }

    /// The one allocation that all lanes fall into, aligned, and how they lie in it.
    #[inline(always)]
    fn whole_warp(
        &mut self,
        inst: &MemoryInst,
        mask: u32,
        addresses: &Line<u64>,
        offsets: &mut Line<u64>,
    ) -> Option<(usize, Pattern)> {
        let first = addresses[mask.trailing_zeros() as usize & (LANES - 1)];
        let hint = &mut self.hints[inst.site as usize];
        let at = self.memory.index_with_hint(first, hint)?;
        let (base, data) = self.memory.data(at);
        let pattern = pattern::find(
            addresses,
            mask,
            (base, data.len()),
            inst.lane_bytes(),
            offsets,
        )
        .ok()?;
        Some((at, pattern))
    }

    /// Checks that the lanes may access global memory as they want to.
    #[inline(always)]
    pub(super) fn check_global(
        &mut self,
        inst: &MemoryInst,
        mask: u32,
        addresses: &Line<u64>,
        offsets: &mut Line<u64>,
    ) -> Result<Due, Box<Fault>> {
        match self.whole_warp(inst, mask, addresses, offsets) {
            Some((at, _)) if inst.kind != AccessKind::Load && self.memory.is_read_only(at) => {
                Err(read_only_fault(addresses, mask))
            }
            Some((at, pattern)) => {
                let generation = self.memory.generation();
                Ok(Due::Whole {
                    at: at as u32,
                    pattern,
                    generation,
                })
            }
            None => self.check_lanes(inst, mask, addresses),
        }
    }

    #[cold]
    fn check_lanes(
        &mut self,
        inst: &MemoryInst,
        mask: u32,
        addresses: &Line<u64>,
    ) -> Result<Due, Box<Fault>> {
        for lane in lanes_of(mask) {
            let place = self.place(inst, lane, addresses[lane]);
            if place.is_err() && !self.reads_beyond(inst, addresses[lane]) {
                place?;
            }
        }
        Ok(Due::Unknown)
    }

    /// Allocation and offset of one lane's access.
    pub(super) fn place(
        &mut self,
        inst: &MemoryInst,
        lane: usize,
        address: u64,
    ) -> Result<(usize, usize), Box<Fault>> {
        let bytes = inst.lane_bytes();
        let hint = &mut self.hints[inst.site as usize];
        let found = self.memory.index_with_hint(address, hint);
        let place = found.and_then(|at| {
            Some((
                at,
                self.memory.allocations()[at].offset_of(address, u64::from(bytes))?,
            ))
        });
        let access = verb(inst.kind);
        let Some((at, offset)) = place else {
            let near = self.memory.nearest(address);
            return Err(Fault::at_lane(
                lane as u32,
                TrapKind::OutOfBounds {
                    access,
                    address,
                    bytes,
                    near,
                },
            ));
        };
        if !address.is_multiple_of(u64::from(bytes)) {
            return Err(Fault::at_lane(
                lane as u32,
                TrapKind::Misaligned {
                    access,
                    address,
                    bytes,
                },
            ));
        }
        if inst.kind != AccessKind::Load && self.memory.is_read_only(at) {
            return Err(Fault::at_lane(lane as u32, TrapKind::ReadOnly { address }));
        }
        Ok((at, offset))
    }

    /// Whether one lane's access is a load beyond an allocation that succeeds.
    fn reads_beyond(&self, inst: &MemoryInst, address: u64) -> bool {
        let bytes = u64::from(inst.lane_bytes());
        inst.kind == AccessKind::Load && self.memory.reads_beyond(address, bytes)
    }

    #[cold]
    fn lane_by_lane(
        &mut self,
        frame: &mut Frame<'_>,
        inst: &MemoryInst,
        mask: u32,
        addresses: &Line<u64>,
    ) -> Result<(), Box<Fault>> {
        if self.memory.part.is_some() {
            // They lie in several allocations, or beyond one.
            return Err(have_met());
        }
        let bytes = inst.lane_bytes() as usize;
        let mut places = [None; LANES];
        for lane in lanes_of(mask) {
            places[lane] = match self.place(inst, lane, addresses[lane]) {
                Ok(place) => Some(place),
                Err(fault) if self.reads_beyond(inst, addresses[lane]) => {
                    self.memory.pass_beyond(fault.kind);
                    None
                }
                Err(fault) => return Err(fault),
            };
        }
        for lane in lanes_of(mask) {
            let Some((at, offset)) = places[lane] else {
                let mut data = [0; LANE_BYTES_MAX];
                self.memory.read_beyond(addresses[lane], &mut data[..bytes]);
                load_lane(frame, inst, lane, &data[..bytes]);
                continue;
            };
            let data = &mut self.memory.data_mut(at).1[offset..offset + bytes];
            match inst.kind {
                AccessKind::Load => load_lane(frame, inst, lane, data),
                _ => store_lane(frame, inst, lane, data),
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn in_shared(
        &mut self,
        frame: &mut Frame<'_>,
        inst: &MemoryInst,
        mask: u32,
        addresses: &Line<u64>,
    ) -> Result<(), Box<Fault>> {
        let mut offsets = Line::splat(0);
        let bytes = inst.lane_bytes();
        let pattern =
            match pattern::find(addresses, mask, (0, self.shared.len()), bytes, &mut offsets) {
                Ok(pattern) => pattern,
                Err(Stray::Outside) => return self.in_cluster(frame, inst, mask, addresses),
                Err(stray) => {
                    return Err(window_fault(
                        inst,
                        mask,
                        addresses,
                        "shared",
                        self.shared.len(),
                        stray,
                    ));
                }
            };
        if self.timed && pattern == Pattern::Scattered {
            self.shared_replays += bank_replays(addresses, mask, bytes);
        }
        if inst.kind == AccessKind::Load {
            load(frame, inst, mask, self.shared, pattern, &offsets);
        } else {
            store(frame, inst, mask, self.shared, pattern, &offsets);
        }
        Ok(())
    }

    #[inline(never)]
    fn in_params(
        &mut self,
        frame: &mut Frame<'_>,
        inst: &MemoryInst,
        mask: u32,
        addresses: &Line<u64>,
    ) -> Result<(), Box<Fault>> {
        let mut offsets = Line::splat(0);
        let found = pattern::find(
            addresses,
            mask,
            (0, self.params.len()),
            inst.lane_bytes(),
            &mut offsets,
        );
        match found {
            Ok(_) if inst.kind != AccessKind::Load => Err(read_only_fault(addresses, mask)),
            Ok(pattern) => {
                load(frame, inst, mask, self.params, pattern, &offsets);
                Ok(())
            }
            Err(stray) => Err(window_fault(
                inst,
                mask,
                addresses,
                "parameter",
                self.params.len(),
                stray,
            )),
        }
    }

    #[inline(never)]
    fn in_several_spaces(
        &mut self,
        frame: &mut Frame<'_>,
        inst: &MemoryInst,
        mask: u32,
        addresses: &Line<u64>,
    ) -> Result<(), Box<Fault>> {
        for lane in lanes_of(mask) {
            let mut single = Line::splat(addresses[lane]);
            let bit = LANE_BITS[lane];
            match resolve_generic(&mut single, bit) {
                Target::Memory | Target::Mixed => self.global(frame, inst, bit, &single)?,
                Target::Shared => self.in_shared(frame, inst, bit, &single)?,
                Target::Local => self.in_local(frame, inst, bit, &single)?,
                Target::Param => self.in_params(frame, inst, bit, &single)?,
            }
        }
        Ok(())
    }
}

/// Ends a part of a launch, which begins anew, so that it is not shown.
#[cold]
fn have_met() -> Box<Fault> {
    let reason = "blocks that run apart meet";
    Fault::of_warp(TrapKind::Misuse { reason })
}

#[cold]
fn read_only_fault(addresses: &Line<u64>, mask: u32) -> Box<Fault> {
    let lane = mask.trailing_zeros();
    let address = addresses[lane as usize & (LANES - 1)];
    Fault::at_lane(lane, TrapKind::ReadOnly { address })
}

#[cold]
pub(super) fn window_fault(
    inst: &MemoryInst,
    mask: u32,
    addresses: &Line<u64>,
    space: &'static str,
    size: usize,
    stray: Stray,
) -> Box<Fault> {
    let bytes = inst.lane_bytes();
    let size = size as u64;
    let is_bad = |&lane: &usize| match stray {
        Stray::Outside => addresses[lane] > size || u64::from(bytes) > size - addresses[lane],
        Stray::Misaligned => !addresses[lane].is_multiple_of(u64::from(bytes)),
    };
    let lane = lanes_of(mask).find(is_bad).unwrap_or(0);
    let access = verb(inst.kind);
    let kind = match stray {
        Stray::Outside => TrapKind::OutsideWindow {
            access,
            space,
            offset: addresses[lane],
            bytes,
            size,
        },
        Stray::Misaligned => TrapKind::Misaligned {
            access,
            address: addresses[lane],
            bytes,
        },
    };
    Fault::at_lane(lane as u32, kind)
}
