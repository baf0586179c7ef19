//! Calls that are not expanded: a stack of frames in each thread's local memory.
//!
//! The way back lies on the warp's reconvergence stack: a call puts the place behind it there, with the lanes that called,
//! and the callee runs as a path of its own that ends at its return. So lanes may call different functions, or recurse to
//! different depths: each group is a path, and all meet behind the call. What a call would overwrite in registers is kept
//! in the caller's frame, lane by lane. See `docs/adr/0021-calls.md`.

use super::access::Stores;
use super::warp::Warp;
use crate::exec::trap::{Fault, TrapKind};
use pagemill_ptx_ir::code::path::Path;
use pagemill_ptx_ir::code::{CallInst, CallTarget, Code, SavedSlots, StackSlots};
use pagemill_ptx_ir::line::{Frame, LANE_BITS, LANES, Line, lanes_of};
use pagemill_ptx_ir::op::NEVER;

/// Performs call `inst` for the lanes of `mask`, which are all of the current path. They come back at `next`.
#[inline(never)]
pub(crate) fn call(
    code: &Code,
    entries: &[u32],
    (inst, stack): (&CallInst, &StackSlots),
    (warp, frame, stores): (&mut Warp, &mut Frame<'_>, &mut Stores<'_>),
    mask: u32,
    next: u32,
) -> Result<(), Box<Fault>> {
    let groups = groups(inst, frame, mask)?;
    let old = Line(*frame.narrow(stack.pointer));
    let above = |lane: usize| old[lane].wrapping_add(inst.argument_bytes + inst.saved.bytes);
    for &(subroutine, group) in &groups {
        let frame_bytes = code.subroutines[subroutine as usize].frame_bytes;
        stores.grow_stack(group, |lane| above(lane).saturating_add(frame_bytes))?;
    }
    let saved_at = Line(std::array::from_fn(|lane| {
        old[lane].wrapping_add(inst.argument_bytes)
    }));
    save(&inst.saved, frame, stores.local, mask, &saved_at);
    frame.set_narrow(stack.arguments, mask, old.0);
    frame.set_narrow(stack.frame, mask, std::array::from_fn(above));
    let outer = warp.path.reconverge;
    warp.stack.push(Path {
        pc: next,
        mask,
        reconverge: outer,
    });
    for &(subroutine, group) in &groups {
        let frame_bytes = code.subroutines[subroutine as usize].frame_bytes;
        let top = std::array::from_fn(|lane| above(lane).wrapping_add(frame_bytes));
        frame.set_narrow(stack.pointer, group, top);
        warp.stack.push(Path {
            pc: entries[subroutine as usize],
            mask: group,
            reconverge: NEVER,
        });
    }
    warp.pop();
    Ok(())
}

/// The subroutines that the lanes of `mask` call, each with its lanes; the last is to run first.
fn groups(inst: &CallInst, frame: &Frame<'_>, mask: u32) -> Result<Vec<(u32, u32)>, Box<Fault>> {
    let addresses = match inst.target {
        CallTarget::Subroutine(subroutine) => return Ok(vec![(subroutine, mask)]),
        CallTarget::Address(operand) => frame.wide(operand),
    };
    let mut groups: Vec<(u32, u32)> = Vec::new();
    for lane in lanes_of(mask) {
        let address = addresses[lane];
        let callees = &inst.callees;
        let Ok(at) = callees.binary_search_by_key(&address, |(known, _)| *known) else {
            return Err(Fault::at_lane(lane as u32, TrapKind::BadCall { address }));
        };
        let subroutine = callees[at].1;
        match groups.iter_mut().find(|(known, _)| *known == subroutine) {
            Some((_, group)) => *group |= LANE_BITS[lane],
            None => groups.push((subroutine, LANE_BITS[lane])),
        }
    }
    groups.reverse();
    Ok(groups)
}

/// Takes the frame of the current function off the stack, for the lanes of `mask`.
#[inline(never)]
pub(crate) fn leave(stack: &StackSlots, frame: &mut Frame<'_>, mask: u32) {
    let old = *frame.narrow(stack.arguments);
    frame.set_narrow(stack.pointer, mask, old);
}

/// Brings back what call `inst` kept, for the lanes of `mask`.
#[inline(never)]
pub(crate) fn restore(
    (inst, stack): (&CallInst, &StackSlots),
    frame: &mut Frame<'_>,
    stores: &Stores<'_>,
    mask: u32,
) {
    let pointer = frame.narrow(stack.pointer);
    let at = Line(std::array::from_fn(|lane| {
        pointer[lane].wrapping_add(inst.argument_bytes)
    }));
    let mut words = Words {
        at: &at,
        mask,
        next: 0,
    };
    let saved = &inst.saved;
    for &slot in &saved.narrow {
        let line = words.read(stores.local);
        frame.set_narrow(slot, mask, line);
    }
    for &slot in &saved.wide {
        let (low, high) = (words.read(stores.local), words.read(stores.local));
        let whole = |lane: usize| u64::from(low[lane]) | u64::from(high[lane]) << 32;
        frame.set_wide(slot, mask, std::array::from_fn(whole));
    }
    for slots in saved.predicates.chunks(32) {
        let packed = words.read(stores.local);
        for (bit, &slot) in slots.iter().enumerate() {
            let holds = |bits, lane: usize| bits | (packed[lane] >> bit & 1) << lane;
            frame.set_predicate(slot, mask, (0..LANES).fold(0, holds));
        }
    }
}

fn save(saved: &SavedSlots, frame: &Frame<'_>, local: &mut [Line<u32>], mask: u32, at: &Line<u32>) {
    let mut words = Words { at, mask, next: 0 };
    for &slot in &saved.narrow {
        words.write(local, frame.narrow(slot));
    }
    for &slot in &saved.wide {
        let line = frame.wide(slot);
        words.write(local, &line.map(|value| value as u32));
        words.write(local, &line.map(|value| (value >> 32) as u32));
    }
    for slots in saved.predicates.chunks(32) {
        let bits = |lane: usize| {
            let bit = |(bit, &slot): (usize, &u16)| (frame.predicate(slot) >> lane & 1) << bit;
            slots
                .iter()
                .enumerate()
                .map(bit)
                .fold(0, |all, bit| all | bit)
        };
        words.write(local, &std::array::from_fn(bits));
    }
}

/// Words of local memory, one after the other, from each lane's own place on.
struct Words<'a> {
    at: &'a Line<u32>,
    mask: u32,
    next: usize,
}

impl Words<'_> {
    /// The line of the next word, if it is the same for all lanes; moves on.
    fn advance(&mut self) -> (usize, Option<usize>) {
        let word = self.next;
        self.next += 1;
        let first = self.at[self.mask.trailing_zeros() as usize & (LANES - 1)];
        let is_same = lanes_of(self.mask).all(|lane| self.at[lane] == first);
        (word, is_same.then_some(first as usize / 4 + word))
    }

    fn read(&mut self, local: &[Line<u32>]) -> [u32; LANES] {
        let (word, line) = self.advance();
        if let Some(line) = line {
            return local[line].0;
        }
        let mut values = [0; LANES];
        for lane in lanes_of(self.mask) {
            values[lane] = local[self.at[lane] as usize / 4 + word][lane];
        }
        values
    }

    fn write(&mut self, local: &mut [Line<u32>], values: &[u32; LANES]) {
        let (word, line) = self.advance();
        for lane in lanes_of(self.mask) {
            let line = line.unwrap_or(self.at[lane] as usize / 4 + word);
            local[line][lane] = values[lane];
        }
    }
}

impl Stores<'_> {
    /// Makes room in local memory for stacks that end at `end(lane)`.
    pub(crate) fn grow_stack(
        &mut self,
        mask: u32,
        end: impl Fn(usize) -> u32,
    ) -> Result<(), Box<Fault>> {
        let limit = self.local_limit.saturating_sub(self.stack_margin);
        if let Some(lane) = lanes_of(mask).find(|&lane| end(lane) > limit) {
            let kind = TrapKind::StackOverflow {
                bytes: end(lane).into(),
                limit: limit.into(),
            };
            return Err(Fault::at_lane(lane as u32, kind));
        }
        let most = lanes_of(mask).map(end).max().unwrap_or(0);
        let words = (most + self.stack_margin).div_ceil(4) as usize;
        if words > self.local.len() {
            self.local.resize(words, Line::splat(0));
        }
        Ok(())
    }
}
